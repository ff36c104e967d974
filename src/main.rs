//! The command `gyre`.

use std::alloc::System;
use std::process::ExitCode;

use gyre_cli::bench::COUNTING;
use stats_alloc::StatsAlloc;

/// Counts what is allocated, for the benches that measure memory.
#[global_allocator]
static HEAP: &StatsAlloc<System> = COUNTING;

fn main() -> ExitCode {
    gyre_cli::cli::main()
}
