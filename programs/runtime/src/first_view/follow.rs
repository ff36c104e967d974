// SPDX-License-Identifier: MIT OR Apache-2.0
//! The message, or the packet, that the first view of a waveform follows, and what it did when.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use gyre_timeline::{
    Context, How, Lane, Message, Messages, PacketKind, Recording, Role, Stage, Stages, What,
};

/// Cycles within which a packet that is followed without a message goes on from a node.
const MAX_WAIT: u64 = 256;

/// Subject of a waveform.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Subject {
    /// Its cycles.
    #[default]
    Window,
    /// The first message from a task to another.
    Message {
        /// Earliest cycle of its post.
        from_cycle: u64,
        /// Task that sent it.
        source: u32,
        /// Task that received it.
        destination: u32,
    },
    /// The end of a run that failed, or its last progress.
    Failure {
        /// In this cycle.
        cycle: u64,
        /// Whether there was no progress after it.
        stalled: bool,
        /// The instance of a module in which an assertion failed, by its scopes from the node on, and as an error names it.
        instance: Option<String>,
    },
}

/// A packet's way over one link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hop {
    /// When its first flit was on the link.
    pub(super) ps: u64,
    pub(super) node: u32,
    /// Port by which it left.
    pub(super) port: u8,
    pub(super) to: u32,
    /// The link's name on its node.
    pub(super) name: String,
    /// Virtual channel.
    pub(super) channel: u8,
}

/// The packets of one descriptor, from one node to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flight {
    pub(super) role: Option<Role>,
    pub(super) from: u32,
    pub(super) to: u32,
    /// Message id.
    pub(super) id: u32,
    /// The links, as packets first came to each.
    pub(super) hops: Vec<Hop>,
}

/// The followed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Followed {
    /// Kind and route in words: in one line, and in two.
    pub(super) name: String,
    pub(super) what: String,
    pub(super) way: String,
    /// When it was posted; of a packet without a message, when it was first on a link.
    pub(super) begin_ps: u64,
    /// When it was at its destination, if it came there.
    pub(super) end_ps: Option<u64>,
    /// Stages by their begin.
    pub(super) changes: Vec<(u64, String)>,
    pub(super) flights: Vec<Flight>,
}

/// The message that `subject` is about among those of nodes `shown`, or the first in the cycles of `span_ps`; without
/// messages, the first packet there.
pub(super) fn follow(
    recording: &Recording,
    messages: &Messages,
    subject: &Subject,
    shown: &BTreeSet<usize>,
    span_ps: &Range<u64>,
) -> Option<Followed> {
    let tasks: BTreeMap<u32, u32> = recording
        .threads
        .iter()
        .filter_map(|thread| Some((thread.task?, thread.node)))
        .collect();
    let nodes = |message: &Message| {
        let node = |context: Context| tasks.get(&context.task).copied();
        Some((node(message.source)?, node(message.destination)?))
    };
    let shows = |node: u32| shown.contains(&(node as usize));
    // How many of its ends are shown; those of nodes that are unknown cannot be followed.
    let ends = |message: &Message| {
        nodes(message).map_or(0, |(from, to)| {
            usize::from(shows(from)) + usize::from(shows(to))
        })
    };
    let all = || messages.all().iter().filter(|message| ends(message) > 0);
    let found = match *subject {
        Subject::Message {
            from_cycle,
            source,
            destination,
        } => all().find(|message| {
            let tasks = (message.source.task, message.destination.task);
            tasks == (source, destination) && message.posted_ps >= from_cycle * recording.cycle_ps
        }),
        Subject::Failure { cycle, .. } => {
            let at_ps = (cycle + 1) * recording.cycle_ps;
            let posted = || all().filter(|message| message.posted_ps < at_ps);
            let open = |message: &&Message| {
                message
                    .done_ps
                    .is_none_or(|ps| ps >= at_ps.saturating_sub(1))
            };
            let progress = |message: &&Message| (last_ps(messages, message, at_ps), message.serial);
            posted()
                .filter(open)
                .max_by_key(progress)
                .or_else(|| posted().max_by_key(progress))
        }
        Subject::Window => None,
    };
    let found = found.or_else(|| {
        let begins = |message: &&Message| span_ps.contains(&message.posted_ps);
        let inside = |message: &&Message| message.done_ps.is_some_and(|ps| span_ps.contains(&ps));
        let overlaps = |message: &&Message| {
            message.posted_ps < span_ps.end && message.done_ps.is_none_or(|ps| ps >= span_ps.start)
        };
        // The whole of it on nodes that are shown, if there is such a one.
        let best = |message: &&Message| {
            (
                begins(message),
                ends(message),
                inside(message),
                std::cmp::Reverse(message.serial),
            )
        };
        all().filter(overlaps).max_by_key(best)
    });
    match found {
        Some(message) => Some(of_message(recording, messages, message, nodes(message)?)),
        None => packet(recording, shown, span_ps),
    }
}

