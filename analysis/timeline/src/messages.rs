// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages of a recording: all that was done for each, whatever it took.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use gyre_note::{Context, Note};

use crate::event::{Event, Lane, PacketKind, What};
use crate::recording::Recording;

/// Dispatch identifiers of the driver's own messages, from this one on.
const FIRST_SYSTEM: u8 = 224;
/// The data of a message whose header went before it.
const DATA: u8 = 225;
const REQUEST_TO_SEND: u8 = 226;
const HEADED: u8 = 224;
const ACKNOWLEDGEMENT: u8 = 227;

/// How the program has asked for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// A SEND.
    Send,
    /// A PUT.
    Put,
    /// A GET: the message goes from who has the data to who has asked for it.
    Get,
}

/// Purpose of a stream of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A message that travels at once.
    Eager,
    /// Tells the target of a message that stays at its origin.
    RequestToSend,
    /// Asks for data.
    RemoteGet,
    /// Data that was asked for.
    GetData,
    /// A direct put.
    Put,
    /// Tells origins that their messages have been received.
    Acknowledgement,
    /// Something else of the driver's.
    Control,
}

impl Role {
    /// In a word or two.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eager => "eager message",
            Self::RequestToSend => "request to send",
            Self::RemoteGet => "remote get",
            Self::GetData => "get data",
            Self::Put => "put",
            Self::Acknowledgement => "acknowledgement",
            Self::Control => "control message",
        }
    }
}

/// The packets of one descriptor. Times are picoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packets {
    /// Purpose of the packets.
    pub role: Role,
    /// The messages that they serve, by their place in [`Messages::all`]; several in an acknowledgement alone.
    pub messages: Vec<usize>,
    /// Message id, which others may have, too.
    pub id: u32,
    /// Of data that was asked for: the packets that ask for it, by their place in [`Messages::packets`].
    pub request: Option<usize>,
    /// When the driver queued the descriptor; of data that was asked for, the request.
    pub queued_ps: u64,
    /// When the DMA engine was told of it.
    pub tail_ps: Option<u64>,
    /// When the DMA engine read it.
    pub fetched_ps: Option<u64>,
    /// When the first flit was on a link.
    pub head_ps: Option<u64>,
    /// When the last flit had left its last link.
    pub arrived_ps: Option<u64>,
    /// When the driver took the first packet out of its reception FIFO.
    pub first_taken_ps: Option<u64>,
    /// When it took the last.
    pub last_taken_ps: Option<u64>,
    /// Flits on all links.
    pub flits: u64,
}

/// A message of the program. Times are picoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its number, from 1, in the order of posts. No two messages of a recording have the same.
    pub serial: u64,
    /// How it was asked for.
    pub how: How,
    /// Where its data comes from.
    pub source: Context,
    /// Where its data goes.
    pub destination: Context,
    /// Its tag.
    pub tag: u32,
    /// Bytes of its data.
    pub bytes: u32,
    /// When it was put on the work queue, or handed to the DMA engine at the call.
    pub posted_ps: u64,
    /// When it was taken off the work queue.
    pub started_ps: Option<u64>,
    /// Its first packets: all of an eager one; the request of one that stays at its origin, or of a get.
    pub first: Option<usize>,
    /// The data of an eager message whose header went before.
    pub data: Option<usize>,
    /// The request for its data, of a message that stayed at its origin.
    pub asked: Option<usize>,
    /// The answer to it.
    pub answer: Option<usize>,
    /// When it came and found no receive; none if it had one.
    pub unexpected_ps: Option<u64>,
    /// When it was together with its receive; none without receives.
    pub matched_ps: Option<u64>,
    /// When the program had it: its receive, or its dispatch callback, had ended. Of a put or get, when its last flit was
    /// at its node.
    pub done_ps: Option<u64>,
    /// Line of its receive in the text of the program, where programs tell what their operations are.
    pub receive_line: Option<u32>,
    /// When its origin knew, of one that stayed there until its data was fetched.
    pub acknowledged_ps: Option<u64>,
}

impl Message {
    /// Whether its dispatch callback has received it, and no receive of a messaging module.
    const fn has_no_receive(&self) -> bool {
        self.matched_ps.is_none() && self.unexpected_ps.is_none()
    }
}

/// The messages of a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Messages {
    all: Vec<Message>,
    packets: Vec<Packets>,
    /// By event: which packets it is about, or [`NONE`]. There are millions.
    about: Vec<u32>,
}

