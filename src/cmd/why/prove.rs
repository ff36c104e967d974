// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counterfactuals of `gyre why --prove`: the program again on the RTL, without a cause.

use gyre_driver::Op;
use gyre_goal::payload::Key;
use gyre_sim::SimError;
use gyre_timeline::{Message, Messages};
use gyre_why::{Analysis, Culprit, LEAST_LINK_CYCLES, LEAST_MEMORY_CYCLES};
use indicatif::ProgressBar;

use super::observed::Observed;
use crate::cmd::workload::Workload;
use gyre::progress;
use gyre_replay::{GoalError, GoalReport, GoalRun, Withheld};

/// Gain of the removal of a cause.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proof {
    /// Picoseconds; negative where it has cost some.
    pub gain_ps: i64,
}

/// Removes each of the first causes in turn, and runs the program.
///
/// # Errors
/// A run that does not come to its end.
pub(super) fn all(
    workload: &Workload,
    observed: &Observed,
    analysis: &Analysis,
    causes: usize,
) -> Result<Vec<Proof>, GoalError> {
    let causes = &analysis.causes[..analysis.causes.len().min(causes)];
    let bar = progress::bar(causes.len() as u64, "counterfactuals");
    let before = observed.report.makespan_ps;
    let proofs = causes.iter().map(|cause| {
        let goal = without(&workload.goal, &observed.messages, cause.culprit);
        let report = again(&goal, workload)?;
        bar.inc(1);
        Ok(Proof {
            gain_ps: gain(before, report.makespan_ps),
        })
    });
    let proofs = proofs.collect();
    bar.finish_and_clear();
    proofs
}

/// Picoseconds from `after_ps` to `before_ps`, as far as they fit.
fn gain(before_ps: u64, after_ps: u64) -> i64 {
    let difference = i128::from(before_ps) - i128::from(after_ps);
    let most = i128::from(i64::MAX);
    // Within 64 bits.
    difference.clamp(-most, most) as i64
}

fn again(goal: &GoalRun, workload: &Workload) -> Result<GoalReport, GoalError> {
    let spec = goal.spec.attempt(None);
    spec.config.validate().map_err(SimError::from)?;
    let loaded = goal.load(&spec, workload.program.clone(), &ProgressBar::hidden())?;
    loaded.run()
}

/// The run of the program without a cause.
fn without(goal: &GoalRun, messages: &Messages, culprit: Culprit) -> GoalRun {
    let mut goal = goal.clone();
    let config = &mut goal.spec.config;
    match culprit {
        Culprit::Operation(number) => {
            if let Some(&op) = Op::ALL.get(usize::from(number)) {
                goal.spec.costs = goal.spec.costs.with_free(op);
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
        Culprit::Computation(rank) => goal.change.halved = Some(rank),
        Culprit::Message(serial) => {
            goal.change.withheld = messages
                .all()
                .iter()
                .find(|message| message.serial == serial)
                .and_then(|message| withheld(messages, message));
        }
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
