// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks of one node, and windows in memory that they share.
//!
//! MPICH is told that each task is alone on its node, so that all messages go through the machine; so it knows neither. The tasks of a node
//! are those of the machine's. A shared window is one of MPICH's over memory that all of its tasks have mapped.

use std::collections::BTreeMap;
use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use gyre_interpose::Job;
use gyre_note::{OtherStep, ProgramStep};
use parking_lot::Mutex;

use super::communicator;
use super::library::{Count, Handle, Library, OTHER};

/// Of MPICH: `MPI_COMM_TYPE_SHARED`, `MPI_BYTE`, `MPI_INT`, `MPI_BAND`, `MPI_PROC_NULL`, `MPI_WIN_CREATE_FLAVOR` and
/// `MPI_WIN_FLAVOR_SHARED`.
const SHARED: c_int = 1;
const BYTE: Handle = 0x4c00_010d;
const INT: Handle = 0x4c00_0405;
const BITWISE_AND: Handle = 0x5800_0006;
const NOBODY: c_int = -1;
const FLAVOR: c_int = 0x6600_0007;
static SHARED_FLAVOR: c_int = 4;

/// MPICH, if the process is a task.
fn known() -> Option<(&'static Library, &'static Job)> {
    let library = Library::get().filter(|library| library.is_mpich())?;
    Some((library, Job::get().ok()?))
}

/// `MPI_Comm_split_type`; `None`: it is MPICH's.
pub fn split(comm: Handle, kind: c_int, key: c_int, into: *mut c_void) -> Option<c_int> {
    let (library, job) = known().filter(|_| kind == SHARED)?;
    // Tasks are few.
    let first = *job.local_tasks.first()? as c_int;
    // SAFETY: the program's arguments.
    Some(unsafe { (library.Comm_split)(comm, first, key, into) })
}

/// Part of a task in a shared window, as it tells the others.
#[repr(C)]
#[derive(Clone, Copy)]
struct Part {
    bytes: Count,
    unit: Count,
    task: u32,
    /// Number of the memory among those that the task has named.
    name: u32,
}

/// Memory that tasks of a node have mapped.
struct Mapped {
    address: usize,
    bytes: usize,
}

impl Mapped {
    /// Maps memory by name; `makes`: it is new.
    fn open(name: &CString, bytes: usize, makes: bool) -> Option<Self> {
        let flags = libc::O_RDWR
            | if makes {
                libc::O_CREAT | libc::O_EXCL
            } else {
                0
            };
        // SAFETY: a text; the descriptor is closed below.
        let file = unsafe { libc::shm_open(name.as_ptr(), flags, 0o600) };
        if file < 0 {
            return None;
        }
        let length = libc::off_t::try_from(bytes);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a descriptor that is open, and no address of memory that is there.
        let address = unsafe {
            let sized = length.map_or(-1, |length| match makes {
                true => libc::ftruncate(file, length),
                false => 0,
            });
            let address = match sized {
                0 => libc::mmap(
                    ptr::null_mut(),
                    bytes,
                    protection,
                    libc::MAP_SHARED,
                    file,
                    0,
                ),
                _ => libc::MAP_FAILED,
            };
            libc::close(file);
            address
        };
        let address = (address != libc::MAP_FAILED).then_some(address as usize)?;
        Some(Self { address, bytes })
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped above, and its window has ended.
        unsafe { libc::munmap(self.address as *mut c_void, self.bytes) };
    }
}

/// A shared window.
struct Window {
    _memory: Mapped,
    /// Bytes, unit and address of the part of each rank.
    parts: Vec<(Count, Count, usize)>,
}

/// By MPICH's handle.
static WINDOWS: Mutex<BTreeMap<c_int, Window>> = Mutex::new(BTreeMap::new());

/// The next name of memory.
static NAMES: AtomicU32 = AtomicU32::new(0);

