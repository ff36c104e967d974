// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hardware's side of the nodes: models with what surrounds them, run a window at a time by any thread.

mod flips;
mod forgeries;
mod link_book;
mod link_tap;
mod ports;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use cxx::UniquePtr;

pub use link_book::{LINK_CHANNELS, LinkBook};
pub(crate) use ports::{Fault, Planned, Ports};

use crate::config::MachineConfig;
use crate::ffi;
use crate::record::{Out, OutReader};
use crate::recorded::{NodeInput, NodeOutput};
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

/// One node.
pub(crate) struct HardNode {
    pub(crate) model: UniquePtr<ffi::SimNode>,
    pub(crate) ports: Ports,
}

/// All nodes.
pub(crate) struct Hardware {
    nodes: Vec<Mutex<HardNode>>,
    /// Cycle in which each node must be looked at again, arrivals on links aside.
    next: Vec<AtomicU64>,
}

impl HardNode {
    pub(crate) fn new(node: usize, model: UniquePtr<ffi::SimNode>, config: &MachineConfig) -> Self {
        let torus = model.ports() as usize - TREE_PORTS;
        let ports = Ports::new(node, torus, model.masters() as usize, config);
        Self { model, ports }
    }

    /// Runs the model for a window. Gives the cycle of the next event inside it.
    fn run(&mut self, node: usize, window: Window) -> Result<u64, Fault> {
        let Self { model, ports } = self;
        let Window { start, end, skip } = window;
        ports.arrivals.extend_from_slice(ports.input.words());
        if let Some(inputs) = &mut ports.inputs
            && !ports.input.words().is_empty()
        {
            inputs.push(NodeInput {
                cycle: start,
                node,
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
                node,
                words: words.to_vec(),
            });
        }
        let mut next_event = u64::MAX;
        let tapped = ports.tap.watches();
        let mut sent = Vec::new();
        for record in OutReader::new(words, start) {
            match record {
                Out::Link { port, word } if tapped => {
                    sent.push((port.into(), word));
                    continue;
                }
                Out::End { next, .. } => next_event = next,
                _ => {}
            }
            ports.take(record)?;
        }
        if tapped {
            let count = ports.count();
            for (port, word) in ports.tap.pass(sent, start..end, count) {
                ports.send(port, word);
            }
        }
        Ok(next_event)
    }
}

impl Hardware {
    pub(crate) fn new(nodes: Vec<HardNode>) -> Self {
        Self {
            next: nodes.iter().map(|_| AtomicU64::new(0)).collect(),
            nodes: nodes.into_iter().map(Mutex::new).collect(),
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
        let mut node = self.node(index);
        match node.run(index, window) {
            Ok(next) => {
                let ports = &node.ports;
                let flip = ports.tap.next_cycle(window.end);
                self.look_at(index, next.min(ports.next_event).min(flip).max(window.end));
            }
            Err(fault) => node.ports.failed = Some(fault),
        }
    }
}
