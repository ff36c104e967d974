// SPDX-License-Identifier: MIT OR Apache-2.0
//! Structures and constants of libfabric's interface for providers, version 2.5.

// Members of structures mean what libfabric's manual pages say of the structure.
#![allow(missing_docs, reason = "members have libfabric's names and meanings")]

use std::ffi::{c_char, c_int, c_void};

/// `FI_VERSION(2, 5)`: what the provider is made for.
pub const VERSION: u32 = (2 << 16) | 5;

/// An address: the index in an address vector.
pub type Addr = u64;

/// `FI_ADDR_UNSPEC`: any source.
pub const ADDR_UNSPEC: Addr = u64::MAX;

/// Capabilities, and flags of operations and completions.
pub mod flags {
    /// `FI_MSG`
    pub const MSG: u64 = 1 << 1;
    /// `FI_RMA`
    pub const RMA: u64 = 1 << 2;
    /// `FI_TAGGED`
    pub const TAGGED: u64 = 1 << 3;
    /// `FI_READ`
    pub const READ: u64 = 1 << 8;
    /// `FI_WRITE`
    pub const WRITE: u64 = 1 << 9;
    /// `FI_RECV`
    pub const RECV: u64 = 1 << 10;
    /// `FI_SEND`
    pub const SEND: u64 = 1 << 11;
    /// `FI_REMOTE_READ`
    pub const REMOTE_READ: u64 = 1 << 12;
    /// `FI_REMOTE_WRITE`
    pub const REMOTE_WRITE: u64 = 1 << 13;
    /// `FI_MULTI_RECV`
    pub const MULTI_RECV: u64 = 1 << 16;
    /// `FI_REMOTE_CQ_DATA`
    pub const REMOTE_CQ_DATA: u64 = 1 << 17;
    /// `FI_PEEK`
    pub const PEEK: u64 = 1 << 19;
    /// `FI_COMPLETION`
    pub const COMPLETION: u64 = 1 << 24;
    /// `FI_INJECT`
    pub const INJECT: u64 = 1 << 25;
    /// `FI_LOCAL_COMM`
    pub const LOCAL_COMM: u64 = 1 << 51;
    /// `FI_REMOTE_COMM`
    pub const REMOTE_COMM: u64 = 1 << 52;
    /// `FI_SOURCE`
    pub const SOURCE: u64 = 1 << 57;
    /// `FI_DISCARD`, of a receive
    pub const DISCARD: u64 = 1 << 58;
    /// `FI_DIRECTED_RECV`, as a capability
    pub const DIRECTED_RECV: u64 = 1 << 59;
    /// `FI_CLAIM`, of a receive
    pub const CLAIM: u64 = 1 << 59;
    /// `FI_SELECTIVE_COMPLETION`, of a binding
    pub const SELECTIVE_COMPLETION: u64 = 1 << 59;
}

/// `FI_ORDER_SAS`: messages match in the order in which they were sent.
pub const ORDER_SAS: u64 = 1 << 8;

/// `FI_MR_VIRT_ADDR`
pub const MR_VIRT_ADDR: c_int = 1 << 4;
/// `FI_MR_ALLOCATED`
pub const MR_ALLOCATED: c_int = 1 << 5;
/// `FI_MR_PROV_KEY`
pub const MR_PROV_KEY: c_int = 1 << 6;

/// `FI_EP_RDM`
pub const EP_RDM: c_int = 3;
/// `FI_PROGRESS_MANUAL`
pub const PROGRESS_MANUAL: c_int = 2;
/// `FI_THREAD_DOMAIN`
pub const THREAD_DOMAIN: c_int = 3;
/// `FI_RM_ENABLED`
pub const RM_ENABLED: c_int = 2;
/// `FI_AV_TABLE`
pub const AV_TABLE: c_int = 2;
/// `FI_ENABLE`, of `fi_control`
pub const ENABLE: c_int = 6;
/// `FI_OPT_MIN_MULTI_RECV`
pub const OPT_MIN_MULTI_RECV: c_int = 0;

/// Errors beyond those of the system.
pub mod errno {
    /// `FI_ETOOSMALL`
    pub const TOO_SMALL: i32 = 257;
    /// `FI_EOPBADSTATE`
    pub const BAD_STATE: i32 = 258;
    /// `FI_EAVAIL`
    pub const AVAILABLE: i32 = 259;
    /// `FI_ETRUNC`
    pub const TRUNCATED: i32 = 265;
}

