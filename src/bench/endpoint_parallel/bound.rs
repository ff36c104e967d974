//! The load of links under the transfers of an endpoint-parallel collective: found from the machine alone, not
//! by the driver.

use gyre_collectives::{Collective, Geometry};
use gyre_driver::{Endpoint, Routing, TaskMap};
use gyre_layout::{MAX_PAYLOAD_BYTES, packet_bytes};
use gyre_sim::{MAX_DIMS, Topology};

/// Most bytes that any directed link carries, when each transfer of the collective with root 0 is `bytes` bytes
/// long and its packets keep to their routes. Every link has an injection path and an ejection path of its own
/// and of its rate, so none of those is busier.
pub(super) fn bound(
    topology: &Topology,
    tasks: &TaskMap,
    geometry: &Geometry,
    collective: Collective,
    bytes: usize,
) -> u64 {
    let whole = bytes / MAX_PAYLOAD_BYTES * packet_bytes(MAX_PAYLOAD_BYTES);
    let rest = match bytes % MAX_PAYLOAD_BYTES {
        0 => 0,
        rest => packet_bytes(rest),
    };
    let length = (whole + rest) as u64;
    let node = |endpoint: Endpoint| {
        let place = tasks
            .place(endpoint.task(), endpoint.context_offset())
            .ok()?;
        topology.node_at(&place.node.0.map(u16::from))
    };
    let mut load = vec![[0u64; 2 * gyre_sim::MAX_DIMS]; topology.nodes()];
    for transfer in geometry.transfers(0, collective) {
        let (Some(mut at), Some(to)) = (node(transfer.from), node(transfer.to)) else {
            continue;
        };
        let from = at;
        while let Some(port) = next_port(topology, from, at, to, transfer.routing) {
            load[at][port] += length;
            let Some((next, _)) = topology.neighbour(at, port) else {
                break;
            };
            at = next;
        }
    }
    load.into_iter().flatten().max().unwrap_or(0)
}

/// Port by which a packet from `from` to `to` leaves node `at` on its way; none when it is there. Dimensions that
/// are not where they should be are finished in turn; `from` decides half-ring ties, unless a direction is given.
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
