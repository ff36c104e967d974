// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages between threads in the node's shared memory.
//!
//! Each thread has a piece of the segment that only it writes: slots for its parent, slots for its children, and a
//! line with the parts it has consumed in each direction. Parts of messages are numbered alike at all threads; a part
//! uses the slot of its number modulo the slots, once its readers have consumed the previous one. Messages carry
//! their sender's consumption, so that the line is read only when traffic goes in one direction for long.

use gyre_affinity::Tree;
use gyre_driver::{Op, Platform, SharedSegment};

use crate::collective::Collective;
use crate::error::Error;
use crate::reduction::kind::ReduceKind;

/// Bytes of a message's header, which begins a slot; data follows.
const HEADER: usize = 32;
/// Bytes of a cache line: the first of a slot is written last, and whole.
const LINE: usize = 64;
/// Bytes of a slot.
const SLOT: usize = 1024;
/// Most bytes of data in a part: a multiple of the size of every built-in type's elements.
pub(super) const CHUNK: usize = SLOT - HEADER;
/// Slots of a thread for each direction.
const DEPTH: u32 = 2;
/// Bytes of a thread's piece: the line, then the slots.
const PIECE: usize = LINE + 2 * DEPTH as usize * SLOT;
/// First segment number of thread groups; those of clients are lower.
const SEGMENTS: u32 = 1 << 24;
/// Bytes that [`Op::CopyChunk`] stands for.
const COPY_CHUNK: usize = 32;

/// Directions in the affinity tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// To the parent.
    Up,
    /// To the children.
    Down,
}

/// Signature of a collective: the same at all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    pub collective: Collective,
    pub reduction: ReduceKind,
    /// Node and thread.
    pub root: (usize, usize),
    pub bytes: usize,
}

impl Kind {
    const FIELDS: [&str; 6] = [
        "collective, type and operation",
        "node of the root",
        "thread of the root",
        "bytes",
        "bytes above 2^32",
        "operation of the user and bytes of an element",
    ];

    /// The fields, as messages carry them.
    fn words(&self) -> [u32; 6] {
        let (flags, reduction) = self.reduction.pack();
        let (built_in, user) = match flags {
            0 => (reduction, 0),
            _ => (0, reduction),
        };
        let kind = self.collective as u32 | built_in << 8 | u32::from(flags) << 24;
        // Nodes and threads fit 32 bits.
        let (node, thread) = (self.root.0 as u32, self.root.1 as u32);
        [
            kind,
            node,
            thread,
            self.bytes as u32,
            (self.bytes as u64 >> 32) as u32,
            user,
        ]
    }
}

/// A thread's view of the segment.
pub(super) struct Lanes<P: Platform> {
    platform: P,
    segment: P::Segment,
    group: String,
    thread: usize,
    parent: Option<usize>,
    children: Vec<usize>,
    /// Parts sent in each direction so far, read or not.
    done: [u32; 2],
    /// Parts that this thread has consumed, in each direction.
    taken: [u32; 2],
    /// Parts known to be consumed by the parent (up) and by each child (down).
    parent_taken: u32,
    children_taken: Vec<u32>,
}

impl<P: Platform> Lanes<P> {
    pub fn open(
        platform: &P,
        group: &str,
        number: u16,
        tree: &Tree,
        thread: usize,
    ) -> Result<Self, Error> {
        platform.charge(Op::Allocate, 1);
        let segment = platform.share(SEGMENTS | u32::from(number), tree.len() * PIECE);
        let children = tree.children(thread).to_vec();
        Ok(Self {
            platform: platform.clone(),
            segment: segment?,
            group: group.into(),
            thread,
            parent: tree.parent(thread),
            children_taken: vec![0; children.len()],
            children,
            done: [0; 2],
            taken: [0; 2],
            parent_taken: 0,
        })
    }

    /// Writes the next part in `direction` once its slot is free.
    pub fn publish(&mut self, direction: Direction, kind: Kind, data: &[u8]) -> Result<(), Error> {
        let number = self.done[direction as usize];
        self.wait_for_room(direction, number)?;
        let mut words = [0; HEADER / 4];
        words[0] = number.wrapping_add(1);
        // A message carries the consumption of the opposite direction.
        words[1] = self.taken[1 - direction as usize];
        words[2..].copy_from_slice(&kind.words());
        charge_copies(&self.platform, HEADER + data.len());
        let slot = slot(self.thread, direction, number);
        let (first, rest) = data.split_at(data.len().min(LINE - HEADER));
        self.write(slot + LINE, rest)?;
        let mut line = words.map(u32::to_le_bytes).as_flattened().to_vec();
        line.extend_from_slice(first);
        self.write(slot, &line)
    }

