// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver on its test double.

mod absent;
mod checked;
mod communicators;
mod completion;
mod config;
mod context;
mod cost_table;
mod deferred;
mod destroy;
mod double;
mod failing_bus;
mod faults;
mod fence;
mod flows;
mod host_threads;
mod inbox;
mod messaging;
mod notes;
mod notified_puts;
mod path_ack;
mod progress;
mod protocols;
mod refused;
mod rest;
mod shared_memory;
