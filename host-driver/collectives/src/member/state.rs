// SPDX-License-Identifier: MIT OR Apache-2.0
//! The geometries of a context, and their collectives under way.

use std::collections::BTreeMap;
use std::sync::Arc;

use gyre_driver::{BufferRange, Platform};
use parking_lot::Mutex;

use super::early::EarlyMessages;
use super::history::History;
use super::operation::Operation;
use crate::callback::FollowFn;
use crate::collnet::order::Order;
use crate::geometry::Geometry;
use crate::initiator::Initiator;
use crate::node::memory::NodeMemory;
use crate::node::neighbours::Neighbours;
use crate::signature::Signature;

/// Number of a geometry, and of a collective on it.
pub(super) type Key = (u16, u32);

/// A geometry as one context knows it.
pub(super) struct State<P: Platform> {
    /// The geometry and this context's rank, once joined.
    pub joined: Option<(Geometry, u32)>,
    pub history: History,
    pub running: BTreeMap<u32, Box<Operation<P>>>,
    pub early: EarlyMessages<P>,
    /// Taken out during its call.
    pub follow: Option<FollowFn<P>>,
    /// The endpoints that share nodes.
    pub neighbours: Arc<Neighbours>,
    /// Shared memory of the member's node, once a collective has used it.
    pub memory: Option<Arc<NodeMemory<P>>>,
    /// Steps that enter the collective network.
    pub order: Order,
    /// Scratch memory kept for the next collective; may be empty.
    pub spare: BufferRange<P::Buffer>,
}

impl<P: Platform> Default for State<P> {
    fn default() -> Self {
        Self {
            joined: None,
            history: History::default(),
            running: BTreeMap::new(),
            early: EarlyMessages::default(),
            follow: None,
            neighbours: Arc::default(),
            memory: None,
            order: Order::default(),
            spare: BufferRange::empty(),
        }
    }
}

impl<P: Platform> State<P> {
    /// Whether this member follows a collective that others post.
    pub fn follows(&self, signature: &Signature) -> bool {
        follows(self.joined.as_ref(), signature)
    }

    /// Skips collectives that this member should follow but that were given up first.
    pub fn skip_failed(&mut self) {
        let joined = self.joined.as_ref();
        self.history
            .skip_failed(|signature| follows(joined, signature));
    }
}

fn follows(joined: Option<&(Geometry, u32)>, signature: &Signature) -> bool {
    let Some((geometry, rank)) = joined else {
        return false;
    };
    let root = geometry.position(*rank) == signature.root as usize;
    match signature.initiator {
        Initiator::All => false,
        Initiator::Root => !root,
        Initiator::NonRoot => root,
    }
}

/// The geometries of a context, by number. Only callbacks of `advance` change them, and these do not overlap in a
/// context; the lock serves threads that join or query geometries meanwhile. It is never held across a callback or a
/// platform call.
pub(super) struct States<P: Platform>(Mutex<BTreeMap<u16, State<P>>>);

impl<P: Platform> Default for States<P> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<P: Platform> States<P> {
    /// Works with a geometry, which is created empty if unknown.
    pub fn entry<R>(&self, number: u16, work: impl FnOnce(&mut State<P>) -> R) -> R {
        work(self.0.lock().entry(number).or_default())
    }

    /// Removes a geometry with its state.
    pub fn remove(&self, number: u16) -> Option<State<P>> {
        self.0.lock().remove(&number)
    }

    /// Works with a known geometry.
    pub fn with<R>(&self, number: u16, work: impl FnOnce(&mut State<P>) -> R) -> Option<R> {
        self.0.lock().get_mut(&number).map(work)
    }

    /// Works with all geometries.
    pub fn each(&self, mut work: impl FnMut(u16, &mut State<P>)) {
        for (&number, state) in self.0.lock().iter_mut() {
            work(number, state);
        }
    }

    /// A joined geometry and this context's rank.
    pub fn joined(&self, number: u16) -> Option<(Geometry, u32)> {
        self.with(number, |state| state.joined.clone()).flatten()
    }

    /// The endpoints of a geometry that share nodes.
    pub fn neighbours(&self, number: u16) -> Arc<Neighbours> {
        let neighbours = self.with(number, |state| Arc::clone(&state.neighbours));
        neighbours.unwrap_or_default()
    }

    /// Shared memory of the member's node, if a collective has used it.
    pub fn memory(&self, number: u16) -> Option<Arc<NodeMemory<P>>> {
        self.with(number, |state| state.memory.clone()).flatten()
    }

    /// Geometry, rank and signature of a collective under way.
    pub fn signature(&self, (number, sequence): Key) -> Option<(Geometry, u32, Signature)> {
        self.with(number, |state| {
            let (geometry, rank) = state.joined.clone()?;
            Some((geometry, rank, state.running.get(&sequence)?.signature))
        })
        .flatten()
    }
}
