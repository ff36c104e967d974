// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals: the one of dispatched calls is never blocked, and its handler never replaced.

use std::ffi::{c_int, c_long, c_void};
use std::io;
use std::sync::OnceLock;
use std::{mem, ptr};

use libc::{siginfo_t, sigset_t};

use super::call::{Call, error, system_call};

/// Bit of the signal in a set.
const BIT: u64 = 1 << (libc::SIGSYS - 1);

/// Bytes of a set, as the system knows it.
const SET_BYTES: usize = size_of::<u64>();

/// Number of the last signal.
const LAST: usize = 64;

/// The action's flag that says where the handler returns to.
const RESTORER: u64 = 0x0400_0000;

/// An action, as the system knows it.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Action {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

/// Sets or reads the action of a signal.
///
/// # Safety
/// A handler must be one.
unsafe fn act(signal: usize, new: *const Action, old: *mut Action) -> c_long {
    let arguments = [signal, new.addr(), old.addr(), SET_BYTES, 0, 0];
    // SAFETY: the addresses are null or those of actions; the caller answers for the handler.
    unsafe { system_call(libc::SYS_rt_sigaction, arguments) }
}

/// Type of the handler.
pub type Handler = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// Installs the handler of dispatched calls, which returns by the code at `restorer`, and lets no other handler block the signal. The calling thread does not block it
/// either.
pub fn prepare(handler: Handler, restorer: usize) -> io::Result<()> {
    static DONE: OnceLock<bool> = OnceLock::new();
    let done = *DONE.get_or_init(|| {
        for signal in 1..=LAST {
            let mut action = Action::default();
            // SAFETY: the handler stays.
            let known = unsafe { act(signal, ptr::null(), &raw mut action) } == 0;
            if known && action.mask & BIT != 0 {
                action.mask &= !BIT;
                // SAFETY: as above.
                unsafe { act(signal, &raw const action, ptr::null_mut()) };
            }
        }
        let action = Action {
            handler: (handler as *const ()).addr(),
            flags: (libc::SA_SIGINFO | libc::SA_NODEFER) as u64 | RESTORER,
            restorer,
            mask: 0,
        };
        // SAFETY: it is the handler of this signal.
        unsafe { act(libc::SIGSYS as usize, &raw const action, ptr::null_mut()) == 0 }
    });
    if !done {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let set = BIT;
    let arguments = [
        libc::SIG_UNBLOCK as usize,
        (&raw const set).addr(),
        0,
        SET_BYTES,
        0,
        0,
    ];
    // SAFETY: a set, and no place for the former one.
    match unsafe { system_call(libc::SYS_rt_sigprocmask, arguments) } {
        0 => Ok(()),
        failed => Err(io::Error::from_raw_os_error(-failed as i32)),
    }
}

/// The signal without a dispatched call: ends the process, as it does by default.
pub fn refuse(signal: c_int) {
    let action = Action::default();
    // SAFETY: the default action has no handler.
    unsafe { act(signal as usize, &raw const action, ptr::null_mut()) };
    let process = std::process::id() as usize;
    // SAFETY: the call touches no memory.
    unsafe { system_call(libc::SYS_kill, [process, signal as usize, 0, 0, 0, 0]) };
}

/// `rt_sigaction`.
pub fn set_action(call: &Call) -> c_long {
    let new = call.address::<Action>(1).cast_const();
    if call.arguments[3] != SET_BYTES {
        return error(libc::EINVAL);
    }
    if call.int(0) == libc::SIGSYS {
        let old = call.address::<Action>(2);
        if !old.is_null() {
            // SAFETY: the program's place for an action.
            unsafe { old.write(Action::default()) };
        }
        return 0;
    }
    if new.is_null() {
        return call.native();
    }
    // SAFETY: the program's action.
    let mut action = unsafe { new.read() };
    action.mask &= !BIT;
    // SAFETY: the program answers for its handler.
    unsafe { act(call.arguments[0], &raw const action, call.address(2)) }
}

/// `rt_sigprocmask`: changes the set to which the handler of the call returns.
pub fn set_mask(call: &Call, mask: &mut sigset_t) -> c_long {
    if call.arguments[3] != SET_BYTES {
        return error(libc::EINVAL);
    }
    // The system's set is the beginning of the C library's.
    let mask = (&raw mut *mask).cast::<u64>();
    // SAFETY: the set of the interrupted thread.
    let before = unsafe { mask.read() };
    let new = call.address::<u64>(1);
    let after = if new.is_null() {
        before
    } else {
        // SAFETY: the program's set.
        let set = unsafe { new.read() } & !BIT;
        match call.int(0) {
            libc::SIG_BLOCK => before | set,
            libc::SIG_UNBLOCK => before & !set,
            libc::SIG_SETMASK => set,
            _ => return error(libc::EINVAL),
        }
    };
    let old = call.address::<u64>(2);
    if !old.is_null() {
        // SAFETY: the program's place for a set.
        unsafe { old.write(before) };
    }
    // SAFETY: as above. The system drops signals that cannot be blocked when the handler returns.
    unsafe { mask.write(after) };
    0
}

/// A set of the program that a wait is to begin with, without the signal; `None` if there is none.
pub fn set_of(address: *const u64) -> Option<u64> {
    // SAFETY: the program passes a set or nothing.
    unsafe { address.as_ref() }.map(|set| set & !BIT)
}

const _: () = assert!(mem::size_of::<sigset_t>() >= SET_BYTES);
