// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators as geometries.

use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use gyre_collectives::{Done, Geometry, Member, Request};
use gyre_driver::{Context, TaskId, WakeReason};
use gyre_remote::{RemoteBuffer, RemotePlatform};
use parking_lot::Mutex;

use super::library::{Handle, Library};
use crate::boundary::Refusal;
use crate::port::Port;
use crate::progress::{Looking, Progress as _};

/// `MPI_BYTE`, `MPI_INT` and `MPI_BAND` of MPICH.
const BYTE: Handle = 0x4c00_010d;
const INT: Handle = 0x4c00_0405;
const BITWISE_AND: Handle = 0x5800_0006;

/// `MPI_ANY_SOURCE` and `MPI_ANY_TAG`.
const ANY_SOURCE: c_int = -2;
const ANY_TAG: c_int = -1;

/// `MPI_STATUS_IGNORE`
const NO_STATUS: *mut c_void = ptr::dangling_mut::<u8>().cast();

/// Time after which a waiting thread lets MPICH make progress in any case, picoseconds: it may be busy within the process.
const SLEEP_PS: u64 = 64_000_000;

/// No number of a geometry.
const NONE: u16 = u16::MAX;

/// Numbers that the first task of a communicator offers for its geometry.
const OFFERED: usize = 8;

/// State of a communicator, kept as its attribute.
pub struct Communicator {
    /// The endpoint, which it does not keep open: MPI lets programs end with communicators.
    port: Weak<Port>,
    /// `None`: its collectives are MPICH's.
    member: Mutex<Option<Arc<Member<RemotePlatform>>>>,
}

/// A geometry whose communicator has ended.
struct Leaving {
    member: Arc<Member<RemotePlatform>>,
    /// Its routes have been given back.
    released: Arc<AtomicBool>,
}

impl Leaving {
    fn end(self) {
        // Nobody else has it: the communicator has ended.
        if let Some(member) = Arc::into_inner(self.member) {
            member.leave();
        }
    }
}

/// Communicators that have geometries, numbers of these in use, and geometries that leave.
struct Known {
    communicators: Vec<Weak<Communicator>>,
    taken: BTreeSet<u16>,
    leaving: Vec<Leaving>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known {
    communicators: Vec::new(),
    taken: BTreeSet::new(),
    leaving: Vec::new(),
});

/// The endpoint of the process on context 0 of its task.
static PORT: Mutex<Weak<Port>> = Mutex::new(Weak::new());

/// The endpoint of the process on context 0 of its task, while it is open.
pub fn port() -> Option<Arc<Port>> {
    PORT.lock().upgrade()
}

/// Uses `port` for collectives from now on.
pub fn serve(port: &Arc<Port>) {
    *PORT.lock() = Arc::downgrade(port);
    let mut known = KNOWN.lock();
    known.communicators.clear();
    known.taken.clear();
    known.leaving.clear();
}

/// Drops all members after their routes are freed, those of communicators that the program has not freed too: the endpoint of `context`
/// is closing, and other members may still report to it that they have released the routes.
///
/// # Errors
/// Errors of the driver.
pub fn close(context: &Context<RemotePlatform>) -> Result<(), Refusal> {
    let left = std::mem::take(&mut KNOWN.lock().communicators);
    for communicator in left.iter().filter_map(Weak::upgrade) {
        communicator.leave();
    }
    context.advance_until(|| {
        let known = KNOWN.lock();
        let mut leaving = known.leaving.iter();
        leaving.all(|one| one.released.load(Ordering::Relaxed))
    })?;
    let leaving = std::mem::take(&mut KNOWN.lock().leaving);
    leaving.into_iter().for_each(Leaving::end);
    Ok(())
}

/// Key of the attribute.
fn key(library: &Library) -> Option<c_int> {
    static KEY: OnceLock<Option<c_int>> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: no copy function: a duplicate has none. The key is written.
        let made = unsafe {
            (library.Comm_create_keyval)(ptr::null_mut(), end, &raw mut key, ptr::null_mut())
        };
        (made == 0).then_some(key)
    })
}

/// Called when a communicator ends.
unsafe extern "C" fn end(
    _comm: c_int,
    _key: c_int,
    attribute: *mut c_void,
    _word: *mut c_void,
) -> c_int {
    gyre_interpose::boundary::value(|| {
        // SAFETY: what `of` has attached, once.
        let communicator = unsafe { Arc::from_raw(attribute.cast::<Communicator>()) };
        communicator.leave();
    });
    0
}

