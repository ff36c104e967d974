//! The numbers of a geometry's collectives: which is next, which have ended, which were given up.

use std::collections::{BTreeMap, VecDeque};

use crate::header::{Form, Header};
use crate::signature::Signature;

/// Ended collectives of a geometry whose signatures are known.
const REMEMBERED: usize = 16;

/// What to do with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relevance {
    /// It belongs to a collective under way.
    Running,
    /// Its collective has not begun here.
    Early,
    /// Nobody needs it any more.
    Late,
    /// Its collective has ended here without it: the members do not agree.
    Ended,
}

/// The collectives of a geometry so far.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Number of the next collective.
    next: u32,
    /// Collectives that were given up, and by which rank: what still comes for them is dropped.
    failed: BTreeMap<u32, (u32, Signature)>,
    /// The last that have ended.
    ended: VecDeque<(u32, Signature)>,
}

impl History {
    /// Number of the next collective.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Takes the next number. Returns it with the rank that has given the collective up already.
    pub fn take_next(&mut self) -> (u32, Option<u32>) {
        let sequence = self.next;
        self.next = self.next.wrapping_add(1);
        (sequence, self.failed.get(&sequence).map(|(rank, _)| *rank))
    }

    /// Leaves out collectives that this member was to follow in, and that were given up before it could.
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

    /// Remembers a collective that has ended here, for those that still wait.
    pub fn end(&mut self, sequence: u32, signature: Signature) {
        if self.ended.len() == REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back((sequence, signature));
    }

    /// What a collective was that has ended here, if it is remembered.
    pub fn ended(&self, sequence: u32) -> Option<&Signature> {
        let mut ended = self.ended.iter();
        let (_, signature) = ended.find(|(number, _)| *number == sequence)?;
        Some(signature)
    }

    /// What to do with a message; `running` says whether its collective is under way.
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
