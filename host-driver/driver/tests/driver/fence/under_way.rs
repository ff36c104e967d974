// SPDX-License-Identifier: MIT OR Apache-2.0
//! A fence waits for all operations started before it, and for no others.

use std::collections::BTreeSet;
use std::sync::Arc;

use gyre_driver::{
    Client, ClientConfig, Completion, Context, Error, Fence, Put, PutNotify, Receive,
    RemoteAddress, SendMessage, TaskId, advancev,
};
use gyre_testkit::{Double, Fault, Process, config};
use parking_lot::Mutex;

use super::world::{Operation, Random, SINK, STRIDE, World, small};
use super::{PUTS, fenced_puts};

/// By the fixed route; every message is acknowledged by itself.
const PLAIN: u64 = 1;
/// All messages go by rendezvous.
const NEVER_EAGER: usize = 0;

const SEND: usize = 0;
const PUT: usize = 3;
const PUT_ACKNOWLEDGED: usize = 4;
const GET: usize = 5;

fn operation(id: usize, kind: usize, length: usize) -> Operation {
    Operation { id, kind, length }
}

/// Operations of one kind, whose ids begin at `first`.
fn operations<const N: usize>(first: usize, kind: usize) -> [Operation; N] {
    std::array::from_fn(|at| operation(first + at, kind, STRIDE))
}

/// Packets until everything has ended.
fn packets(world: &World, work: impl FnOnce()) -> u64 {
    let before = world.machine.packets();
    work();
    world.settle().expect("no error");
    assert_eq!(*world.early.lock(), [""; 0]);
    world.machine.packets() - before
}

/// Packets of a fence of task `to` with nothing before it.
fn idle_fence(world: &World, to: usize) -> u64 {
    let ended = world.fences.load();
    let packets = packets(world, || world.fence(0, to, &[]));
    assert_eq!(world.fences.load(), ended + 1);
    packets
}

/// Lets some things happen.
fn go_on(world: &World, random: &mut Random) {
    for _ in 0..random.below(30) {
        world.machine.step();
        if random.below(3) == 0 {
            advancev(&world.contexts, 1).expect("no error");
        }
    }
}

#[test]
fn fn8_a_fence_with_nothing_before_it_takes_two_messages() {
    // By loop-back as well.
    for nodes in [[0, 1], [0, 0]] {
        let world = World::new(&nodes, PLAIN, 700, 1);
        for _ in 0..3 {
            assert_eq!(idle_fence(&world, 1), 2, "{nodes:?}");
        }
    }
    // Through shared memory one way of FENCE is left.
    let world = World::new(&[0, 0], 3, 700, 1);
    assert_eq!(idle_fence(&world, 1), 1);
    // By flows, once they are open.
    let world = World::new(&[0, 1], 5, 700, 1);
    idle_fence(&world, 1);
    assert_eq!(idle_fence(&world, 1), 2);
    // To itself.
    let world = World::new(&[0], PLAIN, 700, 1);
    assert_eq!(idle_fence(&world, 0), 2);
}

#[test]
fn fn1_fn8_a_fence_takes_messages_for_what_is_under_way_alone() {
    let cost = |kinds: &[usize], count: usize, settles: bool| {
        let run = |fenced| {
            let world = World::new(&[0, 1], PLAIN, NEVER_EAGER, 50);
            packets(&world, || {
                let all: Vec<_> = (0..count)
                    .map(|id| operation(id, kinds[id % kinds.len()], 300))
                    .collect();
                for &operation in &all {
                    world.start(0, 1, operation);
                }
                if settles {
                    world.settle().expect("no error");
                }
                if fenced {
                    world.fence(0, 1, &all);
                }
            })
        };
        run(true) - run(false)
    };
    for (kinds, settles, expected) in [
        (&[SEND][..], true, 2),
        // The target gets its data.
        (&[SEND], false, 4),
        (&[GET], true, 2),
        (&[GET], false, 4),
        // Only the fence reports the puts.
        (&[PUT], true, 4),
        (&[PUT], false, 4),
        (&[PUT, PUT_ACKNOWLEDGED, SEND], false, 4),
        (&[PUT, GET], false, 6),
        (&[PUT, GET, SEND], false, 6),
    ] {
        let costs: BTreeSet<u64> = [3, 10, 50].map(|n| cost(kinds, n, settles)).into();
        let expected = BTreeSet::from([expected]);
        assert_eq!(costs, expected, "{kinds:?}, settles: {settles}");
    }
}

