// SPDX-License-Identifier: MIT OR Apache-2.0
//! Assembly of arriving messages: packets become messages, which go where their dispatch callbacks say.

use std::collections::BTreeMap;

use gyre_layout::{MAX_PAYLOAD_BYTES, MessageHeader, PackedCoord};

use crate::am::AmIo;
use crate::am::deferred::{arrived, tell};
use crate::am::dispatch::{Arrival, Receive};
use crate::buffer::BufferRange;
use crate::cost::Op;
use crate::done_table::DoneId;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::operation::DeferredId;
use crate::platform::Platform;
use crate::task::{TaskId, TaskLocation};
use crate::transport::reception::Packet;
use crate::transport::wire::{ControlMessage, WireError};
use crate::upcalls::{Upcalls, deliver};

/// Path on which packets arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Path {
    Network,
    SharedMemory,
}

/// Sender and path: messages of one origin arrive one after the other.
pub(crate) type Origin = (TaskLocation, u8, Path);

/// Sender of a packet by its header: node, and process and context of software word 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PacketOrigin(u64);

impl PacketOrigin {
    /// The sender of a packet of `node` with software word 0 `sw0`.
    #[inline(always)]
    pub fn of(node: PackedCoord, sw0: u32) -> Self {
        const PROCESS_AND_CONTEXT: u32 = 0x00ff_ff00;
        Self(u64::from(node.bits()) << 32 | u64::from(sw0 & PROCESS_AND_CONTEXT))
    }

    /// The sender as bits: different for different senders.
    #[inline(always)]
    pub fn bits(self) -> u64 {
        self.0
    }
}

/// A message whose first packet has arrived and whose last has not.
pub(crate) struct Assembly<P: Platform> {
    length: usize,
    received: usize,
    target: Target<P>,
    /// To be acknowledged when the message has arrived.
    cookie: Option<(Endpoint, u32)>,
}

/// Where a message goes.
pub(crate) enum Target<P: Platform> {
    Nowhere,
    /// Nowhere; its origin is told that it has been refused.
    Refused,
    Buffer {
        into: BufferRange<P::Buffer>,
        done: Option<DoneId>,
    },
    /// Longer than its receive.
    TooLong {
        receive: usize,
        done: Option<DoneId>,
    },
    /// Its receive is deferred.
    Deferred {
        id: DeferredId,
        /// Where eager data is held, if there is room.
        into: Option<BufferRange<P::Buffer>>,
    },
}

impl<P: Platform> Target<P> {
    /// The target of a message of `length` bytes with this receive.
    pub fn of(length: usize, into: BufferRange<P::Buffer>, done: Option<DoneId>) -> Self {
        if into.len() < length {
            let receive = into.len();
            return Self::TooLong { receive, done };
        }
        Self::Buffer { into, done }
    }
}

/// The messages that are arriving at a context.
pub(crate) struct Assemblies<P: Platform> {
    /// Few at a time. The packets of a message usually arrive one after the other.
    arriving: Vec<(Origin, Assembly<P>)>,
    /// Place of the message that got the last packet.
    last: usize,
    /// Its sender, if it comes from the network.
    current: Option<PacketOrigin>,
    /// Headed messages whose data comes in the next message of their origin.
    announced: BTreeMap<Origin, Assembly<P>>,
}

impl<P: Platform> Assembly<P> {
    fn new(length: usize, target: Target<P>, cookie: Option<(Endpoint, u32)>) -> Self {
        Self {
            length,
            received: 0,
            target,
            cookie,
        }
    }

    /// A message of `length` bytes that is not stored.
    pub fn nowhere(length: usize) -> Self {
        Self::new(length, Target::Nowhere, None)
    }
}

impl<P: Platform> Assemblies<P> {
    /// None.
    pub fn new() -> Self {
        Self {
            arriving: Vec::new(),
            last: 0,
            current: None,
            announced: BTreeMap::new(),
        }
    }

    /// Messages that are arriving.
    pub fn len(&self) -> usize {
        self.arriving.len() + self.announced.len()
    }

