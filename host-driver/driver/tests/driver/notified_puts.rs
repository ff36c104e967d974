// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notification of put targets on the test double (EP-16): by a callback of `advance`, or by a byte counter.

use std::sync::Arc;

use gyre_driver::{
    BufferRange, ByteCounter, Client, ClientConfig, Completion, Context, Endpoint, Error, Fence,
    Ordered, Put, PutArrival, PutNotify, RemoteAddress, RemoteCounter, Resources, TaskId,
};
use gyre_testkit::{Double, Fault, Memory, Process, config};
use parking_lot::Mutex;

const TOLD: u8 = 7;
const MEMORY: usize = 1 << 16;
/// Lengths of puts: nothing, within a packet, one packet, and many.
const LENGTHS: [usize; 5] = [0, 1, 512, 513, 20_000];

/// An event, logged in order.
#[derive(Debug, Clone, PartialEq)]
enum Event {
    /// The target was notified; its bytes were correct.
    Told(PutArrival, bool),
    Done(u32, Result<(), Error>),
}

struct World {
    machine: Double,
    contexts: Vec<Context<Process>>,
    /// Memory of task 0, which the others write.
    memory: BufferRange<Memory>,
    log: Arc<Mutex<Vec<Event>>>,
}

fn pattern(word: u64, length: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (word as usize * 31 + i * 7 + i / 251 + 1) as u8)
        .collect()
}

impl World {
    /// Task `t` on node `nodes[t]`; packets overtake each other in an order picked by `seed`.
    fn new(nodes: &[usize], seed: u64, ordered: Ordered) -> Self {
        let machine = Double::new(nodes.iter().max().expect("a task") + 1, seed);
        machine.diagonal();
        machine.reorder();
        let tasks = machine.tasks(nodes);
        let context = |(task, &node): (usize, &usize)| {
            let config = ClientConfig {
                ordered,
                ..config(&tasks, task as u32, Resources::default())
            };
            let client = Client::create(&machine.process(node), config);
            client.and_then(|client| client.create_context(0))
        };
        let contexts: Result<Vec<_>, _> = nodes.iter().enumerate().map(context).collect();
        let contexts = contexts.expect("the double has the resources");
        let memory = machine.process(nodes[0]).buffer(&[0; MEMORY]);
        let log = Arc::<Mutex<Vec<Event>>>::default();
        let (events, there) = (Arc::clone(&log), memory.clone());
        let first = memory.remote_address().expect("a buffer").offset;
        let told = move |_: &Context<Process>, arrival: &PutArrival| {
            let mut bytes = vec![0; arrival.length];
            let at = (arrival.remote.offset - first) as usize;
            there.read(at, &mut bytes).expect("inside");
            let right = bytes == pattern(arrival.word, arrival.length);
            events.lock().push(Event::Told(*arrival, right));
        };
        contexts[0]
            .set_put_dispatch(TOLD, Box::new(told))
            .expect("first use");
        Self {
            machine,
            contexts,
            memory,
            log,
        }
    }

    fn target(&self) -> Endpoint {
        self.contexts[0].query().endpoint
    }

    fn at(&self, offset: usize) -> RemoteAddress {
        let first = self.memory.remote_address().expect("a buffer");
        RemoteAddress {
            offset: first.offset + offset as u64,
            ..first
        }
    }

    /// A put of task `from` to `remote`, whose bytes follow from `word`.
    fn put(
        &self,
        from: usize,
        (remote, length): (RemoteAddress, usize),
        (notify, word): (PutNotify, u64),
    ) -> Put<Process> {
        let data = self.contexts[from]
            .platform()
            .buffer(&pattern(word, length));
        Put {
            notify,
            ..Put::new(self.target(), data, remote)
        }
    }

    fn done(&self, number: u32) -> Option<gyre_driver::DoneFn<Process>> {
        let log = Arc::clone(&self.log);
        Some(Box::new(move |_, result| {
            log.lock().push(Event::Done(number, result))
        }))
    }

