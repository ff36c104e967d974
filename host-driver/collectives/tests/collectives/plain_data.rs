// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every collective with every algorithm, against a serial reference, on the driver's test double.

use crate::world::{self, Case, Place, World, check, ends, note, pattern, reduced};
use gyre_collectives::{
    Algorithm, Blocks, Collective, DataType, Error, Geometry, Member, Query, ReduceKind, ReduceOp,
    Request, RoutesTaken, Sharing,
};
use gyre_driver::{Coord, RegionRights, TaskId};

/// Sizes in bytes: nothing, odd ones, around the limits of one packet and of four, and one that is announced.
const SIZES: [usize; 7] = [0, 1, 77, 476, 477, 1904, 1905];

/// Seven tasks on five nodes with five contexts each, in geometries of every kind.
fn geometries(world: &World) -> Vec<Geometry> {
    let client = &world.clients[0];
    vec![
        Geometry::world(client, "world", 1, 1).expect("valid"),
        Geometry::task_range(client, "range", 2, 2..6, 1).expect("valid"),
        // Odd, out of order, several endpoints in two tasks, which do not lie side by side.
        world.endpoints(3, &[(5, 0), (2, 1), (0, 0), (2, 0), (6, 2), (2, 2), (6, 1)]),
        Geometry::task_range(client, "one task", 4, 3..4, 3).expect("valid"),
        Geometry::world(client, "all", 5, 3).expect("valid"),
        crowded(Geometry::world(client, "crowded", 7, 2).expect("valid")),
        // Endpoints of tasks 2 and 6 that live on other nodes.
        world
            .endpoints(
                6,
                &[
                    (5, 0),
                    (2, 1),
                    (2, 3),
                    (0, 0),
                    (2, 0),
                    (2, 4),
                    (6, 2),
                    (4, 0),
                    (6, 3),
                ],
            )
            .on_network(client)
            .expect("leaders are at home"),
    ]
}

/// The geometry with its tasks on two nodes, on two cores of each of two modules.
fn crowded(geometry: Geometry) -> Geometry {
    let place = |task: TaskId| {
        let number = task.0 as u16;
        let place = gyre_affinity::Place {
            module: number / 2 % 2,
            core: number / 4,
            ..Default::default()
        };
        (task.0 as usize % 2, place)
    };
    geometry.with_places(2, place).expect("an arity")
}

fn world(seed: u64) -> (World, Vec<Vec<Member<Place>>>) {
    let away = [(2, 3..5, 0), (6, 3..4, 4)];
    let world = World::with_away(&[0, 1, 2, 3, 4, 1, 2], 5, &away, seed);
    let geometries = geometries(&world);
    let members = geometries.iter().map(|g| world.join(g)).collect();
    (world, members)
}

/// Runs `case` of every geometry with all valid algorithms of `collective`, for some roots.
fn sweep(collective: Collective, case: impl Fn(&Geometry, usize, usize) -> Case) {
    let (world, teams) = world(collective as u64 * 31 + 7);
    for members in &teams {
        let geometry = members[0].geometry();
        let tasks = geometry.tasks().len();
        for (number, bytes) in SIZES.into_iter().enumerate() {
            let root = (number * 3 + 1) % tasks;
            let query = Query {
                geometry,
                collective,
                root,
                bytes: Some(bytes),
                alignment: 1,
                reduction: ReduceKind::BuiltIn(DataType::U8, ReduceOp::BitXor),
                routes: RoutesTaken::default(),
                sharing: members[0].sharing(),
            };
            let list = geometry.algorithms().list(collective).iter();
            let mut algorithms: Vec<Option<Algorithm>> = list
                .filter(|entry| entry.is_valid(&query))
                .map(|entry| Some(entry.algorithm))
                .collect();
            algorithms.dedup();
            assert!(!algorithms.is_empty());
            algorithms.push(None);
            for algorithm in algorithms {
                let name = geometry.name();
                let what = format!("{collective:?} {algorithm:?} {name} root {root} {bytes} B");
                check(
                    &world,
                    members,
                    algorithm,
                    &case(geometry, root, bytes),
                    &what,
                );
            }
        }
    }
}