    /// Whether no message is partly here.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.arriving.is_empty() && self.announced.is_empty()
    }

    /// Gives all messages up.
    pub fn clear(&mut self) {
        self.current = None;
        self.arriving.clear();
        self.announced.clear();
    }

    /// Place of the message of `origin` that is arriving.
    #[inline]
    fn place(&self, origin: &Origin) -> Option<usize> {
        match self.arriving.get(self.last) {
            Some((last, _)) if last == origin => Some(self.last),
            _ => self.arriving.iter().position(|(other, _)| other == origin),
        }
    }

    /// Takes the message at `place` out.
    fn remove(&mut self, place: usize) -> Assembly<P> {
        // Another message may take its place.
        self.current = None;
        self.arriving.swap_remove(place).1
    }

    /// The buffer, and the byte in it, for the payload of a packet from the network that correctly continues the
    /// message of the last packet, if that message has a buffer. The packet counts as added.
    #[inline(always)]
    pub fn next_place(
        &mut self,
        origin: PacketOrigin,
        header: &MessageHeader,
    ) -> Option<(&BufferRange<P::Buffer>, usize)> {
        if self.current != Some(origin) {
            return None;
        }
        let (_, assembly) = self.arriving.get_mut(self.last)?;
        let at = assembly.received;
        let left = assembly.length - at;
        // A packet that does not follow takes the general path, which refuses it.
        if left == 0
            || header.first != (at == 0)
            || header.last != (left <= MAX_PAYLOAD_BYTES)
            || usize::from(header.len) != left.min(MAX_PAYLOAD_BYTES)
            || header.offset as usize != at
            || header.length as usize != assembly.length
        {
            return None;
        }
        let Target::Buffer { into, .. } = &assembly.target else {
            return None;
        };
        assembly.received += usize::from(header.len);
        Some((into, at))
    }

    /// Ends the message that got the last packet: it is complete.
    ///
    /// # Errors
    /// As [`end`].
    pub fn end_last<U: Upcalls<P>>(&mut self, am: &mut AmIo<'_, P, U>) -> Result<(), Fault> {
        self.remove(self.last).end(am)
    }

    /// Fails the message of `origin` that is arriving, since the first packet of another one has come.
    ///
    /// # Errors
    /// [`Error::PacketOrder`] when no done callback takes it.
    pub fn cut<U: Upcalls<P>>(
        &mut self,
        am: &mut AmIo<'_, P, U>,
        origin: &Origin,
        task: TaskId,
    ) -> Result<(), Fault> {
        match self.place(origin) {
            Some(place) => {
                let cut = self.remove(place);
                fail(am, cut.target, out_of_order(task, "first", 1, 0))
            }
            None => Ok(()),
        }
    }

    /// Fails the headed message of `origin` whose data was to come next, since another message has begun.
    ///
    /// # Errors
    /// [`Error::PacketOrder`] when no done callback takes it.
    pub fn cut_announced<U: Upcalls<P>>(
        &mut self,
        am: &mut AmIo<'_, P, U>,
        origin: &Origin,
        task: TaskId,
        dispatch: u8,
    ) -> Result<(), Fault> {
        match self.announced.remove(origin) {
            Some(announced) => {
                let (found, expected) = (u64::from(dispatch), ControlMessage::Data as u64);
                let error = out_of_order(task, "dispatch", found, expected);
                fail(am, announced.target, error)
            }
            None => Ok(()),
        }
    }

    /// Begins the data of a headed message.
    ///
    /// # Errors
    /// [`Error::PacketOrder`] when the data is not the announced one, and no done callback takes it.
    pub fn data<U: Upcalls<P>>(
        &mut self,
        am: &mut AmIo<'_, P, U>,
        origin: &Origin,
        task: TaskId,
        length: usize,
    ) -> (Assembly<P>, Result<(), Fault>) {
        match self.announced.remove(origin) {
            Some(announced) if announced.length == length => (announced, Ok(())),
            other => {
                let expected = other.as_ref().map_or(0, |a| a.length as u64);
                let error = out_of_order(task, "length", length as u64, expected);
                let failed = match other {
                    Some(other) => fail(am, other.target, error),
                    None => Err(error),
                };
                (Assembly::nowhere(length), failed)
            }
        }
    }

    /// Begins a user's message.
    ///
    /// # Errors
    /// As [`dispatch`].
    pub fn user<U: Upcalls<P>>(
        &mut self,
        am: &mut AmIo<'_, P, U>,
        id: u8,
        arrival: &Arrival<'_>,
    ) -> (Assembly<P>, Result<(), Fault>) {
        match dispatch_eager(am, id, arrival, None) {
            Ok(target) => (Assembly::new(arrival.length, target, None), Ok(())),
            Err(error) => (Assembly::nowhere(arrival.length), Err(error)),
        }
    }

    /// Receives an eager message with a header or with a request for an acknowledgement.
    ///
    /// # Errors
    /// [`Error::ControlMessage`]; as [`dispatch`].
    pub fn headed<'a, U: Upcalls<P>>(
        &mut self,
        am: &mut AmIo<'_, P, U>,
        origin: Origin,
        id: u8,
        mut arrival: Arrival<'a>,
        (cookie, data): (u32, &'a [u8]),
    ) -> Result<(), Fault> {
        let (peer, length) = (arrival.origin, arrival.length);
        let inside = data.len() == length;
        if !inside && !data.is_empty() {
            return Err(malformed(
                peer.task,
                WireError {
                    message: "headed message",
                    field: "length",
                    value: length as u64,
                    expected: "the bytes after the header, or none of them",
                },
            ));
        }
        arrival.immediate = inside.then_some(data);
        let cookie = (cookie != 0).then_some((peer, cookie));
        let (target, known) = match dispatch_eager(am, id, &arrival, cookie) {
            Ok(target) => (target, Ok(())),
            Err(error) => (Target::Refused, Err(error)),
        };
        if !inside {
            let announced = Assembly::new(length, target, cookie);
            self.announced.insert(origin, announced);
            return known;
        }
        store_at(am, &target, 0, data)?;
        let ended = end(am, target, length, cookie);
        known.and(ended)
    }

    /// Adds a message of which no packet has been stored: [`next_place`](Self::next_place) gives the place of its first
    /// one.
    pub fn open(&mut self, assembly: Assembly<P>, origin: Origin, from: PacketOrigin) {
        self.last = self.arriving.len();
        self.current = Some(from);
        self.arriving.push((origin, assembly));
    }

    /// Adds the first packet of a message to it.
    ///
    /// # Errors
    /// [`Error::PacketOrder`], [`Error::MessageTooLong`] when no done callback takes them.
    pub fn begin<U: Upcalls<P>>(
        &mut self,
        am: &mut AmIo<'_, P, U>,
        packet: &Packet<'_>,
        origin: Origin,
        task: TaskId,
        mut assembly: Assembly<P>,
    ) -> Result<(), Fault> {
        match assembly.add(am, packet, task)? {
            Added::More => {
                self.last = self.arriving.len();
                self.current = network_origin(packet, &origin);
                self.arriving.push((origin, assembly));
                Ok(())
            }
            Added::Last => assembly.end(am),
            Added::Wrong(error) => fail(am, assembly.target, error),
        }
    }

    /// Adds a packet to its message, and ends the message with its last byte.
    ///
    /// # Errors
    /// [`Error::PacketOrder`], [`Error::MessageTooLong`] when no done callback takes them; the former also where no
    /// message of the origin is arriving.
    pub fn add<U: Upcalls<P>>(
        &mut self,
        am: &mut AmIo<'_, P, U>,
        packet: &Packet<'_>,
        origin: &Origin,
        task: TaskId,
    ) -> Result<(), Fault> {
        let Some(place) = self.place(origin) else {
            return Err(out_of_order(task, "first", 0, 1));
        };
        self.last = place;
        self.current = network_origin(packet, origin);
        let added = self.arriving[place].1.add(am, packet, task);
        if let Ok(Added::More) = added {
            return Ok(());
        }
        let assembly = self.remove(place);
        match added? {
            Added::More => Ok(()),
            Added::Last => assembly.end(am),
            Added::Wrong(error) => fail(am, assembly.target, error),
        }
    }
}

