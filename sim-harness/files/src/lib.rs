// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that a user names.
//!
//! - An input is a regular file: a pipe would keep the process waiting, a device would never end.
//! - An output is there whole or as it was before: it is written beside its place, which it takes when it is finished.
//! - No output takes the place of an input ([`keep`], [`keep_folder`]) or of another output ([`check`]).
//! - What is unfinished when a signal ends the process is removed ([`end_by_signals`]), and when a limit does ([`end`]).

#![forbid(unsafe_code)]

mod claims;
mod input;
mod interrupt;
mod output;

pub use input::{keep, keep_folder, open, read, read_text};
pub use interrupt::{Unfinished, end, end_by_signals, output_of, run};
pub use output::{Output, Scratch, check, create, write};

use std::fs::FileType;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use thiserror::Error;

/// Fault of a file, inside an [`io::Error`].
#[derive(Debug, Error)]
enum Fault {
    #[error("is {0}: expected a regular file")]
    NoInput(&'static str),
    #[error("is {0}: expected a regular file, standard output or /dev/null")]
    NoOutput(&'static str),
    #[error("is an input of the command: expected another file")]
    IsInput,
    #[error("is the output of {option}: expected another file")]
    IsOutput { option: &'static str },
    #[error("has more than {limit} bytes: expected at most that")]
    TooLarge { limit: u64 },
}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        io::Error::new(io::ErrorKind::InvalidInput, fault)
    }
}

/// The folder that a path lies in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Name of a kind of file that is not a regular one.
fn kind(found: FileType) -> &'static str {
    match found {
        _ if found.is_dir() => "a folder",
        _ if found.is_fifo() => "a pipe",
        _ if found.is_socket() => "a socket",
        _ if found.is_char_device() || found.is_block_device() => "a device",
        _ => "no regular file",
    }
}