/// No packets.
const NONE: u32 = u32::MAX;

/// Key that identifies packets on wires and in descriptors.
type Key = (u32, u32, PacketKind);

/// Origin, target, dispatch identifier and tag: packets of the same are taken in the order in which they were sent.
type Channel = (Context, Context, u8, u32);

#[derive(Default)]
struct Assembler {
    all: Vec<Message>,
    packets: Vec<Packets>,
    /// By context: posted and not started.
    queues: BTreeMap<Context, VecDeque<u64>>,
    /// By context: post and start of what it is starting.
    starting: BTreeMap<Context, (u64, Option<u64>)>,
    /// By context and id: the message that was given the id last.
    named: BTreeMap<(Context, u32), usize>,
    /// Descriptors that the DMA engine has not read.
    queued: BTreeMap<Key, VecDeque<usize>>,
    /// The one that it has read last.
    current: BTreeMap<Key, usize>,
    /// By node and port: where a link goes.
    links: BTreeMap<(u32, u8), u32>,
    /// By node and id: the packets that have come last.
    came: BTreeMap<(u32, u32), usize>,
    /// Places in rings: when the DMA engine was told of them.
    tails: BTreeMap<(u32, u16, u16), u64>,
    /// Sent and not taken, by origin, target, dispatch identifier and tag.
    sent: BTreeMap<Channel, VecDeque<usize>>,
    /// Of all packets: what identifies them, and how their target takes them.
    ways: Vec<(Key, Option<Channel>)>,
    /// Messages that were not sent after all.
    withdrawn: BTreeSet<usize>,
    /// Of which some packets have been taken and others have not, by target and origin.
    arriving: BTreeMap<(Context, Context), usize>,
    /// The packets that a context is dealing with, and whether they end a message.
    handling: BTreeMap<Context, (usize, bool)>,
    /// Messages that stay at their origin, by origin and cookie.
    announced: BTreeMap<(Context, u32), usize>,
    /// Messages without receive, by context and number.
    unexpected: BTreeMap<(Context, u64), usize>,
    /// Messages with their receive, by context and number of that.
    receives: BTreeMap<(Context, u64), usize>,
    // Threads of a task run ahead of each other by what they charge: what one has done to the queues of messages may stand
    // behind what follows from it on another.
    /// Receives that have found a message which is not known yet: number of the receive, and when.
    early_pairs: BTreeMap<(Context, u64), (u64, u64)>,
    /// Ends of receives whose message is not known yet.
    early_ends: BTreeMap<(Context, u64), u64>,
    /// Messages that have found a receive: which message, and which receive.
    paired: Vec<(usize, (Context, u64))>,
    /// By thread: the receive that has ended last.
    finished: BTreeMap<(u32, Lane), (Context, u64)>,
    /// Lines of receives.
    lines: BTreeMap<(Context, u64), u32>,
}

impl Messages {
    /// Messages of a recording.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        let links = recording.links.iter();
        let mut assembler = Assembler {
            links: links
                .map(|link| ((link.node, link.port), link.to))
                .collect(),
            ..Assembler::default()
        };
        let link_ps = recording.link_ps;
        let mut about = Vec::with_capacity(recording.count());
        about.extend(recording.events().map(|event| {
            let packets = assembler.take(&event, link_ps);
            packets.map_or(NONE, |packets| packets as u32)
        }));
        let Assembler {
            mut all,
            packets,
            withdrawn,
            paired,
            lines,
            ..
        } = assembler;
        for (message, receive) in paired {
            all[message].receive_line = lines.get(&receive).copied().filter(|&line| line > 0);
        }
        for message in &mut all {
            // Nobody is told: the program has it when it is there.
            let last = match message.how {
                How::Send => None,
                How::Put => message.first,
                How::Get => message.answer,
            };
            if let Some(last) = last {
                message.done_ps = packets[last].arrived_ps;
            }
        }
        let mut messages = Self {
            all,
            packets,
            about,
        };
        messages.number(&withdrawn);
        messages
    }

    /// The messages, by serial.
    #[must_use]
    pub fn all(&self) -> &[Message] {
        &self.all
    }

    /// All packets, those of messages and others, in the order in which the driver queued them.
    #[must_use]
    pub fn packets(&self) -> &[Packets] {
        &self.packets
    }

    /// Which packets, by their place in [`Messages::packets`], the event of this number in [`Recording::events`] is about:
    /// whose descriptor is read, who is on a link or written to memory, what the driver has queued, or asked for, or taken out of a reception
    /// FIFO, or what it has found to have arrived with [`Note::Fetched`]. None for packets that no descriptor of the driver's
    /// accounts for, and for other events.
    #[must_use]
    pub fn of_event(&self, number: usize) -> Option<usize> {
        let packets = self.about.get(number).copied();
        packets
            .filter(|&packets| packets != NONE)
            .map(|packets| packets as usize)
    }

    /// Gives serials in the order of posts; those of `withdrawn` go.
    fn number(&mut self, withdrawn: &BTreeSet<usize>) {
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        order.retain(|index| !withdrawn.contains(index));
        order.sort_by_key(|&index| (self.all[index].posted_ps, index));
        // No packets belong to those that have gone.
        let mut place = vec![0; self.all.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        for packets in &mut self.packets {
            for message in &mut packets.messages {
                *message = place[*message];
            }
        }
        self.all = order.iter().map(|&old| self.all[old].clone()).collect();
        for (message, serial) in self.all.iter_mut().zip(1..) {
            message.serial = serial;
        }
    }
}

