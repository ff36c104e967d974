//! A task's process, as the machine's process sees it.

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use command_fds::{CommandFdExt, FdMapping};
use gyre_driver::Platform;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use thiserror::Error;

use crate::copy_channel::Channel;
use crate::description::TaskDescription;
use crate::holdings::Holdings;
use crate::inherited::{self, BELL_FD, COPY_BELL_FD, COPY_MEMORY_FD, MEMORY_FD, PMI_FD};
use crate::layout;
use crate::mailbox::Mailbox;
use crate::pmi::PmiError;
use crate::process_memory::ProcessMemory;
use crate::session::{self, End, SessionError, TaskHost};
use crate::task_thread::{Task, TaskThread};
use crate::watch::{Limits, Stream, Watch};
use crate::wire::Wire;

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
    /// Its start-up cannot go on, or it has aborted the job.
    #[error(transparent)]
    Pmi(PmiError),
    /// It waits for what never comes.
    #[error("{0}")]
    Stuck(String),
    /// The task says that it failed.
    #[error("the task failed: {0}")]
    Task(String),
    /// The task ended well, its process did not.
    #[error("the task ended, then its process failed: {0}")]
    Exit(ExitStatus),
    /// What the process prints cannot be had.
    #[error("no way to what the task's process prints: {0}")]
    Output(io::Error),
    /// The operating system would not say how the process ended.
    #[error("the state of the task's process is unknown: {0}")]
    Unknown(io::Error),
}

/// How a task has ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskEnd {
    /// It had nothing of the node any more.
    Clean,
    /// It had buffers, locks or segments of the node, and with them open clients. They are gone: what others send it is
    /// refused, or stays where it is.
    Amid,
}

/// A task's process before its first request, in a process group of its own. When dropped, what is left of the group is killed.
pub struct TaskProcess {
    running: Running,
    mailbox: Mailbox,
    /// How the process copies bytes of its memory, where it must.
    channel: Channel,
    description: TaskDescription,
}

/// A running process. When dropped, what is left of its group is killed.
pub(crate) struct Running {
    child: RefCell<Child>,
    /// What its threads do.
    pub watch: RefCell<Watch>,
}

impl TaskProcess {
    /// Starts `command` with the mailbox as two inherited descriptors and their numbers in its environment, where
    /// [`run`](crate::run) finds them. The mailbox has no name: no other process gets at it. Standard input, output and
    /// error are as `command` says.
    ///
    /// The process is killed when the thread that calls this ends, so that a machine that is killed leaves no
    /// task behind. It must ask for something, or end, within the limits whenever it is its turn; the time that the
    /// machine takes to answer does not count.
    ///
    /// # Errors
    /// [`ProcessError::Mailbox`], [`ProcessError::Start`].
    pub fn spawn(
        command: Command,
        description: TaskDescription,
        limits: Limits,
    ) -> Result<Self, ProcessError> {
        Self::start(command, description, limits, None)
    }

