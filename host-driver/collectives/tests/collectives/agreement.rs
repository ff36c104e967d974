// SPDX-License-Identifier: MIT OR Apache-2.0
//! Members that call different things, members that are called by others, and several collectives at once.

use std::sync::Arc;

use crate::world::{self, Case, Place, World, check, contents, ends, note, pattern, reduced};
use gyre_collectives::{
    Algorithm, Blocks, Call, Collective, DataType, Error, Follow, Geometry, Initiator, Member,
    ReduceOp, Request,
};
use parking_lot::Mutex;

const SUM: (DataType, ReduceOp) = (DataType::U16, ReduceOp::Sum);

fn small() -> (World, Vec<Member<Place>>) {
    let world = World::new(&[0, 1, 2, 3, 1], 2, 11);
    // Two endpoints in tasks 1 and 3.
    let list = [(0, 0), (1, 0), (3, 1), (1, 1), (2, 0), (3, 0), (4, 0)];
    let geometry = world.endpoints(1, &list);
    let members = world.join(&geometry);
    (world, members)
}

/// Has every member post what `request` says, and returns the ends.
fn post(
    world: &World,
    members: &[Member<Place>],
    request: impl Fn(usize) -> (Option<Algorithm>, world::Call),
) -> Vec<Result<(), Error>> {
    let ends = ends(members.len());
    for (rank, member) in members.iter().enumerate() {
        let (algorithm, request) = request(rank);
        let posted = member.post_as(Initiator::All, algorithm, request, note(&ends, rank));
        posted.expect("valid in itself");
    }
    world.run(&ends);
    ends.lock()
        .iter()
        .map(|end| end.clone().expect("run"))
        .collect()
}

#[test]
fn ep8_members_that_disagree_all_fail_and_the_next_call_works() {
    let (world, members) = small();
    let buffer = |rank: usize, bytes: usize| {
        let task = members[rank].geometry().tasks()[members[rank].position()];
        world.buffer(task, &vec![1; bytes])
    };
    for bytes in [40, 4000] {
        let odd_ones: [(&str, world::Call, Option<Algorithm>); 5] = [
            ("root", Request::broadcast(1, buffer(4, bytes)), None),
            ("bytes", Request::broadcast(0, buffer(4, bytes + 2)), None),
            (
                "collective",
                Request::allreduce(SUM, None, buffer(4, bytes)),
                None,
            ),
            ("barrier", Request::barrier(), None),
            (
                "algorithm",
                Request::broadcast(0, buffer(4, bytes)),
                Some(Algorithm::EndpointParallel),
            ),
        ];
        for (field, odd, algorithm) in odd_ones {
            // A member that has ended its part already hears of it from `advance`.
            world.tolerant.store(true);
            let results = post(&world, &members, |rank| match rank {
                4 => (algorithm, odd.clone()),
                _ => (
                    Some(Algorithm::Binomial),
                    Request::broadcast(0, buffer(rank, bytes)),
                ),
            });
            let blamed = |r: &Result<(), Error>| matches!(r, Err(Error::Disagreement { .. }));
            world.tolerant.store(false);
            let given_up = |r: &Result<(), Error>| matches!(r, Err(Error::GivenUp { .. }));
            let found = results.iter().any(|r| blamed(r) || given_up(r));
            assert!(found, "{field}: {results:?}");
            assert!(results[4].is_err(), "{field}: {results:?}");
            let results = post(&world, &members, |_| (None, Request::barrier()));
            assert!(results.iter().all(Result::is_ok), "{field}: {results:?}");
        }
    }
}

/// A member that follows with what `request` makes of the call, and notes its end.
fn follows(
    member: &Member<Place>,
    ends: &world::Ends,
    number: usize,
    calls: &Arc<Mutex<Vec<Call>>>,
    request: impl Fn(&Call) -> Option<world::Call> + Send + 'static,
) {
    let (ends, calls) = (Arc::clone(ends), Arc::clone(calls));
    member.on_call(Box::new(move |_, call| {
        calls.lock().push(*call);
        let request = request(call)?;
        let done = note(&ends, number);
        Some(Follow { request, done })
    }));
}

