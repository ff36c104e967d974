// SPDX-License-Identifier: MIT OR Apache-2.0
//! Engine of a context, which `advance` runs: its FIFOs, the protocols over them, and the messages that are arriving.
//!
//! [`turn`] is the only loop: events of the hardware go to their protocol, the protocol sends through [`Io`] or ends an
//! operation, and [`Upcalls`](crate::upcalls::Upcalls) calls its done callback.

mod close;
mod end;
mod open;
mod origins;
mod receive;
mod start;
mod turn;

pub(crate) use open::Parts;

use self::origins::Origins;
use crate::ack::AckStats;
use crate::ack::sender::AckSender;
use crate::am::AmIo;
use crate::am::assembly::Assemblies;
use crate::am::deferred_messages::{DeferredStats, KeptMessages};
use crate::collnet::state::Collnet;
use crate::core::Core;
use crate::error::{Error, Fault};
use crate::flow::peers::Flows;
use crate::io::Io;
use crate::platform::Platform;
use crate::refusal::Refusals;
use crate::rma::fence::{FenceIo, Fences};
use crate::rma::gets::{Gets, Landed};
use crate::rma::target_counter::TargetCounters;
use crate::sync::Arc;
use crate::transport::injection::Lane;
use crate::transport::lanes::Lanes;
use crate::transport::reception::ReceptionFifo;
use crate::transport::remote_get_fifo::RemoteGetFifo;
use crate::transport::shared_memory::{EndpointTable, Inbox};

/// The part of a context that one thread at a time works on.
pub(crate) struct Engine<P: Platform> {
    core: Arc<Core<P>>,
    io: Io<P>,
    remote_get: RemoteGetFifo<P>,
    reception: ReceptionFifo<P>,
    /// Messages of contexts of the node, for a client that has them share memory.
    inbox: Option<Inbox<P>>,
    /// The node's endpoint table, until the context is destroyed.
    table: Option<Arc<EndpointTable<P>>>,
    assemblies: Assemblies<P>,
    gets: Gets<P>,
    /// Byte counters that the program waits for.
    counters: TargetCounters<P>,
    acks: AckSender,
    /// Messages whose receives are deferred.
    kept: KeptMessages<P>,
    fences: Fences,
    refusals: Refusals<P>,
    collnet: Collnet<P>,
    /// The last turns may have changed the following fields, and [`unfinished`](Self::unfinished).
    changed: bool,
    /// Result of [`can_start`](Self::can_start) then.
    startable: bool,
    /// Result of [`has_unfinished`](Self::has_unfinished) then.
    unfinished: bool,
    /// An error of a start at a post, for the next turn to return.
    unreported: Option<Fault>,
    /// Nothing is under way: packets, wake-ups and posts apart, the next turn will find nothing.
    quiet: bool,
    /// It is quiet, and packets come from the network alone.
    quick: bool,
    /// Completions have not been looked at since the wake cause was cleared.
    completions_unseen: bool,
    /// Turns since packets were last looked for.
    since_poll: u32,
    /// Turns since completions were last looked for.
    since_completions: u32,
    /// Polls in a row that found nothing.
    idle_polls: u32,
    /// Origins of recent packets.
    origins: Origins,
    /// Payload of a packet while it is handled.
    payload: Box<[u8]>,
    /// Empty between turns; its memory is reused.
    landed: Vec<Landed>,
}

/// Unfinished work of a context: the numbers of [`Error::WorkLeft`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Left {
    waiting: usize,
    in_flight: usize,
    arriving: usize,
    operations: usize,
}

impl Left {
    /// The error, with `posted` instructions.
    pub fn error(self, posted: usize) -> Error {
        Error::WorkLeft {
            posted,
            waiting: self.waiting,
            in_flight: self.in_flight,
            arriving: self.arriving,
            operations: self.operations,
        }
    }
}

impl<P: Platform> Engine<P> {
    /// Unfinished work, with `unacknowledged` sends and puts; `None` when nothing is left.
    pub fn left(&self, unacknowledged: usize) -> Option<Left> {
        let held = self.io.flows.as_ref().map_or(0, Flows::held);
        let left = Left {
            waiting: self.io.waiting() + self.collnet.waiting() + held,
            in_flight: self.in_flight(),
            arriving: self.assemblies.len(),
            operations: self.gets.len()
                + self.counters.len()
                + self.fences.len()
                + self.collnet.len()
                + self.acks.unsent()
                + unacknowledged,
        };
        let nothing = left.waiting + left.in_flight + left.arriving + left.operations == 0;
        (!nothing).then_some(left)
    }