    /// As [`spawn`](Self::spawn), with one more descriptor, on which the process speaks PMI-1 with the
    /// [host](TaskHost::start_up) as programs of MPI do when they start, and with what that says in its environment: `PMI_FD`,
    /// `PMI_RANK`, `PMI_SIZE`.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    pub fn spawn_with_pmi(
        mut command: Command,
        description: TaskDescription,
        limits: Limits,
    ) -> Result<Self, ProcessError> {
        let wire = Wire::create().map_err(ProcessError::Mailbox)?;
        let variables = [
            ("PMI_FD", PMI_FD.to_string()),
            ("PMI_RANK", description.task.to_string()),
            ("PMI_SIZE", description.nodes.len().to_string()),
        ];
        command.envs(variables);
        // Those of a launcher that has started the machine itself.
        for name in ["PMI_PORT", "PMI_ID", "PMI_SPAWNED"] {
            command.env_remove(name);
        }
        Self::start(command, description, limits, Some(wire))
    }

    fn start(
        mut command: Command,
        description: TaskDescription,
        limits: Limits,
        wire: Option<(Wire, OwnedFd)>,
    ) -> Result<Self, ProcessError> {
        let (mailbox, ends) = Mailbox::create().map_err(ProcessError::Mailbox)?;
        let (channel, copies) = Channel::create().map_err(ProcessError::Mailbox)?;
        let (wire, end) = wire.unzip();
        let mappings = [
            (ends.memory, MEMORY_FD),
            (ends.bell, BELL_FD),
            (copies.memory, COPY_MEMORY_FD),
            (copies.bell, COPY_BELL_FD),
        ];
        let mappings = mappings.into_iter().chain(end.map(|end| (end, PMI_FD)));
        let mappings = mappings.map(|(parent_fd, child_fd)| FdMapping {
            parent_fd,
            child_fd,
        });
        command
            .fd_mappings(mappings.collect())
            .expect("the descriptors have numbers of their own");
        command.env(inherited::VARIABLE, inherited::value());
        layout::pad(&mut command);
        command.process_group(0);
        prepare(&mut command);
        let started = command.spawn();
        let child = started.map_err(|source| ProcessError::Start {
            program: command.get_program().display().to_string(),
            source,
        })?;
        // With `command` goes this process's hold on the other side's doorbell: when the task's
        // process ends, the doorbell says so.
        drop(command);
        let running = Running {
            child: RefCell::new(child),
            watch: RefCell::new(Watch::new(limits, None)),
        };
        // On an error, the drop of `running` ends it.
        let ended = rustix::process::pidfd_open(running.pid(), PidfdFlags::empty());
        let ended = ended.map_err(|error| ProcessError::Unknown(error.into()))?;
        *running.watch.borrow_mut() = Watch::new(limits, Some(ended)).with_wire(wire);
        Ok(Self {
            running,
            mailbox,
            channel,
            description,
        })
    }

    /// Whether the system places the process at random addresses though it was asked not to: then a run does not repeat, if
    /// messages come from its stack.
    #[must_use]
    pub fn is_random(&self) -> bool {
        layout::is_random(self.id())
    }

    /// The other end of the process's standard input, if its command has that as a pipe.
    pub fn input(&mut self) -> Option<ChildStdin> {
        self.running.child.borrow_mut().stdin.take()
    }

    /// Passes on to `sink` what the process prints to those of its streams that its command has as pipes. All that it
    /// has printed before a request is passed on before that is carried out.
    ///
    /// # Errors
    /// [`ProcessError::Output`].
    pub fn collect(
        &mut self,
        sink: impl FnMut(Stream, &[u8]) + 'static,
    ) -> Result<(), ProcessError> {
        let child = &mut *self.running.child.borrow_mut();
        let output = child.stdout.take();
        let output = output.map(|pipe| (Stream::Output, pipe.into()));
        let error = child.stderr.take();
        let error = error.map(|pipe| (Stream::Error, pipe.into()));
        let streams = output.into_iter().chain(error).collect();
        let mut watch = self.running.watch.borrow_mut();
        let collected = watch.collect(streams, Box::new(sink));
        collected.map_err(ProcessError::Output)
    }

    /// The operating system's number of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.running.child.borrow().id()
    }

    /// Carries out the task's requests on `platform` until the task has ended and its process with it, by status 0: whether
    /// it was a task or not, and whether it had given back what it had of the node.
    /// Blocks the thread while the task computes: call it where the task would run, so that the machine
    /// stands still meanwhile.
    ///
    /// # Errors
    /// [`ProcessError`] for everything but a task that ended well.
    pub fn serve<P: Platform>(
        self,
        platform: &P,
        services: &dyn TaskHost<P>,
    ) -> Result<TaskEnd, ProcessError> {
        let limit = self.running.watch.borrow().limits().end;
        let memory = Rc::new(ProcessMemory::new(Rc::new(self.channel), limit));
        let holdings = Holdings::new(&self.description, memory, services);
        let task = Task::new(holdings, self.running, self.mailbox);
        let end = TaskThread::first(task).serve(platform, services)?;
        Ok(end.expect("a task ends with its first thread"))
    }
}

impl Running {
    /// The error of a process that has done nothing for too long.
    pub fn hung(&self) -> ProcessError {
        let limit = self.watch.borrow().limits().end;
        ProcessError::Hung { limit }
    }

    /// Waits for the end of the process, whose task ended so.
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
            // What it has said before it ended is there afterwards.
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

    /// Kills the process and those that it has started, but for those that have left its group. Its number, and with
    /// it the group's, is nobody else's before it is waited for.
    fn kill_group(&self) {
        // Fails when all of the group have ended.
        let _ = rustix::process::kill_process_group(self.pid(), Signal::KILL);
    }

    fn pid(&self) -> Pid {
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

/// The process of `command` has the same addresses each time, and is killed when the thread that starts it ends.
fn prepare(command: &mut Command) {
    let parent = rustix::process::getpid();
    let in_child = move || {
        layout::fix_addresses();
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before.
        if rustix::process::getppid() == Some(parent) {
            Ok(())
        } else {
            Err(io::ErrorKind::NotConnected.into())
        }
    };
    // SAFETY: between fork and exec the closure makes system calls and nothing else: it allocates nothing,
    // takes no lock, and touches no memory that another thread of the parent may have been changing.
    unsafe { command.pre_exec(in_child) };
}
