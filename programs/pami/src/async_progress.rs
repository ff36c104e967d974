// SPDX-License-Identifier: MIT OR Apache-2.0
//! Extension of asynchronous progress: `pami_ext_async_progress.h`. Each context with
//! asynchronous progress has a thread of the task that advances it at each event, under the context's lock, and sleeps otherwise.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::pthread_t;
use parking_lot::Mutex;

use crate::abi::{self, AsyncEvent, AsyncFunction, ResultCode};
use crate::boundary;
use crate::context::{CONTEXTS, Context};
use crate::failure::Failure;
use gyre_interpose::threads::{pthread_create, pthread_join};

/// State of the extension by context handle.
static CONTEXTS_WITH: Mutex<BTreeMap<usize, Progress>> = Mutex::new(BTreeMap::new());

/// State of the extension for a context.
#[derive(Default)]
struct Progress {
    functions: Functions,
    thread: Option<Running>,
}

/// Functions of the program; each may be missing.
#[derive(Clone, Copy, Default)]
struct Functions {
    progress: AsyncFunction,
    suspend: AsyncFunction,
    resume: AsyncFunction,
    cookie: usize,
}

/// A thread that makes progress.
struct Running {
    handle: pthread_t,
    /// Request to end.
    stop: Arc<AtomicBool>,
}

/// Argument of such a thread.
struct Start {
    context: usize,
    functions: Functions,
    stop: Arc<AtomicBool>,
}

impl Start {
    fn call(&self, function: AsyncFunction) {
        if let Some(function) = function {
            // SAFETY: the program has registered the function with its cookie.
            unsafe {
                function(
                    self.context as abi::Context,
                    self.functions.cookie as *mut _,
                )
            };
        }
    }

    /// Advances the context, or lets the program do so; returns whether something was found, if known.
    fn make_progress(&self, context: &Context) -> Result<bool, Failure> {
        if self.functions.progress.is_none() {
            return context.advance_locked();
        }
        self.call(self.functions.progress);
        Ok(false)
    }

    /// The context, or `None` after the request to end.
    fn context(&self) -> Option<Arc<Context>> {
        let context = CONTEXTS.get(self.context as abi::Context).ok()?;
        (!self.stop.load(Ordering::Acquire)).then_some(context)
    }

    /// Makes progress until the request to end, or the end of the context.
    fn run(&self) -> Result<(), Failure> {
        while let Some(context) = self.context() {
            let seen = context.driver().epoch();
            if self.make_progress(&context)? || context.has_work() {
                continue;
            }
            self.call(self.functions.suspend);
            // Ends with the context, too.
            let _ = context.driver().wait_since(seen, None);
            drop(context);
            if self.context().is_some() {
                self.call(self.functions.resume);
            }
        }
        Ok(())
    }
}

/// The thread's routine.
unsafe extern "C-unwind" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: `enable` has made it for this thread.
    let start = unsafe { Box::from_raw(start.cast::<Start>()) };
    if let Err(failure) = boundary::value(|| start.run()) {
        eprintln!("libpami: asynchronous progress has ended: {}", failure.text);
    }
    ptr::null_mut()
}

/// Calls `work` with the state of a context.
fn with<R>(
    context: abi::Context,
    work: impl FnOnce(&mut Progress) -> Result<R, Failure>,
) -> Result<R, Failure> {
    CONTEXTS.get(context)?;
    let mut all = CONTEXTS_WITH.lock();
    // Handles are not used twice.
    all.retain(|&handle, _| CONTEXTS.get(handle as abi::Context).is_ok());
    work(all.entry(context as usize).or_default())
}

fn check(event: AsyncEvent) -> Result<(), Failure> {
    let known = [
        AsyncEvent::ALL,
        AsyncEvent::RECV_INTERRUPT,
        AsyncEvent::TIMER,
    ];
    match known.contains(&event) {
        true => Ok(()),
        false => Err(Failure::invalid(format!(
            "{} is not an event of progress, expected 0 to 2",
            event.0
        ))),
    }
}

/// Symbol `register`.
unsafe extern "C" fn register(
    context: abi::Context,
    progress: AsyncFunction,
    suspend: AsyncFunction,
    resume: AsyncFunction,
    cookie: *mut c_void,
) -> ResultCode {
    boundary::result(|| {
        with(context, |known| {
            if known.thread.is_some() {
                return Err(Failure::invalid("the context makes progress by itself"));
            }
            known.functions = Functions {
                progress,
                suspend,
                resume,
                cookie: cookie as usize,
            };
            Ok(())
        })
    })
}

/// Symbol `enable`. A second call has no effect.
unsafe extern "C" fn enable(context: abi::Context, event: AsyncEvent) -> ResultCode {
    boundary::result(|| {
        check(event)?;
        let stop = Arc::new(AtomicBool::new(false));
        let start = with(context, |known| {
            Ok(known.thread.is_none().then(|| Start {
                context: context as usize,
                functions: known.functions,
                stop: Arc::clone(&stop),
            }))
        })?;
        let Some(start) = start else {
            return Ok(());
        };
        let start = Box::into_raw(Box::new(start));
        let mut handle = 0;
        // SAFETY: a place for the handle, no attributes, and a box that the thread takes.
        let failed: c_int =
            unsafe { pthread_create(&raw mut handle, ptr::null(), run, start.cast()) };
        if failed != 0 {
            // SAFETY: there is no thread that has it.
            drop(unsafe { Box::from_raw(start) });
            return Err(Failure::error("no thread can be started for the progress"));
        }
        with(context, |known| {
            known.thread = Some(Running { handle, stop });
            Ok(())
        })
    })
}

/// Symbol `disable`. Returns when the thread has ended, at once if there is none.
unsafe extern "C" fn disable(context: abi::Context, event: AsyncEvent) -> ResultCode {
    boundary::result(|| {
        check(event)?;
        let Some(running) = with(context, |known| Ok(known.thread.take()))? else {
            return Ok(());
        };
        running.stop.store(true, Ordering::Release);
        CONTEXTS.get(context)?.driver().wake();
        // SAFETY: the thread was started here, and nobody else waits for it.
        match unsafe { pthread_join(running.handle, ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(Failure::invalid("the thread that makes progress ends it")),
        }
    })
}

/// The function of a name of the extension.
pub fn symbol(name: &[u8]) -> *const () {
    match name {
        b"register" => register as *const (),
        b"enable" => enable as *const (),
        b"disable" => disable as *const (),
        _ => ptr::null(),
    }
}
