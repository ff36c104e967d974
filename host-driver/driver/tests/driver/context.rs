// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts on the test double: post, advance, dispatch, done, back-pressure, locks, misuse.

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{
    Arrival, BufferRange, Client, ClientConfig, Context, Error, Instruction, Op, Platform, Put,
    PutNotify, Receive, RemoteAddress, Resources, SendImmediate, SendMessage, TaskId, WakeReason,
    advancev,
};
use gyre_layout::ErrorReason;
use gyre_testkit::{Double, Fault, Process, config};
use parking_lot::Mutex;

const HELLO: u8 = 7;

fn small() -> Resources {
    Resources {
        injection_ring: 4096,
        reception_ring: 4096,
        ..Resources::default()
    }
}

fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (i * 31 + seed * 7 + i / 256) as u8)
        .collect()
}

/// Messages that arrived whole: (origin, tag, bytes).
type Log = Arc<Mutex<Vec<(u32, u32, Vec<u8>)>>>;

/// Logs every message: short ones from the immediate data, long ones by asynchronous receive.
fn log_messages(context: &Context<Process>, log: &Log) {
    let log = Arc::clone(log);
    let dispatch = move |context: &Context<Process>, arrival: &Arrival<'_>| {
        let (origin, tag) = (arrival.origin.task().0, arrival.tag);
        if let Some(data) = arrival.immediate {
            log.lock().push((origin, tag, data.to_vec()));
            return Receive::Consumed;
        }
        let into = context.platform().buffer(&vec![0; arrival.length]);
        let (copy, log) = (into.clone(), Arc::clone(&log));
        Receive::Into {
            into,
            done: Some(Box::new(move |_, result| {
                result.expect("it fits");
                let mut data = vec![0; copy.len()];
                copy.read(0, &mut data).expect("it fits");
                log.lock().push((origin, tag, data));
            })),
        }
    };
    context
        .set_dispatch(HELLO, Box::new(dispatch))
        .expect("first use");
}

fn message(context: &Context<Process>, to: u32, tag: u32, data: &[u8]) -> SendMessage<Process> {
    let destination = context.endpoint(TaskId(to), 0).expect("task exists");
    let buffer = context.platform().buffer(data);
    SendMessage {
        tag,
        ..SendMessage::new(destination, HELLO, buffer)
    }
}

/// Advances everything until nothing happens.
fn settle(machine: &Double, contexts: &[Context<Process>]) {
    loop {
        let moved = machine.step();
        let progress = advancev(contexts, 1).expect("no error");
        if !moved && progress.is_idle() {
            return;
        }
    }
}

#[test]
fn ep4_messages_of_every_length_arrive_whole() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], Resources::default());
    let log = Log::default();
    log_messages(&contexts[1], &log);
    let lengths = [0, 1, 31, 32, 33, 511, 512, 513, 1024, 1500, 40_000];
    for (tag, &length) in lengths.iter().enumerate() {
        let send = message(&contexts[0], 1, tag as u32, &pattern(length, tag));
        contexts[0].send(send).expect("valid");
    }
    settle(&machine, &contexts);
    let expected: Vec<_> = (0..lengths.len())
        .map(|tag| (0, tag as u32, pattern(lengths[tag], tag)))
        .collect();
    assert_eq!(*log.lock(), expected);
}

/// Sends `data` immediately to task 1.
fn immediate(context: &Context<Process>, tag: u32, data: &[u8]) {
    let destination = context.endpoint(TaskId(1), 0).expect("task exists");
    let message = SendImmediate {
        tag,
        data,
        ..SendImmediate::new(destination, HELLO)
    };
    context.send_immediate(&message).expect("valid");
}

#[test]
fn ep4_an_immediate_send_leaves_at_the_call_or_after_earlier_ones() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let log = Log::default();
    log_messages(&contexts[1], &log);
    // Only the destination advances.
    let arrive = || {
        machine.settle();
        contexts[1].advance(1).expect("no error");
        log.lock().iter().map(|m| m.1).collect::<Vec<_>>()
    };
    immediate(&contexts[0], 0, &pattern(512, 0));
    assert!(!contexts[0].is_at_rest(), "its descriptor is not retired");
    assert_eq!(arrive(), [0]);
    // Behind what has been posted, it is posted.
    let posted = message(&contexts[0], 1, 1, &pattern(9, 1));
    contexts[0].send(posted).expect("valid");
    immediate(&contexts[0], 2, &pattern(0, 2));
    assert_eq!(arrive(), [0]);
    settle(&machine, &contexts);
    assert_eq!(arrive(), [0, 1, 2]);
    // In a callback too, and leaves when the callback has ended.
    let call = |context: &Context<Process>| immediate(context, 3, &pattern(3, 3));
    let call = Instruction::Call(Box::new(call));
    contexts[0].post(call).expect("not destroyed");
    contexts[0].advance(2).expect("no error");
    assert_eq!(arrive(), [0, 1, 2, 3]);
    // A ring of 64 descriptors is full: the rest waits, in order.
    for tag in 4..200 {
        immediate(&contexts[0], tag, &pattern(tag as usize, tag as usize));
    }
    settle(&machine, &contexts);
    let expected: Vec<_> = (4..200)
        .map(|tag| (0, tag, pattern(tag as usize, tag as usize)))
        .collect();
    assert_eq!(log.lock()[4..], expected);
    let at_rest = || contexts[0].is_at_rest();
    contexts[0].advance_until(at_rest).expect("no error");
    contexts[0].destroy().expect("at rest");
    let destination = contexts[0].endpoint(TaskId(1), 0).expect("task exists");
    let late = contexts[0].send_immediate(&SendImmediate::new(destination, HELLO));
    assert_eq!(late, Err(Error::Destroyed));
}