/// Classes of objects.
pub mod class {
    /// `FI_CLASS_FABRIC`
    pub const FABRIC: usize = 1;
    /// `FI_CLASS_DOMAIN`
    pub const DOMAIN: usize = 2;
    /// `FI_CLASS_EP`
    pub const EP: usize = 3;
    /// `FI_CLASS_AV`
    pub const AV: usize = 11;
    /// `FI_CLASS_MR`
    pub const MR: usize = 12;
    /// `FI_CLASS_CQ`
    pub const CQ: usize = 14;
    /// `FI_CLASS_CNTR`
    pub const CNTR: usize = 15;
}

/// A function of a table that the provider does not have: [`not_there`].
pub type NotThere = unsafe extern "C" fn() -> isize;

/// Returns `-FI_ENOSYS` for any arguments: it reads none.
///
/// # Safety
/// None is needed.
pub unsafe extern "C" fn not_there() -> isize {
    -(libc::ENOSYS as isize)
}

/// `struct fi_tx_attr`
#[repr(C)]
pub struct TxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub inject_size: usize,
    pub size: usize,
    pub iov_limit: usize,
    pub rma_iov_limit: usize,
    pub tclass: u32,
}

/// `struct fi_rx_attr`
#[repr(C)]
pub struct RxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub total_buffered_recv: usize,
    pub size: usize,
    pub iov_limit: usize,
}

/// `struct fi_ep_attr`
#[repr(C)]
pub struct EpAttr {
    pub r#type: c_int,
    pub protocol: u32,
    pub protocol_version: u32,
    pub max_msg_size: usize,
    pub msg_prefix_size: usize,
    pub max_order_raw_size: usize,
    pub max_order_war_size: usize,
    pub max_order_waw_size: usize,
    pub mem_tag_format: u64,
    pub tx_ctx_cnt: usize,
    pub rx_ctx_cnt: usize,
    pub auth_key_size: usize,
    pub auth_key: *mut u8,
}

/// `struct fi_domain_attr`
#[repr(C)]
pub struct DomainAttr {
    pub domain: *mut c_void,
    pub name: *mut c_char,
    pub threading: c_int,
    pub control_progress: c_int,
    pub data_progress: c_int,
    pub resource_mgmt: c_int,
    pub av_type: c_int,
    pub mr_mode: c_int,
    pub mr_key_size: usize,
    pub cq_data_size: usize,
    pub cq_cnt: usize,
    pub ep_cnt: usize,
    pub tx_ctx_cnt: usize,
    pub rx_ctx_cnt: usize,
    pub max_ep_tx_ctx: usize,
    pub max_ep_rx_ctx: usize,
    pub max_ep_stx_ctx: usize,
    pub max_ep_srx_ctx: usize,
    pub cntr_cnt: usize,
    pub mr_iov_limit: usize,
    pub caps: u64,
    pub mode: u64,
    pub auth_key: *mut u8,
    pub auth_key_size: usize,
    pub max_err_data: usize,
    pub mr_cnt: usize,
    pub tclass: u32,
    pub max_ep_auth_key: usize,
    pub max_group_id: u32,
    pub max_cntr_value: u64,
    pub max_err_cntr_value: u64,
}

/// `struct fi_fabric_attr`
#[repr(C)]
pub struct FabricAttr {
    pub fabric: *mut c_void,
    pub name: *mut c_char,
    pub prov_name: *mut c_char,
    pub prov_version: u32,
    pub api_version: u32,
}

/// `struct fi_info`
#[repr(C)]
pub struct Info {
    pub next: *mut Info,
    pub caps: u64,
    pub mode: u64,
    pub addr_format: u32,
    pub src_addrlen: usize,
    pub dest_addrlen: usize,
    pub src_addr: *mut c_void,
    pub dest_addr: *mut c_void,
    pub handle: *mut c_void,
    pub tx_attr: *mut TxAttr,
    pub rx_attr: *mut RxAttr,
    pub ep_attr: *mut EpAttr,
    pub domain_attr: *mut DomainAttr,
    pub fabric_attr: *mut FabricAttr,
    pub nic: *mut c_void,
}

