// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ordered-dynamic flows between contexts, on the test double (HW-4): who gets one, what waits for it, that messages
//! and puts stay in order, and that both ends are closed.

use std::sync::Arc;

use gyre_driver::{
    BufferRange, Client, ClientConfig, Context, Error, Fence, Op, Ordered, Platform, Put,
    PutNotify, Receive, Resources, SendImmediate, TaskId, advancev,
};
use gyre_layout::ErrorReason;
use gyre_layout::registers::{FLOW, flow_page, flow_source};
use gyre_testkit::{Double, Process, config};
use parking_lot::Mutex;

const SINK: u8 = 9;

type Received = Arc<Mutex<Vec<(u32, u32)>>>;

struct World {
    machine: Double,
    clients: Vec<Client<Process>>,
    contexts: Vec<Context<Process>>,
    /// Origin and tag of what has come, of each task.
    received: Vec<Received>,
}

impl World {
    /// A task on each of as many nodes, each with several ways to the others.
    fn new(nodes: usize, seed: u64, ordered: Ordered) -> Self {
        Self::on(&(0..nodes).collect::<Vec<_>>(), seed, ordered)
    }

    /// Task `t` on node `nodes[t]`.
    fn on(nodes: &[usize], seed: u64, ordered: Ordered) -> Self {
        let machine = Double::new(nodes.iter().max().expect("a node") + 1, seed);
        machine.diagonal();
        Self::of(machine, nodes, ordered, 0)
    }

    /// The same on `machine`, with resources of `owner`.
    fn of(machine: Double, nodes: &[usize], ordered: Ordered, owner: u8) -> Self {
        machine.reorder();
        let resources = Resources {
            owner,
            ..Resources::default()
        };
        let tasks = machine.tasks(nodes);
        let client = |(task, &node): (usize, &usize)| {
            let config = ClientConfig {
                ordered,
                ..config(&tasks, task as u32, resources)
            };
            Client::create(&machine.process(node), config).expect("the double has the resources")
        };
        let mut world = Self {
            clients: nodes.iter().enumerate().map(client).collect(),
            machine,
            contexts: Vec::new(),
            received: nodes.iter().map(|_| Received::default()).collect(),
        };
        world.contexts = (0..nodes.len()).map(|task| world.open(task)).collect();
        world
    }

    /// The context of a task that has none.
    fn open(&self, task: usize) -> Context<Process> {
        let context = self.clients[task].create_context(0).expect("free");
        let log = Arc::clone(&self.received[task]);
        let sink = move |_: &Context<Process>, arrival: &gyre_driver::Arrival<'_>| {
            let origin = arrival.origin.task().0;
            log.lock().push((origin, arrival.tag));
            Receive::Consumed
        };
        context.set_dispatch(SINK, Box::new(sink)).expect("free");
        context
    }

    fn send(&self, from: usize, to: usize, tag: u32) {
        let context = &self.contexts[from];
        let destination = context.endpoint(TaskId(to as u32), 0).expect("exists");
        let message = SendImmediate {
            tag,
            data: &[1, 2, 3],
            ..SendImmediate::new(destination, SINK)
        };
        context.send_immediate(&message).expect("valid");
    }

    fn settle(&self) -> Vec<Error> {
        self.settle_from(0)
    }

    /// The same without the contexts of tasks before `first`.
    fn settle_from(&self, first: usize) -> Vec<Error> {
        self.machine.run_until_idle(&self.contexts[first..], 40)
    }

    fn tags(&self, at: usize, from: u32) -> Vec<u32> {
        let received = self.received[at].lock();
        let of = received.iter().filter(|(origin, _)| *origin == from);
        of.map(|&(_, tag)| tag).collect()
    }
}

