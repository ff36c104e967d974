//! Threads of a task beside its first, as the task's process sees them.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::connection::{Connection, Link, is_attached};
use crate::description::TaskDescription;
use crate::mailbox::{Ends, Mailbox, MailboxError};
use crate::protocol::Request;

/// Whether the task has had another thread than its first.
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// A thread of the task that the machine knows, and which no thread of the process is yet.
pub struct StartedThread {
    number: u32,
    ends: Ends,
    description: Option<TaskDescription>,
}

impl StartedThread {
    /// Asks the machine for another thread of the task. The thread that asks is one that it serves.
    ///
    /// # Errors
    /// [`MailboxError::NoThread`] where there can be no more, and others when the machine is lost.
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

    /// Makes the thread that calls this, which the machine does not serve, that thread. Returns when the machine runs it.
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

    /// Tells the machine that there will be no such thread.
    pub fn abandon(self) {
        let thread = self.number;
        Link.tell(&Request::DropThread { thread });
    }

    /// Tells the machine that the thread that calls this, not the first of its task, ends. It is served no more afterwards.
    pub fn end() {
        if is_attached() {
            // A machine that is lost needs not be told.
            let _ = Link.exchange(&Request::Finish { error: None });
            Connection::close();
        }
    }
}
