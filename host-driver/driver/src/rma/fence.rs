// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fences (FN-1 to FN-8), put synchronisation and acknowledgements.
//!
//! A fence sends FENCE behind all earlier traffic of the context to the endpoint. Messages before it have been handled
//! there by then. The fence waits only for operations that may be under way without messages:
//!
//! - Puts of the context, which FENCE announces, and data that the endpoint gets from here. The endpoint sends a
//!   zero-length get: it follows all gets of the endpoint from here, through the same remote-get FIFO, and its
//!   zero-length put follows all puts to the endpoint, by their route. It must return.
//! - Gets and read-modify-writes of the context at the endpoint: a zero-length get from here follows them.
//!
//! Then the endpoint sends its owed acknowledgements, and FENCE_ACK behind them: two messages where nothing is under
//! way, at most six. Fences need no counts of operations. Besides their own records there is one word about puts under
//! way: to one endpoint, to several or to none. Puts before the last answered fence are not under way
//! ([`PutsUnderWay`](crate::refusal)).
//!
//! Where messages take shared memory, puts still take the network: FENCE takes both paths, and the endpoint goes on
//! when both copies have arrived. All else follows the messages, which are in order.
//!
//! Acknowledgements by the path rule are the exception to the order: as copies of packets to others they may be
//! overtaken by FENCE_ACK. The endpoint sends owed acknowledgements straight to the fence's origin, but copies may be
//! under way by then. So where that rule is in force, a fence also waits until no earlier operation, by its cookie,
//! waits for its acknowledgement.

use std::collections::{BTreeSet, VecDeque};

use gyre_note::{Context as NoteContext, FenceStep, Note};

use crate::ack::sender::AckSender;
use crate::core::Core;
use crate::cost::Op;
use crate::done_table::DoneId;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::flow::peers::PutsBy;
use crate::io::Io;
use crate::platform::Platform;
use crate::refusal::Refusals;
use crate::rma::descriptors::synchronise;
use crate::rma::gets::{Gets, Purpose};
use crate::sync::{Arc, lock};
use crate::task::TaskId;
use crate::transport::injection::{Finish, Payload};
use crate::transport::wire::{ControlMessage, Fence as FenceMessage, FenceAck};
use crate::upcalls::{Upcalls, deliver};

/// Fences that a fence of all endpoints keeps under way.
const WINDOW: usize = 16;

/// Capacity for records that is kept when no fence is under way.
const KEPT: usize = 4;

/// A fence at its origin.
struct Record {
    peer: Endpoint,
    answered: bool,
    own_gets_landed: bool,
    /// The cookie given last before it.
    last_cookie: u32,
    result: Result<(), Fault>,
    owner: Owner,
}

/// Owner of a fence.
#[derive(Clone, Copy)]
enum Owner {
    User(Option<DoneId>),
    /// Fence-all of this number.
    All(u32),
}

impl Owner {
    /// Fence `cookie` ends without a report of the puts before it.
    fn unanswered<P: Platform>(self, refusals: &mut Refusals<P>, cookie: u32) {
        refusals.under_way.unanswered(cookie);
        if let Self::All(number) = self {
            refusals.under_way.unanswered(number);
        }
    }
}

/// A fence of all endpoints.
struct AllRecord {
    next_task: u32,
    next_context: u8,
    under_way: usize,
    result: Result<(), Fault>,
    done: Option<DoneId>,
}

/// Records in the order of their fences' numbers: the first usually ends first.
struct Records<T>(VecDeque<(u32, T)>);

impl<T> Records<T> {
    fn new() -> Self {
        Self(VecDeque::new())
    }

    /// Place of the record with this number, or for it.
    fn place(&self, number: u32) -> Result<usize, usize> {
        match self.0.front() {
            Some((first, _)) if *first == number => Ok(0),
            _ => self.0.binary_search_by_key(&number, |(other, _)| *other),
        }
    }

    /// Keeps a record under an unused number.
    fn insert(&mut self, number: u32, record: T) {
        // Usually behind the others.
        let (Ok(place) | Err(place)) = self.place(number);
        self.0.insert(place, (number, record));
    }

    fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let place = self.place(number).ok()?;
        self.0.get_mut(place).map(|(_, record)| record)
    }

    fn remove(&mut self, number: u32) -> Option<T> {
        self.remove_if(number, |_| true)
    }

    /// Takes a record out if it `fits`.
    fn remove_if(&mut self, number: u32, fits: impl FnOnce(&T) -> bool) -> Option<T> {
        let place = self.place(number).ok()?;
        if !fits(&self.0[place].1) {
            return None;
        }
        let removed = match place {
            0 => self.0.pop_front(),
            _ => self.0.remove(place),
        };
        // Large capacity is given back with the last record.
        if self.0.is_empty() && self.0.capacity() > KEPT {
            self.0 = VecDeque::new();
        }
        removed.map(|(_, record)| record)
    }
}

/// The fences that a context has started and not finished.
pub(crate) struct Fences {
    single: Records<Record>,
    all: Records<AllRecord>,
    /// Fences of peers that have arrived by one path only.
    half: BTreeSet<(Endpoint, u32)>,
    last: u32,
}

/// Parts of the context that fences use.
pub(crate) struct FenceIo<'a, P: Platform> {
    pub io: &'a mut Io<P>,
    pub gets: &'a mut Gets<P>,
    pub refusals: &'a mut Refusals<P>,
}

impl<P: Platform> FenceIo<'_, P> {
    fn reborrow(&mut self) -> FenceIo<'_, P> {
        FenceIo {
            io: self.io,
            gets: self.gets,
            refusals: self.refusals,
        }
    }
}

impl Fences {
    /// None.
    pub fn new() -> Self {
        Self {
            single: Records::new(),
            all: Records::new(),
            half: BTreeSet::new(),
            last: 0,
        }
    }

    /// Fences that have not ended.
    pub fn len(&self) -> usize {
        self.single.0.len() + self.all.0.len() + self.half.len()
    }

    /// Bytes of the records of fences that have not ended.
    pub fn bytes(&self) -> usize {
        self.single.0.len() * size_of::<(u32, Record)>()
            + self.all.0.len() * size_of::<(u32, AllRecord)>()
            + self.half.len() * size_of::<(Endpoint, u32)>()
    }

    /// Gives all fences up.
    pub fn close(&mut self) {
        self.single.0.clear();
        self.all.0.clear();
        self.half.clear();
    }

    fn number(&mut self) -> u32 {
        loop {
            self.last = self.last.wrapping_add(1);
            let last = self.last;
            if self.single.place(last).is_err() && self.all.place(last).is_err() {
                return last;
            }
        }
    }
}

impl Fences {
    /// FENCE.
    ///
    /// # Errors
    /// Errors of a send.
    pub fn start<P: Platform>(
        &mut self,
        with: FenceIo<'_, P>,
        peer: Endpoint,
        done: Option<DoneId>,
    ) -> Result<(), Fault> {
        self.open(with, peer, Owner::User(done))
    }

    fn open<P: Platform>(
        &mut self,
        with: FenceIo<'_, P>,
        peer: Endpoint,
        owner: Owner,
    ) -> Result<(), Fault> {
        let FenceIo { io, gets, refusals } = with;
        let cookie = self.number();
        let own_gets_landed = !gets.are_under_way(peer);
        self.single.insert(
            cookie,
            Record {
                peer,
                answered: false,
                own_gets_landed,
                last_cookie: lock(&io.core.cookies).last(),
                result: Ok(()),
                owner,
            },
        );
        if !own_gets_landed {
            synchronise(gets, peer, PutsBy(None), Purpose::OwnFence { cookie });
        }
        let message = FenceMessage {
            cookie,
            number: refusals.close(),
            puts: refusals.under_way.concern(peer).into(),
        };
        refusals.under_way.fence(peer, cookie);
        io.core.note(noted(peer, cookie, FenceStep::Begun));
        let sent = send(io, peer, message);
        if sent.is_err() {
            // The requester is answered now; the get of the fence returns to no entry.
            self.single.remove(cookie);
            owner.unanswered(refusals, cookie);
        }
        sent
    }

