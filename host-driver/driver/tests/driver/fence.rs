// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fences on the test double: whatever is under way between two endpoints, and however the classes of the
//! network overtake each other, a fence ends after everything before it and not later than it must.

mod under_way;
mod world;

use std::collections::BTreeSet;
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{
    Client, ClientConfig, Context, Error, Fence, Get, Receive, Resources, SendMessage, TaskId,
    advancev,
};
use gyre_testkit::{Double, Fault, Process, config};
use world::{Operation, Random, SINK, STRIDE, World, small, transport};

/// A random program between `tasks` tasks, with fences in between. Gives the violations.
fn run(nodes: &[usize], seed: u64, fault: Option<Fault>) -> Vec<String> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9) | 1);
    let count = 60;
    let eager_limit = [0, 700, 1 << 20][random.below(3)];
    let world = World::new(nodes, seed, eager_limit, count);
    if let Some(fault) = fault {
        world.machine.plant(fault);
    }
    let tasks = nodes.len();
    let mut before = vec![vec![Vec::new(); tasks]; tasks];
    let mut fences = 0;
    for id in 0..count {
        let (from, to) = (random.below(2), random.below(tasks));
        let length = [1, 40, 512, 513, 2000, STRIDE][random.below(6)];
        let kind = random.below(6);
        let length = if kind == 2 { length.min(300) } else { length };
        let operation = Operation { id, kind, length };
        world.start(from, to, operation);
        before[from][to].push(operation);
        if random.below(4) == 0 {
            // Also pairs that have nothing to wait for.
            let to = random.below(tasks);
            world.fence(from, to, &before[from][to]);
            fences += 1;
        }
        // Traffic goes on while operations are posted.
        for _ in 0..random.below(20) {
            world.machine.step();
        }
        if random.below(2) == 0 {
            let context = &world.contexts[random.below(tasks)];
            context.advance(random.below(3)).expect("no error");
        }
    }
    world.settle().expect("no error");
    assert_eq!(world.fences.load(), fences, "a fence did not end");
    for (from, row) in before.iter().enumerate() {
        for (to, operations) in row.iter().enumerate() {
            let incomplete = world.check(from, to, operations)();
            assert_eq!(incomplete, [""; 0], "not complete at the end");
        }
    }
    for context in &world.contexts {
        assert!(context.is_at_rest());
        context.destroy().expect("at rest");
    }
    std::mem::take(&mut *world.early.lock())
}

#[test]
fn fn1_fn4_fn6_a_fence_ends_after_everything_before_it() {
    for seed in 1..150 {
        let early = run(&[0, 1, 2], seed, None);
        assert_eq!(early, [""; 0], "seed {seed}");
    }
}

#[test]
fn fn7_fences_hold_between_tasks_of_one_node() {
    for seed in 1..60 {
        let early = run(&[0, 0, 1], seed, None);
        assert_eq!(early, [""; 0], "seed {seed}");
    }
}

#[test]
fn fn1_ak4_a_fence_waits_for_acknowledgements_that_come_as_copies() {
    // Both origins lie on one path of the third task, which acknowledges by the path rule.
    for seed in (2..600).step_by(3) {
        let early = run(&[1, 2, 0], seed, None);
        assert_eq!(early, [""; 0], "seed {seed}");
    }
}

/// Puts of a row, of six packets each.
const PUTS: usize = 8;

/// A row of puts, then a fence. Returns the puts that the fence did not wait for.
fn fenced_puts(seed: u64, fault: Option<Fault>) -> Vec<String> {
    let world = World::new(&[0, 1], seed, 700, PUTS);
    if let Some(fault) = fault {
        world.machine.plant(fault);
    }
    let puts: [_; PUTS] = std::array::from_fn(|id| Operation {
        id,
        kind: 3,
        length: STRIDE,
    });
    for put in puts {
        world.start(0, 1, put);
    }
    world.fence(0, 1, &puts);
    world.settle().expect("no error");
    assert_eq!(world.fences.load(), 1);
    assert_eq!(world.check(0, 1, &puts)(), [""; 0]);
    std::mem::take(&mut *world.early.lock())
}

