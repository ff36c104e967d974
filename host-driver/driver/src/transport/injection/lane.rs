// SPDX-License-Identifier: MIT OR Apache-2.0
//! The use of an injection FIFO by one context.

use std::collections::VecDeque;

use gyre_firmware::Node;
use gyre_layout::MessageTemplate;

use super::ring::{InjectionFifo, Ring};
use super::{Completed, Direct, Finish, Outgoing};
use crate::error::Fault;
use crate::platform::Platform;
use crate::sync::{Arc, lock};
use crate::transport::registers::Bus;

/// The use of an injection FIFO by one context: its descriptors, and operations that wait for room.
pub(crate) struct Lane<P: Platform> {
    fifo: Arc<InjectionFifo<P>>,
    /// The ring of a FIFO with a single user.
    own: Option<Ring<P>>,
    /// Number of the context among the FIFO's users.
    user: u32,
    waiting: VecDeque<Outgoing<P>>,
    /// Descriptors in the ring that the hardware does not know yet.
    written: usize,
    /// Operations that failed to make a descriptor.
    failed: Vec<Completed>,
    in_flight: usize,
    /// Descriptors in the ring may keep data, or operations may end with them.
    awaiting: bool,
    /// Half the capacity of the ring.
    many: usize,
    /// The ring was full when this context last wrote to it.
    full: bool,
    /// A refused descriptor of this context had not been skipped when it last looked.
    resuming: bool,
}

impl<P: Platform> Lane<P> {
    /// Makes a context a user of `fifo`.
    pub fn open(platform: &P, fifo: &Arc<InjectionFifo<P>>) -> Result<Self, Fault> {
        let mut own = match fifo.lock {
            Some(_) => None,
            None => Some(fifo.take()?),
        };
        let (user, many) = with_ring(&mut own, fifo, platform, |ring| Ok(ring.add_user()))?;
        Ok(Self {
            fifo: Arc::clone(fifo),
            own,
            user,
            waiting: VecDeque::new(),
            written: 0,
            failed: Vec::new(),
            in_flight: 0,
            awaiting: false,
            many,
            full: false,
            resuming: false,
        })
    }

    /// Ends the use; the last user disables the FIFO. Uncompleted descriptors are given up.
    pub fn close(&mut self, platform: &P, node: &mut Node<Bus<P>>) -> Result<(), Fault> {
        self.waiting.clear();
        let closed = with_ring(&mut self.own, &self.fifo, platform, |ring| {
            ring.remove_user(self.user, node)
        });
        if let Some(ring) = self.own.take() {
            *lock(&self.fifo.ring) = Some(ring);
        }
        closed
    }

    /// Descriptors of this context that have not been retired.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Operations that the DMA engine does not know yet.
    pub fn waiting(&self) -> usize {
        self.waiting.len() + self.written + self.failed.len()
    }

    /// Makes a descriptor of an operation, which the next [`start`](Self::start) publishes. The operation is queued
    /// instead where others wait, without room, and where several contexts share the FIFO.
    #[inline(always)]
    pub fn put(&mut self, platform: &P, outgoing: Outgoing<P>) {
        let Some(ring) = self.own.as_mut().filter(|_| self.waiting.is_empty()) else {
            self.waiting.push_back(outgoing);
            return;
        };
        if ring.is_full() {
            self.full = true;
            self.waiting.push_back(outgoing);
            return;
        }
        match ring.write(platform, self.user, outgoing) {
            Ok(()) => self.written += 1,
            Err(completed) => self.failed.push(completed),
        }
    }

    /// Whether a descriptor of this context is under way with which an operation ends, or room is short.
    pub fn awaits(&self) -> bool {
        self.in_flight > 0 && (self.awaiting || self.is_short_of_room())
    }

    /// Whether the next waiting operation found no room.
    pub fn blocked(&self) -> bool {
        self.full && !self.waiting.is_empty()
    }

    /// Whether a refused descriptor has not been skipped yet.
    pub fn resuming(&self) -> bool {
        self.resuming
    }

