// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reference of collectives (HW-5): nodes of a route, contributions, and results at each node in their
//! order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use gyre_layout::{
    CHUNK_BYTES, CollOp, CollType, Collective, Coord, HEADER_BYTES, Header, Kind, VClass,
};

use crate::collective_alu::combine;
use crate::packet::{Flit, Received, words};

/// Class routes, and as many barrier routes.
pub const ROUTES: usize = 16;

/// Parent of node `node` in the tree; node 0 has none.
pub fn parent(node: usize) -> Option<usize> {
    node.checked_sub(1).map(|n| n / 2)
}

/// Nodes from `node` up to node 0, both included.
fn ancestry(node: usize) -> Vec<usize> {
    std::iter::successors(Some(node), |&n| parent(n)).collect()
}

/// A node's part in a route: `coll_route_t` without its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The packets go on to the parent.
    pub parent: bool,
    /// Children that take part.
    pub children: [bool; 2],
    /// The node contributes and receives.
    pub member: bool,
}

impl Part {
    /// The bits of `coll_route_t` of a valid route.
    pub fn bits(&self) -> u64 {
        1 | u64::from(self.parent) << 1
            | u64::from(self.children[0]) << 2
            | u64::from(self.children[1]) << 3
            | u64::from(self.member) << 4
    }
}

/// A route: its members, the nodes that are only on the way, and its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Part of each node that the route touches.
    pub parts: BTreeMap<usize, Part>,
    /// Where packets turn around.
    pub root: usize,
}

impl Route {
    /// The route of all `nodes` nodes.
    ///
    /// # Panics
    /// If there are none.
    pub fn everybody(nodes: usize) -> Self {
        Self::new(&(0..nodes).collect(), 0)
    }

    /// The route of `members`, whose root is the lowest node above all of them, or `above` levels higher
    /// if there are so many.
    ///
    /// # Panics
    /// If there are no members.
    pub fn new(members: &BTreeSet<usize>, above: usize) -> Self {
        let first = *members.first().expect("a route has members");
        let common = (ancestry(first).into_iter())
            .find(|node| members.iter().all(|&m| ancestry(m).contains(node)))
            .expect("node 0 is above all");
        let line = ancestry(common);
        let root = line[above.min(line.len() - 1)];
        let mut parts: BTreeMap<usize, Part> = BTreeMap::new();
        for &member in members {
            parts.entry(member).or_default().member = true;
            for node in ancestry(member).into_iter().take_while(|&n| n != root) {
                let up = parent(node).expect("below the root");
                parts.entry(node).or_default().parent = true;
                parts.entry(up).or_default().children[(node - 1) % 2] = true;
            }
        }
        Self { parts, root }
    }

    /// Nodes that contribute and receive, in order of their numbers.
    pub fn members(&self) -> Vec<usize> {
        let members = self.parts.iter().filter(|(_, part)| part.member);
        members.map(|(&node, _)| node).collect()
    }

    /// Members in the order in which their contributions are combined: the node itself, then child 0,
    /// then child 1, each with all below it first.
    fn fold<T>(&self, node: usize, leaf: &impl Fn(usize) -> T, both: &impl Fn(T, T) -> T) -> T {
        let part = self.parts[&node];
        let own = part.member.then(|| leaf(node));
        let below = (0..2)
            .filter(|&c| part.children[c])
            .map(|c| self.fold(2 * node + 1 + c, leaf, both));
        own.into_iter()
            .chain(below)
            .reduce(both)
            .expect("a node of a route has members at or below it")
    }
}

/// A collective operation.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Class route.
    pub route: usize,
    /// Operation on the contributions.
    pub op: CollOp,
    /// Elements.
    pub dtype: CollType,
    /// 0 request, 1 response.
    pub class: usize,
    /// Payload bytes of the packet.
    pub len: u16,
    /// The only member that gets the result; `None`: all.
    pub to: Option<usize>,
    /// Sender of a broadcast.
    pub from: usize,
}

/// Coordinates of a node in these tests.
pub fn place(node: usize) -> Coord {
    Coord([(node % 4) as u8, (node / 4) as u8, 0, 0, 5])
}

