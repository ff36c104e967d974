// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boundary of every exported function: no unwinding leaves it.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{abort, exit};

use gyre_remote::MailboxError;

use crate::computation::Call;

thread_local! {
    /// Sentence about the last result of this thread.
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs the body of an exported function. A lost machine ends the process.
pub fn value<T>(body: impl FnOnce() -> T) -> T {
    let _call = Call::begin();
    // Nothing of the library is used after it was unwound.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| end(payload))
}

fn end(payload: Box<dyn Any + Send>) -> ! {
    match payload.downcast::<MailboxError>() {
        Ok(lost) => {
            eprintln!("gyre: the machine is lost: {lost}");
            exit(1)
        }
        // The panic has printed its message.
        Err(_) => abort(),
    }
}

/// The sentence about the last result of this thread.
pub fn last() -> String {
    LAST.with_borrow(Clone::clone)
}

/// Sets that sentence.
pub fn note(text: &str) {
    LAST.with_borrow_mut(|last| {
        last.clear();
        last.push_str(text);
    });
}
