// SPDX-License-Identifier: MIT OR Apache-2.0
//! Members that call nearly the same: every field that may differ is compared (EP-8).

use crate::world::{Call, Place, World, ends, note};
use gyre_collectives::{
    Algorithm, Blocks, DataType, Error, Geometry, Initiator, Member, ReduceOp, Request,
};

const SUM: (DataType, ReduceOp) = (DataType::U16, ReduceOp::Sum);

fn five() -> (World, Vec<Member<Place>>) {
    let world = World::new(&[0, 1, 2, 3, 4], 1, 12);
    let geometry = Geometry::world(&world.clients[0], "five", 1, 1).expect("valid");
    let members = world.join(&geometry);
    (world, members)
}

/// Has every member post, gives the ends, and checks that a barrier works afterwards.
fn post(
    world: &World,
    members: &[Member<Place>],
    request: impl Fn(usize) -> (Initiator, Option<Algorithm>, Call),
) -> Vec<Result<(), Error>> {
    let ended = ends(members.len());
    // A member that has ended its part already hears of a disagreement from `advance`.
    world.tolerant.store(true);
    for (rank, member) in members.iter().enumerate() {
        let (initiator, algorithm, request) = request(rank);
        let posted = member.post_as(initiator, algorithm, request, note(&ended, rank));
        posted.expect("valid in itself");
    }
    world.run(&ended);
    world.tolerant.store(false);
    let after = ends(members.len());
    for (rank, member) in members.iter().enumerate() {
        let posted = member.post(Request::barrier(), note(&after, rank));
        posted.expect("valid");
    }
    world.run(&after);
    assert!(after.lock().iter().all(|end| *end == Some(Ok(()))));
    ended.lock().iter().flatten().cloned().collect()
}

/// Whether some member names the field.
fn blames(results: &[Result<(), Error>], name: &str) -> bool {
    let blames = |r: &Result<(), Error>| matches!(r, Err(Error::Disagreement { field, .. }) if *field == name);
    results.iter().any(blames)
}

#[test]
fn ep8_another_type_operation_or_way_is_found_by_its_name() {
    let (world, members) = five();
    let doubling = Some(Algorithm::RecursiveDoubling);
    for bytes in [40, 4000] {
        let buffer = |rank: usize| {
            let task = members[rank].geometry().tasks()[rank];
            world.buffer(task, &vec![1; bytes])
        };
        for odd in 0..members.len() {
            for (field, kind) in [
                ("type", (DataType::U32, ReduceOp::Sum)),
                ("operation", (DataType::U16, ReduceOp::BitXor)),
            ] {
                let results = post(&world, &members, |rank| {
                    let kind = if rank == odd { kind } else { SUM };
                    (
                        Initiator::All,
                        doubling,
                        Request::allreduce(kind, None, buffer(rank)),
                    )
                });
                assert!(blames(&results, field), "{field} at {odd}: {results:?}");
            }
        }
        let results = post(&world, &members, |rank| {
            let initiator = if rank == 2 {
                Initiator::Root
            } else {
                Initiator::All
            };
            let binomial = Some(Algorithm::Binomial);
            (initiator, binomial, Request::broadcast(2, buffer(rank)))
        });
        assert!(blames(&results, "initiator"), "{results:?}");
    }
}

#[test]
fn ep8_a_block_of_another_length_than_the_roots_is_an_error() {
    let (world, members) = five();
    let tasks = members.len();
    for (bytes, wrong) in [(40, 32), (40, 48), (4000, 3200), (3200, 4000)] {
        for odd in 1..tasks {
            let buffer = |rank: usize, bytes: usize| {
                let task = members[rank].geometry().tasks()[rank];
                world.buffer(task, &vec![1; bytes])
            };
            let results = post(&world, &members, |rank| {
                let (known, all) = match rank {
                    0 => (Blocks::counted(&vec![bytes; tasks]), tasks * bytes),
                    _ => (Blocks::Listed(Vec::new()), 0),
                };
                let own = if rank == odd { wrong } else { bytes };
                let (send, receive) = (buffer(rank, own), buffer(rank, all));
                (
                    Initiator::All,
                    None,
                    Request::gather(0, Some(send), receive, known),
                )
            });
            assert!(blames(&results, "message bytes"), "{odd}: {results:?}");
        }
    }
}
