// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counted events: sections of a scenario, and the operations that the driver charges in them.
//!
//! Callgrind knows the functions `counted_*` and `uncounted_*` by their names, so none of them may be inlined or merged
//! with another: those without work return a value.

use core::hint::black_box;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use gyre_driver::Op;
use parking_lot::Mutex;

/// Whether a counted section is being executed: charges elsewhere are ignored.
static COUNTING: AtomicBool = AtomicBool::new(false);

/// The charge that resets the counts before it.
static STARTS_OVER: Mutex<Option<Op>> = Mutex::new(None);

static BOOK: Mutex<Book> = Mutex::new(Book {
    charged: BTreeMap::new(),
    charges: 0,
    accesses: [0; Access::ALL.len()],
    sections: 0,
});

/// Frequent accesses of the driver to memory: around the copy, calls are counted that hardware does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

impl Access {
    pub const ALL: [Self; 2] = [Self::Read, Self::Write];

    /// The key under which it is printed, and the name of its overhead.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
        }
    }
}

/// Entries since [`start_over`].
#[derive(Clone)]
pub struct Book {
    /// Operations charged in counted sections.
    pub charged: BTreeMap<Op, u64>,
    /// Calls of `charge` in counted sections, which hardware does not have.
    pub charges: u64,
    /// Accesses to memory in counted sections, by [`Access`].
    pub accesses: [u64; Access::ALL.len()],
    /// Counted sections that have been entered.
    pub sections: u64,
}

impl Book {
    /// The book as it is now.
    pub fn copy() -> Self {
        BOOK.lock().clone()
    }
}

/// Executes `work` and counts its instructions.
pub fn count<R>(work: impl FnOnce() -> R) -> R {
    BOOK.lock().sections += 1;
    COUNTING.store(true, Ordering::Relaxed);
    let result = counted_section(work);
    COUNTING.store(false, Ordering::Relaxed);
    result
}

/// Executes `work`, and counts its instructions if `counted`.
pub fn count_if<R>(counted: bool, work: impl FnOnce() -> R) -> R {
    if counted { count(work) } else { work() }
}

/// Resets all counts and the book; also in a counted section.
pub fn start_over() {
    uncounted_clearing();
    counted_from_here();
}

/// Has the next charge of `op` in a counted section reset all counts and the book.
pub fn start_over_at(op: Op) {
    *STARTS_OVER.lock() = Some(op);
}

/// Books a charge.
#[inline(never)]
pub fn uncounted_charge(op: Op, count: u64) {
    if !COUNTING.load(Ordering::Relaxed) {
        return;
    }
    let starts_over = STARTS_OVER.lock().take_if(|at| *at == op).is_some();
    if starts_over {
        uncounted_clearing();
    }
    let mut book = BOOK.lock();
    book.charges += 1;
    *book.charged.entry(op).or_default() += count;
    drop(book);
    if starts_over {
        counted_from_here();
    }
}

/// Books an access: called by functions of the machine.
pub fn note_access(access: Access) {
    if COUNTING.load(Ordering::Relaxed) {
        BOOK.lock().accesses[access as usize] += 1;
    }
}

/// Callgrind counts while this is executed.
#[inline(never)]
fn counted_section<R>(work: impl FnOnce() -> R) -> R {
    black_box("counted");
    black_box(work())
}

/// Callgrind resets its counts when this is entered.
#[inline(never)]
fn counted_from_here() {
    black_box("from here");
}

/// Empties the book. A section that is being executed remains in it.
#[inline(never)]
fn uncounted_clearing() {
    let mut book = BOOK.lock();
    book.charged.clear();
    book.charges = 0;
    book.accesses = [0; Access::ALL.len()];
    book.sections = u64::from(COUNTING.load(Ordering::Relaxed));
}
