// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task's process, as the machine's process sees it.

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command};
use std::rc::Rc;

use command_fds::{CommandFdExt, FdMapping};
use gyre_driver::Platform;
use rustix::process::{PidfdFlags, Resource, Signal};

use crate::copy_channel::Channel;
use crate::description::TaskDescription;
use crate::descriptors;
use crate::error::{ProcessError, TaskEnd};
use crate::host::TaskHost;
use crate::inherited::{self, BELL_FD, COPY_BELL_FD, COPY_MEMORY_FD, MEMORY_FD, PMI_FD};
use crate::layout;
use crate::mailbox::Mailbox;
use crate::process_memory::ProcessMemory;
use crate::resources::NodeResources;
use crate::running::Running;
use crate::start_up_lines::Wire;
use crate::task_thread::{Task, TaskThread};
use crate::watch::{Limits, Stream, Watch};

/// A task's process before its first request, in its own process group. Drop kills the rest of the group.
pub struct TaskProcess {
    running: Running,
    mailbox: Mailbox,
    /// Channel by which the process copies bytes of its memory.
    channel: Channel,
    description: TaskDescription,
    is_long: bool,
}

impl TaskProcess {
    /// Starts `command` with the mailbox as two inherited descriptors and their numbers in its environment, where
    /// [`run`](crate::run) finds them. The mailbox has no name, so no other process can open it. Standard input, output and
    /// error are those of `command`.
    ///
    /// The process is killed when the thread that calls this ends, so that a machine that is killed leaves no
    /// task behind. In its turn it must make a request or end within the limits; the time that the machine takes to answer does
    /// not count.
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
        // Variables of a launcher that has started the machine itself.
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
        let is_long = layout::pad(&mut command);
        command.process_group(0);
        prepare(&mut command);
        let started = command.spawn();
        let child = started.map_err(|source| ProcessError::Start {
            program: command.get_program().display().to_string(),
            source,
        })?;
        // Closes this process's copy of the other side's doorbell, so that the doorbell reports the end of the task's
        // process.
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
            is_long,
        })
    }

    /// Whether arguments and environment are longer than 64 KiB: then the stack begins elsewhere than with less.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.is_long
    }

    /// Whether the system places the process at random addresses in spite of the request: then a run with messages from the
    /// stack does not repeat.
    #[must_use]
    pub fn is_random(&self) -> bool {
        layout::is_random(self.id())
    }

    /// The other end of the process's standard input, if its command has that as a pipe.
    pub fn input(&mut self) -> Option<ChildStdin> {
        self.running.child.borrow_mut().stdin.take()
    }

    /// Passes the output of the process to `sink`, for the streams that are pipes in its command. Output before a request is
    /// passed on before the request is carried out.
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

    /// Carries out the task's requests on `platform` until the task and its process have ended with status 0; returns whether it
    /// had freed its resources of the node.
    /// Blocks the thread while the task computes: call it where the task would run, so that the machine
    /// stands still meanwhile.
    ///
    /// # Errors
    /// [`ProcessError`] for everything but a task that ended well.
    pub fn serve<P: Platform + 'static>(
        self,
        platform: &P,
        services: &dyn TaskHost<P>,
    ) -> Result<TaskEnd, ProcessError> {
        let limit = self.running.watch.borrow().limits().end;
        let memory = Rc::new(ProcessMemory::new(Rc::new(self.channel), limit));
        let resources = NodeResources::new(&self.description, memory, services);
        let task = Task::new(resources, self.running, self.mailbox);
        let end = TaskThread::first(task).serve(platform, services)?;
        Ok(end.expect("a task ends with its first thread"))
    }
}

/// The process of `command` has the same addresses each time, the descriptors that it may expect, and is killed when the thread
/// that starts it ends.
fn prepare(command: &mut Command) {
    let parent = rustix::process::getpid();
    let limit = descriptors::before();
    let in_child = move || {
        if let Some(limit) = limit {
            rustix::process::setrlimit(Resource::Nofile, limit)?;
        }
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
