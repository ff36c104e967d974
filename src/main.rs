//! The command line `gyre`.

use std::process::ExitCode;

fn main() -> ExitCode {
    eprintln!("gyre: no command is available in this build");
    ExitCode::from(2)
}
