// SPDX-License-Identifier: MIT OR Apache-2.0
//! The routing functions of `gyre_pkg` in every shape of up to three dimensions of 1 to 5 nodes, ring
//! or line (HW-3, X-3).

use gyre_deadlock::{Hop, Route, Rules, Torus, minimal_ports};
use gyre_rtl_tests::Unit;
use gyre_rtl_tests::routes::{
    Arrival, LOCAL_PORT, NO_PORT, RtlRouter, Shape, follow, reference_route,
};

/// The first dynamic virtual channel (`vc_dynamic` of the package).
const FIRST_DYNAMIC_VC: u8 = 8;

/// Every shape of `dims` dimensions of 1 to 5 nodes, each ring or line.
fn shapes(dims: usize) -> Vec<Shape> {
    let mut shapes = vec![Vec::new()];
    for _ in 0..dims {
        shapes = shapes
            .into_iter()
            .flat_map(|shape: Vec<(u8, bool)>| {
                (1..=5).flat_map(move |size| {
                    let shape = shape.clone();
                    [false, true].map(|ring| [shape.clone(), vec![(size, ring)]].concat())
                })
            })
            .collect();
    }
    shapes.iter().map(|dims| Shape::new(dims)).collect()
}

/// Shapes of all numbers of dimensions up to three; some of the 1000 of three dimensions suffice.
fn all_shapes() -> Vec<Shape> {
    let mut all = [shapes(1), shapes(2)].concat();
    all.extend(shapes(3).into_iter().step_by(7));
    all
}

#[test]
fn hw3_every_pair_takes_the_reference_route_of_fewest_hops() {
    let mut router = RtlRouter::default();
    for shape in all_shapes() {
        for src in shape.places() {
            for dst in shape.places() {
                let path = follow(&mut router, &shape, &src, &dst)
                    .unwrap_or_else(|error| panic!("{shape:?}: {error}"));
                assert_eq!(path.len(), shape.distance(&src, &dst), "{shape:?} {path:?}");
                let ports: Vec<u8> = path.iter().map(|channel| channel.1).collect();
                assert_eq!(
                    ports,
                    reference_route(&shape, &src, &dst),
                    "{shape:?} {src:?} -> {dst:?}"
                );
            }
        }
    }
}

/// Every decision for a shape, of the RTL and of the functions that `gyre check deadlock` builds its graph from:
/// every pair of places, injected or come by any port on any virtual channel.
fn assert_equal_decisions(router: &mut RtlRouter, shape: &Shape, dims: usize) {
    let sizes: Vec<(u8, bool)> = shape.size.into_iter().zip(shape.ring).take(dims).collect();
    let torus = Torus::new(&sizes);
    let rules = Rules {
        order: shape.order.map(usize::from),
        fault: None,
    };
    // (port, channel) by which it came: injected here, else channels 0 to 7 deterministic, two of the dynamic ones.
    let linked = (0..2 * dims as u8).flat_map(|port| [0, 1, 2, 5, 7, 8, 15].map(|vc| (port, vc)));
    let arrivals: Vec<(u8, u8)> = [(LOCAL_PORT, 0)].into_iter().chain(linked).collect();
    let places = shape.places();
    for (at, &here) in places.iter().enumerate() {
        for (to, &dst) in places.iter().enumerate() {
            // Whether the distance is odd decides in rings of two.
            let sources = [at, (at + 1) % places.len()];
            for (&(in_port, in_vc), from) in arrivals.iter().flat_map(|a| sources.map(|s| (a, s))) {
                let decision = router.decide(
                    shape,
                    &Arrival {
                        here,
                        src: places[from],
                        dst,
                        in_port,
                        in_vc,
                    },
                );
                let on_fixed_route = in_port != LOCAL_PORT && in_vc < FIRST_DYNAMIC_VC;
                let arrival = on_fixed_route.then(|| Route {
                    port: in_port.into(),
                    dateline: usize::from(in_vc % 2),
                });
                let hop = Hop::next(&torus, &rules, (from, to), at, arrival);
                let rtl = match decision.port {
                    LOCAL_PORT => Hop::Eject,
                    port => Hop::Link(Route {
                        port: port.into(),
                        dateline: decision.dateline.into(),
                    }),
                };
                assert_eq!(hop, rtl, "{shape:?} {here:?} -> {dst:?} {arrival:?}");
            }
            let dynamic: Vec<usize> = router
                .minimal_ports(shape, &here, &dst)
                .into_iter()
                .map(usize::from)
                .collect();
            assert_eq!(
                dynamic,
                minimal_ports(&torus, at, to),
                "{shape:?} {here:?} -> {dst:?}"
            );
        }
    }
}

