// SPDX-License-Identifier: MIT OR Apache-2.0
//! Choice of algorithms (EP-8), and of the root's endpoint that serves each peer (EP-10 to EP-12, EP-15).

use std::collections::{BTreeMap, BTreeSet};

use crate::world::World;
use gyre_collectives::{
    Algorithm, Collective, Condition, DataType, Geometry, Query, ReduceKind, ReduceOp, RoutesTaken,
    Sharing, tree_operation,
};
use gyre_driver::{CollOp, CollType, Endpoint};

const ALL: RoutesTaken = RoutesTaken {
    class: true,
    barrier: true,
    window: true,
};
const SOME: Sharing = Sharing {
    some: true,
    all: false,
    most: 2,
};

fn query(geometry: &Geometry, collective: Collective, bytes: Option<usize>) -> Query<'_> {
    Query {
        geometry,
        collective,
        root: 0,
        bytes,
        alignment: 1,
        reduction: ReduceKind::BuiltIn(DataType::U32, ReduceOp::Sum),
        routes: RoutesTaken::default(),
        sharing: Sharing::default(),
    }
}

#[test]
fn ep8_conditions_on_numbers_hold_up_to_their_edges() {
    use Condition as C;
    let world = World::new(&[0, 1, 2, 3, 4], 3, 1);
    let numbers = [
        C::TasksPowerOfTwo,
        C::EndpointsPowerOfTwo,
        C::EndpointsEven,
        C::EndpointsOdd,
        C::RootEndpoints(2),
    ];
    for (endpoints, expected) in [
        (&[(0, 0)][..], [true, true, false, true, false]),
        (
            &[(0, 0), (1, 0), (2, 0)],
            [false, false, false, true, false],
        ),
        (
            &[(0, 0), (1, 0), (2, 0), (0, 1)],
            [false, true, true, false, true],
        ),
        (
            &[(0, 0), (1, 0), (1, 1), (0, 1), (0, 2), (1, 2)],
            [true, false, true, false, true],
        ),
        (
            &[(0, 0), (1, 0), (2, 0), (3, 0)],
            [true, true, true, false, false],
        ),
    ] {
        let geometry = world.endpoints(1, endpoints);
        let query = query(&geometry, Collective::Barrier, Some(0));
        assert_eq!(numbers.map(|c| c.holds(&query)), expected, "{endpoints:?}");
    }
    let geometry = Geometry::world(&world.clients[0], "five", 1, 1).expect("valid");
    // Five tasks with an endpoint each; a node has most of them.
    let little = C::IntraNodeCombineAtMost(39);
    for (condition, most, limit) in [
        (C::AtMost(8), 2, 8),
        (little, 1, 195),
        (little, 2, 195),
        (little, 3, 65),
        (little, 8, 15),
    ] {
        for (bytes, expected) in [(Some(limit), true), (Some(limit + 1), false), (None, false)] {
            let query = Query {
                sharing: Sharing { most, ..SOME },
                ..query(&geometry, Collective::Allreduce, bytes)
            };
            assert_eq!(condition.holds(&query), expected, "{condition:?} {bytes:?}");
        }
    }
    let long = query(&geometry, Collective::Allreduce, Some(1 << 30));
    assert!(little.holds(&long), "no node is shared");
    for (condition, bytes, expected) in [
        (C::AtLeast(8), Some(8), true),
        (C::AtLeast(8), Some(7), false),
        (C::AtLeast(0), None, false),
        (C::AtLeastEach(8), Some(40), true),
        (C::AtLeastEach(8), Some(39), false),
        (C::AtLeastEach(0), None, false),
        (C::MultipleOf(8), Some(16), true),
        (C::MultipleOf(8), Some(12), false),
        (C::MultipleOf(1), None, false),
        (C::EqualBlocks, Some(0), true),
        (C::EqualBlocks, None, false),
        (C::Window(8), Some(8), true),
        (C::Window(8), Some(9), false),
    ] {
        let query = query(&geometry, Collective::Gather, bytes);
        assert_eq!(condition.holds(&query), expected, "{condition:?} {bytes:?}");
    }
}

