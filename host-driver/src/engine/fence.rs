//! Fences (FN-1 to FN-8), put synchronisation and acknowledgements.
//!
//! A fence sends FENCE behind everything that the context has sent to the endpoint. The endpoint then
//! sends a get of no bytes: it follows all gets of the endpoint from here, through the same remote-get
//! FIFO, and its put of no bytes follows all puts to the endpoint, by the way that they took. When that has come back, the
//! endpoint sends what acknowledgements it owes, and FENCE_ACK behind them. Meanwhile a get of no bytes
//! from here follows the gets that the context has sent itself. Nothing is counted for fences: their own
//! records are all there is.
//!
//! Where messages take shared memory, puts still take the network: FENCE goes both ways, and the endpoint
//! goes on when both have come. Everything else follows the messages, which are in order.
//!
//! Acknowledgements that came by the path rule are the exception to the order: they were copies of packets to
//! others, and FENCE_ACK may have overtaken them. The endpoint sends what it owes when it answers straight to
//! the fence's origin, but copies may be on their way by then. So where that rule is in force a fence also
//! waits until none of the operations before it waits for its acknowledgement, which their cookies tell.

use std::collections::{BTreeMap, BTreeSet};

use super::flows::PutsBy;
use super::{Engine, deliver};
use crate::ack::{AckPacket, AckStats};
use crate::context::{Context, Progress};
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::gets::Purpose;
use crate::instruction::DoneFn;
use crate::platform::Platform;
use crate::sync::short;
use crate::task::TaskId;
use crate::wire::{Fence as FenceMessage, FenceAck, System, encode_cookies, encode_path_ack};

/// Fences that a fence of all endpoints keeps under way.
const WINDOW: usize = 16;

/// A fence at its origin.
struct Record<P: Platform> {
    peer: Endpoint,
    answered: bool,
    own_gets_landed: bool,
    /// The cookie given last before it.
    last_cookie: u32,
    result: Result<(), Fault>,
    owner: Owner<P>,
}

/// Whom the end of a fence concerns.
enum Owner<P: Platform> {
    User(Option<DoneFn<P>>),
    /// Fence-all of this number.
    All(u32),
}

/// A fence of all endpoints.
struct AllRecord<P: Platform> {
    next_task: u32,
    next_context: u8,
    under_way: usize,
    result: Result<(), Fault>,
    done: Option<DoneFn<P>>,
}

/// The fences that a context has started and not finished.
pub(super) struct Fences<P: Platform> {
    single: BTreeMap<u32, Record<P>>,
    all: BTreeMap<u32, AllRecord<P>>,
    /// Fences of peers that have come one way and not the other.
    half: BTreeSet<(Endpoint, u32)>,
    last: u32,
}

impl<P: Platform> Fences<P> {
    pub fn new() -> Self {
        Self {
            single: BTreeMap::new(),
            all: BTreeMap::new(),
            half: BTreeSet::new(),
            last: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.single.len() + self.all.len() + self.half.len()
    }

    /// Gives all fences up; their callbacks go to `abandoned`.
    pub fn close(&mut self, abandoned: &mut Vec<DoneFn<P>>) {
        for record in core::mem::take(&mut self.single).into_values() {
            if let Owner::User(done) = record.owner {
                abandoned.extend(done);
            }
        }
        let all = core::mem::take(&mut self.all).into_values();
        abandoned.extend(all.filter_map(|record| record.done));
        self.half.clear();
    }

    fn number(&mut self) -> u32 {
        loop {
            self.last = self.last.wrapping_add(1);
            let last = self.last;
            if !self.single.contains_key(&last) && !self.all.contains_key(&last) {
                return last;
            }
        }
    }
}

impl<P: Platform> Engine<P> {
    pub(super) fn start_fence(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        done: Option<DoneFn<P>>,
    ) -> Result<(), Fault> {
        self.open_fence(context, peer, Owner::User(done))
    }

