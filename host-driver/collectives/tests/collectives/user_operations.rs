// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reductions by operations that the user defines (EP-18), on the driver's test double.

use crate::world::{Call, Case, Place, World, check, contents, ends, note, pattern};
use gyre_collectives::{
    Algorithm, Blocks, Collective, Error, Follow, Geometry, Initiator, Member, Query, ReduceKind,
    Request, RoutesTaken, ThreadGroup, UserOp,
};
use gyre_driver::TaskId;

/// Bytes of an element: a map `x -> a x + b` of 32-bit numbers, and how many maps it is made of.
const MAP: usize = 12;
const ALL: RoutesTaken = RoutesTaken {
    class: true,
    barrier: true,
    window: true,
};

fn words(element: &[u8]) -> [u32; 3] {
    let (words, _) = element.as_chunks::<4>();
    [0, 1, 2].map(|i| u32::from_le_bytes(words[i]))
}

/// First the accumulated map, then the operand: associative, not commutative.
fn follow(accumulated: &mut [u8], operand: &[u8]) {
    let operands = operand.chunks(MAP);
    for (accumulated, operand) in accumulated.chunks_mut(MAP).zip(operands) {
        let ([a, b, m], [c, d, n]) = (words(accumulated), words(operand));
        let result = [
            a.wrapping_mul(c),
            b.wrapping_mul(c).wrapping_add(d),
            m.wrapping_add(n),
        ];
        accumulated.copy_from_slice(result.map(u32::to_le_bytes).as_flattened());
    }
}

fn maps() -> UserOp {
    UserOp::new(3, MAP, false, follow).expect("a size")
}

/// Elements of `bytes` bytes, combined by wrapping sums of the bytes.
fn sums(bytes: usize) -> UserOp {
    let sum = move |accumulated: &mut [u8], operand: &[u8]| {
        assert!(accumulated.len().is_multiple_of(bytes) && accumulated.len() == operand.len());
        for (accumulated, operand) in accumulated.iter_mut().zip(operand) {
            *accumulated = accumulated.wrapping_add(*operand);
        }
    };
    UserOp::new(4, bytes, true, sum).expect("a size")
}

fn combined(combine: &dyn Fn(&mut [u8], &[u8]), inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut result = inputs[0].clone();
    for input in &inputs[1..] {
        combine(&mut result, input);
    }
    result
}

/// Five tasks on three nodes, as a geometry of one endpoint each, one with several, and one on known places.
fn geometries(world: &World) -> Vec<Geometry> {
    let world_geometry = Geometry::world(&world.clients[0], "world", 1, 1).expect("valid");
    let several = world.endpoints(2, &[(4, 0), (1, 1), (0, 0), (1, 0), (3, 0), (2, 0)]);
    let place = |task: TaskId| ([0, 1, 2, 0, 0][task.0 as usize], Default::default());
    let placed = Geometry::world(&world.clients[0], "places", 3, 2).expect("valid");
    let placed = placed.with_places(2, place).expect("an arity");
    vec![world_geometry, several, placed]
}

/// Buffers of every position before and after a collective by `op`.
fn case(
    op: &UserOp,
    combine: &dyn Fn(&mut [u8], &[u8]),
    (collective, root, tasks): (Collective, usize, usize),
    bytes: usize,
) -> Case {
    let blocks = match collective {
        Collective::ReduceScatter => tasks,
        _ => 1,
    };
    let send: Vec<_> = (0..tasks).map(|p| pattern(p, bytes * blocks)).collect();
    let after = |position: usize| match collective {
        Collective::Reduce if position != root => Vec::new(),
        Collective::Scan => combined(combine, &send[..=position]),
        Collective::ReduceScatter => {
            let all = combined(combine, &send);
            all[position * bytes..(position + 1) * bytes].to_vec()
        }
        _ => combined(combine, &send),
    };
    let after: Vec<_> = (0..tasks).map(after).collect();
    let op = op.clone();
    Case {
        request: Box::new(move |_, send, receive| {
            let send = Some(send);
            match collective {
                Collective::Reduce => Request::reduce(root, &op, send, receive),
                Collective::Scan => Request::scan(&op, send, receive),
                Collective::ReduceScatter => {
                    Request::reduce_scatter(&op, send, receive, Blocks::Equal(bytes))
                }
                _ => Request::allreduce(&op, send, receive),
            }
        }),
        before: after.iter().map(|a| vec![0xee; a.len()]).collect(),
        after,
        send,
    }
}

