//! A recording as a trace that Perfetto opens.
//!
//! Groups of tracks are the tasks and the nodes. A task has a track for each of its threads, with the driver's operations
//! and what the thread waits for, and two with a thin slice for each message that it sends or receives: an arrow joins the
//! two of a message. A node has its DMA engine, its wake-ups, and for each link the packets on each virtual channel and the
//! share of cycles in which it carried a flit. Times are nanoseconds, rounded down; what must be exact is in the slices'
//! arguments, in picoseconds.

pub mod proto;

mod items;

use std::collections::BTreeMap;

use prost::Message as _;

use crate::event::{Lane, What};
use crate::messages::{How, Message, Messages};
use crate::recording::Recording;
use crate::stages::Stages;
use items::{Item, Items};
use proto::{
    CounterDescriptor, INCREMENTAL_STATE_CLEARED, ProcessDescriptor, TracePacket, TrackDescriptor,
};

/// The only sequence of packets.
const SEQUENCE: u32 = 1;

/// Number of the process that stands for node 0. Those of tasks are below: a machine has fewer.
const NODE_PROCESS: i32 = 1 << 20;

/// Length of a message's slices at most, nanoseconds.
const THIN_NS: u64 = 1;

/// The file's bytes. They are a function of the recording alone.
#[must_use]
pub fn trace(recording: &Recording, messages: &Messages) -> Vec<u8> {
    let mut writer = Writer {
        recording,
        messages,
        descriptors: Vec::new(),
        items: Items::default(),
    };
    writer.threads();
    writer.nodes();
    writer.finish()
}

struct Writer<'a> {
    recording: &'a Recording,
    messages: &'a Messages,
    descriptors: Vec<TrackDescriptor>,
    items: Items,
}