    fn open_fence(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        owner: Owner<P>,
    ) -> Result<(), Fault> {
        let cookie = self.fences.number();
        self.fences.single.insert(
            cookie,
            Record {
                peer,
                answered: false,
                own_gets_landed: false,
                last_cookie: short(&context.shared().cookies).last(),
                result: Ok(()),
                owner,
            },
        );
        self.synchronise(peer, PutsBy(None), Purpose::OwnFence { cookie });
        let number = self.refusals.close();
        self.send_fence(context, peer, FenceMessage { cookie, number })
    }

    pub(super) fn start_fence_all(
        &mut self,
        context: &Context<P>,
        done: Option<DoneFn<P>>,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let number = self.fences.number();
        let record = AllRecord {
            next_task: 0,
            next_context: 0,
            under_way: 0,
            result: Ok(()),
            done,
        };
        self.continue_fence_all(context, number, record, progress)
    }

    /// Starts fences up to the window; ends the fence-all when none is left.
    fn continue_fence_all(
        &mut self,
        context: &Context<P>,
        number: u32,
        mut record: AllRecord<P>,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let config = &context.shared().plan.config;
        while record.under_way < WINDOW && (record.next_task as usize) < config.tasks.len() {
            let task = TaskId(record.next_task);
            let peer = context.endpoint(task, record.next_context)?;
            self.open_fence(context, peer, Owner::All(number))?;
            record.under_way += 1;
            record.next_context += 1;
            if record.next_context == config.contexts {
                record.next_context = 0;
                record.next_task += 1;
            }
        }
        if record.under_way == 0 {
            return deliver(context, record.done, record.result, progress);
        }
        self.fences.all.insert(number, record);
        Ok(())
    }

    /// FENCE has come: everything that `peer` sent before it has been handled here, or is in memory once
    /// a get of no bytes has come back.
    pub(super) fn peer_fence(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        message: FenceMessage,
        puts: PutsBy,
    ) -> Result<(), Fault> {
        let FenceMessage { cookie, number } = message;
        let shares = self.shares_memory(context, peer)?;
        if shares && !self.fences.half.remove(&(peer, cookie)) {
            self.fences.half.insert((peer, cookie));
        } else {
            self.synchronise(peer, puts, Purpose::PeerFence { cookie, number });
        }
        Ok(())
    }

    /// The message of fence `cookie` could not be sent.
    pub(super) fn fail_fence(
        &mut self,
        context: &Context<P>,
        cookie: u32,
        error: Fault,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        if let Some(record) = self.fences.single.get_mut(&cookie) {
            // No answer will come, and what the peer refuses of the rest says nothing any more.
            record.answered = true;
            record.own_gets_landed = true;
            record.result = Err(error);
        }
        self.end_fence(context, cookie, progress)
    }

    /// Messages to `peer` were refused: fences of it that have not been answered will not be.
    pub(super) fn fail_fences_of(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        error: &Fault,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let unanswered = self
            .fences
            .single
            .iter()
            .filter(|(_, record)| record.peer == peer && !record.answered);
        let cookies: Vec<u32> = unanswered.map(|(&cookie, _)| cookie).collect();
        let mut result = Ok(());
        for cookie in cookies {
            let ended = self.fail_fence(context, cookie, error.clone(), progress);
            result = result.and(ended);
        }
        result
    }

    /// Everything before the fence of `peer` has completed here: sends what is owed, then the answer.
    pub(super) fn answer_fence(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        (cookie, number): (u32, u32),
        result: Result<(), Fault>,
    ) -> Result<(), Fault> {
        for packet in self.acks.flush(peer) {
            self.send_ack(context, packet)?;
        }
        let refused = self.refused_before_fence(context, peer, number);
        let outcome = match (&result, &refused) {
            (Ok(()), Ok(false)) => FenceAck::DONE,
            (Ok(()), Ok(true)) => FenceAck::REFUSED,
            _ => FenceAck::FAILED,
        };
        let message = FenceAck { cookie, outcome };
        self.send_control(context, peer, System::FenceAck, message.encode())?;
        result.and(refused.map(|_| ()))
    }

    /// The gets of this context before its fence `cookie` have landed.
    pub(super) fn own_gets_landed(
        &mut self,
        context: &Context<P>,
        cookie: u32,
        result: Result<(), Fault>,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        if let Some(record) = self.fences.single.get_mut(&cookie) {
            record.own_gets_landed = true;
            record.result = record.result.clone().and(result);
        }
        self.end_fence(context, cookie, progress)
    }

