// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes a failing case small: fewer stimuli, simpler fields, a smaller machine, still the same kind of failure.

use crate::case::{Action, Carried, Case, Send};

/// A case made small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrunk {
    /// The case.
    pub case: Case,
    /// Cases run for it.
    pub runs: u64,
}

/// Shrinks a case as long as `fails` says that it still fails in the same way, with at most `budget` runs.
pub fn shrink_case(case: &Case, budget: u64, mut fails: impl FnMut(&Case) -> bool) -> Shrunk {
    let mut best = case.clone();
    let mut runs = 0;
    let mut attempt = |candidate: Case, best: &mut Case| {
        if runs >= budget || candidate == *best || candidate.check().is_err() {
            return false;
        }
        runs += 1;
        let good = fails(&candidate);
        if good {
            *best = candidate;
        }
        good
    };
    loop {
        let before = best.clone();
        let mut chunk = best.stimulus.len().div_ceil(2);
        while chunk > 0 {
            let mut at = 0;
            while at < best.stimulus.len() {
                let mut candidate = best.clone();
                let end = (at + chunk).min(candidate.stimulus.len());
                candidate.stimulus.drain(at..end);
                if !attempt(candidate, &mut best) {
                    at += chunk;
                }
            }
            chunk = if chunk == 1 { 0 } else { chunk.div_ceil(2) };
        }
        for change in MACHINES {
            let mut candidate = best.clone();
            change(&mut candidate);
            attempt(candidate, &mut best);
        }
        for at in 0..best.stimulus.len() {
            for change in SENDS {
                let mut candidate = best.clone();
                if let Action::Send(send) = &mut candidate.stimulus[at].action {
                    change(send);
                    attempt(candidate, &mut best);
                }
            }
        }
        if best == before {
            break;
        }
    }
    Shrunk { case: best, runs }
}

/// Simplifications of a machine, the most effective first.
const MACHINES: [fn(&mut Case); 5] = [
    |case| {
        let nodes = 2;
        case.machine.dims = vec![2];
        for stimulus in &mut case.stimulus {
            stimulus.node %= nodes;
            if let Action::Send(send) = &mut stimulus.action {
                send.to %= nodes;
            }
        }
    },
    |case| case.machine.jitter = 0,
    |case| case.machine.stall_percent = 0,
    |case| case.machine.reorder = false,
    |case| case.machine.seed = 1,
];

/// Simplifications of a descriptor.
const SENDS: [fn(&mut Send); 10] = [
    |send| send.spoil.clear(),
    |send| send.counter = None,
    |send| send.deposit = false,
    |send| {
        send.dynamic = false;
        send.flow = false;
    },
    |send| send.carries.truncate(1),
    |send| send.carries.iter_mut().for_each(|put| put.spoil.clear()),
    |send| {
        let short = |put: &mut Carried| put.length = put.length.min(64);
        send.carries.iter_mut().for_each(short);
    },
    |send| send.length = send.length.min(64),
    |send| send.source = 0,
    |send| send.fifo = 0,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::draw_case;

    #[test]
    fn x5_what_does_not_matter_is_deleted() {
        let case = draw_case(1, 4, Some(&[2, 2]));
        let matters = |case: &Case| {
            let reads = case.stimulus.iter().filter(|s| s.action.class() == "read");
            reads.count() >= 2
        };
        assert!(matters(&case));
        let shrunk = shrink_case(&case, 1_000, matters);
        assert_eq!(shrunk.case.stimulus.len(), 2);
        assert_eq!(shrunk.case.machine.dims, [2]);
        assert_eq!(shrunk.case.check(), Ok(()));
    }

    #[test]
    fn x5_the_budget_of_runs_is_kept() {
        let case = draw_case(1, 3, None);
        let mut runs = 0;
        let shrunk = shrink_case(&case, 7, |_| {
            runs += 1;
            false
        });
        assert_eq!((shrunk.runs, runs), (7, 7));
        assert_eq!(shrunk.case, case);
    }
}
