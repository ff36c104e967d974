//! The executor: carries out the steps of collectives whose turn has come, and ends collectives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gyre_driver::{Context, DoneFn, Instruction, Op, Platform};
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

/// Most bytes of scratch memory that are kept for the next collective of a geometry.
const SPARE: usize = 4096;

/// The collectives of a context.
pub(super) struct Executor<P: Platform> {
    pub states: States<P>,
    pub messenger: Messenger,
    pub negotiation: Arc<Negotiation<P>>,
    watch: Watch,
    /// A collective begins at its post: done callbacks wait for `advance`.
    at_post: AtomicBool,
    /// With what it enters the collective network first.
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
    /// No collectives yet; their messages have dispatch identifier `dispatch`.
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

    /// Whether a collective of a geometry could begin now, without any function of the program.
    pub fn has_turn(&self, number: u16) -> bool {
        let follows = self.states.with(number, |state| state.follow.is_some());
        follows == Some(false) && !self.negotiation.table.is_taking(number)
    }

    /// Begins a collective at its post. Returns with what it enters the collective network, if that is one instruction.
    pub fn at_post(&self, begin: impl FnOnce()) -> Option<Instruction<P>> {
        self.at_post.store(true, Ordering::Relaxed);
        begin();
        self.at_post.store(false, Ordering::Relaxed);
        self.first.lock().take()
    }

    /// Posts an instruction, or leaves it for the end of the post.
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

    /// Tells the program how a collective has ended.
    pub fn tell(&self, context: &Context<P>, done: Option<Done<P>>, result: Result<(), Error>) {
        let Some(done) = done else { return };
        if self.at_post.load(Ordering::Relaxed) {
            let call = move |context: &Context<P>| done(context, result);
            // Who posts uses the context: it is not destroyed meanwhile.
            let _ = context.post(Instruction::Call(Box::new(call)));
            return;
        }
        context.platform().charge(Op::Callback, 1);
        done(context, result);
    }

    /// What the choice of an algorithm depends on: the routes of a geometry, and how its endpoints share nodes.
    pub fn network(&self, number: u16) -> (RoutesTaken, Sharing) {
        let taken = self.negotiation.table.taken(number);
        (taken, self.states.neighbours(number).sharing())
    }

    /// Carries out steps, and those whose turn comes by that.
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

    /// Carries out a step. Returns whether it has ended.
    fn step(self: &Arc<Self>, context: &Context<P>, key: Key, step: usize) -> Result<bool, Error> {
        match self.steps(context, key).carry_out(step)? {
            Progress::Ended => Ok(true),
            Progress::Waits => Ok(false),
            Progress::Enters => self.enter(context, key.0).map(|()| false),
        }
    }

    /// Notes the end of a step. Returns those whose turn has come.
    fn end_step(&self, (number, sequence): Key, step: usize) -> Vec<usize> {
        let ready = self.states.with(number, |state| {
            Some(state.running.get_mut(&sequence)?.end(step))
        });
        ready.flatten().unwrap_or_default()
    }

    /// Stores a message for a collective under way, or has its data fetched.
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

    /// Enters the collective network with the steps whose turn has come.
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

    /// Looks whether the steps that wait for others in memory can be carried out. Returns whether some could.
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
        let Operation { scratch, done, .. } = *operation;
        if let Some(block) = scratch.into_block().filter(|block| block.len() <= SPARE) {
            // What it takes the place of is given back when nothing is locked.
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

    /// Gives a collective up for a reason found here, and tells all other members.
    pub fn give_up(self: &Arc<Self>, context: &Context<P>, key: Key, error: Error) {
        if let Some((geometry, rank, signature)) = self.states.signature(key) {
            let member = (&geometry, rank);
            self.messenger.give_up(context, member, key.1, signature);
            self.fail(context, key, (rank, signature), error);
        }
    }

    /// Ends a collective that another member has given up.
    pub fn given_up(self: &Arc<Self>, context: &Context<P>, header: &Header) {
        let (number, sequence) = (header.geometry, header.sequence);
        // A geometry that has not been joined has no collective under way that could report the error.
        let joined = self.states.joined(number);
        let error = match &joined {
            Some((geometry, _)) => gave_up(geometry, sequence, header.from),
            None => gyre_driver::Error::Destroyed.into(),
        };
        let by = (header.from, header.signature);
        self.fail(context, (number, sequence), by, error);
    }

    /// Ends a collective with an error, and the others on the collective network: what one leaves there holds up the
    /// rest.
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
        self.ended(
            context,
            number,
            done,
            Err(error),
            (turn, signature.is_on_tree()),
        );
    }

    /// Reports the end of a collective, and goes on with those that have waited for it.
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

    /// Drops the messages that have come for a collective.
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

    /// Gives up what is under way on the routes of a geometry: they hold what a failed collective has left.
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

    /// Gives the routes of a geometry back, if that was asked for and nothing under way uses them.
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

    /// Looks later at what waits now.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn watch(self: &Arc<Self>, context: &Context<P>) -> Result<(), Error> {
        let this = Arc::clone(self);
        self.watch.arm(context, move |context| this.look(context))
    }

    /// Tells the others of what has been waiting since the last look.
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
            // A context that is being destroyed watches no more.
            let _ = self.watch(context);
        }
    }
}

/// The error of a collective that the member with rank `rank` has given up.
pub(super) fn gave_up(geometry: &Geometry, sequence: u32, rank: u32) -> Error {
    Error::GivenUp {
        geometry: geometry.name().into(),
        sequence,
        rank,
    }
}
