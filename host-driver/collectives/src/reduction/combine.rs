// SPDX-License-Identifier: MIT OR Apache-2.0
//! Combination of elements.

use core::cmp::Ordering;
use core::ops::{Add as _, BitAnd, BitOr, BitXor, Mul as _, Sub};

use super::{DataType, ReduceOp};

impl ReduceOp {
    /// `into` = `into` op `other`, or `other` op `into` when `other` is `earlier`, element by element. Both
    /// have the same length, a multiple of the element's; the operation is defined on `data`.
    pub fn combine(self, data: DataType, other: &[u8], into: &mut [u8], earlier: bool) {
        use DataType as D;
        if self == Self::Copy {
            if !earlier {
                into.copy_from_slice(other);
            }
            return;
        }
        match data {
            D::I8 => self.each(other, into, earlier, Self::integer::<i8, 1>),
            D::I16 => self.each(other, into, earlier, Self::integer::<i16, 2>),
            D::I32 => self.each(other, into, earlier, Self::integer::<i32, 4>),
            D::I64 => self.each(other, into, earlier, Self::integer::<i64, 8>),
            D::U8 => self.each(other, into, earlier, Self::integer::<u8, 1>),
            D::U16 => self.each(other, into, earlier, Self::integer::<u16, 2>),
            D::U32 => self.each(other, into, earlier, Self::integer::<u32, 4>),
            D::U64 => self.each(other, into, earlier, Self::integer::<u64, 8>),
            D::F32 => self.each(other, into, earlier, Self::float::<f32, 4>),
            D::F64 => self.each(other, into, earlier, Self::float::<f64, 8>),
            D::ComplexF32 => self.each(other, into, earlier, Self::complex::<f32, 4, 8>),
            D::ComplexF64 => self.each(other, into, earlier, Self::complex::<f64, 8, 16>),
            D::LocI32 => self.each(other, into, earlier, Self::pair::<i32, i32, 4, 4, 8>),
            D::LocI16 => self.each(other, into, earlier, Self::pair::<i16, i32, 2, 4, 8>),
            D::LocF32 => self.each(other, into, earlier, Self::pair::<f32, i32, 4, 4, 8>),
            D::LocF64 => self.each(other, into, earlier, Self::pair::<f64, i32, 8, 4, 16>),
            D::LocTwoF32 => self.each(other, into, earlier, Self::pair::<f32, f32, 4, 4, 8>),
            D::LocTwoF64 => self.each(other, into, earlier, Self::pair::<f64, f64, 8, 8, 16>),
        }
    }

    /// Applies `combine` to elements of `N` bytes, operands in order.
    fn each<const N: usize>(
        self,
        other: &[u8],
        into: &mut [u8],
        earlier: bool,
        combine: fn(Self, [u8; N], [u8; N]) -> [u8; N],
    ) {
        let (others, _) = other.as_chunks::<N>();
        let (intos, _) = into.as_chunks_mut::<N>();
        for (into, &other) in intos.iter_mut().zip(others) {
            *into = match earlier {
                true => combine(self, other, *into),
                false => combine(self, *into, other),
            };
        }
    }

    fn integer<T, const N: usize>(self, a: [u8; N], b: [u8; N]) -> [u8; N]
    where
        T: Number<N> + Ord + Default + From<bool>,
        T: BitAnd<Output = T> + BitOr<Output = T> + BitXor<Output = T>,
    {
        let (a, b) = (T::from_bytes(a), T::from_bytes(b));
        let zero = T::default();
        T::to_bytes(match self {
            Self::LogicalAnd => (a != zero && b != zero).into(),
            Self::LogicalOr => (a != zero || b != zero).into(),
            Self::LogicalXor => ((a != zero) != (b != zero)).into(),
            Self::BitAnd => a & b,
            Self::BitOr => a | b,
            Self::BitXor => a ^ b,
            Self::Sum => a.sum(b),
            Self::Product => a.product(b),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Copy | Self::MinLoc | Self::MaxLoc => b,
        })
    }

    fn float<T: Number<N> + From<f32>, const N: usize>(self, a: [u8; N], b: [u8; N]) -> [u8; N] {
        let (a, b) = (T::from_bytes(a), T::from_bytes(b));
        T::to_bytes(match self {
            Self::Sum => a.sum(b),
            Self::Product => a.product(b),
            Self::Min | Self::Max if a.is_nan() || b.is_nan() => f32::NAN.into(),
            Self::Min if a.order(b).is_le() => a,
            Self::Max if a.order(b).is_ge() => a,
            _ => b,
        })
    }

