// SPDX-License-Identifier: MIT OR Apache-2.0
//! Byte counters at the target of puts (EP-16, HW-1).

use crate::api::context::{Context, DoneFn};
use crate::api::operation::{Count, Instruction};
use crate::error::Error;
use crate::platform::Platform;
use crate::rma::target_counter::{RemoteCounter, TargetCounter};
use crate::sync::Arc;

/// A byte counter of a context, which the puts of peers lower as their data lands: the DMA engine of the context's node
/// lowers it without software. Peers name it by its [`RemoteCounter`] in
/// [`PutNotify::Counter`](crate::PutNotify::Counter).
///
/// ```text
/// let counter = context.create_counter()?;
/// let arrived = Completion::new();
/// counter.arm(bytes, Some(arrived.callback()))?;   // then tell the peers
/// arrived.wait(&context)?;                         // all bytes are in memory
/// ```
///
/// Refused bytes, and bytes of a put that its origin gives up, never arrive: the origin has the error.
pub struct ByteCounter<P: Platform> {
    context: Context<P>,
    counter: Arc<TargetCounter<P>>,
}

impl<P: Platform> Context<P> {
    /// A byte counter of this context, at zero. It lasts as long as the handle, and longer while bytes are outstanding.
    ///
    /// # Errors
    /// [`Error::Alloc`], [`Error::CounterReach`].
    pub fn create_counter(&self) -> Result<ByteCounter<P>, Error> {
        let counter = TargetCounter::new(self.platform(), self.query().endpoint)?;
        Ok(ByteCounter {
            context: self.clone(),
            counter: Arc::new(counter),
        })
    }
}

impl<P: Platform> ByteCounter<P> {
    /// Handle by which peers name the counter.
    #[must_use]
    pub fn remote(&self) -> RemoteCounter {
        self.counter.remote()
    }

    /// Sets the counter, which must be at zero, to the expected bytes, before any peer puts some. `advance` of the
    /// context calls `done` when all of them are in memory. A put of no bytes counts as one byte.
    ///
    /// # Errors
    /// [`Error::CounterArmed`] while bytes are outstanding, [`Error::Destroyed`].
    pub fn arm(&self, bytes: u64, done: Option<DoneFn<P>>) -> Result<(), Error> {
        self.counter.arm(self.context.platform(), bytes)?;
        let counter = Arc::clone(&self.counter);
        self.context
            .post(Instruction::Count(Count { counter, done }))
    }

    /// Outstanding bytes.
    ///
    /// # Errors
    /// Errors of the memory.
    pub fn left(&self) -> Result<u64, Error> {
        Ok(self.counter.left(self.context.platform())?)
    }
}
