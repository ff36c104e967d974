// SPDX-License-Identifier: MIT OR Apache-2.0
//! Capabilities of the provider: `fi_getinfo`.

use std::ffi::{c_char, c_int};
use std::ptr;

use gyre_interpose::Job;

use crate::abi::{
    AV_TABLE, DomainAttr, EP_RDM, EpAttr, FabricAttr, Info, MR_ALLOCATED, MR_PROV_KEY,
    MR_VIRT_ADDR, ORDER_SAS, PROGRESS_MANUAL, RM_ENABLED, RxAttr, THREAD_DOMAIN, TxAttr, flags,
};
use crate::boundary::{self, Refusal};
use crate::send::INJECT;
use crate::send_data::MOST_PIECES;

/// Name of the provider, as C text.
pub const NAME: &std::ffi::CStr = c"gyre";

/// Capabilities.
pub const CAPS: u64 = flags::MSG
    | flags::TAGGED
    | flags::RMA
    | flags::READ
    | flags::WRITE
    | flags::SEND
    | flags::RECV
    | flags::REMOTE_READ
    | flags::REMOTE_WRITE
    | flags::MULTI_RECV
    | flags::SOURCE
    | flags::DIRECTED_RECV
    | flags::LOCAL_COMM
    | flags::REMOTE_COMM;

/// Modes of memory registration.
const MR_MODE: c_int = MR_VIRT_ADDR | MR_ALLOCATED | MR_PROV_KEY;

/// Capabilities that need registrations: messages need none.
const ONE_SIDED: u64 =
    flags::RMA | flags::READ | flags::WRITE | flags::REMOTE_READ | flags::REMOTE_WRITE;

/// Pending operations reported to programs; the driver has no limit.
const QUEUE: usize = 1024;

/// Longest message, bytes: lengths have 32 bits in the driver.
const LONGEST: usize = u32::MAX as usize;

/// Memory that libfabric frees.
fn zeroed<T>() -> Result<*mut T, Refusal> {
    // SAFETY: a size that is not 0.
    let memory = unsafe { libc::calloc(1, size_of::<T>()) };
    match memory.is_null() {
        true => Err(Refusal(libc::ENOMEM)),
        false => Ok(memory.cast()),
    }
}

fn text(text: &std::ffi::CStr) -> *mut c_char {
    // SAFETY: text that ends with a zero.
    unsafe { libc::strdup(text.as_ptr()) }
}

/// Registration modes that a program with these capabilities must support; 0 asks for all capabilities.
const fn mr_mode(caps: u64) -> c_int {
    match caps == 0 || caps & ONE_SIDED != 0 {
        true => MR_MODE,
        false => 0,
    }
}

