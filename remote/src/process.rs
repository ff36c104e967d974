//! A task's process, as the machine's process sees it.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use gyre_driver::Platform;
use tempfile::TempPath;
use thiserror::Error;

use crate::mailbox::{Mailbox, MailboxError};
use crate::session::{self, SessionError};

/// How often the end of a process that has closed its doorbell is looked for.
const END_POLL: Duration = Duration::from_millis(1);

/// Why a task in a process of its own has not ended well. The process is ended in any case.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// The mailbox could not be made.
    #[error("no mailbox for the task's process: {0}")]
    Mailbox(io::Error),
    /// The process could not be started.
    #[error("{program} cannot be started: {source}")]
    Start {
        /// The program.
        program: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// The process ended before its task did.
    #[error("the task's process ended before its task: {0}")]
    Ended(ExitStatus),
    /// The process did nothing for too long.
    #[error("the task's process asked for nothing and did not end within {} s of the host's time", .limit.as_secs_f64())]
    Hung {
        /// The limit.
        limit: Duration,
    },
    /// The process asked for something that makes no sense.
    #[error("the task's process does not keep to the protocol: {0}")]
    Protocol(SessionError),
    /// The task says that it failed.
    #[error("the task failed: {0}")]
    Task(String),
    /// The task ended well, its process did not.
    #[error("the task ended, then its process failed: {0}")]
    Exit(ExitStatus),
    /// The operating system would not say how the process ended.
    #[error("the state of the task's process is unknown: {0}")]
    Unknown(io::Error),
}

/// A running task's process. Ended by force when dropped.
pub struct TaskProcess {
    child: Child,
    mailbox: Mailbox,
    /// The mailbox's file, removed on drop.
    _file: TempPath,
    limit: Duration,
}

impl TaskProcess {
    /// A limit that only a process that hangs exceeds.
    pub const LIMIT: Duration = Duration::from_secs(120);

    /// Starts `command` with the mailbox's file as its last argument, for the program to pass to
    /// [`run`](crate::run), and the doorbell as its standard input.
    ///
    /// The process must ask for something, or end, within `limit` of the host's time whenever it is its
    /// turn; the time that the machine takes to answer does not count.
    ///
    /// # Errors
    /// [`ProcessError::Mailbox`], [`ProcessError::Start`].
    pub fn spawn(mut command: Command, limit: Duration) -> Result<Self, ProcessError> {
        let (mailbox, file, bell) = Mailbox::create().map_err(ProcessError::Mailbox)?;
        mailbox.set_limit(limit).map_err(ProcessError::Mailbox)?;
        let started = command
            .arg(&file)
            .stdin(Stdio::from(OwnedFd::from(bell)))
            .spawn();
        let child = started.map_err(|source| ProcessError::Start {
            program: command.get_program().display().to_string(),
            source,
        })?;
        // `command` goes, and with it this process's hold on the other side's doorbell: when the task's
        // process ends, the doorbell says so.
        Ok(Self {
            child,
            mailbox,
            _file: file,
            limit,
        })
    }

    /// The operating system's number of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Carries out the task's requests on `platform` until the task has ended and its process with it.
    /// Blocks the thread while the task computes: call it where the task would run, so that the machine
    /// stands still meanwhile.
    ///
    /// # Errors
    /// [`ProcessError`] for everything but a task that ended well.
    pub fn serve<P: Platform>(mut self, platform: &P) -> Result<(), ProcessError> {
        let failure = match session::serve(&self.mailbox, platform) {
            Ok(failure) => failure,
            Err(SessionError::Mailbox(MailboxError::Closed)) => {
                return Err(ProcessError::Ended(self.end()?));
            }
            Err(SessionError::Mailbox(MailboxError::Silent)) => return Err(self.hung()),
            Err(error) => return Err(ProcessError::Protocol(error)),
        };
        if let Some(text) = failure {
            return Err(ProcessError::Task(text));
        }
        let status = self.end()?;
        if status.success() {
            Ok(())
        } else {
            Err(ProcessError::Exit(status))
        }
    }

    fn hung(&self) -> ProcessError {
        ProcessError::Hung { limit: self.limit }
    }

    /// Waits for the end of the process.
    fn end(&mut self) -> Result<ExitStatus, ProcessError> {
        let start = Instant::now();
        while start.elapsed() < self.limit {
            if let Some(status) = self.child.try_wait().map_err(ProcessError::Unknown)? {
                return Ok(status);
            }
            thread::sleep(END_POLL);
        }
        Err(self.hung())
    }
}

impl Drop for TaskProcess {
    fn drop(&mut self) {
        // Both fail only for a process that has ended and been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
