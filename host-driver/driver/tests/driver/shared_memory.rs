// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared memory of a node on the test double: the endpoint table, and messages between contexts of the node
//! through rings instead of the DMA engine (HW-7).

use std::collections::BTreeMap;
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{
    Arrival, BufferRange, Client, ClientConfig, Context, DoneFn, Error, Fence, Op, Receive,
    Resources, SameNode, SendImmediate, SendMessage, TaskId, WakeReason,
};
use gyre_testkit::{Double, Process, config};
use parking_lot::Mutex;

const SINK: u8 = 5;

fn small() -> Resources {
    Resources {
        shared_ring: 4096,
        ..gyre_testkit::small()
    }
}

fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (i * 29 + seed * 11 + i / 256) as u8)
        .collect()
}

fn through(same_node: SameNode) -> impl Fn(ClientConfig) -> ClientConfig {
    move |config| ClientConfig {
        same_node,
        eager_limit: 3000,
        ..config
    }
}

fn contexts(clients: &[Client<Process>]) -> Vec<Context<Process>> {
    clients
        .iter()
        .map(|client| client.create_context(0).expect("free"))
        .collect()
}

/// Messages that arrived: (origin, tag, header, data), in the order of their done callbacks.
type Log = Arc<Mutex<Vec<(u32, u32, Vec<u8>, Vec<u8>)>>>;

fn log_messages(context: &Context<Process>) -> Log {
    let log = Log::default();
    let entries = Arc::clone(&log);
    let dispatch = move |context: &Context<Process>, arrival: &Arrival<'_>| {
        let (origin, tag) = (arrival.origin.task().0, arrival.tag);
        let header = arrival.header.to_vec();
        if let Some(data) = arrival.immediate {
            entries.lock().push((origin, tag, header, data.to_vec()));
            return Receive::Consumed;
        }
        let into = context.platform().buffer(&vec![0; arrival.length]);
        let (copy, log) = (into.clone(), Arc::clone(&entries));
        Receive::Into {
            into,
            done: Some(Box::new(move |_, result| {
                result.expect("it fits");
                let mut data = vec![0; copy.len()];
                copy.read(0, &mut data).expect("inside");
                log.lock().push((origin, tag, header, data));
            })),
        }
    };
    context
        .set_dispatch(SINK, Box::new(dispatch))
        .expect("first use");
    log
}

fn send(context: &Context<Process>, to: u32, tag: u32, data: &[u8]) -> SendMessage<Process> {
    let destination = context.endpoint(TaskId(to), 0).expect("exists");
    let data: BufferRange<_> = context.platform().buffer(data);
    SendMessage {
        tag,
        ..SendMessage::new(destination, SINK, data)
    }
}

fn settle(machine: &Double, contexts: &[Context<Process>]) {
    assert_eq!(machine.run_until_idle(contexts, 20), []);
}

type Results = Arc<Mutex<Vec<Result<(), Error>>>>;

fn into(results: &Results) -> Option<DoneFn<Process>> {
    let results = Arc::clone(results);
    Some(Box::new(move |_, result| results.lock().push(result)))
}

#[test]
fn hw7_the_endpoint_table_lists_open_contexts_of_a_node() {
    for same_node in [SameNode::Loopback, SameNode::SharedMemory] {
        let machine = Double::new(2, 1);
        let clients = machine.clients(&[0, 1, 0], small(), |config| ClientConfig {
            contexts: 2,
            ..through(same_node)(config)
        });
        let seen = |task: usize| clients[task].open_contexts().expect("a table");
        assert_eq!(seen(0), []);
        let second = clients[2].create_context(1).expect("free");
        let first = clients[0].create_context(0).expect("free");
        let far = clients[1].create_context(0).expect("free");
        let expected = [first.query().clone(), second.query().clone()];
        assert_eq!(seen(0), expected);
        assert_eq!(seen(2), expected);
        assert_eq!(seen(1), [far.query().clone()]);
        assert_eq!(expected[1].endpoint.task(), TaskId(2));
        first.destroy().expect("at rest");
        assert_eq!(seen(2), expected[1..]);
    }
}

#[test]
fn hw7_processes_that_disagree_about_the_transport_are_refused() {
    let machine = Double::new(1, 1);
    let tasks = machine.tasks(&[0, 0]);
    let create = |task, same_node| {
        let config = through(same_node)(config(&tasks, task, small()));
        Client::create(&machine.process(0), config)
    };
    let first = create(0, SameNode::SharedMemory).expect("the double has the resources");
    let error = create(1, SameNode::Loopback).err();
    assert!(matches!(
        error,
        Some(Error::Config {
            field: "same_node",
            ..
        })
    ));
    let longer = ClientConfig {
        resources: Resources {
            shared_ring: 8192,
            ..small()
        },
        ..through(SameNode::SharedMemory)(config(&tasks, 1, small()))
    };
    let error = Client::create(&machine.process(0), longer).err();
    assert!(matches!(
        error,
        Some(Error::Config {
            field: "shared_ring",
            value: 8192,
            ..
        })
    ));
    drop(first);
    assert!(create(1, SameNode::Loopback).is_ok(), "nobody is left");
}

