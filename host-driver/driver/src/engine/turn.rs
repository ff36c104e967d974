// SPDX-License-Identifier: MIT OR Apache-2.0
//! One turn of `advance`: new work, packets, completions, acknowledgements.

use gyre_layout::event;

use super::Engine;
use crate::attention::Reason;
use crate::cost::Op;
use crate::error::{Error, Fault};
use crate::platform::Platform;
use crate::refusal::word::GetWord;
use crate::task::TaskLocation;
use crate::transport::envelope::Envelope;
use crate::transport::injection::Lane;
use crate::transport::registers;
use crate::transport::wire::{ControlMessage, GetFailed};
use crate::upcalls::Upcalls;

/// Turns that may start work or take packets before completions or packets are looked at again, so that neither
/// starves.
const PATIENCE: u32 = 8;
/// Idle turns between polls of untracked completions: no event wakes a thread that never sleeps for them.
const QUIET_TURNS: u32 = 16;
/// Polls without result before errors are looked for without a wake-up: no event wakes a thread that never sleeps for
/// them.
const IDLE_POLLS: u32 = 256;

impl<P: Platform> Engine<P> {
    /// Runs turns until one has found something to do, at most `maximum` and at least one.
    ///
    /// # Errors
    /// Errors of the hardware, and of operations that no done callback takes.
    pub fn turns(&mut self, maximum: usize, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        self.changed = false;
        let mut left = maximum;
        loop {
            let idle = self.turn(up)?;
            if left <= 1 || !(idle || up.progress().is_idle()) {
                return Ok(());
            }
            left -= 1;
        }
    }

    /// Runs one turn: packets alone where nothing else can have happened; else new work first, then packets and
    /// completions when they are due. Returns whether it has certainly found nothing.
    #[inline(always)]
    fn turn(&mut self, up: &mut impl Upcalls<P>) -> Result<bool, Fault> {
        self.core.platform.charge(Op::Turn, 1);
        if !self.quick || !self.core.attention.is_clear() {
            self.full_turn(up)?;
            return Ok(false);
        }
        if self.look_for_packets()? == 0 {
            if !self.is_due() {
                return Ok(true);
            }
            self.completions_turn(up)?;
            return Ok(false);
        }
        self.idle_polls = 0;
        let received = self.receive_network(up);
        if received.is_err() || self.changed || !self.core.attention.is_clear() {
            self.end_turn(received, up)?;
        }
        Ok(false)
    }

    /// Runs a turn that takes packets alone, from the network and shared memory.
    fn packet_turn(&mut self, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        let (bytes, shared) = (self.look_for_packets()?, self.look_for_shared()?);
        if bytes == 0 && !shared {
            return match self.is_due() {
                true => self.completions_turn(up),
                false => Ok(()),
            };
        }
        self.idle_polls = 0;
        let received = self.receive(bytes, shared, up);
        if received.is_err() || self.changed || !self.core.attention.is_calm() {
            return self.end_turn(received, up);
        }
        Ok(())
    }

    /// Runs a turn that looks at completions alone.
    #[inline(never)] // Keeps the other turns short.
    fn completions_turn(&mut self, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        let looked = self.poll_completions(false, 0, up);
        self.end_turn(looked, up)
    }

    /// Calls the functions of every turn, and those whose time has come.
    #[inline(never)] // Keeps the turn short.
    fn tick(&self, up: &mut impl Upcalls<P>) {
        self.core.platform.charge(Op::Tick, 1);
        up.tick();
    }

    /// Bytes of packets in the reception FIFO.
    #[inline(always)]
    fn look_for_packets(&mut self) -> Result<usize, Fault> {
        // A failed look is repeated: it may have missed something.
        let attention = &self.core.attention;
        let looked = self.reception.poll(&self.core.platform);
        looked.inspect_err(|_| attention.call(Reason::Woken))
    }

    /// Whether there are packets in the ring in shared memory.
    fn look_for_shared(&mut self) -> Result<bool, Fault> {
        let Some(inbox) = &mut self.inbox else {
            return Ok(false);
        };
        let looked = inbox.poll(&self.core.platform);
        looked.inspect_err(|_| self.core.attention.call(Reason::Woken))
    }

    /// Counts a turn without packets. Returns whether it is to look at completions or errors.
    #[inline(always)]
    fn is_due(&mut self) -> bool {
        self.idle_polls += 1;
        self.idle_polls.is_multiple_of(QUIET_TURNS)
            && (self.in_flight() > 0 || self.idle_polls >= IDLE_POLLS)
    }

