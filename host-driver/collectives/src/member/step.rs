// SPDX-License-Identifier: MIT OR Apache-2.0
//! Execution of schedule steps at a member.

use std::sync::Arc;

use gyre_driver::{Context, Op, Platform};

use super::early::Early;
use super::messenger::Messenger;
use super::operation::{Destination, Operation};
use super::payload::Payload;
use super::state::{Key, State, States};
use super::transfer::{self, charge_copies};
use crate::error::Error;
use crate::geometry::Geometry;
use crate::header::{Form, Header};
use crate::node::steps::MemoryStep;
use crate::schedule::steps::{Action, Slice};

/// Receives the ends of asynchronous steps.
pub(super) trait StepEnd<P: Platform>: Sized + Send + Sync + 'static {
    /// A step of collective `key` has ended, or a part of one (`None`), or it failed.
    fn step_ended(
        self: &Arc<Self>,
        context: &Context<P>,
        key: Key,
        ended: Result<Option<usize>, Error>,
    );
}

/// State of a step after it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// Complete.
    Ended,
    /// Completes later.
    Waits,
    /// Enters the collective network after the steps before it.
    Enters,
}

impl Progress {
    fn of(ended: bool) -> Self {
        match ended {
            true => Self::Ended,
            false => Self::Waits,
        }
    }
}

/// Step execution for one collective.
pub(super) struct Steps<'a, P: Platform, O: StepEnd<P>> {
    pub states: &'a States<P>,
    pub messenger: &'a Messenger,
    pub owner: &'a Arc<O>,
    pub context: &'a Context<P>,
    pub key: Key,
}

impl<P: Platform, O: StepEnd<P>> Steps<'_, P, O> {
    /// Starts a step.
    ///
    /// # Errors
    /// The reason why the collective cannot continue.
    pub fn carry_out(&self, step: usize) -> Result<Progress, Error> {
        let (number, sequence) = self.key;
        let action = self.states.with(number, |state| {
            Some(state.running.get(&sequence)?.action(step))
        });
        match action.flatten() {
            None => Ok(Progress::Waits),
            Some(Action::Send { to, tag, from }) => self.send(step, (to, tag), from),
            Some(Action::Receive { from, tag, .. } | Action::Discard { from, tag }) => {
                self.receive((from, tag))
            }
            Some(Action::CollnetBarrier | Action::CollnetTransfer { .. }) => {
                self.states
                    .with(number, |state| state.order.ready((sequence, step)));
                Ok(Progress::Enters)
            }
            Some(Action::Memory(memory_step)) => self.work_in_memory((step, memory_step)),
            Some(Action::Copy { from, to }) => self.copy(from, to),
            Some(Action::Combine {
                other,
                into,
                earlier,
            }) => self.combine(other, into, earlier),
        }
    }

    /// Works with the collective, which is under way.
    fn with<R>(
        &self,
        work: impl FnOnce((&Geometry, u32), &mut Operation<P>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let (number, sequence) = self.key;
        let result = self.states.with(number, |state| {
            let (geometry, rank) = state.joined.as_ref()?;
            Some(work((geometry, *rank), state.running.get_mut(&sequence)?))
        });
        // `carry_out` has checked that it is under way.
        result
            .flatten()
            .unwrap_or(Err(gyre_driver::Error::Destroyed.into()))
    }

    fn send(&self, step: usize, (to, tag): (u32, u32), from: Slice) -> Result<Progress, Error> {
        let (number, sequence) = self.key;
        let (data, to, header) = self.with(|(geometry, rank), operation| {
            let data = operation.range(from)?;
            let header = Header {
                geometry: number,
                sequence,
                from: rank,
                tag,
                signature: operation.signature,
                // Checked by the sender.
                length: data.len() as u32,
                form: Form::Data { part: 0 },
            };
            Ok((data, geometry.endpoints()[to as usize], header))
        })?;
        let (owner, key) = (Arc::clone(self.owner), self.key);
        let sent = move |context: &Context<P>, result: Result<(), gyre_driver::Error>| {
            let ended = result.map(|()| Some(step)).map_err(Error::from);
            owner.step_ended(context, key, ended);
        };
        transfer::send(self.messenger, self.context, (to, header), data, sent).map(Progress::of)
    }

    /// Stores early data of a receive.
    fn receive(&self, from: (u32, u32)) -> Result<Progress, Error> {
        let (number, sequence) = self.key;
        self.with(|_, operation| {
            operation.expect(from);
            Ok(())
        })?;
        let take = || {
            let take = |state: &mut State<P>| state.early.take(sequence, from);
            self.states.with(number, take).flatten()
        };
        let mut ended = false;
        while let Some(Early { header, data }) = take() {
            let bytes = data.len();
            self.messenger.counts.release(bytes);
            let taken =
                self.with(|(geometry, _), operation| operation.take(geometry, &header, bytes));
            match taken {
                Ok(Some(destination)) => {
                    ended |= self.store((&header, data), destination)?.is_some();
                }
                Ok(None) => data.discard(),
                Err(error) => {
                    data.discard();
                    return Err(error);
                }
            }
        }
        Ok(Progress::of(ended))
    }

    /// Stores a message or fetches its data. Returns the step that ends with it.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn store(
        &self,
        message: (&Header, Payload<'_, P>),
        destination: Destination<P>,
    ) -> Result<Option<usize>, Error> {
        let (owner, key) = (Arc::clone(self.owner), self.key);
        let stored = move |context: &Context<P>, ended: Result<Option<usize>, Error>| {
            owner.step_ended(context, key, ended);
        };
        transfer::store(self.messenger, self.context, message, destination, stored)
    }

    fn work_in_memory(&self, step: (usize, MemoryStep)) -> Result<Progress, Error> {
        let (number, sequence) = self.key;
        let (signature, peers) =
            self.with(|_, operation| Ok((operation.signature, operation.memory_peers())))?;
        // Opened when the collective began.
        let memory = self.states.memory(number);
        let memory = memory.ok_or(gyre_driver::Error::Destroyed)?;
        let platform = self.context.platform();
        let ended = memory.step(platform, (sequence, &signature), &peers, step)?;
        Ok(Progress::of(ended))
    }

    fn copy(&self, from: Slice, to: Slice) -> Result<Progress, Error> {
        let memory = self.states.memory(self.key.0);
        let (data, to) = self.with(|_, operation| {
            let memory = memory.as_ref();
            Ok((operation.place(from, memory)?, operation.place(to, memory)?))
        })?;
        charge_copies(self.context, 1, from.len);
        to.write(&data.read()?)?;
        Ok(Progress::Ended)
    }

    fn combine(&self, other: Slice, into: Slice, earlier: bool) -> Result<Progress, Error> {
        let memory = self.states.memory(self.key.0);
        let length = into.len;
        let (other, into, reduction) = self.with(|_, operation| {
            let memory = memory.as_ref();
            let (other, into) = (
                operation.place(other, memory)?,
                operation.place(into, memory)?,
            );
            Ok((other, into, operation.reduction()))
        })?;
        // Two operands are read, the result is written.
        charge_copies(self.context, 3, length);
        let elements = length / reduction.kind().bytes();
        let platform = self.context.platform();
        platform.charge(Op::Combine, elements as u64);
        let mut result = into.read()?;
        reduction.combine(&mut other.read()?, &mut result, earlier);
        into.write(&result)?;
        Ok(Progress::Ended)
    }
}