#[test]
fn ep4_an_immediate_send_that_is_posted_charges_the_copy_of_its_header_and_data() {
    let machine = Double::new(2, 1);
    let context = &machine.contexts(&[0, 1], small())[0];
    let destination = context.endpoint(TaskId(1), 0).expect("task exists");
    let (header, data) = (pattern(20, 0), pattern(40, 1));
    let charges = |message: &SendImmediate<'_>| {
        let copied = || [Op::Copy, Op::CopyChunk].map(|op| machine.charged(op));
        let before = copied();
        context.send_immediate(message).expect("valid");
        [copied()[0] - before[0], copied()[1] - before[1]]
    };
    let plain = SendImmediate {
        data: &data,
        ..SendImmediate::new(destination, HELLO)
    };
    let headed = SendImmediate {
        header: &header,
        ..plain
    };
    let empty = SendImmediate::new(destination, HELLO);
    // Posted work goes before what follows it.
    let posted = message(context, 1, 1, &pattern(9, 1));
    context.send(posted).expect("valid");
    // Chunks of 32 bytes; the words that the driver puts before a header are not charged.
    let copies = [[1, 2], [1, 2], [0, 0]];
    assert_eq!([plain, headed, empty].map(|m| charges(&m)), copies);
}

/// Identifier of the messages that are answered by [`ANSWER`] at once.
const QUESTION: u8 = 50;
const ANSWER: u8 = 51;

#[test]
fn ep4_an_immediate_send_in_a_callback_follows_earlier_posts() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let log = Log::default();
    log_messages(&contexts[0], &log);
    let posts = Arc::new(AtomicCell::new(false));
    let (first, double) = (Arc::clone(&posts), machine.clone());
    let answer = move |context: &Context<Process>, arrival: &Arrival<'_>| {
        if first.load() {
            let posted = SendMessage {
                tag: 100 + arrival.tag,
                ..message(context, 0, 0, b"posted")
            };
            context.send(posted).expect("valid");
        }
        let before = double.register_writes();
        let answer = SendImmediate {
            tag: arrival.tag,
            ..SendImmediate::new(arrival.origin, HELLO)
        };
        context.send_immediate(&answer).expect("valid");
        let left = double.register_writes() - before;
        assert_eq!(left, u64::from(!first.load()), "at the call");
        Receive::Consumed
    };
    contexts[1]
        .set_dispatch(QUESTION, Box::new(answer))
        .expect("first use");
    for (tag, posting) in [(1_u32, false), (2, true), (3, false)] {
        posts.store(posting);
        let question = SendImmediate {
            tag,
            ..SendImmediate::new(
                contexts[0].endpoint(TaskId(1), 0).expect("exists"),
                QUESTION,
            )
        };
        contexts[0].send_immediate(&question).expect("valid");
        settle(&machine, &contexts);
    }
    let tags: Vec<u32> = log.lock().iter().map(|m| m.1).collect();
    assert_eq!(tags, [1, 102, 2, 3]);
}

#[test]
fn ep4_x5_templates_are_separate_by_endpoint_dispatch_and_comm() {
    let machine = Double::new(3, 1);
    let contexts = machine.contexts(&[0, 1, 2, 0, 1, 2], small());
    let seen = Arc::new(Mutex::new(Vec::new()));
    for (task, context) in contexts.iter().enumerate() {
        for id in [QUESTION, ANSWER, QUESTION + 16] {
            let seen = Arc::clone(&seen);
            let note = move |_: &Context<Process>, arrival: &Arrival<'_>| {
                let data = arrival.immediate.unwrap_or_default().to_vec();
                seen.lock()
                    .push((task as u32, id, arrival.comm, arrival.tag, data));
                Receive::Consumed
            };
            context.set_dispatch(id, Box::new(note)).expect("first use");
        }
    }
    // Templates share places: each message finds another one's there, or its own.
    let mut expected = Vec::new();
    for round in 0..3_u8 {
        for task in 0..6 {
            for id in [QUESTION, ANSWER, QUESTION + 16] {
                for comm in [0, 1, 255] {
                    let tag = u32::from(round) << 16 | task << 8 | u32::from(comm);
                    let data = pattern(usize::from(round) * 200, task as usize);
                    let message = SendImmediate {
                        comm,
                        tag,
                        ..SendImmediate::new(
                            contexts[0].endpoint(TaskId(task), 0).expect("exists"),
                            id,
                        )
                        .with_data(&data)
                    };
                    contexts[0].send_immediate(&message).expect("valid");
                    settle(&machine, &contexts);
                    expected.push((task, id, comm, tag, data));
                }
            }
        }
    }
    assert_eq!(*seen.lock(), expected);
    // What is refused is refused whatever has been sent there before.
    let there = contexts[0].endpoint(TaskId(1), 0).expect("exists");
    let headed = SendImmediate {
        header: b"header",
        ..SendImmediate::new(there, QUESTION)
    };
    contexts[0].send_immediate(&headed).expect("valid");
    let system = SendImmediate::new(there, 224);
    assert_eq!(
        contexts[0].send_immediate(&system),
        Err(Error::ReservedDispatch { id: 224 })
    );
}

#[test]
fn ep3_a_context_that_sends_and_polls_packets_regains_room() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let log = Log::default();
    log_messages(&contexts[1], &log);
    // Never idle for long: half of the ring of 64 descriptors is what makes it look at completions.
    for tag in 0..1000 {
        immediate(&contexts[0], tag, &pattern(8, tag as usize));
        machine.settle();
        contexts[1].advance(1).expect("no error");
        if tag % 8 == 7 {
            contexts[0].advance(1).expect("no error");
        }
    }
    // None of them was posted, as what finds no room is.
    assert_eq!(machine.charged(Op::Post), 0);
    let expected: Vec<_> = (0..1000)
        .map(|tag| (0, tag, pattern(8, tag as usize)))
        .collect();
    assert_eq!(*log.lock(), expected);
}

