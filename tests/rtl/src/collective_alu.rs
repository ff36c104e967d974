// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reference of the collective ALU (HW-5), computed by the host, and operands that reach its corners.

use fastrand::Rng;
use gyre_layout::{CollOp, CollType};

/// Every NaN that an operation on floating point gives.
pub const CANONICAL_NAN: u64 = 0x7ff8_0000_0000_0000;

const SIGN: u64 = 1 << 63;
const INFINITY: u64 = 0x7ff << 52;
const FRACTION: u64 = (1 << 52) - 1;

/// `a op b` of 8 bytes, 32-bit elements side by side. Broadcast gives `a`.
pub fn combine(op: CollOp, dtype: CollType, a: u64, b: u64) -> u64 {
    match (op, dtype) {
        (CollOp::Broadcast, _) => a,
        (CollOp::And, _) => a & b,
        (CollOp::Or, _) => a | b,
        (CollOp::Xor, _) => a ^ b,
        (_, CollType::F64) => canonical(combine_f64(op, f64::from_bits(a), f64::from_bits(b))),
        (_, CollType::U32 | CollType::I32) => {
            let half = |shift: u32| {
                let (a, b) = ((a >> shift) as u32, (b >> shift) as u32);
                u64::from(match (op, dtype) {
                    (CollOp::Add, _) => a.wrapping_add(b),
                    (CollOp::Min, CollType::U32) => a.min(b),
                    (CollOp::Min, _) => (a as i32).min(b as i32) as u32,
                    (_, CollType::U32) => a.max(b),
                    _ => (a as i32).max(b as i32) as u32,
                }) << shift
            };
            half(32) | half(0)
        }
        (CollOp::Add, _) => a.wrapping_add(b),
        (CollOp::Min, CollType::U64) => a.min(b),
        (CollOp::Min, _) => (a as i64).min(b as i64) as u64,
        (CollOp::Max, CollType::U64) => a.max(b),
        (CollOp::Max, _) => (a as i64).max(b as i64) as u64,
    }
}

/// Sum, `minimumNumber` or `maximumNumber` of IEEE 754-2019.
fn combine_f64(op: CollOp, a: f64, b: f64) -> f64 {
    match op {
        CollOp::Add => a + b,
        _ if a.is_nan() => b,
        _ if b.is_nan() => a,
        // -0 is below +0.
        _ if a == b => match (op == CollOp::Min) == a.is_sign_negative() {
            true => a,
            false => b,
        },
        CollOp::Min => [a, b][usize::from(b < a)],
        _ => [a, b][usize::from(b > a)],
    }
}

fn canonical(value: f64) -> u64 {
    if value.is_nan() {
        CANONICAL_NAN
    } else {
        value.to_bits()
    }
}

/// Values at which the operations of `dtype` turn.
pub fn corners(dtype: CollType) -> Vec<u64> {
    let magnitudes: &[u64] = match dtype {
        CollType::U32 | CollType::I32 => {
            return [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_ffff]
                .iter()
                .flat_map(|&low| {
                    [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff].map(|high: u64| high << 32 | low)
                })
                .collect();
        }
        CollType::U64 | CollType::I64 => {
            return [0, 1, 0xffff_ffff, 1 << 32, SIGN - 1]
                .iter()
                .flat_map(|&value| [value, !value, value | SIGN])
                .collect();
        }
        CollType::F64 => &[
            0,
            1,
            2,
            FRACTION - 1,
            FRACTION,
            1 << 52,
            (1 << 52) + 1,
            2 << 52,
            (1023 - 54) << 52,
            (1023 - 53) << 52,
            ((1023 - 53) << 52) + 1,
            (1023 - 52) << 52,
            (1023 << 52) - 1,
            1023 << 52,
            (1023 << 52) + 1,
            1024 << 52,
            0x7fd << 52,
            (0x7fe - 53) << 52,
            (0x7fe - 54) << 52,
            INFINITY - (1 << 52),
            INFINITY - 2,
            INFINITY - 1,
            INFINITY,
            INFINITY + 1,
            INFINITY | FRACTION >> 1,
            CANONICAL_NAN,
            CANONICAL_NAN | 1,
            CANONICAL_NAN | FRACTION,
        ],
    };
    (magnitudes.iter())
        .flat_map(|&value| [value, value | SIGN])
        .collect()
}

/// A fraction of 52 bits: any, of few ones, of few zeros, or a run of ones.
fn fraction(rng: &mut Rng) -> u64 {
    let few = 1 << rng.u32(0..52) | rng.u64(0..2) << rng.u32(0..52);
    match rng.u8(0..5) {
        0 => few,
        1 => FRACTION & !few,
        2 => (FRACTION >> rng.u32(0..52)) << rng.u32(0..52) & FRACTION,
        3 => 0,
        _ => rng.u64(0..=FRACTION),
    }
}

