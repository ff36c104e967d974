// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages of Perfetto's trace format that a timeline needs, by the field numbers of `perfetto_trace.proto`.

use prost::Message;

/// A file.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// Its packets.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// A packet: names, a track, or an event.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// The sequence that it belongs to.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// An event on a track.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Names that events refer to.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// Whether it needs names, or begins with none.
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// A track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

impl TracePacket {
    /// Appends it as it stands in a [`Trace`].
    pub(super) fn append_to(&self, bytes: &mut Vec<u8>) {
        // The key of `Trace::packet`.
        bytes.push(1 << 3 | 2);
        self.encode_length_delimited(bytes)
            .expect("a vector has room");
    }
}

/// [`TracePacket::sequence_flags`]: the sequence has no names yet.
pub const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// [`TracePacket::sequence_flags`]: the packet uses names.
pub const NEEDS_INCREMENTAL_STATE: u32 = 2;

/// The only sequence of packets.
pub const SEQUENCE: u32 = 1;

/// A row of the timeline.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// By which events name it.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Name shown to the reader.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// It is the group of this process.
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    /// The group that it is in.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// It shows a number over time.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
}

/// A group of tracks.
#[derive(Clone, PartialEq, Message)]
pub struct ProcessDescriptor {
    /// Its number.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Name shown to the reader.
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

/// Meaning of a track's number.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// Its unit.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}

/// An event on a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// Annotations of the event.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// Kind of event.
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Its name, among the names.
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// Its track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// The number from now on.
    #[prost(double, optional, tag = "44")]
    pub double_counter_value: Option<f64>,
    /// Arrows that leave from it.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// Arrows that end at it.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum EventType {
    /// Nothing that is known.
    Unspecified = 0,
    /// A slice begins.
    SliceBegin = 1,
    /// The slice that began last ends.
    SliceEnd = 2,
    /// Something without duration.
    Instant = 3,
    /// A number has changed.
    Counter = 4,
}

/// A word about an event.
#[derive(Clone, PartialEq, Message)]
pub struct DebugAnnotation {
    /// Its name, among the names.
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    /// A number.
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
    /// A text.
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
}

/// Names that events refer to.
#[derive(Clone, PartialEq, Message)]
pub struct InternedData {
    /// Of events.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<InternedName>,
    /// Of annotations.
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<InternedName>,
}

/// A name with its number.
#[derive(Clone, PartialEq, Message)]
pub struct InternedName {
    /// Its number, from 1.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}
