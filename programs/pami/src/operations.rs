// SPDX-License-Identifier: MIT OR Apache-2.0
//! The predefined operations on elements of the predefined types.

mod long_double;
#[cfg(test)]
mod tests;

use crate::elements::Element;
use crate::elements::Kind::{
    self, Complex32, Complex64, Float32, Float64, Float80, Located, Logical, Signed, Unsigned,
};
use long_double::LongDouble;

/// A predefined operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Copy,
    Noop,
    Max,
    Min,
    Sum,
    Prod,
    Land,
    Lor,
    Lxor,
    Band,
    Bor,
    Bxor,
    Maxloc,
    Minloc,
}

use Operation::{Band, Bor, Bxor, Land, Lor, Lxor, Max, Maxloc, Min, Minloc, Noop, Prod, Sum};

impl Operation {
    /// All of them, in the order of their numbers, which begin with 1.
    pub const ALL: [Self; 14] = [
        Self::Copy,
        Noop,
        Max,
        Min,
        Sum,
        Prod,
        Land,
        Lor,
        Lxor,
        Band,
        Bor,
        Bxor,
        Maxloc,
        Minloc,
    ];

    /// The operation of a number.
    pub fn of(number: usize) -> Option<Self> {
        Self::ALL.get(number.checked_sub(1)?).copied()
    }
}

/// Combines elements of the second buffer into those of the first. Both have the same length.
pub type Combine = fn(&mut [u8], &[u8]);

/// Function for an operation on elements of a type; `None` if it is not valid for them.
pub fn combine(element: Element, operation: Operation) -> Option<Combine> {
    match operation {
        Operation::Copy => Some(|target, source| target.copy_from_slice(source)),
        Noop => Some(|_, _| ()),
        operation => of_kind(element.kind(), operation),
    }
}

/// Replaces each value of `N` bytes by `result` of it and the value in `source`.
fn each<const N: usize>(
    target: &mut [u8],
    source: &[u8],
    result: impl Fn([u8; N], [u8; N]) -> [u8; N],
) {
    let (targets, _) = target.as_chunks_mut();
    let (sources, _) = source.as_chunks();
    for (target, source) in targets.iter_mut().zip(sources) {
        *target = result(*target, *source);
    }
}

/// Function of an operation on values of a type.
macro_rules! on {
    ($type:ty, |$one:ident, $other:ident| $result:expr) => {{
        let combine: Combine = |target, source| {
            each(target, source, |one, other| {
                let $one = <$type>::from_ne_bytes(one);
                let $other = <$type>::from_ne_bytes(other);
                <$type>::to_ne_bytes($result)
            })
        };
        Some(combine)
    }};
}

/// Operations on values that are ordered.
macro_rules! ordered {
    ($type:ty, $operation:expr) => {
        match $operation {
            Max => on!($type, |a, b| if b > a { b } else { a }),
            Min => on!($type, |a, b| if b < a { b } else { a }),
            _ => None,
        }
    };
}

macro_rules! float {
    ($type:ty, $operation:expr) => {
        match $operation {
            Sum => on!($type, |a, b| a + b),
            Prod => on!($type, |a, b| a * b),
            operation => ordered!($type, operation),
        }
    };
}

macro_rules! logical {
    ($type:ty, $operation:expr) => {
        match $operation {
            Land => on!($type, |a, b| <$type>::from(a != 0 && b != 0)),
            Lor => on!($type, |a, b| <$type>::from(a != 0 || b != 0)),
            Lxor => on!($type, |a, b| <$type>::from((a != 0) != (b != 0))),
            _ => None,
        }
    };
}

macro_rules! integer {
    ($type:ty, $operation:expr) => {
        match $operation {
            Sum => on!($type, |a, b| a.wrapping_add(b)),
            Prod => on!($type, |a, b| a.wrapping_mul(b)),
            Band => on!($type, |a, b| a & b),
            Bor => on!($type, |a, b| a | b),
            Bxor => on!($type, |a, b| a ^ b),
            operation @ (Max | Min) => ordered!($type, operation),
            operation => logical!($type, operation),
        }
    };
}

