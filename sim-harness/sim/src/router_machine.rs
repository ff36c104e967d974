// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine of routers and links alone, for raw traffic.

use std::path::PathBuf;
use std::sync::Arc;

use cxx::{SharedPtr, UniquePtr};

use gyre_layout::fields::header::{AUX, DST, DYNAMIC, FIRST, KIND, LAST, LEN, SRC, VCLASS};
use gyre_layout::{Coord, Kind, packet_bytes};
use gyre_timeline::{Recording, Spool};

use crate::config::{EPOCH, MachineConfig};
use crate::error::{ConfigError, SimError};
use crate::ffi;
use crate::hash::{self, Digest};
use crate::links::Links;
use crate::model_kind::{ModelKind, Optimisation, model_dims};
use crate::models::{LoadedModel, ModelSpec, Top};
use crate::node_recorder::NodeRecorder;
use crate::progress::Progress;
use crate::record::{InBuffer, Out, OutReader};
use crate::recorder::Recorder;
use crate::stall::StallReport;
use crate::topology::Topology;
use crate::trace::{Trace, TraceConfig};

/// Most payload bytes of a packet.
const MAX_PAYLOAD: u16 = 512;

/// Bytes of a flit.
const FLIT_BYTES: u16 = 16;

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawPacket {
    /// Cycle in which it is offered to its injection path; it waits there for those before it.
    pub cycle: u64,
    /// Destination; another node than the source.
    pub dst: usize,
    /// Whether it travels in the response class.
    pub response: bool,
    /// Whether it may take any shortest way, else its fixed route.
    pub dynamic: bool,
    /// Payload bytes, 0 to 512.
    pub len: u16,
    /// Comes out at the destination; payload is made from it.
    pub tag: u64,
}

impl RawPacket {
    /// Flits on a link: a header of 32 B and the payload rounded up to 32 B.
    pub fn flits(&self) -> u64 {
        flits(self.len)
    }
}

/// Flits of a packet with `len` bytes of payload.
fn flits(len: u16) -> u64 {
    packet_bytes(len.into()) as u64 / u64::from(FLIT_BYTES)
}

/// A packet that left the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Where.
    pub node: usize,
    /// Port of the link it came by.
    pub port: usize,
    /// From where.
    pub src: usize,
    /// Whether it travelled in the response class.
    pub response: bool,
    /// Flits, header included.
    pub flits: u64,
    /// The packet's tag.
    pub tag: u64,
    /// Cycle in which its first flit was taken.
    pub head_cycle: u64,
    /// Cycle in which its last flit was taken.
    pub tail_cycle: u64,
}

/// Sources and sinks of all nodes.
///
/// A source must not depend on deliveries to other nodes, or results depend on the window.
pub trait Traffic {
    /// The node's next packet, in order of their cycles; none when it has no more. Called again only
    /// when the last one is due.
    fn next_packet(&mut self, node: usize) -> Option<RawPacket>;

    /// A packet arrived, undamaged.
    fn delivered(&mut self, delivery: &Delivery);
}

/// Counts of a run of routers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterReport {
    /// Cycles.
    pub cycles: u64,
    /// Digest of all link transfers.
    pub hash: u64,
    /// Node-cycles that were evaluated; the rest was quiet.
    pub node_cycles_evaluated: u64,
    /// Flits sent on all links.
    pub link_flits: u64,
    /// Packets handed to injection paths.
    pub packets_offered: u64,
    /// Packets that arrived.
    pub packets_delivered: u64,
}

struct RouterNode {
    model: UniquePtr<ffi::SimNode>,
    digest: Digest,
    input: InBuffer,
    link_flits: Vec<u64>,
    /// Recorder, if events are recorded.
    recorder: Option<NodeRecorder>,
    /// Fetched from the traffic, not yet due.
    waiting: Option<RawPacket>,
    exhausted: bool,
    next: u64,
}