#[test]
fn fn1_fn8_a_fence_ignores_gets_from_others_and_peer_messages() {
    // A get of the fencing task's from a third task; a message from the peer, whose data it fetches.
    for (from, to, kind) in [(0, 2, GET), (1, 0, SEND)] {
        let run = |fenced| {
            let world = World::new(&[0, 1, 2], PLAIN, NEVER_EAGER, 1);
            packets(&world, || {
                world.start(from, to, operation(0, kind, STRIDE));
                // Until the data is requested.
                advancev(&world.contexts, 1).expect("no error");
                while kind == SEND && world.machine.packets() < 2 {
                    world.machine.step();
                    advancev(&world.contexts, 1).expect("no error");
                }
                if fenced {
                    world.fence(0, 1, &[]);
                }
            })
        };
        assert_eq!(run(true) - run(false), 2, "from {from} to {to}");
    }
}

#[test]
fn fn1_a_fence_that_denies_puts_is_caught() {
    // The puts have six packets each; FENCE follows.
    let deny = Fault::FlipAt {
        packet: PUTS as u64 * 6,
        at: 8,
    };
    let seeds = (1..400).filter(|seed| seed & 4 == 0);
    let early = seeds
        .clone()
        .filter(|&seed| !fenced_puts(seed, Some(deny)).is_empty());
    let (early, all) = (early.count(), seeds.count());
    assert!(2 * early > all, "{early} of {all} seeds show it");
}

#[test]
fn fn1_puts_and_fences_in_turn_are_each_waited_for() {
    for seed in 1..200 {
        let world = World::new(&[0, 1], seed, 700, 12);
        let mut random = Random(seed);
        let mut before = Vec::new();
        for id in 0..12 {
            let put = operation(id, PUT, STRIDE);
            world.start(0, 1, put);
            before.push(put);
            // The second has the same to wait for while the first is not answered.
            for _ in 0..1 + random.below(2) {
                world.fence(0, 1, &before);
                go_on(&world, &mut random);
            }
            if random.below(3) == 0 {
                world.settle().expect("no error");
                world.fence(0, 1, &before);
            }
        }
        world.settle().expect("no error");
        assert_eq!(*world.early.lock(), [""; 0], "seed {seed}");
    }
}

#[test]
fn fn1_a_put_behind_a_fence_under_way_is_left_to_the_next() {
    for seed in 1..100 {
        let world = World::new(&[0, 1], seed, 700, 12);
        let all = operations::<12>(0, PUT);
        world.start(0, 1, all[0]);
        world.fence(0, 1, &all[..1]);
        // It has left, and its answer has not come.
        for _ in 0..3 {
            world.contexts[0].advance(1).expect("no error");
        }
        assert_eq!(world.fences.load(), 0);
        for &put in &all[1..] {
            world.start(0, 1, put);
        }
        while world.fences.load() == 0 {
            world.machine.step();
            advancev(&world.contexts, 1).expect("no error");
        }
        world.fence(0, 1, &all);
        world.settle().expect("no error");
        assert_eq!(*world.early.lock(), [""; 0], "seed {seed}");
        assert_eq!(world.fences.load(), 2);
    }
}

