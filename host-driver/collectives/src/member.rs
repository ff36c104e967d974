// SPDX-License-Identifier: MIT OR Apache-2.0
//! Members of geometries: posting and execution of collectives (EP-4, EP-8, EP-9).

mod arrive;
mod begin;
mod data;
mod early;
mod executor;
mod follow;
mod history;
mod memory;
mod messenger;
mod network;
mod operation;
mod payload;
mod posted;
mod state;
pub(crate) mod stats;
mod step;
mod transfer;
mod watch;

use std::sync::Arc;

use gyre_driver::{Completion, Context, Endpoint, Instruction, Platform};

use arrive::arrive;
use begin::query;
use executor::Executor;
use follow::follow;
use posted::Posted;
use stats::Stats;

use crate::algorithm::Algorithm;
use crate::callback::{Done, FollowFn, Start};
use crate::collnet::routes::RoutesTaken;
use crate::collnet::table::end;
use crate::error::Error;
use crate::geometry::Geometry;
use crate::initiator::Initiator;
use crate::node::neighbours::Neighbours;
use crate::node::sharing::Sharing;
use crate::reduction::any::Reduction;
use crate::request::Request;

/// Collectives in one context. Clones share the state.
pub struct Collectives<P: Platform> {
    context: Context<P>,
    executor: Arc<Executor<P>>,
}

impl<P: Platform> Clone for Collectives<P> {
    fn clone(&self) -> Self {
        Self {
            context: self.context.clone(),
            executor: Arc::clone(&self.executor),
        }
    }
}

impl<P: Platform> Collectives<P> {
    /// Attaches collectives to `context`; messages use dispatch identifier `dispatch` in all contexts. Call this
    /// before another context starts a collective with this one.
    ///
    /// # Errors
    /// [`Error::Driver`] when the identifier is in use.
    pub fn attach(context: &Context<P>, dispatch: u8) -> Result<Self, Error> {
        let executor = Arc::new(Executor::new(dispatch));
        let this = Arc::clone(&executor);
        context.set_dispatch(
            dispatch,
            Box::new(move |context, arrival| arrive(&this, context, arrival)),
        )?;
        let this = Arc::clone(&executor);
        context.add_progress(Box::new(move |context| this.look_in_memory(context)));
        Ok(Self {
            context: context.clone(),
            executor,
        })
    }

    /// Makes the context a member of a geometry.
    ///
    /// # Errors
    /// [`Error::NoMember`], [`Error::UnknownPlaces`], [`Error::NumberInUse`], [`Error::Driver`] for a task that is
    /// not in the list.
    pub fn join(&self, geometry: &Geometry) -> Result<Member<P>, Error> {
        let endpoint = self.context.query().endpoint;
        let Some(rank) = geometry.rank(endpoint) else {
            return Err(Error::NoMember {
                name: geometry.name().into(),
                task: endpoint.task(),
                context: endpoint.context_offset(),
            });
        };
        let tasks = self.context.tasks();
        let away =
            |e: &&Endpoint| tasks.place(e.task(), e.context_offset()) != tasks.location(e.task());
        if !geometry.knows_network() && geometry.endpoints().iter().any(|e| away(&e)) {
            return Err(Error::UnknownPlaces {
                name: geometry.name().into(),
            });
        }
        let neighbours = Neighbours::of(&self.context, geometry)?;
        let neighbours = Arc::new(neighbours);
        self.executor.states.entry(geometry.number(), |state| {
            if state.joined.is_some() {
                return Err(Error::NumberInUse {
                    number: geometry.number(),
                });
            }
            state.joined = Some((geometry.clone(), rank));
            state.neighbours = neighbours;
            Ok(())
        })?;
        Ok(Member {
            collectives: self.clone(),
            geometry: geometry.clone(),
            rank,
        })
    }

    /// Current counts.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.executor.messenger.counts.stats()
    }
}

/// An endpoint's membership of a geometry.
pub struct Member<P: Platform> {
    collectives: Collectives<P>,
    geometry: Geometry,
    rank: u32,
}

impl<P: Platform> Member<P> {
    /// The geometry.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Rank of this endpoint.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Position of this endpoint's task.
    #[must_use]
    pub fn position(&self) -> usize {
        self.geometry.position(self.rank)
    }

    /// The endpoint's context.
    #[must_use]
    pub fn context(&self) -> &Context<P> {
        &self.collectives.context
    }

    /// The collectives of the context.
    #[must_use]
    pub fn collectives(&self) -> &Collectives<P> {
        &self.collectives
    }

    /// Sets the callback by which this member follows collectives that others post (EP-9). It replaces any previous
    /// one.
    pub fn on_call(&self, follow: FollowFn<P>) {
        let states = &self.executor().states;
        states.entry(self.geometry.number(), |state| state.follow = Some(follow));
    }

    /// Routes of the collective network that the geometry holds at present.
    #[must_use]
    pub fn routes(&self) -> RoutesTaken {
        self.executor().network(self.geometry.number()).0
    }

    /// Sharing of nodes by the geometry's endpoints.
    #[must_use]
    pub fn sharing(&self) -> Sharing {
        self.executor().network(self.geometry.number()).1
    }

