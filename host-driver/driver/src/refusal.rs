// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets refused by the node of their target.
//!
//! The hardware sends no response to them: the node keeps their origin and a software word until a context takes them.
//!
//! The word of a put names the two contexts and the put's number at its origin. So the endpoint of a put
//! synchronisation or a fence, which comes behind the puts, can tell whether one of them was refused. No state is kept
//! for a peer before a put of it has been refused.
//!
//! The word of a get, request and data, names the requester's context and the get's number. The requester is told of a
//! refused request; refused data is found at its own node. The word of a damaged read-modify-write names its counter:
//! all contexts of that node are told. The word of a message is its envelope: the origin is told that messages of it
//! were refused, and gives up the operations that wait for that endpoint.
//!
//! For a context that is not open, the first open context of its client on the node acts.
//!
//! Where a node has refused more packets than it could keep, their origins are unknown: all peers are told once.

mod puts_under_way;
mod refused_puts;
pub(crate) mod word;

use std::collections::{BTreeMap, BTreeSet};

use gyre_firmware::{RefusedPackets, Register};
use gyre_layout::registers::refusals;
use gyre_layout::{Coord, ErrorReason, Kind};
use gyre_note::Note;

use crate::core::Core;
use crate::endpoint::Endpoint;
use crate::error::Fault;
use crate::io::Io;
use crate::layout::ClientLayout;
use crate::platform::Platform;
use crate::rma::gets::Gets;
use crate::sync::Arc;
use crate::task::{TaskId, TaskLocation};
use crate::transport::envelope::Envelope;
use crate::transport::registers;
use crate::transport::shared_memory::EndpointTable;
use crate::transport::wire::{ControlMessage, FIRST_CONTROL, GetFailed, MessagesRefused};

use puts_under_way::PutsUnderWay;
use refused_puts::RefusedPuts;
use word::{GetWord, PutNumber, PutWord};

/// Refused puts as a context knows them, the number of its own puts, and those that fences wait for.
pub(crate) struct Refusals<P: Platform> {
    core: Arc<Core<P>>,
    /// The node's endpoint table with its open contexts. Until the context is destroyed.
    table: Option<Arc<EndpointTable<P>>>,
    last: PutNumber,
    /// Puts of this context.
    pub under_way: PutsUnderWay,
    /// Packets that the node has not kept.
    lost: u32,
    /// Their number has grown since the context was opened.
    unknown: bool,
    /// Peers that have been told.
    told: BTreeSet<Endpoint>,
    /// Refused puts to this context that no fence has reported, by node and reception FIFO of the origin.
    puts: BTreeMap<(Coord, u16), RefusedPuts>,
    /// The node had refused packets when the context was opened, which no event announces.
    unseen: bool,
}

impl<P: Platform> Refusals<P> {
    /// State of a context that has seen no refused put.
    ///
    /// # Errors
    /// Errors of the bus.
    pub fn open(core: &Arc<Core<P>>, table: &Arc<EndpointTable<P>>) -> Result<Self, Fault> {
        let status = registers::read(&core.platform, Register::REFUSED)?;
        Ok(Self {
            core: Arc::clone(core),
            table: Some(Arc::clone(table)),
            last: PutNumber::default(),
            under_way: PutsUnderWay::new(),
            lost: lost(status),
            unknown: false,
            told: BTreeSet::new(),
            puts: BTreeMap::new(),
            unseen: refusals::refused::VALID.get(status) != 0,
        })
    }

    /// Ends the part of a destroyed context.
    pub fn forget_table(&mut self) {
        self.table = None;
    }

    /// Whether the node has refused packets that no event announces.
    pub fn unseen(&self) -> bool {
        self.unseen
    }

    /// Starts a put to `peer`: its number, for one that will be synchronised or one that is left to fences.
    pub fn number(&mut self, peer: Endpoint, synchronised: bool) -> PutNumber {
        self.under_way.start(peer);
        if synchronised {
            self.last = self.last.next();
            return self.last;
        }
        self.last.plain()
    }

    /// The number of a fence: that of the last put before it. Later puts have other numbers.
    pub fn close(&mut self) -> u32 {
        let number = self.last.get();
        self.last = self.last.next();
        number
    }

    /// Notes refused puts to this context.
    fn note(&mut self, packets: &RefusedPackets) {
        for word in packets.words().filter_map(PutWord::unpack) {
            let puts = self.puts.entry((packets.source, word.origin)).or_default();
            puts.note(word.put);
        }
    }

    /// Whether a put of `origin` up to `number` has been refused; reported once.
    fn covers_fence(&mut self, origin: (Coord, u16), number: u32) -> bool {
        let Some(puts) = self.puts.get_mut(&origin) else {
            return false;
        };
        let refused = puts.covers_fence(number);
        if puts.is_empty() {
            self.puts.remove(&origin);
        }
        refused
    }

    /// Whether put `number` of `origin` has been refused.
    fn is_refused(&mut self, origin: (Coord, u16), number: u32) -> bool {
        let puts = self.puts.get_mut(&origin);
        puts.is_some_and(|puts| puts.is_refused(number))
    }

