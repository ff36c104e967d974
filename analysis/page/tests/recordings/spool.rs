// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events that go to disk while they come are those that stay in memory.

use std::fs;
use std::path::PathBuf;

use gyre_timeline::{Context, Event, Lane, Note, PacketKind, Recording, Sink, Spool, What, Why};
use proptest::prelude::*;

fn recording() -> Recording {
    Recording::empty(2000, 4, 0, 1000)
}

fn what() -> impl Strategy<Value = What> {
    let context = |task| Context {
        task,
        client: 1,
        offset: u8::MAX,
    };
    prop_oneof![
        (any::<u8>(), any::<u32>()).prop_map(|(operation, count)| What::Spent { operation, count }),
        any::<Option<u32>>().prop_map(|by| What::Waited { why: Why::Lock, by }),
        any::<u32>().prop_map(|line| What::Operation { line }),
        (any::<u32>(), any::<u16>(), any::<u8>()).prop_map(|(id, flits, channel)| What::Hop {
            channel,
            kind: PacketKind::PUT,
            flits,
            id,
            word: !id,
        }),
        (any::<u32>(), any::<u64>()).prop_map(move |(task, number)| {
            What::Note(Note::Paired {
                at: context(task),
                number,
                request: !number,
            })
        }),
        (any::<u32>(), any::<Option<u32>>()).prop_map(move |(task, cookie)| {
            What::Note(Note::Asked {
                at: context(task),
                from: context(0),
                id: task,
                word: u32::MAX,
                bytes: task,
                cookie,
                program: cookie.is_none(),
            })
        }),
    ]
}

/// An event of one of four sinks: software of all nodes, or the hardware of one. Times are close: many are equal.
fn event() -> impl Strategy<Value = (usize, Event)> {
    let lane = (0_u32..4, 0_u32..3, 0_u8..3);
    (0_usize..4, lane, (0_u64..50, 0_u64..9), what()).prop_map(
        |(sink, (node, thread, lane), (ps, length), what)| {
            let (node, lane) = match (sink, lane) {
                (0, _) => (node, Lane::Thread(thread)),
                (_, 0) => (sink as u32, Lane::Tails),
                (_, 1) => (sink as u32, Lane::Levels),
                (_, port) => (sink as u32, Lane::Link(port)),
            };
            (sink, Event::new(node, lane, (ps, ps + length), what))
        },
    )
}

proptest! {
    #[test]
    fn x7_events_that_go_to_disk_come_back_in_the_order_of_all(
        events in prop::collection::vec(event(), 0..400),
        limits in prop::array::uniform4(1_usize..60),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let spool = Spool::new(folder.path().to_owned());
        let mut sinks = limits.map(|limit| spool.sink(limit));
        for &(sink, event) in &events {
            sinks[sink].push(event);
        }
        let next = Spool::new(PathBuf::new());
        let mut rest = Vec::new();
        for (sink, limit) in sinks.iter_mut().zip(limits) {
            let held = sink.rest(&next);
            prop_assert!(held.len() < limit, "{} are held of {limit}", held.len());
            rest.extend(held);
        }
        let names = fs::read_dir(folder.path()).expect("a folder").count();
        prop_assert_eq!(names, 0, "the file has no name");
        let spooled = recording().with_spool(spool, rest);
        let all: Vec<Event> = events.into_iter().map(|(_, event)| event).collect();
        let whole = recording().with_events(all.clone());
        prop_assert!(spooled.error().is_none());
        prop_assert_eq!(spooled.count(), all.len());
        prop_assert_eq!(spooled.has_operations(), whole.has_operations());
        prop_assert_eq!(spooled.has_program(), whole.has_program());
        let found: Vec<Event> = spooled.events().collect();
        prop_assert_eq!(&found, &whole.events().collect::<Vec<_>>());
        prop_assert_eq!(spooled.events().count(), all.len(), "it can be read again");
        prop_assert_eq!(&found, &sorted(all));
    }
}

/// The order of timelines, by its words.
fn sorted(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by_key(|event| (event.ps, event.node, event.lane));
    for place in 1..events.len() {
        let [before, event] = [events[place - 1], events[place]];
        if (before.ps, before.node, before.lane) == (event.ps, event.node, event.lane) {
            events[place].serial = before.serial + 1;
        }
    }
    events
}

#[test]
fn x5_x7_events_that_cannot_go_to_disk_are_an_error_of_their_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing");
    let spool = Spool::new(missing.clone());
    let mut sink: Sink = spool.sink(2);
    let event = Event::new(0, Lane::Tails, (7, 7), What::Operation { line: 1 });
    sink.push(event);
    assert!(spool.error().is_none(), "memory takes it");
    sink.push(event);
    sink.push(event);
    let error = spool.error().expect("no such folder");
    let expected = format!("temporary file in {}: No such file", missing.display());
    assert!(error.to_string().starts_with(&expected), "{error}");
    let rest = sink.rest(&spool);
    let recording = recording().with_spool(spool, rest);
    assert_eq!(recording.events().count(), 1, "the last one is there");
    assert!(recording.error().is_some());
}
