// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of a trace, and their order.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use super::proto::{
    DebugAnnotation, EventType, InternedData, InternedName, NEEDS_INCREMENTAL_STATE, SEQUENCE,
    TracePacket, TrackEvent,
};
use crate::spool::{Merged, Record, Runs};

/// Parts of an event that are shown.
#[derive(Clone)]
pub(super) struct Item {
    name: &'static str,
    notes: Vec<(&'static str, u64)>,
    /// An arrow that leaves from it.
    flow: Option<u64>,
    /// An arrow that ends at it.
    end_of_flow: Option<u64>,
}

impl Item {
    pub fn of(name: &'static str) -> Self {
        Self {
            name,
            notes: Vec::new(),
            flow: None,
            end_of_flow: None,
        }
    }

    /// The same with an arrow that leaves from it.
    pub fn with_flow(self, flow: u64) -> Self {
        Self {
            flow: Some(flow),
            ..self
        }
    }

    /// The same with an arrow that ends at it.
    pub fn ending_flow(self, flow: u64) -> Self {
        Self {
            end_of_flow: Some(flow),
            ..self
        }
    }

    pub fn with(mut self, name: &'static str, value: u64) -> Self {
        self.notes.push((name, value));
        self
    }

    pub fn with_all(mut self, name: &'static str, values: impl Iterator<Item = u64>) -> Self {
        self.notes.extend(values.map(|value| (name, value)));
        self
    }
}

/// Packets in memory: those that are more go to disk.
const HELD: usize = 1 << 15;

/// A packet as it stands in the file.
#[derive(Clone)]
struct Packet {
    /// Its nanoseconds.
    ns: u64,
    bytes: Vec<u8>,
}

impl Record for Packet {
    type Key = u64;

    fn key(&self) -> u64 {
        self.ns
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.ns.to_le_bytes());
        bytes.extend((self.bytes.len() as u32).to_le_bytes());
        bytes.extend(&self.bytes);
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (ns, rest) = bytes.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (own, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let packet = Self {
            ns: u64::from_le_bytes(*ns),
            bytes: own.to_vec(),
        };
        Some((packet, rest))
    }
}

/// Events as they are gathered: those of a track in order of time. Times are picoseconds.
pub(super) struct Items {
    /// Added to all times.
    pub shift_ps: u64,
    names: Names,
    annotations: Names,
    /// The packets, those of equal times in the order in which they were gathered.
    runs: Runs<u64>,
    held: Vec<Packet>,
}

impl Items {
    /// None yet; those that memory should not hold are in a file in a folder.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            shift_ps: 0,
            names: Names::default(),
            annotations: Names::default(),
            runs: Runs::new(folder),
            held: Vec::new(),
        }
    }

    /// A slice between two times.
    pub fn slice(&mut self, track: u64, (from_ps, to_ps): (u64, u64), item: Item) {
        let begin = self.event(track, EventType::SliceBegin, Some(item));
        self.push(from_ps, begin);
        let end = self.event(track, EventType::SliceEnd, None);
        self.push(to_ps, end);
    }

    pub fn instant(&mut self, track: u64, ps: u64, item: Item) {
        let event = self.event(track, EventType::Instant, Some(item));
        self.push(ps, event);
    }

    pub fn counter(&mut self, track: u64, ps: u64, value: f64) {
        let event = TrackEvent {
            double_counter_value: Some(value),
            ..self.event(track, EventType::Counter, None)
        };
        self.push(ps, event);
    }

    /// The names that the events use.
    pub fn names(&self) -> InternedData {
        InternedData {
            event_names: self.names.list(),
            debug_annotation_names: self.annotations.list(),
        }
    }

    /// Writes the events in order of time; those of equal times in the order in which they were gathered.
    ///
    /// # Errors
    /// Those of `out`, and of the file of the packets.
    pub fn write(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.held.sort_by_key(Record::key);
        for packet in Merged::of(&self.runs, &self.held) {
            out.write_all(&packet.bytes)?;
        }
        self.runs.error().map_or(Ok(()), |error| Err(error.into()))
    }

    fn event(&mut self, track: u64, kind: EventType, item: Option<Item>) -> TrackEvent {
        let event = TrackEvent {
            r#type: Some(kind.into()),
            track_uuid: Some(track),
            ..TrackEvent::default()
        };
        let Some(item) = item else {
            return event;
        };
        let annotation = |(name, value)| DebugAnnotation {
            name_iid: Some(self.annotations.number(name)),
            uint_value: Some(value),
            string_value: None,
        };
        TrackEvent {
            debug_annotations: item.notes.into_iter().map(annotation).collect(),
            name_iid: Some(self.names.number(item.name)),
            flow_ids: item.flow.into_iter().collect(),
            terminating_flow_ids: item.end_of_flow.into_iter().collect(),
            ..event
        }
    }

    fn push(&mut self, ps: u64, event: TrackEvent) {
        let ns = (ps + self.shift_ps) / 1000;
        let packet = TracePacket {
            timestamp: Some(ns),
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: Some(NEEDS_INCREMENTAL_STATE),
            track_event: Some(event),
            ..TracePacket::default()
        };
        let mut bytes = Vec::new();
        packet.append_to(&mut bytes);
        self.held.push(Packet { ns, bytes });
        if self.held.len() >= HELD {
            self.held.sort_by_key(Record::key);
            self.runs.add(&self.held);
            self.held.clear();
        }
    }
}

/// Names with their numbers, from 1, in the order in which they were first used.
#[derive(Default)]
struct Names(BTreeMap<&'static str, u64>);

impl Names {
    fn number(&mut self, name: &'static str) -> u64 {
        let next = self.0.len() as u64 + 1;
        *self.0.entry(name).or_insert(next)
    }

    fn list(&self) -> Vec<InternedName> {
        let mut names: Vec<_> = self
            .0
            .iter()
            .map(|(name, &number)| InternedName {
                iid: Some(number),
                name: Some((*name).to_owned()),
            })
            .collect();
        names.sort_by_key(|name| name.iid);
        names
    }
}
