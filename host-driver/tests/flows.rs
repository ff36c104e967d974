//! Ordered-dynamic flows between contexts, on the test double (HW-4): who gets one, what waits for it, that messages
//! and puts stay in order, and that both ends are closed.

mod double;

use std::cell::RefCell;
use std::rc::Rc;

use double::{Double, Process, config};
use gyre_driver::{
    BufferRange, Client, ClientConfig, Context, Error, Fence, Ordered, Put, Receive, Resources,
    SendImmediate, TaskId, advancev,
};
use gyre_layout::ErrorReason;

const SINK: u8 = 9;

type Received = Rc<RefCell<Vec<(u32, u32)>>>;

struct World {
    machine: Double,
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
        machine.reorder();
        machine.diagonal();
        let tasks = machine.tasks(nodes);
        let all: Vec<_> = (0..nodes.len()).collect();
        let received: Vec<Received> = all.iter().map(|_| Received::default()).collect();
        let open = |&task: &usize| {
            let config = ClientConfig {
                ordered,
                ..config(&tasks, task as u32, Resources::default())
            };
            let context = Client::create(&machine.process(nodes[task]), config)
                .and_then(|client| client.create_context(0))
                .expect("the double has the resources");
            let log = Rc::clone(&received[task]);
            let sink = move |_: &Context<Process>, arrival: &gyre_driver::Arrival<'_>| {
                let origin = arrival.origin.task().0;
                log.borrow_mut().push((origin, arrival.tag));
                Receive::Consumed
            };
            context.set_dispatch(SINK, Box::new(sink)).expect("free");
            context
        };
        let contexts = all.iter().map(open).collect();
        Self {
            machine,
            contexts,
            received,
        }
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
        let mut errors = Vec::new();
        let mut idle = 0;
        while idle < 40 {
            let moved = self.machine.step();
            match advancev(&self.contexts, 1) {
                Ok(progress) if !moved && progress.is_idle() => idle += 1,
                Ok(_) => idle = 0,
                Err(error) => {
                    errors.push(error);
                    idle = 0;
                }
            }
        }
        errors
    }

    fn tags(&self, at: usize, from: u32) -> Vec<u32> {
        let received = self.received[at].borrow();
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
            local_done: None,
            remote_done: None,
        };
        context.put(put).expect("valid");
        let seen = Rc::new(RefCell::new(None));
        let log = Rc::clone(&seen);
        let fence = Fence {
            destination,
            done: Some(Box::new(move |_, result| {
                let mut there = vec![0; 4000];
                window.read(0, &mut there).expect("inside");
                *log.borrow_mut() = Some((result, there == [7; 4000]));
            })),
        };
        context.fence(fence).expect("valid");
        assert_eq!(world.settle(), []);
        assert_eq!(seen.take(), Some((Ok(()), true)), "seed {seed}");
        // Eight packets of the put, FENCE, and what asks for the origin's own gets: two flows.
        assert_eq!(world.machine.packets_by_flow(0), 11);
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
    assert_eq!(world.machine.flows(0), (0, 0));
    assert_eq!(world.machine.flows(1), (1, 1));
    world.contexts[1].destroy().expect("nothing is left");
    assert_eq!(world.machine.flows(1), (0, 0));
}

#[test]
fn hw4_x5_what_waits_for_a_context_that_is_not_there_fails_as_by_the_fixed_route() {
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
    // The flow that was asked for is closed; by another task 2 has told.
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