#[test]
fn hw4_messages_wait_for_the_grant_and_then_go_by_the_flow_in_order() {
    for seed in 1..30 {
        let world = World::new(2, seed, Ordered::Flow);
        for tag in 0..5 {
            world.send(0, 1, tag);
        }
        world.contexts[0].advance(5).expect("no error");
        world.machine.settle();
        // The question alone has left: task 1 has not answered.
        assert_eq!(world.machine.messages_from(0), 1);
        assert_eq!(world.machine.packets_by_flow(0), 0);
        assert!(!world.contexts[0].is_at_rest());
        assert_eq!(world.settle(), []);
        for tag in 5..20 {
            world.send(0, 1, tag);
        }
        assert_eq!(world.settle(), []);
        assert!(world.contexts.iter().all(Context::is_at_rest));
        assert_eq!(world.tags(1, 0), (0..20).collect::<Vec<_>>());
        assert_eq!(world.machine.packets_by_flow(0), 20);
        assert_eq!(world.machine.flows(0), (1, 0));
        assert_eq!(world.machine.flows(1), (0, 1));
    }
}

#[test]
fn hw4_fixed_order_asks_for_nothing() {
    let world = World::new(2, 1, Ordered::Fixed);
    world.send(0, 1, 7);
    assert_eq!(world.settle(), []);
    assert_eq!(world.machine.messages_from(0), 1);
    assert_eq!(world.tags(1, 0), [7]);
    assert_eq!(world.machine.packets_by_flow(0), 0);
}

#[test]
fn hw4_without_a_free_flow_messages_take_the_fixed_route() {
    // A node has four flows each way: five peers are too many for one.
    for seed in 1..10 {
        let world = World::new(6, seed, Ordered::Flow);
        for tag in 0..10 {
            for peer in 1..6 {
                world.send(0, peer, tag);
                world.send(peer, 0, tag);
            }
        }
        assert_eq!(world.settle(), []);
        for peer in 1..6 {
            assert_eq!(world.tags(peer, 0), (0..10).collect::<Vec<_>>());
            assert_eq!(world.tags(0, peer as u32), (0..10).collect::<Vec<_>>());
        }
        assert_eq!(world.machine.packets_by_flow(0), 40);
        assert_eq!(world.machine.flows(0), (4, 4));
        // A refused requester has returned its flow.
        let others: Vec<_> = (1..6).map(|peer| world.machine.flows(peer)).collect();
        let sum = others
            .iter()
            .fold((0, 0), |sum, ends| (sum.0 + ends.0, sum.1 + ends.1));
        assert_eq!(sum, (4, 4));
    }
}

#[test]
fn hw4_fn3_a_fence_follows_puts_that_take_a_flow() {
    for seed in 1..60 {
        let world = World::new(2, seed, Ordered::Flow);
        let window = world.machine.process(1).buffer(&[0; 4000]);
        let remote = window.remote_address().expect("a buffer");
        let context = &world.contexts[0];
        let destination = context.endpoint(TaskId(1), 0).expect("exists");
        let data: BufferRange<_> = world.machine.process(0).buffer(&[7; 4000]);
        let put = Put {
            destination,
            data,
            remote,
            notify: PutNotify::None,
            local_done: None,
            remote_done: None,
        };
        context.put(put).expect("valid");
        let seen = Arc::new(Mutex::new(None));
        let log = Arc::clone(&seen);
        let fence = Fence {
            destination,
            done: Some(Box::new(move |_, result| {
                let mut there = vec![0; 4000];
                window.read(0, &mut there).expect("inside");
                *log.lock() = Some((result, there == [7; 4000]));
            })),
        };
        context.fence(fence).expect("valid");
        assert_eq!(world.settle(), []);
        assert_eq!(seen.lock().take(), Some((Ok(()), true)), "seed {seed}");
        // Eight packets of the put, FENCE, and the put of no bytes: two flows.
        assert_eq!(world.machine.packets_by_flow(0), 10);
        assert_eq!(world.machine.flows(0), (2, 1));
    }
}

#[test]
fn hw4_ep3_contexts_that_are_destroyed_close_their_ends() {
    let world = World::new(2, 5, Ordered::Flow);
    world.send(0, 1, 1);
    world.send(1, 0, 2);
    assert_eq!(world.settle(), []);
    assert_eq!(world.machine.flows(0), (1, 1));
    world.contexts[0].destroy().expect("nothing is left");
    // Task 1 may go on sending: to who comes after.
    assert_eq!(world.machine.flows(0), (0, 1));
    assert_eq!(world.machine.flows(1), (1, 1));
    world.contexts[1].destroy().expect("nothing is left");
    assert_eq!(world.machine.flows(1), (0, 1));
    for client in world.clients {
        client.destroy().expect("nothing is left");
    }
    assert_eq!(
        (world.machine.flows(0), world.machine.flows(1)),
        ((0, 0), (0, 0))
    );
}

