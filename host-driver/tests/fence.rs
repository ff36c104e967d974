//! Fences on the test double: whatever is under way between two endpoints, and however the classes of the
//! network overtake each other, a fence ends after everything before it and not later than it must.

mod double;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use double::{Double, Fault, Process, config};
use gyre_driver::{
    AckConfig, BufferRange, Client, ClientConfig, Context, Error, Fence, Get, Put, Receive,
    Resources, SameNode, SendImmediate, SendMessage, TaskId, advancev,
};

const SINK: u8 = 9;
/// Bytes that operation `id` may write or read in a target's window.
const STRIDE: usize = 3000;

fn small() -> Resources {
    Resources {
        injection_ring: 4096,
        remote_get_ring: 4096,
        reception_ring: 8192,
        counters: 6,
        ..Resources::default()
    }
}

/// Every other pair of seeds goes through shared memory on a node.
fn transport(seed: u64) -> SameNode {
    if seed & 2 == 0 {
        SameNode::Loopback
    } else {
        SameNode::SharedMemory
    }
}

/// A random source of the test's own.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 33) as usize % n
    }
}

fn bytes_of(id: usize, length: usize) -> Vec<u8> {
    (0..length).map(|i| (id * 37 + i * 11 + 1) as u8).collect()
}

/// An operation from one task to another, and how to see that it has completed.
#[derive(Clone, Copy)]
struct Operation {
    id: usize,
    kind: usize,
    length: usize,
}

/// What has happened, by (origin, target, operation).
#[derive(Default)]
struct Seen {
    received: BTreeSet<(u32, u32, usize)>,
    acknowledged: BTreeSet<(u32, u32, usize)>,
    fetched: BTreeSet<(u32, u32, usize)>,
}

struct World {
    machine: Double,
    contexts: Vec<Context<Process>>,
    nodes: Vec<usize>,
    /// Window of every (target, origin) pair.
    windows: Vec<Vec<BufferRange<double::Memory>>>,
    seen: Rc<RefCell<Seen>>,
    /// Violations of a fence.
    early: Rc<RefCell<Vec<String>>>,
    fences: Rc<Cell<usize>>,
}

