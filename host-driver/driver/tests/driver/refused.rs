// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts and read-modify-writes that the node of their target refuses, on the test double: each ends with an
//! error, nothing that was refused passes for done, and nobody else is told.

use std::sync::Arc;

use gyre_driver::{
    Arrival, BufferRange, Client, Context, DoneFn, Error, Fence, MemoryRegion, Put, PutNotify,
    Receive, RegionRights, RemoteAddress, RemoteRegion, Resources, Rmw, RmwOp, RmwWidth, Rput,
    SendImmediate, TaskId, advancev,
};
use gyre_layout::ErrorReason;
use gyre_testkit::{Double, Fault, Process, config};
use parking_lot::Mutex;

type Noted = Vec<(&'static str, Result<(), Error>)>;

/// Task 0 and others; task 0, on a node of its own, has regions.
struct World {
    machine: Double,
    nodes: Vec<usize>,
    contexts: Vec<Context<Process>>,
    /// Valid as long as it lives.
    region: MemoryRegion<Process>,
    /// Revoked.
    gone: RemoteRegion,
    log: Arc<Mutex<Noted>>,
}

impl World {
    fn new(seed: u64, nodes: &[usize], counters: u16) -> Self {
        let machine = Double::new(nodes.iter().max().expect("a node") + 1, seed);
        machine.reorder();
        let list = machine.tasks(nodes);
        let resources = Resources {
            counters,
            ..Resources::default()
        };
        let clients: Vec<Client<Process>> = (0..nodes.len())
            .map(|task| {
                let config = config(&list, task as u32, resources);
                Client::create(&machine.process(nodes[task]), config).expect("there are resources")
            })
            .collect();
        let contexts = clients
            .iter()
            .map(|client| client.create_context(0).expect("free"));
        let contexts = contexts.collect();
        let region = |range: &BufferRange<gyre_testkit::Memory>| {
            clients[0]
                .create_region(range, RegionRights::ALL)
                .expect("a slot is free")
        };
        let dead = region(&machine.process(0).buffer(&[0; 64]));
        let gone = dead.remote();
        let region = region(&machine.process(0).buffer(&[0; 64]));
        dead.destroy().expect("it exists");
        Self {
            machine,
            nodes: nodes.to_vec(),
            contexts,
            region,
            gone,
            log: Arc::default(),
        }
    }

    fn noted(&self, what: &'static str) -> Option<DoneFn<Process>> {
        let log = Arc::clone(&self.log);
        Some(Box::new(move |_, result| log.lock().push((what, result))))
    }

    fn put(&self, from: usize, region: RemoteRegion, remote_done: Option<DoneFn<Process>>) {
        let context = &self.contexts[from];
        let rput = Rput {
            destination: context.endpoint(TaskId(0), 0).expect("exists"),
            data: self.machine.process(self.nodes[from]).buffer(&[7; 8]),
            region,
            offset: 8,
            notify: PutNotify::None,
            local_done: None,
            remote_done,
        };
        context.rput(rput).expect("valid");
    }

    /// Adds one to the first word of the region.
    fn add(
        &self,
        from: usize,
        region: RemoteRegion,
        fetch: bool,
        done: Option<DoneFn<Process>>,
    ) -> Option<BufferRange<gyre_testkit::Memory>> {
        let context = &self.contexts[from];
        let buffer = || self.machine.process(self.nodes[from]).buffer(&[9; 8]);
        let result = fetch.then(buffer);
        let rmw = Rmw {
            destination: context.endpoint(TaskId(0), 0).expect("exists"),
            region,
            offset: 0,
            op: RmwOp::Add,
            width: RmwWidth::Eight,
            value: 1,
            test: None,
            result: result.clone(),
            done,
        };
        context.rmw(rmw).expect("valid");
        result
    }

    fn fence(&self, from: usize, what: &'static str) {
        let context = &self.contexts[from];
        let destination = context.endpoint(TaskId(0), 0).expect("exists");
        let fence = Fence {
            destination,
            done: self.noted(what),
        };
        context.fence(fence).expect("valid");
    }

    /// Runs until nothing happens; returns what has been noted since the last time, by name, and the errors
    /// that had no callback.
    fn settle(&self) -> (Noted, Vec<Error>) {
        let errors = self.machine.run_until_idle(&self.contexts, 40);
        assert!(self.contexts.iter().all(Context::is_at_rest));
        let mut noted = std::mem::take(&mut *self.log.lock());
        noted.sort_by_key(|(what, _)| *what);
        (noted, errors)
    }

    /// The same where every error has its callback.
    fn settled(&self) -> Noted {
        let (noted, errors) = self.settle();
        assert_eq!(errors, []);
        noted
    }

    /// The counter of task 0.
    fn word(&self) -> u64 {
        let mut word = [0; 8];
        self.region.range().read(0, &mut word).expect("inside");
        u64::from_le_bytes(word)
    }
}

const PUTS: Result<(), Error> = Err(Error::PutsRefused { peer: TaskId(0) });
const RMW: Result<(), Error> = Err(Error::RmwRefused { peer: TaskId(0) });

#[test]
fn fn1_x5_refused_puts_fail_their_callbacks_and_one_fence() {
    // An innocent peer on a node of its own, and one on the node of the culprit.
    for nodes in [[0, 1, 2], [0, 1, 1]] {
        for seed in 1..40 {
            let world = World::new(seed, &nodes, 256);
            let region = world.region.remote();
            // Refused operations are posted between accepted ones, without waiting.
            world.put(1, region, world.noted("1 landed"));
            world.put(1, world.gone, world.noted("2 lost"));
            world.put(2, region, world.noted("8 other landed"));
            world.put(1, region, world.noted("3 landed"));
            world.fence(1, "4 fence");
            world.fence(2, "9 other fence");
            world.put(1, region, world.noted("5 landed"));
            world.fence(1, "6 fence");
            let expected = [
                ("1 landed", Ok(())),
                ("2 lost", PUTS),
                ("3 landed", Ok(())),
                ("4 fence", PUTS),
                ("5 landed", Ok(())),
                ("6 fence", Ok(())),
                ("8 other landed", Ok(())),
                ("9 other fence", Ok(())),
            ];
            assert_eq!(world.settled(), expected, "seed {seed}");
        }
    }
}

/// Task 0 has a context on node 3 and task 1 one on node 2, where they are not the first process.
#[test]
fn ep15_x5_refused_puts_between_away_endpoints_are_reported() {
    for seed in 1..20 {
        let machine = Double::new(4, seed);
        machine.reorder();
        let list = machine.tasks(&[0, 1, 2, 3]);
        let coord = |node: u32| list.location(TaskId(node)).expect("exists").node;
        let list = (*list).clone();
        let (of_0, of_1) = (coord(3), coord(2));
        let list = list.with_away(TaskId(0), 1..2, of_0).expect("free");
        let list = Arc::new(list.with_away(TaskId(1), 1..2, of_1).expect("free"));
        let clients: Vec<Client<Process>> = [(0, 0), (0, 3), (1, 1), (1, 2), (2, 2), (3, 3)]
            .map(|(task, node)| {
                let mut config = config(&list, task, Resources::default());
                config.contexts = 2;
                Client::create(&machine.process(node), config).expect("there are resources")
            })
            .into();
        // Of the tasks that have one elsewhere, only that.
        let contexts: Vec<_> = clients
            .iter()
            .zip([0, 1, 0, 1, 0, 0])
            .map(|(client, offset)| client.create_context(offset).expect("free"))
            .collect();
        let memory = machine.process(3).buffer(&[0; 64]);
        let there = memory.remote_address().expect("a buffer");
        // There is no such slot.
        let nowhere = RemoteAddress { slot: 30, ..there };
        let log: Arc<Mutex<Noted>> = Arc::default();
        let noted = |what: &'static str| -> Option<DoneFn<Process>> {
            let log = Arc::clone(&log);
            Some(Box::new(move |_, result| log.lock().push((what, result))))
        };
        for (from, names) in [
            (3, ["1 put", "2 lost", "4 fence"]),
            (2, ["5 put", "", "6 fence"]),
        ] {
            let context = &contexts[from];
            let destination = context.endpoint(TaskId(0), 1).expect("exists");
            for (what, remote) in [(names[0], there), (names[1], nowhere)] {
                let put = Put {
                    destination,
                    data: machine.process(from - 1).buffer(&[7; 8]),
                    remote,
                    notify: PutNotify::None,
                    local_done: None,
                    remote_done: noted(what),
                };
                if !what.is_empty() {
                    context.put(put).expect("valid");
                }
            }
            let done = noted(names[2]);
            let fence = Fence { destination, done };
            context.fence(fence).expect("valid");
        }
        let mut idle = 0;
        while idle < 40 {
            let moved = machine.step();
            let progress = advancev(&contexts, 1).expect("no error");
            idle = if moved || !progress.is_idle() {
                0
            } else {
                idle + 1
            };
        }
        let mut noted = std::mem::take(&mut *log.lock());
        noted.sort_by_key(|(what, _)| *what);
        let expected = [
            ("1 put", Ok(())),
            ("2 lost", PUTS),
            ("4 fence", PUTS),
            ("5 put", Ok(())),
            ("6 fence", Ok(())),
        ];
        assert_eq!(noted, expected, "seed {seed}");
    }
}

