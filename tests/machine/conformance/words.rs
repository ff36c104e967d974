// SPDX-License-Identifier: MIT OR Apache-2.0
//! Read-modify-writes of a word, and whether an order of several origins explains their results.

use std::collections::BTreeSet;

use gyre_driver::{RmwOp, RmwWidth};

/// Bytes of a word.
pub const WORD: usize = 8;

/// A read-modify-write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub op: RmwOp,
    pub width: RmwWidth,
    /// Half of the word, of a change of 4 bytes.
    pub upper: bool,
    pub value: u64,
    pub test: Option<u64>,
    pub fetch: bool,
}

impl Change {
    /// First byte in the word.
    pub fn offset(&self) -> usize {
        match self.width == RmwWidth::Four && self.upper {
            true => 4,
            false => 0,
        }
    }

    /// The value that it finds in a word, and the word that it leaves.
    pub fn apply(&self, word: u64) -> (u64, u64) {
        let shift = 8 * self.offset();
        let mask = match self.width {
            RmwWidth::Eight => u64::MAX,
            RmwWidth::Four => 0xffff_ffff,
        };
        let before = word >> shift & mask;
        if self.test.is_some_and(|test| test & mask != before) {
            return (before, word);
        }
        let value = self.value & mask;
        let after = match self.op {
            RmwOp::Set => value,
            RmwOp::Add => before.wrapping_add(value) & mask,
            RmwOp::Or => before | value,
            RmwOp::And => before & value,
            RmwOp::Xor => before ^ value,
        };
        (before, word & !(mask << shift) | after << shift)
    }
}

/// A read-modify-write and the value that it fetched, if it did.
pub type Fetched = (Change, Option<u64>);

/// Whether read-modify-writes of one word, in some serial order that keeps each origin's own, fetch these values and
/// turn `start` into `end`.
pub fn explains(origins: &[Vec<Fetched>], start: u64, end: u64) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![(vec![0; origins.len()], start)];
    while let Some((at, word)) = open.pop() {
        if origins.iter().zip(&at).all(|(o, &at)| at == o.len()) && word == end {
            return true;
        }
        for (number, origin) in origins.iter().enumerate() {
            let Some((next, fetched)) = origin.get(at[number]) else {
                continue;
            };
            let (before, after) = next.apply(word);
            let mut at = at.clone();
            at[number] += 1;
            if fetched.is_none_or(|fetched| fetched == before) && seen.insert((at.clone(), after)) {
                open.push((at, after));
            }
        }
    }
    false
}

#[test]
fn histories_of_a_word_that_no_order_explains_are_refused() {
    let add = |value, fetched| {
        let change = Change {
            op: RmwOp::Add,
            width: RmwWidth::Eight,
            upper: false,
            value,
            test: None,
            fetch: true,
        };
        (change, Some(fetched))
    };
    assert!(explains(
        &[vec![add(1, 0), add(2, 4)], vec![add(3, 1)]],
        0,
        6
    ));
    // Both fetched the same, one was lost, or one origin's own order was not kept.
    assert!(!explains(&[vec![add(1, 0)], vec![add(3, 0)]], 0, 4));
    assert!(!explains(&[vec![add(1, 0)], vec![add(3, 1)]], 0, 3));
    assert!(!explains(&[vec![add(1, 2), add(2, 0)]], 0, 3));
    let upper = Change {
        op: RmwOp::Set,
        width: RmwWidth::Four,
        upper: true,
        value: 0xff_0000_0007,
        test: Some(0xee_0000_0000),
        ..add(0, 0).0
    };
    assert!(explains(&[vec![(upper, Some(0))]], 0, 7 << 32));
    let other = Change {
        test: Some(1),
        ..upper
    };
    assert!(explains(&[vec![(other, Some(0))]], 0, 0));
}