impl Assembler {
    /// Takes the next event; says which packets it is about.
    fn take(&mut self, event: &Event, link_ps: u64) -> Option<usize> {
        let &Event { ps, end_ps, .. } = event;
        match event.what {
            What::Note(note) => {
                if let Note::Finished { at, request } = note {
                    self.finished
                        .insert((event.node, event.lane), (at, request));
                }
                return self.note(ps, note);
            }
            What::Operation { line } => {
                let receive = self.finished.remove(&(event.node, event.lane));
                self.lines.extend(receive.map(|receive| (receive, line)));
            }
            What::Tail {
                fifo,
                first,
                count,
                places,
            } => {
                for place in 0..count {
                    let place = (u32::from(first) + u32::from(place)) % u32::from(places.max(1));
                    self.tails.insert((event.node, fifo, place as u16), ps);
                }
            }
            What::Fetch {
                fifo,
                place,
                kind,
                id,
                word,
                ..
            } => {
                let key = (id, word, kind);
                let tail_ps = self.tails.remove(&(event.node, fifo, place));
                let next = self.queued.get_mut(&key).and_then(VecDeque::pop_front);
                if let Some(index) = next {
                    self.packets[index].tail_ps = tail_ps;
                    self.packets[index].fetched_ps = Some(ps);
                    self.current.insert(key, index);
                    // Within a node no link carries it.
                    self.came.insert((event.node, id), index);
                }
                return next;
            }
            What::Written { id, .. } => return self.came.get(&(event.node, id)).copied(),
            What::Hop {
                kind,
                flits,
                id,
                word,
                ..
            } => {
                let key = (id, word, kind);
                let whose = self.current.get(&key).copied();
                if let Some(index) = whose {
                    let packets = &mut self.packets[index];
                    packets.head_ps.get_or_insert(ps);
                    packets.arrived_ps = packets.arrived_ps.max(Some(end_ps + link_ps));
                    packets.flits += u64::from(flits);
                }
                if let (Lane::Link(port), Some(index)) = (event.lane, whose)
                    && let Some(&to) = self.links.get(&(event.node, port))
                {
                    self.came.insert((to, id), index);
                }
                return whose;
            }
            What::Spent { .. } | What::Waited { .. } | What::Load { .. } | What::Levels { .. } => {}
        }
        None
    }

