// SPDX-License-Identifier: MIT OR Apache-2.0
//! Completion queues.

use std::collections::VecDeque;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::abi::{
    ADDR_UNSPEC, Addr, CqAttr, CqErrEntry, CqOps, CqTaggedEntry, Fid, class, errno, not_there,
};
use crate::boundary::{self, Refusal};
use crate::object::{self, Object};
use crate::progress::Served;
use crate::steps::Step;

/// Completion of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Completion {
    /// The operation's context, an address.
    pub context: usize,
    /// Kind of operation.
    pub flags: u64,
    /// Bytes received.
    pub len: usize,
    /// Their address.
    pub buf: usize,
    /// Remote CQ data of the sender.
    pub data: u64,
    /// The message's tag.
    pub tag: u64,
    /// Sender.
    pub source: Addr,
    /// Error number, and bytes that did not fit.
    pub error: Option<(i32, usize)>,
    /// For traces: the step that the program takes when it reads this.
    pub step: Option<Step>,
}

impl Completion {
    /// An operation that received nothing.
    pub fn new(context: usize, flags: u64) -> Self {
        Self {
            context,
            flags,
            len: 0,
            buf: 0,
            data: 0,
            tag: 0,
            source: ADDR_UNSPEC,
            error: None,
            step: None,
        }
    }

    /// Adds an error.
    pub fn failed(self, error: i32) -> Self {
        Self {
            error: Some((error, 0)),
            ..self
        }
    }
}

/// Bytes of an entry, by the format's number.
const ENTRY_BYTES: [usize; 5] = [8, 8, 24, 40, 48];

/// A completion queue.
pub struct Queue {
    entries: Mutex<VecDeque<Completion>>,
    entry_bytes: usize,
    /// The endpoints whose operations end here.
    pub served: Served,
}

impl Queue {
    /// Adds a completion.
    pub fn add(&self, completion: Completion) {
        self.entries.lock().push_back(completion);
    }

    /// Whether there are completions.
    pub fn has_some(&self) -> bool {
        !self.entries.lock().is_empty()
    }

    /// Takes up to `most` entries without errors.
    ///
    /// # Errors
    /// `FI_EAVAIL` when an error is first, `FI_EAGAIN` when there is nothing.
    fn take(&self, most: usize) -> Result<Vec<Completion>, Refusal> {
        if !self.has_some() {
            self.served.progress(|| self.has_some())?;
        }
        let mut entries = self.entries.lock();
        let good = entries.iter().take_while(|entry| entry.error.is_none());
        let count = good.count().min(most);
        match (count, entries.front()) {
            (0, Some(entry)) if entry.error.is_some() => Err(Refusal(errno::AVAILABLE)),
            (0, _) => Err(Refusal::AGAIN),
            _ => Ok(entries.drain(..count).collect()),
        }
    }
}

/// `struct fid_cq`, and what is behind it.
#[repr(C)]
struct FidCq {
    fid: Fid,
    ops: *const CqOps,
    queue: Arc<Queue>,
}

// SAFETY: it begins with its `fid`.
unsafe impl Object for FidCq {
    const CLASS: usize = class::CQ;
}

static CQ_OPS: CqOps = CqOps {
    size: size_of::<CqOps>(),
    read,
    readfrom,
    readerr,
    sread,
    sreadfrom: not_there,
    signal: not_there,
    strerror,
};

/// `fi_cq_open`.
///
/// # Safety
/// As libfabric says.
pub unsafe extern "C" fn open(
    _domain: *mut Fid,
    attr: *mut CqAttr,
    queue: *mut *mut Fid,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the program passes attributes or null, and a place for the result.
    unsafe {
        object::open(queue, context, |fid| {
            let format = attr.as_ref().map_or(0, |attr| attr.format);
            let entry_bytes = usize::try_from(format)
                .ok()
                .and_then(|format| ENTRY_BYTES.get(format));
            Ok(FidCq {
                fid,
                ops: &raw const CQ_OPS,
                queue: Arc::new(Queue {
                    entries: Mutex::default(),
                    entry_bytes: *entry_bytes.ok_or(Refusal(libc::ENOSYS))?,
                    served: Served::default(),
                }),
            })
        })
    }
}

