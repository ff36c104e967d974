//! The executor: begins collectives, carries out steps whose turn has come, and ends them.

use std::rc::Rc;

use gyre_driver::{BufferRange, Context, Endpoint, Op, Platform, RemoteAddress, SendImmediate};

use super::arrive::COPY_CHUNK;
use super::{Done, Shared, Way};
use crate::error::Error;
use crate::geometry::Geometry;
use crate::header::{Form, Header, Signature};
use crate::node::Neighbours;
use crate::operation::Operation;
use crate::request::{Collective, Request};
use crate::schedule::{Action, Arguments, schedule};

/// Most bytes of data in a packet.
pub(super) const INLINE: usize = SendImmediate::MAX - Header::BYTES;
/// Most bytes of data that travel in packets, at once; longer data is announced.
const EAGER: usize = 4 * INLINE;

/// Geometry and number of a collective.
type Key = (u16, u32);

impl<P: Platform> Shared<P> {
    /// Begins the next collective of a geometry.
    pub(super) fn begin(
        self: &Rc<Self>,
        context: &Context<P>,
        number: u16,
        signature: Signature,
        request: Request<P::Buffer>,
        done: Option<Done<P>>,
    ) {
        let Some((geometry, rank, sequence, given_up)) = self.next(number) else {
            return;
        };
        if let Some(by) = given_up {
            if let Some(done) = done {
                done(context, Err(gave_up(geometry.name().into(), sequence, by)));
            }
            return self.pass_left(context, number);
        }
        let neighbours = self.neighbours(number);
        let arguments = Arguments {
            collective: request.collective,
            root: request.root,
            send_blocks: &request.send_blocks,
            receive_blocks: &request.receive_blocks,
            in_place: request.send.is_none(),
            receive: request.receive.len(),
            unit: request.data.bytes(),
            keeps_block: request.keeps_block(),
            neighbours: &neighbours,
        };
        context.platform().charge(Op::Control, 1);
        let schedule = schedule(&geometry, rank, signature.algorithm, arguments);
        let scratch = self.scratch(context, schedule.scratch);
        let send = request.send.unwrap_or_else(BufferRange::empty);
        let key = (number, sequence);
        let opened = match schedule.memory.used {
            true => self.open_memory(context, (&geometry, rank), &neighbours, sequence),
            false => Ok(None),
        };
        let (scratch, memory, failed) = match (scratch, opened) {
            (Ok(scratch), Ok(memory)) => (scratch, memory, None),
            (Err(error), _) | (_, Err(error)) => (BufferRange::empty(), None, Some(error)),
        };
        let operation = Operation::new(signature, schedule, [send, request.receive, scratch], done);
        let first = operation.first();
        if let Some(team) = self.teams.borrow_mut().get_mut(&number) {
            for step in operation.tree_steps() {
                team.hardware.order.push((sequence, step));
            }
            team.running.insert(sequence, operation);
        }
        if let Some(memory) = memory {
            memory.begin(sequence);
        }
        self.pass_left(context, number);
        if let Some(error) = failed {
            return self.give_up(context, key, error);
        }
        let called = self.call_others(context, &geometry, rank, sequence, signature);
        // One by messages too: a neighbour may take it for one in memory.
        let watched = match neighbours.sharing().some {
            true => called.and_then(|()| self.watch(context)),
            false => called,
        };
        if let Err(error) = watched {
            return self.give_up(context, key, error);
        }
        self.run(context, key, first);
        // Receives whose turn has come have taken what was there; the rest must at least be expected.
        if let Some(error) = self.unexpected(key) {
            self.give_up(context, key, error);
        }
    }

    /// What is wrong with the messages that wait for their turn.
    fn unexpected(&self, (number, sequence): Key) -> Option<Error> {
        let mut teams = self.teams.borrow_mut();
        let team = teams.get_mut(&number)?;
        let (geometry, _) = team.joined.as_ref()?;
        let early = team.early.get_mut(&sequence)?;
        let operation = team.running.get(&sequence)?;
        let mut faults = early.iter().map(|early| match early.header.form {
            Form::Start => None,
            Form::Waits => operation.disagrees(geometry, &early.header),
            _ => operation.fault(geometry, &early.header),
        });
        let fault = faults.find_map(|fault| fault);
        early.retain(|early| early.header.form.is_data());
        fault
    }

