// SPDX-License-Identifier: MIT OR Apache-2.0
//! The provider and its fabric.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::ptr;

use crate::abi::{Fabric, FabricAttr, FabricOps, Fid, Provider, VERSION, class, not_there};
use crate::boundary::Refusal;
use crate::object::{self, Object};
use crate::{domain, info};

/// The provider as libfabric sees it; libfabric keeps data of its own in the context.
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

/// C: entry point of a provider's library.
#[unsafe(no_mangle)]
pub extern "C" fn fi_prov_ini() -> *mut c_void {
    PROVIDER.0.get().cast()
}

unsafe extern "C" fn cleanup() {}

// SAFETY: it is libfabric's structure.
unsafe impl Object for Fabric {
    const CLASS: usize = class::FABRIC;
}

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
    // SAFETY: libfabric passes attributes or null, and a place for the result.
    unsafe {
        object::open(fabric, context, |fid| {
            let attr = attr.as_ref().ok_or(Refusal::INVALID)?;
            Ok(Fabric {
                fid,
                ops: &raw const FABRIC_OPS,
                api_version: attr.api_version,
            })
        })
    }
}
