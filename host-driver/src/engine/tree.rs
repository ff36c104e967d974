//! Barriers and transfers on the routes of the collective network (HW-5).

mod state;

use std::collections::VecDeque;
use std::collections::btree_map::Entry;

use gyre_layout::{CollOp, Collective, Descriptor, MAX_PAYLOAD_BYTES, Source, event};

use super::{Engine, deliver};
use crate::buffer::BufferRange;
use crate::context::{Context, Progress};
use crate::cost::{COPY_CHUNK, Op};
use crate::error::{Error, Fault};
use crate::injection::{Finish, Lane, Outgoing, Payload};
use crate::instruction::{DoneFn, TreeTransfer};
use crate::platform::Platform;
use crate::registers;
use crate::sync::Arc;
use crate::tree::{self, BLOCK, LANES, TreeRoutes};

pub(super) use state::Trees;
use state::{Active, Part, Then, Transfer, Use, Waiting};

impl<P: Platform> Engine<P> {
    /// Enters a barrier, or has it wait for what its members do before on the route: the barriers before it, and
    /// those of broadcasts that wait for a lane.
    pub(super) fn start_barrier(
        &mut self,
        context: &Context<P>,
        routes: &Arc<TreeRoutes<P>>,
        done: Option<DoneFn<P>>,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let Some(route) = routes.choice().barrier else {
            return deliver(context, done, Err(no_route("barrier")), progress);
        };
        self.admit(context, routes)?;
        let class = routes.choice().class;
        let used = class.and_then(|class| self.trees.uses.get_mut(&class));
        match used.filter(|used| !used.waiting.is_empty()) {
            Some(used) => {
                used.waiting.push_back(Waiting::Barrier(done));
                Ok(())
            }
            None => self.enter(context, route, Then::Call(done)),
        }
    }

    fn enter(&mut self, context: &Context<P>, route: u8, then: Then<P>) -> Result<(), Fault> {
        let queue = self.trees.barriers.entry(route).or_default();
        queue.push_back(then);
        if queue.len() == 1 {
            tree::enter_barriers(context.platform(), 1 << route)?;
        }
        Ok(())
    }

