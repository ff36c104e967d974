//! The segment of a node's memory through which the members of a geometry on that node work together.
//!
//! Every member has a piece of the segment that it alone writes: a line of words, then slots for data. It
//! *publishes* parts of its data: writes them into a slot and then says so in its line. Those that are to have a
//! part find it there and read it in place. A slot is used again when they have said, in their own lines, that they
//! are through. Who begins a collective first writes down what it is, the others compare.
//!
//! What a line says is about one collective at a time: a member works on its collectives in memory one after
//! the other, in their order, which is the same at all. Who waits is asleep in `advance`; who writes what others
//! wait for signals their wake groups.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use gyre_driver::{Context, Endpoint, Op, Platform, PlatformLock, SharedSegment};

use crate::error::Error;
use crate::geometry::Geometry;
use crate::header::Signature;

/// Bytes of a cache line, and of a member's words.
const LINE: usize = 64;
/// Bytes of a slot: a multiple of every element's size.
pub(crate) const SLOT: usize = 8 << 10;
/// Slots of a member.
pub(crate) const SLOTS: usize = 2;
/// Bytes of a member's piece.
const PIECE: usize = LINE + SLOTS * SLOT;
/// Segments of geometries have numbers with this bit: those of clients and thread groups have not.
const SEGMENTS: u32 = 1 << 31;

/// Words of the segment's first line: how often members have begun anew to use it, then whose it is: task and
/// context of the first of the members on the node, and how many they are.
const HEADER: usize = 4;

/// Behind it stands what the last collectives are, each in the entry of its number modulo the entries. Members get
/// ahead of each other by no more collectives than they are, at most the wake groups of a node.
const ENTRIES: usize = 16;
/// Words of an entry: generation, number of the collective, who wrote it, then what the collective is.
const ENTRY: usize = 8;
/// Bytes of both.
const COMMON: usize = LINE + ENTRIES * ENTRY * 4;

/// Words of a member's line.
const WORDS: usize = 7;
/// The segment's generation in which it has joined, and its wake group.
const JOINED: usize = 0;
const GROUP: usize = 1;
/// What it has published: number of the collective, number of parts.
const PUBLISHED: usize = 2;
/// How far it is through with what others have published: number of the collective, number of parts.
const TAKEN: usize = 4;
/// Not 0: it waits for others to be through.
const WANTED: usize = 6;

/// Byte of the segment at which a slot of member number `member` begins.
pub(crate) fn slot(member: usize, part: u32) -> usize {
    piece(member) + LINE + part as usize % SLOTS * SLOT
}

fn piece(member: usize) -> usize {
    COMMON + member * PIECE
}

/// A field in which collectives differ: its name, its value here and at the other member.
type Difference = (&'static str, u64, u64);

/// How far something has got: number of a collective, number of its parts.
type Stamp = (u32, u32);

/// Whether it has got as far as `wanted`, or farther.
fn reached(stamp: Stamp, wanted: Stamp) -> bool {
    match stamp.0.wrapping_sub(wanted.0) {
        0 => stamp.1 >= wanted.1,
        later => later < 1 << 31,
    }
}

/// A step of a schedule. Members are numbered as on their node; parts from 0 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryStep {
    /// Waits until the slot of a part may be written. `begun`: its readers are known to be through with those before.
    Room { part: u32, begun: bool },
    /// Says that a part is in its slot.
    Publish { part: u32 },
    /// Waits until a member has published a part.
    Await { from: u32, part: u32 },
    /// Says that the parts up to this are needed no longer.
    Take { part: u32 },
}

impl MemoryStep {
    /// The part by which the leader of a task says that the task has its result.
    pub const END: u32 = u32::MAX - 1;
}

/// Who has to do with a member in memory in one collective, as numbers on the node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MemoryPlan {
    /// The member has steps in memory.
    pub used: bool,
    /// Those that read what it publishes.
    pub readers: Vec<usize>,
    /// When the collective has ended here, these are through.
    pub settled: bool,
    /// Those that wait for its [`MemoryStep::END`] alone.
    pub listeners: Vec<usize>,
    /// Those that have published something for this member, and so may wait for it to be through, in this collective or
    /// in one after it.
    pub writers: Vec<usize>,
}