#[test]
fn ep8_hw5_the_tree_is_chosen_for_what_its_alu_does_as_software_does() {
    use Condition as C;
    let world = World::new(&[0, 1, 2], 1, 1);
    let geometry = Geometry::world(&world.clients[0], "three", 1, 1).expect("valid");
    for data in DataType::ALL {
        for op in ReduceOp::ALL {
            let dtype = match data {
                DataType::U32 => Some(CollType::U32),
                DataType::I32 => Some(CollType::I32),
                DataType::U64 => Some(CollType::U64),
                DataType::I64 => Some(CollType::I64),
                DataType::F64 => Some(CollType::F64),
                _ => None,
            };
            let double = data == DataType::F64;
            let op_there = match op {
                ReduceOp::BitAnd if !double => Some(CollOp::And),
                ReduceOp::BitOr if !double => Some(CollOp::Or),
                ReduceOp::BitXor if !double => Some(CollOp::Xor),
                ReduceOp::Sum => Some(CollOp::Add),
                ReduceOp::Min => Some(CollOp::Min),
                ReduceOp::Max => Some(CollOp::Max),
                _ => None,
            };
            let reduction = ReduceKind::BuiltIn(data, op);
            assert_eq!(tree_operation(reduction), op_there.zip(dtype));
            let query = |routes| Query {
                reduction,
                routes,
                ..query(&geometry, Collective::Allreduce, Some(1 << 10))
            };
            // What the hardware makes of NaN differs: it is used when named.
            let nan = double && matches!(op, ReduceOp::Min | ReduceOp::Max);
            let has = op_there.zip(dtype).is_some();
            let choose = |routes, named| geometry.algorithms().choose(&query(routes), named);
            let tree = Algorithm::Tree;
            assert_eq!(choose(ALL, Some(tree)).is_ok(), has, "{op:?} {data:?}");
            let chosen = choose(ALL, None) == Ok(tree);
            assert_eq!(chosen, has && !nan, "{op:?} {data:?}");
            for routes in [
                RoutesTaken::default(),
                RoutesTaken {
                    class: false,
                    ..ALL
                },
            ] {
                assert!(choose(routes, Some(tree)).is_err());
                assert_ne!(choose(routes, None), Ok(tree));
            }
            let commutes = C::Commutative.holds(&query(ALL));
            assert_eq!(commutes, op != ReduceOp::Copy);
        }
    }
}

#[test]
fn ep8_the_first_algorithm_whose_conditions_hold_is_chosen() {
    use {Algorithm as A, Collective as C};
    let world = World::new(&[0, 1, 2], 2, 1);
    let one = Geometry::world(&world.clients[0], "one", 1, 1).expect("valid");
    let two = Geometry::world(&world.clients[0], "two", 2, 2).expect("valid");
    let routes = RoutesTaken::default();
    let none = Sharing::default();
    let node = Sharing {
        some: true,
        all: true,
        most: 3,
    };
    let short = RoutesTaken {
        window: false,
        ..ALL
    };
    let class = RoutesTaken {
        barrier: false,
        ..ALL
    };
    for (geometry, collective, bytes, routes, sharing, expected) in [
        (&one, C::Barrier, Some(0), routes, none, A::Dissemination),
        (&one, C::Barrier, Some(0), ALL, none, A::Tree),
        (&one, C::Barrier, Some(0), class, none, A::Dissemination),
        (&one, C::Barrier, Some(0), ALL, node, A::SharedMemory),
        (&one, C::Broadcast, Some(4096), short, none, A::Tree),
        (&one, C::Broadcast, Some(4097), short, none, A::Binomial),
        (&one, C::Broadcast, Some(4097), ALL, none, A::Tree),
        (&one, C::Broadcast, Some(8), class, none, A::Binomial),
        (&two, C::Broadcast, Some(16383), routes, none, A::Binomial),
        (
            &two,
            C::Broadcast,
            Some(16384),
            routes,
            none,
            A::EndpointParallel,
        ),
        (
            &two,
            C::Broadcast,
            Some(16384),
            routes,
            node,
            A::SharedMemory,
        ),
        (&one, C::Broadcast, Some(16385), routes, node, A::Binomial),
        (&one, C::Scatter, Some(256), routes, none, A::Binomial),
        (
            &one,
            C::Scatter,
            Some(257),
            routes,
            none,
            A::EndpointParallel,
        ),
        (&one, C::Gather, None, routes, none, A::EndpointParallel),
        (&one, C::Allgather, Some(256), routes, none, A::ThereAndBack),
        (&one, C::Allgather, None, routes, none, A::Ring),
        (
            &one,
            C::Allreduce,
            Some(767),
            routes,
            none,
            A::RecursiveDoubling,
        ),
        (&one, C::Allreduce, Some(768), routes, none, A::Ring),
        (&one, C::Allreduce, Some(512), routes, SOME, A::SharedMemory),
        (
            &one,
            C::Allreduce,
            Some(513),
            routes,
            SOME,
            A::RecursiveDoubling,
        ),
        (&one, C::Allreduce, Some(7500), ALL, SOME, A::Tree),
        (&one, C::Allreduce, Some(7501), ALL, SOME, A::Ring),
        (&one, C::Allreduce, Some(1 << 20), ALL, none, A::Tree),
        (&one, C::Alltoall, Some(256), routes, none, A::Linear),
        (&one, C::Alltoall, None, routes, none, A::Pairwise),
        (
            &one,
            C::Scan,
            Some(16384),
            routes,
            none,
            A::RecursiveDoubling,
        ),
        (&one, C::Scan, Some(16385), routes, none, A::Linear),
        (&one, C::ReduceScatter, Some(16384), routes, none, A::Ring),
        (&one, C::ReduceScatter, None, routes, none, A::Pairwise),
    ] {
        let query = Query {
            routes,
            sharing,
            ..query(geometry, collective, bytes)
        };
        let chosen = geometry.algorithms().choose(&query, None);
        assert_eq!(chosen, Ok(expected), "{collective:?} {bytes:?}");
    }
}

