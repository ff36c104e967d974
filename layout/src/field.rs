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

    /// Writes `value` into the little-endian `bytes` of the field's struct.
    ///
    /// # Errors
    /// [`LayoutError::Range`] if `value` needs more bits than the field has.
    pub fn set(&self, bytes: &mut [u8], value: u64) -> Result<(), LayoutError> {
        if self.width < 64 && value >> self.width != 0 {
            return Err(LayoutError::Range {
                field: self.name,
                value,
                width: self.width,
            });
        }
        let mut rest = u128::from(value) << (self.lsb % 8);
        let mut keep = !((u128::MAX >> (128 - self.width)) << (self.lsb % 8));
        let (first, last) = (self.lsb / 8, (self.lsb + self.width - 1) / 8);
        for byte in &mut bytes[first..=last] {
            // The low byte of each.
            *byte = (*byte & (keep & 0xff) as u8) | (rest & 0xff) as u8;
            rest >>= 8;
            keep >>= 8;
        }
        Ok(())
    }
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

    #[test]
    fn bit_field_replaces_only_its_bits() {
        let field = BitField {
            name: "x",
            lsb: 6,
            width: 13,
        };
        let mut bytes = [0xff; 4];
        assert_eq!(field.set(&mut bytes, 0x0aaa), Ok(()));
        assert_eq!(field.get(&bytes), 0x0aaa);
        assert_eq!(bytes, [0xbf, 0xaa, 0xfa, 0xff]);
    }

    #[test]
    fn bit_field_refuses_what_does_not_fit() {
        let field = BitField {
            name: "len",
            lsb: 0,
            width: 10,
        };
        let refused = field.set(&mut [0; 4], 1024);
        assert_eq!(
            refused,
            Err(LayoutError::Range {
                field: "len",
                value: 1024,
                width: 10
            })
        );
    }
}
