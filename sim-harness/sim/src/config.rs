// SPDX-License-Identifier: MIT OR Apache-2.0
//! Configuration of a machine, and its checks.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, check_range};
use crate::model_kind::{ModelKind, Optimisation, model_dims};
use crate::node_config::NodeConfig;
use crate::recorder::Recorder;
use crate::topology::{MAX_DIMS, Topology};

/// Cycles that no window and no single `run` step crosses a multiple of; runs that end "when done"
/// end on one, so that the end does not depend on the window length.
pub(crate) const EPOCH: u64 = 64;

/// Picoseconds after which no machine runs on: what is added to a time before it is looked at fits 64 bits still.
pub(crate) const MOST_PS: u64 = 3 << 62;

/// Cycles after which no machine runs on: more do not fit the records of links.
const MOST_CYCLES: u64 = 1 << 56;

/// Nodes of the largest machine.
pub const MAX_NODES: usize = 4096;

/// Behaviour of the memory behind a node's AXI masters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryConfig {
    /// Cycles from the acceptance of a read address to its first data beat; at least 2. Memory is
    /// sampled half way.
    pub read_latency: u64,
    /// Cycles from the acceptance of a burst's last write beat to its response; at least 1. The data
    /// becomes visible, to software and to reads, at the response.
    pub write_latency: u64,
    /// Whether bursts of different AXI ids may overtake each other. Bursts of one id never do.
    pub reorder: bool,
    /// Most cycles that are added to the latency of a burst, by seed.
    pub jitter: u64,
    /// Percentage of cycles, by seed, in which an address or write data channel is not ready; 0..=90.
    pub stall_percent: u8,
    /// Seed of the jitter and the stalls.
    pub seed: u64,
    /// Byte ranges that answer with a slave error, on every node.
    pub error_ranges: Vec<Range<u64>>,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            read_latency: 40,
            write_latency: 20,
            reorder: false,
            jitter: 0,
            stall_percent: 0,
            seed: 1,
            error_ranges: Vec::new(),
        }
    }
}

/// A machine. `MachineConfig { dims: vec![4, 4, 4], ..Default::default() }` is the reference machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MachineConfig {
    /// Nodes in each dimension, 1 to 5 dimensions of 1 to 64.
    pub dims: Vec<u16>,
    /// Dimensions that are lines, without a wrap link; missing ones are rings.
    pub mesh: Vec<bool>,
    /// Dimensions that fixed routes take first, by number from 0, each once; the others follow, ascending.
    pub dimension_order: Vec<u8>,
    /// Cycles from the register that drives a link to the register at its other end; 1..=60, which the handshake
    /// of the RTL covers.
    pub link_latency: u64,
    /// Memory of each node.
    pub memory: MemoryConfig,
    /// Micro-architecture of each node.
    #[serde(skip)]
    pub node: NodeConfig,
    /// Cycles from software to a node's register port, and as many back; 1..=64.
    pub reg_latency: u64,
    /// Cycles from a change of an interrupt or wake-up output to software; 1..=64.
    pub wake_latency: u64,
    /// Picoseconds of a node cycle.
    pub cycle_ps: u64,
    /// Picoseconds of a processor cycle.
    pub cpu_ps: u64,
    /// Fast, or able to write waveforms.
    pub model: ModelKind,
    /// Nodes that are able to write waveforms where `model` is, by number; the others are fast. None for all. Results do
    /// not depend on it.
    #[serde(skip)]
    pub traced_nodes: Option<BTreeSet<usize>>,
    /// Seed of what registers and memories without a reset hold at the start; none gives zeros.
    pub noise: Option<u32>,
    /// Cycles without progress after which the run stops with a report; 0 never stops.
    pub watchdog: u64,
    /// Whether quiet nodes are left out of evaluation. Results do not depend on it.
    pub skip_idle: bool,
    /// Cycles a node runs at a time; none takes the longest that is exact. Results do not depend on it.
    pub window: Option<u64>,
    /// Threads that run the hardware, 1 to 256; a machine that can write waveforms uses one. Results do not depend on
    /// it, so it is no part of a machine's description.
    #[serde(skip)]
    pub threads: usize,
    /// How much the models are optimised; none takes a full one if it is compiled already, else a quick one. Results do
    /// not depend on it.
    #[serde(skip)]
    pub optimisation: Option<Optimisation>,
    /// Tree of RTL that the models are compiled from, in the place of the checkout's `rtl/`.
    #[serde(skip)]
    pub rtl: Option<PathBuf>,
    /// Where the machine's events go; without one, none are recorded. No result depends on it.
    #[serde(skip)]
    pub recorder: Option<Recorder>,
}

impl Default for MachineConfig {
    fn default() -> Self {
        Self {
            dims: vec![2, 2, 2],
            mesh: Vec::new(),
            dimension_order: Vec::new(),
            link_latency: 4,
            memory: MemoryConfig::default(),
            node: NodeConfig::default(),
            reg_latency: 8,
            wake_latency: 8,
            cycle_ps: 2000,
            cpu_ps: 625,
            model: ModelKind::Fast,
            traced_nodes: None,
            noise: None,
            watchdog: 2_000_000,
            skip_idle: true,
            window: None,
            threads: 1,
            optimisation: None,
            rtl: None,
            recorder: None,
        }
    }
}