    fn scratch(&self, context: &Context<P>, bytes: usize) -> Result<BufferRange<P::Buffer>, Error> {
        if bytes > 0 {
            context.platform().charge(Op::Allocate, 1);
        }
        let scratch = BufferRange::zeroed(context.platform(), bytes);
        Ok(scratch.map_err(gyre_driver::Error::from)?)
    }

    /// Who shares nodes in a geometry.
    fn neighbours(&self, number: u16) -> Rc<Neighbours> {
        let teams = self.teams.borrow();
        let team = teams.get(&number);
        team.map(|team| Rc::clone(&team.neighbours))
            .unwrap_or_default()
    }

    /// Takes the next number of a geometry; with it the rank that has given it up already.
    fn next(&self, number: u16) -> Option<(Geometry, u32, u32, Option<u32>)> {
        let mut teams = self.teams.borrow_mut();
        let team = teams.get_mut(&number)?;
        let (geometry, rank) = team.joined.clone()?;
        team.skip_failed();
        let sequence = team.next;
        team.next = team.next.wrapping_add(1);
        let given_up = team.failed.get(&sequence).map(|(rank, _)| *rank);
        Some((geometry, rank, sequence, given_up))
    }

    /// The messages that have come for a collective, taken out.
    fn early(&self, (number, sequence): Key) -> Vec<super::Early> {
        let mut teams = self.teams.borrow_mut();
        let team = teams.get_mut(&number);
        let early = team
            .and_then(|team| team.early.remove(&sequence))
            .unwrap_or_default();
        let bytes: usize = early.iter().map(|early| early.data.len()).sum();
        self.held.set(self.held.get() - bytes);
        early
    }

    /// Drops the messages that have come for a collective.
    fn drop_early(&self, context: &Context<P>, key: Key) {
        for early in self.early(key) {
            self.discard(context, &early.header, early.origin);
        }
    }

    /// Tells members that follow about a collective that not all post (EP-9).
    fn call_others(
        &self,
        context: &Context<P>,
        geometry: &Geometry,
        rank: u32,
        sequence: u32,
        signature: Signature,
    ) -> Result<(), Error> {
        let root = geometry.ranks_of(signature.root as usize);
        let count = geometry.endpoints().len() as u32;
        let mut to = Vec::new();
        match signature.way {
            Way::All => {}
            // Data of the root reaches everybody; on the tree it would come too early, in memory unasked.
            Way::Root
                if !signature.is_silent()
                    && matches!(
                        signature.collective,
                        Collective::Broadcast | Collective::Scatter
                    ) => {}
            Way::Root => {
                // A binomial tree of the ranks, counted from the root's leader.
                let distance = (rank + count - root[0]) % count;
                let below = match distance {
                    0 => count.next_power_of_two(),
                    _ => distance & distance.wrapping_neg(),
                };
                let bits = (0..below.trailing_zeros()).rev().map(|bit| 1 << bit);
                let children = bits.filter(|bit| distance + bit < count);
                to.extend(children.map(|bit| (root[0] + distance + bit) % count));
            }
            Way::Others => {
                let caller = (0..count).find(|&r| geometry.position(r) != signature.root as usize);
                if caller == Some(rank) {
                    to.extend_from_slice(root);
                }
            }
        }
        for to in to {
            let header = Header {
                geometry: geometry.number(),
                sequence,
                from: rank,
                tag: 0,
                signature,
                length: 0,
                form: Form::Start,
            };
            self.message(context, geometry.endpoints()[to as usize], &header, &[])?;
        }
        Ok(())
    }

    /// Carries out steps, and those whose turn comes by that.
    pub(super) fn run(self: &Rc<Self>, context: &Context<P>, key: Key, mut ready: Vec<usize>) {
        while !ready.is_empty() {
            let mut next = Vec::new();
            for step in ready {
                match self.step(context, key, step) {
                    Ok(true) => next.extend(self.end(key, step)),
                    Ok(false) => {}
                    Err(error) => return self.give_up(context, key, error),
                }
            }
            ready = next;
        }
        self.finish(context, key);
    }

