// SPDX-License-Identifier: MIT OR Apache-2.0
//! Negotiation of routes of the collective network among the members of a geometry and the nodes between them (HW-9).
//!
//! The nodes of the smallest tree that joins all members take part, each by one endpoint: the one that enters the
//! collective network for the node, or context 0 of the first task of an intermediate node. Free resources are
//! gathered up the tree; the root chooses; every node takes its part on the way down; after all confirmations, the
//! choice is announced to all members. If a resource was taken meanwhile, the root chooses again; if nothing is left,
//! the geometry gets no routes. Release works the same way: after all members have released, the root has the nodes
//! clear the routes.

use std::collections::BTreeMap;
use std::sync::Arc;

use gyre_driver::{
    Arrival, CollnetChoice, CollnetRoutes, Context, DoneFn, Endpoint, Error as DriverError,
    Instruction, Op, Platform, Receive, SendImmediate,
};
use parking_lot::Mutex;

use super::agreement::Agreement;
use super::message::{Notice, Says};
use super::table::RouteTable;

/// Key of an agreement: geometry and number.
type Key = (u16, u32);

/// Agreements about routes that a context takes part in.
pub(crate) struct Negotiation<P: Platform> {
    /// Dispatch identifier of the messages.
    dispatch: u8,
    /// Routes of the members of this context.
    pub table: RouteTable<P>,
    /// Agreements in which this context acts for its node. The lock is never held across a callback or a platform
    /// call.
    agreements: Mutex<BTreeMap<Key, Agreement<P>>>,
}

impl<P: Platform> Negotiation<P> {
    /// State without agreements; messages use dispatch identifier `dispatch`.
    pub fn new(dispatch: u8) -> Self {
        Self {
            dispatch,
            table: RouteTable::default(),
            agreements: Mutex::default(),
        }
    }

    /// Handles a message about routes.
    pub fn arrive(
        self: &Arc<Self>,
        context: &Context<P>,
        arrival: &Arrival<'_>,
        bytes: &[u8],
    ) -> Receive<P> {
        let origin = arrival.origin;
        let handled = Notice::decode(context, bytes, origin.task()).and_then(|notice| {
            let key = (notice.geometry, notice.round);
            self.hear(context, origin, key, notice.says)
        });
        match handled {
            Ok(()) => Receive::Consumed,
            Err(error) => Receive::Refused(error.into()),
        }
    }

    /// Sends a message to an endpoint, or handles it here if it is this one.
    ///
    /// # Errors
    /// Driver errors.
    pub(super) fn tell(
        self: &Arc<Self>,
        context: &Context<P>,
        to: Endpoint,
        key: Key,
        says: Says,
    ) -> Result<(), DriverError> {
        let own = context.query().endpoint;
        if to == own {
            return self.hear(context, own, key, says);
        }
        context.platform().charge(Op::Control, 1);
        let (geometry, round) = key;
        let notice = Notice {
            geometry,
            round,
            says,
        };
        context.send_immediate(&SendImmediate {
            data: &notice.encode(),
            ..SendImmediate::new(to, self.dispatch)
        })
    }

    fn spread(
        self: &Arc<Self>,
        context: &Context<P>,
        to: Vec<Endpoint>,
        key: Key,
        says: &Says,
    ) -> Result<(), DriverError> {
        to.into_iter()
            .try_for_each(|to| self.tell(context, to, key, says.clone()))
    }

    /// Sends a message to the other members of this node. Returns whether this endpoint is a member.
    fn spread_here(
        self: &Arc<Self>,
        context: &Context<P>,
        mut members: Vec<Endpoint>,
        key: Key,
        says: &Says,
    ) -> (Result<(), DriverError>, bool) {
        let (own, count) = (context.query().endpoint, members.len());
        members.retain(|&member| member != own);
        let is_member = members.len() < count;
        (self.spread(context, members, key, says), is_member)
    }

    /// Works with an agreement in which this context acts for its node.
    fn with<R>(&self, key: Key, work: impl FnOnce(&mut Agreement<P>) -> R) -> Option<R> {
        self.agreements.lock().get_mut(&key).map(work)
    }

    fn hear(
        self: &Arc<Self>,
        context: &Context<P>,
        origin: Endpoint,
        key: Key,
        says: Says,
    ) -> Result<(), DriverError> {
        match says {
            Says::Join { from, share, above } => {
                let complete = {
                    let mut agreements = self.agreements.lock();
                    let agreement = agreements.entry(key);
                    let agreement = agreement.or_insert_with(|| Agreement::new(above));
                    agreement.join(from, origin, share)
                };
                match complete {
                    true => self.joined_here(context, key),
                    false => Ok(()),
                }
            }
            Says::Take(choice) => self.take_choice(context, key, choice),
            Says::Took { all } => self.took(context, key, all),
            Says::Decided(choice) => self.decided(context, key, choice),
            Says::Leave(_) => match self.with(key, Agreement::left) {
                Some(Some(None)) => self.free(context, key),
                Some(Some(Some((parent, from)))) => {
                    self.tell(context, parent, key, Says::Leave(from))
                }
                Some(None) | None => Ok(()),
            },
            Says::Free => self.free(context, key),
        }
    }