#[test]
fn fn1_fn6_fences_wait_for_puts_to_their_own_endpoint() {
    for seed in 1..150 {
        let world = World::new(&[0, 1, 2], seed, 700, 8);
        let (near, far) = (operations::<4>(0, PUT), operations::<4>(4, PUT));
        for put in near {
            world.start(0, 1, put);
        }
        // Task 1 does nothing: the fence of the other ends all the same.
        world.fence(0, 2, &[]);
        for _ in 0..200 {
            world.machine.step();
            for task in [0, 2] {
                world.contexts[task].advance(1).expect("no error");
            }
        }
        assert_eq!(world.fences.load(), 1, "seed {seed}");
        for put in far {
            world.start(0, 2, put);
        }
        world.fence(0, 1, &near);
        world.fence(0, 2, &far);
        world.settle().expect("no error");
        assert_eq!(world.fences.load(), 3);
        assert_eq!(*world.early.lock(), [""; 0], "seed {seed}");
    }
}

#[test]
fn fn1_fn6_puts_to_several_are_kept_in_mind_until_a_fence_of_all() {
    let world = World::new(&[0, 1, 2], PLAIN, 700, 2);
    let [first, second] = operations(0, PUT);
    let fence_all = || {
        let done = Completion::new();
        let callback = Some(done.callback());
        let packets = packets(&world, || {
            world.contexts[0].fence_all(callback).expect("valid");
        });
        assert_eq!(done.take_result(), Ok(()));
        packets
    };
    assert_eq!(fence_all(), 3 * 2, "nothing before it");
    packets(&world, || {
        for (to, put) in [(1, first), (2, second)] {
            world.start(0, to, put);
        }
        for (to, put) in [(1, first), (2, second)] {
            world.fence(0, to, &[put]);
        }
    });
    // Their targets are not recorded.
    assert_eq!(idle_fence(&world, 1), 4);
    assert_eq!(fence_all(), 3 * 4);
    for to in [0, 1, 2] {
        assert_eq!(idle_fence(&world, to), 2);
    }
    assert_eq!(fence_all(), 3 * 2);
    // One alone is over with its own fence, be it a part of the one of all.
    world.start(0, 2, second);
    assert_eq!(fence_all(), 2 * 2 + 4 + STRIDE.div_ceil(512) as u64);
    assert_eq!(idle_fence(&world, 2), 2);
}

#[test]
fn fn6_fence_all_covers_earlier_puts_and_no_later_ones() {
    for seed in 1..150 {
        let world = World::new(&[0, 1, 2], seed, 700, 4);
        let mut random = Random(seed);
        let [a, b, late, last] = operations(0, PUT);
        world.start(0, 1, a);
        world.start(0, 2, b);
        let checks = [world.check(0, 1, &[a]), world.check(0, 2, &[b])];
        let (early, ended) = (Arc::clone(&world.early), Completion::new());
        let end = ended.callback();
        let done = move |context: &Context<Process>, result| {
            early.lock().extend(checks.into_iter().flat_map(|c| c()));
            end(context, result);
        };
        world.contexts[0]
            .fence_all(Some(Box::new(done)))
            .expect("valid");
        go_on(&world, &mut random);
        world.start(0, 1, late);
        while !ended.is_complete() {
            world.machine.step();
            advancev(&world.contexts, 1).expect("no error");
        }
        assert_eq!(ended.take_result(), Ok(()));
        world.fence(0, 1, &[a, late]);
        world.start(0, 2, last);
        world.fence(0, 2, &[b, last]);
        world.settle().expect("no error");
        assert_eq!(world.fences.load(), 2);
        assert_eq!(*world.early.lock(), [""; 0], "seed {seed}");
    }
}