impl Writer<'_> {
    /// The tracks of software threads, and of a task's messages.
    fn threads(&mut self) {
        let mut tasks = BTreeMap::new();
        for thread in &self.recording.threads {
            if let Some(task) = thread.task {
                tasks.entry(task).or_insert(thread.node);
            }
        }
        for message in self.messages.all() {
            for task in [message.source.task, message.destination.task] {
                tasks.entry(task).or_default();
            }
        }
        let tasks: BTreeMap<u32, u64> = tasks
            .into_iter()
            .map(|(task, node)| {
                let name = format!("rank {task} on node {node}");
                (task, self.process(task as i32 + 1, name))
            })
            .collect();
        let mut lanes = BTreeMap::new();
        for thread in &self.recording.threads {
            let group = thread.task.and_then(|task| tasks.get(&task).copied());
            let track = self.track(group, thread.name.clone());
            lanes.insert((thread.node, thread.number), track);
        }
        for event in self.recording.events() {
            let Lane::Thread(number) = event.lane else {
                continue;
            };
            let Some(&track) = lanes.get(&(event.node, number)) else {
                continue;
            };
            match event.what {
                What::Spent { operation, count } => {
                    let name = self.recording.operations.get(usize::from(operation));
                    let item = Item::of(name.copied().unwrap_or("operation"));
                    let item = item.with("count", u64::from(count));
                    self.items.slice(track, (event.ps, event.end_ps), item);
                }
                What::Waited { why } => {
                    let item = Item::of(why.name());
                    self.items.slice(track, (event.ps, event.end_ps), item);
                }
                _ => {}
            }
        }
        // Behind the threads, for all tasks.
        self.message_tracks(&tasks);
    }

    /// A track for the messages that a task sends, and one for those that it receives, with their slices.
    fn message_tracks(&mut self, tasks: &BTreeMap<u32, u64>) {
        let mut sends: BTreeMap<u32, Vec<(u64, &Message)>> = BTreeMap::new();
        let mut receives: BTreeMap<u32, Vec<(u64, &Message)>> = BTreeMap::new();
        for message in self.messages.all() {
            // An arrow needs both ends.
            let Some(done_ps) = message.done_ps else {
                continue;
            };
            let (from, to) = (message.source.task, message.destination.task);
            // A get begins at who wants the data.
            let posted_by = if message.how == How::Get { to } else { from };
            let sent = (message.posted_ps, message);
            sends.entry(posted_by).or_default().push(sent);
            receives.entry(to).or_default().push((done_ps, message));
        }
        for (lists, name) in [(&mut sends, "messages out"), (&mut receives, "messages in")] {
            let out = name == "messages out";
            for (task, list) in lists {
                let track = self.track(tasks.get(task).copied(), name.to_owned());
                list.sort_by_key(|&(ps, message)| (ps, message.serial));
                let begins: Vec<u64> = list.iter().map(|(ps, _)| ps / 1000).collect();
                for (number, &(ps, message)) in list.iter().enumerate() {
                    let begin = ps / 1000;
                    let next = begins.get(number + 1).copied().unwrap_or(u64::MAX);
                    let end = (begin + THIN_NS).min(next);
                    let item = self.message_item(message, out);
                    self.items.slice_ns(track, (begin, end), item);
                }
            }
        }
    }

    /// The slice of a message at its origin, or at its target.
    fn message_item(&self, message: &Message, out: bool) -> Item {
        let what = match message.how {
            How::Send => "message",
            How::Put => "put",
            How::Get => "get",
        };
        let item = Item::of(what)
            .with("serial", message.serial)
            .with("from rank", message.source.task.into())
            .with("to rank", message.destination.task.into())
            .with("tag", message.tag.into())
            .with("bytes", message.bytes.into());
        if out {
            let item = item.with("posted_ps", message.posted_ps);
            return item.with_flow(message.serial);
        }
        let stages = Stages::of(self.messages, message);
        let mut item = item.ending_flow(message.serial);
        if let Some(stages) = stages {
            item = item.with("total_ps", stages.total_ps());
            for (stage, ps) in stages.times() {
                item = item.with(stage.name(), ps);
            }
        }
        item
    }

    /// The tracks of nodes.
    fn nodes(&mut self) {
        let mut tracks = NodeTracks::default();
        for (number, event) in self.recording.events().iter().enumerate() {
            let node = event.node;
            let whose = self.messages.of_event(number);
            let packets = whose.map(|index| &self.messages.packets()[index]);
            let role = packets.map_or("packet", |packets| packets.role.name());
            let serials: Vec<u64> = packets
                .into_iter()
                .flat_map(|packets| &packets.messages)
                .map(|&message| self.messages.all()[message].serial)
                .collect();
            let span = (event.ps, event.end_ps);
            match event.what {
                What::Tail { fifo, count, .. } => {
                    let track = self.node_track(&mut tracks, node, "DMA engine");
                    let item = Item::of("descriptors posted")
                        .with("injection FIFO", fifo.into())
                        .with("descriptors", count.into());
                    self.items.instant(track, event.ps, item);
                }
                What::Fetch {
                    fifo, id, bytes, ..
                } => {
                    let track = self.node_track(&mut tracks, node, "DMA engine");
                    let name = packets.map_or("descriptor", |packets| packets.role.name());
                    let item = Item::of(name)
                        .with("injection FIFO", fifo.into())
                        .with("id", id.into())
                        .with("bytes", bytes.into())
                        .with_all("message", &serials);
                    self.items.instant(track, event.ps, item);
                }
                What::Levels { levels } => {
                    let track = self.node_track(&mut tracks, node, "wake-up outputs");
                    let item = Item::of("outputs").with("levels", levels.into());
                    self.items.instant(track, event.ps, item);
                }
                What::Written { bytes } => {
                    let track = self.node_track(&mut tracks, node, "memory writes");
                    let item = Item::of("write").with("bytes", bytes.into());
                    self.items.instant(track, event.ps, item);
                }
                What::Hop {
                    channel, flits, id, ..
                } => {
                    let Lane::Link(port) = event.lane else {
                        continue;
                    };
                    let name = format!("{} channel {channel}", self.link_name(node, port));
                    let track = self.node_track(&mut tracks, node, &name);
                    let item = Item::of(role)
                        .with("flits", flits.into())
                        .with("id", id.into())
                        .with_all("message", &serials);
                    self.items.slice(track, span, item);
                }
                What::Load { flits } => {
                    let Lane::Load(port) = event.lane else {
                        continue;
                    };
                    let group = self.node_group(&mut tracks, node);
                    let name = format!("load of {}", self.link_name(node, port));
                    let (track, until) = match tracks.loads.get(&(node, port)) {
                        Some(&load) => load,
                        None => {
                            let track = self.counter(group, name);
                            (track, self.recording.start_ps)
                        }
                    };
                    let (from_ps, to_ps) = span;
                    if until < from_ps {
                        self.items.counter(track, until, 0.0);
                    }
                    let busy = f64::from(flits) * self.recording.cycle_ps as f64;
                    let share = busy / (to_ps - from_ps).max(1) as f64;
                    self.items.counter(track, from_ps, share);
                    tracks.loads.insert((node, port), (track, to_ps));
                }
                What::Spent { .. } | What::Waited { .. } | What::Note(_) => {}
            }
        }
        for (track, until) in tracks.loads.into_values() {
            self.items.counter(track, until, 0.0);
        }
    }

    fn link_name(&self, node: u32, port: u8) -> String {
        let links = &self.recording.links;
        let found = links.binary_search_by_key(&(node, port), |link| (link.node, link.port));
        found.map_or_else(
            |_| format!("link {port}"),
            |index| format!("link {} to node {}", links[index].name, links[index].to),
        )
    }

    fn node_group(&mut self, tracks: &mut NodeTracks, node: u32) -> u64 {
        if let Some(&group) = tracks.groups.get(&node) {
            return group;
        }
        let group = self.process(NODE_PROCESS + node as i32, format!("node {node}"));
        tracks.groups.insert(node, group);
        group
    }

    fn node_track(&mut self, tracks: &mut NodeTracks, node: u32, name: &str) -> u64 {
        if let Some(&track) = tracks.tracks.get(&(node, name.to_owned())) {
            return track;
        }
        let group = self.node_group(tracks, node);
        let track = self.track(Some(group), name.to_owned());
        tracks.tracks.insert((node, name.to_owned()), track);
        track
    }

    /// A group of tracks.
    fn process(&mut self, pid: i32, name: String) -> u64 {
        self.describe(TrackDescriptor {
            process: Some(ProcessDescriptor {
                pid: Some(pid),
                process_name: Some(name.clone()),
            }),
            name: Some(name),
            ..TrackDescriptor::default()
        })
    }

    fn track(&mut self, parent_uuid: Option<u64>, name: String) -> u64 {
        self.describe(TrackDescriptor {
            name: Some(name),
            parent_uuid,
            ..TrackDescriptor::default()
        })
    }

    fn counter(&mut self, parent_uuid: u64, name: String) -> u64 {
        self.describe(TrackDescriptor {
            name: Some(name),
            parent_uuid: Some(parent_uuid),
            counter: Some(CounterDescriptor {
                unit_name: Some("flits a cycle".to_owned()),
            }),
            ..TrackDescriptor::default()
        })
    }

    fn describe(&mut self, descriptor: TrackDescriptor) -> u64 {
        let uuid = self.descriptors.len() as u64 + 1;
        self.descriptors.push(TrackDescriptor {
            uuid: Some(uuid),
            ..descriptor
        });
        uuid
    }

    fn finish(self) -> Vec<u8> {
        let (names, events) = self.items.finish();
        let first = TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
            interned_data: Some(names),
            ..TracePacket::default()
        };
        let tracks = self.descriptors.into_iter().map(|descriptor| TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        });
        let mut bytes = Vec::new();
        for packet in std::iter::once(first).chain(tracks).chain(events) {
            // `Trace::packet`, of which the file is made.
            bytes.push(1 << 3 | 2);
            packet
                .encode_length_delimited(&mut bytes)
                .expect("a vector has room");
        }
        bytes
    }
}

/// Tracks of nodes that there are already.
#[derive(Default)]
struct NodeTracks {
    groups: BTreeMap<u32, u64>,
    tracks: BTreeMap<(u32, String), u64>,
    /// With the end of the interval that was shown last, picoseconds.
    loads: BTreeMap<(u32, u8), (u64, u64)>,
}
