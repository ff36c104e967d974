// SPDX-License-Identifier: MIT OR Apache-2.0
//! Observation without simulated time: memory, lists of hardware activity, log of software, waveforms.

use std::path::PathBuf;

use super::Machine;
use crate::disturbances::WireFlip;
use crate::error::SimError;
use crate::ffi;
use crate::hardware::{LinkBook, Ports};
use crate::model_kind::{ModelKind, model_dims};
use crate::models::{ModelSpec, Top};
use crate::recorded::{LinkTransfer, MemoryWrite, NodeInput, NodeOutput, RegisterAnswer};
use crate::software::LogEntry;
use crate::trace::{Trace, TraceConfig};

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
        model_dims(self.config.dims.len())
    }

    /// Reads a node's memory, at no time.
    pub fn peek(&self, node: usize, addr: u64, out: &mut [u8]) {
        self.software.node(node).memory.read(addr, out);
    }

    /// Whether a node's hardware says that nothing will change without input.
    pub fn is_quiet(&self, node: usize) -> bool {
        let ports = &self.hardware.node(node).ports;
        ports.quiet && ports.axi.reads_open + ports.axi.writes_open == 0
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

    /// Inputs of the nodes since the last call, in order of cycle and node.
    pub fn take_inputs(&mut self) -> Vec<NodeInput> {
        let mut inputs = self.take(|ports| &mut ports.inputs);
        inputs.sort_by_key(|input| (input.cycle, input.node));
        inputs
    }

    /// Keeps a list of what the nodes put out from now on; see [`Machine::take_outputs`].
    pub fn record_outputs(&mut self) {
        self.keep(|ports| &mut ports.outputs);
    }

    /// Outputs of the nodes since the last call, in order of cycle and node.
    pub fn take_outputs(&mut self) -> Vec<NodeOutput> {
        let mut outputs = self.take(|ports| &mut ports.outputs);
        outputs.sort_by_key(|output| (output.cycle, output.node));
        outputs
    }

    /// Answers, memory writes, changes of the interrupt and wake-up outputs and link books are kept from now on; register
    /// answers no longer reach software.
    pub fn watch(&mut self) {
        self.keep(|ports| &mut ports.answers);
        self.keep(|ports| &mut ports.writes);
        self.keep(|ports| &mut ports.levels);
        for node in 0..self.hardware.len() {
            let ports = &mut self.hardware.node(node).ports;
            ports.tap.watch(ports.count());
        }
    }

    /// The answers to [`Machine::access_register`] since the last call, by node, each node's in order.
    pub fn take_answers(&mut self) -> Vec<RegisterAnswer> {
        self.take(|ports| &mut ports.answers)
    }

    /// The memory writes since the last call, by node, each node's in order.
    pub fn take_writes(&mut self) -> Vec<MemoryWrite> {
        self.take(|ports| &mut ports.writes)
    }

    /// Changes of a node's interrupt and wake-up outputs since the last call: cycle, `irq << 16 | wake`. None unless
    /// [`Machine::watch`] was called.
    pub fn take_levels(&mut self, node: usize) -> Vec<(u64, u32)> {
        let levels = &mut self.hardware.node(node).ports.levels;
        levels.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Traffic that a port (torus, tree, barrier wires) of a node has sent; `None` unless [`Machine::watch`] was called.
    pub fn link_book(&self, node: usize, port: usize) -> Option<LinkBook> {
        self.hardware.node(node).ports.tap.book(port).cloned()
    }

    /// The flips that have happened since the last call, with their cycles.
    pub fn take_flips(&mut self) -> Vec<(u64, WireFlip)> {
        let nodes = 0..self.hardware.len();
        nodes
            .flat_map(|node| self.hardware.node(node).ports.tap.take_flips())
            .collect()
    }

    /// Keeps a log of what software notes about messages; see [`Cpu::log_message`](crate::Cpu::log_message).
    pub fn keep_log(&mut self) {
        self.software.keep_log();
    }

    /// The log since the last call, in order of time and node.
    pub fn take_log(&mut self) -> Vec<LogEntry> {
        self.software.take_log()
    }

    /// Writes a waveform of nodes that have traced models. Timing does not change.
    pub fn trace(&mut self, config: TraceConfig) -> Result<(), SimError> {
        self.finish_trace()?;
        let spec = ModelSpec::of(&self.config, Top::Node(ModelKind::Traced));
        self.trace = Some(Trace::new(config, &self.config, &spec, &self.context)?);
        Ok(())
    }

    /// Ends the waveform before its window does. Returns the file, if anything was written.
    pub fn finish_trace(&mut self) -> Result<Option<PathBuf>, SimError> {
        self.trace.as_mut().map_or(Ok(None), Trace::finish)
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
}
