// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives in the memory that the endpoints of a node share, on the driver's test double.

use std::sync::Arc;

use crate::world::{
    self, Case, Double, Place, World, check, contents, ends, note, pattern, reduced,
};
use crossbeam_utils::atomic::AtomicCell;
use gyre_collectives::{
    Algorithm, Collective, Collectives, Condition, DataType, Error, Geometry, Initiator, Member,
    Query, ReduceKind, ReduceOp, Request, RoutesTaken, Sharing,
};
use gyre_driver::{Context, TaskId};

const SHARED: Option<Algorithm> = Some(Algorithm::SharedMemory);
const XOR: (DataType, ReduceOp) = (DataType::U8, ReduceOp::BitXor);
/// Sizes in bytes: nothing, around one slot and two, and several.
const SIZES: [usize; 8] = [0, 1, 8191, 8192, 8193, 16384, 16385, 40_007];

/// Five tasks on one node, with two contexts each.
fn one_node(seed: u64) -> (World, Vec<Geometry>) {
    let world = World::new(&[0; 5], 2, seed);
    let client = &world.clients[0];
    let geometries = vec![
        Geometry::world(client, "world", 1, 1).expect("valid"),
        Geometry::world(client, "all", 2, 2).expect("valid"),
        world.endpoints(3, &[(4, 1), (0, 0), (2, 1), (4, 0)]),
    ];
    (world, geometries)
}

/// Seven tasks, four on node 0, two on node 1 and one on node 2; of two tasks endpoints live elsewhere, one of them
/// on a node without tasks.
fn three_nodes(seed: u64) -> (World, Vec<Geometry>) {
    let away = [(2, 2..3, 0), (5, 2..3, 3)];
    let world = World::with_away(&[0, 0, 1, 0, 1, 2, 0], 3, &away, seed);
    let client = &world.clients[0];
    let places = |task: TaskId| {
        let place = gyre_affinity::Place {
            core: (task.0 / 2) as u16,
            ..Default::default()
        };
        ([0, 0, 1, 0, 1, 2, 0][task.0 as usize], place)
    };
    let all: Vec<(u32, u8)> = (0..7).flat_map(|t| (0..3).map(move |c| (t, c))).collect();
    let geometries = vec![
        Geometry::world(client, "world", 1, 1).expect("valid"),
        Geometry::world(client, "places", 2, 2)
            .and_then(|g| g.with_places(1, places))
            .expect("valid"),
        world
            .endpoints(3, &all)
            .on_network(client)
            .expect("leaders are at home"),
        // The first node has one task, of two endpoints.
        world.endpoints(4, &[(3, 1), (4, 0), (3, 0), (2, 1)]),
    ];
    (world, geometries)
}

fn worlds() -> [(World, Vec<Geometry>); 2] {
    [one_node(21), three_nodes(22)]
}

/// Every task's data, by position.
fn inputs(tasks: usize, bytes: usize, salt: usize) -> Vec<Vec<u8>> {
    (0..tasks).map(|p| pattern(p * 3 + salt, bytes)).collect()
}

fn broadcast(tasks: usize, root: usize, bytes: usize) -> Case {
    Case::broadcast(root, inputs(tasks, bytes, root))
}

fn reduce(tasks: usize, root: usize, bytes: usize) -> Case {
    let send = inputs(tasks, bytes, root + 1);
    let mut after = vec![vec![]; tasks];
    after[root] = reduced(XOR.0, XOR.1, &send);
    Case {
        request: Box::new(move |_, send, receive| Request::reduce(root, XOR, Some(send), receive)),
        before: after.iter().map(|after| vec![0xee; after.len()]).collect(),
        send,
        after,
    }
}

fn allreduce(tasks: usize, in_place: bool, bytes: usize) -> Case {
    let data = inputs(tasks, bytes, 5);
    let after = vec![reduced(XOR.0, XOR.1, &data); tasks];
    match in_place {
        true => Case {
            request: Box::new(|_, _, receive| Request::allreduce(XOR, None, receive)),
            send: vec![vec![]; tasks],
            before: data,
            after,
        },
        false => Case {
            request: Box::new(|_, send, receive| Request::allreduce(XOR, Some(send), receive)),
            send: data,
            before: vec![vec![0xee; bytes]; tasks],
            after,
        },
    }
}