/// A member's handle of the segment.
pub(crate) struct NodeMemory<P: Platform> {
    segment: P::Segment,
    geometry: String,
    generation: u32,
    /// Ranks of the members on the node, by their numbers there.
    ranks: Vec<u32>,
    own: usize,
    /// Wake groups of the others, as far as known.
    groups: RefCell<Vec<Option<u8>>>,
    /// Those that may not be through with what this member has published, last in the collective of this number.
    unread: RefCell<(BTreeSet<usize>, u32)>,
    /// Value of TAKEN.
    taken: Cell<Stamp>,
    /// Collectives that have begun, in their order: the first works, the others wait.
    order: RefCell<VecDeque<u32>>,
    /// Steps that wait for their collective's turn.
    parked: RefCell<BTreeMap<u32, Vec<usize>>>,
    /// Steps of the first that wait for others.
    waiting: RefCell<Vec<usize>>,
    /// Collectives that were given up, and that others may think are still to be read here.
    left: RefCell<BTreeSet<u32>>,
    /// WANTED is set.
    wanted: Cell<bool>,
    /// The last collective of which this member has compared what it is.
    agreed: Cell<Option<u32>>,
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
        let number = SEGMENTS | u32::from(first.client()) << 16 | u32::from(geometry.number());
        platform.charge(Op::Allocate, 1);
        let segment = platform.share(number, COMMON + ranks.len() * PIECE);
        let segment = segment.map_err(gyre_driver::Error::from)?;
        platform.charge(Op::Lock, 2);
        platform.charge(Op::CopyChunk, 2);
        segment.lock();
        let owner = [
            first.task().0,
            u32::from(first.context_offset()),
            ranks.len() as u32, // contexts of a node
        ];
        let joined = Self::join(&segment, owner, own, context.query().wake_group);
        segment.unlock();
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
            groups: RefCell::new(vec![None; ranks.len()]),
            unread: RefCell::default(),
            taken: Cell::default(),
            order: RefCell::default(),
            parked: RefCell::default(),
            waiting: RefCell::default(),
            left: RefCell::default(),
            wanted: Cell::default(),
            agreed: Cell::default(),
        };
        this.write_taken(platform, (sequence.wrapping_sub(1), u32::MAX))?;
        this.wake_others(platform)?;
        Ok(this)
    }

    /// Writes the member's line, as one that has published nothing; gives the segment's generation, if it is this
    /// geometry's. A member that has been in this generation begins another one: what the others have said is
    /// of before, and they join anew too.
    fn join(
        segment: &P::Segment,
        owner: [u32; 3],
        own: usize,
        group: u8,
    ) -> Result<Option<u32>, Error> {
        let [mut generation, found @ ..]: [u32; HEADER] = read(segment, 0)?;
        if found == [0; 3] {
            generation = 1;
        } else if found != owner {
            return Ok(None);
        }
        let [joined]: [u32; 1] = read(segment, piece(own) + 4 * JOINED)?;
        if joined == generation {
            generation += 1;
        }
        let [task, context, count] = owner;
        write(segment, 0, [generation, task, context, count])?;
        let mut line = [0; WORDS];
        line[JOINED] = generation;
        line[GROUP] = group.into();
        write(segment, piece(own), line)?;
        Ok(Some(generation))
    }

    /// Puts a collective behind those that have begun.
    pub fn begin(&self, sequence: u32) {
        self.order.borrow_mut().push_back(sequence);
    }

    /// Carries out a step, or has it wait; says whether it has ended.
    pub fn step(
        &self,
        platform: &P,
        (sequence, signature): (u32, &Signature),
        plan: &MemoryPlan,
        (number, step): (usize, MemoryStep),
    ) -> Result<bool, Error> {
        if self.order.borrow().front() != Some(&sequence) {
            let mut parked = self.parked.borrow_mut();
            parked.entry(sequence).or_default().push(number);
            return Ok(false);
        }
        if self.agreed.get() != Some(sequence) {
            self.agree(platform, sequence, signature)?;
            self.agreed.set(Some(sequence));
        }
        let ended = self.look(platform, sequence, plan, step)?;
        if !ended {
            self.waiting.borrow_mut().push(number);
        }
        Ok(ended)
    }

    /// Whether steps wait for others.
    pub fn waits(&self) -> bool {
        !self.waiting.borrow().is_empty()
    }

    /// The collective that works, and its steps that wait for others, taken out.
    pub fn take_waiting(&self) -> Option<(u32, Vec<usize>)> {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.is_empty() {
            return None;
        }
        let first = *self.order.borrow().front()?;
        Some((first, core::mem::take(&mut waiting)))
    }

    /// Compares what the collective is with what the others on the node have begun, or writes it down for them.
    fn agree(&self, platform: &P, sequence: u32, signature: &Signature) -> Result<(), Error> {
        platform.charge(Op::Lock, 1);
        self.segment.lock();
        let difference = self.agree_locked(platform, sequence, signature);
        platform.charge(Op::Lock, 1);
        self.segment.unlock();
        match difference? {
            None => Ok(()),
            Some((rank, (field, ours, theirs))) => Err(Error::Disagreement {
                geometry: self.geometry.clone(),
                sequence,
                field,
                ours,
                theirs,
                rank,
            }),
        }
    }

    fn agree_locked(
        &self,
        platform: &P,
        sequence: u32,
        signature: &Signature,
    ) -> Result<Option<(u32, Difference)>, Error> {
        let place = LINE + sequence as usize % ENTRIES * ENTRY * 4;
        platform.charge(Op::Counter, 1);
        let [generation, number, by, theirs @ ..]: [u32; ENTRY] = read(&self.segment, place)?;
        let current = generation == self.generation;
        if current && number == sequence {
            // As a member has written it.
            let rank = self.ranks.get(by as usize).copied().unwrap_or_default();
            let difference = signature.difference_to_words(theirs);
            return Ok(difference.map(|difference| (rank, difference)));
        }
        if !current || !reached((number, 0), (sequence, 0)) {
            platform.charge(Op::CopyChunk, 1);
            let mut entry = [self.generation, sequence, self.own as u32, 0, 0, 0, 0, 0];
            entry[ENTRY - 5..].copy_from_slice(&signature.words());
            write(&self.segment, place, entry)?;
        }
        Ok(None)
    }

    /// Carries out a step whose turn has come, if it can be; says whether it has ended.
    fn look(
        &self,
        platform: &P,
        sequence: u32,
        plan: &MemoryPlan,
        step: MemoryStep,
    ) -> Result<bool, Error> {
        match step {
            MemoryStep::Room { part, begun } => {
                let mut free = self.room(platform, (sequence, part), begun, plan)?;
                if !free && !self.wanted.get() {
                    self.want(platform, true)?;
                    // Who was through just before has not seen that this member waits.
                    free = self.room(platform, (sequence, part), begun, plan)?;
                }
                if free {
                    self.want(platform, false)?;
                }
                Ok(free)
            }
            MemoryStep::Publish { part } => {
                let readers = match part {
                    MemoryStep::END => &plan.listeners,
                    _ => &plan.readers,
                };
                {
                    let mut unread = self.unread.borrow_mut();
                    unread.0.extend(readers);
                    unread.1 = sequence;
                }
                platform.charge(Op::Counter, 1);
                self.write(PUBLISHED, [sequence, part + 1])?;
                self.wake(platform, readers)?;
                Ok(true)
            }
            MemoryStep::Await { from, part } => {
                let from = from as usize;
                platform.charge(Op::Counter, 1);
                let line = self.line(from)?;
                let published = (line[PUBLISHED], line[PUBLISHED + 1]);
                // Of a later collective: it has left this one without this member, which it will tell.
                let there = line[JOINED] == self.generation
                    && published.0 == sequence
                    && published.1 > part;
                if !there {
                    return Ok(false);
                }
                // It has ended those before.
                let mut unread = self.unread.borrow_mut();
                if unread.1 != sequence {
                    unread.0.remove(&from);
                }
                Ok(true)
            }
            MemoryStep::Take { part } => {
                self.write_taken(platform, (sequence, part + 1))?;
                self.tell_writers(platform, &plan.writers)?;
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
        plan: &MemoryPlan,
    ) -> Result<bool, Error> {
        let last = self.unread.borrow().1;
        if last != sequence {
            if begun {
                let mut unread = self.unread.borrow_mut();
                unread.0.retain(|member| !plan.readers.contains(member));
            }
            let unread: Vec<usize> = self.unread.borrow().0.iter().copied().collect();
            for member in unread {
                if !self.is_through(platform, member, (last, u32::MAX))? {
                    return Ok(false);
                }
                self.unread.borrow_mut().0.remove(&member);
            }
        }
        let Some(earlier) = (part as usize).checked_sub(SLOTS) else {
            return Ok(true);
        };
        if begun {
            return Ok(true);
        }
        for &member in &plan.readers {
            if !self.is_through(platform, member, (sequence, earlier as u32 + 1))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a member has taken what this one has published up to `wanted`.
    fn is_through(&self, platform: &P, member: usize, wanted: Stamp) -> Result<bool, Error> {
        platform.charge(Op::Counter, 1);
        let line = self.line(member)?;
        let taken = (line[TAKEN], line[TAKEN + 1]);
        Ok(line[JOINED] == self.generation && reached(taken, wanted))
    }

    /// Says whether this member waits for others to be through.
    fn want(&self, platform: &P, wants: bool) -> Result<(), Error> {
        if self.wanted.replace(wants) == wants {
            return Ok(());
        }
        platform.charge(Op::Counter, 1);
        self.write(WANTED, [u32::from(wants)])
    }

    fn write_taken(&self, platform: &P, taken: Stamp) -> Result<(), Error> {
        self.taken.set(taken);
        platform.charge(Op::Counter, 1);
        self.write(TAKEN, [taken.0, taken.1])
    }

    /// Wakes those that wait for this member to be through.
    fn tell_writers(&self, platform: &P, writers: &[usize]) -> Result<(), Error> {
        for &writer in writers {
            platform.charge(Op::Counter, 1);
            if self.line(writer)?[WANTED] != 0 {
                self.wake(platform, &[writer])?;
            }
        }
        Ok(())
    }

    /// A collective has ended here: gives the next, whose turn it is, with its steps.
    pub fn end(
        &self,
        platform: &P,
        sequence: u32,
        plan: &MemoryPlan,
    ) -> Result<Option<(u32, Vec<usize>)>, Error> {
        if plan.settled {
            let mut unread = self.unread.borrow_mut();
            unread.0.retain(|member| !plan.readers.contains(member));
        }
        self.write_taken(platform, (sequence, u32::MAX))?;
        self.tell_writers(platform, &plan.writers)?;
        Ok(self.remove(sequence))
    }

    /// A collective has been given up. Gives the one whose turn it is, if that was the first.
    pub fn give_up(&self, platform: &P, sequence: u32) -> Result<Option<(u32, Vec<usize>)>, Error> {
        if self.order.borrow().front() == Some(&sequence) {
            self.want(platform, false)?;
        }
        let turn = self.remove(sequence);
        self.left.borrow_mut().insert(sequence);
        Ok(turn)
    }

    /// Says that collectives which were given up are over here, as soon as those before them are. `next` is the one
    /// that will begin next.
    pub fn pass_left(&self, platform: &P, next: u32) -> Result<(), Error> {
        let first = self.order.borrow().front().copied().unwrap_or(next);
        let mut passed = None;
        self.left.borrow_mut().retain(|&sequence| {
            let over = !reached((sequence, 0), (first, 0));
            if over && !reached(self.taken.get(), (sequence, u32::MAX)) {
                passed = Some(sequence);
            }
            !over
        });
        if let Some(sequence) = passed {
            self.write_taken(platform, (sequence, u32::MAX))?;
            self.wake_others(platform)?;
        }
        Ok(())
    }

    /// Takes a collective out of the order; gives the next with its steps, if it was the first.
    fn remove(&self, sequence: u32) -> Option<(u32, Vec<usize>)> {
        self.parked.borrow_mut().remove(&sequence);
        let mut order = self.order.borrow_mut();
        let first = order.front() == Some(&sequence);
        order.retain(|&other| other != sequence);
        if !first {
            return None;
        }
        self.waiting.borrow_mut().clear();
        let next = *order.front()?;
        let steps = self.parked.borrow_mut().remove(&next).unwrap_or_default();
        Some((next, steps))
    }

    fn wake_others(&self, platform: &P) -> Result<(), Error> {
        let others: Vec<usize> = (0..self.ranks.len()).filter(|&m| m != self.own).collect();
        self.wake(platform, &others)
    }

    /// Signals members. One that has not joined does not wait: it will look.
    fn wake(&self, platform: &P, members: &[usize]) -> Result<(), Error> {
        for &member in members {
            let known = self.groups.borrow()[member];
            let group = match known {
                Some(group) => group,
                None => {
                    platform.charge(Op::Counter, 1);
                    let line = self.line(member)?;
                    if line[JOINED] != self.generation {
                        continue;
                    }
                    // As the member has written it: below 16.
                    let group = line[GROUP] as u8;
                    self.groups.borrow_mut()[member] = Some(group);
                    group
                }
            };
            platform.notify(group);
        }
        Ok(())
    }

    /// Copies bytes of the segment. Copies are charged by the caller.
    pub fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), Error> {
        let read = self.segment.read(offset, out);
        Ok(read.map_err(gyre_driver::Error::from)?)
    }

    /// Copies bytes into the segment. Copies are charged by the caller.
    pub fn write_data(&self, offset: usize, data: &[u8]) -> Result<(), Error> {
        let written = self.segment.write(offset, data);
        Ok(written.map_err(gyre_driver::Error::from)?)
    }

    fn line(&self, member: usize) -> Result<[u32; WORDS], Error> {
        read(&self.segment, piece(member))
    }

    fn write<const N: usize>(&self, word: usize, words: [u32; N]) -> Result<(), Error> {
        write(&self.segment, piece(self.own) + 4 * word, words)
    }
}

fn read<const N: usize>(segment: &impl SharedSegment, offset: usize) -> Result<[u32; N], Error> {
    let words = segment.read_words(offset);
    Ok(words.map_err(gyre_driver::Error::from)?)
}

fn write<const N: usize>(
    segment: &impl SharedSegment,
    offset: usize,
    words: [u32; N],
) -> Result<(), Error> {
    let written = segment.write_words(offset, words);
    Ok(written.map_err(gyre_driver::Error::from)?)
}
