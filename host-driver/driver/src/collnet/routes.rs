// SPDX-License-Identifier: MIT OR Apache-2.0
//! A node's share of the collective network: class routes, barrier routes, and resources of a member at its node (HW-5,
//! HW-9).
//!
//! The registers of the node show which routes are taken: a valid route is in use. The lock of the node's tree memory
//! makes test and allocation one step among the processes of the node.
//!
//! A result is written to the same base slot, offset and counter at every member. Each node has a tree memory for that,
//! behind base slot 15 on every node: counters, and blocks in which short results arrive and from which they are
//! copied. Long results are written straight to their destination, through a window: a base slot, of the same number at
//! every node of the route, that is moved from buffer to buffer.

use core::ops::BitAnd;

use gyre_firmware::{
    BARRIER_DONE, BARRIER_ENTER, Node, Register, Rights, RoutePart, SlotConfig, TREE_ROUTES,
};
use gyre_layout::registers::{
    COLL, barrier_route, base_slot, coll_network, coll_route, injection_fifo,
};
use gyre_layout::{Coord, CounterRef, MAX_DIM};

use crate::cost::Op;
use crate::error::Error;
use crate::platform::{Platform, PlatformLock, SharedSegment};
use crate::route::read_sizes;
use crate::sync::Arc;
use crate::transport::injection::InjectionFifo;
use crate::transport::registers::{self, Bus};

/// Base slot of the tree memory. Free slots below are windows.
const MEMORY_SLOT: u16 = 15;
/// Number of the shared segment of the tree memory; segments of clients have lower numbers.
const SEGMENT: u32 = 1 << 24;
/// Most class routes of a geometry.
const CLASSES: usize = 2;
/// Ring of a class route's injection FIFO, bytes: 64 descriptors.
const RING: usize = 4096;

/// Bytes of a block: the longest result that is copied.
pub(crate) const BLOCK: usize = 512;
/// Blocks of a class route, and most windows of one: the number of transfers of either length under way at once.
pub(crate) const LANES: usize = 4;
/// Counters of a class route: first those of its blocks, then those of its windows.
const COUNTERS: usize = 2 * LANES;

// Tree memory: the number of class routes that have members here, counters, blocks.
const FIRST_COUNTER: usize = 64;
const FIRST_BLOCK: usize = FIRST_COUNTER + TREE_ROUTES as usize * COUNTERS * 8;
const MEMORY_BYTES: usize = FIRST_BLOCK + TREE_ROUTES as usize * LANES * BLOCK;

/// Free routes and windows, one bit each. `&` gives those that are free on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollnetShare {
    /// Class routes.
    pub class: u16,
    /// Barrier routes.
    pub barrier: u16,
    /// Base slots that can be windows.
    pub windows: u16,
}

impl CollnetShare {
    /// Everything.
    pub const ALL: Self = Self {
        class: u16::MAX,
        barrier: u16::MAX,
        windows: u16::MAX,
    };
}

impl BitAnd for CollnetShare {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self {
            class: self.class & other.class,
            barrier: self.barrier & other.barrier,
            windows: self.windows & other.windows,
        }
    }
}

/// Routes and windows of one tree: the same at all its nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CollnetChoice {
    /// Class route.
    pub class: Option<u8>,
    /// Class route that shares long transfers with the first: the contributions in flight on one route do not cover the
    /// latency of the memory.
    pub second: Option<u8>,
    /// Barrier route.
    pub barrier: Option<u8>,
    /// Base slots of the windows, one bit each; at most four.
    pub windows: u16,
}

impl CollnetChoice {
    /// The class routes; the first is for all transfers.
    pub(crate) fn classes(&self) -> impl Iterator<Item = u8> {
        let second = self.second.filter(|_| self.class.is_some());
        self.class.into_iter().chain(second)
    }

    /// Whether there is no route in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.class.is_none() && self.barrier.is_none()
    }
}

/// Numbering of the nodes of the machine: dimension 0 fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeNumbers([u8; MAX_DIM]);

impl NodeNumbers {
    /// Number of the node at `coord`.
    #[must_use]
    pub fn number(&self, coord: Coord) -> u32 {
        let places = self.0.into_iter().zip(coord.0).rev();
        places.fold(0, |number, (size, at)| {
            number * u32::from(size) + u32::from(at)
        })
    }