#[test]
fn ep3_what_is_called_at_once_goes_before_nothing_that_was_posted() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let log = Log::default();
    log_messages(&contexts[1], &log);
    let send = |tag| Instruction::Send(message(&contexts[0], 1, tag, &pattern(9, 9)));
    let arrive = || {
        machine.settle();
        contexts[1].advance(1).expect("no error");
        log.lock().iter().map(|m| m.1).collect::<Vec<_>>()
    };
    // Nothing was posted: it starts before the context is advanced.
    let left = contexts[0].call_at_once(1, |_, tag| Some(send(tag)));
    assert_eq!(left, Ok(None));
    assert_eq!(arrive(), [1]);
    // Behind what the function posts itself.
    let left = contexts[0].call_at_once(3, |context, tag| {
        context.post(send(2)).expect("not destroyed");
        Some(send(tag))
    });
    assert_eq!(left, Ok(None));
    assert_eq!(arrive(), [1]);
    // Something was posted, or a callback runs: it is not called.
    let never = |_: &Context<Process>, _: u32| -> Option<Instruction<Process>> { unreachable!() };
    assert_eq!(contexts[0].call_at_once(4, never), Ok(Some(4)));
    settle(&machine, &contexts);
    assert_eq!(arrive(), [1, 2, 3]);
    let seen = Arc::new(AtomicCell::new(false));
    let inside = Arc::clone(&seen);
    let call = move |context: &Context<Process>| {
        let never = |_: &Context<Process>, ()| -> Option<Instruction<Process>> { unreachable!() };
        inside.store(context.call_at_once((), never) == Ok(Some(())));
    };
    contexts[0]
        .post(Instruction::Call(Box::new(call)))
        .expect("not destroyed");
    settle(&machine, &contexts);
    assert!(seen.load());
    // Nor in a context that is no more.
    contexts[0].destroy().expect("at rest");
    assert_eq!(contexts[0].call_at_once(5, never), Ok(Some(5)));
}

#[test]
fn ep3_x5_an_instruction_called_at_once_that_fails_is_told_by_advance() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let told = Arc::new(AtomicCell::new(None));
    let result = Arc::clone(&told);
    let left = contexts[0].call_at_once((), |context, ()| {
        Some(Instruction::Put(Put {
            destination: context.endpoint(TaskId(1), 0).expect("exists"),
            data: machine.process(0).buffer(&[1; 8]),
            remote: RemoteAddress {
                slot: 0,
                // Offsets have 40 bits.
                offset: 1 << 40,
            },
            notify: PutNotify::None,
            local_done: None,
            remote_done: Some(Box::new(move |_, outcome| {
                result.store(Some(outcome.is_err()));
            })),
        }))
    });
    assert_eq!(left, Ok(None));
    assert_eq!(told.load(), None);
    settle(&machine, &contexts);
    assert_eq!(told.load(), Some(true));
}

#[test]
fn ep4_self_send_takes_the_same_path() {
    let machine = Double::new(1, 1);
    let contexts = machine.contexts(&[0, 0], small());
    let log = Log::default();
    log_messages(&contexts[0], &log);
    let own = message(&contexts[0], 0, 1, &pattern(700, 1));
    contexts[0].send(own).expect("valid");
    let neighbour = message(&contexts[1], 0, 2, &pattern(700, 2));
    contexts[1].send(neighbour).expect("valid");
    settle(&machine, &contexts);
    let mut got = log.lock().clone();
    got.sort();
    assert_eq!(got, [(0, 1, pattern(700, 1)), (1, 2, pattern(700, 2))]);
}

#[test]
fn ep4_interleaved_senders_are_put_together_by_origin() {
    for seed in 1..20 {
        let machine = Double::new(4, seed);
        let nodes = [0, 1, 2, 3, 1, 2];
        let contexts = machine.contexts(&nodes, small());
        let log = Log::default();
        log_messages(&contexts[0], &log);
        for (task, context) in contexts.iter().enumerate() {
            for tag in 0..5 {
                let data = pattern(900 + 300 * tag, task * 10 + tag);
                let send = message(context, 0, tag as u32, &data);
                context.send(send).expect("valid");
            }
        }
        settle(&machine, &contexts);
        let mut got = log.lock().clone();
        // Of one origin in the order sent.
        for task in 0..nodes.len() as u32 {
            let tags: Vec<_> = got.iter().filter(|m| m.0 == task).map(|m| m.1).collect();
            assert_eq!(tags, [0, 1, 2, 3, 4]);
        }
        got.sort();
        for (index, (task, tag, data)) in got.iter().enumerate() {
            assert_eq!((index / 5, index % 5), (*task as usize, *tag as usize));
            let seed = *task as usize * 10 + *tag as usize;
            assert_eq!(*data, pattern(900 + 300 * *tag as usize, seed));
        }
    }
}

#[test]
fn ep4_interleaved_contexts_of_one_task_are_told_apart() {
    for seed in 1..10 {
        let machine = Double::new(2, seed);
        let tasks = machine.tasks(&[0, 1]);
        let contexts: Vec<_> = (0..2)
            .flat_map(|task| {
                let config = ClientConfig {
                    contexts: 2,
                    ..config(&tasks, task, small())
                };
                let client = Client::create(&machine.process(task as usize), config);
                let client = client.expect("the double has the resources");
                [0, 1].map(|offset| client.create_context(offset).expect("free"))
            })
            .collect();
        let log = Log::default();
        log_messages(&contexts[2], &log);
        for (tag, context) in contexts.iter().enumerate() {
            let send = message(context, 1, tag as u32, &pattern(5000, tag));
            context.send(send).expect("valid");
        }
        settle(&machine, &contexts);
        let mut got = log.lock().clone();
        got.sort();
        let expected: Vec<_> = (0..4)
            .map(|tag| (tag as u32 / 2, tag as u32, pattern(5000, tag)))
            .collect();
        assert_eq!(got, expected);
    }
}

