// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls as registers hold them.

use std::arch::asm;
use std::ffi::{c_int, c_long};

/// Makes a system call, which is not dispatched.
///
/// # Safety
/// As the system says for this call.
pub unsafe fn system_call(number: c_long, arguments: [usize; 6]) -> c_long {
    let [a, b, c, d, e, f] = arguments;
    let result;
    // SAFETY: the caller answers for the call; it changes these registers and memory alone.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e,
            in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// An error of a call, as the system returns it.
pub fn error(number: c_int) -> c_long {
    -c_long::from(number)
}

/// A call of the program.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Its number.
    pub number: c_long,
    /// Its arguments, as registers hold them.
    pub arguments: [usize; 6],
}

impl Call {
    /// An argument that is an address.
    pub fn address<T>(&self, index: usize) -> *mut T {
        std::ptr::with_exposed_provenance_mut(self.arguments[index])
    }

    /// An argument that is an `int`: the system ignores the upper half.
    pub fn int(&self, index: usize) -> c_int {
        self.arguments[index] as c_int
    }

    /// An argument that is an `unsigned int`.
    pub fn word(&self, index: usize) -> u32 {
        self.arguments[index] as u32
    }

    /// Hands the call to the system.
    pub fn native(&self) -> c_long {
        // SAFETY: the call is the program's, with the program's arguments; calls that change stacks or signals never come here.
        unsafe { system_call(self.number, self.arguments) }
    }
}