impl World {
    fn new(nodes: &[usize], seed: u64, eager_limit: usize, operations: usize) -> Self {
        let machine = Double::new(nodes.iter().max().map_or(1, |n| n + 1), seed);
        machine.reorder();
        // Paths as long as can be.
        machine.cut();
        let tasks = machine.tasks(nodes);
        let contexts: Vec<_> = (0..nodes.len())
            .map(|task| {
                let config = ClientConfig {
                    eager_limit,
                    same_node: transport(seed),
                    ack: match seed % 3 {
                        0 => AckConfig::default(),
                        1 => AckConfig::immediate(),
                        _ => AckConfig::by_path(4),
                    },
                    ..config(&tasks, task as u32, small())
                };
                Client::create(&machine.process(nodes[task]), config)
                    .and_then(|client| client.create_context(0))
                    .expect("the double has the resources")
            })
            .collect();
        let windows = nodes
            .iter()
            .map(|&node| {
                (0..nodes.len())
                    .map(|_| machine.process(node).buffer(&vec![0; operations * STRIDE]))
                    .collect()
            })
            .collect();
        let seen = Rc::<RefCell<Seen>>::default();
        for (target, context) in contexts.iter().enumerate() {
            let seen = Rc::clone(&seen);
            let dispatch = move |context: &Context<Process>, arrival: &gyre_driver::Arrival<'_>| {
                let key = (arrival.origin.task().0, target as u32, arrival.tag as usize);
                let expected = bytes_of(key.2, arrival.length);
                if let Some(data) = arrival.immediate {
                    assert_eq!(data, expected);
                    assert!(seen.borrow_mut().received.insert(key), "received twice");
                    return Receive::Consumed;
                }
                let into = context.platform().buffer(&vec![0; arrival.length + 8]);
                let (copy, seen) = (into.clone(), Rc::clone(&seen));
                Receive::Into {
                    into,
                    done: Some(Box::new(move |_, result| {
                        result.expect("it fits");
                        let mut data = vec![0; expected.len()];
                        copy.read(0, &mut data).expect("inside");
                        assert_eq!(data, expected);
                        assert!(seen.borrow_mut().received.insert(key), "received twice");
                    })),
                }
            };
            context
                .set_dispatch(SINK, Box::new(dispatch))
                .expect("first use");
        }
        Self {
            machine,
            contexts,
            nodes: nodes.to_vec(),
            windows,
            seen,
            early: Rc::default(),
            fences: Rc::default(),
        }
    }

    /// Starts an operation of `from` at `to`.
    fn start(&self, from: usize, to: usize, operation: Operation) {
        let Operation { id, kind, length } = operation;
        let context = &self.contexts[from];
        let endpoint = context.endpoint(TaskId(to as u32), 0).expect("exists");
        let key = (from as u32, to as u32, id);
        let process = self.machine.process(self.nodes[from]);
        let window = &self.windows[to][from];
        let at = window
            .part(id * STRIDE, length)
            .expect("inside")
            .remote_address()
            .expect("a buffer");
        let acknowledged = || -> Option<gyre_driver::DoneFn<Process>> {
            let seen = Rc::clone(&self.seen);
            Some(Box::new(move |_, result| {
                result.expect("no error");
                assert!(seen.borrow_mut().acknowledged.insert(key), "done twice");
            }))
        };
        let data = bytes_of(id, length);
        match kind {
            0 | 1 => context.send(SendMessage {
                tag: id as u32,
                header: vec![7; id % 5],
                remote_done: if kind == 1 { acknowledged() } else { None },
                ..SendMessage::new(endpoint, SINK, process.buffer(&data))
            }),
            2 => context.send_immediate(&SendImmediate {
                tag: id as u32,
                data: &data[..length.min(300)],
                ..SendImmediate::new(endpoint, SINK)
            }),
            3 | 4 => context.put(Put {
                destination: endpoint,
                data: process.buffer(&data),
                remote: at,
                local_done: None,
                remote_done: if kind == 4 { acknowledged() } else { None },
            }),
            _ => {
                window.write(id * STRIDE, &data).expect("inside");
                let into = process.buffer(&vec![0; length]);
                let (copy, seen) = (into.clone(), Rc::clone(&self.seen));
                context.get(Get {
                    source: endpoint,
                    remote: at,
                    into,
                    done: Some(Box::new(move |_, result| {
                        result.expect("no error");
                        let mut got = vec![0; copy.len()];
                        copy.read(0, &mut got).expect("inside");
                        assert_eq!(got, data);
                        assert!(seen.borrow_mut().fetched.insert(key), "done twice");
                    })),
                })
            }
        }
        .expect("valid");
    }

    /// A check of what `operations` of `from` at `to` have left behind; gives those that are not complete.
    fn check(
        &self,
        from: usize,
        to: usize,
        operations: &[Operation],
    ) -> impl FnOnce() -> Vec<String> + use<> {
        let (window, seen) = (self.windows[to][from].clone(), Rc::clone(&self.seen));
        let operations = operations.to_vec();
        move || {
            let seen = seen.borrow();
            operations
                .iter()
                .filter(|operation| {
                    let key = (from as u32, to as u32, operation.id);
                    let mut put = vec![0; operation.length];
                    window
                        .read(operation.id * STRIDE, &mut put)
                        .expect("inside");
                    let complete = match operation.kind {
                        0 | 2 => seen.received.contains(&key),
                        1 => seen.received.contains(&key) && seen.acknowledged.contains(&key),
                        3 => put == bytes_of(operation.id, operation.length),
                        4 => {
                            put == bytes_of(operation.id, operation.length)
                                && seen.acknowledged.contains(&key)
                        }
                        _ => seen.fetched.contains(&key),
                    };
                    !complete
                })
                .map(|o| format!("{from} -> {to}: operation {} of kind {}", o.id, o.kind))
                .collect()
        }
    }

    fn fence(&self, from: usize, to: usize, operations: &[Operation]) {
        let check = self.check(from, to, operations);
        let (early, fences) = (Rc::clone(&self.early), Rc::clone(&self.fences));
        let context = &self.contexts[from];
        let destination = context.endpoint(TaskId(to as u32), 0).expect("exists");
        context
            .fence(Fence {
                destination,
                done: Some(Box::new(move |_, result| {
                    result.expect("no error");
                    early.borrow_mut().extend(check());
                    fences.set(fences.get() + 1);
                })),
            })
            .expect("valid");
    }

    /// Runs until nothing happens.
    fn settle(&self) -> Result<(), Error> {
        let mut idle = 0;
        while idle < 40 {
            let mut moved = false;
            for _ in 0..3 {
                moved |= self.machine.step();
            }
            let progress = advancev(&self.contexts, 1)?;
            idle = if moved || !progress.is_idle() {
                0
            } else {
                idle + 1
            };
        }
        Ok(())
    }
}

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
    assert_eq!(world.fences.get(), fences, "a fence did not end");
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
    world.early.take()
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