    fn note(&mut self, ps: u64, note: Note) -> Option<usize> {
        match note {
            Note::Posted { at } => self.queues.entry(at).or_default().push_back(ps),
            Note::Started { at } => {
                let posted = self.queues.get_mut(&at).and_then(VecDeque::pop_front);
                self.starting.insert(at, (posted.unwrap_or(ps), Some(ps)));
            }
            Note::Injecting { at } => {
                self.starting.insert(at, (ps, None));
            }
            Note::Withdrawn { at, id } => self.withdraw(at, id),
            Note::Message {
                at,
                to,
                id,
                tag,
                bytes,
            } => {
                let message = self.begin(ps, at, (How::Send, at, to), bytes);
                self.all[message].tag = tag;
                self.named.insert((at, id), message);
            }
            Note::Put {
                at,
                to,
                id,
                word,
                bytes,
            } => {
                let message = self.begin(ps, at, (How::Put, at, to), bytes);
                self.named.insert((at, id), message);
                let key = (id, word, PacketKind::PUT);
                let packets = self.queue(ps, key, Role::Put, Some(message));
                self.all[message].first = Some(packets);
                return Some(packets);
            }
            Note::Asked {
                at,
                from,
                id,
                word,
                bytes,
                cookie,
                program,
            } => {
                let message = match cookie {
                    Some(cookie) => self.announced.get(&(from, cookie)).copied(),
                    None if program => Some(self.begin(ps, at, (How::Get, from, at), bytes)),
                    None => None,
                };
                let request = (id, word, PacketKind::REMOTE_GET);
                let request = self.queue(ps, request, Role::RemoteGet, message);
                let answer = (id, word, PacketKind::PUT);
                let answer = self.queue(ps, answer, Role::GetData, message);
                self.packets[answer].request = Some(request);
                if let Some(message) = message {
                    let message = &mut self.all[message];
                    match message.how {
                        How::Get => message.first = Some(request),
                        How::Send | How::Put => message.asked = Some(request),
                    }
                    message.answer = Some(answer);
                }
                return Some(request);
            }
            Note::Sent {
                at,
                to,
                id,
                dispatch,
                word,
                tag,
            } => return Some(self.sent(ps, (at, to), id, (dispatch, word, tag))),
            Note::Packet {
                at,
                from,
                dispatch,
                tag,
                first,
                last,
            } => return self.packet(ps, (at, from), (dispatch, tag), (first, last)),
            Note::Handled { at } => {
                if let Some((packets, true)) = self.handling.remove(&at) {
                    self.handled(ps, packets);
                }
            }
            Note::Announced { at, from, cookie } => {
                if let Some(message) = self.handled_message(at) {
                    self.announced.insert((from, cookie), message);
                }
            }
            Note::Fetched { from, cookie, .. } => {
                if let Some(&message) = self.announced.get(&(from, cookie)) {
                    // That of a receive may be noted yet, by another thread.
                    if self.all[message].has_no_receive() {
                        self.all[message].done_ps.get_or_insert(ps);
                    }
                    return self.all[message].answer;
                }
            }
            Note::Unexpected { at, number } => {
                if let Some(message) = self.handled_message(at) {
                    self.all[message].unexpected_ps = Some(ps);
                    match self.early_pairs.remove(&(at, number)) {
                        Some((request, ps)) => self.pair(ps, message, (at, request)),
                        None => drop(self.unexpected.insert((at, number), message)),
                    }
                }
            }
            Note::Matched { at, request } => {
                if let Some(message) = self.handled_message(at) {
                    self.pair(ps, message, (at, request));
                }
            }
            Note::Paired {
                at,
                number,
                request,
            } => match self.unexpected.remove(&(at, number)) {
                Some(message) => self.pair(ps, message, (at, request)),
                None => drop(self.early_pairs.insert((at, number), (request, ps))),
            },
            Note::Finished { at, request } => match self.receives.remove(&(at, request)) {
                Some(message) => self.all[message].done_ps = Some(ps),
                None => drop(self.early_ends.insert((at, request), ps)),
            },
            Note::Acknowledged { at, cookie } => {
                let message = self.announced.remove(&(at, cookie))?;
                self.all[message].acknowledged_ps = Some(ps);
                if let Some(&(packets, _)) = self.handling.get(&at) {
                    self.packets[packets].messages.push(message);
                }
            }
            Note::Fence { .. }
            | Note::Refused { .. }
            | Note::Completed { .. }
            | Note::Collective { .. }
            | Note::Program { .. } => {}
        }
        None
    }

    /// A message has its receive.
    fn pair(&mut self, ps: u64, message: usize, request: (Context, u64)) {
        self.all[message].matched_ps = Some(ps);
        self.paired.push((message, request));
        match self.early_ends.remove(&request) {
            Some(done_ps) => self.all[message].done_ps = Some(done_ps),
            None => drop(self.receives.insert(request, message)),
        }
    }