impl MachineConfig {
    /// Checks every field. Errors name the field, its value and what was expected.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.dims.is_empty() || self.dims.len() > MAX_DIMS {
            let expected = format!("1 to {MAX_DIMS} dimensions");
            return Err(ConfigError::new(
                "dims",
                format!("{:?}", self.dims),
                expected,
            ));
        }
        for (index, &size) in self.dims.iter().enumerate() {
            check_range(&format!("dims[{index}]"), size.into(), 1..=64)?;
        }
        let nodes: usize = self.dims.iter().map(|&size| usize::from(size)).product();
        if nodes > MAX_NODES {
            let expected = format!("at most {MAX_NODES} nodes");
            return Err(ConfigError::new(
                "dims",
                format!("{:?}", self.dims),
                expected,
            ));
        }
        if self.mesh.len() > self.dims.len() {
            let expected = format!("at most {} entries, as dims", self.dims.len());
            return Err(ConfigError::new(
                "mesh",
                format!("{:?}", self.mesh),
                expected,
            ));
        }
        let order = &self.dimension_order;
        let once =
            |(at, d): (usize, &u8)| usize::from(*d) < self.dims.len() && !order[..at].contains(d);
        if !order.iter().enumerate().all(once) {
            let expected = format!("dimensions from 0 to {}, each once", self.dims.len() - 1);
            return Err(ConfigError::new(
                "dimension_order",
                format!("{order:?}"),
                expected,
            ));
        }
        check_range("link_latency", self.link_latency, 1..=60)?;
        check_range("reg_latency", self.reg_latency, 1..=64)?;
        check_range("wake_latency", self.wake_latency, 1..=64)?;
        check_range("cycle_ps", self.cycle_ps, 2..=1_000_000)?;
        check_range("cpu_ps", self.cpu_ps, 1..=1_000_000)?;
        let memory = &self.memory;
        check_range("memory.read_latency", memory.read_latency, 2..=100_000)?;
        check_range("memory.write_latency", memory.write_latency, 1..=100_000)?;
        check_range("memory.jitter", memory.jitter, 0..=100_000)?;
        check_range("memory.stall_percent", memory.stall_percent.into(), 0..=90)?;
        for (index, range) in memory.error_ranges.iter().enumerate() {
            if range.is_empty() {
                return Err(ConfigError::new(
                    &format!("memory.error_ranges[{index}]"),
                    format!("{range:?}"),
                    "a range that is not empty",
                ));
            }
        }
        self.node.validate(model_dims(self.dims.len()))?;
        check_range("threads", self.threads as u64, 1..=256)?;
        if let Some(window) = self.window {
            check_range("window", window, 1..=self.exact_window())?;
        }
        Ok(())
    }

    /// Kind of a node's model.
    pub(crate) fn model_of(&self, node: usize) -> ModelKind {
        match &self.traced_nodes {
            Some(nodes) if self.model == ModelKind::Traced && !nodes.contains(&node) => {
                ModelKind::Fast
            }
            _ => self.model,
        }
    }

    /// The longest window in which no node's outputs can reach anything that its inputs depend on.
    fn exact_window(&self) -> u64 {
        [
            self.link_latency,
            self.memory.read_latency / 2,
            self.memory.write_latency,
            self.reg_latency,
            self.wake_latency,
        ]
        .into_iter()
        .fold(EPOCH, u64::min)
    }

    /// The cycle in which the machine's time ends.
    pub(crate) fn last_cycle(&self) -> u64 {
        (MOST_PS / self.cycle_ps).min(MOST_CYCLES)
    }

    /// Cycles that a node runs at a time.
    pub(crate) fn window_cycles(&self) -> u64 {
        self.window.unwrap_or_else(|| self.exact_window())
    }

    /// The machine's shape and wiring.
    pub fn topology(&self) -> Result<Topology, ConfigError> {
        self.validate()?;
        Ok(Topology::new(&self.dims, &self.mesh).with_dimension_order(&self.dimension_order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(change: impl FnOnce(&mut MachineConfig)) -> String {
        let mut config = MachineConfig::default();
        change(&mut config);
        config.validate().expect_err("refused").to_string()
    }

    #[test]
    fn reference_machine_is_accepted_with_the_link_as_window() {
        let config = MachineConfig::default();
        config.validate().expect("valid");
        assert_eq!(config.window_cycles(), 4);
    }

    #[test]
    fn errors_name_field_value_and_expectation() {
        assert_eq!(
            error(|c| c.dims = vec![4, 65]),
            "dims[1] = 65: expected 1 to 64"
        );
        assert_eq!(
            error(|c| c.dims = vec![]),
            "dims = []: expected 1 to 5 dimensions"
        );
        assert_eq!(
            error(|c| c.dims = vec![64, 64, 64]),
            "dims = [64, 64, 64]: expected at most 4096 nodes"
        );
        assert_eq!(
            error(|c| c.link_latency = 0),
            "link_latency = 0: expected 1 to 60"
        );
        assert_eq!(error(|c| c.window = Some(5)), "window = 5: expected 1 to 4");
        assert_eq!(
            error(|c| c.memory.read_latency = 1),
            "memory.read_latency = 1: expected 2 to 100000"
        );
        assert_eq!(
            error(|c| c.mesh = vec![true; 4]),
            "mesh = [true, true, true, true]: expected at most 3 entries, as dims"
        );
        assert_eq!(
            error(|c| c.dimension_order = vec![1, 0, 1]),
            "dimension_order = [1, 0, 1]: expected dimensions from 0 to 2, each once"
        );
    }
}
