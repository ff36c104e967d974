// SPDX-License-Identifier: MIT OR Apache-2.0
//! Domains and endpoints of pointers that programs hold.

use std::ffi::c_void;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::abi::{CmOps, DomainOps, EpOps, Fid, MrOps, MsgOps, RmaOps, TaggedOps, class};
use crate::boundary::Refusal;
use crate::node::Node;
use crate::object::{self, Object};
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

// SAFETY: it begins with its `fid`.
unsafe impl Object for Domain {
    const CLASS: usize = class::DOMAIN;
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
    /// Objects that it is bound to so far.
    pub bindings: Mutex<Bindings>,
}

/// The endpoint of a pointer from the program.
///
/// # Safety
/// The pointer is null or from `fi_endpoint`, and stays valid.
pub unsafe fn port(fid: *mut Fid) -> Result<Arc<Port>, Refusal> {
    // SAFETY: what the caller promises.
    let endpoint = unsafe { object::of::<FidEp>(fid)? };
    Ok(Arc::clone(&endpoint.port))
}
