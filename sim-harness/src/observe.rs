//! Back doors of a machine for tests and debugging: looks, lists and disturbances that take no time.

use std::ops::Range;
use std::path::PathBuf;

use crate::actor::LogEntry;
use crate::config::{ConfigError, ModelKind};
use crate::error::SimError;
use crate::event::Event;
use crate::ffi;
use crate::hardware::Ports;
use crate::machine::{Machine, hardware_error};
use crate::models::ModelSpec;
use crate::trace::{Trace, TraceConfig};

/// A flit or a change of the control word on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkTransfer {
    /// Cycle of the sender's output register.
    pub cycle: u64,
    /// Sending node.
    pub node: usize,
    /// Sending port: torus, tree (parent, child 0, child 1), barrier wires of these three.
    pub port: usize,
    /// Control word, `link_word_t` of the RTL package. Of barrier wires its `valid` alone: with any pulse.
    pub word: u32,
    /// Debug side-band: message id.
    pub dbg: u32,
    /// Data, zero without a flit. Of barrier wires one bit a barrier route.
    pub data: [u64; 2],
}

/// What the memory and the register ports of a node were fed with before a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInput {
    /// Cycle.
    pub cycle: u64,
    /// Node.
    pub node: usize,
    /// Records as in `cpp/records.h`, without those of the links.
    pub words: Vec<u64>,
}

/// What a node put out in a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOutput {
    /// First cycle of the window.
    pub cycle: u64,
    /// Node.
    pub node: usize,
    /// Records as in `cpp/records.h`.
    pub words: Vec<u64>,
}

/// A disturbance of a link, for tests of its checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFault {
    /// Sending node.
    pub node: usize,
    /// Sending port, as in [`LinkTransfer`].
    pub port: usize,
    /// The first flit sent in this cycle or later is disturbed.
    pub from_cycle: u64,
    /// Bits of the control word that flip.
    pub word: u32,
    /// Bits of the data that flip.
    pub data: [u64; 2],
}

/// Memory channels of an AXI master that can be held not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxiChannels {
    /// Read addresses.
    ReadAddress,
    /// Write addresses.
    WriteAddress,
    /// Write data.
    WriteData,
    /// All three.
    All,
}

impl AxiChannels {
    fn mask(self) -> u8 {
        match self {
            AxiChannels::ReadAddress => 1,
            AxiChannels::WriteAddress => 2,
            AxiChannels::WriteData => 4,
            AxiChannels::All => 7,
        }
    }
}

impl Machine {
    /// How often each line and branch of the RTL was run, of all nodes together, in an order that is the model's own; nothing
    /// unless the machine is made of [`ModelKind::Covered`]. A machine of 1 to 3 dimensions has one model, of more another.
    pub fn rtl_coverage(&self) -> Vec<u64> {
        let mut sum = Vec::new();
        for node in 0..self.hardware.len() {
            let node = self.hardware.node(node);
            let counts = ffi::node_coverage(&node.model);
            sum.resize(counts.len(), 0);
            for (sum, &count) in sum.iter_mut().zip(counts) {
                *sum += u64::from(count);
            }
        }
        sum
    }

    /// Dimensions of the model that it is made of: one of 3 serves machines of fewer.
    pub fn model_dims(&self) -> usize {
        ModelSpec::model_dims(self.config.dims.len())
    }

    /// Reads a node's memory, at no time.
    pub fn peek(&self, node: usize, addr: u64, out: &mut [u8]) {
        self.shared.nodes[node].borrow().memory.read(addr, out);
    }

    /// Writes a node's memory, at no time.
    pub fn poke(&mut self, node: usize, addr: u64, data: &[u8]) {
        self.shared.nodes[node]
            .borrow_mut()
            .memory
            .write(addr, data);
    }

    /// Makes a node's memory answer accesses of the DMA engine to a byte range with a slave error.
    pub fn fail_memory(&mut self, node: usize, range: Range<u64>) {
        self.shared.nodes[node]
            .borrow_mut()
            .memory
            .add_error_range(range);
    }

    /// Makes all of a node's memory answer again.
    pub fn repair_memory(&mut self, node: usize) {
        self.shared.nodes[node]
            .borrow_mut()
            .memory
            .clear_error_ranges();
    }

    /// Disturbs one flit of a link.
    pub fn disturb_link(&mut self, fault: LinkFault) {
        self.hardware.node(fault.node).ports.faults.push(fault);
    }

