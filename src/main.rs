// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command `gyre`.

use std::process::ExitCode;

fn main() -> ExitCode {
    gyre_cli::cli::main()
}
