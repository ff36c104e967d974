//! Collectives on the tree of the collective network (HW-5, HW-9): what a geometry has of it, and which
//! operations the hardware carries out.

mod agreement;
mod message;
mod order;

use std::collections::BTreeMap;
use std::sync::Arc;

use gyre_driver::{
    CollOp, CollType, Context, Platform, RoutePart, TaskLocation, TreeChoice, TreeRoutes,
    tree_parent,
};

use crate::error::Error;
use crate::geometry::Geometry;
use crate::member::Done;
use crate::reduction::{DataType, ReduceOp};

pub(crate) use agreement::Agreement;
pub(crate) use message::{Below, Notice, Says};
pub(crate) use order::{Order, Step};

use message::Above;

/// What a geometry has of the collective network: the same at all members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoutesTaken {
    /// A class route: transfers.
    pub class: bool,
    /// A barrier route.
    pub barrier: bool,
    /// A window at least: long results arrive where they belong.
    pub window: bool,
}

impl RoutesTaken {
    /// All there can be.
    pub(crate) const ALL: Self = Self {
        class: true,
        barrier: true,
        window: true,
    };
}

/// How the ALU of the collective network combines; `None` when it cannot.
#[must_use]
pub fn tree_operation(op: ReduceOp, data: DataType) -> Option<(CollOp, CollType)> {
    let dtype = match data {
        DataType::U32 => CollType::U32,
        DataType::I32 => CollType::I32,
        DataType::U64 => CollType::U64,
        DataType::I64 => CollType::I64,
        DataType::F64 => CollType::F64,
        _ => return None,
    };
    let op = match op {
        ReduceOp::BitAnd => CollOp::And,
        ReduceOp::BitOr => CollOp::Or,
        ReduceOp::BitXor => CollOp::Xor,
        ReduceOp::Sum => CollOp::Add,
        ReduceOp::Min => CollOp::Min,
        ReduceOp::Max => CollOp::Max,
        _ => return None,
    };
    let bits = matches!(op, CollOp::And | CollOp::Or | CollOp::Xor);
    (!bits || dtype != CollType::F64).then_some((op, dtype))
}

/// The routes of a geometry at one member.
pub(crate) struct Hardware<P: Platform> {
    /// Number of the present or next agreement.
    pub round: u32,
    pub taken: RoutesTaken,
    /// The node's part, at the endpoint that enters the tree for its node.
    pub routes: Option<Arc<TreeRoutes<P>>>,
    pub order: Order,
    /// A collective has failed on the routes: they are of no use before all give them back.
    pub broken: bool,
    pub state: State<P>,
    /// Collectives that wait for the end of the agreement.
    pub held: Vec<Start<P>>,
}

/// Begins a collective.
pub(crate) type Start<P> = Box<dyn FnOnce(&Context<P>)>;

/// Where a member is with its routes.
pub(crate) enum State<P: Platform> {
    /// It has none, or has them.
    Settled,
    /// An agreement is under way.
    Taking(Option<Done<P>>),
    /// The routes are to be given back when the collectives before this number have ended.
    Ending(u32, Option<Done<P>>),
    /// The others are not ready to give them back, or the hardware is doing so.
    Leaving(Option<Done<P>>),
}

impl<P: Platform> State<P> {
    /// Who waits for the end of this state.
    pub fn take_done(&mut self) -> Option<Done<P>> {
        match self {
            Self::Settled => None,
            Self::Taking(done) | Self::Ending(_, done) | Self::Leaving(done) => done.take(),
        }
    }
}

impl<P: Platform> Hardware<P> {
    /// Whether routes can be taken: there are none, and none are being taken or given back.
    pub fn is_free(&self) -> bool {
        matches!(self.state, State::Settled) && self.taken == RoutesTaken::default()
    }

    /// The end of an agreement: gives who waits for it, and the collectives that do.
    pub fn settle(
        &mut self,
        choice: TreeChoice,
        routes: Option<Arc<TreeRoutes<P>>>,
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
        (done, core::mem::take(&mut self.held))
    }

    /// The routes have been given back: gives who waits for that.
    pub fn freed(&mut self) -> Option<Done<P>> {
        self.round += 1;
        let done = self.state.take_done();
        self.state = State::Settled;
        done
    }
}

impl<P: Platform> Default for Hardware<P> {
    fn default() -> Self {
        Self {
            round: 0,
            taken: RoutesTaken::default(),
            routes: None,
            order: Order::default(),
            broken: false,
            state: State::Settled,
            held: Vec::new(),
        }
    }
}

/// The nodes from the member's own one up to the root of the smallest tree that joins all members, and what
/// each has to do; `None` when a node on the way has no task that could do it.
pub(crate) fn way_up<P: Platform>(
    context: &Context<P>,
    geometry: &Geometry,
    rank: u32,
) -> Result<Option<Vec<Above>>, Error> {
    let numbers = context.node_numbers()?;
    let tasks = context.tasks();
    // Of each node with members: who enters the tree for it, and its endpoints.
    let mut members: BTreeMap<u32, (u32, u16)> = BTreeMap::new();
    let mut own = 0;
    for (position, &task) in geometry.tasks().iter().enumerate() {
        let ranks = geometry.ranks_of(position);
        let node = numbers.number(tasks.location(task)?.node);
        let (_, locals) = members.entry(node).or_insert((ranks[0], 0));
        *locals += ranks.len() as u16; // at most 256 tasks of 255 contexts
        if ranks.contains(&rank) {
            own = node;
        }
    }
    let nodes: Vec<u32> = members.keys().copied().collect();
    let served = |node: u32| match members.get(&node) {
        Some(&(agent, locals)) => Some((geometry.endpoints()[agent as usize], locals)),
        None => {
            let location = TaskLocation {
                node: numbers.coord(node),
                process: 0,
            };
            let endpoint = context.endpoint(tasks.task_at(location)?, 0).ok()?;
            Some((endpoint, 0))
        }
    };
    let mut way = Vec::new();
    let mut node = own;
    let top = loop {
        let Some(part) = RoutePart::of(&nodes, node) else {
            return Ok(None);
        };
        let Some((endpoint, locals)) = served(node) else {
            return Ok(None);
        };
        way.push(Above {
            endpoint,
            part,
            locals,
            second: node > 0 && node.is_multiple_of(2),
        });
        match tree_parent(node).filter(|_| part.parent) {
            Some(parent) => node = parent,
            None => break node,
        }
    };
    // All members must come to the same conclusion.
    for &member in &nodes {
        let mut node = member;
        while node > top {
            node = (node - 1) / 2;
            if served(node).is_none() {
                return Ok(None);
            }
        }
    }
    Ok(Some(way))
}
