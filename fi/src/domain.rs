//! Domains.

use std::ffi::{c_int, c_void};

use crate::abi::{DomainOps, Fid, Info, Ops, class, not_there};
use crate::boundary::{self, Refusal};
use crate::handle::Domain;
use crate::node::Node;
use crate::object::{no_bind, no_control};
use crate::{av, cntr, cq, endpoint, mr};

static OPS: Ops = Ops {
    size: size_of::<Ops>(),
    close,
    bind: no_bind,
    control: no_control,
    ops_open: not_there,
    tostr: not_there,
    ops_set: not_there,
};

static DOMAIN_OPS: DomainOps = DomainOps {
    size: size_of::<DomainOps>(),
    av_open: av::open,
    cq_open: cq::open,
    endpoint: endpoint::open,
    scalable_ep: not_there,
    cntr_open: cntr::open,
    poll_open: not_there,
    stx_ctx: not_there,
    srx_ctx: not_there,
    query_atomic: not_there,
    query_collective: not_there,
    endpoint2: not_there,
};

/// `fi_domain`.
///
/// # Safety
/// As libfabric says.
pub unsafe extern "C" fn open(
    _fabric: *mut Fid,
    _info: *mut Info,
    domain: *mut *mut Fid,
    context: *mut c_void,
) -> c_int {
    boundary::status(|| {
        if domain.is_null() {
            return Err(Refusal::INVALID);
        }
        let made = Box::new(Domain {
            fid: Fid {
                fclass: class::DOMAIN,
                context,
                ops: &raw const OPS,
            },
            ops: &raw const DOMAIN_OPS,
            mr: &raw const mr::OPS,
            node: Node::get()?,
        });
        // SAFETY: a place for the result.
        unsafe { domain.write(Box::into_raw(made).cast()) };
        Ok(())
    })
}

unsafe extern "C" fn close(fid: *mut Fid) -> c_int {
    boundary::status(|| {
        // SAFETY: what `open` has made.
        drop(unsafe { Box::from_raw(fid.cast::<Domain>()) });
        Ok(())
    })
}
