// SPDX-License-Identifier: MIT OR Apache-2.0
//! Executor: runs ready steps of collectives, and ends collectives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gyre_driver::{Context, DoneFn, Instruction, Op, Platform};
use gyre_note::{CollectiveStep, Note};
use parking_lot::Mutex;

use super::messenger::Messenger;
use super::operation::{Destination, Operation};
use super::payload::Payload;
use super::state::{Key, States};
use super::step::{Progress, StepEnd, Steps};
use super::watch::{self, Watch};
use super::{memory, network};
use crate::callback::Done;
use crate::collnet::negotiation::Negotiation;
use crate::collnet::routes::RoutesTaken;
use crate::error::Error;
use crate::geometry::Geometry;
use crate::header::Header;
use crate::node::sharing::Sharing;
use crate::node::turns::Turn;
use crate::signature::Signature;

/// Maximum bytes of scratch memory kept for the next collective of a geometry.
const SPARE: usize = 4096;

/// The collectives of a context.
pub(super) struct Executor<P: Platform> {
    pub states: States<P>,
    pub messenger: Messenger,
    pub negotiation: Arc<Negotiation<P>>,
    watch: Watch,
    /// A collective is beginning within its post: done callbacks wait for `advance`.
    at_post: AtomicBool,
    /// Its first instruction on the collective network.
    first: Mutex<Option<Instruction<P>>>,
}

impl<P: Platform> StepEnd<P> for Executor<P> {
    fn step_ended(
        self: &Arc<Self>,
        context: &Context<P>,
        key: Key,
        ended: Result<Option<usize>, Error>,
    ) {
        match ended {
            Ok(Some(step)) => {
                let ready = self.end_step(key, step);
                self.run(context, key, ready);
            }
            Ok(None) => {}
            Err(error) => self.give_up(context, key, error),
        }
    }
}

impl<P: Platform> Executor<P> {
    /// An executor without collectives; their messages use dispatch identifier `dispatch`.
    pub fn new(dispatch: u8) -> Self {
        Self {
            states: States::default(),
            messenger: Messenger::new(dispatch),
            negotiation: Arc::new(Negotiation::new(dispatch)),
            watch: Watch::default(),
            at_post: AtomicBool::new(false),
            first: Mutex::new(None),
        }
    }

    /// Whether a collective of a geometry could begin now without calling the program.
    pub fn has_turn(&self, number: u16) -> bool {
        let follows = self.states.with(number, |state| state.follow.is_some());
        follows == Some(false) && !self.negotiation.table.is_taking(number)
    }

    /// Begins a collective within its post. Returns its instruction on the collective network, if it is exactly one.
    pub fn at_post(&self, begin: impl FnOnce()) -> Option<Instruction<P>> {
        self.at_post.store(true, Ordering::Relaxed);
        begin();
        self.at_post.store(false, Ordering::Relaxed);
        self.first.lock().take()
    }

    /// Posts an instruction, or keeps it for the end of the post.
    fn launch(
        &self,
        context: &Context<P>,
        instruction: Instruction<P>,
        alone: bool,
    ) -> Result<(), gyre_driver::Error> {
        let before = self.first.lock().take();
        if before.is_none() && alone && self.at_post.load(Ordering::Relaxed) {
            *self.first.lock() = Some(instruction);
            return Ok(());
        }
        before.map_or(Ok(()), |before| context.post(before))?;
        context.post(instruction)
    }

    /// Reports the end of a collective to the program.
    pub fn tell(&self, context: &Context<P>, done: Option<Done<P>>, result: Result<(), Error>) {
        let Some(done) = done else { return };
        if self.at_post.load(Ordering::Relaxed) {
            let call = move |context: &Context<P>| done(context, result);
            // The poster holds the context, so it is not destroyed meanwhile.
            let _ = context.post(Instruction::Call(Box::new(call)));
            return;
        }
        context.platform().charge(Op::Callback, 1);
        done(context, result);
    }

    /// Routes of a geometry, and how its endpoints share nodes.
    pub fn network(&self, number: u16) -> (RoutesTaken, Sharing) {
        let taken = self.negotiation.table.taken(number);
        (taken, self.states.neighbours(number).sharing())
    }

    /// Runs steps, and those that become ready.
    pub fn run(self: &Arc<Self>, context: &Context<P>, key: Key, mut ready: Vec<usize>) {
        while !ready.is_empty() {
            let mut next = Vec::new();
            for step in ready {
                match self.step(context, key, step) {
                    Ok(true) => next.extend(self.end_step(key, step)),
                    Ok(false) => {}
                    Err(error) => return self.give_up(context, key, error),
                }
            }
            ready = next;
        }
        self.finish(context, key);
    }

