// SPDX-License-Identifier: MIT OR Apache-2.0
//! The routing functions of a tree of RTL against those that the deadlock check follows.

use gyre_deadlock::{Hop, MAX_DIMS, Route, Rules, Torus, minimal_ports};
use gyre_sim::{RoutingDecision, RoutingFunctions, RoutingQuery};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// Nodes up to which every pair of a machine is compared, and pairs drawn at random of a larger one.
const ALL_PAIRS: usize = 256;
const SAMPLED_PAIRS: usize = 20_000;

/// The first dynamic virtual channel (`vc_dynamic` of `gyre_pkg`).
const FIRST_DYNAMIC_VC: u8 = 8;

/// Compares every decision of `functions` in a machine with what the check says: for every pair of nodes, or for some
/// drawn at random of a large machine, injected, or come by any port in any kind of virtual channel.
///
/// # Errors
/// The first decision that differs, in words.
pub(super) fn compare(functions: &RoutingFunctions, torus: &Torus) -> Result<(), String> {
    let nodes = torus.nodes();
    if nodes <= ALL_PAIRS {
        for here in 0..nodes {
            for dst in 0..nodes {
                decisions(functions, torus, here, dst)?;
            }
        }
        return Ok(());
    }
    let mut random = ChaCha8Rng::seed_from_u64(nodes as u64);
    for _ in 0..SAMPLED_PAIRS {
        let mut node = || random.random_range(0..nodes);
        decisions(functions, torus, node(), node())?;
    }
    Ok(())
}

/// Machines whose pairs stand for those of all shapes: a decision looks at one dimension, and in a ring of two at
/// whether the distance in the others is odd.
pub(super) fn samples() -> Vec<Torus> {
    let lines = (1..=64).flat_map(|size| [false, true].map(|ring| vec![(size, ring)]));
    let mixed = [
        vec![(5, true), (4, false)],
        vec![(4, true), (3, false), (5, true)],
        vec![(2, true), (3, false), (2, false), (4, true)],
        vec![(2, true), (3, true), (2, false), (3, true), (2, true)],
    ];
    lines.chain(mixed).map(|dims| Torus::new(&dims)).collect()
}

/// Decisions at `here` about packets to `dst`, from there and from the next node.
fn decisions(
    functions: &RoutingFunctions,
    torus: &Torus,
    here: usize,
    dst: usize,
) -> Result<(), String> {
    let next = (here + 1) % torus.nodes();
    pair(functions, torus, (here, dst), here)?;
    pair(functions, torus, (next, dst), here)
}

fn pair(
    functions: &RoutingFunctions,
    torus: &Torus,
    (src, dst): (usize, usize),
    here: usize,
) -> Result<(), String> {
    let of = |value: &dyn Fn(usize) -> u8, absent: u8| {
        std::array::from_fn(|d| if d < torus.dims() { value(d) } else { absent })
    };
    let (from, at, to) = (torus.coord(src), torus.coord(here), torus.coord(dst));
    let query = RoutingQuery {
        size: of(&|d| torus.size(d), 1),
        ring: std::array::from_fn(|d| d < torus.dims() && torus.ring(d)),
        order: std::array::from_fn(|d| d as u8),
        here: of(&|d| at[d], 0),
        src: of(&|d| from[d], 0),
        dst: of(&|d| to[d], 0),
        dynamic: false,
        in_port: RoutingFunctions::LOCAL,
        in_vc: 0,
    };
    let differs = |what: String| {
        let dims = 0..MAX_DIMS.min(torus.dims());
        let sizes: Vec<String> = dims
            .map(|d| {
                format!(
                    "{}{}",
                    torus.size(d),
                    if torus.ring(d) { "" } else { " line" }
                )
            })
            .collect();
        format!(
            "its routing functions are not those that this check follows: on {}, at {} from {} to {}: {what}",
            sizes.join("x"),
            joined(&at[..torus.dims()]),
            joined(&from[..torus.dims()]),
            joined(&to[..torus.dims()])
        )
    };
    let linked = (0..torus.ports() as u8).flat_map(|port| [0, 1, 7, 8].map(|vc| (port, vc)));
    for (in_port, in_vc) in [(RoutingFunctions::LOCAL, 0)].into_iter().chain(linked) {
        let decided = functions.decide(&RoutingQuery {
            in_port,
            in_vc,
            ..query
        });
        let fixed = in_port != RoutingFunctions::LOCAL && in_vc < FIRST_DYNAMIC_VC;
        let arrival = fixed.then(|| Route {
            port: in_port.into(),
            dateline: usize::from(in_vc % 2),
        });
        let expected = Hop::next(torus, &Rules::default(), (src, dst), here, arrival);
        let found = hop(decided);
        if found != expected {
            return Err(differs(format!(
                "come by port {in_port}, virtual channel {in_vc}: {found}, expected {expected}"
            )));
        }
    }
    let dynamic = functions.decide(&RoutingQuery {
        dynamic: true,
        ..query
    });
    let found: Vec<usize> = (0..torus.ports())
        .filter(|port| dynamic.minimal >> port & 1 != 0)
        .collect();
    let expected = minimal_ports(torus, here, dst);
    if found != expected {
        return Err(differs(format!(
            "a dynamic packet may take ports {}, expected {}",
            joined(&found),
            joined(&expected)
        )));
    }
    Ok(())
}

/// Numbers in a row: `1,0,2`.
fn joined<T: ToString>(numbers: &[T]) -> String {
    let texts: Vec<String> = numbers.iter().map(T::to_string).collect();
    texts.join(",")
}

fn hop(decided: RoutingDecision) -> Hop {
    match decided.port {
        RoutingFunctions::LOCAL => Hop::Eject,
        port => Hop::Link(Route {
            port: port.into(),
            dateline: decided.dateline.into(),
        }),
    }
}
