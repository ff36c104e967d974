// SPDX-License-Identifier: MIT OR Apache-2.0
//! Surroundings of a node's model: memory port, inputs and outputs.

use super::link_tap::LinkTap;
use crate::axi::{Address, ReadBurst, WriteBurst};
use crate::axi_memory::AxiMemory;
use crate::config::MachineConfig;
use crate::disturbances::LinkFault;
use crate::hash::Digest;
use crate::memory::Memory;
use crate::node_recorder::NodeRecorder;
use crate::record::{InBuffer, LinkWord, Out};
use crate::recorded::{LinkTransfer, MemoryWrite, NodeInput, NodeOutput, RegisterAnswer};
use crate::topology::TREE_PORTS;

/// AXI's slave error.
const SLVERR: u8 = 2;

/// Effect of a node's hardware on its software or memory, with the cycle in which it happens there.
pub(crate) enum Planned {
    /// A write burst becomes visible and is answered.
    MemoryWrite { cycle: u64, burst: Box<WriteBurst> },
    /// A read burst samples memory.
    MemoryRead { cycle: u64, burst: ReadBurst },
    /// The oldest register access is answered.
    Response { cycle: u64, resp: u8, data: u64 },
    /// Interrupt and wake-up outputs change.
    Levels { cycle: u64, levels: u32 },
}

/// Failure of a node's hardware.
pub(crate) struct Fault {
    pub(crate) cycle: u64,
    pub(crate) message: String,
}

/// Surroundings of a node's model.
pub(crate) struct Ports {
    node: usize,
    reg_latency: u64,
    wake_latency: u64,
    pub(crate) axi: AxiMemory,
    pub(crate) digest: Digest,
    /// Words that arrive on links in the next run of the model, see [`crate::links::Links::receive`].
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
    /// Last cycle in which a flit was sent or memory written.
    pub(crate) progress: Option<u64>,
    /// The model and its surroundings are quiet.
    pub(crate) quiet: bool,
    /// Cycles evaluated.
    pub(crate) evaluated: u64,
    /// Cycle of the next software or memory event that is known.
    pub(crate) next_event: u64,
    pub(crate) tap: LinkTap,
    /// Recorder, if events are recorded.
    pub(crate) recorder: Option<Box<NodeRecorder>>,
    // Lists that are kept if somebody wants them.
    pub(crate) transfers: Option<Vec<LinkTransfer>>,
    pub(crate) inputs: Option<Vec<NodeInput>>,
    pub(crate) outputs: Option<Vec<NodeOutput>>,
    pub(crate) writes: Option<Vec<MemoryWrite>>,
    /// Register answers, which do not reach software then.
    pub(crate) answers: Option<Vec<RegisterAnswer>>,
    /// Changes of the interrupt and wake-up outputs: cycle, `irq << 16 | wake`.
    pub(crate) levels: Option<Vec<(u64, u32)>>,
}

impl Ports {
    /// Of a node with `torus` links of the torus and `masters` AXI masters.
    pub(super) fn new(node: usize, torus: usize, masters: usize, config: &MachineConfig) -> Self {
        Self {
            node,
            reg_latency: config.reg_latency,
            wake_latency: config.wake_latency,
            axi: AxiMemory::new(&config.memory, node, masters),
            digest: Digest::default(),
            arrivals: Vec::new(),
            input: InBuffer::default(),
            sent: Vec::new(),
            link_flits: vec![0; torus],
            tree_flits: [0; TREE_PORTS],
            faults: Vec::new(),
            planned: Vec::new(),
            failed: None,
            progress: None,
            quiet: false,
            evaluated: 0,
            next_event: 0,
            tap: LinkTap::default(),
            recorder: None,
            transfers: None,
            inputs: None,
            outputs: None,
            writes: None,
            answers: None,
            levels: None,
        }
    }

    /// Output ports of the node: torus, tree, barrier wires.
    pub(crate) fn count(&self) -> usize {
        self.link_flits.len() + 2 * TREE_PORTS
    }

    /// Handles what came out of the model.
    pub(super) fn take(&mut self, record: Out) -> Result<(), Fault> {
        match record {
            Out::Link { port, word } => self.send(port.into(), word),
            Out::ReadAddr {
                cycle,
                master,
                addr,
                fields,
            } => {
                let address = Address::decode(master, addr, fields).map_err(at(cycle))?;
                let (cycle, burst) = self.axi.read(cycle, address);
                self.plan(cycle, Planned::MemoryRead { cycle, burst });
            }
            Out::WriteAddr {
                cycle,
                master,
                addr,
                fields,
            } => {
                let address = Address::decode(master, addr, fields).map_err(at(cycle))?;
                let burst = self.axi.write_address(cycle, address);
                self.take_write(cycle, burst.map_err(at(cycle))?);
            }
            Out::WriteData {
                cycle,
                master,
                beat,
            } => {
                let burst = self.axi.write_data(cycle, master, beat);
                self.take_write(cycle, burst.map_err(at(cycle))?);
            }
            Out::RegisterResp {
                cycle,
                port,
                resp,
                data,
            } => self.take_answer(cycle, port, resp, data),
            Out::Levels { cycle, levels } => {
                if let Some(list) = &mut self.levels {
                    list.push((cycle, levels));
                }
                if let Some(recorder) = &mut self.recorder {
                    recorder.levels(cycle, levels);
                }
                let cycle = cycle + self.wake_latency;
                self.plan(cycle, Planned::Levels { cycle, levels });
            }
            Out::Packet { tail_cycle, .. } => {
                return Err(at(tail_cycle)("raw packet from a node".to_owned()));
            }
            Out::End {
                quiet, evaluated, ..
            } => {
                self.quiet = quiet;
                self.evaluated += evaluated;
            }
        }
        Ok(())
    }

