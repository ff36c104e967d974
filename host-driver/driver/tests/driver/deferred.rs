// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deferred receives on the test double (EP-4): a dispatch callback keeps what has arrived, and the program receives or
//! discards it later.

use std::collections::VecDeque;
use std::sync::Arc;

use gyre_driver::{
    AckConfig, Arrival, BufferRange, Client, ClientConfig, Context, DEFERRED_LIMIT,
    DeferredReceive, DoneFn, Error, Fence, Instruction, Op, Receive, Resources, Routing,
    SendMessage, SendProtocol, TaskId,
};
use gyre_layout::ErrorReason;
use gyre_testkit::{Double, Memory, Process, config, contents};
use parking_lot::Mutex;

const SINK: u8 = 3;
const EAGER: usize = 1024;
/// No data, one packet, several, and data that stays at its origin.
const LENGTHS: [usize; 4] = [0, 100, 900, 5000];

type Log = Arc<Mutex<Vec<Result<(), Error>>>>;
/// Messages that have been kept, with their bytes.
type Kept = Arc<Mutex<VecDeque<(usize, DeferredReceive<Process>)>>>;

struct Pair {
    machine: Double,
    contexts: Vec<Context<Process>>,
    kept: Kept,
    clients: Vec<Client<Process>>,
}

fn into(log: &Log) -> Option<DoneFn<Process>> {
    let log = Arc::clone(log);
    Some(Box::new(move |_, result| log.lock().push(result)))
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 + i / 256 + 1) as u8).collect()
}

/// Defers the receives of messages to `context`.
fn keep(context: &Context<Process>) -> Kept {
    let kept = Kept::default();
    let queue = Arc::clone(&kept);
    let dispatch = move |_: &Context<Process>, arrival: &Arrival<'_>| {
        let (queue, length) = (Arc::clone(&queue), arrival.length);
        Receive::Deferred(Box::new(move |_, message| {
            queue.lock().push_back((length, message));
        }))
    };
    let set = context.set_dispatch(SINK, Box::new(dispatch));
    set.expect("first use");
    kept
}

impl Pair {
    fn new() -> Self {
        Self::acknowledging(AckConfig::immediate())
    }

    fn acknowledging(ack: AckConfig) -> Self {
        let machine = Double::new(2, 1);
        let tasks = machine.tasks(&[0, 1]);
        let client = |task: usize| {
            let config = ClientConfig {
                eager_limit: EAGER,
                ack: ack.clone(),
                ..config(&tasks, task as u32, Resources::default())
            };
            Client::create(&machine.process(task), config).expect("the double has the resources")
        };
        let clients = vec![client(0), client(1)];
        let contexts: Vec<_> = clients
            .iter()
            .map(|client| client.create_context(0).expect("free"))
            .collect();
        let kept = keep(&contexts[1]);
        Self {
            machine,
            contexts,
            kept,
            clients,
        }
    }

    fn message(&self, length: usize) -> SendMessage<Process> {
        let to = self.contexts[0].endpoint(TaskId(1), 0).expect("exists");
        let data = self.machine.process(0).buffer(&pattern(length));
        SendMessage::new(to, SINK, data)
    }

    /// Sends `length` bytes whose origin wants to know whether they are received.
    fn send(&self, length: usize) -> Log {
        let told = Log::default();
        let message = SendMessage {
            header: vec![7; 5],
            remote_done: into(&told),
            ..self.message(length)
        };
        self.contexts[0].send(message).expect("valid");
        told
    }

    fn take(&self) -> DeferredReceive<Process> {
        self.kept.lock().pop_front().expect("one is kept").1
    }

    fn room(&self, length: usize) -> BufferRange<Memory> {
        self.machine.process(1).buffer(&vec![0; length])
    }

    /// Runs until nothing happens, woken for errors too; returns the errors of `advance`.
    fn settle(&self) -> Vec<Error> {
        let mut errors = Vec::new();
        let mut idle = 0;
        while idle < 200 {
            let mut moved = self.machine.step();
            for context in &self.contexts {
                if idle > 0 && context.wait(Some(1)).is_err() {
                    continue;
                }
                match context.advance(1) {
                    Ok(progress) => moved |= !progress.is_idle(),
                    Err(Error::Destroyed) => {}
                    Err(error) => {
                        errors.push(error);
                        moved = true;
                    }
                }
            }
            idle = if moved { 0 } else { idle + 1 };
        }
        errors
    }
}

