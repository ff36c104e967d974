// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared segment through which the members of a geometry on one node work together.
//!
//! Every member has a piece of the segment that only it writes: a line of words, then slots for data. It *publishes*
//! a part by writing it to a slot and then updating its line. Readers use the part in place and confirm in their own
//! lines; then the slot is free again. The first member to begin a collective writes its signature, and the others
//! compare.
//!
//! A line describes one collective at a time: members process collectives in memory serially, in the same order. A
//! waiting member sleeps in `advance`; a writer signals the wake groups of waiting members.

use std::collections::BTreeSet;

use gyre_driver::{Context, Endpoint, Op, Platform};
use parking_lot::Mutex;

use super::segment::{NodeSegment, SLOTS, Stamp, reached};
use super::steps::{MemoryPeers, MemoryStep};
use super::turns::{Turn, Turns};
use crate::error::Error;
use crate::geometry::Geometry;
use crate::signature::Signature;

/// State of a member in the memory of its node.
pub(crate) struct NodeMemory<P: Platform> {
    segment: NodeSegment<P>,
    geometry: String,
    generation: u32,
    /// Ranks of the members on the node, by their numbers there.
    ranks: Vec<u32>,
    own: usize,
    /// Not locked across platform calls.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    turns: Turns,
    /// Known wake groups of the members.
    groups: Vec<Option<u8>>,
    /// Members that may still read this one's slots, last written in collective `published`.
    unread: BTreeSet<usize>,
    published: u32,
    /// Consumption last written to this member's line.
    taken: Stamp,
    /// Abandoned collectives that others may still expect this member to read.
    left: BTreeSet<u32>,
    /// Whether this member's line says that it waits.
    wanted: bool,
    /// The last collective that was compared with the others.
    agreed: Option<u32>,
}

impl<P: Platform> NodeMemory<P> {
    /// Opens the segment of the members `ranks` as number `own`, for collectives from `sequence` on; earlier
    /// publications are ignored.
    ///
    /// # Errors
    /// [`Error::NumberInUse`] when other endpoints of the node use a geometry of this number; [`Error::Driver`].
    pub fn open(
        context: &Context<P>,
        geometry: &Geometry,
        ranks: &[u32],
        own: usize,
        sequence: u32,
    ) -> Result<Self, Error> {
        let platform = context.platform();
        let first: Endpoint = geometry.endpoints()[ranks[0] as usize];
        let number = (first.client(), geometry.number());
        let segment = NodeSegment::open(platform, number, ranks.len(), own)?;
        let owner = [
            first.task().0,
            u32::from(first.context_offset()),
            ranks.len() as u32, // contexts of a node
        ];
        let joined = segment.join(platform, owner, context.query().wake_group);
        let Some(generation) = joined? else {
            return Err(Error::NumberInUse {
                number: geometry.number(),
            });
        };
        let this = Self {
            segment,
            geometry: geometry.name().into(),
            generation,
            ranks: ranks.to_vec(),
            own,
            state: Mutex::new(State {
                groups: vec![None; ranks.len()],
                ..State::default()
            }),
        };
        this.write_taken(platform, (sequence.wrapping_sub(1), u32::MAX))?;
        this.wake_others(platform)?;
        Ok(this)
    }

    /// Appends a collective to the order.
    pub fn begin(&self, sequence: u32) {
        self.state.lock().turns.begin(sequence);
    }

    /// Runs a step, or queues it. Returns whether it is complete.
    pub fn step(
        &self,
        platform: &P,
        (sequence, signature): (u32, &Signature),
        peers: &MemoryPeers,
        (number, step): (usize, MemoryStep),
    ) -> Result<bool, Error> {
        let agreed = {
            let mut state = self.state.lock();
            if state.turns.first() != Some(sequence) {
                state.turns.park(sequence, number);
                return Ok(false);
            }
            state.agreed == Some(sequence)
        };
        if !agreed {
            self.agree(platform, sequence, signature)?;
            self.state.lock().agreed = Some(sequence);
        }
        let ended = self.look(platform, sequence, peers, step)?;
        if !ended {
            self.state.lock().turns.wait(number);
        }
        Ok(ended)
    }