const COMBINING: [Collective; 4] = [
    Collective::Reduce,
    Collective::Allreduce,
    Collective::Scan,
    Collective::ReduceScatter,
];

/// Runs `op` in all collectives that combine, on all geometries, by every algorithm that is valid. Returns those.
fn sweep(op: &UserOp, combine: &dyn Fn(&mut [u8], &[u8]), counts: &[usize]) -> Vec<Algorithm> {
    let world = World::new(&[0, 1, 2, 0, 0], 2, 17);
    let mut used = Vec::new();
    for geometry in geometries(&world) {
        let members = world.join(&geometry);
        let tasks = geometry.tasks().len();
        for collective in COMBINING {
            for (number, count) in counts.iter().enumerate() {
                let (root, bytes) = ((number + 2) % tasks, count * op.kind().bytes());
                let query = Query {
                    geometry: &geometry,
                    collective,
                    root,
                    bytes: Some(bytes),
                    alignment: 1,
                    reduction: op.kind(),
                    routes: RoutesTaken::default(),
                    sharing: members[0].sharing(),
                };
                let list = geometry.algorithms().list(collective).iter();
                let valid = list.filter(|entry| entry.is_valid(&query));
                let named = valid.map(|entry| Some(entry.algorithm));
                for algorithm in named.chain([None]) {
                    let name = geometry.name();
                    let what = format!("{collective:?} {algorithm:?} {name} root {root} {bytes} B");
                    let case = case(op, combine, (collective, root, tasks), bytes);
                    check(&world, &members, algorithm, &case, &what);
                    used.extend(algorithm);
                }
            }
        }
    }
    used.sort();
    used.dedup();
    used
}

#[test]
fn ep18_non_commutative_operands_combine_in_rank_order() {
    // Nothing, one, several packets of a message, more than a slot of the node's memory.
    let used = sweep(&maps(), &follow, &[0, 1, 50, 900]);
    use Algorithm as A;
    let ordered = [
        A::Linear,
        A::RecursiveDoubling,
        A::ThereAndBack,
        A::Pairwise,
    ];
    assert!(ordered.iter().all(|algorithm| used.contains(algorithm)));
    for unordered in [A::Ring, A::SharedMemory, A::Affinity, A::Binomial, A::Tree] {
        assert!(!used.contains(&unordered), "{unordered:?}");
    }
}

#[test]
fn ep18_commutative_user_operations_avoid_only_the_tree() {
    // Sizes that divide neither packets, chunks of a ring nor slots of memory; the last fits into no slot.
    for (bytes, counts) in [
        (1, &[8193][..]),
        (12, &[3, 700]),
        (700, &[1, 30]),
        (5000, &[5]),
        (9000, &[2]),
    ] {
        let sum = |accumulated: &mut [u8], operand: &[u8]| {
            for (accumulated, operand) in accumulated.iter_mut().zip(operand) {
                *accumulated = accumulated.wrapping_add(*operand);
            }
        };
        let used = sweep(&sums(bytes), &sum, counts);
        use Algorithm as A;
        for algorithm in [A::Ring, A::Affinity, A::Binomial] {
            assert!(used.contains(&algorithm), "{algorithm:?} {bytes}");
        }
        assert!(!used.contains(&A::Tree));
        assert_eq!(used.contains(&A::SharedMemory), bytes < 8193, "{bytes}");
    }
}