#[test]
fn ep4_a_deferred_receive_gets_its_data_whenever_it_is_posted() {
    for length in LENGTHS {
        for headed in [false, true] {
            // In the callback, while the data comes, when it is there, and long after.
            for steps in [0, 1, 4, 300] {
                let pair = Pair::new();
                let told = Log::default();
                let mut message = pair.message(length);
                if headed {
                    message.header = vec![9; 30];
                    message.remote_done = into(&told);
                }
                pair.contexts[0].send(message).expect("valid");
                while pair.kept.lock().is_empty() {
                    pair.contexts[0].advance(1).expect("no error");
                    pair.machine.step();
                    pair.contexts[1].advance(1).expect("no error");
                }
                for _ in 0..steps {
                    pair.contexts[0].advance(1).expect("no error");
                    pair.machine.step();
                    pair.contexts[1].advance(1).expect("no error");
                }
                assert_eq!(*told.lock(), [], "{length} bytes have not been received");
                let (done, room) = (Log::default(), pair.room(length + 1));
                let handle = pair.take();
                // Any thread may post it.
                let (into_room, called) = (room.clone(), into(&done));
                let post = move || handle.receive(into_room, Routing::Fixed, called);
                let posted = std::thread::spawn(post).join().expect("no panic");
                posted.expect("not destroyed");
                assert_eq!(*done.lock(), [], "callbacks run in advance");
                assert_eq!(pair.settle(), []);
                assert_eq!(*done.lock(), [Ok(())], "{length} {headed} {steps}");
                assert_eq!(contents(&room)[..length], pattern(length));
                assert_eq!(told.lock().len(), usize::from(headed));
                assert!(told.lock().iter().all(Result::is_ok));
                assert!(pair.contexts.iter().all(Context::is_at_rest));
                let stats = pair.contexts[1].deferred_stats().expect("it is");
                assert_eq!((stats.messages, stats.held_bytes), (0, 0));
            }
        }
    }
}

#[test]
fn ep4_a_receive_may_be_posted_by_the_callback_that_defers_it() {
    for length in LENGTHS {
        let pair = Pair::new();
        let (done, room) = (Log::default(), pair.room(length));
        let (log, place) = (Arc::clone(&done), room.clone());
        let dispatch = move |_: &Context<Process>, _: &Arrival<'_>| {
            let (log, place) = (Arc::clone(&log), place.clone());
            Receive::Deferred(Box::new(move |_, message| {
                let posted = message.receive(place, Routing::Fixed, into(&log));
                posted.expect("not destroyed");
            }))
        };
        let set = pair.contexts[1].set_dispatch(SINK + 1, Box::new(dispatch));
        set.expect("first use");
        let message = SendMessage {
            dispatch: SINK + 1,
            ..pair.message(length)
        };
        pair.contexts[0].send(message).expect("valid");
        assert_eq!(pair.settle(), []);
        assert_eq!(*done.lock(), [Ok(())]);
        assert_eq!(contents(&room), pattern(length));
    }
}

#[test]
fn ep4_x5_a_dropped_handle_refuses_and_a_discarded_one_does_not() {
    for length in LENGTHS {
        for arrived in [false, true] {
            let pair = Pair::new();
            for (discard, told) in [
                (false, Err(Error::NotFetched { peer: TaskId(1) })),
                (true, Ok(())),
            ] {
                let log = pair.send(length);
                while pair.kept.lock().is_empty() {
                    pair.contexts[0].advance(1).expect("no error");
                    pair.machine.step();
                    pair.contexts[1].advance(1).expect("no error");
                }
                if arrived {
                    assert_eq!(pair.settle(), []);
                }
                let message = pair.take();
                match discard {
                    true => message.discard().expect("not destroyed"),
                    false => drop(message),
                }
                assert_eq!(pair.settle(), []);
                assert_eq!(*log.lock(), [told], "{length} bytes, {arrived}");
                assert!(pair.contexts.iter().all(Context::is_at_rest));
                let stats = pair.contexts[1].deferred_stats().expect("it is");
                assert_eq!((stats.messages, stats.held_bytes), (0, 0));
            }
        }
    }
}

