// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messaging module on the test double: the steps of the protocol, both arrival orders, wildcards,
//! probe, cancel, errors, and the memory that the prior art takes.

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::matching::primitives::{ClearToSend, Primitives, RequestToSend};
use gyre_driver::matching::{
    ANY_TAG, Communicator, Label, Messaging, MessagingConfig, Protocol, Received, Request,
};
use gyre_driver::{
    AckConfig, Arrival, BufferRange, Client, Context, DEFAULT_EAGER_LIMIT, DoneFn, Error, Fence,
    Op, Ordered, Platform, Rank, Receive, RemoteAddress, Routing, SendImmediate, SendMessage,
    TaskId, WakeReason, advancev,
};
use gyre_testkit::{Double, Fault, Memory, Process, small};
use parking_lot::Mutex;
use proptest::prelude::*;

const DISPATCH: u8 = 1;

/// Every message waits for its receive.
const ALWAYS: MessagingConfig = MessagingConfig {
    switch_over: 0,
    ..MessagingConfig::new(DISPATCH)
};

/// No message does.
const NEVER: MessagingConfig = MessagingConfig {
    switch_over: usize::MAX,
    ..MessagingConfig::new(DISPATCH)
};

const PRIOR_ART: MessagingConfig = MessagingConfig {
    protocol: Protocol::TemporaryBuffer,
    ..ALWAYS
};

type Module = Messaging<Process>;

/// Each of `configs` by each way of ordered traffic (HW-4).
fn by_each_way<const N: usize>(
    configs: [MessagingConfig; N],
) -> impl Iterator<Item = (MessagingConfig, Ordered)> {
    let ways = [Ordered::Fixed, Ordered::Flow];
    let by_each = move |config| ways.map(|ordered| (config, ordered));
    configs.into_iter().flat_map(by_each)
}

/// A module in each of as many tasks as nodes; acknowledgements go out at once, and everything by fixed routes.
fn modules(nodes: usize, config: MessagingConfig) -> (Double, Vec<Module>) {
    modules_by(Ordered::Fixed, nodes, config)
}

/// The same where ordered traffic goes by `ordered`.
fn modules_by(ordered: Ordered, nodes: usize, config: MessagingConfig) -> (Double, Vec<Module>) {
    modules_that(AckConfig::immediate(), ordered, nodes, config)
}

/// The same that acknowledge by `ack`.
fn modules_that(
    ack: AckConfig,
    ordered: Ordered,
    nodes: usize,
    config: MessagingConfig,
) -> (Double, Vec<Module>) {
    let machine = Double::new(nodes, 1);
    if ordered == Ordered::Flow {
        machine.diagonal();
    }
    let tasks = machine.tasks(&(0..nodes).collect::<Vec<_>>());
    let module = |task: usize| {
        let config_of_client = gyre_driver::ClientConfig {
            ack: ack.clone(),
            ordered,
            ..gyre_testkit::config(&tasks, task as u32, small())
        };
        let context = Client::create(&machine.process(task), config_of_client)
            .and_then(|client| client.create_context(0))
            .expect("the double has the resources");
        Messaging::create(&context, config).expect("first use")
    };
    let modules = (0..nodes).map(module).collect();
    (machine, modules)
}

fn settle(machine: &Double, modules: &[Module]) {
    let contexts: Vec<_> = modules.iter().map(|m| m.context().clone()).collect();
    let mut idle = 0;
    while idle < 3 {
        let moved = machine.step();
        let progress = advancev(&contexts, 1).expect("no error");
        idle = if moved || !progress.is_idle() {
            0
        } else {
            idle + 1
        };
    }
}

/// As [`settle`], until untracked descriptors have been polled too.
fn come_to_rest(machine: &Double, modules: &[Module]) {
    settle(machine, modules);
    for module in modules {
        for _ in 0..20 {
            advance(module);
        }
        assert!(module.context().is_at_rest());
    }
}

fn advance(module: &Module) {
    module.context().advance(1).expect("no error");
}

fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (i * 13 + seed * 101 + i / 251) as u8)
        .collect()
}

/// Results of receives: (number of the receive, result, bytes).
type Log = Arc<Mutex<Vec<(usize, Result<Received, Error>, Vec<u8>)>>>;

fn receive(
    module: &Module,
    log: &Log,
    number: usize,
    from: Option<u32>,
    tag: Option<u32>,
    comm: u32,
    room: usize,
) -> Request<Process, Received> {
    let into = module.context().platform().buffer(&vec![0xee; room]);
    receive_into(module, log, number, (from, tag, comm), into)
}

fn receive_into(
    module: &Module,
    log: &Log,
    number: usize,
    (from, tag, comm): (Option<u32>, Option<u32>, u32),
    into: BufferRange<Memory>,
) -> Request<Process, Received> {
    let (copy, log) = (into.clone(), Arc::clone(log));
    let done = move |_: &Context<Process>, result: Result<Received, Error>| {
        log.lock().push((number, result, bytes_of(&copy)));
    };
    module
        .receive(
            from.map(Rank),
            tag,
            &Communicator::world(comm),
            into,
            Some(Box::new(done)),
        )
        .expect("valid")
}

fn bytes_of(range: &BufferRange<Memory>) -> Vec<u8> {
    let mut bytes = vec![0; range.len()];
    range.read(0, &mut bytes).expect("inside");
    bytes
}

fn send(module: &Module, to: u32, tag: u32, comm: u32, data: &[u8]) -> Request<Process, ()> {
    let buffer = module.context().platform().buffer(data);
    module
        .send(Rank(to), tag, &Communicator::world(comm), buffer, None)
        .expect("valid")
}

fn got(source: u32, tag: u32, comm: u32, length: usize) -> Result<Received, Error> {
    Ok(Received {
        source: Rank(source),
        tag,
        comm,
        length,
    })
}

fn results(log: &Log) -> Vec<(usize, Result<Received, Error>)> {
    log.lock().iter().map(|l| (l.0, l.1.clone())).collect()
}

#[test]
fn ct1_send_and_receive_are_paired_by_origin_tag_and_context() {
    for (config, ordered) in by_each_way([ALWAYS, NEVER, PRIOR_ART]) {
        let (machine, modules) = modules_by(ordered, 3, config);
        let log = Log::default();
        // Numbers that the packet header has room for, and others.
        let sends = [
            (1, 5, 2),
            (2, 5, 2),
            (1, 6, 2),
            (1, 5, 3),
            (1, 5, 254),
            (1, 5, 255),
            (1, 5, 0x102),
            (1, 5, u32::MAX),
        ];
        for (number, &(from, tag, comm)) in sends.iter().enumerate().rev() {
            receive(&modules[0], &log, number, Some(from), Some(tag), comm, 1300);
        }
        for (number, &(from, tag, comm)) in sends.iter().enumerate() {
            send(
                &modules[from as usize],
                0,
                tag,
                comm,
                &pattern(1300, number),
            );
        }
        settle(&machine, &modules);
        let mut got_all = log.lock().clone();
        got_all.sort_by_key(|entry| entry.0);
        for (number, (from, tag, comm)) in sends.into_iter().enumerate() {
            let expected = (number, got(from, tag, comm, 1300), pattern(1300, number));
            assert_eq!(got_all[number], expected);
        }
        let stats = modules[0].stats();
        assert_eq!((stats.expected, stats.unexpected), (8, 0));
        assert_eq!((stats.posted, stats.pending), (0, 0));
        assert_eq!(stats.peak_held_bytes, 0);
    }
}

