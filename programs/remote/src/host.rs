// SPDX-License-Identifier: MIT OR Apache-2.0
//! Services of the machine for a thread of a task, beside the platform of its node.

use gyre_driver::{AllocError, Platform};

use crate::activity::{Activity, Stuck};
use crate::error::{ProcessError, TaskEnd};
use crate::pmi::PmiError;
use crate::process_memory::ProcessRange;

/// Carries out the requests of a thread until it ends (`None`), or its task with it (the end). Blocks the host's thread while the task
/// computes, as [`TaskProcess::serve`](crate::TaskProcess::serve) does.
pub type ServeThread<P> =
    Box<dyn FnOnce(&P, &dyn TaskHost<P>) -> Result<Option<TaskEnd>, ProcessError>>;

/// Services of the machine for a thread of a task, beside the node's platform.
pub trait TaskHost<P: Platform> {
    /// Registers bytes of the task's process with the node's DMA engine as long as the buffer lasts; at an offset of the process's
    /// base slot if one is given ([`windows`](crate::windows)).
    ///
    /// # Errors
    /// [`AllocError`] if that is impossible.
    fn map(&self, range: ProcessRange, offset: Option<u64>) -> Result<P::Buffer, AllocError>;

    /// Lets simulated time pass until this time, picoseconds.
    fn sleep_until(&self, ps: u64);

    /// Lets all events before the task's time happen, for a task that polls without requests to the machine.
    fn catch_up(&self);

    /// Lets the task compute for this time, picoseconds of simulated time. The task's time is below 2^62 ps afterwards.
    fn compute(&self, ps: u64);

    /// Lets a little simulated time pass without the task, whose process has made no request for a
    /// [slice](crate::Limits::slice) of host time. From then on the run does not repeat.
    fn go_on_without(&self);

    /// Enters the next barrier of all tasks of the job, at start-up and end. It sends no messages.
    fn arrive(&self);

    /// Whether all tasks have entered the barrier that this one has entered last. The same for any order in which the
    /// machine simulates its nodes.
    ///
    /// # Errors
    /// Reason why a task will never enter it.
    fn have_arrived(&self) -> Result<bool, String>;

    /// Notes a request whose answer the task's process waits for.
    fn count_request(&self) {}

    /// Looks whether the job has run for too long in host time without progress: requests alone are none.
    ///
    /// # Errors
    /// The limit that has passed.
    fn check_limit(&self) -> Result<(), Stuck> {
        Ok(())
    }

    /// Notes the state of the task.
    ///
    /// # Errors
    /// Reason why its polls will never find anything.
    fn notice(&self, activity: Activity) -> Result<(), Stuck> {
        let _ = activity;
        Ok(())
    }

    /// Starts thread `number` of the task on the node beside this one: it calls `serve` there, with a platform and services of its
    /// own.
    ///
    /// # Errors
    /// Reason why it cannot start.
    fn start_thread(&self, number: u32, serve: ServeThread<P>) -> Result<(), String> {
        let _ = (number, serve);
        Err("the task has one thread".to_owned())
    }

    /// Ends another thread of the task, which has not begun.
    fn end_thread(&self, thread: u32) {
        let _ = thread;
    }

    /// Ends all threads of a task but this one, after its process has gone.
    fn end_others(&self) {}

    /// Waits until another thread of the task wakes this one, or until the deadline; returns whether it was woken. Returns at once if
    /// it was woken after its last wait.
    fn park(&self, deadline_ps: Option<u64>) -> bool {
        if let Some(ps) = deadline_ps {
            self.sleep_until(ps);
        }
        false
    }

    /// Wakes another thread of the task.
    fn unpark(&self, thread: u32) {
        let _ = thread;
    }

    /// Answers a line of the start-up protocol, as [`PmiServer::ask`](crate::PmiServer::ask), unless more lines belong to
    /// it. Lets simulated time pass where the task waits for others. Called only for a process that was
    /// [started with it](crate::TaskProcess::spawn_with_pmi).
    ///
    /// # Errors
    /// Reason why the start-up fails.
    fn start_up(&self, line: &str) -> Result<Option<String>, PmiError> {
        let _ = line;
        Err(PmiError::Nobody)
    }
}
