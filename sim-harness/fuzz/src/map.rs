// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of a node of a case, and the registers that set it up.

use gyre_firmware::RoutePart;
use gyre_layout::registers::{
    self as reg, COLL, base_slot, coll_network, flow_page, flow_source, group_page, injection_fifo,
    node, reception_fifo, wake_group,
};
use gyre_layout::{VClass, event};
use gyre_sim::Topology;

/// A granted part of memory.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// Base slot.
    pub slot: u16,
    /// Byte address.
    pub base: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A reception FIFO.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// Number.
    pub fifo: u16,
    /// Byte address.
    pub base: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Injection FIFOs 0 to 3, the last for collectives; their rings until the node is reset.
pub const INJECTION: [Ring; 4] = [
    ring(0, 0x1000, 0x1000),
    ring(1, 0x2000, 0x1000),
    ring(2, 0x3000, 0x1000),
    ring(3, 0x4000, 0x1000),
];
/// Injection FIFO that remote gets fill.
pub const REMOTE: Ring = ring(31, 0x8000, 0x1000);
/// Reception FIFOs; the second is small, to be full at times.
pub const RECEPTION: [Ring; 2] = [ring(0, 0x1_0000, 0x4000), ring(5, 0x1_8000, 0x1000)];
/// Data to send, at an odd address.
pub const SOURCE: Region = region(0, 0x4_0025, 0x1_0000);
/// Where puts write.
pub const LANDING: Region = region(1, 0x6_0005, 0x6_0000);
/// Counters and words that are added to.
pub const COUNTERS: Region = region(2, 0xd_0000, 0x1000);
/// Descriptors that remote gets carry.
pub const CARRIED: Region = region(3, 0xe_0000, 0x1_0000);
/// Slots that stay as they are: number, base, bytes, rights (valid, read, write, atomic, remote read), owner.
pub const SLOTS: [(u16, u64, u64, u64, u64); 7] = [
    (0, SOURCE.base, SOURCE.bytes, 0b10011, OWNER),
    (1, LANDING.base, LANDING.bytes, 0b00101, OWNER),
    (2, COUNTERS.base, COUNTERS.bytes, 0b01101, OWNER),
    (3, CARRIED.base, CARRIED.bytes, 0b00011, OWNER),
    (4, LANDING.base, 64, 0b00011, OWNER),
    (5, SOURCE.base, 4096, 0b00011, OWNER),
    (6, SOURCE.base, 4096, 0b10011, 2),
];
/// Slots that stimuli grant.
pub const GRANTED: std::ops::Range<u16> = 8..12;
/// Owner of the FIFOs.
pub const OWNER: u64 = 1;
/// Initial value of counters.
pub const COUNTER_START: u64 = 1 << 40;
/// Counters are the words before, words that are added to those from here on, of the counters' slot.
pub const ADDED: u32 = 256;

const fn ring(fifo: u16, base: u64, bytes: u64) -> Ring {
    Ring { fifo, base, bytes }
}

const fn region(slot: u16, base: u64, bytes: u64) -> Region {
    Region { slot, base, bytes }
}

/// Byte at an offset of a node's source region.
pub fn pattern(node: usize, offset: u64) -> u8 {
    let x = (node as u64 + 1).wrapping_mul(0x9e37_79b9) ^ offset.wrapping_mul(0x85eb_ca6b);
    (x ^ x >> 13 ^ x >> 21) as u8
}

/// Ring of an injection FIFO of a node after `resets` requested resets. Each reset moves the ring: earlier doorbells may
/// still wait for an earlier reset, and the descriptors that they posted must stay until the last one is over.
pub fn injection_ring(fifo: usize, resets: u64) -> Ring {
    let ring = INJECTION[fifo];
    let base = ring.base + resets * 0x1000_0000;
    Ring { base, ..ring }
}

/// Address of a register of an injection FIFO.
pub fn injection(fifo: u16, register: u64) -> u64 {
    reg::page(0) + group_page::inj(fifo.into()) + register
}

/// Address of a register of a reception FIFO.
pub fn reception(fifo: u16, register: u64) -> u64 {
    reg::page(0) + group_page::rec(fifo.into()) + register
}