#[test]
fn ep9_only_the_root_or_only_the_others_post_and_the_rest_follow() {
    let (world, members) = small();
    let geometry = members[0].geometry().clone();
    let tasks = geometry.tasks().len();
    for initiator in [Initiator::Root, Initiator::NonRoot] {
        for (number, bytes) in [3, 48, 2000].into_iter().enumerate() {
            for collective in Collective::ALL {
                let root = (number + collective as usize) % tasks;
                let all: Vec<Vec<u8>> = (0..tasks)
                    .map(|p| pattern(p + number, bytes * tasks))
                    .collect();
                let buffers: Vec<_> = (0..tasks)
                    .map(|p| {
                        let task = geometry.tasks()[p];
                        let send = world.buffer(task, &all[p]);
                        (send, world.buffer(task, &vec![0; bytes * tasks]))
                    })
                    .collect();
                let even = bytes / 2 * 2;
                let request = move |p: usize, buffers: &[(world::Range, world::Range)]| {
                    let (send, receive) = &buffers[p];
                    let part = |r: &world::Range, len| r.part(0, len).expect("inside");
                    let (one, into) = (part(send, even), part(receive, even));
                    let blocks = Blocks::Equal(bytes);
                    match collective {
                        Collective::Barrier => Request::barrier(),
                        Collective::Broadcast if p == root => Request::broadcast(root, one),
                        Collective::Broadcast => Request::broadcast(root, into),
                        Collective::Scatter => {
                            let (send, into) = (send.clone(), part(receive, bytes));
                            Request::scatter(root, send, blocks, Some(into))
                        }
                        Collective::Gather => {
                            Request::gather(root, Some(part(send, bytes)), receive.clone(), blocks)
                        }
                        Collective::Allgather => {
                            Request::allgather(Some(part(send, bytes)), receive.clone(), blocks)
                        }
                        Collective::Reduce => Request::reduce(root, SUM, Some(one), into),
                        Collective::Allreduce => Request::allreduce(SUM, Some(one), into),
                        Collective::Alltoall => {
                            let (send, receive) = (Some(send.clone()), receive.clone());
                            Request::alltoall(send, blocks.clone(), receive, blocks)
                        }
                        Collective::Scan => Request::scan(SUM, Some(one), into),
                        Collective::ReduceScatter => {
                            let blocks = Blocks::Equal(even);
                            let send = Some(part(send, even * tasks));
                            Request::reduce_scatter(SUM, send, into, blocks)
                        }
                    }
                };
                let root = match collective {
                    Collective::Broadcast
                    | Collective::Scatter
                    | Collective::Gather
                    | Collective::Reduce => root,
                    _ => 0,
                };
                let ends = ends(members.len());
                let calls = Arc::default();
                for (rank, member) in members.iter().enumerate() {
                    let position = member.position();
                    let posts = (position == root) == (initiator == Initiator::Root);
                    if posts {
                        let request = request(position, &buffers);
                        let posted = member.post_as(initiator, None, request, note(&ends, rank));
                        posted.expect("valid");
                    } else {
                        let buffers = buffers.clone();
                        follows(member, &ends, rank, &calls, move |_| {
                            Some(request(position, &buffers))
                        });
                    }
                }
                world.run(&ends);
                let what = format!("{collective:?} {bytes} B by {initiator:?}");
                for end in ends.lock().iter() {
                    assert_eq!(end, &Some(Ok(())), "{what}");
                }
                let own = geometry.ranks_of(root).len();
                let followers = match initiator {
                    Initiator::Root => members.len() - own,
                    _ => own,
                };
                assert_eq!(calls.lock().len(), followers, "{what}");
                assert!(
                    calls.lock().iter().all(|c| c.collective == collective),
                    "{what}"
                );
                for (p, (_, receive)) in buffers.iter().enumerate() {
                    let mut expected = contents(receive);
                    let block = |q: usize, p: usize, b: usize| all[q][p * b..(p + 1) * b].to_vec();
                    let firsts = |n: usize| all.iter().map(|a| a[..n].to_vec()).collect::<Vec<_>>();
                    let result = match collective {
                        Collective::Broadcast if p != root => all[root][..even].to_vec(),
                        Collective::Scatter => block(root, p, bytes),
                        Collective::Gather if p == root => firsts(bytes).concat(),
                        Collective::Allgather => firsts(bytes).concat(),
                        Collective::Reduce if p == root => reduced(SUM.0, SUM.1, &firsts(even)),
                        Collective::Allreduce => reduced(SUM.0, SUM.1, &firsts(even)),
                        Collective::Alltoall => {
                            let of = |q| block(q, p, bytes);
                            (0..tasks).map(of).collect::<Vec<_>>().concat()
                        }
                        Collective::Scan => reduced(SUM.0, SUM.1, &firsts(even)[..=p]),
                        Collective::ReduceScatter => {
                            let of: Vec<_> = (0..tasks).map(|q| block(q, p, even)).collect();
                            reduced(SUM.0, SUM.1, &of)
                        }
                        _ => vec![],
                    };
                    expected[..result.len()].copy_from_slice(&result);
                    expected[result.len()..].fill(0);
                    assert_eq!(contents(receive), expected, "{what} at {p}");
                }
            }
        }
    }
}