    /// Begins a transfer: long ones in a window, others block by block.
    pub(super) fn start_transfer(
        &mut self,
        context: &Context<P>,
        transfer: TreeTransfer<P>,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let routes = &transfer.routes;
        let choice = routes.choice();
        let broadcast = transfer.op == CollOp::Broadcast;
        let Some(route) = choice.class.filter(|_| !routes.fifos().is_empty()) else {
            return deliver(context, transfer.done, Err(no_route("class")), progress);
        };
        if broadcast && choice.barrier.is_none() {
            return deliver(context, transfer.done, Err(no_route("barrier")), progress);
        }
        if transfer.bytes == 0 {
            return deliver(context, transfer.done, Ok(()), progress);
        }
        self.admit(context, routes)?;
        let step = match routes.windows() {
            0 => BLOCK,
            _ => transfer.bytes,
        };
        let number = self.trees.next;
        self.trees.next += 1;
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
            if let Some(used) = self.trees.uses.get_mut(&route) {
                used.waiting.push_back(Waiting::Part(part));
                left += 1;
            }
        }
        let transfer = Transfer {
            left,
            result: Ok(()),
            done: transfer.done,
        };
        self.trees.transfers.insert(number, transfer);
        self.start_parts(context, route)
    }

    /// Starts what waits on a route, in its order, as far as lanes are free.
    fn start_parts(&mut self, context: &Context<P>, route: u8) -> Result<(), Fault> {
        while let Some(used) = self.trees.uses.get_mut(&route) {
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
                    let message_id = self.message_id(context, None);
                    self.start_part(context, route, lane, part, message_id)?;
                }
                (Some(Waiting::Barrier(done)), _) => {
                    // Checked when it began to wait.
                    if let Some(barrier) = used.routes.choice().barrier {
                        self.enter(context, barrier, Then::Call(done))?;
                    }
                }
                _ => break,
            }
        }
        Ok(())
    }

    fn start_part(
        &mut self,
        context: &Context<P>,
        route: u8,
        lane: usize,
        part: Part<P>,
        message_id: u32,
    ) -> Result<(), Fault> {
        let platform = context.platform();
        let number = self.trees.next;
        self.trees.next += 1;
        let Some(used) = self.trees.uses.get_mut(&route) else {
            return Ok(());
        };
        let routes = &used.routes;
        let (slot, offset, counter) = routes.place(lane);
        if let Some(into) = &part.into {
            // Before this node lets the others send: they do so when it has contributed, or entered the
            // barrier of a broadcast.
            routes.set_counter(platform, lane, part.bytes as u64)?;
            if let Some(address) = into.address().filter(|_| lane >= LANES) {
                routes.move_window(platform, lane, address, part.bytes)?;
            }
        }
        // What is long enough is shared by two class routes.
        let choice = routes.choice();
        let classes = choice.classes().zip(0..);
        let half = match lane >= LANES && used.lanes.len() > 1 {
            true => part.bytes.div_ceil(2).next_multiple_of(MAX_PAYLOAD_BYTES),
            false => part.bytes,
        };
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
                    descriptor,
                    payload: Payload::Data(from.part(at, bytes)?),
                    finish: Finish::Tree {
                        route,
                        part: number,
                    },
                });
            }
        }
        used.active.push(Active {
            number,
            lane,
            transfer: part.transfer,
            unread: outgoing.len(),
            landed: part.into.is_none(),
            into: part.into,
        });
        match (part.op, choice.barrier) {
            (CollOp::Broadcast, Some(barrier)) => {
                used.held.push_back(None);
                self.enter(context, barrier, Then::Broadcast(route, outgoing))
            }
            _ => {
                used.inject_in_order(outgoing);
                Ok(())
            }
        }
    }

    /// A contribution has been read, or refused.
    pub(super) fn contributed(
        &mut self,
        context: &Context<P>,
        (route, number): (u8, u64),
        result: Result<(), Fault>,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let trees = &mut self.trees;
        let parts = trees.uses.get_mut(&route).map(|used| &mut used.active);
        let part = parts.and_then(|parts| parts.iter_mut().find(|p| p.number == number));
        if let Some(part) = part {
            part.unread -= 1;
            if let Err(error) = result {
                // Without this contribution there is no result.
                part.landed = true;
                if let Some(transfer) = trees.transfers.get_mut(&part.transfer) {
                    transfer.result = Err(error);
                }
            }
        }
        self.end_part(context, route, number, progress)
    }

    fn end_part(
        &mut self,
        context: &Context<P>,
        route: u8,
        number: u64,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let delivered = match self.trees.end_part(route, number) {
            Some(transfer) => {
                progress.completed += 1;
                deliver(context, transfer.done, transfer.result, progress)
            }
            None => Ok(()),
        };
        // No event tells that its lane is free.
        self.start_parts(context, route).and(delivered)
    }

    /// Looks for barriers that are over and for results that have arrived; gives how many.
    pub(super) fn poll_trees(
        &mut self,
        context: &Context<P>,
        progress: &mut Progress,
    ) -> Result<usize, Fault> {
        if self.trees.is_unused() {
            return Ok(0);
        }
        let mut outcome = Ok(());
        let mut found = self.poll_barriers(context, progress)?;
        let routes: Vec<u8> = self.trees.uses.keys().copied().collect();
        for route in routes {
            for number in self.landed(context, route)? {
                found += 1;
                outcome = outcome.and(self.end_part(context, route, number, progress));
            }
        }
        outcome.map(|()| found)
    }

    fn poll_barriers(
        &mut self,
        context: &Context<P>,
        progress: &mut Progress,
    ) -> Result<usize, Fault> {
        let platform = context.platform();
        let entered = self.trees.barriers.keys().fold(0, |bits, r| bits | 1 << r);
        if entered == 0 {
            return Ok(0);
        }
        let over = tree::take_barriers(platform, entered)?;
        let mut outcome = Ok(());
        for route in (0..16).filter(|route| over >> route & 1 != 0) {
            let Some(queue) = self.trees.barriers.get_mut(&route) else {
                continue;
            };
            let then = queue.pop_front();
            match queue.is_empty() {
                true => drop(self.trees.barriers.remove(&route)),
                false => tree::enter_barriers(platform, 1 << route)?,
            }
            match then {
                Some(Then::Call(done)) => {
                    progress.completed += 1;
                    outcome = outcome.and(deliver(context, done, Ok(()), progress));
                }
                Some(Then::Broadcast(class, outgoing)) => {
                    if let Some(used) = self.trees.uses.get_mut(&class) {
                        used.inject_broadcast(outgoing);
                    }
                }
                None => {}
            }
        }
        outcome.map(|()| over.count_ones() as usize)
    }

    /// The parts of a route whose result has arrived by now; short ones are copied to where they belong.
    fn landed(&mut self, context: &Context<P>, route: u8) -> Result<Vec<u64>, Fault> {
        let platform = context.platform();
        let Some(used) = self.trees.uses.get_mut(&route) else {
            return Ok(Vec::new());
        };
        for lane in &mut used.lanes {
            if lane.in_flight() > 0 {
                lane.poll(platform, &mut self.completed)?;
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

    /// Makes the context the user of a node's part of routes.
    fn admit(&mut self, context: &Context<P>, routes: &Arc<TreeRoutes<P>>) -> Result<(), Fault> {
        let platform = context.platform();
        let mut events = self.events | event::BARRIER;
        for (_, id) in routes.fifos() {
            events |= event::injection(u32::from(*id));
        }
        if let Some(route) = routes.choice().class.filter(|_| !routes.fifos().is_empty())
            && let Entry::Vacant(place) = self.trees.uses.entry(route)
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
        self.listen(context, events)
    }

    /// Has the context woken by `events` besides errors.
    fn listen(&mut self, context: &Context<P>, events: u64) -> Result<(), Fault> {
        if events != self.events {
            let mask = registers::wake_mask(context.query().wake_group);
            registers::write(context.platform(), mask, events | event::ERROR)?;
            self.events = events;
        }
        Ok(())
    }

    /// Gives routes back.
    pub(super) fn release_tree(
        &mut self,
        context: &Context<P>,
        routes: &Arc<TreeRoutes<P>>,
        done: Option<DoneFn<P>>,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let platform = context.platform();
        let mut given_up: Vec<DoneFn<P>> = Vec::new();
        let choice = routes.choice();
        if let Some(barrier) = choice.barrier {
            let left = self.trees.barriers.remove(&barrier).unwrap_or_default();
            given_up.extend(left.into_iter().filter_map(|then| match then {
                Then::Call(done) => done,
                Then::Broadcast(..) => None,
            }));
        }
        let mut outcome = Ok(());
        if let Some(class) = choice.class.filter(|_| !routes.fifos().is_empty()) {
            let mut node = registers::node(platform)?;
            match self.trees.uses.remove(&class) {
                Some(used) => {
                    for transfer in used.transfers() {
                        let transfer = self.trees.transfers.remove(&transfer);
                        given_up.extend(transfer.and_then(|transfer| transfer.done));
                    }
                    outcome = outcome.and(used.close(platform, &mut node, &mut given_up));
                }
                None => {
                    for (fifo, _) in routes.fifos() {
                        outcome = outcome.and(fifo.close_unused(platform, &mut node));
                    }
                }
            }
            let ids = routes.fifos().iter().map(|(_, id)| u32::from(*id));
            let events = ids.fold(self.events, |events, id| events & !event::injection(id));
            self.listen(context, events)?;
        }
        outcome = outcome.and(routes.release(platform).map_err(Fault::from));
        for done in given_up {
            deliver(context, Some(done), Err(Error::Destroyed.into()), progress)?;
        }
        deliver(context, done, outcome, progress)
    }
}

impl<P: Platform> TreeTransfer<P> {
    /// Refuses ranges that do not have the transfer's bytes.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let bytes = self.bytes;
        u32::try_from(bytes).map_err(|_| Error::MessageLength { bytes })?;
        for range in [&self.from, &self.into].into_iter().flatten() {
            if range.len() != bytes {
                return Err(Error::TreeLength {
                    range: range.len(),
                    bytes,
                }
                .into());
            }
        }
        Ok(())
    }
}

fn no_route(kind: &'static str) -> Fault {
    Error::NoTreeRoute { kind }.into()
}
