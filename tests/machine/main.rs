// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver and its collectives on the Verilated machine.

mod affinity;
mod clients;
mod collectives;
mod communicators;
mod conformance;
mod fence_memory;
mod flows;
mod node_leaders;
mod path_ack;
mod point_to_point;
mod refused_packets;
mod tree_collectives;
mod tree_disagreement;