    /// A step has ended, or not yet, or the collective cannot go on.
    pub(super) fn conclude(
        self: &Rc<Self>,
        context: &Context<P>,
        key: Key,
        ended: Result<Option<usize>, Error>,
    ) {
        match ended {
            Ok(Some(step)) => {
                let ready = self.end(key, step);
                self.run(context, key, ready);
            }
            Ok(None) => {}
            Err(error) => self.give_up(context, key, error),
        }
    }

    /// Notes the end of a step; gives those whose turn has come.
    fn end(&self, (number, sequence): Key, step: usize) -> Vec<usize> {
        let mut teams = self.teams.borrow_mut();
        let team = teams.get_mut(&number);
        let operation = team.and_then(|team| team.running.get_mut(&sequence));
        operation
            .map(|operation| operation.end(step))
            .unwrap_or_default()
    }

    /// Carries out a step; says whether it has ended.
    pub(super) fn step(
        self: &Rc<Self>,
        context: &Context<P>,
        key: Key,
        step: usize,
    ) -> Result<bool, Error> {
        let (number, sequence) = key;
        let mut teams = self.teams.borrow_mut();
        let Some(team) = teams.get_mut(&number) else {
            return Ok(false);
        };
        let (Some((geometry, rank)), Some(operation)) =
            (&team.joined, team.running.get_mut(&sequence))
        else {
            return Ok(false);
        };
        match operation.action(step) {
            Action::Send { to, tag, from } => {
                let data = operation.range(from)?;
                let to = geometry.endpoints()[to as usize];
                let header = Header {
                    geometry: number,
                    sequence,
                    from: *rank,
                    tag,
                    signature: operation.signature,
                    // Checked where the data is sent.
                    length: data.len() as u32,
                    form: Form::Data { part: 0 },
                };
                drop(teams);
                self.send(context, to, header, data, step)
            }
            Action::Receive { from, tag, .. } | Action::Discard { from, tag } => {
                if let Some(expected) = operation.expected((from, tag)) {
                    expected.ready = true;
                }
                drop(teams);
                let mut ended = false;
                while let Some(early) = self.early_from(key, (from, tag)) {
                    let (header, data) = (&early.header, &early.data);
                    let taken = self.take(header, data.len());
                    if taken.is_err() {
                        self.discard(context, header, early.origin);
                    }
                    if let Some(receive) = taken? {
                        let stored = self.store(context, header, early.origin, data, receive)?;
                        ended |= stored.is_some();
                    }
                }
                Ok(ended)
            }
            Action::TreeBarrier | Action::TreeTransfer { .. } => {
                team.hardware.order.ready((sequence, step));
                drop(teams);
                self.enter_tree(context, number)?;
                Ok(false)
            }
            Action::Memory(memory_step) => {
                let memory = team.memory.clone();
                let (signature, plan) = (operation.signature, operation.memory());
                drop(teams);
                // Opened when the collective began.
                let memory = memory.ok_or(gyre_driver::Error::Destroyed)?;
                let collective = (sequence, &signature);
                memory.step(context.platform(), collective, &plan, (step, memory_step))
            }
            Action::Copy { from, to } => {
                let memory = team.memory.as_ref();
                let (from_data, to) =
                    (operation.place(from, memory)?, operation.place(to, memory)?);
                drop(teams);
                charge_copies(context, 1, from.len);
                to.write(&from_data.read()?)?;
                Ok(true)
            }
            Action::Combine {
                other,
                into,
                earlier,
            } => {
                let memory = team.memory.as_ref();
                let length = into.len;
                let (other, into) = (
                    operation.place(other, memory)?,
                    operation.place(into, memory)?,
                );
                let Signature { data, op, .. } = operation.signature;
                drop(teams);
                // Two operands are read, the result is written.
                charge_copies(context, 3, length);
                let elements = length / data.bytes();
                context.platform().charge(Op::Combine, elements as u64);
                let mut result = into.read()?;
                op.combine(data, &other.read()?, &mut result, earlier);
                into.write(&result)?;
                Ok(true)
            }
        }
    }

