// SPDX-License-Identifier: MIT OR Apache-2.0
//! GOAL programs as text, their execution order, payload and reference run.

mod cuts;
mod exec;
mod malformed;
mod payload;
mod reference;
mod round_trip;
mod workloads;
