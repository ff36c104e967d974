// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of configurations, register accesses and runs.

use std::io;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use gyre_timeline::SpoolError;

use crate::readable_time::ReadableTime;
use crate::stall::StallReport;

/// A field of a configuration that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: expected {expected}")]
pub struct ConfigError {
    /// Field, such as `memory.read_latency`.
    pub field: String,
    /// Value found.
    pub value: String,
    /// Accepted values.
    pub expected: String,
}

impl ConfigError {
    pub(crate) fn new(field: &str, value: impl ToString, expected: impl ToString) -> Self {
        Self {
            field: field.to_owned(),
            value: value.to_string(),
            expected: expected.to_string(),
        }
    }
}

/// Refuses a value of `field` outside `range`.
pub(crate) fn check_range(
    field: &str,
    value: u64,
    range: RangeInclusive<u64>,
) -> Result<(), ConfigError> {
    if range.contains(&value) {
        return Ok(());
    }
    let expected = if *range.end() == u64::MAX {
        format!("at least {}", range.start())
    } else {
        format!("{} to {}", range.start(), range.end())
    };
    Err(ConfigError::new(field, value, expected))
}

/// A register access that the node refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// The register block answered a read with a slave error: no such register.
    #[error("read of register {addr:#x}: slave error")]
    Read {
        /// Byte address.
        addr: u64,
    },
    /// The register block answered a posted write with a slave error: no such register, or one that
    /// cannot be written.
    #[error("write of register {addr:#x}: slave error")]
    Write {
        /// Byte address.
        addr: u64,
    },
    /// The address is not a multiple of 8, or beyond the 24-bit register space.
    #[error("register address {addr:#x}: expected a multiple of 8 below 0x1000000")]
    Address {
        /// Byte address.
        addr: u64,
    },
    /// The node was reset, or the machine is gone, before the access was answered.
    #[error("register access to {addr:#x} was cut off by a reset")]
    Reset {
        /// Byte address.
        addr: u64,
    },
}

impl BusError {
    /// Byte address of the refused access.
    pub fn address(&self) -> u64 {
        match *self {
            BusError::Read { addr }
            | BusError::Write { addr }
            | BusError::Address { addr }
            | BusError::Reset { addr } => addr,
        }
    }
}

/// Any error that an actor ends with.
pub type ActorError = Box<dyn std::error::Error + 'static>;

/// Why a machine could not be made or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// A field of the configuration cannot be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A model could not be compiled.
    #[error("{0}")]
    Build(#[from] gyre_verilate::Error),
    /// A compiled model could not be loaded.
    #[error("{}: {message}", path.display())]
    Library {
        /// The shared library.
        path: PathBuf,
        /// Reason.
        message: String,
    },
    /// A model could not be made.
    #[error("node {node}: {message}")]
    Model {
        /// Node.
        node: usize,
        /// Reason.
        message: String,
    },
    /// An assertion of the RTL failed, or the node broke the protocol of a port.
    #[error("node {node}, cycle {cycle}: {message}")]
    Hardware {
        /// Node.
        node: usize,
        /// Cycle in which it was found.
        cycle: u64,
        /// The assertion's text, or the rule that was broken.
        message: String,
    },
    /// An actor ended with an error.
    #[error("node {node}, {actor}, at {}: {source}", ReadableTime(*ps))]
    Actor {
        /// Node.
        node: usize,
        /// Name of the actor.
        actor: String,
        /// Its time, picoseconds.
        ps: u64,
        /// Its error.
        source: ActorError,
    },
    /// Actors wait and nothing will ever happen.
    #[error("deadlock: nothing is left to happen\n{0}")]
    Deadlock(Box<StallReport>),
    /// Nothing useful happened for as long as the watchdog waits.
    #[error("no progress for {cycles} cycles\n{report}")]
    Watchdog {
        /// Cycles run without progress.
        cycles: u64,
        /// Waiting actors and nodes.
        report: Box<StallReport>,
    },
    /// The machine's time is over.
    #[error("the machine's time is over: expected the end of the run before cycle {last}")]
    TimeOver {
        /// The cycle in which it ends.
        last: u64,
    },
    /// The machine stopped with an error before.
    #[error("the machine stopped with an error before and cannot go on")]
    Stopped,
    /// A waveform file could not be written.
    #[error("{}: {message}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// Reason.
        message: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Reason.
        source: io::Error,
    },
    /// Recorded events are lost.
    #[error("recorded events: {0}")]
    Events(#[from] SpoolError),
}

impl SimError {
    /// The error of a node whose model could not be made. Of want of memory, and of the room of a thread, the C++ library says
    /// no more than that.
    pub(crate) fn model(node: usize, error: &cxx::Exception) -> Self {
        let message = match error.what() {
            "std::bad_alloc" | "Resource temporarily unavailable" => "no memory for its model",
            said => said,
        };
        Self::Model {
            node,
            message: message.to_owned(),
        }
    }
}