    /// Runs a turn where there may be more than packets.
    #[inline(never)] // Keeps the other turns short.
    fn full_turn(&mut self, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        if self.core.attention.has_any(Reason::CALLS) {
            self.tick(up);
        }
        if self.quiet && self.core.attention.is_calm() {
            return self.packet_turn(up);
        }
        self.turn_behind_calls(up)
    }

    /// Continues a full turn after functions have been called.
    fn turn_behind_calls(&mut self, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        self.core.platform.charge(Op::FullTurn, 1);
        // Only the advancing thread takes the wake-up.
        let attention = &self.core.attention;
        let woken = attention.has(Reason::Woken);
        if attention.has(Reason::Room) {
            attention.clear(Reason::Room);
            (self.since_poll, self.since_completions) = (PATIENCE, PATIENCE);
            self.changed = true;
        }
        if attention.has(Reason::Awaited) {
            attention.clear(Reason::Awaited);
            self.changed = true;
        }
        let result = self.busy_turn(woken, up.has_work(), up);
        self.end_turn(result, up)
    }

    /// Ends a turn in which something may have happened: posts of callbacks and requests in packets start now, not a
    /// turn later.
    #[inline(never)]
    fn end_turn(
        &mut self,
        result: Result<(), Fault>,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let started = result.and_then(|()| self.send_and_start(up));
        self.changed |= started.is_err();
        if self.changed {
            let startable = match started {
                Ok(false) => false,
                Ok(true) => self.can_start(),
                Err(_) => true,
            };
            self.take_stock(startable, started.is_err());
        }
        started.map(drop)
    }

    /// Sends owed acknowledgements, and starts waiting work. Where something has changed, returns whether there was
    /// any.
    #[inline(always)]
    fn send_and_start(&mut self, up: &mut impl Upcalls<P>) -> Result<bool, Fault> {
        if !self.acks.is_empty() {
            self.acks.iterate(&mut self.io)?;
            self.changed = true;
        }
        let starts = up.has_work() || self.changed && self.can_start();
        if starts {
            self.changed = true;
            self.start_work(up)?;
        }
        Ok(starts)
    }

    /// Notes the remaining work, after something has changed or `failed`; `startable`: whether some of it can be
    /// started.
    pub(super) fn take_stock(&mut self, startable: bool, failed: bool) {
        self.startable = startable;
        self.unfinished = failed || self.has_unfinished();
        self.quiet = !self.startable && !self.unfinished && self.is_quiet();
        self.quick = self.quiet && self.inbox.is_none();
    }

    /// Whether nothing under way needs a turn: untracked descriptors complete by themselves, and wake the context.
    fn is_quiet(&self) -> bool {
        !self.io.lanes.awaits()
            && self.gets.len() == 0
            && self.counters.len() == 0
            && self.collnet.is_idle()
    }

    /// Runs a turn while something is under way, or after a wake-up.
    fn busy_turn(
        &mut self,
        woken: bool,
        work: bool,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let starts = work || self.startable;
        if starts {
            self.changed = true;
            self.start_work(up)?;
        }
        // A wake-up follows every event after the cause was cleared, so a turn that had work to start
        // need not look for packets.
        let due = woken
            || !starts
            || self.completions_unseen
            || self.since_poll >= PATIENCE
            || self.io.blocked();
        if due {
            self.since_poll = 0;
            let polled = self.poll(woken, up);
            if polled.is_err() {
                // A failed poll is repeated: it may have missed something.
                self.core.attention.call(Reason::Woken);
                return polled;
            }
        } else {
            self.since_poll += 1;
        }
        Ok(())
    }

    fn poll(&mut self, woken: bool, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        if woken {
            // Before the cause is cleared: a thread that is woken after that sets the reason again.
            self.core.attention.clear(Reason::Woken);
            // Cleared before FIFOs and counters are read: later events set it again.
            let cause = registers::wake_cause(self.core.info.wake_group);
            self.core.platform.charge(Op::Wake, 1);
            registers::write_within(&self.core.platform, cause, self.io.events())?;
        }
        let before = up.progress().packets;
        let (bytes, shared) = (self.look_for_packets()?, self.look_for_shared()?);
        if bytes > 0 || shared {
            self.receive(bytes, shared, up)?;
        }
        let packets = up.progress().packets - before;
        let mut landed = 0;
        if self.gets.len() > 0 {
            landed += self.poll_gets(up)?;
        }
        if self.counters.len() > 0 {
            landed += self.poll_counters(up)?;
        }
        if !self.collnet.is_unused() {
            landed += self.collnet.poll(&mut self.io, up)?;
        }
        self.changed |= landed > 0;

        // Completions cost a read per FIFO: they can wait while packets come in.
        self.since_completions += 1;
        if packets > 0 {
            self.idle_polls = 0;
            if self.since_completions < PATIENCE && !self.io.lanes.blocked() {
                if woken && self.in_flight() > 0 {
                    self.completions_unseen = true;
                    self.unfinished = true;
                }
                return Ok(());
            }
        }
        self.poll_completions(woken, packets + landed, up)
    }