/// `struct fi_provider`
#[repr(C)]
pub struct Provider {
    pub version: u32,
    pub fi_version: u32,
    pub context: [*mut c_void; 4],
    pub name: *const c_char,
    pub getinfo: unsafe extern "C" fn(
        u32,
        *const c_char,
        *const c_char,
        u64,
        *const Info,
        *mut *mut Info,
    ) -> c_int,
    pub fabric: unsafe extern "C" fn(*mut FabricAttr, *mut *mut Fid, *mut c_void) -> c_int,
    pub cleanup: unsafe extern "C" fn(),
}

/// `struct fid`: what everything begins with.
#[repr(C)]
pub struct Fid {
    pub fclass: usize,
    pub context: *mut c_void,
    pub ops: *const Ops,
}

/// `struct fi_ops`
#[repr(C)]
pub struct Ops {
    pub size: usize,
    pub close: unsafe extern "C" fn(*mut Fid) -> c_int,
    pub bind: unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int,
    pub control: unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int,
    pub ops_open: NotThere,
    pub tostr: NotThere,
    pub ops_set: NotThere,
}

/// `struct fid_fabric`
#[repr(C)]
pub struct Fabric {
    pub fid: Fid,
    pub ops: *const FabricOps,
    pub api_version: u32,
}

/// `struct fi_ops_fabric`
#[repr(C)]
pub struct FabricOps {
    pub size: usize,
    pub domain: unsafe extern "C" fn(*mut Fid, *mut Info, *mut *mut Fid, *mut c_void) -> c_int,
    pub passive_ep: NotThere,
    pub eq_open: NotThere,
    pub wait_open: NotThere,
    pub trywait: NotThere,
    pub domain2: NotThere,
}

/// `struct fi_ops_domain`
#[repr(C)]
pub struct DomainOps {
    pub size: usize,
    pub av_open: unsafe extern "C" fn(*mut Fid, *mut AvAttr, *mut *mut Fid, *mut c_void) -> c_int,
    pub cq_open: unsafe extern "C" fn(*mut Fid, *mut CqAttr, *mut *mut Fid, *mut c_void) -> c_int,
    pub endpoint: unsafe extern "C" fn(*mut Fid, *mut Info, *mut *mut Fid, *mut c_void) -> c_int,
    pub scalable_ep: NotThere,
    pub cntr_open: unsafe extern "C" fn(*mut Fid, *mut c_void, *mut *mut Fid, *mut c_void) -> c_int,
    pub poll_open: NotThere,
    pub stx_ctx: NotThere,
    pub srx_ctx: NotThere,
    pub query_atomic: NotThere,
    pub query_collective: NotThere,
    pub endpoint2: NotThere,
}

/// `struct fi_ops_mr`
#[repr(C)]
pub struct MrOps {
    pub size: usize,
    pub reg: unsafe extern "C" fn(
        *mut Fid,
        *const c_void,
        usize,
        u64,
        u64,
        u64,
        u64,
        *mut *mut Fid,
        *mut c_void,
    ) -> c_int,
    pub regv: NotThere,
    pub regattr: NotThere,
}

/// `struct fi_av_attr`
#[repr(C)]
pub struct AvAttr {
    pub r#type: c_int,
    pub rx_ctx_bits: c_int,
    pub count: usize,
    pub ep_per_node: usize,
    pub name: *const c_char,
    pub map_addr: *mut c_void,
    pub flags: u64,
}

/// `struct fi_ops_av`
#[repr(C)]
pub struct AvOps {
    pub size: usize,
    pub insert:
        unsafe extern "C" fn(*mut Fid, *const c_void, usize, *mut Addr, u64, *mut c_void) -> c_int,
    pub insertsvc: NotThere,
    pub insertsym: NotThere,
    pub remove: unsafe extern "C" fn(*mut Fid, *mut Addr, usize, u64) -> c_int,
    pub lookup: unsafe extern "C" fn(*mut Fid, Addr, *mut c_void, *mut usize) -> c_int,
    pub straddr:
        unsafe extern "C" fn(*mut Fid, *const c_void, *mut c_char, *mut usize) -> *const c_char,
    pub av_set: NotThere,
    pub insert_auth_key: NotThere,
    pub lookup_auth_key: NotThere,
    pub set_user_id: NotThere,
}

