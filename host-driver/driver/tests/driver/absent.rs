// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations to contexts that are not open, and get data that its requester refuses, on the test double: each
//! waiting operation ends with an error, and concurrent operations are unaffected.

use std::sync::Arc;

use gyre_driver::{
    Arrival, BufferRange, Client, Context, DoneFn, Endpoint, Error, Fence, Get, Put, PutNotify,
    Receive, Resources, Routing, SendImmediate, SendMessage, TaskId, advancev,
};
use gyre_layout::ErrorReason;
use gyre_layout::registers::refusals;
use gyre_testkit::{Double, Process, config};
use parking_lot::Mutex;

const SINK: u8 = 7;
/// Long enough for a rendezvous.
const LONG: usize = 5000;

type Noted = Vec<(&'static str, Result<(), Error>)>;

/// Tasks on nodes of their own; those that are open have context 0 of three.
struct World {
    machine: Double,
    clients: Vec<Client<Process>>,
    contexts: Mutex<Vec<Context<Process>>>,
    log: Arc<Mutex<Noted>>,
}

impl World {
    fn new(seed: u64, nodes: usize, open: impl Fn(usize) -> bool, resources: Resources) -> Self {
        let machine = Double::new(nodes, seed);
        machine.reorder();
        let nodes: Vec<usize> = (0..nodes).collect();
        let list = machine.tasks(&nodes);
        let clients: Vec<Client<Process>> = nodes
            .iter()
            .map(|&task| {
                let mut config = config(&list, task as u32, resources);
                config.contexts = 3;
                Client::create(&machine.process(task), config).expect("there are resources")
            })
            .collect();
        let world = Self {
            machine,
            clients,
            contexts: Mutex::default(),
            log: Arc::default(),
        };
        for task in nodes.into_iter().filter(|&task| open(task)) {
            world.open(task, 0);
        }
        world
    }

    fn open(&self, task: usize, offset: u8) {
        let context = self.clients[task].create_context(offset).expect("free");
        let machine = self.machine.clone();
        let store = move |_: &Context<Process>, arrival: &Arrival<'_>| Receive::Into {
            into: machine.process(task).buffer(&vec![0; arrival.length]),
            done: None,
        };
        context.set_dispatch(SINK, Box::new(store)).expect("first");
        self.contexts.lock().push(context);
    }

    /// The first open context of a task.
    fn context(&self, task: u32) -> Context<Process> {
        let contexts = self.contexts.lock();
        let of_task = |context: &&Context<Process>| context.task() == TaskId(task);
        contexts.iter().find(of_task).expect("open").clone()
    }

    fn noted(&self, what: &'static str) -> Option<DoneFn<Process>> {
        let log = Arc::clone(&self.log);
        Some(Box::new(move |_, result| log.lock().push((what, result))))
    }

    fn send(&self, from: u32, to: Endpoint, length: usize, what: &'static str) {
        let data = self.machine.process(from as usize).buffer(&vec![5; length]);
        let send = SendMessage {
            remote_done: self.noted(what),
            ..SendMessage::new(to, SINK, data)
        };
        self.context(from).send(send).expect("valid");
    }

    fn put(&self, from: u32, to: Endpoint, what: &'static str) {
        let remote = self.machine.process(to.task().0 as usize).buffer(&[0; 8]);
        let put = Put {
            destination: to,
            data: self.machine.process(from as usize).buffer(&[7; 8]),
            remote: remote.remote_address().expect("a buffer"),
            notify: PutNotify::None,
            local_done: None,
            remote_done: self.noted(what),
        };
        self.context(from).put(put).expect("valid");
        // Kept for the put.
        core::mem::forget(remote);
    }

    fn get(
        &self,
        by: u32,
        from: Endpoint,
        into: BufferRange<gyre_testkit::Memory>,
        what: &'static str,
    ) {
        let remote = self.machine.process(from.task().0 as usize);
        let remote = remote.buffer(&vec![9; into.len()]);
        let get = Get {
            source: from,
            remote: remote.remote_address().expect("a buffer"),
            into,
            routing: Routing::Fixed,
            done: self.noted(what),
        };
        self.context(by).get(get).expect("valid");
        core::mem::forget(remote);
    }

    fn fence(&self, from: u32, destination: Endpoint, what: &'static str) {
        let done = self.noted(what);
        let fence = Fence { destination, done };
        self.context(from).fence(fence).expect("valid");
    }

    fn zeros(&self, task: usize, length: usize) -> BufferRange<gyre_testkit::Memory> {
        self.machine.process(task).buffer(&vec![0; length])
    }

    /// Runs until nothing happens; returns what has been noted since the last time, by name, and the errors
    /// that had no callback.
    fn settle(&self) -> (Noted, Vec<Error>) {
        let contexts = self.contexts.lock();
        let mut errors = Vec::new();
        let mut idle = 0;
        for _ in 0..20_000 {
            if idle == 40 {
                break;
            }
            let moved = self.machine.step();
            idle = if moved { 0 } else { idle + 1 };
            for context in contexts.iter() {
                // It takes note of wake-ups.
                context.wait(Some(1)).expect("not destroyed");
                match context.advance(1) {
                    Ok(progress) if progress.is_idle() => {}
                    Ok(_) => idle = 0,
                    Err(error) => {
                        errors.push(error);
                        idle = 0;
                    }
                }
            }
        }
        assert!(contexts.iter().all(Context::is_at_rest), "somebody waits");
        let mut noted = std::mem::take(&mut *self.log.lock());
        noted.sort_by_key(|(what, _)| *what);
        (noted, errors)
    }
}

