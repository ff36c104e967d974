// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a context.

use crate::api::callbacks::Callbacks;
use crate::api::context::{Context, Held};
use crate::attention::Reason;
use crate::error::Error;
use crate::platform::Platform;
use crate::sync::Ordering;

impl<P: Platform> Context<P> {
    /// Ends the context and gives its FIFOs back to the node; the client may then create another one in its place.
    /// Nothing can be posted any more. Unfinished work is given up: its done callbacks get [`Error::Destroyed`], and
    /// [`Error::WorkLeft`] counts it. To lose nothing, advance until the context [is at rest](Self::is_at_rest).
    /// Waiting peers are told: their messages get [`Error::MessagesRefused`], as do messages that arrive later.
    ///
    /// # Errors
    /// [`Error::AdvanceInCallback`], [`Error::Busy`], [`Error::Destroyed`]: the context is as before.
    /// [`Error::WorkLeft`], [`Error::SetUp`], [`Error::Bus`]: it is destroyed.
    pub fn destroy(&self) -> Result<(), Error> {
        let mut held = self.enter()?;
        self.check_alive()?;
        let Held { engine, calls } = &mut *held;
        // Dropped outside of the lock: values that functions hold may use the queue in their drop.
        let ((posted, ends, _alarms), asleep) = self.with_queue(|queue| {
            queue.destroyed = true;
            let alarms = core::mem::take(&mut queue.alarms);
            self.note_alarm(queue);
            self.core().attention.call(Reason::Posted);
            let work = core::mem::take(&mut queue.work);
            let ends = core::mem::take(&mut queue.ends);
            ((work, ends, alarms), self.announce_to(queue))
        });
        self.signal(asleep);
        let posted = posted.len() + ends.len() + core::mem::take(&mut calls.work).len();
        let mut callbacks = Callbacks::new(self, calls);
        let result = engine.close(posted, &mut callbacks);
        callbacks.abandon();
        self.shared().closed.store(true, Ordering::Release);
        Ok(result?)
    }
}