/// Routers and links without DMA engines, memory and software. Of the configuration, shape, link latency, window, idle
/// skip, watchdog and models count.
pub struct RouterMachine<T> {
    traffic: T,
    config: MachineConfig,
    topology: Topology,
    /// Of the waveform, if there are models that can write one.
    context: SharedPtr<ffi::SimContext>,
    trace: Option<Trace>,
    nodes: Vec<RouterNode>,
    optimisation: Optimisation,
    links: Links,
    cycle: u64,
    window: u64,
    progress: Progress,
    evaluated: u64,
    offered: u64,
    delivered: u64,
    scratch: Vec<u64>,
    stopped: bool,
    cycle_ps: u64,
    link_latency: u64,
    /// Who takes the events, and where they go until then.
    recorded: Option<(Recorder, Spool)>,
}

impl<T: Traffic> RouterMachine<T> {
    /// Routers just out of reset, links enabled, at cycle 0.
    pub fn new(config: &MachineConfig, traffic: T) -> Result<Self, SimError> {
        let topology = config.topology()?;
        if topology.nodes() < 2 {
            let dims = format!("{:?}", config.dims);
            return Err(ConfigError::new("dims", dims, "at least 2 nodes").into());
        }
        let load = |kind| ModelSpec::of(config, Top::Network(kind)).load();
        let loaded = load(config.model)?;
        let others = match config.traced_nodes {
            Some(_) => load(ModelKind::Fast)?,
            None => Arc::clone(&loaded),
        };
        let new_context = |model: &LoadedModel| {
            let noise = config.noise;
            ffi::new_context(&model.entry, noise.is_some(), noise.unwrap_or(0))
        };
        let (context, other_context) = (new_context(&loaded), new_context(&others));
        let recorder = config.recorder.as_ref();
        let recorded = recorder.map(|recorder| (recorder.clone(), recorder.spool()));
        let mut nodes = Vec::with_capacity(topology.nodes());
        for node in 0..topology.nodes() {
            let cfg = node_config(&topology, node);
            let (model, context) = match config.model_of(node) == config.model {
                true => (&loaded, &context),
                false => (&others, &other_context),
            };
            let model = ffi::new_router(&model.entry, context, &format!("node{node}"), &cfg)
                .map_err(|error| SimError::model(node, &error))?;
            let ports = model.ports() as usize;
            let recorder = recorded.as_ref().map(|(recorder, spool)| {
                let events = spool.sink(recorder.of_node(topology.nodes()));
                NodeRecorder::new(node, ports, config.cycle_ps, events)
            });
            nodes.push(RouterNode {
                recorder,
                digest: Digest::default(),
                input: InBuffer::default(),
                link_flits: vec![0; ports],
                waiting: None,
                exhausted: false,
                next: 0,
                model,
            });
        }
        Ok(Self {
            traffic,
            links: Links::torus(
                &topology,
                2 * model_dims(config.dims.len()),
                config.link_latency,
            ),
            config: config.clone(),
            topology,
            context,
            trace: None,
            nodes,
            optimisation: loaded.optimisation,
            cycle: 0,
            // Memory and registers do not matter here, links do.
            window: config
                .window
                .unwrap_or(config.link_latency)
                .min(config.link_latency),
            progress: Progress::default(),
            evaluated: 0,
            offered: 0,
            delivered: 0,
            scratch: Vec::new(),
            stopped: false,
            cycle_ps: config.cycle_ps,
            link_latency: config.link_latency,
            recorded,
        })
    }

    /// Sources and sinks.
    pub fn traffic(&self) -> &T {
        &self.traffic
    }

    /// Sources and sinks.
    pub fn traffic_mut(&mut self) -> &mut T {
        &mut self.traffic
    }

    /// How much the routers' model is optimised.
    pub fn optimisation(&self) -> Optimisation {
        self.optimisation
    }

    /// Shape and wiring.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Cycles since reset.
    pub fn cycles(&self) -> u64 {
        self.cycle
    }

    /// Flits sent so far by each port of a node.
    pub fn link_flits(&self, node: usize) -> &[u64] {
        &self.nodes[node].link_flits
    }