    /// The whole subtree of this node requests routes.
    fn joined_here(self: &Arc<Self>, context: &Context<P>, key: Key) -> Result<(), DriverError> {
        let member = self
            .with(key, |agreement| agreement.part().member)
            .unwrap_or(false);
        let own = context.collnet_share(member)?;
        let up = self.with(key, |agreement| {
            agreement.share = agreement.share & own;
            agreement.up()
        });
        match up.flatten() {
            None => self.attempt(context, key),
            Some((parent, from)) => {
                let (share, above) = self
                    .with(key, |agreement| {
                        (agreement.share, agreement.above[1..].to_vec())
                    })
                    .unwrap_or((own, Vec::new()));
                let says = Says::Join { from, share, above };
                self.tell(context, parent, key, says)
            }
        }
    }

    /// The root chooses, and all nodes try to take the choice.
    fn attempt(self: &Arc<Self>, context: &Context<P>, key: Key) -> Result<(), DriverError> {
        let choice = self
            .with(key, |agreement| agreement.choose())
            .unwrap_or_default();
        match choice.is_empty() {
            true => self.decided(context, key, choice),
            false => self.take_choice(context, key, choice),
        }
    }

    fn take_choice(
        self: &Arc<Self>,
        context: &Context<P>,
        key: Key,
        choice: CollnetChoice,
    ) -> Result<(), DriverError> {
        let Some((before, children)) = self.with(key, |agreement| agreement.take(choice)) else {
            return Ok(());
        };
        self.spread(context, children, key, &Says::Take(choice))?;
        match before {
            None => self.take_own(context, key),
            Some(routes) => {
                let this = Arc::clone(self);
                let next = move |context: &Context<P>, released: Result<(), DriverError>| {
                    let taken = released.and_then(|()| this.take_own(context, key));
                    if let Err(error) = taken {
                        this.table.fail(context, key.0, error);
                    }
                };
                context.post(release(routes, Some(Box::new(next))))
            }
        }
    }

    /// Takes this node's part.
    fn take_own(self: &Arc<Self>, context: &Context<P>, key: Key) -> Result<(), DriverError> {
        let Some((choice, part)) = self.with(key, |agreement| (agreement.choice, agreement.part()))
        else {
            return Ok(());
        };
        let routes = context.take_collnet_routes(&choice, &part);
        let (routes, failed) = match routes {
            Ok(routes) => (routes, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let all = routes.is_some();
        self.with(key, |agreement| agreement.routes = routes);
        self.took(context, key, all).and(failed)
    }

    /// A child or this node reports whether it has taken its part.
    fn took(
        self: &Arc<Self>,
        context: &Context<P>,
        key: Key,
        all: bool,
    ) -> Result<(), DriverError> {
        let Some(Some((all, up, choice))) = self.with(key, |agreement| agreement.took(all)) else {
            return Ok(());
        };
        match (up, all) {
            (Some((parent, _)), _) => self.tell(context, parent, key, Says::Took { all }),
            (None, true) => self.decided(context, key, choice),
            (None, false) => self.attempt(context, key),
        }
    }

    /// End of the agreement.
    fn decided(
        self: &Arc<Self>,
        context: &Context<P>,
        key: Key,
        choice: CollnetChoice,
    ) -> Result<(), DriverError> {
        let agent = self.with(key, |agreement| {
            let (children, locals) = (agreement.children(), agreement.locals());
            let routes = match choice.is_empty() {
                true => agreement.routes.take(),
                false => agreement.routes.clone(),
            };
            (children, locals, routes)
        });
        // This endpoint does not act for its node.
        let Some((children, locals, routes)) = agent else {
            self.table.settle(context, key.0, choice, None);
            return Ok(());
        };
        let says = Says::Decided(choice);
        self.spread(context, children, key, &says)?;
        let routes = match (choice.is_empty(), routes) {
            (true, Some(routes)) => {
                context.post(release(routes, None))?;
                None
            }
            (_, routes) => routes,
        };
        if choice.is_empty() {
            self.agreements.lock().remove(&key);
        }
        let (told, own) = self.spread_here(context, locals, key, &says);
        told?;
        if own {
            self.table.settle(context, key.0, choice, routes);
        }
        Ok(())
    }

    /// All members have released: this node clears its part.
    fn free(self: &Arc<Self>, context: &Context<P>, key: Key) -> Result<(), DriverError> {
        let agent = self.with(key, |agreement| {
            (
                agreement.children(),
                agreement.locals(),
                agreement.routes.take(),
            )
        });
        let Some((children, locals, routes)) = agent else {
            self.table.freed(context, key.0, Ok(()));
            return Ok(());
        };
        self.spread(context, children, key, &Says::Free)?;
        let Some(routes) = routes else {
            return Ok(());
        };
        let this = Arc::clone(self);
        let done = move |context: &Context<P>, result: Result<(), DriverError>| {
            this.agreements.lock().remove(&key);
            let (told, own) = this.spread_here(context, locals, key, &Says::Free);
            if own {
                this.table.freed(context, key.0, result.and(told));
            }
        };
        context.post(release(routes, Some(Box::new(done))))
    }
}

fn release<P: Platform>(routes: Arc<CollnetRoutes<P>>, done: Option<DoneFn<P>>) -> Instruction<P> {
    Instruction::CollnetRelease { routes, done }
}