/// When a message last got on before `at_ps`.
fn last_ps(messages: &Messages, message: &Message, at_ps: u64) -> u64 {
    let packets = [message.first, message.data, message.asked, message.answer];
    let packets = packets
        .into_iter()
        .flatten()
        .map(|index| &messages.packets()[index]);
    let of_packets = packets.flat_map(|packets| {
        [
            packets.tail_ps,
            packets.fetched_ps,
            packets.head_ps,
            packets.arrived_ps,
            packets.last_taken_ps,
        ]
    });
    let of_message = [
        Some(message.posted_ps),
        message.started_ps,
        message.unexpected_ps,
        message.matched_ps,
    ];
    let times = of_packets.chain(of_message).flatten();
    times.filter(|&ps| ps < at_ps).max().unwrap_or(0)
}

fn of_message(
    recording: &Recording,
    messages: &Messages,
    message: &Message,
    (source, destination): (u32, u32),
) -> Followed {
    let packets = [message.first, message.data, message.asked, message.answer];
    let flights: Vec<Flight> = packets
        .into_iter()
        .flatten()
        .map(|index| {
            let packets = &messages.packets()[index];
            let (from, to) = match packets.role {
                Role::RemoteGet => (destination, source),
                _ => (source, destination),
            };
            Flight {
                role: Some(packets.role),
                from,
                to,
                id: packets.id,
                hops: hops(recording, messages, index),
            }
        })
        .collect();
    let id = flights.first().map_or(0, |flight| flight.id);
    let how = match message.how {
        How::Send => "send",
        How::Put => "put",
        How::Get => "get",
    };
    let tasks = (message.source.task, message.destination.task);
    Followed {
        name: format!(
            "message {}, {how} of {} B from task {} to {}",
            message.serial, message.bytes, tasks.0, tasks.1
        ),
        what: format!(
            "message {}: {how} {} B, id {id:x}",
            message.serial, message.bytes
        ),
        way: format!(
            "task {} (node {source}) to {} (node {destination})",
            tasks.0, tasks.1
        ),
        begin_ps: message.posted_ps,
        end_ps: message.done_ps,
        changes: changes(recording, messages, message, &flights),
        flights,
    }
}

/// The links that the packets of this place in [`Messages::packets`] went over.
fn hops(recording: &Recording, messages: &Messages, index: usize) -> Vec<Hop> {
    let mut seen = BTreeSet::new();
    let mut hops = Vec::new();
    for (number, event) in recording.events().enumerate() {
        let (What::Hop { channel, .. }, Lane::Link(port)) = (event.what, event.lane) else {
            continue;
        };
        if messages.of_event(number) == Some(index) && seen.insert((event.node, port)) {
            hops.extend(hop(recording, event.ps, (event.node, port), channel));
        }
    }
    hops
}