    /// Whether steps wait for other members.
    pub fn waits(&self) -> bool {
        self.state.lock().turns.waits()
    }

    /// Takes out the waiting steps, with the number of their collective.
    pub fn take_waiting(&self) -> Turn {
        self.state.lock().turns.take_waiting()
    }

    /// Compares the collective with the others' on the node, or writes its entry.
    fn agree(&self, platform: &P, sequence: u32, signature: &Signature) -> Result<(), Error> {
        let compared = self
            .segment
            .compare(platform, self.generation, sequence, signature)?;
        match compared {
            None => Ok(()),
            Some((by, (field, ours, theirs))) => Err(Error::Disagreement {
                geometry: self.geometry.clone(),
                sequence,
                field,
                ours,
                theirs,
                // A rank written by a member.
                rank: self.ranks.get(by).copied().unwrap_or_default(),
            }),
        }
    }

    /// Runs a ready step if possible. Returns whether it is complete.
    fn look(
        &self,
        platform: &P,
        sequence: u32,
        peers: &MemoryPeers,
        step: MemoryStep,
    ) -> Result<bool, Error> {
        match step {
            MemoryStep::Room { part, begun } => {
                let mut free = self.room(platform, (sequence, part), begun, peers)?;
                if !free && !self.state.lock().wanted {
                    self.want(platform, true)?;
                    // A member that finished just before has not seen the flag, so look again.
                    free = self.room(platform, (sequence, part), begun, peers)?;
                }
                if free {
                    self.want(platform, false)?;
                }
                Ok(free)
            }
            MemoryStep::Publish { part } => {
                let readers = match part {
                    MemoryStep::END => &peers.listeners,
                    _ => &peers.readers,
                };
                {
                    let mut state = self.state.lock();
                    state.unread.extend(readers);
                    state.published = sequence;
                }
                platform.charge(Op::Counter, 1);
                self.segment.write_published((sequence, part + 1))?;
                self.wake(platform, readers)?;
                Ok(true)
            }
            MemoryStep::Await { from, part } => {
                let from = from as usize;
                platform.charge(Op::Counter, 1);
                let line = self.segment.line(from)?;
                // The writer is in a later collective: it has left this one, and will report that.
                let there = line.joined == self.generation
                    && line.published.0 == sequence
                    && line.published.1 > part;
                if !there {
                    return Ok(false);
                }
                // It has ended the earlier collectives.
                let mut state = self.state.lock();
                if state.published != sequence {
                    state.unread.remove(&from);
                }
                Ok(true)
            }
            MemoryStep::Take { part } => {
                self.write_taken(platform, (sequence, part + 1))?;
                self.tell_writers(platform, &peers.writers)?;
                Ok(true)
            }
        }
    }

