// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boundary of the functions of the interface.

pub use gyre_interpose::boundary::{last, note, value};

use crate::abi::ResultCode;
use crate::failure::Failure;

/// Runs the body of a function that returns a result code.
pub fn result(body: impl FnOnce() -> Result<(), Failure>) -> ResultCode {
    match value(body) {
        Ok(()) => {
            note("success");
            ResultCode::SUCCESS
        }
        Err(failure) => {
            note(&failure.text);
            failure.code
        }
    }
}