#[test]
fn hw7_shared_memory_carries_every_part_of_a_message() {
    let machine = Double::new(1, 1);
    let clients = machine.clients(&[0, 0], small(), through(SameNode::SharedMemory));
    let contexts = contexts(&clients);
    let log = log_messages(&contexts[1]);
    let (local, remote) = (Results::default(), Results::default());
    let lengths = [0, 1, 31, 32, 500, 512, 513, 1024, 2999, 3000];
    let mut expected = Vec::new();
    for (tag, &length) in (0..).zip(&lengths) {
        let header = vec![tag as u8; tag as usize * 40];
        let data = pattern(length, tag as usize);
        expected.push((0, tag, header.clone(), data.clone()));
        contexts[0]
            .send(SendMessage {
                header,
                local_done: into(&local),
                remote_done: into(&remote),
                ..send(&contexts[0], 1, tag, &data)
            })
            .expect("valid");
    }
    settle(&machine, &contexts);
    assert_eq!(*log.lock(), expected);
    assert_eq!(*local.lock(), vec![Ok(()); lengths.len()]);
    assert_eq!(*remote.lock(), vec![Ok(()); lengths.len()]);
    assert_eq!(machine.packets(), 0, "nothing took the DMA engine");
    assert_eq!(machine.charged(Op::Message), 0);
    assert!(contexts.iter().all(Context::is_at_rest));

    // Above the eager limit the data is fetched by the DMA engine: a remote get and its puts.
    let data = pattern(3001, 7);
    contexts[0]
        .send(SendMessage {
            remote_done: into(&remote),
            ..send(&contexts[0], 1, 99, &data)
        })
        .expect("valid");
    settle(&machine, &contexts);
    assert_eq!(log.lock().last(), Some(&(0, 99, Vec::new(), data)));
    assert_eq!(remote.lock().len(), lengths.len() + 1);
    assert_eq!(machine.packets(), 1 + 3001_u64.div_ceil(512));
}

#[test]
fn hw7_both_ends_pay_for_their_copies() {
    let machine = Double::new(1, 1);
    let clients = machine.clients(&[0, 0], small(), through(SameNode::SharedMemory));
    let contexts = contexts(&clients);
    log_messages(&contexts[1]);
    let charged = |op| machine.charged(op);
    let before = [Op::CopyChunk, Op::ShareChunk, Op::Lock].map(charged);
    let message = send(&contexts[0], 1, 1, &pattern(1000, 1));
    contexts[0].send(message).expect("valid");
    settle(&machine, &contexts);
    // Packets of 512 B and 488 B: 16 chunks each, and their headers, into the ring; without those out of it, and to
    // their place. One look into the endpoint table.
    assert_eq!(charged(Op::ShareChunk) - before[1], 2 * 17 + 2 * 16);
    assert_eq!(charged(Op::CopyChunk) - before[0], 2 * 16 + 1);
    assert_eq!(charged(Op::Lock) - before[2], 2 * 2 + 2);
    assert_eq!(machine.charged(Op::Deposit), 2);
    assert_eq!(machine.charged(Op::Assemble), 2);
}

#[test]
fn hw7_a_full_ring_holds_messages_back_and_wakes_who_waits_for_room() {
    let machine = Double::new(1, 1);
    let clients = machine.clients(&[0, 0, 0], small(), through(SameNode::SharedMemory));
    let contexts = contexts(&clients);
    let log = log_messages(&contexts[2]);
    for context in &contexts {
        context.advance(1).expect("no error");
    }
    for tag in 0..20 {
        for sender in &contexts[..2] {
            let message = send(sender, 2, tag, &pattern(2000, tag as usize));
            sender.send(message).expect("valid");
        }
    }
    for sender in &contexts[..2] {
        while !sender.advance(1).expect("no error").is_idle() {}
        // Nothing to do until there is room: no time passes in vain.
        while sender.wait(Some(1)).expect("no error") == WakeReason::Wake {
            sender.advance(1).expect("no error");
        }
        assert!(!sender.is_at_rest());
    }
    let mut turns = 0;
    while log.lock().len() < 40 {
        turns += 1;
        assert!(turns < 1000, "stuck with {} messages", log.lock().len());
        // Every context runs when it has been woken, and only then.
        for context in &contexts {
            if context.wait(Some(1)).expect("no error") == WakeReason::Wake {
                context.advance(1).expect("no error");
            }
        }
    }
    for origin in 0..2 {
        let log = log.lock();
        let of = log.iter().filter(|message| message.0 == origin);
        let tags: Vec<_> = of.map(|message| message.1).collect();
        assert_eq!(tags, (0..20).collect::<Vec<_>>());
    }
    for message in log.lock().iter() {
        assert_eq!(message.3, pattern(2000, message.1 as usize));
    }
}