/// Sender of a packet, if it comes from the network.
fn network_origin(packet: &Packet<'_>, (_, _, path): &Origin) -> Option<PacketOrigin> {
    (*path == Path::Network).then(|| PacketOrigin::of(packet.node, packet.sw0))
}

/// Position of a packet in its message.
enum Added {
    /// More are to come.
    More,
    /// It was the last.
    Last,
    /// It does not continue the message.
    Wrong(Fault),
}

impl<P: Platform> Assembly<P> {
    /// Adds a packet.
    ///
    /// # Errors
    /// Errors of the memory.
    fn add<U>(
        &mut self,
        am: &AmIo<'_, P, U>,
        packet: &Packet<'_>,
        task: TaskId,
    ) -> Result<Added, Fault> {
        let bytes = packet.payload.len();
        // Packets of a message are full, except the last, and arrive in order.
        let expected_bytes = (self.length - self.received).min(MAX_PAYLOAD_BYTES);
        let ends = self.received + expected_bytes == self.length;
        for (field, value, expected) in [
            ("offset", u64::from(packet.offset), self.received as u64),
            ("length", u64::from(packet.length), self.length as u64),
            ("len", bytes as u64, expected_bytes as u64),
            ("last", u64::from(packet.last), u64::from(ends)),
        ] {
            if value != expected {
                return Ok(Added::Wrong(out_of_order(task, field, value, expected)));
            }
        }
        store_at(am, &self.target, self.received, packet.payload)?;
        self.received += bytes;
        Ok(if ends { Added::Last } else { Added::More })
    }

