// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a program on a perfect network.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use thiserror::Error;

use super::matcher::{Arrival, Matched, Matcher, Receive, Truncated};
use crate::exec::{BlockedReport, RankState};
use crate::payload::{Key, MessageNumbers};
use crate::program::{OpId, OpKind, Program, RankProgram};

/// When a send is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendMode {
    /// Once handed over.
    Eager,
    /// Once the receive has matched.
    Synchronous,
    /// Eager up to this many bytes, synchronous above.
    EagerUpTo(u64),
}

/// One message from its send to its receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delivery {
    /// Source, destination, tag and number of the message.
    pub key: Key,
    /// Its payload in bytes.
    pub bytes: u64,
    /// The operation of the source that sent it.
    pub send: OpId,
    /// The operation of the destination that received it.
    pub recv: OpId,
}

/// A run that came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// When the last rank ended, in nanoseconds.
    pub makespan_ns: u64,
    /// When each rank's last operation finished, in nanoseconds.
    pub end_ns: Vec<u64>,
    /// All messages, in the order in which they matched.
    pub deliveries: Vec<Delivery>,
}

/// A run that cannot end well.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RunError {
    /// Nothing can move any more.
    #[error("deadlock at {at_ns} ns:\n{}", lines(blocked))]
    Deadlock {
        /// When, in nanoseconds.
        at_ns: u64,
        /// Cause of the wait of each unfinished rank.
        blocked: Vec<BlockedReport>,
    },
    /// A message is longer than its receive.
    #[error("rank {rank}: {truncated}")]
    Truncated {
        /// The receiving rank.
        rank: u32,
        /// The message and the receive.
        truncated: Truncated,
    },
    /// Every operation has finished, but messages were never received.
    #[error("rank {rank}: {messages} messages were not received")]
    Unreceived {
        /// The receiving rank.
        rank: u32,
        /// How many messages.
        messages: usize,
    },
}

fn lines(blocked: &[BlockedReport]) -> String {
    let lines: Vec<_> = blocked.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

impl Program {
    /// The makespan on an infinitely fast network with free calls, in nanoseconds: a floor that
    /// no machine can beat when operations run in the order of [`RankState`].
    ///
    /// # Errors
    /// [`RunError`] if the program cannot end even there.
    pub fn floor_ns(&self) -> Result<u64, RunError> {
        Ok(run(self, SendMode::Eager)?.makespan_ns)
    }
}

/// Runs every rank to its end.
///
/// # Errors
/// [`RunError`] on deadlock, on a message longer than its receive, and on messages without a
/// receive.
pub fn run(program: &Program, mode: SendMode) -> Result<Outcome, RunError> {
    let mut network = Network::new(program, mode);
    loop {
        while let Some(rank) = network.active.pop_first() {
            network.advance(rank)?;
        }
        if !network.next_instant() {
            return network.outcome();
        }
    }
}

/// A message on its way to a receive.
#[derive(Debug, Clone, Copy)]
struct Message {
    send: OpId,
    number: u64,
    synchronous: bool,
}

#[derive(Debug)]
struct Rank<'p> {
    state: RankState<&'p RankProgram>,
    matcher: Matcher<Message, OpId>,
    numbers: MessageNumbers,
    /// Which processors run a calc; an element for each of the state's `cpus`.
    busy: Vec<bool>,
    end_ns: u64,
}

#[derive(Debug)]
struct Network<'p> {
    mode: SendMode,
    now_ns: u64,
    ranks: Vec<Rank<'p>>,
    /// Ranks that may have something to start.
    active: BTreeSet<u32>,
    /// Ends of running calcs: time, rank, operation.
    calcs: BinaryHeap<Reverse<(u64, u32, OpId)>>,
    deliveries: Vec<Delivery>,
}

impl<'p> Network<'p> {
    fn new(program: &'p Program, mode: SendMode) -> Self {
        let ranks = program.ranks().iter().map(|rank| {
            let state = RankState::new(rank);
            Rank {
                busy: vec![false; state.cpus().len()],
                state,
                matcher: Matcher::new(),
                numbers: MessageNumbers::new(),
                end_ns: 0,
            }
        });
        Self {
            mode,
            now_ns: 0,
            ranks: ranks.collect(),
            active: (0..program.ranks().len() as u32).collect(),
            calcs: BinaryHeap::new(),
            deliveries: Vec::new(),
        }
    }