/// One block of `bytes` bytes a position, distinct by `salt`.
fn blocks(tasks: usize, bytes: usize, salt: usize) -> Vec<Vec<u8>> {
    (0..tasks).map(|p| pattern(p * 5 + salt, bytes)).collect()
}

#[test]
fn ep15_geometries_must_know_where_endpoints_live_and_begin_at_home() {
    let (world, _) = world(1);
    let unknown = world.endpoints(7, &[(2, 0), (2, 3)]);
    let joined = world.collectives[2][0].join(&unknown).map(|_| ());
    let name = || "geometry 7".to_owned();
    assert_eq!(joined, Err(Error::UnknownPlaces { name: name() }));
    let away = world.endpoints(7, &[(2, 3), (2, 0)]);
    let placed = away.on_network(&world.clients[0]).map(|_| ());
    let task = TaskId(2);
    assert_eq!(placed, Err(Error::LeaderAway { name: name(), task }));
    // A context is created where it lives, a region where its task lives.
    let elsewhere = world.clients[2].create_context(3).map(|_| ());
    assert!(matches!(
        elsewhere,
        Err(gyre_driver::Error::ContextAway { offset: 3, .. })
    ));
    let part = &world.clients[7];
    let buffer = world.contexts[2][3].platform().buffer(&[0; 64]);
    let region = part.create_region(&buffer, RegionRights::ALL).map(|_| ());
    assert!(matches!(region, Err(gyre_driver::Error::RegionAway { .. })));
    // And who lives where must make sense.
    let tasks = world.clients[0].tasks();
    let node = |n: u8| Coord([n, 0, 0, 0, 0]);
    for (task, contexts, at) in [
        (2, 0..2, 3),
        (2, 4..5, 4),
        (2, 1..2, 2),
        (2, 1..1, 3),
        (2, 1..2, 0),
    ] {
        let wrong = tasks.clone().with_away(TaskId(task), contexts, node(at));
        assert!(
            matches!(wrong, Err(gyre_driver::Error::Away { .. })),
            "{wrong:?}"
        );
    }
}

#[test]
fn ep13_broadcast_gives_all_tasks_the_roots_data() {
    sweep(Collective::Broadcast, |geometry, root, bytes| {
        let tasks = geometry.tasks().len();
        Case::broadcast(root, blocks(tasks, bytes, root))
    });
}

#[test]
fn ep13_coloured_broadcast_reaches_all_tasks_of_a_torus() {
    for contexts in [1, 3] {
        // A ring with one task a node, in an order of its own.
        let world = World::new(&[3, 0, 2, 4, 1], contexts, 41);
        let client = &world.clients[0];
        let geometry = Geometry::world(client, "ring", 1, contexts).expect("valid");
        let geometry = geometry.on_network(client).expect("the node answers");
        let members = world.join(&geometry);
        for (root, bytes) in [0, 1, 511, 513, 4096, 4097, 30001].into_iter().enumerate() {
            let root = root % 5;
            let before = blocks(5, bytes, root);
            let case = Case {
                request: Box::new(move |_, _, receive| Request::broadcast(root, receive)),
                send: vec![vec![]; 5],
                after: vec![before[root].clone(); 5],
                before,
            };
            let what = format!("root {root} {bytes} B {contexts} contexts");
            check(
                &world,
                &members,
                Some(Algorithm::DimensionPipelined),
                &case,
                &what,
            );
        }
        // Part of a torus is none.
        let part = Geometry::task_range(client, "part", 2, 0..4, 1).expect("valid");
        let part = part.on_network(client).expect("the node answers");
        let query = Query {
            geometry: &part,
            collective: Collective::Broadcast,
            root: 0,
            bytes: Some(1 << 20),
            alignment: 1,
            reduction: ReduceKind::BuiltIn(DataType::U8, ReduceOp::Copy),
            routes: RoutesTaken::default(),
            sharing: Sharing::default(),
        };
        let named = Some(Algorithm::DimensionPipelined);
        assert!(part.algorithms().choose(&query, named).is_err());
        let query = Query {
            geometry: &geometry,
            ..query
        };
        assert_eq!(
            geometry.algorithms().choose(&query, None),
            Ok(Algorithm::DimensionPipelined)
        );
    }
}

