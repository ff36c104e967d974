// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bytes of messages: generated at the source, checked at the destination.
//!
//! Byte `i` of a message is a pure function of its [`Key`] and of `i`, so that neither side keeps
//! a copy, and a message put in the wrong place, cut, mixed up or overtaken is noticed.

use std::collections::BTreeMap;

use thiserror::Error;

/// Names one message of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Source rank.
    pub source: u32,
    /// Destination rank.
    pub destination: u32,
    /// Tag of the message; that of one sent with `tag -1` is [`ANY_TAG`](crate::ANY_TAG).
    pub tag: u32,
    /// How many messages of the same source, destination and tag were sent before it.
    pub number: u64,
}

/// The first byte that is not as generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("payload byte {offset}: expected {expected:#04x}, found {found:#04x}")]
pub struct Mismatch {
    /// Position in the message, in bytes from its start.
    pub offset: u64,
    /// The byte as generated.
    pub expected: u8,
    /// The byte as received.
    pub found: u8,
}

/// The increment of SplitMix64 (Steele, Lea, Flood 2014).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64: a bijection in which every input bit reaches every output
/// bit.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Key {
    /// Where the message's SplitMix64 sequence starts.
    fn seed(&self) -> u64 {
        let pair = u64::from(self.source) << 32 | u64::from(self.destination);
        let step = |state: u64, input: u64| mix(state.wrapping_add(GOLDEN) ^ input);
        step(
            step(mix(pair.wrapping_add(GOLDEN)), u64::from(self.tag)),
            self.number,
        )
    }
}

/// Eight bytes of the stream, little-endian: element `index` of the SplitMix64 sequence.
fn word(seed: u64, index: u64) -> [u8; 8] {
    let state = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN));
    mix(state).to_le_bytes()
}

/// Cuts `length` bytes at `offset` along the 8-byte words of the stream and calls `visit` with
/// the range within the buffer and the bytes that belong there, until it returns an error.
fn for_each_piece<E>(
    key: &Key,
    offset: u64,
    length: usize,
    mut visit: impl FnMut(usize, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let seed = key.seed();
    let (mut index, mut skip) = (offset / 8, (offset % 8) as usize);
    let mut at = 0;
    while at < length {
        let bytes = word(seed, index);
        let piece = &bytes[skip..(skip + length - at).min(8)];
        visit(at, piece)?;
        at += piece.len();
        skip = 0;
        index = index.wrapping_add(1);
    }
    Ok(())
}

/// Writes the bytes `offset..offset + buffer.len()` of a message.
pub fn fill(key: &Key, offset: u64, buffer: &mut [u8]) {
    let length = buffer.len();
    let done: Result<(), std::convert::Infallible> =
        for_each_piece(key, offset, length, |at, piece| {
            buffer[at..at + piece.len()].copy_from_slice(piece);
            Ok(())
        });
    match done {
        Ok(()) => {}
    }
}

/// Compares `bytes` with the bytes `offset..offset + bytes.len()` of a message.
///
/// # Errors
/// [`Mismatch`] at the first byte that differs.
pub fn check(key: &Key, offset: u64, bytes: &[u8]) -> Result<(), Mismatch> {
    for_each_piece(key, offset, bytes.len(), |at, piece| {
        let found = &bytes[at..at + piece.len()];
        if found == piece {
            return Ok(());
        }
        let differs = piece.iter().zip(found).enumerate();
        match differs.into_iter().find(|(_, (e, f))| e != f) {
            Some((i, (&expected, &found))) => Err(Mismatch {
                offset: offset + (at + i) as u64,
                expected,
                found,
            }),
            None => Ok(()),
        }
    })
}

/// Hands out message numbers at one end: at a source per (destination, tag) in send order, at a
/// destination per (source, tag) in matching order. The two agree, because messages of one
/// source and tag match in the order in which they were sent.
#[derive(Debug, Clone, Default)]
pub struct MessageNumbers {
    next: BTreeMap<(u32, u32), u64>,
}

impl MessageNumbers {
    /// No message so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of the next message to or from `peer` with `tag`; counts it.
    pub fn next(&mut self, peer: u32, tag: u32) -> u64 {
        let next = self.next.entry((peer, tag)).or_insert(0);
        let number = *next;
        *next += 1;
        number
    }
}
