// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task of a program, with its clients and contexts open.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gyre_driver::{Client, Context, Error, TaskId, advancev};
use gyre_sim::{ActorError, Notify};

use crate::job::Process;
use crate::platform::SimPlatform;

/// Result of a task, with any error.
pub type TaskResult<T> = Result<T, Box<dyn std::error::Error>>;

/// A client of a task, and its contexts.
pub struct OpenClient {
    client: Client<SimPlatform>,
    contexts: Vec<Context<SimPlatform>>,
}

impl OpenClient {
    /// The client.
    #[must_use]
    pub fn client(&self) -> &Client<SimPlatform> {
        &self.client
    }

    /// Its contexts, by offset.
    #[must_use]
    pub fn contexts(&self) -> &[Context<SimPlatform>] {
        &self.contexts
    }

    /// Its context at offset 0.
    #[must_use]
    pub fn context(&self) -> &Context<SimPlatform> {
        &self.contexts[0]
    }
}

/// A task as a program's function gets it: all contexts of all tasks are there, so it may set its dispatch callbacks,
/// send, and advance, in that order. When the function has returned, the contexts are advanced until they are at rest,
/// and destroyed.
pub struct Task {
    process: Process,
    clients: Vec<OpenClient>,
}

impl Task {
    /// Opens the clients of a process with all their contexts: those of its configuration, or one of this name with so
    /// many contexts.
    ///
    /// # Errors
    /// A client or context that is refused.
    pub(crate) fn open(process: Process, name: &str, contexts: u8) -> Result<Self, Error> {
        let open = |config| {
            let client = Client::create(&process.platform, config)?;
            let contexts = (0..client.contexts()).map(|offset| client.create_context(offset));
            Ok(OpenClient {
                contexts: contexts.collect::<Result<_, Error>>()?,
                client,
            })
        };
        let clients = process.clients(name, contexts).into_iter().map(open);
        Ok(Self {
            clients: clients.collect::<Result<_, Error>>()?,
            process,
        })
    }

    /// Advances the contexts until they are at rest, and destroys them.
    ///
    /// # Errors
    /// Those of advancing and destroying.
    pub(crate) fn close(self) -> Result<(), Error> {
        let contexts: Vec<_> = self.clients.iter().flat_map(|c| c.contexts()).collect();
        match contexts[..] {
            [only] => only.advance_until(|| only.is_at_rest())?,
            _ => {
                // A thread sleeps in one context: what the others get must not wait for that.
                let all: Vec<_> = contexts.iter().map(|&context| context.clone()).collect();
                while !contexts.iter().all(|context| context.is_at_rest()) {
                    advancev(&all, 1)?;
                }
            }
        }
        for context in contexts {
            context.destroy()?;
        }
        Ok(())
    }

    /// Number of the task in its program.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.process.task
    }

    /// Number of tasks of the program.
    #[must_use]
    pub fn count(&self) -> usize {
        self.process.tasks.len()
    }

    /// The machine as the task sees it: memory, time, and the cost of its computation.
    #[must_use]
    pub fn platform(&self) -> &SimPlatform {
        &self.process.platform
    }

    /// Lets the time of a computation of `instructions` instructions pass.
    pub fn compute(&self, instructions: u64) {
        self.platform().cpu().charge_instructions(instructions);
    }

    /// The clients of the task, in the order of its configuration.
    #[must_use]
    pub fn clients(&self) -> &[OpenClient] {
        &self.clients
    }

    /// The client of a name.
    ///
    /// # Panics
    /// When the task has none: the program's configuration says which it has.
    #[must_use]
    pub fn client_named(&self, name: &str) -> &OpenClient {
        let named = |open: &&OpenClient| open.client.name() == name;
        let found = self.clients.iter().find(named);
        found.unwrap_or_else(|| panic!("{} has no client `{name}`", self.id()))
    }

    /// The first client: the only one, if the program has no configuration.
    ///
    /// # Panics
    /// When a configuration gives the task none.
    #[must_use]
    pub fn client(&self) -> &Client<SimPlatform> {
        &self.clients[0].client
    }

    /// The first context of the first client.
    ///
    /// # Panics
    /// As [`Task::client`].
    #[must_use]
    pub fn context(&self) -> &Context<SimPlatform> {
        self.clients[0].context()
    }

    /// The contexts of the first client, by offset.
    ///
    /// # Panics
    /// As [`Task::client`].
    #[must_use]
    pub fn contexts(&self) -> &[Context<SimPlatform>] {
        self.clients[0].contexts()
    }

    /// Runs `body` in a thread of the task for each of `items`, and waits until all have ended: what they returned, in
    /// that order. An error of a thread ends the program. Starting and ending threads takes no simulated time. Thread `n`
    /// runs on hardware thread `n` of the task's core, unless it [asks for another](SimPlatform::run_on); where there are
    /// more, they begin again.
    pub fn threads<S, T, E>(
        &self,
        items: impl IntoIterator<Item = S>,
        body: impl Fn(S) -> Result<T, E> + 'static,
    ) -> Vec<T>
    where
        S: 'static,
        T: 'static,
        E: Into<ActorError> + 'static,
    {
        let cpu = self.platform().cpu();
        let items: Vec<S> = items.into_iter().collect();
        let running = Rc::new(Cell::new(items.len()));
        let ended = Notify::new(cpu);
        let results: Vec<_> = items.iter().map(|_| None).collect();
        let results = Rc::new(RefCell::new(results));
        let body = Rc::new(body);
        for (number, item) in items.into_iter().enumerate() {
            let (body, results, running) =
                (Rc::clone(&body), Rc::clone(&results), Rc::clone(&running));
            let ended = ended.clone();
            let name = format!("task {} thread {number}", self.process.number);
            let hardware = self.process.hardware_thread(number);
            cpu.spawn(&name, move |cpu| {
                cpu.run_on(hardware);
                let result = body(item)?;
                results.borrow_mut()[number] = Some(result);
                running.set(running.get() - 1);
                ended.notify_all();
                Ok::<(), E>(())
            });
        }
        while running.get() > 0 {
            cpu.describe_wait("the end of the task's threads");
            ended.wait(None);
        }
        let results = std::mem::take(&mut *results.borrow_mut());
        results.into_iter().flatten().collect()
    }
}
