// SPDX-License-Identifier: MIT OR Apache-2.0
//! Standard output and standard error of a command.

use std::io::{self, Write};
use std::process::ExitCode;

/// Writes `gyre: ` and `what` to standard error. If that fails, the exit status alone tells of the error.
pub fn complain(what: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "gyre: {what}");
}

/// Writes `text` to standard output and returns `status`. A reader that has gone is no error; any other failure to
/// write is status 1.
pub fn print(text: &str, status: ExitCode) -> ExitCode {
    let mut output = io::stdout().lock();
    match output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(format_args!("standard output: {error}"));
            ExitCode::from(1)
        }
        _ => status,
    }
}