/// Frees the routes, without a wait.
fn leave(member: Arc<Member<RemotePlatform>>) {
    let released = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&released);
    let done: Done<RemotePlatform> = Box::new(move |_, _| flag.store(true, Ordering::Relaxed));
    if member.release_routes(Some(done)).is_err() {
        released.store(true, Ordering::Relaxed);
    }
    KNOWN.lock().leaving.push(Leaving { member, released });
}

impl Communicator {
    /// State of a communicator, made at its first collective, which all of its tasks call.
    pub fn of(library: &Library, comm: Handle) -> Option<&'static Self> {
        let key = key(library)?;
        let (mut attribute, mut there) = (ptr::null_mut(), 0);
        // SAFETY: places for what is asked for.
        let asked =
            unsafe { (library.Comm_get_attr)(comm, key, &raw mut attribute, &raw mut there) };
        if asked != 0 {
            return None;
        }
        if there == 0 {
            let made = Arc::new(Self::make(library, comm)?);
            KNOWN.lock().communicators.push(Arc::downgrade(&made));
            let made = Arc::into_raw(made).cast_mut();
            // SAFETY: a communicator and a key.
            if unsafe { (library.Comm_set_attr)(comm, key, made.cast()) } != 0 {
                // SAFETY: made above, and nobody has it.
                drop(unsafe { Arc::from_raw(made) });
                return None;
            }
            attribute = made.cast();
        }
        // SAFETY: it lasts as long as the communicator, which the caller uses.
        let communicator = unsafe { &*attribute.cast::<Self>() };
        Some(communicator)
    }

    fn make(library: &Library, comm: Handle) -> Option<Self> {
        let port = PORT.lock().upgrade()?;
        let (mut inter, mut size) = (0, 0);
        // SAFETY: places for what is asked for.
        let asked = unsafe {
            (library.Comm_test_inter)(comm, &raw mut inter)
                | (library.Comm_size)(comm, &raw mut size)
        };
        let all = port.context.tasks().len();
        let member = match asked == 0 && inter == 0 && usize::try_from(size) == Ok(all) && all > 1 {
            true => join(library, &port, comm, all),
            false => None,
        };
        Some(Self {
            port: Arc::downgrade(&port),
            member: Mutex::new(member.map(Arc::new)),
        })
    }

    /// The geometry and its endpoint, if the driver carries out its collectives.
    pub fn member(&self) -> Option<(Arc<Member<RemotePlatform>>, Arc<Port>)> {
        let member = self.member.lock().clone()?;
        Some((member, self.port.upgrade()?))
    }

    /// Leaves its geometry, if it has one.
    fn leave(&self) {
        let member = self.member.lock().take();
        if let Some(member) = member {
            leave(member);
        }
    }
}

/// Part of a task in the choice of a geometry's number: its own number, and what it offers if it is the communicator's first.
#[repr(C)]
#[derive(Clone, Copy)]
struct Proposal {
    task: u32,
    offered: [u16; OFFERED],
}

/// Makes a geometry of a communicator of all tasks; `None` where no routes of the network are left.
///
/// Threads may do so for several communicators at once, in any order on each task. The first task of a communicator offers numbers of its
/// own share, and none of them twice at a time.
fn join(
    library: &Library,
    port: &Arc<Port>,
    comm: Handle,
    tasks: usize,
) -> Option<Member<RemotePlatform>> {
    free_numbers();
    let mut rank = 0;
    // SAFETY: a place for what is asked for.
    if unsafe { (library.Comm_rank)(comm, &raw mut rank) } != 0 {
        return None;
    }
    let task = port.context.task().0;
    let offered = match rank {
        0 => offer(task, tasks),
        _ => [NONE; OFFERED],
    };
    let own = Proposal { task, offered };
    let listed = gather(library, comm, own, tasks);
    let number = listed
        .as_ref()
        .and_then(|listed| choose(library, comm, &listed.first()?.offered, rank == 0));
    if rank == 0 {
        let mut known = KNOWN.lock();
        let others = offered.iter().filter(|&&other| Some(other) != number);
        for other in others {
            known.taken.remove(other);
        }
    }
    let (listed, number) = (listed?, number?);
    KNOWN.lock().taken.insert(number);
    let listed: Vec<TaskId> = listed.iter().map(|one| TaskId(one.task)).collect();
    let joined = begin(port, number, &listed).and_then(|member| {
        let done = Flag::default();
        member.take_routes(Some(done.callback()))?;
        done.wait((library, comm), port)?;
        Ok(member)
    });
    match joined {
        Ok(member) if member.routes().class || member.routes().barrier => Some(member),
        Ok(member) => {
            leave(Arc::new(member));
            None
        }
        Err(_) => None,
    }
}

