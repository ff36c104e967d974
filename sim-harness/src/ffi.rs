//! The bridge to the Verilated models.

#[cxx::bridge(namespace = "gyre")]
mod bridge {
    unsafe extern "C++" {
        include!("gyre-sim/cpp/node.h");

        type SimContext;
        type SimNode;

        fn new_context(traced: bool, noise: bool, seed: u32) -> SharedPtr<SimContext>;
        fn open_trace(context: &SimContext, file: &str, scopes: &[String]) -> Result<()>;
        fn dump_trace(context: &SimContext, cycle: u64, ps: u64);
        fn close_trace(context: &SimContext);

        fn new_node(
            context: &SharedPtr<SimContext>,
            dims: u32,
            traced: bool,
            name: &str,
            stall_seed: u64,
            stall_percent: u32,
        ) -> Result<UniquePtr<SimNode>>;
        fn new_router(
            context: &SharedPtr<SimContext>,
            dims: u32,
            name: &str,
            cfg: &[u64],
        ) -> Result<UniquePtr<SimNode>>;

        fn run<'a>(
            self: Pin<&'a mut SimNode>,
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
    }
}

pub(crate) use bridge::{
    SimContext, SimNode, close_trace, dump_trace, new_context, new_node, new_router, open_trace,
};

// SAFETY: a model with its surroundings is memory of its own and a Verilator context. It keeps nothing in
// thread-local storage from one call to the next, and what Verilator has for all threads it guards itself. Nodes of a
// fast machine have a context each; those of a traced machine share one, and that machine runs on one thread.
unsafe impl Send for SimNode {}