/// A floating-point operand without regard to another.
fn any_f64(rng: &mut Rng) -> u64 {
    let sign = rng.u64(0..2) << 63;
    match rng.u8(0..16) {
        0 => sign,
        1 => sign | fraction(rng),                       // subnormal
        2 => sign | rng.u64(0..4) << 52 | fraction(rng), // about the smallest normal number
        3 => sign | (0x7ff - rng.u64(1..4)) << 52 | fraction(rng), // about the largest
        4 => sign | INFINITY,
        5 => sign | INFINITY | fraction(rng), // a NaN of either kind, now and then infinite
        6 => {
            let corners = corners(CollType::F64);
            corners[rng.usize(..corners.len())]
        }
        7..11 => sign | rng.u64(1000..1060) << 52 | fraction(rng),
        _ => rng.u64(..),
    }
}

/// An operand that makes a corner of an operation with `other`.
fn partner_f64(rng: &mut Rng, other: u64) -> u64 {
    let exponent = other >> 52 & 0x7ff;
    match rng.u8(0..12) {
        // Cancels all but some last bits.
        0 => other ^ SIGN ^ (rng.u64(0..2) << rng.u32(0..52)),
        1 => (other ^ SIGN).wrapping_add(rng.u64(0..5)).wrapping_sub(2),
        // Of nearly the same exponent.
        2 | 3 => {
            let near = (exponent + rng.u64(0..5)).saturating_sub(2).min(0x7fe);
            rng.u64(0..2) << 63 | near << 52 | fraction(rng)
        }
        // About half of the last place.
        4..7 => {
            let below = exponent.saturating_sub(rng.u64(50..58));
            let fraction = [0, 0, 1, FRACTION, fraction(rng)][rng.usize(..5)];
            rng.u64(0..2) << 63 | below << 52 | fraction
        }
        7 | 8 => other,
        _ => any_f64(rng),
    }
}

/// A random operand of `dtype` for an operation with `other`.
pub fn operand(rng: &mut Rng, dtype: CollType, other: u64) -> u64 {
    if rng.u8(0..4) == 0 {
        return rng.u64(..);
    }
    match dtype {
        CollType::F64 => partner_f64(rng, other),
        _ if rng.u8(0..4) == 0 => other ^ rng.u64(0..2) << rng.u32(0..64),
        _ => {
            let corners = corners(dtype);
            corners[rng.usize(..corners.len())]
        }
    }
}

/// How often sums of floating point met each corner.
#[derive(Debug, Default)]
pub struct Corners {
    /// Sums.
    pub sums: u64,
    /// Exactly half way between two numbers.
    pub ties: u64,
    /// Not representable, and no tie.
    pub inexact: u64,
    /// Subnormal results.
    pub subnormal: u64,
    /// Differences of nearly equal numbers: ten significant bits at most are left.
    pub cancelled: u64,
    /// x - x.
    pub zero: u64,
    /// -0 + -0.
    pub minus_zero: u64,
    /// Infinite sums of numbers that are not.
    pub overflow: u64,
    /// Infinite operands and an infinite sum.
    pub infinite: u64,
    /// Infinity less infinity.
    pub invalid: u64,
    /// Quiet NaNs among the operands.
    pub quiet: u64,
    /// Signalling NaNs among the operands.
    pub signalling: u64,
}

impl Corners {
    /// Counts `a + b`.
    pub fn count(&mut self, a: u64, b: u64) {
        let (x, y) = (f64::from_bits(a), f64::from_bits(b));
        let sum = x + y;
        self.sums += 1;
        if x.is_nan() || y.is_nan() {
            for nan in [a, b].into_iter().filter(|&v| f64::from_bits(v).is_nan()) {
                *[&mut self.signalling, &mut self.quiet][(nan >> 51 & 1) as usize] += 1;
            }
        } else if sum.is_nan() {
            self.invalid += 1;
        } else if x.is_infinite() || y.is_infinite() {
            self.infinite += 1;
        } else if sum.is_infinite() {
            self.overflow += 1;
        } else if sum == 0.0 {
            self.zero += u64::from(x != 0.0);
            self.minus_zero += u64::from(sum.is_sign_negative());
        } else {
            self.count_number(x, y, sum);
        }
    }

    fn count_number(&mut self, x: f64, y: f64, sum: f64) {
        // Knuth's exact error of a sum.
        let part = sum - x;
        let error = (x - (sum - part)) + (y - part);
        let place = f64::from_bits(sum.abs().to_bits() + 1) - sum.abs();
        if error.abs() == place / 2.0 && place.is_finite() {
            self.ties += 1;
        } else if error != 0.0 {
            self.inexact += 1;
        }
        self.subnormal += u64::from(sum.is_subnormal());
        self.cancelled += u64::from(sum.abs() < x.abs() / 2.0f64.powi(43));
    }
}