#[test]
fn hw7_ep8_ep13_data_longer_than_a_slot_is_sent_in_parts() {
    for (world, geometries) in worlds() {
        for geometry in geometries {
            let members = world.join(&geometry);
            let tasks = geometry.tasks().len();
            for (number, bytes) in SIZES.into_iter().enumerate() {
                for root in [number % tasks, tasks - 1] {
                    let name = geometry.name();
                    let what = format!("{name} root {root} {bytes} B");
                    let run = |case, kind: &str| {
                        check(&world, &members, SHARED, &case, &format!("{kind} {what}"));
                    };
                    run(broadcast(tasks, root, bytes), "broadcast");
                    run(reduce(tasks, root, bytes), "reduce");
                    run(allreduce(tasks, root == 0, bytes), "allreduce");
                }
            }
        }
    }
}

#[test]
fn ep13_operations_and_types_in_the_memory_of_nodes() {
    for (world, geometries) in worlds() {
        let members = world.join(&geometries[0]);
        let tasks = geometries[0].tasks().len();
        for data in DataType::ALL {
            for op in ReduceOp::ALL {
                if op == ReduceOp::Copy || !op.is_defined_on(data) {
                    continue;
                }
                let bytes = data.bytes() * 700;
                let whole = |p: usize| -> Vec<u8> {
                    // Small whole numbers, whose sums and products are exact in every type.
                    let values = (0..bytes).map(|i| match i % data.bytes() {
                        0 => ((p * 7 + i) % 3) as u8,
                        _ => 0,
                    });
                    values.collect()
                };
                let send: Vec<Vec<u8>> = (0..tasks).map(whole).collect();
                let after = vec![reduced(data, op, &send); tasks];
                let case = Case {
                    request: Box::new(move |_, send, receive| {
                        Request::allreduce((data, op), Some(send), receive)
                    }),
                    send,
                    before: vec![vec![0xee; bytes]; tasks],
                    after,
                };
                check(&world, &members, SHARED, &case, &format!("{op:?} {data:?}"));
            }
        }
    }
}

#[test]
fn hw7_only_the_first_of_each_node_sends_messages() {
    let (world, geometries) = one_node(7);
    let members = world.join(&geometries[1]);
    let tasks = geometries[1].tasks().len();
    check(&world, &members, SHARED, &broadcast(tasks, 2, 9000), "one");
    check(&world, &members, SHARED, &reduce(tasks, 4, 9000), "one");
    check(
        &world,
        &members,
        SHARED,
        &allreduce(tasks, true, 9000),
        "one",
    );
    let sent = |member: &Member<Place>| member.collectives().stats().messages;
    assert_eq!(members.iter().map(sent).sum::<u64>(), 0);

    let (world, geometries) = three_nodes(8);
    let members = world.join(&geometries[0]);
    check(&world, &members, SHARED, &allreduce(7, true, 900), "three");
    // Tasks 0, 2 and 5 are the first of their nodes.
    for member in &members {
        let first = [0, 2, 5].contains(&member.position());
        assert_eq!(sent(member) > 0, first, "{}", member.position());
    }
}

