//! How the members of a geometry, and the nodes between them, agree on routes of the collective network
//! (HW-9).
//!
//! The nodes of the smallest tree that joins all members take part, each by one endpoint: that which enters
//! the tree for the node, or context 0 of the first task of a node that is only on the way. What is free is
//! gathered up the tree; its root chooses; down the tree every node takes its part; and when all have, the
//! choice is told to everybody. A node at which something has been taken meanwhile makes the root choose
//! again, and when nothing is left the geometry goes without. Routes are given back the same way: when all
//! members have done with them, the root has the nodes clear them.

use std::rc::Rc;
use std::sync::Arc;

use gyre_driver::{
    Arrival, Context, Endpoint, Error as DriverError, Instruction, Op, Platform, Receive,
    SendImmediate, TreeChoice, TreeRoutes,
};

use super::{Done, Shared};
use crate::error::Error;
use crate::hardware::{Agreement, Below, Notice, RoutesTaken, Says, State, way_up};

/// Geometry and number of an agreement.
type Key = (u16, u32);

impl<P: Platform> Shared<P> {
    /// This member wants routes.
    pub(super) fn take_routes(
        self: &Rc<Self>,
        context: &Context<P>,
        number: u16,
        done: Option<Done<P>>,
    ) {
        let Some((geometry, rank)) = self.joined(number) else {
            return;
        };
        let round = {
            let mut teams = self.teams.borrow_mut();
            let team = teams.entry(number).or_default();
            let free = team.hardware.is_free();
            if free {
                team.hardware.state = State::Taking(None);
            }
            free.then_some(team.hardware.round)
        };
        let Some(round) = round else {
            let name = geometry.name().into();
            return end(context, done, Err(Error::Routes { geometry: name }));
        };
        let way = way_up(context, &geometry, rank);
        let way = match way {
            Ok(way) => way,
            Err(error) => {
                self.settle(context, (number, round), TreeChoice::default(), None);
                return end(context, done, Err(error));
            }
        };
        if let Some(team) = self.teams.borrow_mut().get_mut(&number) {
            team.hardware.state = State::Taking(done);
        }
        let Some(above) = way else {
            return self.settle(context, (number, round), TreeChoice::default(), None);
        };
        let agent = above[0].endpoint;
        let says = Says::Join {
            from: Below::Local,
            share: gyre_driver::TreeShare::ALL,
            above,
        };
        if let Err(error) = self.tell(context, agent, (number, round), says) {
            self.fail_routes(context, number, error);
        }
    }

    /// This member gives the routes back.
    pub(super) fn release_routes(
        self: &Rc<Self>,
        context: &Context<P>,
        number: u16,
        done: Option<Done<P>>,
    ) {
        let mut done = Some(done);
        {
            let mut teams = self.teams.borrow_mut();
            let team = teams.entry(number).or_default();
            if team.hardware.taken != RoutesTaken::default() {
                // What is posted from here on goes without.
                team.hardware.taken = RoutesTaken::default();
                team.hardware.state = State::Ending(team.next, done.take().flatten());
            }
        }
        match done {
            Some(done) => end(context, done, Ok(())),
            None => self.leave(context, number),
        }
    }

    /// Says that this member has done with the routes, if it has.
    pub(super) fn leave(self: &Rc<Self>, context: &Context<P>, number: u16) {
        let agent = {
            let mut teams = self.teams.borrow_mut();
            let Some(team) = teams.get_mut(&number) else {
                return;
            };
            let Some((geometry, rank)) = &team.joined else {
                return;
            };
            let State::Ending(until, done) = &mut team.hardware.state else {
                return;
            };
            if team.running.keys().any(|sequence| sequence < until) {
                return;
            }
            team.hardware.state = State::Leaving(done.take());
            team.hardware.routes = None;
            let leader = geometry.ranks_of(geometry.position(*rank))[0];
            let agent = team.neighbours.agent(leader);
            (geometry.endpoints()[agent as usize], team.hardware.round)
        };
        let key = (number, agent.1);
        if let Err(error) = self.tell(context, agent.0, key, Says::Leave(Below::Local)) {
            self.fail_routes(context, number, error);
        }
    }