/// Whether the provider satisfies the hints.
///
/// # Safety
/// `hints` and what it points to is as libfabric says.
unsafe fn offers(hints: &Info) -> bool {
    // SAFETY: what the caller promises.
    let (tx, rx, ep, domain) = unsafe {
        (
            hints.tx_attr.as_ref(),
            hints.rx_attr.as_ref(),
            hints.ep_attr.as_ref(),
            hints.domain_attr.as_ref(),
        )
    };
    let ordered = |order: u64| order & !ORDER_SAS == 0;
    let mr_mode = mr_mode(hints.caps);
    hints.caps & !CAPS == 0
        && tx.is_none_or(|tx| {
            tx.caps & !CAPS == 0
                && ordered(tx.msg_order)
                && tx.comp_order == 0
                && tx.inject_size <= INJECT
                && tx.iov_limit <= MOST_PIECES
                && tx.rma_iov_limit <= MOST_PIECES
        })
        && rx.is_none_or(|rx| {
            rx.caps & !CAPS == 0
                && ordered(rx.msg_order)
                && rx.comp_order == 0
                && rx.iov_limit <= MOST_PIECES
        })
        && ep.is_none_or(|ep| {
            (ep.r#type == 0 || ep.r#type == EP_RDM)
                && ep.protocol == 0
                && ep.max_msg_size <= LONGEST
                && ep.auth_key_size == 0
        })
        && domain.is_none_or(|domain| {
            domain.cq_data_size <= size_of::<u64>()
                && domain.mr_mode & mr_mode == mr_mode
                && domain.control_progress != 1
                && domain.data_progress != 1
                // Threads of one domain at a time.
                && (domain.threading == 0 || domain.threading >= THREAD_DOMAIN)
        })
}

/// Offers of the provider, in memory that libfabric frees.
fn offer(threading: c_int) -> Result<*mut Info, Refusal> {
    let info: *mut Info = zeroed()?;
    let (tx, rx) = (zeroed()?, zeroed()?);
    let (ep, domain, fabric) = (zeroed()?, zeroed()?, zeroed()?);
    let context = |own: u64| (CAPS & !(flags::SEND | flags::RECV)) | own;
    // SAFETY: memory that was just got, for each of the structures.
    unsafe {
        ptr::write(
            tx,
            TxAttr {
                caps: context(flags::SEND),
                mode: 0,
                op_flags: 0,
                msg_order: ORDER_SAS,
                comp_order: 0,
                inject_size: INJECT,
                size: QUEUE,
                iov_limit: MOST_PIECES,
                rma_iov_limit: 1,
                tclass: 0,
            },
        );
        ptr::write(
            rx,
            RxAttr {
                caps: context(flags::RECV),
                mode: 0,
                op_flags: 0,
                msg_order: ORDER_SAS,
                comp_order: 0,
                total_buffered_recv: 0,
                size: QUEUE,
                iov_limit: MOST_PIECES,
            },
        );
        ptr::write(
            ep,
            EpAttr {
                r#type: EP_RDM,
                protocol: 0,
                protocol_version: 1,
                max_msg_size: LONGEST,
                msg_prefix_size: 0,
                max_order_raw_size: 0,
                max_order_war_size: 0,
                max_order_waw_size: 0,
                mem_tag_format: u64::MAX,
                tx_ctx_cnt: 1,
                rx_ctx_cnt: 1,
                auth_key_size: 0,
                auth_key: ptr::null_mut(),
            },
        );
        ptr::write(
            domain,
            DomainAttr {
                domain: ptr::null_mut(),
                name: text(c"torus"),
                threading,
                control_progress: PROGRESS_MANUAL,
                data_progress: PROGRESS_MANUAL,
                resource_mgmt: RM_ENABLED,
                av_type: AV_TABLE,
                mr_mode: MR_MODE,
                mr_key_size: size_of::<u64>(),
                cq_data_size: size_of::<u64>(),
                cq_cnt: QUEUE,
                ep_cnt: 1,
                tx_ctx_cnt: 1,
                rx_ctx_cnt: 1,
                max_ep_tx_ctx: 1,
                max_ep_rx_ctx: 1,
                max_ep_stx_ctx: 0,
                max_ep_srx_ctx: 0,
                cntr_cnt: QUEUE,
                mr_iov_limit: 1,
                caps: flags::LOCAL_COMM | flags::REMOTE_COMM,
                mode: 0,
                auth_key: ptr::null_mut(),
                auth_key_size: 0,
                max_err_data: 0,
                mr_cnt: QUEUE,
                tclass: 0,
                max_ep_auth_key: 0,
                max_group_id: 0,
                max_cntr_value: u64::MAX,
                max_err_cntr_value: u64::MAX,
            },
        );
        ptr::write(
            fabric,
            FabricAttr {
                fabric: ptr::null_mut(),
                name: text(NAME),
                prov_name: ptr::null_mut(),
                prov_version: 1 << 16,
                api_version: crate::abi::VERSION,
            },
        );
        ptr::write(
            info,
            Info {
                next: ptr::null_mut(),
                caps: CAPS,
                mode: 0,
                addr_format: 0,
                src_addrlen: 0,
                dest_addrlen: 0,
                src_addr: ptr::null_mut(),
                dest_addr: ptr::null_mut(),
                handle: ptr::null_mut(),
                tx_attr: tx,
                rx_attr: rx,
                ep_attr: ep,
                domain_attr: domain,
                fabric_attr: fabric,
                nic: ptr::null_mut(),
            },
        );
    }
    Ok(info)
}

/// `fi_getinfo` of the provider: one endpoint type, in a process that `gyre exec` has started.
///
/// # Safety
/// As libfabric says.
pub unsafe extern "C" fn getinfo(
    _version: u32,
    node: *const c_char,
    service: *const c_char,
    _flags: u64,
    hints: *const Info,
    found: *mut *mut Info,
) -> c_int {
    let nothing = Refusal(libc::ENODATA);
    boundary::status(|| {
        // Tasks have no names.
        if !node.is_null() || !service.is_null() || Job::get().is_err() {
            return Err(nothing);
        }
        // SAFETY: libfabric passes hints or null.
        let hints = unsafe { hints.as_ref() };
        // SAFETY: what hints point to is as libfabric says.
        if hints.is_some_and(|hints| !unsafe { offers(hints) }) {
            return Err(nothing);
        }
        // SAFETY: as above.
        let domain = hints.and_then(|hints| unsafe { hints.domain_attr.as_ref() });
        let asked = domain.map_or(0, |domain| domain.threading);
        let offered = offer(if asked == 0 { THREAD_DOMAIN } else { asked })?;
        if let Some(hints) = hints
            && hints.caps != 0
        {
            // SAFETY: what was just made.
            unsafe {
                let both = flags::LOCAL_COMM | flags::REMOTE_COMM;
                (*offered).caps = CAPS & (hints.caps | both);
                (*(*offered).domain_attr).mr_mode = mr_mode(hints.caps);
                if let Some(tx) = hints.tx_attr.as_ref() {
                    (*(*offered).tx_attr).op_flags = tx.op_flags;
                }
                if let Some(rx) = hints.rx_attr.as_ref() {
                    (*(*offered).rx_attr).op_flags = rx.op_flags;
                }
            }
        }
        // SAFETY: a place for the result.
        unsafe { found.write(offered) };
        Ok(())
    })
}