#[test]
fn ep13_barrier_lets_nobody_leave_before_all_have_entered() {
    let (world, teams) = world(3);
    for members in &teams {
        for late in 0..members.len() {
            let ends = ends(members.len());
            let enter = |rank: usize| {
                let posted = members[rank].post(Request::barrier(), note(&ends, rank));
                posted.expect("valid");
            };
            (0..members.len()).filter(|&r| r != late).for_each(enter);
            let all: Vec<_> = world.contexts.iter().flatten().cloned().collect();
            for _ in 0..300 {
                gyre_driver::advancev(&all, 1).expect("no message is wrong");
                world.double.step();
            }
            let left = ends.lock().iter().filter(|end| end.is_some()).count();
            assert_eq!(left, 0, "left before rank {late} entered");
            enter(late);
            world.run(&ends);
            assert!(ends.lock().iter().all(|end| *end == Some(Ok(()))));
        }
    }
}

/// A case in which positions send `send` and get `after`; in place the data lies in the receive buffer, at
/// `own` of it.
fn in_place(
    send: Vec<Vec<u8>>,
    after: Vec<Vec<u8>>,
    own: impl Fn(usize) -> core::ops::Range<usize>,
    request: impl Fn(usize, Option<world::Range>, world::Range) -> world::Call + 'static,
) -> Case {
    let before = send
        .iter()
        .zip(&after)
        .enumerate()
        .map(|(position, (send, after))| {
            let mut buffer = vec![0xee; after.len().max(own(position).end)];
            buffer[own(position)].copy_from_slice(send);
            buffer
        });
    let before: Vec<_> = before.collect();
    let after = before.iter().zip(after).map(|(before, mut after)| {
        after.extend_from_slice(&before[after.len()..]);
        after
    });
    Case {
        request: Box::new(move |position, _, receive| request(position, None, receive)),
        send: vec![vec![]; send.len()],
        after: after.collect(),
        before,
    }
}

/// The same with send buffers.
fn apart(
    send: Vec<Vec<u8>>,
    after: Vec<Vec<u8>>,
    request: impl Fn(usize, Option<world::Range>, world::Range) -> world::Call + 'static,
) -> Case {
    Case {
        request: Box::new(move |position, send, receive| request(position, Some(send), receive)),
        send,
        before: after.iter().map(|after| vec![0xee; after.len()]).collect(),
        after,
    }
}

#[test]
fn ep11_scatter_gives_every_task_its_block() {
    for keeps in [false, true] {
        sweep(Collective::Scatter, move |geometry, root, bytes| {
            let tasks = geometry.tasks().len();
            let sent = blocks(tasks, bytes, root);
            let all = sent.concat();
            let send = (0..tasks).map(|p| if p == root { all.clone() } else { vec![] });
            let kept = |p| keeps && p == root;
            let after = (0..tasks).map(|p| if kept(p) { vec![] } else { sent[p].clone() });
            let blocks = Blocks::Equal(bytes);
            apart(
                send.collect(),
                after.collect(),
                move |position, send, receive| {
                    let receive = (!keeps || position != root).then_some(receive);
                    Request::scatter(root, send.expect("not in place"), blocks.clone(), receive)
                },
            )
        });
    }
}

/// Buffers of the root after a gather, or of all members after an allgather.
fn gathered(tasks: usize, everybody: bool, root: usize, all: &[u8]) -> Vec<Vec<u8>> {
    let has = |position| everybody || position == root;
    let after = (0..tasks).map(|p| if has(p) { all.to_vec() } else { vec![] });
    after.collect()
}

