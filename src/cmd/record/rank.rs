// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one task of a program does, as operations of a trace.
//!
//! The thread of the task takes its steps in order: each operation begins after the one before it has begun, and after the end of
//! those of which the program knew by then. In between it computes, and the library works.

use std::collections::BTreeMap;

use gyre_timeline::ProgramStep;

/// What an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A message to a task.
    Send { to: u32, tag: u64, bytes: u32 },
    /// A message from a task; none if it was cancelled.
    Receive(Option<(u32, u64, u32)>),
    /// Computation, and work of the library for what began or ended before, picoseconds.
    Compute { ps: u64, work_ps: u64 },
}

/// An operation of the task. Others are named by their place in [`Rank::operations`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) kind: Kind,
    /// It begins after these have ended.
    pub(super) ended: Vec<usize>,
    /// It begins after this one has begun.
    pub(super) begun: Option<usize>,
}

/// A task of the program.
#[derive(Debug, Default)]
pub(super) struct Rank {
    /// When MPI was ready, and when its end began, picoseconds.
    pub(super) begun_ps: Option<u64>,
    pub(super) ended_ps: Option<u64>,
    pub(super) operations: Vec<Operation>,
    /// Sends and receives by their numbers.
    numbers: BTreeMap<u32, usize>,
    /// What the next operation waits for.
    ended: Vec<usize>,
    begun: Option<usize>,
    /// Computation since the last operation, and work of the library of which none has had a part, picoseconds.
    computed_ps: u64,
    work_ps: u64,
}

impl Rank {
    /// Whether MPI is in use.
    pub(super) fn is_active(&self) -> bool {
        self.begun_ps.is_some() && self.ended_ps.is_none()
    }

    /// The library has worked.
    pub(super) fn work(&mut self, ps: u64) {
        if self.is_active() {
            self.work_ps += ps;
        }
    }

    /// Takes the next step, at `ps`, with the time before it that the task has spent outside of the library.
    pub(super) fn step(&mut self, ps: u64, outside_ps: u64, step: ProgramStep) {
        if let ProgramStep::Begun = step {
            self.begun_ps.get_or_insert(ps);
            return;
        }
        if !self.is_active() {
            return;
        }
        self.computed_ps += outside_ps;
        match step {
            ProgramStep::Send {
                number,
                to,
                tag,
                bytes,
            } => self.begin(number, Kind::Send { to, tag, bytes }),
            ProgramStep::Receive { number } => self.begin(number, Kind::Receive(None)),
            ProgramStep::Sent { number } => {
                self.end(number);
            }
            ProgramStep::Received {
                number,
                from,
                tag,
                bytes,
            } => {
                if let Some(place) = self.end(number) {
                    self.operations[place].kind = Kind::Receive(Some((from, tag, bytes)));
                }
            }
            ProgramStep::Ending => {
                self.work_off();
                self.ended_ps = Some(ps);
            }
            ProgramStep::Begun | ProgramStep::Other(_) => {}
        }
    }

    fn begin(&mut self, number: u32, kind: Kind) {
        self.work_off();
        let place = self.add(kind);
        self.numbers.insert(number, place);
        self.begun = Some(place);
    }

    /// The program has learned of the end of an operation of the trace.
    fn end(&mut self, number: u32) -> Option<usize> {
        let place = self.numbers.remove(&number)?;
        if self.computed_ps > 0 {
            self.compute(0);
        }
        self.ended.push(place);
        Some(place)
    }

    /// Adds computation and work since the last operation. Work is for what has ended, so it comes behind that.
    fn work_off(&mut self) {
        let work_ps = std::mem::take(&mut self.work_ps);
        if self.computed_ps + work_ps > 0 {
            self.compute(work_ps);
        }
    }

    fn compute(&mut self, work_ps: u64) {
        let ps = std::mem::take(&mut self.computed_ps);
        let place = self.add(Kind::Compute { ps, work_ps });
        self.ended.push(place);
        self.begun = None;
    }

    fn add(&mut self, kind: Kind) -> usize {
        self.operations.push(Operation {
            kind,
            ended: std::mem::take(&mut self.ended),
            begun: self.begun,
        });
        self.operations.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEND: Kind = Kind::Send {
        to: 1,
        tag: 7,
        bytes: 8,
    };

    const fn compute(ps: u64, work_ps: u64) -> Kind {
        Kind::Compute { ps, work_ps }
    }

    fn rank(steps: &[(u64, ProgramStep)]) -> Rank {
        let mut rank = Rank::default();
        rank.step(0, 9, ProgramStep::Begun);
        for &(outside_ps, step) in steps {
            rank.step(0, outside_ps, step);
        }
        rank
    }

    fn send(number: u32) -> ProgramStep {
        ProgramStep::Send {
            number,
            to: 1,
            tag: 7,
            bytes: 8,
        }
    }

    fn operation(kind: Kind, ended: &[usize], begun: Option<usize>) -> Operation {
        Operation {
            kind,
            ended: ended.to_vec(),
            begun,
        }
    }

    #[test]
    fn x7_an_operation_waits_for_the_ends_that_the_program_knew_of() {
        let received = ProgramStep::Received {
            number: 0,
            from: 2,
            tag: 5,
            bytes: 4,
        };
        let rank = rank(&[
            (0, ProgramStep::Receive { number: 0 }),
            (0, send(1)),
            (0, received),
            (0, send(2)),
        ]);
        let expected = [
            operation(Kind::Receive(Some((2, 5, 4))), &[], None),
            operation(SEND, &[], Some(0)),
            operation(SEND, &[0], Some(1)),
        ];
        assert_eq!(rank.operations, expected);
    }

    #[test]
    fn x7_computation_stands_where_the_program_was_outside_of_mpi() {
        let rank = rank(&[
            (0, send(0)),
            (30, ProgramStep::Sent { number: 0 }),
            (20, send(1)),
            (10, ProgramStep::Ending),
        ]);
        let expected = [
            operation(SEND, &[], None),
            operation(compute(30, 0), &[], Some(0)),
            operation(compute(20, 0), &[1, 0], None),
            operation(SEND, &[2], None),
            operation(compute(10, 0), &[], Some(3)),
        ];
        assert_eq!(rank.operations, expected);
    }

    #[test]
    fn x7_work_of_the_library_comes_behind_the_end_that_it_was_for() {
        let mut rank = rank(&[(0, send(0))]);
        rank.work(40);
        rank.step(0, 30, ProgramStep::Sent { number: 0 });
        rank.step(0, 20, ProgramStep::Ending);
        rank.work(1);
        let expected = [
            operation(SEND, &[], None),
            operation(compute(30, 0), &[], Some(0)),
            operation(compute(20, 40), &[1, 0], None),
        ];
        assert_eq!(rank.operations, expected);
    }

    #[test]
    fn x7_what_begins_outside_of_mpis_use_is_no_part_of_a_trace() {
        let mut rank = Rank::default();
        rank.step(0, 5, send(0));
        rank.step(1, 5, ProgramStep::Begun);
        rank.step(2, 0, ProgramStep::Sent { number: 0 });
        rank.step(3, 0, ProgramStep::Ending);
        rank.step(4, 5, send(1));
        assert_eq!(rank.operations, []);
        assert_eq!((rank.begun_ps, rank.ended_ps), (Some(1), Some(3)));
    }
}
