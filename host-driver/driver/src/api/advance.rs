// SPDX-License-Identifier: MIT OR Apache-2.0
//! Advancing a context: the thread that does so carries out work and runs callbacks.

use crate::api::callbacks::Callbacks;
use crate::api::context::{Calls, Context, Held};
use crate::cost::Op;
use crate::engine::Engine;
use crate::error::Error;
use crate::platform::Platform;
use crate::progress::Progress;
use crate::sync::Ordering;

impl<P: Platform> Context<P> {
    /// Starts new work, takes packets and completions, and runs callbacks: looks for something to do up to `maximum`
    /// times (0 counts as 1), and returns when a look has found something, as PAMI_Context_advance does.
    ///
    /// # Errors
    /// [`Error::AdvanceInCallback`], [`Error::Busy`], [`Error::Destroyed`]; errors of the hardware, and
    /// errors of messages that no done callback takes. After those the context can be advanced further.
    pub fn advance(&self, maximum: usize) -> Result<Progress, Error> {
        self.platform().charge(Op::Advance, 1);
        let mut held = self.enter()?;
        let Held { engine, calls } = &mut *held;
        let mut callbacks = Callbacks::new(self, calls);
        let result = engine.turns(maximum, &mut callbacks);
        let progress = callbacks.counts();
        let changed = engine.has_changed();
        self.platform().charge(Op::Leave, 1);
        if changed {
            self.platform().charge(Op::Conclude, 1);
        }
        let unfinished = engine.unfinished();
        if changed || unfinished {
            self.shared()
                .unfinished
                .store(unfinished, Ordering::Release);
        }
        let mut news = unfinished || progress.callbacks > 0;
        if result.is_err() {
            self.core().leave_rest();
        } else {
            news |= self.comes_to_rest(engine, calls);
        }
        drop(held);
        // Threads that wait on this context test again what callbacks may have changed. Posts of other threads have
        // been announced by those threads.
        if news {
            self.platform().charge(Op::Announce, 1);
            self.announce();
        }
        result?;
        Ok(progress)
    }

    /// Advances until `condition` holds, and sleeps while there is nothing to do: the loop of a thread that waits for
    /// results of callbacks, on whichever thread those run. Call it without the lock, never from a callback.
    ///
    /// ```text
    /// context.send(message)?;                              // with a callback that sets `done`
    /// context.advance_until(|| done.get())?;
    /// context.advance_until(|| context.is_at_rest())?;     // before the thread stops advancing
    /// ```
    ///
    /// # Errors
    /// As [`Context::advance`] and [`Context::wait`].
    pub fn advance_until(&self, mut condition: impl FnMut() -> bool) -> Result<(), Error> {
        loop {
            let seen = self.epoch();
            if condition() {
                return Ok(());
            }
            if self.advance(1)?.is_idle() {
                self.wait_since(seen, None)?;
            }
        }
    }

    /// Whether the context has nothing left to do: nothing is posted, under way, waiting or owed. Only then may a
    /// thread stop advancing it without holding up others.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        // Tested again after the queue: another thread may have taken work off it, and has left rest before.
        self.core().rests()
            && self.with_queue(|q| q.work.is_empty() && q.ends.is_empty())
            && self.core().rests()
    }

    /// Notes rest if everything under way has ended; returns whether it has.
    fn comes_to_rest(&self, engine: &Engine<P>, calls: &Calls<P>) -> bool {
        // In most cases a message is under way.
        if engine.is_sending() || self.core().rests() || engine.in_flight() > 0 {
            return false;
        }
        let nothing = |unacknowledged| engine.is_at_rest(unacknowledged);
        self.core()
            .come_to_rest(|unacknowledged| calls.work.is_empty() && nothing(unacknowledged))
    }
}

/// Advances several contexts, each with up to `maximum` looks for something to do.
///
/// # Errors
/// The first error of any of them; the others have been advanced nevertheless.
pub fn advancev<P: Platform>(contexts: &[Context<P>], maximum: usize) -> Result<Progress, Error> {
    let mut progress = Progress::default();
    let mut first = Ok(());
    for context in contexts {
        match context.advance(maximum) {
            Ok(one) => progress.add(one),
            Err(error) => first = first.and(Err(error)),
        }
    }
    first.map(|()| progress)
}
