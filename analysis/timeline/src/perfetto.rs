// SPDX-License-Identifier: MIT OR Apache-2.0
//! A recording as a trace that Perfetto opens.
//!
//! Groups of tracks are the tasks and the nodes. A task has a track for each of its threads, with the driver's operations
//! and what the thread waits for, and two with a thin slice for each message that it sends or receives: an arrow joins the
//! two of a message. The program has what is found about it as a whole: its critical path. A node has its DMA engine, its wake-ups, and for each link the packets on each virtual channel and the
//! share of cycles in which it carried a flit. Times are nanoseconds, rounded down; what must be exact is in the slices'
//! arguments, in picoseconds.

pub mod proto;

mod items;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use crate::event::{Event, Lane, What};
use crate::messages::{How, Message, Messages};
use crate::recording::Recording;
use crate::stages::Stages;
use items::{Item, Items};
use proto::{
    CounterDescriptor, INCREMENTAL_STATE_CLEARED, ProcessDescriptor, SEQUENCE, TracePacket,
    TrackDescriptor,
};

/// Number of the process that stands for node 0. Those of tasks are below: a machine has fewer.
const NODE_PROCESS: i32 = 1 << 20;

/// Number of the process that stands for the program.
const PROGRAM_PROCESS: i32 = 1 << 30;

/// Length of a message's slices at most, picoseconds.
const THIN_PS: u64 = 1000;

/// A track of the program as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramTrack {
    /// Its name.
    pub name: &'static str,
    /// Spans in order of time.
    pub spans: Vec<Span>,
}

/// A span of time on a track of the program. Times are picoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Its begin.
    pub from_ps: u64,
    /// Its end.
    pub to_ps: u64,
    /// Its name.
    pub name: &'static str,
    /// Serial of the message that it belongs to, if it belongs to one.
    pub message: Option<u64>,
}

/// Writes the file, of runs one after the other, with what is found about each: a run begins where the one before it ended. Its
/// bytes are a function of the runs alone. What memory should not hold meanwhile is in a file in `folder`.
///
/// # Errors
/// Those of `out`, and of that file.
pub fn write<'a>(
    runs: impl IntoIterator<Item = (&'a Recording, &'a Messages, &'a [ProgramTrack])>,
    folder: &Path,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut tracks = Tracks::default();
    let mut items = Items::new(folder.to_owned());
    let mut end_ps = 0_u64;
    let mut serials = 0;
    for (recording, messages, found) in runs {
        // Whole nanoseconds: times are rounded alike in all runs.
        let shift_ps = end_ps.saturating_sub(recording.start_ps);
        items.shift_ps = shift_ps.next_multiple_of(1000);
        end_ps = recording.end_ps + items.shift_ps;
        let mut run = Run {
            recording,
            messages,
            serials,
            tracks: &mut tracks,
            items: &mut items,
        };
        run.program(found);
        run.threads();
        run.nodes();
        serials += messages.all().len() as u64;
    }
    finish(tracks, items, out)
}

/// The tracks of a file.
#[derive(Default)]
struct Tracks {
    descriptors: Vec<TrackDescriptor>,
    /// By group, zero for none, and name.
    by_name: BTreeMap<(u64, String), u64>,
}

impl Tracks {
    /// The group of this name.
    fn process(&mut self, pid: i32, name: String) -> u64 {
        let process = Some(ProcessDescriptor {
            pid: Some(pid),
            process_name: Some(name.clone()),
        });
        self.find(None, name, process, None)
    }

    /// The track of this name in a group.
    fn track(&mut self, group: Option<u64>, name: String) -> u64 {
        self.find(group, name, None, None)
    }

    /// The same of a share of cycles.
    fn share(&mut self, group: Option<u64>, name: String) -> u64 {
        let counter = CounterDescriptor {
            unit_name: Some("flits a cycle".to_owned()),
        };
        self.find(group, name, None, Some(counter))
    }

    fn find(
        &mut self,
        parent_uuid: Option<u64>,
        name: String,
        process: Option<ProcessDescriptor>,
        counter: Option<CounterDescriptor>,
    ) -> u64 {
        let next = self.descriptors.len() as u64 + 1;
        let key = (parent_uuid.unwrap_or(0), name.clone());
        let uuid = *self.by_name.entry(key).or_insert(next);
        if uuid == next {
            self.descriptors.push(TrackDescriptor {
                uuid: Some(uuid),
                name: Some(name),
                process,
                parent_uuid,
                counter,
            });
        }
        uuid
    }
}