/// Two values of a type, real and imaginary part, which a sum adds independently.
macro_rules! complex {
    ($type:ty, $operation:expr) => {
        match $operation {
            Sum => float!($type, Sum),
            Prod => {
                let combine: Combine = |target, source| {
                    const HALF: usize = size_of::<$type>();
                    each::<{ 2 * HALF }>(target, source, |one, other| {
                        let [a, b] = [0, HALF].map(|at| <$type>::from_ne_bytes(part(&one, at)));
                        let [c, d] = [0, HALF].map(|at| <$type>::from_ne_bytes(part(&other, at)));
                        let mut product = one;
                        product[..HALF].copy_from_slice(&(a * c - b * d).to_ne_bytes());
                        product[HALF..].copy_from_slice(&(a * d + b * c).to_ne_bytes());
                        product
                    });
                };
                Some(combine)
            }
            _ => None,
        }
    };
}

/// A value and, half the size of both later, its index.
macro_rules! located {
    ($value:ty, $index:ty, $operation:expr) => {{
        const SIZE: usize = if size_of::<$value>() > size_of::<$index>() {
            2 * size_of::<$value>()
        } else {
            2 * size_of::<$index>()
        };
        match $operation {
            Maxloc => located!(@ $value, $index, SIZE, >),
            Minloc => located!(@ $value, $index, SIZE, <),
            _ => None,
        }
    }};
    (@ $value:ty, $index:ty, $size:ident, $wins:tt) => {{
        let combine: Combine = |target, source| {
            each::<$size>(target, source, |one, other| {
                let [a, b] = [one, other].map(|pair| <$value>::from_ne_bytes(part(&pair, 0)));
                let [i, j] =
                    [one, other].map(|pair| <$index>::from_ne_bytes(part(&pair, $size / 2)));
                if b $wins a || (b == a && j < i) { other } else { one }
            });
        };
        Some(combine)
    }};
}

/// `N` bytes of a value from `at` on.
fn part<const N: usize>(value: &[u8], at: usize) -> [u8; N] {
    *value[at..]
        .first_chunk()
        .expect("a part is within its value")
}

fn of_kind(kind: Kind, operation: Operation) -> Option<Combine> {
    match kind {
        Signed(1) => integer!(i8, operation),
        Signed(2) => integer!(i16, operation),
        Signed(4) => integer!(i32, operation),
        Signed(8) => integer!(i64, operation),
        Unsigned(1) => integer!(u8, operation),
        Unsigned(2) => integer!(u16, operation),
        Unsigned(4) => integer!(u32, operation),
        Unsigned(8) => integer!(u64, operation),
        Float32 => float!(f32, operation),
        Float64 => float!(f64, operation),
        Float80 => float!(LongDouble, operation),
        Logical(1) => logical!(u8, operation),
        Logical(2) => logical!(u16, operation),
        Logical(4) => logical!(u32, operation),
        Logical(8) => logical!(u64, operation),
        Complex32 => complex!(f32, operation),
        Complex64 => complex!(f64, operation),
        Located(Signed(4), Signed(4)) => located!(i32, i32, operation),
        Located(Float32, Float32) => located!(f32, f32, operation),
        Located(Float64, Float64) => located!(f64, f64, operation),
        Located(Signed(2), Signed(4)) => located!(i16, i32, operation),
        Located(Float32, Signed(4)) => located!(f32, i32, operation),
        Located(Float64, Signed(4)) => located!(f64, i32, operation),
        Located(Signed(8), Signed(4)) => located!(i64, i32, operation),
        Located(Float80, Signed(4)) => located!(LongDouble, i32, operation),
        _ => None,
    }
}
