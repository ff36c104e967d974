// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barriers and transfers of a context that have not ended.

use std::collections::VecDeque;
use std::collections::btree_map::BTreeMap;

use gyre_firmware::Node;
use gyre_layout::{CollOp, CollType, Coord};

use crate::buffer::BufferRange;
use crate::collnet::routes::{BLOCK, CollnetRoutes, LANES};
use crate::done_table::DoneId;
use crate::error::Fault;
use crate::platform::Platform;
use crate::sync::Arc;
use crate::transport::injection::{Completed, Lane, Outgoing};
use crate::transport::registers::Bus;

/// Action at the end of a barrier.
pub(crate) enum Then<P: Platform> {
    Call(Option<DoneId>),
    /// Every member is ready for the broadcast on this class route and the one that shares it: starts it at its root.
    Broadcast(u8, Vec<Outgoing<P>>),
}

/// A part of a transfer, which takes one lane.
pub(crate) struct Part<P: Platform> {
    pub transfer: u64,
    pub op: CollOp,
    pub data: CollType,
    pub to: Option<Coord>,
    pub bytes: usize,
    pub from: Option<BufferRange<P::Buffer>>,
    pub into: Option<BufferRange<P::Buffer>>,
}

/// Entry of the queue of a class route: members arrive at the barriers of a geometry in the same order.
pub(crate) enum Waiting<P: Platform> {
    /// A part that waits for a lane.
    Part(Part<P>),
    /// A barrier that waits for the parts before it.
    Barrier(Option<DoneId>),
}

/// A part under way.
pub(crate) struct Active<P: Platform> {
    pub number: u64,
    pub lane: usize,
    pub transfer: u64,
    /// Contributions of the node that have not been read; 0 where the result implies that.
    pub unread: usize,
    /// The result has landed, if the node receives it.
    pub landed: bool,
    /// Source of the contributions.
    pub from: Option<BufferRange<P::Buffer>>,
    pub into: Option<BufferRange<P::Buffer>>,
}

/// A class route in use.
pub(crate) struct Use<P: Platform> {
    pub routes: Arc<CollnetRoutes<P>>,
    /// One for each class route.
    pub lanes: Vec<Lane<P>>,
    pub waiting: VecDeque<Waiting<P>>,
    pub active: Vec<Active<P>>,
    /// Contributions in their order, from the first broadcast on that waits for its barrier: its entry is empty.
    /// **Invariant:** contributions of a node leave in the order of the parts. Otherwise one that waits for other nodes
    /// could hold up a broadcast that these wait for.
    pub held: VecDeque<Option<Vec<Outgoing<P>>>>,
    /// Parts so far with a block, and with a window: which lane is next.
    pub blocks: usize,
    pub windows: usize,
}

impl<P: Platform> Use<P> {
    /// The lane of the next part of `bytes` bytes: the same at all members.
    pub fn next_lane(&self, bytes: usize) -> usize {
        match bytes <= BLOCK {
            true => self.blocks % LANES,
            false => LANES + self.windows % self.routes.windows().max(1),
        }
    }

    /// Transfers whose parts are under way or wait.
    pub fn transfers(&self) -> impl Iterator<Item = u64> {
        let active = self.active.iter().map(|part| part.transfer);
        active.chain(self.waiting.iter().filter_map(|waiting| match waiting {
            Waiting::Part(part) => Some(part.transfer),
            Waiting::Barrier(_) => None,
        }))
    }

    /// Callbacks of barriers that wait for the parts before them.
    pub fn barriers(&self) -> impl Iterator<Item = DoneId> {
        self.waiting.iter().filter_map(|waiting| match waiting {
            Waiting::Barrier(done) => *done,
            Waiting::Part(_) => None,
        })
    }

    /// Gives up parts under way and waiting, and disables the FIFOs.
    ///
    /// # Errors
    /// The first error of a FIFO; the others have been closed nevertheless.
    pub fn close(mut self, platform: &P, node: &mut Node<Bus<P>>) -> Result<(), Fault> {
        let mut outcome = Ok(());
        for lane in &mut self.lanes {
            outcome = outcome.and(lane.close(platform, node));
        }
        for part in self.active {
            // The buffers may still be read and written: leaked rather than reused.
            core::mem::forget((part.from, part.into));
        }
        outcome
    }

    /// Hands the contributions of a part over when those before it have been.
    pub fn inject_in_order(&mut self, platform: &P, outgoing: Vec<Outgoing<P>>) {
        match self.held.is_empty() {
            true => self.inject(platform, outgoing),
            false => self.held.push_back(Some(outgoing)),
        }
    }

    /// Hands over the contributions of the first waiting broadcast, and the ones behind it.
    pub fn inject_broadcast(&mut self, platform: &P, outgoing: Vec<Outgoing<P>>) {
        self.held.pop_front();
        self.inject(platform, outgoing);
        while let Some(next) = self.held.front_mut().and_then(Option::take) {
            self.held.pop_front();
            self.inject(platform, next);
        }
    }

