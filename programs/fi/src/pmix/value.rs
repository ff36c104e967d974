// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values: of C, here, and as text of the start-up protocol.

use std::ffi::{CStr, c_char};
use std::fmt::Write as _;

use super::abi::{ByteObject, CValue, Data, Status, kind, status};

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    kind: u16,
    content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Number([u8; 8]),
    /// Text without its zero, or bytes.
    Bytes(Vec<u8>),
}

/// Whether values of a type are numbers of eight bytes at most.
fn is_number(kind: u16) -> bool {
    matches!(kind, 1 | 2 | 4..=17 | 19 | 20 | 30 | 32 | 33 | 37 | 40)
}

impl Value {
    /// A number of 16 bits.
    pub fn u16(number: u16) -> Self {
        Self::number(kind::U16, number.into())
    }

    /// A number of 32 bits.
    pub fn u32(number: u32) -> Self {
        Self::number(kind::U32, number.into())
    }

    /// The number of a process.
    pub fn rank(number: u32) -> Self {
        Self::number(kind::RANK, number.into())
    }

    fn number(kind: u16, number: u64) -> Self {
        Self {
            kind,
            content: Content::Number(number.to_le_bytes()),
        }
    }

    /// Text.
    pub fn text(text: &str) -> Self {
        Self {
            kind: kind::TEXT,
            content: Content::Bytes(text.into()),
        }
    }

    /// The value in C.
    ///
    /// # Safety
    /// Of the type that it says, with memory that lasts.
    pub unsafe fn of(value: &CValue) -> Result<Self, Status> {
        let data = value.data;
        let content = match value.kind {
            kind::TEXT => {
                // SAFETY: the type says so.
                let text = unsafe { data.text };
                if text.is_null() {
                    return Err(status::INVALID);
                }
                // SAFETY: text ends with a zero.
                Content::Bytes(unsafe { CStr::from_ptr(text) }.to_bytes().into())
            }
            kind::BYTES => {
                // SAFETY: the type says so.
                let ByteObject { bytes, count } = unsafe { data.bytes };
                match bytes.is_null() {
                    true if count > 0 => return Err(status::INVALID),
                    true => Content::Bytes(Vec::new()),
                    // SAFETY: so many bytes.
                    false => Content::Bytes(
                        unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), count) }.into(),
                    ),
                }
            }
            // SAFETY: by the type; the rest of a shorter number is not read.
            kind if is_number(kind) => Content::Number(unsafe { data.number }),
            _ => return Err(status::NOT_SUPPORTED),
        };
        let kind = value.kind;
        Ok(Self { kind, content })
    }

    /// The value for C, in memory that `free` takes.
    pub fn for_c(&self) -> Result<CValue, Status> {
        let mut data = Data {
            others: [std::ptr::null_mut(); 3],
        };
        match &self.content {
            Content::Number(number) => data.number = *number,
            Content::Bytes(bytes) => {
                let copy = copy(bytes)?;
                match self.kind {
                    kind::TEXT => data.text = copy,
                    _ => {
                        data.bytes = ByteObject {
                            bytes: copy,
                            count: bytes.len(),
                        }
                    }
                }
            }
        }
        let kind = self.kind;
        Ok(CValue { kind, data })
    }

    /// Frees what [`for_c`](Self::for_c) has made, and its place.
    ///
    /// # Safety
    /// The value comes from `malloc`, and is not used afterwards.
    pub unsafe fn free(value: *mut CValue) {
        // SAFETY: what the caller promises.
        unsafe {
            let CValue { kind, data } = *value;
            match kind {
                kind::TEXT => libc::free(data.text.cast()),
                kind::BYTES => libc::free(data.bytes.bytes.cast()),
                _ => {}
            }
            libc::free(value.cast());
        }
    }

    /// The value as text without spaces: type, a dot, bytes as two digits each.
    pub fn encode(&self) -> String {
        let bytes = match &self.content {
            Content::Number(number) => &number[..],
            Content::Bytes(bytes) => bytes,
        };
        let mut text = format!("{}.", self.kind);
        for byte in bytes {
            // Writing to text cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// The value that text is.
    pub fn decode(text: &str) -> Option<Self> {
        let (kind, digits) = text.split_once('.')?;
        let kind = kind.parse().ok()?;
        let pairs = digits.as_bytes().chunks(2);
        let byte = |pair: &[u8]| {
            let digits = pair.len() == 2 && pair.iter().all(u8::is_ascii_hexdigit);
            let pair = std::str::from_utf8(pair).ok().filter(|_| digits)?;
            u8::from_str_radix(pair, 16).ok()
        };
        let bytes: Vec<u8> = pairs.map(byte).collect::<Option<_>>()?;
        let content = match kind {
            kind::TEXT | kind::BYTES => Content::Bytes(bytes),
            kind if is_number(kind) => Content::Number(bytes.try_into().ok()?),
            _ => return None,
        };
        Some(Self { kind, content })
    }
}

/// Bytes and a zero, in memory that `free` takes.
fn copy(bytes: &[u8]) -> Result<*mut c_char, Status> {
    // SAFETY: a size that is not 0.
    let memory = unsafe { libc::calloc(1, bytes.len() + 1) }.cast::<u8>();
    if memory.is_null() {
        return Err(status::NO_MEMORY);
    }
    // SAFETY: memory of this many bytes, just allocated.
    unsafe { memory.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(memory.cast())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(bytes: &[u8]) -> Value {
        Value {
            kind: kind::BYTES,
            content: Content::Bytes(bytes.into()),
        }
    }

    #[test]
    fn x6_values_come_back_from_text_and_from_c() {
        let values = [
            Value::u16(7),
            Value::u32(u32::MAX),
            Value::rank(3),
            Value::text(""),
            Value::text("a node = 1"),
            bytes(&[]),
            bytes(&[0, 255, 10, 32]),
        ];
        for value in values {
            assert_eq!(Value::decode(&value.encode()).as_ref(), Some(&value));
            assert!(!value.encode().contains([' ', '=', '\\', '\n']));
            let c = value.for_c().expect("memory");
            // SAFETY: what was just made.
            assert_eq!(unsafe { Value::of(&c) }.as_ref(), Ok(&value));
            // SAFETY: a size that is not 0, a place for the value, and nothing uses it any more.
            unsafe {
                let place = libc::malloc(size_of::<CValue>()).cast::<CValue>();
                place.write(c);
                Value::free(place);
            }
        }
    }

    #[test]
    fn x6_text_that_is_no_value_is_none() {
        for text in ["", "3", "x.00", "27.0", "27.0g", "27.+1", "14.00", "39.00"] {
            assert_eq!(Value::decode(text), None, "{text}");
        }
    }
}
