//! What every function of the interface is wrapped in.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{abort, exit};

use gyre_remote::MailboxError;

use crate::abi::ResultCode;
use crate::computation::Call;
use crate::failure::Failure;

thread_local! {
    /// A sentence about the last result of this thread.
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs the body of a function that returns a result code.
pub fn result(body: impl FnOnce() -> Result<(), Failure>) -> ResultCode {
    match value(body) {
        Ok(()) => {
            note("success");
            ResultCode::SUCCESS
        }
        Err(failure) => {
            note(&failure.text);
            failure.code
        }
    }
}

/// Runs the body of any other function. A machine that is lost ends the process, as nothing else makes sense any more.
pub fn value<T>(body: impl FnOnce() -> T) -> T {
    let _call = Call::begin();
    // Nothing of the library is used after it was unwound.
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| end(payload))
}

fn end(payload: Box<dyn Any + Send>) -> ! {
    match payload.downcast::<MailboxError>() {
        Ok(lost) => {
            eprintln!("libpami: the machine is lost: {lost}");
            exit(1)
        }
        // The panic has printed what it is.
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
