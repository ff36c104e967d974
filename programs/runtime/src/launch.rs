// SPDX-License-Identifier: MIT OR Apache-2.0
//! The run that a program was called for: a machine full of tasks.

use gyre_driver::Error;
use gyre_sim::{ActorError, Until};

use crate::error::RunError;
use crate::job::Job;
use crate::machine_file::MachineSpec;
use crate::options::UsageError;
use crate::placement::Placement;
use crate::report::Report;
use crate::settings::{Setting, Settings, Value};
use crate::task::Task;

/// How many tasks each node has: a setting of every program.
pub const TASKS_PER_NODE: Setting<usize> =
    Setting::number("tasks_per_node", "", 1, (1, 16), "tasks of each node");

/// Environment of a program's run: machine, settings, and tasks on every node.
pub struct Launch<'a> {
    name: &'a str,
    spec: &'a MachineSpec,
    settings: &'a Settings,
    placement: Placement,
    contexts: u8,
}

impl<'a> Launch<'a> {
    /// A run of the program `name`.
    ///
    /// # Errors
    /// Tasks for which the nodes have no room.
    pub(crate) fn new(
        name: &'a str,
        spec: &'a MachineSpec,
        settings: &'a Settings,
    ) -> Result<Self, UsageError> {
        let placement = Placement::filled(settings.get(&TASKS_PER_NODE), &spec.config.dims)?;
        Ok(Self {
            name,
            spec,
            settings,
            placement,
            contexts: 1,
        })
    }

    /// The machine.
    #[must_use]
    pub fn spec(&self) -> &MachineSpec {
        self.spec
    }

    /// The value of a setting of the program, or its default.
    ///
    /// # Panics
    /// As [`Settings::get`].
    #[must_use]
    pub fn get<T: Value>(&self, setting: &Setting<T>) -> T {
        self.settings.get(setting)
    }

    /// The value given for a setting of the program.
    ///
    /// # Panics
    /// As [`Settings::given`].
    #[must_use]
    pub fn given<T: Value>(&self, setting: &Setting<T>) -> Option<T> {
        self.settings.given(setting)
    }

    /// Number of tasks.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.placement.node.len()
    }

    /// Number of tasks on each node: neighbouring numbers share a node.
    #[must_use]
    pub fn tasks_per_node(&self) -> usize {
        self.placement.per_node
    }

    /// The same where each task has so many contexts, unless a configuration says how many.
    #[must_use]
    pub fn with_contexts(&self, contexts: u8) -> Self {
        Self {
            placement: self.placement.clone(),
            contexts,
            ..*self
        }
    }

    /// Runs `body` in every task, once all tasks have their contexts, and the machine until all have ended: what the
    /// tasks returned, by number, and a report with their number and the cycles that they took.
    ///
    /// # Errors
    /// Clients that cannot be; the first error of a task; a machine that stopped.
    pub fn run<T, E>(
        &self,
        body: impl Fn(&Task) -> Result<T, E> + 'static,
    ) -> Result<(Vec<T>, Report), RunError>
    where
        T: 'static,
        E: From<Error> + Into<ActorError> + 'static,
    {
        let mut job = Job::of(self.spec, &self.placement)?;
        let (name, contexts) = (self.name.to_owned(), self.contexts);
        let open = move |process| Task::open(process, &name, contexts);
        let (tasks, ready) = job.each("opens", Until::Done, open)?;
        let run = move |_, task: Task| {
            let result = body(&task)?;
            task.close()?;
            Ok::<T, E>(result)
        };
        let (results, end) = job.each_with("runs", Until::Quiet, tasks, run)?;
        // The machine goes on until nobody is left who would be woken.
        let ended = end.makespan_ps.div_ceil(self.spec.config.cycle_ps);
        let cycles = ended.saturating_sub(ready.cycles);
        let report = Report::new(end, cycles)
            .param("tasks_per_node", self.tasks_per_node())
            .metric("tasks", results.len())
            .metric("cycles", cycles);
        Ok((results, report))
    }
}
