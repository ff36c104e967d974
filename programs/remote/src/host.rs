//! Services of the machine for a thread of a task, beside the platform of its node.

use gyre_driver::{AllocError, Platform};

use crate::error::{ProcessError, TaskEnd};
use crate::pmi::PmiError;
use crate::process_memory::ProcessRange;

/// Carries the requests of a thread out until it ends: `None`, or its task with it: how. Blocks the host's thread while the task
/// computes, as [`TaskProcess::serve`](crate::TaskProcess::serve) does.
pub type ServeThread<P> =
    Box<dyn FnOnce(&P, &dyn TaskHost<P>) -> Result<Option<TaskEnd>, ProcessError>>;

/// State of a task that others may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It writes a register, sleeps, looks at a clock, asks for memory: what comes of it may be to come.
    Acts,
    /// It has looked for something, slept a while and not been woken.
    Polls,
    /// It sleeps until it is woken.
    Parks,
}

/// Services of the machine for a thread of a task, beside the node's platform.
pub trait TaskHost<P: Platform> {
    /// Makes bytes of the task's process memory for the node's DMA engine, which reaches them as long as the buffer
    /// lasts; at an offset behind the process's base slot where one is given ([`windows`](crate::windows)).
    ///
    /// # Errors
    /// [`AllocError`] where that cannot be.
    fn map(&self, range: ProcessRange, offset: Option<u64>) -> Result<P::Buffer, AllocError>;

    /// Lets simulated time pass until it is so late, picoseconds.
    fn sleep_until(&self, ps: u64);

    /// Lets all happen that comes before the task's time: it waits for something, and may ask for nothing that does.
    fn catch_up(&self);

    /// Has the task compute for so long, picoseconds of simulated time. The task's time is below 2^62 ps afterwards.
    fn compute(&self, ps: u64);

    /// The task's process has asked for nothing for a [slice](crate::Limits::slice) of the host's time: lets a little
    /// simulated time pass meanwhile. From now on the run does not repeat.
    fn go_on_without(&self);

    /// The task comes to its next barrier of all tasks of its job, which no message of the machine makes: start-up and end.
    fn arrive(&self);

    /// Whether all tasks have come to the barrier to which this one came last. The same for any order in which the
    /// machine simulates its nodes.
    ///
    /// # Errors
    /// Why some task will never come.
    fn have_arrived(&self) -> Result<bool, String>;

    /// Takes note of a request for whose answer the task's process waits.
    fn count_request(&self) {}

    /// Takes note of what the task does.
    ///
    /// # Errors
    /// Why nothing that it polls for will come.
    fn notice(&self, activity: Activity) -> Result<(), String> {
        let _ = activity;
        Ok(())
    }

    /// Has another thread of the task, of this number, run on the node beside this one, from now on: by calling `serve` where it
    /// runs, with what is its own of the platform and of this.
    ///
    /// # Errors
    /// Why there cannot be one.
    fn start_thread(&self, number: u32, serve: ServeThread<P>) -> Result<(), String> {
        let _ = (number, serve);
        Err("the task has one thread".to_owned())
    }

    /// Ends another thread of the task, which has not begun.
    fn end_thread(&self, thread: u32) {
        let _ = thread;
    }

    /// The task's process is gone: ends all its threads but this one.
    fn end_others(&self) {}

    /// Waits until another thread of the task wakes this one, or the deadline; whether it was woken. At once if it has been
    /// woken since it waited last.
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

    /// Answers a line of the start-up protocol, as [`PmiServer::ask`](crate::PmiServer::ask) says, unless more lines belong to
    /// it. Lets simulated time pass where the task waits for others. Called only for a process that was
    /// [started with it](crate::TaskProcess::spawn_with_pmi).
    ///
    /// # Errors
    /// Why the task's start-up cannot go on.
    fn start_up(&self, line: &str) -> Result<Option<String>, PmiError> {
        let _ = line;
        Err(PmiError::Nobody)
    }
}