/// Frees the numbers of geometries whose routes are free.
fn free_numbers() {
    let gone: Vec<Leaving> = {
        let mut known = KNOWN.lock();
        let gone = |one: &mut Leaving| one.released.load(Ordering::Relaxed);
        let gone: Vec<_> = known.leaving.extract_if(.., gone).collect();
        for one in &gone {
            known.taken.remove(&one.member.geometry().number());
        }
        gone
    };
    gone.into_iter().for_each(Leaving::end);
}

/// Takes free numbers of the share of `task`.
fn offer(task: u32, tasks: usize) -> [u16; OFFERED] {
    let share = usize::from(NONE) / tasks;
    let first = task as usize * share;
    let mut known = KNOWN.lock();
    let mut offered = [NONE; OFFERED];
    // Tasks are fewer than numbers.
    let numbers = (first..first + share).map(|number| number as u16);
    let free = numbers.filter(|number| !known.taken.contains(number));
    let free: Vec<u16> = free.take(OFFERED).collect();
    offered[..free.len()].copy_from_slice(&free);
    known.taken.extend(free);
    offered
}

/// The proposals of all tasks, by rank.
fn gather(library: &Library, comm: Handle, own: Proposal, tasks: usize) -> Option<Vec<Proposal>> {
    let mut all = vec![own; tasks];
    let bytes = size_of::<Proposal>() as c_int;
    // SAFETY: one proposal from here, and room for those of all.
    let gathered = unsafe {
        (library.Allgather)(
            (&raw const own).cast(),
            bytes,
            BYTE,
            all.as_mut_ptr().cast(),
            bytes,
            BYTE,
            comm,
        )
    };
    (gathered == 0).then_some(all)
}

/// The first of the offered numbers that is free on all tasks.
fn choose(library: &Library, comm: Handle, offered: &[u16], own: bool) -> Option<u16> {
    let free: i32 = {
        let known = KNOWN.lock();
        let is_free = |&number: &u16| number != NONE && (own || !known.taken.contains(&number));
        let free = offered.iter().map(is_free);
        free.enumerate()
            .map(|(place, free)| i32::from(free) << place)
            .sum()
    };
    let mut all = 0_i32;
    // SAFETY: a number, and a place for one.
    let combined = unsafe {
        (library.Allreduce)(
            (&raw const free).cast(),
            (&raw mut all).cast(),
            1,
            INT,
            BITWISE_AND,
            comm,
        )
    };
    let first = all.trailing_zeros() as usize;
    offered.get(first).copied().filter(|_| combined == 0)
}

fn begin(port: &Port, number: u16, tasks: &[TaskId]) -> Result<Member<RemotePlatform>, Refusal> {
    let endpoints: Vec<_> = tasks
        .iter()
        .map(|&task| port.context.endpoint(task, 0))
        .collect::<Result<_, _>>()?;
    let geometry = Geometry::endpoint_list("mpi", number, endpoints);
    let geometry = port.node.on_network(geometry?)?;
    let collectives = port.collectives.get().ok_or(Refusal::INVALID)?;
    Ok(collectives.join(&geometry)?)
}

/// Flag of an ended collective.
#[derive(Default, Clone)]
struct Flag(Arc<Mutex<Option<Result<(), gyre_collectives::Error>>>>);

impl Flag {
    fn callback(&self) -> Done<RemotePlatform> {
        let flag = Arc::clone(&self.0);
        Box::new(move |_, outcome| *flag.lock() = Some(outcome))
    }

    /// Makes progress, also of MPICH, until the collective has ended, which wakes the thread.
    fn wait(&self, (library, comm): (&Library, Handle), port: &Port) -> Result<(), Refusal> {
        loop {
            let seen = port.context.epoch();
            if let Some(outcome) = self.0.lock().take() {
                return Ok(outcome?);
            }
            let has_waited = match port.advance(1)? {
                false => false,
                true => {
                    let until_ps = port.now_ps() + SLEEP_PS;
                    let reason = port.context.wait_since(seen, Some(until_ps))?;
                    reason == WakeReason::Deadline
                }
            };
            if has_waited || port.has_completions() {
                let _looking = Looking::begin();
                let mut found = 0;
                // SAFETY: the program's communicator; the place is written. What is found stays where it is.
                unsafe {
                    (library.Iprobe)(ANY_SOURCE, ANY_TAG, comm, &raw mut found, NO_STATUS);
                }
            }
        }
    }
}

/// Carries out a collective.
///
/// # Errors
/// Errors of the driver, or of the collective.
pub fn carry_out(
    (library, comm): (&Library, Handle),
    (member, port): (&Member<RemotePlatform>, &Port),
    request: Request<RemoteBuffer>,
) -> Result<(), Refusal> {
    let done = Flag::default();
    member.post(request, Some(done.callback()))?;
    done.wait((library, comm), port)
}