#[test]
fn ep3_full_rings_hold_back_and_lose_nothing() {
    let machine = Double::new(2, 3);
    // 64 descriptors, 7 full packets.
    let contexts = machine.contexts(&[0, 1], small());
    let log = Log::default();
    log_messages(&contexts[1], &log);
    let done = Arc::new(AtomicCell::new(0_usize));
    for tag in 0..300_u32 {
        let counter = Arc::clone(&done);
        let send = SendMessage {
            local_done: Some(Box::new(move |_, result| {
                result.expect("sent");
                counter.fetch_add(1);
            })),
            ..message(&contexts[0], 1, tag, &pattern(600, tag as usize))
        };
        contexts[0]
            .send(send)
            .expect("posting never fails for lack of room");
    }
    let started = contexts[0].advance(1).expect("no error").started;
    assert_eq!(started, 64, "as many as the ring holds");
    machine.settle();
    assert!(machine.full_waits() > 0, "the reception ring was full");
    settle(&machine, &contexts);
    assert_eq!(done.load(), 300);
    let tags: Vec<_> = log.lock().iter().map(|m| m.1).collect();
    assert_eq!(tags, (0..300).collect::<Vec<_>>());
    assert!(log.lock().iter().all(|m| m.2 == pattern(600, m.1 as usize)));
}

#[test]
fn ep4_local_done_comes_when_the_data_has_been_read_and_not_before() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let log = Log::default();
    log_messages(&contexts[1], &log);
    let done = Arc::new(AtomicCell::new(false));
    let flag = Arc::clone(&done);
    let send = SendMessage {
        local_done: Some(Box::new(move |_, _| flag.store(true))),
        ..message(&contexts[0], 1, 0, &pattern(1000, 1))
    };
    contexts[0].send(send).expect("valid");
    contexts[0].advance(5).expect("no error");
    assert!(!done.load(), "nothing has been read");
    machine.step();
    contexts[0].advance(5).expect("no error");
    assert!(!done.load(), "the second packet has not been read");
    machine.step();
    contexts[0].advance(5).expect("no error");
    assert!(done.load());
}

#[test]
fn ep4_callbacks_may_start_operations() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let pongs = Arc::new(AtomicCell::new(0_usize));
    let count = Arc::clone(&pongs);
    contexts[0]
        .set_dispatch(
            HELLO,
            Box::new(move |context, arrival| {
                count.fetch_add(1);
                if arrival.tag > 0 {
                    let next = message(context, 1, arrival.tag - 1, b"ping");
                    context.send(next).expect("callbacks may post");
                }
                Receive::Consumed
            }),
        )
        .expect("first use");
    contexts[1]
        .set_dispatch(
            HELLO,
            Box::new(move |context, arrival| {
                let pong = message(context, 0, arrival.tag, b"pong");
                context.send(pong).expect("callbacks may post");
                Receive::Consumed
            }),
        )
        .expect("first use");
    let first = message(&contexts[0], 1, 9, b"ping");
    contexts[0].send(first).expect("valid");
    settle(&machine, &contexts);
    assert_eq!(pongs.load(), 10);
}

#[test]
fn ep3_what_a_callback_posts_starts_in_the_same_turn() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    contexts[0]
        .post(Instruction::Call(Box::new(|context| {
            let send = message(context, 1, 0, b"at once");
            context.send(send).expect("callbacks may post");
        })))
        .expect("valid");
    assert_eq!(contexts[0].advance(1).expect("no error").started, 1);
}

#[test]
fn ep4_callbacks_may_not_advance() {
    let machine = Double::new(1, 1);
    let contexts = machine.contexts(&[0], small());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let answers = Arc::clone(&seen);
    contexts[0]
        .post(Instruction::Call(Box::new(move |context| {
            answers.lock().push(context.advance(1));
            answers
                .lock()
                .push(context.destroy().map(|()| Default::default()));
        })))
        .expect("valid");
    contexts[0].advance(1).expect("the outer advance goes on");
    assert_eq!(
        *seen.lock(),
        [Err(Error::AdvanceInCallback), Err(Error::AdvanceInCallback)]
    );
}

#[test]
fn ep3_another_thread_may_post_but_not_advance_without_the_lock() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let log = Log::default();
    log_messages(&contexts[1], &log);
    let first = message(&contexts[0], 1, 0, b"first");
    contexts[0].send(first).expect("valid");

    // The hook runs in the middle of `advance`, where another thread of the node would.
    let (other, answers) = (contexts[0].clone(), Arc::new(Mutex::new(Vec::new())));
    let seen = Arc::clone(&answers);
    let mut sent = false;
    machine.set_hook(move |op| {
        if op == Op::Message && !sent {
            sent = true;
            assert!(other.try_lock().is_none(), "the lock is taken");
            seen.lock().push(other.advance(1));
            let second = message(&other, 1, 1, b"second");
            other.send(second).expect("posting needs no lock");
        }
    });
    let locked = contexts[0].lock();
    locked.advance(1).expect("undisturbed");
    drop(locked);
    machine.clear_hook();
    assert_eq!(*answers.lock(), [Err(Error::Busy)]);
    assert!(contexts[0].try_lock().is_some(), "the lock is free again");
    assert!(
        contexts[0].try_lock().is_some(),
        "and its guard gives it back"
    );
    settle(&machine, &contexts);
    let tags: Vec<_> = log.lock().iter().map(|m| m.1).collect();
    assert_eq!(tags, [0, 1]);
}

