// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registrations of memory: numbers, as the DMA engine reaches all memory of the process, and ranges, for short writes by messages.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::abi::{Fid, MrOps, class, not_there};
use crate::object::{self, BindFn, ControlFn, Object};

/// `struct fid_mr`
#[repr(C)]
struct Registration {
    fid: Fid,
    mem_desc: *mut c_void,
    key: u64,
}

// SAFETY: it begins with its `fid`.
unsafe impl Object for Registration {
    const CLASS: usize = class::MR;
    const BIND: BindFn = bind;
    const CONTROL: ControlFn = control;
}

impl Drop for Registration {
    fn drop(&mut self) {
        REGISTERED.lock().remove(&self.key);
    }
}

/// Registered memory, by number: its first byte, and bytes.
static REGISTERED: Mutex<BTreeMap<u64, (usize, usize)>> = Mutex::new(BTreeMap::new());

/// Whether bytes of this process are registered.
pub fn is_registered(address: usize, bytes: usize) -> bool {
    let inside = |&(first, all): &(usize, usize)| {
        let offset = address.checked_sub(first);
        offset.is_some_and(|offset| offset <= all && bytes <= all - offset)
    };
    REGISTERED.lock().values().any(inside)
}

/// The last number given out.
static LAST: AtomicU64 = AtomicU64::new(0);

/// The functions of a domain that register memory.
pub static OPS: MrOps = MrOps {
    size: size_of::<MrOps>(),
    reg: register,
    regv: not_there,
    regattr: not_there,
};

unsafe extern "C" fn register(
    _domain: *mut Fid,
    memory: *const c_void,
    bytes: usize,
    _access: u64,
    _offset: u64,
    _key: u64,
    _flags: u64,
    registration: *mut *mut Fid,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the program passes a place for the result.
    unsafe {
        object::open(registration, context, |fid| {
            let key = LAST.fetch_add(1, Ordering::Relaxed) + 1;
            REGISTERED.lock().insert(key, (memory as usize, bytes));
            Ok(Registration {
                fid,
                mem_desc: std::ptr::null_mut(),
                key,
            })
        })
    }
}

/// `fi_bind` to an endpoint, which has no effect.
unsafe extern "C" fn bind(_: *mut Fid, _: *mut Fid, _: u64) -> c_int {
    0
}

/// `fi_mr_enable`, which has no effect.
unsafe extern "C" fn control(_: *mut Fid, command: c_int, _: *mut c_void) -> c_int {
    match command {
        crate::abi::ENABLE => 0,
        _ => -libc::ENOSYS,
    }
}