/// A run as it is written.
struct Run<'a> {
    recording: &'a Recording,
    messages: &'a Messages,
    /// Messages of the runs before it.
    serials: u64,
    tracks: &'a mut Tracks,
    items: &'a mut Items,
}

impl Run<'_> {
    /// The tracks of the program as a whole.
    fn program(&mut self, found: &[ProgramTrack]) {
        if found.is_empty() {
            return;
        }
        let group = self.tracks.process(PROGRAM_PROCESS, "program".to_owned());
        for track in found {
            let uuid = self.tracks.track(Some(group), track.name.to_owned());
            for span in &track.spans {
                let item = Item::of(span.name)
                    .with("from_ps", span.from_ps)
                    .with("to_ps", span.to_ps)
                    .with_all(
                        "message",
                        span.message.map(|serial| self.serials + serial).into_iter(),
                    );
                self.items.slice(uuid, (span.from_ps, span.to_ps), item);
            }
        }
    }

    /// The tracks of software threads, and of tasks' messages.
    fn threads(&mut self) {
        let mut tasks = BTreeMap::new();
        for thread in &self.recording.threads {
            if let Some(task) = thread.task {
                tasks.entry(task).or_insert(thread.node);
            }
        }
        let tasks: BTreeMap<u32, u64> = tasks
            .into_iter()
            .map(|(task, node)| {
                let name = format!("rank {task} on node {node}");
                (task, self.tracks.process(task as i32 + 1, name))
            })
            .collect();
        let mut lanes = BTreeMap::new();
        for thread in &self.recording.threads {
            let group = match thread.task.and_then(|task| tasks.get(&task)) {
                Some(&group) => group,
                None => self.node_group(thread.node),
            };
            let track = self.tracks.track(Some(group), thread.name.clone());
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
                What::Waited { why, .. } => {
                    let item = Item::of(why.name());
                    self.items.slice(track, (event.ps, event.end_ps), item);
                }
                _ => {}
            }
        }
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
                let track = self.tracks.track(tasks.get(task).copied(), name.to_owned());
                list.sort_by_key(|&(ps, message)| (ps, message.serial));
                let next = list.iter().skip(1).map(|&(ps, _)| ps);
                let next: Vec<u64> = next.chain([u64::MAX]).collect();
                for (&(ps, message), next) in list.iter().zip(next) {
                    let item = self.message_item(message, out);
                    self.items.slice(track, (ps, next.min(ps + THIN_PS)), item);
                }
            }
        }
    }

    /// The slice of a message at its origin, or at its target.
    fn message_item(&self, message: &Message, out: bool) -> Item {
        let serial = self.serials + message.serial;
        let what = match message.how {
            How::Send => "message",
            How::Put => "put",
            How::Get => "get",
        };
        let item = Item::of(what)
            .with("serial", serial)
            .with("from rank", message.source.task.into())
            .with("to rank", message.destination.task.into())
            .with("tag", message.tag.into())
            .with("bytes", message.bytes.into());
        if out {
            let item = item.with("posted_ps", message.posted_ps);
            return item.with_flow(serial);
        }
        let stages = Stages::of(self.messages, message);
        let mut item = item.ending_flow(serial);
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
        let mut tracks: BTreeMap<(u32, NodeTrack), u64> = BTreeMap::new();
        // Of links: the end of the interval that was shown last.
        let mut loads: BTreeMap<(u32, u8), (u64, u64)> = BTreeMap::new();
        for (number, event) in self.recording.events().enumerate() {
            let node = event.node;
            let Some(kind) = NodeTrack::of(&event) else {
                continue;
            };
            let track = match tracks.get(&(node, kind)) {
                Some(&track) => track,
                None => {
                    let track = self.node_track(node, kind);
                    tracks.insert((node, kind), track);
                    track
                }
            };
            let whose = self.messages.of_event(number);
            let packets = whose.map(|index| &self.messages.packets()[index]);
            let served = packets.into_iter().flat_map(|packets| &packets.messages);
            let served = served.map(|&place| self.serials + self.messages.all()[place].serial);
            match event.what {
                What::Tail { fifo, count, .. } => {
                    let item = Item::of("descriptors posted")
                        .with("injection FIFO", fifo.into())
                        .with("descriptors", count.into());
                    self.items.instant(track, event.ps, item);
                }
                What::Fetch {
                    fifo, id, bytes, ..
                } => {
                    let name = packets.map_or("descriptor", |packets| packets.role.name());
                    let item = Item::of(name)
                        .with("injection FIFO", fifo.into())
                        .with("id", id.into())
                        .with("bytes", bytes.into())
                        .with_all("message", served);
                    self.items.instant(track, event.ps, item);
                }
                What::Levels { levels } => {
                    let item = Item::of("outputs").with("levels", levels.into());
                    self.items.instant(track, event.ps, item);
                }
                What::Written { bytes, id } => {
                    let name = packets.map_or("write", |packets| packets.role.name());
                    let item = Item::of(name)
                        .with("bytes", bytes.into())
                        .with("id", id.into())
                        .with_all("message", served);
                    self.items.instant(track, event.ps, item);
                }
                What::Hop { flits, id, .. } => {
                    let name = packets.map_or("packet", |packets| packets.role.name());
                    let item = Item::of(name)
                        .with("flits", flits.into())
                        .with("id", id.into())
                        .with_all("message", served);
                    self.items.slice(track, (event.ps, event.end_ps), item);
                }
                What::Load { flits } => {
                    let NodeTrack::Load(port) = kind else {
                        continue;
                    };
                    let until = loads.get(&(node, port)).map(|&(_, until)| until);
                    let until = until.unwrap_or(self.recording.start_ps);
                    if until < event.ps {
                        self.items.counter(track, until, 0.0);
                    }
                    let busy = f64::from(flits) * self.recording.cycle_ps as f64;
                    let share = busy / (event.end_ps - event.ps).max(1) as f64;
                    self.items.counter(track, event.ps, share);
                    loads.insert((node, port), (track, event.end_ps));
                }
                What::Spent { .. }
                | What::Waited { .. }
                | What::Note(_)
                | What::Operation { .. } => {}
            }
        }
        for (track, until) in loads.into_values() {
            self.items.counter(track, until, 0.0);
        }
    }

    fn node_group(&mut self, node: u32) -> u64 {
        let pid = NODE_PROCESS + node as i32;
        self.tracks.process(pid, format!("node {node}"))
    }

    fn node_track(&mut self, node: u32, kind: NodeTrack) -> u64 {
        let group = Some(self.node_group(node));
        let link = |port| {
            let links = &self.recording.links;
            let found = links.binary_search_by_key(&(node, port), |link| (link.node, link.port));
            found.map_or_else(
                |_| format!("link {port}"),
                |index| format!("link {} to node {}", links[index].name, links[index].to),
            )
        };
        match kind {
            NodeTrack::Engine => self.tracks.track(group, "DMA engine".to_owned()),
            NodeTrack::Writes => self.tracks.track(group, "memory writes".to_owned()),
            NodeTrack::Levels => self.tracks.track(group, "wake-up outputs".to_owned()),
            NodeTrack::Link(port, channel) => {
                let name = format!("{} channel {channel}", link(port));
                self.tracks.track(group, name)
            }
            NodeTrack::Load(port) => {
                let name = format!("load of {}", link(port));
                self.tracks.share(group, name)
            }
        }
    }
}

