// SPDX-License-Identifier: MIT OR Apache-2.0
//! The job that the process is a task of.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use gyre_remote::{RemotePlatform, TaskDescription};

/// The process is not a task of a job.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct NoJob(String);

/// The job, once the program has attached to it.
static JOB: OnceLock<Result<Job, NoJob>> = OnceLock::new();

/// Whether this process is a copy of a task's, which the machine does not serve.
static LEFT: AtomicBool = AtomicBool::new(false);

/// Notes that this process is a copy of a task's; returns whether that is new.
pub(crate) fn leave() -> bool {
    let new = gyre_remote::is_attached() && !LEFT.swap(true, Ordering::Relaxed);
    if new {
        gyre_remote::leave();
    }
    new
}

/// The machine, and this task's place in it.
pub struct Job {
    /// The driver's platform.
    pub platform: RemotePlatform,
    /// Description of this task.
    pub description: TaskDescription,
    /// The tasks of this node, as queries give them.
    pub local_tasks: Vec<usize>,
}

impl Job {
    /// The job of this process. The first call attaches to it, and then calls `begin`.
    ///
    /// # Errors
    /// [`NoJob`] when no machine has started the process.
    pub(crate) fn get_or_attach(begin: fn(&Self)) -> Result<&'static Self, NoJob> {
        let attach = || Self::attach().inspect(begin);
        JOB.get_or_init(attach).as_ref().map_err(Clone::clone)
    }

    /// The job, if there is one and the machine serves this thread.
    pub fn of_this_thread() -> Option<&'static Self> {
        let job = JOB.get()?.as_ref().ok()?;
        gyre_remote::is_attached().then_some(job)
    }

    /// Whether the process is a task, or has been started by one, and nothing of it is attached to a machine yet; or it is a
    /// copy of such a process.
    pub fn is_apart() -> bool {
        static TASK: OnceLock<bool> = OnceLock::new();
        LEFT.load(Ordering::Relaxed)
            || JOB.get().is_none() && *TASK.get_or_init(gyre_remote::is_task)
    }

    fn attach() -> Result<Self, NoJob> {
        let platform = gyre_remote::attach()
            .map_err(|error| NoJob(format!("{error}: gyre exec starts programs")))?;
        let description = platform
            .description()
            .map_err(|error| NoJob(error.to_string()))?;
        let here = description.nodes.get(description.task as usize);
        let tasks = description.nodes.iter().enumerate();
        let local_tasks = tasks.filter(|(_, node)| Some(*node) == here);
        Ok(Self {
            local_tasks: local_tasks.map(|(task, _)| task).collect(),
            platform,
            description,
        })
    }
}
