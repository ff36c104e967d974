// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first view of a waveform: beside it a save file of GTKWave's with the signals that matter for one message, in
//! the order in which it passes them, and in it a row of words that says what the message does.
//!
//! Where an assertion failed, the ports and registers of its instance come first.
//!
//! Which message: that which the waveform was asked for, that which was under way when a run failed, or the first in the
//! waveform's cycles. Without messages it is a packet. When it did what is known from the events of the run that wrote the
//! waveform.

mod follow;
mod signals;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, BufReader, BufWriter, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use gyre_files::{Output, Scratch};
use gyre_sim::{SimError, TraceConfig};
use gyre_timeline::{Messages, Recording};
use gyre_wave::{Declared, Line, Radix, Row, SaveFile, Signal, WithRows};

pub use follow::Subject;

use follow::Followed;
use signals::Groups;

/// Ending of save files.
const ENDING: &str = "gtkw";

/// A waveform that has been written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its file.
    pub path: PathBuf,
    /// Its first view, and the message that it follows.
    pub view: Option<View>,
}

/// A first view that has been written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Its file.
    pub path: PathBuf,
    /// The followed message in words; empty if there is none.
    pub follows: String,
    /// Whether it was kept, as a user has saved it.
    pub kept: bool,
}

impl Written {
    /// The files, in lines for people: the waveform ends the first one.
    #[must_use]
    pub fn names(&self) -> String {
        let path = self.path.display();
        let Some(view) = &self.view else {
            return path.to_string();
        };
        let file = view.path.display();
        match (view.kept, view.follows.as_str()) {
            (true, _) => format!("{path}\nview in GTKWave, kept as it was saved: {file}"),
            (false, "") => format!("{path}\nview in GTKWave: {file}"),
            (false, follows) => format!("{path}\nview in GTKWave of {follows}: {file}"),
        }
    }
}

/// A waveform that models have written, and the events of the run.
pub(crate) struct Raw<'a> {
    /// The requested waveform.
    pub(crate) config: &'a TraceConfig,
    /// The file that the models have written.
    pub(crate) file: &'a Path,
    /// Subject of the view.
    pub(crate) subject: Subject,
    /// Dimensions of the machine.
    pub(crate) dims: usize,
    /// Nodes that are shown.
    pub(crate) shown: &'a BTreeSet<usize>,
    /// The run's events.
    pub(crate) recording: Option<&'a Recording>,
}

fn is_fst(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "fst")
}