/// An immediate message to a context that lives off its task's node, at the call, and posted while another is under way.
#[test]
fn ep15_immediate_messages_go_to_the_node_of_their_context() {
    let machine = Double::new(3, 1);
    let list = (*machine.tasks(&[0, 1])).clone();
    let node = machine
        .tasks(&[2])
        .location(TaskId(0))
        .expect("exists")
        .node;
    let list = Arc::new(list.with_away(TaskId(1), 1..2, node).expect("free"));
    let context = |task: u32, at: usize, offset| {
        let mut config = config(&list, task, Resources::default());
        config.contexts = 2;
        let client = Client::create(&machine.process(at), config).expect("there are resources");
        client.create_context(offset).expect("free")
    };
    let (from, home, away) = (context(0, 0, 0), context(1, 1, 0), context(1, 2, 1));
    let got = Arc::new(Mutex::new(Vec::new()));
    for (name, context) in [("home", &home), ("away", &away)] {
        let got = Arc::clone(&got);
        let note = move |_: &Context<Process>, arrival: &Arrival<'_>| {
            let text = arrival.immediate.unwrap_or_default().to_vec();
            got.lock().push((name, text));
            Receive::Consumed
        };
        context.set_dispatch(1, Box::new(note)).expect("first use");
    }
    for (offset, data) in [(0, b"to 0"), (1, b"to 1")] {
        let destination = from.endpoint(TaskId(1), offset).expect("exists");
        let message = SendImmediate {
            data,
            ..SendImmediate::new(destination, 1)
        };
        from.send_immediate(&message).expect("valid");
    }
    for _ in 0..20 {
        machine.step();
        for context in [&from, &home, &away] {
            context.advance(1).expect("no error");
        }
    }
    let expected = [("home", b"to 0".to_vec()), ("away", b"to 1".to_vec())];
    assert_eq!(*got.lock(), expected);
}

