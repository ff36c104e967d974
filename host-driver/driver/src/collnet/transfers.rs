// SPDX-License-Identifier: MIT OR Apache-2.0
//! Barriers and transfers on the routes of the collective network (HW-5).

use std::collections::VecDeque;
use std::collections::btree_map::Entry;

use gyre_layout::{CollOp, Collective, Descriptor, MAX_PAYLOAD_BYTES, Source, event};

use crate::buffer::BufferRange;
use crate::collnet::routes::{self, BLOCK, CollnetRoutes, LANES};
use crate::collnet::state::{Active, Collnet, Part, Then, Transfer, Use, Waiting};
use crate::cost::{COPY_CHUNK, Op};
use crate::done_table::DoneId;
use crate::error::{Error, Fault};
use crate::io::Io;
use crate::operation::CollnetTransfer;
use crate::platform::Platform;
use crate::sync::Arc;
use crate::transport::injection::{Finish, Lane, Outgoing, Payload};
use crate::transport::registers;
use crate::upcalls::{Upcalls, deliver};

impl<P: Platform> Collnet<P> {
    /// Enters a barrier, or queues it behind earlier uses of the route: earlier barriers, and those of broadcasts that
    /// wait for a lane.
    pub fn start_barrier(
        &mut self,
        io: &mut Io<P>,
        routes: &Arc<CollnetRoutes<P>>,
        done: Option<DoneId>,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let Some(route) = routes.choice().barrier else {
            return deliver(up, done, Err(no_route("barrier")));
        };
        self.admit(io, routes)?;
        let class = routes.choice().class;
        let used = class.and_then(|class| self.uses.get_mut(&class));
        match used.filter(|used| !used.waiting.is_empty()) {
            Some(used) => {
                used.waiting.push_back(Waiting::Barrier(done));
                Ok(())
            }
            None => self.enter(io, route, Then::Call(done)),
        }
    }

    fn enter(&mut self, io: &mut Io<P>, route: u8, then: Then<P>) -> Result<(), Fault> {
        let queue = self.barriers.entry(route).or_default();
        queue.push_back(then);
        if queue.len() == 1 {
            routes::enter_barriers(io.platform(), 1 << route)?;
        }
        Ok(())
    }

    /// Begins a transfer: long ones in a window, others block by block.
    pub fn start_transfer<D>(
        &mut self,
        io: &mut Io<P>,
        transfer: CollnetTransfer<P, D>,
        done: Option<DoneId>,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let routes = &transfer.routes;
        let choice = routes.choice();
        let broadcast = transfer.op == CollOp::Broadcast;
        let Some(route) = choice.class.filter(|_| !routes.fifos().is_empty()) else {
            return deliver(up, done, Err(no_route("class")));
        };
        if broadcast && choice.barrier.is_none() {
            return deliver(up, done, Err(no_route("barrier")));
        }
        if transfer.bytes == 0 {
            return deliver(up, done, Ok(()));
        }
        self.admit(io, routes)?;
        let step = match routes.windows() {
            0 => BLOCK,
            _ => transfer.bytes,
        };
        let number = self.next;
        self.next += 1;
        let mut left = 0;
        for at in (0..transfer.bytes).step_by(step) {
            let bytes = step.min(transfer.bytes - at);
            let part = |range: &Option<BufferRange<P::Buffer>>| {
                range
                    .as_ref()
                    .map(|range| range.part(at, bytes))
                    .transpose()
            };
            let part = Part {
                transfer: number,
                op: transfer.op,
                data: transfer.data,
                to: transfer.to,
                bytes,
                from: part(&transfer.from)?,
                into: part(&transfer.into)?,
            };
            if let Some(used) = self.uses.get_mut(&route) {
                used.waiting.push_back(Waiting::Part(part));
                left += 1;
            }
        }
        let transfer = Transfer {
            left,
            result: Ok(()),
            done,
        };
        self.transfers.insert(number, transfer);
        self.start_parts(io, route)
    }

    /// Starts the waiting entries of a route in order, as far as lanes are free.
    fn start_parts(&mut self, io: &mut Io<P>, route: u8) -> Result<(), Fault> {
        while let Some(used) = self.uses.get_mut(&route) {
            let lane = match used.waiting.front() {
                Some(Waiting::Part(part)) => Some(used.next_lane(part.bytes)),
                Some(Waiting::Barrier(_)) => None,
                None => break,
            };
            if used.active.iter().any(|part| Some(part.lane) == lane) {
                break;
            }
            match (used.waiting.pop_front(), lane) {
                (Some(Waiting::Part(part)), Some(lane)) => {
                    match part.bytes <= BLOCK {
                        true => used.blocks += 1,
                        false => used.windows += 1,
                    }
                    let message_id = io.lanes.message_id(None);
                    self.start_part(io, route, lane, part, message_id)?;
                }
                (Some(Waiting::Barrier(done)), _) => {
                    // Checked when it began to wait.
                    if let Some(barrier) = used.routes.choice().barrier {
                        self.enter(io, barrier, Then::Call(done))?;
                    }
                }
                _ => break,
            }
        }
        Ok(())
    }

