// SPDX-License-Identifier: MIT OR Apache-2.0
//! The load of links under transfers whose packets keep to their routes: found from the machine alone, not by the
//! driver.

use gyre_driver::Routing;
use gyre_layout::{MAX_PAYLOAD_BYTES, packet_bytes};
use gyre_sim::{MAX_DIMS, Topology};

/// Data wires of a link, bytes.
pub(super) const FLIT_BYTES: u64 = 16;

/// Bytes that each directed link carries.
pub(super) struct LinkLoad<'a> {
    topology: &'a Topology,
    /// By node and port.
    bytes: Vec<[u64; 2 * MAX_DIMS]>,
}

impl<'a> LinkLoad<'a> {
    /// No load.
    pub fn new(topology: &'a Topology) -> Self {
        let bytes = vec![[0; 2 * MAX_DIMS]; topology.nodes()];
        Self { topology, bytes }
    }

    /// Adds the packets of `payload` bytes from one node to another.
    pub fn add(&mut self, from: usize, to: usize, routing: Routing, payload: usize) {
        let whole = payload / MAX_PAYLOAD_BYTES * packet_bytes(MAX_PAYLOAD_BYTES);
        let rest = match payload % MAX_PAYLOAD_BYTES {
            0 => 0,
            rest => packet_bytes(rest),
        };
        let mut at = from;
        while let Some(port) = next_port(self.topology, from, at, to, routing) {
            self.bytes[at][port] += (whole + rest) as u64;
            let Some((next, _)) = self.topology.neighbour(at, port) else {
                break;
            };
            at = next;
        }
    }

    /// Most bytes on any link. Every link has an injection path and an ejection path of its own and of its rate, so
    /// none of those is busier.
    pub fn most(&self) -> u64 {
        self.bytes.iter().flatten().copied().max().unwrap_or(0)
    }
}

/// Port by which a packet from `from` to `to` leaves node `at` on its way; none when it is there. Dimensions that
/// are not where they should be are finished in turn; `from` and `to` decide half-ring ties, unless a direction is given.
fn next_port(
    topology: &Topology,
    from: usize,
    at: usize,
    to: usize,
    routing: Routing,
) -> Option<usize> {
    let (first, directions) = match routing {
        Routing::Fixed => (None, 0),
        Routing::Dynamic { first, directions } => (first, directions),
    };
    let order: [usize; MAX_DIMS] = match first {
        None => topology.dimension_order().map(usize::from),
        Some(first) => std::array::from_fn(|i| (usize::from(first) + i) % MAX_DIMS),
    };
    let (here, there) = (topology.coord(at), topology.coord(to));
    let d = order.into_iter().find(|&d| here[d] != there[d])?;
    topology.port_in(d, from, to, directions.into())
}
