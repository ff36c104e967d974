//! What a context sends through the DMA engine: its injection FIFOs, and the descriptors of its messages.

use gyre_firmware::Node;
use gyre_layout::{Coord, Message, Source};

use crate::core::Core;
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::error::Fault;
use crate::platform::Platform;
use crate::sync::Arc;
use crate::task::Destination;
use crate::transport::envelope::Envelope;
use crate::transport::injection::{Completed, Finish, InjectionFifo, Lane, Outgoing, Payload};
use crate::transport::registers::Bus;
use crate::transport::wire::{Bytes, System};

/// What the packets of a message say about it.
#[derive(Clone, Copy)]
pub(crate) struct Label {
    pub dispatch: u8,
    pub comm: u8,
    pub tag: u32,
    pub message_id: u32,
}

/// The injection FIFOs of a context.
pub(crate) struct Lanes<P: Platform> {
    core: Arc<Core<P>>,
    lanes: Vec<Lane<P>>,
    /// Descriptors handed to the DMA engine and not completed.
    in_flight: usize,
    /// Operations that wait for room, or for the next [`start`](Self::start).
    waiting: usize,
    next_message: u32,
}

impl<P: Platform> Lanes<P> {
    /// Makes a context the user of `fifos`, of all or of none.
    ///
    /// # Errors
    /// [`Error::Busy`](crate::Error::Busy).
    pub fn open(
        core: &Arc<Core<P>>,
        node: &mut Node<Bus<P>>,
        fifos: &[Arc<InjectionFifo<P>>],
    ) -> Result<Self, Fault> {
        let mut opened = Self {
            core: Arc::clone(core),
            lanes: Vec::with_capacity(fifos.len()),
            in_flight: 0,
            waiting: 0,
            next_message: 0,
        };
        for fifo in fifos {
            match Lane::open(&core.platform, fifo) {
                Ok(lane) => opened.lanes.push(lane),
                Err(error) => {
                    // The first error is the one to tell.
                    let _ = opened.close(node);
                    return Err(error);
                }
            }
        }
        Ok(opened)
    }

    /// Puts an operation on the lane that leads to its node.
    pub fn put(&mut self, outgoing: Outgoing<P>) {
        let lane = self.lane(outgoing.descriptor.dst);
        self.lanes[lane].put(&self.core.platform, outgoing);
        self.waiting += 1;
    }

    /// Hands a message of one packet to the DMA engine at once, if nothing waits before it and there is room; says
    /// whether it did.
    ///
    /// # Errors
    /// Those of the bus.
    #[inline(always)]
    pub fn inject(&mut self, message: &Message, payload: &[u8]) -> Result<bool, Fault> {
        let lane = match self.lanes.len() {
            1 => 0,
            _ => self.lane(message.dst.unpack()),
        };
        let injected = self.lanes[lane].inject(&self.core.platform, message, payload)?;
        self.in_flight += usize::from(injected);
        Ok(injected)
    }

    /// Puts a message of the driver's own to `peer` on its lane, past everything that flows hold back.
    ///
    /// # Errors
    /// [`Error::UnknownTask`](crate::Error::UnknownTask).
    pub fn put_control(
        &mut self,
        peer: Endpoint,
        system: System,
        payload: Bytes,
    ) -> Result<(), Fault> {
        let label = self.system_label(system);
        let to = self.core.destination(peer)?;
        let message = self.message(to, peer.context, label);
        self.put(Outgoing {
            descriptor: message.descriptor(Source::of_length(payload.len())),
            payload: Payload::Staged(payload),
            finish: Finish::Control,
        });
        Ok(())
    }

    /// The label of a message of the driver's own. Charges for building it.
    pub fn system_label(&mut self, system: System) -> Label {
        self.core.platform.charge(Op::Control, 1);
        Label {
            dispatch: system as u8,
            comm: 0,
            tag: 0,
            message_id: self.message_id(None),
        }
    }

    /// The number by which waves and timelines name a message: `chosen`, or the next one.
    pub fn message_id(&mut self, chosen: Option<u32>) -> u32 {
        chosen.unwrap_or_else(|| {
            self.next_message = self.next_message.wrapping_add(1);
            (self.core.info.endpoint.task.0 << 16) | (self.next_message & 0xffff)
        })
    }