#[test]
fn hw7_ep4_concurrent_collectives_take_turns_in_node_memory() {
    const AT_ONCE: usize = 24;
    for (world, geometries) in worlds() {
        for geometry in geometries {
            let members = world.join(&geometry);
            let tasks = geometry.tasks().len();
            let case = |number: usize| {
                let bytes = [0, 5, 9000, 30_000][number % 4];
                match number % 3 {
                    0 => broadcast(tasks, number % tasks, bytes),
                    1 => reduce(tasks, (number + 1) % tasks, bytes),
                    _ => allreduce(tasks, false, bytes),
                }
            };
            // Some by messages in between.
            let algorithm = |number: usize| match (number % 5, number % 3) {
                (0 | 3, 2) => Some(Algorithm::RecursiveDoubling),
                (0 | 3, _) => Some(Algorithm::Binomial),
                _ => SHARED,
            };
            let cases: Vec<Case> = (0..AT_ONCE).map(case).collect();
            let buffers = |case: &Case| -> Vec<_> {
                let of = |p: usize| {
                    let task = geometry.tasks()[p];
                    let send = world.buffer(task, &case.send[p]);
                    (send, world.buffer(task, &case.before[p]))
                };
                (0..tasks).map(of).collect()
            };
            let buffers: Vec<Vec<_>> = cases.iter().map(buffers).collect();
            let ended = ends(AT_ONCE * members.len());
            // The first to post has posted all before the last begins.
            for (rank, member) in members.iter().enumerate() {
                let position = member.position();
                for (number, case) in cases.iter().enumerate() {
                    let (send, receive) = buffers[number][position].clone();
                    let home = geometry.ranks_of(position)[0] as usize;
                    let platform = |rank: usize| members[rank].context().platform().node;
                    let (send, receive) = match platform(rank) == platform(home) {
                        true => (send, receive),
                        // A part of the task on another node has buffers there, which are not checked.
                        false => {
                            let own = members[rank].context().platform();
                            let blank = |range: &world::Range| own.buffer(&vec![0; range.len()]);
                            (blank(&send), blank(&receive))
                        }
                    };
                    let request = (case.request)(position, send, receive);
                    let done = note(&ended, number * members.len() + rank);
                    let posted = member.post_as(Initiator::All, algorithm(number), request, done);
                    posted.expect("valid");
                }
                member.context().advance(3).expect("no message is wrong");
            }
            world.run(&ended);
            assert!(ended.lock().iter().all(|end| *end == Some(Ok(()))));
            for (number, (case, buffers)) in cases.iter().zip(&buffers).enumerate() {
                for (position, (_, receive)) in buffers.iter().enumerate() {
                    let right = contents(receive) == case.after[position];
                    let name = geometry.name();
                    assert!(right, "{name}: number {number} at {position}");
                }
            }
        }
    }
}

#[test]
fn hw7_ep8_members_that_disagree_in_memory_all_fail() {
    for (world, geometries) in worlds() {
        world.patience.store(20_000);
        for geometry in geometries {
            let members = world.join(&geometry);
            let buffer = |rank: usize, bytes: usize| {
                let platform = members[rank].context().platform();
                platform.buffer(&vec![1; bytes])
            };
            for bytes in [40, 20_000] {
                for odd in [0, members.len() - 1] {
                    let root = 1;
                    let odd_ones = [
                        ("root", Request::broadcast(0, buffer(odd, bytes)), SHARED),
                        (
                            "bytes",
                            Request::broadcast(root, buffer(odd, bytes + 2)),
                            SHARED,
                        ),
                        ("barrier", Request::barrier(), SHARED),
                        (
                            "collective",
                            Request::allreduce(XOR, None, buffer(odd, bytes)),
                            SHARED,
                        ),
                        (
                            "algorithm",
                            Request::broadcast(root, buffer(odd, bytes)),
                            Some(Algorithm::Binomial),
                        ),
                    ];
                    for (field, request, algorithm) in odd_ones {
                        let what = format!("{}: {field} at {odd}, {bytes} B", geometry.name());
                        // A member that has ended its part already hears of it from `advance`.
                        world.tolerant.store(true);
                        let ended = ends(members.len());
                        for (rank, member) in members.iter().enumerate() {
                            let (algorithm, request) = match rank == odd {
                                true => (algorithm, request.clone()),
                                false => (SHARED, Request::broadcast(root, buffer(rank, bytes))),
                            };
                            let done = note(&ended, rank);
                            let posted = member.post_as(Initiator::All, algorithm, request, done);
                            posted.expect("valid in itself");
                        }
                        world.run(&ended);
                        world.tolerant.store(false);
                        let results: Vec<_> = ended.lock().iter().flatten().cloned().collect();
                        let failed = |r: &Result<(), Error>| {
                            let typed = matches!(
                                r,
                                Err(Error::Disagreement { .. } | Error::GivenUp { .. })
                            );
                            assert!(typed || r.is_ok(), "{what}: {r:?}");
                            typed
                        };
                        assert!(results.iter().any(failed), "{what}: {results:?}");
                        let tasks = geometry.tasks().len();
                        check(
                            &world,
                            &members,
                            SHARED,
                            &allreduce(tasks, true, 9000),
                            &what,
                        );
                        check(&world, &members, SHARED, &broadcast(tasks, 0, 9000), &what);
                    }
                }
            }
        }
    }
}

