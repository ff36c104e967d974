// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators on the test double: numbers of 32 bits, groups whose ranks sends and receives name (CT-1).

use std::sync::Arc;

use gyre_driver::matching::{Communicator, Messaging, MessagingConfig, Protocol, Received};
use gyre_driver::{BufferRange, Context, Error, Rank, SendMessage, SendProtocol, TaskId, advancev};
use gyre_testkit::{Double, Memory, Process};
use parking_lot::Mutex;

type Module = Messaging<Process>;
/// Results of receives, with their bytes.
type Log = Arc<Mutex<Vec<(Result<Received, Error>, Vec<u8>)>>>;

/// First dispatch identifier of the modules.
const DISPATCH: u8 = 1;
/// A number that the packet header has no room for.
const WIDE: u32 = 0x8000_0001;

fn world(tasks: usize, config: MessagingConfig) -> (Double, Vec<Module>) {
    let machine = Double::new(tasks, 1);
    let nodes: Vec<_> = (0..tasks).collect();
    let contexts = machine.contexts(&nodes, Default::default());
    let module = |context: &Context<Process>| Messaging::create(context, config);
    let modules = contexts.iter().map(|c| module(c).expect("first use"));
    let modules = modules.collect();
    (machine, modules)
}

fn settle(machine: &Double, modules: &[Module]) {
    let contexts: Vec<_> = modules.iter().map(|m| m.context().clone()).collect();
    for _ in 0..40 {
        machine.settle();
        advancev(&contexts, 1).expect("no error");
    }
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + i / 256 + 1) as u8).collect()
}

fn register(module: &Module, number: u32, tasks: &[u32]) -> Result<Communicator, Error> {
    let tasks: Vec<_> = tasks.iter().copied().map(TaskId).collect();
    module.register(number, &tasks)
}

fn send(module: &Module, to: u32, tag: u32, comm: &Communicator, data: &[u8]) {
    let data = module.context().platform().buffer(data);
    let sent = module.send(Rank(to), tag, comm, data, None);
    sent.expect("valid");
}

fn receive(module: &Module, from: Option<u32>, comm: &Communicator, room: usize) -> Log {
    let into: BufferRange<Memory> = module.context().platform().buffer(&vec![0xee; room]);
    let (log, copy) = (Log::default(), into.clone());
    let entries = Arc::clone(&log);
    let done = move |_: &Context<Process>, result: Result<Received, Error>| {
        let mut bytes = vec![0; copy.len()];
        copy.read(0, &mut bytes).expect("inside");
        entries.lock().push((result, bytes));
    };
    module
        .receive(from.map(Rank), None, comm, into, Some(Box::new(done)))
        .expect("valid");
    log
}

fn got(source: u32, tag: u32, comm: u32, length: usize) -> Received {
    Received {
        source: Rank(source),
        tag,
        comm,
        length,
    }
}

#[test]
fn ct1_ranks_are_of_their_communicator_and_tags_are_separate() {
    let (machine, modules) = world(4, MessagingConfig::new(DISPATCH));
    // Low bytes and halves are the same, so are all tags.
    let groups: [(u32, &[u32]); 4] = [
        (1, &[3, 2, 1, 0]),
        (0x101, &[1, 3]),
        (0xffff_0001, &[3, 0, 1]),
        (255, &[0, 1, 2, 3]),
    ];
    let mut wanted = Vec::new();
    for (number, tasks) in groups {
        let at = tasks.iter().position(|&task| task == 1).expect("member");
        let receiver = register(&modules[1], number, tasks).expect("a new one");
        for (rank, &task) in (0..).zip(tasks) {
            let own = register(&modules[task as usize], number, tasks).expect("the same");
            let data = [number as u8, rank as u8];
            send(&modules[task as usize], at as u32, 9, &own, &data);
            wanted.push((rank, receiver.clone(), got(rank, 9, number, 2)));
        }
    }
    // The last communicator first, and its last rank.
    let post = |(rank, comm, expected): (u32, Communicator, Received)| {
        (expected, receive(&modules[1], Some(rank), &comm, 2))
    };
    let logs: Vec<_> = wanted.into_iter().rev().map(post).collect();
    settle(&machine, &modules);
    for (expected, log) in logs {
        let data = vec![expected.comm as u8, expected.source.0 as u8];
        assert_eq!(*log.lock(), [(Ok(expected), data)]);
    }
}

#[test]
fn ct1_a_receive_of_any_rank_waits_for_a_member_of_its_group() {
    let (machine, modules) = world(3, MessagingConfig::new(DISPATCH));
    let comm = register(&modules[0], WIDE, &[0, 2]).expect("a new one");
    // Task 1 names task 0 by a group of its own, as with an intercommunicator.
    let remote = register(&modules[1], WIDE, &[0]).expect("a new one");
    let log = receive(&modules[0], None, &comm, 1);
    send(&modules[1], 0, 5, &remote, &[1]);
    settle(&machine, &modules);
    assert_eq!(*log.lock(), []);
    assert_eq!(modules[0].probe(None, None, &comm), Ok(None));
    let own = register(&modules[2], WIDE, &[0, 2]).expect("a new one");
    send(&modules[2], 0, 5, &own, &[2]);
    settle(&machine, &modules);
    assert_eq!(*log.lock(), [(Ok(got(1, 5, WIDE, 1)), vec![2])]);
    // The communicator of task 1 still exists with the same group.
    drop(comm);
    let other = register(&modules[0], WIDE, &[1]).expect("the number is free");
    let log = receive(&modules[0], Some(0), &other, 1);
    settle(&machine, &modules);
    assert_eq!(*log.lock(), [(Ok(got(0, 5, WIDE, 1)), vec![1])]);
}