#[test]
fn ct1_wildcards_take_the_first_that_came_and_comm_is_never_one() {
    for (config, ordered) in by_each_way([ALWAYS, NEVER, PRIOR_ART]) {
        let (machine, modules) = modules_by(ordered, 3, config);
        let log = Log::default();
        for (from, tag, comm) in [(1, 10, 0), (2, 20, 1), (2, 30, 0), (0, 40, 0)] {
            send(&modules[from as usize], 0, tag, comm, b"x");
            settle(&machine, &modules);
        }
        for (number, from, tag, comm) in [
            (0, None, Some(30), 0),
            (1, None, None, 1),
            (2, Some(0), None, 0),
            (3, None, None, 0),
            (4, None, None, 0),
        ] {
            receive(&modules[0], &log, number, from, tag, comm, 1);
            settle(&machine, &modules);
        }
        assert_eq!(
            results(&log),
            [
                (0, got(2, 30, 0, 1)),
                (1, got(2, 20, 1, 1)),
                (2, got(0, 40, 0, 1)),
                (3, got(1, 10, 0, 1))
            ]
        );
        assert_eq!(modules[0].stats().posted, 1);
    }
}

#[test]
fn ct1_a_message_of_any_tag_matches_receives_of_every_tag() {
    let (machine, modules) = modules(2, ALWAYS);
    let log = Log::default();
    receive(&modules[1], &log, 0, Some(0), Some(7), 0, 600);
    send(&modules[0], 1, ANY_TAG, 0, &pattern(600, 9));
    settle(&machine, &modules);
    send(&modules[0], 1, ANY_TAG, 0, &pattern(600, 9));
    settle(&machine, &modules);
    receive(&modules[1], &log, 1, Some(0), Some(8), 0, 600);
    settle(&machine, &modules);
    let expected = got(0, ANY_TAG, 0, 600);
    assert_eq!(results(&log), [(0, expected.clone()), (1, expected)]);
}

#[test]
fn ct1_probe_finds_what_a_receive_would_match_and_leaves_it() {
    for (config, ordered) in by_each_way([ALWAYS, NEVER, PRIOR_ART]) {
        let (machine, modules) = modules_by(ordered, 2, config);
        let probe = |from: Option<u32>, tag, comm| {
            modules[1]
                .probe(from.map(Rank), tag, &Communicator::world(comm))
                .expect("valid")
        };
        assert_eq!(probe(None, None, 0), None);
        send(&modules[0], 1, 3, 0, &pattern(900, 1));
        send(&modules[0], 1, 4, 0, &pattern(80, 2));
        settle(&machine, &modules);
        assert_eq!(probe(None, None, 0), got(0, 3, 0, 900).ok());
        assert_eq!(probe(Some(0), Some(4), 0), got(0, 4, 0, 80).ok());
        assert_eq!(probe(Some(1), None, 0), None);
        assert_eq!(probe(None, None, 1), None);
        assert_eq!(modules[1].stats().pending, 2);
        // A receive takes its message at once, so that the next probe does not find it.
        let log = Log::default();
        receive(&modules[1], &log, 0, None, None, 0, 900);
        assert_eq!(probe(None, None, 0), got(0, 4, 0, 80).ok());
        settle(&machine, &modules);
        assert_eq!(*log.lock(), [(0, got(0, 3, 0, 900), pattern(900, 1))]);
        let unknown = modules[1].probe(Some(Rank(7)), None, &Communicator::WORLD);
        assert!(matches!(unknown, Err(Error::UnknownTask { .. })));
    }
}

#[test]
fn ct1_every_comparison_of_a_message_with_a_receive_is_charged() {
    let (machine, modules) = modules(2, NEVER);
    let (log, comm) = (Log::default(), Communicator::WORLD);
    let charged = |expected| assert_eq!(machine.charged(Op::MatchAttempt), expected);
    for tag in 0..5 {
        send(&modules[0], 1, tag, 0, b"x");
    }
    settle(&machine, &modules);
    charged(0);
    let found = modules[1].probe(None, Some(4), &comm).expect("valid");
    assert!(found.is_some());
    charged(5);
    receive(&modules[1], &log, 0, None, Some(3), 0, 1);
    charged(5 + 4);
    // Behind the four messages that are left.
    let posted = [10, 11, 12].map(|tag| receive(&modules[1], &log, 1, None, Some(tag), 0, 1));
    charged(9 + 3 * 4);
    assert_eq!(modules[1].cancel(&posted[1]), Ok(true));
    charged(21 + 2);
    assert_eq!(modules[1].cancel(&posted[1]), Ok(false));
    charged(23 + 2);
    for tag in [12, 13] {
        send(&modules[0], 1, tag, 0, b"x");
    }
    settle(&machine, &modules);
    charged(25 + 2 + 1);
}

#[test]
fn ct1_cancel_takes_back_a_receive_without_message_and_no_other() {
    for (config, ordered) in by_each_way([ALWAYS, NEVER, PRIOR_ART]) {
        let (machine, modules) = modules_by(ordered, 2, config);
        let log = Log::default();
        let first = receive(&modules[1], &log, 0, None, None, 0, 100);
        receive(&modules[1], &log, 1, None, None, 0, 100);
        assert_eq!(modules[1].cancel(&first), Ok(true));
        assert_eq!(modules[1].cancel(&first), Ok(false), "once only");
        assert!(log.lock().is_empty(), "callbacks run in advance");
        settle(&machine, &modules);
        assert!(first.is_complete());
        send(&modules[0], 1, 9, 0, &pattern(100, 1));
        let third = receive(&modules[1], &log, 2, None, None, 0, 100);
        settle(&machine, &modules);
        let cancelled = (0, Err(Error::Cancelled), vec![0xee; 100]);
        let second = (1, got(0, 9, 0, 100), pattern(100, 1));
        assert_eq!(*log.lock(), [cancelled, second]);
        // One that has matched completes.
        send(&modules[0], 1, 9, 0, &pattern(100, 2));
        contexts_until(&machine, &modules, || modules[1].stats().posted == 0);
        assert_eq!(modules[1].cancel(&third), Ok(false));
        settle(&machine, &modules);
        assert_eq!(log.lock()[2], (2, got(0, 9, 0, 100), pattern(100, 2)));
    }
}

/// Advances all until `done`.
fn contexts_until(machine: &Double, modules: &[Module], done: impl Fn() -> bool) {
    for _ in 0..1000 {
        if done() {
            return;
        }
        machine.step();
        modules.iter().for_each(advance);
    }
    panic!("never happens");
}

#[test]
fn ct2_the_rts_has_match_data_place_and_size_of_the_message() {
    // The module's first message as a dispatch callback of the same identifier sees it.
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let module = Messaging::create(&contexts[0], ALWAYS).expect("first use");
    let seen = Arc::new(Mutex::new(None));
    let log = Arc::clone(&seen);
    let dispatch = move |_: &Context<Process>, arrival: &gyre_driver::Arrival<'_>| {
        let match_data = (arrival.origin.task(), arrival.comm, arrival.tag);
        let (log, length, immediate) = (Arc::clone(&log), arrival.length, arrival.immediate);
        assert_eq!((arrival.header, immediate), (&[][..], None), "and no data");
        Receive::Deferred(Box::new(move |_, message| {
            *log.lock() = Some((match_data, length, message));
        }))
    };
    contexts[1]
        .set_dispatch(DISPATCH + 1, Box::new(dispatch))
        .expect("first use");
    let data = contexts[0].platform().buffer(&pattern(100_000, 1));
    let part = data.part(20, 90_001).expect("inside");
    module
        .send(Rank(1), 77, &Communicator::world(5), part.clone(), None)
        .expect("valid");
    contexts[0].advance(1).expect("no error");
    machine.settle();
    assert_eq!(machine.packets(), 1, "nothing else leaves");
    contexts[1].advance(1).expect("no error");
    let seen = seen.lock().take();
    let (match_data, length, message) = seen.expect("the RTS has come");
    assert_eq!(match_data, (TaskId(0), 5, 77));
    assert_eq!(length, 90_001);
    let into = contexts[1].platform().buffer(&vec![0; length]);
    let posted = message.receive(into.clone(), Routing::Fixed, None);
    posted.expect("not destroyed");
    for _ in 0..40 {
        machine.settle();
        advancev(&contexts, 1).expect("no error");
    }
    assert_eq!(
        bytes_of(&into),
        bytes_of(&part),
        "it says where the data is"
    );
}

