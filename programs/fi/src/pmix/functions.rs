// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions that Open MPI finds in place of its own library's.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use gyre_interpose::boundary;

use super::abi::{ALL, CValue, DoneFn, HandlerFn, Info, Process, Status, ValueFn, status};
use super::client;
use super::value::Value;

/// Result of a function.
fn result(body: impl FnOnce() -> Result<(), Status>) -> Status {
    match boundary::value(body) {
        Ok(()) => status::SUCCESS,
        Err(status) => status,
    }
}

/// Text of the caller's; PMIx has no other than ASCII.
///
/// # Safety
/// Null, or text that ends with a zero.
unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Status> {
    if text.is_null() {
        return Err(status::INVALID);
    }
    // SAFETY: what the caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| status::INVALID)
}

/// C: `PMIx_Init`.
///
/// # Safety
/// As PMIx says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMIx_Init(
    process: *mut Process,
    _info: *const Info,
    _count: usize,
) -> Status {
    result(|| {
        let rank = client::start()?;
        // SAFETY: the program passes a place or null.
        if let Some(process) = unsafe { process.as_mut() } {
            process.rank = rank;
            process.space.fill(0);
            for (to, from) in process.space.iter_mut().zip(client::SPACE.bytes()) {
                // A character of ASCII.
                *to = from as c_char;
            }
        }
        Ok(())
    })
}

/// C: `PMIx_Initialized`.
#[unsafe(no_mangle)]
pub extern "C" fn PMIx_Initialized() -> c_int {
    boundary::value(client::is_started).into()
}

/// C: `PMIx_Finalize`.
#[unsafe(no_mangle)]
pub extern "C" fn PMIx_Finalize(_info: *const Info, _count: usize) -> Status {
    result(client::end)
}

/// C: `PMIx_Abort`, of the whole job.
///
/// # Safety
/// As PMIx says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMIx_Abort(
    code: c_int,
    message: *const c_char,
    _processes: *const Process,
    _count: usize,
) -> Status {
    // SAFETY: the program passes text or null.
    let message = unsafe { text(message) }.unwrap_or_default();
    result(|| client::with(|client| client.abort(code, message)))
}

/// C: `PMIx_Put`. Whom a value is for makes no difference: everybody sees it.
///
/// # Safety
/// As PMIx says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMIx_Put(_scope: u8, key: *const c_char, value: *const CValue) -> Status {
    result(|| {
        // SAFETY: the program passes text, and a value.
        let (key, value) = unsafe { (text(key)?, value.as_ref().ok_or(status::INVALID)?) };
        // SAFETY: it is of its type.
        let value = unsafe { Value::of(value)? };
        client::with(|client| client.put(key, value))
    })
}

/// C: `PMIx_Commit`: the server has everything already.
#[unsafe(no_mangle)]
pub extern "C" fn PMIx_Commit() -> Status {
    result(|| client::with(|_| Ok(())))
}

/// C: `PMIx_Store_internal`.
///
/// # Safety
/// As PMIx says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMIx_Store_internal(
    process: *const Process,
    key: *const c_char,
    value: *const CValue,
) -> Status {
    result(|| {
        // SAFETY: the program passes a process, text, and a value.
        let (process, key, value) = unsafe {
            let process = process.as_ref().ok_or(status::INVALID)?;
            (process, text(key)?, value.as_ref().ok_or(status::INVALID)?)
        };
        // SAFETY: it is of its type.
        let value = unsafe { Value::of(value)? };
        client::with(|client| {
            client.note(process.rank, key, value);
            Ok(())
        })
    })
}

/// C: `PMIx_Fence`.
///
/// # Safety
/// As PMIx says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMIx_Fence(
    processes: *const Process,
    count: usize,
    _info: *const Info,
    _infos: usize,
) -> Status {
    let processes = match processes.is_null() {
        true => &[],
        // SAFETY: the program passes this many.
        false => unsafe { std::slice::from_raw_parts(processes, count) },
    };
    result(|| client::with(|client| client.fence(processes)))
}

