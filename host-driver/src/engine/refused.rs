//! Packets that the node of their target has refused.
//!
//! The hardware answers nothing to those: the node keeps who sent them and a software word, until a context
//! takes them.
//!
//! Of a put the word names the two contexts and the put's number at its origin, so that the endpoint at which a
//! put synchronisation or a fence ends can tell whether it concerns the one or the other: it comes behind the
//! puts, which have been refused by then if they are. Nothing is kept for a peer before a put of it has been
//! refused.
//!
//! Of a get, request and data, it names the requester's context and the get's number. A refused request is told
//! to the requester, refused data are its own node's. Of a read-modify-write that came damaged it is the counter
//! that waits for its answer: all contexts of that node are told. Of a message it is the envelope: the origin is told that
//! messages of it were refused, and gives up what waits for that endpoint to answer.
//!
//! A context that is not open takes nothing; the first of its client's on the node does so in its place.
//!
//! Only where a node has refused more packets than it could keep nobody knows whose they were: then everybody
//! is told once.

mod word;

use std::collections::{BTreeMap, BTreeSet};

use gyre_firmware::{RefusedPackets, Register};
use gyre_layout::registers::refusals;
use gyre_layout::{Coord, ErrorReason, Kind};

use super::{Engine, deliver};
use crate::client::Plan;
use crate::context::{Context, Progress};
use crate::endpoint::Endpoint;
use crate::envelope::Envelope;
use crate::error::{Error, Fault};
use crate::platform::Platform;
use crate::registers;
use crate::sync::short;
use crate::task::{TaskId, TaskLocation};
use crate::wire::{FIRST_SYSTEM, GetFailed, MessagesRefused, Refused, System};

pub(crate) use word::GetWord;
use word::{PutNumber, PutWord};

/// What a context knows of refused puts, and the number of its own.
pub(super) struct Refusals {
    last: PutNumber,
    /// Packets that the node has not kept.
    lost: u32,
    /// There have been more since the context was opened.
    unknown: bool,
    /// Who has been told of that.
    told: BTreeSet<Endpoint>,
    /// Refused puts to this context of which no fence has told, by node and reception FIFO of the origin; in
    /// order.
    puts: BTreeMap<(Coord, u16), Vec<PutNumber>>,
    /// The node had refused packets when the context was opened, of which no event tells.
    unseen: bool,
}

impl Refusals {
    pub fn open<P: Platform>(platform: &P) -> Result<Self, Fault> {
        let status = registers::read(platform, Register::REFUSED)?;
        Ok(Self {
            last: PutNumber::default(),
            lost: lost(status),
            unknown: false,
            told: BTreeSet::new(),
            puts: BTreeMap::new(),
            unseen: refusals::refused::VALID.get(status) != 0,
        })
    }

    /// Whether no event will tell of what the node has refused.
    pub fn unseen(&self) -> bool {
        self.unseen
    }

    /// The number of a put that will be synchronised, or one that is left to fences.
    pub fn number(&mut self, synchronised: bool) -> PutNumber {
        if synchronised {
            self.last = self.last.next();
            return self.last;
        }
        self.last.plain()
    }

    /// The number of a fence: of the last put before it. Puts after it have others.
    pub fn close(&mut self) -> u32 {
        let number = self.last.get();
        self.last = self.last.next();
        number
    }

    /// Notes refused puts to this context.
    fn note(&mut self, packets: &RefusedPackets) {
        for word in packets.words().filter_map(PutWord::unpack) {
            let puts = self.puts.entry((packets.source, word.origin)).or_default();
            if !puts.contains(&word.put) {
                puts.push(word.put);
            }
        }
    }

    /// Whether a put of `origin` up to `number` has been refused; says so once.
    fn before_fence(&mut self, origin: (Coord, u16), number: u32) -> bool {
        let Some(puts) = self.puts.get_mut(&origin) else {
            return false;
        };
        let before = puts.len();
        puts.retain(|put| !put.covered_by(number));
        let refused = puts.len() < before;
        if puts.is_empty() {
            self.puts.remove(&origin);
        }
        refused
    }