#[test]
fn ep18_user_operations_never_use_the_collective_network() {
    let world = World::new(&[0, 1, 2], 1, 1);
    let geometry = Geometry::world(&world.clients[0], "three", 1, 1).expect("valid");
    for op in [maps(), sums(8)] {
        for collective in [Collective::Reduce, Collective::Allreduce] {
            let query = Query {
                geometry: &geometry,
                collective,
                root: 0,
                bytes: Some(op.kind().bytes()),
                alignment: 1,
                reduction: op.kind(),
                routes: ALL,
                sharing: Default::default(),
            };
            let choose = |named| geometry.algorithms().choose(&query, named);
            assert_ne!(choose(None), Ok(Algorithm::Tree), "{op:?}");
            let refused = choose(Some(Algorithm::Tree));
            assert!(
                matches!(refused, Err(Error::Algorithm { .. })),
                "{refused:?}"
            );
        }
    }
}

#[test]
fn ep18_a_size_of_elements_or_of_data_that_makes_no_sense_is_refused() {
    for (bytes, fits) in [(0, false), (1, true), (65_535, true), (65_536, false)] {
        let made = UserOp::new(9, bytes, true, |_, _| {});
        let refused = Error::ElementBytes { number: 9, bytes };
        assert_eq!(made.err(), (!fits).then_some(refused), "{bytes}");
    }
    let world = World::new(&[0, 1], 1, 1);
    let geometry = Geometry::world(&world.clients[0], "two", 1, 1).expect("valid");
    let members = world.join(&geometry);
    let buffer = world.buffer(TaskId(0), &[0; 30]);
    let posted = members[0].post(Request::allreduce(maps(), None, buffer), None);
    let expected = "a multiple of 12 bytes";
    assert!(
        matches!(&posted, Err(Error::Request { field: "send_blocks", value: 30, expected: e, .. }) if e == expected),
        "{posted:?}"
    );
}

/// Has every member post, and returns the ends.
fn post(
    world: &World,
    members: &[Member<Place>],
    request: impl Fn(usize) -> (Option<Algorithm>, Call),
) -> Vec<Result<(), Error>> {
    let ended = ends(members.len());
    world.tolerant.store(true);
    for (rank, member) in members.iter().enumerate() {
        let (algorithm, request) = request(rank);
        let posted = member.post_as(Initiator::All, algorithm, request, note(&ended, rank));
        posted.expect("valid in itself");
    }
    world.run(&ended);
    world.tolerant.store(false);
    ended.lock().iter().flatten().cloned().collect()
}

