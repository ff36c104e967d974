// SPDX-License-Identifier: MIT OR Apache-2.0
//! A context's queue: posted work, calls at a time, and sleeping threads.

use std::collections::{BTreeMap, VecDeque};

use crate::done_table::DoneTable;

/// Time of no alarm.
pub(super) const NEVER: u64 = u64::MAX;

/// A context's queue, with instructions `W`, done callbacks `D`, calls `C` and modules `E`.
pub(super) struct Queue<W, D, C, E> {
    pub(super) work: VecDeque<W>,
    /// Done callbacks of all unfinished operations.
    pub(super) done: DoneTable<D>,
    /// Functions to call at a time, by time and order of the calls of `call_at`.
    pub(super) alarms: BTreeMap<(u64, u64), C>,
    /// Alarms set so far.
    pub(super) alarms_ever: u64,
    /// Modules with completions to deliver, one entry for each completion.
    pub(super) ends: VecDeque<E>,
    /// Threads inside `wait` that the last announcement has not reached.
    pub(super) unaware: usize,
    pub(super) destroyed: bool,
}

impl<W, D, C, E> Queue<W, D, C, E> {
    pub(super) fn new() -> Self {
        Self {
            work: VecDeque::with_capacity(crate::PREPARED),
            done: DoneTable::new(),
            alarms: BTreeMap::new(),
            alarms_ever: 0,
            ends: VecDeque::new(),
            unaware: 0,
            destroyed: false,
        }
    }
}