#[test]
fn ct2_fn1_a_fence_waits_for_arrival_and_not_for_the_receive() {
    // Acknowledgement copies may arrive after the response to the fence.
    let copied = AckConfig::by_path(1);
    let (machine, modules) = modules_that(copied, Ordered::Fixed, 2, ALWAYS);
    let sent = send(&modules[0], 1, 5, 0, &pattern(1300, 1));
    let fenced = Arc::new(AtomicCell::new(false));
    let over = Arc::clone(&fenced);
    let fence = Fence {
        destination: modules[1].context().query().endpoint,
        done: Some(Box::new(move |_, result| over.store(result.is_ok()))),
    };
    modules[0].context().fence(fence).expect("valid");
    settle(&machine, &modules);
    assert!(fenced.load() && !sent.is_complete());
    receive(&modules[1], &Log::default(), 0, None, None, 0, 1300);
    settle(&machine, &modules);
    assert!(sent.is_complete());
}

#[test]
fn ct3_rts_first_waits_in_the_pending_queue_without_payload() {
    let (machine, modules) = modules(2, ALWAYS);
    let log = Log::default();
    for tag in 0..10 {
        send(&modules[0], 1, tag, 0, &pattern(100_000, tag as usize));
    }
    settle(&machine, &modules);
    let stats = modules[1].stats();
    assert_eq!((stats.unexpected, stats.pending), (10, 10));
    assert_eq!(stats.peak_held_bytes, 0);
    assert_eq!(
        machine.charged(Op::Allocate),
        2 * contexts_allocate(),
        "no buffer"
    );
    for tag in (0..10).rev() {
        receive(&modules[1], &log, tag, None, Some(tag as u32), 0, 100_000);
    }
    settle(&machine, &modules);
    let mut log = std::mem::take(&mut *log.lock());
    log.sort_by_key(|entry| entry.0);
    for (tag, entry) in log.into_iter().enumerate() {
        assert_eq!(
            entry,
            (tag, got(0, tag as u32, 0, 100_000), pattern(100_000, tag))
        );
    }
    assert_eq!(modules[1].stats().peak_held_bytes, 0);
    assert_eq!(modules[1].stats().pending, 0);
}

/// Blocks of DMA memory that one context allocates.
fn contexts_allocate() -> u64 {
    let machine = Double::new(1, 1);
    machine.contexts(&[0], small());
    machine.charged(Op::Allocate)
}

#[test]
fn ct3_receive_first_waits_for_the_rts() {
    let (machine, modules) = modules(2, ALWAYS);
    let log = Log::default();
    let request = receive(&modules[1], &log, 0, Some(0), Some(5), 2, 1300);
    settle(&machine, &modules);
    assert!(!request.is_complete());
    assert_eq!(modules[1].stats().posted, 1);
    send(&modules[0], 1, 5, 2, &pattern(1300, 1));
    settle(&machine, &modules);
    assert!(request.is_complete());
    assert_eq!(*log.lock(), [(0, got(0, 5, 2, 1300), pattern(1300, 1))]);
    let stats = modules[1].stats();
    assert_eq!((stats.expected, stats.unexpected), (1, 0));
    assert_eq!(stats.peak_held_bytes, 0);
}

#[test]
fn ct3_a_short_unexpected_message_is_held_and_counted() {
    let config = MessagingConfig {
        switch_over: 1000,
        ..ALWAYS
    };
    let (machine, modules) = modules(2, config);
    let log = Log::default();
    let lengths = [(1, 999), (2, 0), (3, 1000), (4, 200)];
    for (tag, length) in lengths {
        assert_eq!(modules[0].is_eager(length), length < 1000);
        send(&modules[0], 1, tag, 0, &pattern(length, tag as usize));
    }
    settle(&machine, &modules);
    let stats = modules[1].stats();
    assert_eq!((stats.unexpected, stats.pending), (4, 4));
    assert_eq!(stats.held_bytes, 1199, "all but the one that waits");
    // One packet is held as it is.
    let allocated = 2 * contexts_allocate() + 1;
    assert_eq!(machine.charged(Op::Allocate), allocated);
    for (number, (tag, length)) in lengths.into_iter().enumerate() {
        receive(&modules[1], &log, number, Some(0), Some(tag), 0, length);
    }
    settle(&machine, &modules);
    let mut log = std::mem::take(&mut *log.lock());
    log.sort_by_key(|entry| entry.0);
    for (entry, (tag, length)) in log.into_iter().zip(lengths) {
        assert_eq!(entry.1, got(0, tag, 0, length));
        assert_eq!(entry.2, pattern(length, tag as usize));
    }
    let stats = modules[1].stats();
    assert_eq!((stats.held_bytes, stats.peak_held_bytes), (0, 1199));
    // What held bytes is kept: the next message needs no block, and the end of the context gives it back.
    assert_eq!(machine.charged(Op::Allocate), allocated);
    send(&modules[0], 1, 5, 0, &pattern(998, 5));
    settle(&machine, &modules);
    assert_eq!(modules[1].stats().held_bytes, 998);
    let into = machine.process(1).buffer(&[0; 998]);
    let late = Log::default();
    receive_into(&modules[1], &late, 5, (Some(0), Some(5), 0), into);
    settle(&machine, &modules);
    assert_eq!(*late.lock(), [(5, got(0, 5, 0, 998), pattern(998, 5))]);
    assert_eq!(machine.charged(Op::Allocate), allocated);
    modules[1]
        .context()
        .destroy()
        .expect("nothing is under way");
    assert_eq!(
        machine.charged(Op::Allocate),
        allocated + 1,
        "what held bytes is freed"
    );
}

/// DMA memory of task 1's node after its context has been destroyed, and blocks that were charged.
fn destroyed(machine: &Double, modules: &[Module]) -> (usize, u64) {
    modules[1]
        .context()
        .destroy()
        .expect("nothing is under way");
    (machine.allocated(1), machine.charged(Op::Allocate))
}

#[test]
fn ct3_memory_of_unexpected_messages_is_bounded_and_returned() {
    const MESSAGES: usize = 40;
    const BYTES: usize = 1300;
    let (machine, modules_used) = modules(2, NEVER);
    let (unused, modules_unused) = modules(2, NEVER);
    let into = machine.process(1).buffer(&[0; BYTES]);
    let none = unused.process(1).buffer(&[0; BYTES]);
    let log = Log::default();
    let (memory, charged) = (machine.allocated(1), machine.charged(Op::Allocate));
    let exchange = |messages: usize, seed: usize| {
        for tag in 0..messages {
            send(
                &modules_used[0],
                1,
                tag as u32,
                0,
                &pattern(BYTES, seed + tag),
            );
        }
        settle(&machine, &modules_used);
        assert_eq!(modules_used[1].stats().held_bytes, messages * BYTES);
        for tag in (0..messages).rev() {
            let of = (None, Some(tag as u32), 0);
            receive_into(&modules_used[1], &log, seed + tag, of, into.clone());
        }
        settle(&machine, &modules_used);
        for (number, result, bytes) in log.lock().drain(..) {
            assert_eq!(result, got(0, (number - seed) as u32, 0, BYTES));
            assert_eq!(bytes, pattern(BYTES, number));
        }
        assert_eq!(modules_used[1].stats().held_bytes, 0);
        machine.charged(Op::Allocate) - charged
    };
    // Each message gets a block, and all but eight are given back.
    assert_eq!(exchange(MESSAGES, 0), 40 + 32);
    assert_eq!(machine.allocated(1) - memory, 8 * 2048);
    assert_eq!(exchange(8, 100), 40 + 32, "eight need none");
    assert_eq!(
        exchange(9, 200),
        40 + 32 + 2,
        "a ninth is got and given back"
    );
    assert_eq!(machine.allocated(1) - memory, 8 * 2048);
    assert_eq!(modules_used[1].stats().peak_held_bytes, MESSAGES * BYTES);
    let (after, charged_after) = destroyed(&machine, &modules_used);
    let (never, _) = destroyed(&unused, &modules_unused);
    assert_eq!(after, never, "all blocks are given back");
    assert_eq!(charged_after - charged, 40 + 32 + 2 + 8);
    drop((into, none));
}

