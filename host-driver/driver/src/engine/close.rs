// SPDX-License-Identifier: MIT OR Apache-2.0
//! End of a context: tells its peers and gives its resources of the node back.

use std::collections::BTreeMap;

use gyre_layout::{ErrorReason, Kind, MAX_PAYLOAD_BYTES};

use super::Engine;
use crate::endpoint::Endpoint;
use crate::error::Fault;
use crate::platform::Platform;
use crate::sync::lock;
use crate::transport::envelope::Envelope;
use crate::transport::reception::Packet;
use crate::transport::registers;
use crate::transport::wire::{ControlMessage, FIRST_CONTROL, MessagesRefused};
use crate::upcalls::Upcalls;

/// Polls in which the last messages of a context must leave its injection FIFOs.
const LAST_LOOKS: u32 = 256;

impl<P: Platform> Engine<P> {
    /// Gives the resources back, and tells the peers that wait for the context. Unfinished work, with `posted`
    /// instructions, is given up: its done callbacks are left to the interface. Memory that the DMA engine or a peer
    /// may still write is leaked rather than reused.
    ///
    /// # Errors
    /// [`Error::WorkLeft`](crate::Error::WorkLeft) when work was given up; errors of the node. The context is closed in
    /// either case.
    pub fn close(&mut self, posted: usize, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        let (_, mut outcome) = self.io.lanes.poll(&mut self.io.completed);
        outcome = outcome.and(self.run_completions(up));
        // Owed acknowledgements count as unfinished work, though they are sent.
        let left = self.left(lock(&self.core.cookies).len());
        outcome = outcome.and(match (posted, left) {
            (0, None) => Ok(()),
            (posted, left) => Err(left.unwrap_or_default().error(posted).into()),
        });
        let mut closed = self.withdraw();
        closed = closed.and(self.tell_peers());
        closed = closed.and(self.run_completions(up));
        closed = closed.and(self.close_resources(left.is_some()));
        self.assemblies.clear();
        self.kept.close(&self.core.platform);
        self.gets.close();
        self.counters.close();
        self.fences.close();
        lock(&self.core.cookies).leak_all();
        closed.and(outcome)
    }

    /// Closes reception: the node refuses later packets, and another context of the client tells their origins.
    fn withdraw(&mut self) -> Result<(), Fault> {
        let core = std::sync::Arc::clone(&self.core);
        let platform = &core.platform;
        let mut node = registers::node(platform)?;
        let mut outcome = registers::write(platform, registers::wake_mask(core.info.wake_group), 0);
        self.refusals.forget_table();
        if let Some(table) = self.table.take() {
            let index = core.layout.index_here(core.offset());
            outcome = outcome.and(table.withdraw(platform, index).map_err(Fault::from));
        }
        if let Some(inbox) = &mut self.inbox {
            outcome = outcome.and(inbox.close(platform));
        }
        outcome.and(self.reception.disable(&mut node))
    }

    /// Tells the peers that wait for this context that it is gone: the origins of packets in its reception FIFO, of
    /// kept messages, and of the operations behind its gets.
    fn tell_peers(&mut self) -> Result<(), Fault> {
        let mut peers = BTreeMap::new();
        let mut outcome = self.drain(&mut peers);
        for peer in self.kept.origins().chain(self.gets.awaited_by()) {
            peers.entry(peer).or_insert(false);
        }
        if peers.is_empty() && self.acks.is_empty() {
            return outcome;
        }
        // Received data stays received, whatever the outcome of the notices behind it.
        outcome = outcome.and(self.acks.flush_all(&mut self.io));
        for (peer, plain) in peers {
            outcome = outcome.and(self.tell_peer(peer, plain));
        }
        for _ in 0..LAST_LOOKS {
            let (_, started) = self.io.lanes.start(&mut self.io.completed);
            outcome = outcome.and(started);
            if let Some(shared) = &mut self.io.shared {
                shared.start(&self.core.platform, &mut self.io.completed);
            }
            if self.io.lanes.in_flight() + self.io.waiting() == 0 || outcome.is_err() {
                break;
            }
            let (_, polled) = self.io.lanes.poll(&mut self.io.completed);
            outcome = outcome.and(polled);
        }
        outcome
    }

    /// Takes the packets in the FIFO, and notes their origins, with whether messages of the program are among them.
    fn drain(&mut self, peers: &mut BTreeMap<Endpoint, bool>) -> Result<(), Fault> {
        let core = std::sync::Arc::clone(&self.core);
        let platform = &core.platform;
        let mut note = |packet: &Packet<'_>| {
            let envelope = Envelope::unpack(packet.sw0);
            let tasks = &core.layout.config.tasks;
            let Some(task) = tasks.task_of(packet.node, envelope.process) else {
                return;
            };
            let peer = core.peer(task, envelope.context);
            let known = envelope.context < core.layout.config.contexts;
            if known && packet.kind == Kind::MemFifo && is_answered(envelope.dispatch) {
                let plain = envelope.dispatch < FIRST_CONTROL;
                *peers.entry(peer).or_insert(false) |= plain;
            }
        };
        let mut payload = [0; MAX_PAYLOAD_BYTES];
        if self.reception.poll(platform)? > 0 {
            while let Some(packet) = self.reception.next(&mut payload)? {
                note(&packet);
            }
        }
        if let Some(inbox) = &mut self.inbox {
            while let Some(packet) = inbox.next(platform, &mut payload)? {
                // A sender half-way finds the ring closed.
                if packet.last {
                    note(&packet);
                }
            }
        }
        Ok(())
    }

    fn tell_peer(&mut self, peer: Endpoint, plain: bool) -> Result<(), Fault> {
        // The context itself needs no notice.
        if peer == self.core.info.endpoint {
            return Ok(());
        }
        let message = MessagesRefused {
            process: self.core.layout.location.process,
            context: self.core.offset(),
            reason: ErrorReason::PktRecFifo.into(),
            what: match plain {
                true => MessagesRefused::PLAIN,
                false => MessagesRefused::CONTROL,
            },
        };
        let (kind, payload) = (ControlMessage::MessagesRefused, message.encode());
        // Not behind operations that wait for a flow: no grant can be taken any more.
        match self.io.shares_memory(peer)? {
            true => self.io.send_control(peer, kind, payload),
            false => self.io.lanes.put_control(peer, kind, payload),
        }
    }

    /// Disables the other FIFOs; `in_use`: the DMA engine may still use their memory.
    fn close_resources(&mut self, in_use: bool) -> Result<(), Fault> {
        let core = std::sync::Arc::clone(&self.core);
        let platform = &core.platform;
        let mut node = registers::node(platform)?;
        self.inbox = None;
        let mut outcome = self.io.close(&mut node);
        outcome = outcome.and(self.collnet.close(platform, &mut node));
        let remote_get = self.remote_get.close(&mut node, in_use);
        if !in_use {
            self.reception.free();
        }
        outcome.and(remote_get)
    }
}

/// Whether the origin of a message with this dispatch identifier waits for its outcome, or must be told that it is
/// lost. Responses get no response.
fn is_answered(dispatch: u8) -> bool {
    let requests = [
        ControlMessage::Headed,
        ControlMessage::Data,
        ControlMessage::Rts,
        ControlMessage::PutSync,
        ControlMessage::Fence,
        ControlMessage::FlowRequest,
    ];
    dispatch < FIRST_CONTROL || requests.iter().any(|&kind| kind as u8 == dispatch)
}
