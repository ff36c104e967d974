// SPDX-License-Identifier: MIT OR Apache-2.0
//! The decisions of a router, as `rtl/pkg/gyre_pkg.sv` makes them (HW-3).

use std::fmt;

use crate::rules::{Fault, Rules};
use crate::torus::Torus;

/// Where a packet goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// It is at its destination.
    Eject,
    /// By a port of the deterministic route, in a dateline channel.
    Link(Route),
}

impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Eject => f.write_str("ejected"),
            Self::Link(Route { port, dateline }) => {
                write!(f, "port {port}, dateline channel {dateline}")
            }
        }
    }
}

/// An output and the virtual channel on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Port `2 * d` or `2 * d + 1`.
    pub port: usize,
    /// Dateline channel, 0 or 1.
    pub dateline: usize,
}

impl Hop {
    /// The next hop on the deterministic route of a packet from `src` to `dst` at `here` that came on `arrival`: the
    /// port by which it came and the dateline channel; none if it enters the deterministic channels here, from
    /// injection or from a dynamic channel.
    pub fn next(
        torus: &Torus,
        rules: &Rules,
        (src, dst): (usize, usize),
        here: usize,
        arrival: Option<Route>,
    ) -> Self {
        let Some(port) = port(torus, rules, (src, dst), here, arrival.map(|a| a.port)) else {
            return Self::Eject;
        };
        Self::Link(Route {
            port,
            dateline: dateline(torus, rules, here, dst, arrival, port),
        })
    }
}

/// Output port of a packet at `here`; none at its destination. The first dimension in the node's order in which
/// it is not there yet; the direction once taken is kept, else it is the short one. `route_port` of the RTL.
fn port(
    torus: &Torus,
    rules: &Rules,
    (src, dst): (usize, usize),
    here: usize,
    in_port: Option<usize>,
) -> Option<usize> {
    let (at, to) = (torus.coord(here), torus.coord(dst));
    let order = rules.order_at(here);
    let &d = order.iter().find(|&&d| at[d] != to[d])?;
    let minus = match in_port {
        // It came by the + port: it moves in - direction.
        Some(port) if port / 2 == d => port % 2 == 0,
        _ if !torus.ring(d) => to[d] < at[d],
        _ => {
            let size = torus.size(d);
            let up = (to[d] + size - at[d]) % size;
            match (2 * up).cmp(&size) {
                std::cmp::Ordering::Less => false,
                std::cmp::Ordering::Greater => true,
                std::cmp::Ordering::Equal => tie_minus(torus, (src, dst), here, d),
            }
        }
    };
    Some(2 * d + usize::from(minus))
}

/// Whether a packet goes - where both directions of a dimension are equally short: + from even and - from odd
/// coordinates. These two are one cable of a ring of two, so there pairs with an odd distance in the other
/// dimensions take the other one. `tie_minus` of the RTL.
fn tie_minus(torus: &Torus, (src, dst): (usize, usize), here: usize, dim: usize) -> bool {
    let (from, to) = (torus.coord(src)[dim], torus.coord(dst)[dim]);
    let others = odd_distance(torus, (src, dst)) != (from.abs_diff(to) % 2 == 1);
    (torus.coord(here)[dim] % 2 == 1) != (torus.size(dim) == 2 && others)
}

/// Whether the coordinates of a packet's ends differ by an odd number in all.
pub(crate) fn odd_distance(torus: &Torus, (src, dst): (usize, usize)) -> bool {
    let (from, to) = (torus.coord(src), torus.coord(dst));
    (0..torus.dims()).fold(false, |odd, d| odd != (from[d].abs_diff(to[d]) % 2 == 1))
}

/// Dateline channel on output `port`: who will cross the wrap link uses 0 before it and 1 on and after it, others
/// a fixed function of where they enter the dimension and leave it. `route_dateline` of the RTL.
fn dateline(
    torus: &Torus,
    rules: &Rules,
    here: usize,
    dst: usize,
    arrival: Option<Route>,
    port: usize,
) -> usize {
    if rules.breaks(Fault::Dateline) {
        return 0;
    }
    let (d, minus) = (port / 2, port % 2 == 1);
    let (c, t) = (torus.coord(here)[d], torus.coord(dst)[d]);
    let crosses = if minus { t > c } else { t < c };
    let wraps = crosses && c == if minus { 0 } else { torus.size(d) - 1 };
    match arrival {
        _ if wraps => 1,
        Some(arrival) if arrival.port / 2 == d => arrival.dateline,
        _ if crosses => 0,
        _ => ((c ^ t).count_ones() % 2) as usize,
    }
}

/// Ports that bring a packet nearer to its destination: those that a dynamic packet may take. `minimal_ports` of the RTL.
pub fn minimal_ports(torus: &Torus, here: usize, dst: usize) -> Vec<usize> {
    let (at, to) = (torus.coord(here), torus.coord(dst));
    let mut ports = Vec::new();
    for d in (0..torus.dims()).filter(|&d| at[d] != to[d]) {
        let up = (to[d] + torus.size(d) - at[d]) % torus.size(d);
        let (plus, minus) = if torus.ring(d) {
            (2 * up <= torus.size(d), 2 * up >= torus.size(d))
        } else {
            (to[d] > at[d], to[d] < at[d])
        };
        ports.extend(plus.then_some(2 * d));
        ports.extend(minus.then_some(2 * d + 1));
    }
    ports
}
