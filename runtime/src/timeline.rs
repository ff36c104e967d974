//! Timelines of runs, in files that Perfetto opens.

use std::path::PathBuf;

use gyre_driver::Op;
use gyre_sim::{MachineConfig, Recorder};
use gyre_timeline::Messages;
use gyre_timeline::perfetto::{self, ProgramTrack, Span};
use gyre_why::{Analysis, Segment};

use crate::options::{MachineOptions, UsageError};

/// Ending of a timeline's file.
const ENDING: &str = "perfetto-trace";

/// A timeline that a command is to write, and what takes the events for it.
#[derive(Debug)]
pub struct TimelineFile {
    path: PathBuf,
    recorder: Recorder,
}

impl TimelineFile {
    /// The file that `options` ask for, of the machines that are made of `config` from now on. It is made now, so that it
    /// is not refused after the run.
    ///
    /// # Errors
    /// Another ending than `.perfetto-trace`; a file that cannot be written.
    pub fn create(
        options: &MachineOptions,
        config: &mut MachineConfig,
    ) -> Result<Option<Self>, UsageError> {
        let Some(path) = &options.timeline else {
            return Ok(None);
        };
        if path.extension().is_none_or(|ending| ending != ENDING) {
            return Err(UsageError::Value {
                option: "--timeline".into(),
                value: path.display().to_string(),
                expected: format!("a file name ending in .{ENDING}"),
            });
        }
        let file = Self {
            path: path.clone(),
            recorder: Recorder::default(),
        };
        file.store(&[])?;
        config.recorder = Some(file.recorder.clone());
        Ok(Some(file))
    }

    /// Writes the events of the machines that have ended. Says what, in a line for people.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self) -> Result<String, UsageError> {
        let mut runs = Vec::new();
        for mut recording in self.recorder.take() {
            recording.operations = Op::ALL.iter().map(|op| op.key()).collect();
            let messages = Messages::of(&recording);
            let analysis = Analysis::of(&recording, &messages);
            let found = analysis.as_ref().map_or_else(Vec::new, tracks);
            runs.push((recording, messages, found));
        }
        let all = runs.iter().map(|(r, m, found)| (r, m, &found[..]));
        self.store(&perfetto::trace(all))?;
        let path = self.path.display();
        let events: usize = runs.iter().map(|(r, ..)| r.events().len()).sum();
        let messages: usize = runs.iter().map(|(_, m, _)| m.all().len()).sum();
        // What a driver does takes time.
        let driver = runs
            .iter()
            .any(|(recording, ..)| recording.has_operations());
        Ok(match driver {
            true => format!("timeline of {messages} messages in {events} events: {path}"),
            false => format!(
                "timeline of {events} events: {path}\nno driver ran: they are the hardware's alone"
            ),
        })
    }

    fn store(&self, bytes: &[u8]) -> Result<(), UsageError> {
        std::fs::write(&self.path, bytes).map_err(|error| {
            UsageError::Combination(format!("--timeline {}: {error}", self.path.display()))
        })
    }
}

/// The critical path: by what it is spent on, and in its parts.
fn tracks(analysis: &Analysis) -> Vec<ProgramTrack> {
    let mut kinds: Vec<Span> = Vec::new();
    for segment in &analysis.path {
        let span = span(segment, segment.kind.name());
        match kinds.last_mut().filter(|last| last.name == span.name) {
            Some(last) => last.to_ps = span.to_ps,
            None => kinds.push(Span {
                message: None,
                ..span
            }),
        }
    }
    let parts = analysis.path.iter();
    let parts = parts.map(|segment| span(segment, segment.what));
    vec![
        ProgramTrack {
            name: "critical path",
            spans: kinds,
        },
        ProgramTrack {
            name: "critical path in parts",
            spans: parts.collect(),
        },
    ]
}

fn span(segment: &Segment, name: &'static str) -> Span {
    Span {
        from_ps: segment.from_ps,
        to_ps: segment.to_ps,
        name,
        message: segment.message,
    }
}