    /// Whether put `number` of `origin` has been refused. Of those up to it one is kept for the fence.
    fn is_refused(&mut self, origin: (Coord, u16), number: u32) -> bool {
        let Some(puts) = self.puts.get_mut(&origin) else {
            return false;
        };
        let refused = puts.contains(&PutNumber::synchronised(number));
        let mut kept = false;
        puts.retain(|put| !put.covered_by(number) || !core::mem::replace(&mut kept, true));
        refused
    }
}

/// Packets that a node has refused and not kept, since its reset.
fn lost(status: u64) -> u32 {
    // The field has 32 bits.
    refusals::refused::LOST.get(status) as u32
}

/// Node and reception FIFO of a context, by which words name it.
fn place(plan: &Plan, endpoint: Endpoint) -> Result<(Coord, u16), Fault> {
    let place = plan.config.tasks.place(endpoint.task, endpoint.context)?;
    let fifo = plan.reception_fifo(place.process, endpoint.context) & 0xf;
    Ok((place.node, fifo))
}

/// The endpoint of context `index` of a node, as the node counts the client's contexts.
fn endpoint_at(plan: &Plan, node: Coord, index: u16) -> Option<Endpoint> {
    let contexts = u16::from(plan.config.contexts);
    // At most 256 processes.
    let process = u8::try_from(index / contexts).ok()?;
    let task = plan.config.tasks.task_at(TaskLocation { node, process })?;
    plan.endpoint(task, (index % contexts) as u8).ok()
}

/// Which context of this client on this node refused packets were for; `None` when they were for none of it.
fn addressee(plan: &Plan, packets: &RefusedPackets) -> Option<u16> {
    let resources = &plan.config.resources;
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
                reception + process * u16::from(plan.config.contexts),
                reception,
            )
        }
        _ => return None,
    };
    let index = fifo.checked_sub(first)?;
    (index < plan.contexts_here()).then_some(index)
}

impl<P: Platform> Engine<P> {
    /// The software word of a put of this context to `peer`.
    pub(super) fn put_word(
        &self,
        context: &Context<P>,
        peer: Endpoint,
        put: PutNumber,
    ) -> Result<u32, Fault> {
        let (_, target) = place(&context.shared().plan, peer)?;
        let word = PutWord {
            origin: context.query().reception_fifo,
            target,
            put,
        };
        Ok(word.pack())
    }

    /// Takes from the node what it has refused that was for this context, or for one that is not open and that
    /// this one stands for.
    pub(super) fn look_for_refusals(&mut self, context: &Context<P>) -> Result<(), Fault> {
        let platform = context.platform();
        let plan = &context.shared().plan;
        let status = registers::read(platform, Register::REFUSED)?;
        self.refusals.unseen = false;
        if self.refusals.lost != lost(status) {
            self.refusals.lost = lost(status);
            self.refusals.unknown = true;
            self.refusals.told.clear();
            self.tell_of_absent(context)?;
        }
        let valid = refusals::refused::VALID.get(status);
        for entry in (0..refusals::ENTRY_COUNT as u16).filter(|entry| valid >> entry & 1 != 0) {
            let info = registers::read(platform, Register::refused_info(entry))?;
            let at = registers::read(platform, Register::refused_place(entry))?;
            let packets = RefusedPackets::decode(info, at);
            let Some(index) = addressee(plan, &packets) else {
                continue;
            };
            let mine = index == plan.index_here(context.query().endpoint.context);
            if mine || self.stands_for(context, index)? {
                // What has joined the entry since stays there.
                registers::write(platform, Register::refused_place(entry), at)?;
                self.refused(context, &packets, index, mine)?;
            }
        }
        Ok(())
    }

