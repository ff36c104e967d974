//! Positions of fields in registers and in packed structs.

use crate::LayoutError;

/// A field of a 64-bit register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    lsb: u32,
    width: u32,
}

impl Field {
    /// A field of `width` bits (1..=64) whose lowest bit is `lsb`.
    ///
    /// # Panics
    /// If the field does not fit into 64 bits.
    #[must_use]
    pub const fn new(lsb: u32, width: u32) -> Self {
        assert!(
            width >= 1 && lsb + width <= 64,
            "field outside its register"
        );
        Self { lsb, width }
    }

    /// Lowest bit.
    #[must_use]
    pub const fn lsb(self) -> u32 {
        self.lsb
    }

    /// Width in bits.
    #[must_use]
    pub const fn width(self) -> u32 {
        self.width
    }

    /// Largest value that the field holds.
    #[must_use]
    pub const fn max(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// Bits of the register that belong to the field.
    #[must_use]
    pub const fn mask(self) -> u64 {
        self.max() << self.lsb
    }

    /// The field's value in a register.
    #[must_use]
    pub const fn get(self, register: u64) -> u64 {
        (register >> self.lsb) & self.max()
    }

    /// Whether any bit of the field is set in a register.
    #[must_use]
    pub const fn is_set(self, register: u64) -> bool {
        register & self.mask() != 0
    }

    /// `value` at the field's place, all other bits zero; bits of `value` beyond the width are lost.
    #[must_use]
    pub const fn put(self, value: u64) -> u64 {
        (value & self.max()) << self.lsb
    }

    /// `register` with the field replaced by `value`; bits of `value` beyond the width are lost.
    #[must_use]
    pub const fn set(self, register: u64, value: u64) -> u64 {
        (register & !self.mask()) | self.put(value)
    }
}

/// A field of a packed struct of the hardware, whose bit 0 is bit 0 of byte 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitField {
    /// Name in SystemVerilog.
    pub name: &'static str,
    /// Lowest bit.
    pub lsb: usize,
    /// Width in bits.
    pub width: usize,
}

impl BitField {
    /// The field's value in the little-endian `bytes` of its struct.
    #[must_use]
    pub fn get(&self, bytes: &[u8]) -> u128 {
        let mut value = 0;
        let (first, last) = (self.lsb / 8, (self.lsb + self.width - 1) / 8);
        for byte in (first..=last).rev() {
            value = (value << 8) | u128::from(bytes[byte]);
        }
        (value >> (self.lsb % 8)) & (u128::MAX >> (128 - self.width))
    }

    /// The field's value in its struct's 64-bit words.
    #[inline(always)]
    pub(crate) const fn of(self, words: &[u64]) -> u64 {
        words[self.lsb / 64] >> (self.lsb % 64) & self.max()
    }

    /// Largest value of a field that lies in one word.
    const fn max(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }
}

/// A packed struct in the making: 64-bit words, zero at first.
pub(crate) struct Packer<const WORDS: usize> {
    words: [u64; WORDS],
    /// The value that did not fit into its field.
    misfit: Option<LayoutError>,
}

impl<const WORDS: usize> Packer<WORDS> {
    pub const fn new() -> Self {
        Self {
            words: [0; WORDS],
            misfit: None,
        }
    }

    /// Puts `value` into a field that is zero. Made to be inlined where the field is a constant: software
    /// encodes a descriptor a message.
    #[inline(always)]
    pub fn put(&mut self, field: BitField, value: u64) {
        self.words[field.lsb / 64] |= value << (field.lsb % 64);
        if value & !field.max() != 0 {
            self.refuse(field, value);
        }
    }

    #[cold]
    const fn refuse(&mut self, field: BitField, value: u64) {
        self.misfit = Some(LayoutError::Range {
            field: field.name,
            value,
            width: field.width,
        });
    }

    /// The words.
    ///
    /// # Errors
    /// [`LayoutError::Range`] if a value did not fit into its field.
    #[inline(always)]
    pub fn words(self) -> Result<[u64; WORDS], LayoutError> {
        match self.misfit {
            None => Ok(self.words),
            Some(misfit) => Err(misfit),
        }
    }
}

/// The little-endian bytes of a struct's words.
pub(crate) fn to_bytes<const WORDS: usize, const BYTES: usize>(words: [u64; WORDS]) -> [u8; BYTES] {
    const { assert!(BYTES == 8 * WORDS) };
    let mut bytes = [0; BYTES];
    for (chunk, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *chunk = word.to_le_bytes();
    }
    bytes
}

/// The words of a struct's little-endian bytes.
pub(crate) fn to_words<const WORDS: usize, const BYTES: usize>(
    bytes: &[u8; BYTES],
) -> [u64; WORDS] {
    const { assert!(BYTES == 8 * WORDS) };
    let mut words = [0; WORDS];
    for (word, &chunk) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(chunk);
    }
    words
}

/// Declares the fields of a packed struct: one named constant each, and all of them as `FIELDS`,
/// lowest bit first.
macro_rules! bit_fields {
    ($(#[$doc:meta])* $bits:literal bits; $($constant:ident $name:literal $lsb:literal +: $width:literal;)*) => {
        $(const $constant: crate::BitField =
            crate::BitField { name: $name, lsb: $lsb, width: $width };)*
        $(#[$doc])*
        pub const FIELDS: &[crate::BitField] = &[$($constant),*];
        const _: () = {
            let mut next = 0;
            let mut index = 0;
            while index < FIELDS.len() {
                assert!(FIELDS[index].lsb == next, "fields overlap or leave a gap");
                next += FIELDS[index].width;
                index += 1;
            }
            assert!(next == $bits, "fields do not fill their struct");
        };
    };
}
pub(crate) use bit_fields;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn register_field_replaces_only_its_bits() {
        let field = Field::new(16, 10);
        assert_eq!(field.set(u64::MAX, 0), !(0x3ff << 16));
        assert_eq!(field.get(field.put(0x2a5)), 0x2a5);
        assert_eq!(field.put(0x400), 0);
        assert_eq!(Field::new(0, 64).max(), u64::MAX);
    }

    const FIELD: BitField = BitField {
        name: "x",
        lsb: 70,
        width: 13,
    };

    #[test]
    fn bit_field_is_put_where_it_is_got() {
        let mut packer = Packer::new();
        packer.put(FIELD, 0x1aaa);
        let words = packer.words().expect("it fits");
        assert_eq!(words, [0, 0x1aaa << 6]);
        assert_eq!(FIELD.of(&words), 0x1aaa);
        let bytes: [u8; 16] = to_bytes(words);
        assert_eq!(FIELD.get(&bytes), 0x1aaa);
        assert_eq!(to_words(&bytes), words);
        assert_eq!(FIELD.of(&[u64::MAX; 2]), 0x1fff);
    }

    #[test]
    fn bit_field_refuses_what_does_not_fit() {
        let mut packer = Packer::<2>::new();
        packer.put(FIELD, 0x2000);
        assert_eq!(
            packer.words(),
            Err(LayoutError::Range {
                field: "x",
                value: 0x2000,
                width: 13
            })
        );
    }
}
