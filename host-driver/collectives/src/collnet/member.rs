// SPDX-License-Identifier: MIT OR Apache-2.0
//! A member's requests for routes and their release.

use std::sync::Arc;

use gyre_driver::{CollnetChoice, CollnetShare, Context, Endpoint, Platform};

use super::message::{Below, Says};
use super::negotiation::Negotiation;
use super::path::path_up;
use super::table::end;
use crate::callback::{Done, Start};
use crate::error::Error;
use crate::geometry::Geometry;

impl<P: Platform> Negotiation<P> {
    /// Requests routes for the member with rank `rank` of a geometry. `done` is called at the end; then the waiting
    /// collectives run, then `settled`.
    pub fn take(
        self: &Arc<Self>,
        context: &Context<P>,
        (geometry, rank): (&Geometry, u32),
        done: Option<Done<P>>,
        settled: Start<P>,
    ) {
        let number = geometry.number();
        let Some(round) = self.table.begin(number, settled) else {
            let name = geometry.name().into();
            return end(context, done, Err(Error::Routes { geometry: name }));
        };
        let nothing = CollnetChoice::default();
        let path = match path_up(context, geometry, rank) {
            Ok(path) => path,
            Err(error) => {
                self.table.settle(context, number, nothing, None);
                return end(context, done, Err(error));
            }
        };
        self.table.call_at_end(number, done);
        let Some(above) = path else {
            return self.table.settle(context, number, nothing, None);
        };
        let agent = above[0].endpoint;
        let says = Says::Join {
            from: Below::Local,
            share: CollnetShare::ALL,
            above,
        };
        if let Err(error) = self.tell(context, agent, (number, round), says) {
            self.table.fail(context, number, error);
        }
    }

    /// Starts a requested release if no earlier collective is under way; `oldest` is the oldest under way. `agent`
    /// acts for the member's node.
    pub fn leave(
        self: &Arc<Self>,
        context: &Context<P>,
        number: u16,
        oldest: Option<u32>,
        agent: Endpoint,
    ) {
        let Some(round) = self.table.leave(number, oldest) else {
            return;
        };
        let says = Says::Leave(Below::Local);
        if let Err(error) = self.tell(context, agent, (number, round), says) {
            self.table.fail(context, number, error);
        }
    }
}