    fn take_answer(&mut self, cycle: u64, port: u8, resp: u8, data: u64) {
        if let Some(answers) = &mut self.answers {
            answers.push(RegisterAnswer {
                node: self.node,
                port,
                cycle,
                refused: resp != 0,
                data,
            });
        } else if port == 0 {
            let cycle = cycle + self.reg_latency;
            self.plan(cycle, Planned::Response { cycle, resp, data });
        }
        // Otherwise the debug port: it is read when the machine has stopped only.
    }

    /// Takes a write burst that became complete in a cycle.
    fn take_write(&mut self, cycle: u64, burst: Option<Box<WriteBurst>>) {
        let Some(burst) = burst else {
            return;
        };
        for (beat, number) in burst.beats.iter().zip(0..) {
            let line = burst.address.beat_line(number);
            self.digest
                .memory_write(cycle, line, &beat.data, beat.strobe);
            if let Some(writes) = &mut self.writes {
                writes.push(MemoryWrite {
                    cycle,
                    node: self.node,
                    line,
                    data: beat.data,
                    strobe: beat.strobe,
                });
            }
        }
        self.progress = self.progress.max(Some(cycle));
        if let Some(recorder) = &mut self.recorder {
            recorder.write(cycle, &burst);
        }
        let cycle = burst.due;
        self.plan(cycle, Planned::MemoryWrite { cycle, burst });
    }

    fn plan(&mut self, cycle: u64, planned: Planned) {
        self.next_event = self.next_event.min(cycle);
        self.planned.push(planned);
    }

    /// Puts a word on a link.
    pub(super) fn send(&mut self, port: usize, mut word: LinkWord) {
        if word.is_flit() {
            if !self.faults.is_empty() {
                self.disturb(port, &mut word);
            }
            let torus = self.link_flits.len();
            if let Some(recorder) = &mut self.recorder
                && port < torus + TREE_PORTS
            {
                recorder.flit(port, &word);
            }
            if port < torus {
                self.link_flits[port] += 1;
            } else if port < torus + TREE_PORTS {
                self.tree_flits[port - torus] += 1;
            }
            self.digest
                .link_flit(word.cycle, port, word.word, &word.data);
            self.progress = self.progress.max(Some(word.cycle));
        }
        if let Some(transfers) = &mut self.transfers {
            transfers.push(LinkTransfer {
                cycle: word.cycle,
                node: self.node,
                port,
                word: word.word,
                dbg: word.dbg,
                data: word.data,
            });
        }
        self.sent.push((port, word));
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
            for (data, mask) in word.data.iter_mut().zip(fault.data) {
                *data ^= mask;
            }
        }
    }

    /// A write burst reaches memory, and its answer is under way.
    pub(crate) fn write_memory(&mut self, memory: &mut Memory, burst: &WriteBurst) {
        let mut resp = 0;
        for (beat, number) in burst.beats.iter().zip(0..) {
            let line = burst.address.beat_line(number);
            if memory.is_faulty(burst.address.beat_range(number))
                || !memory.write_line(line, &beat.data, beat.strobe)
            {
                resp = SLVERR;
            }
        }
        if burst.epoch == self.axi.epoch {
            self.axi.writes_open -= 1;
            let address = &burst.address;
            self.input
                .write_response(address.master, address.id, resp, burst.due);
        }
    }

    /// A read burst samples memory at a time, and its data is under way.
    pub(crate) fn read_memory(&mut self, memory: &Memory, burst: &ReadBurst, ps: u64) {
        if burst.epoch != self.axi.epoch {
            return;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.read(memory, burst, ps);
        }
        self.axi.reads_open -= 1;
        let address = &burst.address;
        let beats = (0..address.beats).map(|number| {
            let faulty = memory.is_faulty(address.beat_range(number));
            let (line, there) = memory.read_line(address.beat_line(number));
            let resp = if faulty || !there { SLVERR } else { 0 };
            (resp, line)
        });
        self.input.read_data(burst, beats);
    }
}

/// Fault of a cycle, with its reason.
fn at(cycle: u64) -> impl Fn(String) -> Fault {
    move |message| Fault { cycle, message }
}
