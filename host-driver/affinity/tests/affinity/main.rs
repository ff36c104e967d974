// SPDX-License-Identifier: MIT OR Apache-2.0
//! Affinity of software threads: domains and their trees, and the hardware threads of real machines.

mod domains;
mod host;