    /// Runs until nothing happens. Returns what has, and the errors that had no callback.
    fn settle(&self) -> (Vec<Event>, Vec<Error>) {
        let errors = self.machine.run_until_idle(&self.contexts, 40);
        (std::mem::take(&mut *self.log.lock()), errors)
    }
}

fn told(word: u64) -> (PutNotify, u64) {
    let notify = PutNotify::Dispatch {
        dispatch: TOLD,
        word,
    };
    (notify, word)
}

#[test]
fn ep16_the_target_is_told_of_each_put_once_when_its_data_is_there() {
    for ordered in [Ordered::Fixed, Ordered::Flow] {
        // From another node, and from the target's.
        for (nodes, seed) in [([0, 3], 1), ([0, 3], 2), ([0, 3], 3), ([1, 1], 4)] {
            for waits in [false, true] {
                let world = World::new(&nodes, seed, ordered);
                let mut offset = 0;
                let mut expected = Vec::new();
                for (word, length) in (1 << 40..).zip(LENGTHS) {
                    let mut put = world.put(1, (world.at(offset), length), told(word));
                    put.remote_done = if waits { world.done(word as u32) } else { None };
                    expected.push(PutArrival {
                        origin: world.contexts[1].query().endpoint,
                        remote: world.at(offset),
                        length,
                        word,
                    });
                    world.contexts[1].put(put).expect("valid");
                    offset += length;
                }
                let (events, errors) = world.settle();
                assert_eq!(errors, []);
                let mut found = Vec::new();
                for event in &events {
                    match event {
                        Event::Told(arrival, right) => {
                            assert!(right, "the data was there: {arrival:?}");
                            found.push(*arrival);
                        }
                        Event::Done(_, result) => assert_eq!(*result, Ok(())),
                    }
                }
                assert_eq!(found, expected, "{ordered:?} {nodes:?} seed {seed}");
                let done = events.len() - found.len();
                assert_eq!(done, if waits { LENGTHS.len() } else { 0 });
                assert!(world.contexts.iter().all(Context::is_at_rest));
            }
        }
    }
}

#[test]
fn ep16_a_fence_is_over_when_the_target_has_been_told() {
    for seed in 1..20 {
        let world = World::new(&[0, 3], seed, Ordered::Fixed);
        for word in 0..4 {
            let put = world.put(1, (world.at(word as usize * 600), 600), told(word));
            world.contexts[1].put(put).expect("valid");
        }
        let fence = Fence {
            destination: world.target(),
            done: world.done(9),
        };
        world.contexts[1].fence(fence).expect("valid");
        let (events, errors) = world.settle();
        assert_eq!(errors, []);
        assert_eq!(events.len(), 5);
        assert_eq!(events[4], Event::Done(9, Ok(())), "seed {seed}");
    }
}

#[test]
fn ep16_x5_a_refused_put_is_reported_to_its_origin_alone() {
    for seed in 1..20 {
        let world = World::new(&[0, 3], seed, Ordered::Fixed);
        let nowhere = RemoteAddress {
            slot: 31,
            offset: 0,
        };
        for (number, remote) in [(1, nowhere), (2, world.at(0))] {
            let mut put = world.put(1, (remote, 40), told(number.into()));
            put.remote_done = world.done(number);
            world.contexts[1].put(put).expect("valid");
        }
        // Only the fence waits for this one.
        let put = world.put(1, (nowhere, 40), told(3));
        world.contexts[1].put(put).expect("valid");
        let fence = Fence {
            destination: world.target(),
            done: world.done(4),
        };
        world.contexts[1].fence(fence).expect("valid");
        let (mut events, errors) = world.settle();
        assert_eq!(errors, [], "seed {seed}");
        let refused = Err(Error::PutsRefused { peer: TaskId(0) });
        for (number, result) in [(1, refused.clone()), (2, Ok(())), (4, refused)] {
            let event = Event::Done(number, result);
            let at = events.iter().position(|e| *e == event);
            events.remove(at.unwrap_or_else(|| panic!("{event:?} in {events:?}")));
        }
        let words = events.iter().map(|event| match event {
            Event::Told(arrival, _) => arrival.word,
            Event::Done(..) => 0,
        });
        assert_eq!(words.collect::<Vec<_>>(), [2], "seed {seed}");
    }
}

