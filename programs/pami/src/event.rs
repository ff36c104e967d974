// SPDX-License-Identifier: MIT OR Apache-2.0
//! Callbacks of a program for operations.

use std::ffi::c_void;
use std::sync::Arc;

use gyre_driver::{DoneFn, Error};
use gyre_remote::RemotePlatform;
use parking_lot::Mutex;

use crate::abi::{EventFunction, ResultCode};
use crate::boundary;
use crate::failure::{Failure, code};

/// A callback with its cookie and the handle of the context that it belongs to.
#[derive(Clone, Copy)]
pub struct Event {
    function: EventFunction,
    cookie: usize,
    context: usize,
}

impl Event {
    /// The callback `function` of an operation of the context with handle `context`.
    pub fn new(context: usize, function: EventFunction, cookie: *mut c_void) -> Self {
        Self {
            function,
            cookie: cookie as usize,
            context,
        }
    }

    /// Whether there is a function to call.
    pub fn is_there(&self) -> bool {
        self.function.is_some()
    }

    /// Calls it.
    pub fn call(&self, outcome: Result<(), &Error>) {
        let result = match outcome {
            Ok(()) => ResultCode::SUCCESS,
            Err(error) => {
                boundary::note(&error.to_string());
                code(error)
            }
        };
        self.call_with(result);
    }

    /// Calls it at the end of an operation of the library.
    pub fn end(&self, outcome: Result<(), Failure>) {
        let result = match outcome {
            Ok(()) => ResultCode::SUCCESS,
            Err(failure) => {
                boundary::note(&failure.text);
                failure.code
            }
        };
        self.call_with(result);
    }

    fn call_with(&self, result: ResultCode) {
        if let Some(function) = self.function {
            // SAFETY: the program has given the function and its cookie for this call.
            unsafe {
                function(
                    self.context as *mut c_void,
                    self.cookie as *mut c_void,
                    result,
                )
            };
        }
    }

    /// Done callback of the driver, which holds `keep` until then.
    pub fn done<K: Send + 'static>(self, keep: K) -> DoneFn<RemotePlatform> {
        Box::new(move |_, outcome| {
            // Before the program may use its memory again.
            drop(keep);
            self.call(outcome.as_ref().copied());
        })
    }
}

/// An event of several operations: called, with the first error, when the last handle is dropped.
pub struct Joint {
    event: Event,
    outcome: Mutex<Result<(), Error>>,
}

impl Joint {
    /// No operation yet.
    pub fn new(event: Event) -> Arc<Self> {
        Arc::new(Self {
            event,
            outcome: Mutex::new(Ok(())),
        })
    }

    /// The done callback of one of the operations.
    pub fn part(self: &Arc<Self>) -> DoneFn<RemotePlatform> {
        let joint = Arc::clone(self);
        Box::new(move |_, outcome| {
            let mut all = joint.outcome.lock();
            *all = all.clone().and(outcome);
        })
    }
}

impl Drop for Joint {
    fn drop(&mut self) {
        self.event.call(self.outcome.get_mut().as_ref().copied());
    }
}
