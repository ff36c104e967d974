// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters of completions.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::abi::{CntrOps, Fid, class, errno, not_there};
use crate::boundary::{self, Refusal};
use crate::object::{self, Object};
use crate::progress::Served;

/// A counter of ended operations.
#[derive(Default)]
pub struct Counter {
    good: AtomicU64,
    failed: AtomicU64,
    /// The endpoints whose operations it counts.
    pub served: Served,
}

impl Counter {
    /// Counts one.
    pub fn count(&self, good: bool) {
        let counter = if good { &self.good } else { &self.failed };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn read(&self) -> Result<u64, Refusal> {
        let before = self.good.load(Ordering::Relaxed);
        let good = || self.good.load(Ordering::Relaxed);
        self.served.progress(|| good() != before)?;
        Ok(good())
    }

    /// Makes progress until it has reached `threshold`.
    fn wait(&self, threshold: u64, timeout: c_int) -> Result<(), Refusal> {
        let failed = self.failed.load(Ordering::Relaxed);
        let limit = self.served.limit(timeout);
        while self.read()? < threshold {
            if self.failed.load(Ordering::Relaxed) != failed {
                return Err(Refusal(errno::AVAILABLE));
            }
            if limit.is_over() {
                return Err(Refusal(libc::ETIMEDOUT));
            }
        }
        Ok(())
    }
}

/// `struct fid_cntr`, and what is behind it.
#[repr(C)]
struct FidCntr {
    fid: Fid,
    ops: *const CntrOps,
    counter: Arc<Counter>,
}

// SAFETY: it begins with its `fid`.
unsafe impl Object for FidCntr {
    const CLASS: usize = class::CNTR;
}

static CNTR_OPS: CntrOps = CntrOps {
    size: size_of::<CntrOps>(),
    read,
    readerr,
    add,
    set,
    wait,
    adderr: not_there,
    seterr: not_there,
};

/// `fi_cntr_open`.
///
/// # Safety
/// As libfabric says.
pub unsafe extern "C" fn open(
    _domain: *mut Fid,
    _attr: *mut c_void,
    counter: *mut *mut Fid,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the program passes a place for the result.
    unsafe {
        object::open(counter, context, |fid| {
            Ok(FidCntr {
                fid,
                ops: &raw const CNTR_OPS,
                counter: Arc::default(),
            })
        })
    }
}

/// The counter of a pointer from the program.
///
/// # Safety
/// The pointer is null or from [`open`], and stays valid.
pub unsafe fn of(fid: *mut Fid) -> Result<Arc<Counter>, Refusal> {
    // SAFETY: what the caller promises.
    let counter = unsafe { object::of::<FidCntr>(fid)? };
    Ok(Arc::clone(&counter.counter))
}

unsafe extern "C" fn read(fid: *mut Fid) -> u64 {
    // SAFETY: the program passes a counter.
    gyre_interpose::boundary::value(|| unsafe { of(fid) }.and_then(|counter| counter.read()))
        .unwrap_or(0)
}

unsafe extern "C" fn readerr(fid: *mut Fid) -> u64 {
    // SAFETY: the program passes a counter.
    unsafe { of(fid) }.map_or(0, |counter| counter.failed.load(Ordering::Relaxed))
}

unsafe extern "C" fn add(fid: *mut Fid, value: u64) -> c_int {
    boundary::status(|| {
        // SAFETY: the program passes a counter.
        unsafe { of(fid)? }.good.fetch_add(value, Ordering::Relaxed);
        Ok(())
    })
}

unsafe extern "C" fn set(fid: *mut Fid, value: u64) -> c_int {
    boundary::status(|| {
        // SAFETY: the program passes a counter.
        unsafe { of(fid)? }.good.store(value, Ordering::Relaxed);
        Ok(())
    })
}

unsafe extern "C" fn wait(fid: *mut Fid, threshold: u64, timeout: c_int) -> c_int {
    // SAFETY: the program passes a counter.
    boundary::status(|| unsafe { of(fid)? }.wait(threshold, timeout))
}
