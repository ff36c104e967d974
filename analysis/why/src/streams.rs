// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packets of each descriptor on their way: who has arrived when, and who was in whose way.

use std::collections::BTreeMap;

use gyre_layout::MAX_PAYLOAD_BYTES;
use gyre_timeline::{Lane, Messages, Recording, What};

/// Cycles that a router takes for a flit that nothing holds up.
const ROUTER_CYCLES: u64 = 2;

/// Virtual channels of a link at most.
const CHANNELS: usize = 16;

/// A packet on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hop {
    /// First flit at the sender's register.
    from_ps: u64,
    /// End of the last.
    to_ps: u64,
    /// The link, by its index in [`Recording::links`].
    link: u32,
    /// Stream of the packet, by place in [`Messages::packets`], or [`NONE`].
    stream: u32,
}

/// No stream.
const NONE: u32 = u32::MAX;

impl Hop {
    fn stream(&self) -> Option<usize> {
        (self.stream != NONE).then_some(self.stream as usize)
    }

    fn link(&self) -> usize {
        self.link as usize
    }
}

/// A packet's wait for a link that another one holds, or for room in the next router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopWait {
    /// The link, by its index in [`Recording::links`].
    pub link: usize,
    /// When the packet could have left, picoseconds.
    pub from_ps: u64,
    /// When it left, picoseconds.
    pub to_ps: u64,
}

/// Stream that held a link which packets waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blame {
    /// The link, by its index in [`Recording::links`].
    pub link: usize,
    /// Stream whose packets held it, by place in [`Messages::packets`].
    pub stream: Option<usize>,
    /// For so long, picoseconds.
    pub ps: u64,
}

/// The packets of one descriptor.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stream {
    /// When each of its packets has arrived at the node that it is for, in order. Within a node: when the DMA engine
    /// has handed the last bytes of each to memory.
    pub arrivals: Vec<u64>,
    /// Links of the way of the first packet, in order.
    pub way: Vec<usize>,
    /// Waits at routers, those of all packets, by link and time.
    pub waits: Vec<HopWait>,
}

/// Writes of a descriptor's packets to memory of its own node.
#[derive(Debug, Clone, Default)]
struct LocalWrites {
    /// Bytes of the descriptor.
    bytes: u32,
    /// When each burst went to memory.
    writes: Vec<u64>,
}

impl LocalWrites {
    fn stream(self) -> Stream {
        let bursts = self.writes.len();
        let packets = (self.bytes as usize)
            .div_ceil(MAX_PAYLOAD_BYTES)
            .clamp(1, bursts.max(1));
        let last_burst = |packet: usize| {
            let bursts_to = (packet + 1) * bursts / packets;
            self.writes.get(bursts_to.checked_sub(1)?)
        };
        Stream {
            arrivals: (0..packets).filter_map(last_burst).copied().collect(),
            ..Stream::default()
        }
    }
}

/// All packets on links.
#[derive(Debug)]
pub(crate) struct Streams {
    /// By place in [`Messages::packets`].
    pub all: Vec<Stream>,
    /// By link: its packets, in order.
    pub links: Vec<Vec<Hop>>,
}

impl Streams {
    pub fn of(recording: &Recording, messages: &Messages) -> Self {
        let index: BTreeMap<(u32, u8), usize> = (0..)
            .zip(&recording.links)
            .map(|(index, link)| ((link.node, link.port), index))
            .collect();
        let mut links = vec![Vec::new(); recording.links.len()];
        let mut hops: Vec<Vec<Hop>> = vec![Vec::new(); messages.packets().len()];
        let mut copies = vec![LocalWrites::default(); messages.packets().len()];
        for (number, event) in recording.events().enumerate() {
            let stream = messages.of_event(number);
            match (event.what, stream) {
                (What::Fetch { bytes, .. }, Some(stream)) => copies[stream].bytes = bytes,
                (What::Written { .. }, Some(stream)) => copies[stream].writes.push(event.ps),
                _ => {}
            }
            let (What::Hop { .. }, Lane::Link(port)) = (event.what, event.lane) else {
                continue;
            };
            let Some(&link) = index.get(&(event.node, port)) else {
                continue;
            };
            let hop = Hop {
                from_ps: event.ps,
                to_ps: event.end_ps,
                link: link as u32,
                stream: stream.map_or(NONE, |stream| stream as u32),
            };
            links[link].push(hop);
            if let Some(stream) = stream {
                hops[stream].push(hop);
            }
        }
        let all = hops
            .into_iter()
            .zip(messages.packets())
            .zip(copies)
            .map(|((hops, packets), copy)| {
                if hops.is_empty() {
                    return copy.stream();
                }
                // Memory is sampled half way: the data of the descriptor is to come, and that of the payload.
                let read_ps = packets
                    .fetched_ps
                    .map(|ps| ps + recording.memory_read_ps * 3 / 2);
                stream(recording, read_ps, hops)
            })
            .collect();
        Self { all, links }
    }

