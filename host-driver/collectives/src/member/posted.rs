// SPDX-License-Identifier: MIT OR Apache-2.0
//! Posted collectives that have not begun.

use std::sync::Arc;

use gyre_driver::{Context, Platform};

use super::begin::{begin, query, signature};
use super::executor::Executor;
use super::follow::follow;
use crate::algorithm::Algorithm;
use crate::callback::Done;
use crate::geometry::Geometry;
use crate::initiator::Initiator;
use crate::request::Request;

/// A collective that a member has posted.
pub(super) struct Posted<P: Platform> {
    pub geometry: Geometry,
    pub initiator: Initiator,
    /// Named algorithm, or `None` for the geometry's choice.
    pub algorithm: Option<Algorithm>,
    pub request: Request<P::Buffer>,
    pub done: Option<Done<P>>,
}

impl<P: Platform> Posted<P> {
    /// Chooses the algorithm and begins the collective, then any that this member follows.
    pub fn begin(self, executor: &Arc<Executor<P>>, context: &Context<P>) {
        let Self {
            geometry,
            initiator,
            algorithm,
            request,
            done,
        } = self;
        let number = geometry.number();
        let query = query(&geometry, &request, executor.network(number));
        match geometry.algorithms().choose(&query, algorithm) {
            Ok(algorithm) => {
                let signature = signature(&request, algorithm, initiator);
                begin(executor, context, number, signature, request, done);
                follow(executor, context, number);
            }
            Err(error) => executor.tell(context, done, Err(error)),
        }
    }
}