    /// The software word of a put of this context to `peer`.
    ///
    /// # Errors
    /// [`Error::UnknownTask`](crate::Error::UnknownTask).
    pub fn put_word(&self, peer: Endpoint, put: PutNumber) -> Result<u32, Fault> {
        let to = self.core.destination(peer)?;
        let target = named_fifo(&self.core.layout, to.process, peer.context);
        let word = PutWord {
            origin: self.core.info.reception_fifo,
            target,
            put,
        };
        Ok(word.pack())
    }

    /// Takes refused packets from the node: those for this context, or for one that is not open and for which this one
    /// acts.
    ///
    /// # Errors
    /// Errors of the bus and of sends.
    pub fn look(&mut self, io: &mut Io<P>, gets: &mut Gets<P>) -> Result<(), Fault> {
        let core = Arc::clone(&self.core);
        let platform = &core.platform;
        let status = registers::read(platform, Register::REFUSED)?;
        self.unseen = false;
        if self.lost != lost(status) {
            self.lost = lost(status);
            self.unknown = true;
            self.told.clear();
            self.tell_of_absent(io)?;
        }
        let valid = refusals::refused::VALID.get(status);
        for entry in (0..refusals::ENTRY_COUNT as u16).filter(|entry| valid >> entry & 1 != 0) {
            let info = registers::read(platform, Register::refused_info(entry))?;
            let at = registers::read(platform, Register::refused_place(entry))?;
            let packets = RefusedPackets::decode(info, at);
            let Some(index) = addressee(&core.layout, &packets) else {
                continue;
            };
            let mine = index == core.layout.index_here(core.offset());
            if mine || self.stands_for(index)? {
                // Later refusals of the same entry stay there.
                registers::write(platform, Register::refused_place(entry), at)?;
                core.note(|at| Note::Refused {
                    at,
                    source: packets.source.0,
                    kind: packets.kind.map_or_else(|code| code, |kind| kind as u8),
                    reason: packets
                        .reason
                        .map_or_else(|code| code, |reason| reason as u8),
                });
                if mine && packets.kind == Ok(Kind::Put) {
                    self.note(&packets);
                    refuse_gets(&core, gets, &packets);
                } else {
                    tell(io, &packets, index)?;
                }
            }
        }
        Ok(())
    }

    /// Whether context `index` of this node is not open, and this one is the first open one.
    fn stands_for(&self, index: u16) -> Result<bool, Fault> {
        let Some(table) = &self.table else {
            return Ok(false);
        };
        let platform = &self.core.platform;
        let here = self.core.layout.index_here(self.core.offset());
        if table.find(platform, index)?.is_some() {
            return Ok(false);
        }
        for before in 0..here {
            if table.find(platform, before)?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Handles refused packets of unknown origin: tells all peers which contexts of the node are not open, if this one
    /// acts for them.
    fn tell_of_absent(&self, io: &mut Io<P>) -> Result<(), Fault> {
        let layout = &self.core.layout;
        let contexts = layout.config.contexts;
        for index in 0..layout.contexts_here() {
            if !self.stands_for(index)? {
                continue;
            }
            let message = MessagesRefused {
                // Both have 8 bits.
                process: (index / u16::from(contexts)) as u8,
                context: (index % u16::from(contexts)) as u8,
                reason: ErrorReason::PktRecFifo.into(),
                what: MessagesRefused::UNKNOWN,
            };
            for task in 0..layout.config.tasks.len() as u32 {
                for offset in 0..contexts {
                    let peer = layout.endpoint(TaskId(task), offset)?;
                    io.send_control(peer, ControlMessage::MessagesRefused, message.encode())?;
                }
            }
        }
        Ok(())
    }

    /// Whether puts of `peer` up to `number` have been refused: its fence must report that.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn before_fence(
        &mut self,
        io: &mut Io<P>,
        gets: &mut Gets<P>,
        peer: Endpoint,
        number: u32,
    ) -> Result<bool, Fault> {
        self.look(io, gets)?;
        let origin = place(&self.core.layout, peer)?;
        let unknown = self.unknown && self.told.insert(peer);
        Ok(self.covers_fence(origin, number) || unknown)
    }

    /// Whether the put of `peer` with this number has been refused; otherwise it is in memory.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn has_refused(
        &mut self,
        io: &mut Io<P>,
        gets: &mut Gets<P>,
        peer: Endpoint,
        number: u32,
    ) -> Result<bool, Fault> {
        self.look(io, gets)?;
        let origin = place(&self.core.layout, peer)?;
        let unknown = self.unknown && !self.told.contains(&peer);
        Ok(self.is_refused(origin, number) || unknown)
    }
}

/// Packets that a node has refused and not kept, since its reset.
fn lost(status: u64) -> u32 {
    // The field has 32 bits.
    refusals::refused::LOST.get(status) as u32
}

