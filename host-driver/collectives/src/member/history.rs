// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sequence numbers of a geometry's collectives: the next, completed ones, abandoned ones.

use std::collections::{BTreeMap, VecDeque};

use crate::header::{Form, Header};
use crate::signature::Signature;

/// Number of completed collectives whose signatures are kept.
const REMEMBERED: usize = 16;

/// Disposition of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relevance {
    /// Its collective is under way.
    Running,
    /// Its collective has not begun here.
    Early,
    /// It is obsolete.
    Late,
    /// Its collective has ended here without it: the members disagree.
    Ended,
}

/// Record of a geometry's collectives.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Number of the next collective.
    next: u32,
    /// Abandoned collectives with the rank that gave them up; later messages for them are dropped.
    failed: BTreeMap<u32, (u32, Signature)>,
    /// The latest completed collectives.
    ended: VecDeque<(u32, Signature)>,
}

impl History {
    /// Number of the next collective.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Takes the next number. Returns it with the rank that has already given the collective up, if any.
    pub fn take_next(&mut self) -> (u32, Option<u32>) {
        let sequence = self.next;
        self.next = self.next.wrapping_add(1);
        (sequence, self.failed.get(&sequence).map(|(rank, _)| *rank))
    }

    /// Skips collectives that this member should follow but that were given up first.
    pub fn skip_failed(&mut self, follows: impl Fn(&Signature) -> bool) {
        while let Some((_, signature)) = self.failed.get(&self.next)
            && follows(signature)
        {
            self.next = self.next.wrapping_add(1);
        }
    }

    /// Notes a collective that this member refuses to follow, the next one.
    pub fn refuse(&mut self, sequence: u32, by: (u32, Signature)) {
        self.next = sequence.wrapping_add(1);
        self.fail(sequence, by);
    }

    /// Notes a collective that was given up.
    pub fn fail(&mut self, sequence: u32, by: (u32, Signature)) {
        self.failed.insert(sequence, by);
    }

    /// Remembers a collective completed here, for members that still wait.
    pub fn end(&mut self, sequence: u32, signature: Signature) {
        if self.ended.len() == REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back((sequence, signature));
    }

    /// Signature of a completed collective, if it is remembered.
    pub fn ended(&self, sequence: u32) -> Option<&Signature> {
        let mut ended = self.ended.iter();
        let (_, signature) = ended.find(|(number, _)| *number == sequence)?;
        Some(signature)
    }

    /// Disposition of a message; `running`: its collective is under way.
    pub fn relevance(&self, header: &Header, running: bool) -> Relevance {
        let sequence = header.sequence;
        if self.failed.contains_key(&sequence) {
            Relevance::Late
        } else if running {
            Relevance::Running
        } else if sequence >= self.next {
            Relevance::Early
        } else {
            match header.form {
                Form::Start | Form::GivenUp => Relevance::Late,
                Form::Waits => match self.ended(sequence) {
                    Some(ended) if *ended != header.signature => Relevance::Ended,
                    _ => Relevance::Late,
                },
                Form::Data { .. } | Form::Announced => Relevance::Ended,
            }
        }
    }
}