#[test]
fn fn1_x5_refused_puts_without_callback_fail_the_next_fence() {
    for seed in 1..40 {
        let world = World::new(seed, &[0, 1, 2], 256);
        let region = world.region.remote();
        world.put(1, region, None);
        world.fence(1, "1 fence");
        for _ in 0..20 {
            world.put(1, world.gone, None);
        }
        world.put(1, region, None);
        world.fence(1, "2 fence");
        world.fence(2, "3 other fence");
        world.put(1, region, None);
        world.fence(1, "4 fence");
        let expected = [
            ("1 fence", Ok(())),
            ("2 fence", PUTS),
            ("3 other fence", Ok(())),
            ("4 fence", Ok(())),
        ];
        assert_eq!(world.settled(), expected, "seed {seed}");
        // Without a fence nothing waits for it, and the fence after it still knows.
        world.put(1, world.gone, None);
        assert_eq!(world.settled(), []);
        world.fence(2, "other fence");
        world.fence(1, "fence");
        assert_eq!(world.settled(), [("fence", PUTS), ("other fence", Ok(()))]);
    }
}

#[test]
fn fn1_x5_refused_puts_in_a_row_are_each_told() {
    for seed in 1..20 {
        let world = World::new(seed, &[0, 1], 256);
        // More than the node has entries for.
        for _ in 0..30 {
            world.put(1, world.gone, world.noted("lost"));
        }
        world.put(1, world.region.remote(), world.noted("put"));
        world.fence(1, "fence");
        let noted = world.settled();
        assert_eq!(noted.len(), 32);
        for (what, result) in noted {
            let expected = if what == "put" { Ok(()) } else { PUTS };
            assert_eq!(result, expected, "{what}, seed {seed}");
        }
    }
}

#[test]
fn x5_refused_read_modify_writes_fail_and_no_others() {
    // With as few counters as there can be, one that is not given back would stop everything.
    for counters in [1, 2, 256] {
        for fetch in [false, true] {
            for seed in 1..40 {
                let world = World::new(seed, &[0, 1, 2], counters);
                let region = world.region.remote();
                world.add(1, region, fetch, world.noted("1 added"));
                let lost = world.add(1, world.gone, fetch, world.noted("2 lost"));
                world.add(2, region, fetch, world.noted("7 other added"));
                world.fence(1, "3 fence");
                world.fence(2, "8 other fence");
                world.add(1, region, fetch, world.noted("4 added"));
                // No callback: `advance` reports it.
                world.add(1, world.gone, fetch, None);
                let expected = [
                    ("1 added", Ok(())),
                    ("2 lost", RMW),
                    ("3 fence", Ok(())),
                    ("4 added", Ok(())),
                    ("7 other added", Ok(())),
                    ("8 other fence", Ok(())),
                ];
                let (noted, errors) = world.settle();
                assert_eq!(noted, expected, "seed {seed}");
                assert_eq!(errors, [Error::RmwRefused { peer: TaskId(0) }]);
                assert_eq!(world.word(), 3);
                let mut word = [0; 8];
                if let Some(lost) = lost {
                    lost.read(0, &mut word).expect("inside");
                    assert_eq!(word, [9; 8], "nothing is fetched");
                }
            }
        }
    }
}

