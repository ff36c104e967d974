// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines that cannot deadlock, and machines broken on purpose.

use crate::{Fault, Report, Resource, Rules, Shape, Torus, decomposed, every_shape, exhaustive};

/// Shapes of at most `nodes` nodes.
fn shapes(nodes: usize) -> impl Iterator<Item = Shape> {
    every_shape()
        .into_iter()
        .filter(move |shape| shape.torus().nodes() <= nodes)
}

/// The cycle closes, and each of its waits follows from the one before.
fn assert_closed(report: &Report) {
    let cycle = &report.cycle;
    for (wait, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
        assert_eq!(wait.wants, next.holds, "{cycle:?}");
    }
}

#[test]
fn x3_no_machine_of_up_to_36_nodes_has_a_cycle() {
    for shape in shapes(36) {
        let report = exhaustive(&shape.torus(), &Rules::default());
        assert_eq!(report.cycle, [], "{shape:?}");
        assert!(
            report.dependencies > 0 || shape.dims.is_empty(),
            "{shape:?}"
        );
    }
}

#[test]
fn x3_any_common_dimension_order_is_free_of_cycles() {
    let torus = Torus::new(&[(4, true), (3, true), (2, true)]);
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let [a, b, c] = order;
        let rules = Rules {
            order: [a, b, c, 3, 4],
            fault: None,
        };
        assert_eq!(exhaustive(&torus, &rules).cycle, [], "{order:?}");
    }
}

#[test]
fn x3_checks_by_dimension_and_of_the_whole_agree() {
    for shape in shapes(40) {
        for fault in [
            None,
            Some(Fault::Dateline),
            Some(Fault::Classes),
            Some(Fault::Reordering),
        ] {
            let rules = Rules {
                fault,
                ..Rules::default()
            };
            let whole = exhaustive(&shape.torus(), &rules);
            let by_dimension = decomposed(&shape.torus(), &rules).expect("covered");
            assert_eq!(
                whole.cycle.is_empty(),
                by_dimension.cycle.is_empty(),
                "{shape:?} {fault:?}"
            );
        }
    }
}

#[test]
fn x3_a_dimension_of_one_node_changes_nothing() {
    for dims in [
        vec![(3, true), (4, false)],
        vec![(8, true)],
        vec![(2, true), (5, true)],
    ] {
        for at in 0..=dims.len() {
            for ring in [false, true] {
                let mut longer = dims.clone();
                longer.insert(at, (1, ring));
                for fault in [None, Some(Fault::Dateline)] {
                    let rules = Rules {
                        fault,
                        ..Rules::default()
                    };
                    let (short, long) = (
                        exhaustive(&Torus::new(&dims), &rules),
                        exhaustive(&Torus::new(&longer), &rules),
                    );
                    assert_eq!(short.resources, long.resources, "{longer:?}");
                    assert_eq!(short.dependencies, long.dependencies, "{longer:?}");
                    assert_eq!(short.cycle.len(), long.cycle.len(), "{longer:?}");
                }
            }
        }
    }
}

#[test]
fn x3_a_ring_without_dateline_is_refused_with_its_cycle() {
    let report = exhaustive(&Torus::new(&[(8, true)]), &Rules::broken(Fault::Dateline));
    assert_closed(&report);
    assert_eq!(report.cycle.len(), 8, "{:?}", report.cycle);
    let line = exhaustive(&Torus::new(&[(8, false)]), &Rules::broken(Fault::Dateline));
    assert_eq!(line.cycle, []);
}

#[test]
fn x3_unequal_dimension_orders_are_refused_with_their_cycle() {
    let mesh = Torus::new(&[(3, false), (3, false)]);
    let report = exhaustive(&mesh, &Rules::broken(Fault::Order));
    assert_closed(&report);
    let ports: std::collections::BTreeSet<usize> = report
        .cycle
        .iter()
        .filter_map(|wait| match wait.holds {
            Resource::Channel { port, .. } => Some(port),
            _ => None,
        })
        .collect();
    assert_eq!(ports.len(), 4, "once round a square: {:?}", report.cycle);
}

#[test]
fn x3_responses_in_request_channels_are_refused_with_their_cycle() {
    let report = exhaustive(&Torus::new(&[(2, false)]), &Rules::broken(Fault::Classes));
    assert_closed(&report);
    let services = report
        .cycle
        .iter()
        .filter(|wait| matches!(wait.holds, Resource::RemoteGet { .. }));
    assert!(services.count() > 0, "{:?}", report.cycle);
}

#[test]
fn x3_hw4_reordering_without_reserved_places_has_a_cycle() {
    for shape in shapes(36).filter(|shape| !shape.dims.is_empty()) {
        let torus = shape.torus();
        let report = exhaustive(&torus, &Rules::broken(Fault::Reordering));
        assert_closed(&report);
        let held = report.cycle.iter().map(|wait| wait.holds);
        let places = held.filter(|held| matches!(held, Resource::Reordering { .. }));
        assert!(places.count() > 0, "{shape:?}: {:?}", report.cycle);
    }
}

#[test]
fn x3_dynamic_channels_need_room_for_a_packet_and_a_way_out() {
    let torus = Torus::new(&[(8, true), (3, true)]);
    for fault in [Fault::CutThrough, Fault::Escape] {
        let report = exhaustive(&torus, &Rules::broken(fault));
        assert_closed(&report);
        assert!(!report.cycle.is_empty(), "{fault:?}");
        for wait in &report.cycle {
            let (src, dst) = wait.packet.expect("a packet shows each wait");
            assert_ne!(src, dst);
        }
    }
}