    /// Takes a class route and a barrier route of the collective network for the geometry, as far as free on all
    /// nodes of its tree (HW-9). All members post it at the same place among their collectives; later ones wait for
    /// its end. Every node between those of the members needs a task whose context 0 has [`Collectives`] attached and
    /// is advanced.
    ///
    /// `done` is called at the end; then [`Member::routes`] gives the result, which may be no routes if none were
    /// free. If a node cannot be set up, its member gets the error, and no member gets routes.
    ///
    /// # Errors
    /// [`Error::Driver`]; to `done` also [`Error::Routes`] when the geometry has routes.
    pub fn take_routes(&self, done: Option<Done<P>>) -> Result<(), Error> {
        let executor = Arc::clone(self.executor());
        let member = (self.geometry.clone(), self.rank);
        self.start(move |context| {
            let number = member.0.number();
            let negotiation = &executor.negotiation;
            let settled: Start<P> = {
                let executor = Arc::clone(&executor);
                Box::new(move |context| follow(&executor, context, number))
            };
            negotiation.take(context, (&member.0, member.1), done, settled);
        })
    }

    /// Releases the routes. All members post it; earlier collectives still use the routes, later ones do not. `done`
    /// is called when the member's node has freed its part.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn release_routes(&self, done: Option<Done<P>>) -> Result<(), Error> {
        let executor = Arc::clone(self.executor());
        let number = self.geometry.number();
        self.start(move |context| {
            let next = executor.states.entry(number, |state| state.history.next());
            let table = &executor.negotiation.table;
            match table.release(number, next, done) {
                Ok(()) => executor.leave(context, number),
                Err(done) => end(context, done, Ok(())),
            }
        })
    }

    /// Leaves the geometry, after all its collectives have ended here and without routes. The number may be joined
    /// again when all members have left.
    pub fn leave(self) {
        // Dropped here, outside the lock, since the drop frees memory.
        drop(self.executor().states.remove(self.geometry.number()));
    }

    fn executor(&self) -> &Arc<Executor<P>> {
        &self.collectives.executor
    }

    /// Has `advance` call `start` once no agreement about the geometry's routes is under way.
    fn start(&self, start: impl FnOnce(&Context<P>) + Send + 'static) -> Result<(), Error> {
        let executor = Arc::clone(self.executor());
        let number = self.geometry.number();
        let call = Instruction::Call(Box::new(move |context| {
            let table = &executor.negotiation.table;
            if let Some(start) = table.hold(number, Box::new(start)) {
                start(context);
            }
        }));
        Ok(self.collectives.context.post(call)?)
    }

    /// The algorithm that `advance` would choose now for a request, by the geometry's list (EP-8).
    ///
    /// # Errors
    /// [`Error::Request`], [`Error::Operation`]; [`Error::Algorithm`] when the list has none.
    pub fn algorithm(&self, request: &Request<P::Buffer>) -> Result<Algorithm, Error> {
        request.check(&self.geometry, self.position())?;
        let network = self.executor().network(self.geometry.number());
        let query = query(&self.geometry, request, network);
        self.geometry.algorithms().choose(&query, None)
    }

    /// Posts a collective that every endpoint of the geometry posts. Do not write the send buffer or access the
    /// receive buffer before `done`.
    ///
    /// # Errors
    /// As [`Member::post_as`].
    pub fn post(&self, request: Request<P::Buffer>, done: Option<Done<P>>) -> Result<(), Error> {
        self.post_as(Initiator::All, None, request, done)
    }

    /// Posts a collective that every endpoint of the geometry posts, and advances the context until it has ended
    /// here, as [`Completion::wait`] does.
    ///
    /// # Errors
    /// As [`Member::post`]; what the collective ends with.
    pub fn carry_out(&self, request: Request<P::Buffer>) -> Result<(), Error> {
        let done = Completion::new();
        self.post(request, Some(done.callback()))?;
        done.wait(self.context())
    }

    /// Posts a collective. `initiator` defines the posting members; `algorithm` names one of the geometry's list, or
    /// `None` leaves the choice to `advance`. Both are the same at all posting members.
    ///
    /// # Errors
    /// [`Error::Request`], [`Error::Operation`], [`Error::Algorithm`], [`Error::Driver`].
    pub fn post_as(
        &self,
        initiator: Initiator,
        algorithm: Option<Algorithm>,
        request: Request<P::Buffer>,
        done: Option<Done<P>>,
    ) -> Result<(), Error> {
        let position = self.position();
        request.check(&self.geometry, position)?;
        let posts = match initiator {
            Initiator::All => true,
            Initiator::Root => position == request.root,
            Initiator::NonRoot => position != request.root,
        };
        if !posts {
            return Err(Error::Request {
                geometry: self.geometry.name().into(),
                collective: request.collective.name(),
                field: "position of a caller",
                value: position as u64,
                expected: format!(
                    "the positions that {initiator:?} allows with root {}",
                    request.root
                ),
            });
        }
        if let Some(named) = algorithm {
            // Routes may have been taken by the time it begins.
            let query = query(&self.geometry, &request, (RoutesTaken::ALL, self.sharing()));
            self.geometry.algorithms().choose(&query, Some(named))?;
        }
        let executor = Arc::clone(self.executor());
        let geometry = self.geometry.clone();
        let number = geometry.number();
        // Begins within the post if no function of the program needs to be called there.
        let at_once = initiator == Initiator::All
            && matches!(request.reduction, Reduction::BuiltIn(..))
            && executor.has_turn(number);
        let posted = Posted {
            geometry,
            initiator,
            algorithm,
            request,
            done,
        };
        let later = match at_once {
            true => {
                let begin = |context: &Context<P>, posted: Posted<P>| {
                    executor.at_post(|| posted.begin(&executor, context))
                };
                self.collectives.context.call_at_once(posted, begin)?
            }
            false => Some(posted),
        };
        match later {
            None => Ok(()),
            Some(posted) => self.start(move |context| posted.begin(&executor, context)),
        }
    }
}
