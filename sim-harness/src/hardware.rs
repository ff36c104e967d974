//! Hardware's side of the nodes: models, memory ports and links, run a window at a time by any thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use cxx::UniquePtr;

use crate::axi::{Address, AxiMemory, WriteBurst};
use crate::config::MachineConfig;
use crate::event::Event;
use crate::ffi;
use crate::fuzzing::{FuzzPorts, MemoryWrite, RegisterAnswer};
use crate::hash::Digest;
use crate::observe::{LinkFault, LinkTransfer, NodeInput, NodeOutput};
use crate::record::{FLIT_WORDS, InBuffer, LinkWord, Out, OutReader};
use crate::topology::TREE_PORTS;

/// Cycles that a node runs without looking at anybody else.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    pub(crate) start: u64,
    /// First cycle after it.
    pub(crate) end: u64,
    /// Whether cycles in which nothing can change are left out.
    pub(crate) skip: bool,
}

/// What a node's hardware leaves for its software and memory, in order.
pub(crate) enum Planned {
    /// Something that happens at a time, picoseconds.
    Event(u64, Event),
    /// The answer to the oldest register access.
    Response { cycle: u64, resp: u8, data: u64 },
}

/// What broke in a node's hardware.
pub(crate) struct Fault {
    pub(crate) cycle: u64,
    pub(crate) message: String,
}

/// One node.
pub(crate) struct HardNode {
    pub(crate) model: UniquePtr<ffi::SimNode>,
    pub(crate) ports: Ports,
}

/// What a node's model is surrounded with.
pub(crate) struct Ports {
    pub(crate) axi: AxiMemory,
    pub(crate) digest: Digest,
    /// What arrives on links in the next run of the model, see [`crate::links::Links::receive`].
    pub(crate) arrivals: Vec<u64>,
    /// Gathered for the next run of the model.
    pub(crate) input: InBuffer,
    /// Sent in the last window, by port.
    pub(crate) sent: Vec<(usize, LinkWord)>,
    /// Flits sent by port of the torus.
    pub(crate) link_flits: Vec<u64>,
    /// Flits sent by port of the tree.
    pub(crate) tree_flits: [u64; TREE_PORTS],
    /// Disturbances that wait for a flit.
    pub(crate) faults: Vec<LinkFault>,
    /// Left by the last window.
    pub(crate) planned: Vec<Planned>,
    pub(crate) failed: Option<Fault>,
    /// A flit was sent or memory written since it was last asked.
    pub(crate) progress: bool,
    /// The model and its surroundings are quiet.
    pub(crate) quiet: bool,
    /// Cycles evaluated.
    pub(crate) evaluated: u64,
    /// Cycle of the next software or memory event that is known.
    pub(crate) next_event: u64,
    pub(crate) transfers: Option<Vec<LinkTransfer>>,
    pub(crate) inputs: Option<Vec<NodeInput>>,
    pub(crate) outputs: Option<Vec<NodeOutput>>,
    pub(crate) fuzz: FuzzPorts,
}

/// All nodes.
pub(crate) struct Hardware {
    nodes: Vec<Mutex<HardNode>>,
    /// Cycle in which each node must be looked at again, arrivals on links aside.
    next: Vec<AtomicU64>,
    cycle_ps: u64,
    reg_latency: u64,
    wake_latency: u64,
}

impl HardNode {
    pub(crate) fn new(model: UniquePtr<ffi::SimNode>, axi: AxiMemory) -> Self {
        let torus = model.ports() as usize - TREE_PORTS;
        Self {
            model,
            ports: Ports {
                axi,
                digest: Digest::default(),
                arrivals: Vec::new(),
                input: InBuffer::default(),
                sent: Vec::new(),
                link_flits: vec![0; torus],
                tree_flits: [0; TREE_PORTS],
                faults: Vec::new(),
                planned: Vec::new(),
                failed: None,
                progress: false,
                quiet: false,
                evaluated: 0,
                next_event: 0,
                transfers: None,
                inputs: None,
                outputs: None,
                fuzz: FuzzPorts::default(),
            },
        }
    }
}

