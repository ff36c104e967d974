// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must hold of an endpoint when a program has ended.

use std::collections::{BTreeMap, BTreeSet};

use crate::random_programs::member::{Member, Members, Posted};
use crate::random_programs::program::{Action, EndpointId, Program};
use crate::random_programs::reference::{End, Fetched, explains};

/// Notes what is wrong with how `member` has ended.
pub fn end(member: &Member, program: &Program, end: &End, all: &Members) {
    let memory = member.memory();
    let words = 8 * end.changes.len();
    if memory[words..] != end.memory[words..] {
        member.wrong("its region is not what the reference has".into());
    }
    for (number, origins) in end.changes.iter().enumerate() {
        let bytes = memory[8 * number..].first_chunk().expect("a word");
        let history = history(origins, program, all);
        let word = u64::from_le_bytes(*bytes);
        if !explains(&history, word) {
            member.wrong(format!(
                "no order explains word {number}, which is {word:#x} after {history:x?}"
            ));
        }
    }
    let seen = member.seen.lock();
    let (dispatched, posted) = (seen.dispatched.clone(), seen.posted.clone());
    let often: Vec<_> = seen.done.iter().filter(|(_, times)| **times != 1).collect();
    let often = (!often.is_empty()).then(|| format!("callbacks ran not once: {often:?}"));
    drop(seen);
    if let Some(often) = often {
        member.wrong(often);
    }
    if dispatched != end.dispatched {
        let sent = &end.dispatched;
        member.wrong(format!(
            "messages came as {dispatched:?}, were sent as {sent:?}"
        ));
    }
    matches(member, program, &posted, end.matched.clone());
}

/// The read-modify-writes of a word with what they have fetched.
fn history(
    origins: &BTreeMap<EndpointId, Vec<usize>>,
    program: &Program,
    all: &Members,
) -> Vec<Vec<Fetched>> {
    let fetched = |(origin, steps): (&EndpointId, &Vec<usize>)| {
        let seen = all[origin].seen.lock();
        let changes = steps
            .iter()
            .map(|index| match program.steps[*index].action {
                Action::Change(change) => (change, seen.fetched.get(index).copied()),
                other => unreachable!("{other:?} changes no word"),
            });
        changes.collect()
    };
    origins.iter().map(fetched).collect()
}

/// Every message has one receive, and receives of one kind get the messages of a task in the order sent.
fn matches(member: &Member, program: &Program, posted: &[Posted], mut messages: BTreeSet<usize>) {
    let mut last: BTreeMap<_, usize> = BTreeMap::new();
    for receive in posted {
        let Some(index) = receive.got.filter(|index| messages.remove(index)) else {
            member.wrong(format!("{receive:?} has no message of its own"));
            continue;
        };
        let from = program.steps[index].from;
        let kind = (receive.comm, receive.source, receive.tag, from);
        let before = last.insert(kind, index);
        if before.is_some_and(|before| before > index) {
            member.wrong(format!("step {before:?} matched before step {index}"));
        }
    }
}
