// SPDX-License-Identifier: MIT OR Apache-2.0
//! Address-space layout of a task's process: the same in every run.
//!
//! The DMA engine sees addresses, so a run repeats only if they do. The system randomizes stacks by default, and places them
//! below the program's name, arguments and environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString, c_int, c_ulong};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use libc::ADDR_NO_RANDOMIZE;

/// Variable that pads the environment.
const PADDING: &str = "GYRE_PADDING";

/// Name, arguments and environment are padded to a multiple of this, in bytes: half of the longest variable.
const ALIGNMENT: usize = 64 << 10;

/// Alignment of the stack's beginning, in bytes.
const STACK_ALIGNMENT: usize = 16;

/// Pads the environment of `command`, so that the stack begins at the same address for all lengths of name, arguments and
/// environment, up to 64 KiB; returns whether they are longer. `command` inherits the environment of this process.
pub(crate) fn pad(command: &mut Command) -> bool {
    let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => environment.insert(name.into(), value.into()),
            None => environment.remove(name),
        };
    }
    environment.remove(OsStr::new(PADDING));
    let length = |text: &OsStr| text.as_bytes().len() + 1;
    let variables = environment
        .iter()
        .map(|(name, value)| length(name) + length(value));
    // The system keeps the program's name beside the arguments, of which it is the first.
    let program = length(command.get_program());
    let arguments = command.get_args().map(length);
    let padding = length(OsStr::new(PADDING)) + 1;
    let text = variables.sum::<usize>() + 2 * program + arguments.sum::<usize>() + padding;
    // A pointer to each argument and to each variable.
    let pointers = environment.len() + 1 + command.get_args().count() + 1;
    let pointers = (pointers * size_of::<usize>()).next_multiple_of(STACK_ALIGNMENT);
    let whole = (text + pointers).next_multiple_of(ALIGNMENT);
    command.env(PADDING, "x".repeat(whole - pointers - text));
    whole > ALIGNMENT
}

/// Turns address randomization off for the calling process and programs that it executes. Only makes system calls.
///
/// The system may forbid it: [`is_random`] says so.
pub(crate) fn fix_addresses() {
    let _ = fix();
}

/// Fixes them; returns the persona before.
fn fix() -> io::Result<c_int> {
    let persona = set_persona(QUERY)?;
    set_persona(persona | ADDR_NO_RANDOMIZE)
}

/// In place of a persona: changes nothing.
const QUERY: c_int = -1;

/// Sets the persona of this thread; returns the one before.
fn set_persona(persona: c_int) -> io::Result<c_int> {
    // SAFETY: the call touches no memory of this process. Bits above the 32 of a persona are zero.
    let before = unsafe { libc::personality(c_ulong::from(persona.cast_unsigned())) };
    match before {
        -1 => Err(io::Error::last_os_error()),
        before => Ok(before),
    }
}

/// Whether this thread may fix its addresses, and with them those of the processes that it starts.
fn may_fix() -> bool {
    fix().and_then(set_persona).is_ok()
}

/// Whether the system hides the personas of this process's children, once that is known.
static HIDDEN: AtomicBool = AtomicBool::new(false);

/// Attempts to read the persona of a process that is being executed, and the pause between them.
const ASKS: u32 = 1000;
const PAUSE: Duration = Duration::from_millis(1);

/// The persona of a process, if it can be read. The system hides it for a moment after execution has begun, and always where
/// debugging is restricted.
fn persona(process: u32) -> Option<i32> {
    let path = format!("/proc/{process}/personality");
    let asks = if HIDDEN.load(Ordering::Relaxed) {
        1
    } else {
        ASKS
    };
    let text = (0..asks).find_map(|_| {
        let text = fs::read_to_string(&path);
        if text.is_err() {
            thread::sleep(PAUSE);
        }
        text.ok()
    });
    HIDDEN.store(text.is_none(), Ordering::Relaxed);
    let text = text?;
    i32::from_str_radix(text.trim(), 16).ok()
}

/// Whether the system randomizes the addresses of a process, as far as is known.
pub(crate) fn is_random(process: u32) -> bool {
    let fixed = match persona(process) {
        Some(persona) => persona & ADDR_NO_RANDOMIZE != 0,
        None => may_fix(),
    };
    let switch = fs::read_to_string("/proc/sys/kernel/randomize_va_space");
    !fixed && switch.map_or(true, |switch| switch.trim() != "0")
}