fn hop(recording: &Recording, ps: u64, (node, port): (u32, u8), channel: u8) -> Option<Hop> {
    let links = &recording.links;
    let link = links
        .iter()
        .find(|link| (link.node, link.port) == (node, port))?;
    Some(Hop {
        ps,
        node,
        port,
        to: link.to,
        name: link.name.clone(),
        channel,
    })
}

/// Words for a message's stage.
fn word(stage: Stage) -> &'static str {
    match stage {
        Stage::Queue => "post",
        Stage::Start => "make descriptor",
        Stage::Fetch => "fetch descriptor",
        Stage::Inject => "inject",
        Stage::Network => "hop",
        Stage::Reception => "arrive",
        Stage::Match => "dispatch",
        Stage::WaitForReceive => "wait for receive",
        Stage::Ask => "ask for data",
        Stage::InjectRequest => "inject request",
        Stage::RequestNetwork => "request hop",
        Stage::ServeRequest => "serve request",
        Stage::DataNetwork => "data hop",
        Stage::Deliver => "deliver",
    }
}

/// Stages of a message by their begin, to its end, or as far as they are known.
fn changes(
    recording: &Recording,
    messages: &Messages,
    message: &Message,
    flights: &[Flight],
) -> Vec<(u64, String)> {
    let mut known = message.clone();
    known.done_ps = message.done_ps.or(Some(recording.end_ps));
    let Some(stages) = Stages::of(messages, &known) else {
        return vec![(message.posted_ps, word(Stage::Queue).to_owned())];
    };
    let mut times: Vec<(Stage, u64)> = stages.times().collect();
    if message.done_ps.is_none() {
        // What is known ends before the last stage. Packets that have not come to their target are still on links.
        times.pop();
        let arrived = |role: Role| {
            let flight = flights.iter().rfind(|flight| flight.role == Some(role));
            flight.is_none_or(|flight| flight.hops.last().is_none_or(|hop| hop.to == flight.to))
        };
        let on_links = match times.last() {
            Some((Stage::Network, _)) => !flights
                .first()
                .is_none_or(|flight| flight.role.is_none_or(arrived)),
            Some((Stage::RequestNetwork, _)) => !arrived(Role::RemoteGet),
            Some((Stage::DataNetwork, _)) => !arrived(Role::GetData),
            _ => false,
        };
        let open = match times.last() {
            Some(&(stage, _)) if on_links => {
                times.pop();
                stage
            }
            last => after(last.map(|&(stage, _)| stage), message),
        };
        times.push((open, 0));
    }
    let mut changes = Vec::new();
    let mut at_ps = message.posted_ps;
    for (stage, length_ps) in times {
        let role = match stage {
            Stage::RequestNetwork => Some(Role::RemoteGet),
            Stage::DataNetwork => Some(Role::GetData),
            _ => None,
        };
        let on_links = matches!(
            stage,
            Stage::Network | Stage::RequestNetwork | Stage::DataNetwork
        );
        let mut words = Vec::new();
        if on_links {
            let of_stage = |flight: &&Flight| match role {
                Some(role) => flight.role == Some(role),
                None => !matches!(flight.role, Some(Role::RemoteGet | Role::GetData)),
            };
            let hops = flights.iter().filter(of_stage).flat_map(|f| &f.hops);
            words.extend(hops.map(|hop| (hop.ps, format!("{} {}", word(stage), hop.name))));
            // Each link once, by the packets that came to it first.
            words.sort();
        }
        // A stage begins with its word, whenever its first event was.
        match words.first_mut() {
            Some(first) if first.0 <= at_ps => first.0 = at_ps,
            _ => words.insert(0, (at_ps, word(stage).to_owned())),
        }
        changes.append(&mut words);
        at_ps += length_ps;
    }
    if let Some(done_ps) = message.done_ps {
        changes.push((done_ps, "done".to_owned()));
    }
    in_order(changes)
}

