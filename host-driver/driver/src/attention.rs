// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reasons for a turn of `advance` to look at more than packets: one word, so that a turn that has nothing else to do
//! reads no more than that.

use crate::sync::{AtomicU32, Ordering};

/// A reason for a turn to look at more than packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Reason {
    /// A wait ended by a wake-up that no poll has followed yet.
    Woken = 1,
    /// The queue has work, or the context has been destroyed.
    Posted = 2,
    /// Work that has been taken off the queue has not been carried out.
    Working = 4,
    /// Calls at a time are registered.
    Alarm = 8,
    /// Functions for every turn are registered.
    EveryTurn = 16,
    /// The advancing thread has not seen some of these functions.
    NewEveryTurn = 32,
    /// Injection FIFOs are short of room.
    Room = 64,
    /// A message with a local done callback has been injected at its call.
    Awaited = 128,
    /// Modules have completions to deliver.
    Ending = 256,
}

impl Reason {
    /// Reasons that end when functions have been called.
    pub const CALLS: [Self; 4] = [
        Self::Alarm,
        Self::EveryTurn,
        Self::NewEveryTurn,
        Self::Ending,
    ];
}

/// The set reasons.
pub(crate) struct Attention(AtomicU32);

impl Attention {
    /// The reasons of a new context: it looks at everything once.
    pub fn new() -> Self {
        Self(AtomicU32::new(Reason::Woken as u32))
    }

    /// Whether no reason is set.
    #[inline]
    pub fn is_clear(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }

    /// Whether no reason is set other than [functions to call](Reason::CALLS).
    #[inline]
    pub fn is_calm(&self) -> bool {
        self.0.load(Ordering::Acquire) & !mask(Reason::CALLS) == 0
    }

    /// Whether this one is set.
    #[inline]
    pub fn has(&self, reason: Reason) -> bool {
        self.has_any([reason])
    }

    /// Whether any of these is set.
    #[inline]
    pub fn has_any<const N: usize>(&self, reasons: [Reason; N]) -> bool {
        self.0.load(Ordering::Acquire) & mask(reasons) != 0
    }

    /// Sets this one.
    pub fn call(&self, reason: Reason) {
        self.0.fetch_or(reason as u32, Ordering::AcqRel);
    }

    /// Clears this one.
    pub fn clear(&self, reason: Reason) {
        self.0.fetch_and(!(reason as u32), Ordering::AcqRel);
    }

    /// Sets or clears this one.
    pub fn set(&self, reason: Reason, there: bool) {
        match there {
            true => self.call(reason),
            false => self.clear(reason),
        }
    }
}

/// The bits of these.
fn mask<const N: usize>(reasons: [Reason; N]) -> u32 {
    reasons
        .into_iter()
        .fold(0, |mask, reason| mask | reason as u32)
}
