// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deferred receives as programs post them.

use crate::api::context::{Context, DeferFn, DeferredReceive, DoneFn};
use crate::api::operation::Instruction;
use crate::buffer::BufferRange;
use crate::error::Error;
use crate::operation::{DeferredId, ReceiveDeferred};
use crate::platform::Platform;
use crate::route::Routing;
use crate::sync::Ordering;

impl<P: Platform> Context<P> {
    /// Makes the handle of a message whose receive is deferred, and hands it to `keep`.
    pub(super) fn defer(&self, keep: DeferFn<P>) -> DeferredId {
        let number = self.shared().deferred_ever.fetch_add(1, Ordering::Relaxed);
        let id = DeferredId(number);
        let message = DeferredReceive {
            context: self.downgrade(),
            message: Some(id),
        };
        keep(self, message);
        id
    }
}

impl<P: Platform> DeferredReceive<P> {
    /// Posts the receive into the start of `into`: data that waits at its origin is fetched by `routing`, eager data is
    /// copied. `done` is called when all of it is there, as that of [`Receive::Into`](crate::Receive::Into): it gets
    /// [`Error::MessageTooLong`] for a message longer than `into`, and the origin is told the outcome.
    ///
    /// # Errors
    /// [`Error::Destroyed`]: `done` is not called.
    pub fn receive(
        mut self,
        into: BufferRange<P::Buffer>,
        routing: Routing,
        done: Option<DoneFn<P>>,
    ) -> Result<(), Error> {
        self.post(|message| {
            Instruction::Receive(ReceiveDeferred {
                message,
                into,
                routing,
                done,
            })
        })
    }

    /// Discards the data: the message counts as received, as one whose dispatch callback returned
    /// [`Receive::Consumed`](crate::Receive::Consumed).
    ///
    /// # Errors
    /// [`Error::Destroyed`].
    pub fn discard(mut self) -> Result<(), Error> {
        self.post(|message| Instruction::Discard {
            message,
            refused: false,
        })
    }

    /// Posts the end of the message, unless it has been posted.
    fn post(&mut self, end: impl FnOnce(DeferredId) -> Instruction<P>) -> Result<(), Error> {
        let Some(message) = self.message.take() else {
            return Ok(());
        };
        let context = Context::upgrade(&self.context).ok_or(Error::Destroyed)?;
        context.post(end(message))
    }
}

impl<P: Platform> Drop for DeferredReceive<P> {
    fn drop(&mut self) {
        // A destroyed context has refused all of its messages.
        let _ = self.post(|message| Instruction::Discard {
            message,
            refused: true,
        });
    }
}