    /// Resets one node, now, for 4 cycles. Its memory stays, its accesses under way are dropped, and
    /// register accesses of software that were not answered fail.
    pub fn reset_node(&mut self, node: usize) -> Result<(), SimError> {
        let cycle = self.cycle;
        {
            let mut hard = self.hardware.node(node);
            let reset = hard.model.pin_mut().reset(cycle);
            reset.map_err(|error| hardware_error(node, cycle, &error))?;
            hard.ports.axi.reset();
            hard.ports.input.clear();
        }
        self.hardware.look_at(node, cycle);
        let cut = self.shared.nodes[node].borrow_mut().regs.reset();
        let now = cycle * self.config.cycle_ps;
        for response in cut {
            self.plan(node, now, Event::RegisterResponse(response));
        }
        Ok(())
    }

    /// Holds memory channels of a node's AXI master not ready for some cycles from now on.
    pub fn stall_axi(&mut self, node: usize, master: u8, channels: AxiChannels, cycles: u64) {
        let until = self.cycle + cycles;
        let ports = &mut self.hardware.node(node).ports;
        ports.input.stall(master, channels.mask(), until);
        self.hardware.look_at(node, self.cycle);
    }

    /// Keeps a list of all link transfers from now on; see [`Machine::take_transfers`].
    pub fn record_transfers(&mut self) {
        self.keep(|ports| &mut ports.transfers);
    }

    /// The link transfers since the last call, in order of cycle, node and port.
    pub fn take_transfers(&mut self) -> Vec<LinkTransfer> {
        let mut transfers = self.take(|ports| &mut ports.transfers);
        transfers.sort();
        transfers
    }

    /// Keeps a list of what is fed to the nodes from now on, to replay it; see
    /// [`Machine::take_inputs`].
    pub fn record_inputs(&mut self) {
        self.keep(|ports| &mut ports.inputs);
    }

    /// What the nodes were fed with since the last call, in order of cycle and node.
    pub fn take_inputs(&mut self) -> Vec<NodeInput> {
        let mut inputs = self.take(|ports| &mut ports.inputs);
        inputs.sort_by_key(|input| (input.cycle, input.node));
        inputs
    }

    /// Keeps a list of what the nodes put out from now on; see [`Machine::take_outputs`].
    pub fn record_outputs(&mut self) {
        self.keep(|ports| &mut ports.outputs);
    }

    /// What the nodes put out since the last call, in order of cycle and node.
    pub fn take_outputs(&mut self) -> Vec<NodeOutput> {
        let mut outputs = self.take(|ports| &mut ports.outputs);
        outputs.sort_by_key(|output| (output.cycle, output.node));
        outputs
    }

    /// Has every node keep a list.
    fn keep<T>(&mut self, list: impl Fn(&mut Ports) -> &mut Option<Vec<T>>) {
        for node in 0..self.hardware.len() {
            list(&mut self.hardware.node(node).ports).get_or_insert_default();
        }
    }

    /// The entries of all nodes' lists, which are empty then.
    fn take<T>(&mut self, list: impl Fn(&mut Ports) -> &mut Option<Vec<T>>) -> Vec<T> {
        let mut all = Vec::new();
        for node in 0..self.hardware.len() {
            if let Some(list) = list(&mut self.hardware.node(node).ports) {
                all.append(list);
            }
        }
        all
    }

    /// Keeps a log of what software notes about messages; see [`Cpu::log_message`].
    pub fn keep_log(&mut self) {
        self.shared.log.borrow_mut().get_or_insert_default();
    }

    /// The log since the last call, in order of time and node.
    pub fn take_log(&mut self) -> Vec<LogEntry> {
        let mut log = self
            .shared
            .log
            .borrow_mut()
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default();
        log.sort_by_key(|entry| (entry.ps, entry.node));
        log
    }

    // ---- waveforms --------------------------------------------------------------------------

    /// Writes a waveform. The machine must be made of traced models. Timing does not change.
    pub fn trace(&mut self, config: TraceConfig) -> Result<(), SimError> {
        if self.config.model != ModelKind::Traced {
            return Err(ConfigError::new("model", "fast", "traced, to write waveforms").into());
        }
        self.finish_trace()?;
        config.check_scopes(&self.config)?;
        let context = self.context.clone();
        self.trace = Some(Trace::new(config, context, self.hardware.len())?);
        Ok(())
    }

    /// Ends the waveform before its window does. Returns the file, if anything was written.
    pub fn finish_trace(&mut self) -> Result<Option<PathBuf>, SimError> {
        self.trace.as_mut().map_or(Ok(None), Trace::finish)
    }
}
