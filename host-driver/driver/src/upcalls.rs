// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interface of the protocols to the layer above them: work to carry out, and callbacks to call.
//!
//! Protocols do not know [`Context`](crate::Context), which callbacks get: imports between files go one way, and
//! protocols name a callback by its number.

use crate::am::dispatch::{Arrival, Receive};
use crate::done_table::DoneId;
use crate::error::{Error, Fault};
use crate::operation::{DeferredId, Work};
use crate::platform::Platform;
use crate::progress::Progress;
use crate::rma::notify::PutArrival;

/// The interface as the engine of a context sees it during a turn.
pub(crate) trait Upcalls<P: Platform> {
    /// A done callback of the program, which instructions carry until they are posted.
    type Done;
    /// A function of the program.
    type Call;

    /// Counts of the turn.
    fn progress(&mut self) -> &mut Progress;

    /// Calls the functions whose time has come, and those that every turn calls.
    fn tick(&mut self);

    /// Whether [`next_work`](Self::next_work) has something, or the context has been destroyed.
    fn has_work(&self) -> bool;

    /// Takes posted work off the queue.
    ///
    /// # Errors
    /// [`Error::Destroyed`].
    fn take_work(&mut self) -> Result<(), Fault>;

    /// The next instruction of those taken off the queue.
    fn next_work(&mut self) -> Option<Work<P, Self::Done, Self::Call>>;

    /// Calls a posted function.
    fn call(&mut self, call: Self::Call);

    /// Calls the dispatch callback of `id`; `None` when there is none.
    fn dispatch(&mut self, id: u8, arrival: &Arrival<'_>)
    -> Option<Receive<P, DoneId, DeferredId>>;

    /// Calls the callback for puts of `id`; false when there is none.
    fn put(&mut self, id: u8, arrival: &PutArrival) -> bool;

    /// Calls a done callback, unless it has been called; returns whether it did.
    fn done(&mut self, done: DoneId, result: Result<(), Error>) -> bool;
}

/// Hands a result to its done callback; returns an error without one.
pub(crate) fn deliver<P: Platform>(
    up: &mut impl Upcalls<P>,
    done: Option<DoneId>,
    result: Result<(), Fault>,
) -> Result<(), Fault> {
    match done {
        Some(done) => {
            up.done(done, result.map_err(Error::from));
            Ok(())
        }
        None => result,
    }
}

/// Hands an error to its done callbacks; returns it where there are none.
pub(crate) fn deliver_error<P: Platform>(
    up: &mut impl Upcalls<P>,
    waiting: impl IntoIterator<Item = Option<DoneId>>,
    error: Fault,
) -> Result<(), Fault> {
    let mut told = false;
    for done in waiting.into_iter().flatten() {
        told = true;
        up.done(done, Err(Error::clone(&error)));
    }
    if told { Ok(()) } else { Err(error) }
}
