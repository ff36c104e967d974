// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulated machine: Verilated nodes, links, memory, clock and software tasks.
//!
//! [`Machine`] holds one Verilated model of `rtl/node/gyre_node.sv` a node. Nodes are wired by links
//! with a latency of at least a cycle, so each may run a window of cycles on its own; quiet nodes are
//! left out, and time is jumped over when all are. Software is blocking code in coroutines on the same
//! clock ([`Cpu`]). Results do not depend on window, skipping, waveforms or threads.
//!
//! [`RouterMachine`] holds `rtl/router/gyre_network.sv` alone, for raw traffic.

/// The name that other crates know; `tests/common` is compiled in one of them, too.
#[cfg(test)]
extern crate self as gyre_sim;

mod axi;
mod axi_memory;
mod config;
mod crew;
mod disturbances;
mod error;
mod ffi;
mod hardware;
mod hash;
mod link_crc;
mod links;
mod machine;
mod memory;
mod model_kind;
mod models;
mod node_config;
mod node_recorder;
mod probe;
mod progress;
mod readable_time;
mod record;
mod recorded;
mod recorder;
mod report;
mod router_machine;
mod software;
mod stall;
#[cfg(test)]
mod tests;
mod topology;
mod trace;

pub use config::{MAX_NODES, MachineConfig, MemoryConfig};
pub use disturbances::{AxiChannels, FlipTime, Forgery, LinkFault, WireFlip};
pub use error::{ActorError, BusError, ConfigError, SimError};
pub use gyre_verilate::Progress as BuildProgress;
pub use hardware::{LINK_CHANNELS, LinkBook};
pub use link_crc::{crc_difference, crc_fold};
pub use machine::Machine;
pub use memory::OutsideMemory;
pub use model_kind::{ModelKind, Optimisation};
pub use models::{
    BuildReporter, ModelUse, RoutingDecision, RoutingFunctions, RoutingQuery, model_use,
    report_builds, rtl_digest,
};
pub use node_config::{Arbiter, NodeConfig};
pub use readable_time::ReadableTime;
pub use recorded::{
    LinkTransfer, MemoryWrite, NodeInput, NodeOutput, RegisterAnswer, RegisterWrite,
};
pub use recorder::Recorder;
pub use report::{RunReport, Until};
pub use router_machine::{Delivery, RawPacket, RouterMachine, RouterReport, Traffic};
pub use software::{ActorId, Cpu, Lock, LogEntry, Notify, WakeReason};
pub use stall::{StallReport, StalledActor, StalledNode};
pub use topology::{MAX_DIMS, TREE_PORTS, Topology};
pub use trace::TraceConfig;
