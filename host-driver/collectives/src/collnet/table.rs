// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routes of the geometries of a context.

use std::collections::BTreeMap;
use std::sync::Arc;

use gyre_driver::{CollnetChoice, CollnetRoutes, Context, Error as DriverError, Op, Platform};
use parking_lot::Mutex;

use super::routes::RoutesTaken;
use super::state::{GeometryRoutes, State};
use crate::callback::{Done, Start};
use crate::error::Error;

/// The routes of the geometries of a context, by number. The lock is never held across a callback or a platform call.
pub(crate) struct RouteTable<P: Platform>(Mutex<BTreeMap<u16, GeometryRoutes<P>>>);

impl<P: Platform> Default for RouteTable<P> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<P: Platform> RouteTable<P> {
    fn with<R>(&self, number: u16, work: impl FnOnce(&mut GeometryRoutes<P>) -> R) -> R {
        work(self.0.lock().entry(number).or_default())
    }

    /// Routes that a geometry holds.
    pub fn taken(&self, number: u16) -> RoutesTaken {
        self.with(number, |routes| match routes.broken {
            true => RoutesTaken::default(),
            false => routes.taken,
        })
    }

    /// The node's part of the routes, at the endpoint that enters the collective network for its node.
    pub fn routes(&self, number: u16) -> Option<Arc<CollnetRoutes<P>>> {
        self.with(number, |routes| routes.routes.clone())
    }

    /// Whether an agreement about the routes of a geometry is under way.
    pub fn is_taking(&self, number: u16) -> bool {
        self.with(number, |routes| matches!(routes.state, State::Taking(_)))
    }

    /// Queues a collective until the end of the agreement. Returns it if none is under way.
    pub fn hold(&self, number: u16, start: Start<P>) -> Option<Start<P>> {
        self.with(number, |routes| match routes.state {
            State::Taking(_) => {
                routes.held.push(start);
                None
            }
            _ => Some(start),
        })
    }

    /// Marks the routes as failed. Returns whether this is the first failure.
    pub fn abandon(&self, number: u16) -> bool {
        self.with(number, |routes| {
            !core::mem::replace(&mut routes.broken, true)
        })
    }

    /// Begins an agreement, at whose end `settled` is called. Returns its number; `None` if the geometry has routes,
    /// or an agreement is under way.
    pub fn begin(&self, number: u16, settled: Start<P>) -> Option<u32> {
        self.with(number, |routes| {
            routes.is_free().then(|| {
                routes.state = State::Taking(None);
                routes.settled = Some(settled);
                routes.round
            })
        })
    }

    /// Sets the done callback of the agreement under way.
    pub fn call_at_end(&self, number: u16, done: Option<Done<P>>) {
        self.with(number, |routes| routes.state = State::Taking(done));
    }

    /// Requests release: collectives from number `next` on use no routes. Returns `done` if there are no routes.
    pub fn release(
        &self,
        number: u16,
        next: u32,
        done: Option<Done<P>>,
    ) -> Result<(), Option<Done<P>>> {
        self.with(number, |routes| {
            if routes.taken == RoutesTaken::default() {
                return Err(done);
            }
            routes.taken = RoutesTaken::default();
            routes.state = State::Ending(next, done);
            Ok(())
        })
    }

    /// Starts a requested release if no collective under way may use the routes; `oldest` is the oldest under way.
    /// Returns the number of the agreement.
    pub fn leave(&self, number: u16, oldest: Option<u32>) -> Option<u32> {
        self.with(number, |routes| {
            let State::Ending(until, done) = &mut routes.state else {
                return None;
            };
            if oldest.is_some_and(|oldest| oldest < *until) {
                return None;
            }
            routes.state = State::Leaving(done.take());
            routes.routes = None;
            Some(routes.round)
        })
    }

    /// Ends the agreement with `choice`, which may be empty, at this member.
    pub fn settle(
        &self,
        context: &Context<P>,
        number: u16,
        choice: CollnetChoice,
        routes: Option<Arc<CollnetRoutes<P>>>,
    ) {
        let (done, waiting) = self.with(number, |state| state.settle(choice, routes));
        end(context, done, Ok(()));
        for start in waiting {
            start(context);
        }
    }

    /// Ends the release of this member's routes.
    pub fn freed(&self, context: &Context<P>, number: u16, result: Result<(), DriverError>) {
        let done = self.with(number, GeometryRoutes::freed);
        end(context, done, result.map_err(Error::from));
    }

    /// Reports a failure of the hardware or of a message to the member.
    pub fn fail(&self, context: &Context<P>, number: u16, error: DriverError) {
        let done = self.with(number, |routes| routes.state.take_done());
        end(context, done, Err(error.into()));
    }
}

/// Calls a done callback.
pub(crate) fn end<P: Platform>(
    context: &Context<P>,
    done: Option<Done<P>>,
    result: Result<(), Error>,
) {
    if let Some(done) = done {
        context.platform().charge(Op::Callback, 1);
        done(context, result);
    }
}