#[test]
fn ep3_advance_until_runs_to_the_condition_and_no_further() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let log = Log::default();
    log_messages(&contexts[1], &log);
    for tag in 0..2 {
        let send = message(&contexts[0], 1, tag, &pattern(700, 0));
        contexts[0].send(send).expect("valid");
    }
    // A condition that holds already: nothing is done.
    contexts[0].advance_until(|| true).expect("no error");
    assert!(!contexts[0].is_at_rest(), "the work is still there");
    contexts[0]
        .advance_until(|| contexts[0].is_at_rest())
        .expect("no error");
    contexts[1]
        .advance_until(|| log.lock().len() == 2)
        .expect("no error");
    settle(&machine, &contexts);
    contexts[1].destroy().expect("at rest");
    let refused = contexts[1].advance_until(|| false);
    assert_eq!(refused, Err(Error::Destroyed));
}

#[test]
fn ep3_wait_sleeps_only_when_nothing_is_left_to_do() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let log = Log::default();
    log_messages(&contexts[1], &log);
    for context in &contexts {
        context.advance(1).expect("no error");
        assert_eq!(context.wait(Some(1)), Ok(WakeReason::Deadline), "idle");
    }
    let send = message(&contexts[0], 1, 0, &pattern(100, 0));
    contexts[0].send(send).expect("valid");
    assert_eq!(contexts[0].wait(None), Ok(WakeReason::Wake), "posted work");
    contexts[0].advance(1).expect("no error");
    // Sleeps until the packet is there; the double moves packets meanwhile.
    assert_eq!(contexts[1].wait(None), Ok(WakeReason::Wake));
    let before = machine.register_reads();
    let progress = contexts[1].advance(1).expect("no error");
    assert_eq!(progress.packets, 1);
    assert_eq!(machine.register_reads() - before, 1, "TAIL only");
    assert_eq!(contexts[1].wait(Some(1)), Ok(WakeReason::Deadline));
    // The sender is woken for its completion.
    assert_eq!(contexts[0].wait(None), Ok(WakeReason::Wake));
    assert_eq!(contexts[0].advance(1).expect("no error").completed, 1);

    // One wake-up for a packet and a completion: both are seen without another.
    log_messages(&contexts[0], &log);
    let own = message(&contexts[0], 0, 1, b"to myself");
    contexts[0].send(own).expect("valid");
    contexts[0].advance(1).expect("no error");
    machine.settle();
    let (mut packets, mut completed) = (0, 0);
    while contexts[0].wait(Some(1)) == Ok(WakeReason::Wake) {
        let progress = contexts[0].advance(1).expect("no error");
        packets += progress.packets;
        completed += progress.completed;
    }
    assert_eq!((packets, completed), (1, 1));
}

#[test]
fn ep3_a_packet_that_arrives_during_a_turn_wakes_the_context() {
    // Wherever in the turn that the first message woke the context for.
    for at in 1..60 {
        let machine = Double::new(2, 1);
        let contexts = machine.contexts(&[0, 1], small());
        let log = Log::default();
        log_messages(&contexts[1], &log);
        for tag in 0..2 {
            let send = message(&contexts[0], 1, tag, &pattern(10, 0));
            contexts[0].send(send).expect("valid");
            contexts[0].advance(1).expect("no error");
            if tag == 0 {
                machine.settle();
            }
        }
        assert_eq!(contexts[1].wait(None), Ok(WakeReason::Wake));
        let (moving, mut charges) = (machine.clone(), 0);
        machine.set_hook(move |_| {
            charges += 1;
            if charges == at {
                moving.settle();
            }
        });
        contexts[1].advance(1).expect("no error");
        machine.clear_hook();
        machine.settle();
        while contexts[1].wait(Some(1)) == Ok(WakeReason::Wake) {
            contexts[1].advance(1).expect("no error");
        }
        assert_eq!(log.lock().len(), 2, "charge {at}");
    }
}

#[test]
fn ep3_driven_by_wake_ups_alone_everything_arrives() {
    for seed in 1..10 {
        let machine = Double::new(2, seed);
        let contexts = machine.contexts(&[0, 1], small());
        let log = Log::default();
        log_messages(&contexts[1], &log);
        let done = Arc::new(AtomicCell::new(0_usize));
        for tag in 0..200 {
            let counter = Arc::clone(&done);
            let send = SendMessage {
                local_done: Some(Box::new(move |_, _| {
                    counter.fetch_add(1);
                })),
                ..message(&contexts[0], 1, tag, &pattern(700, 0))
            };
            contexts[0].send(send).expect("valid");
        }
        if seed % 2 == 0 {
            // Packets also move in the middle of `advance`.
            let moving = machine.clone();
            machine.set_hook(move |_| {
                moving.step();
            });
        }
        machine.run_by_wake_ups(&contexts);
        machine.clear_hook();
        assert_eq!((log.lock().len(), done.load()), (200, 200));
    }
}

#[test]
fn ep3_a_post_wakes_the_thread_that_waits() {
    let machine = Double::new(1, 1);
    let contexts = machine.contexts(&[0], small());
    contexts[0].advance(1).expect("no error");
    let (other, called) = (contexts[0].clone(), Arc::new(AtomicCell::new(false)));
    let flag = Arc::clone(&called);
    machine.when_asleep(move || {
        other
            .post(Instruction::Call(Box::new(move |_| flag.store(true))))
            .expect("valid");
    });
    assert_eq!(contexts[0].wait(None), Ok(WakeReason::Wake));
    contexts[0].advance(1).expect("no error");
    assert!(called.load());
}

