//! The one place that names the synchronisation primitives, so that a model checker can stand in for
//! them. A [`Mutex`] here guards a few moves of data only: no platform call, callback or other lock
//! happens under it, so it never blocks a thread that hosts many simulated ones. State that must stay
//! put across platform calls is only ever taken with `try_lock`.

#[cfg(feature = "loom")]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
// A reference count orders nothing: no checker needs to see it.
pub(crate) use std::sync::{Arc, PoisonError, TryLockError};
#[cfg(not(feature = "loom"))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

/// Locks for a short move of data. A poisoned lock means that another thread panicked in such a move;
/// the data is still whole because every move is a single push, pop or assignment.
pub(crate) fn short<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
