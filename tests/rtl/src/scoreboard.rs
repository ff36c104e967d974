// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matches arrivals with sent packets: every packet once, in order, whole, at its destination.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::packet::{Packet, Received};

/// Source, node, class, node that the packets were sent to (another for copies), and the id of a dynamic packet, which
/// is a flow of its own. Packets of one flow arrive in the order in which they were sent.
type Flow = (usize, usize, usize, usize, u32);

/// Something arrived that should not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Discrepancy {
    /// Nothing like it was sent, or it was delivered before.
    #[error("packet {id} at node {node}: never sent, or delivered before")]
    Unexpected {
        /// Debug id.
        id: u32,
        /// Where it came out.
        node: usize,
    },
    /// Delivered at another node, or by a queue of another class.
    #[error("packet {id} for node {dst} class {class} came out at node {node} class {queue}")]
    Misrouted {
        /// Debug id.
        id: u32,
        /// Its destination.
        dst: usize,
        /// Its class.
        class: usize,
        /// Where it came out.
        node: usize,
        /// Class of the queue.
        queue: usize,
    },
    /// An earlier packet of the flow is missing.
    #[error("packet {id} arrived before packet {expected} of the same flow")]
    OutOfOrder {
        /// Debug id.
        id: u32,
        /// The packet whose turn it was.
        expected: u32,
    },
    /// The bytes differ.
    #[error("packet {id}: {found} B, sent {sent} B; first difference at byte {at}")]
    Content {
        /// Debug id.
        id: u32,
        /// Bytes that arrived.
        found: usize,
        /// Bytes that were sent.
        sent: usize,
        /// First byte that differs.
        at: usize,
    },
    /// A poisoned packet although nothing was broken.
    #[error("packet {id} came with the mark of a damaged packet")]
    Poisoned {
        /// Debug id.
        id: u32,
    },
}

/// Remembers what is under way.
#[derive(Debug, Default)]
pub struct Scoreboard {
    flows: BTreeMap<Flow, VecDeque<Packet>>,
    /// Flows of each packet: its own, and one for each copy.
    sent: BTreeMap<u32, Vec<Flow>>,
    lossy: bool,
    delivered: usize,
    /// Packets that came out with the mark of a damaged packet.
    pub poisoned: BTreeSet<u32>,
    /// Packets overtaken by a later one of their flow, so that they cannot come any more.
    pub lost: BTreeSet<u32>,
}

impl Scoreboard {
    /// A scoreboard that lets packets be missing or poisoned, for tests that break links. Nothing else
    /// is forgiven.
    pub fn lossy() -> Self {
        Self {
            lossy: true,
            ..Self::default()
        }
    }

    /// Notes a packet that was handed over.
    pub fn sent(&mut self, packet: Packet) {
        let own = if packet.dynamic { packet.id } else { 0 };
        let flow = |node| (packet.src, node, packet.class, packet.dst, own);
        let mut flows = vec![flow(packet.dst)];
        flows.extend(packet.copies.iter().map(|&node| flow(node)));
        for &flow in &flows {
            let waiting = self.flows.entry(flow).or_default();
            waiting.push_back(packet.clone());
        }
        self.sent.insert(packet.id, flows);
    }

    /// Nodes that packet `id` was sent to, those that get a copy included.
    pub fn recipients(&self, id: u32) -> usize {
        self.sent.get(&id).map_or(0, Vec::len)
    }

    /// Packets and copies that came out whole.
    pub fn delivered(&self) -> usize {
        self.delivered
    }

    /// Ids of packets that have neither come out nor are known to be lost, in order of flow.
    pub fn outstanding(&self) -> Vec<u32> {
        self.flows
            .values()
            .flatten()
            .map(|packet| packet.id)
            .collect()
    }

    /// Judges a packet that came out at `node` by a queue of class `queue`.
    ///
    /// # Errors
    /// [`Discrepancy`] if it is not the one that had to come.
    pub fn received(
        &mut self,
        node: usize,
        queue: usize,
        received: &Received,
    ) -> Result<(), Discrepancy> {
        let id = received.id;
        let unexpected = Discrepancy::Unexpected { id, node };
        let flows = self.sent.get(&id).ok_or(unexpected.clone())?;
        let here = flows.iter().find(|flow| flow.1 == node);
        let flow = *here.unwrap_or(&flows[0]);
        let (_, dst, class, ..) = flow;
        if (node, queue) != (dst, class) {
            return Err(Discrepancy::Misrouted {
                id,
                dst,
                class,
                node,
                queue,
            });
        }
        if received.err && !self.lossy {
            return Err(Discrepancy::Poisoned { id });
        }
        let waiting = self.flows.entry(flow).or_default();
        let place = waiting
            .iter()
            .position(|packet| packet.id == id)
            .ok_or(unexpected)?;
        if place != 0 && !self.lossy {
            let expected = waiting[0].id;
            return Err(Discrepancy::OutOfOrder { id, expected });
        }
        self.lost
            .extend(waiting.drain(..place).map(|packet| packet.id));
        let Some(packet) = waiting.pop_front() else {
            return Ok(());
        };
        if received.err {
            self.poisoned.insert(id);
            return Ok(());
        }
        if packet.bytes != received.bytes {
            let same = |(a, b): &(&u8, &u8)| a == b;
            let at = packet.bytes.iter().zip(&received.bytes).take_while(same);
            return Err(Discrepancy::Content {
                id,
                found: received.bytes.len(),
                sent: packet.bytes.len(),
                at: at.count(),
            });
        }
        self.delivered += 1;
        Ok(())
    }
}