#[test]
fn hw7_a_message_to_oneself_longer_than_the_ring_arrives() {
    let machine = Double::new(1, 1);
    let clients = machine.clients(&[0], small(), |config| ClientConfig {
        eager_limit: 1 << 20,
        ..through(SameNode::SharedMemory)(config)
    });
    let contexts = contexts(&clients);
    let log = log_messages(&contexts[0]);
    let data = pattern(50_000, 3);
    let message = send(&contexts[0], 0, 1, &data);
    contexts[0].send(message).expect("valid");
    while log.lock().is_empty() {
        if contexts[0].advance(1).expect("no error").is_idle() {
            contexts[0].wait(None).expect("no error");
        }
    }
    assert_eq!(*log.lock(), [(0, 1, Vec::new(), data)]);
}

#[test]
fn hw7_ep3_a_half_written_message_fails_when_its_context_ends() {
    for anew in [false, true] {
        let machine = Double::new(1, 1);
        let clients = machine.clients(&[0, 0], small(), |config| ClientConfig {
            eager_limit: 1 << 20,
            ..through(SameNode::SharedMemory)(config)
        });
        let (sender, target) = {
            let contexts = contexts(&clients);
            (contexts[0].clone(), contexts[1].clone())
        };
        let results = Results::default();
        let long = SendMessage {
            local_done: into(&results),
            ..send(&sender, 1, 1, &pattern(50_000, 1))
        };
        sender.send(long).expect("valid");
        while !sender.advance(1).expect("no error").is_idle() {}
        while sender.wait(Some(1)).expect("no error") == WakeReason::Wake {
            sender.advance(1).expect("no error");
        }
        assert_eq!(*results.lock(), []);
        target.destroy().expect("it has taken nothing");
        let target = anew.then(|| clients[1].create_context(0).expect("free"));
        let log = target.as_ref().map(log_messages);
        // Who waits for room is woken to find that there will be none.
        assert_eq!(sender.wait(Some(1)), Ok(WakeReason::Wake));
        sender.advance(2).expect("the callback takes the error");
        let gone = Error::ContextNotOpen {
            task: TaskId(1),
            offset: 0,
        };
        assert_eq!(*results.lock(), [Err(gone)]);
        if let (Some(target), Some(log)) = (target, log) {
            let next = send(&sender, 1, 2, &pattern(700, 2));
            sender.send(next).expect("valid");
            settle(&machine, &[sender.clone(), target]);
            assert_eq!(*log.lock(), [(0, 2, Vec::new(), pattern(700, 2))]);
        }
    }
}

#[test]
fn hw7_messages_to_a_context_that_is_not_open_fail() {
    let machine = Double::new(1, 1);
    let clients = machine.clients(&[0, 0], small(), through(SameNode::SharedMemory));
    let context = clients[0].create_context(0).expect("free");
    let absent = || {
        Err(Error::ContextNotOpen {
            task: TaskId(1),
            offset: 0,
        })
    };
    let results = Results::default();
    // Eager, rendezvous and a fence: their callbacks run.
    for length in [10, 5000] {
        context
            .send(SendMessage {
                local_done: into(&results),
                remote_done: into(&results),
                ..send(&context, 1, 1, &pattern(length, 1))
            })
            .expect("valid");
    }
    while results.lock().len() < 4 {
        context.advance(1).expect("the callbacks take the error");
    }
    assert_eq!(*results.lock(), vec![absent(); 4]);
    // An immediate message has no callback.
    let destination = context.endpoint(TaskId(1), 0).expect("exists");
    let immediate = SendImmediate::new(destination, SINK);
    context.send_immediate(&immediate).expect("valid");
    assert_eq!(context.advance(1).map(|_| ()), absent());
    context.advance(1).expect("the error has been told");
    assert!(context.is_at_rest());

    // Once the peer is there, messages arrive; when it has gone, they fail again.
    for round in 0..2 {
        let peer = clients[1].create_context(0).expect("free");
        let log = log_messages(&peer);
        let message = send(&context, 1, round, &pattern(700, 2));
        context.send(message).expect("valid");
        settle(&machine, &[context.clone(), peer.clone()]);
        assert_eq!(log.lock().len(), 1);
        peer.destroy().expect("at rest");
        let message = SendMessage {
            local_done: into(&results),
            ..send(&context, 1, round, &pattern(700, 2))
        };
        context.send(message).expect("valid");
        context.advance(1).expect("the callback takes the error");
        assert_eq!(results.lock().last(), Some(&absent()));
    }
}