    /// The dispatch callback of messages about routes.
    pub(super) fn arrive_notice(
        self: &Rc<Self>,
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

    /// Tells an endpoint something, or itself.
    fn tell(
        self: &Rc<Self>,
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
        self: &Rc<Self>,
        context: &Context<P>,
        to: Vec<Endpoint>,
        key: Key,
        says: &Says,
    ) -> Result<(), DriverError> {
        to.into_iter()
            .try_for_each(|to| self.tell(context, to, key, says.clone()))
    }

    /// Tells the members of this node, but for this one, something; says whether this is one.
    fn spread_here(
        self: &Rc<Self>,
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
        self.trees.borrow_mut().get_mut(&key).map(work)
    }

    fn hear(
        self: &Rc<Self>,
        context: &Context<P>,
        origin: Endpoint,
        key: Key,
        says: Says,
    ) -> Result<(), DriverError> {
        match says {
            Says::Join { from, share, above } => {
                let complete = {
                    let mut trees = self.trees.borrow_mut();
                    let tree = trees.entry(key).or_insert_with(|| Agreement::new(above));
                    tree.join(from, origin, share)
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

    /// Everybody from this node down wants routes.
    fn joined_here(self: &Rc<Self>, context: &Context<P>, key: Key) -> Result<(), DriverError> {
        let member = self.with(key, |tree| tree.part().member).unwrap_or(false);
        let own = context.tree_share(member)?;
        let up = self.with(key, |tree| {
            tree.share = tree.share & own;
            tree.up()
        });
        match up.flatten() {
            None => self.attempt(context, key),
            Some((parent, from)) => {
                let (share, above) = self
                    .with(key, |tree| (tree.share, tree.above[1..].to_vec()))
                    .unwrap_or((own, Vec::new()));
                let says = Says::Join { from, share, above };
                self.tell(context, parent, key, says)
            }
        }
    }

    /// The root chooses, and everybody tries to take that.
    fn attempt(self: &Rc<Self>, context: &Context<P>, key: Key) -> Result<(), DriverError> {
        let choice = self.with(key, |tree| tree.choose()).unwrap_or_default();
        match choice.is_empty() {
            true => self.decided(context, key, choice),
            false => self.take_choice(context, key, choice),
        }
    }

    fn take_choice(
        self: &Rc<Self>,
        context: &Context<P>,
        key: Key,
        choice: TreeChoice,
    ) -> Result<(), DriverError> {
        let Some((before, children)) = self.with(key, |tree| tree.take(choice)) else {
            return Ok(());
        };
        self.spread(context, children, key, &Says::Take(choice))?;
        match before {
            None => self.take_own(context, key),
            Some(routes) => {
                let shared = Rc::clone(self);
                let next = move |context: &Context<P>, released: Result<(), DriverError>| {
                    let taken = released.and_then(|()| shared.take_own(context, key));
                    if let Err(error) = taken {
                        shared.fail_routes(context, key.0, error);
                    }
                };
                context.post(release(routes, Some(Box::new(next))))
            }
        }
    }

    /// Takes this node's part.
    fn take_own(self: &Rc<Self>, context: &Context<P>, key: Key) -> Result<(), DriverError> {
        let Some((choice, part)) = self.with(key, |tree| (tree.choice, tree.part())) else {
            return Ok(());
        };
        let routes = context.take_tree_routes(&choice, &part);
        let (routes, failed) = match routes {
            Ok(routes) => (routes, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let all = routes.is_some();
        self.with(key, |tree| tree.routes = routes);
        self.took(context, key, all).and(failed)
    }

    /// A child, or this node, has taken its part or not.
    fn took(self: &Rc<Self>, context: &Context<P>, key: Key, all: bool) -> Result<(), DriverError> {
        let Some(Some((all, up, choice))) = self.with(key, |tree| tree.took(all)) else {
            return Ok(());
        };
        match (up, all) {
            (Some((parent, _)), _) => self.tell(context, parent, key, Says::Took { all }),
            (None, true) => self.decided(context, key, choice),
            (None, false) => self.attempt(context, key),
        }
    }

    /// The agreement is over.
    fn decided(
        self: &Rc<Self>,
        context: &Context<P>,
        key: Key,
        choice: TreeChoice,
    ) -> Result<(), DriverError> {
        let agent = self.with(key, |tree| {
            let (children, locals) = (tree.children(), tree.locals());
            let routes = match choice.is_empty() {
                true => tree.routes.take(),
                false => tree.routes.clone(),
            };
            (children, locals, routes)
        });
        // One that does not act for its node.
        let Some((children, locals, routes)) = agent else {
            self.settle(context, key, choice, None);
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
            self.trees.borrow_mut().remove(&key);
        }
        let (told, own) = self.spread_here(context, locals, key, &says);
        told?;
        if own {
            self.settle(context, key, choice, routes);
        }
        Ok(())
    }

    /// This member has what the agreement gives it, which may be nothing.
    fn settle(
        self: &Rc<Self>,
        context: &Context<P>,
        (number, _): Key,
        choice: TreeChoice,
        routes: Option<Arc<TreeRoutes<P>>>,
    ) {
        let settled = {
            let mut teams = self.teams.borrow_mut();
            let hardware = teams.get_mut(&number).map(|team| &mut team.hardware);
            hardware.map(|hardware| hardware.settle(choice, routes))
        };
        let Some((done, held)) = settled else { return };
        end(context, done, Ok(()));
        for start in held {
            start(context);
        }
        self.follow(context, number);
    }

    /// Everybody has done with the routes: this node clears its part.
    fn free(self: &Rc<Self>, context: &Context<P>, key: Key) -> Result<(), DriverError> {
        let agent = self.with(key, |tree| {
            (tree.children(), tree.locals(), tree.routes.take())
        });
        let Some((children, locals, routes)) = agent else {
            self.freed(context, key.0, Ok(()));
            return Ok(());
        };
        self.spread(context, children, key, &Says::Free)?;
        let Some(routes) = routes else {
            return Ok(());
        };
        let shared = Rc::clone(self);
        let done = move |context: &Context<P>, result: Result<(), DriverError>| {
            shared.trees.borrow_mut().remove(&key);
            let (told, own) = shared.spread_here(context, locals, key, &Says::Free);
            if own {
                shared.freed(context, key.0, result.and(told));
            }
        };
        context.post(release(routes, Some(Box::new(done))))
    }

    /// The routes of this member's node are free again.
    fn freed(&self, context: &Context<P>, number: u16, result: Result<(), DriverError>) {
        let done = {
            let mut teams = self.teams.borrow_mut();
            let hardware = teams.get_mut(&number).map(|team| &mut team.hardware);
            hardware.and_then(|hardware| hardware.freed())
        };
        end(context, done, result.map_err(Error::from));
    }

    /// The hardware, or a message, has failed this member.
    fn fail_routes(&self, context: &Context<P>, number: u16, error: DriverError) {
        let done = {
            let mut teams = self.teams.borrow_mut();
            let hardware = teams.get_mut(&number).map(|team| &mut team.hardware);
            hardware.and_then(|hardware| hardware.state.take_done())
        };
        end(context, done, Err(error.into()));
    }
}

fn release<P: Platform>(
    routes: Arc<TreeRoutes<P>>,
    done: Option<gyre_driver::DoneFn<P>>,
) -> Instruction<P> {
    Instruction::TreeRelease { routes, done }
}

fn end<P: Platform>(context: &Context<P>, done: Option<Done<P>>, result: Result<(), Error>) {
    if let Some(done) = done {
        context.platform().charge(Op::Callback, 1);
        done(context, result);
    }
}
