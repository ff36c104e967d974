// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conditions that actors wait for, and the signals that resume them.

use std::fmt;

use crate::error::BusError;

/// Names an actor of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActorId(pub(crate) u32);

/// Signal that resumes an actor.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Signal {
    Go,
    /// By an actor of its node, by its number there.
    By(u32),
    Deadline,
    Value(Result<u64, BusError>),
}

/// Condition that an actor waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Ready,
    Sleep { until_ps: u64 },
    Read { addr: u64 },
    Fence,
    Wake { mask: u32, deadline_ps: Option<u64> },
    Lock,
    Notify { deadline_ps: Option<u64> },
    Finished,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let deadline = |f: &mut fmt::Formatter<'_>, deadline: &Option<u64>| match deadline {
            Some(ps) => write!(f, ", at most until {ps} ps"),
            None => Ok(()),
        };
        match self {
            Wait::Ready => write!(f, "its turn"),
            Wait::Sleep { until_ps } => write!(f, "time {until_ps} ps"),
            Wait::Read { addr } => write!(f, "the answer of register {addr:#x}"),
            Wait::Fence => write!(f, "its posted register writes"),
            Wait::Wake { mask, deadline_ps } => {
                write!(f, "wake-up lines {mask:#x}")?;
                deadline(f, deadline_ps)
            }
            Wait::Lock => write!(f, "a lock"),
            Wait::Notify { deadline_ps } => {
                write!(f, "a notification")?;
                deadline(f, deadline_ps)
            }
            Wait::Finished => write!(f, "nothing: it has ended"),
        }
    }
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeReason {
    /// The awaited event has happened.
    Wake,
    /// The deadline came first.
    Deadline,
}
