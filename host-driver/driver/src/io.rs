// SPDX-License-Identifier: MIT OR Apache-2.0
//! Send paths of a context, which protocols use.

use gyre_firmware::Node;
use gyre_layout::event;

use crate::core::Core;
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::error::Fault;
use crate::flow::peers::Flows;
use crate::operation::SendImmediate;
use crate::platform::Platform;
use crate::sync::Arc;
use crate::transport::injection::{Completed, Direct, Finish, Order, Outgoing, Payload};
use crate::transport::lanes::{Label, Lanes};
use crate::transport::registers::{self, Bus};
use crate::transport::shared_memory::{Message, SharedLane};
use crate::transport::wire::{Bytes, ControlMessage};

/// The send paths of a context, and completions on them.
pub(crate) struct Io<P: Platform> {
    pub core: Arc<Core<P>>,
    pub lanes: Arc<Lanes<P>>,
    /// To contexts of the node, for a client that has them share memory.
    pub shared: Option<SharedLane<P>>,
    /// For a client that uses them.
    pub flows: Option<Flows<P>>,
    /// Completions that have not been handled. Empty between turns; its memory is reused.
    pub completed: Vec<Completed>,
    /// Events that wake the context, besides errors.
    events: u64,
}

impl<P: Platform> Io<P> {
    /// The send paths of a context that `events` wake.
    pub fn new(
        core: &Arc<Core<P>>,
        lanes: Arc<Lanes<P>>,
        shared: Option<SharedLane<P>>,
        flows: Option<Flows<P>>,
        events: u64,
    ) -> Self {
        Self {
            core: Arc::clone(core),
            lanes,
            shared,
            flows,
            completed: Vec::with_capacity(crate::PREPARED),
            events,
        }
    }

    /// The machine.
    pub fn platform(&self) -> &P {
        &self.core.platform
    }

    /// Events that wake the context, besides errors.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Has the context woken by `events` besides errors.
    ///
    /// # Errors
    /// Errors of the bus.
    pub fn listen(&mut self, events: u64) -> Result<(), Fault> {
        if events != self.events {
            let mask = registers::wake_mask(self.core.info.wake_group);
            registers::write(&self.core.platform, mask, events | event::ERROR)?;
            self.events = events;
        }
        Ok(())
    }

    /// Whether messages to `peer` go through shared memory.
    ///
    /// # Errors
    /// [`Error::UnknownTask`](crate::Error::UnknownTask).
    pub fn shares_memory(&self, peer: Endpoint) -> Result<bool, Fault> {
        Ok(
            self.shared.is_some()
                && self.core.destination(peer)?.node == self.core.layout.here.node,
        )
    }

    /// Sends a control message with which no operation ends.
    ///
    /// # Errors
    /// As [`send_message`](Self::send_message).
    pub fn send_control(
        &mut self,
        peer: Endpoint,
        kind: ControlMessage,
        payload: Bytes,
    ) -> Result<(), Fault> {
        self.send_own(peer, kind, payload, Finish::Control)
    }

    /// Sends a control message: at once where it need not wait for others.
    ///
    /// # Errors
    /// As [`send_message`](Self::send_message).
    #[inline(never)]
    pub fn send_own(
        &mut self,
        peer: Endpoint,
        kind: ControlMessage,
        payload: Bytes,
        finish: Finish,
    ) -> Result<(), Fault> {
        self.core.platform.charge(Op::Control, 1);
        if self.flows.is_none() {
            let message = SendImmediate::new(peer, kind as u8);
            let payload = Direct::Copied([&payload[..]]);
            // An error shows again when the message is put on its lane.
            if self.lanes.inject(&message, &payload, (Some(finish), None)) == Ok(true) {
                return Ok(());
            }
        }
        let label = self.lanes.control_label(kind);
        self.send_message(peer, label, Payload::Staged(payload), finish)
    }

    /// Sends a message to `peer`, through shared memory or the DMA engine.
    ///
    /// # Errors
    /// [`Error::UnknownTask`](crate::Error::UnknownTask), those of the bus.
    pub fn send_message(
        &mut self,
        peer: Endpoint,
        label: Label,
        payload: Payload<P>,
        finish: Finish,
    ) -> Result<(), Fault> {
        let to = self.core.destination(peer)?;
        match &mut self.shared {
            Some(shared) if to.node == self.core.layout.here.node => {
                let envelope = self.lanes.envelope(label.dispatch, label.comm);
                self.core.note(|at| label.note(at, peer, envelope));
                let index = self.core.layout.index(to.process, peer.context);
                let fifo = self.core.layout.reception_fifo(to.process, peer.context);
                let message = Message {
                    software: [envelope.pack(), label.tag],
                    payload,
                    finish,
                };
                shared.enqueue(peer, index, fifo, message);
                Ok(())
            }
            _ => self.send_descriptor(peer, label, payload, finish),
        }
    }

    /// Sends a message to `peer` through the DMA engine.
    ///
    /// # Errors
    /// As [`send_message`](Self::send_message).
    pub fn send_descriptor(
        &mut self,
        peer: Endpoint,
        label: Label,
        payload: Payload<P>,
        finish: Finish,
    ) -> Result<(), Fault> {
        let to = self.core.destination(peer)?;
        let envelope = self.lanes.envelope(label.dispatch, label.comm);
        self.core.note(|at| label.note(at, peer, envelope));
        let message = self.lanes.message(to, peer.context, label);
        let outgoing = Outgoing {
            order: Order::Message(message),
            payload,
            finish,
        };
        self.transmit(peer, outgoing);
        Ok(())
    }

    /// Sends an operation to the node of `peer`, behind earlier ones.
    #[inline(always)]
    pub fn transmit(&mut self, peer: Endpoint, outgoing: Outgoing<P>) {
        match &mut self.flows {
            Some(flows) => flows.transmit(&self.lanes, peer, outgoing),
            None => self.lanes.put(outgoing),
        }
    }

    /// Sends that wait for room.
    pub fn waiting(&self) -> usize {
        self.lanes.waiting() + self.shared.as_ref().map_or(0, SharedLane::waiting)
    }

    /// Whether a send has found no room.
    pub fn blocked(&self) -> bool {
        let shared = self.shared.as_ref().is_some_and(SharedLane::blocked);
        shared || self.lanes.blocked()
    }

    /// Gives up all that has not completed.
    ///
    /// # Errors
    /// The first error; all parts have been closed nevertheless.
    pub fn close(&mut self, node: &mut Node<Bus<P>>) -> Result<(), Fault> {
        self.shared = None;
        let mut outcome = self.lanes.close(node);
        if let Some(mut flows) = self.flows.take() {
            outcome = outcome.and(flows.close());
        }
        outcome
    }
}
