//! How requests of a module over a context end, without memory of their own for each.

use crate::api::context::{Context, DoneFn};
use crate::error::{Error, Fault};
use crate::platform::Platform;
use crate::sync::{Arc, Mutex, lock};

/// How a request has ended, once it has.
pub(crate) type Outcome<T> = Mutex<Option<Result<T, Fault>>>;

/// What is called when an operation has ended.
pub(crate) enum Done<P: Platform> {
    /// A function.
    Function(DoneFn<P>),
    /// A request is told, and then a function.
    Request(Arc<Outcome<()>>, Option<DoneFn<P>>),
}

/// A module over a context, which ends what it has put on a queue of its own.
pub(crate) trait Ends<P: Platform>: Send + Sync {
    /// Ends the next of it. Called by `advance`.
    fn end_next(&self, context: &Context<P>);
}

impl<P: Platform> Done<P> {
    /// Calls it.
    #[inline]
    pub fn call(self, context: &Context<P>, result: Result<(), Error>) {
        match self {
            Self::Function(function) => function(context, result),
            Self::Request(outcome, function) => {
                let kept = match &result {
                    Ok(()) => Ok(()),
                    Err(error) => Err(error.clone().into()),
                };
                *lock(&outcome) = Some(kept);
                // The result of the path without error is made anew, which costs less than to move it.
                match (function, result) {
                    (None, _) => {}
                    (Some(function), Ok(())) => function(context, Ok(())),
                    (Some(function), error) => function(context, error),
                }
            }
        }
    }

    /// As a function.
    pub fn into_function(self) -> DoneFn<P> {
        match self {
            Self::Function(function) => function,
            request => Box::new(move |context, result| request.call(context, result)),
        }
    }
}

impl<P: Platform> From<DoneFn<P>> for Done<P> {
    fn from(function: DoneFn<P>) -> Self {
        Self::Function(function)
    }
}
