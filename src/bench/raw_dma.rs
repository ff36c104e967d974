// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptors straight into injection FIFOs, without driver and software costs.

use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;
use std::time::Instant;

use gyre_firmware::{InjectionConfig, Node, NodeError, ReceptionConfig};
use gyre_layout::registers::group_page;
use gyre_layout::registers::{injection_fifo, node, page, reception_fifo, wake, wake_group};
use gyre_layout::{
    Coord, DESCRIPTOR_BYTES, Descriptor, HEADER_BYTES, Header, Kind, Source as Payload, VClass,
    event, packet_bytes,
};
use gyre_sim::{BusError, Cpu, Machine, Until};

use super::router_traffic::{Offer, Packet, Tally, flits};
use gyre::bring_up::{OWNER, bring_up};
use gyre::error::RunError;
use gyre::machine_file::MachineSpec;
use gyre::platform::process_base;
use gyre::progress;

/// Base slot of process 0, which has all memory used here.
pub(super) const SLOT: u16 = 0;

/// Layout of the memory of process 0: byte counters, rings, payload.
pub(super) const COUNTERS: u64 = 0;
const RINGS: u64 = 0x100_0000;
const RECEPTION_RING: u64 = 0x400_0000;
pub(super) const PAYLOAD: u64 = 0x800_0000;

/// Bytes of each ring.
const INJECTION_BYTES: u64 = 1 << 20;
const RECEPTION_BYTES: u64 = 1 << 20;

/// Cycles to wait before a full ring is looked at again.
const RETRY: u64 = 64;

/// Cycles after which the progress bar moves.
const CYCLES_PER_UPDATE: u64 = 128;

type Failure = Box<dyn Error>;

/// Coordinates of a node as descriptors carry them.
pub(super) fn coord(machine: &Machine, number: usize) -> Coord {
    Coord(machine.topology().coord(number).map(|v| v as u8)) // at most 64
}

/// An injection FIFO that software of one node fills.
pub(super) struct RawInjection {
    cpu: Cpu,
    base: u64,
    registers: u64,
    tail: u32,
    head: u32,
}

impl RawInjection {
    /// Opens injection FIFO `id`.
    pub fn open(cpu: &Cpu, id: u16) -> Result<Self, NodeError<BusError>> {
        let base = process_base(0) + RINGS + u64::from(id) * INJECTION_BYTES;
        Node::identify(cpu.clone())?.open_injection(
            id,
            &InjectionConfig {
                base,
                size: INJECTION_BYTES,
                owner: OWNER,
                remote_get: false,
                interrupt: false,
            },
        )?;
        Ok(Self {
            cpu: cpu.clone(),
            base,
            registers: page(0) + group_page::inj(id.into()),
            tail: 0,
            head: 0,
        })
    }

    /// Injects a descriptor; waits while the ring is full.
    pub fn push(&mut self, descriptor: &Descriptor) -> Result<(), Failure> {
        while u64::from(self.tail.wrapping_sub(self.head)) >= INJECTION_BYTES {
            self.head = self.cpu.read_reg(self.registers + injection_fifo::HEAD)? as u32;
            let later = self.cpu.now_ps() + RETRY * self.cpu.cycle_ps();
            self.cpu.sleep_until(later);
        }
        let at = self.base + u64::from(self.tail) % INJECTION_BYTES;
        self.cpu.mem_write(at, &descriptor.encode()?);
        self.tail = self.tail.wrapping_add(DESCRIPTOR_BYTES as u32);
        self.cpu
            .write_reg(self.registers + injection_fifo::TAIL, self.tail.into())?;
        Ok(())
    }
}

/// Random traffic of one class.
#[derive(Clone)]
pub(super) struct Stream {
    pub offer: Offer,
    pub class: VClass,
}