#[test]
fn hw7_members_that_join_again_ignore_old_node_memory() {
    let (mut world, geometries) = one_node(9);
    let geometry = &geometries[0];
    let mut members = world.join(geometry);
    let tasks = members.len();
    for round in 0..3 {
        check(
            &world,
            &members,
            SHARED,
            &allreduce(tasks, true, 9000),
            "before",
        );
        let late = (round + 1) % tasks;
        let ended = ends(tasks);
        let enter = |member: &Member<Place>, rank: usize| {
            let posted = member.post_as(
                Initiator::All,
                SHARED,
                Request::barrier(),
                note(&ended, rank),
            );
            posted.expect("valid");
        };
        // One after the other has begun to work in the segment before the next gives it up, so that it stays.
        for (task, member) in members.iter_mut().enumerate() {
            world.contexts[task][0].destroy().expect("it is at rest");
            let context = world.clients[task].create_context(0).expect("it is free");
            let collectives = Collectives::attach(&context, 9).expect("a new context");
            *member = collectives.join(geometry).expect("an endpoint");
            world.collectives[task][0] = collectives;
            world.contexts[task][0] = context;
            if task != late {
                enter(member, task);
                member.context().advance(3).expect("nothing is wrong");
            }
        }
        // No member leaves before the last has entered.
        let all: Vec<_> = world.contexts.iter().flatten().cloned().collect();
        for _ in 0..300 {
            gyre_driver::advancev(&all, 1).expect("no message is wrong");
            world.double.step();
        }
        assert!(ended.lock().iter().all(Option::is_none));
        enter(&members[late], late);
        world.run(&ended);
        assert!(ended.lock().iter().all(|end| *end == Some(Ok(()))));
    }
}

#[test]
fn hw7_two_geometries_of_one_number_on_a_node_are_an_error() {
    // Other tasks, or another context of the same task.
    for others in [[(2, 0), (3, 0)], [(0, 1), (3, 0)]] {
        let world = World::new(&[0; 4], 2, 10);
        let pairs = [
            world.endpoints(5, &[(0, 0), (1, 0)]),
            world.endpoints(5, &others),
        ];
        let first = world.join(&pairs[0]);
        check(&world, &first, SHARED, &broadcast(2, 0, 9), "the first");
        let second = world.join(&pairs[1]);
        let ended = ends(2);
        for (rank, member) in second.iter().enumerate() {
            let posted = member.post_as(
                Initiator::All,
                SHARED,
                Request::barrier(),
                note(&ended, rank),
            );
            posted.expect("valid");
        }
        world.run(&ended);
        assert_eq!(ended.lock()[0], Some(Err(Error::NumberInUse { number: 5 })));
        assert!(matches!(ended.lock()[1], Some(Err(_))));
    }
}

#[test]
fn ep8_shared_memory_is_valid_where_endpoints_share_a_node() {
    let world = World::new(&[0, 1, 0, 0], 2, 11);
    let sharing = |number: u16, list: &[(u32, u8)]| {
        let geometry = world.endpoints(number, list);
        let members = world.join(&geometry);
        let sharing = members[0].sharing();
        let query = Query {
            geometry: &geometry,
            collective: Collective::Barrier,
            root: 0,
            bytes: Some(0),
            alignment: 1,
            reduction: ReduceKind::BuiltIn(DataType::U8, ReduceOp::Copy),
            routes: RoutesTaken::default(),
            sharing,
        };
        let valid = geometry.algorithms().choose(&query, SHARED).is_ok();
        assert_eq!(valid, Condition::SharedMemory.holds(&query));
        assert_eq!(sharing.all, Condition::OneNode.holds(&query));
        assert_eq!(valid, sharing.some);
        sharing
    };
    let apart = Sharing {
        most: 1,
        ..Sharing::default()
    };
    assert_eq!(sharing(1, &[(0, 0), (1, 0)]), apart);
    let some = Sharing {
        some: true,
        all: false,
        most: 2,
    };
    assert_eq!(sharing(2, &[(0, 0), (1, 0), (2, 0)]), some);
    let all = Sharing {
        some: true,
        all: true,
        most: 3,
    };
    assert_eq!(sharing(3, &[(0, 0), (2, 0), (3, 1)]), all);
    // Two endpoints of one task.
    let one = Sharing { most: 1, ..all };
    assert_eq!(sharing(4, &[(1, 0), (1, 1)]), one);
    let alone = Sharing {
        some: false,
        all: true,
        most: 1,
    };
    assert_eq!(sharing(5, &[(1, 1)]), alone);
}

