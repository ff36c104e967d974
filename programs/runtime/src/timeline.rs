// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timelines of runs: pages that a browser shows, and files that Perfetto opens.

use std::io::{self, BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};

use gyre_driver::Op;
use gyre_files::Output;
use gyre_page::{Failure, Page, Run, Wait};
use gyre_sim::{MachineConfig, Recorder, SimError};
use gyre_timeline::perfetto::{self, ProgramTrack, Span};
use gyre_timeline::{Messages, Recording};
use gyre_why::{Analysis, Segment};
use serde_json::{Map, Value};

use crate::driver_log::LogOption;
use crate::error::{JobError, RunError};
use crate::machine_file::MachineSpec;
use crate::memory;
use crate::options::{MachineOptions, UsageError, check_output, unwritable};
use crate::spool::{folder_beside, is_whole};
use crate::waves::{self, CommandLine};

/// Format of a timeline's file, by its ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Page,
    Perfetto,
}

/// Bytes of memory that the analysis of a run takes for each of its events: `gyre why` of 10,000 messages, 378,877 events, takes 50 MB
/// more than the run alone.
const ANALYSIS_BYTES: u64 = 132;

/// The files that a command writes of a run's events: a timeline, a driver log, both or none.
#[derive(Debug, Default)]
pub struct Timeline {
    recorder: Recorder,
    /// Where events are that memory should not hold.
    folder: PathBuf,
    file: Option<TimelineFile>,
    log: Option<LogOption>,
}

/// The file of a timeline.
#[derive(Debug)]
struct TimelineFile {
    path: PathBuf,
    format: Format,
}

/// Description of a run, for its page.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    /// Title of the run, such as `run lulesh`.
    pub title: &'a str,
    /// The machine.
    pub spec: &'a MachineSpec,
    /// The command.
    pub command: &'a CommandLine,
    /// Whether it takes `--trace-machine`.
    pub numbers_machines: bool,
}

/// A run with its events, and their analysis.
struct Known {
    recording: Recording,
    messages: Messages,
    analysis: Option<Analysis>,
    /// Why it has no analysis, where memory is the reason.
    unanalysed: Option<String>,
}

impl Timeline {
    /// The one that `options` ask for, of the machines that are made of `config` from now on. A file that cannot be
    /// written is refused now, not after the run.
    ///
    /// # Errors
    /// Another ending than `.html` or `.perfetto-trace`; a file that cannot be written.
    pub fn create(
        options: &MachineOptions,
        config: &mut MachineConfig,
    ) -> Result<Self, UsageError> {
        let outputs = [
            options.timeline.as_deref(),
            options.log.as_ref().map(|log| &*log.path),
        ];
        let folder = folder_beside(outputs.into_iter().flatten().next());
        let files = Self {
            recorder: Recorder::in_folder(folder.clone()),
            folder,
            file: options
                .timeline
                .as_deref()
                .map(TimelineFile::create)
                .transpose()?,
            log: options.log.clone(),
        };
        if let Some(log) = &files.log {
            check_output("--log", &log.path)?;
        }
        if files.file.is_some() || files.log.is_some() {
            config.recorder = Some(files.recorder.clone());
        }
        Ok(files)
    }

    /// Writes the events of the machines of a run that has come to its end, with its figures and what is wrong with them,
    /// if something is. Says what, in a line for people.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn ended(
        &self,
        told: Told<'_>,
        figures: &Map<String, Value>,
        wrong: Option<&str>,
    ) -> Result<Option<String>, RunError> {
        let failure = wrong.map(|wrong| Failure {
            text: wrong.to_owned(),
            ..Failure::default()
        });
        let recordings = self.recorder.take();
        if let Some(error) = recordings.iter().find_map(Recording::error) {
            return Err(RunError::Sim(error.clone().into()));
        }
        self.write(recordings, told, Some(figures), failure.as_ref())
    }

    /// Writes the events up to the failure of a run. An error of the write is not reported: the run's own error says more.
    pub fn failed(&self, told: Told<'_>, failure: impl FnOnce() -> Failure) {
        let recordings = self.recorder.take();
        // Without a machine nothing has failed: what was there before is left.
        if (self.file.is_some() || self.log.is_some()) && !recordings.is_empty() {
            let _ = self.write(recordings, told, None, Some(&failure()));
        }
    }

    fn write(
        &self,
        recordings: Vec<Recording>,
        told: Told<'_>,
        figures: Option<&Map<String, Value>>,
        failure: Option<&Failure>,
    ) -> Result<Option<String>, RunError> {
        let mut lines = Vec::new();
        if let Some(log) = &self.log {
            let written = log.write(&recordings);
            lines.push(
                written.map_err(|error| RunError::Output(unwritable("--log", &log.path, error)))?,
            );
        }
        if let Some(file) = &self.file {
            lines.push(file.write(recordings, &self.folder, told, figures, failure)?);
        }
        Ok((!lines.is_empty()).then(|| lines.join("\n")))
    }
}

