// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run made by hand, all of whose timeline is written out; and messages whose ids collide.

use gyre_timeline::perfetto::proto::{EventType, Trace, TrackEvent};
use gyre_timeline::perfetto::{self, ProgramTrack};
use gyre_timeline::{
    Context, Event, Lane, Link, Messages, Note, PacketKind, Recording, Stages, Thread, What, Why,
};
use prost::Message as _;

const CYCLE_PS: u64 = 2000;

const fn context(task: u32, offset: u8) -> Context {
    Context {
        task,
        client: 0,
        offset,
    }
}

fn note(node: u32, ps: u64, note: Note) -> Event {
    Event::new(node, Lane::Thread(0), (ps, ps), What::Note(note))
}

fn recording(events: Vec<Event>) -> Recording {
    let thread = |node, name: &str| Thread {
        node,
        number: 0,
        name: name.to_owned(),
        task: Some(node),
    };
    let mut recording = Recording::empty(CYCLE_PS, 2, 0, 100_000);
    recording.link_ps = 8000;
    recording.threads = vec![thread(0, "sender"), thread(1, "receiver")];
    recording.links = vec![Link {
        node: 0,
        port: 0,
        to: 1,
        name: "a+".to_owned(),
    }];
    recording.operations = vec!["post", "packet"];
    recording.with_events(events)
}

/// One eager message from node 0 to node 1.
fn one_message() -> Vec<Event> {
    let (at, to) = (context(0, 0), context(1, 0));
    let kind = PacketKind::MEMORY_FIFO;
    let (id, word) = (5, 9);
    vec![
        Event::new(
            0,
            Lane::Thread(0),
            (500, 2500),
            What::Spent {
                operation: 0,
                count: 1,
            },
        ),
        note(0, 2500, Note::Posted { at }),
        note(0, 3000, Note::Started { at }),
        note(
            0,
            3000,
            Note::Message {
                at,
                to,
                id,
                tag: 7,
                bytes: 64,
            },
        ),
        note(
            0,
            3000,
            Note::Sent {
                at,
                to,
                id,
                dispatch: 1,
                word,
                tag: 7,
            },
        ),
        Event::new(
            0,
            Lane::Tails,
            (6000, 6000),
            What::Tail {
                fifo: 2,
                first: 4,
                count: 1,
                places: 8,
            },
        ),
        Event::new(
            0,
            Lane::Fetches,
            (10_000, 10_000),
            What::Fetch {
                fifo: 2,
                place: 4,
                kind,
                id,
                word,
                bytes: 64,
            },
        ),
        Event::new(
            0,
            Lane::Link(0),
            (20_000, 32_000),
            What::Hop {
                channel: 1,
                kind,
                flits: 6,
                id,
                word,
            },
        ),
        Event::new(0, Lane::Load(0), (0, 48_000), What::Load { flits: 6 }),
        Event::new(
            1,
            Lane::Writes,
            (42_000, 44_000),
            What::Written { bytes: 96, id: 5 },
        ),
        Event::new(
            1,
            Lane::Levels,
            (45_000, 45_000),
            What::Levels { levels: 1 },
        ),
        Event::new(
            1,
            Lane::Thread(0),
            (1000, 60_000),
            What::Waited {
                why: Why::WakeUp,
                by: None,
            },
        ),
        note(
            1,
            61_000,
            Note::Packet {
                at: to,
                from: at,
                dispatch: 1,
                tag: 7,
                first: true,
                last: true,
            },
        ),
        Event::new(
            1,
            Lane::Thread(0),
            (61_000, 63_000),
            What::Spent {
                operation: 1,
                count: 1,
            },
        ),
        note(
            1,
            63_000,
            Note::Matched {
                at: to,
                request: 11,
            },
        ),
        note(
            1,
            63_500,
            Note::Finished {
                at: to,
                request: 11,
            },
        ),
        note(1, 64_000, Note::Handled { at: to }),
    ]
}

/// The file as text: a line a packet.
fn text(bytes: &[u8]) -> Vec<String> {
    let file = Trace::decode(bytes).expect("a trace");
    let mut lines = Vec::new();
    let mut names = None;
    for packet in file.packet {
        assert_eq!(packet.trusted_packet_sequence_id, Some(1));
        if let Some(data) = packet.interned_data {
            assert_eq!(packet.sequence_flags, Some(1), "it comes first");
            names = Some(data);
        }
        if let Some(track) = packet.track_descriptor {
            let kind = match (track.process, track.counter) {
                (Some(process), _) => format!("process {} as", process.pid()),
                (_, Some(_)) => "counter".to_owned(),
                _ => "track".to_owned(),
            };
            lines.push(format!(
                "{kind} {} in {}: {}",
                track.uuid.unwrap_or(0),
                track.parent_uuid.unwrap_or(0),
                track.name.unwrap_or_default()
            ));
        }
        if let Some(event) = packet.track_event {
            assert_eq!(packet.sequence_flags, Some(2));
            let names = names.as_ref().expect("names come first");
            lines.push(format!(
                "{} on {}: {}",
                packet.timestamp.expect("a time"),
                event.track_uuid.expect("a track"),
                event_text(&event, names)
            ));
        }
    }
    lines
}