#[test]
fn hw4_ep3_a_context_whose_client_is_gone_closes_its_ends() {
    let mut world = World::new(2, 5, Ordered::Flow);
    world.send(0, 1, 1);
    world.send(1, 0, 2);
    assert_eq!(world.settle(), []);
    world.clients.clear();
    for node in 0..2 {
        assert_eq!(world.machine.flows(node), (1, 1));
        world.contexts[node].destroy().expect("nothing is left");
        assert_eq!(world.machine.flows(node), (0, 0));
    }
}

#[test]
fn hw4_ep3_a_context_opened_anew_gets_what_peers_send_by_their_flows() {
    let mut world = World::new(2, 5, Ordered::Flow);
    for tag in 0..5 {
        world.send(0, 1, tag);
        assert_eq!(world.settle(), []);
        world.contexts[1].destroy().expect("nothing is left");
        world.contexts[1] = world.open(1);
    }
    assert_eq!(world.tags(1, 0), (0..5).collect::<Vec<_>>());
    assert_eq!(world.machine.packets_by_flow(0), 5);
    // It closes the end that it has from the first one.
    world.clients.clear();
    world.contexts[1].destroy().expect("nothing is left");
    assert_eq!(world.machine.flows(1), (0, 0));
}

#[test]
fn hw4_x5_a_peer_learns_that_what_it_sends_by_a_flow_is_refused() {
    // Task 2 stands for task 1 on its node.
    let mut world = World::on(&[0, 1, 1], 5, Ordered::Flow);
    world.send(0, 1, 0);
    assert_eq!(world.settle(), []);
    world.contexts[1].destroy().expect("nothing is left");
    for tag in 1..20 {
        world.send(0, 1, tag);
    }
    let mut errors = Vec::new();
    for _ in 0..2000 {
        world.machine.step();
        errors.extend(advancev(&[world.contexts[0].clone(), world.contexts[2].clone()], 1).err());
    }
    let refused = Error::MessagesRefused {
        peer: TaskId(1),
        context: 0,
        reason: Ok(ErrorReason::PktRecFifo),
    };
    assert!(
        !errors.is_empty() && errors.iter().all(|error| *error == refused),
        "{errors:?}"
    );
    assert!(world.contexts[0].is_at_rest());
    world.contexts[1] = world.open(1);
    world.send(0, 1, 20);
    assert_eq!(world.settle(), []);
    assert_eq!(world.tags(1, 0), [0, 20]);
}

/// Answers to questions of the context before it may be on their way.
#[test]
fn hw4_ep3_a_context_may_be_destroyed_and_opened_anew_at_any_time() {
    for seed in 1..400 {
        let mut world = World::new(2, seed, Ordered::Flow);
        let mut random = seed;
        let mut below = |n| {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (random >> 33) % n
        };
        for tag in 0..12 {
            world.send(0, 1, tag);
            for _ in 0..below(30) {
                world.machine.step();
                if below(2) == 0 {
                    world.contexts[below(2) as usize]
                        .advance(1)
                        .expect("no error");
                }
            }
            if below(3) == 0 {
                // What has not left is given up; what has goes on.
                let moving = world.machine.clone();
                world.machine.set_hook(move |_| {
                    moving.step();
                });
                let end = world.contexts[0].destroy();
                world.machine.clear_hook();
                assert!(
                    matches!(end, Ok(()) | Err(Error::WorkLeft { .. })),
                    "{end:?}"
                );
                world.contexts[0] = world.open(0);
            }
        }
        world.send(0, 1, 12);
        assert_eq!(world.settle(), []);
        let tags = world.tags(1, 0);
        assert!(
            tags.is_sorted() && tags.last() == Some(&12),
            "seed {seed}: {tags:?}"
        );
    }
}