/// C: `PMIx_Fence_nb`, which has ended when it returns.
///
/// # Safety
/// As PMIx says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMIx_Fence_nb(
    processes: *const Process,
    count: usize,
    info: *const Info,
    infos: usize,
    done: DoneFn,
    word: *mut c_void,
) -> Status {
    // SAFETY: the program's arguments.
    let status = unsafe { PMIx_Fence(processes, count, info, infos) };
    if let (status::SUCCESS, Some(done)) = (status, done) {
        // SAFETY: the program's function, with its word.
        unsafe { done(status, word) };
    }
    status
}

/// The value that a call asks for.
///
/// # Safety
/// As PMIx says of the arguments.
unsafe fn find(process: *const Process, key: *const c_char) -> Result<CValue, Status> {
    // SAFETY: the program passes a process or null, and text.
    let (process, key) = unsafe { (process.as_ref(), text(key)?) };
    client::with(|client| {
        let rank = process.map_or(ALL, |process| process.rank);
        client.get(rank, key)?.for_c()
    })
}

/// C: `PMIx_Get`.
///
/// # Safety
/// As PMIx says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMIx_Get(
    process: *const Process,
    key: *const c_char,
    _info: *const Info,
    _count: usize,
    into: *mut *mut CValue,
) -> Status {
    result(|| {
        if into.is_null() {
            return Err(status::INVALID);
        }
        // SAFETY: the program's arguments.
        let value = unsafe { find(process, key)? };
        // SAFETY: a size that is not 0.
        let memory = unsafe { libc::malloc(size_of::<CValue>()) }.cast::<CValue>();
        if memory.is_null() {
            return Err(status::NO_MEMORY);
        }
        // SAFETY: memory that was just got, and a place for its address.
        unsafe {
            memory.write(value);
            into.write(memory);
        }
        Ok(())
    })
}

/// C: `PMIx_Get_nb`, which has ended when it returns.
///
/// # Safety
/// As PMIx says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMIx_Get_nb(
    process: *const Process,
    key: *const c_char,
    info: *const Info,
    count: usize,
    done: ValueFn,
    word: *mut c_void,
) -> Status {
    let mut value = ptr::null_mut();
    // SAFETY: the program's arguments, and a place for the result.
    let status = unsafe { PMIx_Get(process, key, info, count, &raw mut value) };
    if let Some(done) = done {
        // SAFETY: the program's function, with its word.
        unsafe { done(status, value, word) };
    }
    if !value.is_null() {
        // SAFETY: what was just made; it is the caller's no more.
        unsafe { Value::free(value) };
    }
    status::SUCCESS
}

/// C: `PMIx_Register_event_handler`. There are no events: the machine ends all when a task fails.
///
/// # Safety
/// As PMIx says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMIx_Register_event_handler(
    _codes: *const Status,
    _count: usize,
    _info: *const Info,
    _infos: usize,
    _handler: *const c_void,
    done: HandlerFn,
    word: *mut c_void,
) -> Status {
    static HANDLERS: AtomicUsize = AtomicUsize::new(0);
    let number = HANDLERS.fetch_add(1, Ordering::Relaxed);
    match done {
        Some(done) => {
            // SAFETY: the program's function, with its word.
            unsafe { done(status::SUCCESS, number, word) };
            status::SUCCESS
        }
        // Without one, the number is the result.
        None => Status::try_from(number).unwrap_or(status::ERROR),
    }
}

/// C: `PMIx_Deregister_event_handler`.
///
/// # Safety
/// As PMIx says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMIx_Deregister_event_handler(
    _number: usize,
    done: DoneFn,
    word: *mut c_void,
) -> Status {
    if let Some(done) = done {
        // SAFETY: the program's function, with its word.
        unsafe { done(status::SUCCESS, word) };
    }
    status::SUCCESS
}
