// SPDX-License-Identifier: MIT OR Apache-2.0
//! The executable reference: carries a program out on plain memory, one step after the other, and says what
//! must hold of its run on the machine whatever the timing.

use std::collections::{BTreeMap, BTreeSet};

use gyre_driver::{RmwOp, RmwWidth};

use crate::random_programs::program::{Action, Change, EndpointId, Program, WORDS, bytes_of};

/// A read-modify-write and what it fetched, if it did.
pub type Fetched = (Change, Option<u64>);

/// What an endpoint must have seen and must have when a program has ended.
#[derive(Debug, Default)]
pub struct End {
    /// Steps whose messages it dispatches, by origin, in the order sent.
    pub dispatched: BTreeMap<EndpointId, Vec<usize>>,
    /// Its region. The words at the start are zero here: what they hold depends on the order.
    pub memory: Vec<u8>,
    /// Steps that change each word, by origin, in the order posted.
    pub changes: [BTreeMap<EndpointId, Vec<usize>>; WORDS],
    /// Steps that send it matched messages.
    pub matched: BTreeSet<usize>,
}

/// A program as the reference has carried it out.
pub struct Reference {
    /// Where in its target's region a step writes or reads.
    pub places: Vec<usize>,
    /// The regions at the start.
    pub initial: BTreeMap<EndpointId, Vec<u8>>,
    pub ends: BTreeMap<EndpointId, End>,
}

impl Reference {
    /// Carries `program` out.
    pub fn new(program: &Program) -> Self {
        let mut places = Vec::new();
        let endpoints = (0..program.clients.len()).flat_map(|client| program.endpoints(client));
        let mut initial: BTreeMap<_, _> = endpoints.map(|e| (e, vec![0; 64])).collect();
        for (index, step) in program.steps.iter().enumerate() {
            let memory = initial.get_mut(&step.to).expect("an endpoint");
            places.push(memory.len());
            // Transfers begin anywhere.
            match step.action {
                Action::Put { length, .. } => memory.resize(memory.len() + length + 3, 0),
                Action::Get { length, .. } => {
                    memory.extend(bytes_of(index, length));
                    memory.extend([0; 3]);
                }
                _ => {}
            }
        }
        let empty = |(&endpoint, memory): (&EndpointId, &Vec<u8>)| {
            let memory = memory.clone();
            (
                endpoint,
                End {
                    memory,
                    ..End::default()
                },
            )
        };
        let mut ends: BTreeMap<_, _> = initial.iter().map(empty).collect();
        for (index, step) in program.steps.iter().enumerate() {
            let end = ends.get_mut(&step.to).expect("an endpoint");
            match step.action {
                Action::Immediate { .. } | Action::Send { .. } => {
                    end.dispatched.entry(step.from).or_default().push(index);
                }
                Action::Put { length, .. } => {
                    let start = places[index];
                    end.memory[start..start + length].copy_from_slice(&bytes_of(index, length));
                }
                Action::Change(change) => {
                    let changes = &mut end.changes[change.word];
                    changes.entry(step.from).or_default().push(index);
                }
                Action::Match { .. } => {
                    end.matched.insert(index);
                }
                Action::Get { .. } | Action::Acknowledge | Action::Fence | Action::FenceAll => {}
            }
        }
        Self {
            places,
            initial,
            ends,
        }
    }
}

/// The word that `change` finds and the one that it leaves, in `word` of 8 bytes.
fn change(word: u64, change: &Change) -> (u64, u64) {
    let (shift, mask) = match (change.width, change.upper) {
        (RmwWidth::Eight, _) => (0, u64::MAX),
        (RmwWidth::Four, false) => (0, 0xffff_ffff),
        (RmwWidth::Four, true) => (32, 0xffff_ffff),
    };
    let before = word >> shift & mask;
    if change.test.is_some_and(|test| test & mask != before) {
        return (before, word);
    }
    let value = change.value & mask;
    let after = match change.op {
        RmwOp::Set => value,
        RmwOp::Add => before.wrapping_add(value) & mask,
        RmwOp::Or => before | value,
        RmwOp::And => before & value,
        RmwOp::Xor => before ^ value,
    };
    (before, word & !(mask << shift) | after << shift)
}

/// Whether read-modify-writes of one word, one after the other in some order that is each origin's own, find
/// what they have fetched and turn zero into `end`.
pub fn explains(origins: &[Vec<Fetched>], end: u64) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![(vec![0; origins.len()], 0)];
    while let Some((at, word)) = open.pop() {
        if origins.iter().zip(&at).all(|(o, &at)| at == o.len()) && word == end {
            return true;
        }
        for (number, origin) in origins.iter().enumerate() {
            let Some((next, fetched)) = origin.get(at[number]) else {
                continue;
            };
            let (before, after) = change(word, next);
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
            word: 0,
            upper: false,
            value,
            test: None,
            fetch: true,
        };
        (change, Some(fetched))
    };
    assert!(explains(&[vec![add(1, 0), add(2, 4)], vec![add(3, 1)]], 6));
    // Both found the same, one was lost, or one origin's own order was not kept.
    assert!(!explains(&[vec![add(1, 0)], vec![add(3, 0)]], 4));
    assert!(!explains(&[vec![add(1, 0)], vec![add(3, 1)]], 3));
    assert!(!explains(&[vec![add(1, 2), add(2, 0)]], 3));
    let upper = Change {
        op: RmwOp::Set,
        width: RmwWidth::Four,
        upper: true,
        value: 0xff_0000_0007,
        test: Some(0xee_0000_0000),
        ..add(0, 0).0
    };
    assert!(explains(&[vec![(upper, Some(0))]], 7 << 32));
    let other = Change {
        test: Some(1),
        ..upper
    };
    assert!(explains(&[vec![(other, Some(0))]], 0));
}
