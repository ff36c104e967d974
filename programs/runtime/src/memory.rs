// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of the process: how much it may take, and its end at a limit.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;
use std::{io, thread};

use rustix::process::{Resource, getrlimit};

/// Bytes of the files that tell of memory, at most.
const TEXT: u64 = 1 << 20;

/// Host time between two looks at what the process holds.
const LOOK: Duration = Duration::from_millis(10);

/// Where a limit comes from.
const OPTION: &str = "--memory-limit";

/// Bytes that the user allows.
static LIMIT: OnceLock<u64> = OnceLock::new();

/// Ends the process, with status 1, as soon as it holds more than `mib` MiB; without a number, more than the system had
/// free at the start. What is unfinished then is removed, as by a signal.
///
/// # Errors
/// Those of the system.
pub fn limit(mib: Option<u64>) -> io::Result<()> {
    let allowed = mib.map(|mib| mib.saturating_mul(1 << 20));
    if let Some(allowed) = allowed {
        // The first stays.
        let _ = LIMIT.set(allowed);
    }
    let free = free_memory().into_iter().chain(free_in_group()).min();
    let free = free.map(|free| free.saturating_add(resident().unwrap_or(0)));
    let (limit, whose) = match (allowed, free) {
        (Some(allowed), Some(free)) if free < allowed => (free, "what was free"),
        (Some(allowed), _) => (allowed, OPTION),
        (None, Some(free)) => (free, "what was free"),
        (None, None) => return Ok(()),
    };
    thread::Builder::new()
        .name("memory".to_owned())
        .spawn(move || watch(limit, whose))?;
    Ok(())
}

/// Ends the process when it holds more than `limit` bytes.
fn watch(limit: u64, whose: &str) {
    while let Some(held) = resident() {
        if held > limit {
            gyre_files::end(format_args!(
                "memory: {} are held: expected at most {}, {whose}",
                mib(held),
                mib(limit)
            ));
        }
        thread::sleep(LOOK);
    }
}

/// Bytes as they are said.
#[must_use]
pub fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// Bytes that the process may still take; none where the system does not say.
#[must_use]
pub fn available() -> Option<u64> {
    let held = resident().unwrap_or(0);
    let allowed = LIMIT.get().map(|limit| limit.saturating_sub(held));
    let address_space = getrlimit(Resource::As).current;
    [free_memory(), free_in_group(), address_space, allowed]
        .into_iter()
        .flatten()
        .min()
}

/// Bytes of memory that the process holds.
fn resident() -> Option<u64> {
    let text = gyre_files::read_text(Path::new("/proc/self/statm"), TEXT).ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

fn free_memory() -> Option<u64> {
    let text = gyre_files::read_text(Path::new("/proc/meminfo"), TEXT).ok()?;
    let of = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        kib.checked_mul(1 << 10)
    };
    of("MemAvailable:")?.checked_add(of("SwapFree:").unwrap_or(0))
}

/// Of the process's control group, where it has a limit.
fn free_in_group() -> Option<u64> {
    let number = |name: &str| -> Option<u64> {
        let path = Path::new("/sys/fs/cgroup").join(name);
        let text = gyre_files::read_text(&path, TEXT).ok()?;
        text.trim().parse().ok()
    };
    number("memory.max")?.checked_sub(number("memory.current")?)
}