impl TimelineFile {
    /// The file, checked now so that it is not refused after the run.
    fn create(path: &Path) -> Result<Self, UsageError> {
        let format = match path.extension().and_then(|ending| ending.to_str()) {
            Some("html") => Format::Page,
            Some("perfetto-trace") => Format::Perfetto,
            _ => {
                return Err(UsageError::Value {
                    option: "--timeline".into(),
                    value: path.display().to_string(),
                    expected: "a file name ending in .html or .perfetto-trace".into(),
                });
            }
        };
        check_output("--timeline", path)?;
        Ok(Self {
            path: path.to_owned(),
            format,
        })
    }

    fn write(
        &self,
        recordings: Vec<Recording>,
        folder: &Path,
        told: Told<'_>,
        figures: Option<&Map<String, Value>>,
        failure: Option<&Failure>,
    ) -> Result<String, RunError> {
        let whole = is_whole(&recordings);
        let known: Vec<Known> = recordings.into_iter().map(Known::of).collect();
        // Those of a run that lost events are written as far as they go.
        let intact = || {
            let lost = known.iter().find_map(|run| run.recording.error());
            lost.filter(|_| whole)
                .map_or(Ok(()), |error| Err(error.into()))
        };
        match self.format {
            Format::Page => {
                let page = page(told, (figures, failure), &known)?;
                self.store(|file| intact().and_then(|()| file.write_all(page.as_bytes())))?;
            }
            Format::Perfetto => {
                let found: Vec<Vec<ProgramTrack>> = known.iter().map(Known::tracks).collect();
                let runs = known.iter().zip(&found);
                let runs = runs.map(|(run, found)| (&run.recording, &run.messages, &found[..]));
                self.store(|file| {
                    perfetto::write(runs, folder, file)?;
                    intact()
                })?;
            }
        }
        let path = self.path.display();
        let events: usize = known.iter().map(|run| run.recording.count()).sum();
        let messages: usize = known.iter().map(|run| run.messages.all().len()).sum();
        // What a driver does takes time.
        let driver = known.iter().any(|run| run.recording.has_operations());
        let reasons = known.iter().find_map(|run| run.unanalysed.as_deref());
        let reason = reasons.map_or_else(String::new, |reason| format!("\n{reason}"));
        Ok(match driver {
            true => {
                format!("timeline of {messages} messages in {events} events: {path}{reason}")
            }
            false => format!(
                "timeline of {events} events: {path}\nno driver ran: they are the hardware's alone"
            ),
        })
    }

    fn store(
        &self,
        write: impl FnOnce(&mut BufWriter<Output>) -> io::Result<()>,
    ) -> Result<(), RunError> {
        let stored = || {
            let mut file = BufWriter::new(gyre_files::create(&self.path)?);
            write(&mut file)?;
            let file = file.into_inner().map_err(IntoInnerError::into_error)?;
            file.finish()
        };
        stored().map_err(|error| RunError::Output(unwritable("--timeline", &self.path, error)))
    }
}

/// A recording with the names of the driver's operations.
#[must_use]
pub fn with_operations(mut recording: Recording) -> Recording {
    recording.operations = Op::ALL.iter().map(|op| op.key()).collect();
    recording
}

impl Known {
    fn of(recording: Recording) -> Self {
        let recording = with_operations(recording);
        let messages = Messages::of(&recording);
        let unanalysed = unanalysed(&recording, memory::available());
        let analysis = match unanalysed {
            Some(_) => None,
            None => Analysis::of(&recording, &messages),
        };
        Self {
            recording,
            messages,
            analysis,
            unanalysed,
        }
    }