    /// Whether context `index` of this node is not open, and this one is the first that is.
    fn stands_for(&self, context: &Context<P>, index: u16) -> Result<bool, Fault> {
        let Some((table, here)) = &self.table else {
            return Ok(false);
        };
        let platform = context.platform();
        if table.find(platform, index)?.is_some() {
            return Ok(false);
        }
        for before in 0..*here {
            if table.find(platform, before)?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Packets for context `index` were refused.
    fn refused(
        &mut self,
        context: &Context<P>,
        packets: &RefusedPackets,
        index: u16,
        mine: bool,
    ) -> Result<(), Fault> {
        let plan = &context.shared().plan;
        let reason = packets.reason.map_or_else(|code| code, u8::from);
        // Offsets and processes have 8 bits.
        let contexts = u16::from(plan.config.contexts);
        let (process, offset) = ((index / contexts) as u8, (index % contexts) as u8);
        match packets.kind {
            Ok(Kind::Put) if mine => {
                self.refusals.note(packets);
                let tasks = &plan.config.tasks;
                let from = |peer: Endpoint| {
                    let place = tasks.place(peer.task, peer.context);
                    place.is_ok_and(|place| place.node == packets.source)
                };
                for word in packets.words().filter_map(GetWord::unpack) {
                    self.gets.refuse(word.number, from);
                }
                Ok(())
            }
            Ok(Kind::RemoteGet) => {
                for word in packets.words().filter_map(GetWord::unpack) {
                    let index = word
                        .requester
                        .checked_sub(plan.config.resources.reception_first);
                    let requester =
                        index.and_then(|index| endpoint_at(plan, packets.source, index));
                    if let Some(requester) = requester {
                        let message = GetFailed {
                            get: word.number,
                            reason,
                            process,
                            context: offset,
                        };
                        let payload = message.encode();
                        self.send_control(context, requester, System::GetFailed, payload)?;
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
                // Who is not there to be told does not wait.
                let answers = envelope.dispatch == System::MessagesRefused as u8;
                let task = plan.config.tasks.task_at(from).filter(|_| !answers);
                let origin = task.and_then(|task| plan.endpoint(task, envelope.context).ok());
                let Some(origin) = origin else {
                    return Ok(());
                };
                let plain = |word| Envelope::unpack(word).dispatch < FIRST_SYSTEM;
                let message = MessagesRefused {
                    process,
                    context: offset,
                    reason,
                    what: match packets.words().any(plain) {
                        true => MessagesRefused::PLAIN,
                        false => MessagesRefused::SYSTEM,
                    },
                };
                self.send_control(context, origin, System::MessagesRefused, message.encode())
            }
            Ok(Kind::RmwReq) => {
                let tasks = &plan.config.tasks;
                let requesters: Vec<Endpoint> = (0..tasks.processes_on(packets.source) as u16
                    * contexts)
                    .filter_map(|index| endpoint_at(plan, packets.source, index))
                    .collect();
                for word in packets.words() {
                    let message = GetFailed {
                        get: GetFailed::BY_COUNTER | word,
                        reason,
                        process,
                        context: offset,
                    };
                    for &requester in &requesters {
                        let payload = message.encode();
                        self.send_control(context, requester, System::GetFailed, payload)?;
                    }
                }
                Ok(())
            }
            // Nobody will ask for those puts: what synchronises them is refused as well.
            _ => Ok(()),
        }
    }

    /// The node has refused packets of which it does not know whose they were: tells everybody which contexts of
    /// it are not open, if this one stands for them.
    fn tell_of_absent(&mut self, context: &Context<P>) -> Result<(), Fault> {
        let plan = &context.shared().plan;
        let contexts = plan.config.contexts;
        for index in 0..plan.contexts_here() {
            if !self.stands_for(context, index)? {
                continue;
            }
            let message = MessagesRefused {
                // Both have 8 bits.
                process: (index / u16::from(contexts)) as u8,
                context: (index % u16::from(contexts)) as u8,
                reason: ErrorReason::PktRecFifo.into(),
                what: MessagesRefused::UNKNOWN,
            };
            for task in 0..plan.config.tasks.len() as u32 {
                for offset in 0..contexts {
                    let peer = context.endpoint(TaskId(task), offset)?;
                    self.send_control(context, peer, System::MessagesRefused, message.encode())?;
                }
            }
        }
        Ok(())
    }

    /// MESSAGES_REFUSED has come from `node`: what waits for an answer of that endpoint fails. Of what the
    /// endpoint has taken all the same the answers mean nothing any more.
    pub(super) fn messages_refused(
        &mut self,
        context: &Context<P>,
        node: Coord,
        message: MessagesRefused,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let plan = &context.shared().plan;
        let MessagesRefused {
            process,
            context: offset,
            reason,
            what,
        } = message;
        let task = plan.config.tasks.task_at(TaskLocation { node, process });
        let Some(task) = task else {
            return Err(Error::UnknownOrigin { node, process }.into());
        };
        let peer = plan.endpoint(task, offset)?;
        self.flow_refused(context, peer)?;
        let error = Fault::from(Error::MessagesRefused {
            peer: task,
            context: offset,
            reason: ErrorReason::try_from(reason).map_err(|_| reason),
        });
        let before = progress.callbacks;
        let pending = short(&context.shared().cookies).give_up(peer);
        for pending in pending {
            progress.completed += 1;
            // The peer may have been asked for it: leaked rather than given to somebody else.
            core::mem::forget(pending.data);
            let waiting = [pending.local_done, pending.remote_done];
            for done in waiting.into_iter().flatten() {
                deliver(context, Some(done), Err(error.clone()), progress)?;
            }
        }
        if what == MessagesRefused::UNKNOWN {
            self.gets.refuse_all(peer, &error);
        }
        self.fail_fences_of(context, peer, &error, progress)?;
        // Messages that no callback stands for.
        if progress.callbacks == before && what == MessagesRefused::PLAIN {
            return Err(error);
        }
        Ok(())
    }

    /// Whether puts of `peer` up to `number` have been refused: its fence has to say so.
    pub(super) fn refused_before_fence(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        number: u32,
    ) -> Result<bool, Fault> {
        self.look_for_refusals(context)?;
        let origin = place(&context.shared().plan, peer)?;
        let unknown = self.refusals.unknown && self.refusals.told.insert(peer);
        Ok(self.refusals.before_fence(origin, number) || unknown)
    }

    /// The put of `peer` with this number is in memory, or has been refused: acknowledges it, or says so.
    pub(super) fn put_landed(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        cookie: u32,
        number: u32,
    ) -> Result<(), Fault> {
        self.look_for_refusals(context)?;
        let origin = place(&context.shared().plan, peer)?;
        let unknown = self.refusals.unknown && !self.refusals.told.contains(&peer);
        if self.refusals.is_refused(origin, number) || unknown {
            return self.refuse(context, peer, (cookie, Refused::PUT));
        }
        self.owe(context, peer, cookie);
        Ok(())
    }

    /// Tells `peer` that its put or message with this cookie has not arrived.
    pub(super) fn refuse(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        (cookie, what): (u32, u8),
    ) -> Result<(), Fault> {
        let message = Refused { cookie, what };
        self.send_control(context, peer, System::Refused, message.encode())
    }

    /// A refusal has come.
    pub(super) fn refused_by_peer(
        &mut self,
        context: &Context<P>,
        peer: Endpoint,
        refused: Refused,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let error = match refused.what {
            Refused::PUT => Error::PutsRefused { peer: peer.task },
            Refused::DATA => Error::NotFetched { peer: peer.task },
            what => {
                return Err(Error::SystemMessage {
                    origin: peer.task,
                    message: "refusal",
                    field: "what",
                    value: what.into(),
                    expected: "0 or 1",
                }
                .into());
            }
        };
        let pending = short(&context.shared().cookies).acknowledged(peer, refused.cookie)?;
        progress.completed += 1;
        let Some(pending) = pending else {
            // It failed here already.
            return Ok(());
        };
        let mut result = Ok(());
        for done in [pending.local_done, pending.remote_done]
            .into_iter()
            .flatten()
        {
            let told = deliver(context, Some(done), Err(error.clone().into()), progress);
            result = result.and(told);
        }
        result
    }
}