#[test]
fn fn3_a_fence_waits_for_data_and_acknowledgements_of_messages() {
    for seed in 1..150 {
        let world = World::new(&[0, 1], seed, NEVER_EAGER, 4);
        let mut random = Random(seed);
        for id in 0..4 {
            let send = operation(id, 1, STRIDE);
            world.start(0, 1, send);
            // The data of the previous one has landed, is in flight, or has not been requested.
            go_on(&world, &mut random);
            let before: Vec<_> = (0..=id).map(|id| operation(id, 1, STRIDE)).collect();
            world.fence(0, 1, &before);
        }
        world.settle().expect("no error");
        assert_eq!(world.fences.load(), 4);
        assert_eq!(*world.early.lock(), [""; 0], "seed {seed}");
    }
}

#[test]
fn fn1_a_fence_behind_gets_waits_for_them() {
    for seed in 1..150 {
        let world = World::new(&[0, 1, 2], seed, 700, 12);
        let mut random = Random(seed);
        let mut before = Vec::new();
        // More than there are counters.
        for get in operations::<12>(0, GET) {
            world.start(0, 1, get);
            before.push(get);
            if random.below(3) == 0 {
                go_on(&world, &mut random);
                world.fence(0, 1, &before);
            }
        }
        world.fence(0, 1, &before);
        // Those of another endpoint are nothing to it.
        world.contexts[0].advance(1).expect("no error");
        let sent = world.machine.messages_from(0);
        world.fence(0, 2, &[]);
        world.settle().expect("no error");
        assert!(world.machine.messages_from(0) > sent);
        assert_eq!(*world.early.lock(), [""; 0], "seed {seed}");
    }
}

type Ends = Arc<Mutex<Vec<Result<(), Error>>>>;

/// Fences task 1, however it ends.
fn fence_into(world: &World, ends: &Ends) {
    let ends = Arc::clone(ends);
    let context = &world.contexts[0];
    let fence = Fence {
        destination: context.endpoint(TaskId(1), 0).expect("exists"),
        done: Some(Box::new(move |_, result| ends.lock().push(result))),
    };
    context.fence(fence).expect("valid");
}

#[test]
fn fn1_x5_a_refused_put_is_told_by_the_fence_behind_it_and_no_other() {
    const REFUSED: Result<(), Error> = Err(Error::PutsRefused { peer: TaskId(1) });
    for seed in 1..60 {
        let world = World::new(&[0, 1], seed, 700, 1);
        let lost = || {
            let context = &world.contexts[0];
            let put = Put {
                destination: context.endpoint(TaskId(1), 0).expect("exists"),
                data: world.machine.process(0).buffer(&[1; 100]),
                // There is no such slot.
                remote: RemoteAddress {
                    slot: 30,
                    offset: 0,
                },
                notify: PutNotify::None,
                local_done: None,
                remote_done: None,
            };
            context.put(put).expect("valid");
        };
        let settled = |ends: &Ends| {
            world.settle().expect("no error");
            std::mem::take(&mut *ends.lock())
        };
        let ends = Ends::default();
        lost();
        fence_into(&world, &ends);
        assert_eq!(settled(&ends), [REFUSED], "seed {seed}");
        fence_into(&world, &ends);
        assert_eq!(settled(&ends), [Ok(())], "seed {seed}");
        // In a row.
        fence_into(&world, &ends);
        lost();
        fence_into(&world, &ends);
        fence_into(&world, &ends);
        world.start(0, 1, operation(0, PUT, STRIDE));
        fence_into(&world, &ends);
        let told = settled(&ends);
        assert_eq!(told, [Ok(()), REFUSED, Ok(()), Ok(())], "seed {seed}");
    }
}

#[test]
fn fn1_x5_a_fence_that_failed_leaves_the_puts_before_it_to_the_next() {
    let world = World::new(&[0, 1], PLAIN, 700, 1);
    // Requests of the target.
    world.machine.plant(Fault::RefuseSync(0));
    let ends = Ends::default();
    world.start(0, 1, operation(0, PUT, STRIDE));
    fence_into(&world, &ends);
    let errors = world.machine.run_until_idle(&world.contexts, 400);
    assert!(!errors.is_empty(), "node 0 has refused a descriptor");
    let failed = Error::FenceFailed { peer: TaskId(1) };
    assert_eq!(std::mem::take(&mut *ends.lock()), [Err(failed)]);
    assert_eq!(idle_fence(&world, 1), 4);
    assert_eq!(idle_fence(&world, 1), 2);
}

