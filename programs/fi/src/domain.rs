// SPDX-License-Identifier: MIT OR Apache-2.0
//! Domains.

use std::ffi::{c_int, c_void};

use crate::abi::{DomainOps, Fid, Info, not_there};
use crate::handle::Domain;
use crate::node::Node;
use crate::object;
use crate::{av, cntr, cq, endpoint, mr};

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
    // SAFETY: the program passes a place for the result.
    unsafe {
        object::open(domain, context, |fid| {
            Ok(Domain {
                fid,
                ops: &raw const DOMAIN_OPS,
                mr: &raw const mr::OPS,
                node: Node::get()?,
            })
        })
    }
}