/// Node and reception FIFO of a context, by which words name it.
fn place(layout: &ClientLayout, endpoint: Endpoint) -> Result<(Coord, u16), Fault> {
    let place = layout.config.tasks.place(endpoint.task, endpoint.context)?;
    let fifo = named_fifo(layout, place.process, endpoint.context);
    Ok((place.node, fifo))
}

/// Reception FIFO of a context, as words name it.
fn named_fifo(layout: &ClientLayout, process: u8, context: u8) -> u16 {
    layout.reception_fifo(process, context) & 0xf
}

/// The endpoint of context `index` among the client's contexts of a node.
fn endpoint_at(layout: &ClientLayout, node: Coord, index: u16) -> Option<Endpoint> {
    let contexts = u16::from(layout.config.contexts);
    // At most 256 processes.
    let process = u8::try_from(index / contexts).ok()?;
    let task = layout
        .config
        .tasks
        .task_at(TaskLocation { node, process })?;
    layout.endpoint(task, (index % contexts) as u8).ok()
}

/// The context of this client on this node that refused packets were for; `None` for packets to others.
fn addressee(layout: &ClientLayout, packets: &RefusedPackets) -> Option<u16> {
    let resources = &layout.config.resources;
    let reception = resources.reception_first;
    let word = packets.first_word;
    let (fifo, first) = match packets.kind.ok()? {
        Kind::MemFifo => (packets.place, reception),
        Kind::RemoteGet => (packets.place, resources.remote_get_first),
        // The words of an entry name the same contexts.
        Kind::Put => match PutWord::unpack(word) {
            Some(word) => (word.target, reception),
            None => (GetWord::unpack(word)?.requester, reception),
        },
        // The first context of the process that the slot belongs to.
        Kind::RmwReq => {
            let slot = packets.place.checked_sub(resources.slot_first)?;
            let process = slot.checked_div(resources.slots_per_process)?;
            (
                reception + process * u16::from(layout.config.contexts),
                reception,
            )
        }
        _ => return None,
    };
    let index = fifo.checked_sub(first)?;
    (index < layout.contexts_here()).then_some(index)
}

/// Ends gets whose data has been refused.
fn refuse_gets<P: Platform>(core: &Core<P>, gets: &mut Gets<P>, packets: &RefusedPackets) {
    let from = |peer: Endpoint| {
        let place = core.place(peer);
        place.is_ok_and(|place| place.node == packets.source)
    };
    for word in packets.words().filter_map(GetWord::unpack) {
        gets.refuse(word.number, from);
    }
}

/// Tells the origins of refused packets for context `index` of this node.
fn tell<P: Platform>(io: &mut Io<P>, packets: &RefusedPackets, index: u16) -> Result<(), Fault> {
    let core = Arc::clone(&io.core);
    let layout = &core.layout;
    let reason = packets.reason.map_or_else(|code| code, u8::from);
    // Offsets and processes have 8 bits.
    let contexts = u16::from(layout.config.contexts);
    let (process, offset) = ((index / contexts) as u8, (index % contexts) as u8);
    let failed = |get| GetFailed {
        get,
        reason,
        process,
        context: offset,
    };
    match packets.kind {
        Ok(Kind::RemoteGet) => {
            for word in packets.words().filter_map(GetWord::unpack) {
                let index = word
                    .requester
                    .checked_sub(layout.config.resources.reception_first);
                let requester = index.and_then(|index| endpoint_at(layout, packets.source, index));
                if let Some(requester) = requester {
                    let payload = failed(word.number).encode();
                    io.send_control(requester, ControlMessage::GetFailed, payload)?;
                }
            }
            Ok(())
        }
        Ok(Kind::MemFifo) => {
            let envelope = Envelope::unpack(packets.first_word);
            let from = TaskLocation {
                node: packets.source,
                process: envelope.process,
            };
            // Refusals get no response.
            let answers = envelope.dispatch == ControlMessage::MessagesRefused as u8;
            let task = layout.config.tasks.task_at(from).filter(|_| !answers);
            let origin = task.and_then(|task| layout.endpoint(task, envelope.context).ok());
            let Some(origin) = origin else {
                return Ok(());
            };
            let plain = |word| Envelope::unpack(word).dispatch < FIRST_CONTROL;
            let message = MessagesRefused {
                process,
                context: offset,
                reason,
                what: match packets.words().any(plain) {
                    true => MessagesRefused::PLAIN,
                    false => MessagesRefused::CONTROL,
                },
            };
            io.send_control(origin, ControlMessage::MessagesRefused, message.encode())
        }
        Ok(Kind::RmwReq) => {
            let processes = layout.config.tasks.processes_on(packets.source) as u16;
            let requesters: Vec<Endpoint> = (0..processes * contexts)
                .filter_map(|index| endpoint_at(layout, packets.source, index))
                .collect();
            for word in packets.words() {
                let message = failed(GetFailed::BY_COUNTER | word);
                for &requester in &requesters {
                    io.send_control(requester, ControlMessage::GetFailed, message.encode())?;
                }
            }
            Ok(())
        }
        // No fence will come for those puts: their synchronisation is refused as well.
        _ => Ok(()),
    }
}
