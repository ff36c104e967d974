// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results of a run without those that depend on timing, and their comparison with the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};

use gyre_driver::Error;
use gyre_driver::matching::Received;

use crate::conformance::program::{
    Action, End, EndpointId, Op, Program, Round, Take, Turn, bytes_of,
};
use crate::conformance::words::{Fetched, explains};

/// End of a receive: its result, and a digest of the whole buffer.
type ReceiveEnd = (Result<Received, Error>, String);

/// Results of a run.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// Active messages by (destination, origin), in the order of their dispatch.
    pub dispatched: BTreeMap<(EndpointId, EndpointId), Vec<String>>,
    /// Ends of callbacks, by number of the operation and callback: one each.
    pub ends: BTreeMap<(usize, &'static str), Vec<String>>,
    /// Posts that were refused, by number of the operation.
    pub refused: BTreeMap<usize, String>,
    /// Results of the changes between rounds.
    pub turns: BTreeMap<(usize, EndpointId), Vec<String>>,
    /// Errors of `advance`, by round and endpoint: sorted.
    pub errors: BTreeMap<(usize, EndpointId), Vec<String>>,
    /// Regions at the end of a round, with a contended word of zero.
    pub memory: BTreeMap<(usize, EndpointId), String>,
    /// Contended words at the end of a round. They, and the values below, depend on timing.
    pub words: BTreeMap<(usize, EndpointId), u64>,
    /// Values that read-modify-writes of contended words fetched.
    pub fetched: BTreeMap<usize, u64>,
    /// Ends of receives, by number of the receive.
    pub matched: BTreeMap<usize, Vec<ReceiveEnd>>,
    /// Contradictions found while the program ran.
    pub wrong: Vec<String>,
}

/// A short name of bytes.
pub fn digest(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{} B {:016x}", bytes.len(), hasher.finish())
}

/// A result as it is compared.
pub fn outcome<T>(result: &Result<T, Error>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(error) => format!("{error:?}"),
    }
}

impl Log {
    /// Notes the end of a callback.
    pub fn end(&mut self, number: usize, which: &'static str, how: String) {
        self.ends.entry((number, which)).or_default().push(how);
    }

    /// Whether a callback has run.
    pub fn has_ended(&self, number: usize, which: &'static str) -> bool {
        self.ends.contains_key(&(number, which))
    }