#[test]
fn ep3_callbacks_run_by_one_thread_wake_the_others_that_wait() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let log = Log::default();
    log_messages(&contexts[1], &log);
    contexts[1].advance(1).expect("no error");
    let send = message(&contexts[0], 1, 0, b"news");
    contexts[0].send(send).expect("valid");
    contexts[0].advance(1).expect("no error");
    // Silence the wake line: only the other thread can wake this one.
    machine.plant(gyre_testkit::Fault::NoWake);
    let other = contexts[1].clone();
    machine.when_asleep(move || {
        assert_eq!(other.advance(1).map(|p| p.packets), Ok(1));
    });
    assert_eq!(contexts[1].wait(None), Ok(WakeReason::Wake));
    assert_eq!(log.lock().len(), 1);
}

#[test]
fn ep1_endpoints_name_client_task_and_context() {
    let machine = Double::new(2, 1);
    let tasks = machine.tasks(&[0, 1]);
    let two = |task, id, resources| {
        let config = ClientConfig {
            id,
            contexts: 2,
            ..config(&tasks, task, resources)
        };
        Client::create(&machine.process(task as usize), config)
            .expect("the double has the resources")
    };
    let clients = [two(0, 1, small()), two(1, 1, small())];
    // A second client beside the first one, with its own share.
    let beside = Resources {
        injection_first: 4,
        remote_get_first: 20,
        reception_first: 4,
        wake_first: 4,
        ..small()
    };
    let others = [two(0, 2, beside), two(1, 2, beside)];
    let contexts: Vec<_> = clients
        .iter()
        .chain(&others)
        .flat_map(|client| (0..2).map(|c| client.create_context(c).expect("free")))
        .collect();
    let logs: Vec<Log> = contexts.iter().map(|_| Log::default()).collect();
    for (context, log) in contexts.iter().zip(&logs) {
        log_messages(context, log);
    }
    // Cross-talk: context 0 of task 0 to context 1 of task 1, in both clients.
    for (client, sender) in [(&clients[0], &contexts[0]), (&others[0], &contexts[4])] {
        let endpoint = client.endpoint(TaskId(1), 1).expect("exists");
        assert_eq!((endpoint.task(), endpoint.context_offset()), (TaskId(1), 1));
        let data = sender.platform().buffer(b"over there");
        sender
            .send(SendMessage::new(endpoint, HELLO, data))
            .expect("valid");
    }
    settle(&machine, &contexts);
    let counts: Vec<_> = logs.iter().map(|log| log.lock().len()).collect();
    assert_eq!(counts, [0, 0, 0, 1, 0, 0, 0, 1]);

    assert_eq!(
        contexts[0].send(SendMessage::new(
            others[0].endpoint(TaskId(1), 0).expect("exists"),
            HELLO,
            BufferRange::empty()
        )),
        Err(Error::ForeignEndpoint {
            expected: 1,
            found: 2
        })
    );
    assert!(matches!(
        clients[0].endpoint(TaskId(2), 0),
        Err(Error::UnknownTask { .. })
    ));
    assert!(matches!(
        clients[0].endpoint(TaskId(1), 2),
        Err(Error::UnknownContext { offset: 2, .. })
    ));
    assert!(matches!(
        clients[0].create_context(1),
        Err(Error::ContextExists { offset: 1, .. })
    ));
}

#[test]
fn ep2_missing_and_taken_resources_are_clear_errors() {
    let machine = Double::new(1, 1);
    let process = machine.process(0);
    let seventeen = machine.tasks(&[0; 17]);
    let refused = Client::create(&process, config(&seventeen, 0, small())).err();
    assert_eq!(
        refused.map(|e| e.to_string()).as_deref(),
        Some(
            "client `test`: reception FIFOs 0..17 are needed for 17 processes with 1 contexts, the node has 16"
        )
    );
    let one = machine.tasks(&[0]);
    let odd = Resources {
        reception_ring: 5000,
        ..small()
    };
    assert!(matches!(
        Client::create(&process, config(&one, 0, odd)).err(),
        Some(Error::Config {
            field: "reception_ring",
            value: 5000,
            ..
        })
    ));
    // Two clients with the same share: the second finds the FIFOs in use.
    let create = || Client::create(&process, config(&one, 0, small())).expect("the FIFOs exist");
    let (first, second) = (create(), create());
    let context = first.create_context(0).expect("free");
    assert!(matches!(second.create_context(0), Err(Error::SetUp { .. })));
    context.destroy().expect("at rest");
    assert_eq!(context.advance(1), Err(Error::Destroyed));
    assert_eq!(
        context.post(Instruction::Call(Box::new(|_| ()))),
        Err(Error::Destroyed)
    );
    second.create_context(0).expect("free again");
}

#[test]
fn x5_a_message_without_callback_fails_once_and_the_next_arrives() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let log = Log::default();
    log_messages(&contexts[1], &log);
    let lost = SendMessage {
        dispatch: HELLO + 1,
        ..message(&contexts[0], 1, 0, &pattern(1500, 0))
    };
    contexts[0].send(lost).expect("valid");
    let next = message(&contexts[0], 1, 1, b"next");
    contexts[0].send(next).expect("valid");
    contexts[0].advance(1).expect("no error");
    machine.settle();
    assert_eq!(
        contexts[1].advance(1),
        Err(Error::UnknownDispatch {
            id: HELLO + 1,
            origin: TaskId(0),
            length: 1500
        })
    );
    settle(&machine, &contexts);
    assert_eq!(*log.lock(), [(0, 1, b"next".to_vec())]);
}

