// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of the machine: its nodes, and the packets between them.

use std::collections::{BTreeMap, VecDeque};

use gyre_driver::{CostTable, Op};
use gyre_layout::registers::{flow_target, reception_fifo as rec};
use gyre_layout::{Coord, ErrorReason, Header, Kind, packet_bytes};
use gyre_note::Note;

use crate::fault::{Commit, Fault};
use crate::flows::End;
use crate::node::Node;
use crate::packet::{Lane, Packet};

/// The state of the machine.
pub(crate) struct State {
    pub nodes: Vec<Node>,
    pub by_coord: BTreeMap<Coord, usize>,
    /// The first and the last node have no link between them.
    pub line: bool,
    pub fault: Option<Fault>,
    /// Packets travel instead of arriving at once.
    pub reordering: bool,
    /// Packets on their way, by source, destination and lane.
    pub channels: BTreeMap<(usize, usize, Lane), VecDeque<Packet>>,
    pub decrements: Vec<Decrement>,
    /// A group of lanes that does not move, and its remaining steps.
    pub held: Option<(u8, u32)>,
    pub refused: Vec<ErrorReason>,
    pub packets: u64,
    pub commits: Vec<Commit>,
    /// Notes of the driver, with their nodes, if they are recorded.
    pub notes: Option<Vec<(usize, Note)>>,
    pub reads: u64,
    pub writes: u64,
    pub full_waits: u64,
    pub instructions: u64,
    pub charged: BTreeMap<Op, u64>,
    pub costs: CostTable,
    random: u64,
}

/// The pending decrement of a put's counter: its bytes are in memory.
pub(crate) struct Decrement {
    pub node: usize,
    pub address: u64,
    pub by: u64,
}

impl State {
    /// A ring of `nodes` nodes; `seed` picks the order of packets.
    pub fn new(nodes: usize, seed: u64) -> Self {
        let coords = (0..nodes).map(|n| Coord([n as u8, 0, 0, 0, 0]));
        let mut state = Self {
            nodes: coords.map(Node::new).collect(),
            by_coord: BTreeMap::new(),
            line: false,
            fault: None,
            reordering: false,
            channels: BTreeMap::new(),
            decrements: Vec::new(),
            held: None,
            refused: Vec::new(),
            packets: 0,
            commits: Vec::new(),
            notes: None,
            reads: 0,
            writes: 0,
            full_waits: 0,
            instructions: 0,
            charged: BTreeMap::new(),
            costs: CostTable::default(),
            random: seed | 1,
        };
        state.index();
        state
    }

    /// Notes where the nodes are.
    pub fn index(&mut self) {
        let nodes = self.nodes.iter().enumerate();
        self.by_coord = nodes.map(|(n, node)| (node.coord, n)).collect();
    }

    /// A number below `below`, by xorshift64.
    pub fn random(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as usize % below
    }

    /// Raises events of a node's hardware.
    pub fn raise(&mut self, node: usize, events: u64) {
        if self.fault != Some(Fault::NoWake) {
            self.nodes[node].wake.raise(events);
        }
    }

    /// Why node `to` refuses a packet whatever room it has.
    pub fn absent(&self, to: usize, header: &Header) -> Option<ErrorReason> {
        let target = usize::from(header.target);
        let node = &self.nodes[to];
        match header.kind {
            Kind::MemFifo => (!node.reception[target].is_open()).then_some(ErrorReason::PktRecFifo),
            Kind::RemoteGet => {
                (!node.injection[target].takes_remote_gets()).then_some(ErrorReason::PktInjFifo)
            }
            _ => None,
        }
    }

    /// Whether node `to` has room for `copies` of a packet, or will refuse it.
    pub fn room(&mut self, to: usize, header: &Header, copies: usize) -> bool {
        if self.absent(to, header).is_some() {
            return true;
        }
        let bytes = usize::from(header.len);
        let target = usize::from(header.target);
        let node = &self.nodes[to];
        match header.kind {
            Kind::MemFifo => {
                let room = node.reception[target].has_room(packet_bytes(bytes) * copies);
                self.full_waits += u64::from(!room);
                room
            }
            Kind::RemoteGet => node.injection[target].has_room(bytes * copies),
            _ => true,
        }
    }

    /// Whether packets of a flow are under way.
    pub fn in_use(&self, n: usize, end: End, flow: usize) -> bool {
        let (from, number) = match end {
            End::Source => (n, flow as u8),
            End::Target => {
                let ctrl = self.nodes[n].flows.targets[flow].ctrl;
                let peer = Coord::unpack(flow_target::ctrl::PEER.get(ctrl) as u32);
                let Some(&peer) = self.by_coord.get(&peer) else {
                    return false;
                };
                (peer, flow_target::ctrl::PEER_FLOW.get(ctrl) as u8)
            }
        };
        let mut keys = self.channels.keys();
        keys.any(|key| (key.0, key.2) == (from, Lane::Flow(number)))
    }

    /// A register of a reception FIFO as it reads.
    pub fn reception_register(&self, n: usize, f: usize, offset: u64) -> Option<u64> {
        let fifo = self.nodes[n].reception.get(f)?;
        let value = fifo.read(offset)?;
        let beyond = self.fault == Some(Fault::TailBeyond) && fifo.has_data();
        Some(value + if beyond && offset == rec::TAIL { 32 } else { 0 })
    }
}
