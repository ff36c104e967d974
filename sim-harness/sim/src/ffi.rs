// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bridge to the Verilated models, each in a shared library.

#[cxx::bridge(namespace = "gyre")]
mod bridge {
    unsafe extern "C++" {
        include!("gyre-sim/cpp/loader.h");

        type SimModel;
        type SimContext;
        type SimNode;
        type Routing;

        fn load_model(library: &str) -> Result<UniquePtr<SimModel>>;
        fn load_routing(library: &str) -> Result<UniquePtr<Routing>>;

        fn new_context(model: &SimModel, noise: bool, seed: u32) -> SharedPtr<SimContext>;
        fn open_trace(context: &SharedPtr<SimContext>, file: &str, scopes: &[String])
        -> Result<()>;
        fn dump_trace(context: &SharedPtr<SimContext>, cycle: u64, ps: u64) -> Result<()>;
        fn close_trace(context: &SharedPtr<SimContext>) -> Result<()>;

        fn new_node(
            model: &SimModel,
            context: &SharedPtr<SimContext>,
            name: &str,
            stall_seed: u64,
            stall_percent: u32,
        ) -> Result<UniquePtr<SimNode>>;
        fn new_router(
            model: &SimModel,
            context: &SharedPtr<SimContext>,
            name: &str,
            cfg: &[u64],
        ) -> Result<UniquePtr<SimNode>>;

        fn run_node<'a>(
            node: Pin<&'a mut SimNode>,
            start: u64,
            cycles: u32,
            skip: bool,
            input: &[u64],
        ) -> Result<&'a [u64]>;
        fn fall(self: Pin<&mut SimNode>) -> Result<()>;
        fn reset(self: Pin<&mut SimNode>, cycle: u64) -> Result<()>;
        fn cycle(self: &SimNode) -> u64;
        fn ports(self: &SimNode) -> u32;
        fn masters(self: &SimNode) -> u32;
        fn node_coverage(node: &SimNode) -> &[u32];

        fn decide(routing: &Routing, cfg: &[u64], head: u64, in_port: u32, in_vc: u32) -> Vec<u32>;
    }
}

pub(crate) use bridge::{
    Routing, SimContext, SimModel, SimNode, close_trace, decide, dump_trace, load_model,
    load_routing, new_context, new_node, new_router, node_coverage, open_trace, run_node,
};

// SAFETY: the entry of a library is a constant table of functions; they make new objects and keep no state.
unsafe impl Send for SimModel {}
// SAFETY: as above.
unsafe impl Sync for SimModel {}

// SAFETY: a model with its surroundings is memory of its own and a Verilator context. It keeps nothing in
// thread-local storage from one call to the next, and what Verilator has for all threads it guards itself. Nodes of a
// fast machine have a context each; the traced ones of a machine share one, and that machine runs on one thread.
unsafe impl Send for SimNode {}
