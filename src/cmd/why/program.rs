// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that `gyre why` explains: traces, and processes.

use std::path::Path;

use gyre::machine_file::MachineSpec;
use gyre::progress;
use gyre_driver::Op;
use gyre_goal::payload::Key;
use gyre_replay::{GoalRun, Withheld};
use gyre_sim::SimError;
use gyre_timeline::{Message, Messages};
use gyre_why::{Culprit, LEAST_LINK_CYCLES, LEAST_MEMORY_CYCLES};
use indicatif::ProgressBar;
use serde_json::{Map, Value};

use super::observed::{Ended, Observed};
use crate::cmd::exec::{self, ExecArgs, Prepared};
use crate::cmd::workload::{Workload, WorkloadArgs};
use crate::error::CommandError;

/// A program with its machine.
pub(super) enum Program {
    /// Of a trace, which Gyre itself runs.
    Trace(Box<(Workload, WorkloadArgs)>),
    /// Of processes.
    Processes(Box<(Prepared, ExecArgs)>),
}

impl Program {
    /// The trace that `args` ask for.
    ///
    /// # Errors
    /// As [`Workload::prepare`].
    pub(super) fn trace(args: WorkloadArgs) -> Result<Self, CommandError> {
        let workload = Workload::prepare(&args)?;
        Ok(Self::Trace(Box::new((workload, args))))
    }

    /// The processes that `args` ask for.
    ///
    /// # Errors
    /// As [`Prepared::new`].
    pub(super) fn processes(args: ExecArgs) -> Result<Self, CommandError> {
        let prepared = Prepared::new(&args)?;
        Ok(Self::Processes(Box::new((prepared, args))))
    }

    /// Its name, as the user gave it.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Trace(program) => program.1.workload.clone(),
            Self::Processes(program) => program.1.program[0].to_string_lossy().into_owned(),
        }
    }

    /// Its machine.
    pub(super) fn spec(&self) -> &MachineSpec {
        match self {
            Self::Trace(program) => &program.0.goal.spec,
            Self::Processes(program) => &program.0.spec,
        }
    }

    /// Every parameter that its figures depend on.
    pub(super) fn params(&self) -> Map<String, Value> {
        match self {
            Self::Trace(program) => program.0.params(&program.1),
            Self::Processes(program) => program.0.params(&program.1),
        }
    }

    /// The file that the figures are to be written to, where standard output is the program's.
    pub(super) fn json_file(&self) -> Option<&Path> {
        match self {
            Self::Trace(..) => None,
            Self::Processes(program) => program.1.json.as_deref(),
        }
    }

    /// Runs it, recorded.
    ///
    /// # Errors
    /// A run that does not come to its end.
    pub(super) fn observe(&self) -> Result<Observed, CommandError> {
        match self {
            Self::Trace(program) => {
                let (workload, _) = &**program;
                let bar = progress::bar(workload.operations(), "operations");
                let observed = Observed::of(self.spec(), |spec| {
                    ended(&workload.goal, spec, workload, &bar)
                });
                bar.finish_and_clear();
                observed
            }
            Self::Processes(program) => {
                Observed::of(self.spec(), |spec| processes_ended(program, spec))
            }
        }
    }

    /// Picoseconds that it takes without a cause; none where it cannot be run like that.
    ///
    /// # Errors
    /// As [`Program::observe`].
    pub(super) fn without(
        &self,
        culprit: Culprit,
        messages: &Messages,
    ) -> Result<Option<u64>, CommandError> {
        let Some(spec) = machine_without(self.spec(), culprit) else {
            let Self::Trace(program) = self else {
                // What a process computes and sends is its own affair.
                return Ok(None);
            };
            let (workload, _) = &**program;
            let goal = program_without(&workload.goal, messages, culprit);
            let spec = goal.spec.attempt(None);
            let ended = ended(&goal, &spec, workload, &ProgressBar::hidden())?;
            return Ok(Some(ended.makespan_ps));
        };
        spec.config.validate().map_err(SimError::from)?;
        let ended = match self {
            Self::Trace(program) => {
                let (workload, _) = &**program;
                let goal = GoalRun {
                    spec: spec.clone(),
                    ..workload.goal.clone()
                };
                ended(&goal, &spec, workload, &ProgressBar::hidden())?
            }
            Self::Processes(program) => processes_ended(program, &spec)?,
        };
        Ok(Some(ended.makespan_ps))
    }
}

/// Runs processes on a machine.
fn processes_ended(
    (prepared, args): &(Prepared, ExecArgs),
    spec: &MachineSpec,
) -> Result<Ended, CommandError> {
    let ran = exec::execute(args, spec, &prepared.placement)?;
    Ok(Ended {
        makespan_ps: ran.makespan_ps,
        makespan_cycles: ran.makespan_ps.div_ceil(spec.config.cycle_ps),
        cycles: ran.machine.cycles,
        hash: ran.machine.hash,
    })
}

/// Runs a trace on a machine.
fn ended(
    goal: &GoalRun,
    spec: &MachineSpec,
    workload: &Workload,
    bar: &ProgressBar,
) -> Result<Ended, CommandError> {
    let report = goal.load(spec, workload.program.clone(), bar)?.run()?;
    Ok(Ended {
        makespan_ps: report.makespan_ps,
        makespan_cycles: report.makespan_cycles,
        cycles: report.sim.cycles,
        hash: report.sim.hash,
    })
}

/// The machine without a cause; none where the cause is the program's.
fn machine_without(spec: &MachineSpec, culprit: Culprit) -> Option<MachineSpec> {
    let mut spec = spec.attempt(None);
    let config = &mut spec.config;
    match culprit {
        Culprit::Operation(number) => {
            if let Some(&op) = Op::ALL.get(usize::from(number)) {
                spec.costs = spec.costs.with_free(op);
            }
        }
        Culprit::MemoryLatency => {
            config.memory.read_latency = LEAST_MEMORY_CYCLES;
            config.memory.write_latency = LEAST_MEMORY_CYCLES;
            // The longest window that is exact is shorter.
            config.window = None;
        }
        Culprit::LinkLatency => {
            config.link_latency = LEAST_LINK_CYCLES;
            config.window = None;
        }
        Culprit::Computation(_) | Culprit::Message(_) => return None,
    }
    Some(spec)
}

/// The trace without a cause that is its own.
fn program_without(goal: &GoalRun, messages: &Messages, culprit: Culprit) -> GoalRun {
    let mut goal = goal.clone();
    match culprit {
        Culprit::Computation(rank) => goal.change.halved = Some(rank),
        Culprit::Message(serial) => {
            let all = messages.all().iter();
            let message = all.clone().find(|message| message.serial == serial);
            goal.change.withheld = message.and_then(|message| withheld(messages, message));
        }
        Culprit::Operation(_) | Culprit::MemoryLatency | Culprit::LinkLatency => {}
    }
    goal
}

/// A message as ranks know it: the number counts those of the same source, destination and tag.
fn withheld(messages: &Messages, message: &Message) -> Option<Withheld> {
    let name = |m: &Message| (m.source.task, m.destination.task, m.tag);
    let before = messages
        .all()
        .iter()
        .filter(|other| other.serial < message.serial && name(other) == name(message));
    Some(Withheld {
        key: Key {
            source: message.source.task,
            destination: message.destination.task,
            tag: message.tag,
            number: before.count() as u64,
        },
        receive_line: message.receive_line?,
        sent_ps: message.acknowledged_ps,
        received_ps: message.done_ps?,
    })
}