/// The packet of member `node`: header and padded payload.
///
/// # Panics
/// If a value does not fit into the header.
pub fn contribution(operation: &Operation, id: u32, node: usize, payload: &[u8]) -> Vec<u8> {
    let Operation {
        route, op, dtype, ..
    } = *operation;
    let route = route as u8;
    let hint = Collective { op, dtype, route }.hint();
    let header = Header {
        dst: operation.to.map_or_else(Coord::default, place),
        vclass: [VClass::Request, VClass::Response][operation.class],
        src: place(node),
        deposit: operation.to.is_none(),
        dynamic_route: false,
        kind: Kind::Collective,
        len: operation.len,
        hint: hint.expect("the route fits"),
        order: 0,
        flow: None,
        first: true,
        last: true,
        seq: (id % 1024) as u16,
        target: 3,
        offset: id.wrapping_mul(77),
        aux: 0,
        sw0: id,
        sw1: !id,
    };
    let mut bytes = header.encode().expect("every value fits").to_vec();
    bytes.extend(payload);
    let padded = usize::from(operation.len).div_ceil(CHUNK_BYTES) * CHUNK_BYTES;
    bytes.resize(HEADER_BYTES + padded, 0);
    bytes
}

/// A packet cut into flits of `flit_bytes` with the debug id `id`.
pub fn flits(bytes: &[u8], flit_bytes: usize, id: u32) -> Vec<Flit> {
    let count = bytes.len() / flit_bytes;
    (bytes.chunks(flit_bytes).enumerate())
        .map(|(index, bytes)| Flit {
            data: words(bytes),
            head: index == 0,
            tail: index + 1 == count,
            err: false,
            dbg: id,
        })
        .collect()
}