    /// Turns waiting operations into descriptors as far as there is room, and starts them all with one write of TAIL. A
    /// failed one goes to `completed` with its error. Returns how many left the queue.
    pub fn start(&mut self, platform: &P, completed: &mut Vec<Completed>) -> Result<usize, Fault> {
        completed.append(&mut self.failed);
        with_ring(&mut self.own, &self.fifo, platform, |ring| {
            while !ring.is_full() {
                let Some(outgoing) = self.waiting.pop_front() else {
                    break;
                };
                match ring.write(platform, self.user, outgoing) {
                    Ok(()) => self.written += 1,
                    Err(failed) => completed.push(failed),
                }
            }
            self.full = ring.is_full();
            self.awaiting = ring.awaits();
            ring.publish(platform)?;
            let started = core::mem::take(&mut self.written);
            self.in_flight += started;
            Ok(started)
        })
    }

    /// Makes and publishes the descriptor of a message by `template`, with software word 1 and message id of `words`,
    /// with which `finish` ends. Returns whether it did: not when others wait or the ring is full.
    #[inline(always)] // Every immediate message comes here.
    pub fn inject<const N: usize>(
        &mut self,
        platform: &P,
        template: &MessageTemplate,
        words: (u32, u32),
        payload: &Direct<'_, P, N>,
        finish: Finish,
    ) -> Result<bool, Fault> {
        if self.waiting() > 0 {
            return Ok(false);
        }
        let injected = match &mut self.own {
            Some(ring) => ring.inject(platform, self.user, template, words, payload, finish)?,
            None => self.inject_shared(platform, template, words, payload, finish)?,
        };
        self.in_flight += usize::from(injected);
        self.awaiting |= injected && payload.is_awaited();
        Ok(injected)
    }

    /// As [`inject`](Self::inject), in a shared FIFO.
    #[inline(never)]
    fn inject_shared<const N: usize>(
        &self,
        platform: &P,
        template: &MessageTemplate,
        words: (u32, u32),
        payload: &Direct<'_, P, N>,
        finish: Finish,
    ) -> Result<bool, Fault> {
        let user = self.user;
        self.fifo.with(platform, |ring| {
            ring.inject(platform, user, template, words, payload, finish)
        })
    }

    /// Whether the descriptors under way leave little room.
    #[inline]
    pub fn is_short_of_room(&self) -> bool {
        self.in_flight >= self.many
    }

    /// Reads HEAD and retires completed descriptors: those of this context go into `completed`. Returns how many.
    #[inline(always)] // Mostly there is one lane.
    pub fn poll(&mut self, platform: &P, completed: &mut Vec<Completed>) -> Result<usize, Fault> {
        self.with_completions(platform, completed, Ring::retire)
    }

    /// Looks whether the FIFO has halted at a descriptor that the DMA engine refuses; if so, retires what
    /// came before, notes the refusal for the descriptor's done callback and lets the FIFO skip it.
    pub fn check_halt(
        &mut self,
        platform: &P,
        completed: &mut Vec<Completed>,
    ) -> Result<(), Fault> {
        self.with_completions(platform, completed, Ring::check_halt)
            .map(drop)
    }

    /// Takes completed descriptors of this context: those that others have seen, then those that `look` finds. Returns
    /// how many.
    #[inline(always)]
    fn with_completions(
        &mut self,
        platform: &P,
        completed: &mut Vec<Completed>,
        look: impl FnOnce(&mut Ring<P>, &P, u32, &mut Vec<Completed>) -> (usize, Result<(), Fault>),
    ) -> Result<usize, Fault> {
        with_ring(&mut self.own, &self.fifo, platform, |ring| {
            let mut count = 0;
            if let Some(mine) = ring.take_mailbox(self.user) {
                count = mine.count;
                completed.extend(mine.completed);
            }
            let (seen, looked) = look(ring, platform, self.user, completed);
            count += seen;
            self.in_flight -= count;
            self.full &= ring.is_full();
            self.awaiting = ring.awaits();
            self.resuming = ring.resuming() == Some(self.user);
            looked.map(|()| count)
        })
    }
}

/// Uses the ring of `fifo`, which is `own` of its only user.
#[inline(always)]
fn with_ring<P: Platform, R>(
    own: &mut Option<Ring<P>>,
    fifo: &InjectionFifo<P>,
    platform: &P,
    work: impl FnOnce(&mut Ring<P>) -> Result<R, Fault>,
) -> Result<R, Fault> {
    match own {
        Some(ring) => work(ring),
        None => fifo.with(platform, work),
    }
}
