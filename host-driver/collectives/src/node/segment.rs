// SPDX-License-Identifier: MIT OR Apache-2.0
//! Layout of the segment that members of a node share, and typed access to it.

use gyre_driver::{Op, Platform, PlatformLock, SharedSegment};

use crate::error::Error;
use crate::signature::Signature;

/// Bytes of a cache line, and of a member's words.
const LINE: usize = 64;
/// Bytes of a slot: a multiple of the size of every built-in type's elements.
pub(crate) const SLOT: usize = 8 << 10;
/// Slots of a member.
pub(crate) const SLOTS: usize = 2;
/// Bytes of a member's piece.
const PIECE: usize = LINE + SLOTS * SLOT;
/// Set in segment numbers of geometries; clear in those of clients and thread groups.
const SEGMENTS: u32 = 1 << 31;

/// Words of the segment's first line: generation of the segment, then its owner: task and context of the node's first
/// member, and the number of members.
const HEADER: usize = 4;

/// Signatures of the latest collectives follow, each in the entry of its number modulo the entries. A member is ahead
/// of another by at most as many collectives as there are members, which is bounded by the wake groups of a node.
const ENTRIES: usize = 16;
/// Words of an entry: generation, number of the collective, writer, then signature.
const ENTRY: usize = 8;
/// Bytes of both parts.
const COMMON: usize = LINE + ENTRIES * ENTRY * 4;

/// Words of a member's line.
const WORDS: usize = 7;
/// Generation in which the member joined, and its wake group.
const JOINED: usize = 0;
const GROUP: usize = 1;
/// Published data: number of the collective, number of parts.
const PUBLISHED: usize = 2;
/// Consumed data of others: number of the collective, number of parts.
const TAKEN: usize = 4;
/// Nonzero while the member waits for others to consume.
const WANTED: usize = 6;

/// Byte offset of a slot of member number `member`.
pub(crate) fn slot(member: usize, part: u32) -> usize {
    piece(member) + LINE + part as usize % SLOTS * SLOT
}

fn piece(member: usize) -> usize {
    COMMON + member * PIECE
}

