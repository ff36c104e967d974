// SPDX-License-Identifier: MIT OR Apache-2.0
//! Encoding of the number of a communicator in messages: in its byte of the packet header, or, where that does not
//! suffice, in 4 bytes of the payload.

use crate::transport::wire::WireError;

/// The byte of communicators whose number stands in the payload.
const WIDE: u8 = u8::MAX;
/// Bytes of such a number, little-endian.
pub(super) const WIDE_BYTES: usize = size_of::<u32>();

/// Match data of a message besides its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// Number of the communicator.
    pub comm: u32,
    /// The tag.
    pub tag: u32,
}

impl Label {
    /// The byte of the packet header.
    pub(super) fn byte(self) -> u8 {
        u8::try_from(self.comm).unwrap_or(WIDE)
    }

    /// Bytes of the label that the payload must carry, if any.
    pub(super) fn wide(self) -> Option<[u8; WIDE_BYTES]> {
        (self.byte() == WIDE).then(|| self.comm.to_le_bytes())
    }

    /// The number, if the byte of the header holds it.
    pub(super) fn narrow(byte: u8) -> Option<u32> {
        (byte != WIDE).then(|| byte.into())
    }

    /// The number by the byte of the header and the payload, and the rest of the payload.
    pub(super) fn decode<'a>(
        message: &'static str,
        byte: u8,
        payload: &'a [u8],
    ) -> Result<(u32, &'a [u8]), WireError> {
        if let Some(number) = Self::narrow(byte) {
            return Ok((number, payload));
        }
        let wrong = |value, expected| WireError {
            message,
            field: "communicator",
            value,
            expected,
        };
        let Some((number, rest)) = payload.split_first_chunk() else {
            let expected = "a message long enough to hold the field";
            return Err(wrong(payload.len() as u64, expected));
        };
        let number = u32::from_le_bytes(*number);
        if number < WIDE.into() {
            return Err(wrong(
                number.into(),
                "at least 255: smaller ones have no field",
            ));
        }
        Ok((number, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ct1_communicator_numbers_of_each_width_round_trip() {
        for comm in [0, 1, 254, 255, 256, 0xffff, u32::MAX] {
            let label = Label { comm, tag: 7 };
            let mut payload = label.wide().map_or_else(Vec::new, Vec::from);
            assert_eq!(payload.len(), if comm < 255 { 0 } else { WIDE_BYTES });
            payload.push(9);
            let decoded = Label::decode("message", label.byte(), &payload);
            assert_eq!(decoded, Ok((comm, &[9][..])));
        }
    }

    #[test]
    fn ct1_x5_cut_or_needless_number_fields_are_refused() {
        let value = |payload: &[u8]| {
            let error = Label::decode("message", WIDE, payload).expect_err("refused");
            (error.field, error.value)
        };
        assert_eq!(value(&[1, 2, 3]), ("communicator", 3));
        assert_eq!(value(&[254, 0, 0, 0]), ("communicator", 254));
    }
}
