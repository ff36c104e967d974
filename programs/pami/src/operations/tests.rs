// SPDX-License-Identifier: MIT OR Apache-2.0
use super::long_double::LongDouble;
use super::{Operation, combine};
use crate::elements::{Element, Kind};

/// A value without its representation: its parts, which are small whole numbers.
type Value = Vec<i64>;

/// The kinds of the parts of a value, and where they are.
fn parts(kind: Kind) -> Vec<(Kind, usize)> {
    match kind {
        Kind::Complex32 => vec![(Kind::Float32, 0), (Kind::Float32, 4)],
        Kind::Complex64 => vec![(Kind::Float64, 0), (Kind::Float64, 8)],
        Kind::Located(value, index) => vec![(*value, 0), (*index, kind.size() / 2)],
        kind => vec![(kind, 0)],
    }
}

/// A `long double` by its definition: sign, exponent and mantissa with its first bit.
fn long_double(value: i64) -> [u8; 16] {
    let magnitude = value.unsigned_abs();
    let zeros = magnitude.leading_zeros();
    let mut bits = 0;
    if magnitude > 0 {
        bits = u128::from(magnitude << zeros) | (u128::from(16383 + 63 - zeros) << 64);
    }
    (bits | (u128::from(value < 0) << 79)).to_le_bytes()
}

