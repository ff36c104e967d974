//! The segment of a node's memory through which the members of a geometry on that node work together.
//!
//! Every member has a piece of the segment that it alone writes: a line of words, then slots for data. It
//! *publishes* parts of its data: writes them into a slot and then says so in its line. Those that are to have a
//! part find it there and read it in place. A slot is used again when they have said, in their own lines, that they
//! are through. The first to begin a collective writes down what it is, the others compare.
//!
//! What a line says is about one collective at a time: a member works on its collectives in memory one after
//! the other, in their order, which is the same at all. A member that waits is asleep in `advance`; one that writes
//! what others wait for signals their wake groups.

use std::collections::BTreeSet;

use gyre_driver::{Context, Endpoint, Op, Platform};
use parking_lot::Mutex;

use super::segment::{NodeSegment, SLOTS, Stamp, reached};
use super::steps::{MemoryPeers, MemoryStep};
use super::turns::{Turn, Turns};
use crate::error::Error;
use crate::geometry::Geometry;
use crate::signature::Signature;

/// A member's part of the work in the memory of its node.
pub(crate) struct NodeMemory<P: Platform> {
    segment: NodeSegment<P>,
    geometry: String,
    generation: u32,
    /// Ranks of the members on the node, by their numbers there.
    ranks: Vec<u32>,
    own: usize,
    /// Not locked across calls of the platform.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    turns: Turns,
    /// Wake groups of the members, as far as known.
    groups: Vec<Option<u8>>,
    /// Members that may still need what this one has published, last in the collective of number `published`.
    unread: BTreeSet<usize>,
    published: u32,
    /// What this member has said that it needs no longer.
    taken: Stamp,
    /// Collectives that were given up, and that others may think are still to be read here.
    left: BTreeSet<u32>,
    /// Whether this member has said that it waits for others.
    wanted: bool,
    /// The last collective that has been compared with those of the others.
    agreed: Option<u32>,
}

impl<P: Platform> NodeMemory<P> {
    /// Opens the segment of the members `ranks`, of which this is number `own`, for collective number `sequence`:
    /// what the others have published before is not for this member.
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

    /// Puts a collective behind those that have begun.
    pub fn begin(&self, sequence: u32) {
        self.state.lock().turns.begin(sequence);
    }

    /// Carries out a step, or has it wait. Returns whether it has ended.
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

    /// Whether steps wait for others.
    pub fn waits(&self) -> bool {
        self.state.lock().turns.waits()
    }

    /// Takes out the steps that wait for others, with the number of their collective.
    pub fn take_waiting(&self) -> Turn {
        self.state.lock().turns.take_waiting()
    }

    /// Compares what the collective is with what the others on the node have begun, or writes it down for them.
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
                // As a member has written it.
                rank: self.ranks.get(by).copied().unwrap_or_default(),
            }),
        }
    }

    /// Carries out a step whose turn has come, if it can be. Returns whether it has ended.
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
                    // A member that was through just before has not seen that this one waits.
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
                // Of a later collective: it has left this one without this member, which it will tell.
                let there = line.joined == self.generation
                    && line.published.0 == sequence
                    && line.published.1 > part;
                if !there {
                    return Ok(false);
                }
                // It has ended those before.
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

    /// Whether the slot of a part may be written.
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

    /// Whether a member has taken what this one has published up to `wanted`.
    fn is_through(&self, platform: &P, member: usize, wanted: Stamp) -> Result<bool, Error> {
        platform.charge(Op::Counter, 1);
        let line = self.segment.line(member)?;
        Ok(line.joined == self.generation && reached(line.taken, wanted))
    }

    /// Says whether this member waits for others to be through.
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

    /// Wakes those that wait for this member to be through.
    fn tell_writers(&self, platform: &P, writers: &[usize]) -> Result<(), Error> {
        for &writer in writers {
            platform.charge(Op::Counter, 1);
            if self.segment.line(writer)?.wanted {
                self.wake(platform, &[writer])?;
            }
        }
        Ok(())
    }

    /// Ends a collective. Returns the next, whose turn it is, with its steps.
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

    /// Takes out a collective that has been given up. Returns the one whose turn it is, if that was the first.
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

    /// Says that collectives which were given up are over here, as soon as those before them are. `next` is the one
    /// that will begin next.
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

    /// Signals members. One that has not joined does not wait: it will look.
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
                    // As the member has written it: below 16.
                    let group = line.group as u8;
                    self.state.lock().groups[member] = Some(group);
                    group
                }
            };
            platform.notify(group);
        }
        Ok(())
    }

    /// Copies bytes of the segment. Copies are charged by the caller.
    pub fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), Error> {
        self.segment.read(offset, out)
    }

    /// Copies bytes into the segment. Copies are charged by the caller.
    pub fn write(&self, offset: usize, data: &[u8]) -> Result<(), Error> {
        self.segment.write(offset, data)
    }
}
