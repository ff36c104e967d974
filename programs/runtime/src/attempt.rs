// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machines that an attempt at a command makes, and the waveform of one of them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::rc::Rc;

use gyre_files::Scratch;
use gyre_sim::{
    Machine, MachineConfig, ModelKind, Recorder, RouterMachine, SimError, TraceConfig, Traffic,
};

use crate::first_view::{Raw, Subject, Written};
use crate::spool::folder_beside;

/// A waveform of one of the machines that a command makes.
#[derive(Debug, Clone)]
pub struct Wave {
    /// Number of the machine, from 0, in the order in which they are made.
    pub machine: usize,
    /// File, window and scopes.
    pub config: TraceConfig,
    /// Subject of the first view.
    pub subject: Subject,
}

/// The machines that an attempt at a command has made, and the result of its waveform.
#[derive(Debug, Clone, Default)]
pub struct Machines(Rc<RefCell<Made>>);

#[derive(Debug, Default)]
struct Made {
    wave: Option<Wave>,
    /// Cycles of each machine that has ended; 0 before.
    cycles: Vec<u64>,
    /// The machine that the waveform shows, until its waveform is finished.
    shown: Option<Shown>,
}

/// A machine that writes a waveform.
#[derive(Debug)]
struct Shown {
    nodes: BTreeSet<usize>,
    dims: usize,
    /// Recorder of its events, their place there, and the result of its waveform.
    recorder: Recorder,
    place: usize,
    /// What the models write.
    file: Scratch,
    raw: Result<bool, SimError>,
}

impl Machines {
    /// None yet, the one of `wave` to be shown.
    pub(crate) fn with(wave: Option<Wave>) -> Self {
        Self(Rc::new(RefCell::new(Made {
            wave,
            ..Made::default()
        })))
    }

    /// The number of the next machine, its configuration, and its waveform.
    fn next(
        &self,
        config: &MachineConfig,
    ) -> Result<(usize, MachineConfig, Option<TraceConfig>), SimError> {
        let mut made = self.0.borrow_mut();
        let number = made.cycles.len();
        made.cycles.push(0);
        let wave = made.wave.as_ref().filter(|wave| wave.machine == number);
        let Some(wave) = wave else {
            return Ok((number, config.clone(), None));
        };
        let output = &wave.config.path;
        let file = Scratch::beside(output, ".vcd").map_err(|source| SimError::Io {
            path: output.clone(),
            source,
        })?;
        let trace = TraceConfig {
            path: file.path().to_owned(),
            ..wave.config.clone()
        };
        let mut config = traced(config, &trace)?;
        let beside = || Recorder::in_folder(folder_beside(Some(output)));
        let recorder = config.recorder.get_or_insert_with(beside).clone();
        made.shown = Some(Shown {
            nodes: trace.nodes(config.topology()?.nodes())?,
            dims: config.dims.len(),
            recorder,
            place: 0,
            file,
            raw: Ok(false),
        });
        Ok((number, config, Some(trace)))
    }

    /// Notes the result of the waveform of machine `number`, which is about to end.
    fn ending(&self, number: usize, cycles: u64, raw: Result<Option<PathBuf>, SimError>) {
        let mut made = self.0.borrow_mut();
        made.cycles[number] = cycles;
        if made.shows(number)
            && let Some(shown) = &mut made.shown
        {
            shown.place = shown.recorder.count();
            shown.raw = raw.map(|path| path.is_some());
        }
    }

    /// How many have been made.
    pub(crate) fn count(&self) -> usize {
        self.0.borrow().cycles.len()
    }

    /// Cycles of machine `number` at its end.
    pub(crate) fn cycles(&self, number: usize) -> u64 {
        self.0.borrow().cycles.get(number).copied().unwrap_or(0)
    }

    /// The last one, and its cycles at its end.
    pub(crate) fn last(&self) -> Option<(usize, u64)> {
        let last = self.count().checked_sub(1)?;
        Some((last, self.cycles(last)))
    }

    /// Finishes the waveform when the machine that it shows has ended; it is about `subject` if the run has failed there.
    /// Nothing, if nothing was written.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn finish(&self, subject: Option<Subject>) -> Result<Option<Written>, SimError> {
        let mut made = self.0.borrow_mut();
        let Some((shown, wave)) = made.shown.take().zip(made.wave.as_ref()) else {
            return Ok(None);
        };
        shown.finish(wave, subject.unwrap_or(wave.subject.clone()))
    }
}

impl Made {
    /// Whether the waveform shows machine `number`.
    fn shows(&self, number: usize) -> bool {
        let wave = self.wave.as_ref();
        wave.is_some_and(|wave| wave.machine == number)
    }
}

