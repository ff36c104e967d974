//! What can stop a machine.

use std::io;
use std::path::PathBuf;

use crate::actor::ActorError;
use crate::config::ConfigError;
use crate::watchdog::StallReport;

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
        /// What went wrong.
        message: String,
    },
    /// A model could not be made.
    #[error("node {node}: {message}")]
    Model {
        /// Node.
        node: usize,
        /// What went wrong.
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
    #[error("node {node}, {actor}, at {ps} ps: {source}")]
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
        /// Who waits for what.
        report: Box<StallReport>,
    },
    /// The machine stopped with an error before.
    #[error("the machine stopped with an error before and cannot go on")]
    Stopped,
    /// A waveform file could not be written.
    #[error("{}: {message}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        message: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
}