#[test]
fn ep12_gather_brings_the_root_every_block() {
    sweep(Collective::Gather, |geometry, root, bytes| {
        let tasks = geometry.tasks().len();
        let send = blocks(tasks, bytes, root + 3);
        let after = gathered(tasks, false, root, &send.concat());
        apart(send, after, move |_, send, receive| {
            Request::gather(root, send, receive, Blocks::Equal(bytes))
        })
    });
    sweep(Collective::Gather, |geometry, root, bytes| {
        let tasks = geometry.tasks().len();
        let sent = blocks(tasks, bytes, root + 3);
        let all = sent.concat();
        let mut before = vec![vec![]; tasks];
        before[root] = vec![0xee; all.len()];
        before[root][root * bytes..(root + 1) * bytes].copy_from_slice(&sent[root]);
        let mut send = sent;
        send[root] = vec![];
        Case {
            request: Box::new(move |position, send, receive| {
                let send = (position != root).then_some(send);
                Request::gather(root, send, receive, Blocks::Equal(bytes))
            }),
            send,
            before,
            after: gathered(tasks, false, root, &all),
        }
    });
}

#[test]
fn ep13_allgather_brings_everybody_every_block() {
    let case = |geometry: &Geometry, root: usize, bytes: usize| {
        let tasks = geometry.tasks().len();
        let send = blocks(tasks, bytes, root + 4);
        let after = gathered(tasks, true, 0, &send.concat());
        (send, after)
    };
    let request =
        |bytes| move |_, send, receive| Request::allgather(send, receive, Blocks::Equal(bytes));
    sweep(Collective::Allgather, |geometry, root, bytes| {
        let (send, after) = case(geometry, root, bytes);
        apart(send, after, request(bytes))
    });
    sweep(Collective::Allgather, |geometry, root, bytes| {
        let (send, after) = case(geometry, root, bytes);
        let own = |position: usize| position * bytes..(position + 1) * bytes;
        in_place(send, after, own, request(bytes))
    });
}

/// How bytes are combined in most cases.
const XOR: (DataType, ReduceOp) = (DataType::U8, ReduceOp::BitXor);

#[test]
fn ep13_reduce_combines_at_the_root() {
    sweep(Collective::Reduce, |geometry, root, bytes| {
        let tasks = geometry.tasks().len();
        let send = blocks(tasks, bytes, root + 5);
        let after = gathered(tasks, false, root, &reduced(XOR.0, XOR.1, &send));
        apart(send, after, move |_, send, receive| {
            Request::reduce(root, XOR, send, receive)
        })
    });
}

#[test]
fn ep13_allreduce_combines_for_everybody() {
    let case = |geometry: &Geometry, root: usize, bytes: usize| {
        let tasks = geometry.tasks().len();
        let send = blocks(tasks, bytes, root + 6);
        let after = gathered(tasks, true, 0, &reduced(XOR.0, XOR.1, &send));
        (send, after)
    };
    let request = |_, send, receive| Request::allreduce(XOR, send, receive);
    sweep(Collective::Allreduce, |geometry, root, bytes| {
        let (send, after) = case(geometry, root, bytes);
        apart(send, after, request)
    });
    sweep(Collective::Allreduce, |geometry, root, bytes| {
        let (send, after) = case(geometry, root, bytes);
        in_place(send, after, |_| 0..bytes, request)
    });
}

#[test]
fn ep13_scan_combines_up_to_oneself() {
    let case = |geometry: &Geometry, root: usize, bytes: usize| {
        let tasks = geometry.tasks().len();
        let send = blocks(tasks, bytes, root + 7);
        let upto = |p: usize| reduced(XOR.0, XOR.1, &send[..=p]);
        let after: Vec<_> = (0..tasks).map(upto).collect();
        (send, after)
    };
    let request = |_, send, receive| Request::scan(XOR, send, receive);
    sweep(Collective::Scan, |geometry, root, bytes| {
        let (send, after) = case(geometry, root, bytes);
        apart(send, after, request)
    });
    sweep(Collective::Scan, |geometry, root, bytes| {
        let (send, after) = case(geometry, root, bytes);
        in_place(send, after, |_| 0..bytes, request)
    });
}