/// `struct fi_cq_attr`
#[repr(C)]
pub struct CqAttr {
    pub size: usize,
    pub flags: u64,
    pub format: c_int,
    pub wait_obj: c_int,
    pub signaling_vector: c_int,
    pub wait_cond: c_int,
    pub wait_set: *mut c_void,
}

/// `struct fi_cq_tagged_entry`: those of the other formats are its beginning.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CqTaggedEntry {
    pub op_context: *mut c_void,
    pub flags: u64,
    pub len: usize,
    pub buf: *mut c_void,
    pub data: u64,
    pub tag: u64,
}

/// `struct fi_cq_err_entry`
#[repr(C)]
pub struct CqErrEntry {
    pub op_context: *mut c_void,
    pub flags: u64,
    pub len: usize,
    pub buf: *mut c_void,
    pub data: u64,
    pub tag: u64,
    pub olen: usize,
    pub err: c_int,
    pub prov_errno: c_int,
    pub err_data: *mut c_void,
    pub err_data_size: usize,
    pub src_addr: Addr,
}

/// `struct fi_ops_cq`
#[repr(C)]
pub struct CqOps {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut Fid, *mut c_void, usize) -> isize,
    pub readfrom: unsafe extern "C" fn(*mut Fid, *mut c_void, usize, *mut Addr) -> isize,
    pub readerr: unsafe extern "C" fn(*mut Fid, *mut CqErrEntry, u64) -> isize,
    pub sread: unsafe extern "C" fn(*mut Fid, *mut c_void, usize, *const c_void, c_int) -> isize,
    pub sreadfrom: NotThere,
    pub signal: NotThere,
    pub strerror:
        unsafe extern "C" fn(*mut Fid, c_int, *const c_void, *mut c_char, usize) -> *const c_char,
}

/// `struct fi_ops_cntr`
#[repr(C)]
pub struct CntrOps {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut Fid) -> u64,
    pub readerr: unsafe extern "C" fn(*mut Fid) -> u64,
    pub add: unsafe extern "C" fn(*mut Fid, u64) -> c_int,
    pub set: unsafe extern "C" fn(*mut Fid, u64) -> c_int,
    pub wait: unsafe extern "C" fn(*mut Fid, u64, c_int) -> c_int,
    pub adderr: NotThere,
    pub seterr: NotThere,
}

/// `struct iovec`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Iovec {
    pub base: *mut c_void,
    pub len: usize,
}

/// `struct fi_msg`
#[repr(C)]
pub struct Msg {
    pub msg_iov: *const Iovec,
    pub desc: *mut *mut c_void,
    pub iov_count: usize,
    pub addr: Addr,
    pub context: *mut c_void,
    pub data: u64,
}

/// `struct fi_msg_tagged`
#[repr(C)]
pub struct MsgTagged {
    pub msg_iov: *const Iovec,
    pub desc: *mut *mut c_void,
    pub iov_count: usize,
    pub addr: Addr,
    pub tag: u64,
    pub ignore: u64,
    pub context: *mut c_void,
    pub data: u64,
}

/// `struct fi_rma_iov`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RmaIov {
    pub addr: u64,
    pub len: usize,
    pub key: u64,
}

/// `struct fi_msg_rma`
#[repr(C)]
pub struct MsgRma {
    pub msg_iov: *const Iovec,
    pub desc: *mut *mut c_void,
    pub iov_count: usize,
    pub addr: Addr,
    pub rma_iov: *const RmaIov,
    pub rma_iov_count: usize,
    pub context: *mut c_void,
    pub data: u64,
}

/// `struct fi_ops_ep`
#[repr(C)]
pub struct EpOps {
    pub size: usize,
    pub cancel: unsafe extern "C" fn(*mut Fid, *mut c_void) -> isize,
    pub getopt: unsafe extern "C" fn(*mut Fid, c_int, c_int, *mut c_void, *mut usize) -> c_int,
    pub setopt: unsafe extern "C" fn(*mut Fid, c_int, c_int, *const c_void, usize) -> c_int,
    pub tx_ctx: NotThere,
    pub rx_ctx: NotThere,
    pub rx_size_left: NotThere,
    pub tx_size_left: NotThere,
}