    fn steps<'a>(self: &'a Arc<Self>, context: &'a Context<P>, key: Key) -> Steps<'a, P, Self> {
        Steps {
            states: &self.states,
            messenger: &self.messenger,
            owner: self,
            context,
            key,
        }
    }

    /// Starts a step. Returns whether it is complete.
    fn step(self: &Arc<Self>, context: &Context<P>, key: Key, step: usize) -> Result<bool, Error> {
        match self.steps(context, key).carry_out(step)? {
            Progress::Ended => Ok(true),
            Progress::Waits => Ok(false),
            Progress::Enters => self.enter(context, key.0).map(|()| false),
        }
    }

    /// Marks a step as ended. Returns the steps that become ready.
    fn end_step(&self, (number, sequence): Key, step: usize) -> Vec<usize> {
        let ready = self.states.with(number, |state| {
            Some(state.running.get_mut(&sequence)?.end(step))
        });
        ready.flatten().unwrap_or_default()
    }

    /// Stores a message for a collective under way, or fetches its data.
    pub fn store(
        self: &Arc<Self>,
        context: &Context<P>,
        key: Key,
        message: (&Header, Payload<'_, P>),
        destination: Destination<P>,
    ) {
        let ended = self.steps(context, key).store(message, destination);
        self.step_ended(context, key, ended);
    }

    /// Starts the ready steps on the collective network.
    fn enter(self: &Arc<Self>, context: &Context<P>, number: u16) -> Result<(), Error> {
        let routes = || self.negotiation.table.routes(number);
        let mut alone = true;
        while let Some((entry, (sequence, step))) =
            network::next(&self.states, context, number, routes)?
        {
            self.watch(context)?;
            let this = Arc::clone(self);
            let done: DoneFn<P> = Box::new(move |context, result| {
                let ended = result.map(|()| Some(step)).map_err(Error::from);
                this.step_ended(context, (number, sequence), ended);
            });
            self.launch(context, entry(done), alone)?;
            alone = false;
        }
        Ok(())
    }

    /// Retries steps that wait in memory. Returns whether some completed.
    pub fn look_in_memory(self: &Arc<Self>, context: &Context<P>) -> bool {
        let mut found = false;
        for (number, memory) in memory::waiting(&self.states) {
            let Some((sequence, steps)) = memory.take_waiting() else {
                continue;
            };
            let key = (number, sequence);
            for step in steps {
                let ended = self.step(context, key, step);
                found |= !matches!(ended, Ok(false));
                let ended = ended.map(|ended| ended.then_some(step));
                self.step_ended(context, key, ended);
            }
        }
        found
    }

    /// Ends a collective if all its steps have.
    fn finish(self: &Arc<Self>, context: &Context<P>, key: Key) {
        let (number, sequence) = key;
        let over = self.states.with(number, |state| {
            let signature = state
                .running
                .get(&sequence)
                .filter(|o| o.is_over())?
                .signature;
            state.history.end(sequence, signature);
            state.running.remove(&sequence)
        });
        let Some(operation) = over.flatten() else {
            return;
        };
        self.messenger.counts.count(|stats| stats.ended += 1);
        let ended = memory::end(&self.states, context, key, &operation.memory_peers());
        let step = match &ended {
            Ok(_) => CollectiveStep::Ended,
            Err(_) => CollectiveStep::Failed,
        };
        note(context, key, operation.signature, step);
        let Operation { scratch, done, .. } = *operation;
        if let Some(block) = scratch.into_block().filter(|block| block.len() <= SPARE) {
            // The replaced buffer is dropped outside the lock.
            let spare = self
                .states
                .with(number, |state| core::mem::replace(&mut state.spare, block));
            drop(spare);
        }
        let (turn, result) = match ended {
            Ok(turn) => (turn, Ok(())),
            Err(error) => (None, Err(error)),
        };
        self.ended(context, number, done, result, (turn, false));
    }

    /// Abandons a collective for a local error, and tells all other members.
    pub fn give_up(self: &Arc<Self>, context: &Context<P>, key: Key, error: Error) {
        if let Some((geometry, rank, signature)) = self.states.signature(key) {
            let member = (&geometry, rank);
            self.messenger.give_up(context, member, key.1, signature);
            self.fail(context, key, (rank, signature), error);
        }
    }

    /// Ends a collective that another member has abandoned.
    pub fn given_up(self: &Arc<Self>, context: &Context<P>, header: &Header) {
        let (number, sequence) = (header.geometry, header.sequence);
        // Without membership, no collective is under way that could report the error.
        let joined = self.states.joined(number);
        let error = match &joined {
            Some((geometry, _)) => gave_up(geometry, sequence, header.from),
            None => gyre_driver::Error::Destroyed.into(),
        };
        let by = (header.from, header.signature);
        self.fail(context, (number, sequence), by, error);
    }

    /// Ends a collective with an error, and all others on the collective network: its leftovers there block them.
    fn fail(self: &Arc<Self>, context: &Context<P>, key: Key, by: (u32, Signature), error: Error) {
        let (number, sequence) = key;
        self.drop_early(key);
        let failed = self.states.with(number, |state| {
            state.history.fail(sequence, by);
            state.order.forget(sequence);
            state.running.remove(&sequence)
        });
        let Some(operation) = failed else { return };
        let turn = memory::give_up(&self.states, context, key);
        let Some(Operation {
            signature, done, ..
        }) = operation.map(|operation| *operation)
        else {
            return;
        };
        note(context, key, signature, CollectiveStep::Failed);
        self.ended(
            context,
            number,
            done,
            Err(error),
            (turn, signature.is_on_tree()),
        );
    }

    /// Reports the end of a collective, and continues those that have waited for it.
    fn ended(
        self: &Arc<Self>,
        context: &Context<P>,
        number: u16,
        done: Option<Done<P>>,
        result: Result<(), Error>,
        (turn, abandons): (Turn, bool),
    ) {
        self.tell(context, done, result);
        if abandons {
            self.abandon_network(context, number);
        }
        if let Some((sequence, steps)) = turn {
            self.run(context, (number, sequence), steps);
        }
        self.leave(context, number);
    }

    /// Drops the early messages of a collective.
    pub fn drop_early(&self, (number, sequence): Key) {
        let early = self
            .states
            .with(number, |state| state.early.take_all(sequence));
        let early = early.unwrap_or_default();
        let bytes = early.iter().map(|early| early.data.len()).sum();
        self.messenger.counts.release(bytes);
        for early in early {
            early.data.discard();
        }
    }

    /// Abandons all collectives on the routes of a geometry, which hold leftovers of a failed one.
    pub fn abandon_network(self: &Arc<Self>, context: &Context<P>, number: u16) {
        let Some((geometry, rank)) = self.states.joined(number) else {
            return;
        };
        if !self.negotiation.table.abandon(number) {
            return;
        }
        let mut sequences = Vec::new();
        self.states.with(number, |state| {
            let running = state.running.iter();
            let entered = running.filter(|(_, operation)| operation.signature.is_on_tree());
            sequences.extend(entered.map(|(&sequence, _)| sequence));
        });
        for sequence in sequences {
            let error = gave_up(&geometry, sequence, rank);
            self.give_up(context, (number, sequence), error);
        }
    }

    /// Releases the routes of a geometry, if requested and no collective uses them.
    pub fn leave(self: &Arc<Self>, context: &Context<P>, number: u16) {
        let known = self.states.with(number, |state| {
            let (geometry, rank) = state.joined.as_ref()?;
            let leader = geometry.ranks_of(geometry.position(*rank))[0];
            let agent = state.neighbours.agent(leader);
            let oldest = state.running.keys().next().copied();
            Some((geometry.endpoints()[agent as usize], oldest))
        });
        if let Some((agent, oldest)) = known.flatten() {
            self.negotiation.leave(context, number, oldest, agent);
        }
    }

    /// Schedules a check of waiting collectives.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn watch(self: &Arc<Self>, context: &Context<P>) -> Result<(), Error> {
        let this = Arc::clone(self);
        self.watch.arm(context, move |context| this.look(context))
    }