#[test]
fn ep13_reduce_scatter_gives_every_task_its_block_of_the_combination() {
    let case = |geometry: &Geometry, root: usize, bytes: usize| {
        let tasks = geometry.tasks().len();
        let send = blocks(tasks, bytes * tasks, root + 8);
        let all = reduced(XOR.0, XOR.1, &send);
        let block = |p: usize| all[p * bytes..(p + 1) * bytes].to_vec();
        let after: Vec<_> = (0..tasks).map(block).collect();
        (send, after)
    };
    let request = |bytes| {
        move |_, send, receive| Request::reduce_scatter(XOR, send, receive, Blocks::Equal(bytes))
    };
    sweep(Collective::ReduceScatter, |geometry, root, bytes| {
        let (send, after) = case(geometry, root, bytes);
        apart(send, after, request(bytes))
    });
    // In place, bytes after the result do not matter: the receive buffer ends there.
    sweep(Collective::ReduceScatter, |geometry, root, bytes| {
        let (send, after) = case(geometry, root, bytes);
        let tasks = send.len();
        in_place(send, after, |_| 0..bytes * tasks, request(bytes))
    });
}

#[test]
fn ep13_alltoall_exchanges_blocks() {
    let case = |geometry: &Geometry, root: usize, bytes: usize| {
        let tasks = geometry.tasks().len();
        let send = blocks(tasks, bytes * tasks, root + 9);
        let block = |from: &Vec<u8>, p: usize| from[p * bytes..(p + 1) * bytes].to_vec();
        let of = |p| {
            send.iter()
                .map(|from| block(from, p))
                .collect::<Vec<_>>()
                .concat()
        };
        let after: Vec<_> = (0..tasks).map(of).collect();
        (send, after)
    };
    let request = |bytes| {
        move |_, send, receive| {
            Request::alltoall(send, Blocks::Equal(bytes), receive, Blocks::Equal(bytes))
        }
    };
    sweep(Collective::Alltoall, |geometry, root, bytes| {
        let (send, after) = case(geometry, root, bytes);
        apart(send, after, request(bytes))
    });
    sweep(Collective::Alltoall, |geometry, root, bytes| {
        let (send, after) = case(geometry, root, bytes);
        let tasks = send.len();
        in_place(send, after, |_| 0..bytes * tasks, request(bytes))
    });
}

#[test]
fn af3_af5_trees_along_domains_need_places_and_an_arity() {
    let world = World::new(&[0, 1, 0], 1, 4);
    let make = || Geometry::world(&world.clients[0], "world", 1, 1).expect("valid");
    let refused = make().with_places(0, |_| (0, Default::default()));
    let error = refused.expect_err("no arity").to_string();
    assert_eq!(
        error,
        "trees of geometry `world` have arity 0, expected at least 1"
    );
    let valid = |geometry: &Geometry| {
        let query = Query {
            geometry,
            collective: Collective::Barrier,
            root: 0,
            bytes: Some(0),
            alignment: 1,
            reduction: ReduceKind::BuiltIn(DataType::U8, ReduceOp::Copy),
            routes: RoutesTaken::default(),
            sharing: Sharing::default(),
        };
        let chosen = geometry
            .algorithms()
            .choose(&query, Some(Algorithm::Affinity));
        chosen.is_ok()
    };
    assert!(!valid(&make()), "no places");
    let node = |shared: u32| move |task: TaskId| (task.0.max(shared) as usize, Default::default());
    let apart = make().with_places(2, node(0)).expect("an arity");
    assert!(!valid(&apart), "a node each");
    let together = make().with_places(2, node(1)).expect("an arity");
    assert!(valid(&together));
}