    /// A message that has come before the turn of its receive, taken out.
    fn early_from(&self, (number, sequence): Key, key: (u32, u32)) -> Option<super::Early> {
        let mut teams = self.teams.borrow_mut();
        let list = teams.get_mut(&number)?.early.get_mut(&sequence)?;
        let at = list.iter().position(|early| {
            let header = &early.header;
            (header.from, header.tag) == key && header.form.is_data()
        })?;
        let early = list.remove(at);
        self.held.set(self.held.get() - early.data.len());
        Some(early)
    }

    /// Sends the data of a step; says whether the step has ended.
    fn send(
        self: &Rc<Self>,
        context: &Context<P>,
        to: Endpoint,
        header: Header,
        data: BufferRange<P::Buffer>,
        step: usize,
    ) -> Result<bool, Error> {
        self.count(|stats| stats.sent_bytes += data.len() as u64);
        let place = match data.remote_address() {
            Some(place) if data.len() > EAGER => place,
            _ => {
                let bytes = bytes(&data)?;
                let parts = bytes.chunks(INLINE);
                let none = bytes.is_empty().then_some(&[][..]);
                for (part, data) in (0..).zip(parts.chain(none)) {
                    let form = Form::Data { part };
                    self.message(context, to, &Header { form, ..header }, data)?;
                }
                return Ok(true);
            }
        };
        self.announce(context, to, header, (place, data), step)?;
        Ok(false)
    }

    /// Announces data, which stays here until it has been fetched.
    fn announce(
        self: &Rc<Self>,
        context: &Context<P>,
        to: Endpoint,
        header: Header,
        (place, data): (RemoteAddress, BufferRange<P::Buffer>),
        step: usize,
    ) -> Result<(), Error> {
        let bytes = data.len();
        let length =
            u32::try_from(bytes).map_err(|_| gyre_driver::Error::MessageLength { bytes })?;
        let (number, sequence) = (header.geometry, header.sequence);
        let shared = Rc::clone(self);
        // The receiver acknowledges whatever becomes of the collective; until then the data stays.
        let cookie = context.expect_ack(
            to,
            Box::new(move |context, result| {
                drop(data);
                let ended = result.map(|()| Some(step)).map_err(Error::from);
                shared.conclude(context, (number, sequence), ended);
            }),
        )?;
        let header = Header {
            length,
            form: Form::Announced { cookie, place },
            ..header
        };
        self.message(context, to, &header, &[])
    }

    /// Sends one message.
    pub(super) fn message(
        &self,
        context: &Context<P>,
        to: Endpoint,
        header: &Header,
        data: &[u8],
    ) -> Result<(), Error> {
        context.platform().charge(Op::Control, 1);
        self.count(|stats| stats.messages += 1);
        let mut bytes = header.encode();
        bytes.extend_from_slice(data);
        Ok(context.send_immediate(&SendImmediate {
            data: &bytes,
            ..SendImmediate::new(to, self.dispatch)
        })?)
    }

    /// Ends a collective if all its steps have.
    fn finish(self: &Rc<Self>, context: &Context<P>, (number, sequence): Key) {
        let operation = {
            let mut teams = self.teams.borrow_mut();
            let Some(team) = teams.get_mut(&number) else {
                return;
            };
            match team.running.get(&sequence) {
                Some(operation) if operation.is_over() => team.running.remove(&sequence),
                _ => None,
            }
        };
        let Some(operation) = operation else { return };
        self.count(|stats| stats.ended += 1);
        self.remember((number, sequence), operation.signature);
        let ended = self.end_in_memory(context, (number, sequence), &operation.memory());
        let (turn, result) = match ended {
            Ok(turn) => (turn, Ok(())),
            Err(error) => (None, Err(error)),
        };
        if let Some(done) = operation.done {
            context.platform().charge(Op::Callback, 1);
            done(context, result);
        }
        self.take_turn(context, number, turn);
        self.leave(context, number);
    }

    /// Gives a collective up for a reason found here, and tells all other members.
    pub(super) fn give_up(self: &Rc<Self>, context: &Context<P>, key: Key, error: Error) {
        let (number, sequence) = key;
        let known = {
            let teams = self.teams.borrow();
            let team = teams.get(&number);
            team.and_then(|team| {
                let (geometry, rank) = team.joined.clone()?;
                Some((geometry, rank, team.running.get(&sequence)?.signature))
            })
        };
        if let Some((geometry, rank, signature)) = known {
            self.tell_all(context, &geometry, rank, sequence, signature);
            self.fail(context, key, (rank, signature), error);
        }
    }