    /// Whether nothing is left, given the number of `unacknowledged` sends and puts.
    pub fn is_at_rest(&self, unacknowledged: usize) -> bool {
        // Tests the most likely cases first.
        unacknowledged == 0
            && self.in_flight() == 0
            && self.io.waiting() == 0
            && self.assemblies.is_empty()
            && self.gets.len() == 0
            && self.counters.len() + self.fences.len() + self.acks.unsent() == 0
            && (self.collnet.is_unused() && self.io.flows.is_none()
                || self.left(unacknowledged).is_none())
    }

    /// Whether descriptors of messages, puts and gets have not completed.
    #[inline(always)]
    pub fn is_sending(&self) -> bool {
        self.io.lanes.in_flight() > 0
    }

    /// Descriptors handed to the DMA engine and not completed.
    pub fn in_flight(&self) -> usize {
        let lanes = self.io.lanes.in_flight();
        match self.collnet.is_unused() {
            true => lanes,
            false => lanes + self.collnet.in_flight(),
        }
    }

    /// Whether something waits for room.
    fn can_start(&self) -> bool {
        let waits = |lane: &Lane<P>| lane.waiting() > 0;
        !self.io.completed.is_empty()
            || self.gets.waiting() > 0
            || self.io.lanes.waiting() > 0
            || self.collnet.any(waits)
            || self.io.shared.as_ref().is_some_and(|s| s.waiting() > 0)
    }

    /// Whether the last turns may have changed the result of [`unfinished`](Self::unfinished).
    pub fn has_changed(&self) -> bool {
        self.changed
    }

    /// Whether the last turn left something waiting to be started.
    pub fn is_startable(&self) -> bool {
        self.startable
    }

    /// Whether the last turn left something to do that no wake-up will announce.
    pub fn unfinished(&self) -> bool {
        self.unfinished
    }

    /// Whether there is something to do that no wake-up will announce.
    fn has_unfinished(&self) -> bool {
        self.completions_unseen
            || !self.acks.is_empty()
            || self.collnet.can_start()
            || self.gets.has_refused()
            || self.refusals.unseen()
    }

    /// Counts of the acknowledgement dispatcher.
    pub fn ack_stats(&self) -> AckStats {
        self.acks.stats()
    }

    /// Bytes of the state of fences.
    pub fn fence_bytes(&self) -> usize {
        self.fences.bytes() + self.gets.fence_bytes()
    }

    /// Counts of messages whose receives are deferred.
    pub fn deferred_stats(&self) -> DeferredStats {
        self.kept.stats()
    }

    /// The injection FIFOs.
    pub fn lanes(&self) -> Arc<Lanes<P>> {
        Arc::clone(&self.io.lanes)
    }

    /// The parts that active messages use.
    fn am<'a, U>(&'a mut self, up: &'a mut U) -> AmIo<'a, P, U> {
        self.parts(up).2
    }

    /// The arriving messages, and the parts that they use.
    fn assemblies<'a, U>(&'a mut self, up: &'a mut U) -> (&'a mut Assemblies<P>, AmIo<'a, P, U>) {
        let (assemblies, _, am) = self.parts(up);
        (assemblies, am)
    }

    /// The gets, and the parts that active messages use.
    fn gets<'a, U>(&'a mut self, up: &'a mut U) -> (&'a mut Gets<P>, AmIo<'a, P, U>) {
        let (_, gets, am) = self.parts(up);
        (gets, am)
    }

    #[inline(always)]
    fn parts<'a, U>(
        &'a mut self,
        up: &'a mut U,
    ) -> (&'a mut Assemblies<P>, &'a mut Gets<P>, AmIo<'a, P, U>) {
        let am = AmIo {
            io: &mut self.io,
            acks: &mut self.acks,
            kept: &mut self.kept,
            up,
        };
        (&mut self.assemblies, &mut self.gets, am)
    }

    /// The fences, and the parts that they use.
    fn fences(&mut self) -> (&mut Fences, FenceIo<'_, P>) {
        let with = FenceIo {
            io: &mut self.io,
            gets: &mut self.gets,
            refusals: &mut self.refusals,
        };
        (&mut self.fences, with)
    }
}