#[test]
fn x5_a_message_longer_than_its_receive_fails_that_receive() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let results = Arc::new(Mutex::new(Vec::new()));
    let into = machine.process(1).buffer(&[0x55; 1000]);
    let (buffer, seen) = (into.clone(), Arc::clone(&results));
    contexts[1]
        .set_dispatch(
            HELLO,
            Box::new(move |_, _| {
                let seen = Arc::clone(&seen);
                Receive::Into {
                    into: buffer.clone(),
                    done: Some(Box::new(move |_, result| seen.lock().push(result))),
                }
            }),
        )
        .expect("first use");
    for length in [1001, 1000] {
        let send = message(&contexts[0], 1, 0, &pattern(length, 4));
        contexts[0].send(send).expect("valid");
        settle(&machine, &contexts);
        let mut bytes = vec![0; 1000];
        into.read(0, &mut bytes).expect("it fits");
        let expected = if length > 1000 {
            vec![0x55; 1000]
        } else {
            pattern(length, 4)
        };
        assert_eq!(bytes, expected);
    }
    let too_long = Error::MessageTooLong {
        message: 1001,
        receive: 1000,
    };
    assert_eq!(*results.lock(), [Err(too_long), Ok(())]);
}

#[test]
fn x5_a_refused_descriptor_fails_its_callback_and_no_other() {
    // All packets move when the driver is about to make its register access number `at`.
    for at in 0..20 {
        let machine = Double::new(2, 1);
        let contexts = machine.contexts(&[0, 1], small());
        let log = Log::default();
        log_messages(&contexts[1], &log);
        let results = Arc::new(Mutex::new(Vec::new()));
        for tag in 0..5 {
            let seen = Arc::clone(&results);
            let mut send = message(&contexts[0], 1, tag, &pattern(700, 0));
            if tag == 2 {
                let foreign = machine.process(0).alloc_in_slot(700, 9);
                send.data = BufferRange::whole(foreign);
            }
            send.local_done = Some(Box::new(move |_, result| {
                seen.lock().push((tag, result));
            }));
            contexts[0].send(send).expect("valid");
        }
        let (moving, mut accesses) = (machine.clone(), 0);
        machine.set_hook(move |op| {
            if op == Op::Register {
                accesses += 1;
                if accesses == at {
                    moving.settle();
                }
            }
        });
        // The error has to wake the context.
        machine.run_by_wake_ups(&contexts);
        machine.clear_hook();
        let refused = Error::Descriptor {
            fifo: 0,
            reason: Ok(ErrorReason::DescSlot),
        };
        let expected: Vec<_> = (0..5)
            .map(|tag| {
                (
                    tag,
                    if tag == 2 {
                        Err(refused.clone())
                    } else {
                        Ok(())
                    },
                )
            })
            .collect();
        assert_eq!(*results.lock(), expected);
        let tags: Vec<_> = log.lock().iter().map(|m| m.1).collect();
        assert_eq!(tags, [0, 1, 3, 4]);
    }
}

#[test]
fn x5_a_refused_message_without_callback_is_reported() {
    const MESSAGES: u32 = 5;
    for refused in 0..MESSAGES {
        let machine = Double::new(2, 1);
        let contexts = machine.contexts(&[0, 1], small());
        let log = Log::default();
        log_messages(&contexts[1], &log);
        machine.plant(Fault::RefuseMessage {
            node: 0,
            after: refused.into(),
        });
        let send = |tag| {
            let to = contexts[0].endpoint(TaskId(1), 0).expect("exists");
            let message = SendImmediate {
                tag,
                data: &[tag as u8; 3],
                ..SendImmediate::new(to, HELLO)
            };
            contexts[0].send_immediate(&message).expect("valid");
        };
        (0..MESSAGES).for_each(send);
        let error = Error::Descriptor {
            fifo: 0,
            reason: Ok(ErrorReason::DescSlot),
        };
        let mut errors = Vec::new();
        for _ in 0..10 {
            machine.settle();
            for context in &contexts {
                // Woken by the error.
                context.wait(Some(1)).expect("not destroyed");
                errors.extend(context.advance(1).err());
            }
        }
        assert_eq!(errors, [error], "{refused}");
        let tags: Vec<_> = log.lock().iter().map(|m| m.1).collect();
        let expected: Vec<_> = (0..MESSAGES).filter(|&tag| tag != refused).collect();
        assert_eq!(tags, expected);
        assert!(contexts.iter().all(Context::is_at_rest));
        // Later ones end with their own descriptors.
        let ended = Arc::new(AtomicCell::new(false));
        let seen = Arc::clone(&ended);
        let mut last = message(&contexts[0], 1, MESSAGES, &pattern(600, 1));
        last.local_done = Some(Box::new(move |_, result| seen.store(result.is_ok())));
        contexts[0].send(last).expect("valid");
        settle(&machine, &contexts);
        assert!(ended.load(), "{refused}");
        assert_eq!(log.lock().len(), expected.len() + 1);
        contexts[0].destroy().expect("at rest");
    }
}

#[test]
fn x5_a_halted_reception_fifo_is_reported() {
    let machine = Double::new(1, 1);
    let contexts = machine.contexts(&[0], small());
    contexts[0].advance(1).expect("no error");
    machine.halt_reception(0, 0);
    assert_eq!(contexts[0].wait(None), Ok(WakeReason::Wake));
    assert!(matches!(
        contexts[0].advance(1),
        Err(Error::Register {
            register: "STATUS",
            ..
        })
    ));
}

#[test]
fn ep2_several_injection_fifos_keep_a_flow_in_order() {
    for seed in 1..10 {
        let machine = Double::new(5, seed);
        let resources = Resources {
            injection_per_context: 3,
            ..small()
        };
        let contexts = machine.contexts(&[0, 1, 2, 3, 4], resources);
        let logs: Vec<Log> = contexts.iter().map(|_| Log::default()).collect();
        for (context, log) in contexts.iter().zip(&logs) {
            log_messages(context, log);
        }
        for tag in 0..40 {
            for to in 0..5 {
                let send = message(&contexts[0], to, tag, &pattern(tag as usize * 30, 0));
                contexts[0].send(send).expect("valid");
            }
        }
        settle(&machine, &contexts);
        for log in &logs {
            let tags: Vec<_> = log.lock().iter().map(|m| m.1).collect();
            assert_eq!(tags, (0..40).collect::<Vec<_>>());
        }
    }
}