    /// Sends signatures of collectives that have waited since the last check.
    fn look(self: &Arc<Self>, context: &Context<P>) {
        self.watch.disarm();
        let (waiting, more) = watch::look(&self.states);
        for waiting in waiting {
            let header = &waiting.header;
            for other in waiting.others.iter().filter(|&&rank| rank != header.from) {
                let to = waiting.geometry.endpoints()[*other as usize];
                if let Err(error) = self.messenger.send(context, to, header, &[]) {
                    self.give_up(context, (header.geometry, header.sequence), error);
                    break;
                }
            }
        }
        if more {
            // A context under destruction schedules no further checks.
            let _ = self.watch(context);
        }
    }
}

/// Tells the platform of a step of a collective at this member.
#[inline(always)]
pub(super) fn note<P: Platform>(
    context: &Context<P>,
    (geometry, sequence): Key,
    signature: Signature,
    step: CollectiveStep,
) {
    context.note(|at| Note::Collective {
        at,
        geometry,
        sequence,
        collective: signature.collective as u8,
        algorithm: signature.algorithm as u8,
        step,
    });
}

/// Error of a collective abandoned by the member with rank `rank`.
pub(super) fn gave_up(geometry: &Geometry, sequence: u32, rank: u32) -> Error {
    Error::GivenUp {
        geometry: geometry.name().into(),
        sequence,
        rank,
    }
}
