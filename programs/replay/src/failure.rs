// SPDX-License-Identifier: MIT OR Apache-2.0
//! Failure of a program, for its timeline.

use gyre_goal::OpKind;
use gyre_goal::exec::{BlockedOp, WaitingFor};
use gyre_page::{Failure, Wait};

use crate::{Blocked, GoalError};
use gyre::placement::Placement;
use gyre::timeline;

/// The error, with the operations that wait, and the threads.
pub fn failure(error: &GoalError, placement: &Placement, cycle_ps: u64) -> Failure {
    let mut source = error;
    while let GoalError::Shown { source: inner, .. } = source {
        source = inner;
    }
    let mut failure = Failure::default();
    if let GoalError::Machine { source, blocked } = source {
        failure = timeline::of_machine(source, cycle_ps);
        let mut waits = operations(blocked, placement);
        waits.append(&mut failure.waits);
        failure.waits = waits;
    }
    failure.text = error.to_string();
    failure
}

fn operations(blocked: &Blocked, placement: &Placement) -> Vec<Wait> {
    let reports = blocked.0.iter();
    let wait = |rank: u32, op: &BlockedOp| {
        let (what, on) = match (op.kind.kind, op.waiting_for) {
            (OpKind::Recv { from, .. }, WaitingFor::Arrival) => ("the message", from),
            (OpKind::Send { to, .. }, WaitingFor::Handover) => ("its receive", Some(to)),
            (_, WaitingFor::Processor) => ("its processor", None),
            (_, WaitingFor::Start) => ("its start", None),
            (_, WaitingFor::Time) => ("the end of its time", None),
            (_, WaitingFor::Handover | WaitingFor::Arrival) => ("its end", None),
        };
        let line = op
            .line
            .map_or_else(String::new, |line| format!("line {line}: "));
        let behind = match op.behind {
            0 => String::new(),
            1 => "; 1 operation behind it".to_owned(),
            behind => format!("; {behind} operations behind it"),
        };
        Wait {
            who: format!("rank {rank}: {line}{}", op.kind),
            rank: Some(rank),
            // A machine has fewer nodes.
            node: placement.node[rank as usize] as u32,
            since_ps: None,
            what: format!("{what}{behind}"),
            on,
        }
    };
    reports
        .flat_map(|report| report.ops.iter().map(move |op| wait(report.rank, op)))
        .collect()
}