#[test]
fn hw4_x5_operations_to_an_absent_context_fail_as_on_fixed_routes() {
    // Task 2 stands for task 1 on its node.
    let world = World::on(&[0, 1, 1], 5, Ordered::Flow);
    world.contexts[1].destroy().expect("nothing is left");
    world.send(0, 1, 1);
    let mut errors = Vec::new();
    // Threads that never wait look for errors now and then.
    for _ in 0..2000 {
        world.machine.step();
        errors.extend(advancev(&[world.contexts[0].clone(), world.contexts[2].clone()], 1).err());
    }
    let reason = Ok(ErrorReason::PktRecFifo);
    let refused = Error::MessagesRefused {
        peer: TaskId(1),
        context: 0,
        reason,
    };
    assert_eq!(errors, [refused]);
    assert!(world.contexts[0].is_at_rest());
    // The requested flow is closed; task 2 has reported it by another.
    assert_eq!(world.machine.flows(0), (0, 1));
}

#[test]
fn hw4_ep3_a_context_is_destroyed_while_its_question_is_open() {
    let world = World::new(2, 5, Ordered::Flow);
    world.send(0, 1, 1);
    world.contexts[0].advance(3).expect("no error");
    world.machine.settle();
    assert_eq!(world.machine.flows(0), (1, 0));
    let end = world.contexts[0].destroy();
    assert!(
        matches!(end, Err(Error::WorkLeft { waiting: 1, .. })),
        "{end:?}"
    );
    assert_eq!(world.machine.flows(0), (0, 0));
}

/// The request is in the reception FIFO of a context that is no longer advanced.
#[test]
fn hw4_ep3_a_flow_request_lost_with_its_context_is_repeated() {
    for opened_anew in [false, true] {
        // Task 2 stands for task 1 on its node.
        let mut world = World::on(&[0, 1, 1], 5, Ordered::Flow);
        world.send(0, 1, 1);
        world.contexts[0].advance(3).expect("no error");
        world.machine.settle();
        let moving = world.machine.clone();
        world.machine.set_hook(move |_| {
            moving.step();
        });
        let end = world.contexts[1].destroy();
        world.machine.clear_hook();
        assert!(
            matches!(end, Ok(()) | Err(Error::WorkLeft { .. })),
            "{end:?}"
        );
        if opened_anew {
            world.contexts[1] = world.open(1);
        }
        let mut open = world.contexts.clone();
        open.retain(|context| context.task() != TaskId(1) || opened_anew);
        let mut errors = Vec::new();
        // Threads that never wait look for errors now and then.
        for _ in 0..2000 {
            world.machine.step();
            errors.extend(advancev(&open, 1).err());
        }
        assert!(world.contexts[0].is_at_rest(), "opened anew: {opened_anew}");
        // It has arrived, or the origin knows that it has not.
        let arrived = world.tags(1, 0).len();
        assert_eq!(arrived + errors.len(), 1, "opened anew: {opened_anew}");
    }
}

#[test]
fn hw4_ep3_a_client_that_is_dropped_closes_the_ends_that_it_keeps() {
    let mut world = World::new(2, 5, Ordered::Flow);
    world.send(0, 1, 1);
    assert_eq!(world.settle(), []);
    world.contexts[1].destroy().expect("nothing is left");
    assert_eq!(world.machine.flows(1), (0, 1));
    world.contexts.clear();
    world.clients.clear();
    assert_eq!(world.machine.flows(1), (0, 0));
}

#[test]
fn hw4_where_there_is_one_shortest_way_nothing_is_asked_for() {
    let world = World::of(Double::new(3, 5), &[0, 1, 2], Ordered::Flow, 0);
    world.send(0, 1, 1);
    assert_eq!(world.settle(), []);
    assert_eq!(world.tags(1, 0), [1]);
    assert_eq!(world.machine.messages_from(0), 1);
    assert_eq!(world.machine.flows(0), (0, 0));
}