    /// Coordinates of node `number`.
    #[must_use]
    pub fn coord(&self, mut number: u32) -> Coord {
        Coord(self.0.map(|size| {
            let size = u32::from(size);
            let at = number % size;
            number /= size;
            at as u8 // below `size`
        }))
    }
}

/// This node's part of the routes of one tree, reserved until they are given back by
/// [`Instruction::CollnetRelease`](crate::Instruction::CollnetRelease).
pub struct CollnetRoutes<P: Platform> {
    choice: CollnetChoice,
    member: Option<Member<P>>,
}

/// Resources of a member of a class route at its node.
struct Member<P: Platform> {
    memory: P::Segment,
    /// Injection FIFO of each class route, and its number.
    fifos: Vec<(Arc<InjectionFifo<P>>, u16)>,
    windows: Vec<u16>,
}

/// Numbering of the nodes.
///
/// # Errors
/// [`Error::Bus`].
pub(crate) fn node_numbers<P: Platform>(platform: &P) -> Result<NodeNumbers, Error> {
    Ok(NodeNumbers(read_sizes(platform)?))
}

/// Free resources of this node, for a member of the routes or for a node on their path.
///
/// # Errors
/// [`Error::Segment`], [`Error::Bus`], [`Error::SetUp`].
pub(crate) fn share<P: Platform>(platform: &P, member: bool) -> Result<CollnetShare, Error> {
    locked(platform, |memory| free_share(platform, memory, member))
}

/// Takes this node's `part` of the routes of `choice`. `None`: a part of it is not free.
///
/// # Errors
/// [`Error::Segment`], [`Error::Alloc`], [`Error::Bus`], [`Error::SetUp`].
pub(crate) fn take<P: Platform>(
    platform: &P,
    owner: u8,
    choice: &CollnetChoice,
    part: &RoutePart,
) -> Result<Option<Arc<CollnetRoutes<P>>>, Error> {
    locked(platform, |memory| {
        let free = free_share(platform, memory, part.member)?;
        let is_free = |route: Option<u8>, free: u16| route.is_none_or(|r| free >> r & 1 != 0);
        let windows = choice.windows & !free.windows == 0;
        if !choice
            .classes()
            .all(|route| is_free(Some(route), free.class))
            || !is_free(choice.barrier, free.barrier)
            || !windows
        {
            return Ok(None);
        }
        let mut node = registers::node(platform)?;
        let set_up = |cause| Error::SetUp {
            what: "a route of the collective network",
            cause,
        };
        let member = match choice.class.is_some() && part.member {
            true => Some(Member::open(platform, &mut node, choice, owner)?),
            false => None,
        };
        for route in choice.classes() {
            node.set_class_route(route, Some(part), owner)
                .map_err(set_up)?;
        }
        if let Some(route) = choice.barrier {
            // Clears the status that an earlier barrier of the route may have left.
            node.take_barriers(1 << route).map_err(set_up)?;
            node.set_barrier_route(route, Some(part)).map_err(set_up)?;
        }
        Ok(Some(Arc::new(CollnetRoutes {
            choice: *choice,
            member,
        })))
    })
}

impl<P: Platform> Member<P> {
    /// Opens the tree memory, injection FIFOs and the windows.
    fn open(
        platform: &P,
        node: &mut Node<Bus<P>>,
        choice: &CollnetChoice,
        owner: u8,
    ) -> Result<Self, Error> {
        let memory = platform.share(SEGMENT, MEMORY_BYTES)?;
        let ids = free_fifos(platform)?;
        let routes = choice.classes().count();
        let Some(base) = memory.address().filter(|_| ids.len() >= routes) else {
            return Err(Error::Unsupported {
                what: "class routes: the node has no injection FIFO or no memory for them",
            });
        };
        let set_up = |cause| Error::SetUp {
            what: "a base slot of the collective network",
            cause,
        };
        let config = |limit| SlotConfig {
            base,
            limit,
            owner,
            rights: Rights {
                read: false,
                write: true,
                atomic: limit > 0,
                remote_read: false,
            },
        };
        if users(&memory)? == 0 {
            let all = config(MEMORY_BYTES as u64);
            node.grant_slot(MEMORY_SLOT, &all).map_err(set_up)?;
        }
        let windows = (0..MEMORY_SLOT).filter(|s| choice.windows >> s & 1 != 0);
        let windows: Vec<u16> = windows.take(LANES).collect();
        for &slot in &windows {
            // It admits no write before it is moved to a buffer.
            node.grant_slot(slot, &config(0)).map_err(set_up)?;
        }
        let mut fifos = Vec::new();
        for &id in &ids[..routes] {
            let fifo = InjectionFifo::open(platform, node, id, RING, owner, false)?;
            fifos.push((Arc::new(fifo), id));
        }
        set_users(&memory, users(&memory)? + 1)?;
        Ok(Self {
            memory,
            fifos,
            windows,
        })
    }
}