/// Result of a run of random traffic.
pub(super) struct TrafficRun {
    /// By stream.
    pub tallies: Vec<Tally>,
    /// Cycles of the machine and its state hash.
    pub cycles: u64,
    pub hash: u64,
    /// Cycles from the first packet's on to the end of the measured window, and the seconds that they took.
    pub loaded_cycles: u64,
    pub loaded_s: f64,
}

/// Random traffic through the DMA engines of the first nodes, as many as the offer's shape has: memory-FIFO packets of
/// class request, injected by the first link of their way and taken by a sink at each node. Latency ends when the sink's
/// software has read the packet's header.
pub(super) fn run_traffic(spec: &MachineSpec, offer: &Offer) -> Result<TrafficRun, RunError> {
    let stream = Stream {
        offer: offer.clone(),
        class: VClass::Request,
    };
    run_streams(spec, &[stream])
}

/// The same of several streams at once, which begin and end together. Each has a sink with a reception FIFO of its own at
/// each node; the first is injected by a FIFO a link, the others by one each.
pub(super) fn run_streams(spec: &MachineSpec, streams: &[Stream]) -> Result<TrafficRun, RunError> {
    let mut machine = spec.machine()?;
    bring_up(&mut machine, 1)?;
    let mut tallies = Vec::with_capacity(streams.len());
    let mut window = (machine.cycles(), machine.cycles());
    for (number, stream) in streams.iter().enumerate() {
        let offer = Offer {
            start: machine.cycles() + stream.offer.start,
            ..stream.offer.clone()
        };
        window = (offer.start, offer.to());
        let stream = Stream {
            offer,
            class: stream.class,
        };
        tallies.push(spawn_stream(&mut machine, number, &stream));
    }
    let (begin, end) = window;
    machine.run(Until::Cycle(begin))?;
    let begin = machine.cycles();
    let bar = progress::bar(end - begin, "cycles");
    let started = Instant::now();
    // No result depends on how the run is cut.
    while machine.cycles() < end {
        bar.set_position(machine.cycles() - begin);
        let next = machine.cycles() + CYCLES_PER_UPDATE;
        machine.run(Until::Cycle(next.min(end)))?;
    }
    let loaded_s = started.elapsed().as_secs_f64();
    bar.finish_and_clear();
    let report = machine.run(Until::Quiet)?;
    let tallies = tallies.into_iter();
    Ok(TrafficRun {
        tallies: tallies.map(|tally| tally.take()).collect(),
        cycles: report.cycles,
        hash: report.hash,
        loaded_cycles: end - begin,
        loaded_s,
    })
}

/// Sources and sinks of stream `number` at all nodes, and what they will count.
fn spawn_stream(machine: &mut Machine, number: usize, stream: &Stream) -> Rc<RefCell<Tally>> {
    let offer = &stream.offer;
    let nodes = offer.nodes();
    let mut schedules: Vec<Vec<Packet>> = Vec::with_capacity(nodes);
    let mut expected = vec![0u64; nodes];
    for node in 0..nodes {
        let mut source = offer.source(node);
        let packets: Vec<_> = std::iter::from_fn(|| source.next(offer)).collect();
        for packet in &packets {
            expected[packet.to] += 1;
        }
        schedules.push(packets);
    }
    let ports = 2 * machine.topology().dims();
    let tally = Rc::new(RefCell::new(Tally::default()));
    for (node, packets) in schedules.into_iter().enumerate() {
        let sink_stream = stream.clone();
        let sink_tally = Rc::clone(&tally);
        let count = expected[node];
        machine.spawn(node, "sink", move |cpu| {
            sink(&cpu, number as u8, &sink_stream, count, &sink_tally)
        });
        for packet in &packets {
            tally.borrow_mut().offered(offer, packet);
        }
        let descriptors: Vec<(u64, usize, Descriptor)> = packets
            .into_iter()
            .filter_map(|Packet { cycle, to, payload }| {
                let payload = Payload {
                    slot: SLOT,
                    offset: PAYLOAD,
                    length: payload.into(),
                };
                let port = machine.topology().first_port(node, to)?;
                let to = coord(machine, to);
                let mut descriptor = Descriptor::memory_fifo(to, payload, number as u16)
                    .with_software(cycle as u32, (cycle >> 32) as u32);
                descriptor.vclass = stream.class;
                descriptor.dynamic_route = offer.dynamic;
                Some((cycle, port, descriptor))
            })
            .collect();
        // At most 13 of 32.
        let fifos: Vec<u16> = match number {
            0 => (0..ports as u16).collect(),
            other => vec![(ports + other - 1) as u16],
        };
        machine.spawn(node, "source", move |cpu| {
            source(&cpu, &fifos, &descriptors)
        });
    }
    tally
}