/// Result of combining the packets of `route`'s members, in tree order.
pub fn result(route: &Route, operation: &Operation, packets: &BTreeMap<usize, Vec<u8>>) -> Vec<u8> {
    route.fold(route.root, &|node| packets[&node].clone(), &|mut a, b| {
        for at in (HEADER_BYTES..a.len()).step_by(8) {
            let word = |bytes: &[u8]| {
                u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
            };
            let value = combine(operation.op, operation.dtype, word(&a), word(&b));
            a[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        a
    })
}

/// Something came out that should not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Discrepancy {
    /// Nothing like it was sent to this node, or it was delivered before, or an earlier packet of the
    /// same sender is missing.
    #[error("packet {id} at node {node}: not sent there, delivered before, or too early")]
    Unexpected {
        /// Debug id.
        id: u32,
        /// Where it came out.
        node: usize,
    },
    /// Delivered by the queue of another class.
    #[error("packet {id} at node {node} came out in class {class}")]
    Class {
        /// Debug id.
        id: u32,
        /// Where it came out.
        node: usize,
        /// Class of the queue.
        class: usize,
    },
    /// Two members saw packets of a route in different orders.
    #[error("packet {id} at node {node}: another node got it before packets that this one has got")]
    Order {
        /// Debug id.
        id: u32,
        /// Where it came out.
        node: usize,
    },
    /// The bytes differ.
    #[error("packet {id} at node {node}: byte {at} of {found} differs, expected {expected} B")]
    Content {
        /// Debug id.
        id: u32,
        /// Where it came out.
        node: usize,
        /// First byte that differs.
        at: usize,
        /// Bytes that arrived.
        found: usize,
        /// Bytes that had to come.
        expected: usize,
    },
    /// A poisoned packet although nothing was broken.
    #[error("packet {id} at node {node} came with the mark of a damaged packet")]
    Poisoned {
        /// Debug id.
        id: u32,
        /// Where it came out.
        node: usize,
    },
}

#[derive(Debug)]
struct Expected {
    bytes: Vec<u8>,
    class: usize,
    route: usize,
    senders: Vec<usize>,
    to_all: bool,
    /// Members that have not got it.
    missing: BTreeSet<usize>,
}

/// Collectives under way. Packets of one sender, route and class arrive in their order, all members see those that
/// go to all in the same order, and every member gets every packet once.
#[derive(Debug, Default)]
pub struct Book {
    expected: BTreeMap<u32, Expected>,
    /// By receiver, route, class and sender.
    flows: BTreeMap<(usize, usize, usize, usize), VecDeque<u32>>,
    /// Turn of each packet on its route, from the first member that got it; packets seen by each member.
    turns: BTreeMap<u32, usize>,
    seen: BTreeMap<(usize, usize, usize), usize>,
    next_turn: usize,
    /// Packets may be missing or poisoned, for tests that break links. Nothing else is forgiven.
    pub lossy: bool,
    delivered: usize,
    /// Poisoned packets that came out: id and node.
    pub poisoned: Vec<(u32, usize)>,
}

impl Book {
    /// Notes packet `id`, sent by `senders`, that `receivers` must get as `bytes`.
    pub fn sent(
        &mut self,
        id: u32,
        operation: &Operation,
        senders: &[usize],
        receivers: BTreeSet<usize>,
        bytes: Vec<u8>,
    ) {
        for &receiver in &receivers {
            for &sender in senders {
                let flow = (self.flows).entry((receiver, operation.route, operation.class, sender));
                flow.or_default().push_back(id);
            }
        }
        let expected = Expected {
            bytes,
            class: operation.class,
            route: operation.route,
            senders: senders.to_vec(),
            to_all: operation.to.is_none(),
            missing: receivers,
        };
        self.expected.insert(id, expected);
    }

    /// Packets that came out whole, each member counted.
    pub fn delivered(&self) -> usize {
        self.delivered
    }

    /// Packets that have not come out at every member that must get them, with these members.
    pub fn outstanding(&self) -> Vec<(u32, Vec<usize>)> {
        let missing = self.expected.iter().filter(|(_, e)| !e.missing.is_empty());
        missing
            .map(|(&id, e)| (id, e.missing.iter().copied().collect()))
            .collect()
    }

    /// Drops the expectations of all packets sent so far; for tests that break links.
    pub fn forget(&mut self) {
        self.expected.clear();
        self.flows.clear();
    }

    /// Judges a packet that came out at `node` by the queue of `class`.
    ///
    /// # Errors
    /// [`Discrepancy`] if it is not one that had to come.
    pub fn received(
        &mut self,
        node: usize,
        class: usize,
        received: &Received,
    ) -> Result<(), Discrepancy> {
        let id = received.id;
        let unexpected = Discrepancy::Unexpected { id, node };
        let expected = self.expected.get_mut(&id).ok_or(unexpected.clone())?;
        if !expected.missing.remove(&node) {
            return Err(unexpected);
        }
        if class != expected.class {
            return Err(Discrepancy::Class { id, node, class });
        }
        for &sender in &expected.senders {
            let flow = self.flows.entry((node, expected.route, class, sender));
            let flow = flow.or_default();
            let at = flow.iter().position(|&waiting| waiting == id);
            match at {
                Some(at) if at == 0 || self.lossy && !received.err => drop(flow.drain(..=at)),
                // Which packets went into a poisoned one is not known.
                _ if self.lossy && received.err => flow.retain(|&waiting| waiting != id),
                _ => return Err(unexpected),
            }
        }
        if expected.to_all {
            let turn = *self.turns.entry(id).or_insert(self.next_turn);
            self.next_turn += 1;
            let seen = self.seen.entry((node, expected.route, class)).or_insert(0);
            if *seen > turn {
                return Err(Discrepancy::Order { id, node });
            }
            *seen = turn;
        }
        if received.err {
            if !self.lossy {
                return Err(Discrepancy::Poisoned { id, node });
            }
            self.poisoned.push((id, node));
            return Ok(());
        }
        if received.bytes != expected.bytes {
            let same = |(a, b): &(&u8, &u8)| a == b;
            let at = expected.bytes.iter().zip(&received.bytes);
            return Err(Discrepancy::Content {
                id,
                node,
                at: at.take_while(same).count(),
                found: received.bytes.len(),
                expected: expected.bytes.len(),
            });
        }
        self.delivered += 1;
        Ok(())
    }
}