#[test]
fn hw7_fn7_a_fence_at_a_context_that_is_not_open_fails() {
    let machine = Double::new(1, 1);
    let clients = machine.clients(&[0, 0], small(), through(SameNode::SharedMemory));
    let context = clients[0].create_context(0).expect("free");
    let peer = clients[1].create_context(0).expect("free");
    peer.destroy().expect("at rest");
    let results = Results::default();
    let destination = context.endpoint(TaskId(1), 0).expect("exists");
    let done = into(&results);
    context.fence(Fence { destination, done }).expect("valid");
    for _ in 0..10 {
        // What of it took the DMA engine is refused there.
        let _ = context.advance(1);
    }
    assert!(matches!(
        results.lock()[..],
        [Err(Error::ContextNotOpen { .. })]
    ));
}

/// Messages of each task from each other one, in order.
type Received = BTreeMap<(u32, u32), Vec<(u32, Vec<u8>, Vec<u8>)>>;

/// Random sends between tasks of two nodes, advanced in random order.
fn random_program(seed: u64, same_node: SameNode) -> Received {
    let nodes = [0, 0, 1, 0, 1];
    let machine = Double::new(2, seed);
    machine.reorder();
    let clients = machine.clients(&nodes, small(), through(same_node));
    let contexts = contexts(&clients);
    let logs: Vec<_> = contexts.iter().map(log_messages).collect();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |n: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as usize % n
    };
    let done = Arc::new(AtomicCell::new(0_usize));
    let mut expected = 0;
    for tag in 0..120 {
        let (from, to) = (below(5), below(5) as u32);
        let length = [0, 3, 512, 700, 2800, 3100, 9000][below(7)];
        let data = pattern(length, tag as usize);
        let header = vec![tag as u8; below(3) * 20];
        let context = &contexts[from];
        if length <= 3 {
            let destination = context.endpoint(TaskId(to), 0).expect("exists");
            let message = SendImmediate {
                tag,
                header: &header,
                data: &data,
                ..SendImmediate::new(destination, SINK)
            };
            context.send_immediate(&message).expect("valid");
        } else {
            let mut message = SendMessage {
                header,
                ..send(context, to, tag, &data)
            };
            if below(2) == 0 {
                let done = Arc::clone(&done);
                expected += 1;
                message.remote_done = Some(Box::new(move |_, result| {
                    result.expect("acknowledged");
                    done.fetch_add(1);
                }));
            }
            context.send(message).expect("valid");
        }
        for _ in 0..below(12) {
            machine.step();
        }
        contexts[below(5)].advance(1).expect("no error");
    }
    settle(&machine, &contexts);
    assert_eq!(done.load(), expected);
    assert!(contexts.iter().all(Context::is_at_rest), "seed {seed}");
    let mut received = Received::new();
    for (to, log) in (0..).zip(&logs) {
        let log = std::mem::take(&mut *log.lock());
        for (from, tag, header, data) in log {
            let of = received.entry((from, to)).or_default();
            of.push((tag, header, data));
        }
    }
    // Rendezvous end when their data is there: in no order among the others.
    for of in received.values_mut() {
        of.sort_by_key(|message| (message.2.len() > 3000, message.0));
    }
    received
}

#[test]
fn hw7_random_programs_agree_by_loop_back_and_shared_memory() {
    for seed in 1..40 {
        let by_memory = random_program(seed, SameNode::SharedMemory);
        assert_eq!(by_memory.values().map(Vec::len).sum::<usize>(), 120);
        assert_eq!(by_memory, random_program(seed, SameNode::Loopback));
    }
}

#[test]
fn x5_each_message_without_callback_is_an_error_of_its_own() {
    for same_node in [SameNode::Loopback, SameNode::SharedMemory] {
        let machine = Double::new(1, 1);
        let contexts = contexts(&machine.clients(&[0, 0], small(), through(same_node)));
        let log = log_messages(&contexts[1]);
        let to = contexts[0].endpoint(TaskId(1), 0).expect("exists");
        for dispatch in [SINK + 1, SINK, SINK + 2] {
            let message = SendImmediate::new(to, dispatch);
            contexts[0].send_immediate(&message).expect("valid");
        }
        contexts[0].advance(1).expect("no error");
        machine.settle();
        // All three are there before the first is looked at.
        let advanced = (0..8).map(|_| contexts[1].advance(1).map(drop));
        let errors: Vec<_> = advanced.filter_map(Result::err).collect();
        let unknown = |id| Error::UnknownDispatch {
            id,
            origin: TaskId(0),
            length: 0,
        };
        assert_eq!(errors, [unknown(SINK + 1), unknown(SINK + 2)]);
        assert_eq!(log.lock().len(), 1);
    }
}
