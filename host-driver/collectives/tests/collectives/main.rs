// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives on the test double.

mod agreement;
mod choice;
mod config;
mod disagreement;
mod host_threads;
mod operations;
mod plain_data;
mod requests;
mod shared_memory;
mod user_operations;
mod world;