    /// Runs to a cycle.
    pub fn run_to(&mut self, cycle: u64) -> Result<RouterReport, SimError> {
        self.run(|machine| Some(cycle).filter(|&cycle| machine.cycle < cycle))
    }

    /// Runs until all sources are exhausted and all packets have arrived, then to a multiple of 64.
    pub fn run_to_end(&mut self) -> Result<RouterReport, SimError> {
        self.run(|machine| {
            let done = machine.next_cycle() == u64::MAX;
            let end = machine.cycle.next_multiple_of(EPOCH);
            match done {
                true => Some(end).filter(|&end| machine.cycle < end),
                false => Some(u64::MAX),
            }
        })
    }

    /// Counts so far.
    pub fn report(&self) -> RouterReport {
        RouterReport {
            cycles: self.cycle,
            hash: hash::combine(self.nodes.iter().map(|node| node.digest.value())),
            node_cycles_evaluated: self.evaluated,
            link_flits: self.nodes.iter().flat_map(|node| &node.link_flits).sum(),
            packets_offered: self.offered,
            packets_delivered: self.delivered,
        }
    }

    /// Writes a waveform of nodes that have traced models. Timing does not change.
    ///
    /// # Errors
    /// Scopes that there are not; a machine without traced models.
    pub fn trace(&mut self, config: TraceConfig) -> Result<(), SimError> {
        self.finish_trace()?;
        let spec = ModelSpec::of(&self.config, Top::Network(ModelKind::Traced));
        self.trace = Some(Trace::new(config, &self.config, &spec, &self.context)?);
        Ok(())
    }

