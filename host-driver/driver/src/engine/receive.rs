// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reception: packets go to the messages that they are parts of, and control messages to their protocols.

mod control;
mod multi;
mod single;

use gyre_layout::{Kind, MAX_PAYLOAD_BYTES, PackedCoord};
use gyre_note::Note;

use super::Engine;
use crate::am::assembly::{self, PacketOrigin, Path, out_of_order};
use crate::core::Core;
use crate::cost::{COPY_CHUNK, Op};
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::platform::Platform;
use crate::task::TaskLocation;
use crate::transport::envelope::Envelope;
use crate::transport::reception::Packet;
use crate::transport::wire::FIRST_CONTROL;
use crate::upcalls::Upcalls;

impl<P: Platform> Engine<P> {
    /// Takes the packets that the last poll has seen: `bytes` bytes in the reception FIFO, and those in the `shared` ring.
    #[inline(never)] // Keeps the path of plain messages short.
    pub(super) fn receive(
        &mut self,
        bytes: usize,
        shared: bool,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        if bytes > 0 {
            self.receive_network(up)?;
        }
        match shared {
            true => self.receive_shared(up),
            false => Ok(()),
        }
    }

    /// Takes the packets that the last poll has seen in the reception FIFO, up to one with an error: later packets wait
    /// for the next turn, so that no error is lost.
    #[inline(always)]
    pub(super) fn receive_network(&mut self, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        self.core.platform.charge(Op::Receive, 1);
        while self.reception.available() > 0 {
            let handled = self.receive_next(up);
            self.core.note(|at| Note::Handled { at });
            // A failing access does not undo the handling.
            let relieved = self.reception.relieve(&self.core.platform);
            handled.and(relieved)?;
        }
        Ok(())
    }

    /// Takes the packets that the last poll has seen in the context's ring in shared memory, up to one with an error.
    fn receive_shared(&mut self, up: &mut impl Upcalls<P>) -> Result<(), Fault> {
        let core = std::sync::Arc::clone(&self.core);
        let platform = &core.platform;
        let mut payload = [0; MAX_PAYLOAD_BYTES];
        let result = loop {
            let Some(inbox) = &mut self.inbox else {
                return Ok(());
            };
            match inbox.next(platform, &mut payload) {
                Ok(Some(packet)) => {
                    up.progress().packets += 1;
                    platform.charge(Op::Assemble, 1);
                    let chunks = packet.payload.len().div_ceil(COPY_CHUNK) as u64;
                    platform.charge(Op::ShareChunk, chunks);
                    let from = PacketOrigin::of(packet.node, packet.sw0);
                    let peer = self.peer(from, packet.node, packet.sw0);
                    let handled =
                        peer.and_then(|peer| self.handle(&packet, peer, Path::SharedMemory, up));
                    core.note(|at| Note::Handled { at });
                    if handled.is_err() {
                        break handled;
                    }
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        match &mut self.inbox {
            Some(inbox) => {
                let given = inbox.give_back(platform);
                result.and(given)
            }
            None => result,
        }
    }

    /// Takes the next packet, of `length` payload bytes, out of the reception FIFO, and handles its payload.
    #[inline(always)]
    fn with_payload<U>(
        &mut self,
        length: usize,
        up: &mut U,
        handle: impl FnOnce(&mut Self, &[u8], &mut U) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        // Out of the engine, which the handler changes.
        let mut payload = core::mem::take(&mut self.payload);
        let handled = match self.reception.take(length, &mut payload) {
            Ok(taken) => handle(self, taken, up),
            Err(error) => Err(error),
        };
        self.payload = payload;
        handled
    }

    /// Handles one packet of `peer` that has come by this path.
    #[inline]
    fn handle(
        &mut self,
        packet: &Packet<'_>,
        peer: Endpoint,
        path: Path,
        up: &mut impl Upcalls<P>,
    ) -> Result<(), Fault> {
        let envelope = Envelope::unpack(packet.sw0);
        if packet.kind != Kind::MemFifo {
            let [value, expected] = [packet.kind, Kind::MemFifo].map(|kind| u8::from(kind).into());
            return Err(out_of_order(peer.task, "kind", value, expected));
        }
        self.core.note(|at| packet.note(at, peer));
        let user = envelope.dispatch < FIRST_CONTROL;
        if user && packet.is_whole() && self.assemblies.is_empty() {
            let arrival = assembly::whole(peer, (envelope.comm, packet.sw1), packet.payload);
            let receive = up.dispatch(envelope.dispatch, &arrival);
            let mut am = self.am(up);
            return assembly::receive_whole(&mut am, envelope.dispatch, &arrival, receive);
        }
        let from = TaskLocation {
            node: packet.node.unpack(),
            process: envelope.process,
        };
        self.part(packet, (from, envelope.context, path), peer, envelope, up)
    }

    /// The endpoint at `node` that software word 0 names; `from` is its packet origin.
    ///
    /// # Errors
    /// [`Error::UnknownOrigin`].
    #[inline(always)]
    fn peer(&mut self, from: PacketOrigin, node: PackedCoord, sw0: u32) -> Result<Endpoint, Fault> {
        match self.origins.last(from) {
            Some(peer) => Ok(peer),
            None => self.other_peer(from, node, sw0),
        }
    }

    /// As [`peer`](Self::peer), where the last packet came from another endpoint.
    #[inline(never)] // Keeps the path of plain messages short.
    fn other_peer(
        &mut self,
        from: PacketOrigin,
        node: PackedCoord,
        sw0: u32,
    ) -> Result<Endpoint, Fault> {
        self.core.platform.charge(Op::Origin, 1);
        let core = &self.core;
        self.origins
            .next(from, || origin(core, node, Envelope::unpack(sw0)))
    }
}

/// Looks up the endpoint at `node` that an envelope names.
///
/// # Errors
/// [`Error::UnknownOrigin`].
#[cold]
fn origin<P: Platform>(
    core: &Core<P>,
    node: PackedCoord,
    envelope: Envelope,
) -> Result<Endpoint, Fault> {
    let Envelope {
        process, context, ..
    } = envelope;
    let config = &core.layout.config;
    let task = config.tasks.task_of(node, process);
    let Some(task) = task.filter(|_| context < config.contexts) else {
        let node = node.unpack();
        return Err(Error::UnknownOrigin { node, process }.into());
    };
    Ok(core.peer(task, context))
}

/// Charges the time of reading a packet.
#[inline(always)]
fn charge_packet<P: Platform>(platform: &P, op: Op, packet: &Packet<'_>) {
    platform.charge(op, 1);
    platform.charge_copy(Op::Unload, packet.payload.len());
}
