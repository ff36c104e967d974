// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of a job that its tasks share.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use gyre_remote::PmiServer;

use super::barrier::Barrier;
use super::polls::Polls;

/// State shared by all tasks of a job.
pub(super) struct JobWide {
    /// Barriers at start and end of clients.
    pub(super) barrier: Barrier,
    /// Barriers of the start-up protocol.
    pub(super) start_up: Barrier,
    pub(super) pmi: RefCell<PmiServer>,
    pub(super) polls: Polls,
    /// Host time without an action of any task that ends the run.
    pub(super) limit: Duration,
    /// Why the memory of a process cannot be reached, if so.
    pub(super) trouble: Rc<RefCell<Option<String>>>,
    /// Requests for whose answers processes have waited.
    pub(super) requests: Cell<u64>,
}