    /// Fence of all endpoints.
    ///
    /// # Errors
    /// Errors of a send.
    pub fn start_all<P: Platform>(
        &mut self,
        with: FenceIo<'_, P>,
        done: Option<DoneId>,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let number = self.number();
        with.refusals.under_way.fence_all(number);
        let record = AllRecord {
            next_task: 0,
            next_context: 0,
            under_way: 0,
            result: Ok(()),
            done,
        };
        self.continue_all(with, number, record, up)
    }

    /// Starts fences up to the window; ends the fence-all when none is left.
    fn continue_all<P: Platform>(
        &mut self,
        mut with: FenceIo<'_, P>,
        number: u32,
        mut record: AllRecord,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let core = Arc::clone(&with.io.core);
        let config = &core.layout.config;
        while record.under_way < WINDOW && (record.next_task as usize) < config.tasks.len() {
            let peer = core
                .layout
                .endpoint(TaskId(record.next_task), record.next_context)
                .inspect_err(|_| with.refusals.under_way.unanswered(number))?;
            record.next_context += 1;
            if record.next_context == config.contexts {
                record.next_context = 0;
                record.next_task += 1;
            }
            match self.open(with.reborrow(), peer, Owner::All(number)) {
                Ok(()) => record.under_way += 1,
                // The other endpoints are fenced nevertheless.
                Err(error) => record.result = record.result.and(Err(error)),
            }
        }
        if record.under_way == 0 {
            with.refusals.under_way.answered(number);
            return deliver(up, record.done, record.result);
        }
        self.all.insert(number, record);
        Ok(())
    }

    /// Handles FENCE: all messages of `peer` before it have been handled here. Its earlier puts, if any may be under
    /// way, and data of gets from it are in memory once a zero-length get has returned.
    ///
    /// # Errors
    /// [`Error::UnknownTask`]; those of the bus and of a send.
    pub fn requested<P: Platform>(
        &mut self,
        with: FenceIo<'_, P>,
        acks: &mut AckSender,
        peer: Endpoint,
        message: FenceMessage,
        puts: Option<PutsBy>,
    ) -> Result<(), Fault> {
        let FenceMessage { cookie, number, .. } = message;
        let shares = with.io.shares_memory(peer)?;
        if shares && !self.half.remove(&(peer, cookie)) {
            self.half.insert((peer, cookie));
            return Ok(());
        }
        let core = &with.io.core;
        core.note(noted(peer, cookie, FenceStep::Requested));
        if puts.is_none() && with.gets.awaited_by().all(|other| other != peer) {
            return answer(with, acks, peer, (cookie, number), Ok(()));
        }
        core.note(noted(peer, cookie, FenceStep::Synchronising));
        let puts = puts.unwrap_or(PutsBy(None));
        let purpose = Purpose::PeerFence { cookie, number };
        synchronise(with.gets, peer, puts, purpose);
        Ok(())
    }

    /// Fails fence `cookie`, whose message could not be sent.
    ///
    /// # Errors
    /// `error` where no done callback takes it; errors of a send.
    pub fn fail<P: Platform>(
        &mut self,
        with: FenceIo<'_, P>,
        cookie: u32,
        error: Fault,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        if let Some(record) = self.single.get_mut(cookie) {
            // No response will come, and later refusals of the peer are ignored.
            record.answered = true;
            record.own_gets_landed = true;
            record.result = Err(error);
            record.owner.unanswered(with.refusals, cookie);
        }
        self.end(with, cookie, up)
    }

    /// Fails unanswered fences of `peer`, which has refused messages.
    ///
    /// # Errors
    /// As [`fail`](Self::fail).
    pub fn fail_all_of<P: Platform>(
        &mut self,
        mut with: FenceIo<'_, P>,
        peer: Endpoint,
        error: &Fault,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let mut result = Ok(());
        for cookie in self.cookies(|record| record.peer == peer && !record.answered) {
            result = result.and(self.fail(with.reborrow(), cookie, error.clone(), up));
        }
        result
    }

