// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use gyre_timeline::{Event, Link, Note, Thread};

const KIND: PacketKind = PacketKind::MEMORY_FIFO;

const fn context(task: u32) -> Context {
    Context {
        task,
        client: 0,
        offset: 0,
    }
}

fn note(node: u32, ps: u64, note: Note) -> Event {
    Event::new(node, Lane::Thread(0), (ps, ps), What::Note(note))
}

fn hop(node: u32, ps: u64, id: u32) -> Event {
    let what = What::Hop {
        channel: 1,
        kind: KIND,
        flits: 6,
        id,
        word: 9,
    };
    Event::new(node, Lane::Link(0), (ps, ps + 12_000), what)
}

/// An eager message from node 0 over node 1 to node 2 that is posted at `ps`.
fn message(ps: u64, id: u32) -> Vec<Event> {
    let (at, to, tag) = (context(0), context(2), id);
    let place = id as u16;
    let sent = Note::Sent {
        at,
        to,
        id,
        dispatch: 1,
        word: 9,
        tag,
    };
    let message = Note::Message {
        at,
        to,
        id,
        tag,
        bytes: 64,
    };
    let tail = What::Tail {
        fifo: 2,
        first: place,
        count: 1,
        places: 64,
    };
    let fetch = What::Fetch {
        fifo: 2,
        place,
        kind: KIND,
        id,
        word: 9,
        bytes: 64,
    };
    let packet = Note::Packet {
        at: to,
        from: at,
        dispatch: 1,
        tag,
        first: true,
        last: true,
    };
    let request = id.into();
    vec![
        note(0, ps, Note::Posted { at }),
        note(0, ps + 500, Note::Started { at }),
        note(0, ps + 500, message),
        note(0, ps + 500, sent),
        Event::new(0, Lane::Tails, (ps + 3500, ps + 3500), tail),
        Event::new(0, Lane::Fetches, (ps + 7500, ps + 7500), fetch),
        hop(0, ps + 17_500, id),
        hop(1, ps + 37_500, id),
        note(2, ps + 67_500, packet),
        note(2, ps + 69_500, Note::Matched { at: to, request }),
        note(2, ps + 70_500, Note::Finished { at: to, request }),
        note(2, ps + 71_500, Note::Handled { at: to }),
    ]
}

/// A recording of `events` as far as they have happened before `end_ps`.
fn recording(mut events: Vec<Event>, end_ps: u64) -> Recording {
    events.retain(|event| event.end_ps < end_ps);
    let mut recording = Recording::empty(2000, 3, 0, end_ps);
    recording.link_ps = 8000;
    recording.threads = [0, 2]
        .map(|node| Thread {
            node,
            number: 0,
            name: String::new(),
            task: Some(node),
        })
        .into();
    recording.links = [(0, 1, "a+"), (1, 2, "b+")]
        .map(|(node, to, name)| Link {
            node,
            port: 0,
            to,
            name: name.to_owned(),
        })
        .into();
    recording.with_events(events)
}

fn followed(recording: &Recording, subject: Subject) -> Followed {
    let (shown, span) = ([0, 2].into(), 0..recording.end_ps);
    let messages = Messages::of(recording);
    follow(recording, &messages, &subject, &shown, &span).expect("something to follow")
}

#[test]
fn x2_a_message_is_followed_from_stage_to_stage_and_link_to_link() {
    let found = followed(&recording(message(2500, 5), 100_000), Subject::Window);
    let expected = [
        (2500, "post"),
        (3000, "make descriptor"),
        (6000, "fetch descriptor"),
        (10_000, "inject"),
        (20_000, "hop a+"),
        (40_000, "hop b+"),
        (60_000, "arrive"),
        (70_000, "dispatch"),
        (72_000, "deliver"),
        (73_000, "done"),
    ];
    assert_eq!(found.changes, expected.map(|(ps, word)| (ps, word.into())));
    assert_eq!((found.begin_ps, found.end_ps), (2500, Some(73_000)));
    let hops: Vec<_> = found.flights[0]
        .hops
        .iter()
        .map(|h| (h.node, h.to))
        .collect();
    assert_eq!(hops, [(0, 1), (1, 2)]);
}

#[test]
fn x2_a_message_that_has_not_come_to_its_end_is_where_it_was_last() {
    for (end_ps, word) in [
        (3500, "make descriptor"),
        // When the DMA engine was told of a descriptor is known when it has read it.
        (6500, "make descriptor"),
        (11_000, "inject"),
        // It is at node 1.
        (50_000, "hop a+"),
        (53_000, "hop b+"),
        (61_000, "arrive"),
        (71_000, "dispatch"),
        (72_500, "deliver"),
    ] {
        let recording = recording(message(2500, 5), end_ps);
        let found = followed(&recording, Subject::Window);
        assert_eq!(
            found.changes.last().expect("a word").1,
            word,
            "before {end_ps}"
        );
        assert_eq!(found.end_ps, None);
    }
}

#[test]
fn x2_of_a_failure_the_message_that_got_on_last_is_followed() {
    let mut events = message(2500, 5);
    events.append(&mut message(50_000, 6));
    let recording = recording(events, 200_000);
    let at = |cycle| {
        let stalled = false;
        let instance = None;
        let subject = Subject::Failure {
            cycle,
            stalled,
            instance,
        };
        followed(&recording, subject).flights[0].id
    };
    // The first has just arrived; it is done; the second is on its way; both are done.
    assert_eq!([at(30), at(40), at(50), at(90)], [5, 6, 6, 6]);
    let posted = |from_cycle| {
        let subject = Subject::Message {
            from_cycle,
            source: 0,
            destination: 2,
        };
        followed(&recording, subject).flights[0].id
    };
    assert_eq!([posted(1), posted(2)], [5, 6]);
    assert_eq!(followed(&recording, Subject::Window).flights[0].id, 5);
}

#[test]
fn x2_without_messages_a_packet_is_followed_from_node_to_node() {
    // Another packet of the same id leaves later.
    let events = vec![hop(0, 20_000, 7), hop(1, 40_000, 7), hop(0, 60_000, 7)];
    let found = followed(&recording(events, 100_000), Subject::Window);
    let expected = [(20_000, "hop a+"), (40_000, "hop b+"), (60_000, "arrive")];
    assert_eq!(found.changes, expected.map(|(ps, word)| (ps, word.into())));
    assert_eq!((found.flights[0].from, found.flights[0].to), (0, 2));
    assert_eq!(found.flights[0].role, None);
}
