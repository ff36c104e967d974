// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls of the library's own, where those of the program are dispatched to the process itself
//! (`PR_SET_SYSCALL_USER_DISPATCH`): the system reads a byte of the calling thread, which says whether a call is the program's.

use std::cell::Cell;

/// Values of the byte, as the system knows them.
const ALLOW: u8 = 0;
const DISPATCH: u8 = 1;

thread_local! {
    /// The byte.
    static SELECTOR: Cell<u8> = const { Cell::new(ALLOW) };
    /// Sections of the library that this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Whether calls outside of them are dispatched.
    static DISPATCHED: Cell<bool> = const { Cell::new(false) };
}

/// A section whose system calls go to the system, as long as it lasts.
pub struct Native(());

impl Native {
    /// Begins the section.
    #[must_use]
    pub fn begin() -> Self {
        SELECTOR.set(ALLOW);
        DEPTH.set(DEPTH.get() + 1);
        Self(())
    }

    /// Address of the byte of this thread.
    #[must_use]
    pub fn selector() -> *const u8 {
        SELECTOR.with(Cell::as_ptr)
    }

    /// Sets whether calls of this thread outside of sections are dispatched.
    pub fn dispatch(on: bool) {
        DISPATCHED.set(on);
        choose();
    }

    /// Whether they are.
    #[must_use]
    pub fn is_dispatched() -> bool {
        DISPATCHED.get()
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        choose();
    }
}

fn choose() {
    let dispatch = DISPATCHED.get() && DEPTH.get() == 0;
    SELECTOR.set(if dispatch { DISPATCH } else { ALLOW });
}