#[test]
fn fn1_a_planted_early_fence_is_caught() {
    let seeds = 1..400;
    let caught = |fault| {
        let early = |seed: &u64| !fenced_puts(*seed, fault).is_empty();
        seeds.clone().filter(early).count()
    };
    assert_eq!(caught(None), 0);
    let overtaken = caught(Some(Fault::OvertakingSync));
    assert!(overtaken >= 200, "{overtaken} of 399 seeds show it");
}

#[test]
fn fn5_a_fence_waits_for_its_target_and_lets_other_traffic_go_on() {
    let world = World::new(&[0, 1], 3, 700, 4);
    let operation = |id, kind| Operation {
        id,
        kind,
        length: 2000,
    };
    world.start(0, 1, operation(0, 0));
    world.fence(0, 1, &[operation(0, 0)]);
    world.start(0, 1, operation(1, 3));
    for _ in 0..200 {
        world.machine.step();
        world.contexts[0].advance(1).expect("no error");
    }
    // The put needs no software at the target; the fence does.
    let put = world.check(0, 1, &[operation(1, 3)]);
    assert_eq!(put(), [""; 0]);
    assert_eq!(world.fences.load(), 0);
    world.settle().expect("no error");
    assert_eq!(world.fences.load(), 1);
    assert_eq!(*world.early.lock(), [""; 0]);
}

#[test]
fn fn8_control_messages_of_a_fence_do_not_grow_with_what_it_covers() {
    // FENCE and FENCE_ACK; after puts, a zero-length get with its put.
    for (kind, expected) in [(0, 2), (3, 4)] {
        let mut packets = BTreeSet::new();
        for count in [1, 10, 50] {
            let world = World::new(&[0, 1], 3, 1 << 20, 50);
            let operations: Vec<_> = (0..count)
                .map(|id| Operation {
                    id,
                    kind,
                    length: 300,
                })
                .collect();
            for &operation in &operations {
                world.start(0, 1, operation);
            }
            world.settle().expect("no error");
            let before = world.machine.packets();
            world.fence(0, 1, &operations);
            world.settle().expect("no error");
            assert_eq!(world.fences.load(), 1);
            packets.insert(world.machine.packets() - before);
        }
        assert_eq!(packets, BTreeSet::from([expected]));
    }
}

#[test]
fn fn2_memory_of_fences_grows_with_their_number_alone() {
    // Bytes of a fence with or without an earlier get, in a context with these byte counters; the get uses one.
    let each_of = |gets: bool, counters| {
        let machine = Double::new(2, 1);
        let resources = Resources {
            counters,
            ..small()
        };
        let contexts = machine.contexts(&[0, 1], resources);
        let destination = contexts[0].endpoint(TaskId(1), 0).expect("exists");
        let bytes = || contexts[0].fence_bytes().expect("nobody advances");
        let window = machine.process(1).buffer(&[3; 100]);
        if gets {
            let get = Get {
                source: destination,
                remote: window.remote_address().expect("a buffer"),
                into: machine.process(0).buffer(&[0; 100]),
                routing: gyre_driver::Routing::Fixed,
                done: None,
            };
            contexts[0].get(get).expect("valid");
        }
        let mut each = BTreeSet::new();
        for fences in 1..4 {
            let before = bytes();
            let fence = Fence {
                destination,
                done: None,
            };
            contexts[0].fence(fence).expect("valid");
            contexts[0].advance(1).expect("no error");
            each.insert(bytes() - before);
            assert!(bytes() < fences * 512, "{} B", bytes());
        }
        assert_eq!(machine.run_until_idle(&contexts, 40), []);
        assert_eq!(bytes(), 0);
        assert_eq!(each.len(), 1, "{each:?}");
        each.pop_first()
    };
    // The get before the fence's own counts, with or without a counter.
    assert!(each_of(false, 1) < each_of(true, 1));
    assert!(each_of(false, 8) < each_of(true, 8));
}

