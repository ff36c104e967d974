// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a signal that ends the process takes with it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal};
use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

/// What is under way. Whoever begins or finishes something holds it, and the end by a signal keeps it.
static UNDER_WAY: Mutex<UnderWay> = Mutex::new(UnderWay {
    next: 0,
    parts: BTreeMap::new(),
    groups: BTreeMap::new(),
});

struct UnderWay {
    next: u64,
    parts: BTreeMap<u64, Part>,
    /// Groups of processes that build something.
    groups: BTreeMap<u64, Pid>,
}

struct Part {
    path: PathBuf,
    /// The output that it was to become; none for what only the process itself uses.
    output: Option<PathBuf>,
}

fn under_way() -> MutexGuard<'static, UnderWay> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl UnderWay {
    fn output_of(&self, part: &Path) -> PathBuf {
        let mut named = part;
        // What is made of a part may be one as well.
        let of = |named: &Path| self.parts.values().find(|part| part.path == named);
        while let Some(output) = of(named).and_then(|part| part.output.as_deref()) {
            named = output;
        }
        named.to_owned()
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

/// A file or folder that a signal removes.
#[derive(Debug)]
pub struct Unfinished(u64);

impl Unfinished {
    /// The file `part`, of which `output` is to be made.
    pub(crate) fn file(part: &Path, output: &Path) -> Self {
        Self::add(part, Some(output))
    }

    /// The folder `part`, which is no output of the user.
    pub fn folder(part: &Path) -> Self {
        Self::add(part, None)
    }

    fn add(part: &Path, output: Option<&Path>) -> Self {
        let mut all = under_way();
        let number = all.number();
        let part = Part {
            path: part.to_owned(),
            output: output.map(Path::to_owned),
        };
        all.parts.insert(number, part);
        Self(number)
    }

    /// Finishes it by `put`: it is there afterwards, or is removed, but not both.
    ///
    /// # Errors
    /// Those of `put`.
    pub fn finish<T, E>(self, put: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let mut all = under_way();
        let done = put();
        all.parts.remove(&self.0);
        drop(all);
        done
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        under_way().parts.remove(&self.0);
    }
}

/// The output that the unfinished file `part` is to become; `part` itself if it is none.
pub fn output_of(part: &Path) -> PathBuf {
    under_way().output_of(part)
}

/// Runs a program that builds something to its end, in a group of its own, which a signal to this process ends.
///
/// # Errors
/// Those of the system.
pub fn run(command: &mut Command) -> io::Result<process::Output> {
    let mut all = under_way();
    let child = command
        .stdin(process::Stdio::null())
        .stdout(process::Stdio::piped())
        .stderr(process::Stdio::piped())
        .process_group(0)
        .spawn()?;
    let number = all.number();
    all.groups.insert(number, Pid::from_child(&child));
    drop(all);
    let output = child.wait_with_output();
    under_way().groups.remove(&number);
    output
}

/// Has an interrupt, a hang-up or a termination remove what is unfinished, and then end the process as it would have.
/// A signal that whoever started the process has it ignore stays ignored. A limit on the size of files is an error of the
/// write that meets it. An abort, as for want of memory, has said why: it is status 1.
///
/// # Errors
/// Those of the system.
pub fn end_by_signals() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    signal_hook::flag::register_conditional_shutdown(SIGABRT, 1, Arc::new(AtomicBool::new(true)))?;
    let ignored = ignored();
    let wanted = [SIGINT, SIGTERM, SIGHUP];
    let heard = wanted
        .into_iter()
        .filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let mut signals = Signals::new(heard)?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if let Some(signal) = signals.forever().next() {
                end_by(signal);
            }
        })?;
    Ok(())
}

/// Bits of the signals that the process ignores, the first at bit 0.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

/// Ends the process by `signal`.
fn end_by(signal: i32) -> ! {
    let all = under_way();
    clear(&all, "interrupted");
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    // Not reached: each of the signals ends a process.
    process::exit(128 + signal)
}

/// Ends the process with status 1, says why on standard error, and removes what is unfinished.
pub fn end(why: fmt::Arguments<'_>) -> ! {
    let all = under_way();
    let _ = writeln!(io::stderr().lock(), "\ngyre: {why}");
    clear(&all, "ended");
    // At once: other threads are at work.
    signal_hook::low_level::exit(1)
}

/// Removes what is unfinished and names the outputs that it was to become. As long as the caller holds `all`, nobody begins or
/// finishes anything.
fn clear(all: &UnderWay, why: &str) {
    for &group in all.groups.values() {
        // It may have ended.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    let mut said = Vec::new();
    for part in all.parts.values() {
        remove(&part.path);
        let Some(output) = part.output.as_deref() else {
            continue;
        };
        let output = all.output_of(output);
        if !said.contains(&output) {
            let mut error = io::stderr().lock();
            let _ = writeln!(error, "\ngyre: {why}: {} is not written", output.display());
            said.push(output);
        }
    }
}

/// Removes a file or a folder. Processes that are about to end may still write into it.
fn remove(path: &Path) {
    for _ in 0..3 {
        let removed = match path.is_dir() {
            true => fs::remove_dir_all(path),
            false => fs::remove_file(path),
        };
        if removed.is_ok() || !path.exists() {
            return;
        }
    }
}
