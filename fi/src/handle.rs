//! Domains and endpoints behind the pointers that programs hold.

use std::ffi::c_void;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::abi::{CmOps, DomainOps, EpOps, Fid, MrOps, MsgOps, RmaOps, TaggedOps};
use crate::boundary::Refusal;
use crate::node::Node;
use crate::port::{Bindings, Port};

/// `struct fid_domain`, and what is behind it.
#[repr(C)]
pub struct Domain {
    pub fid: Fid,
    pub ops: *const DomainOps,
    pub mr: *const MrOps,
    /// The process's part of its node.
    pub node: Arc<Node>,
}

/// The domain behind a pointer that the program passes.
///
/// # Safety
/// It is null or what `fi_domain` has made, and lasts.
pub unsafe fn domain<'a>(fid: *mut Fid) -> Result<&'a Domain, Refusal> {
    // SAFETY: what the caller promises.
    unsafe { fid.cast::<Domain>().as_ref() }.ok_or(Refusal::INVALID)
}

/// `struct fid_ep`, and what is behind it.
#[repr(C)]
pub struct FidEp {
    pub fid: Fid,
    pub ops: *const EpOps,
    pub cm: *const CmOps,
    pub msg: *const MsgOps,
    pub rma: *const RmaOps,
    pub tagged: *const TaggedOps,
    pub atomic: *const c_void,
    pub collective: *const c_void,
    pub port: Arc<Port>,
    /// What it is bound to so far.
    pub bindings: Mutex<Bindings>,
}

/// The endpoint behind a pointer that the program passes.
///
/// # Safety
/// It is null or what `fi_endpoint` has made, and lasts.
pub unsafe fn port(fid: *mut Fid) -> Result<Arc<Port>, Refusal> {
    // SAFETY: what the caller promises.
    let endpoint = unsafe { fid.cast::<FidEp>().as_ref() }.ok_or(Refusal::INVALID)?;
    Ok(Arc::clone(&endpoint.port))
}