#[test]
fn fn6_fence_all_covers_every_endpoint_of_every_task() {
    for seed in 1..20 {
        let nodes: Vec<_> = (0..20).map(|task| task % 4).collect();
        let machine = Double::new(4, seed);
        machine.reorder();
        let tasks = machine.tasks(&nodes);
        let resources = Resources {
            slots_per_process: 0,
            ..small()
        };
        let contexts: Vec<_> = (0..nodes.len())
            .map(|task| {
                let config = ClientConfig {
                    same_node: transport(seed),
                    ..config(&tasks, task as u32, resources)
                };
                Client::create(&machine.process(nodes[task]), config)
                    .and_then(|client| client.create_context(0))
                    .expect("the double has the resources")
            })
            .collect();
        let received = Arc::new(AtomicCell::new(0_usize));
        for context in &contexts {
            let received = Arc::clone(&received);
            let dispatch = move |context: &Context<Process>, arrival: &gyre_driver::Arrival<'_>| {
                let received = Arc::clone(&received);
                Receive::Into {
                    into: context.platform().buffer(&vec![0; arrival.length]),
                    done: Some(Box::new(move |_, _| {
                        received.fetch_add(1);
                    })),
                }
            };
            context
                .set_dispatch(SINK, Box::new(dispatch))
                .expect("first use");
        }
        for task in 0..20 {
            let endpoint = contexts[0].endpoint(TaskId(task), 0).expect("exists");
            let data = machine.process(0).buffer(&[5; 5000]);
            contexts[0]
                .send(SendMessage::new(endpoint, SINK, data))
                .expect("valid");
        }
        let (at_fence, count) = (Arc::new(AtomicCell::new(None)), Arc::clone(&received));
        let seen = Arc::clone(&at_fence);
        contexts[0]
            .fence_all(Some(Box::new(move |_, result| {
                result.expect("no error");
                seen.store(Some(count.load()));
            })))
            .expect("valid");
        for _ in 0..20_000 {
            machine.step();
            advancev(&contexts, 1).expect("no error");
            if at_fence.load().is_some() {
                break;
            }
        }
        assert_eq!(at_fence.load(), Some(20), "seed {seed}");
    }
}

#[test]
fn fn2_fn6_fence_all_has_at_most_sixteen_fences_in_flight() {
    for tasks in [17, 40] {
        let machine = Double::new(tasks, 1);
        let nodes: Vec<_> = (0..tasks).collect();
        let mut contexts = machine.contexts(&nodes, small());
        // The last task fences without a response.
        let context = contexts.pop().expect("there are many");
        let ended = Arc::new(AtomicCell::new(false));
        let seen = Arc::clone(&ended);
        let done = move |_: &Context<Process>, result: Result<(), Error>| {
            result.expect("no error");
            seen.store(true);
        };
        context.fence_all(Some(Box::new(done))).expect("valid");
        for _ in 0..500 {
            machine.step();
            context.advance(1).expect("no error");
        }
        assert_eq!(machine.messages_from(tasks - 1), 16, "{tasks} tasks");
        contexts.push(context);
        assert_eq!(machine.run_until_idle(&contexts, 40), []);
        assert!(ended.load());
    }
}

#[test]
fn fn6_fence_all_waits_for_every_context_of_every_task() {
    // Context 0 of task 0 fences; one of the others looks at nothing until it has to.
    for late in 1..6 {
        let machine = Double::new(3, 1);
        let tasks = machine.tasks(&[0, 1, 2]);
        let mut contexts = Vec::new();
        for task in 0..3 {
            let config = ClientConfig {
                contexts: 2,
                ..config(&tasks, task, small())
            };
            let client = Client::create(&machine.process(task as usize), config)
                .expect("the double has the resources");
            contexts.extend((0..2).map(|offset| client.create_context(offset).expect("free")));
        }
        let ended = Arc::new(AtomicCell::new(false));
        let seen = Arc::clone(&ended);
        contexts[0]
            .fence_all(Some(Box::new(move |_, result| {
                result.expect("no error");
                seen.store(true);
            })))
            .expect("valid");
        let run = |contexts: &[Context<Process>]| {
            for _ in 0..500 {
                machine.step();
                advancev(contexts, 1).expect("no error");
            }
            ended.load()
        };
        let idle = contexts.remove(late);
        assert!(!run(&contexts), "not waited for: {late}");
        contexts.push(idle);
        assert!(run(&contexts), "never ends: {late}");
    }
}