    fn start_part(
        &mut self,
        io: &mut Io<P>,
        route: u8,
        lane: usize,
        part: Part<P>,
        message_id: u32,
    ) -> Result<(), Fault> {
        let platform = io.platform();
        let number = self.next;
        self.next += 1;
        let Some(used) = self.uses.get_mut(&route) else {
            return Ok(());
        };
        let routes = &used.routes;
        let (slot, offset, counter) = routes.place(lane);
        if let Some(into) = &part.into {
            // Before the other nodes can send: they send after this node has contributed or has entered the barrier of
            // a broadcast.
            routes.set_counter(platform, lane, part.bytes as u64)?;
            if let Some(address) = into.address().filter(|_| lane >= LANES) {
                routes.move_window(platform, lane, address, part.bytes)?;
            }
        }
        // A long transfer is split over two class routes.
        let choice = routes.choice();
        let classes = choice.classes().zip(0..);
        let half = match lane >= LANES && used.lanes.len() > 1 {
            true => part.bytes.div_ceil(2).next_multiple_of(MAX_PAYLOAD_BYTES),
            false => part.bytes,
        };
        // A result holds every contribution: a node that receives it knows that its own has been read.
        let waits = part.into.is_none();
        let mut outgoing = Vec::new();
        if let Some(from) = &part.from {
            for (class, number_of) in classes {
                let at = number_of * half;
                let bytes = half.min(part.bytes.saturating_sub(at));
                if bytes == 0 {
                    break;
                }
                let collective = Collective {
                    op: part.op,
                    dtype: part.data,
                    route: class,
                };
                let source = Source {
                    slot: 0,
                    offset: 0,
                    // Checked when the transfer was posted.
                    length: bytes as u32,
                };
                let to = offset + at as u64;
                let descriptor = Descriptor::collective_put(collective, part.to, source, slot, to)?
                    .with_counter(counter)
                    .with_message_id(message_id);
                outgoing.push(Outgoing {
                    order: descriptor.into(),
                    payload: Payload::Kept(from.part(at, bytes)?),
                    finish: Finish::Contribution {
                        route,
                        part: number,
                        waits,
                    },
                });
            }
        }
        used.active.push(Active {
            number,
            lane,
            transfer: part.transfer,
            unread: if waits { outgoing.len() } else { 0 },
            landed: waits,
            from: part.from,
            into: part.into,
        });
        match (part.op, choice.barrier) {
            (CollOp::Broadcast, Some(barrier)) => {
                used.held.push_back(None);
                self.enter(io, barrier, Then::Broadcast(route, outgoing))
            }
            _ => {
                used.inject_in_order(io.platform(), outgoing);
                Ok(())
            }
        }
    }

    /// Notes that a contribution has been read or refused.
    pub fn contributed(
        &mut self,
        io: &mut Io<P>,
        (route, number): (u8, u64),
        result: Result<(), Fault>,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let Self {
            uses, transfers, ..
        } = self;
        let parts = uses.get_mut(&route).map(|used| &mut used.active);
        let part = parts.and_then(|parts| parts.iter_mut().find(|p| p.number == number));
        if let Some(part) = part {
            part.unread = part.unread.saturating_sub(1);
            if let Err(error) = result {
                // Without this contribution there is no result; the one to another class route may still be read.
                part.landed = true;
                core::mem::forget(part.from.take());
                if let Some(transfer) = transfers.get_mut(&part.transfer) {
                    transfer.result = Err(error);
                }
            }
        }
        self.conclude(io, route, number, up)
    }

    /// Ends a part if it is over, and its transfer with the last one.
    fn conclude(
        &mut self,
        io: &mut Io<P>,
        route: u8,
        number: u64,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let delivered = match self.end_part(route, number) {
            Some(transfer) => {
                up.progress().completed += 1;
                deliver(up, transfer.done, transfer.result)
            }
            None => Ok(()),
        };
        // No event announces that its lane is free.
        self.start_parts(io, route).and(delivered)
    }

    /// Looks for finished barriers and results; returns how many.
    pub fn poll(&mut self, io: &mut Io<P>, up: &mut impl Upcalls<P>) -> Result<usize, Fault> {
        if self.is_unused() {
            return Ok(0);
        }
        let mut outcome = Ok(());
        let mut found = self.poll_barriers(io, up)?;
        let routes: Vec<u8> = self.uses.keys().copied().collect();
        for route in routes {
            for number in self.landed(io, route)? {
                found += 1;
                outcome = outcome.and(self.conclude(io, route, number, up));
            }
        }
        outcome.map(|()| found)
    }