#[test]
fn hw7_ep4_waiters_in_node_memory_sleep_until_woken() {
    // More than the slots hold: the root waits for the others, they for the root.
    for (bytes, sleeper) in [(9, 1), (40_007, 0), (40_007, 2), (0, 0), (0, 2)] {
        let world = World::new(&[0; 3], 1, 12);
        let geometry = Geometry::world(&world.clients[0], "world", 1, 1).expect("valid");
        let members = world.join(&geometry);
        check(
            &world,
            &members,
            SHARED,
            &allreduce(3, true, 9),
            "all have joined",
        );
        let ended = ends(3);
        for (rank, member) in members.iter().enumerate() {
            let buffer = member.context().platform().buffer(&vec![1; bytes]);
            let request = match bytes {
                0 => Request::barrier(),
                _ => Request::broadcast(0, buffer),
            };
            let posted = member.post_as(Initiator::All, SHARED, request, note(&ended, rank));
            posted.expect("valid");
        }
        // One sleeps whenever it finds nothing to do; each time the others have a turn.
        let others: Vec<_> = (0..3).filter(|&rank| rank != sleeper).collect();
        let others = others
            .into_iter()
            .map(|rank| world.contexts[rank][0].clone());
        let forgotten = Arc::new(AtomicCell::new(false));
        take_turns(&world.double, others.collect(), Arc::clone(&forgotten));
        let over = || ended.lock()[sleeper].is_some();
        let slept = world.contexts[sleeper][0].advance_until(over);
        slept.expect("no message is wrong");
        assert!(!forgotten.load(), "{bytes} B: nobody wakes {sleeper}");
        world.run(&ended);
        assert!(ended.lock().iter().all(|end| *end == Some(Ok(()))));
    }
}

/// When a context sleeps, the others advance, again and again until it wakes. When they find nothing to do either,
/// it has been forgotten.
fn take_turns(double: &Double, contexts: Vec<Context<Place>>, forgotten: Arc<AtomicCell<bool>>) {
    let again = double.clone();
    double.when_asleep(move || {
        let progress = gyre_driver::advancev(&contexts, 1);
        match progress.expect("no message is wrong").is_idle() {
            true => forgotten.store(true),
            false => take_turns(&again, contexts, forgotten),
        }
    });
}

#[test]
fn hw7_a_slot_is_not_written_again_before_the_last_has_read_it() {
    let tasks = 5;
    let case = |kind: usize, bytes: usize| match kind {
        0 => broadcast(tasks, 0, bytes),
        1 => broadcast(tasks, 3, bytes),
        2 => reduce(tasks, 1, bytes),
        _ => allreduce(tasks, true, bytes),
    };
    for (kinds, late) in (0..16).flat_map(|kinds| (0..tasks).map(move |late| (kinds, late))) {
        let (world, geometries) = one_node(13);
        let members = world.join(&geometries[0]);
        for bytes in [9, 40_007] {
            // One comes late to both, the others go on as far as they can without it.
            let cases = [case(kinds / 4, bytes), case(kinds % 4, bytes + 1)];
            let ended = ends(2 * tasks);
            let mut results = Vec::new();
            for (number, case) in cases.iter().enumerate() {
                for (rank, member) in members.iter().enumerate() {
                    let task = TaskId(rank as u32);
                    let send = world.buffer(task, &case.send[rank]);
                    let receive = world.buffer(task, &case.before[rank]);
                    results.push((receive.clone(), case.after[rank].clone()));
                    let request = (case.request)(rank, send, receive);
                    let done = note(&ended, number * tasks + rank);
                    let posted = member.post_as(Initiator::All, SHARED, request, done);
                    posted.expect("valid");
                }
            }
            let others = (0..tasks).filter(|&rank| rank != late);
            let others: Vec<_> = others.map(|rank| world.contexts[rank][0].clone()).collect();
            for _ in 0..100 {
                gyre_driver::advancev(&others, 1).expect("no message is wrong");
            }
            world.run(&ended);
            for (number, (receive, after)) in results.iter().enumerate() {
                let right = contents(receive) == *after;
                assert!(right, "{kinds}, {late} late, {bytes} B: number {number}");
            }
        }
    }
}
