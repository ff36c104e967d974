// SPDX-License-Identifier: MIT OR Apache-2.0
//! Faults planted in the RTL of the collective network (`build/models.rs`): the bench notices each of them, and finds
//! nothing wrong with the unit as it is in the very same scenario (HW-5). The files with faults have no assertions.

use gyre_layout::{CollOp, CollType};
use gyre_rtl_tests::collective::{Discrepancy, Operation, Route};
use gyre_rtl_tests::tree::{Config, Tree, Trouble};

const NODES: usize = 7;
/// The unit without faults.
const RIGHT: &str = "collective_flit8";

/// A tree of seven units with one class route and one barrier route of all.
fn tree(unit: &'static str) -> Tree {
    let mut tree = Tree::up(Config {
        unit,
        flit_bytes: 8,
        depth: 136,
        ..Config::reference(NODES, 2, 77)
    });
    tree.set_route(0, &Route::everybody(NODES));
    tree.set_barrier(0, &Route::everybody(NODES));
    tree
}

/// An operation of all nodes on doubles.
fn operation(op: CollOp, len: u16) -> Operation {
    Operation {
        route: 0,
        op,
        dtype: CollType::F64,
        class: 1,
        len,
        to: None,
        from: 0,
    }
}

/// Doubles of very different sizes, whose sums depend on the order.
fn doubles(rng: &mut fastrand::Rng, len: usize) -> Vec<u8> {
    let value = |_| rng.u64(0..2) << 63 | rng.u64(1000..1060) << 52 | rng.u64(0..1 << 52);
    (0..len / 8).map(value).flat_map(u64::to_le_bytes).collect()
}

/// Packets of all nodes, one right behind the other, in the order of `operations`.
fn packets(unit: &'static str, operations: &[Operation]) -> Result<(), Trouble> {
    let mut tree = tree(unit);
    for operation in operations {
        tree.start(operation, &[], doubles);
    }
    tree.drain(20_000)
}

#[test]
fn hw5_children_that_change_places_in_the_arithmetic_are_noticed() {
    let sums = [operation(CollOp::Add, 512); 4];
    assert_eq!(packets(RIGHT, &sums), Ok(()));
    let noticed = packets("fault_child_order", &sums);
    let content = matches!(
        noticed,
        Err(Trouble::Book(_, Discrepancy::Content { at: 32.., .. }))
    );
    assert!(content, "{noticed:?}");
}

#[test]
fn hw5_a_stale_instruction_register_is_noticed() {
    let alternating = [CollOp::Add, CollOp::Max, CollOp::Add, CollOp::Min];
    let alternating = alternating.map(|op| operation(op, 256));
    assert_eq!(packets(RIGHT, &alternating), Ok(()));
    let noticed = packets("fault_instruction_latch", &alternating);
    let content = matches!(
        noticed,
        Err(Trouble::Book(_, Discrepancy::Content { at: 32.., .. }))
    );
    assert!(content, "{noticed:?}");
}

#[test]
fn hw5_a_child_that_is_passed_by_on_the_way_down_is_noticed() {
    let broadcasts = [
        operation(CollOp::Broadcast, 100),
        operation(CollOp::Broadcast, 512),
    ]
    .map(|broadcast| Operation {
        dtype: CollType::U32,
        ..broadcast
    });
    assert_eq!(packets(RIGHT, &broadcasts), Ok(()));
    let noticed = packets("fault_skipped_child", &broadcasts);
    // Nodes 4 and 6 are the second children of nodes 1 and 2.
    let Err(Trouble::Stuck(_, missing)) = &noticed else {
        panic!("{noticed:?}");
    };
    assert!(
        missing.iter().all(|(_, nodes)| *nodes == [4, 6]),
        "{missing:?}"
    );
}

#[test]
fn hw5_a_credit_that_goes_back_twice_is_noticed() {
    let full = [operation(CollOp::Add, 512); 8];
    assert_eq!(packets(RIGHT, &full), Ok(()));
    let noticed = packets("fault_credit_twice", &full);
    assert!(noticed.is_err());
}

/// Barriers in which each node in turn enters last; who let go of whom before that.
fn barriers(unit: &'static str) -> Result<(), String> {
    let mut tree = tree(unit);
    for last in 0..NODES {
        tree.done.clear();
        let text = |trouble: Trouble| trouble.to_string();
        (0..NODES)
            .filter(|&node| node != last)
            .for_each(|node| tree.enter(node, 1));
        tree.run(100).map_err(text)?;
        if let Some(early) = tree.done.first() {
            return Err(format!("node {last} has not entered: {early:?}"));
        }
        tree.enter(last, 1);
        tree.run(100).map_err(text)?;
        if tree.done.len() != NODES || !tree.reports.is_empty() {
            return Err(format!("{:?} {:?}", tree.done, tree.reports));
        }
    }
    Ok(())
}

#[test]
fn hw5_a_barrier_that_does_not_wait_for_a_child_is_noticed() {
    assert_eq!(barriers(RIGHT), Ok(()));
    let noticed = barriers("fault_early_barrier").expect_err("nobody waits for node 2");
    assert!(noticed.starts_with("node 2 has not entered"), "{noticed}");
}