    /// Takes completions; `found`: packets and gets that the same poll has found.
    fn poll_completions(
        &mut self,
        woken: bool,
        found: usize,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        self.since_completions = 0;
        // Completions of the collective network are in the list already.
        let contributed = self.io.completed.len();
        let (retired, mut outcome) = self.io.lanes.poll(&mut self.io.completed);
        if found + retired > 0 {
            self.idle_polls = 0;
        } else if outcome.is_ok() {
            self.idle_polls += 1;
            if woken || self.idle_polls >= IDLE_POLLS || self.refusals.unseen() {
                self.idle_polls = 0;
                self.changed = true;
                outcome = self.check_errors();
            }
        }
        let unseen = self.io.lanes.resuming() || self.collnet.any(Lane::resuming);
        self.changed |= unseen != self.completions_unseen;
        self.completions_unseen = unseen;
        up.progress().completed += contributed + retired;
        // Where nothing else was under way, untracked descriptors change nothing.
        self.changed |= retired > 0 && !self.quiet;
        if self.io.completed.is_empty() {
            return outcome;
        }
        self.changed = true;
        let called = self.run_completions(up);
        outcome.and(called)
    }

    /// Looks for an error after a wake-up without result. The error event keeps waking the context until this has run.
    #[cold]
    fn check_errors(&mut self) -> Result<(), Fault> {
        let core = std::sync::Arc::clone(&self.core);
        let platform = &core.platform;
        let cause = registers::wake_cause(core.info.wake_group);
        let raised = registers::read(platform, cause)? & event::ERROR != 0;
        if !raised && !self.refusals.unseen() {
            return Ok(());
        }
        registers::write(platform, cause, event::ERROR)?;
        self.io.lanes.check_halt(&mut self.io.completed)?;
        self.collnet.check_halt(platform, &mut self.io.completed)?;
        // Makes room for later refusals of the node.
        let looked = self.refusals.look(&mut self.io, &mut self.gets);
        let refused = self.check_remote_gets().and(looked);
        self.reception.check_halt(platform).and(refused)
    }

    /// Looks for a get of a peer that was refused here, and tells the requester.
    fn check_remote_gets(&mut self) -> Result<(), Fault> {
        let core = std::sync::Arc::clone(&self.core);
        let Some(refused) = self.remote_get.check_halt(&core.platform)? else {
            return Ok(());
        };
        core.leave_rest();
        let layout = &core.layout;
        let reason = refused.reason.map_or_else(|code| code, u8::from);
        let word = refused.descriptor.and_then(|d| GetWord::unpack(d.sw1));
        if let (Some(descriptor), Some(word)) = (refused.descriptor, word) {
            // The software words of a request are the requester's envelope and the number of its get.
            let envelope = Envelope::unpack(descriptor.sw0);
            let from = TaskLocation {
                node: descriptor.requester,
                process: envelope.process,
            };
            let requester = layout.config.tasks.task_at(from);
            if let Some(task) = requester.filter(|_| envelope.context < layout.config.contexts) {
                let peer = layout.endpoint(task, envelope.context)?;
                let message = GetFailed {
                    get: word.number,
                    reason,
                    process: layout.location.process,
                    context: core.offset(),
                };
                self.io
                    .send_control(peer, ControlMessage::GetFailed, message.encode())?;
            }
        }
        Err(Error::RemoteDescriptor {
            fifo: self.remote_get.id(),
            reason: refused.reason,
        }
        .into())
    }

    /// Ends the gets whose data has arrived; returns how many.
    #[inline(never)]
    fn poll_gets(&mut self, up: &mut impl Upcalls<P>) -> Result<usize, Fault> {
        let mut result = self.gets.poll(&self.core.platform, &mut self.landed);
        let mut landed = core::mem::take(&mut self.landed);
        let count = landed.len();
        for get in landed.drain(..) {
            result = result.and(self.end_get(get, up));
        }
        self.landed = landed;
        result.map(|()| count)
    }
}
