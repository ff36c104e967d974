// SPDX-License-Identifier: MIT OR Apache-2.0
//! New work: instructions go to their protocols, and waiting operations are started as far as there is room.

use gyre_note::Note;

use super::Engine;
use crate::ack::sender::refuse;
use crate::am::{deferred, send};
use crate::cost::Op;
use crate::done_table::DoneId;
use crate::error::Fault;
use crate::operation::{Ends, Instruction, Work};
use crate::platform::Platform;
use crate::rendezvous;
use crate::rma;
use crate::sync::lock;
use crate::transport::wire::Refused;
use crate::upcalls::{Upcalls, deliver_error};

impl<P: Platform> Engine<P> {
    /// Carries out an instruction at its post, with no work before it, and starts it. Completions and an error of the
    /// start are left to the next turn.
    ///
    /// # Errors
    /// Errors of the instruction that no done callback takes.
    pub fn start_at_post<U: Upcalls<P>>(
        &mut self,
        work: Work<P, U::Done, U::Call>,
        up: &mut U,
    ) -> Result<(), Fault> {
        let core = std::sync::Arc::clone(&self.core);
        let platform = &core.platform;
        platform.charge(Op::Start, 1);
        core.leave_rest();
        core.note(|at| Note::Started { at });
        let carried_out = self.start_or_fail(work, up);
        self.unreported = self.start_waiting().1.err();
        let failed = self.unreported.is_some();
        self.take_stock(failed || self.can_start(), failed);
        carried_out
    }

    /// Carries out posted instructions, and starts as many operations as there is room for.
    #[inline(never)] // Keeps the turn short.
    pub(super) fn start_work(&mut self, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        let core = std::sync::Arc::clone(&self.core);
        let platform = &core.platform;
        platform.charge(Op::Batch, 1);
        // Before posted work leaves the queue: in between the context would look at rest.
        core.leave_rest();
        up.take_work()?;
        // A failed start does not hold up later instructions: the first error is returned.
        let mut result = self.unreported.take().map_or(Ok(()), Err);
        while let Some(work) = up.next_work() {
            platform.charge(Op::Start, 1);
            core.note(|at| Note::Started { at });
            up.progress().instructions += 1;
            result = result.and(self.start_or_fail(work, up));
        }
        if self.gets.waiting() > 0 {
            result = result.and(self.start_gets(up));
        }
        let (started, outcome) = self.start_waiting();
        result = result.and(outcome);
        if let Some(flows) = &mut self.io.flows {
            result = result.and(flows.report());
        }
        up.progress().started += started;
        if self.io.completed.is_empty() {
            return result;
        }
        result.and(self.run_completions(up))
    }

    /// Starts waiting sends as far as there is room; returns how many, and the first error.
    #[inline]
    fn start_waiting(&mut self) -> (usize, Result<(), Fault>) {
        let Self { core, io, .. } = self;
        let (mut started, mut outcome) = io.lanes.start(&mut io.completed);
        if !self.collnet.is_unused() {
            match self.collnet.start(&core.platform, &mut io.completed) {
                Ok(count) => started += count,
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        if let Some(shared) = &mut io.shared {
            started += shared.start(&core.platform, &mut io.completed);
        }
        (started, outcome)
    }

    /// Requests as many gets as there are counters for.
    #[inline(never)]
    fn start_gets(&mut self, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        let core = std::sync::Arc::clone(&self.core);
        let platform = &core.platform;
        let mut result = Ok(());
        while self.gets.waiting() > 0 {
            let started = match self.gets.start(platform) {
                Ok(Some(get)) => {
                    let number = get.number;
                    let requested = rma::descriptors::request(&mut self.io, get);
                    match requested {
                        Ok(()) => Ok(()),
                        Err(error) => self.fail_get(number, error, up),
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    result = result.and(Err(error));
                    break;
                }
            };
            result = result.and(started);
        }
        while let Some(get) = self.gets.starved() {
            result = result.and(self.end_get(get, up));
        }
        result
    }

    /// Carries out one instruction. Its done callbacks get the error of a failure.
    #[inline(always)] // An instruction is not moved on its way.
    fn start_or_fail<U: Upcalls<P>>(
        &mut self,
        work: Work<P, U::Done, U::Call>,
        up: &mut U,
    ) -> Result<(), Fault> {
        let ends = work.done;
        match self.start(work, up) {
            Ok(()) => Ok(()),
            Err(error) => self.fail(ends, error, up),
        }
    }

    /// Fails an instruction that could not be carried out.
    #[cold]
    fn fail<U: Upcalls<P>>(&mut self, ends: Ends, error: Fault, up: &mut U) -> Result<(), Fault> {
        let waiting: Vec<DoneId> = ends.into_iter().flatten().collect();
        if !waiting.is_empty() {
            lock(&self.core.cookies).forget(&waiting);
        }
        deliver_error(up, ends, error)
    }

    /// Carries out one instruction, or queues it.
    fn start<U: Upcalls<P>>(
        &mut self,
        Work {
            instruction,
            done: ends @ [done, _],
        }: Work<P, U::Done, U::Call>,
        up: &mut U,
    ) -> Result<(), Fault> {
        match instruction {
            Instruction::Send(message) => send::start(&mut self.io, message, ends),
            Instruction::SendImmediate(message) => send::immediate(&mut self.io, message, done),
            Instruction::Put(put) => {
                rma::descriptors::put(&mut self.io, &mut self.refusals, put, ends)
            }
            Instruction::Get(get) => {
                rma::descriptors::get(&mut self.gets, get, done);
                Ok(())
            }
            Instruction::Rmw(rmw) => {
                rma::descriptors::rmw(&mut self.gets, rmw, done);
                Ok(())
            }
            Instruction::Fence(fence) => {
                let (fences, with) = self.fences();
                fences.start(with, fence.destination, done)
            }
            Instruction::FenceAll(_) => {
                let (fences, with) = self.fences();
                fences.start_all(with, done, up)
            }
            Instruction::Acknowledge { peer, cookie } => {
                self.acks.owe(&self.core, peer, cookie);
                Ok(())
            }
            Instruction::Refuse { peer, cookie } => {
                refuse(&mut self.io, peer, (cookie, Refused::DATA))
            }
            Instruction::Receive(receive) => {
                let (gets, mut am) = self.gets(up);
                rendezvous::receive(&mut am, gets, receive, done)
            }
            Instruction::Discard { message, refused } => {
                deferred::discard(&mut self.am(up), message, refused)
            }
            Instruction::Call(call) => {
                up.call(call);
                Ok(())
            }
            Instruction::Count(count) => {
                self.counters.push(count.counter, done);
                Ok(())
            }
            Instruction::CollnetBarrier { routes, .. } => {
                self.collnet.start_barrier(&mut self.io, &routes, done, up)
            }
            Instruction::CollnetTransfer(transfer) => {
                self.collnet
                    .start_transfer(&mut self.io, transfer, done, up)
            }
            Instruction::CollnetRelease { routes, .. } => {
                self.collnet.release(&mut self.io, &routes, done, up)
            }
        }
    }
}