/// Injects packets at their cycles, each by the FIFO of its first link, or all by the one that there is.
fn source(
    cpu: &Cpu,
    fifos: &[u16],
    descriptors: &[(u64, usize, Descriptor)],
) -> Result<(), Failure> {
    let mut opened = Vec::with_capacity(fifos.len());
    for &fifo in fifos {
        opened.push(RawInjection::open(cpu, fifo)?);
    }
    for (cycle, port, descriptor) in descriptors {
        cpu.sleep_until(cycle * cpu.cycle_ps());
        let fifo = port % opened.len();
        opened[fifo].push(descriptor)?;
    }
    Ok(())
}

/// Takes `count` packets of a stream out of reception FIFO `fifo`, with the wake group of its number.
fn sink(
    cpu: &Cpu,
    fifo: u8,
    stream: &Stream,
    count: u64,
    tally: &RefCell<Tally>,
) -> Result<(), Failure> {
    let offer = &stream.offer;
    let base = process_base(0) + RECEPTION_RING + u64::from(fifo) * RECEPTION_BYTES;
    Node::identify(cpu.clone())?.open_reception(
        fifo.into(),
        &ReceptionConfig {
            base,
            size: RECEPTION_BYTES,
            owner: OWNER,
            threshold: 0,
        },
    )?;
    let registers = page(0) + group_page::rec(fifo.into());
    let packets = event::reception(fifo.into());
    cpu.write_reg(wake(fifo.into()) + wake_group::MASK, packets | event::ERROR)?;
    let mut head = 0u32;
    let mut taken = 0;
    loop {
        // Before the look: what comes after it wakes again. An error stays, and with it the wake-up.
        cpu.write_reg(wake(fifo.into()) + wake_group::CAUSE, packets)?;
        let tail = cpu.read_reg(registers + reception_fifo::TAIL)? as u32;
        let arrived = head != tail;
        if !arrived {
            // An error leaves packets out: without this the sink would wait for them for ever.
            let errors = cpu.read_reg(node::ERR_STATUS)?;
            if errors != 0 {
                return Err(format!("error register holds {errors:#x}").into());
            }
        }
        while head != tail {
            let mut bytes = [0; HEADER_BYTES];
            cpu.mem_read(base + u64::from(head) % RECEPTION_BYTES, &mut bytes);
            let header = Header::decode(&bytes)?;
            let known = header.len == offer.payload
                || (offer.short.share > 0.0 && header.len == offer.short.payload);
            if (header.kind, header.vclass) != (Kind::MemFifo, stream.class) || !known {
                return Err(format!("a packet that nobody sent: {header:?}").into());
            }
            let sent = u64::from(header.sw0) | u64::from(header.sw1) << 32;
            let now = cpu.now_ps() / cpu.cycle_ps();
            tally
                .borrow_mut()
                .delivered(offer, flits(header.len), sent, now);
            head = head.wrapping_add(packet_bytes(header.len.into()) as u32);
            taken += 1;
        }
        if arrived {
            cpu.write_reg(registers + reception_fifo::HEAD, head.into())?;
        }
        if taken >= count {
            return Ok(());
        }
        cpu.wait_wake(fifo, None);
    }
}