/// The queue of a pointer from the program.
///
/// # Safety
/// The pointer is null or from [`open`], and stays valid.
pub unsafe fn of(fid: *mut Fid) -> Result<Arc<Queue>, Refusal> {
    // SAFETY: what the caller promises.
    let queue = unsafe { object::of::<FidCq>(fid)? };
    Ok(Arc::clone(&queue.queue))
}

unsafe extern "C" fn read(fid: *mut Fid, into: *mut c_void, most: usize) -> isize {
    // SAFETY: no place for sources.
    unsafe { readfrom(fid, into, most, std::ptr::null_mut()) }
}

unsafe extern "C" fn readfrom(
    fid: *mut Fid,
    into: *mut c_void,
    most: usize,
    sources: *mut Addr,
) -> isize {
    boundary::count(|| {
        // SAFETY: the program passes a queue.
        let queue = unsafe { of(fid)? };
        if into.is_null() && most > 0 {
            return Err(Refusal::INVALID);
        }
        let taken = queue.take(most)?;
        for (place, entry) in taken.iter().enumerate() {
            entry.step.into_iter().for_each(Step::take);
            let whole = CqTaggedEntry {
                op_context: entry.context as *mut c_void,
                flags: entry.flags,
                len: entry.len,
                buf: entry.buf as *mut c_void,
                data: entry.data,
                tag: entry.tag,
            };
            // SAFETY: the program has room for `most` entries of its format, which is a beginning of `whole`, and for as many
            // sources if for any.
            unsafe {
                let to = into.cast::<u8>().add(place * queue.entry_bytes);
                to.copy_from_nonoverlapping((&raw const whole).cast(), queue.entry_bytes);
                if !sources.is_null() {
                    sources.add(place).write(entry.source);
                }
            }
        }
        Ok(taken.len())
    })
}

unsafe extern "C" fn readerr(fid: *mut Fid, into: *mut CqErrEntry, _flags: u64) -> isize {
    boundary::count(|| {
        // SAFETY: the program passes a queue.
        let queue = unsafe { of(fid)? };
        if into.is_null() {
            return Err(Refusal::INVALID);
        }
        let mut entries = queue.entries.lock();
        let Some((entry, (err, olen))) = entries
            .front()
            .and_then(|entry| Some((*entry, entry.error?)))
        else {
            return Err(Refusal::AGAIN);
        };
        entries.pop_front();
        entry.step.into_iter().for_each(Step::take);
        // SAFETY: a place for the entry.
        unsafe {
            into.write(CqErrEntry {
                op_context: entry.context as *mut c_void,
                flags: entry.flags,
                len: entry.len,
                buf: entry.buf as *mut c_void,
                data: entry.data,
                tag: entry.tag,
                olen,
                err,
                prov_errno: err,
                err_data: std::ptr::null_mut(),
                err_data_size: 0,
                src_addr: entry.source,
            });
        }
        Ok(1)
    })
}

/// Reads entries; makes progress until there is one. The limit, in milliseconds, is in simulated time.
unsafe extern "C" fn sread(
    fid: *mut Fid,
    into: *mut c_void,
    most: usize,
    _condition: *const c_void,
    timeout: c_int,
) -> isize {
    // SAFETY: the program passes a queue.
    let Ok(queue) = (unsafe { of(fid) }) else {
        return -(libc::EINVAL as isize);
    };
    let limit = queue.served.limit(timeout);
    loop {
        // SAFETY: as the caller promises.
        let count = unsafe { read(fid, into, most) };
        if count != -(libc::EAGAIN as isize) || limit.is_over() {
            return count;
        }
    }
}

unsafe extern "C" fn strerror(
    _queue: *mut Fid,
    error: c_int,
    _data: *const c_void,
    text: *mut c_char,
    room: usize,
) -> *const c_char {
    let shown: &CStr = match error {
        errno::TRUNCATED => c"the message is longer than the buffer",
        libc::ECANCELED => c"the receive was cancelled",
        libc::ENOMSG => c"no such message",
        libc::ENOMEM => c"no memory",
        _ => c"the machine has refused it",
    };
    if !text.is_null() && room > 0 {
        let bytes = shown.to_bytes();
        let fits = bytes.len().min(room - 1);
        // SAFETY: space for this many bytes and a final zero.
        unsafe {
            text.copy_from_nonoverlapping(bytes.as_ptr().cast(), fits);
            text.add(fits).write(0);
        }
    }
    shown.as_ptr()
}