    fn complex<T: Number<N> + Sub<Output = T>, const N: usize, const TWO: usize>(
        self,
        a: [u8; TWO],
        b: [u8; TWO],
    ) -> [u8; TWO] {
        let parts = |bytes: [u8; TWO]| {
            let (parts, _) = bytes.as_chunks::<N>();
            (T::from_bytes(parts[0]), T::from_bytes(parts[1]))
        };
        let ((ar, ai), (br, bi)) = (parts(a), parts(b));
        let (re, im) = match self {
            Self::Sum => (ar.sum(br), ai.sum(bi)),
            Self::Product => (
                ar.product(br) - ai.product(bi),
                ar.product(bi).sum(ai.product(br)),
            ),
            _ => (br, bi),
        };
        let mut out = [0; TWO];
        out[..N].copy_from_slice(&T::to_bytes(re));
        out[N..].copy_from_slice(&T::to_bytes(im));
        out
    }

    /// The index is in the second half of the element.
    fn pair<V: Number<NV>, I: Number<NI>, const NV: usize, const NI: usize, const N: usize>(
        self,
        a: [u8; N],
        b: [u8; N],
    ) -> [u8; N] {
        let value = |bytes: &[u8; N]| {
            let (first, _) = bytes.as_chunks::<NV>();
            V::from_bytes(first[0])
        };
        let index = |bytes: &[u8; N]| {
            let (second, _) = bytes[N / 2..].as_chunks::<NI>();
            I::from_bytes(second[0])
        };
        let values = match self {
            Self::MinLoc => value(&a).least_first(value(&b)),
            _ => value(&b).greatest_last(value(&a)),
        };
        match values.then(index(&a).order(index(&b))).is_le() {
            true => a,
            false => b,
        }
    }
}

/// A number in little-endian bytes.
trait Number<const N: usize>: Copy + PartialOrd {
    fn from_bytes(bytes: [u8; N]) -> Self;
    fn to_bytes(self) -> [u8; N];
    /// Total order.
    fn order(self, other: Self) -> Ordering;
    fn is_nan(self) -> bool;
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;

    /// Order for locations of minima: equal values are equal, NaN comes first.
    fn least_first(self, other: Self) -> Ordering {
        let order = self.partial_cmp(&other);
        order.unwrap_or_else(|| other.is_nan().cmp(&self.is_nan()))
    }

    /// Order for locations of maxima: equal values are equal, NaN comes last.
    fn greatest_last(self, other: Self) -> Ordering {
        let order = self.partial_cmp(&other);
        order.unwrap_or_else(|| self.is_nan().cmp(&other.is_nan()))
    }
}

macro_rules! numbers {
    ($($type:ty: $order:ident, $sum:ident, $product:ident, $is_nan:expr;)*) => {
        $(
            impl Number<{ size_of::<$type>() }> for $type {
                fn from_bytes(bytes: [u8; size_of::<$type>()]) -> Self {
                    Self::from_le_bytes(bytes)
                }
                fn to_bytes(self) -> [u8; size_of::<$type>()] {
                    self.to_le_bytes()
                }
                fn order(self, other: Self) -> Ordering {
                    self.$order(&other)
                }
                fn is_nan(self) -> bool {
                    ($is_nan)(self)
                }
                fn sum(self, other: Self) -> Self {
                    self.$sum(other)
                }
                fn product(self, other: Self) -> Self {
                    self.$product(other)
                }
            }
        )*
    };
}

numbers! {
    i8: cmp, wrapping_add, wrapping_mul, |_| false;
    i16: cmp, wrapping_add, wrapping_mul, |_| false;
    i32: cmp, wrapping_add, wrapping_mul, |_| false;
    i64: cmp, wrapping_add, wrapping_mul, |_| false;
    u8: cmp, wrapping_add, wrapping_mul, |_| false;
    u16: cmp, wrapping_add, wrapping_mul, |_| false;
    u32: cmp, wrapping_add, wrapping_mul, |_| false;
    u64: cmp, wrapping_add, wrapping_mul, |_| false;
    f32: total_cmp, add, mul, <f32>::is_nan;
    f64: total_cmp, add, mul, <f64>::is_nan;
}