fn refused(context: u8) -> Error {
    Error::MessagesRefused {
        peer: TaskId(0),
        context,
        reason: Ok(ErrorReason::PktRecFifo),
    }
}

fn get_refused() -> Error {
    Error::RemoteRefused {
        peer: TaskId(0),
        reason: Ok(ErrorReason::PktInjFifo),
    }
}

#[test]
fn ep3_x5_operations_to_a_context_that_is_not_open_fail() {
    for seed in 1..40 {
        let world = World::new(seed, 3, |_| true, Resources::default());
        let gone = world.context(1).endpoint(TaskId(0), 1).expect("exists");
        let here = world.context(1).endpoint(TaskId(0), 0).expect("exists");
        for (to, names) in [
            (
                gone,
                ["a eager", "b rendezvous", "c put", "d get", "e fence"],
            ),
            (
                here,
                ["v eager", "w rendezvous", "x put", "y get", "z fence"],
            ),
        ] {
            world.send(1, to, 100, names[0]);
            world.send(1, to, LONG, names[1]);
            world.put(1, to, names[2]);
            world.get(1, to, world.zeros(1, LONG), names[3]);
            world.fence(1, to, names[4]);
        }
        world.fence(2, here, "other fence");
        let (noted, errors) = world.settle();
        let lost = Err(refused(1));
        let expected = [
            ("a eager", lost.clone()),
            ("b rendezvous", lost.clone()),
            ("c put", lost),
            ("d get", Err(get_refused())),
            ("other fence", Ok(())),
            ("v eager", Ok(())),
            ("w rendezvous", Ok(())),
            ("x put", Ok(())),
            ("y get", Ok(())),
            ("z fence", Ok(())),
        ];
        // Which of its two parts the fence fails by is a matter of order.
        let (fence, others): (Noted, Noted) =
            noted.into_iter().partition(|(what, _)| *what == "e fence");
        assert_eq!(others, expected, "seed {seed}");
        assert_eq!(fence.len(), 1, "seed {seed}");
        let errs = [Err(refused(1)), Err(get_refused())];
        assert!(errs.contains(&fence[0].1), "seed {seed}: {fence:?}");
        assert_eq!(errors, [], "seed {seed}");
        // Once it is open nothing of that is left.
        world.open(0, 1);
        world.send(1, gone, LONG, "send");
        world.fence(1, gone, "fence");
        let fine = vec![("fence", Ok(())), ("send", Ok(()))];
        assert_eq!(world.settle(), (fine, vec![]), "seed {seed}");
    }
}

#[test]
fn ep3_x5_a_message_that_nobody_waits_for_is_an_error_of_advance() {
    for seed in 1..20 {
        let world = World::new(seed, 2, |_| true, Resources::default());
        let gone = world.context(1).endpoint(TaskId(0), 1).expect("exists");
        let message = SendImmediate::new(gone, SINK);
        world.context(1).send_immediate(&message).expect("valid");
        assert_eq!(world.settle(), (vec![], vec![refused(1)]));
        let fine = world.context(1).endpoint(TaskId(0), 0).expect("exists");
        let message = SendImmediate::new(fine, SINK);
        world.context(1).send_immediate(&message).expect("valid");
        assert_eq!(world.settle(), (vec![], vec![]));
    }
}