/// A row of puts with a fence behind them. Gives the puts that the fence did not wait for.
fn fenced_puts(seed: u64, fault: Option<Fault>) -> Vec<String> {
    const PUTS: usize = 8;
    let world = World::new(&[0, 1], seed, 700, PUTS);
    if let Some(fault) = fault {
        world.machine.plant(fault);
    }
    let puts = [0, 1, 2, 3, 4, 5, 6, 7].map(|id| Operation {
        id,
        kind: 3,
        length: STRIDE,
    });
    for put in puts {
        world.start(0, 1, put);
    }
    world.fence(0, 1, &puts);
    world.settle().expect("no error");
    assert_eq!(world.fences.get(), 1);
    assert_eq!(world.check(0, 1, &puts)(), [""; 0]);
    world.early.take()
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
    // The put needs nobody's software; the fence does.
    let put = world.check(0, 1, &[operation(1, 3)]);
    assert_eq!(put(), [""; 0]);
    assert_eq!(world.fences.get(), 0);
    world.settle().expect("no error");
    assert_eq!(world.fences.get(), 1);
    assert_eq!(*world.early.borrow(), [""; 0]);
}

#[test]
fn fn8_control_messages_of_a_fence_do_not_grow_with_what_it_covers() {
    let mut packets = BTreeSet::new();
    for sends in [1, 10, 50] {
        let world = World::new(&[0, 1], 3, 1 << 20, 50);
        let operations: Vec<_> = (0..sends)
            .map(|id| Operation {
                id,
                kind: 0,
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
        assert_eq!(world.fences.get(), 1);
        packets.insert(world.machine.packets() - before);
    }
    // FENCE, FENCE_ACK, and two gets of no bytes with their puts.
    assert_eq!(packets, BTreeSet::from([6]));
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
        let received = Rc::new(Cell::new(0));
        for context in &contexts {
            let received = Rc::clone(&received);
            let dispatch = move |context: &Context<Process>, arrival: &gyre_driver::Arrival<'_>| {
                let received = Rc::clone(&received);
                Receive::Into {
                    into: context.platform().buffer(&vec![0; arrival.length]),
                    done: Some(Box::new(move |_, _| received.set(received.get() + 1))),
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
        let (at_fence, count) = (Rc::new(Cell::new(None)), Rc::clone(&received));
        let seen = Rc::clone(&at_fence);
        contexts[0]
            .fence_all(Some(Box::new(move |_, result| {
                result.expect("no error");
                seen.set(Some(count.get()));
            })))
            .expect("valid");
        for _ in 0..20_000 {
            machine.step();
            advancev(&contexts, 1).expect("no error");
            if at_fence.get().is_some() {
                break;
            }
        }
        assert_eq!(at_fence.get(), Some(20), "seed {seed}");
    }
}
