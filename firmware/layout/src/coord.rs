// SPDX-License-Identifier: MIT OR Apache-2.0
//! Torus coordinates.

use core::fmt;

use crate::field::FieldValue;
use crate::{LayoutError, MAX_DIM};

/// Position of a node: one coordinate a dimension, 0..64; absent dimensions are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coord(pub [u8; MAX_DIM]);

impl Coord {
    /// Bits of one coordinate.
    pub const WIDTH: u32 = 6;

    /// The coordinates in 6 bits each, dimension 0 lowest: 30 bits, as in headers, descriptors and `COORD`.
    ///
    /// # Errors
    /// [`LayoutError::Range`] if a coordinate is 64 or more.
    #[inline]
    pub fn pack(self) -> Result<u32, LayoutError> {
        let [a, b, c, d, e] = self.0;
        // All at once: every message has its coordinates packed.
        if u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]) & 0xc0_c0c0_c0c0 != 0 {
            return Err(LayoutError::Range {
                field: "coordinate",
                value: self.0.into_iter().fold(0, u8::max).into(),
                width: Self::WIDTH as usize,
            });
        }
        let [a, b, c, d, e] = self.0.map(u32::from);
        Ok(a | b << 6 | c << 12 | d << 18 | e << 24)
    }

    /// Reverse of [`Coord::pack`]; the upper two bits are ignored.
    #[must_use]
    #[inline]
    pub fn unpack(packed: u32) -> Self {
        let at = |lsb: u32| (packed >> lsb & 0x3f) as u8;
        Self([at(0), at(6), at(12), at(18), at(24)])
    }
}

impl FieldValue for Coord {
    #[inline(always)]
    fn to_bits(self) -> Result<u64, LayoutError> {
        self.pack().map(u64::from)
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> Result<Self, LayoutError> {
        Ok(Self::unpack(bits as u32))
    }
}

/// A position as headers and descriptors hold it: 30 bits, every coordinate below 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackedCoord(u32);

impl PackedCoord {
    /// The lower 30 bits of `bits`.
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits & ((1 << 30) - 1))
    }

    /// The 30 bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The coordinates.
    #[must_use]
    pub fn unpack(self) -> Coord {
        Coord::unpack(self.0)
    }
}

impl TryFrom<Coord> for PackedCoord {
    type Error = LayoutError;

    /// As [`Coord::pack`].
    fn try_from(coord: Coord) -> Result<Self, LayoutError> {
        coord.pack().map(Self)
    }
}

impl fmt::Display for Coord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e] = self.0;
        write!(f, "({a},{b},{c},{d},{e})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_round_trips() {
        let coord = Coord([1, 63, 0, 17, 42]);
        let packed = coord.pack().expect("every coordinate is below 64");
        assert_eq!(packed >> 30, 0);
        assert_eq!(Coord::unpack(packed), coord);
        let typed = PackedCoord::try_from(coord).expect("every coordinate is below 64");
        assert_eq!((typed.bits(), typed.unpack()), (packed, coord));
        assert_eq!(PackedCoord::from_bits(packed | 3 << 30), typed);
    }

    #[test]
    fn coordinate_of_64_is_refused() {
        assert!(Coord([0, 64, 0, 0, 0]).pack().is_err());
    }
}