#[test]
fn ep16_x5_identifiers_without_callback_or_of_the_driver_are_errors() {
    let world = World::new(&[0, 3], 1, Ordered::Fixed);
    let notify = |dispatch| (PutNotify::Dispatch { dispatch, word: 5 }, 5);
    let mut put = world.put(1, (world.at(0), 40), notify(TOLD + 1));
    put.remote_done = world.done(1);
    world.contexts[1].put(put).expect("valid");
    let (events, errors) = world.settle();
    assert_eq!(events, [Event::Done(1, Ok(()))]);
    let unknown = Error::UnknownPutDispatch {
        id: TOLD + 1,
        origin: TaskId(1),
        length: 40,
    };
    assert_eq!(errors, [unknown]);
    let put = world.put(1, (world.at(0), 40), notify(224));
    assert_eq!(
        world.contexts[1].put(put),
        Err(Error::ReservedDispatch { id: 224 })
    );
    let set = |id| world.contexts[0].set_put_dispatch(id, Box::new(|_, _| {}));
    assert_eq!(set(TOLD), Err(Error::DispatchInUse { id: TOLD }));
    assert_eq!(set(224), Err(Error::ReservedDispatch { id: 224 }));
    assert_eq!(set(223), Ok(()));
}

/// Parts of task 0's memory that tasks 1 and 2 put: (task, offset, bytes).
fn parts() -> Vec<(usize, usize, usize)> {
    let mut at = 0;
    let mut parts = Vec::new();
    for (number, length) in LENGTHS.into_iter().chain(LENGTHS).enumerate() {
        parts.push((1 + number % 2, at, length));
        at += length;
    }
    parts
}

/// Bytes that they lower a counter by: a put of nothing by one.
fn lowered() -> u64 {
    parts()
        .iter()
        .map(|(_, _, length)| (*length).max(1) as u64)
        .sum()
}

fn put_parts(world: &World, counter: RemoteCounter) {
    for (from, offset, length) in parts() {
        let notify = (PutNotify::Counter(counter), offset as u64);
        let put = world.put(from, (world.at(offset), length), notify);
        world.contexts[from].put(put).expect("valid");
    }
}

/// Whether all that tasks 1 and 2 put is in the memory of task 0.
fn all_there(memory: &BufferRange<Memory>) -> bool {
    parts().iter().all(|&(_, offset, length)| {
        let mut bytes = vec![0; length];
        memory.read(offset, &mut bytes).expect("inside");
        bytes == pattern(offset as u64, length)
    })
}

#[test]
fn ep16_a_byte_counter_is_zero_when_the_data_of_all_peers_is_there() {
    for (nodes, seed) in [([0, 3, 1], 1), ([0, 3, 1], 2), ([0, 3, 0], 3)] {
        let world = World::new(&nodes, seed, Ordered::Fixed);
        let counter: ByteCounter<Process> = world.contexts[0].create_counter().expect("memory");
        let bytes = counter.remote().encode();
        let remote = RemoteCounter::decode(&bytes).expect("as encoded");
        assert_eq!((remote, remote.task()), (counter.remote(), TaskId(0)));
        // A counter serves again and again.
        for _ in 0..2 {
            world.memory.write(0, &[0; MEMORY]).expect("inside");
            let (log, memory) = (Arc::clone(&world.log), world.memory.clone());
            let done = move |_: &Context<Process>, result: Result<(), Error>| {
                assert!(all_there(&memory));
                log.lock().push(Event::Done(1, result));
            };
            counter
                .arm(lowered(), Some(Box::new(done)))
                .expect("at zero");
            assert_eq!(counter.left(), Ok(lowered()));
            assert!(!world.contexts[0].is_at_rest(), "bytes are to come");
            put_parts(&world, remote);
            let (events, errors) = world.settle();
            assert_eq!((events, errors), (vec![Event::Done(1, Ok(()))], vec![]));
            assert_eq!(counter.left(), Ok(0));
            assert!(world.contexts.iter().all(Context::is_at_rest));
        }
        assert_eq!(world.machine.refused(), []);
    }
}