    fn cookies(&self, holds: impl Fn(&Record) -> bool) -> Vec<u32> {
        let records = self.single.0.iter().filter(|(_, record)| holds(record));
        records.map(|(cookie, _)| *cookie).collect()
    }

    /// Notes that the gets of this context before its fence `cookie` have landed.
    ///
    /// # Errors
    /// As [`fail`](Self::fail).
    pub fn own_gets_landed<P: Platform>(
        &mut self,
        with: FenceIo<'_, P>,
        cookie: u32,
        result: Result<(), Fault>,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        if let Some(record) = self.single.get_mut(cookie) {
            let step = FenceStep::OwnGetsLanded;
            with.io.core.note(noted(record.peer, cookie, step));
            record.own_gets_landed = true;
            record.result = record.result.clone().and(result);
        }
        self.end(with, cookie, up)
    }

    /// Handles FENCE_ACK.
    ///
    /// # Errors
    /// [`Error::UnknownCookie`]; as [`fail`](Self::fail).
    pub fn answered<P: Platform>(
        &mut self,
        with: FenceIo<'_, P>,
        peer: Endpoint,
        message: FenceAck,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        match self.single.get_mut(message.cookie) {
            Some(record) if record.peer == peer && !record.answered => {
                let step = FenceStep::Answered;
                with.io.core.note(noted(peer, message.cookie, step));
                record.answered = true;
                let outcome = match message.outcome {
                    FenceAck::DONE => Ok(()),
                    FenceAck::REFUSED => Err(Error::PutsRefused { peer: peer.task }),
                    _ => Err(Error::FenceFailed { peer: peer.task }),
                };
                match outcome {
                    // Puts may still be under way.
                    Err(Error::FenceFailed { .. }) => {
                        record.owner.unanswered(with.refusals, message.cookie);
                    }
                    _ => with.refusals.under_way.answered(message.cookie),
                }
                if let Err(error) = outcome
                    && record.result.is_ok()
                {
                    record.result = Err(error.into());
                }
            }
            // The fence may have been given up.
            None if lock(&with.io.core.cookies).has_given_up(peer) => return Ok(()),
            _ => {
                return Err(Error::UnknownCookie {
                    origin: peer.task,
                    cookie: message.cookie,
                }
                .into());
            }
        }
        self.end(with, message.cookie, up)
    }

    /// Ends fences that waited only for acknowledgements, which have come behind the fence's own.
    ///
    /// # Errors
    /// As [`fail`](Self::fail).
    pub fn end_all_of<P: Platform>(
        &mut self,
        mut with: FenceIo<'_, P>,
        peer: Endpoint,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let mut result = Ok(());
        for cookie in self.cookies(|record| record.peer == peer) {
            result = result.and(self.end(with.reborrow(), cookie, up));
        }
        result
    }

    fn end<P: Platform>(
        &mut self,
        with: FenceIo<'_, P>,
        cookie: u32,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let is_over = |record: &Record| {
            record.answered && record.own_gets_landed && is_acknowledged(&with.io.core, record)
        };
        let Some(record) = self.single.remove_if(cookie, is_over) else {
            return Ok(());
        };
        let step = match record.result {
            Ok(()) => FenceStep::Ended,
            Err(_) => FenceStep::Failed,
        };
        with.io.core.note(noted(record.peer, cookie, step));
        match record.owner {
            Owner::User(done) => deliver(up, done, record.result),
            Owner::All(number) => {
                let Some(mut all) = self.all.remove(number) else {
                    return Ok(());
                };
                all.under_way -= 1;
                all.result = all.result.and(record.result);
                self.continue_all(with, number, all, up)
            }
        }
    }
}

/// Note of a step of fence `cookie` with `peer`.
#[inline(always)]
fn noted(peer: Endpoint, cookie: u32, step: FenceStep) -> impl FnOnce(NoteContext) -> Note {
    move |at| Note::Fence {
        at,
        peer: peer.into(),
        cookie,
        step,
    }
}

/// Whether no operation before a fence waits for an acknowledgement that may come behind the fence's.
fn is_acknowledged<P: Platform>(core: &Core<P>, record: &Record) -> bool {
    !core.layout.config.ack.copies()
        || record.result.is_err()
        || !lock(&core.cookies).waits_for(record.peer, record.last_cookie)
}

