// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task of the exchange as a process of its own.

#![forbid(unsafe_code)]

use std::process::{ExitCode, abort};
use std::thread;

use clap::Parser;
use gyre_driver::SameNode;
use gyre_process_tests::Exchange;

#[derive(Parser)]
struct Options {
    /// Number of the task.
    #[arg(long, overrides_with = "task")]
    task: u32,
    /// Coordinate of each task's node.
    #[arg(long, num_args = 2)]
    nodes: Vec<u8>,
    /// Messages between tasks of one node go through shared memory.
    #[arg(long)]
    shared_memory: bool,
    /// Die in this round.
    #[arg(long)]
    die_in: Option<usize>,
    /// Stop in this round, for good.
    #[arg(long)]
    hang_in: Option<usize>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let exchange = Exchange {
        task: options.task,
        nodes: [options.nodes[0], options.nodes[1]],
        same_node: if options.shared_memory {
            SameNode::SharedMemory
        } else {
            SameNode::Loopback
        },
    };
    let begin_round = |round| {
        if options.die_in == Some(round) {
            abort();
        }
        while options.hang_in == Some(round) {
            thread::park();
        }
    };
    let result = gyre_remote::run(|platform| {
        // With it the process knows its time without asking.
        platform.description().expect("a description");
        exchange.run(platform, begin_round)
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("task {}: {error}", options.task);
            ExitCode::FAILURE
        }
    }
}
