//! Registrations of memory: numbers, since the DMA engine reaches all that the process has.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::abi::{Fid, MrOps, Ops, class, not_there};
use crate::boundary::{self, Refusal};

/// `struct fid_mr`
#[repr(C)]
struct Registration {
    fid: Fid,
    mem_desc: *mut c_void,
    key: u64,
}

/// The last number given out.
static LAST: AtomicU64 = AtomicU64::new(0);

static FID_OPS: Ops = Ops {
    size: size_of::<Ops>(),
    close,
    bind,
    control,
    ops_open: not_there,
    tostr: not_there,
    ops_set: not_there,
};

/// The functions of a domain that register memory.
pub static OPS: MrOps = MrOps {
    size: size_of::<MrOps>(),
    reg: register,
    regv: not_there,
    regattr: not_there,
};

unsafe extern "C" fn register(
    _domain: *mut Fid,
    _memory: *const c_void,
    _bytes: usize,
    _access: u64,
    _offset: u64,
    _key: u64,
    _flags: u64,
    registration: *mut *mut Fid,
    context: *mut c_void,
) -> c_int {
    boundary::status(|| {
        if registration.is_null() {
            return Err(Refusal::INVALID);
        }
        let made = Box::new(Registration {
            fid: Fid {
                fclass: class::MR,
                context,
                ops: &raw const FID_OPS,
            },
            mem_desc: std::ptr::null_mut(),
            key: LAST.fetch_add(1, Ordering::Relaxed) + 1,
        });
        // SAFETY: a place for the result.
        unsafe { registration.write(Box::into_raw(made).cast()) };
        Ok(())
    })
}

/// To an endpoint, which needs it not.
unsafe extern "C" fn bind(_: *mut Fid, _: *mut Fid, _: u64) -> c_int {
    0
}

/// `fi_mr_enable`, after which nothing is different.
unsafe extern "C" fn control(_: *mut Fid, command: c_int, _: *mut c_void) -> c_int {
    match command {
        crate::abi::ENABLE => 0,
        _ => -libc::ENOSYS,
    }
}

unsafe extern "C" fn close(fid: *mut Fid) -> c_int {
    boundary::status(|| {
        // SAFETY: what `register` has made.
        drop(unsafe { Box::from_raw(fid.cast::<Registration>()) });
        Ok(())
    })
}