#[test]
fn ep4_x5_a_message_longer_than_its_deferred_receive_is_used_up() {
    for length in [100, 900, 5000] {
        let pair = Pair::new();
        let told = pair.send(length);
        assert_eq!(pair.settle(), []);
        let (done, room) = (Log::default(), pair.room(length - 1));
        let posted = pair
            .take()
            .receive(room.clone(), Routing::Fixed, into(&done));
        posted.expect("not destroyed");
        assert_eq!(pair.settle(), []);
        let too_long = Error::MessageTooLong {
            message: length,
            receive: length - 1,
        };
        assert_eq!(*done.lock(), [Err(too_long)]);
        assert_eq!(contents(&room), vec![0; length - 1]);
        assert_eq!(*told.lock(), [Ok(())]);
    }
}

#[test]
fn ep4_x5_deferred_data_that_cannot_be_fetched_fails_at_both_ends() {
    let pair = Pair::new();
    let told = Log::default();
    // In a slot without a grant.
    let foreign = pair.machine.process(0).alloc_in_slot(5000, 99);
    let message = SendMessage {
        data: BufferRange::whole(foreign),
        remote_done: into(&told),
        ..pair.message(0)
    };
    pair.contexts[0].send(message).expect("valid");
    assert_eq!(pair.settle(), []);
    let done = Log::default();
    let posted = pair
        .take()
        .receive(pair.room(5000), Routing::Fixed, into(&done));
    posted.expect("not destroyed");
    let errors = pair.settle();
    assert!(
        matches!(errors[..], [Error::RemoteDescriptor { .. }]),
        "{errors:?}"
    );
    assert!(matches!(
        done.lock()[..],
        [Err(Error::RemoteRefused { .. })]
    ));
    assert_eq!(*told.lock(), [Err(Error::NotFetched { peer: TaskId(1) })]);
    assert!(pair.contexts.iter().all(Context::is_at_rest));
}

#[test]
fn ep3_ep4_receives_of_a_destroyed_context_end_once() {
    for length in LENGTHS {
        // From nothing of the receive started to all of it done.
        for steps in [0, 1, 3, 200] {
            let pair = Pair::new();
            for _ in 0..2 {
                pair.send(length);
            }
            assert_eq!(pair.settle(), []);
            let (done, late) = (Log::default(), Log::default());
            let posted = pair
                .take()
                .receive(pair.room(length), Routing::Fixed, into(&done));
            posted.expect("not destroyed");
            // One that goes with a call that is never made.
            pair.send(length);
            pair.settle();
            let message = pair.take();
            let held = pair.take();
            for _ in 0..steps {
                pair.machine.step();
                pair.contexts[1].advance(1).expect("no error");
            }
            let call = Instruction::Call(Box::new(move |_| drop(held)));
            pair.contexts[1].post(call).expect("not destroyed");
            let _ = pair.contexts[1].destroy();
            assert_eq!(done.lock().len(), 1, "{length} bytes, {steps} steps");
            let posted = message.receive(pair.room(length), Routing::Fixed, into(&late));
            assert_eq!(posted, Err(Error::Destroyed));
            assert_eq!(done.lock().len(), 1);
            assert_eq!(*late.lock(), []);
        }
    }
    // While the data of an eager message comes.
    let pair = Pair::new();
    pair.send(900);
    while pair.kept.lock().is_empty() {
        pair.contexts[0].advance(1).expect("no error");
        pair.machine.step();
        pair.contexts[1].advance(1).expect("no error");
    }
    let done = Log::default();
    let posted = pair
        .take()
        .receive(pair.room(900), Routing::Fixed, into(&done));
    posted.expect("not destroyed");
    pair.contexts[1].advance(1).expect("no error");
    let end = pair.contexts[1].destroy();
    assert!(
        matches!(end, Err(Error::WorkLeft { arriving: 1, .. })),
        "{end:?}"
    );
    assert_eq!(*done.lock(), [Err(Error::Destroyed)]);
}

