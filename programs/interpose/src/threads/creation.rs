// SPDX-License-Identifier: MIT OR Apache-2.0
//! Start, end and join of threads.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use gyre_remote::waiting::{self, Waiting};
use gyre_remote::{MailboxError, Native, RemotePlatform, StartedThread};
use libc::{pthread_attr_t, pthread_t};
use parking_lot::Mutex;

use super::{is_simulated, leaving};
use crate::boundary;
use crate::cancellation;
use crate::job::Job;
use crate::real::real;
use crate::system_calls;

/// Routine of a thread. It may end by `pthread_exit`, which unwinds.
type Routine = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// Threads that the machine serves and that were not joined, by handle.
static THREADS: Mutex<BTreeMap<pthread_t, Arc<State>>> = Mutex::new(BTreeMap::new());

/// Number of running ones.
static RUNNING: AtomicU32 = AtomicU32::new(0);

/// State of a thread.
struct State {
    /// Number of the thread in its task.
    thread: u32,
    ended: AtomicBool,
    /// It is not joined.
    detached: AtomicBool,
    /// It is to end at its next cancellation point.
    cancelled: AtomicBool,
}

impl State {
    /// Has the thread end at its next cancellation point; returns its number.
    fn cancel(&self) -> u32 {
        self.cancelled.store(true, Ordering::Release);
        self.thread
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Waits in simulated time until the thread has ended, or this one is cancelled.
    fn await_end(&self) {
        while !self.ended.load(Ordering::Acquire) && !cancellation::is_pending() {
            let waiting = Waiting::begin(self.key());
            boundary::value(|| waiting.wait(None));
        }
    }
}

/// Argument of a thread's first function.
struct Start {
    /// Until it begins.
    thread: Option<StartedThread>,
    state: Arc<State>,
    routine: Routine,
    argument: *mut c_void,
}

/// Ends a thread, however it ended; called as destructor of a key. Not called at the end of the process.
unsafe extern "C" fn end(state: *mut c_void) {
    system_calls::end_dispatch();
    boundary::value(|| {
        // SAFETY: `enter` has given it to this thread.
        let state = unsafe { Arc::from_raw(state.cast::<State>()) };
        state.ended.store(true, Ordering::Release);
        if state.detached.load(Ordering::Relaxed) {
            THREADS
                .lock()
                .retain(|_, other| !Arc::ptr_eq(other, &state));
        }
        leaving::leave();
        cancellation::give_back();
        waiting::wake(state.key(), usize::MAX);
        RUNNING.fetch_sub(1, Ordering::Relaxed);
        waiting::wake((&raw const RUNNING).addr(), usize::MAX);
        StartedThread::end();
    });
}

/// The key with that destructor.
fn end_key() -> libc::pthread_key_t {
    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: a place for the key.
        let made = unsafe { libc::pthread_key_create(&raw mut key, Some(end)) };
        assert_eq!(made, 0, "the process has all keys of the C library in use");
        key
    })
}