#[test]
fn ep9_a_member_that_refuses_ends_the_collective_for_all() {
    let (world, members) = small();
    let calls = Arc::default();
    let ends = ends(members.len());
    for (rank, member) in members.iter().enumerate() {
        let task = member.geometry().tasks()[member.position()];
        let buffer = world.buffer(task, &[7; 6000]);
        if member.position() == 0 {
            let request = Request::broadcast(0, buffer);
            let posted = member.post_as(
                Initiator::Root,
                Some(Algorithm::Binomial),
                request,
                note(&ends, rank),
            );
            posted.expect("valid");
        } else {
            let refuses = rank == 4;
            follows(member, &ends, rank, &calls, move |_| {
                (!refuses).then(|| Request::broadcast(0, buffer.clone()))
            });
        }
    }
    // Rank 2 feeds the one that refuses.
    world.run_until(|| ends.lock()[2].is_some());
    let given_up =
        |end: &Option<Result<(), Error>>| matches!(end, Some(Err(Error::GivenUp { rank: 4, .. })));
    assert!(given_up(&ends.lock()[2]), "{:?}", ends.lock());
    for (rank, end) in ends.lock().iter().enumerate() {
        let ended = matches!(end, Some(Ok(()))) || given_up(end);
        // A member that hears of the end before it hears of the collective is never called.
        assert!(ended || end.is_none() && rank > 0, "rank {rank}: {end:?}");
    }
    let results = post(&world, &members, |_| (None, Request::barrier()));
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

#[test]
fn ep13_collectives_follow_each_other_on_two_geometries() {
    let world = World::new(&[0, 1, 2, 3, 1], 2, 17);
    let client = &world.clients[0];
    let one = Geometry::world(client, "one", 1, 1).expect("valid");
    let two = world.endpoints(2, &[(4, 0), (1, 1), (1, 0), (0, 1), (2, 0)]);
    let teams = [world.join(&one), world.join(&two)];
    let mut outcomes = Vec::new();
    let all = ends(0);
    for first in Collective::ALL {
        for second in Collective::ALL {
            for members in &teams {
                let geometry = members[0].geometry();
                let tasks = geometry.tasks().len();
                for collective in [first, second] {
                    let bytes = if outcomes.len() % 3 == 0 { 500 } else { 8 };
                    let buffers: Vec<_> = (0..tasks)
                        .map(|p| {
                            let task = geometry.tasks()[p];
                            let data = pattern(p + outcomes.len(), bytes * tasks);
                            (
                                world.buffer(task, &data),
                                world.buffer(task, &vec![0; bytes * tasks]),
                            )
                        })
                        .collect();
                    for member in members {
                        let (send, receive) = &buffers[member.position()];
                        let part = |r: &world::Range| r.part(0, bytes).expect("inside");
                        let blocks = Blocks::Equal(bytes);
                        let (own, into) = (Some(part(send)), part(receive));
                        let request = match collective {
                            Collective::Barrier => Request::barrier(),
                            Collective::Broadcast => Request::broadcast(1, part(send)),
                            Collective::Scatter => {
                                Request::scatter(1, send.clone(), blocks, Some(into))
                            }
                            Collective::Gather => Request::gather(1, own, receive.clone(), blocks),
                            Collective::Allgather => {
                                Request::allgather(own, receive.clone(), blocks)
                            }
                            Collective::Reduce => Request::reduce(1, SUM, own, into),
                            Collective::Allreduce => Request::allreduce(SUM, own, into),
                            Collective::Alltoall => Request::alltoall(
                                Some(send.clone()),
                                blocks.clone(),
                                receive.clone(),
                                blocks,
                            ),
                            Collective::Scan => Request::scan(SUM, own, into),
                            Collective::ReduceScatter => {
                                Request::reduce_scatter(SUM, Some(send.clone()), into, blocks)
                            }
                        };
                        let number = all.lock().len();
                        all.lock().push(None);
                        member.post(request, note(&all, number)).expect("valid");
                    }
                    outcomes.push((collective, buffers, bytes));
                }
            }
            world.run(&all);
            assert!(all.lock().iter().all(|end| *end == Some(Ok(()))));
        }
    }
    // The last of each pair of allreduces exposes mixed-up data.
    for (number, (collective, buffers, bytes)) in outcomes.iter().enumerate() {
        if *collective == Collective::Allreduce {
            let tasks = buffers.len();
            let inputs: Vec<_> = (0..tasks)
                .map(|p| pattern(p + number, bytes * tasks)[..*bytes].to_vec())
                .collect();
            let sum = reduced(SUM.0, SUM.1, &inputs);
            for (_, receive) in buffers {
                assert_eq!(contents(receive)[..*bytes], sum);
            }
        }
    }
}

#[test]
fn ep13_vector_forms_with_blocks_of_any_size_and_place() {
    let (world, members) = small();
    let tasks = members[0].geometry().tasks().len();
    fn size(p: usize) -> usize {
        [5, 0, 700, 64, 1][p % 5]
    }
    // Blocks lie in the opposite order, with a gap of 3 bytes between them.
    let start = |p: usize| (p + 1..tasks).map(|q| size(q) + 3).sum::<usize>();
    let ranges: Vec<_> = (0..tasks).map(|p| start(p)..start(p) + size(p)).collect();
    let end = ranges.iter().map(|r| r.end).max().expect("some");
    let listed = Blocks::Listed(ranges.clone());
    for root in 0..tasks {
        let whole = pattern(root, end);
        let blocks: Vec<Vec<u8>> = ranges.iter().map(|r| whole[r.clone()].to_vec()).collect();
        let mut placed = vec![0xee; end];
        for (range, block) in ranges.iter().zip(&blocks) {
            placed[range.clone()].copy_from_slice(block);
        }
        let at_root = |bytes: &Vec<u8>, p: usize| if p == root { bytes.clone() } else { vec![] };
        let known = listed.clone();
        let scatter = Case {
            request: Box::new(move |p, send, receive| {
                let known = if p == root {
                    known.clone()
                } else {
                    Blocks::Listed(vec![])
                };
                Request::scatter(root, send, known, Some(receive))
            }),
            send: (0..tasks).map(|p| at_root(&whole, p)).collect(),
            before: (0..tasks).map(|p| vec![0; size(p)]).collect(),
            after: blocks.clone(),
        };
        check(&world, &members, None, &scatter, "scatterv");
        let known = listed.clone();
        let gather = Case {
            request: Box::new(move |p, send, receive| {
                let known = if p == root {
                    known.clone()
                } else {
                    Blocks::Listed(vec![])
                };
                Request::gather(root, Some(send), receive, known)
            }),
            send: blocks.clone(),
            before: (0..tasks).map(|p| at_root(&vec![0xee; end], p)).collect(),
            after: (0..tasks).map(|p| at_root(&placed, p)).collect(),
        };
        check(&world, &members, None, &gather, "gatherv");
        let known = listed.clone();
        let allgather = Case {
            request: Box::new(move |_, send, receive| {
                Request::allgather(Some(send), receive, known.clone())
            }),
            send: blocks.clone(),
            before: vec![vec![0xee; end]; tasks],
            after: vec![placed.clone(); tasks],
        };
        check(&world, &members, None, &allgather, "allgatherv");
        // Position p sends (p + q) % 5 sized blocks: both sides know.
        let between = |p: usize, q: usize| size(p + q);
        let out =
            move |p: usize| Blocks::counted(&(0..tasks).map(|q| between(p, q)).collect::<Vec<_>>());
        let data = |p: usize, q: usize| pattern(p * 7 + q + root, between(p, q));
        let row = |p| (0..tasks).map(|q| data(p, q)).collect::<Vec<_>>().concat();
        let column = |q| (0..tasks).map(|p| data(p, q)).collect::<Vec<_>>().concat();
        for algorithm in [Algorithm::Pairwise, Algorithm::Linear] {
            let after: Vec<Vec<u8>> = (0..tasks).map(column).collect();
            let alltoall = Case {
                request: Box::new(move |p, send, receive| {
                    Request::alltoall(Some(send), out(p), receive, out(p))
                }),
                send: (0..tasks).map(row).collect(),
                before: after.iter().map(|a| vec![0; a.len()]).collect(),
                after,
            };
            check(&world, &members, Some(algorithm), &alltoall, "alltoallv");
        }
        let even = |p: usize| size(p) / 2 * 2;
        let counts: Vec<_> = (0..tasks).map(even).collect();
        let send: Vec<Vec<u8>> = (0..tasks)
            .map(|p| pattern(p + root, counts.iter().sum()))
            .collect();
        let sum = reduced(SUM.0, SUM.1, &send);
        let known = Blocks::counted(&counts);
        let first = |p: usize| counts[..p].iter().sum::<usize>();
        let after: Vec<_> = (0..tasks)
            .map(|p| sum[first(p)..first(p) + counts[p]].to_vec())
            .collect();
        for algorithm in [Algorithm::Ring, Algorithm::Pairwise] {
            let known = known.clone();
            let reduce_scatter = Case {
                request: Box::new(move |_, send, receive| {
                    Request::reduce_scatter(SUM, Some(send), receive, known.clone())
                }),
                send: send.clone(),
                before: after.iter().map(|a| vec![0; a.len()]).collect(),
                after: after.clone(),
            };
            check(
                &world,
                &members,
                Some(algorithm),
                &reduce_scatter,
                "reduce_scatter",
            );
        }
    }
}
