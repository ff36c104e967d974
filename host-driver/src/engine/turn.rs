//! One turn of `advance`: new work, packets, completions, acknowledgements.

use gyre_layout::event;

use super::Engine;
use crate::cost::Op;
use crate::error::{Error, Fault};
use crate::platform::Platform;
use crate::refusal::word::GetWord;
use crate::sync::Ordering;
use crate::task::TaskLocation;
use crate::transport::envelope::Envelope;
use crate::transport::injection::Lane;
use crate::transport::registers;
use crate::transport::wire::{GetFailed, System};
use crate::upcalls::Upcalls;

/// Turns that may start work or take packets without looking at completions or packets, so that neither
/// starves.
const PATIENCE: u32 = 8;
/// Polls that may find nothing before errors are looked for without a wake-up: a thread that never waits
/// is never woken for them.
const IDLE_POLLS: u32 = 256;

impl<P: Platform> Engine<P> {
    /// One turn: new work first, then packets and completions when they are due.
    ///
    /// # Errors
    /// Those of the hardware, and of operations that no done callback takes.
    pub fn turn(&mut self, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        self.core.platform.charge(Op::Advance, 1);
        up.tick();
        if up.has_work() || self.can_start() {
            self.start_work(up)?;
        }
        let woken = self.core.woken.swap(false, Ordering::AcqRel);
        // A wake-up follows every event after the cause was cleared, so a turn that had work to start
        // need not look for packets.
        let due = woken
            || self.completions_unseen
            || up.progress().is_idle()
            || self.since_poll >= PATIENCE
            || self.io.blocked();
        if due {
            if let Err(error) = self.poll(woken, up) {
                // What the failed poll has not seen must be looked at again.
                self.core.woken.store(true, Ordering::Release);
                return Err(error);
            }
        } else {
            self.since_poll += 1;
        }
        self.acks.iterate(&mut self.io)?;
        // What callbacks have posted and what packets have asked for starts now, not a turn later.
        if up.has_work() || self.can_start() {
            self.start_work(up)?;
        }
        Ok(())
    }

    fn poll(&mut self, woken: bool, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        if woken {
            // Cleared before FIFOs and counters are read: what comes later sets it again.
            let cause = registers::wake_cause(self.core.info.wake_group);
            registers::write(&self.core.platform, cause, self.io.events())?;
            self.completions_unseen = self.in_flight() > 0;
        }
        self.since_poll = 0;
        let before = up.progress().packets;
        self.receive(up)?;
        let packets = up.progress().packets - before;
        let landed =
            self.poll_gets(up)? + self.poll_counters(up)? + self.collnet.poll(&mut self.io, up)?;

        // Completions cost a read per FIFO: they can wait while packets come in.
        self.since_completions += 1;
        if packets > 0 {
            self.idle_polls = 0;
            if self.since_completions < PATIENCE && !self.io.lanes.any(Lane::blocked) {
                return Ok(());
            }
        }
        self.since_completions = 0;
        let (retired, mut outcome) = self.io.lanes.poll(&mut self.io.completed);
        if packets + landed + retired > 0 {
            self.idle_polls = 0;
        } else if outcome.is_ok() {
            self.idle_polls += 1;
            if woken || self.idle_polls >= IDLE_POLLS || self.refusals.unseen() {
                self.idle_polls = 0;
                outcome = self.check_errors();
            }
        }
        self.completions_unseen =
            self.io.lanes.any(Lane::resuming) || self.collnet.any(Lane::resuming);
        if self.io.completed.is_empty() {
            return outcome;
        }
        up.progress().completed += self.io.completed.len();
        let called = self.run_completions(up);
        outcome.and(called)
    }

    /// Woken for nothing that was expected: looks whether an error is the reason. The error event keeps
    /// waking the context until this has run.
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
        // Room for what the node refuses next.
        let looked = self.refusals.look(&mut self.io, &mut self.gets);
        let refused = self.check_remote_gets().and(looked);
        self.reception.check_halt(platform).and(refused)
    }

    /// Looks whether somebody's get was refused here, and tells the requester.
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
            // A requester's software words are its own envelope and the number of its get.
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
                    .send_control(peer, System::GetFailed, message.encode())?;
            }
        }
        Err(Error::RemoteDescriptor {
            fifo: self.remote_get.id(),
            reason: refused.reason,
        }
        .into())
    }

    /// Ends the gets whose data has arrived; returns how many.
    fn poll_gets(&mut self, up: &mut impl Upcalls<P>) -> Result<usize, Fault> {
        if self.gets.len() == 0 {
            return Ok(0);
        }
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
