// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls of the program, below the functions of the C library that this library replaces: a thread that the machine serves
//! has them dispatched to a handler of its own (`PR_SET_SYSCALL_USER_DISPATCH`), wherever they come from.
//!
//! Calls that wait, for a futex, a descriptor or a time, wait in simulated time. All others go on to the system. Calls from this
//! library's own code, and in its sections ([`Native`]), are not dispatched. Dispatch is a thread's alone: children and programs that
//! are executed begin without, so none is killed for want of the handler.

mod call;
pub(crate) mod children;
mod descriptors;
mod entry;
mod futex;
mod signals;
mod table;

use std::sync::Once;

use gyre_remote::Native;

/// Dispatches the calls of this thread from now on. Where the system forbids it, a run says so once: `says`.
pub(crate) fn dispatch(says: bool) {
    descriptors::note_machines();
    static SAID: Once = Once::new();
    let result = signals::prepare(entry::on_call, entry::return_address())
        .and_then(|()| entry::dispatch_this_thread());
    if let Err(error) = result
        && says
    {
        SAID.call_once(|| {
            eprintln!(
                "gyre: the system forbids the dispatch of system calls ({error}): waits below the C library take the host's time"
            );
        });
    }
}

/// Ends the dispatch of this thread's calls.
pub(crate) fn end_dispatch() {
    if Native::is_dispatched() {
        entry::end_dispatch();
    }
}