#[test]
fn hw4_a_flow_belongs_to_the_owner_of_the_injection_fifos() {
    let machine = Double::new(2, 5);
    machine.diagonal();
    machine.own(5);
    let world = World::of(machine, &[0, 1], Ordered::Flow, 5);
    world.send(0, 1, 1);
    assert_eq!(world.settle(), []);
    assert_eq!(world.tags(1, 0), [1]);
    assert_eq!(world.machine.packets_by_flow(0), 1);
}

/// More often than a node has flows.
#[test]
fn hw4_ep3_a_context_that_asks_anew_gets_the_end_of_the_one_before_it() {
    let mut world = World::new(3, 5, Ordered::Flow);
    world.send(2, 1, 0);
    for tag in 0..6 {
        world.send(0, 1, tag);
        assert_eq!(world.settle(), []);
        assert_eq!(world.machine.packets_by_flow(0), u64::from(tag) + 1);
        assert_eq!(world.machine.flows(0), (1, 0));
        // One of task 0, and one of task 2, which stays open.
        assert_eq!(world.machine.flows(1), (0, 2));
        world.contexts[0].destroy().expect("nothing is left");
        world.contexts[0] = world.open(0);
    }
    world.send(2, 1, 1);
    assert_eq!(world.settle(), []);
    assert_eq!(world.machine.packets_by_flow(2), 2);
    assert_eq!(world.tags(1, 0), (0..6).collect::<Vec<_>>());
}

/// The answer names a flow that has to be closed and opened again: in between others may take it.
#[test]
fn hw4_a_flow_taken_before_it_reopens_stays_with_its_new_owner() {
    for accesses in 0..3 {
        let world = World::new(3, 5, Ordered::Flow);
        let (machine, process) = (world.machine.clone(), world.machine.process(0));
        // Opened, closed, and so many accesses after that.
        let (mut asked, mut closed) = (false, 0);
        world.machine.set_hook(move |op| {
            if op != Op::Register {
                return;
            }
            match (asked, machine.flows(0).0) {
                (false, open) => asked = open == 1,
                (true, 0) if closed <= accesses => closed += 1,
                _ => return,
            }
            if closed == accesses + 1 {
                let other = machine.process(2).machine.tasks(&[2]);
                let peer = other.location(TaskId(0)).expect("exists").node;
                let peer = u64::from(peer.pack().expect("a node"));
                let ctrl = FLOW + flow_page::source(0) + flow_source::CTRL;
                let value = flow_source::ctrl::OPEN.put(1) | flow_source::ctrl::PEER.put(peer);
                process.write_reg(ctrl, value).expect("it is free");
                closed += 1;
            }
        });
        for tag in 0..5 {
            world.send(0, 1, tag);
        }
        assert_eq!(world.settle(), []);
        world.machine.clear_hook();
        assert_eq!(world.tags(1, 0), (0..5).collect::<Vec<_>>());
        // It is closed, looked at and written: after that it is the context's own.
        let taken = accesses < 2;
        let by_flow = if taken { 0 } else { 5 };
        assert_eq!(world.machine.packets_by_flow(0), by_flow);
        assert!(world.contexts[0].is_at_rest());
        world.contexts[0].destroy().expect("nothing is left");
        assert_eq!(world.machine.flows(0), (usize::from(taken), 0));
    }
}

#[test]
fn hw4_ep3_a_flow_is_closed_when_its_last_packets_have_arrived() {
    let world = World::new(2, 5, Ordered::Flow);
    world.send(0, 1, 0);
    assert_eq!(world.settle(), []);
    for tag in 1..20 {
        world.send(0, 1, tag);
    }
    while !world.contexts[0].is_at_rest() {
        world.machine.step();
        world.contexts[0].advance(1).expect("no error");
    }
    assert!(world.tags(1, 0).len() < 20);
    // Packets go on arriving while the context waits for them.
    let moving = world.machine.clone();
    world.machine.set_hook(move |_| {
        moving.step();
    });
    world.contexts[0].destroy().expect("nothing is left");
    world.machine.clear_hook();
    assert_eq!(world.machine.flows(0), (0, 0));
    assert_eq!(world.settle_from(1), []);
    assert_eq!(world.tags(1, 0), (0..20).collect::<Vec<_>>());
}
