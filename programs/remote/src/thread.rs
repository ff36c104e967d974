// SPDX-License-Identifier: MIT OR Apache-2.0
//! Further threads of a task, on the side of the task's process.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::connection::{Connection, Link, is_attached};
use crate::description::TaskDescription;
use crate::mailbox::{Ends, Mailbox, MailboxError};
use crate::protocol::Request;

/// Whether the task has had a second thread.
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// A thread of the task that the machine has registered, before a thread of the process takes it.
pub struct StartedThread {
    number: u32,
    ends: Ends,
    description: Option<TaskDescription>,
}

impl StartedThread {
    /// Asks the machine for another thread of the task. The machine must serve the calling thread.
    ///
    /// # Errors
    /// [`MailboxError::NoThread`] if no more threads are possible; others when the machine is lost.
    pub fn new() -> Result<Self, MailboxError> {
        let (number, ends) = Link.start_thread()?;
        SEVERAL.store(true, Ordering::Relaxed);
        Ok(Self {
            number,
            ends,
            description: Link.description.get().cloned(),
        })
    }

    /// Whether the task has, or has had, another thread than its first.
    #[must_use]
    pub fn several() -> bool {
        SEVERAL.load(Ordering::Relaxed)
    }

    /// Its number in the task, whose first thread is 0.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Makes the calling thread, which the machine does not serve yet, that thread. Returns when the machine runs it.
    ///
    /// # Errors
    /// The machine is lost.
    pub fn begin(self) -> Result<(), MailboxError> {
        let connection = Connection::open(Mailbox::open(self.ends)?, self.number);
        if let Some(description) = self.description {
            connection.description.get_or_init(|| description);
        }
        connection.await_start()
    }

    /// Tells the machine that the thread will not start.
    pub fn abandon(self) {
        let thread = self.number;
        Link.tell(&Request::DropThread { thread });
    }

    /// Tells the machine that the calling thread, not the first of its task, ends; the machine stops serving it.
    pub fn end() {
        if is_attached() {
            // A lost machine need not be told.
            let _ = Link.exchange(&Request::Finish { error: None });
            Connection::close();
        }
    }
}