/// First function of a thread: it runs in the thread's turn.
unsafe extern "C-unwind" fn begin(start: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` has made it for this thread.
    let (routine, argument) = unsafe { enter(start.cast()) };
    // SAFETY: the program's routine with its argument.
    unsafe { routine(argument) }
}

/// Makes this thread one that the machine serves, and waits for its turn.
///
/// # Safety
/// `start` comes from a box, and the caller owns it.
unsafe fn enter(start: *mut Start) -> (Routine, *mut c_void) {
    // SAFETY: what the caller promises; nothing else refers to it.
    if let Some(thread) = unsafe { &mut *start }.thread.take() {
        boundary::value(|| {
            if let Err(lost) = thread.begin() {
                std::panic::resume_unwind(Box::new(lost));
            }
        });
    }
    // Now it has its turn, and may take locks.
    // SAFETY: what the caller promises.
    let Start {
        thread: _,
        state,
        routine,
        argument,
    } = *unsafe { Box::from_raw(start) };
    // SAFETY: the state is this thread's until `end`.
    unsafe { cancellation::take_over(&state.cancelled) };
    // SAFETY: the key is there, and its destructor takes what it is given.
    unsafe { libc::pthread_setspecific(end_key(), Arc::into_raw(state).cast()) };
    system_calls::dispatch(false);
    (routine, argument)
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: *const pthread_attr_t, state: *mut c_int) -> c_int;
}

/// C: `pthread_create`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    handle: *mut pthread_t,
    attributes: *const pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    let create = |routine: Routine, argument: *mut c_void| {
        real!(c"pthread_create" of c"GLIBC_2.34",
            (handle => *mut pthread_t, attributes => *const pthread_attr_t, routine => Routine, argument => *mut c_void)
            -> c_int)
    };
    if Job::of_this_thread().is_none() {
        waiting::expect_others();
        return create(routine, argument);
    }
    let thread = match boundary::value(StartedThread::new) {
        Ok(thread) => thread,
        Err(error @ MailboxError::NoThread(_)) => {
            boundary::note(&error.to_string());
            return libc::EAGAIN;
        }
        Err(lost) => boundary::value(|| std::panic::resume_unwind(Box::new(lost))),
    };
    let number = thread.number();
    let mut detached = 0;
    if !attributes.is_null() {
        // SAFETY: the program's attributes, and a place.
        unsafe { pthread_attr_getdetachstate(attributes, &raw mut detached) };
    }
    let state = Arc::new(State {
        thread: number,
        cancelled: AtomicBool::new(false),
        ended: AtomicBool::new(false),
        detached: AtomicBool::new(detached == libc::PTHREAD_CREATE_DETACHED),
    });
    let start = Box::into_raw(Box::new(Start {
        thread: Some(thread),
        state: Arc::clone(&state),
        routine,
        argument,
    }));
    RUNNING.fetch_add(1, Ordering::Relaxed);
    let result = {
        // The C library's thread begins where it makes it.
        let _native = Native::begin();
        create(begin, start.cast())
    };
    if result != 0 {
        RUNNING.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: there is no thread that has it.
        let start = unsafe { Box::from_raw(start) };
        boundary::value(|| start.thread.map(StartedThread::abandon));
        return result;
    }
    // SAFETY: the C library has written it. The thread has had no turn yet.
    THREADS.lock().insert(unsafe { handle.read() }, state);
    0
}

/// A thread that the machine serves and that was not joined.
fn known(handle: pthread_t) -> Option<Arc<State>> {
    THREADS.lock().get(&handle).cloned()
}

/// C: `pthread_join`.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_join(handle: pthread_t, result: *mut *mut c_void) -> c_int {
    let joined = join(handle, result);
    cancellation::point();
    joined
}

/// Joins a thread, unless this one is cancelled meanwhile.
fn join(handle: pthread_t, result: *mut *mut c_void) -> c_int {
    let state = known(handle);
    // SAFETY: it has no arguments.
    let own = unsafe { libc::pthread_self() } == handle;
    if let Some(state) = state.filter(|_| is_simulated() && !own) {
        state.await_end();
        if cancellation::is_pending() {
            return libc::EINTR;
        }
        THREADS.lock().remove(&handle);
    }
    // The system tells its end, in the host's time.
    let _native = Native::begin();
    real!(c"pthread_join", (handle => pthread_t, result => *mut *mut c_void) -> c_int)
}

/// C: `pthread_detach`.
#[unsafe(no_mangle)]
pub extern "C" fn pthread_detach(handle: pthread_t) -> c_int {
    if let Some(state) = known(handle) {
        state.detached.store(true, Ordering::Relaxed);
        if state.ended.load(Ordering::Acquire) {
            THREADS.lock().remove(&handle);
        }
    }
    real!(c"pthread_detach", (handle => pthread_t) -> c_int)
}

/// C: `pthread_cancel`.
#[unsafe(no_mangle)]
pub extern "C" fn pthread_cancel(handle: pthread_t) -> c_int {
    let Some(state) = known(handle) else {
        return real!(c"pthread_cancel", (handle => pthread_t) -> c_int);
    };
    let thread = state.cancel();
    boundary::value(|| waiting::interrupt(thread));
    0
}

/// C: `pthread_exit`. The first thread of a task waits until all others have ended, then ends the process.
///
/// # Safety
/// As the C library says.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_exit(result: *mut c_void) -> ! {
    if is_simulated() && RemotePlatform::of_this_thread().thread() == 0 {
        let key = (&raw const RUNNING).addr();
        while RUNNING.load(Ordering::Acquire) > 0 {
            let waiting = Waiting::begin(key);
            boundary::value(|| waiting.wait(None));
        }
        std::process::exit(0);
    }
    cancellation::exit(result)
}
