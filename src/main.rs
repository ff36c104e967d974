// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command `gyre`.

use std::process::ExitCode;
use std::{panic, thread};

/// Bytes of the command's stack, whatever the user's limit.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    let command = thread::Builder::new().stack_size(STACK);
    match command.spawn(gyre_cli::cli::main) {
        Ok(command) => command
            .join()
            .unwrap_or_else(|fault| panic::resume_unwind(fault)),
        Err(error) => {
            eprintln!("gyre: no thread with a stack of {STACK} bytes: {error}");
            ExitCode::from(1)
        }
    }
}