impl<P: Platform> CollnetRoutes<P> {
    /// The routes.
    #[must_use]
    pub fn choice(&self) -> CollnetChoice {
        self.choice
    }

    /// Injection FIFOs of the class routes and their numbers; empty if this node is not a member.
    pub(crate) fn fifos(&self) -> &[(Arc<InjectionFifo<P>>, u16)] {
        self.member.as_ref().map_or(&[], |member| &member.fifos)
    }

    /// Number of windows.
    pub(crate) fn windows(&self) -> usize {
        self.member
            .as_ref()
            .map_or(0, |member| member.windows.len())
    }

    /// Where the result of a transfer in `lane` arrives: base slot, byte offset, counter. Lanes from
    /// [`LANES`] on are windows.
    pub(crate) fn place(&self, lane: usize) -> (u16, u64, CounterRef) {
        let counter = CounterRef {
            slot: MEMORY_SLOT,
            index: (self.counter(lane) / 8) as u32,
        };
        match lane.checked_sub(LANES) {
            None => (MEMORY_SLOT, self.block(lane) as u64, counter),
            Some(window) => (self.window(window), 0, counter),
        }
    }

    /// Moves the window of `lane` to `bytes` bytes from `address` of node memory on.
    pub(crate) fn move_window(
        &self,
        platform: &P,
        lane: usize,
        address: u64,
        bytes: usize,
    ) -> Result<(), Error> {
        let slot = self.window(lane - LANES);
        let base = Register::slot(slot, "base slot BASE", base_slot::BASE);
        let limit = Register::slot(slot, "base slot LIMIT", base_slot::LIMIT);
        registers::write(platform, base, address)?;
        Ok(registers::write(platform, limit, bytes as u64)?)
    }

    /// Sets the counter of `lane`.
    pub(crate) fn set_counter(&self, platform: &P, lane: usize, value: u64) -> Result<(), Error> {
        platform.charge(Op::Counter, 1);
        let at = self.counter(lane);
        Ok(self.memory()?.write(at, &value.to_le_bytes())?)
    }

    /// Whether the counter of `lane` is zero.
    pub(crate) fn has_landed(&self, platform: &P, lane: usize) -> Result<bool, Error> {
        platform.charge(Op::Counter, 1);
        let mut value = [0; 8];
        self.memory()?.read(self.counter(lane), &mut value)?;
        Ok(value == [0; 8])
    }

    /// Reads the block of `lane`.
    pub(crate) fn read_block(&self, lane: usize, out: &mut [u8]) -> Result<(), Error> {
        Ok(self.memory()?.read(self.block(lane), out)?)
    }

    fn memory(&self) -> Result<&P::Segment, Error> {
        let member = self.member.as_ref().ok_or(Error::Destroyed)?;
        Ok(&member.memory)
    }

    fn counter(&self, lane: usize) -> usize {
        FIRST_COUNTER + (self.class() * COUNTERS + lane) * 8
    }

    fn block(&self, lane: usize) -> usize {
        FIRST_BLOCK + (self.class() * LANES + lane) * BLOCK
    }

    fn window(&self, window: usize) -> u16 {
        self.member.as_ref().map_or(0, |m| m.windows[window])
    }

    fn class(&self) -> usize {
        self.choice.class.map_or(0, usize::from)
    }

    /// Gives all routes back. The injection FIFO is closed already.
    pub(crate) fn release(&self, platform: &P) -> Result<(), Error> {
        locked(platform, |_| {
            let mut node = registers::node(platform)?;
            let set_up = |cause| Error::SetUp {
                what: "a route of the collective network",
                cause,
            };
            if let Some(route) = self.choice.barrier {
                node.set_barrier_route(route, None).map_err(set_up)?;
            }
            for route in self.choice.classes() {
                node.set_class_route(route, None, 0).map_err(set_up)?;
            }
            let Some(member) = &self.member else {
                return Ok(());
            };
            for &slot in &member.windows {
                node.revoke_slot(slot).map_err(set_up)?;
            }
            let left = users(&member.memory)?.saturating_sub(1);
            set_users(&member.memory, left)?;
            if left == 0 {
                node.revoke_slot(MEMORY_SLOT).map_err(set_up)?;
            }
            Ok(())
        })
    }
}

