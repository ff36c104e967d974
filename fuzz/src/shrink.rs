//! Makes a failing case small: fewer stimuli, simpler fields, a smaller machine, still the same kind of failure.

use crate::case::{Action, Case};

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
        for candidate in machines(&best) {
            attempt(candidate, &mut best);
        }
        for at in 0..best.stimulus.len() {
            for action in simpler(&best.stimulus[at].action) {
                let mut candidate = best.clone();
                candidate.stimulus[at].action = action;
                attempt(candidate, &mut best);
            }
        }
        if best == before {
            break;
        }
    }
    Shrunk { case: best, runs }
}

/// Simpler machines for a case, the simplest first.
fn machines(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    let change = |change: &dyn Fn(&mut Case)| {
        let mut candidate = case.clone();
        change(&mut candidate);
        candidate
    };
    if case.machine.dims != [2] {
        all.push(change(&|c| {
            c.machine.dims = vec![2];
            let nodes = 2;
            for stimulus in &mut c.stimulus {
                stimulus.node %= nodes;
                if let Action::Send(send) = &mut stimulus.action {
                    send.to %= nodes;
                }
            }
        }));
    }
    all.push(change(&|c| c.machine.jitter = 0));
    all.push(change(&|c| c.machine.stall_percent = 0));
    all.push(change(&|c| c.machine.reorder = false));
    all.push(change(&|c| c.machine.seed = 1));
    all
}

/// Simpler actions than this one.
fn simpler(action: &Action) -> Vec<Action> {
    let mut all = Vec::new();
    if let Action::Send(send) = action {
        let mut add = |change: &dyn Fn(&mut crate::case::Send)| {
            let mut simple = send.clone();
            change(&mut simple);
            all.push(Action::Send(simple));
        };
        add(&|s| s.spoil.clear());
        add(&|s| s.counter = None);
        add(&|s| s.deposit = false);
        add(&|s| {
            s.dynamic = false;
            s.flow = false;
        });
        add(&|s| s.carries.truncate(1));
        add(&|s| s.carries.iter_mut().for_each(|put| put.spoil.clear()));
        add(&|s| {
            s.carries
                .iter_mut()
                .for_each(|put| put.length = put.length.min(64))
        });
        add(&|s| s.length = s.length.min(64));
        add(&|s| s.source = 0);
        add(&|s| s.fifo = 0);
    }
    all
}

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