impl Raw<'_> {
    /// Makes the requested file from the models' file, and its first view.
    pub(crate) fn finish(&self) -> Result<Written, SimError> {
        let path = &self.config.path;
        let cycle_ps = self.recording.map_or(1, |recording| recording.cycle_ps);
        let window = &self.config.window;
        let span_ps = window.start.saturating_mul(cycle_ps)..window.end.saturating_mul(cycle_ps);
        let followed = self.recording.and_then(|recording| {
            let messages = Messages::of(recording);
            follow::follow(recording, &messages, &self.subject, self.shown, &span_ps)
        });
        let nodes = self.nodes_of_state(followed.as_ref());
        let groups = Groups::of(followed.as_ref(), nodes, self.dims);
        let rows: Vec<Row> = followed.iter().map(row).collect();
        let mut wanted = groups.names();
        wanted.insert(CYCLE.to_owned());

        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| SimError::Io { path, source }
        };
        let reader = BufReader::new(gyre_files::open(self.file).map_err(io(path))?);
        let mut reader = WithRows::new(reader, rows.clone(), wanted);
        if let Subject::Failure {
            instance: Some(instance),
            ..
        } = &self.subject
        {
            reader.look_into(instance);
        }
        if is_fst(path) {
            let made = Scratch::beside(path, ".fst").map_err(io(path))?;
            gyre_wave::vcd_to_fst(&mut reader, made.path()).map_err(|error| SimError::Trace {
                path: path.clone(),
                message: error.to_string(),
            })?;
            made.put().map_err(io(path))?;
        } else {
            let mut writer = BufWriter::new(gyre_files::create(path).map_err(io(path))?);
            io::copy(&mut reader, &mut writer).map_err(io(path))?;
            let output = writer.into_inner().map_err(|error| error.into_error());
            output.and_then(Output::finish).map_err(io(path))?;
        }

        let declared = reader.declared();
        let mut lines = failing(reader.looked_into());
        if let Some(followed) = &followed {
            lines.push(Line::Title(followed.what.clone()));
            lines.push(Line::Title(followed.way.clone()));
        }
        let of_machine = rows
            .iter()
            .map(|row| (row.path(), row.name.as_str(), Radix::Text));
        let cycle = (CYCLE.to_owned(), "cycle", Radix::Decimal);
        for (name, label, radix) in of_machine.chain([cycle]) {
            if let Some(found) = declared.get(&name) {
                lines.push(Line::Signal(Signal {
                    name: format!("{name}{}", found.range),
                    label: label.to_owned(),
                    radix,
                    bit: None,
                    bright: radix == Radix::Text,
                }));
            }
        }
        lines.extend(groups.lines(declared));
        let times = reader.times().map_or(0..1, |(first, last)| first..last);
        let view = path.with_extension(ENDING);
        let name_of = |path: &Path| {
            let name = path.file_name().unwrap_or(OsStr::new(""));
            name.to_string_lossy().into_owned()
        };
        let file = SaveFile {
            waveform: name_of(path),
            name: name_of(&view),
            markers: self.markers(followed.as_ref(), cycle_ps, &times),
            times,
            lines,
        };
        let kept = is_somebodys(&view);
        if !kept {
            gyre_files::write(&view, file.text().as_bytes()).map_err(io(&view))?;
        }
        Ok(Written {
            path: path.clone(),
            view: Some(View {
                path: view,
                follows: followed.map_or(String::new(), |followed| followed.name),
                kept,
            }),
        })
    }

    /// Nodes whose state a view shows: where a run failed, or of a waveform in which nothing can be followed.
    fn nodes_of_state(&self, followed: Option<&Followed>) -> Vec<usize> {
        match (&self.subject, followed) {
            (Subject::Failure { .. }, _) | (_, None) => self.shown.iter().copied().collect(),
            _ => Vec::new(),
        }
    }

    /// Marker A at the post, B at the arrival or the failure, as far as the waveform covers them.
    fn markers(
        &self,
        followed: Option<&Followed>,
        cycle_ps: u64,
        times: &Range<u64>,
    ) -> Vec<Option<(u64, String)>> {
        let begin = followed.map(|followed| {
            let name = match followed.flights.first() {
                Some(flight) if flight.role.is_none() => "first flit",
                _ => "post",
            };
            (followed.begin_ps, name)
        });
        let arrival = followed.and_then(|followed| followed.end_ps);
        let failure = match self.subject {
            Subject::Failure { cycle, stalled, .. } => {
                let name = if stalled { "last progress" } else { "failure" };
                Some((cycle * cycle_ps, name))
            }
            _ => None,
        };
        let end = failure.or(arrival.map(|ps| (ps, "arrival")));
        let covered = |at: u64| (times.start..=times.end).contains(&at);
        let marker = |(at, name): (u64, &str)| covered(at).then(|| (at, name.to_owned()));
        vec![begin.and_then(marker), end.and_then(marker)]
    }
}

/// Most signals of a failing instance.
const MAX_OF_INSTANCE: usize = 64;

/// Rows of the instance in which an assertion failed: its ports and registers, in the order of their declaration.
fn failing((scope, signals): (&str, &[(String, Declared)])) -> Vec<Line> {
    if signals.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line::Title(format!("failed in {scope}"))];
    let signal = |(name, declared): &(String, Declared)| {
        Line::Signal(Signal {
            name: format!("{scope}.{name}{}", declared.range),
            label: name.clone(),
            radix: match declared.width {
                1 => Radix::Binary,
                _ => Radix::Hexadecimal,
            },
            bit: None,
            bright: true,
        })
    };
    lines.extend(signals.iter().take(MAX_OF_INSTANCE).map(signal));
    lines
}

/// The signal that has the cycle.
const CYCLE: &str = "machine.cycle";

fn row(followed: &Followed) -> Row {
    Row {
        name: "stage".to_owned(),
        changes: followed.changes.clone(),
    }
}

/// Whether a save file is there that is not of an earlier run.
fn is_somebodys(path: &Path) -> bool {
    let Ok(file) = gyre_files::open(path) else {
        // What is no regular file is not of a run.
        return path.exists();
    };
    let mut begin = Vec::new();
    file.take(256).read_to_end(&mut begin).is_ok() && !begin.is_empty() && !SaveFile::is_own(&begin)
}