/// The bytes of a file of these runs.
fn trace<'a>(
    runs: impl IntoIterator<Item = (&'a Recording, &'a Messages, &'a [ProgramTrack])>,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    perfetto::write(runs, &std::env::temp_dir(), &mut bytes).expect("memory takes it");
    bytes
}

fn event_text(event: &TrackEvent, names: &gyre_timeline::perfetto::proto::InternedData) -> String {
    let name = event.name_iid.map(|iid| {
        let name = names.event_names.iter().find(|name| name.iid == Some(iid));
        name.and_then(|name| name.name.clone()).expect("a name")
    });
    let mut text = match event.r#type() {
        EventType::SliceBegin => format!("begin {}", name.expect("a name")),
        EventType::SliceEnd => "end".to_owned(),
        EventType::Instant => format!("instant {}", name.expect("a name")),
        EventType::Counter => format!("{}", event.double_counter_value.expect("a value")),
        EventType::Unspecified => panic!("an event of no kind"),
    };
    for annotation in &event.debug_annotations {
        let name = names
            .debug_annotation_names
            .iter()
            .find(|name| name.iid == annotation.name_iid)
            .and_then(|name| name.name.clone())
            .expect("a name");
        text += &format!(", {name} {}", annotation.uint_value.expect("a number"));
    }
    for flow in &event.flow_ids {
        text += &format!(", arrow {flow} leaves");
    }
    for flow in &event.terminating_flow_ids {
        text += &format!(", arrow {flow} ends");
    }
    text
}

#[test]
fn x2_x7_a_run_of_one_message_is_written_whole() {
    let recording = recording(one_message());
    let messages = Messages::of(&recording);
    let expected = [
        "process 1 as 1 in 0: rank 0 on node 0",
        "process 2 as 2 in 0: rank 1 on node 1",
        "track 3 in 1: sender",
        "track 4 in 2: receiver",
        "track 5 in 1: messages out",
        "track 6 in 2: messages in",
        "process 1048576 as 7 in 0: node 0",
        "counter 8 in 7: load of link a+ to node 1",
        "track 9 in 7: DMA engine",
        "track 10 in 7: link a+ to node 1 channel 1",
        "process 1048577 as 11 in 0: node 1",
        "track 12 in 11: memory writes",
        "track 13 in 11: wake-up outputs",
        "0 on 3: begin post, count 1",
        "0 on 8: 0.25",
        "1 on 4: begin wait for a wake-up",
        "2 on 3: end",
        "2 on 5: begin message, serial 1, from rank 0, to rank 1, tag 7, bytes 64, posted_ps 2500, arrow 1 leaves",
        "3 on 5: end",
        "6 on 9: instant descriptors posted, injection FIFO 2, descriptors 1",
        "10 on 9: instant eager message, injection FIFO 2, id 5, bytes 64, message 1",
        "20 on 10: begin eager message, flits 6, id 5, message 1",
        "32 on 10: end",
        "42 on 12: instant eager message, bytes 96, id 5, message 1",
        "45 on 13: instant outputs, levels 1",
        "48 on 8: 0",
        "60 on 4: end",
        "61 on 4: begin packet, count 1",
        "63 on 4: end",
        "63 on 6: begin message, serial 1, from rank 0, to rank 1, tag 7, bytes 64, total_ps 61000, queue 500, \
         start 3000, fetch 4000, inject 10000, network 20000, reception 21000, match 2000, deliver 500, arrow 1 ends",
        "64 on 6: end",
    ];
    let written = text(&trace([(&recording, &messages, &[][..])]));
    for (line, expected) in written.iter().zip(expected) {
        assert_eq!(line, expected);
    }
    assert_eq!(written.len(), expected.len());
}

#[test]
fn x7_runs_one_after_the_other_have_serials_and_times_of_their_own() {
    let recording = recording(one_message());
    let messages = Messages::of(&recording);
    let twice = text(&trace([
        (&recording, &messages, &[][..]),
        (&recording, &messages, &[][..]),
    ]));
    let once = text(&trace([(&recording, &messages, &[][..])]));
    let with = |lines: &[String], words: &str| {
        let lines = lines.iter().filter(|line| line.contains(words));
        lines.cloned().collect::<Vec<_>>()
    };
    // The same tracks.
    assert_eq!(with(&twice, " in "), with(&once, " in "));
    assert_eq!(with(&twice, "leaves").len(), 2);
    assert!(with(&twice, "arrow 2 leaves")[0].starts_with("102 on 5"));
    assert!(with(&twice, "arrow 2 ends")[0].starts_with("163 on 6"));
    assert!(with(&twice, "flits 6")[1].ends_with("message 2"));
}