    /// Ends the waveform before its window does. Returns the file, if anything was written.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn finish_trace(&mut self) -> Result<Option<PathBuf>, SimError> {
        self.trace.as_mut().map_or(Ok(None), Trace::finish)
    }

    /// Runs windows as long as `limit` gives a cycle to go to.
    fn run(&mut self, limit: impl Fn(&Self) -> Option<u64>) -> Result<RouterReport, SimError> {
        if self.stopped {
            return Err(SimError::Stopped);
        }
        self.stopped = true;
        while let Some(limit) = limit(self) {
            let advanced = self.advance(limit).and_then(|()| self.check_events());
            if let Err(error) = advanced {
                // The file is complete then. What is wrong with it hears who asks for it, see `finish_trace`.
                drop(self.finish_trace());
                return Err(error);
            }
        }
        self.stopped = false;
        Ok(self.report())
    }

    /// Ends the run when events are lost.
    fn check_events(&self) -> Result<(), SimError> {
        let spool = self.recorded.as_ref().map(|(_, spool)| spool);
        let lost = spool.and_then(Spool::error);
        lost.map_or(Ok(()), |error| Err(error.into()))
    }

    fn next_cycle(&self) -> u64 {
        self.nodes
            .iter()
            .map(|node| node.next)
            .min()
            .unwrap_or(u64::MAX)
    }

    fn advance(&mut self, limit: u64) -> Result<(), SimError> {
        if self.config.skip_idle {
            let start = self.next_cycle().clamp(self.cycle, limit);
            let trace = self.trace.as_ref();
            let first = trace.and_then(|trace| trace.begins_between(self.cycle, start));
            self.cycle = first.unwrap_or(start);
            if self.cycle == limit {
                return Ok(());
            }
        }
        let start = self.cycle;
        let last = self.config.last_cycle();
        if start >= last {
            return Err(SimError::TimeOver { last });
        }
        self.check_progress()?;
        let mut end = (start + self.window)
            .min((start + 1).next_multiple_of(EPOCH))
            .min(limit);
        let trace = self.trace.as_ref();
        if let Some(other) = trace.and_then(|trace| trace.window_end(start)) {
            end = end.min(other);
        }
        let tracing = trace.is_some_and(|trace| trace.covers(start));
        let mut broken: Option<(u64, SimError)> = None;
        for node in 0..self.nodes.len() {
            let shown = tracing && self.trace.as_ref().is_some_and(|trace| trace.shows(node));
            if self.nodes[node].next >= end && !shown && self.config.skip_idle {
                continue;
            }
            let skip = self.config.skip_idle && !shown;
            if let Err((cycle, message)) = self.run_node(node, start, end, skip)
                && broken.as_ref().is_none_or(|(first, _)| cycle < *first)
            {
                let error = SimError::Hardware {
                    node,
                    cycle,
                    message,
                };
                broken = Some((cycle, error));
            }
        }
        self.cycle = end;
        let dumped = match &mut self.trace {
            Some(trace) => {
                let models = self.nodes.iter_mut().map(|node| node.model.pin_mut());
                trace.write(tracing.then_some(start), end, self.config.cycle_ps, models)
            }
            None => Ok(()),
        };
        broken.map_or(dumped, |(_, error)| Err(error))
    }

    /// Stops routers that no packet comes through for too long, before they run on from their cycle.
    fn check_progress(&mut self) -> Result<(), SimError> {
        let ended = self.progress.enter(self.cycle);
        let Progress { idle, last, .. } = self.progress;
        let waits = ended && self.config.watchdog > 0 && self.delivered < self.offered;
        if !waits || idle < self.config.watchdog {
            return Ok(());
        }
        Err(SimError::Watchdog {
            cycles: idle,
            report: Box::new(StallReport {
                cycle: self.cycle,
                last_progress: last.unwrap_or(0),
                ..Default::default()
            }),
        })
    }

    /// Runs a router for a window; an error is a cycle and what broke in it.
    fn run_node(
        &mut self,
        index: usize,
        start: u64,
        end: u64,
        skip: bool,
    ) -> Result<(), (u64, String)> {
        self.offer_packets(index, end)
            .map_err(|text| (start, text))?;
        let node = &mut self.nodes[index];
        let input = &mut self.scratch;
        input.clear();
        self.links.receive(index, end, input);
        input.extend_from_slice(node.input.words());
        node.input.clear();
        let cycles = (end - start) as u32;
        let result = ffi::run_node(node.model.pin_mut(), start, cycles, skip, input);
        let words = match result {
            Ok(words) => words.to_vec(),
            Err(error) => return Err((node.model.cycle(), error.what().to_owned())),
        };
        for record in OutReader::new(&words, start) {
            self.take_record(index, record)
                .map_err(|(cycle, text)| (cycle.unwrap_or(start), text))?;
        }
        let arrival = self.links.next_arrival(index).unwrap_or(u64::MAX);
        let node = &mut self.nodes[index];
        let packet = node.waiting.map_or(u64::MAX, |packet| packet.cycle);
        node.next = node.next.min(arrival).min(packet).max(end);
        Ok(())
    }

    /// Hands over packets due before `end`, and fetches the next one.
    fn offer_packets(&mut self, index: usize, end: u64) -> Result<(), String> {
        loop {
            let node = &mut self.nodes[index];
            if node.waiting.is_none() && !node.exhausted {
                node.waiting = self.traffic.next_packet(index);
                node.exhausted = node.waiting.is_none();
            }
            let Some(packet) = node.waiting.take_if(|packet| packet.cycle < end) else {
                return Ok(());
            };
            let paths = match packet.dynamic {
                true => self.topology.minimal_ports(index, packet.dst),
                false => self
                    .topology
                    .first_port(index, packet.dst)
                    .map_or(0, |port| 1 << port),
            };
            if paths == 0 {
                return Err(format!("raw packet to its own node {}", packet.dst));
            }
            if packet.len > MAX_PAYLOAD || packet.dst >= self.topology.nodes() {
                return Err(format!("raw packet that cannot be: {packet:?}"));
            }
            let header = header(&self.topology, index, &packet);
            let class = packet.response.into();
            node.input
                .packet(paths, class, packet.tag as u32, packet.cycle, &header);
            self.offered += 1;
        }
    }

    /// Handles the outputs of a router. An error has the cycle, if known, and the reason.
    fn take_record(&mut self, index: usize, record: Out) -> Result<(), (Option<u64>, String)> {
        let node = &mut self.nodes[index];
        match record {
            Out::Link { port, word } => {
                let port = usize::from(port);
                if word.is_flit() {
                    node.link_flits[port] += 1;
                    if let Some(recorder) = &mut node.recorder {
                        recorder.flit(port, &word);
                    }
                    node.digest
                        .link_flit(word.cycle, port, word.word, &word.data);
                    self.progress.note(Some(word.cycle));
                }
                if let Some((to, arrival)) = self.links.send(index, port, word) {
                    let next = &mut self.nodes[to].next;
                    *next = arrival.min(*next);
                }
            }
            Out::Packet {
                path,
                class,
                damaged,
                header,
                head_cycle,
                tail_cycle,
            } => {
                let tag = header[3];
                let wrong = |what| {
                    let text = format!("packet {tag:#x} {what}");
                    (Some(tail_cycle), text)
                };
                if damaged {
                    return Err(wrong("arrived damaged"));
                }
                if DST.of(&header) != u64::from(self.topology.packed_coord(index)) {
                    return Err(wrong("left at the wrong node"));
                }
                let src = Coord::unpack(SRC.of(&header) as u32).0.map(u16::from);
                let src = self
                    .topology
                    .node_at(&src)
                    .ok_or_else(|| wrong("has no source"))?;
                self.delivered += 1;
                self.traffic.delivered(&Delivery {
                    node: index,
                    port: path.into(),
                    src,
                    response: class != 0,
                    flits: flits(LEN.of(&header) as u16),
                    tag,
                    head_cycle,
                    tail_cycle,
                });
            }
            Out::End {
                next, evaluated, ..
            } => {
                node.next = next;
                self.evaluated += evaluated;
            }
            other => {
                let text = format!("unexpected record from a router: {other:?}");
                return Err((None, text));
            }
        }
        Ok(())
    }
}

