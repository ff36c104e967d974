//! The simulated machine: Verilated nodes, links, memory, clock and software tasks.
//!
//! [`Machine`] holds one Verilated model of `rtl/node/gyre_node.sv` a node. Nodes are wired by links
//! with a latency of at least a cycle, so each may run a window of cycles on its own; quiet nodes are
//! left out, and time is jumped over when all are. Software is blocking code in coroutines on the same
//! clock ([`Cpu`]). Results depend on none of: window, skipping, waveforms, threads.
//!
//! [`RouterMachine`] holds `rtl/router/gyre_network.sv` alone, for raw traffic.

mod actor;
mod axi;
mod config;
mod cpu;
mod crew;
mod error;
mod event;
mod ffi;
mod fuzzing;
mod hardware;
mod hash;
mod links;
mod machine;
mod memory;
mod models;
mod observe;
mod probe;
mod record;
mod recorded;
mod regbus;
mod report;
mod router_machine;
mod topology;
mod trace;
mod watchdog;

pub use actor::{ActorError, ActorId, LogEntry};
pub use config::{ConfigError, MAX_NODES, MachineConfig, MemoryConfig, ModelKind};
pub use cpu::{Cpu, Lock, Notify, WakeReason};
pub use error::SimError;
pub use fuzzing::{
    FlipTime, Forgery, LINK_CHANNELS, LinkBook, MemoryWrite, RegisterAnswer, WireFlip,
    crc_difference, crc_fold,
};
pub use gyre_verilate::Progress as BuildProgress;
pub use machine::Machine;
pub use models::{
    BuildReporter, ModelUse, Optimisation, RoutingDecision, RoutingFunctions, RoutingQuery,
    model_use, report_builds,
};
pub use observe::{AxiChannels, LinkFault, LinkTransfer, NodeInput, NodeOutput};
pub use recorded::RegisterWrite;
pub use regbus::BusError;
pub use report::{RunReport, Until};
pub use router_machine::{Delivery, RawPacket, RouterMachine, RouterReport, Traffic};
pub use topology::{MAX_DIMS, TREE_PORTS, Topology};
pub use trace::TraceConfig;
pub use watchdog::{StallReport, StalledActor, StalledNode};