    /// All data has arrived.
    fn end<U: Upcalls<P>>(self, am: &mut AmIo<'_, P, U>) -> Result<(), Fault> {
        let Self {
            length,
            target,
            cookie,
            ..
        } = self;
        end(am, target, length, cookie)
    }
}

/// A user's message of one packet without a header, as its dispatch callback gets it.
#[inline(always)]
pub(crate) fn whole(origin: Endpoint, (comm, tag): (u8, u32), data: &[u8]) -> Arrival<'_> {
    Arrival {
        origin,
        comm,
        tag,
        header: &[],
        length: data.len(),
        immediate: Some(data),
    }
}

/// Calls the dispatch callback `id` of a user's message of one packet, and disposes of the message as it returns. No other
/// message of its origin is partly here.
///
/// # Errors
/// As [`dispatch`] and [`end`].
#[inline(always)]
pub(crate) fn dispatch_whole<P: Platform, U: Upcalls<P>>(
    am: &mut AmIo<'_, P, U>,
    id: u8,
    arrival: &Arrival<'_>,
) -> Result<(), Fault> {
    match am.up.dispatch(id, arrival) {
        Some(Receive::Consumed) => Ok(()),
        receive => receive_whole(am, id, arrival, receive),
    }
}

/// Disposes of a user's message of one packet as its dispatch callback has returned. No other message of its origin is
/// partly here.
///
/// # Errors
/// As [`dispatch`] and [`end`].
#[inline(never)] // Keeps the path of consumed messages short.
pub(crate) fn receive_whole<P: Platform, U: Upcalls<P>>(
    am: &mut AmIo<'_, P, U>,
    id: u8,
    arrival: &Arrival<'_>,
    receive: Option<Receive<P, DoneId, DeferredId>>,
) -> Result<(), Fault> {
    am.io.platform().charge(Op::Store, 1);
    let payload = arrival.immediate.unwrap_or_default();
    let length = payload.len();
    match target(id, arrival, receive)? {
        Target::Nowhere => Ok(()),
        Target::Buffer { into, done } => {
            store(am, &into, 0, payload)?;
            deliver(am.up, done, Ok(()))
        }
        other => {
            let target = hold(am, other, (arrival.origin, length), None);
            store_at(am, &target, 0, payload)?;
            end(am, target, length, None)
        }
    }
}

/// As [`dispatch`], for an eager message: its data is held if its receive is deferred. `cookie` is to be acknowledged.
///
/// # Errors
/// As [`dispatch`].
fn dispatch_eager<P: Platform, U: Upcalls<P>>(
    am: &mut AmIo<'_, P, U>,
    id: u8,
    arrival: &Arrival<'_>,
    cookie: Option<(Endpoint, u32)>,
) -> Result<Target<P>, Fault> {
    let target = dispatch(am, id, arrival)?;
    Ok(hold(am, target, (arrival.origin, arrival.length), cookie))
}

/// Holds an eager message whose receive is deferred; returns the place for its data.
fn hold<P: Platform, U>(
    am: &mut AmIo<'_, P, U>,
    target: Target<P>,
    (origin, length): (Endpoint, usize),
    cookie: Option<(Endpoint, u32)>,
) -> Target<P> {
    let Target::Deferred { id, .. } = target else {
        return target;
    };
    let cookie = cookie.map(|(_, cookie)| cookie);
    let platform = &am.io.core.platform;
    let into = am.kept.hold(platform, id, (origin, cookie), length);
    Target::Deferred { id, into }
}