impl Hardware {
    pub(crate) fn new(config: &MachineConfig, nodes: Vec<HardNode>) -> Self {
        Self {
            next: nodes.iter().map(|_| AtomicU64::new(0)).collect(),
            nodes: nodes.into_iter().map(Mutex::new).collect(),
            cycle_ps: config.cycle_ps,
            reg_latency: config.reg_latency,
            wake_latency: config.wake_latency,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// A node, for the caller alone.
    ///
    /// # Panics
    /// If a thread panicked while it ran the node: there is no state to go on from.
    pub(crate) fn node(&self, index: usize) -> MutexGuard<'_, HardNode> {
        self.nodes[index]
            .lock()
            .expect("no thread panicked in the node")
    }

    /// Cycle in which a node must be looked at again, arrivals on links aside; `u64::MAX` if nothing is to come.
    pub(crate) fn next_cycle(&self, index: usize) -> u64 {
        self.next[index].load(Ordering::Relaxed)
    }

    /// Has a node looked at in a cycle.
    pub(crate) fn look_at(&self, index: usize, cycle: u64) {
        self.next[index].store(cycle, Ordering::Relaxed);
    }

    /// Runs a node's model for a window, with what is in `arrivals` and `input`. What it sends, plans and breaks is left
    /// in the node.
    pub(crate) fn run(&self, index: usize, window: Window) {
        let mut guard = self.node(index);
        let HardNode { model, ports } = &mut *guard;
        let next = self.run_model(index, window, model, ports);
        match next {
            Ok(next) => {
                let flip = ports.fuzz.next_cycle(window.end);
                self.look_at(index, next.min(ports.next_event).min(flip).max(window.end));
            }
            Err(fault) => ports.failed = Some(fault),
        }
    }

    /// Gives the cycle of the next event inside the model.
    fn run_model(
        &self,
        index: usize,
        window: Window,
        model: &mut UniquePtr<ffi::SimNode>,
        ports: &mut Ports,
    ) -> Result<u64, Fault> {
        let Window { start, end, skip } = window;
        ports.arrivals.extend_from_slice(ports.input.words());
        if let Some(inputs) = &mut ports.inputs
            && !ports.input.words().is_empty()
        {
            inputs.push(NodeInput {
                cycle: start,
                node: index,
                words: ports.input.words().to_vec(),
            });
        }
        ports.input.clear();
        let cycles = (end - start) as u32;
        let result = ffi::run_node(model.pin_mut(), start, cycles, skip, &ports.arrivals);
        ports.arrivals.clear();
        let words = match result {
            Ok(words) => words,
            Err(error) => {
                return Err(Fault {
                    cycle: model.cycle(),
                    message: error.what().to_owned(),
                });
            }
        };
        if let Some(outputs) = &mut ports.outputs {
            outputs.push(NodeOutput {
                cycle: start,
                node: index,
                words: words.to_vec(),
            });
        }
        let mut next = u64::MAX;
        let mut sent = Vec::new();
        for record in OutReader::new(words, start) {
            if let Out::Link { port, word } = record
                && ports.fuzz.watches()
            {
                sent.push((port.into(), word));
            } else if let Out::End {
                quiet,
                next: event,
                evaluated,
            } = record
            {
                ports.quiet = quiet;
                ports.evaluated += evaluated;
                next = event;
            } else {
                self.take_record(index, ports, record)
                    .map_err(|(cycle, message)| Fault { cycle, message })?;
            }
        }
        if ports.fuzz.watches() {
            let count = ports.link_flits.len() + 2 * TREE_PORTS;
            for (port, word) in ports.fuzz.pass(sent, start..end, count) {
                self.send(index, ports, port, word);
            }
        }
        Ok(next)
    }

    /// Handles what came out of a node's model.
    fn take_record(
        &self,
        index: usize,
        ports: &mut Ports,
        record: Out,
    ) -> Result<(), (u64, String)> {
        match record {
            Out::Link { port, word } => self.send(index, ports, port.into(), word),
            Out::ReadAddr {
                cycle,
                master,
                addr,
                fields,
            } => {
                let address =
                    Address::decode(master, addr, fields).map_err(|text| (cycle, text))?;
                let (sampled, burst) = ports.axi.read(cycle, address);
                ports.plan(self.cycle_ps, sampled, Event::MemoryRead(burst));
            }
            Out::WriteAddr {
                cycle,
                master,
                addr,
                fields,
            } => {
                let address =
                    Address::decode(master, addr, fields).map_err(|text| (cycle, text))?;
                let burst = ports.axi.write_address(cycle, address);
                self.take_write(index, ports, cycle, burst)?;
            }
            Out::WriteData {
                cycle,
                master,
                beat,
            } => {
                let burst = ports.axi.write_data(cycle, master, beat);
                self.take_write(index, ports, cycle, burst)?;
            }
            Out::RegisterResp {
                cycle,
                port,
                resp,
                data,
            } if ports.fuzz.answers.is_some() => {
                if let Some(answers) = &mut ports.fuzz.answers {
                    answers.push(RegisterAnswer {
                        node: index,
                        port,
                        cycle,
                        refused: resp != 0,
                        data,
                    });
                }
            }
            Out::RegisterResp {
                cycle,
                port: 0,
                resp,
                data,
            } => {
                let cycle = cycle + self.reg_latency;
                ports.next_event = ports.next_event.min(cycle);
                ports.planned.push(Planned::Response { cycle, resp, data });
            }
            // The debug port is read when the machine has stopped only.
            Out::RegisterResp { .. } => {}
            Out::Levels { cycle, levels } => {
                if ports.fuzz.watches() {
                    ports.fuzz.levels.push((cycle, levels));
                }
                let seen = cycle + self.wake_latency;
                ports.plan(self.cycle_ps, seen, Event::Levels(levels));
            }
            Out::Packet { tail_cycle, .. } => {
                return Err((tail_cycle, "raw packet from a node".to_owned()));
            }
            Out::End { .. } => {}
        }
        Ok(())
    }

    /// Puts a word on a link.
    fn send(&self, index: usize, ports: &mut Ports, port: usize, mut word: LinkWord) {
        if word.is_flit() {
            if !ports.faults.is_empty() {
                ports.disturb(port, &mut word);
            }
            let torus = ports.link_flits.len();
            if port < torus {
                ports.link_flits[port] += 1;
            } else if port < torus + TREE_PORTS {
                ports.tree_flits[port - torus] += 1;
            }
            ports
                .digest
                .link_flit(word.cycle, port, word.word, &word.data);
            ports.progress = true;
        }
        if let Some(transfers) = &mut ports.transfers {
            transfers.push(LinkTransfer {
                cycle: word.cycle,
                node: index,
                port,
                word: word.word,
                dbg: word.dbg,
                data: word.data,
            });
        }
        ports.sent.push((port, word));
    }

    fn take_write(
        &self,
        index: usize,
        ports: &mut Ports,
        cycle: u64,
        burst: Result<Option<Box<WriteBurst>>, String>,
    ) -> Result<(), (u64, String)> {
        let Some(burst) = burst.map_err(|text| (cycle, text))? else {
            return Ok(());
        };
        for (beat, number) in burst.beats.iter().zip(0..) {
            let line = burst.address.beat_line(number);
            ports
                .digest
                .memory_write(cycle, line, &beat.data, beat.strobe);
            if let Some(writes) = &mut ports.fuzz.writes {
                writes.push(MemoryWrite {
                    cycle,
                    node: index,
                    line,
                    data: beat.data,
                    strobe: beat.strobe,
                });
            }
        }
        ports.progress = true;
        ports.plan(self.cycle_ps, burst.due, Event::MemoryWrite(burst));
        Ok(())
    }
}

impl Ports {
    fn plan(&mut self, cycle_ps: u64, cycle: u64, event: Event) {
        self.next_event = self.next_event.min(cycle);
        self.planned.push(Planned::Event(cycle * cycle_ps, event));
    }

    /// Applies a fault that waits for this flit.
    fn disturb(&mut self, port: usize, word: &mut LinkWord) {
        let hit = self
            .faults
            .iter()
            .position(|fault| fault.port == port && fault.from_cycle <= word.cycle);
        if let Some(hit) = hit {
            let fault = self.faults.swap_remove(hit);
            word.word ^= fault.word;
            for i in 0..FLIT_WORDS {
                word.data[i] ^= fault.data[i];
            }
        }
    }
}