fn put(kind: Kind, value: i64, out: &mut [u8]) {
    match kind {
        // The low bytes.
        Kind::Signed(bytes) | Kind::Unsigned(bytes) | Kind::Logical(bytes) => {
            out[..bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
        Kind::Float32 => out[..4].copy_from_slice(&(value as f32).to_le_bytes()),
        Kind::Float64 => out[..8].copy_from_slice(&(value as f64).to_le_bytes()),
        // The rest is padding.
        Kind::Float80 => out[..10].copy_from_slice(&long_double(value)[..10]),
        Kind::Complex32 | Kind::Complex64 | Kind::Located(..) => unreachable!("no part"),
    }
}

/// Values as they lie in memory.
fn laid(kind: Kind, values: &[Value], padding: u8) -> Vec<u8> {
    let mut bytes = vec![padding; values.len() * kind.size()];
    for (value, out) in values.iter().zip(bytes.chunks_mut(kind.size())) {
        for ((part, at), number) in parts(kind).into_iter().zip(value) {
            put(part, *number, &mut out[at..]);
        }
    }
    bytes
}

fn is_integer(kind: Kind) -> bool {
    matches!(kind, Kind::Signed(_) | Kind::Unsigned(_))
}

fn is_float(kind: Kind) -> bool {
    matches!(kind, Kind::Float32 | Kind::Float64 | Kind::Float80)
}

/// Result of an operation by `pami.h`; `None` for an invalid one.
fn expected(kind: Kind, operation: Operation, a: &Value, b: &Value) -> Option<Value> {
    let is_complex = matches!(kind, Kind::Complex32 | Kind::Complex64);
    let is_logical = matches!(kind, Kind::Logical(_));
    let is_located = matches!(kind, Kind::Located(..));
    let truth = |value: bool| vec![i64::from(value)];
    let (x, y) = (a[0], b[0]);
    let (valid, value) = match operation {
        Operation::Copy => (true, b.clone()),
        Operation::Noop => (true, a.clone()),
        Operation::Max => (is_integer(kind) || is_float(kind), vec![x.max(y)]),
        Operation::Min => (is_integer(kind) || is_float(kind), vec![x.min(y)]),
        Operation::Sum => (
            is_integer(kind) || is_float(kind) || is_complex,
            a.iter().zip(b).map(|(x, y)| x + y).collect(),
        ),
        Operation::Prod if is_complex => (true, vec![x * y - a[1] * b[1], x * b[1] + a[1] * y]),
        Operation::Prod => (is_integer(kind) || is_float(kind), vec![x * y]),
        Operation::Land => (is_integer(kind) || is_logical, truth(x != 0 && y != 0)),
        Operation::Lor => (is_integer(kind) || is_logical, truth(x != 0 || y != 0)),
        Operation::Lxor => (is_integer(kind) || is_logical, truth((x != 0) != (y != 0))),
        Operation::Band => (is_integer(kind), vec![x & y]),
        Operation::Bor => (is_integer(kind), vec![x | y]),
        Operation::Bxor => (is_integer(kind), vec![x ^ y]),
        Operation::Maxloc if is_located => (true, located(x > y, a, b)),
        Operation::Minloc if is_located => (true, located(x < y, a, b)),
        Operation::Maxloc | Operation::Minloc => (false, vec![]),
    };
    valid.then_some(value)
}

/// The pair that has won, or with equal values the smaller index.
fn located(first: bool, a: &Value, b: &Value) -> Value {
    let first = first || (a[0] == b[0] && a[1] <= b[1]);
    if first { a.clone() } else { b.clone() }
}

/// Values that every kind has: those without a sign have no negative ones.
fn numbers(kind: Kind) -> Vec<i64> {
    match kind {
        Kind::Unsigned(1) => vec![0, 1, 2, 7, 100, 128, 255],
        Kind::Unsigned(_) | Kind::Logical(_) => vec![0, 1, 2, 7, 100, 127],
        Kind::Signed(_) => vec![0, 1, -1, 7, -9, 100, -128],
        // Products of 0 have signs.
        _ => vec![3, 1, -1, 7, -9, 100, -128],
    }
}

#[test]
fn x6_operations_on_predefined_types_are_those_of_the_header() {
    let mut valid = 0;
    for element in Element::all() {
        let kind = element.kind();
        let width = parts(kind).len();
        let numbers = numbers(kind);
        // Every pair of numbers, and beside them others for second parts.
        let (mut ones, mut others) = (Vec::new(), Vec::new());
        for (i, &x) in numbers.iter().enumerate() {
            for (j, &y) in numbers.iter().enumerate() {
                let second = |place: usize| numbers[place % numbers.len()];
                ones.push([x, second(2 * i + j)][..width].to_vec());
                others.push([y, second(i + 3 * j + 1)][..width].to_vec());
            }
        }
        for operation in Operation::ALL {
            let pairs = ones.iter().zip(&others);
            let results: Option<Vec<Value>> = pairs
                .map(|(a, b)| expected(kind, operation, a, b))
                .collect();
            let combine = combine(element, operation);
            let case = format!("{operation:?} of type {}", element.number());
            let Some(results) = results else {
                assert!(combine.is_none(), "{case}");
                continue;
            };
            valid += 1;
            let mut target = laid(kind, &ones, 0xa5);
            let source = laid(kind, &others, 0xa5);
            combine.expect(&case)(&mut target, &source);
            // Integers wrap: both sides keep their low bytes.
            assert_eq!(target, laid(kind, &results, 0xa5), "{case}");
        }
    }
    // 11 integers, 3 floating point, 4 logical, 2 complex, 8 located types.
    assert_eq!(valid, 11 * 12 + 3 * 6 + 4 * 5 + 2 * 4 + 8 * 4);
}

#[test]
fn x6_numbers_of_operations_are_1_to_14() {
    let found: Vec<_> = (0..16).filter_map(Operation::of).collect();
    assert_eq!(found, Operation::ALL);
    assert_eq!(Operation::of(0), None);
    assert_eq!(Operation::of(15), None);
}

#[test]
fn x6_long_doubles_compute_with_64_bits_of_mantissa() {
    let of = |value| LongDouble::from_ne_bytes(long_double(value));
    let sum = of(i64::MAX) + of(-2);
    assert_eq!(sum.to_ne_bytes(), long_double(i64::MAX - 2));
    let product = of((1 << 32) + 1) * of((1 << 30) + 1);
    let expected = ((1i64 << 32) + 1) * ((1 << 30) + 1);
    assert_eq!(product.to_ne_bytes(), long_double(expected));
    assert!(of(-3) < of(2) && of(2) < of(3) && of(-3) < of(-2));
    let minus_zero = of(0) * of(-1);
    assert_ne!(minus_zero.to_ne_bytes(), of(0).to_ne_bytes());
    assert!(minus_zero == of(0));
}

#[test]
fn x6_what_is_not_a_number_is_neither_greater_nor_smaller() {
    let bits: u128 = 0x7fff_c000_0000_0000_0000;
    let none = LongDouble::from_ne_bytes(bits.to_ne_bytes());
    let one = LongDouble::from_ne_bytes(long_double(1));
    assert_eq!(none.partial_cmp(&one), None);
    assert!(none != none);
    for (number, one, none) in [
        (
            12,
            1f32.to_ne_bytes().to_vec(),
            f32::NAN.to_ne_bytes().to_vec(),
        ),
        (14, one.to_ne_bytes().to_vec(), none.to_ne_bytes().to_vec()),
    ] {
        let element = Element::of(number).unwrap();
        for operation in [Operation::Max, Operation::Min] {
            let mut target = one.clone();
            combine(element, operation).unwrap()(&mut target, &none);
            assert_eq!(target, one, "{operation:?}");
        }
    }
}
