// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wires between nodes, with the words under way.
//!
//! Ports of a node: those of the torus, then those of the tree of the collective network (parent, child 0, child 1),
//! then the barrier wires of these three.

use crate::record::{LINK_RECORD, LinkWord};
use crate::topology::{TREE_PORTS, Topology};

/// Words on their way to a node. A word driven after the clock edge of cycle `t` is at the receiver's input for the edge
/// of `t + latency`. Only changes of the control word and flits are kept.
struct Inbox {
    /// Words as they were sent; those of a port are in order.
    pending: Vec<Arrival>,
    /// Cycle in which the next word arrives, [`NEVER`] without one.
    next: u64,
}

/// A word as the model takes it: see [`LinkWord::arrival`].
type Arrival = [u64; LINK_RECORD];

const NEVER: u64 = u64::MAX;

/// All links of a machine. What is sent in a window arrives after its end.
pub(crate) struct Links {
    /// By receiving node.
    inboxes: Vec<Inbox>,
    /// By sending node and port: the receiving node and port.
    peers: Vec<Option<(u32, u32)>>,
    ports: usize,
    latency: u64,
}

impl Links {
    /// Links of the torus alone, with `torus` ports a node.
    pub(crate) fn torus(topology: &Topology, torus: usize, latency: u64) -> Self {
        Self::new(topology, torus, latency, |node, port| {
            topology.neighbour(node, port)
        })
    }

    /// Links of torus and tree and barrier wires, with `torus` ports of the torus a node.
    pub(crate) fn whole(topology: &Topology, torus: usize, latency: u64) -> Self {
        let ports = torus + 2 * TREE_PORTS;
        Self::new(topology, ports, latency, |node, port| {
            if port < torus {
                return topology.neighbour(node, port);
            }
            let first = torus + (port - torus) / TREE_PORTS * TREE_PORTS;
            let (peer, back) = topology.tree_neighbour(node, port - first)?;
            Some((peer, first + back))
        })
    }

    fn new(
        topology: &Topology,
        ports: usize,
        latency: u64,
        peer: impl Fn(usize, usize) -> Option<(usize, usize)>,
    ) -> Self {
        let nodes = topology.nodes();
        let ends = || (0..nodes).flat_map(|node| (0..ports).map(move |port| (node, port)));
        let inbox = |_| Inbox {
            pending: Vec::new(),
            next: NEVER,
        };
        Self {
            inboxes: (0..nodes).map(inbox).collect(),
            peers: ends()
                .map(|(node, port)| peer(node, port).map(|(to, back)| (to as u32, back as u32)))
                .collect(),
            ports,
            latency,
        }
    }

    /// Sends a word. Returns the receiving node and the cycle of arrival.
    pub(crate) fn send(
        &mut self,
        node: usize,
        port: usize,
        word: LinkWord,
    ) -> Option<(usize, u64)> {
        let (to, to_port) = self.peers[node * self.ports + port]?;
        let cycle = word.cycle + self.latency;
        let inbox = &mut self.inboxes[to as usize];
        inbox
            .pending
            .push(LinkWord { cycle, ..word }.arrival(to_port));
        inbox.next = inbox.next.min(cycle);
        Some((to as usize, cycle))
    }

    /// Appends what arrives at a node before `end`, as its model takes it.
    pub(crate) fn receive(&mut self, node: usize, end: u64, input: &mut Vec<u64>) {
        let count = input.len();
        input.push(0);
        let Inbox { pending, next } = &mut self.inboxes[node];
        if *next >= end {
            return;
        }
        *next = NEVER;
        pending.retain(|word| {
            let cycle = LinkWord::arrival_cycle(word);
            if cycle < end {
                input.extend_from_slice(word);
            } else {
                *next = cycle.min(*next);
            }
            cycle >= end
        });
        input[count] = ((input.len() - count) / LINK_RECORD) as u64;
    }

    /// Cycle in which the next word arrives at a node.
    pub(crate) fn next_arrival(&self, node: usize) -> Option<u64> {
        Some(self.inboxes[node].next).filter(|&next| next != NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(cycle: u64) -> LinkWord {
        LinkWord {
            cycle,
            word: LinkWord::VALID,
            dbg: 9,
            data: [cycle, !cycle],
        }
    }

    #[test]
    fn words_arrive_once_after_the_latency_at_the_neighbour() {
        let topology = Topology::new(&[3], &[]);
        let mut links = Links::torus(&topology, 2, 5);
        assert_eq!(links.send(0, 0, word(10)), Some((1, 15)));
        assert_eq!(links.send(0, 0, word(11)), Some((1, 16)));
        assert_eq!(links.next_arrival(1), Some(15));
        let receive = |links: &mut Links, end| {
            let mut input = Vec::new();
            links.receive(1, end, &mut input);
            input
        };
        assert_eq!(receive(&mut links, 15), [0]);
        let one = receive(&mut links, 16);
        assert_eq!(one, [1, 15 << 8 | 1, 4 | 9 << 32, 10, !10]);
        assert_eq!(receive(&mut links, 16), [0]);
        assert_eq!(receive(&mut links, 99)[..2], [1, 16 << 8 | 1]);
        assert_eq!(links.next_arrival(1), None);
    }

    #[test]
    fn a_wire_that_is_never_empty_gives_each_word_once() {
        let topology = Topology::new(&[3], &[]);
        let mut links = Links::torus(&topology, 2, 5);
        links.send(0, 0, word(0));
        for cycle in 0..5000 {
            links.send(0, 0, word(cycle + 1));
            let mut input = Vec::new();
            links.receive(1, cycle + 6, &mut input);
            assert_eq!(input[..2], [1, (cycle + 5) << 8 | 1]);
            assert_eq!(links.next_arrival(1), Some(cycle + 6));
        }
    }

    #[test]
    fn the_next_arrival_is_that_of_the_earliest_port() {
        let topology = Topology::new(&[3], &[]);
        for (up, down) in [(10, 20), (20, 10)] {
            let mut links = Links::torus(&topology, 2, 5);
            links.send(0, 0, word(up));
            links.send(2, 1, word(down));
            assert_eq!(links.next_arrival(1), Some(15));
        }
    }

    #[test]
    fn hw5_tree_links_and_barrier_wires_join_parent_and_child() {
        let topology = Topology::new(&[5], &[]);
        let mut links = Links::whole(&topology, 6, 5);
        // Ports 6 to 8 are links, 9 to 11 barrier wires; each first the parent's.
        for first in [6, 9] {
            assert_eq!(links.send(4, first, word(10)), Some((1, 15)));
            assert_eq!(links.send(0, first + 2, word(11)), Some((2, 16)));
            assert_eq!(links.send(0, first, word(12)), None, "the root");
            assert_eq!(links.send(2, first + 1, word(12)), None, "a leaf");
        }
        let mut input = Vec::new();
        links.receive(1, 99, &mut input);
        let heads: Vec<u64> = input[1..].chunks(LINK_RECORD).map(|word| word[0]).collect();
        assert_eq!(heads, [15 << 8 | 8, 15 << 8 | 11]);
    }

    #[test]
    fn words_to_nowhere_are_dropped() {
        let topology = Topology::new(&[2], &[true]);
        let mut links = Links::torus(&topology, 6, 1);
        assert_eq!(links.send(0, 1, word(0)), None);
        assert_eq!(links.send(0, 4, word(0)), None);
        assert_eq!(links.send(1, 1, word(0)), Some((0, 1)));
    }
}