    /// FENCE_ACK has come.
    pub(super) fn fence_answered(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        message: FenceAck,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        match self.fences.single.get_mut(&message.cookie) {
            Some(record) if record.peer == peer && !record.answered => {
                record.answered = true;
                let outcome = match message.outcome {
                    FenceAck::DONE => Ok(()),
                    FenceAck::REFUSED => Err(Error::PutsRefused { peer: peer.task }),
                    _ => Err(Error::FenceFailed { peer: peer.task }),
                };
                if let Err(error) = outcome
                    && record.result.is_ok()
                {
                    record.result = Err(error.into());
                }
            }
            // It may have been given up.
            None if short(&context.shared().cookies).has_given_up(peer) => return Ok(()),
            _ => {
                return Err(Error::UnknownCookie {
                    origin: peer.task,
                    cookie: message.cookie,
                }
                .into());
            }
        }
        self.end_fence(context, message.cookie, progress)
    }

    /// Acknowledgements have come as a copy: fences that waited for them alone end.
    pub(super) fn end_fences_of(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let of_peer = self
            .fences
            .single
            .iter()
            .filter(|(_, record)| record.peer == peer);
        let cookies: Vec<u32> = of_peer.map(|(&cookie, _)| cookie).collect();
        let mut result = Ok(());
        for cookie in cookies {
            let ended = self.end_fence(context, cookie, progress);
            result = result.and(ended);
        }
        result
    }

    fn end_fence(
        &mut self,
        context: &Context<P>,
        cookie: u32,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let copies = context.shared().plan.config.ack.copies();
        let acknowledged = |record: &Record<P>| {
            !copies
                || record.result.is_err()
                || !short(&context.shared().cookies).waits_for(record.peer, record.last_cookie)
        };
        let over = self.fences.single.get(&cookie).is_some_and(|record| {
            record.answered && record.own_gets_landed && acknowledged(record)
        });
        let Some(record) = over.then(|| self.fences.single.remove(&cookie)).flatten() else {
            return Ok(());
        };
        match record.owner {
            Owner::User(done) => deliver(context, done, record.result, progress),
            Owner::All(number) => {
                let Some(mut all) = self.fences.all.remove(&number) else {
                    return Ok(());
                };
                all.under_way -= 1;
                all.result = all.result.and(record.result);
                self.continue_fence_all(context, number, all, progress)
            }
        }
    }

    /// Counts of the acknowledgement dispatcher.
    pub(crate) fn ack_stats(&self) -> AckStats {
        self.acks.stats()
    }

    /// Owes `peer` the acknowledgement of `cookie`.
    pub(super) fn owe(&mut self, context: &Context<P>, peer: Endpoint, cookie: u32) {
        let before = self.acks.stats().looked_at;
        self.acks.enqueue(peer, cookie);
        self.charge_acks(context, before);
    }

    /// Charges a step of the dispatcher that began when it had looked at `before` recipients.
    fn charge_acks(&self, context: &Context<P>, before: u64) {
        let looked_at = self.acks.stats().looked_at - before;
        context.platform().charge(Op::Acknowledge, 1 + looked_at);
    }

    /// One iteration of the acknowledgement dispatcher.
    pub(super) fn acknowledge(&mut self, context: &Context<P>) -> Result<(), Fault> {
        if self.acks.is_empty() {
            return Ok(());
        }
        let before = self.acks.stats().looked_at;
        let packets = self.acks.iterate();
        self.charge_acks(context, before);
        for packet in packets {
            self.send_ack(context, packet)?;
        }
        Ok(())
    }

    fn send_ack(&mut self, context: &Context<P>, packet: AckPacket) -> Result<(), Fault> {
        if packet.on_the_way.is_empty() {
            let payload = encode_cookies(&packet.cookies);
            return self.send_control(context, packet.peer, System::Ack, payload);
        }
        let tasks = packet
            .recipients()
            .map(|(peer, cookies)| (peer.task, cookies));
        let payload = encode_path_ack(tasks);
        self.send_control(context, packet.peer, System::PathAck, payload)
    }
}
