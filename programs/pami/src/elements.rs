// SPDX-License-Identifier: MIT OR Apache-2.0
//! The predefined types and their elements.

use Kind::{Complex32, Complex64, Float32, Float64, Float80, Located, Logical, Signed, Unsigned};

/// Kind of an element, for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An integer with a sign, of this many bytes.
    Signed(usize),
    /// An integer without a sign, of this many bytes.
    Unsigned(usize),
    /// `float`
    Float32,
    /// `double`
    Float64,
    /// `long double`: 80 bits in 16 bytes.
    Float80,
    /// A truth value of this many bytes.
    Logical(usize),
    /// Two `float`.
    Complex32,
    /// Two `double`.
    Complex64,
    /// A value and its index, as in a C struct of the two.
    Located(&'static Kind, &'static Kind),
}

impl Kind {
    /// Bytes of a value, padding included.
    pub fn size(self) -> usize {
        match self {
            Signed(bytes) | Unsigned(bytes) | Logical(bytes) => bytes,
            Float32 => 4,
            Float64 | Complex32 => 8,
            Float80 | Complex64 => 16,
            // The larger of the two aligns the struct, and either is no larger than its alignment.
            Located(value, index) => 2 * value.size().max(index.size()),
        }
    }
}

/// The kinds by the number of their type, from 1 on.
const KINDS: [Kind; 28] = [
    Unsigned(1),
    Signed(1),
    Unsigned(1),
    Signed(2),
    Unsigned(2),
    Signed(4),
    Unsigned(4),
    Signed(8),
    Unsigned(8),
    Signed(8),
    Unsigned(8),
    Float32,
    Float64,
    Float80,
    Logical(1),
    Logical(2),
    Logical(4),
    Logical(8),
    Complex32,
    Complex64,
    Located(&Signed(4), &Signed(4)),
    Located(&Float32, &Float32),
    Located(&Float64, &Float64),
    Located(&Signed(2), &Signed(4)),
    Located(&Float32, &Signed(4)),
    Located(&Float64, &Signed(4)),
    Located(&Signed(8), &Signed(4)),
    Located(&Float80, &Signed(4)),
];

/// A predefined type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element(usize);

impl Element {
    /// A byte.
    pub const BYTE: Self = Self(1);

    /// The type whose handle is `number`.
    pub fn of(number: usize) -> Option<Self> {
        (1..=KINDS.len()).contains(&number).then_some(Self(number))
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..=KINDS.len()).map(Self)
    }

    /// Its handle.
    pub fn number(self) -> usize {
        self.0
    }

    /// Kind, for an operation.
    pub fn kind(self) -> Kind {
        KINDS[self.0 - 1]
    }

    /// Bytes of an element.
    pub fn size(self) -> usize {
        self.kind().size()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{c_int, c_long, c_short};

    use super::*;

    #[repr(C)]
    struct Pair<V, I>(V, I);

    #[repr(C, align(16))]
    struct LongDouble([u8; 16]);

    fn pair<V, I>() -> (usize, usize) {
        (size_of::<Pair<V, I>>(), std::mem::offset_of!(Pair<V, I>, 1))
    }

    #[test]
    fn x6_located_values_lie_as_in_a_c_struct() {
        let expected = [
            pair::<c_int, c_int>(),
            pair::<f32, f32>(),
            pair::<f64, f64>(),
            pair::<c_short, c_int>(),
            pair::<f32, c_int>(),
            pair::<f64, c_int>(),
            pair::<c_long, c_int>(),
            pair::<LongDouble, c_int>(),
        ];
        let located = KINDS[20..]
            .iter()
            .map(|kind| (kind.size(), kind.size() / 2));
        assert_eq!(located.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn x6_numbers_of_predefined_types_are_1_to_28() {
        assert_eq!(Element::all().count(), 28);
        assert!(Element::all().all(|element| Element::of(element.number()) == Some(element)));
        assert_eq!((Element::of(0), Element::of(29)), (None, None));
        assert_eq!(Element::BYTE.size(), 1);
    }
}