/// `struct fi_ops_cm`
#[repr(C)]
pub struct CmOps {
    pub size: usize,
    pub setname: NotThere,
    pub getname: unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int,
    pub getpeer: NotThere,
    pub connect: NotThere,
    pub listen: NotThere,
    pub accept: NotThere,
    pub reject: NotThere,
    pub shutdown: NotThere,
    pub join: NotThere,
}

type Desc = *mut c_void;
type Context = *mut c_void;

/// `struct fi_ops_msg`
#[repr(C)]
pub struct MsgOps {
    pub size: usize,
    pub recv: unsafe extern "C" fn(*mut Fid, *mut c_void, usize, Desc, Addr, Context) -> isize,
    pub recvv:
        unsafe extern "C" fn(*mut Fid, *const Iovec, *mut Desc, usize, Addr, Context) -> isize,
    pub recvmsg: unsafe extern "C" fn(*mut Fid, *const Msg, u64) -> isize,
    pub send: unsafe extern "C" fn(*mut Fid, *const c_void, usize, Desc, Addr, Context) -> isize,
    pub sendv:
        unsafe extern "C" fn(*mut Fid, *const Iovec, *mut Desc, usize, Addr, Context) -> isize,
    pub sendmsg: unsafe extern "C" fn(*mut Fid, *const Msg, u64) -> isize,
    pub inject: unsafe extern "C" fn(*mut Fid, *const c_void, usize, Addr) -> isize,
    pub senddata:
        unsafe extern "C" fn(*mut Fid, *const c_void, usize, Desc, u64, Addr, Context) -> isize,
    pub injectdata: unsafe extern "C" fn(*mut Fid, *const c_void, usize, u64, Addr) -> isize,
}

/// `struct fi_ops_tagged`
#[repr(C)]
pub struct TaggedOps {
    pub size: usize,
    pub recv:
        unsafe extern "C" fn(*mut Fid, *mut c_void, usize, Desc, Addr, u64, u64, Context) -> isize,
    pub recvv: unsafe extern "C" fn(
        *mut Fid,
        *const Iovec,
        *mut Desc,
        usize,
        Addr,
        u64,
        u64,
        Context,
    ) -> isize,
    pub recvmsg: unsafe extern "C" fn(*mut Fid, *const MsgTagged, u64) -> isize,
    pub send:
        unsafe extern "C" fn(*mut Fid, *const c_void, usize, Desc, Addr, u64, Context) -> isize,
    pub sendv:
        unsafe extern "C" fn(*mut Fid, *const Iovec, *mut Desc, usize, Addr, u64, Context) -> isize,
    pub sendmsg: unsafe extern "C" fn(*mut Fid, *const MsgTagged, u64) -> isize,
    pub inject: unsafe extern "C" fn(*mut Fid, *const c_void, usize, Addr, u64) -> isize,
    pub senddata: unsafe extern "C" fn(
        *mut Fid,
        *const c_void,
        usize,
        Desc,
        u64,
        Addr,
        u64,
        Context,
    ) -> isize,
    pub injectdata: unsafe extern "C" fn(*mut Fid, *const c_void, usize, u64, Addr, u64) -> isize,
}

/// `struct fi_ops_rma`
#[repr(C)]
pub struct RmaOps {
    pub size: usize,
    pub read:
        unsafe extern "C" fn(*mut Fid, *mut c_void, usize, Desc, Addr, u64, u64, Context) -> isize,
    pub readv: unsafe extern "C" fn(
        *mut Fid,
        *const Iovec,
        *mut Desc,
        usize,
        Addr,
        u64,
        u64,
        Context,
    ) -> isize,
    pub readmsg: unsafe extern "C" fn(*mut Fid, *const MsgRma, u64) -> isize,
    pub write: unsafe extern "C" fn(
        *mut Fid,
        *const c_void,
        usize,
        Desc,
        Addr,
        u64,
        u64,
        Context,
    ) -> isize,
    pub writev: unsafe extern "C" fn(
        *mut Fid,
        *const Iovec,
        *mut Desc,
        usize,
        Addr,
        u64,
        u64,
        Context,
    ) -> isize,
    pub writemsg: unsafe extern "C" fn(*mut Fid, *const MsgRma, u64) -> isize,
    pub inject: unsafe extern "C" fn(*mut Fid, *const c_void, usize, Addr, u64, u64) -> isize,
    pub writedata: NotThere,
    pub injectdata: NotThere,
}
