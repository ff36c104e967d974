// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task's process while it runs, and its end.

use std::cell::RefCell;
use std::io;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use gyre_driver::Platform;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::error::{ProcessError, TaskEnd};
use crate::host::TaskHost;
use crate::session::{self, End};
use crate::watch::Watch;

/// Interval of polls for the end of a process that has closed its doorbell.
const END_POLL: Duration = Duration::from_millis(1);

/// A running process. Drop kills the rest of its group.
pub(crate) struct Running {
    pub child: RefCell<Child>,
    /// Observed state of the process and its threads.
    pub watch: RefCell<Watch>,
}

impl Running {
    /// Error of a process that has exceeded the limit.
    pub fn hung(&self) -> ProcessError {
        let limit = self.watch.borrow().limits().end;
        ProcessError::Hung { limit }
    }

    /// Waits for the end of the process, after this end of its task.
    pub fn end<P: Platform>(
        &self,
        end: &End,
        services: &dyn TaskHost<P>,
    ) -> Result<TaskEnd, ProcessError> {
        let status = self.exit_status(services)?;
        match end {
            End::Gone { amid: true } if status.success() => Ok(TaskEnd::Amid),
            _ if status.success() => Ok(TaskEnd::Clean),
            End::Finished(_) => Err(ProcessError::Exit(status)),
            End::Gone { .. } => Err(ProcessError::Ended(status)),
        }
    }

    /// Waits for the end of the process, and ends the processes that it has started. A program that has left its mailbox may
    /// still print, and end the start-up protocol.
    fn exit_status<P: Platform>(
        &self,
        services: &dyn TaskHost<P>,
    ) -> Result<ExitStatus, ProcessError> {
        let mut since = Instant::now();
        let limits = self.watch.borrow().limits();
        while since.elapsed() < limits.end {
            // Its lines are readable after its end.
            let ended = self.has_ended().map_err(ProcessError::Unknown)?;
            let said = session::answer_lines(&self.watch, services);
            if said.map_err(ProcessError::Pmi)? {
                since = Instant::now();
            }
            if ended {
                self.kill_group();
                return self
                    .child
                    .borrow_mut()
                    .wait()
                    .map_err(ProcessError::Unknown);
            }
            self.watch.borrow_mut().pass_output_on();
            thread::sleep(END_POLL);
        }
        Err(self.hung())
    }

    /// Whether the process has ended; if so, its number stays taken until it is waited for.
    fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = rustix::process::waitid(WaitId::Pid(self.pid()), options)?;
        Ok(status.is_some())
    }

    /// Kills the process and its children, except those that have left its group. Its number, and that of the group, is not
    /// reused before it is waited for.
    fn kill_group(&self) {
        // Fails when all of the group have ended.
        let _ = rustix::process::kill_process_group(self.pid(), Signal::KILL);
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child.borrow())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A process that was waited for has no number any more.
        let state = self.child.get_mut().try_wait();
        if let Ok(None) = state {
            self.kill_group();
            // Fails only for a process that was waited for.
            let _ = self.child.get_mut().wait();
            self.watch.get_mut().pass_output_on();
        }
    }
}
