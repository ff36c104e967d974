//! The routes of the geometries of a context.

use std::collections::BTreeMap;
use std::sync::Arc;

use gyre_driver::{Context, Error as DriverError, Op, Platform, TreeChoice, TreeRoutes};
use parking_lot::Mutex;

use super::routes::RoutesTaken;
use super::state::{GeometryRoutes, State};
use crate::callback::{Done, Start};
use crate::error::Error;

/// The routes of the geometries of a context, by number. The lock is never held across a callback or a call of the
/// platform.
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

    /// What a geometry has of the collective network.
    pub fn taken(&self, number: u16) -> RoutesTaken {
        self.with(number, |routes| match routes.broken {
            true => RoutesTaken::default(),
            false => routes.taken,
        })
    }

    /// The node's part of the routes, at the endpoint that enters the collective network for its node.
    pub fn routes(&self, number: u16) -> Option<Arc<TreeRoutes<P>>> {
        self.with(number, |routes| routes.routes.clone())
    }

    /// Whether an agreement about the routes of a geometry is under way.
    pub fn is_taking(&self, number: u16) -> bool {
        self.with(number, |routes| matches!(routes.state, State::Taking(_)))
    }

    /// Has a collective wait for the end of the agreement. Returns it if none is under way.
    pub fn hold(&self, number: u16, start: Start<P>) -> Option<Start<P>> {
        self.with(number, |routes| match routes.state {
            State::Taking(_) => {
                routes.held.push(start);
                None
            }
            _ => Some(start),
        })
    }

    /// Notes that a collective has failed on the routes. Returns whether it is the first.
    pub fn abandon(&self, number: u16) -> bool {
        self.with(number, |routes| {
            !core::mem::replace(&mut routes.broken, true)
        })
    }

    /// Begins an agreement, at the end of which `settled` is called. Returns its number; `None` when there are routes,
    /// or an agreement about them is under way.
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

    /// Has collectives from number `next` on do without routes. Returns `done` if there are none to give back.
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

    /// Gives the routes back if that was asked for and collectives before `oldest`, the oldest under way, are the last
    /// that may use them. Returns the number of the agreement.
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

    /// Ends the agreement: the geometry has `choice` at this member, which may be nothing.
    pub fn settle(
        &self,
        context: &Context<P>,
        number: u16,
        choice: TreeChoice,
        routes: Option<Arc<TreeRoutes<P>>>,
    ) {
        let (done, waiting) = self.with(number, |state| state.settle(choice, routes));
        end(context, done, Ok(()));
        for start in waiting {
            start(context);
        }
    }

    /// Ends the return of the routes of this member's node.
    pub fn freed(&self, context: &Context<P>, number: u16, result: Result<(), DriverError>) {
        let done = self.with(number, GeometryRoutes::freed);
        end(context, done, result.map_err(Error::from));
    }

    /// Tells the member that the hardware, or a message, has failed it.
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