#[test]
fn ep3_x5_a_context_that_opens_later_tells_of_what_was_refused_before() {
    for seed in 1..40 {
        let world = World::new(seed, 2, |task| task == 1, Resources::default());
        let to = world.context(1).endpoint(TaskId(0), 0).expect("exists");
        world.send(1, to, 100, "eager");
        world.send(1, to, LONG, "rendezvous");
        world.get(1, to, world.zeros(1, 100), "get");
        let context = world.context(1);
        for _ in 0..1000 {
            world.machine.step();
            context.advance(1).expect("nothing is known yet");
        }
        assert_eq!(*world.log.lock(), []);
        world.open(0, 0);
        // These are taken; whether they were is not known at their origin.
        world.send(1, to, 100, "later");
        world.send(1, to, LONG, "later");
        let (noted, errors) = world.settle();
        assert_eq!(errors, [], "seed {seed}");
        let later = noted.iter().filter(|(what, _)| *what == "later");
        assert_eq!(later.count(), 2);
        let first: Noted = noted
            .into_iter()
            .filter(|(what, _)| *what != "later")
            .collect();
        let expected = [
            ("eager", Err(refused(0))),
            ("get", Err(get_refused())),
            ("rendezvous", Err(refused(0))),
        ];
        assert_eq!(first, expected, "seed {seed}");
        world.send(1, to, LONG, "send");
        world.fence(1, to, "fence");
        let fine = vec![("fence", Ok(())), ("send", Ok(()))];
        assert_eq!(world.settle(), (fine, vec![]), "seed {seed}");
    }
}

#[test]
fn ep3_x5_more_refusals_than_the_node_keeps_leave_nobody_waiting() {
    const NODES: usize = 16;
    for seed in 1..10 {
        let world = World::new(seed, NODES, |_| true, Resources::default());
        for task in 1..NODES as u32 {
            let gone = world.context(task).endpoint(TaskId(0), 1).expect("exists");
            world.send(task, gone, 100, "send");
            world.get(task, gone, world.zeros(task as usize, 8), "get");
            world.fence(task, gone, "fence");
        }
        // Task 0 looks when all has come.
        let contexts: Vec<_> = (1..NODES as u32).map(|task| world.context(task)).collect();
        for _ in 0..2000 {
            world.machine.step();
            advancev(&contexts, 1).expect("nothing is known yet");
        }
        let (noted, _) = world.settle();
        assert_eq!(noted.len(), 3 * (NODES - 1), "seed {seed}");
        assert!(noted.iter().all(|(_, result)| result.is_err()));
    }
}

#[test]
fn x5_only_the_first_open_context_reports_absent_contexts() {
    const NODES: usize = 16;
    let world = World::new(1, NODES, |_| true, Resources::default());
    // Context 2 of task 0 is not open, contexts 0 and 1 are.
    world.open(0, 1);
    for task in 1..NODES as u32 {
        let gone = world.context(task).endpoint(TaskId(0), 2).expect("exists");
        world.send(task, gone, 100, "send");
    }
    let contexts: Vec<_> = (1..NODES as u32).map(|task| world.context(task)).collect();
    for _ in 0..2000 {
        world.machine.step();
        advancev(&contexts, 1).expect("nothing is known yet");
    }
    assert_eq!(world.machine.messages_from(0), 0);
    let (noted, _) = world.settle();
    assert_eq!(noted.len(), NODES - 1);
    // The node has kept as many as it has entries for; of the rest every context of every task hears once.
    let told = refusals::ENTRY_COUNT + 3 * NODES as u64;
    assert_eq!(world.machine.messages_from(0), told);
}

#[test]
fn hw9_x5_get_data_refused_by_the_own_node_fails_the_get() {
    let own = Err(Error::GetDataRefused { peer: TaskId(0) });
    for seed in 1..20 {
        for length in [1, 100, 3000] {
            let world = World::new(seed, 3, |_| true, Resources::default());
            let from = world.context(1).endpoint(TaskId(0), 0).expect("exists");
            // There is no such slot.
            let nowhere = world.machine.process(1).alloc_in_slot(length, 30);
            world.get(1, from, world.zeros(1, length), "a get");
            world.get(1, from, BufferRange::whole(nowhere), "b lost");
            world.get(1, from, world.zeros(1, length), "c get");
            world.get(2, from, world.zeros(2, length), "d other get");
            world.fence(1, from, "e fence");
            let expected = vec![
                ("a get", Ok(())),
                ("b lost", own.clone()),
                ("c get", Ok(())),
                ("d other get", Ok(())),
                ("e fence", Ok(())),
            ];
            assert_eq!(world.settle(), (expected, vec![]), "seed {seed}");
        }
    }
}

#[test]
fn hw9_x5_gets_without_a_counter_that_is_safe_are_refused() {
    let resources = Resources {
        counters: 1,
        ..Resources::default()
    };
    let world = World::new(3, 2, |_| true, resources);
    let from = world.context(1).endpoint(TaskId(0), 0).expect("exists");
    let nowhere = world.machine.process(1).alloc_in_slot(LONG, 30);
    world.get(1, from, BufferRange::whole(nowhere), "lost");
    let lost = ("lost", Err(Error::GetDataRefused { peer: TaskId(0) }));
    assert_eq!(world.settle(), (vec![lost], vec![]));
    world.get(1, from, world.zeros(1, 8), "get");
    let none = ("get", Err(Error::NoCounters));
    assert_eq!(world.settle(), (vec![none], vec![]));
}