    /// A memory-FIFO message to the context at `offset` of `to`.
    #[inline(always)]
    pub fn message(&self, to: Destination, offset: u8, label: Label) -> Message {
        let envelope = self.envelope(label.dispatch, label.comm);
        Message {
            dst: to.node,
            // A copy stays at every node on the way.
            deposit: label.dispatch == System::PathAck as u8,
            fifo: self.core.layout.reception_fifo(to.process, offset),
            software: [envelope.pack(), label.tag],
            msg_id: label.message_id,
        }
    }

    /// Software word 0 of the context's packets.
    #[inline]
    pub fn envelope(&self, dispatch: u8, comm: u8) -> Envelope {
        Envelope {
            dispatch,
            process: self.core.layout.location.process,
            context: self.core.offset(),
            comm,
        }
    }

    /// Which injection FIFO carries everything to `node`: always the same, so that it stays in order, and
    /// spread over neighbours.
    fn lane(&self, node: Coord) -> usize {
        if self.lanes.len() == 1 {
            return 0;
        }
        let mixed = node.0.iter().fold(0_u32, |hash, &c| {
            (hash ^ u32::from(c)).wrapping_mul(0x9e37_79b1)
        });
        (mixed >> 16) as usize % self.lanes.len()
    }

    /// Descriptors handed to the DMA engine and not completed.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Whether a descriptor is under way for which somebody waits, or so many that room is short.
    pub fn awaits(&self) -> bool {
        self.in_flight > 0 && self.any(Lane::awaits)
    }

    /// Operations that wait for room.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether this holds for any lane.
    pub fn any(&self, holds: impl FnMut(&Lane<P>) -> bool) -> bool {
        self.lanes.iter().any(holds)
    }

    /// Turns waiting operations into descriptors as far as there is room; returns how many.
    ///
    /// # Errors
    /// The first error of a lane; the others have been started nevertheless.
    pub fn start(&mut self, completed: &mut Vec<Completed>) -> (usize, Result<(), Fault>) {
        let (mut started, mut result) = (0, Ok(()));
        if self.waiting == 0 {
            return (started, result);
        }
        for lane in &mut self.lanes {
            if lane.waiting() > 0 {
                match lane.start(&self.core.platform, completed) {
                    Ok(count) => started += count,
                    Err(error) => result = result.and(Err(error)),
                }
            }
        }
        self.in_flight += started;
        self.waiting = self.lanes.iter().map(Lane::waiting).sum();
        (started, result)
    }

    /// Retires what has completed; returns how many.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn poll(&mut self, completed: &mut Vec<Completed>) -> (usize, Result<(), Fault>) {
        let (mut retired, mut result) = (0, Ok(()));
        for lane in &mut self.lanes {
            if lane.in_flight() > 0 {
                match lane.poll(&self.core.platform, completed) {
                    Ok(count) => retired += count,
                    Err(error) => result = result.and(Err(error)),
                }
            }
        }
        self.in_flight = self.lanes.iter().map(Lane::in_flight).sum();
        (retired, result)
    }

    /// Looks whether the DMA engine refuses a descriptor.
    ///
    /// # Errors
    /// Those of the bus.
    pub fn check_halt(&mut self, completed: &mut Vec<Completed>) -> Result<(), Fault> {
        let platform = &self.core.platform;
        let mut lanes = self.lanes.iter_mut().filter(|lane| lane.in_flight() > 0);
        let result = lanes.try_for_each(|lane| lane.check_halt(platform, completed));
        self.in_flight = self.lanes.iter().map(Lane::in_flight).sum();
        result
    }

    /// Ends the use of the FIFOs; what has not completed is given up.
    ///
    /// # Errors
    /// The first error of a lane; the others have been closed nevertheless.
    pub fn close(&mut self, node: &mut Node<Bus<P>>) -> Result<(), Fault> {
        let mut outcome = Ok(());
        for mut lane in self.lanes.drain(..) {
            outcome = outcome.and(lane.close(&self.core.platform, node));
        }
        outcome
    }
}
