// SPDX-License-Identifier: MIT OR Apache-2.0
//! Service of a task's thread in the machine's process.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use gyre_driver::Platform;

use crate::error::{ProcessError, SessionError, TaskEnd};
use crate::host::TaskHost;
use crate::mailbox::{Ends, Mailbox, MailboxError};
use crate::resources::NodeResources;
use crate::running::Running;
use crate::session::{self, End, Host};

/// State shared by the threads of a task.
pub(crate) struct Task<P: Platform> {
    // Dropped before the process, so that its memory is unregistered when it ends.
    pub resources: NodeResources<P>,
    // Dropped before its mailboxes, so that it never sees one without its other side.
    pub running: Running,
    /// By number of the thread.
    mailboxes: RefCell<BTreeMap<u32, Rc<Mailbox>>>,
}

impl<P: Platform> Task<P> {
    /// A task of one thread, whose mailbox is there.
    pub fn new(resources: NodeResources<P>, running: Running, mailbox: Mailbox) -> Self {
        Self {
            resources,
            running,
            mailboxes: RefCell::new(BTreeMap::from([(0, Rc::new(mailbox))])),
        }
    }

    /// The mailbox of a thread.
    fn mailbox(&self, thread: u32) -> Rc<Mailbox> {
        Rc::clone(&self.mailboxes.borrow()[&thread])
    }
}

/// A thread of a task in a process of its own, whose requests have a mailbox of their own.
pub(crate) struct TaskThread<P: Platform> {
    task: Rc<Task<P>>,
    number: u32,
}

impl<P: Platform + 'static> TaskThread<P> {
    /// The first thread of a task.
    pub(crate) fn first(task: Task<P>) -> Self {
        Self {
            task: Rc::new(task),
            number: 0,
        }
    }

    /// Another one, and the process's side of its mailbox.
    fn next(task: &Rc<Task<P>>, number: u32) -> io::Result<(Self, Ends)> {
        let (mailbox, ends) = Mailbox::create()?;
        task.mailboxes.borrow_mut().insert(number, Rc::new(mailbox));
        let task = Rc::clone(task);
        Ok((Self { task, number }, ends))
    }

    /// Carries out the thread's requests on `platform` until it ends (`None`), or its task with it (the end). Blocks the host's thread
    /// while the task computes, as [`TaskProcess::serve`](crate::TaskProcess::serve) does.
    ///
    /// # Errors
    /// [`ProcessError`] for everything but a thread or task that ended well.
    pub fn serve(
        self,
        platform: &P,
        services: &dyn TaskHost<P>,
    ) -> Result<Option<TaskEnd>, ProcessError> {
        let running = &self.task.running;
        let start_thread = |number| {
            let (thread, ends) =
                Self::next(&self.task, number).map_err(|error| error.to_string())?;
            let serve =
                move |platform: &P, services: &dyn TaskHost<P>| thread.serve(platform, services);
            services.start_thread(number, Box::new(serve))?;
            Ok(ends)
        };
        let host = Host {
            thread: self.number,
            services,
            start_thread: &start_thread,
        };
        let (watch, resources) = (&running.watch, &self.task.resources);
        let mailbox = self.task.mailbox(self.number);
        let served = session::serve(&mailbox, watch, &host, resources, platform);
        let end = match served {
            Ok(End::Finished(None)) if self.number > 0 => {
                self.task.mailboxes.borrow_mut().remove(&self.number);
                return Ok(None);
            }
            Ok(End::Finished(Some(text))) => Err(ProcessError::Task(text)),
            Ok(end) => running.end(&end, services),
            // It has ended while the machine went on for it.
            Err(SessionError::Mailbox(MailboxError::Closed)) => {
                let amid = resources.has_something();
                running.end(&End::Gone { amid }, services)
            }
            Err(SessionError::Mailbox(MailboxError::Silent)) => Err(running.hung()),
            Err(SessionError::Pmi(error)) => Err(ProcessError::Pmi(error)),
            Err(SessionError::Stuck(text)) => Err(ProcessError::Stuck(text)),
            Err(error) => Err(ProcessError::Protocol(error)),
        };
        running.watch.borrow_mut().pass_output_on();
        services.end_others();
        end.map(Some)
    }
}
