// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of an agreement at the endpoint that acts for a node.

use std::sync::Arc;

use gyre_driver::{CollnetChoice, CollnetRoutes, CollnetShare, Endpoint, Platform, RoutePart};

use super::message::{Above, Below};

/// Number of free class routes up to which a geometry gets only one.
const SCARCE: u32 = 8;
/// Maximum windows of a geometry while many are free.
const WINDOWS: usize = 4;

/// An agreement about the routes of a geometry, at one node of its tree.
pub(crate) struct Agreement<P: Platform> {
    /// This node and those above it.
    pub above: Vec<Above>,
    children: [Option<Endpoint>; 2],
    locals: Vec<Endpoint>,
    /// Known free resources of the subtree.
    pub share: CollnetShare,
    /// Current choice.
    pub choice: CollnetChoice,
    pub routes: Option<Arc<CollnetRoutes<P>>>,
    /// Outstanding answers, and whether all so far were positive.
    answers: usize,
    all: bool,
    /// Nodes below and endpoints here that have released.
    leaving: usize,
}

/// Parent node, and the child number of this node.
type Up = Option<(Endpoint, Below)>;

impl<P: Platform> Agreement<P> {
    pub fn new(above: Vec<Above>) -> Self {
        Self {
            above,
            children: [None; 2],
            locals: Vec::new(),
            share: CollnetShare::ALL,
            choice: CollnetChoice::default(),
            routes: None,
            answers: 0,
            all: true,
            leaving: 0,
        }
    }

    /// The node's part.
    pub fn part(&self) -> RoutePart {
        self.above[0].part
    }

    pub fn up(&self) -> Up {
        let parent = self.above.get(1).filter(|_| self.part().parent)?;
        let from = Below::Child(u8::from(self.above[0].second));
        Some((parent.endpoint, from))
    }

    pub fn children(&self) -> Vec<Endpoint> {
        self.children.iter().copied().flatten().collect()
    }

    pub fn locals(&self) -> Vec<Endpoint> {
        self.locals.clone()
    }

    /// Records a join; returns whether all have joined.
    pub fn join(&mut self, from: Below, origin: Endpoint, share: CollnetShare) -> bool {
        self.share = self.share & share;
        match from {
            Below::Child(child) => self.children[usize::from(child)] = Some(origin),
            Below::Local => self.locals.push(origin),
        }
        let children = self.part().children;
        let there = self
            .children
            .iter()
            .zip(children)
            .all(|(c, p)| c.is_some() == p);
        there && self.locals.len() == usize::from(self.above[0].locals)
    }

    /// Chooses among free resources, and excludes the choice from later rounds.
    pub fn choose(&mut self) -> CollnetChoice {
        let lowest = |set: u16| (set != 0).then(|| set.trailing_zeros() as u8);
        let class = lowest(self.share.class);
        let rest = self.share.class & self.share.class.wrapping_sub(1);
        let second = lowest(rest).filter(|_| rest.count_ones() > SCARCE);
        let barrier = lowest(self.share.barrier);
        let free = self.share.windows.count_ones() as usize;
        // The last free ones are left to other geometries.
        let wanted = match class {
            Some(_) => WINDOWS.min(free.div_ceil(4)),
            None => 0,
        };
        let mut windows = 0_u16;
        for slot in (0..16).filter(|slot| self.share.windows >> slot & 1 != 0) {
            if windows.count_ones() as usize == wanted {
                break;
            }
            windows |= 1 << slot;
        }
        let bit = |route: Option<u8>| route.map_or(0, |route| 1 << route);
        self.share.class &= !(bit(class) | bit(second));
        self.share.barrier &= !bit(barrier);
        self.share.windows &= !windows;
        CollnetChoice {
            class,
            second,
            barrier,
            windows,
        }
    }

    /// Records a new choice. Returns the previous one, and the nodes below.
    pub fn take(
        &mut self,
        choice: CollnetChoice,
    ) -> (Option<Arc<CollnetRoutes<P>>>, Vec<Endpoint>) {
        let children = self.children();
        self.choice = choice;
        // Includes this node's own answer.
        self.answers = children.len() + 1;
        self.all = true;
        (self.routes.take(), children)
    }

    /// Records an answer. With the last one, returns whether all were positive, the parent, and the choice.
    pub fn took(&mut self, all: bool) -> Option<(bool, Up, CollnetChoice)> {
        self.all &= all;
        self.answers -= 1;
        (self.answers == 0).then(|| (self.all, self.up(), self.choice))
    }

    /// Records a release. With the last one, returns the parent.
    pub fn left(&mut self) -> Option<Up> {
        self.leaving += 1;
        (self.leaving == self.children().len() + self.locals.len()).then(|| self.up())
    }
}
