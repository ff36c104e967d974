//! Timelines of runs, in files that Perfetto opens.

use std::path::{Path, PathBuf};

use gyre_driver::Op;
use gyre_sim::Machine;
use gyre_timeline::{Messages, Recording, perfetto};

use crate::options::UsageError;

/// Ending of a timeline's file.
const ENDING: &str = "perfetto-trace";

/// A timeline that a command is to write.
#[derive(Debug, Clone)]
pub struct TimelineFile {
    path: PathBuf,
}

impl TimelineFile {
    /// The file `path`, which is made now, so that it is not refused after the run.
    ///
    /// # Errors
    /// Another ending than `.perfetto-trace`; a file that cannot be written.
    pub fn create(path: &Path) -> Result<Self, UsageError> {
        if path.extension().is_none_or(|ending| ending != ENDING) {
            return Err(UsageError::Value {
                option: "--timeline".into(),
                value: path.display().to_string(),
                expected: format!("a file name ending in .{ENDING}"),
            });
        }
        let file = Self { path: path.into() };
        file.store(&[])?;
        Ok(file)
    }

    /// Writes what has been recorded. Says what, in a line for people.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, recording: &Recording) -> Result<String, UsageError> {
        let messages = Messages::of(recording);
        self.store(&perfetto::trace(recording, &messages))?;
        let path = self.path.display();
        let count = messages.all().len();
        let events = recording.events().len();
        Ok(match count {
            0 => format!("timeline of {events} hardware events, no driver ran: {path}"),
            _ => format!("timeline of {count} messages in {events} events: {path}"),
        })
    }

    fn store(&self, bytes: &[u8]) -> Result<(), UsageError> {
        std::fs::write(&self.path, bytes).map_err(|error| {
            UsageError::Combination(format!("--timeline {}: {error}", self.path.display()))
        })
    }
}

/// What a machine has recorded since the last call; see [`Machine::record_events`].
pub fn recorded(machine: &mut Machine) -> Recording {
    let mut recording = machine.take_recording();
    recording.operations = Op::ALL.iter().map(|op| op.key()).collect();
    recording
}