/// `MPI_Win_allocate_shared`; `None`: it is MPICH's, which refuses tasks of several nodes.
pub fn allocate(
    (bytes, unit): (Count, Count),
    info: Handle,
    comm: Handle,
    base: *mut c_void,
    win: *mut c_int,
) -> Option<c_int> {
    let (library, job) = known()?;
    let (mut rank, mut size) = (0, 0);
    // SAFETY: places for what is asked for.
    let asked = unsafe {
        (library.Comm_rank)(comm, &raw mut rank) | (library.Comm_size)(comm, &raw mut size)
    };
    if asked != 0 || size < 2 || base.is_null() || win.is_null() {
        return None;
    }
    if let Some(port) = communicator::port() {
        port.step(ProgramStep::Other(OtherStep::SharedWindow))
            .take();
    }
    let own = Part {
        bytes,
        unit,
        task: job.description.task,
        name: NAMES.fetch_add(1, Ordering::Relaxed),
    };
    let mut parts = vec![own; usize::try_from(size).ok()?];
    let each = size_of::<Part>() as c_int;
    // SAFETY: one part from here, and room for those of all.
    let gathered = unsafe {
        (library.Allgather)(
            (&raw const own).cast(),
            each,
            BYTE,
            parts.as_mut_ptr().cast(),
            each,
            BYTE,
            comm,
        )
    };
    let here = |part: &Part| job.local_tasks.contains(&(part.task as usize));
    if gathered != 0 || !parts.iter().all(here) || parts.iter().any(|part| part.bytes < 0) {
        return None;
    }
    let made = map(library, comm, rank, &parts);
    let Some(memory) = made else {
        return Some(OTHER);
    };
    let mut address = memory.address;
    let mut window = Vec::new();
    for part in &parts {
        window.push((part.bytes, part.unit, address));
        // Not negative.
        address += part.bytes as usize;
    }
    let own_address = window[usize::try_from(rank).ok()?].2;
    // SAFETY: memory that lasts as long as the window, and the program's places.
    let created = unsafe {
        let created =
            (library.Win_create_c)(own_address as *mut c_void, bytes, unit, info, comm, win);
        if created == 0 {
            base.cast::<usize>().write(own_address);
            let window = Window {
                _memory: memory,
                parts: window,
            };
            WINDOWS.lock().insert(win.read(), window);
        }
        created
    };
    Some(created)
}

/// Maps memory for all parts, on all tasks or on none.
fn map(library: &Library, comm: Handle, rank: c_int, parts: &[Part]) -> Option<Mapped> {
    // Not negative.
    let bytes = parts.iter().map(|part| part.bytes as usize);
    let bytes = bytes.sum::<usize>().max(1);
    let first = parts.first()?;
    let name = CString::new(format!("/gyre_window_{}_{}", first.task, first.name)).ok()?;
    let all_have = |has: bool| {
        let (own, mut all) = (c_int::from(has), 0);
        // SAFETY: a number, and a place for one.
        let combined = unsafe {
            (library.Allreduce)(
                (&raw const own).cast(),
                (&raw mut all).cast(),
                1,
                INT,
                BITWISE_AND,
                comm,
            )
        };
        combined == 0 && all == 1
    };
    let made = (rank == 0)
        .then(|| Mapped::open(&name, bytes, true))
        .flatten();
    let is_there = all_have(rank != 0 || made.is_some());
    let mapped = match rank {
        0 => made,
        _ if is_there => Mapped::open(&name, bytes, false),
        _ => None,
    };
    let complete = all_have(mapped.is_some());
    if rank == 0 {
        // SAFETY: a text. It fails where the memory could not be made.
        unsafe { libc::shm_unlink(name.as_ptr()) };
    }
    mapped.filter(|_| complete)
}

/// Place for the unit of a part.
pub enum Unit {
    /// Of the function with small counts.
    Int(*mut c_int),
    /// Of that with large ones.
    Count(*mut Count),
}

/// `MPI_Win_shared_query`; `None`: it is MPICH's.
pub fn query(
    win: Handle,
    rank: c_int,
    bytes: *mut Count,
    into: Unit,
    base: *mut c_void,
) -> Option<c_int> {
    let windows = WINDOWS.lock();
    // Handles of MPICH have 32 bits.
    let window = windows.get(&(win as c_int))?;
    let (length, unit, address) = match usize::try_from(rank) {
        Ok(rank) => *window.parts.get(rank)?,
        Err(_) if rank == NOBODY => {
            let some = window.parts.iter().find(|part| part.0 > 0);
            some.copied().unwrap_or((0, 1, 0))
        }
        Err(_) => return None,
    };
    // SAFETY: the program's places.
    unsafe {
        bytes.write(length);
        match into {
            // It came as one.
            Unit::Int(place) => place.write(unit as c_int),
            Unit::Count(place) => place.write(unit),
        }
        base.cast::<usize>().write(address);
    }
    Some(0)
}

/// `MPI_Win_get_attr`; `None`: it is MPICH's.
pub fn attribute(win: Handle, key: c_int, value: *mut c_void, there: *mut c_int) -> Option<c_int> {
    if key != FLAVOR || !WINDOWS.lock().contains_key(&(win as c_int)) {
        return None;
    }
    // SAFETY: the program's places.
    unsafe {
        value.cast::<*const c_int>().write(&raw const SHARED_FLAVOR);
        there.write(1);
    }
    Some(0)
}

/// `MPI_Win_free`; `None`: it is MPICH's.
pub fn free(win: *mut c_int) -> Option<c_int> {
    // SAFETY: null, or the program's handle.
    let handle = *unsafe { win.as_ref() }?;
    let known = WINDOWS.lock().contains_key(&handle);
    let library = Library::get().filter(|_| known)?;
    // SAFETY: the program's argument.
    let freed = unsafe { (library.Win_free)(win) };
    if freed == 0 {
        WINDOWS.lock().remove(&handle);
    }
    Some(freed)
}
