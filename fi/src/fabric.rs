//! The provider and its fabric.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::ptr;

use crate::abi::{Fabric, FabricAttr, FabricOps, Fid, Ops, Provider, VERSION, class, not_there};
use crate::boundary::{self, Refusal};
use crate::object::{no_bind, no_control};
use crate::{domain, info};

/// What libfabric has of the provider: it notes something of its own in the context.
struct Shared(UnsafeCell<Provider>);

// SAFETY: libfabric alone uses it, under its lock; the pointers are to text that lasts, and null.
unsafe impl Sync for Shared {}

static PROVIDER: Shared = Shared(UnsafeCell::new(Provider {
    version: 1 << 16,
    fi_version: VERSION,
    context: [ptr::null_mut(); 4],
    name: info::NAME.as_ptr(),
    getinfo: info::getinfo,
    fabric: open,
    cleanup,
}));

/// C: what libfabric asks a library for.
#[unsafe(no_mangle)]
pub extern "C" fn fi_prov_ini() -> *mut c_void {
    PROVIDER.0.get().cast()
}

unsafe extern "C" fn cleanup() {}

static OPS: Ops = Ops {
    size: size_of::<Ops>(),
    close,
    bind: no_bind,
    control: no_control,
    ops_open: not_there,
    tostr: not_there,
    ops_set: not_there,
};

static FABRIC_OPS: FabricOps = FabricOps {
    size: size_of::<FabricOps>(),
    domain: domain::open,
    passive_ep: not_there,
    eq_open: not_there,
    wait_open: not_there,
    trywait: not_there,
    domain2: not_there,
};

unsafe extern "C" fn open(
    attr: *mut FabricAttr,
    fabric: *mut *mut Fid,
    context: *mut c_void,
) -> c_int {
    boundary::status(|| {
        if attr.is_null() || fabric.is_null() {
            return Err(Refusal::INVALID);
        }
        // SAFETY: libfabric passes attributes.
        let api_version = unsafe { (*attr).api_version };
        let made = Box::new(Fabric {
            fid: Fid {
                fclass: class::FABRIC,
                context,
                ops: &raw const OPS,
            },
            ops: &raw const FABRIC_OPS,
            api_version,
        });
        // SAFETY: a place for the result.
        unsafe { fabric.write(Box::into_raw(made).cast()) };
        Ok(())
    })
}

unsafe extern "C" fn close(fid: *mut Fid) -> c_int {
    boundary::status(|| {
        // SAFETY: what `open` has made.
        drop(unsafe { Box::from_raw(fid.cast::<Fabric>()) });
        Ok(())
    })
}