/// The changes in the order of time; of several at the same time the last one stays.
fn in_order(mut changes: Vec<(u64, String)>) -> Vec<(u64, String)> {
    changes.sort_by_key(|&(ps, _)| ps);
    let mut kept: Vec<(u64, String)> = Vec::new();
    for change in changes {
        if kept.last().is_some_and(|last| last.0 == change.0) {
            kept.pop();
        }
        kept.push(change);
    }
    kept
}

/// The stage that follows `last`, of a message that has not come to its end.
fn after(last: Option<Stage>, message: &Message) -> Stage {
    let get = message.how == How::Get;
    match last {
        None => Stage::Queue,
        Some(Stage::Queue) => Stage::Start,
        Some(Stage::Start) => Stage::Fetch,
        Some(Stage::Fetch) if get => Stage::InjectRequest,
        Some(Stage::Fetch) => Stage::Inject,
        Some(Stage::Inject) => Stage::Network,
        Some(Stage::Network) => Stage::Reception,
        Some(Stage::Reception) => Stage::Match,
        Some(Stage::Match) if message.unexpected_ps.is_some() && message.matched_ps.is_none() => {
            Stage::WaitForReceive
        }
        Some(Stage::Match | Stage::WaitForReceive) if message.asked.is_some() => Stage::Ask,
        Some(Stage::Ask) => Stage::InjectRequest,
        Some(Stage::InjectRequest) => Stage::RequestNetwork,
        Some(Stage::RequestNetwork) => Stage::ServeRequest,
        Some(Stage::ServeRequest) => Stage::DataNetwork,
        Some(Stage::Match | Stage::WaitForReceive | Stage::DataNetwork | Stage::Deliver) => {
            Stage::Deliver
        }
    }
}

/// The first packet that is on a link of a node that is shown, in a run without messages.
fn packet(
    recording: &Recording,
    shown: &BTreeSet<usize>,
    span_ps: &Range<u64>,
) -> Option<Followed> {
    let mut way: Vec<Hop> = Vec::new();
    let mut wanted: Option<(PacketKind, u32, u32)> = None;
    let (mut length, mut end_ps) = (0, 0);
    for event in recording.events() {
        let (
            What::Hop {
                channel,
                kind,
                flits,
                id,
                word,
            },
            Lane::Link(port),
        ) = (event.what, event.lane)
        else {
            continue;
        };
        let next = match (wanted, way.last()) {
            (Some(wanted), Some(last)) => {
                let wait_ps = MAX_WAIT * recording.cycle_ps;
                wanted == (kind, id, word)
                    && event.node == last.to
                    && (last.ps + 1..last.ps + wait_ps).contains(&event.ps)
            }
            _ => shown.contains(&(event.node as usize)) && span_ps.contains(&event.ps),
        };
        // No packet comes back to a node.
        if !next || way.iter().any(|hop| hop.node == event.node) {
            continue;
        }
        wanted = Some((kind, id, word));
        way.extend(hop(recording, event.ps, (event.node, port), channel));
        (length, end_ps) = (flits, event.end_ps + recording.link_ps);
    }
    let (first, last) = (way.first()?, way.last()?);
    let id = wanted.map_or(0, |(_, id, _)| id);
    let (from, to) = (first.node, last.to);
    let mut changes: Vec<(u64, String)> = way
        .iter()
        .map(|hop| (hop.ps, format!("hop {}", hop.name)))
        .collect();
    changes.push((end_ps, "arrive".to_owned()));
    Some(Followed {
        name: format!("a packet of {length} flits from node {from} to {to}"),
        what: format!("packet: {length} flits, id {id:x}"),
        way: format!("node {from} to {to}"),
        begin_ps: first.ps,
        end_ps: Some(end_ps),
        changes: in_order(changes),
        flights: vec![Flight {
            role: None,
            from,
            to,
            id,
            hops: way,
        }],
    })
}

#[cfg(test)]
mod tests;
