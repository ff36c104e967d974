//! The command `gyre`.

use std::process::ExitCode;

fn main() -> ExitCode {
    gyre_cli::cli::main()
}