    /// Streams whose packets held the links that those of `stream` waited for between two times. No wait is blamed on more than
    /// fills it.
    pub fn blame(&self, stream: usize, span: (u64, u64)) -> Vec<Blame> {
        let mut blames = Vec::new();
        for wait in &self.all[stream].waits {
            let span = (wait.from_ps.max(span.0), wait.to_ps.min(span.1));
            let mut left = span.1.saturating_sub(span.0);
            for hop in self.on(wait.link, span) {
                let held = overlap((hop.from_ps, hop.to_ps), span).min(left);
                if hop.stream() != Some(stream) && held > 0 {
                    left -= held;
                    blames.push(Blame {
                        link: wait.link,
                        stream: hop.stream(),
                        ps: held,
                    });
                }
            }
        }
        blames
    }

    /// How long packets of `of` held `link` from `from_ps` to `to_ps`.
    pub fn held(
        &self,
        link: usize,
        (from_ps, to_ps): (u64, u64),
        of: &dyn Fn(usize) -> bool,
    ) -> u64 {
        self.on(link, (from_ps, to_ps))
            .filter(|hop| hop.stream().is_some_and(of))
            .map(|hop| overlap((hop.from_ps, hop.to_ps), (from_ps, to_ps)))
            .sum()
    }

    /// The packets on `link` between two times.
    pub fn on(&self, link: usize, (from_ps, to_ps): (u64, u64)) -> impl Iterator<Item = &Hop> {
        let hops = &self.links[link];
        let first = hops.partition_point(|hop| hop.from_ps < from_ps);
        // One of each virtual channel may be on its way.
        hops[first.saturating_sub(CHANNELS)..]
            .iter()
            .take_while(move |hop| hop.from_ps < to_ps)
            .filter(move |hop| hop.to_ps > from_ps)
    }
}

/// Picoseconds that two spans have in common.
pub(crate) fn overlap(a: (u64, u64), b: (u64, u64)) -> u64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

/// The same waits, those that overlap on a link as one.
fn joined(mut waits: Vec<HopWait>) -> Vec<HopWait> {
    waits.sort_unstable_by_key(|wait| (wait.link, wait.from_ps, wait.to_ps));
    waits.dedup_by(|later, earlier| {
        let overlap = later.link == earlier.link && later.from_ps <= earlier.to_ps;
        if overlap {
            earlier.to_ps = earlier.to_ps.max(later.to_ps);
        }
        overlap
    });
    waits
}

/// The packets of a descriptor, of all its hops in order of time.
fn stream(recording: &Recording, read_ps: Option<u64>, hops: Vec<Hop>) -> Stream {
    let Some(last) = hops.iter().max_by_key(|hop| hop.to_ps) else {
        return Stream::default();
    };
    let target = recording.links[last.link()].to;
    let router_ps = ROUTER_CYCLES * recording.cycle_ps;
    let mut found = Stream::default();
    // By node: packets that are there, by the time at which they could leave.
    let mut at: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut first_at = None;
    // When the next packet of the descriptor could be injected.
    let mut injected_ps = read_ps;
    for hop in &hops {
        let link = &recording.links[hop.link()];
        let here = at.entry(link.node).or_default();
        // They leave in the order in which they came.
        let ready = here.iter().position(|&ready_ps| ready_ps <= hop.from_ps);
        if let Some(ready_ps) = ready.map(|place| here.remove(place))
            && ready_ps < hop.from_ps
        {
            found.waits.push(HopWait {
                link: hop.link(),
                from_ps: ready_ps,
                to_ps: hop.from_ps,
            });
        }
        let own = recording.links[hops[0].link()].node == link.node;
        if let (true, Some(since_ps)) = (own, injected_ps)
            && since_ps < hop.from_ps
        {
            found.waits.push(HopWait {
                link: hop.link(),
                from_ps: since_ps,
                to_ps: hop.from_ps,
            });
        }
        if own {
            injected_ps = Some(hop.to_ps);
        }
        if first_at.is_none_or(|node| node == link.node) {
            found.way.push(hop.link());
            first_at = (link.to != target).then_some(link.to).or(Some(u32::MAX));
        }
        if link.to == target {
            found.arrivals.push(hop.to_ps + recording.link_ps);
        } else {
            let ready_ps = hop.from_ps + recording.link_ps + router_ps;
            at.entry(link.to).or_default().push(ready_ps);
        }
    }
    found.arrivals.sort_unstable();
    found.waits = joined(found.waits);
    found
}