    /// Differences from another run.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        differences("messages", &self.dispatched, &other.dispatched, &mut found);
        differences("callbacks", &self.ends, &other.ends, &mut found);
        differences("refused posts", &self.refused, &other.refused, &mut found);
        differences("between rounds", &self.turns, &other.turns, &mut found);
        differences("errors of advance", &self.errors, &other.errors, &mut found);
        differences("memory", &self.memory, &other.memory, &mut found);
        found
    }

    /// Contradictions to the program.
    pub fn wrong(&self, program: &Program) -> Vec<String> {
        let mut wrong = self.wrong.clone();
        for (key, ends) in &self.ends {
            if ends.len() != 1 {
                wrong.push(format!("callback {key:?} has run {} times", ends.len()));
            }
        }
        for (number, ends) in &self.matched {
            if ends.len() != 1 {
                wrong.push(format!("receive {number} is done {} times", ends.len()));
            }
        }
        for (number, round) in program.rounds.iter().enumerate() {
            for (&at, bytes) in &round.memory {
                if self.memory.get(&(number, at)) != Some(&digest(bytes)) {
                    wrong.push(format!("round {number}: memory of {at:?} differs"));
                }
                self.word(program, number, at, &mut wrong);
            }
            for (&op, bytes) in &round.results {
                let (expected, ended) = (digest(bytes), self.ends.get(&(op, "done")));
                if ended != Some(&vec![format!("ok, {expected}")]) {
                    wrong.push(format!(
                        "operation {op} ended {ended:?}, expected {expected}"
                    ));
                }
            }
            self.messages(round, &mut wrong);
            let mut errors = self.errors.iter().filter(|((of, _), _)| *of == number);
            if let (true, Some(errors)) = (round.is_calm(), errors.next()) {
                wrong.push(format!("round {number}: errors of advance: {errors:?}"));
            }
            for op in &round.ops {
                self.ended(op, &mut wrong);
            }
            for turn in &round.turns {
                if let Turn::Destroy { posted, .. } = turn {
                    for op in posted {
                        self.ended(op, &mut wrong);
                    }
                }
            }
        }
        wrong
    }

    /// Whether an order of a round's changes explains an endpoint's contended word.
    fn word(&self, program: &Program, number: usize, at: EndpointId, wrong: &mut Vec<String>) {
        let round = &program.rounds[number];
        let mut turns = round.turns.iter();
        let granted = turns.any(|turn| matches!(turn, Turn::Grant { at: new, .. } if *new == at));
        let before = number.checked_sub(1).filter(|_| !granted);
        let start = before.map_or(Some(0), |before| self.words.get(&(before, at)).copied());
        let (Some(start), Some(&end)) = (start, self.words.get(&(number, at))) else {
            return wrong.push(format!("round {number}: no word of {at:?}"));
        };
        let mut origins: BTreeMap<_, Vec<Fetched>> = BTreeMap::new();
        for op in round
            .ops
            .iter()
            .filter(|op| op.to == at && op.is_contended())
        {
            if let Action::Change(change, _) = op.action {
                let fetched = self.fetched.get(&op.number).copied();
                if change.fetch && fetched.is_none() {
                    wrong.push(format!("{op:?} has fetched nothing"));
                }
                origins.entry(op.from).or_default().push((change, fetched));
            }
        }
        let origins: Vec<_> = origins.into_values().collect();
        if !explains(&origins, start, end) {
            wrong.push(format!(
                "round {number}: no order explains the word of {at:?}: {start:#x}, {origins:x?}, {end:#x}"
            ));
        }
    }

    /// Active messages of a round: all dispatched, of each pair in order, with their data.
    fn messages(&self, round: &Round, wrong: &mut Vec<String>) {
        let mut sent: BTreeMap<_, Vec<String>> = BTreeMap::new();
        for op in round.ops.iter().filter(|op| round.open.contains(&op.to)) {
            let Some((header, length, take)) = op.message() else {
                continue;
            };
            let header = digest(&bytes_of(op.number + 1, header));
            let line = format!("{}: header {header}, {length} B", op.number);
            sent.entry((op.to, op.from)).or_default().push(line);
            let data = format!("ok, {}", digest(&bytes_of(op.number, length)));
            let received = self.ends.get(&(op.number, "received"));
            if matches!(take, Take::Data | Take::Into) && received != Some(&vec![data]) {
                wrong.push(format!("{op:?}: received {received:?}"));
            }
        }
        let numbers: BTreeSet<_> = round.ops.iter().map(|op| op.number).collect();
        for (key, sent) in sent {
            let all = self.dispatched.get(&key).cloned().unwrap_or_default();
            let here = |line: &String| {
                let number = line.split(':').next().and_then(|n| n.parse().ok());
                number.is_some_and(|n| numbers.contains(&n))
            };
            let here: Vec<_> = all.into_iter().filter(here).collect();
            if here != sent {
                wrong.push(format!("{key:?}: {here:?} came, {sent:?} were sent"));
            }
        }
    }

    /// Whether an operation has ended as it must.
    fn ended(&self, op: &Op, wrong: &mut Vec<String>) {
        let number = op.number;
        let mut ends: Vec<_> = self.refused.get(&number).into_iter().collect();
        let of = self.ends.range((number, "")..(number + 1, ""));
        // Data of a refused operation may have left all the same.
        let local = op.end == End::Well;
        let reported = |which| match which {
            "local" => local,
            _ => !["received", "receive"].contains(&which),
        };
        let of = of.filter(|((_, which), _)| reported(which));
        ends.extend(of.flat_map(|(_, ends)| ends));
        let well = |end: &&String| end.starts_with("ok");
        let right = match op.end {
            End::Well => ends.iter().all(well),
            End::Badly => !ends.is_empty() && !ends.iter().any(well),
            End::Either => true,
        };
        if !right {
            wrong.push(format!("{op:?} ended {ends:?}"));
        }
    }

    /// What fence `fence` of a round promises: earlier operations of its endpoint to its target are complete.
    pub fn check_fence(&mut self, round: &Round, fence: &Op) {
        let all = fence.action == Action::FenceAll;
        let earlier = round
            .of(fence.from)
            .take_while(|op| op.number != fence.number);
        for op in earlier.filter(|op| (all || op.to == fence.to) && op.end == End::Well) {
            let open = round.open.contains(&op.to);
            let complete = match (op.action, op.message()) {
                (_, Some((_, _, Take::Data | Take::Into))) => {
                    !open || self.has_ended(op.number, "received")
                }
                (Action::Put { told: true, .. }, _) => self.has_ended(op.number, "remote"),
                (Action::Get { .. } | Action::Change(..), _) => self.has_ended(op.number, "done"),
                _ => true,
            };
            if !complete {
                let line = format!("fence {} returns before step {}", fence.number, op.number);
                self.wrong.push(line);
            }
        }
    }
}

impl Round {
    /// Whether nothing in it is refused.
    fn is_calm(&self) -> bool {
        let well = |op: &Op| {
            let known = match op.action {
                Action::Immediate { known, take, .. } | Action::Send { known, take, .. } => {
                    known && matches!(take, Take::Data | Take::Into | Take::Nothing)
                }
                Action::Acknowledge { refuse } => !refuse,
                Action::Wrong(_) => false,
                _ => true,
            };
            known && op.end == End::Well
        };
        let ends = |turn: &Turn| matches!(turn, Turn::Destroy { .. } | Turn::Revoke { .. });
        self.ops.iter().all(well) && !self.turns.iter().any(ends)
    }
}

impl Op {
    /// Header, length and use of an active message with a callback at its target.
    fn message(&self) -> Option<(usize, usize, Take)> {
        match self.action {
            Action::Immediate {
                header,
                length,
                take,
                known: true,
            }
            | Action::Send {
                header,
                length,
                take,
                known: true,
                ..
            } => Some((header, length, take)),
            _ => None,
        }
    }
}

fn differences<K: Debug + Ord, V: Debug + PartialEq>(
    what: &str,
    one: &BTreeMap<K, V>,
    other: &BTreeMap<K, V>,
    found: &mut Vec<String>,
) {
    let keys: BTreeSet<_> = one.keys().chain(other.keys()).collect();
    for key in keys {
        let (a, b) = (one.get(key), other.get(key));
        if a != b {
            found.push(format!(
                "{what} {key:?}: {a:?} on the double, {b:?} on the RTL"
            ));
        }
    }
}
