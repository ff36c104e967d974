// SPDX-License-Identifier: MIT OR Apache-2.0
//! Further threads of a task, on the side of the task's process.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::connection::{Connection, Link, is_attached};
use crate::mailbox::{Mailbox, MailboxError};
use crate::protocol::Request;

/// Whether the task has had a second thread.
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// A thread of the task that the machine has registered, before a thread of the process takes it.
pub struct StartedThread {
    number: u32,
    connection: Box<Connection>,
}

impl StartedThread {
    /// Asks the machine for another thread of the task. The machine must serve the calling thread.
    ///
    /// # Errors
    /// [`MailboxError::NoThread`] if no more threads are possible; others when the machine is lost.
    pub fn new() -> Result<Self, MailboxError> {
        let (number, ends) = Link.start_thread()?;
        let connection = Connection::new(Mailbox::open(ends)?, number);
        if let Some(description) = Link.description.get() {
            connection.description.get_or_init(|| description.clone());
        }
        SEVERAL.store(true, Ordering::Relaxed);
        Ok(Self { number, connection })
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

    /// Makes the calling thread, which the machine does not serve yet, that thread. Returns when the machine runs it; until then it
    /// allocates nothing and takes no lock, as others of the task run.
    ///
    /// # Errors
    /// The machine is lost.
    pub fn begin(self) -> Result<(), MailboxError> {
        self.connection.begin().await_start()
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