#[test]
fn fn6_x5_refusals_beyond_the_log_are_reported_once_to_all() {
    for seed in 1..20 {
        let world = World::new(seed, &[0, 1, 2], 256);
        let region = world.region.remote();
        // A later loss is reported again.
        for _ in 0..2 {
            // Task 0 looks at none of them before all have come: each has an entry of its own.
            for _ in 0..12 {
                world.put(1, world.gone, world.noted("lost"));
                world.put(1, region, world.noted("put"));
            }
            for _ in 0..400 {
                world.machine.step();
                advancev(&world.contexts[1..], 1).expect("no error");
            }
            let (noted, _) = world.settle();
            let lost = noted.iter().filter(|(what, _)| *what == "lost");
            assert!(lost.clone().count() == 12 && lost.clone().all(|(_, result)| *result == PUTS));
            for expected in [PUTS, Ok(())] {
                world.fence(1, "fence");
                world.fence(2, "other");
                let told = [("fence", expected.clone()), ("other", expected)];
                assert_eq!(world.settled(), told, "seed {seed}");
            }
        }
    }
}

#[test]
fn fn6_x5_a_fence_of_all_endpoints_ends_with_the_error_of_one() {
    for seed in 1..20 {
        let world = World::new(seed, &[0, 1, 2], 256);
        world.put(1, world.gone, None);
        for expected in [PUTS, Ok(())] {
            let done = world.noted("all");
            world.contexts[1].fence_all(done).expect("valid");
            assert_eq!(world.settled(), [("all", expected)], "seed {seed}");
        }
    }
}

#[test]
fn x5_a_damaged_read_modify_write_fails_and_no_other() {
    // The requester alone on its node, and beside another.
    for nodes in [[0, 1, 2], [0, 1, 1]] {
        for seed in 1..40 {
            let world = World::new(seed, &nodes, 4);
            let region = world.region.remote();
            world.machine.plant(Fault::CutRmw);
            let mut adds = [(1, true, "1"), (1, false, "2"), (2, true, "3")];
            if seed % 2 == 0 {
                adds.reverse();
            }
            for (from, fetch, what) in adds {
                world.add(from, region, fetch, world.noted(what));
                world.contexts[from].advance(1).expect("no error");
            }
            // Threads that never wait look for errors now and then.
            for _ in 0..1000 {
                world.machine.step();
                advancev(&world.contexts, 1).expect("no error");
            }
            let noted = world.settled();
            let lost = Err(Error::RemoteRefused {
                peer: TaskId(0),
                reason: Ok(ErrorReason::PktTruncated),
            });
            let failed = noted.iter().filter(|(_, result)| *result == lost);
            assert_eq!((noted.len(), failed.count()), (3, 1), "{noted:?}");
            assert!(noted.iter().filter(|(_, result)| result.is_ok()).count() == 2);
            assert_eq!(world.word(), 2);
            // The counter that waited is free again.
            for _ in 0..3 {
                world.add(1, region, true, world.noted("later"));
            }
            let later = vec![("later", Ok(())); 3];
            assert_eq!(world.settled(), later);
        }
    }
}

#[test]
fn x5_a_damaged_read_modify_write_matches_no_pending_response() {
    for seed in 1..40 {
        let world = World::new(seed, &[0, 1], 4);
        let region = world.region.remote();
        for what in ["1", "2"] {
            world.add(1, region, false, world.noted(what));
        }
        world.contexts[1].advance(1).expect("no error");
        // One is carried out, the other comes damaged.
        while world.word() == 0 {
            assert!(world.machine.step());
        }
        world.machine.plant(Fault::CutRmw);
        // The requester looks after both reports.
        for _ in 0..1000 {
            world.machine.step();
            world.contexts[0].advance(1).expect("no error");
        }
        let ends: Vec<_> = world.settled().into_iter().map(|(_, end)| end).collect();
        let lost = Err(Error::RemoteRefused {
            peer: TaskId(0),
            reason: Ok(ErrorReason::PktTruncated),
        });
        assert!(ends.len() == 2 && ends.contains(&Ok(())) && ends.contains(&lost));
        assert_eq!(world.word(), 1);
    }
}