/// A track of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NodeTrack {
    Engine,
    Writes,
    Levels,
    /// A virtual channel of a link: a packet that waits lets those of others pass.
    Link(u8, u8),
    Load(u8),
}

impl NodeTrack {
    /// The one that an event is shown on.
    fn of(event: &Event) -> Option<Self> {
        Some(match (event.lane, event.what) {
            (Lane::Tails | Lane::Fetches, _) => Self::Engine,
            (Lane::Writes, _) => Self::Writes,
            (Lane::Levels, _) => Self::Levels,
            (Lane::Link(port), What::Hop { channel, .. }) => Self::Link(port, channel),
            (Lane::Load(port), _) => Self::Load(port),
            (Lane::Link(_) | Lane::Thread(_), _) => return None,
        })
    }
}

/// Writes all that has been gathered.
fn finish(tracks: Tracks, mut items: Items, out: &mut impl Write) -> io::Result<()> {
    let first = TracePacket {
        trusted_packet_sequence_id: Some(SEQUENCE),
        sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
        interned_data: Some(items.names()),
        ..TracePacket::default()
    };
    let mut bytes = Vec::new();
    first.append_to(&mut bytes);
    for descriptor in tracks.descriptors {
        let packet = TracePacket {
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        };
        packet.append_to(&mut bytes);
    }
    out.write_all(&bytes)?;
    items.write(out)
}