/// Sends FENCE behind all traffic to `peer`, by each path that the traffic may have taken.
fn send<P: Platform>(io: &mut Io<P>, peer: Endpoint, message: FenceMessage) -> Result<(), Fault> {
    let finish = Finish::Fence {
        cookie: message.cookie,
    };
    if io.shares_memory(peer)? {
        io.platform().charge(Op::Control, 1);
        let label = io.lanes.control_label(ControlMessage::Fence);
        let payload = || Payload::Staged(message.encode());
        io.send_descriptor(peer, label, payload(), Finish::Control)?;
        return io.send_message(peer, label, payload(), finish);
    }
    io.send_own(peer, ControlMessage::Fence, message.encode(), finish)
}

/// Answers the fence of `peer`, before which all has completed here: sends owed acknowledgements, then FENCE_ACK.
///
/// # Errors
/// `result`; those of a send.
pub(crate) fn answer<P: Platform>(
    with: FenceIo<'_, P>,
    acks: &mut AckSender,
    peer: Endpoint,
    (cookie, number): (u32, u32),
    result: Result<(), Fault>,
) -> Result<(), Fault> {
    let FenceIo { io, gets, refusals } = with;
    io.core.note(noted(peer, cookie, FenceStep::Answering));
    acks.flush(io, peer)?;
    let refused = refusals.before_fence(io, gets, peer, number);
    let outcome = match (&result, &refused) {
        (Ok(()), Ok(false)) => FenceAck::DONE,
        (Ok(()), Ok(true)) => FenceAck::REFUSED,
        _ => FenceAck::FAILED,
    };
    let message = FenceAck { cookie, outcome };
    io.send_control(peer, ControlMessage::FenceAck, message.encode())?;
    result.and(refused.map(|_| ()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fn6_records_are_found_by_number_after_a_wrap() {
        // The older of two is inserted behind the newer one, as a fence of all endpoints is.
        for first in [1, u32::MAX - 2, u32::MAX] {
            let number = |n: u32| first.wrapping_add(n);
            let mut records = Records::new();
            for n in [0, 1, 2, 3] {
                records.insert(number(n), n);
            }
            assert_eq!(records.remove(number(0)), Some(0));
            records.insert(number(0), 10);
            records.insert(number(4), 4);
            for n in [1, 2, 3, 4] {
                assert_eq!(records.get_mut(number(n)).copied(), Some(n), "{first}");
            }
            assert_eq!(records.remove_if(number(2), |n| *n != 2), None);
            for n in [2, 1, 0, 4, 3] {
                let record = if n == 0 { 10 } else { n };
                assert_eq!(records.remove(number(n)), Some(record), "{first}");
                assert_eq!(records.remove(number(n)), None);
            }
            assert_eq!(records.0.len(), 0);
        }
    }

    #[test]
    fn fn6_every_kind_of_fence_counts_until_it_has_ended() {
        let peer = Endpoint {
            client: 0,
            context: 0,
            task: TaskId(0),
        };
        let mut fences = Fences::new();
        fences.half.insert((peer, 1));
        assert_eq!(fences.len(), 1, "a peer's, of which half has come");
        let half = size_of::<(Endpoint, u32)>();
        assert_eq!(fences.bytes(), half);
        let all = AllRecord {
            next_task: 0,
            next_context: 0,
            under_way: 0,
            result: Ok(()),
            done: None,
        };
        fences.all.insert(2, all);
        assert_eq!(fences.len(), 2, "one of all endpoints besides");
        let all = size_of::<(u32, AllRecord)>();
        assert_eq!(fences.bytes(), half + all);
        let single = Record {
            peer,
            answered: false,
            own_gets_landed: false,
            last_cookie: 0,
            result: Ok(()),
            owner: Owner::All(2),
        };
        fences.single.insert(3, single);
        let single = size_of::<(u32, Record)>();
        assert_eq!((fences.len(), fences.bytes()), (3, half + all + single));
        fences.close();
        assert_eq!((fences.len(), fences.bytes()), (0, 0));
    }
}
