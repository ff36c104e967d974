// SPDX-License-Identifier: MIT OR Apache-2.0
//! Completions: tokens by which a thread waits for operations that it has posted.

use crate::api::context::Context;
use crate::error::Error;
use crate::platform::Platform;
use crate::sync::{Arc, Mutex, lock};

/// A token for one or more operations: it completes when every done callback taken from it has been called.
/// Clones are handles to the same token. [`wait`](Self::wait) advances a context until then.
///
/// `E` is the error of the callbacks: [`enum@Error`] for operations of a context, that of the collectives for theirs.
///
/// ```text
/// let sent = Completion::new();
/// context.send(SendMessage { local_done: Some(sent.callback()), ..message })?;
/// sent.wait(&context)?;
/// ```
#[derive(Debug)]
pub struct Completion<E = Error> {
    state: Arc<Mutex<State<E>>>,
}

/// A done callback taken from a [`Completion`]; it may be called by any thread.
pub type CompletionFn<P, E> = Box<dyn FnOnce(&Context<P>, Result<(), E>) + Send>;

#[derive(Debug)]
struct State<E> {
    /// Callbacks taken and not called.
    pending: usize,
    /// First error that a callback got.
    error: Option<E>,
}

impl<E> Clone for Completion<E> {
    fn clone(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
        }
    }
}

impl<E> Default for Completion<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Completion<E> {
    /// A token without operations, which is complete.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                pending: 0,
                error: None,
            })),
        }
    }

    /// Whether every callback taken from the token has been called.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        lock(&self.state).pending == 0
    }

    /// Takes the outcome so far: the first error since the last call. Meaningful when the token
    /// [is complete](Self::is_complete).
    ///
    /// # Errors
    /// Result that a callback got.
    pub fn take_result(&self) -> Result<(), E> {
        lock(&self.state).error.take().map_or(Ok(()), Err)
    }
}

impl<E: Send + 'static> Completion<E> {
    /// A done callback for one more operation. One that is dropped without a call, as by a refused post, no longer
    /// counts: the caller of the post has the error.
    pub fn callback<P: Platform>(&self) -> CompletionFn<P, E> {
        lock(&self.state).pending += 1;
        let mut notifier = Notifier(Some(self.clone()));
        Box::new(move |_, result| notifier.end(result))
    }
}

/// Part of a token for one operation.
struct Notifier<E>(Option<Completion<E>>);

impl<E> Notifier<E> {
    fn end(&mut self, result: Result<(), E>) {
        if let Some(token) = self.0.take() {
            let mut state = lock(&token.state);
            state.pending -= 1;
            if let Err(error) = result {
                state.error.get_or_insert(error);
            }
        }
    }
}

impl<E> Drop for Notifier<E> {
    fn drop(&mut self) {
        self.end(Ok(()));
    }
}

impl<E: From<Error>> Completion<E> {
    /// Advances `context` until the token is complete, as [`Context::advance_until`] does, and takes the outcome. The
    /// token may then be used for further operations.
    ///
    /// # Errors
    /// The first error that a callback of the token got; as [`Context::advance_until`].
    pub fn wait<P: Platform>(&self, context: &Context<P>) -> Result<(), E> {
        context.advance_until(|| self.is_complete())?;
        self.take_result()
    }
}
