// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles that programs hold: numbers, never addresses.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::failure::Failure;

/// Objects of one kind by handle. Numbers are not reused, so an ended handle never names another object.
pub struct Handles<T> {
    kind: &'static str,
    all: Mutex<All<T>>,
}

struct All<T> {
    by_number: BTreeMap<usize, Arc<T>>,
    last: usize,
}

impl<T> Handles<T> {
    /// Empty. The numbers of each kind begin at a different value, so that kinds are not confused.
    pub const fn new(kind: &'static str, first: usize) -> Self {
        Self {
            kind,
            all: Mutex::new(All {
                by_number: BTreeMap::new(),
                last: first,
            }),
        }
    }

    /// Adds the object that `make` makes from its handle.
    pub fn add<E>(&self, make: impl FnOnce(usize) -> Result<T, E>) -> Result<usize, E> {
        let number = {
            let mut all = self.all.lock();
            all.last += 1;
            all.last
        };
        let thing = Arc::new(make(number)?);
        self.all.lock().by_number.insert(number, thing);
        Ok(number)
    }

    /// Resolves a handle.
    ///
    /// # Errors
    /// `PAMI_INVAL` for a handle that was never given out, or has ended.
    pub fn get(&self, handle: *mut c_void) -> Result<Arc<T>, Failure> {
        let found = self.all.lock().by_number.get(&(handle as usize)).cloned();
        found.ok_or_else(|| self.unknown(handle))
    }

    /// All live objects with their handles, in the order of their creation.
    pub fn all(&self) -> Vec<(usize, Arc<T>)> {
        let all = self.all.lock();
        let all = all.by_number.iter();
        all.map(|(&number, thing)| (number, Arc::clone(thing)))
            .collect()
    }

    /// Ends a handle.
    ///
    /// # Errors
    /// As [`Handles::get`].
    pub fn remove(&self, handle: *mut c_void) -> Result<Arc<T>, Failure> {
        let found = self.all.lock().by_number.remove(&(handle as usize));
        found.ok_or_else(|| self.unknown(handle))
    }

    /// Ends the handles of objects that `which` selects.
    pub fn remove_all(&self, which: impl Fn(&T) -> bool) {
        let removed: Vec<_> = {
            let mut all = self.all.lock();
            let found = all.by_number.iter().filter(|(_, thing)| which(thing));
            let numbers: Vec<usize> = found.map(|(&number, _)| number).collect();
            numbers
                .iter()
                .filter_map(|n| all.by_number.remove(n))
                .collect()
        };
        // Objects that end with them may have handles themselves.
        drop(removed);
    }

    fn unknown(&self, handle: *mut c_void) -> Failure {
        Failure::invalid(format!("{handle:p} is not a valid {}", self.kind))
    }
}