    /// The analysis as tracks for Perfetto.
    fn tracks(&self) -> Vec<ProgramTrack> {
        self.analysis.as_ref().map_or_else(Vec::new, tracks)
    }
}

/// Why a program's run is not analysed: for want of memory, or for no reason.
fn unanalysed(recording: &Recording, available: Option<u64>) -> Option<String> {
    let needed = ANALYSIS_BYTES * recording.count() as u64;
    let available = available?;
    let fits = needed <= available || !recording.has_program();
    (!fits).then(|| {
        let (needed, available) = (memory::mib(needed), memory::mib(available));
        format!("no critical path: it needs about {needed} of memory, and {available} are left")
    })
}

/// The page of the run.
fn page(
    told: Told<'_>,
    (figures, failure): (Option<&Map<String, Value>>, Option<&Failure>),
    known: &[Known],
) -> Result<String, RunError> {
    let runs: Vec<Run<'_>> = known
        .iter()
        .map(|run| Run {
            recording: &run.recording,
            messages: &run.messages,
            analysis: run.analysis.as_ref(),
            unanalysed: run.unanalysed.as_deref(),
        })
        .collect();
    let config = &told.spec.config;
    let page = Page {
        title: told.title,
        shape: &config.dims,
        mesh: &config.mesh,
        command: &told.command.of_result(),
        numbers_machines: told.numbers_machines,
        figures,
        failure,
        runs: &runs,
    };
    gyre_page::html(&page).map_err(|error| RunError::Output(format!("--timeline: {error}")))
}

/// Failure of a run: its error, where it was, and the waits of threads if the machine stood still.
#[must_use]
pub fn failure(error: &RunError, cycle_ps: u64) -> Failure {
    let mut source = error;
    while let RunError::Shown { source: inner, .. } = source {
        source = inner;
    }
    let text = error.to_string();
    match source {
        RunError::Sim(error) | RunError::Job(JobError::Machine(error)) => Failure {
            text,
            ..of_machine(error, cycle_ps)
        },
        _ => Failure {
            text,
            ..Failure::default()
        },
    }
}

/// Failure of a machine, without its text.
#[must_use]
pub fn of_machine(error: &SimError, cycle_ps: u64) -> Failure {
    let at = waves::Failure::of(error, cycle_ps);
    Failure {
        text: String::new(),
        // A machine has fewer nodes.
        node: at.as_ref().and_then(|at| at.node()).map(|node| node as u32),
        cycle: at.map(|at| at.cycle()),
        waits: waits(error),
    }
}

/// The threads that wait in a machine that stands still.
fn waits(error: &SimError) -> Vec<Wait> {
    let (SimError::Deadlock(report) | SimError::Watchdog { report, .. }) = error else {
        return Vec::new();
    };
    let waits = report.actors.iter().map(|actor| Wait {
        who: actor.name.clone(),
        rank: None,
        // A machine has fewer nodes.
        node: actor.node as u32,
        since_ps: Some(actor.since_ps),
        what: match actor.description.as_str() {
            "" => actor.waits_for.clone(),
            words => format!("{} ({words})", actor.waits_for),
        },
        on: None,
    });
    waits.collect()
}

/// The critical path: by kind, and in its parts.
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

#[cfg(test)]
mod tests {
    use gyre_timeline::{Event, Lane, What};

    use super::*;

    #[test]
    fn x5_a_run_whose_analysis_does_not_fit_into_memory_is_not_analysed() {
        let events = |what: fn(u32) -> What| {
            let event = |number| Event::new(0, Lane::Thread(0), (number, number), what(1));
            let events = (0..1 << 15).map(event).collect();
            Recording::empty(2000, 1, 0, 1 << 15).with_events(events)
        };
        let program = events(|line| What::Operation { line });
        let needed = ANALYSIS_BYTES << 15;
        assert_eq!(unanalysed(&program, Some(needed)), None);
        assert_eq!(unanalysed(&program, None), None, "nobody knows");
        let said = unanalysed(&program, Some(needed - 1)).expect("too little");
        let expected = format!("no critical path: it needs about {}", memory::mib(needed));
        assert!(said.starts_with(&expected), "{said}");
        let hardware = events(|flits| What::Load { flits });
        assert_eq!(unanalysed(&hardware, Some(0)), None, "it has none anyway");
    }
}