/// Arrives at the barriers of `routes`, one bit each.
pub(crate) fn enter_barriers<P: Platform>(platform: &P, routes: u16) -> Result<(), Error> {
    Ok(registers::write(platform, BARRIER_ENTER, routes.into())?)
}

/// Takes the finished barriers among `routes`.
pub(crate) fn take_barriers<P: Platform>(platform: &P, routes: u16) -> Result<u16, Error> {
    let done = registers::read(platform, BARRIER_DONE)? & u64::from(routes);
    if done != 0 {
        registers::write(platform, BARRIER_DONE, done)?;
    }
    Ok(done as u16) // of the bits of `routes`
}

/// Works on the node's share under the lock of its processes.
fn locked<P: Platform, R>(
    platform: &P,
    work: impl FnOnce(&P::Segment) -> Result<R, Error>,
) -> Result<R, Error> {
    let memory = platform.share(SEGMENT, MEMORY_BYTES)?;
    platform.charge(Op::Lock, 1);
    memory.lock();
    let result = work(&memory);
    platform.charge(Op::Lock, 1);
    memory.unlock();
    result
}

/// Free resources of the node, for a member of the routes or for a node on their path.
fn free_share<P: Platform>(
    platform: &P,
    memory: &P::Segment,
    member: bool,
) -> Result<CollnetShare, Error> {
    let mut share = CollnetShare::ALL;
    for route in 0..TREE_ROUTES {
        let bit = 1 << route;
        if is_class_valid(platform, route)? {
            share.class &= !bit;
        }
        if is_barrier_valid(platform, route)? {
            share.barrier &= !bit;
        }
    }
    if !member {
        return Ok(share);
    }
    if !can_use_memory(platform, memory)? || free_fifos(platform)?.len() < CLASSES {
        share.class = 0;
    }
    share.windows = 0;
    for slot in 0..MEMORY_SLOT {
        if !is_slot_valid(platform, slot)? {
            share.windows |= 1 << slot;
        }
    }
    Ok(share)
}

/// Class routes that have members on the node.
fn users(memory: &impl SharedSegment) -> Result<u32, Error> {
    let mut bytes = [0; 4];
    memory.read(0, &mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn set_users(memory: &impl SharedSegment, users: u32) -> Result<(), Error> {
    Ok(memory.write(0, &users.to_le_bytes())?)
}

/// Whether results can arrive in the tree memory.
fn can_use_memory<P: Platform>(platform: &P, memory: &P::Segment) -> Result<bool, Error> {
    let ours = users(memory)? > 0;
    Ok(memory.address().is_some() && (ours || !is_slot_valid(platform, MEMORY_SLOT)?))
}

fn is_class_valid<P: Platform>(platform: &P, route: u8) -> Result<bool, Error> {
    let address = COLL + coll_network::route(route.into());
    let value = registers::read(platform, Register::node("COLL ROUTE", address))?;
    Ok(coll_route::VALID.is_set(value))
}

fn is_barrier_valid<P: Platform>(platform: &P, route: u8) -> Result<bool, Error> {
    let address = COLL + coll_network::barrier_route(route.into());
    let value = registers::read(platform, Register::node("COLL BARRIER_ROUTE", address))?;
    Ok(barrier_route::VALID.is_set(value))
}

fn is_slot_valid<P: Platform>(platform: &P, slot: u16) -> Result<bool, Error> {
    let value = registers::read(platform, Register::slot_ctrl(slot))?;
    Ok(base_slot::ctrl::VALID.is_set(value))
}

/// The last unused injection FIFOs, as many as a geometry has class routes: contexts use the first ones.
fn free_fifos<P: Platform>(platform: &P) -> Result<Vec<u16>, Error> {
    let parameters = *registers::node(platform)?.parameters();
    let count = parameters.injection_fifos * u16::from(parameters.groups);
    let mut free = Vec::new();
    for id in (0..count).rev() {
        let value = registers::read(platform, Register::injection_ctrl(id))?;
        if !injection_fifo::ctrl::ENABLE.is_set(value) {
            free.push(id);
        }
        if free.len() == CLASSES {
            break;
        }
    }
    Ok(free)
}