    /// Another member has given a collective up.
    pub(super) fn given_up(self: &Rc<Self>, context: &Context<P>, header: &Header) {
        let key = (header.geometry, header.sequence);
        let joined = {
            let teams = self.teams.borrow();
            let team = teams.get(&key.0);
            team.and_then(|team| team.joined.clone())
        };
        // A geometry that has not been joined has no collective under way that could report the error.
        let name = joined.map_or_else(String::new, |(geometry, _)| geometry.name().into());
        let by = (header.from, header.signature);
        self.fail(context, key, by, gave_up(name, key.1, header.from));
    }

    /// Tells the others that a message does not belong to the collective that has ended here.
    pub(super) fn deny(&self, context: &Context<P>, header: &Header) {
        let joined = {
            let teams = self.teams.borrow();
            let team = teams.get(&header.geometry);
            team.and_then(|team| team.joined.clone())
        };
        if let Some((geometry, rank)) = joined {
            self.tell_all(context, &geometry, rank, header.sequence, header.signature);
        }
    }

    /// Refuses to follow a collective.
    pub(super) fn refuse(
        &self,
        context: &Context<P>,
        geometry: &Geometry,
        rank: u32,
        sequence: u32,
        signature: Signature,
    ) {
        self.tell_all(context, geometry, rank, sequence, signature);
        let key = (geometry.number(), sequence);
        self.drop_early(context, key);
        if let Some(team) = self.teams.borrow_mut().get_mut(&key.0) {
            team.next = sequence.wrapping_add(1);
            team.failed.insert(sequence, (rank, signature));
        }
        self.give_up_in_memory(context, key);
    }

    /// Tells all other members that a collective has been given up. One that cannot be told cannot be told
    /// that either: its own error will say so.
    fn tell_all(
        &self,
        context: &Context<P>,
        geometry: &Geometry,
        rank: u32,
        sequence: u32,
        signature: Signature,
    ) {
        let header = Header {
            geometry: geometry.number(),
            sequence,
            from: rank,
            tag: 0,
            signature,
            length: 0,
            form: Form::GivenUp,
        };
        for (other, &to) in (0..).zip(geometry.endpoints()) {
            if other != rank {
                let _ = self.message(context, to, &header, &[]);
            }
        }
    }

    /// Ends a collective with an error, and the others on the tree: what one leaves there holds up the rest.
    fn fail(self: &Rc<Self>, context: &Context<P>, key: Key, by: (u32, Signature), error: Error) {
        let (number, sequence) = key;
        self.drop_early(context, key);
        let operation = {
            let mut teams = self.teams.borrow_mut();
            let Some(team) = teams.get_mut(&number) else {
                return;
            };
            team.failed.insert(sequence, by);
            team.hardware.order.forget(sequence);
            team.running.remove(&sequence)
        };
        let turn = self.give_up_in_memory(context, key);
        let Some(operation) = operation else { return };
        let on_tree = operation.signature.is_on_tree();
        if let Some(done) = operation.done {
            context.platform().charge(Op::Callback, 1);
            done(context, Err(error));
        }
        if on_tree {
            self.abandon_tree(context, number);
        }
        self.take_turn(context, number, turn);
        self.leave(context, number);
    }
}

pub(super) fn gave_up(geometry: String, sequence: u32, rank: u32) -> Error {
    Error::GivenUp {
        geometry,
        sequence,
        rank,
    }
}

fn charge_copies<P: Platform>(context: &Context<P>, times: usize, bytes: usize) {
    let chunks = (times * bytes).div_ceil(COPY_CHUNK) as u64;
    context.platform().charge(Op::CopyChunk, chunks);
}

fn bytes<B: gyre_driver::DmaBuffer>(range: &BufferRange<B>) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; range.len()];
    range
        .read(0, &mut bytes)
        .map_err(gyre_driver::Error::from)?;
    Ok(bytes)
}
