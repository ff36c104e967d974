// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run of a program has shown, without anything that depends on timing, and what must be in it.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};

use gyre_driver::Error;

use crate::conformance::program::{
    Action, End, EndpointId, Op, Program, Receiving, Take, Turn, bytes_of,
};

/// What a run has shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// Active messages by (destination, origin), in the order of their dispatch.
    pub dispatched: BTreeMap<(EndpointId, EndpointId), Vec<String>>,
    /// How callbacks ended, by number of the operation and callback: each once.
    pub ends: BTreeMap<(usize, &'static str), Vec<String>>,
    /// Posts that were refused, by number of the operation.
    pub refused: BTreeMap<usize, String>,
    /// What happened between rounds.
    pub turns: BTreeMap<(usize, EndpointId), Vec<String>>,
    /// Errors of `advance`, by round and endpoint: sorted.
    pub errors: BTreeMap<(usize, EndpointId), Vec<String>>,
    /// Regions at the end of a round.
    pub memory: BTreeMap<(usize, EndpointId), String>,
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
    /// Notes how a callback ended.
    pub fn end(&mut self, number: usize, which: &'static str, how: String) {
        self.ends.entry((number, which)).or_default().push(how);
    }

    /// First differences from another run.
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

    /// What is not as the program demands it.
    pub fn wrong(&self, program: &Program) -> Vec<String> {
        let mut wrong = Vec::new();
        for (key, ends) in &self.ends {
            if ends.len() != 1 {
                wrong.push(format!("callback {key:?} has run {} times", ends.len()));
            }
        }
        for (number, round) in program.rounds.iter().enumerate() {
            for (&at, bytes) in &round.memory {
                if self.memory.get(&(number, at)) != Some(&digest(bytes)) {
                    wrong.push(format!("round {number}: memory of {at:?} is another"));
                }
            }
            let mut sent: BTreeMap<_, Vec<String>> = BTreeMap::new();
            for op in &round.ops {
                self.ended(op, &mut wrong);
                let (Action::Immediate {
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
                }) = op.action
                else {
                    continue;
                };
                if !round.open.contains(&op.to) {
                    continue;
                }
                let header = digest(&bytes_of(op.number + 1, header));
                let line = format!("{}: header {header}, {length} B", op.number);
                sent.entry((op.to, op.from)).or_default().push(line);
                let data = digest(&bytes_of(op.number, length));
                let received = self.ends.get(&(op.number, "received"));
                let right = match take {
                    Take::Data | Take::Into => received == Some(&vec![format!("ok, {data}")]),
                    _ => true,
                };
                if !right {
                    wrong.push(format!("{op:?}: received {received:?}"));
                }
            }
            for (key, sent) in sent {
                let all = self.dispatched.get(&key).cloned().unwrap_or_default();
                let numbers: Vec<_> = round.ops.iter().map(|op| op.number).collect();
                let here = |line: &String| {
                    let number = line.split(':').next().and_then(|n| n.parse().ok());
                    number.is_some_and(|n| numbers.contains(&n))
                };
                let here: Vec<_> = all.into_iter().filter(here).collect();
                if here != sent {
                    wrong.push(format!("{key:?}: {here:?} came, {sent:?} were sent"));
                }
            }
            for turn in &round.turns {
                if let Turn::Destroy { posted, .. } = turn {
                    for op in posted {
                        self.ended(op, &mut wrong);
                    }
                }
            }
            for receive in &round.receives {
                let got = self.ends.get(&(receive.number, "receive"));
                let Receiving::Message(message) = receive.kind else {
                    continue;
                };
                let length = round.ops.iter().find_map(|op| match op.action {
                    Action::Match { length, .. } if op.number == message => Some(length),
                    _ => None,
                });
                let length = length.expect("it is of this round");
                let data = digest(&bytes_of(message, length));
                let fits = length <= receive.room;
                let right = got.is_some_and(|got| got[0].ends_with(&data)) == fits;
                if !right {
                    wrong.push(format!("{receive:?} got {got:?}"));
                }
            }
        }
        wrong
    }

    /// Whether an operation has ended as it must.
    fn ended(&self, op: &Op, wrong: &mut Vec<String>) {
        let number = op.number;
        let mut ends: Vec<_> = self.refused.get(&number).into_iter().collect();
        let of = self.ends.range((number, "")..(number + 1, ""));
        let told = |which: &str| !["local", "received", "receive"].contains(&which);
        let of = of.filter(|((_, which), _)| told(which));
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
}

fn differences<K: Debug + Ord, V: Debug + PartialEq>(
    what: &str,
    one: &BTreeMap<K, V>,
    other: &BTreeMap<K, V>,
    found: &mut Vec<String>,
) {
    let keys: std::collections::BTreeSet<_> = one.keys().chain(other.keys()).collect();
    for key in keys {
        let (a, b) = (one.get(key), other.get(key));
        if a != b {
            found.push(format!(
                "{what} {key:?}: {a:?} on the double, {b:?} on the RTL"
            ));
        }
    }
}