/// Address of a register of a base slot.
pub fn slot(slot: u16, register: u64) -> u64 {
    reg::page(0) + group_page::slot(slot.into()) + register
}

/// CTRL of an open injection FIFO.
pub fn injection_ctrl(remote: bool) -> u64 {
    injection_fifo::ctrl::ENABLE.put(1)
        | injection_fifo::ctrl::REMOTE_GET.put(remote.into())
        | injection_fifo::ctrl::OWNER.put(OWNER)
        | injection_fifo::ctrl::IRQ_COMPLETE.put(1)
}

/// CTRL of an open reception FIFO.
pub fn reception_ctrl() -> u64 {
    reception_fifo::ctrl::ENABLE.put(1) | reception_fifo::ctrl::OWNER.put(OWNER)
}

/// CTRL of a base slot with `rights`, lowest bit first: valid, read, write, atomic, remote read.
pub fn slot_ctrl(rights: u64, owner: u64) -> u64 {
    rights | base_slot::ctrl::OWNER.put(owner)
}

/// Nodes that the flows of a node lead to and come from.
pub fn flow_peers(nodes: usize, node: usize) -> (usize, usize) {
    ((node + 1) % nodes, (node + nodes - 1) % nodes)
}

/// Writes that bring up a node after `resets` requested resets, with its FIFOs, slots, routes and flows.
pub fn set_up(topology: &Topology, number: usize, resets: u64) -> Vec<(u64, u64)> {
    let nodes = topology.nodes();
    let network = topology.network_config(number);
    let everyone: Vec<u32> = (0..nodes as u32).collect();
    let route = RoutePart::of(&everyone, number as u32);
    let place = network.registers();
    let mut writes = place
        .map(|(register, value)| (register.address, value))
        .to_vec();
    writes.extend([
        (node::LINK_ENABLE, network.links().into()),
        (
            COLL + coll_network::LINK_ENABLE,
            network.tree_links().into(),
        ),
        (node::INT_MASK, node::int_mask::ERROR.put(1)),
        (reg::wake(0) + wake_group::MASK, 0xffff),
        (reg::wake(1) + wake_group::MASK, event::BARRIER),
    ]);
    if let Some(part) = route {
        writes.push((
            COLL + coll_network::route(0),
            part.class_register(OWNER as u8),
        ));
        writes.push((
            COLL + coll_network::barrier_route(0),
            part.barrier_register(),
        ));
    }
    for (slot_number, base, bytes, rights, owner) in SLOTS {
        writes.push((slot(slot_number, base_slot::BASE), base));
        writes.push((slot(slot_number, base_slot::LIMIT), bytes));
        writes.push((slot(slot_number, base_slot::CTRL), slot_ctrl(rights, owner)));
    }
    let rings = (0..INJECTION.len()).map(|fifo| (injection_ring(fifo, resets), false));
    for (ring, remote) in rings.chain([(REMOTE, true)]) {
        writes.push((injection(ring.fifo, injection_fifo::BASE), ring.base));
        writes.push((injection(ring.fifo, injection_fifo::SIZE), ring.bytes));
        writes.push((
            injection(ring.fifo, injection_fifo::CTRL),
            injection_ctrl(remote),
        ));
    }
    for ring in RECEPTION {
        writes.push((reception(ring.fifo, reception_fifo::BASE), ring.base));
        writes.push((reception(ring.fifo, reception_fifo::SIZE), ring.bytes));
        writes.push((reception(ring.fifo, reception_fifo::CTRL), reception_ctrl()));
    }
    let (to, from) = flow_peers(nodes, number);
    let open = |peer: usize| {
        use flow_source::ctrl::{OPEN, PEER, VCLASS};
        PEER.put(topology.packed_coord(peer).into())
            | VCLASS.put(u8::from(VClass::Response).into())
            | OPEN.put(1)
    };
    writes.push((
        reg::FLOW + flow_page::source(0),
        open(to) | flow_source::ctrl::OWNER.put(OWNER),
    ));
    writes.push((reg::FLOW + flow_page::target(0), open(from)));
    writes.push((node::CTRL, node::ctrl::DMA_ENABLE.put(1)));
    writes
}