impl<T> Drop for RouterMachine<T> {
    fn drop(&mut self) {
        let Some((recorder, spool)) = self.recorded.take() else {
            return;
        };
        let (mut events, mut links) = (Vec::new(), Vec::new());
        for (number, node) in self.nodes.iter_mut().enumerate() {
            if let Some(recorder) = &mut node.recorder {
                events.append(&mut recorder.take(self.cycle, &spool));
            }
            let ports = node.link_flits.len();
            links.append(&mut self.topology.torus_link_names(number, ports));
        }
        let (nodes, end_ps) = (self.nodes.len() as u32, self.cycle * self.cycle_ps);
        let mut recording = Recording::empty(self.cycle_ps, nodes, 0, end_ps);
        recording.link_ps = self.link_latency * self.cycle_ps;
        recording.links = links;
        recorder.put(recording.with_spool(spool, events));
    }
}

/// `node_cfg_t` of the RTL package, low word first.
fn node_config(topology: &Topology, node: usize) -> [u64; 2] {
    let registers = topology.network_config(node).registers();
    let [coord, size, ring, order] = registers.map(|(_, value)| u128::from(value));
    let links = u128::from(topology.link_mask(node));
    let word = links << 2 | ring << 12 | size << 17 | coord << 52 | order << 82;
    [word as u64, (word >> 64) as u64]
}

/// A memory-FIFO packet's header: the whole message, tagged in its software words.
fn header(topology: &Topology, src: usize, packet: &RawPacket) -> [u64; 4] {
    let mut bytes = [[0; 8]; 4];
    for (field, value) in [
        (DST, topology.packed_coord(packet.dst)),
        (VCLASS, packet.response.into()),
        (SRC, topology.packed_coord(src)),
        (DYNAMIC, packet.dynamic.into()),
        (KIND, Kind::MemFifo as u32),
        (LEN, packet.len.into()),
        (FIRST, 1),
        (LAST, 1),
        (AUX, packet.len.into()),
    ] {
        let set = field.set(bytes.as_flattened_mut(), value.into());
        set.expect("every value fits");
    }
    bytes[3] = packet.tag.to_le_bytes();
    bytes.map(u64::from_le_bytes)
}