#[test]
fn every_operation_of_the_message_path_is_charged() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let log = Log::default();
    log_messages(&contexts[1], &log);
    for tag in 0..10 {
        let send = message(&contexts[0], 1, tag, &pattern(1000, 0));
        contexts[0].send(send).expect("valid");
    }
    let before = machine.process(0).now_ps();
    let copied = machine.charged(Op::CopyChunk);
    settle(&machine, &contexts);
    assert!(machine.process(0).now_ps() > before);
    assert_eq!(machine.charged(Op::Post), 10);
    assert_eq!(machine.charged(Op::Start), 10);
    assert_eq!(machine.charged(Op::Message), 10);
    assert_eq!(machine.charged(Op::Retire), 10);
    assert_eq!(machine.charged(Op::Packet), 0);
    // The first packet of each, and the last.
    assert_eq!(machine.charged(Op::Assemble), 10);
    assert_eq!(machine.charged(Op::Place), 10);
    // 512 B and 488 B, 16 chunks each, out of the ring to their place.
    assert_eq!(machine.charged(Op::CopyChunk) - copied, 320);
    assert_eq!(machine.charged(Op::Dispatch), 10);
    assert_eq!(machine.charged(Op::Callback), 10);
}

#[test]
fn ep3_room_in_the_reception_ring_is_given_back_a_quarter_at_a_time() {
    let machine = Double::new(2, 1);
    let resources = Resources {
        reception_ring: 1 << 14,
        ..small()
    };
    let contexts = machine.contexts(&[0, 1], resources);
    let log = Log::default();
    log_messages(&contexts[1], &log);
    for tag in 0..20 {
        let send = message(&contexts[0], 1, tag, &pattern(512, 1));
        contexts[0].send(send).expect("valid");
    }
    contexts[0].advance(1).expect("no error");
    machine.settle();
    assert_eq!(contexts[1].advance(1).expect("no error").packets, 20);
    // A packet takes 544 bytes of the ring: a quarter is passed by the 8th and the 16th; room of 4 is not given back.
    assert_eq!(machine.head_writes(1, 0), 2);
}

#[test]
fn buffers_outlive_the_context_that_has_them_in_flight() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let log = Log::default();
    log_messages(&contexts[1], &log);
    let send = message(&contexts[0], 1, 0, &pattern(1000, 5));
    contexts[0].send(send).expect("valid");
    contexts[0].advance(1).expect("no error");
    let [sender, receiver]: [_; 2] = contexts.try_into().unwrap_or_else(|_| unreachable!());
    drop(sender);
    machine.settle();
    receiver.advance(1).expect("no error");
    assert_eq!(*log.lock(), [(0, 0, pattern(1000, 5))]);
}

#[test]
fn buffer_ranges_stay_inside_their_buffer() {
    let machine = Double::new(1, 1);
    let whole = BufferRange::whole(machine.process(0).alloc(100, 64).expect("there is memory"));
    assert!(whole.part(60, 41).is_err());
    assert!(whole.part(usize::MAX, 2).is_err());
    let part = whole.part(60, 40).expect("inside");
    assert!(part.part(1, 40).is_err());
    assert!(part.write(39, &[1, 2]).is_err());
    part.write(39, &[1]).expect("inside");
    let mut byte = [0];
    whole.read(99, &mut byte).expect("inside");
    assert_eq!(byte, [1]);
}

#[test]
fn ep2_contexts_share_injection_fifos_under_a_lock() {
    for seed in 1..10 {
        let machine = Double::new(2, seed);
        let tasks = machine.tasks(&[0, 1]);
        let resources = Resources {
            shared_injection: true,
            injection_per_context: 2,
            ..small()
        };
        let clients: Vec<_> = (0..2)
            .map(|task| {
                let config = ClientConfig {
                    contexts: 3,
                    ..config(&tasks, task, resources)
                };
                Client::create(&machine.process(task as usize), config)
                    .expect("the double has the resources")
            })
            .collect();
        let contexts: Vec<_> = clients
            .iter()
            .flat_map(|client| (0..3).map(|offset| client.create_context(offset).expect("free")))
            .collect();
        assert_eq!(contexts[0].query().injection_fifos, 0..2);
        assert_eq!(contexts[2].query().injection_fifos, 0..2);
        let log = Log::default();
        log_messages(&contexts[3], &log);
        let locks = machine.charged(Op::Lock);
        let done = Arc::new(Mutex::new([0; 3]));
        for tag in 0..150 {
            let from = tag as usize % 3;
            let (counts, sender) = (Arc::clone(&done), contexts[from].query().endpoint);
            let send = SendMessage {
                local_done: Some(Box::new(move |context, result| {
                    result.expect("sent");
                    assert_eq!(context.query().endpoint, sender, "not somebody else's");
                    counts.lock()[from] += 1;
                })),
                ..message(&contexts[from], 1, tag, &pattern(5 + tag as usize * 20, 0))
            };
            contexts[from].send(send).expect("valid");
        }
        settle(&machine, &contexts);
        assert_eq!(*done.lock(), [50; 3]);
        assert_eq!(log.lock().len(), 150);
        assert!(machine.charged(Op::Lock) > locks);
        for context in &contexts {
            context.destroy().expect("at rest");
        }
        // The last one has given the FIFOs back.
        drop(clients);
        let again = Client::create(&machine.process(0), config(&tasks, 0, small()));
        again
            .and_then(|client| client.create_context(0))
            .expect("the FIFOs are free");
    }
}
