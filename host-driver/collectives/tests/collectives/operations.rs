// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations on types, alone and inside collectives.

use crate::world::{self, Case, World, check, reduced};
use gyre_collectives::{
    Algorithm, Blocks, Collective, DataType, Geometry, Query, ReduceKind, ReduceOp, Request,
    RoutesTaken,
};

fn f64s(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Elements whose bytes tell where they come from; floating point numbers are of moderate size, so that sums
/// and products round.
fn elements(data: DataType, seed: usize, count: usize) -> Vec<u8> {
    let number = |i: usize| (i * 37 + seed * 101 + 11) % 97;
    let float = |i: usize| (number(i) as f64 - 40.0) / 7.0;
    let mut bytes = Vec::new();
    for i in 0..count {
        let small = number(i) as i32 % 5 - 2;
        match data {
            DataType::F32 => bytes.extend((float(i) as f32).to_le_bytes()),
            DataType::F64 => bytes.extend(float(i).to_le_bytes()),
            DataType::ComplexF32 => {
                bytes.extend((float(i) as f32).to_le_bytes());
                bytes.extend((float(i + 3) as f32).to_le_bytes());
            }
            DataType::ComplexF64 => bytes.extend(f64s(&[float(i), float(i + 3)])),
            DataType::LocI32 => {
                bytes.extend(small.to_le_bytes());
                bytes.extend((seed as i32).to_le_bytes());
            }
            DataType::LocI16 => {
                bytes.extend((small as i16).to_le_bytes());
                bytes.extend([0, 0]);
                bytes.extend((seed as i32).to_le_bytes());
            }
            DataType::LocF32 => {
                bytes.extend((small as f32).to_le_bytes());
                bytes.extend((seed as i32).to_le_bytes());
            }
            DataType::LocF64 => {
                bytes.extend(f64::from(small).to_le_bytes());
                bytes.extend((seed as i32).to_le_bytes());
                bytes.extend([0; 4]);
            }
            DataType::LocTwoF32 => {
                bytes.extend((small as f32).to_le_bytes());
                bytes.extend((seed as f32).to_le_bytes());
            }
            DataType::LocTwoF64 => bytes.extend(f64s(&[f64::from(small), seed as f64])),
            integer => {
                let value = (number(i) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                // Zeros show what logic does.
                let value = if i.is_multiple_of(3) { 0 } else { value };
                bytes.extend(&value.to_le_bytes()[..integer.bytes()]);
            }
        }
    }
    bytes
}

/// Whether two results are the same; sums and products of floating point numbers only nearly, since the
/// reference adds in another order.
fn same(data: DataType, op: ReduceOp, ours: &[u8], theirs: &[u8]) -> bool {
    let rounds = matches!(op, ReduceOp::Sum | ReduceOp::Product);
    let near = |a: f64, b: f64, limit: f64| (a - b).abs() <= limit * (1.0 + b.abs());
    let f32s = |bytes: &[u8]| -> Vec<f64> {
        let (chunks, _) = bytes.as_chunks::<4>();
        chunks
            .iter()
            .map(|&c| f64::from(f32::from_le_bytes(c)))
            .collect()
    };
    let f64s = |bytes: &[u8]| -> Vec<f64> {
        let (chunks, _) = bytes.as_chunks::<8>();
        chunks.iter().map(|&c| f64::from_le_bytes(c)).collect()
    };
    let all = |(a, b): (Vec<f64>, Vec<f64>), limit| {
        a.len() == b.len() && a.iter().zip(&b).all(|(&a, &b)| near(a, b, limit))
    };
    match data {
        DataType::F32 | DataType::ComplexF32 if rounds => all((f32s(ours), f32s(theirs)), 1e-4),
        DataType::F64 | DataType::ComplexF64 if rounds => all((f64s(ours), f64s(theirs)), 1e-12),
        _ => ours == theirs,
    }
}

#[test]
fn ep13_allreduce_and_scan_of_every_operation_on_every_type() {
    let world = World::new(&[0, 1, 2, 0, 1], 1, 5);
    let geometry = Geometry::world(&world.clients[0], "world", 1, 1).expect("valid");
    let place = |task: gyre_driver::TaskId| (task.0 as usize % 2, Default::default());
    let geometry = geometry.with_places(2, place).expect("an arity");
    let members = world.join(&geometry);
    let mut pairs = 0;
    for data in DataType::ALL {
        for op in ReduceOp::ALL
            .into_iter()
            .filter(|op| op.is_defined_on(data))
        {
            pairs += 1;
            let send: Vec<_> = (0..5).map(|p| elements(data, p, 11)).collect();
            let after = reduced(data, op, &send);
            let mut results = Vec::new();
            let query = Query {
                geometry: &geometry,
                collective: Collective::Allreduce,
                root: 0,
                bytes: Some(send[0].len()),
                alignment: 1,
                reduction: ReduceKind::BuiltIn(data, op),
                // The test double of the node has no collective network.
                routes: RoutesTaken::default(),
                sharing: members[0].sharing(),
            };
            let list = geometry.algorithms().list(Collective::Allreduce);
            // Some combine in another order than that of the positions.
            for entry in list.iter().filter(|entry| entry.is_valid(&query)) {
                let algorithm = entry.algorithm;
                let (ends, kind) = (world::ends(5), (data, op));
                let buffers: Vec<_> = members
                    .iter()
                    .map(|member| {
                        let task = geometry.tasks()[member.position()];
                        let send = world.buffer(task, &send[member.position()]);
                        let receive = world.buffer(task, &vec![0xee; send.len()]);
                        let request = Request::allreduce(kind, Some(send), receive.clone());
                        let number = member.position();
                        let done = world::note(&ends, number);
                        let initiator = gyre_collectives::Initiator::All;
                        let posted = member.post_as(initiator, Some(algorithm), request, done);
                        posted.expect("valid");
                        receive
                    })
                    .collect();
                world.run(&ends);
                for buffer in &buffers {
                    let result = world::contents(buffer);
                    let what = format!("{op:?} of {data:?} by {algorithm:?}");
                    assert!(same(data, op, &result, &after), "{what}");
                    assert_eq!(
                        result,
                        world::contents(&buffers[0]),
                        "{what}: members differ"
                    );
                }
                results.push(world::contents(&buffers[0]));
            }
            assert_eq!(results.len(), if op == ReduceOp::Copy { 2 } else { 5 });
        }
    }
    assert_eq!(pairs, 18 + 8 * 10 + 2 * 4 + 2 * 2 + 6 * 2);
}

#[test]
fn ep13_operations_mean_what_they_say() {
    let combine = |op: ReduceOp, data, a: &[u8], b: &[u8]| {
        let mut into = a.to_vec();
        op.combine(data, b, &mut into, false);
        let mut turned = b.to_vec();
        op.combine(data, a, &mut turned, true);
        assert_eq!(into, turned, "{op:?} with operands the other way round");
        into
    };
    let i32s = |a: i32, b: i32, op| {
        let bytes = combine(op, DataType::I32, &a.to_le_bytes(), &b.to_le_bytes());
        i32::from_le_bytes(bytes.try_into().expect("4 bytes"))
    };
    assert_eq!(i32s(7, -3, ReduceOp::Copy), -3);
    assert_eq!(i32s(7, 0, ReduceOp::LogicalAnd), 0);
    assert_eq!(i32s(7, 8, ReduceOp::LogicalAnd), 1);
    assert_eq!(i32s(7, 0, ReduceOp::LogicalOr), 1);
    assert_eq!(i32s(7, 8, ReduceOp::LogicalXor), 0);
    assert_eq!(i32s(12, 10, ReduceOp::BitAnd), 8);
    assert_eq!(i32s(12, 10, ReduceOp::BitOr), 14);
    assert_eq!(i32s(12, 10, ReduceOp::BitXor), 6);
    assert_eq!(i32s(i32::MAX, 1, ReduceOp::Sum), i32::MIN);
    assert_eq!(i32s(1 << 20, 1 << 20, ReduceOp::Product), 0);
    assert_eq!(i32s(7, -3, ReduceOp::Min), -3);
    assert_eq!(i32s(7, -3, ReduceOp::Max), 7);
    let unsigned = combine(ReduceOp::Max, DataType::U8, &[1, 200], &[255, 100]);
    assert_eq!(unsigned, [255, 200]);
    let doubles = |a: f64, b: f64, op| {
        let bytes = combine(op, DataType::F64, &a.to_le_bytes(), &b.to_le_bytes());
        f64::from_le_bytes(bytes.try_into().expect("8 bytes"))
    };
    assert!(doubles(f64::NAN, 1.0, ReduceOp::Min).is_nan());
    assert!(doubles(1.0, f64::NAN, ReduceOp::Min).is_nan());
    assert!(doubles(f64::NAN, 1.0, ReduceOp::Max).is_nan());
    assert!(doubles(1.0, f64::NAN, ReduceOp::Max).is_nan());
    assert_eq!(
        doubles(0.0, -0.0, ReduceOp::Min).to_bits(),
        (-0.0f64).to_bits()
    );
    assert_eq!(
        doubles(0.0, -0.0, ReduceOp::Max).to_bits(),
        0.0f64.to_bits()
    );
    assert!(doubles(f64::INFINITY, f64::NEG_INFINITY, ReduceOp::Sum).is_nan());
    // (1 + 2i) (3 - 1i) = 5 + 5i
    let (a, b) = (f64s(&[1.0, 2.0]), f64s(&[3.0, -1.0]));
    let product = combine(ReduceOp::Product, DataType::ComplexF64, &a, &b);
    assert_eq!(product, f64s(&[5.0, 5.0]));
    let (a, b) = (f64s(&[1.5, 4.0]), f64s(&[1.5, 3.0]));
    for op in [ReduceOp::MinLoc, ReduceOp::MaxLoc] {
        assert_eq!(
            combine(op, DataType::LocTwoF64, &a, &b),
            b,
            "the smaller index"
        );
    }
    // The place of a NaN is that of the least and of the greatest.
    let (number, nan) = (f64s(&[1.5, 3.0]), f64s(&[f64::NAN, 4.0]));
    for op in [ReduceOp::MinLoc, ReduceOp::MaxLoc] {
        assert_eq!(combine(op, DataType::LocTwoF64, &number, &nan), nan);
        assert_eq!(combine(op, DataType::LocTwoF64, &nan, &number), nan);
    }
    let (low, high) = (f64s(&[-1.0, 9.0]), f64s(&[2.0, 1.0]));
    assert_eq!(
        combine(ReduceOp::MinLoc, DataType::LocTwoF64, &low, &high),
        low
    );
    assert_eq!(
        combine(ReduceOp::MaxLoc, DataType::LocTwoF64, &low, &high),
        high
    );
}

#[test]
fn ep13_ordered_reductions_hold_without_commutativity() {
    let world = World::new(&[0, 1, 2, 3, 0, 1, 2], 1, 6);
    let geometry = Geometry::world(&world.clients[0], "world", 1, 1).expect("valid");
    let members = world.join(&geometry);
    for root in 0..7 {
        let send: Vec<_> = (0..7).map(|p| world::pattern(p, 40)).collect();
        let after = (0..7).map(|p| if p == root { send[6].clone() } else { vec![] });
        let after: Vec<Vec<u8>> = after.collect();
        let case = Case {
            request: Box::new(move |_, send, receive| {
                Request::reduce(root, (DataType::U64, ReduceOp::Copy), Some(send), receive)
            }),
            before: after.iter().map(|a| vec![0; a.len()]).collect(),
            send,
            after,
        };
        check(&world, &members, None, &case, "the last one");
    }
}

#[test]
fn ep13_scans_and_reduce_scatters_hold_without_commutativity() {
    const LAST: (DataType, ReduceOp) = (DataType::U64, ReduceOp::Copy);
    let world = World::new(&[0, 1, 2, 3, 0, 1, 2], 1, 8);
    let geometry = Geometry::world(&world.clients[0], "world", 1, 1).expect("valid");
    let members = world.join(&geometry);
    for bytes in [8, 40, 4000] {
        let send: Vec<_> = (0..7).map(|p| world::pattern(p, bytes)).collect();
        for algorithm in [Algorithm::RecursiveDoubling, Algorithm::Linear] {
            let case = Case {
                request: Box::new(move |_, send, receive| Request::scan(LAST, Some(send), receive)),
                before: vec![vec![0; bytes]; 7],
                after: send.clone(),
                send: send.clone(),
            };
            check(&world, &members, Some(algorithm), &case, "up to oneself");
        }
        let send: Vec<_> = (0..7).map(|p| world::pattern(p, 7 * bytes)).collect();
        let last = |p: usize| send[6][p * bytes..(p + 1) * bytes].to_vec();
        let case = Case {
            request: Box::new(move |_, send, receive| {
                Request::reduce_scatter(LAST, Some(send), receive, Blocks::Equal(bytes))
            }),
            before: vec![vec![0; bytes]; 7],
            after: (0..7).map(last).collect(),
            send: send.clone(),
        };
        check(&world, &members, None, &case, "the last one's block");
    }
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

#[test]
fn ep13_sums_of_doubles_are_rounded_in_the_order_of_the_algorithm() {
    const SUM: (DataType, ReduceOp) = (DataType::F64, ReduceOp::Sum);
    let world = World::new(&[0, 1, 2, 3, 0, 1, 2], 1, 9);
    let geometry = Geometry::world(&world.clients[0], "world", 1, 1).expect("valid");
    let members = world.join(&geometry);
    let value = |p: usize, i: usize| [1e16, 1.0, -1e16, 3.5, 0.1, 7e15, -0.7][(p * 3 + i) % 7];
    let sent = |p: usize| -> Vec<f64> { (0..7).map(|i| value(p, i)).collect() };
    // A subtree: one's own, then that of the children, the nearest first.
    fn subtree(sent: &dyn Fn(usize) -> Vec<f64>, reach: usize, distance: usize) -> Vec<f64> {
        let bits = (0..reach.trailing_zeros()).map(|bit| 1 << bit);
        let children = bits.filter(|bit| distance + bit < 7);
        children.fold(sent(distance), |own, bit| {
            sum(&own, &subtree(sent, bit, distance + bit))
        })
    }
    let mut results = Vec::new();
    for root in 0..7 {
        let from_root = |distance: usize| sent((root + distance) % 7);
        let binomial = subtree(&from_root, 8, 0);
        let linear = (1..7).fold(sent(0), |all, p| sum(&all, &sent(p)));
        // In place from the root's position down, then up.
        let below = (0..root)
            .rev()
            .fold(sent(root), |own, p| sum(&sent(p), &own));
        let from_own = (root + 1..7).fold(below, |own, p| sum(&own, &sent(p)));
        for (algorithm, in_place, expected) in [
            (Algorithm::Binomial, false, &binomial),
            (Algorithm::Binomial, true, &binomial),
            (Algorithm::Linear, false, &linear),
            (Algorithm::Linear, true, &from_own),
        ] {
            let result = f64s(expected);
            let mut send: Vec<_> = (0..7).map(|p| f64s(&sent(p))).collect();
            let (mut before, mut after) = (vec![vec![]; 7], vec![vec![]; 7]);
            before[root] = vec![0; result.len()];
            after[root].clone_from(&result);
            if in_place {
                before[root] = core::mem::take(&mut send[root]);
            }
            let case = Case {
                request: Box::new(move |position, send, receive| {
                    let send = (!in_place || position != root).then_some(send);
                    Request::reduce(root, SUM, send, receive)
                }),
                send,
                before,
                after,
            };
            let what = format!("{algorithm:?} to {root}, in place: {in_place}");
            check(&world, &members, Some(algorithm), &case, &what);
            results.push(result);
        }
    }
    results.sort();
    results.dedup();
    assert!(results.len() > 2, "the values tell orders apart");
}
