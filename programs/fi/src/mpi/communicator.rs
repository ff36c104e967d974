// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicators as geometries.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use gyre_collectives::{Done, Geometry, Member, Request};
use gyre_driver::{Context, TaskId, WakeReason};
use gyre_remote::{RemoteBuffer, RemotePlatform};
use parking_lot::Mutex;

use super::library::{Handle, Library};
use crate::boundary::Refusal;
use crate::port::Port;
use crate::progress::{Looking, Progress as _};

/// `MPI_BYTE` of MPICH.
const BYTE: Handle = 0x4c00_010d;

/// `MPI_ANY_SOURCE` and `MPI_ANY_TAG`.
const ANY_SOURCE: c_int = -2;
const ANY_TAG: c_int = -1;

/// `MPI_STATUS_IGNORE`
const NO_STATUS: *mut c_void = ptr::dangling_mut::<u8>().cast();

/// Time after which a waiting thread lets MPICH make progress in any case, picoseconds: it may be busy within the process.
const SLEEP_PS: u64 = 64_000_000;

/// Numbers of geometries.
const NUMBERS: usize = 256;

/// State of a communicator, kept as its attribute.
pub struct Communicator {
    port: Arc<Port>,
    /// `None`: its collectives are MPICH's.
    member: Option<Member<RemotePlatform>>,
}

/// A geometry whose communicator has ended.
struct Leaving {
    member: Member<RemotePlatform>,
    /// Its routes have been given back.
    released: Arc<AtomicBool>,
}

/// Numbers in use, and geometries that leave.
struct Numbers {
    taken: [bool; NUMBERS],
    leaving: Vec<Leaving>,
}

static NUMBERS_IN_USE: Mutex<Numbers> = Mutex::new(Numbers {
    taken: [false; NUMBERS],
    leaving: Vec::new(),
});

/// The endpoint of the process on context 0 of its task.
static PORT: Mutex<std::sync::Weak<Port>> = Mutex::new(std::sync::Weak::new());

/// Uses `port` for collectives from now on.
pub fn serve(port: &Arc<Port>) {
    *PORT.lock() = Arc::downgrade(port);
    let mut numbers = NUMBERS_IN_USE.lock();
    numbers.taken = [false; NUMBERS];
    numbers.leaving.clear();
}

/// Drops all members after their routes are freed: the endpoint of `context` is closing, and other members may still report
/// to it that they have released the routes.
///
/// # Errors
/// Errors of the driver.
pub fn close(context: &Context<RemotePlatform>) -> Result<(), Refusal> {
    context.advance_until(|| {
        let numbers = NUMBERS_IN_USE.lock();
        let mut leaving = numbers.leaving.iter();
        leaving.all(|one| one.released.load(Ordering::Relaxed))
    })?;
    let mut numbers = NUMBERS_IN_USE.lock();
    for leaving in numbers.leaving.drain(..) {
        leaving.member.leave();
    }
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
        let communicator = unsafe { Box::from_raw(attribute.cast::<Communicator>()) };
        if let Some(member) = communicator.member {
            leave(member);
        }
    });
    0
}

/// Frees the routes, without a wait.
fn leave(member: Member<RemotePlatform>) {
    let released = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&released);
    let done: Done<RemotePlatform> = Box::new(move |_, _| flag.store(true, Ordering::Relaxed));
    if member.release_routes(Some(done)).is_err() {
        released.store(true, Ordering::Relaxed);
    }
    NUMBERS_IN_USE
        .lock()
        .leaving
        .push(Leaving { member, released });
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
            let made = Box::into_raw(Box::new(Self::make(library, comm)?));
            // SAFETY: a communicator and a key.
            if unsafe { (library.Comm_set_attr)(comm, key, made.cast()) } != 0 {
                // SAFETY: made above, and nobody has it.
                drop(unsafe { Box::from_raw(made) });
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
        Some(Self { port, member })
    }

    /// The geometry and its endpoint, if the driver carries out its collectives.
    pub fn member(&self) -> Option<(&Member<RemotePlatform>, &Arc<Port>)> {
        self.member.as_ref().map(|member| (member, &self.port))
    }
}

/// Proposal of each task: its number, and its free geometry numbers.
#[repr(C)]
#[derive(Clone, Copy)]
struct Proposal {
    task: u32,
    free: [u8; NUMBERS / 8],
}

/// Makes a geometry of a communicator of all tasks; `None` where no routes of the network are left.
fn join(
    library: &Library,
    port: &Arc<Port>,
    comm: Handle,
    tasks: usize,
) -> Option<Member<RemotePlatform>> {
    let own = propose(port);
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
    if gathered != 0 {
        return None;
    }
    let free = |number: &usize| {
        let bit = 1 << (number % 8);
        all.iter().all(|one| one.free[number / 8] & bit != 0)
    };
    let number = (0..NUMBERS).find(free)?;
    NUMBERS_IN_USE.lock().taken[number] = true;
    let listed: Vec<TaskId> = all.iter().map(|one| TaskId(one.task)).collect();
    let joined = begin(port, number, &listed).and_then(|member| {
        let done = Flag::default();
        member.take_routes(Some(done.callback()))?;
        done.wait((library, comm), port)?;
        Ok(member)
    });
    match joined {
        Ok(member) if member.routes().class || member.routes().barrier => Some(member),
        Ok(member) => {
            leave(member);
            None
        }
        Err(_) => None,
    }
}

/// Proposal of this task.
fn propose(port: &Port) -> Proposal {
    let mut numbers = NUMBERS_IN_USE.lock();
    let numbers = &mut *numbers;
    // A geometry whose routes are free frees its number.
    let (gone, staying): (Vec<_>, Vec<_>) = std::mem::take(&mut numbers.leaving)
        .into_iter()
        .partition(|leaving| leaving.released.load(Ordering::Relaxed));
    numbers.leaving = staying;
    for Leaving { member, .. } in gone {
        numbers.taken[usize::from(member.geometry().number())] = false;
        member.leave();
    }
    let mut free = [0; NUMBERS / 8];
    for (number, _) in numbers
        .taken
        .iter()
        .enumerate()
        .filter(|(_, taken)| !**taken)
    {
        free[number / 8] |= 1 << (number % 8);
    }
    Proposal {
        task: port.context.task().0,
        free,
    }
}

fn begin(port: &Port, number: usize, tasks: &[TaskId]) -> Result<Member<RemotePlatform>, Refusal> {
    let endpoints: Vec<_> = tasks
        .iter()
        .map(|&task| port.context.endpoint(task, 0))
        .collect::<Result<_, _>>()?;
    // Numbers are few.
    let geometry = Geometry::endpoint_list("mpi", number as u16, endpoints);
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
