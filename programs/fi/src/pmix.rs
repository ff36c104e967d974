// SPDX-License-Identifier: MIT OR Apache-2.0
//! Start-up of Open MPI: the functions of PMIx by which it learns the number of a process, exchanges the first values and waits for
//! all tasks, on the start-up protocol of `gyre exec` (PMI-1).
//!
//! Open MPI's own PMIx library needs a server. This library is loaded before it, so its calls come here.
//! Other functions are left to that library, which refuses them because it has no server.
//!
//! Programs see each task as alone on its node, so every message goes over the network.

mod abi;
mod client;
mod functions;
mod piece;
mod server;
mod value;

#[cfg(test)]
mod tests;