/// Tasks 0 and 1 on nodes of their own, with contexts 0 and 1 each.
fn two_contexts_each(seed: u64) -> (Double, [[Context<Process>; 2]; 2]) {
    let machine = Double::new(2, seed);
    machine.reorder();
    let tasks = machine.tasks(&[0, 1]);
    let contexts = [0, 1].map(|task| {
        let config = ClientConfig {
            contexts: 2,
            ..config(&tasks, task, small())
        };
        let process = machine.process(task as usize);
        let client = Client::create(&process, config).expect("there are resources");
        [0, 1].map(|offset| client.create_context(offset).expect("free"))
    });
    (machine, contexts)
}

#[test]
fn fn1_ep1_puts_are_those_of_one_context_to_another() {
    let (machine, contexts) = two_contexts_each(1);
    let all: Vec<_> = contexts.iter().flatten().cloned().collect();
    let window = machine.process(1).buffer(&[0; 100]);
    let put = Put {
        destination: contexts[0][0].endpoint(TaskId(1), 1).expect("exists"),
        data: machine.process(0).buffer(&[7; 100]),
        remote: window.remote_address().expect("a buffer"),
        notify: PutNotify::None,
        local_done: None,
        remote_done: None,
    };
    contexts[0][0].put(put).expect("valid");
    assert_eq!(machine.run_until_idle(&all, 40), []);
    let cost = |from: usize, to: u8| {
        let before = machine.packets();
        let done = Completion::new();
        let context = &contexts[0][from];
        let fence = Fence {
            destination: context.endpoint(TaskId(1), to).expect("exists"),
            done: Some(done.callback()),
        };
        context.fence(fence).expect("valid");
        assert_eq!(machine.run_until_idle(&all, 40), []);
        assert_eq!(done.take_result(), Ok(()));
        machine.packets() - before
    };
    for (from, to, expected) in [(0, 0, 2), (1, 0, 2), (1, 1, 2), (0, 1, 4), (0, 1, 2)] {
        assert_eq!(cost(from, to), expected, "context {from} to {to}");
    }
}

#[test]
fn fn1_x5_a_fence_after_a_refused_message_fails() {
    for seed in 1..40 {
        let machine = Double::new(2, seed);
        machine.reorder();
        let tasks = machine.tasks(&[0, 1]);
        let [origin, target] = [0, 1].map(|task| {
            let config = config(&tasks, task, small());
            Client::create(&machine.process(task as usize), config).expect("there are resources")
        });
        let context = origin.create_context(0).expect("free");
        let destination = context.endpoint(TaskId(1), 0).expect("exists");
        let data = machine.process(0).buffer(&[3; 40]);
        context
            .send(SendMessage::new(destination, SINK, data))
            .expect("valid");
        // The target does not exist.
        while machine.packets() == 0 {
            context.advance(1).expect("no error");
            machine.step();
        }
        machine.settle();
        let late = target.create_context(0).expect("free");
        let taken = |_: &Context<Process>, _: &gyre_driver::Arrival<'_>| Receive::Consumed;
        late.set_dispatch(SINK, Box::new(taken)).expect("first use");
        let done = Completion::new();
        let fence = Fence {
            destination,
            done: Some(done.callback()),
        };
        context.fence(fence).expect("valid");
        // FENCE is there before the target looks at anything.
        while machine.packets() == 1 {
            context.advance(1).expect("no error");
            machine.step();
        }
        machine.settle();
        assert_eq!(machine.run_until_idle(&[context, late], 40), []);
        let told = done.take_result();
        let refused = matches!(told, Err(Error::MessagesRefused { .. }));
        assert!(refused, "seed {seed}: {told:?}");
    }
}
