// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks on the test double with operations between them, and fences that are checked against those.

use std::collections::BTreeSet;
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{
    AckConfig, BufferRange, Client, ClientConfig, Context, Error, Fence, Get, Ordered, Put,
    PutNotify, Receive, Resources, SameNode, SendImmediate, SendMessage, TaskId, advancev,
};
use parking_lot::Mutex;

use crate::checked::into_checked;
use gyre_testkit::{Double, Process, config};

pub const SINK: u8 = 9;
/// Bytes that operation `id` may write or read in a target's window.
pub const STRIDE: usize = 3000;

pub fn small() -> Resources {
    Resources {
        injection_ring: 4096,
        remote_get_ring: 4096,
        reception_ring: 8192,
        counters: 6,
        ..Resources::default()
    }
}

/// Every other pair of seeds goes through shared memory on a node.
pub fn transport(seed: u64) -> SameNode {
    if seed & 2 == 0 {
        SameNode::Loopback
    } else {
        SameNode::SharedMemory
    }
}

/// Every other four seeds go by ordered-dynamic flows.
pub fn ordered(seed: u64) -> Ordered {
    if seed & 4 == 0 {
        Ordered::Fixed
    } else {
        Ordered::Flow
    }
}

/// A random source of the test's own.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 33) as usize % n
    }
}

fn bytes_of(id: usize, length: usize) -> Vec<u8> {
    (0..length).map(|i| (id * 37 + i * 11 + 1) as u8).collect()
}

/// An operation from one task to another, and how to see that it has completed.
#[derive(Clone, Copy)]
pub struct Operation {
    pub id: usize,
    pub kind: usize,
    pub length: usize,
}

/// Completed operations, by (origin, target, operation).
#[derive(Default)]
struct Seen {
    received: BTreeSet<(u32, u32, usize)>,
    acknowledged: BTreeSet<(u32, u32, usize)>,
    fetched: BTreeSet<(u32, u32, usize)>,
}

pub struct World {
    pub machine: Double,
    pub contexts: Vec<Context<Process>>,
    nodes: Vec<usize>,
    /// Window of every (target, origin) pair.
    windows: Vec<Vec<BufferRange<gyre_testkit::Memory>>>,
    seen: Arc<Mutex<Seen>>,
    /// Violations of a fence.
    pub early: Arc<Mutex<Vec<String>>>,
    pub fences: Arc<AtomicCell<usize>>,
}

impl World {
    pub fn new(nodes: &[usize], seed: u64, eager_limit: usize, operations: usize) -> Self {
        let machine = Double::new(nodes.iter().max().map_or(1, |n| n + 1), seed);
        machine.reorder();
        // Paths as long as can be.
        machine.cut();
        if ordered(seed) == Ordered::Flow {
            machine.diagonal();
        }
        let tasks = machine.tasks(nodes);
        let contexts: Vec<_> = (0..nodes.len())
            .map(|task| {
                let config = ClientConfig {
                    eager_limit,
                    same_node: transport(seed),
                    ordered: ordered(seed),
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
        let seen = Arc::<Mutex<Seen>>::default();
        for (target, context) in contexts.iter().enumerate() {
            let seen = Arc::clone(&seen);
            let dispatch = move |context: &Context<Process>, arrival: &gyre_driver::Arrival<'_>| {
                let key = (arrival.origin.task().0, target as u32, arrival.tag as usize);
                let expected = bytes_of(key.2, arrival.length);
                let insert = move |seen: &Mutex<Seen>| {
                    assert!(seen.lock().received.insert(key), "received twice");
                };
                if let Some(data) = arrival.immediate {
                    assert_eq!(data, expected);
                    insert(&seen);
                    return Receive::Consumed;
                }
                let seen = Arc::clone(&seen);
                into_checked(context, expected, move || insert(&seen))
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
            early: Arc::default(),
            fences: Arc::default(),
        }
    }

    /// Starts an operation of `from` at `to`.
    pub fn start(&self, from: usize, to: usize, operation: Operation) {
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
            let seen = Arc::clone(&self.seen);
            Some(Box::new(move |_, result| {
                result.expect("no error");
                assert!(seen.lock().acknowledged.insert(key), "done twice");
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
                notify: PutNotify::None,
                local_done: None,
                remote_done: if kind == 4 { acknowledged() } else { None },
            }),
            _ => {
                window.write(id * STRIDE, &data).expect("inside");
                let into = process.buffer(&vec![0; length]);
                let (copy, seen) = (into.clone(), Arc::clone(&self.seen));
                context.get(Get {
                    source: endpoint,
                    remote: at,
                    into,
                    routing: gyre_driver::Routing::Fixed,
                    done: Some(Box::new(move |_, result| {
                        result.expect("no error");
                        let mut got = vec![0; copy.len()];
                        copy.read(0, &mut got).expect("inside");
                        assert_eq!(got, data);
                        assert!(seen.lock().fetched.insert(key), "done twice");
                    })),
                })
            }
        }
        .expect("valid");
    }

    /// Checks the effects of `operations` of `from` at `to`; returns the incomplete ones.
    pub fn check(
        &self,
        from: usize,
        to: usize,
        operations: &[Operation],
    ) -> impl FnOnce() -> Vec<String> + use<> {
        let (window, seen) = (self.windows[to][from].clone(), Arc::clone(&self.seen));
        let operations = operations.to_vec();
        move || {
            let seen = seen.lock();
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

    pub fn fence(&self, from: usize, to: usize, operations: &[Operation]) {
        let check = self.check(from, to, operations);
        let (early, fences) = (Arc::clone(&self.early), Arc::clone(&self.fences));
        let context = &self.contexts[from];
        let destination = context.endpoint(TaskId(to as u32), 0).expect("exists");
        context
            .fence(Fence {
                destination,
                done: Some(Box::new(move |_, result| {
                    result.expect("no error");
                    early.lock().extend(check());
                    fences.fetch_add(1);
                })),
            })
            .expect("valid");
    }

    /// Runs until nothing happens.
    pub fn settle(&self) -> Result<(), Error> {
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