/// A differing field: its name, the value here and the other member's.
type Difference = (&'static str, u64, u64);

/// Progress of a member: number of a collective, number of its parts.
pub(super) type Stamp = (u32, u32);

/// Words of a member.
pub(super) struct Line {
    /// Generation in which the member joined.
    pub joined: u32,
    /// The member's wake group.
    pub group: u32,
    /// Published parts.
    pub published: Stamp,
    /// Consumed parts of others.
    pub taken: Stamp,
    /// Whether it waits for others to consume its parts.
    pub wanted: bool,
}

/// A member's handle of the segment. The caller charges copies and line accesses.
pub(super) struct NodeSegment<P: Platform> {
    segment: P::Segment,
    /// Number of the member on its node.
    own: usize,
}

impl<P: Platform> NodeSegment<P> {
    /// Opens the segment of geometry `geometry` of client `client` as member number `own` of `members`.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn open(
        platform: &P,
        (client, geometry): (u8, u16),
        members: usize,
        own: usize,
    ) -> Result<Self, Error> {
        let number = SEGMENTS | u32::from(client) << 16 | u32::from(geometry);
        platform.charge(Op::Allocate, 1);
        let segment = platform.share(number, COMMON + members * PIECE)?;
        Ok(Self { segment, own })
    }

    /// Resets the member's line for the members that `owner` describes (task and context of the first, number of
    /// members). Returns the segment's generation if `owner` owns it. A member that rejoins in the same generation
    /// starts a new one, since the others' words are stale; the others rejoin too.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn join(&self, platform: &P, owner: [u32; 3], group: u8) -> Result<Option<u32>, Error> {
        platform.charge(Op::Lock, 2);
        platform.charge(Op::CopyChunk, 2);
        self.segment.lock();
        let joined = self.join_locked(owner, group);
        self.segment.unlock();
        joined
    }

    fn join_locked(&self, owner: [u32; 3], group: u8) -> Result<Option<u32>, Error> {
        let [mut generation, found @ ..]: [u32; HEADER] = self.read_words(0)?;
        if found == [0; 3] {
            generation = 1;
        } else if found != owner {
            return Ok(None);
        }
        let [joined]: [u32; 1] = self.read_words(piece(self.own) + 4 * JOINED)?;
        if joined == generation {
            generation += 1;
        }
        let [task, context, count] = owner;
        self.write_words(0, [generation, task, context, count])?;
        let mut line = [0; WORDS];
        line[JOINED] = generation;
        line[GROUP] = group.into();
        self.write_words(piece(self.own), line)?;
        Ok(Some(generation))
    }

    /// Compares a collective with the entry of its number, or writes the entry. Returns the member with another
    /// collective, and the difference.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn compare(
        &self,
        platform: &P,
        generation: u32,
        sequence: u32,
        signature: &Signature,
    ) -> Result<Option<(usize, Difference)>, Error> {
        platform.charge(Op::Lock, 1);
        self.segment.lock();
        let difference = self.compare_locked(platform, generation, sequence, signature);
        platform.charge(Op::Lock, 1);
        self.segment.unlock();
        difference
    }

    fn compare_locked(
        &self,
        platform: &P,
        generation: u32,
        sequence: u32,
        signature: &Signature,
    ) -> Result<Option<(usize, Difference)>, Error> {
        let place = LINE + sequence as usize % ENTRIES * ENTRY * 4;
        platform.charge(Op::Counter, 1);
        let [found, number, by, theirs @ ..]: [u32; ENTRY] = self.read_words(place)?;
        let current = found == generation;
        if current && number == sequence {
            let difference = signature.difference_to_words(theirs);
            return Ok(difference.map(|difference| (by as usize, difference)));
        }
        if !current || !reached((number, 0), (sequence, 0)) {
            platform.charge(Op::CopyChunk, 1);
            let mut entry = [generation, sequence, self.own as u32, 0, 0, 0, 0, 0];
            entry[ENTRY - 5..].copy_from_slice(&signature.words());
            self.write_words(place, entry)?;
        }
        Ok(None)
    }

    /// Words of a member.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn line(&self, member: usize) -> Result<Line, Error> {
        let words: [u32; WORDS] = self.read_words(piece(member))?;
        Ok(Line {
            joined: words[JOINED],
            group: words[GROUP],
            published: (words[PUBLISHED], words[PUBLISHED + 1]),
            taken: (words[TAKEN], words[TAKEN + 1]),
            wanted: words[WANTED] != 0,
        })
    }

    /// Writes the progress of publication.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn write_published(&self, (sequence, parts): Stamp) -> Result<(), Error> {
        self.write_words(piece(self.own) + 4 * PUBLISHED, [sequence, parts])
    }

    /// Writes the progress of consumption.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn write_taken(&self, (sequence, parts): Stamp) -> Result<(), Error> {
        self.write_words(piece(self.own) + 4 * TAKEN, [sequence, parts])
    }

    /// Writes whether this member waits for consumers.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn write_wanted(&self, wanted: bool) -> Result<(), Error> {
        self.write_words(piece(self.own) + 4 * WANTED, [u32::from(wanted)])
    }

    /// Copies bytes out of the segment.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), Error> {
        Ok(self.segment.read(offset, out)?)
    }

    /// Copies bytes into the segment.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn write(&self, offset: usize, data: &[u8]) -> Result<(), Error> {
        Ok(self.segment.write(offset, data)?)
    }

    fn read_words<const N: usize>(&self, offset: usize) -> Result<[u32; N], Error> {
        Ok(self.segment.read_words(offset)?)
    }

    fn write_words<const N: usize>(&self, offset: usize, words: [u32; N]) -> Result<(), Error> {
        Ok(self.segment.write_words(offset, words)?)
    }
}

/// Whether progress has reached `wanted`.
pub(super) fn reached(stamp: Stamp, wanted: Stamp) -> bool {
    match stamp.0.wrapping_sub(wanted.0) {
        0 => stamp.1 >= wanted.1,
        later => later < 1 << 31,
    }
}
