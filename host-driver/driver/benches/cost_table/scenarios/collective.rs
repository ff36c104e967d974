// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives by messages between two tasks: the same calls as those of `gyre-collectives`.

use gyre_collectives::{
    Algorithm, Collectives, DataType, Geometry, Initiator, Member, ReduceOp, Request,
};
use gyre_driver::TaskId;

use super::List;
use super::world::{BOTH, EACH, World, side};
use crate::book;
use crate::platform::{Counted, CountedMemory};

/// Dispatch identifier of the collectives.
const DISPATCH: u8 = 9;
/// Bytes of a block.
const BLOCK: usize = 8;

/// The request of a task of the world.
type Make = fn(&World, usize) -> Request<CountedMemory>;

pub fn scenarios(list: &mut List) {
    let barrier: Make = |_, _| Request::barrier();
    let broadcast: Make = |w, side| Request::broadcast(0, part(w, side, 0));
    let reduce: Make = |w, side| {
        let sum = (DataType::F64, ReduceOp::Sum);
        Request::reduce(0, sum, Some(part(w, side, 0)), part(w, side, 1))
    };
    let allreduce: Make = |w, side| {
        let sum = (DataType::F64, ReduceOp::Sum);
        Request::allreduce(sum, Some(part(w, side, 0)), part(w, side, 1))
    };
    for (name, algorithm, request, sides) in [
        ("barrier", Algorithm::Dissemination, barrier, &[BOTH][..]),
        ("broadcast", Algorithm::Binomial, broadcast, EACH),
        ("reduce", Algorithm::Binomial, reduce, EACH),
        (
            "allreduce",
            Algorithm::RecursiveDoubling,
            allreduce,
            &[BOTH],
        ),
        ("allreduce", Algorithm::ThereAndBack, allreduce, &[BOTH]),
    ] {
        for &counted in sides {
            let side = side(counted);
            let name = format!("{name} of {BLOCK} B, {}, {side}", algorithm.name());
            list.add(name, move || {
                let world = World::new();
                let members = members(&world);
                move || {
                    for (side, member) in members.iter().enumerate() {
                        let request = request(&world, side);
                        book::count_if(counted[side], || {
                            let posted =
                                member.post_as(Initiator::All, Some(algorithm), request, None);
                            posted.expect("valid");
                        });
                    }
                    world.run(counted);
                }
            });
        }
    }
}

/// Buffer `number` of a task.
fn part(world: &World, side: usize, number: usize) -> gyre_driver::BufferRange<CountedMemory> {
    let part = world.data[side].part(number * BLOCK, BLOCK);
    part.expect("inside")
}

/// Both tasks as members of a geometry.
fn members(world: &World) -> Vec<Member<Counted>> {
    let endpoints = [0, 1].map(|task| {
        let endpoint = world.contexts[0].endpoint(TaskId(task), 0);
        endpoint.expect("exists")
    });
    let geometry = Geometry::endpoint_list("both", 1, endpoints.to_vec()).expect("valid");
    let contexts = world.contexts.iter();
    let join = |context| {
        let collectives = Collectives::attach(context, DISPATCH).expect("free");
        collectives.join(&geometry).expect("an endpoint of it")
    };
    contexts.map(join).collect()
}
