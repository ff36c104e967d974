// SPDX-License-Identifier: MIT OR Apache-2.0
//! Activity of a node's hardware as events of a timeline.
//!
//! Events are made of what crosses the boundary of the model, with the cycles in which it does: nothing of them depends on
//! windows, skipping or threads.

use gyre_layout::registers::injection_fifo::{BASE, CTRL, SIZE, TAIL, ctrl, tail};
use gyre_layout::registers::{PAGE_COUNT, group_page, page};
use gyre_layout::{DESCRIPTOR_BYTES, Descriptor};
use gyre_timeline::{Event, Lane, PacketKind, Sink, Spool, What};

use crate::axi::{ReadBurst, WriteBurst};
use crate::memory::Memory;
use crate::record::{LinkWord, Request};

/// Cycles of an interval in which the flits of a link are counted.
const LOAD_CYCLES: u64 = 1024;

/// Virtual channels that a link word has room for.
const CHANNELS: usize = 16;

/// The ring of an injection FIFO.
#[derive(Clone, Copy, Default)]
struct Ring {
    base: u64,
    size: u64,
    /// Bytes written, modulo 2^32.
    tail: u32,
    enabled: bool,
}

/// A packet on a link whose last flit has not been sent.
#[derive(Clone, Copy)]
struct OpenHop {
    cycle: u64,
    flits: u16,
    kind: PacketKind,
    id: u32,
    word: u32,
}

/// Flits of a link in an interval.
#[derive(Clone, Copy, Default)]
struct Load {
    interval: u64,
    flits: u32,
}

/// The events of a node's hardware.
pub(crate) struct NodeRecorder {
    node: u32,
    cycle_ps: u64,
    /// By number of the FIFO.
    rings: Vec<Ring>,
    /// Numbers of those that are enabled.
    enabled: Vec<u16>,
    /// By port and channel.
    hops: Vec<Option<OpenHop>>,
    /// By port.
    loads: Vec<Load>,
    /// Cycle in which the events begin.
    from: u64,
    events: Sink,
}

impl NodeRecorder {
    /// Recorder of a node with `ports` links of torus and tree.
    pub(crate) fn new(node: usize, ports: usize, cycle_ps: u64, events: Sink) -> Self {
        Self {
            node: node as u32,
            cycle_ps,
            rings: vec![Ring::default(); (PAGE_COUNT * group_page::INJ_COUNT) as usize],
            enabled: Vec::new(),
            hops: vec![None; ports * CHANNELS],
            loads: vec![Load::default(); ports],
            from: 0,
            events,
        }
    }

    /// A register is written at the host's port.
    pub(crate) fn register_write(&mut self, request: &Request) {
        let Some((fifo, register)) = injection_register(request.addr) else {
            return;
        };
        let ring = &mut self.rings[usize::from(fifo)];
        match register {
            BASE => ring.base = request.data,
            SIZE => ring.size = request.data,
            CTRL => {
                let enabled = ctrl::ENABLE.is_set(request.data);
                if enabled && !ring.enabled {
                    ring.tail = 0;
                }
                ring.enabled = enabled;
                self.enabled.retain(|&other| other != fifo);
                if enabled {
                    self.enabled.push(fifo);
                }
            }
            TAIL => {
                // The field has 32 bits.
                let new = tail::BYTES.get(request.data) as u32;
                let old = std::mem::replace(&mut ring.tail, new);
                let count = new.wrapping_sub(old) as usize / DESCRIPTOR_BYTES;
                let places = ring.size as usize / DESCRIPTOR_BYTES;
                let first = old as usize / DESCRIPTOR_BYTES % places.max(1);
                let what = What::Tail {
                    fifo,
                    first: first as u16,
                    count: count.min(places) as u16,
                    places: places.min(u16::MAX.into()) as u16,
                };
                let ps = request.cycle * self.cycle_ps;
                self.push((ps, ps), Lane::Tails, what);
            }
            _ => {}
        }
    }

    /// A read burst samples memory.
    pub(crate) fn read(&mut self, memory: &Memory, burst: &ReadBurst, ps: u64) {
        let addr = burst.address.addr;
        let holds = |fifo: &&u16| {
            let ring = &self.rings[usize::from(**fifo)];
            addr.checked_sub(ring.base)
                .is_some_and(|offset| offset < ring.size)
        };
        let Some(&fifo) = self.enabled.iter().find(holds) else {
            return;
        };
        let offset = addr - self.rings[usize::from(fifo)].base;
        let mut bytes = [0; DESCRIPTOR_BYTES];
        memory.read(addr, &mut bytes);
        // The DMA engine refuses one that cannot be understood.
        let Ok(descriptor) = Descriptor::decode(&bytes) else {
            return;
        };
        let kind = PacketKind(u8::from(descriptor.kind));
        let what = What::Fetch {
            fifo,
            place: (offset as usize / DESCRIPTOR_BYTES) as u16,
            kind,
            id: descriptor.msg_id,
            word: kind.word([descriptor.sw0, descriptor.sw1]),
            bytes: descriptor.source.length,
        };
        self.push((ps, ps), Lane::Fetches, what);
    }

    /// A write burst has become complete in a cycle.
    pub(crate) fn write(&mut self, cycle: u64, burst: &WriteBurst) {
        let bytes = burst
            .beats
            .iter()
            .map(|beat| beat.strobe.count_ones())
            .sum();
        let span = (cycle * self.cycle_ps, burst.due * self.cycle_ps);
        let id = burst.beats.first().map_or(0, |beat| beat.dbg);
        self.push(span, Lane::Writes, What::Written { bytes, id });
    }

