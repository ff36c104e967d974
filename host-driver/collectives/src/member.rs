//! Members of geometries: where collectives are posted, and what carries them out (EP-4, EP-8, EP-9).

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

/// Collectives in one context. Clones are handles to the same.
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
    /// Collectives in `context`, whose messages have dispatch identifier `dispatch` in all contexts. Do this
    /// before any other context starts a collective with this one.
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

    /// Counts so far.
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

    /// Sets the callback by which this member follows collectives that others post (EP-9). It replaces the
    /// one before.
    pub fn on_call(&self, follow: FollowFn<P>) {
        let states = &self.executor().states;
        states.entry(self.geometry.number(), |state| state.follow = Some(follow));
    }

    /// What the geometry has of the collective network at present.
    #[must_use]
    pub fn routes(&self) -> RoutesTaken {
        self.executor().network(self.geometry.number()).0
    }

    /// How the endpoints of the geometry share nodes.
    #[must_use]
    pub fn sharing(&self) -> Sharing {
        self.executor().network(self.geometry.number()).1
    }

    /// Takes a class route and a barrier route of the collective network for the geometry, as far as all
    /// nodes of its tree have some free (HW-9). All members post it, and in the same place among their
    /// collectives: those posted after it wait for its end. That needs a task on every node between those of
    /// the members, whose context 0 has [`Collectives`] attached and is advanced.
    ///
    /// `done` tells the end, and [`Member::routes`] what came of it: if nothing was left, nothing is taken,
    /// and that is no error. A member whose node could not be set up gets the error, and nobody any routes.
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

    /// Gives the routes back. All members post it; collectives that each has posted before still use them,
    /// those after it do not. `done` is called when those of the member's node are free.
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

    /// Takes the context out of the geometry: its collectives have ended here, and it has no routes. Its number may be
    /// joined again when all members have left.
    pub fn leave(self) {
        // What goes frees memory, so that it goes here.
        drop(self.executor().states.remove(self.geometry.number()));
    }

    fn executor(&self) -> &Arc<Executor<P>> {
        &self.collectives.executor
    }

    /// Has `advance` start something, when no agreement about the routes of the geometry is under way.
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

    /// The algorithm that `advance` would choose now for a request: what the geometry's list says (EP-8).
    ///
    /// # Errors
    /// [`Error::Request`], [`Error::Operation`]; [`Error::Algorithm`] when the list has none.
    pub fn algorithm(&self, request: &Request<P::Buffer>) -> Result<Algorithm, Error> {
        request.check(&self.geometry, self.position())?;
        let network = self.executor().network(self.geometry.number());
        let query = query(&self.geometry, request, network);
        self.geometry.algorithms().choose(&query, None)
    }

    /// Posts a collective that every endpoint of the geometry posts. Do not change the send buffer, nor touch
    /// the receive buffer, before `done`.
    ///
    /// # Errors
    /// As [`Member::post_as`].
    pub fn post(&self, request: Request<P::Buffer>, done: Option<Done<P>>) -> Result<(), Error> {
        self.post_as(Initiator::All, None, request, done)
    }

    /// Carries a collective out that every endpoint of the geometry posts: posts it, and advances the context until it has
    /// ended here, as [`Completion::wait`] does.
    ///
    /// # Errors
    /// As [`Member::post`]; what the collective ends with.
    pub fn carry_out(&self, request: Request<P::Buffer>) -> Result<(), Error> {
        let done = Completion::new();
        self.post(request, Some(done.callback()))?;
        done.wait(self.context())
    }

    /// Posts a collective. `initiator` says who else does; `algorithm` names one of the geometry's list, or leaves
    /// the choice to `advance`. Both are the same at all members that post.
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
            // Routes may be taken when its turn comes.
            let query = query(&self.geometry, &request, (RoutesTaken::ALL, self.sharing()));
            self.geometry.algorithms().choose(&query, Some(named))?;
        }
        let executor = Arc::clone(self.executor());
        let geometry = self.geometry.clone();
        let number = geometry.number();
        // At the call, if nothing of the program's is to be called there.
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