#[test]
fn ct1_wide_numbers_carry_messages_of_every_length_posted_or_not() {
    let lengths = [0, 1, 507, 508, 509, 512, 513, 1300, 4097];
    for protocol in [Protocol::RemoteGet, Protocol::TemporaryBuffer] {
        for switch_over in [0, 4097] {
            for early in [false, true] {
                let config = MessagingConfig {
                    protocol,
                    switch_over,
                    ..MessagingConfig::new(DISPATCH)
                };
                let (machine, modules) = world(2, config);
                let comm = Communicator::world(WIDE);
                let receive_all = || lengths.map(|_| receive(&modules[1], Some(0), &comm, 4097));
                let before = early.then(receive_all);
                for length in lengths {
                    send(&modules[0], 1, 3, &comm, &bytes(length));
                }
                settle(&machine, &modules);
                let logs = before.unwrap_or_else(receive_all);
                settle(&machine, &modules);
                for (length, log) in lengths.into_iter().zip(logs) {
                    let log = log.lock();
                    let [(result, data)] = &log[..] else {
                        panic!("{length} bytes: {log:?}");
                    };
                    assert_eq!(*result, Ok(got(0, 3, WIDE, length)));
                    assert_eq!(data[..length], bytes(length));
                    assert!(data[length..].iter().all(|&byte| byte == 0xee));
                }
                assert_eq!(modules[1].stats().held_bytes, 0);
            }
        }
    }
}

#[test]
fn ct1_a_wide_message_too_long_for_its_receive_leaves_that_as_it_is() {
    for early in [false, true] {
        let (machine, modules) = world(2, MessagingConfig::new(DISPATCH));
        let comm = Communicator::world(WIDE);
        let before = early.then(|| receive(&modules[1], None, &comm, 10));
        send(&modules[0], 1, 3, &comm, &bytes(11));
        settle(&machine, &modules);
        let log = before.unwrap_or_else(|| receive(&modules[1], None, &comm, 10));
        settle(&machine, &modules);
        let too_long = Error::MessageTooLong {
            message: 11,
            receive: 10,
        };
        assert_eq!(*log.lock(), [(Err(too_long), vec![0xee; 10])]);
    }
}

/// A short message of a wide number is one packet with 4 bytes more, no control message.
#[test]
fn ct1_a_wide_number_costs_a_short_message_four_bytes_and_no_packet() {
    let packets = |comm: u32, length| {
        let (machine, modules) = world(2, MessagingConfig::new(DISPATCH));
        let comm = Communicator::world(comm);
        let log = receive(&modules[1], Some(0), &comm, length);
        send(&modules[0], 1, 3, &comm, &bytes(length));
        settle(&machine, &modules);
        assert_eq!(log.lock().len(), 1);
        machine.packets()
    };
    for length in [0, 8, 64, 508] {
        assert_eq!(packets(254, length), 1);
        assert_eq!(packets(WIDE, length), 1);
    }
}

#[test]
fn ct1_x5_wrong_groups_ranks_and_numbers_are_refused() {
    let (_, modules) = world(3, MessagingConfig::new(DISPATCH));
    let module = &modules[0];
    let unknown = Error::UnknownTask {
        task: TaskId(3),
        tasks: 3,
    };
    assert_eq!(register(module, 7, &[0, 3]).err(), Some(unknown));
    let twice = Error::GroupTask {
        comm: 7,
        task: TaskId(1),
    };
    assert_eq!(register(module, 7, &[1, 0, 1]).err(), Some(twice));
    let comm = register(module, 7, &[2, 0]).expect("a new one");
    assert!(register(module, 7, &[2, 0]).is_ok());
    let in_use = Error::CommunicatorInUse { comm: 7 };
    assert_eq!(register(module, 7, &[0, 2]).err(), Some(in_use));
    let rank = Error::UnknownRank {
        comm: 7,
        rank: Rank(2),
        ranks: 2,
    };
    let empty = BufferRange::empty;
    let sent = module.send(Rank(2), 0, &comm, empty(), None);
    assert_eq!(sent.err(), Some(rank.clone()));
    let received = module.receive(Some(Rank(2)), None, &comm, empty(), None);
    assert_eq!(received.err(), Some(rank.clone()));
    assert_eq!(module.probe(Some(Rank(2)), None, &comm).err(), Some(rank));
}

/// Messages on the module's identifiers from outside the module are refused when their number is invalid.
#[test]
fn ct1_x5_messages_whose_number_is_cut_or_too_small_are_refused() {
    for (header, data, field) in [
        (vec![], vec![1, 2, 3], "communicator"),
        (vec![], vec![254, 0, 0, 0, 9], "communicator"),
        (vec![1, 2], vec![9; 600], "communicator"),
        (vec![0, 1, 0, 0, 7], vec![9; 600], "length"),
    ] {
        let machine = Double::new(2, 1);
        let contexts = machine.contexts(&[0, 1], Default::default());
        let module = Messaging::create(&contexts[1], MessagingConfig::new(DISPATCH));
        let module = module.expect("first use");
        let to = contexts[0].endpoint(TaskId(1), 0).expect("exists");
        let data = contexts[0].platform().buffer(&data);
        let message = SendMessage {
            comm: 255,
            header,
            protocol: SendProtocol::Eager,
            ..SendMessage::new(to, DISPATCH, data)
        };
        contexts[0].send(message).expect("valid");
        let mut refused = None;
        for _ in 0..20 {
            machine.settle();
            contexts[0].advance(1).expect("no error");
            refused = refused.or(contexts[1].advance(1).err());
        }
        let Some(Error::ControlMessage { field: found, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(found, field);
        assert_eq!(module.stats().unexpected, 0);
    }
}