#[test]
fn ct6_the_switch_over_alone_makes_a_message_eager() {
    let length = DEFAULT_EAGER_LIMIT + 1;
    let config = MessagingConfig {
        switch_over: length + 1,
        ..MessagingConfig::new(1)
    };
    // A communicator whose number the packet header has no room for, too: then the message has a header.
    for comm in [0, 300] {
        let (machine, modules) = modules(2, config);
        let log = Log::default();
        send(&modules[0], 1, 5, comm, &vec![7; length]);
        settle(&machine, &modules);
        assert_eq!(modules[1].stats().held_bytes, length, "{comm}");
        // Nothing is fetched.
        assert_eq!(machine.charged(Op::Counter), 0, "{comm}");
        receive(&modules[1], &log, 0, Some(0), Some(5), comm, length);
        settle(&machine, &modules);
        let received = (0, got(0, 5, comm, length), vec![7; length]);
        assert_eq!(*log.lock(), [received]);
    }
}

#[test]
fn ct3_blocks_of_long_messages_are_not_kept() {
    let (machine, modules) = modules(2, NEVER);
    let into = machine.process(1).buffer(&[0; 5000]);
    let (memory, charged) = (machine.allocated(1), machine.charged(Op::Allocate));
    let log = Log::default();
    for number in 1..=3 {
        send(&modules[0], 1, 1, 0, &pattern(5000, number));
        settle(&machine, &modules);
        receive_into(&modules[1], &log, number, (None, None, 0), into.clone());
        settle(&machine, &modules);
        assert_eq!(log.lock().pop().map(|l| l.2), Some(pattern(5000, number)));
        assert_eq!(machine.charged(Op::Allocate) - charged, 2 * number as u64);
        assert_eq!(machine.allocated(1), memory);
    }
}

#[test]
fn ct3_bytes_held_are_exact_over_many_unexpected_messages() {
    const LENGTHS: [usize; 9] = [0, 1, 8, 64, 511, 512, 513, 2000, 5000];
    let (machine, modules) = modules(2, NEVER);
    let into = machine.process(1).buffer(&[0; 5000]);
    let log = Log::default();
    for round in 0..12 {
        let mut held = 0;
        for (tag, length) in (0..).zip(LENGTHS.into_iter().cycle().take(45)) {
            send(
                &modules[0],
                1,
                tag,
                0,
                &pattern(length, round + tag as usize),
            );
            settle(&machine, &modules);
            held += length;
            assert_eq!(modules[1].stats().held_bytes, held);
        }
        assert_eq!(modules[1].stats().peak_held_bytes, held);
        // From either end and from the middle.
        for tag in (0..45).map(|tag| tag * 7 % 45) {
            let (length, pattern_of) = (LENGTHS[tag % 9], (Some(0), Some(tag as u32), 0));
            receive_into(&modules[1], &log, tag, pattern_of, into.clone());
            settle(&machine, &modules);
            let (number, result, bytes) = log.lock().pop().expect("it is here");
            assert_eq!((number, result), (tag, got(0, tag as u32, 0, length)));
            assert_eq!(bytes[..length], pattern(length, round + tag));
            held -= length;
            assert_eq!(modules[1].stats().held_bytes, held);
        }
    }
    assert_eq!(modules[1].stats().held_bytes, 0);
}

#[test]
fn ct1_requests_have_outcomes_of_their_own_however_many_there_are() {
    const REQUESTS: usize = 200;
    let (machine, modules) = modules(2, NEVER);
    let into = machine.process(1).buffer(&[0; 300]);
    let post = |tag: usize| {
        let world = &Communicator::WORLD;
        let request = modules[1].receive(None, Some(tag as u32), world, into.clone(), None);
        request.expect("valid")
    };
    let outcome = |tag: usize| got(0, tag as u32, 0, tag);
    // All at once, and half of them have their messages, from the last one on.
    let posted: Vec<_> = (0..REQUESTS).map(post).collect();
    let sent = |tag: usize| send(&modules[0], 1, tag as u32, 0, &vec![7; tag]);
    let sends: Vec<_> = (0..REQUESTS).rev().step_by(2).map(sent).collect();
    settle(&machine, &modules);
    for (tag, request) in posted.iter().enumerate() {
        assert_eq!(request.is_complete(), tag % 2 == 1);
    }
    assert!(sends.iter().all(Request::is_complete));
    // One after the other: some have handles for long, others none.
    let mut kept = Vec::new();
    for round in 0..REQUESTS {
        let tag = 1000 + round % 100;
        let request = post(tag);
        assert!(!request.is_complete(), "it is a new one");
        // It is one packet, and copied.
        let sending = send(&modules[0], 1, tag as u32, 0, &vec![7; tag % 300]);
        assert!(sending.is_complete());
        if round % 3 == 0 {
            kept.push((tag, request.clone(), sending));
        }
        settle(&machine, &modules);
    }
    for (tag, request, sending) in kept {
        assert_eq!(request.wait(), got(0, tag as u32, 0, tag % 300));
        assert_eq!(sending.wait(), Ok(()));
    }
    for (tag, request) in posted.iter().enumerate().skip(1).step_by(2) {
        assert_eq!(request.wait(), outcome(tag));
    }
    // Only receives without a message end here.
    modules[1]
        .context()
        .destroy()
        .expect("nothing is under way");
    for (tag, request) in posted.iter().enumerate() {
        let ended = match tag % 2 {
            1 => outcome(tag),
            _ => Err(Error::Destroyed),
        };
        assert_eq!(request.wait(), ended);
    }
}

#[test]
fn ct1_eager_messages_leave_at_the_call_after_earlier_posts() {
    const OTHER: u8 = 50;
    for (length, told) in [0, 8, 512, 513, 3000]
        .into_iter()
        .flat_map(|l| [(l, false), (l, true)])
    {
        let (machine, modules) = modules(2, NEVER);
        let [origin, target] = &modules[..] else {
            unreachable!("there are two");
        };
        // What has come to the target, by tag.
        let seen = Arc::new(Mutex::new(Vec::new()));
        let note = Arc::clone(&seen);
        let dispatch = move |_: &Context<Process>, arrival: &Arrival<'_>| {
            note.lock().push(arrival.tag);
            Receive::Consumed
        };
        target
            .context()
            .set_dispatch(OTHER, Box::new(dispatch))
            .expect("free");
        let data = pattern(length, 1);
        let sent = |tag: u32| {
            let range = origin.context().platform().buffer(&data);
            let done = told.then(|| Box::new(|_: &Context<Process>, _| ()) as DoneFn<Process>);
            let request = origin.send(Rank(1), tag, &Communicator::WORLD, range, done);
            request.expect("valid")
        };
        let expect = |tag: u32| {
            let into = target.context().platform().buffer(&vec![0; length]);
            let (note, data, copy) = (Arc::clone(&seen), data.clone(), into.clone());
            let done = move |_: &Context<Process>, result: Result<Received, Error>| {
                assert_eq!(bytes_of(&copy), data);
                note.lock().push(result.expect("arrived").tag);
            };
            let (world, done) = (&Communicator::WORLD, Some(Box::new(done) as _));
            target
                .receive(None, Some(tag), world, into, done)
                .expect("valid");
        };
        let look = || {
            machine.settle();
            for _ in 0..4 {
                advance(target);
            }
            seen.lock().clone()
        };
        [1, 3].into_iter().for_each(expect);
        let request = sent(1);
        // One packet without a function is copied; with one, an empty message is posted.
        assert_eq!(request.is_complete(), length <= 512 && !told);
        let at_once = length > 0 || !told;
        assert_eq!(
            look(),
            if at_once { vec![1] } else { vec![] },
            "of {length} B"
        );
        let peer = origin.context().endpoint(TaskId(1), 0).expect("exists");
        let posted = SendMessage {
            tag: 2,
            ..SendMessage::new(peer, OTHER, BufferRange::empty())
        };
        origin.context().send(posted).expect("valid");
        let last = sent(3);
        assert_eq!(look().len(), usize::from(at_once), "nothing goes before it");
        settle(&machine, &modules);
        assert_eq!(*seen.lock(), [1, 2, 3], "of {length} B");
        assert!(request.is_complete() && last.is_complete());
    }
}