    /// Starts whatever a rank can start now.
    fn advance(&mut self, rank: u32) -> Result<(), RunError> {
        for index in 0..self.ranks[rank as usize].busy.len() {
            loop {
                let this = &mut self.ranks[rank as usize];
                let cpu = this.state.cpus()[index];
                if this.busy[index] {
                    break;
                }
                let Some(op) = this.state.next_ready(cpu) else {
                    break;
                };
                this.state.started(op);
                // Starting may have made operations of other processors ready.
                self.active.insert(rank);
                self.begin(rank, index, op)?;
            }
        }
        Ok(())
    }

    /// Does what an operation does on its start.
    fn begin(&mut self, rank: u32, cpu_index: usize, op: OpId) -> Result<(), RunError> {
        let this = &mut self.ranks[rank as usize];
        match this.state.program().op(op).kind {
            OpKind::Calc { ns: 0 } => self.finish(rank, op),
            OpKind::Calc { ns } => {
                this.busy[cpu_index] = true;
                // A parsed program's calc times add up to less than 2^64.
                let end = self.now_ns.saturating_add(ns);
                self.calcs.push(Reverse((end, rank, op)));
            }
            OpKind::Send { bytes, to, tag, .. } => {
                let synchronous = match self.mode {
                    SendMode::Eager => false,
                    SendMode::Synchronous => true,
                    SendMode::EagerUpTo(limit) => bytes > limit,
                };
                let message = Message {
                    send: op,
                    number: this.numbers.next(to, tag),
                    synchronous,
                };
                if !synchronous {
                    self.finish(rank, op);
                }
                let arrival = Arrival {
                    source: rank,
                    tag,
                    bytes,
                    message,
                };
                let matched = self.ranks[to as usize].matcher.arrive(arrival);
                self.deliver(to, matched)?;
            }
            OpKind::Recv {
                bytes, from, tag, ..
            } => {
                let receive = Receive {
                    source: from,
                    tag,
                    bytes,
                    receive: op,
                };
                let matched = this.matcher.post(receive);
                self.deliver(rank, matched)?;
            }
        }
        Ok(())
    }

    fn deliver(
        &mut self,
        destination: u32,
        matched: Result<Option<Matched<Message, OpId>>, Truncated>,
    ) -> Result<(), RunError> {
        let matched = matched.map_err(|truncated| RunError::Truncated {
            rank: destination,
            truncated,
        })?;
        let Some(Matched { arrival, receive }) = matched else {
            return Ok(());
        };
        let message = arrival.message;
        self.deliveries.push(Delivery {
            key: Key {
                source: arrival.source,
                destination,
                tag: arrival.tag,
                number: message.number,
            },
            bytes: arrival.bytes,
            send: message.send,
            recv: receive.receive,
        });
        self.finish(destination, receive.receive);
        if message.synchronous {
            self.finish(arrival.source, message.send);
        }
        Ok(())
    }

    fn finish(&mut self, rank: u32, op: OpId) {
        let this = &mut self.ranks[rank as usize];
        this.state.finished(op);
        this.end_ns = self.now_ns;
        self.active.insert(rank);
    }

    /// Goes to the next end of a calc, and ends all that end then; false if nothing runs.
    fn next_instant(&mut self) -> bool {
        let Some(&Reverse((now_ns, ..))) = self.calcs.peek() else {
            return false;
        };
        self.now_ns = now_ns;
        while let Some(&Reverse((end_ns, rank, op))) = self.calcs.peek() {
            if end_ns > now_ns {
                break;
            }
            self.calcs.pop();
            let this = &mut self.ranks[rank as usize];
            let cpu = this.state.program().op(op).cpu;
            if let Ok(index) = this.state.cpus().binary_search(&cpu) {
                this.busy[index] = false;
            }
            self.finish(rank, op);
        }
        true
    }

    fn outcome(self) -> Result<Outcome, RunError> {
        let stuck = self.ranks.iter().filter(|rank| !rank.state.is_done());
        let blocked: Vec<_> = stuck.map(|rank| rank.state.blocked_report()).collect();
        if !blocked.is_empty() {
            let at_ns = self.now_ns;
            return Err(RunError::Deadlock { at_ns, blocked });
        }
        for rank in &self.ranks {
            let messages = rank.matcher.unexpected().count();
            if messages > 0 {
                let rank = rank.state.program().rank();
                return Err(RunError::Unreceived { rank, messages });
            }
        }
        Ok(Outcome {
            makespan_ns: self.now_ns,
            end_ns: self.ranks.iter().map(|rank| rank.end_ns).collect(),
            deliveries: self.deliveries,
        })
    }
}
