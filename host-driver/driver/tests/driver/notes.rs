// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notes of the driver to a platform that records the stages of messages.

use gyre_driver::matching::{Communicator, Messaging, MessagingConfig};
use gyre_driver::{
    Arrival, BufferRange, Client, Context, Get, Rank, Receive, Resources, Routing, SendMessage,
    SendProtocol, TaskId,
};
use gyre_note::Note;
use gyre_testkit::{Double, Process, config};

const SINK: u8 = 5;

/// Contexts of two tasks on two nodes.
fn pair() -> (Double, [Context<Process>; 2]) {
    let machine = Double::new(2, 1);
    let tasks = machine.tasks(&[0, 1]);
    let contexts = [0, 1].map(|task| {
        let config = config(&tasks, task as u32, Resources::default());
        Client::create(&machine.process(task), config)
            .and_then(|client| client.create_context(0))
            .expect("the double has the resources")
    });
    (machine, contexts)
}

fn settle(machine: &Double, contexts: &[Context<Process>]) {
    assert_eq!(machine.run_until_idle(contexts, 20), []);
}

#[test]
fn x2_every_packet_is_noted_before_its_message_is_handled() {
    // All of a message, two packets, and more; into a buffer, and past it.
    for bytes in [0, 512, 513, 1024, 1200, 3000] {
        for header in [0, 40] {
            for received in [true, false] {
                let (machine, contexts) = pair();
                let dispatch = move |context: &Context<Process>, arrival: &Arrival<'_>| {
                    if !received {
                        return Receive::Consumed;
                    }
                    Receive::Into {
                        into: context.platform().buffer(&vec![0; arrival.length]),
                        done: None,
                    }
                };
                let set = contexts[1].set_dispatch(SINK, Box::new(dispatch));
                set.expect("first use");
                let to = contexts[0].endpoint(TaskId(1), 0).expect("exists");
                let data = machine.process(0).buffer(&vec![7; bytes]);
                let message = SendMessage {
                    header: vec![9; header],
                    ..SendMessage::new(to, SINK, data)
                };
                machine.record();
                contexts[0].send(message).expect("valid");
                settle(&machine, &contexts);
                let mut notes = machine.notes(1).into_iter();
                let mut messages = Vec::new();
                while let Some(note) = notes.next() {
                    let Note::Packet {
                        at,
                        from,
                        first,
                        last,
                        ..
                    } = note
                    else {
                        panic!("{note:?} belongs to no packet");
                    };
                    assert_eq!((at.task, from.task), (1, 0));
                    assert_eq!(notes.next(), Some(Note::Handled { at }));
                    if first {
                        messages.push(0);
                    }
                    let packets = messages.last_mut().expect("the first comes first");
                    *packets += 1;
                    assert_eq!(
                        last,
                        *packets * 512 >= bytes || header > 0 && messages.len() == 1
                    );
                }
                let packets = bytes.div_ceil(512).max(1);
                let expected = match header {
                    0 => vec![packets],
                    // The header has a packet of its own where the data does not fit in beside it.
                    _ if bytes + header < 480 => vec![1],
                    _ => vec![1, packets],
                };
                assert_eq!(messages, expected, "{bytes} B, header {header}, {received}");
            }
        }
    }
}