    fn poll_barriers(&mut self, io: &mut Io<P>, up: &mut impl Upcalls<P>) -> Result<usize, Fault> {
        let platform = io.platform();
        let entered = self.barriers.keys().fold(0, |bits, r| bits | 1 << r);
        if entered == 0 {
            return Ok(0);
        }
        let over = routes::take_barriers(platform, entered)?;
        let mut outcome = Ok(());
        for route in (0..16).filter(|route| over >> route & 1 != 0) {
            let Some(queue) = self.barriers.get_mut(&route) else {
                continue;
            };
            let then = queue.pop_front();
            match queue.is_empty() {
                true => drop(self.barriers.remove(&route)),
                false => routes::enter_barriers(platform, 1 << route)?,
            }
            match then {
                Some(Then::Call(done)) => {
                    up.progress().completed += 1;
                    outcome = outcome.and(deliver(up, done, Ok(())));
                }
                Some(Then::Broadcast(class, outgoing)) => {
                    if let Some(used) = self.uses.get_mut(&class) {
                        used.inject_broadcast(platform, outgoing);
                    }
                }
                None => {}
            }
        }
        outcome.map(|()| over.count_ones() as usize)
    }

    /// The parts of a route whose result has arrived; short results are copied to their destination.
    fn landed(&mut self, io: &mut Io<P>, route: u8) -> Result<Vec<u64>, Fault> {
        let core = Arc::clone(&io.core);
        let platform = &core.platform;
        let Some(used) = self.uses.get_mut(&route) else {
            return Ok(Vec::new());
        };
        // Contributions without a waiting part are polled when the route is idle.
        let idle = used.active.is_empty();
        for lane in &mut used.lanes {
            if lane.awaits() || idle && lane.in_flight() > 0 {
                lane.poll(platform, &mut io.completed)?;
            }
        }
        let mut landed = Vec::new();
        for part in &mut used.active {
            if part.landed || !used.routes.has_landed(platform, part.lane)? {
                continue;
            }
            if let Some(into) = part.into.as_ref().filter(|_| part.lane < LANES) {
                let mut block = [0; BLOCK];
                let block = &mut block[..into.len()];
                platform.charge(Op::CopyChunk, into.len().div_ceil(COPY_CHUNK) as u64);
                used.routes.read_block(part.lane, block)?;
                into.write(0, block)?;
            }
            part.landed = true;
            landed.push(part.number);
        }
        Ok(landed)
    }

    /// Makes the context the user of this node's part of routes.
    fn admit(&mut self, io: &mut Io<P>, routes: &Arc<CollnetRoutes<P>>) -> Result<(), Fault> {
        let platform = io.platform();
        let mut events = io.events() | event::BARRIER;
        for (_, id) in routes.fifos() {
            events |= event::injection(u32::from(*id));
        }
        if let Some(route) = routes.choice().class.filter(|_| !routes.fifos().is_empty())
            && let Entry::Vacant(place) = self.uses.entry(route)
        {
            let fifos = routes.fifos().iter();
            let lanes = fifos.map(|(fifo, _)| Lane::open(platform, fifo));
            place.insert(Use {
                routes: Arc::clone(routes),
                lanes: lanes.collect::<Result<_, _>>()?,
                waiting: VecDeque::new(),
                active: Vec::new(),
                held: VecDeque::new(),
                blocks: 0,
                windows: 0,
            });
        }
        io.listen(events)
    }

    /// Gives routes back.
    pub fn release(
        &mut self,
        io: &mut Io<P>,
        routes: &Arc<CollnetRoutes<P>>,
        done: Option<DoneId>,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let core = Arc::clone(&io.core);
        let platform = &core.platform;
        let mut given_up: Vec<DoneId> = Vec::new();
        let choice = routes.choice();
        if let Some(barrier) = choice.barrier {
            let left = self.barriers.remove(&barrier).unwrap_or_default();
            given_up.extend(left.into_iter().filter_map(|then| match then {
                Then::Call(done) => done,
                Then::Broadcast(..) => None,
            }));
        }
        let mut outcome = Ok(());
        if let Some(class) = choice.class.filter(|_| !routes.fifos().is_empty()) {
            let mut node = registers::node(platform)?;
            match self.uses.remove(&class) {
                Some(used) => {
                    for transfer in used.transfers() {
                        let transfer = self.transfers.remove(&transfer);
                        given_up.extend(transfer.and_then(|transfer| transfer.done));
                    }
                    given_up.extend(used.barriers());
                    outcome = outcome.and(used.close(platform, &mut node));
                }
                None => {
                    for (fifo, _) in routes.fifos() {
                        outcome = outcome.and(fifo.close_unused(platform, &mut node));
                    }
                }
            }
            let ids = routes.fifos().iter().map(|(_, id)| u32::from(*id));
            let events = ids.fold(io.events(), |events, id| events & !event::injection(id));
            io.listen(events)?;
        }
        outcome = outcome.and(routes.release(platform).map_err(Fault::from));
        for done in given_up {
            deliver(up, Some(done), Err(Error::Destroyed.into()))?;
        }
        deliver(up, done, outcome)
    }
}

fn no_route(kind: &'static str) -> Fault {
    Error::NoCollnetRoute { kind }.into()
}