impl Shown {
    /// Makes the waveform from the file that the models have written.
    fn finish(self, wave: &Wave, subject: Subject) -> Result<Option<Written>, SimError> {
        if !self.raw? {
            return Ok(None);
        }
        let recording = self.recorder.copy(self.place);
        let raw = Raw {
            config: &wave.config,
            file: self.file.path(),
            subject,
            dims: self.dims,
            shown: &self.nodes,
            recording: recording.as_ref(),
        };
        raw.finish().map(Some)
    }
}

/// The machine of `config` with models that can write `trace` at the nodes that it shows.
fn traced(config: &MachineConfig, trace: &TraceConfig) -> Result<MachineConfig, SimError> {
    let nodes = config.topology()?.nodes();
    let shown = trace.nodes(nodes)?;
    Ok(MachineConfig {
        model: ModelKind::Traced,
        traced_nodes: Some(shown).filter(|shown| shown.len() < nodes),
        ..config.clone()
    })
}

/// A machine that runs for cycles and can write a waveform.
pub trait Simulated {
    /// Cycles since reset.
    fn cycles(&self) -> u64;
    /// Begins a waveform.
    ///
    /// # Errors
    /// One that cannot be; a file that cannot be written.
    fn trace(&mut self, config: TraceConfig) -> Result<(), SimError>;
    /// Ends the waveform. Returns the file, if anything was written.
    ///
    /// # Errors
    /// A file that cannot be written.
    fn finish_trace(&mut self) -> Result<Option<PathBuf>, SimError>;
}

impl Simulated for Machine {
    fn cycles(&self) -> u64 {
        Machine::cycles(self)
    }

    fn trace(&mut self, config: TraceConfig) -> Result<(), SimError> {
        Machine::trace(self, config)
    }

    fn finish_trace(&mut self) -> Result<Option<PathBuf>, SimError> {
        Machine::finish_trace(self)
    }
}

impl<T: Traffic> Simulated for RouterMachine<T> {
    fn cycles(&self) -> u64 {
        RouterMachine::cycles(self)
    }

    fn trace(&mut self, config: TraceConfig) -> Result<(), SimError> {
        RouterMachine::trace(self, config)
    }

    fn finish_trace(&mut self) -> Result<Option<PathBuf>, SimError> {
        RouterMachine::finish_trace(self)
    }
}

/// A machine of an attempt, which hears of its end; the waveform ends with it.
pub struct Observed<M: Simulated> {
    // Dropped in this order: a machine leaves its events when it ends.
    machine: M,
    machines: Machines,
    number: usize,
    /// Attempt without a command.
    _finish: Option<Finish>,
}

/// Finishes the waveform of a machine whose caller does not ask for it.
struct Finish(Machines);

impl Drop for Finish {
    fn drop(&mut self) {
        // Who wants to hear what becomes of it finishes it.
        let _ = self.0.finish(None);
    }
}

impl<M: Simulated> Deref for Observed<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.machine
    }
}

impl<M: Simulated> DerefMut for Observed<M> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.machine
    }
}

impl<M: Simulated> Drop for Observed<M> {
    fn drop(&mut self) {
        let written = self.machine.finish_trace();
        let cycles = self.machine.cycles();
        self.machines.ending(self.number, cycles, written);
    }
}

impl Observed<Machine> {
    /// One that is no command's.
    ///
    /// # Errors
    /// As [`MachineSpec::machine`](crate::machine_file::MachineSpec::machine).
    pub(crate) fn alone(
        config: &MachineConfig,
        trace: Option<TraceConfig>,
    ) -> Result<Self, SimError> {
        let wave = trace.map(|config| Wave {
            machine: 0,
            config,
            subject: Subject::Window,
        });
        let machines = Machines::with(wave);
        let mut alone = Self::next(&machines, config, Machine::new)?;
        alone._finish = Some(Finish(machines));
        Ok(alone)
    }
}

impl<M: Simulated> Observed<M> {
    /// The next machine of `machines`, which `make` makes.
    pub(crate) fn next(
        machines: &Machines,
        config: &MachineConfig,
        make: impl FnOnce(MachineConfig) -> Result<M, SimError>,
    ) -> Result<Self, SimError> {
        let (number, config, trace) = machines.next(config)?;
        let mut machine = make(config)?;
        trace.map_or(Ok(()), |trace| machine.trace(trace))?;
        Ok(Self {
            machine,
            machines: machines.clone(),
            number,
            _finish: None,
        })
    }
}