/// First links of what each endpoint of the root sends: their ports, with the number of transfers.
fn first_links(world: &World, geometry: &Geometry, root: usize) -> Vec<BTreeMap<usize, usize>> {
    let client = &world.clients[0];
    let network = client.network().expect("the node answers");
    let node = |e: Endpoint| {
        let place = client.tasks().place(e.task(), e.context_offset());
        place.expect("a task").node
    };
    let mut links = vec![BTreeMap::new(); geometry.ranks_of(root).len()];
    for transfer in geometry.transfers(root, Collective::Broadcast) {
        let rank = geometry.rank(transfer.from).expect("an endpoint");
        let ranks = geometry.ranks_of(root);
        let own = ranks.iter().position(|&r| r == rank).expect("of the root");
        let way = network.way(node(transfer.from), node(transfer.to), transfer.routing);
        *links[own].entry(way[0].port).or_default() += 1;
    }
    links
}

#[test]
fn ep10_root_endpoints_share_peers_equally_by_first_link() {
    for size in [5, 9] {
        let nodes: Vec<usize> = (0..size).collect();
        let world = World::new(&nodes, 2, 3);
        let client = &world.clients[0];
        let geometry = Geometry::world(client, "ring", 1, 2).expect("valid");
        let geometry = geometry.on_network(client).expect("the node answers");
        for root in 0..size {
            let links = first_links(&world, &geometry, root);
            let ports: BTreeSet<usize> = links.iter().flat_map(|l| l.keys().copied()).collect();
            assert_eq!(ports.len(), 2, "root {root}: {links:?}");
            for own in &links {
                let shares: Vec<usize> = own.values().copied().collect();
                assert_eq!(shares, [size / 2], "root {root}: {links:?}");
            }
        }
    }
}

#[test]
fn ep12_each_endpoint_of_the_root_gathers_a_range_of_positions() {
    let world = World::new(&[0, 1, 2, 3, 4, 5, 6], 3, 4);
    let geometry = Geometry::world(&world.clients[0], "world", 1, 3).expect("valid");
    for root in 0..7 {
        let mut parts = vec![Vec::new(); 3];
        for transfer in geometry.transfers(root, Collective::Gather) {
            assert_eq!(transfer.to.task().0 as usize, root);
            let own = usize::from(transfer.to.context_offset());
            parts[own].push(transfer.from.task().0 as usize);
        }
        let others: Vec<usize> = (0..7).filter(|&p| p != root).collect();
        assert_eq!(parts.concat(), others, "root {root}: {parts:?}");
        assert!(parts.iter().all(|part| !part.is_empty()), "{parts:?}");
    }
}

#[test]
fn ep15_no_data_goes_to_a_helper_that_serves_nobody() {
    // The other task is beside the root's, the helper is not.
    let world = World::with_away(&[0, 0], 3, &[(0, 2..3, 1)], 5);
    let geometry = world.endpoints(1, &[(0, 0), (0, 1), (0, 2), (1, 0)]);
    let geometry = geometry.on_network(&world.clients[0]).expect("at home");
    let transfers = geometry.transfers(0, Collective::Broadcast);
    let to: Vec<u32> = transfers.iter().map(|t| t.to.task().0).collect();
    assert_eq!(to, [1], "{transfers:?}");
}

#[test]
fn ep13_a_line_of_nodes_has_no_torus_broadcast() {
    for (line, expected) in [
        (false, Algorithm::DimensionPipelined),
        (true, Algorithm::Binomial),
    ] {
        let world = World::new(&[0, 1, 2, 3, 4], 1, 6);
        if line {
            world.double.cut();
        }
        let client = &world.clients[0];
        let geometry = Geometry::world(client, "world", 1, 1).expect("valid");
        let geometry = geometry.on_network(client).expect("the node answers");
        let query = query(&geometry, Collective::Broadcast, Some(1 << 20));
        assert_eq!(Condition::WholeTorus.holds(&query), !line);
        assert_eq!(geometry.algorithms().choose(&query, None), Ok(expected));
    }
}