#[test]
fn ct1_a_detached_send_arrives_and_one_that_would_wait_is_refused() {
    let (machine, modules) = modules(2, NEVER);
    let log = Log::default();
    for (number, length) in [0, 8, 512, 513, 3000].into_iter().enumerate() {
        let data = modules[0]
            .context()
            .platform()
            .buffer(&pattern(length, number));
        let tag = number as u32;
        modules[0]
            .send_detached(Rank(1), tag, &Communicator::world(300), data)
            .expect("eager");
        receive(&modules[1], &log, number, None, Some(tag), 300, length);
        come_to_rest(&machine, &modules);
        let arrived = (number, got(0, tag, 300, length), pattern(length, number));
        assert_eq!(log.lock().last(), Some(&arrived));
    }
    let (_machine, modules) = self::modules(2, ALWAYS);
    let data = modules[0].context().platform().buffer(&[0; 8]);
    let refused = modules[0].send_detached(Rank(1), 0, &Communicator::WORLD, data);
    assert_eq!(refused, Err(Error::MessageLength { bytes: 8 }));
}

#[test]
fn ct3_a_receive_of_a_held_message_ends_in_the_next_turn() {
    let (machine, modules) = modules(2, NEVER);
    let (log, context) = (Log::default(), modules[1].context());
    for round in 0..3 {
        send(&modules[0], 1, 7, 0, &pattern(100, round));
        come_to_rest(&machine, &modules);
        receive(&modules[1], &log, round, None, None, 0, 100);
        assert_eq!(log.lock().len(), round, "callbacks run in `advance` alone");
        assert!(!context.is_at_rest());
        assert_eq!(context.wait(Some(u64::MAX)), Ok(WakeReason::Wake));
        let before = machine.messages_from(1);
        send(&modules[1], 0, 8, 0, &pattern(100, round));
        machine.settle();
        assert_eq!(machine.messages_from(1), before + 1);
        advance(&modules[1]);
        let ended = (round, got(0, 7, 0, 100), pattern(100, round));
        assert_eq!(log.lock().last(), Some(&ended));
        come_to_rest(&machine, &modules);
    }
}

#[test]
fn ct3_below_the_switch_over_no_data_is_requested() {
    let (machine, modules) = modules(2, NEVER);
    let sent = send(&modules[0], 1, 1, 0, &pattern(DEFAULT_EAGER_LIMIT + 1, 1));
    settle(&machine, &modules);
    assert!(sent.is_complete());
    assert_eq!(machine.messages_from(1), 0);
}

#[test]
fn ct3_a_receive_posted_while_its_message_arrives_gets_it() {
    let (machine, modules) = modules(2, NEVER);
    let log = Log::default();
    send(&modules[0], 1, 1, 0, &pattern(2000, 1));
    send(&modules[0], 1, 1, 0, &pattern(100, 2));
    advance(&modules[0]);
    machine.step();
    advance(&modules[1]);
    // One packet of the first message is there; two receives: the first gets the first message.
    let first = receive(&modules[1], &log, 0, None, None, 0, 2000);
    receive(&modules[1], &log, 1, None, None, 0, 2000);
    advance(&modules[1]);
    assert!(!first.is_complete());
    settle(&machine, &modules);
    assert_eq!(
        results(&log),
        [(0, got(0, 1, 0, 2000)), (1, got(0, 1, 0, 100))]
    );
    assert_eq!(log.lock()[0].2, pattern(2000, 1));
}

#[test]
fn ct4_no_processor_is_in_the_data_path() {
    let (machine, modules) = modules(2, ALWAYS);
    let log = Log::default();
    let into = modules[1].context().platform().buffer(&vec![0xee; 50_000]);
    receive_into(&modules[1], &log, 0, (None, None, 0), into.clone());
    send(&modules[0], 1, 5, 0, &pattern(50_000, 1));
    advance(&modules[0]);
    machine.settle();
    let copied = machine.charged(Op::CopyChunk);
    // The target finds the RTS and issues the remote get. No context advances after this.
    advance(&modules[1]);
    machine.settle();
    assert_eq!(bytes_of(&into), pattern(50_000, 1));
    assert!(log.lock().is_empty());
    settle(&machine, &modules);
    assert_eq!(results(&log), [(0, got(0, 5, 0, 50_000))]);
    // A get's descriptor and an acknowledgement are copied, no payload.
    assert!(machine.charged(Op::CopyChunk) - copied < 16);
}

#[test]
fn ct5_the_receive_ends_when_the_byte_counter_is_zero() {
    let (machine, modules) = modules(2, ALWAYS);
    let log = Log::default();
    let into = modules[1].context().platform().buffer(&vec![0xee; 5000]);
    receive_into(&modules[1], &log, 0, (None, None, 0), into.clone());
    send(&modules[0], 1, 5, 0, &pattern(5000, 1));
    advance(&modules[0]);
    let mut partial = 0;
    while log.lock().is_empty() {
        assert!(machine.step(), "the data comes");
        let there = bytes_of(&into)
            .iter()
            .zip(pattern(5000, 1))
            .rposition(|(&byte, expected)| byte == expected && byte != 0xee)
            .map_or(0, |last| last + 1);
        advance(&modules[1]);
        assert_eq!(
            !log.lock().is_empty(),
            there == 5000,
            "{there} bytes are there"
        );
        partial += usize::from(there > 0 && there < 5000);
    }
    assert!(partial >= 9, "it came packet by packet");
}

#[test]
fn ct6_the_sends_callback_runs_on_the_ack() {
    for (config, ordered) in by_each_way([ALWAYS, PRIOR_ART]) {
        let (machine, modules) = modules_by(ordered, 2, config);
        let log = Log::default();
        let sent = Arc::new(AtomicCell::new(0_usize));
        let count = Arc::clone(&sent);
        let data = modules[0].context().platform().buffer(&pattern(3000, 1));
        let done = move |_: &Context<Process>, result: Result<(), Error>| {
            assert_eq!(result, Ok(()));
            count.fetch_add(1);
        };
        let request = modules[0]
            .send(Rank(1), 1, &Communicator::WORLD, data, Some(Box::new(done)))
            .expect("valid");
        if config == ALWAYS {
            // No receive has taken it: the data is not free.
            settle(&machine, &modules);
            assert_eq!(sent.load(), 0);
        }
        receive(&modules[1], &log, 0, None, None, 0, 3000);
        // All that moves is the target: the data arrives, the origin knows nothing of it.
        contexts_until(&machine, &modules, || !log.lock().is_empty());
        assert_eq!(sent.load(), 0, "before the ACK has come");
        assert!(!request.is_complete());
        settle(&machine, &modules);
        assert_eq!(sent.load(), 1);
        assert!(request.is_complete());
    }
}