/// Calls the dispatch callback of a message; returns where the message goes.
///
/// # Errors
/// [`Error::UnknownDispatch`]; the error by which the callback refuses the message.
pub(crate) fn dispatch<P: Platform, U: Upcalls<P>>(
    am: &mut AmIo<'_, P, U>,
    id: u8,
    arrival: &Arrival<'_>,
) -> Result<Target<P>, Fault> {
    let receive = am.up.dispatch(id, arrival);
    target(id, arrival, receive)
}

/// The target of a message by the result of its dispatch callback.
fn target<P: Platform>(
    id: u8,
    arrival: &Arrival<'_>,
    receive: Option<Receive<P, DoneId, DeferredId>>,
) -> Result<Target<P>, Fault> {
    match receive {
        None => Err(Error::UnknownDispatch {
            id,
            origin: arrival.origin.task,
            length: arrival.length,
        }
        .into()),
        Some(Receive::Consumed) => Ok(Target::Nowhere),
        Some(Receive::Dropped) => Ok(Target::Refused),
        Some(Receive::Refused(error)) => Err(error),
        Some(Receive::Into { into, done }) => Ok(Target::of(arrival.length, into, done)),
        Some(Receive::Deferred(id)) => Ok(Target::Deferred { id, into: None }),
    }
}

/// Ends a message: all of it has been taken off the network, or nothing of it will come.
///
/// # Errors
/// [`Error::MessageTooLong`] when no done callback takes it.
pub(crate) fn end<P: Platform, U: Upcalls<P>>(
    am: &mut AmIo<'_, P, U>,
    target: Target<P>,
    length: usize,
    cookie: Option<(Endpoint, u32)>,
) -> Result<(), Fault> {
    let (done, result) = match target {
        Target::Nowhere => (None, Ok(())),
        Target::Refused => {
            return match cookie {
                Some((peer, cookie)) => tell(am, peer, Some(cookie), false),
                None => Ok(()),
            };
        }
        // The origin is told when the data is received.
        Target::Deferred { id, .. } => return arrived(am, id, Ok(())),
        Target::Buffer { done, .. } => (done, Ok(())),
        Target::TooLong { receive, done } => (
            done,
            Err(Error::MessageTooLong {
                message: length,
                receive,
            }
            .into()),
        ),
    };
    let delivered = deliver(am.up, done, result);
    if let Some((peer, cookie)) = cookie {
        am.acks.owe(&am.io.core, peer, cookie);
    }
    delivered
}

/// Copies payload to the target of its message, if it has a buffer.
fn store_at<P: Platform, U>(
    am: &AmIo<'_, P, U>,
    target: &Target<P>,
    offset: usize,
    payload: &[u8],
) -> Result<(), Fault> {
    match target {
        Target::Buffer { into, .. }
        | Target::Deferred {
            into: Some(into), ..
        } => store(am, into, offset, payload),
        _ => Ok(()),
    }
}

/// Copies payload to its place.
fn store<P: Platform, U>(
    am: &AmIo<'_, P, U>,
    into: &BufferRange<P::Buffer>,
    offset: usize,
    payload: &[u8],
) -> Result<(), Fault> {
    am.io.platform().charge_copy(Op::Copy, payload.len());
    Ok(into.write(offset, payload)?)
}

/// Ends a message with an error.
fn fail<P: Platform, U: Upcalls<P>>(
    am: &mut AmIo<'_, P, U>,
    target: Target<P>,
    error: Fault,
) -> Result<(), Fault> {
    let done = match target {
        Target::Nowhere | Target::Refused => None,
        Target::Buffer { done, .. } | Target::TooLong { done, .. } => done,
        Target::Deferred { id, .. } => return arrived(am, id, Err(error)),
    };
    deliver(am.up, done, Err(error))
}

/// A packet that does not continue its message.
pub(crate) fn out_of_order(
    origin: TaskId,
    field: &'static str,
    value: u64,
    expected: u64,
) -> Fault {
    Error::PacketOrder {
        origin,
        field,
        value,
        expected,
    }
    .into()
}

/// A malformed control message.
pub(crate) fn malformed(origin: TaskId, error: WireError) -> Fault {
    Error::ControlMessage {
        origin,
        message: error.message,
        field: error.field,
        value: error.value,
        expected: error.expected,
    }
    .into()
}
