// SPDX-License-Identifier: MIT OR Apache-2.0
//! Columns of whole numbers: each number is seven bits a byte, lowest first, the last byte without its top bit.

use serde::Serialize;

/// Encoding of a column's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Coding {
    /// The values.
    Plain,
    /// Differences from the value before, the first from 0: twice the difference, or of a negative one twice its amount
    /// less one.
    Delta,
}

impl Coding {
    /// The number that stands for a value behind another one.
    const fn code(self, value: u64, before: u64) -> u64 {
        match self {
            Self::Plain => value,
            Self::Delta => zigzag(value, before),
        }
    }
}

/// A column as the head names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Column {
    name: &'static str,
    coding: Coding,
    count: usize,
}

/// The columns of a run, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    /// In their order.
    pub(crate) names: Vec<Column>,
    /// All of them.
    pub(crate) bytes: Vec<u8>,
}

impl Columns {
    /// Adds a column of values.
    pub(crate) fn plain(&mut self, name: &'static str, values: impl IntoIterator<Item = u64>) {
        self.column(name, Coding::Plain, values);
    }

    /// Adds a column of values of which neighbours are close.
    pub(crate) fn deltas(&mut self, name: &'static str, values: impl IntoIterator<Item = u64>) {
        self.column(name, Coding::Delta, values);
    }

    /// Adds a column of values whose parts follow each other.
    pub(crate) fn joined<'a>(
        &mut self,
        name: &'static str,
        coding: Coding,
        parts: impl IntoIterator<Item = &'a Part>,
    ) {
        let (mut before, mut count) = (0, 0);
        for part in parts {
            let Some((first, last)) = part.ends else {
                continue;
            };
            self.bytes.number(coding.code(first, before));
            self.bytes.extend_from_slice(&part.bytes);
            before = last;
            count += part.count;
        }
        self.names.push(Column {
            name,
            coding,
            count,
        });
    }

    /// Adds a column of values that may be missing, as 0; others are one more than their difference from a reference.
    pub(crate) fn optional(
        &mut self,
        name: &'static str,
        values: impl IntoIterator<Item = (Option<u64>, u64)>,
    ) {
        let difference = |(value, reference): (Option<u64>, u64)| {
            value.map_or(0, |value| zigzag(value, reference).saturating_add(1))
        };
        self.plain(name, values.into_iter().map(difference));
    }

    fn column(
        &mut self,
        name: &'static str,
        coding: Coding,
        values: impl IntoIterator<Item = u64>,
    ) {
        let (mut before, mut count) = (0, 0);
        for value in values {
            self.bytes.number(coding.code(value, before));
            before = value;
            count += 1;
        }
        self.names.push(Column {
            name,
            coding,
            count,
        });
    }
}

/// A part of a column, in a few bytes for each value: there are millions.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    coding: Coding,
    /// The first value and the last.
    ends: Option<(u64, u64)>,
    /// Those behind the first.
    bytes: Vec<u8>,
    pub(crate) count: usize,
}

impl Part {
    pub(crate) const fn new(coding: Coding) -> Self {
        Self {
            coding,
            ends: None,
            bytes: Vec::new(),
            count: 0,
        }
    }

    pub(crate) fn push(&mut self, value: u64) {
        self.count += 1;
        match &mut self.ends {
            Some((_, last)) => {
                self.bytes.number(self.coding.code(value, *last));
                *last = value;
            }
            None => self.ends = Some((value, value)),
        }
    }
}

/// Bytes that numbers are appended to.
trait Numbers {
    fn number(&mut self, value: u64);
}

impl Numbers for Vec<u8> {
    fn number(&mut self, mut value: u64) {
        while value > 0x7f {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }
}

/// A difference without its sign: even if it is not negative.
const fn zigzag(value: u64, before: u64) -> u64 {
    let difference = value.wrapping_sub(before) as i64;
    (difference << 1 ^ difference >> 63) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of the columns, as the page reads them.
    fn decoded(columns: &Columns) -> Vec<Vec<u64>> {
        let mut bytes = columns.bytes.iter();
        let mut number = || {
            let (mut value, mut shift) = (0, 0);
            loop {
                let byte = *bytes.next().expect("a byte");
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    return value;
                }
            }
        };
        let decoded = columns
            .names
            .iter()
            .map(|column| {
                let mut before = 0_u64;
                let mut next = || {
                    let coded = number();
                    if column.coding == Coding::Plain {
                        return coded;
                    }
                    let difference = (coded >> 1) as i64 ^ -((coded & 1) as i64);
                    before = before.wrapping_add(difference as u64);
                    before
                };
                (0..column.count).map(|_| next()).collect()
            })
            .collect();
        assert_eq!(bytes.next(), None, "nothing is left");
        decoded
    }

    #[test]
    fn x7_columns_hold_their_values() {
        let values = [0, 1, 127, 128, 300, 5, u64::MAX, 0, 1 << 53];
        let mut columns = Columns::default();
        columns.plain("plain", values);
        columns.deltas("deltas", values);
        columns.plain("none", []);
        assert_eq!(
            decoded(&columns),
            [values.to_vec(), values.to_vec(), Vec::new()]
        );
    }

    #[test]
    fn x7_columns_of_parts_are_those_of_their_values() {
        let values = [0, 1, 127, 128, 300, 5, u64::MAX, 0, 1 << 53];
        for coding in [Coding::Plain, Coding::Delta] {
            for sizes in [&[9][..], &[0, 4, 0, 5], &[1; 9]] {
                let mut left = values.iter();
                let parts: Vec<Part> = sizes
                    .iter()
                    .map(|&size| {
                        let mut part = Part::new(coding);
                        left.by_ref().take(size).for_each(|&value| part.push(value));
                        part
                    })
                    .collect();
                let (mut joined, mut whole) = (Columns::default(), Columns::default());
                joined.joined("values", coding, &parts);
                match coding {
                    Coding::Plain => whole.plain("values", values),
                    Coding::Delta => whole.deltas("values", values),
                }
                assert_eq!(joined.names, whole.names);
                assert_eq!(joined.bytes, whole.bytes);
            }
        }
    }

    #[test]
    fn x7_close_values_and_missing_ones_take_a_byte() {
        let mut columns = Columns::default();
        columns.deltas("times", [1_000_000, 1_000_063, 1_000_000]);
        assert_eq!(columns.bytes.len(), 3 + 1 + 1);
        let mut columns = Columns::default();
        columns.optional(
            "ends",
            [(None, 7), (Some(9), 7), (Some(6), 7), (Some(7), 7)],
        );
        assert_eq!(decoded(&columns), [[0, 5, 2, 1]]);
        assert_eq!(columns.bytes.len(), 4);
    }
}