#[test]
fn x2_data_that_is_fetched_is_noted_with_its_message() {
    const BYTES: usize = 4000;
    let (machine, contexts) = pair();
    let dispatch = |context: &Context<Process>, arrival: &Arrival<'_>| Receive::Into {
        into: context.platform().buffer(&vec![0; arrival.length]),
        done: None,
    };
    let set = contexts[1].set_dispatch(SINK, Box::new(dispatch));
    set.expect("first use");
    let to = contexts[0].endpoint(TaskId(1), 0).expect("exists");
    let data = machine.process(0).buffer(&[7; BYTES]);
    let get = || Get {
        source: contexts[1].endpoint(TaskId(0), 0).expect("exists"),
        remote: data.remote_address().expect("a buffer"),
        into: machine.process(1).buffer(&[0; BYTES]),
        routing: Routing::Fixed,
        done: None,
    };
    machine.record();
    // Two messages, and a get of the program between them.
    for last in [false, true] {
        let message = SendMessage {
            protocol: SendProtocol::Rendezvous,
            ..SendMessage::new(to, SINK, data.clone())
        };
        contexts[0].send(message).expect("valid");
        settle(&machine, &contexts);
        if !last {
            contexts[1].get(get()).expect("valid");
            settle(&machine, &contexts);
        }
    }
    let (mut announced, mut asked, mut fetched) = (vec![], vec![], vec![]);
    for note in machine.notes(1) {
        match note {
            Note::Announced { at, from, cookie } => {
                assert_eq!((at.task, from.task), (1, 0));
                announced.push(cookie);
            }
            Note::Asked {
                bytes,
                cookie,
                program,
                ..
            } => asked.push((bytes as usize, cookie, program)),
            Note::Fetched { cookie, .. } => fetched.push(cookie),
            _ => {}
        }
    }
    let [first, second] = announced[..] else {
        panic!("{announced:?}");
    };
    assert_ne!(first, second);
    let expected = [
        (BYTES, Some(first), false),
        (BYTES, None, true),
        (BYTES, Some(second), false),
    ];
    assert_eq!(asked, expected);
    assert_eq!(fetched, announced);
    let acknowledged = machine.notes(0).into_iter().filter_map(|note| match note {
        Note::Acknowledged { cookie, .. } => Some(cookie),
        _ => None,
    });
    assert!(acknowledged.eq(announced));
}

#[test]
fn x2_ct1_two_modules_of_a_context_share_no_note_numbers() {
    let (machine, contexts) = pair();
    let module = |context, dispatch| {
        Messaging::create(context, MessagingConfig::new(dispatch)).expect("first use")
    };
    let world = Communicator::world(0);
    let dispatches = [1, 10];
    let senders = dispatches.map(|dispatch| module(&contexts[0], dispatch));
    let receivers = dispatches.map(|dispatch| module(&contexts[1], dispatch));
    machine.record();
    // Two messages each that are not expected, and then their receives; then one that is expected.
    let send = |sender: &Messaging<Process>, tag| {
        let data = machine.process(0).buffer(&[1; 100]);
        let sent = sender.send(Rank(1), tag, &world, data, None);
        sent.expect("valid");
    };
    let receive = |receiver: &Messaging<Process>, tag| {
        let into: BufferRange<_> = machine.process(1).buffer(&[0; 100]);
        let posted = receiver.receive(Some(Rank(0)), Some(tag), &world, into, None);
        posted.expect("valid");
    };
    for tag in [1, 2] {
        senders.iter().for_each(|sender| send(sender, tag));
    }
    settle(&machine, &contexts);
    for tag in [2, 1, 3] {
        receivers.iter().for_each(|receiver| receive(receiver, tag));
    }
    senders.iter().for_each(|sender| send(sender, 3));
    settle(&machine, &contexts);
    let (mut unexpected, mut paired, mut matched, mut finished) = (vec![], vec![], vec![], vec![]);
    for note in machine.notes(1) {
        match note {
            Note::Unexpected { number, .. } => unexpected.push(number),
            Note::Paired {
                number, request, ..
            } => paired.push((number, request)),
            Note::Matched { request, .. } => matched.push(request),
            Note::Finished { request, .. } => finished.push(request),
            _ => {}
        }
    }
    // Those with tag 2 first.
    let [first, second, third, fourth] = unexpected[..] else {
        panic!("{unexpected:?}");
    };
    let numbers: Vec<_> = paired.iter().map(|pair| pair.0).collect();
    assert_eq!(numbers, [third, fourth, first, second]);
    let mut different = unexpected.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), 4, "{unexpected:?}");
    let mut requests: Vec<_> = paired.iter().map(|pair| pair.1).chain(matched).collect();
    requests.sort_unstable();
    finished.sort_unstable();
    assert_eq!(finished, requests);
    requests.dedup();
    assert_eq!(requests.len(), 6, "{requests:?}");
}