#[test]
fn ep4_a_handle_does_not_keep_its_context() {
    let pair = Pair::new();
    pair.send(100);
    assert_eq!(pair.settle(), []);
    let message = pair.take();
    let room = pair.room(100);
    let Pair {
        contexts, clients, ..
    } = pair;
    drop((contexts, clients));
    let posted = message.receive(room, Routing::Fixed, None);
    assert_eq!(posted, Err(Error::Destroyed));
}

#[test]
fn ep4_x5_eager_data_of_deferred_messages_is_bounded_and_counted() {
    const PART: usize = DEFERRED_LIMIT / 4;
    let pair = Pair::new();
    let send = |length| {
        let told = Log::default();
        let message = SendMessage {
            protocol: SendProtocol::Eager,
            remote_done: into(&told),
            ..pair.message(length)
        };
        pair.contexts[0].send(message).expect("valid");
        assert_eq!(pair.settle(), []);
        told
    };
    let receive = |length| {
        let (done, room) = (Log::default(), pair.room(length));
        let posted = pair
            .take()
            .receive(room.clone(), Routing::Fixed, into(&done));
        posted.expect("not destroyed");
        assert_eq!(pair.settle(), []);
        let result = done.lock().pop().expect("it has ended");
        assert_eq!(result.is_ok(), contents(&room) == pattern(length));
        result
    };
    let stats = || pair.contexts[1].deferred_stats().expect("it is");
    let mut told: Vec<_> = (0..4).map(|_| send(PART)).collect();
    assert_eq!((stats().messages, stats().held_bytes), (4, DEFERRED_LIMIT));
    // What waits at its origin needs no room here.
    pair.send(5000);
    told.push(send(1));
    assert_eq!((stats().messages, stats().held_bytes), (6, DEFERRED_LIMIT));
    assert_eq!(receive(PART), Ok(()));
    assert_eq!(stats().held_bytes, DEFERRED_LIMIT - PART);
    told.push(send(PART));
    for _ in 0..3 {
        assert_eq!(receive(PART), Ok(()));
    }
    assert_eq!(receive(5000), Ok(()));
    let full = Error::HeldMemory {
        bytes: 1,
        held: DEFERRED_LIMIT,
        limit: DEFERRED_LIMIT,
    };
    assert_eq!(receive(1), Err(full));
    assert_eq!(receive(PART), Ok(()));
    assert_eq!((stats().messages, stats().held_bytes), (0, 0));
    assert_eq!(stats().peak_held_bytes, DEFERRED_LIMIT);
    let lost = Err(Error::NotFetched { peer: TaskId(1) });
    for (number, told) in told.iter().enumerate() {
        let expected = if number == 4 { lost.clone() } else { Ok(()) };
        assert_eq!(*told.lock(), [expected], "message {number}");
    }
}

#[test]
fn ep3_ep4_memory_of_deferred_messages_returns_with_the_context() {
    const BYTES: usize = 900;
    const BLOCK: usize = 1024;
    let pair = Pair::new();
    let before = pair.machine.allocated(1);
    let receive = || {
        let room = pair.room(BYTES);
        let posted = pair.take().receive(room.clone(), Routing::Fixed, None);
        posted.expect("not destroyed");
        assert_eq!(pair.settle(), []);
        assert_eq!(contents(&room), pattern(BYTES));
    };
    let hold = || {
        pair.send(BYTES);
        assert_eq!(pair.settle(), []);
        pair.machine.allocated(1) - before
    };
    assert_eq!(hold(), BLOCK);
    assert_eq!(hold(), 2 * BLOCK);
    receive();
    assert_eq!(pair.machine.allocated(1) - before, 2 * BLOCK, "it is kept");
    assert_eq!(hold(), 2 * BLOCK, "the next one needs none");
    receive();
    let freed = |pair: &Pair| {
        let memory = pair.machine.allocated(1);
        let charged = pair.machine.charged(Op::Allocate);
        pair.contexts[1].destroy().expect("nothing is under way");
        let blocks = pair.machine.charged(Op::Allocate) - charged;
        (memory - pair.machine.allocated(1), blocks)
    };
    receive();
    let (memory, blocks) = freed(&pair);
    let (unused_memory, unused_blocks) = freed(&Pair::new());
    assert_eq!(memory - unused_memory, 2 * BLOCK);
    assert_eq!(blocks - unused_blocks, 2);
}

