// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entry of dispatched system calls: the signal's handler, and the code that the system does not dispatch.

use std::arch::{asm, global_asm};
use std::ffi::{c_int, c_long, c_ulong, c_void};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use gyre_remote::Native;
use libc::{dl_phdr_info, siginfo_t, ucontext_t};

use super::call::Call;
use super::table::carry_out;
use super::{children, signals};
use crate::cancellation;

/// `prctl`'s numbers of the dispatch.
const SET_DISPATCH: c_int = 59;
const OFF: c_ulong = 0;
const ON: c_ulong = 1;

/// `si_code` of a dispatched call.
const DISPATCHED: c_int = 2;

// The return from the handler, in the bytes by which unwinders know it. `gyre_repeat` makes a system call at whose return two threads
// or processes may go on, on one stack or on two: nothing of the handler is left on it. `gyre_end` ends the thread, as if the program
// had called it in place of the system; its stack can be unwound.
global_asm!(
    ".pushsection .text.gyre_entry,\"ax\",@progbits",
    ".hidden gyre_return",
    ".globl gyre_return",
    ".type gyre_return,@function",
    "gyre_return:",
    "mov $15, %rax",
    "syscall",
    ".hidden gyre_repeat",
    ".globl gyre_repeat",
    ".type gyre_repeat,@function",
    "gyre_repeat:",
    "syscall",
    "jmp *{after}(%rip)",
    ".hidden gyre_end",
    ".globl gyre_end",
    ".type gyre_end,@function",
    "gyre_end:",
    ".cfi_startproc",
    "push %rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset %rbp, -16",
    "mov %rsp, %rbp",
    ".cfi_def_cfa_register %rbp",
    "and $-16, %rsp",
    "call {end}",
    ".cfi_endproc",
    ".popsection",
    after = sym AFTER,
    end = sym cancellation::end,
    options(att_syntax)
);

/// Where `gyre_repeat` goes on: the instruction behind the program's call. One thread of a task runs at a time, and it is read
/// before another one runs.
static AFTER: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    fn gyre_return();
    fn gyre_repeat();
    fn gyre_end();
}

/// Address of the code to which a signal's handler returns.
pub fn return_address() -> usize {
    (gyre_return as *const ()).addr()
}

/// Beginning and length of this library's code.
fn own_code() -> Option<(usize, usize)> {
    static CODE: OnceLock<Option<(usize, usize)>> = OnceLock::new();
    unsafe extern "C" fn look(info: *mut dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
        // SAFETY: the loader passes a description that lasts as long as the call, and the place given below.
        let (info, found) = unsafe { (&*info, &mut *found.cast::<Option<(usize, usize)>>()) };
        // SAFETY: so many headers are there.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let here = return_address();
        for header in headers {
            let start = (info.dlpi_addr + header.p_vaddr) as usize;
            let bytes = header.p_memsz as usize;
            let runs = header.p_flags & libc::PF_X != 0 && header.p_type == libc::PT_LOAD;
            if runs && (start..start + bytes).contains(&here) {
                *found = Some((start, bytes));
                return 1;
            }
        }
        0
    }
    *CODE.get_or_init(|| {
        let mut found = None;
        // SAFETY: the function takes what is passed here.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
        found
    })
}

/// Has the calls of this thread dispatched. The handler is there.
pub fn dispatch_this_thread() -> io::Result<()> {
    let (start, bytes) = own_code().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    // SAFETY: the byte lasts as long as the thread, and the range is this library's code.
    let result = unsafe { libc::prctl(SET_DISPATCH, ON, start, bytes, Native::selector()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Native::dispatch(true);
    Ok(())
}

/// Ends it.
pub fn end_dispatch() {
    Native::dispatch(false);
    // SAFETY: the call touches no memory. It succeeds where the dispatch was set.
    unsafe { libc::prctl(SET_DISPATCH, OFF, 0usize, 0usize, 0usize) };
}

/// The handler of a dispatched call.
///
/// # Safety
/// The system calls it.
pub unsafe extern "C" fn on_call(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes both.
    let (code, context) = unsafe { ((*info).si_code, &mut *context.cast::<ucontext_t>()) };
    if code != DISPATCHED {
        signals::refuse(signal);
        return;
    }
    let registers = &mut context.uc_mcontext.gregs;
    let register = |index: c_int| registers[index as usize] as usize;
    let call = Call {
        number: register(libc::REG_RAX) as c_long,
        arguments: [
            register(libc::REG_RDI),
            register(libc::REG_RSI),
            register(libc::REG_RDX),
            register(libc::REG_R10),
            register(libc::REG_R8),
            register(libc::REG_R9),
        ],
    };
    if call.number == libc::SYS_rt_sigreturn {
        // SAFETY: the stack is that of the program's handler that returns; nothing of this function is used any more.
        unsafe {
            asm!("mov rsp, {}", "mov eax, 15", "syscall", in(reg) register(libc::REG_RSP), options(noreturn));
        }
    }
    if children::continues_elsewhere(&call) {
        AFTER.store(register(libc::REG_RIP), Ordering::Relaxed);
        registers[libc::REG_RIP as usize] = (gyre_repeat as *const ()).addr() as i64;
        return;
    }
    if call.number == libc::SYS_rt_sigprocmask {
        registers[libc::REG_RAX as usize] = signals::set_mask(&call, &mut context.uc_sigmask);
        return;
    }
    let result = {
        let _native = Native::begin();
        // SAFETY: the address of this thread's `errno`, which the call of the program leaves as it was.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above.
        let before = unsafe { errno.read() };
        let result = carry_out(&call);
        // SAFETY: as above.
        unsafe { errno.write(before) };
        result
    };
    registers[libc::REG_RAX as usize] = result;
    if cancellation::is_point(call.number) && cancellation::is_pending() {
        let stack = registers[libc::REG_RSP as usize] as usize - size_of::<i64>();
        let top = std::ptr::with_exposed_provenance_mut::<i64>(stack);
        // SAFETY: the program's stack. Nothing below its top is used any more.
        unsafe { top.write(registers[libc::REG_RIP as usize]) };
        registers[libc::REG_RSP as usize] = stack as i64;
        registers[libc::REG_RIP as usize] = (gyre_end as *const ()).addr() as i64;
    }
}