#[test]
fn ep18_members_with_different_operations_all_fail_by_name() {
    // By messages, and in the memory of a node.
    for nodes in [&[0, 1, 2, 3][..], &[0, 0, 0, 0]] {
        let world = World::new(nodes, 1, 12);
        let geometry = Geometry::world(&world.clients[0], "four", 1, 1).expect("valid");
        let members = world.join(&geometry);
        let op = |number, bytes, commutative| {
            UserOp::new(number, bytes, commutative, |_, _| {}).expect("a size")
        };
        let ours = op(3, 12, true);
        let algorithm = match nodes[1] {
            0 => Algorithm::SharedMemory,
            _ => Algorithm::Binomial,
        };
        for (field, theirs) in [
            ("operation", op(4, 12, true)),
            ("bytes of an element", op(3, 24, true)),
        ] {
            for bytes in [48, 4800] {
                let results = post(&world, &members, |rank| {
                    let op = if rank == 2 { &theirs } else { &ours };
                    let buffer = world.buffer(TaskId(rank as u32), &vec![1; bytes]);
                    let send = Some(world.buffer(TaskId(rank as u32), &vec![1; bytes]));
                    (Some(algorithm), Request::reduce(0, op, send, buffer))
                });
                let blames = |result: &Result<(), Error>| {
                    let Err(error) = result else { return false };
                    matches!(error, Error::Disagreement { field: found, .. } if *found == field)
                };
                assert!(results.iter().any(blames), "{field}: {results:?}");
                assert!(results[2].is_err(), "{field}: {results:?}");
                let after = post(&world, &members, |_| (None, Request::barrier()));
                assert!(after.iter().all(Result::is_ok), "{field}: {after:?}");
            }
        }
        // One of the built-in operations against one of the user's; one that commutes against one that does not.
        let doubling = Some(Algorithm::RecursiveDoubling);
        for (field, theirs) in [("type", None), ("commutative", Some(op(3, 12, false)))] {
            let results = post(&world, &members, |rank| {
                let buffer = world.buffer(TaskId(rank as u32), &[1; 48]);
                let built_in = (
                    gyre_collectives::DataType::U32,
                    gyre_collectives::ReduceOp::Sum,
                );
                let request = match (rank, &theirs) {
                    (1, Some(op)) => Request::allreduce(op, None, buffer),
                    (1, None) => Request::allreduce(built_in, None, buffer),
                    _ => Request::allreduce(&ours, None, buffer),
                };
                (doubling, request)
            });
            let blames = |result: &Result<(), Error>| matches!(result, Err(Error::Disagreement { field: found, .. }) if *found == field);
            assert!(results.iter().any(blames), "{field}: {results:?}");
        }
    }
}

#[test]
fn ep18_a_member_that_follows_learns_the_operation_by_its_number() {
    let world = World::new(&[0, 1, 2], 1, 3);
    let geometry = Geometry::world(&world.clients[0], "three", 1, 1).expect("valid");
    let members = world.join(&geometry);
    let send: Vec<_> = (0..3).map(|p| pattern(p, 5 * MAP)).collect();
    let result = world.buffer(TaskId(1), &[0; 5 * MAP]);
    let ended = ends(3);
    for (rank, member) in members.iter().enumerate() {
        let own = world.buffer(TaskId(rank as u32), &send[rank]);
        if rank == 1 {
            let request = Request::reduce(1, maps(), Some(own), result.clone());
            let posted = member.post_as(Initiator::Root, None, request, note(&ended, rank));
            posted.expect("valid");
            continue;
        }
        let ended = ended.clone();
        let receive = world.buffer(TaskId(rank as u32), &[]);
        member.on_call(Box::new(move |_, call| {
            let expected = ReduceKind::User {
                number: 3,
                bytes: 12,
                commutative: false,
            };
            assert_eq!(call.reduction, expected);
            let (send, receive) = (Some(own.clone()), receive.clone());
            Some(Follow {
                request: Request::reduce(1, maps(), send, receive),
                done: note(&ended, rank),
            })
        }));
    }
    world.run(&ended);
    assert!(ended.lock().iter().all(|end| *end == Some(Ok(()))));
    assert_eq!(contents(&result), combined(&follow, &send));
}

#[test]
fn ep18_threads_of_a_node_take_commutative_user_operations() {
    let world = World::new(&[0], 1, 1);
    let platform = world.contexts[0][0].platform();
    let places = [gyre_affinity::Place::default()];
    let domains = gyre_affinity::Domains::new(&places, 2).expect("a thread");
    let group = ThreadGroup::new("threads", 1, domains.tree().clone());
    let mut thread = group.join(platform, 0, None).expect("the only thread");
    let mut data = pattern(1, 2400);
    assert_eq!(thread.allreduce(sums(12), &mut data), Ok(()));
    assert_eq!(data, pattern(1, 2400));
    for (op, field, value) in [
        (maps(), "operation", 3),
        (sums(993), "bytes of an element", 993),
        (sums(7), "bytes", 2400),
    ] {
        let refused = thread.allreduce(&op, &mut data);
        assert!(
            matches!(refused, Err(Error::Thread { field: f, value: v, .. }) if f == field && v == value),
            "{refused:?}"
        );
    }
}
