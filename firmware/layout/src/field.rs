// SPDX-License-Identifier: MIT OR Apache-2.0
//! Positions of fields in registers and in packed structs.

use core::ops::Range;

use bitvec::field::BitField as _;
use bitvec::order::Lsb0;
use bitvec::view::BitView;

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

/// A field of a packed struct of the hardware, whose bit 0 is bit 0 of byte 0. It lies in one 64-bit word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitField {
    /// Name in SystemVerilog.
    pub name: &'static str,
    /// Lowest bit.
    pub lsb: usize,
    /// Width in bits, 1 to 64.
    pub width: usize,
}

impl BitField {
    /// Bits of the struct that belong to the field.
    #[must_use]
    pub const fn range(&self) -> Range<usize> {
        self.lsb..self.lsb + self.width
    }

    /// The field's value in the little-endian `bytes` of its struct.
    #[must_use]
    pub fn get(&self, bytes: &[u8]) -> u64 {
        bytes.view_bits::<Lsb0>()[self.range()].load_le()
    }

    /// Replaces the field in the little-endian `bytes` of its struct.
    ///
    /// # Errors
    /// [`LayoutError::Range`] if `value` needs more bits than the field has; `bytes` stay as they are.
    pub fn set(&self, bytes: &mut [u8], value: u64) -> Result<(), LayoutError> {
        if value & !self.max() != 0 {
            return Err(self.misfit(value));
        }
        bytes.view_bits_mut::<Lsb0>()[self.range()].store_le(value);
        Ok(())
    }

    /// Largest value of the field.
    #[must_use]
    pub const fn max(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// Bits of the struct's word `word` that belong to the field.
    #[must_use]
    pub const fn mask(&self, word: usize) -> u64 {
        assert!(self.lsb / 64 == word, "a field of another word");
        self.max() << (self.lsb % 64)
    }

    /// [`get`](Self::get) for 64-bit words, a shift and a mask for a constant field; `bitvec` calls a function there, and
    /// software decodes the header of every packet.
    #[must_use]
    #[inline(always)]
    pub const fn of(self, words: &[u64]) -> u64 {
        words[self.lsb / 64] >> (self.lsb % 64) & self.max()
    }

    /// Puts a value that fits into a field that is zero.
    #[inline(always)]
    pub(crate) const fn put<const WORDS: usize>(self, words: &mut [u64; WORDS], value: u64) {
        words[self.lsb / 64] |= value << (self.lsb % 64);
    }

    /// The error of a value that does not fit.
    pub(crate) const fn misfit(&self, value: u64) -> LayoutError {
        LayoutError::Range {
            field: self.name,
            value,
            width: self.width,
        }
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

    /// Puts `value` into a field that is zero. Inlined, so that a constant field costs a shift and a test.
    #[inline(always)]
    pub fn put(&mut self, field: BitField, value: u64) {
        field.put(&mut self.words, value);
        if value & !field.max() != 0 {
            self.refuse(field, value);
        }
    }

    #[cold]
    const fn refuse(&mut self, field: BitField, value: u64) {
        self.misfit = Some(field.misfit(value));
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

/// A value that one bit field holds.
pub(crate) trait FieldValue: Sized {
    /// The value as the field holds it.
    fn to_bits(self) -> Result<u64, LayoutError>;
    /// The value of a field that holds `bits`, which has at most as many bits as the type.
    fn from_bits(bits: u64) -> Result<Self, LayoutError>;
}

macro_rules! integers {
    ($($type:ident)*) => {$(
        impl FieldValue for $type {
            #[inline(always)]
            fn to_bits(self) -> Result<u64, LayoutError> {
                Ok(self.into())
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Result<Self, LayoutError> {
                Ok(bits as $type)
            }
        }
    )*};
}
integers!(u8 u16 u32 u64);

impl FieldValue for bool {
    #[inline(always)]
    fn to_bits(self) -> Result<u64, LayoutError> {
        Ok(self.into())
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> Result<Self, LayoutError> {
        Ok(bits != 0)
    }
}

/// Lists the members of a struct that one bit field each holds, for encoding and decoding alike; members after the
/// second semicolon are decoded by the caller.
macro_rules! members {
    ($name:ident, $words:literal words; $($member:ident $field:ident,)*; $($decoded:ident: $type:ty),*) => {
        impl $name {
            #[inline(always)]
            fn put_members(&self, words: &mut crate::field::Packer<$words>) -> Result<(), LayoutError> {
                $(words.put($field, crate::field::FieldValue::to_bits(self.$member)?);)*
                Ok(())
            }

            fn from_members(bytes: &[u8], $($decoded: $type),*) -> Result<Self, LayoutError> {
                Ok(Self {
                    $($member: crate::field::FieldValue::from_bits($field.get(bytes))?,)*
                    $($decoded,)*
                })
            }
        }
    };
}
pub(crate) use members;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields;

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
    fn hw1_bytes_and_words_hold_a_field_in_the_same_place() {
        for &field in [fields::header::FIELDS, fields::descriptor::FIELDS]
            .concat()
            .iter()
        {
            for value in [field.max(), field.max() & 0x5555_5555_5555_5555] {
                let mut packer = Packer::<8>::new();
                packer.put(field, value);
                let words = packer.words().expect("it fits");
                let mut bytes = [0; 64];
                field.set(&mut bytes, value).expect("it fits");
                assert_eq!(bytes, to_bytes(words), "{}", field.name);
                assert_eq!(to_words(&bytes), words, "{}", field.name);
                assert_eq!((field.of(&words), field.get(&bytes)), (value, value));
                let all_set = (field.of(&[u64::MAX; 8]), field.get(&[0xff; 64]));
                assert_eq!(all_set, (field.max(), field.max()));
                let mut ones = [0xff; 64];
                field.set(&mut ones, 0).expect("it fits");
                let word = field.lsb / 64;
                assert_eq!(to_words::<8, 64>(&ones)[word], !field.mask(word));
            }
        }
    }

    #[test]
    fn bit_field_refuses_a_value_that_does_not_fit() {
        let mut packer = Packer::<2>::new();
        packer.put(FIELD, 0x2000);
        let refused = LayoutError::Range {
            field: "x",
            value: 0x2000,
            width: 13,
        };
        assert_eq!(packer.words(), Err(refused));
        let mut bytes = [0; 16];
        assert_eq!(FIELD.set(&mut bytes, 0x2000), Err(refused));
        assert_eq!(bytes, [0; 16]);
    }
}