    /// Waits for the next part in `direction`, from child number `child` or from the parent.
    pub fn receive(
        &mut self,
        direction: Direction,
        child: usize,
        kind: Kind,
        data: &mut [u8],
    ) -> Result<(), Error> {
        let number = self.done[direction as usize];
        let Some(from) = self.sender(direction, child) else {
            return Ok(());
        };
        let slot = slot(from, direction, number);
        let words: [u32; HEADER / 4] = loop {
            self.platform.charge(Op::Counter, 1);
            let words = self.read_words(slot)?;
            // A later number means another collective, which the comparison below reports.
            if words[0].wrapping_sub(number.wrapping_add(1)) < 1 << 31 {
                break words;
            }
            self.platform.yield_now();
        };
        let ours = [number.wrapping_add(1)].into_iter().chain(kind.words());
        let theirs = [words[0]].into_iter().chain(words[2..].iter().copied());
        let fields = ["parts of messages"].into_iter().chain(Kind::FIELDS);
        for (field, (ours, theirs)) in fields.zip(ours.zip(theirs)) {
            if ours != theirs {
                return Err(Error::Disagreement {
                    geometry: self.group.clone(),
                    sequence: number,
                    field,
                    ours: ours.into(),
                    theirs: theirs.into(),
                    rank: from as u32,
                });
            }
        }
        match direction {
            Direction::Up => self.children_taken[child] = words[1],
            Direction::Down => self.parent_taken = words[1],
        }
        charge_copies(&self.platform, data.len());
        Ok(self.segment.read(slot + HEADER, data)?)
    }

    /// Confirms that this thread does not need the next part in `direction`.
    pub fn taken(&mut self, direction: Direction) -> Result<(), Error> {
        let read_by_anybody = match direction {
            Direction::Up => !self.children.is_empty(),
            Direction::Down => self.parent.is_some(),
        };
        self.taken[direction as usize] = self.done[direction as usize].wrapping_add(1);
        if !read_by_anybody {
            return Ok(());
        }
        self.platform.charge(Op::Counter, 1);
        let word = self.taken[direction as usize].to_le_bytes();
        self.write(taken_place(self.thread, direction), &word)
    }

    /// Counts a part in `direction`.
    pub fn next(&mut self, direction: Direction) {
        let done = &mut self.done[direction as usize];
        *done = done.wrapping_add(1);
    }

    /// Waits until the slot of part `number` is free.
    fn wait_for_room(&mut self, direction: Direction, number: u32) -> Result<(), Error> {
        let needed = number.wrapping_add(1).wrapping_sub(DEPTH);
        let readers = match direction {
            Direction::Up => self.parent.iter().len(),
            Direction::Down => self.children.len(),
        };
        for reader in 0..readers {
            while self.known_taken(direction, reader).wrapping_sub(needed) >= 1 << 31 {
                let thread = match direction {
                    Direction::Up => self.parent.unwrap_or(self.thread),
                    Direction::Down => self.children[reader],
                };
                self.platform.charge(Op::Counter, 1);
                let [taken] = self.read_words(taken_place(thread, direction))?;
                match direction {
                    Direction::Up => self.parent_taken = taken,
                    Direction::Down => self.children_taken[reader] = taken,
                }
                if taken.wrapping_sub(needed) >= 1 << 31 {
                    self.platform.yield_now();
                }
            }
        }
        Ok(())
    }

    fn known_taken(&self, direction: Direction, reader: usize) -> u32 {
        match direction {
            Direction::Up => self.parent_taken,
            Direction::Down => self.children_taken[reader],
        }
    }

    fn sender(&self, direction: Direction, child: usize) -> Option<usize> {
        match direction {
            Direction::Up => self.children.get(child).copied(),
            Direction::Down => self.parent,
        }
    }

    fn read_words<const N: usize>(&self, offset: usize) -> Result<[u32; N], Error> {
        Ok(self.segment.read_words(offset)?)
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), Error> {
        Ok(self.segment.write(offset, data)?)
    }
}

/// Byte offset of a thread's consumption word.
fn taken_place(thread: usize, direction: Direction) -> usize {
    thread * PIECE + 4 * direction as usize
}

/// Byte offset of the slot of a part.
fn slot(thread: usize, direction: Direction, number: u32) -> usize {
    let slot = direction as u32 * DEPTH + number % DEPTH;
    thread * PIECE + LINE + slot as usize * SLOT
}

pub(super) fn charge_copies<P: Platform>(platform: &P, bytes: usize) {
    platform.charge(Op::CopyChunk, bytes.div_ceil(COPY_CHUNK) as u64);
}
