//! The wires between nodes: what was sent and has not arrived.
//!
//! Ports of a node: those of the torus, then those of the tree of the collective network (parent, child 0, child 1),
//! then the barrier wires of these three.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::record::{LINK_RECORD, LinkWord};
use crate::topology::{TREE_PORTS, Topology};

/// One direction of a link. A word driven after the clock edge of cycle `t` is at the receiver's input
/// for the edge of `t + latency`. Only changes of the control word and flits are kept.
#[derive(Default)]
struct Wire {
    /// Records by cycle of arrival, as the model takes them.
    words: Vec<u64>,
    /// First word that has not arrived.
    start: usize,
}

/// What is on its way to a node.
struct Inbox {
    /// By port of the receiver.
    wires: Mutex<Vec<Wire>>,
    /// Cycle in which the next word arrives, [`NEVER`] without one.
    next: AtomicU64,
}

const NEVER: u64 = u64::MAX;

impl Inbox {
    /// No code that holds the lock panics half way through a change.
    fn wires(&self) -> MutexGuard<'_, Vec<Wire>> {
        self.wires.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All links of a machine. Nodes on several threads may send while their neighbours receive: what is sent in a window
/// arrives after its end, so that a receiver finds the same words whoever was first.
pub(crate) struct Links {
    /// By receiving node.
    inboxes: Vec<Inbox>,
    /// By sending node and port: the receiving node and port.
    peers: Vec<Option<(usize, usize)>>,
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
            wires: Mutex::new((0..ports).map(|_| Wire::default()).collect()),
            next: AtomicU64::new(NEVER),
        };
        Self {
            inboxes: (0..nodes).map(inbox).collect(),
            peers: ends().map(|(node, port)| peer(node, port)).collect(),
            ports,
            latency,
        }
    }

    /// Sends a word. Returns the receiving node and the cycle of arrival.
    pub(crate) fn send(&self, node: usize, port: usize, word: LinkWord) -> Option<(usize, u64)> {
        let (to, to_port) = self.peers[node * self.ports + port]?;
        let cycle = word.cycle + self.latency;
        let arriving = LinkWord { cycle, ..word };
        let inbox = &self.inboxes[to];
        let mut wires = inbox.wires();
        wires[to_port].words.extend_from_slice(&arriving.to_words());
        // Under the lock: nobody else writes it.
        if cycle < inbox.next.load(Ordering::Relaxed) {
            inbox.next.store(cycle, Ordering::Relaxed);
        }
        Some((to, cycle))
    }

    /// Appends what arrives at a node before `end`, as its model takes it.
    pub(crate) fn receive(&self, node: usize, end: u64, input: &mut Vec<u64>) {
        let inbox = &self.inboxes[node];
        let mut wires = inbox.wires();
        if inbox.next.load(Ordering::Relaxed) >= end {
            input.resize(input.len() + self.ports, 0);
            return;
        }
        let mut next = NEVER;
        for wire in &mut *wires {
            let pending = &wire.words[wire.start..];
            let count = pending
                .chunks_exact(LINK_RECORD)
                .take_while(|record| record[0] < end)
                .count();
            input.push(count as u64);
            input.extend_from_slice(&pending[..count * LINK_RECORD]);
            wire.start += count * LINK_RECORD;
            if wire.start == wire.words.len() {
                wire.words.clear();
                wire.start = 0;
            } else if wire.start >= 4096 {
                wire.words.drain(..wire.start);
                wire.start = 0;
            }
            next = next.min(wire.words.get(wire.start).copied().unwrap_or(NEVER));
        }
        inbox.next.store(next, Ordering::Relaxed);
    }

    /// Cycle in which the next word arrives at a node.
    pub(crate) fn next_arrival(&self, node: usize) -> Option<u64> {
        Some(self.inboxes[node].next.load(Ordering::Relaxed)).filter(|&next| next != NEVER)
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
        let links = Links::torus(&topology, 2, 5);
        assert_eq!(links.send(0, 0, word(10)), Some((1, 15)));
        assert_eq!(links.send(0, 0, word(11)), Some((1, 16)));
        assert_eq!(links.next_arrival(1), Some(15));
        let receive = |links: &Links, end| {
            let mut input = Vec::new();
            links.receive(1, end, &mut input);
            input
        };
        assert_eq!(receive(&links, 15), [0, 0]);
        let one = receive(&links, 16);
        assert_eq!(one, [0, 1, 15, 4 | 9 << 32, 10, !10]);
        assert_eq!(receive(&links, 16), [0, 0]);
        assert_eq!(receive(&links, 99)[..3], [0, 1, 16]);
        assert_eq!(links.next_arrival(1), None);
    }

    #[test]
    fn a_wire_that_is_never_empty_gives_each_word_once() {
        let topology = Topology::new(&[3], &[]);
        let links = Links::torus(&topology, 2, 5);
        links.send(0, 0, word(0));
        for cycle in 0..5000 {
            links.send(0, 0, word(cycle + 1));
            let mut input = Vec::new();
            links.receive(1, cycle + 6, &mut input);
            assert_eq!(input[..3], [0, 1, cycle + 5]);
            assert_eq!(links.next_arrival(1), Some(cycle + 6));
        }
    }

    #[test]
    fn the_next_arrival_is_that_of_the_earliest_port() {
        let topology = Topology::new(&[3], &[]);
        for (up, down) in [(10, 20), (20, 10)] {
            let links = Links::torus(&topology, 2, 5);
            links.send(0, 0, word(up));
            links.send(2, 1, word(down));
            assert_eq!(links.next_arrival(1), Some(15));
        }
    }

    #[test]
    fn hw5_tree_links_and_barrier_wires_join_parent_and_child() {
        let topology = Topology::new(&[5], &[]);
        let links = Links::whole(&topology, 6, 5);
        // Ports 6 to 8 are links, 9 to 11 barrier wires; each first the parent's.
        for first in [6, 9] {
            assert_eq!(links.send(4, first, word(10)), Some((1, 15)));
            assert_eq!(links.send(0, first + 2, word(11)), Some((2, 16)));
            assert_eq!(links.send(0, first, word(12)), None, "the root");
            assert_eq!(links.send(2, first + 1, word(12)), None, "a leaf");
        }
        let mut input = Vec::new();
        links.receive(1, 99, &mut input);
        let counts: Vec<u64> = (0..12)
            .map(|port| u64::from(matches!(port, 8 | 11)))
            .collect();
        let mut found = Vec::new();
        let mut at = 0;
        while at < input.len() {
            found.push(input[at]);
            at += 1 + input[at] as usize * LINK_RECORD;
        }
        assert_eq!(found, counts);
    }

    #[test]
    fn words_to_nowhere_are_dropped() {
        let topology = Topology::new(&[2], &[true]);
        let links = Links::torus(&topology, 6, 1);
        assert_eq!(links.send(0, 1, word(0)), None);
        assert_eq!(links.send(0, 4, word(0)), None);
        assert_eq!(links.send(1, 1, word(0)), Some((0, 1)));
    }
}