#[test]
fn fn1_a_fence_covers_the_arrival_of_a_deferred_message() {
    let copied = AckConfig::by_path(1);
    for (ack, copies) in [(AckConfig::immediate(), false), (copied, true)] {
        for (length, fenced) in [(100, true), (100, false), (5000, true), (5000, false)] {
            let pair = Pair::acknowledging(ack.clone());
            let (told, done) = (Log::default(), Log::default());
            let message = SendMessage {
                fenced,
                remote_done: into(&told),
                ..pair.message(length)
            };
            let destination = message.destination;
            pair.contexts[0].send(message).expect("valid");
            let fence = Fence {
                destination,
                done: into(&done),
            };
            pair.contexts[0].fence(fence).expect("valid");
            assert_eq!(pair.settle(), []);
            let waits = copies && fenced;
            assert_eq!(done.lock().len(), usize::from(!waits), "{length} {waits}");
            pair.take().discard().expect("not destroyed");
            assert_eq!(pair.settle(), []);
            assert_eq!((*done.lock()).clone(), [Ok(())]);
            assert_eq!(*told.lock(), [Ok(())], "{length} {fenced} {copies}");
        }
    }
}

#[test]
fn fn3_a_rendezvous_may_be_asked_for_whatever_the_length() {
    for length in LENGTHS {
        let pair = Pair::new();
        let told = Log::default();
        let message = SendMessage {
            protocol: SendProtocol::Rendezvous,
            remote_done: into(&told),
            ..pair.message(length)
        };
        pair.contexts[0].send(message).expect("valid");
        assert_eq!(pair.settle(), []);
        let stats = pair.contexts[1].deferred_stats().expect("it is");
        assert_eq!((stats.messages, stats.held_bytes), (1, 0));
        assert_eq!(pair.machine.messages_from(0), 1);
        let packets = pair.machine.packets();
        let (done, room) = (Log::default(), pair.room(length));
        let posted = pair
            .take()
            .receive(room.clone(), Routing::Fixed, into(&done));
        posted.expect("not destroyed");
        assert_eq!(pair.settle(), []);
        assert_eq!(contents(&room), pattern(length));
        assert_eq!((*done.lock()).clone(), [Ok(())]);
        assert_eq!(*told.lock(), [Ok(())]);
        let acknowledged_alone = pair.machine.packets() - packets == 1;
        assert_eq!(acknowledged_alone, length == 0, "no bytes need no get");
    }
}

#[test]
fn ep3_x5_destroy_reports_kept_and_unread_messages() {
    for length in LENGTHS {
        // Kept, received and not fetched yet, and not looked at.
        for state in 0..3 {
            let pair = Pair::new();
            let told = pair.send(length);
            if state < 2 {
                assert_eq!(pair.settle(), []);
            } else {
                pair.contexts[0].advance(2).expect("no error");
                pair.machine.settle();
            }
            let done = Log::default();
            if state == 1 {
                let room = pair.room(length);
                let posted = pair.take().receive(room, Routing::Fixed, into(&done));
                posted.expect("not destroyed");
                pair.contexts[1].advance(1).expect("no error");
            }
            let moving = pair.machine.clone();
            pair.machine.set_hook(move |_| {
                moving.step();
            });
            let _ = pair.contexts[1].destroy();
            pair.machine.clear_hook();
            assert_eq!(pair.settle(), []);
            let gone = Error::MessagesRefused {
                peer: TaskId(1),
                context: 0,
                reason: Ok(ErrorReason::PktRecFifo),
            };
            let waits = state != 1 || length == 5000;
            let expected = if waits { Err(gone) } else { Ok(()) };
            assert_eq!(*told.lock(), [expected], "{length} bytes, state {state}");
            assert_eq!(done.lock().len(), usize::from(state == 1));
            assert!(pair.contexts[0].is_at_rest());
        }
    }
}
