// SPDX-License-Identifier: MIT OR Apache-2.0
//! Failures of functions: a result code with a text for `PAMI_Error_text`.

use gyre_driver::{AllocError, Error};
use gyre_interpose::{NoJob, NoMemory, NoShare};

use crate::abi::ResultCode;

/// A result other than success.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    /// The code that the program gets.
    pub code: ResultCode,
    /// Text for `PAMI_Error_text`.
    pub text: String,
}

impl Failure {
    /// Invalid argument.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self {
            code: ResultCode::INVAL,
            text: text.into(),
        }
    }

    /// An operation that failed.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            code: ResultCode::ERROR,
            text: text.into(),
        }
    }

    /// Nothing happened; the program may try again.
    pub fn again() -> Self {
        Self {
            code: ResultCode::EAGAIN,
            text: "nothing happened".into(),
        }
    }

    /// A missing function of the library.
    pub fn unimplemented(what: &str) -> Self {
        Self {
            code: ResultCode::UNIMPL,
            text: format!("{what} is not implemented"),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            code: code(&error),
            text: error.to_string(),
        }
    }
}

impl From<gyre_collectives::Error> for Failure {
    fn from(error: gyre_collectives::Error) -> Self {
        use gyre_collectives::Error as Of;
        match error {
            Of::Driver(error) => error.into(),
            Of::EmptyGeometry { .. }
            | Of::RepeatedEndpoint { .. }
            | Of::NoMember { .. }
            | Of::Request { .. }
            | Of::Operation { .. }
            | Of::Algorithm { .. }
            | Of::Routes { .. } => Self::invalid(error.to_string()),
            _ => Self::error(error.to_string()),
        }
    }
}

impl From<NoJob> for Failure {
    fn from(error: NoJob) -> Self {
        Self::error(error.to_string())
    }
}

impl From<NoShare> for Failure {
    fn from(error: NoShare) -> Self {
        Self::error(error.to_string())
    }
}

impl From<NoMemory> for Failure {
    fn from(error: NoMemory) -> Self {
        Self {
            code: ResultCode::ENOMEM,
            text: error.to_string(),
        }
    }
}

impl From<AllocError> for Failure {
    fn from(error: AllocError) -> Self {
        Error::from(error).into()
    }
}

/// The code for an error of the driver.
pub fn code(error: &Error) -> ResultCode {
    match error {
        Error::UnknownTask { .. }
        | Error::UnknownContext { .. }
        | Error::ForeignEndpoint { .. }
        | Error::DispatchInUse { .. }
        | Error::ReservedDispatch { .. }
        | Error::Range(_)
        | Error::Config { .. } => ResultCode::INVAL,
        Error::Alloc(_) | Error::Segment(_) => ResultCode::ENOMEM,
        Error::Destroyed => ResultCode::SHUTDOWN,
        _ => ResultCode::ERROR,
    }
}