    /// Hands the contributions of a part over, each to its class route.
    fn inject(&mut self, platform: &P, outgoing: Vec<Outgoing<P>>) {
        for (lane, outgoing) in self.lanes.iter_mut().zip(outgoing) {
            lane.put(platform, outgoing);
        }
    }
}

/// A transfer that has not ended.
pub(crate) struct Transfer {
    /// Parts that have not ended.
    pub left: usize,
    pub result: Result<(), Fault>,
    pub done: Option<DoneId>,
}

/// State of a context on the collective network.
pub(crate) struct Collnet<P: Platform> {
    pub uses: BTreeMap<u8, Use<P>>,
    /// Barriers by route; the first of each has been entered.
    pub barriers: BTreeMap<u8, VecDeque<Then<P>>>,
    pub transfers: BTreeMap<u64, Transfer>,
    pub next: u64,
}

impl<P: Platform> Collnet<P> {
    pub fn new() -> Self {
        Self {
            uses: BTreeMap::new(),
            barriers: BTreeMap::new(),
            transfers: BTreeMap::new(),
            next: 0,
        }
    }

    /// Whether no route is in use, so that nothing is under way.
    pub fn is_unused(&self) -> bool {
        self.uses.is_empty() && self.barriers.is_empty()
    }

    /// Whether nothing is under way, waiting or completed and unseen.
    pub fn is_idle(&self) -> bool {
        let rests = |lane: &Lane<P>| lane.in_flight() + lane.waiting() == 0;
        let empty = |used: &Use<P>| used.waiting.is_empty() && used.lanes.iter().all(rests);
        self.barriers.is_empty() && self.transfers.is_empty() && self.uses.values().all(empty)
    }

    /// Barriers and transfers that have not ended.
    pub fn len(&self) -> usize {
        let is_barrier = |waiting: &&Waiting<P>| matches!(waiting, Waiting::Barrier(_));
        let waiting = self.uses.values().flat_map(|used| &used.waiting);
        self.transfers.len()
            + self.barriers.values().map(VecDeque::len).sum::<usize>()
            + waiting.filter(is_barrier).count()
    }

    fn lanes(&self) -> impl Iterator<Item = &Lane<P>> {
        self.uses.values().flat_map(|used| &used.lanes)
    }

    fn lanes_mut(&mut self) -> impl Iterator<Item = &mut Lane<P>> {
        self.uses.values_mut().flat_map(|used| &mut used.lanes)
    }

    /// Contributions handed to the DMA engine and not read.
    pub fn in_flight(&self) -> usize {
        self.lanes().map(Lane::in_flight).sum()
    }

    /// Whether this holds for any lane.
    pub fn any(&self, holds: impl FnMut(&Lane<P>) -> bool) -> bool {
        !self.uses.is_empty() && self.lanes().any(holds)
    }

    /// Whether contributions wait that have room.
    pub fn can_start(&self) -> bool {
        self.any(|lane| lane.waiting() > 0 && !lane.blocked())
    }

    /// Contributions that wait for room.
    pub fn waiting(&self) -> usize {
        self.lanes().map(Lane::waiting).sum()
    }

    /// Hands contributions to the DMA engine; returns how many.
    pub fn start(&mut self, platform: &P, completed: &mut Vec<Completed>) -> Result<usize, Fault> {
        let mut started = 0;
        for lane in self.lanes_mut() {
            if lane.waiting() > 0 {
                started += lane.start(platform, completed)?;
            }
        }
        Ok(started)
    }

    /// Looks whether the DMA engine refuses a contribution.
    pub fn check_halt(
        &mut self,
        platform: &P,
        completed: &mut Vec<Completed>,
    ) -> Result<(), Fault> {
        for lane in self.lanes_mut() {
            if lane.in_flight() > 0 {
                lane.check_halt(platform, completed)?;
            }
        }
        Ok(())
    }

    /// Gives everything up and disables the FIFOs. Routes stay taken: they are to be released before.
    ///
    /// # Errors
    /// The first error of a FIFO; the others have been closed nevertheless.
    pub fn close(&mut self, platform: &P, node: &mut Node<Bus<P>>) -> Result<(), Fault> {
        let mut outcome = Ok(());
        for used in core::mem::take(&mut self.uses).into_values() {
            outcome = outcome.and(used.close(platform, node));
        }
        self.transfers.clear();
        self.barriers.clear();
        outcome
    }

    /// Ends a part whose contribution has been read and whose result is there; returns the transfer that ends with it.
    pub fn end_part(&mut self, route: u8, number: u64) -> Option<Transfer> {
        let parts = &mut self.uses.get_mut(&route)?.active;
        let at = parts.iter().position(|p| p.number == number)?;
        if parts[at].unread > 0 || !parts[at].landed {
            return None;
        }
        let id = parts.remove(at).transfer;
        let transfer = self.transfers.get_mut(&id)?;
        transfer.left -= 1;
        (transfer.left == 0).then(|| self.transfers.remove(&id))?
    }
}