    /// Whether the slot of a part is free.
    fn room(
        &self,
        platform: &P,
        (sequence, part): Stamp,
        begun: bool,
        peers: &MemoryPeers,
    ) -> Result<bool, Error> {
        let (last, unread) = {
            let mut state = self.state.lock();
            if state.published != sequence && begun {
                state
                    .unread
                    .retain(|member| !peers.readers.contains(member));
            }
            let unread: Vec<usize> = state.unread.iter().copied().collect();
            (state.published, unread)
        };
        if last != sequence {
            for member in unread {
                if !self.is_through(platform, member, (last, u32::MAX))? {
                    return Ok(false);
                }
                self.state.lock().unread.remove(&member);
            }
        }
        let Some(earlier) = (part as usize).checked_sub(SLOTS) else {
            return Ok(true);
        };
        if begun {
            return Ok(true);
        }
        for &member in &peers.readers {
            if !self.is_through(platform, member, (sequence, earlier as u32 + 1))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a member has consumed this one's parts up to `wanted`.
    fn is_through(&self, platform: &P, member: usize, wanted: Stamp) -> Result<bool, Error> {
        platform.charge(Op::Counter, 1);
        let line = self.segment.line(member)?;
        Ok(line.joined == self.generation && reached(line.taken, wanted))
    }

    /// Publishes whether this member waits for consumers.
    fn want(&self, platform: &P, wants: bool) -> Result<(), Error> {
        if core::mem::replace(&mut self.state.lock().wanted, wants) == wants {
            return Ok(());
        }
        platform.charge(Op::Counter, 1);
        self.segment.write_wanted(wants)
    }

    fn write_taken(&self, platform: &P, taken: Stamp) -> Result<(), Error> {
        self.state.lock().taken = taken;
        platform.charge(Op::Counter, 1);
        self.segment.write_taken(taken)
    }

    /// Wakes the writers that wait for this member to consume.
    fn tell_writers(&self, platform: &P, writers: &[usize]) -> Result<(), Error> {
        for &writer in writers {
            platform.charge(Op::Counter, 1);
            if self.segment.line(writer)?.wanted {
                self.wake(platform, &[writer])?;
            }
        }
        Ok(())
    }

    /// Ends a collective. Returns the next one with its steps.
    pub fn end(&self, platform: &P, sequence: u32, peers: &MemoryPeers) -> Result<Turn, Error> {
        if peers.settled {
            let mut state = self.state.lock();
            state
                .unread
                .retain(|member| !peers.readers.contains(member));
        }
        self.write_taken(platform, (sequence, u32::MAX))?;
        self.tell_writers(platform, &peers.writers)?;
        Ok(self.state.lock().turns.remove(sequence))
    }

    /// Removes an abandoned collective. Returns the next one, if the removed one was first.
    pub fn give_up(&self, platform: &P, sequence: u32) -> Result<Turn, Error> {
        let first = self.state.lock().turns.first();
        if first == Some(sequence) {
            self.want(platform, false)?;
        }
        let mut state = self.state.lock();
        let turn = state.turns.remove(sequence);
        state.left.insert(sequence);
        Ok(turn)
    }

    /// Marks abandoned collectives as consumed once all earlier ones are. `next` begins next.
    pub fn pass_left(&self, platform: &P, next: u32) -> Result<(), Error> {
        let mut passed = None;
        {
            let mut state = self.state.lock();
            let first = state.turns.first().unwrap_or(next);
            let taken = state.taken;
            state.left.retain(|&sequence| {
                let over = !reached((sequence, 0), (first, 0));
                if over && !reached(taken, (sequence, u32::MAX)) {
                    passed = Some(sequence);
                }
                !over
            });
        }
        if let Some(sequence) = passed {
            self.write_taken(platform, (sequence, u32::MAX))?;
            self.wake_others(platform)?;
        }
        Ok(())
    }

    fn wake_others(&self, platform: &P) -> Result<(), Error> {
        let others: Vec<usize> = (0..self.ranks.len()).filter(|&m| m != self.own).collect();
        self.wake(platform, &others)
    }

    /// Signals members. A member that has not joined does not sleep, so it needs no signal.
    fn wake(&self, platform: &P, members: &[usize]) -> Result<(), Error> {
        for &member in members {
            let known = self.state.lock().groups[member];
            let group = match known {
                Some(group) => group,
                None => {
                    platform.charge(Op::Counter, 1);
                    let line = self.segment.line(member)?;
                    if line.joined != self.generation {
                        continue;
                    }
                    // Written by the member: less than 16.
                    let group = line.group as u8;
                    self.state.lock().groups[member] = Some(group);
                    group
                }
            };
            platform.notify(group);
        }
        Ok(())
    }

    /// Copies bytes out of the segment. The caller charges the copy.
    pub fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), Error> {
        self.segment.read(offset, out)
    }

    /// Copies bytes into the segment. The caller charges the copy.
    pub fn write(&self, offset: usize, data: &[u8]) -> Result<(), Error> {
        self.segment.write(offset, data)
    }
}