    /// A message of the program begins that context `at` has just started.
    fn begin(
        &mut self,
        ps: u64,
        at: Context,
        (how, source, destination): (How, Context, Context),
        bytes: u32,
    ) -> usize {
        let (posted_ps, started_ps) = self.starting.get(&at).copied().unwrap_or((ps, None));
        self.all.push(Message {
            serial: 0,
            how,
            source,
            destination,
            tag: 0,
            bytes,
            posted_ps,
            started_ps,
            first: None,
            data: None,
            asked: None,
            answer: None,
            unexpected_ps: None,
            matched_ps: None,
            done_ps: None,
            receive_line: None,
            acknowledged_ps: None,
        });
        self.all.len() - 1
    }

    /// The driver has queued a descriptor.
    fn queue(&mut self, ps: u64, key: Key, role: Role, message: Option<usize>) -> usize {
        let index = self.packets.len();
        self.ways.push((key, None));
        self.packets.push(Packets {
            role,
            messages: message.into_iter().collect(),
            id: key.0,
            request: None,
            queued_ps: ps,
            tail_ps: None,
            fetched_ps: None,
            head_ps: None,
            arrived_ps: None,
            first_taken_ps: None,
            last_taken_ps: None,
            flits: 0,
        });
        self.queued.entry(key).or_default().push_back(index);
        index
    }

    fn sent(
        &mut self,
        ps: u64,
        (at, to): (Context, Context),
        id: u32,
        (dispatch, word, tag): (u8, u32, u32),
    ) -> usize {
        let role = match dispatch {
            REQUEST_TO_SEND => Role::RequestToSend,
            ACKNOWLEDGEMENT => Role::Acknowledgement,
            0..FIRST_SYSTEM | HEADED | DATA => Role::Eager,
            _ => Role::Control,
        };
        let of_program = matches!(role, Role::Eager | Role::RequestToSend);
        let message = self.named.get(&(at, id)).copied();
        let message = message.filter(|_| of_program);
        let key = (id, word, PacketKind::MEMORY_FIFO);
        let index = self.queue(ps, key, role, message);
        if let Some(message) = message {
            let message = &mut self.all[message];
            match message.first {
                None => message.first = Some(index),
                Some(_) => message.data = Some(index),
            }
        }
        let channel = (at, to, dispatch, tag);
        self.ways[index].1 = Some(channel);
        self.sent.entry(channel).or_default().push_back(index);
        index
    }

    /// Removes the message that `at` has begun with an id but does not send.
    fn withdraw(&mut self, at: Context, id: u32) {
        self.starting.remove(&at);
        let Some(message) = self.named.remove(&(at, id)) else {
            return;
        };
        self.withdrawn.insert(message);
        let Some(gone) = self.all[message].first.take() else {
            return;
        };
        self.packets[gone].messages.clear();
        let (key, channel) = self.ways[gone];
        if let Some(queue) = self.queued.get_mut(&key) {
            queue.retain(|&index| index != gone);
        }
        if let Some(queue) = channel.and_then(|channel| self.sent.get_mut(&channel)) {
            queue.retain(|&index| index != gone);
        }
    }

    fn packet(
        &mut self,
        ps: u64,
        (at, from): (Context, Context),
        (dispatch, tag): (u8, u32),
        (first, last): (bool, bool),
    ) -> Option<usize> {
        let index = if first {
            let queue = self.sent.get_mut(&(from, at, dispatch, tag));
            queue.and_then(VecDeque::pop_front)
        } else {
            self.arriving.get(&(at, from)).copied()
        };
        let Some(index) = index else {
            self.handling.remove(&at);
            return None;
        };
        if first && !last {
            self.arriving.insert((at, from), index);
        }
        self.packets[index].first_taken_ps.get_or_insert(ps);
        if last {
            self.packets[index].last_taken_ps = Some(ps);
        }
        self.handling.insert(at, (index, last));
        Some(index)
    }

    /// The last packet of a stream has been dealt with: a message without a receive to wait for ends with it.
    fn handled(&mut self, ps: u64, index: usize) {
        let packets = &self.packets[index];
        if packets.role != Role::Eager {
            return;
        }
        let Some(&message) = packets.messages.first() else {
            return;
        };
        let message = &mut self.all[message];
        // Of one with a header before it, the data ends it.
        if message.has_no_receive() && message.data.is_none_or(|data| data == index) {
            message.done_ps.get_or_insert(ps);
        }
    }

    /// The message of the packet that `at` is dealing with.
    fn handled_message(&self, at: Context) -> Option<usize> {
        let (packets, _) = self.handling.get(&at)?;
        self.packets[*packets].messages.first().copied()
    }
}