#[test]
fn x7_events_are_in_the_same_order_however_lanes_are_mixed() {
    let events = one_message();
    let mut mixed = events.clone();
    // Stable: the order of each lane stays.
    mixed.sort_by_key(|event| std::cmp::Reverse(event.lane));
    assert_ne!(events, mixed);
    assert_eq!(recording(events), recording(mixed));
}

/// Records the events of driver and DMA engine for a message with this id and word.
fn message(events: &mut Vec<Event>, from: Context, ps: u64, (id, word): (u32, u32)) {
    let to = context(1, 0);
    let kind = PacketKind::MEMORY_FIFO;
    let node = 0;
    for (after, what) in [
        (0, Note::Posted { at: from }),
        (1, Note::Started { at: from }),
        (
            1,
            Note::Message {
                at: from,
                to,
                id,
                tag: word,
                bytes: 8,
            },
        ),
        (
            1,
            Note::Sent {
                at: from,
                to,
                id,
                dispatch: 1,
                word,
                tag: 0,
            },
        ),
    ] {
        events.push(note(node, ps + after, what));
    }
    let fetch = What::Fetch {
        fifo: from.offset.into(),
        place: 0,
        kind,
        id,
        word,
        bytes: 8,
    };
    events.push(Event::new(node, Lane::Fetches, (ps + 10, ps + 10), fetch));
    let hop = What::Hop {
        channel: 0,
        kind,
        flits: 3,
        id,
        word,
    };
    events.push(Event::new(node, Lane::Link(0), (ps + 40, ps + 50), hop));
}

#[test]
fn x7_messages_with_the_same_id_are_told_apart() {
    let mut events = Vec::new();
    // Two contexts of a task, at the same time, and one of them again when its count has wrapped.
    message(&mut events, context(0, 0), 1000, (5, 100));
    message(&mut events, context(0, 1), 1005, (5, 200));
    message(&mut events, context(0, 0), 1100, (5, 100));
    let recording = recording(events);
    let messages = Messages::of(&recording);
    assert_eq!(messages.all().len(), 3);
    let heads = messages.all().iter().map(|message| {
        let packets = &messages.packets()[message.first.expect("its packets")];
        (
            message.serial,
            message.tag,
            packets.fetched_ps,
            packets.head_ps,
            packets.flits,
        )
    });
    let expected = [
        (1, 100, Some(1010), Some(1040), 3),
        (2, 200, Some(1015), Some(1045), 3),
        (3, 100, Some(1110), Some(1140), 3),
    ];
    assert!(heads.eq(expected), "{:?}", messages.all());
}

#[test]
fn x7_stages_add_up_whatever_is_missing_or_late() {
    // Without any one of its events but the first and the last, a message takes as long.
    let events = one_message();
    for left_out in 0..events.len() {
        let mut events = events.clone();
        let gone = events.remove(left_out);
        let keeps = !matches!(
            gone.what,
            What::Note(
                Note::Posted { .. }
                    | Note::Started { .. }
                    | Note::Message { .. }
                    | Note::Sent { .. }
                    | Note::Packet { .. }
                    | Note::Matched { .. }
                    | Note::Finished { .. }
            )
        );
        let recording = recording(events);
        let messages = Messages::of(&recording);
        for message in messages.all() {
            let Some(stages) = Stages::of(&messages, message) else {
                assert!(!keeps, "without {gone:?}");
                continue;
            };
            let sum: u64 = stages.times().map(|(_, ps)| ps).sum();
            assert_eq!(sum, stages.total_ps(), "without {gone:?}");
            if keeps {
                assert_eq!(sum, 61_000, "without {gone:?}");
            }
        }
    }
}

#[test]
fn x7_stages_add_up_when_an_event_precedes_its_predecessors() {
    let events = one_message();
    let mut done = 0;
    for early in 1..events.len() {
        let mut events = events.clone();
        events[early].ps = events[0].ps;
        let recording = recording(events);
        let messages = Messages::of(&recording);
        for message in messages.all() {
            if let Some(stages) = Stages::of(&messages, message) {
                let sum: u64 = stages.times().map(|(_, ps)| ps).sum();
                assert_eq!(sum, stages.total_ps(), "event {early}");
                done += 1;
            }
        }
    }
    assert!(done > events.len() / 2, "{done}");
}
