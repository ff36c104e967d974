// SPDX-License-Identifier: MIT OR Apache-2.0
//! Synchronisation primitives, named in one place so that a model checker can replace them. A [`Mutex`] guards a few
//! moves of data only: no platform call, callback or other lock happens under it, so it never blocks a thread that
//! hosts many simulated ones. State that is held across platform calls is [`Exclusive`]: only the holder of a lock of
//! the platform takes it.

#[cfg(feature = "loom")]
pub(crate) use loom::sync::{
    Mutex, Mutex as Exclusive, MutexGuard, MutexGuard as ExclusiveGuard,
    atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
};
// A lock without poisoning: each change is a single push, pop or assignment, so that the data is whole after a panic,
// and a test would cost as much as the lock.
#[cfg(not(feature = "loom"))]
pub(crate) use parking_lot::{Mutex, MutexGuard};
// No thread ever waits for it: half the instructions of a lock with waiters.
#[cfg(not(feature = "loom"))]
pub(crate) use spin::mutex::{SpinMutex as Exclusive, SpinMutexGuard as ExclusiveGuard};
#[cfg(not(feature = "loom"))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
// A number for readers alone and a reference count order nothing: no checker needs to see them.
pub(crate) use std::sync::atomic::AtomicU32 as Unordered;
pub(crate) use std::sync::{Arc, Weak};

/// Locks for a short move of data.
#[cfg(not(feature = "loom"))]
#[inline]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

/// Locks for longer, unless another thread has locked it.
#[cfg(not(feature = "loom"))]
#[inline]
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    mutex.try_lock()
}

/// Takes it, unless another thread has it.
#[cfg(not(feature = "loom"))]
#[inline]
pub(crate) fn try_take<T>(state: &Exclusive<T>) -> Option<ExclusiveGuard<'_, T>> {
    state.try_lock()
}

/// Locks for a short move of data.
#[cfg(feature = "loom")]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("a panic ends the check")
}

/// Locks for longer, unless another thread has locked it.
#[cfg(feature = "loom")]
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    mutex.try_lock().ok()
}

/// Takes it, unless another thread has it.
#[cfg(feature = "loom")]
pub(crate) fn try_take<T>(state: &Exclusive<T>) -> Option<ExclusiveGuard<'_, T>> {
    state.try_lock().ok()
}