#[test]
fn x3_the_deadlock_check_routes_as_the_rtl_does() {
    let mut router = RtlRouter::default();
    for dims in 1..=3 {
        for shape in shapes(dims).into_iter().step_by([1, 1, 5][dims - 1]) {
            assert_equal_decisions(&mut router, &shape, dims);
        }
    }
    for size in 6..=64 {
        for ring in [false, true] {
            assert_equal_decisions(&mut router, &Shape::new(&[(size, ring)]), 1);
        }
    }
    let more = [
        vec![(8, true), (8, true)],
        vec![(8, false), (5, true), (2, true)],
        vec![(2, true), (3, false), (2, false), (4, true)],
        vec![(2, true), (3, true), (2, false), (3, true), (2, true)],
    ];
    for dims in more {
        assert_equal_decisions(&mut router, &Shape::new(&dims), dims.len());
    }
}

#[test]
fn x3_deadlock_check_routes_as_the_rtl_in_any_programmed_order() {
    let mut router = RtlRouter::default();
    for order in [[1, 0, 2, 3, 4], [2, 1, 0, 3, 4], [4, 3, 2, 0, 1]] {
        for dims in [
            &[(4u8, true), (3, true), (2, true)] as &[_],
            &[(3, false), (4, true), (3, true)],
        ] {
            let shape = Shape::new(dims).with_order(order);
            assert_equal_decisions(&mut router, &shape, 3);
        }
    }
}

#[test]
fn hw3_routes_balance_the_two_dateline_channels() {
    let shape = Shape::new(&[(8, true)]);
    let mut router = RtlRouter::default();
    let mut hops = [0; 2];
    for src in shape.places() {
        for dst in shape.places() {
            for (_, _, dateline) in follow(&mut router, &shape, &src, &dst).expect("arrives") {
                hops[usize::from(dateline)] += 1;
            }
        }
    }
    let share = f64::from(hops[0]) / f64::from(hops[0] + hops[1]);
    assert!((0.3..0.7).contains(&share), "{hops:?}");
}

#[test]
fn hw3_destination_outside_the_machine_has_no_route() {
    let mut router = RtlRouter::default();
    for shape in shapes(2) {
        for here in shape.places() {
            for d in 0..5 {
                let mut dst = here;
                dst[d] = shape.size[d];
                let decision = router.decide(
                    &shape,
                    &Arrival {
                        here,
                        src: here,
                        dst,
                        in_port: LOCAL_PORT,
                        in_vc: 0,
                    },
                );
                assert_eq!(decision.port, NO_PORT, "{shape:?} {here:?} -> {dst:?}");
            }
        }
    }
}

#[test]
fn hw1_flits_of_a_packet_follow_its_payload_rounded_up_to_32_bytes() {
    let mut probe = Unit::new("route_probe", 1);
    let len = probe.port("len_i");
    for (port, bytes) in [("flits8_o", 8), ("flits16_o", 16), ("flits32_o", 32)] {
        let flits = probe.port(port);
        for payload in 0..=512 {
            probe.set(len, 0, payload);
            probe.eval().expect("no assertion");
            let expected = (32 + payload.div_ceil(32) * 32) / bytes;
            assert_eq!(
                probe.get(flits, 0),
                expected,
                "{payload} B, flits of {bytes} B"
            );
        }
    }
}

#[test]
fn hw4_dynamic_packets_may_take_every_shortest_way_and_no_other() {
    let mut router = RtlRouter::default();
    for shape in all_shapes() {
        for here in shape.places() {
            for dst in shape.places() {
                let ports = router.minimal_ports(&shape, &here, &dst);
                assert_eq!(
                    ports,
                    shape.minimal_ports(&here, &dst),
                    "{shape:?} {here:?} -> {dst:?}"
                );
            }
        }
    }
}
