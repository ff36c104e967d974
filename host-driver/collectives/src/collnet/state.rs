// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of a geometry's routes at one member.

use std::sync::Arc;

use gyre_driver::{CollnetChoice, CollnetRoutes, Platform};

use super::routes::RoutesTaken;
use crate::callback::{Done, Start};

/// State of a geometry's routes at one member.
pub(crate) struct GeometryRoutes<P: Platform> {
    /// Number of the present or next agreement.
    pub round: u32,
    pub taken: RoutesTaken,
    /// The node's part, at the endpoint that enters the tree for its node.
    pub routes: Option<Arc<CollnetRoutes<P>>>,
    /// A collective has failed on the routes: they are unusable until released by all.
    pub broken: bool,
    pub state: State<P>,
    /// Collectives that wait for the end of the agreement.
    pub held: Vec<Start<P>>,
    /// Called at the end of the agreement, after the waiting collectives.
    pub settled: Option<Start<P>>,
}

/// Phases of a member's routes.
pub(crate) enum State<P: Platform> {
    /// No agreement under way; the member has routes or not.
    Settled,
    /// An agreement is under way.
    Taking(Option<Done<P>>),
    /// Release is requested, and follows the collectives before this number.
    Ending(u32, Option<Done<P>>),
    /// Waiting for the other members' release, or for the hardware.
    Leaving(Option<Done<P>>),
}

impl<P: Platform> State<P> {
    /// Takes out the done callback of this state.
    pub fn take_done(&mut self) -> Option<Done<P>> {
        match self {
            Self::Settled => None,
            Self::Taking(done) | Self::Ending(_, done) | Self::Leaving(done) => done.take(),
        }
    }
}

impl<P: Platform> GeometryRoutes<P> {
    /// Whether routes can be taken: there are none, and no agreement or release is under way.
    pub fn is_free(&self) -> bool {
        matches!(self.state, State::Settled) && self.taken == RoutesTaken::default()
    }

    /// Ends an agreement. Returns its done callback and the waiting collectives, in order.
    pub fn settle(
        &mut self,
        choice: CollnetChoice,
        routes: Option<Arc<CollnetRoutes<P>>>,
    ) -> (Option<Done<P>>, Vec<Start<P>>) {
        if choice.is_empty() {
            self.round += 1;
        }
        self.taken = RoutesTaken {
            class: choice.class.is_some(),
            barrier: choice.barrier.is_some(),
            window: choice.windows != 0,
        };
        self.routes = routes;
        self.broken = false;
        let done = self.state.take_done();
        self.state = State::Settled;
        let mut starts = core::mem::take(&mut self.held);
        starts.extend(self.settled.take());
        (done, starts)
    }

    /// Ends a release. Returns its done callback.
    pub fn freed(&mut self) -> Option<Done<P>> {
        self.round += 1;
        let done = self.state.take_done();
        self.state = State::Settled;
        done
    }
}

impl<P: Platform> Default for GeometryRoutes<P> {
    fn default() -> Self {
        Self {
            round: 0,
            taken: RoutesTaken::default(),
            routes: None,
            broken: false,
            state: State::Settled,
            held: Vec::new(),
            settled: None,
        }
    }
}