#[test]
fn ct7_the_system_module_has_the_six_primitives() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let primitives = Primitives::new(10).expect("free identifiers");
    let (a, b) = (
        contexts[0].endpoint(TaskId(0), 0).expect("exists"),
        contexts[0].endpoint(TaskId(1), 0).expect("exists"),
    );
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |text: &'static str| {
        let seen = Arc::clone(&seen);
        Box::new(move |_: &Context<Process>, result: Result<(), Error>| {
            result.expect("done");
            seen.lock().push(text.to_owned());
        })
    };
    for context in &contexts {
        for id in 10..14 {
            let seen = Arc::clone(&seen);
            let dispatch = move |_: &Context<Process>, arrival: &gyre_driver::Arrival<'_>| {
                let text = match id {
                    10 => format!("memory FIFO {:?}", arrival.immediate),
                    11 => format!("RTS {:?}", RequestToSend::decode(arrival).expect("RTS")),
                    12 => format!("CTS {:?}", ClearToSend::decode(arrival).expect("CTS")),
                    _ => panic!("nobody asked for a transfer"),
                };
                seen.lock().push(text);
                Receive::Consumed
            };
            context
                .set_dispatch(id, Box::new(dispatch))
                .expect("first use");
        }
    }
    let settle = || {
        for _ in 0..40 {
            machine.settle();
            advancev(&contexts, 1).expect("no error");
        }
        std::mem::take(&mut *seen.lock())
    };
    let rts = RequestToSend {
        cookie: 5,
        length: 600,
        place: RemoteAddress {
            slot: 3,
            offset: 99,
        },
    };
    let label = Label { comm: 1, tag: 2 };
    primitives
        .request_to_send(&contexts[0], b, label, rts, note("RTS has left"))
        .expect("valid");
    let expected = [format!("RTS {:?}", (1, rts)), "RTS has left".to_owned()];
    let mut outcome = settle();
    outcome.sort();
    assert_eq!(outcome, expected);

    let cts = ClearToSend {
        cookie: 5,
        transfer: u64::MAX,
    };
    primitives
        .clear_to_send(&contexts[1], a, cts)
        .expect("valid");
    assert_eq!(settle(), [format!("CTS {cts:?}")]);

    let data = contexts[0].platform().buffer(&[1, 2, 3]);
    let label = Label { comm: 0, tag: 0 };
    primitives
        .memory_fifo(&contexts[0], b, label, data, None)
        .expect("valid");
    assert_eq!(settle(), ["memory FIFO Some([1, 2, 3])"]);

    let there = contexts[1].platform().buffer(&pattern(3000, 3));
    let place = there.remote_address().expect("it has a buffer");
    let into = contexts[0].platform().buffer(&[0; 3000]);
    primitives
        .remote_get(
            &contexts[0],
            b,
            place,
            into.clone(),
            note("counter is zero"),
        )
        .expect("valid");
    assert_eq!(settle(), ["counter is zero"]);
    assert_eq!(bytes_of(&into), pattern(3000, 3));

    let data = contexts[0].platform().buffer(&pattern(3000, 4));
    primitives
        .direct_put(&contexts[0], b, data, place, Some(note("put is there")))
        .expect("valid");
    assert_eq!(settle(), ["put is there"]);
    assert_eq!(bytes_of(&there), pattern(3000, 4));

    let cookie = primitives
        .await_acknowledge(&contexts[0], b, BufferRange::empty(), note("acknowledged"))
        .expect("valid");
    primitives
        .acknowledge(&contexts[1], a, cookie)
        .expect("valid");
    assert_eq!(settle(), ["acknowledged"]);
    assert_eq!(
        Primitives::new(221).err(),
        Some(Error::ReservedDispatch { id: 224 })
    );
}

#[test]
fn ct6_x5_an_acknowledgement_ends_operations_at_its_own_origin_alone() {
    let machine = Double::new(3, 1);
    let contexts = machine.contexts(&[0, 1, 2], small());
    let primitives = Primitives::new(10).expect("free identifiers");
    let endpoint = |task| contexts[0].endpoint(TaskId(task), 0).expect("exists");
    let done = Arc::new(AtomicCell::new(0_usize));
    let count = Arc::clone(&done);
    let call = move |_: &Context<Process>, result: Result<(), Error>| {
        assert_eq!(result, Ok(()));
        count.fetch_add(1);
    };
    let cookie = primitives
        .await_acknowledge(
            &contexts[0],
            endpoint(1),
            BufferRange::empty(),
            Box::new(call),
        )
        .expect("valid");
    let stranger = Error::UnknownCookie {
        origin: TaskId(2),
        cookie,
    };
    for (from, calls, errors) in [(2, 0, vec![stranger]), (1, 1, vec![])] {
        primitives
            .acknowledge(&contexts[from], endpoint(0), cookie)
            .expect("valid");
        let mut seen = Vec::new();
        for _ in 0..40 {
            machine.settle();
            seen.extend(advancev(&contexts, 1).err());
        }
        assert_eq!((done.load(), seen), (calls, errors), "from task {from}");
    }
}

#[test]
fn ct8_messages_of_one_flow_match_in_the_order_sent() {
    for (config, ordered) in by_each_way([ALWAYS, NEVER, PRIOR_ART]) {
        for late in [false, true] {
            let (machine, modules) = modules_by(ordered, 2, config);
            machine.reorder();
            let log = Log::default();
            let post = || {
                for number in 0..20 {
                    receive(&modules[1], &log, number, Some(0), Some(3), 0, 2000);
                }
            };
            if !late {
                post();
            }
            for number in 0..20 {
                // Long before short: the short ones are not first.
                let length = if number % 2 == 0 { 2000 } else { 10 };
                send(&modules[0], 1, 3, 0, &pattern(length, number));
            }
            if late {
                settle(&machine, &modules);
                post();
            }
            settle(&machine, &modules);
            let mut log = std::mem::take(&mut *log.lock());
            assert_eq!(log.len(), 20);
            log.sort_by_key(|entry| entry.0);
            for (number, (_, result, bytes)) in log.into_iter().enumerate() {
                let length = if number % 2 == 0 { 2000 } else { 10 };
                assert_eq!(result, got(0, 3, 0, length));
                assert_eq!(bytes[..length], pattern(length, number)[..]);
            }
        }
    }
}

#[test]
fn ct8_the_prior_art_holds_what_remote_get_leaves_at_the_origin() {
    const MESSAGES: usize = 8;
    const BYTES: usize = 40_000;
    let peak = |config| {
        let (machine, modules) = modules(2, config);
        let log = Log::default();
        for number in 0..MESSAGES {
            send(&modules[0], 1, number as u32, 0, &pattern(BYTES, number));
        }
        settle(&machine, &modules);
        for number in 0..MESSAGES {
            receive(
                &modules[1],
                &log,
                number,
                None,
                Some(number as u32),
                0,
                BYTES,
            );
        }
        settle(&machine, &modules);
        assert_eq!(log.lock().len(), MESSAGES);
        let log = std::mem::take(&mut *log.lock());
        for (number, result, bytes) in log {
            assert_eq!(result, got(0, number as u32, 0, BYTES));
            assert_eq!(bytes, pattern(BYTES, number));
        }
        assert_eq!(modules[1].stats().held_bytes, 0);
        modules[1].stats().peak_held_bytes
    };
    assert_eq!(peak(ALWAYS), 0);
    assert_eq!(peak(PRIOR_ART), MESSAGES * BYTES);
    assert_eq!(peak(NEVER), MESSAGES * BYTES);
}

