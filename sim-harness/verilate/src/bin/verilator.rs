// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the Verilator that the project uses with the arguments given.

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let status = gyre_verilate::locate()
        .map_err(|error| error.to_string())
        .and_then(|tools| {
            tools
                .command()
                .args(env::args_os().skip(1))
                .status()
                .map_err(|error| format!("{}: {error}", tools.verilator.display()))
        });
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}
