//! Start-up of Open MPI: the functions of PMIx by which it learns who a process is, exchanges the first values and waits for all
//! tasks, on the start-up protocol of `gyre exec` (PMI-1).
//!
//! Open MPI brings a library of PMIx that wants a server of its own. This library is loaded before it, so its calls come here.
//! Other functions are left to that library, which refuses them because it has no server.
//!
//! A task is alone on its node, as far as programs are told: then every message goes over the network.

mod abi;
mod client;
mod functions;
mod piece;
mod server;
mod value;

#[cfg(test)]
mod tests;