#[test]
fn ct8_the_prior_art_needs_no_buffer_for_an_early_receive() {
    let (machine, modules) = modules(2, PRIOR_ART);
    let log = Log::default();
    send(&modules[0], 1, 3, 0, &pattern(5000, 1));
    advance(&modules[0]);
    machine.settle();
    // The target has the RTS and answers; the receive comes while the data is on its way.
    advance(&modules[1]);
    assert_eq!(modules[1].stats().pending, 1);
    receive(&modules[1], &log, 0, None, None, 0, 5000);
    settle(&machine, &modules);
    assert_eq!(*log.lock(), [(0, got(0, 3, 0, 5000), pattern(5000, 1))]);
    assert_eq!(modules[1].stats().peak_held_bytes, 0);
}

#[test]
fn x5_data_of_another_origin_or_length_is_refused() {
    let (machine, modules) = modules(3, PRIOR_ART);
    let log = Log::default();
    send(&modules[0], 1, 3, 0, &pattern(5000, 1));
    advance(&modules[0]);
    machine.settle();
    // The target has the RTS and requests transfer 0.
    advance(&modules[1]);
    let to = modules[0].context().endpoint(TaskId(1), 0).expect("exists");
    for (from, said) in [
        (
            2,
            "transfer from task 2: transfer is 0, expected the number of a CTS to this origin",
        ),
        (
            0,
            "transfer from task 0: length is 3, expected that of the RTS",
        ),
    ] {
        let message = SendImmediate {
            header: &[0; 8],
            data: &[1, 2, 3],
            ..SendImmediate::new(to, DISPATCH + 3)
        };
        let context = modules[from].context();
        context.send_immediate(&message).expect("valid");
        if from == 2 {
            advance(&modules[2]);
        }
        machine.settle();
        let refused = modules[1].context().advance(1).expect_err("refused");
        assert_eq!(refused.to_string(), said);
    }
    receive(&modules[1], &log, 0, None, None, 0, 5000);
    settle(&machine, &modules);
    assert_eq!(*log.lock(), [(0, got(0, 3, 0, 5000), pattern(5000, 1))]);
}

#[test]
fn x5_a_too_long_message_fails_its_receive_in_both_orders() {
    for (config, ordered) in by_each_way([ALWAYS, NEVER, PRIOR_ART]) {
        let (machine, modules) = modules_by(ordered, 2, config);
        let log = Log::default();
        let too_long = Err(Error::MessageTooLong {
            message: 601,
            receive: 600,
        });
        // Receive first.
        receive(&modules[1], &log, 0, None, None, 0, 600);
        let first = send(&modules[0], 1, 0, 0, &pattern(601, 0));
        settle(&machine, &modules);
        // Message first.
        let second = send(&modules[0], 1, 0, 0, &pattern(601, 0));
        settle(&machine, &modules);
        receive(&modules[1], &log, 1, None, None, 0, 600);
        // And the next one is not disturbed.
        receive(&modules[1], &log, 2, None, None, 0, 600);
        send(&modules[0], 1, 0, 0, &pattern(600, 9));
        settle(&machine, &modules);
        assert_eq!(
            *log.lock(),
            [
                (0, too_long.clone(), vec![0xee; 600]),
                (1, too_long, vec![0xee; 600]),
                (2, got(0, 0, 0, 600), pattern(600, 9)),
            ]
        );
        assert!(
            first.is_complete() && second.is_complete(),
            "the data is free"
        );
        assert_eq!(modules[1].stats().held_bytes, 0);
    }
}

#[test]
fn x5_exhausted_memory_fails_the_receive_and_loses_no_message() {
    for (config, ordered) in by_each_way([NEVER, PRIOR_ART]) {
        let (machine, modules) = modules_by(ordered, 2, config);
        let log = Log::default();
        let process = machine.process(1);
        // Use the memory of the target up.
        let mut hoard = Vec::new();
        let mut size = 1 << 24;
        while size > 0 {
            match process.alloc(size, 1) {
                Ok(memory) => hoard.push(memory),
                Err(_) => size /= 2,
            }
        }
        let request = send(&modules[0], 1, 7, 0, &pattern(900, 1));
        settle(&machine, &modules);
        assert!(request.is_complete());
        let into = BufferRange::whole(hoard.remove(0));
        let log_result = Arc::clone(&log);
        let done = move |_: &Context<Process>, result: Result<Received, Error>| {
            log_result.lock().push((0, result, vec![]));
        };
        modules[1]
            .receive(
                None,
                Some(7),
                &Communicator::WORLD,
                into,
                Some(Box::new(done)),
            )
            .expect("valid");
        settle(&machine, &modules);
        assert!(matches!(log.lock()[..], [(0, Err(Error::Alloc(_)), _)]));
    }
}

