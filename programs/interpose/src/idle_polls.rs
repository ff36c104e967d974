// SPDX-License-Identifier: MIT OR Apache-2.0
//! Polls without a result. Each takes the time of what it executes; sleep between them is the host's alone.
//!
//! A program that polls in vain for long lets the machine run ahead: its thread waits for an event for a part of the time that it has
//! polled so far, and then goes back to the time before that wait. The polls that it makes meanwhile are known to find
//! nothing, and take their time without a request to the machine; so do its reads of clocks and its computation. Polls, clocks and
//! steps come out as if the machine had been asked each time. Only a thread that gives up polling and then acts, before it has
//! come to the end of such a wait, acts at its end.

use parking_lot::Mutex;

use gyre_driver::Platform as _;
use gyre_remote::RemotePlatform;

/// Polls in vain before a thread waits ahead.
const MANY: u32 = 64;

/// A wait is this part of the time that the thread has polled so far, and at most so long, picoseconds.
const PART: u64 = 8;
const LONGEST_PS: u64 = 64_000_000;

/// A row of polls in vain, between which a thread has only computed and looked at clocks.
#[derive(Clone, Copy)]
struct Row {
    thread: u32,
    /// Deeds of the thread at the end of the last poll.
    deeds: u64,
    /// Events of the polled object then.
    epoch: u64,
    /// Begin of the first.
    since_ps: u64,
    polls: u32,
    /// Time of the shortest.
    poll_ps: u64,
    /// Whether the thread has waited since the last poll of the machine.
    waited: bool,
}

/// An object that is polled.
pub trait Polled {
    /// Error of a poll.
    type Error;

    /// Changes with each event that a poll finds, other than those of the machine.
    fn epoch(&self) -> u64;

    /// Whether nothing but an event gives a poll something to find.
    fn is_quiet(&self) -> bool;

    /// Polls once; returns whether something was found.
    ///
    /// # Errors
    /// What is wrong.
    fn look(&self) -> Result<bool, Self::Error>;

    /// Waits until a poll may find something, or until `deadline_ps`.
    ///
    /// # Errors
    /// What is wrong.
    fn wait(&self, epoch: u64, deadline_ps: u64) -> Result<(), Self::Error>;
}

/// The row of polls of an object.
#[derive(Default)]
pub struct IdlePolls(Mutex<Option<Row>>);

impl IdlePolls {
    /// Polls once, in place of [`Polled::look`].
    ///
    /// # Errors
    /// Those of the object.
    pub fn poll<P: Polled>(&self, polled: &P) -> Result<bool, P::Error> {
        let platform = RemotePlatform::of_this_thread();
        let (thread, deeds) = (platform.thread(), platform.deeds());
        let row = self.0.lock().take();
        let row = row.filter(|row| (row.thread, row.deeds) == (thread, deeds));
        if let Some(row) = row
            && platform.is_behind()
            && row.epoch == polled.epoch()
        {
            // What other threads have done during the wait is found at its end.
            platform.poll(row.poll_ps);
            *self.0.lock() = Some(row);
            return Ok(false);
        }
        let start_ps = platform.now_ps();
        let epoch = polled.epoch();
        if polled.look()? {
            return Ok(true);
        }
        let poll_ps = platform.now_ps() - start_ps;
        let mut row = row.unwrap_or(Row {
            thread,
            deeds,
            epoch,
            since_ps: start_ps,
            polls: 0,
            poll_ps,
            waited: false,
        });
        row.polls = row.polls.saturating_add(1);
        row.poll_ps = row.poll_ps.min(poll_ps);
        if row.waited {
            // It has noted the end of the wait besides, which a thread that polls has not.
            platform.go_back_to(start_ps + row.poll_ps);
        }
        let now_ps = platform.now_ps();
        let ahead_ps = ((now_ps - row.since_ps) / PART).min(LONGEST_PS);
        row.waited = row.polls >= MANY && ahead_ps > row.poll_ps && polled.is_quiet();
        if row.waited {
            polled.wait(epoch, now_ps + ahead_ps)?;
            platform.go_back_to(now_ps);
        }
        (row.deeds, row.epoch) = (platform.deeds(), polled.epoch());
        *self.0.lock() = Some(row);
        Ok(false)
    }
}
