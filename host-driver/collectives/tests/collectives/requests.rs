// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests that make no sense are refused before anything is sent (EP-13, X-5).

use crate::world::{Call, World};
use gyre_collectives::{Blocks, DataType, Error, Geometry, Initiator, ReduceOp, Request};
use gyre_driver::TaskId;

#[test]
fn ep13_x5_requests_that_do_not_fit_are_refused_by_field_up_to_the_edge() {
    const SUM: (DataType, ReduceOp) = (DataType::U16, ReduceOp::Sum);
    let world = World::new(&[0, 1, 2], 1, 1);
    let geometry = Geometry::world(&world.clients[0], "three", 1, 1).expect("valid");
    let members = world.join(&geometry);
    let buffer = |bytes: usize| world.buffer(TaskId(0), &vec![0; bytes]);
    let listed = |ranges: &[(usize, usize)]| {
        Blocks::Listed(ranges.iter().map(|&(start, end)| start..end).collect())
    };
    let three = Blocks::Equal(4);
    let turned = listed(&[(8, 12), (4, 8), (0, 4)]);
    let refused: [(&str, u64, Call); 15] = [
        ("root", 3, Request::broadcast(3, buffer(4))),
        (
            "send",
            11,
            Request::scatter(0, buffer(11), three.clone(), Some(buffer(4))),
        ),
        (
            "send",
            11,
            Request::scatter(0, buffer(11), turned.clone(), Some(buffer(4))),
        ),
        (
            "receive",
            5,
            Request::scatter(0, buffer(12), three.clone(), Some(buffer(5))),
        ),
        (
            "receive",
            11,
            Request::gather(0, Some(buffer(4)), buffer(11), three.clone()),
        ),
        (
            "receive",
            11,
            Request::allgather(Some(buffer(4)), buffer(11), turned.clone()),
        ),
        (
            "send",
            3,
            Request::allgather(Some(buffer(3)), buffer(12), three.clone()),
        ),
        (
            "receive_blocks",
            2,
            Request::allgather(Some(buffer(4)), buffer(12), listed(&[(0, 4), (4, 8)])),
        ),
        (
            "receive_blocks",
            4,
            Request::allgather(Some(buffer(0)), buffer(12), listed(&[(0, 0); 4])),
        ),
        (
            "receive_blocks",
            3,
            Request::allgather(Some(buffer(4)), buffer(12), {
                // From its end to its beginning.
                listed(&[(0, 4), (4, 3), (8, 12)])
            }),
        ),
        (
            "send_blocks",
            3,
            Request::allreduce(SUM, Some(buffer(3)), buffer(3)),
        ),
        (
            "send_blocks",
            3,
            Request::reduce_scatter(
                SUM,
                Some(buffer(12)),
                buffer(4),
                listed(&[(0, 4), (4, 8), (8, 11)]),
            ),
        ),
        (
            "send",
            11,
            Request::alltoall(Some(buffer(11)), three.clone(), buffer(12), three.clone()),
        ),
        (
            "receive",
            11,
            Request::alltoall(Some(buffer(12)), three.clone(), buffer(11), three.clone()),
        ),
        ("position of a caller", 0, Request::broadcast(1, buffer(4))),
    ];
    for (name, wrong, request) in refused {
        let initiator = match name {
            "position of a caller" => Initiator::Root,
            _ => Initiator::All,
        };
        let what = format!("{name} of {:?}", request.collective);
        match members[0].post_as(initiator, None, request, None) {
            Err(Error::Request { field, value, .. }) => {
                assert_eq!((field, value), (name, wrong), "{what}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
    let undefined = Request::allreduce((DataType::F32, ReduceOp::BitAnd), None, buffer(4));
    let refused = members[0].post(undefined, None);
    assert!(
        matches!(refused, Err(Error::Operation { .. })),
        "{refused:?}"
    );
    // Nothing is under way: all are at rest.
    world.run_until(|| true);
}