#[test]
fn x5_control_messages_that_make_no_sense_are_refused_by_name() {
    let (machine, modules) = modules(2, PRIOR_ART);
    let to = modules[0].context().endpoint(TaskId(1), 0).expect("exists");
    let refused = |dispatch, header: &[u8], data: &[u8]| {
        let message = SendImmediate {
            header,
            data,
            ..SendImmediate::new(to, dispatch)
        };
        modules[0]
            .context()
            .send_immediate(&message)
            .expect("valid");
        advance(&modules[0]);
        machine.settle();
        let advanced = modules[1].context().advance(1);
        advanced.expect_err("refused").to_string()
    };
    assert_eq!(
        refused(DISPATCH + 1, &[0; 9], &[]),
        "request to send of a matched message from task 0: offset is 9, expected a message long \
         enough to hold the field"
    );
    assert_eq!(
        refused(DISPATCH + 2, &[], &[0; 13]),
        "clear to send from task 0: length is 1, expected 0 bytes after the fields"
    );
    assert_eq!(
        refused(DISPATCH + 2, &[], &[9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        "acknowledgement 9 from task 0: nothing waits for it"
    );
    assert_eq!(
        refused(DISPATCH + 3, &[7, 0, 0, 0, 0, 0, 0, 0], &[]),
        "transfer from task 0: transfer is 7, expected the number of a CTS to this origin"
    );
    // The module goes on.
    let log = Log::default();
    receive(&modules[1], &log, 0, None, None, 0, 600);
    send(&modules[0], 1, 0, 0, &pattern(600, 9));
    settle(&machine, &modules);
    assert_eq!(results(&log), [(0, got(0, 0, 0, 600))]);
}

#[test]
fn x5_a_send_that_the_dma_engine_refuses_fails_by_its_callback() {
    let (machine, modules) = modules(2, PRIOR_ART);
    let process = machine.process(0);
    // A slot that does not exist: the data of the transfer cannot be read.
    let data = BufferRange::whole(process.alloc_in_slot(3000, 9));
    let outcome = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&outcome);
    let done = move |_: &Context<Process>, result| log.lock().push(result);
    let request = modules[0]
        .send(Rank(1), 1, &Communicator::WORLD, data, Some(Box::new(done)))
        .expect("valid");
    // The refusal wakes its context as an error event.
    for _ in 0..10 {
        machine.settle();
        for module in &modules {
            module.context().wait(Some(0)).expect("not destroyed");
            advance(module);
        }
    }
    assert!(request.is_complete());
    assert!(matches!(
        outcome.lock()[..],
        [Err(Error::Descriptor { .. })]
    ));
}

#[test]
fn ct8_ping_pong_from_done_callbacks() {
    for (config, ordered) in by_each_way([ALWAYS, NEVER, PRIOR_ART]) {
        let (machine, modules) = modules_by(ordered, 2, config);
        let rounds = Arc::new(Mutex::new(0));
        fn bounce(module: Module, peer: u32, rounds: Arc<Mutex<u32>>) {
            let into = module.context().platform().buffer(&[0; 4]);
            let copy = into.clone();
            let again = module.clone();
            let done = move |_: &Context<Process>, result: Result<Received, Error>| {
                let tag = result.expect("received").tag;
                assert_eq!(bytes_of(&copy), tag.to_le_bytes());
                *rounds.lock() += 1;
                if tag < 20 {
                    send(&again, peer, tag + 1, 0, &(tag + 1).to_le_bytes());
                    bounce(again, peer, rounds);
                }
            };
            module
                .receive(
                    Some(Rank(peer)),
                    None,
                    &Communicator::WORLD,
                    into,
                    Some(Box::new(done)),
                )
                .expect("valid");
        }
        bounce(modules[0].clone(), 1, Arc::clone(&rounds));
        bounce(modules[1].clone(), 0, Arc::clone(&rounds));
        send(&modules[0], 1, 0, 0, &0_u32.to_le_bytes());
        settle(&machine, &modules);
        assert_eq!(*rounds.lock(), 21);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn ct2_whatever_arrives_as_control_message_is_understood_or_refused(
        handler in 1..4_u8,
        header in proptest::collection::vec(any::<u8>(), 0..30),
        data in proptest::collection::vec(any::<u8>(), 0..30),
    ) {
        let (machine, modules) = modules(2, ALWAYS);
        let to = modules[0].context().endpoint(TaskId(1), 0).expect("exists");
        let message = SendImmediate {
            header: &header,
            data: &data,
            ..SendImmediate::new(to, DISPATCH + handler)
        };
        modules[0].context().send_immediate(&message).expect("valid");
        advance(&modules[0]);
        machine.settle();
        let arrived = modules[1].context().advance(1);
        let refused = matches!(
            arrived,
            Err(Error::ControlMessage { .. } | Error::UnknownCookie { .. })
        );
        prop_assert!(refused || arrived.is_ok());
        prop_assert!(refused || handler == 1, "only an RTS can come unasked");
    }
}

#[test]
fn ct6_x5_a_message_whose_data_cannot_be_fetched_fails_at_both_ends() {
    let (machine, modules) = modules(2, ALWAYS);
    let log = Log::default();
    receive(&modules[1], &log, 0, Some(0), Some(5), 2, 1300);
    let ends = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&ends);
    // In a slot without a grant.
    let data = BufferRange::whole(machine.process(0).alloc_in_slot(1300, 99));
    let done = move |_: &Context<Process>, result| told.lock().push(result);
    let comm = Communicator::world(2);
    let sent = modules[0].send(Rank(1), 5, &comm, data, Some(Box::new(done)));
    sent.expect("valid");
    let mut errors = Vec::new();
    for _ in 0..100 {
        machine.step();
        for module in &modules {
            module.context().wait(Some(1)).expect("not destroyed");
            errors.extend(module.context().advance(1).err());
        }
    }
    assert!(
        matches!(errors[..], [Error::RemoteDescriptor { .. }]),
        "the node of the data says why: {errors:?}"
    );
    let refused = matches!(results(&log)[..], [(0, Err(Error::RemoteRefused { .. }))]);
    assert!(refused, "{:?}", log.lock());
    let not_fetched = Err(Error::NotFetched { peer: TaskId(1) });
    assert_eq!(*ends.lock(), [not_fetched]);
    assert!(modules.iter().all(|module| module.context().is_at_rest()));
}

#[test]
fn ct6_ct8_x5_a_message_of_which_a_packet_is_lost_fails_at_both_ends() {
    for early in [true, false] {
        let (machine, modules) = modules(2, PRIOR_ART);
        let log = Log::default();
        let receive = || receive(&modules[1], &log, 0, Some(0), Some(5), 2, 5000);
        if early {
            receive();
        }
        // Behind RTS, CTS and the first packets of the data.
        machine.plant(Fault::LosePacket(6));
        let sent = send(&modules[0], 1, 5, 2, &pattern(5000, 1));
        let contexts: Vec<_> = modules.iter().map(|m| m.context().clone()).collect();
        let errors = machine.run_until_idle(&contexts, 40);
        assert!(!errors.is_empty(), "packets that belong to no message");
        if !early {
            receive();
            settle(&machine, &modules);
        }
        let failed = matches!(results(&log)[..], [(0, Err(Error::PacketOrder { .. }))]);
        assert!(failed, "{:?}", results(&log));
        assert_eq!(sent.wait(), Err(Error::NotFetched { peer: TaskId(1) }));
    }
}

#[test]
fn ct1_ep3_receives_of_a_context_that_is_destroyed_end_once() {
    // From nothing there to the data on its way; messages that wait, that travel at once, and those of the prior art.
    for config in [ALWAYS, NEVER, PRIOR_ART] {
        for steps in 0..12 {
            let (machine, modules) = modules(2, config);
            let log = Log::default();
            let module = &modules[1];
            // Two messages that come, one without receive, one after that is cancelled, and a receive without message.
            send(&modules[0], 1, 7, 2, &pattern(1300, 3));
            receive(module, &log, 0, Some(0), Some(5), 2, 1300);
            receive(module, &log, 1, Some(0), Some(6), 2, 1300);
            receive(module, &log, 2, None, None, 3, 1300);
            for tag in [5, 6] {
                send(&modules[0], 1, tag, 2, &pattern(1300, 3));
            }
            for _ in 0..steps {
                advance(&modules[0]);
                machine.step();
                advance(module);
            }
            let cancelled = receive(module, &log, 3, None, None, 3, 1300);
            assert!(module.cancel(&cancelled).expect("not destroyed"));
            // It has its message already, if that has come.
            let late = receive(module, &log, 4, Some(0), Some(7), 2, 1300);
            let _ = module.context().destroy();
            let mut ended = results(&log);
            ended.sort_by_key(|end| end.0);
            let numbers: Vec<_> = ended.iter().map(|end| end.0).collect();
            assert_eq!(numbers, [0, 1, 2, 3, 4], "{config:?} after {steps} steps");
            assert_eq!(ended[2].1, Err(Error::Destroyed));
            assert_eq!(ended[3].1, Err(Error::Cancelled));
            assert!(late.is_complete() && cancelled.is_complete());
            for (number, result, bytes) in log.lock().iter() {
                match result {
                    Ok(_) => assert_eq!(*bytes, pattern(1300, 3)),
                    Err(Error::Destroyed | Error::Cancelled) => {}
                    Err(error) => panic!("receive {number}: {error}"),
                }
            }
        }
    }
}

#[test]
fn ct1_ct6_a_request_without_callback_returns_its_outcome() {
    for (config, ordered) in by_each_way([ALWAYS, NEVER, PRIOR_ART]) {
        let (machine, modules) = modules_by(ordered, 2, config);
        let (world, platform) = (&Communicator::WORLD, modules[1].context().platform());
        let into = platform.buffer(&[0; 900]);
        let receive = |tag, into| {
            let request = modules[1].receive(None, Some(tag), world, into, None);
            request.expect("valid")
        };
        let received = receive(7, into.clone());
        let too_long = receive(8, platform.buffer(&[0; 10]));
        let sent = [7, 8].map(|tag| send(&modules[0], 1, tag, 0, &pattern(800, 3)));
        assert!(!received.is_complete());
        settle(&machine, &modules);
        let expected = Received {
            source: Rank(0),
            tag: 7,
            comm: 0,
            length: 800,
        };
        assert_eq!(received.wait(), Ok(expected));
        assert_eq!(received.wait(), Ok(expected), "it may be asked again");
        assert_eq!(bytes_of(&into)[..800], pattern(800, 3));
        let error = Error::MessageTooLong {
            message: 800,
            receive: 10,
        };
        assert_eq!(too_long.wait(), Err(error));
        assert_ne!(received.id(), too_long.id());
        assert_ne!(sent[0].id(), sent[1].id());
        for request in sent {
            assert_eq!(request.wait(), Ok(()));
        }
        let left = receive(9, into);
        modules[1].context().destroy().expect("nothing under way");
        assert_eq!(left.wait(), Err(Error::Destroyed));
    }
}