#[test]
fn ep16_a_byte_counter_does_not_end_before_the_last_byte() {
    let world = World::new(&[0, 3, 1], 5, Ordered::Fixed);
    let counter = world.contexts[0].create_counter().expect("memory");
    let arrived = Completion::<Error>::new();
    let armed = counter.arm(lowered() + 1, Some(arrived.callback()));
    armed.expect("at zero");
    put_parts(&world, counter.remote());
    assert_eq!(world.settle(), (vec![], vec![]));
    assert_eq!((counter.left(), arrived.is_complete()), (Ok(1), false));
    let armed = counter.arm(3, None);
    assert_eq!(armed, Err(Error::CounterArmed));
    assert_eq!(counter.left(), Ok(1), "it stays as it was");
    let last = world.put(
        1,
        (world.at(0), 1),
        (PutNotify::Counter(counter.remote()), 0),
    );
    world.contexts[1].put(last).expect("valid");
    world.settle();
    assert_eq!(
        (arrived.is_complete(), arrived.take_result()),
        (true, Ok(()))
    );
}

#[test]
fn ep16_x5_a_byte_counter_of_another_node_or_of_nobody_is_refused() {
    let world = World::new(&[0, 3, 1], 1, Ordered::Fixed);
    let counter = world.contexts[2].create_counter().expect("memory");
    let put = world.put(
        1,
        (world.at(0), 8),
        (PutNotify::Counter(counter.remote()), 0),
    );
    let away = Error::CounterAway {
        task: TaskId(2),
        destination: TaskId(0),
    };
    assert_eq!(world.contexts[1].put(put), Err(away));
    let mut bytes = counter.remote().encode();
    bytes[0] = 9;
    let nobody = RemoteCounter::decode(&bytes).expect("it has the form");
    let put = world.put(1, (world.at(0), 8), (PutNotify::Counter(nobody), 0));
    let unknown = world.contexts[1].put(put);
    assert!(
        matches!(unknown, Err(Error::UnknownTask { .. })),
        "{unknown:?}"
    );
}

#[test]
fn ep16_a_context_that_is_destroyed_ends_the_wait_for_its_counters() {
    let world = World::new(&[0, 3], 1, Ordered::Fixed);
    let before = world.machine.allocated(0);
    let counter = world.contexts[0].create_counter().expect("memory");
    drop(counter);
    assert_eq!(world.machine.allocated(0), before, "one at zero is freed");
    let counter = world.contexts[0].create_counter().expect("memory");
    counter.arm(8, world.done(1)).expect("at zero");
    // One whose wait `advance` has begun, and one whose wait is posted.
    world.settle();
    let other = world.contexts[0].create_counter().expect("memory");
    other.arm(8, world.done(2)).expect("at zero");
    let left = world.contexts[0].destroy().expect_err("work is left");
    assert!(
        matches!(
            left,
            Error::WorkLeft {
                posted: 1,
                operations: 1,
                ..
            }
        ),
        "{left}"
    );
    let ended = std::mem::take(&mut *world.log.lock());
    let destroyed = |number| Event::Done(number, Err(Error::Destroyed));
    assert_eq!(ended, [destroyed(1), destroyed(2)]);
    let armed = other.arm(8, world.done(3));
    assert!(armed.is_err(), "{armed:?}");
    let before = world.machine.allocated(0);
    drop((counter, other));
    // Peers may still decrement the counter: it is not reused.
    assert_eq!(world.machine.allocated(0), before, "both are kept");
}

#[test]
fn ep16_a_target_that_hardware_tells_too_early_is_noticed() {
    // On hardware where the requests overtake the puts, the target would be notified too early.
    let mut early = false;
    for seed in 1..40 {
        let world = World::new(&[0, 3], seed, Ordered::Fixed);
        world.machine.plant(Fault::OvertakingSync);
        let put = world.put(1, (world.at(0), 20_000), told(1));
        world.contexts[1].put(put).expect("valid");
        let (events, _) = world.settle();
        early |= events
            .iter()
            .any(|event| matches!(event, Event::Told(_, false)));
    }
    assert!(early);
}
