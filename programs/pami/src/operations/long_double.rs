// SPDX-License-Identifier: MIT OR Apache-2.0
//! `long double`: 80 bits in 16 bytes, with the arithmetic of the x87 unit, as in C.

use std::arch::asm;
use std::cmp::Ordering;
use std::ops::{Add, Mul};

/// Bits of the exponent and the mantissa.
const MAGNITUDE: u128 = (1 << 79) - 1;

/// Magnitude of infinity; higher ones are NaN.
const INFINITY: u128 = 0x7fff_8000_0000_0000_0000;

/// A `long double` in memory, padding included.
#[derive(Debug, Clone, Copy)]
pub struct LongDouble([u8; 16]);

impl LongDouble {
    /// The value of these bytes.
    pub fn from_ne_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub fn to_ne_bytes(self) -> [u8; 16] {
        self.0
    }

    /// A number in the order of the values; `None` for NaN.
    fn rank(self) -> Option<i128> {
        let bits = u128::from_ne_bytes(self.0);
        let magnitude = bits & MAGNITUDE;
        // 79 bits.
        let rank = magnitude as i128;
        let negative = bits & (MAGNITUDE + 1) != 0;
        (magnitude <= INFINITY).then_some(if negative { -rank } else { rank })
    }
}

impl PartialEq for LongDouble {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for LongDouble {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.rank()?.cmp(&other.rank()?))
    }
}

/// An instruction of the x87 unit on two values.
macro_rules! computed {
    ($instruction:literal, $one:expr, $other:expr) => {{
        let (mut one, other) = ($one, $other);
        // SAFETY: the instructions read 10 bytes of each value and write 10 of the first, which both have, and leave the
        // x87 stack as they found it.
        unsafe {
            asm!(
                "fld tbyte ptr [{one}]",
                "fld tbyte ptr [{other}]",
                $instruction,
                "fstp tbyte ptr [{one}]",
                one = in(reg) &raw mut one.0,
                other = in(reg) &raw const other.0,
                out("st(0)") _,
                out("st(1)") _,
                out("st(2)") _,
                out("st(3)") _,
                out("st(4)") _,
                out("st(5)") _,
                out("st(6)") _,
                out("st(7)") _,
                options(nostack),
            );
        }
        one
    }};
}

impl Add for LongDouble {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        computed!("faddp st(1), st", self, other)
    }
}

impl Mul for LongDouble {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        computed!("fmulp st(1), st", self, other)
    }
}
