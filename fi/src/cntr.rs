//! Counters of completions.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::abi::{CntrOps, Fid, Ops, class, errno, not_there};
use crate::boundary::{self, Refusal};
use crate::cq::progress;
use crate::fabric::{no_bind, no_control};
use crate::port::Port;

/// Counts operations that have ended.
#[derive(Default)]
pub struct Counter {
    good: AtomicU64,
    failed: AtomicU64,
    ports: Mutex<Vec<Weak<Port>>>,
}

impl Counter {
    /// Counts one.
    pub fn count(&self, good: bool) {
        let counter = if good { &self.good } else { &self.failed };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// From now on, who reads the counter makes progress for `port`.
    pub fn serve(&self, port: &Arc<Port>) {
        self.ports.lock().push(Arc::downgrade(port));
    }

    fn ports(&self) -> Vec<Arc<Port>> {
        self.ports.lock().iter().filter_map(Weak::upgrade).collect()
    }

    fn read(&self) -> Result<u64, Refusal> {
        let before = self.good.load(Ordering::Relaxed);
        let good = || self.good.load(Ordering::Relaxed);
        progress(&self.ports(), || good() != before)?;
        Ok(good())
    }

    /// Makes progress until it has come to `threshold`.
    fn wait(&self, threshold: u64, timeout: c_int) -> Result<(), Refusal> {
        let failed = self.failed.load(Ordering::Relaxed);
        let ports = self.ports();
        let first = ports.first();
        let deadline = first.and_then(|port| port.deadline(timeout));
        while self.read()? < threshold {
            if self.failed.load(Ordering::Relaxed) != failed {
                return Err(Refusal(errno::AVAILABLE));
            }
            let over = first.is_none_or(|port| deadline.is_some_and(|end| port.now_ps() >= end));
            if over {
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

static OPS: Ops = Ops {
    size: size_of::<Ops>(),
    close,
    bind: no_bind,
    control: no_control,
    ops_open: not_there,
    tostr: not_there,
    ops_set: not_there,
};

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
    boundary::status(|| {
        if counter.is_null() {
            return Err(Refusal::INVALID);
        }
        let made = Box::new(FidCntr {
            fid: Fid {
                fclass: class::CNTR,
                context,
                ops: &raw const OPS,
            },
            ops: &raw const CNTR_OPS,
            counter: Arc::default(),
        });
        // SAFETY: a place for the result.
        unsafe { counter.write(Box::into_raw(made).cast()) };
        Ok(())
    })
}

/// The counter behind a pointer that the program passes.
///
/// # Safety
/// It is null or what [`open`] has made, and lasts.
pub unsafe fn of(fid: *mut Fid) -> Result<Arc<Counter>, Refusal> {
    // SAFETY: what the caller promises.
    let counter = unsafe { fid.cast::<FidCntr>().as_ref() }.ok_or(Refusal::INVALID)?;
    Ok(Arc::clone(&counter.counter))
}

unsafe extern "C" fn close(fid: *mut Fid) -> c_int {
    boundary::status(|| {
        // SAFETY: what `open` has made.
        drop(unsafe { Box::from_raw(fid.cast::<FidCntr>()) });
        Ok(())
    })
}

unsafe extern "C" fn read(fid: *mut Fid) -> u64 {
    // SAFETY: the program passes a counter.
    pami::boundary::value(|| unsafe { of(fid) }.and_then(|counter| counter.read())).unwrap_or(0)
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