    /// Interrupt and wake-up outputs change.
    pub(crate) fn levels(&mut self, cycle: u64, levels: u32) {
        let ps = cycle * self.cycle_ps;
        self.push((ps, ps), Lane::Levels, What::Levels { levels });
    }

    /// A flit leaves by a link of torus or tree.
    pub(crate) fn flit(&mut self, port: usize, word: &LinkWord) {
        let interval = word.cycle / LOAD_CYCLES;
        if self.loads[port].interval != interval {
            self.end_interval(port, u64::MAX);
            self.loads[port].interval = interval;
        }
        self.loads[port].flits += 1;
        let open = &mut self.hops[port * CHANNELS + word.channel() as usize];
        if word.is_head() {
            *open = Some(OpenHop {
                cycle: word.cycle,
                flits: 0,
                kind: PacketKind(word.data[1] as u8 & 0xf),
                id: word.dbg,
                word: 0,
            });
        }
        let Some(hop) = open else {
            return;
        };
        // A packet whose last flit was lost has no end.
        hop.flits = hop.flits.saturating_add(1);
        if hop.flits == 2 {
            // The second half of the header ends with the software words.
            let software = word.data[1];
            hop.word = hop.kind.word([software as u32, (software >> 32) as u32]);
        }
        if word.is_tail() {
            let hop = *hop;
            *open = None;
            let span = (hop.cycle * self.cycle_ps, (word.cycle + 1) * self.cycle_ps);
            let what = What::Hop {
                channel: word.channel() as u8,
                kind: hop.kind,
                flits: hop.flits,
                id: hop.id,
                word: hop.word,
            };
            self.push(span, Lane::Link(port as u8), what);
        }
    }

    /// The last events up to cycle `now`: its spool has the others. Those from now on go to the `next` one.
    pub(crate) fn take(&mut self, now: u64, next: &Spool) -> Vec<Event> {
        for port in 0..self.loads.len() {
            self.end_interval(port, now);
        }
        self.from = now;
        self.events.rest(next)
    }

    /// No flit of the interval of a port comes any more; it ends in cycle `now` at the latest.
    fn end_interval(&mut self, port: usize, now: u64) {
        let Load { interval, flits } = self.loads[port];
        if flits == 0 {
            return;
        }
        self.loads[port].flits = 0;
        let begin = interval * LOAD_CYCLES;
        let (begin, end) = (begin.max(self.from), (begin + LOAD_CYCLES).min(now));
        let span = (begin * self.cycle_ps, end * self.cycle_ps);
        self.push(span, Lane::Load(port as u8), What::Load { flits });
    }

    fn push(&mut self, span: (u64, u64), lane: Lane, what: What) {
        self.events.push(Event::new(self.node, lane, span, what));
    }
}

/// The injection FIFO of a register address, by its number on the node, and the register in it.
fn injection_register(addr: u64) -> Option<(u16, u64)> {
    let offset = addr.checked_sub(page(0))?;
    let (group, offset) = (offset / (page(1) - page(0)), offset % (page(1) - page(0)));
    let (index, register) = (offset / group_page::inj(1), offset % group_page::inj(1));
    (group < PAGE_COUNT && index < group_page::INJ_COUNT)
        .then_some(((group * group_page::INJ_COUNT + index) as u16, register))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn x7_registers_of_injection_fifos_are_told_from_others() {
        assert_eq!(injection_register(page(0)), Some((0, BASE)));
        assert_eq!(
            injection_register(page(2) + group_page::inj(3) + TAIL),
            Some((67, TAIL))
        );
        assert_eq!(injection_register(page(0) + group_page::rec(0)), None);
        assert_eq!(injection_register(page(PAGE_COUNT)), None);
        assert_eq!(injection_register(page(0) - 8), None);
    }

    #[test]
    fn x7_a_packet_is_an_event_from_first_to_last_flit() {
        let spool = Spool::new(PathBuf::new());
        let mut recorder = NodeRecorder::new(3, 2, 2000, spool.sink(10));
        let flit = |cycle, marks: u32, data| LinkWord {
            cycle,
            word: LinkWord::VALID | 5 << 3 | marks,
            dbg: 77,
            data,
        };
        // Kind 2; the words stand in the second flit.
        recorder.flit(1, &flit(10, 1 << 6, [0, 2]));
        recorder.flit(1, &flit(11, 0, [0, 9 << 32 | 8]));
        recorder.flit(1, &flit(14, 1 << 7, [0, 0]));
        let [hop, load] = recorder.take(100, &spool)[..] else {
            panic!("a packet and its load");
        };
        assert_eq!(
            (hop.ps, hop.end_ps, hop.lane),
            (20_000, 30_000, Lane::Link(1))
        );
        let what = What::Hop {
            channel: 5,
            kind: PacketKind::PUT,
            flits: 3,
            id: 77,
            word: 9,
        };
        assert_eq!(hop.what, what);
        // The interval is cut where recording ends.
        assert_eq!((load.ps, load.end_ps), (0, 200_000));
        assert_eq!(load.what, What::Load { flits: 3 });
        assert_eq!(recorder.take(101, &spool), []);
    }
}
