// SPDX-License-Identifier: MIT OR Apache-2.0
//! The collective network of a node: its tree links, class routes and barriers (HW-5).

use gyre_layout::LinkState;
use gyre_layout::registers::{COLL, coll_network};

use crate::access::{Register, RegisterAccess};
use crate::error::NodeError;
use crate::network::NetworkConfig;
use crate::node::Node;
use crate::tree::{RoutePart, TREE_ROUTES};

const TREE_LINK_ENABLE: Register =
    Register::node("COLL LINK_ENABLE", COLL + coll_network::LINK_ENABLE);
const TREE_LINK_STATUS: Register =
    Register::node("COLL LINK_STATUS", COLL + coll_network::LINK_STATUS);
/// Arrivals at barriers, one bit a barrier route.
pub const BARRIER_ENTER: Register =
    Register::node("COLL BARRIER_ENTER", COLL + coll_network::BARRIER_ENTER);
/// Barriers that are over, one bit a barrier route; cleared by writing ones.
pub const BARRIER_DONE: Register =
    Register::node("COLL BARRIER_DONE", COLL + coll_network::BARRIER_DONE);

/// End that each tree port leads to.
const ENDS: [&str; 3] = ["parent", "child 0", "child 1"];

impl<A: RegisterAccess> Node<A> {
    /// Enables exactly the tree links that `config` gives the node. They come up when the neighbours in the tree have
    /// enabled theirs.
    ///
    /// # Errors
    /// [`NodeError::Mismatch`], [`NodeError::Access`].
    pub fn enable_tree(&mut self, config: &NetworkConfig) -> Result<(), NodeError<A::Error>> {
        self.write_checked(TREE_LINK_ENABLE, config.tree_links().into(), u64::MAX)
    }

    /// Waits until every tree link of `config` is up, with at most `polls` reads of their status.
    ///
    /// # Errors
    /// [`NodeError::TreeLinkDown`] with the first port that is not up, [`NodeError::Access`].
    pub fn await_tree(
        &mut self,
        config: &NetworkConfig,
        polls: u32,
    ) -> Result<(), NodeError<A::Error>> {
        let links = config.tree_links();
        let mut down = None;
        for _ in 0..polls {
            let status = self.read(TREE_LINK_STATUS)?;
            down = (0..ENDS.len() as u8)
                .filter(|port| links & 1 << port != 0)
                .map(|port| (port, LinkState::of_port(status, port.into())))
                .find(|(_, state)| *state != LinkState::Up);
            if down.is_none() {
                return Ok(());
            }
        }
        match down {
            None => Ok(()),
            Some((port, state)) => Err(NodeError::TreeLinkDown {
                port,
                end: ENDS[usize::from(port)],
                state,
                polls,
            }),
        }
    }

    /// Sets the node's part in class route `route` for injection FIFOs of `owner`, or takes the node out of it.
    /// Nothing may use the route meanwhile.
    ///
    /// # Errors
    /// [`NodeError::Config`] for a route that does not exist, [`NodeError::Mismatch`], [`NodeError::Access`].
    pub fn set_class_route(
        &mut self,
        route: u8,
        part: Option<&RoutePart>,
        owner: u8,
    ) -> Result<(), NodeError<A::Error>> {
        check_route("class route", route)?;
        if owner > 15 {
            let (what, route) = ("owner of class route", Some(route.into()));
            return Err(NodeError::config(what, route, owner.into(), "0 to 15"));
        }
        let address = COLL + coll_network::route(route.into());
        let register = Register::node("COLL ROUTE", address);
        let value = part.map_or(0, |part| part.class_register(owner));
        self.write_checked(register, value, u64::MAX)
    }

    /// Sets the node's part in barrier route `route`, or takes the node out of it. No barrier may be under way on it.
    ///
    /// # Errors
    /// [`NodeError::Config`] for a route that does not exist, [`NodeError::Mismatch`], [`NodeError::Access`].
    pub fn set_barrier_route(
        &mut self,
        route: u8,
        part: Option<&RoutePart>,
    ) -> Result<(), NodeError<A::Error>> {
        check_route("barrier route", route)?;
        let address = COLL + coll_network::barrier_route(route.into());
        let register = Register::node("COLL BARRIER_ROUTE", address);
        let value = part.map_or(0, RoutePart::barrier_register);
        self.write_checked(register, value, u64::MAX)
    }

    /// Arrives at the barriers of the barrier routes in `routes`, one bit each.
    ///
    /// # Errors
    /// [`NodeError::Access`].
    pub fn enter_barriers(&mut self, routes: u16) -> Result<(), NodeError<A::Error>> {
        self.write(BARRIER_ENTER, routes.into())
    }

    /// Completed barriers among `routes`, one bit each; they can be reported again.
    ///
    /// # Errors
    /// [`NodeError::Access`].
    pub fn take_barriers(&mut self, routes: u16) -> Result<u16, NodeError<A::Error>> {
        let done = self.read(BARRIER_DONE)? & u64::from(routes);
        if done != 0 {
            self.write(BARRIER_DONE, done)?;
        }
        Ok(done as u16) // BARRIER_DONE has 16 bits
    }
}

fn check_route<E: core::fmt::Debug + core::fmt::Display>(
    what: &'static str,
    route: u8,
) -> Result<(), NodeError<E>> {
    if route < TREE_ROUTES {
        return Ok(());
    }
    Err(NodeError::config(what, None, route.into(), "0 to 15"))
}
