// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts: progress, posted work, locks.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gyre_driver::{Context as DriverContext, Endpoint, Op, Platform as _, PlatformLock as _};
use gyre_remote::{RemoteLock, RemotePlatform};
use parking_lot::Mutex;

use crate::abi;
use crate::boundary;
use crate::client::{CLIENTS, Client};
use crate::failure::Failure;
use crate::group::GEOMETRIES;
use crate::handles::Handles;
use crate::hints::Dispatch;
use crate::settings::passed_settings;
use gyre_interpose::idle_polls::{IdlePolls, Polled};

/// All contexts of the process.
pub static CONTEXTS: Handles<Context> = Handles::new("context", 0x1_0000);

/// A context that a program has created.
pub struct Context {
    /// Its handle.
    pub handle: usize,
    /// Its client.
    pub client: Arc<Client>,
    /// Its number in its client.
    pub offset: usize,
    lock: RemoteLock,
    /// Receivers of messages, by dispatch number.
    pub dispatches: Mutex<BTreeMap<usize, Dispatch>>,
    work: Mutex<VecDeque<Work>>,
    /// Whether a fence region is open.
    pub fences: AtomicBool,
    /// Endpoints used by transfers of this context.
    peers: Mutex<BTreeSet<abi::Endpoint>>,
    idle_polls: IdlePolls,
}

/// Work that was posted.
struct Work {
    function: abi::WorkFunction,
    cookie: usize,
}

impl Context {
    /// The context at `offset` of `client`.
    pub fn new(handle: usize, client: Arc<Client>, offset: usize) -> Self {
        Self {
            handle,
            lock: client.job.platform.new_lock(),
            client,
            offset,
            dispatches: Mutex::default(),
            work: Mutex::default(),
            fences: AtomicBool::new(false),
            peers: Mutex::default(),
            idle_polls: IdlePolls::default(),
        }
    }

    /// The driver's context.
    pub fn driver(&self) -> &DriverContext<RemotePlatform> {
        &self.client.contexts[self.offset]
    }

    /// The endpoint of a code, for a transfer of this context.
    ///
    /// # Errors
    /// `PAMI_INVAL` for an invalid one.
    pub fn peer(&self, code: abi::Endpoint) -> Result<Endpoint, Failure> {
        let endpoint = self.client.endpoint(code)?;
        self.peers.lock().insert(code);
        Ok(endpoint)
    }

    /// The endpoints used by transfers of this context.
    pub fn peers(&self) -> Vec<abi::Endpoint> {
        self.peers.lock().iter().copied().collect()
    }

    /// Polls once; returns whether something was found.
    fn poll(&self) -> Result<bool, Failure> {
        let worked = self.work();
        Ok(!self.driver().advance(1)?.is_idle() || worked)
    }

    /// Waits for the lock, then polls once.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn advance_locked(&self) -> Result<bool, Failure> {
        self.lock.lock();
        let found = self.poll();
        self.lock.unlock();
        found
    }

    /// Whether posted work has not ended.
    pub fn has_work(&self) -> bool {
        !self.work.lock().is_empty()
    }

    /// Runs the pending posted work; returns whether some has ended.
    fn work(&self) -> bool {
        let count = self.work.lock().len();
        let mut ended = false;
        for _ in 0..count {
            let Some(work) = self.work.lock().pop_front() else {
                break;
            };
            let result = work.function.map(|function| {
                // SAFETY: the program has posted the function with its cookie.
                unsafe { function(self.handle as abi::Context, work.cookie as *mut _) }
            });
            match result {
                Some(abi::ResultCode::EAGAIN) => self.work.lock().push_back(work),
                _ => ended = true,
            }
        }
        ended
    }
}

/// A poll of a context by a program: for each context that is to be polled, whether something was found.
struct Poll<'a> {
    context: &'a Context,
    poll: fn(&Context) -> Result<bool, Failure>,
}

impl Polled for Poll<'_> {
    type Error = Failure;

    fn epoch(&self) -> u64 {
        self.context.driver().epoch()
    }

    fn is_quiet(&self) -> bool {
        !self.context.has_work()
    }

    fn look(&self) -> Result<bool, Failure> {
        (self.poll)(self.context)
    }

    fn wait(&self, epoch: u64, deadline_ps: u64) -> Result<(), Failure> {
        self.context.driver().wait_since(epoch, Some(deadline_ps))?;
        Ok(())
    }
}

/// Polls `contexts` in turn until something is found, at most `maximum` rounds.
fn advance(
    contexts: &[Arc<Context>],
    maximum: usize,
    poll: fn(&Context) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    for _ in 0..maximum {
        let mut found = false;
        for context in contexts {
            found |= match contexts {
                [_] => context.idle_polls.poll(&Poll { context, poll })?,
                // Only one of them wakes the thread.
                _ => poll(context)?,
            };
        }
        if found {
            return Ok(());
        }
    }
    Err(Failure::again())
}

/// Whether the pointer to an array of one handle is the handle itself. Programs do that, as it works where a handle is the address
/// of an object. Here no handle is an address.
fn is_handle(contexts: *const abi::Context, count: usize) -> bool {
    count == 1 && CONTEXTS.get(contexts.cast_mut().cast()).is_ok()
}

/// The contexts of an array of handles.
///
/// # Safety
/// `contexts` points to `count` handles, or is the only one.
unsafe fn all_of(
    contexts: *const abi::Context,
    count: usize,
) -> Result<Vec<Arc<Context>>, Failure> {
    if contexts.is_null() {
        return Err(Failure::invalid("the array of contexts is null"));
    }
    if is_handle(contexts, count) {
        return Ok(vec![CONTEXTS.get(contexts.cast_mut().cast())?]);
    }
    // SAFETY: what the caller promises.
    let handles = (0..count).map(|place| unsafe { contexts.add(place).read() });
    handles.map(|handle| CONTEXTS.get(handle)).collect()
}

/// Refuses settings that contexts cannot be given.
fn check_settings(settings: &[abi::Configuration]) -> Result<(), Failure> {
    // The setting is always true here.
    let known = abi::AttributeName::CLIENT_CONST_CONTEXTS;
    match settings.iter().find(|setting| setting.name != known) {
        None => Ok(()),
        Some(wrong) => {
            let text = format!("attribute {} cannot be set for contexts", wrong.name.0);
            Err(Failure::invalid(text))
        }
    }
}

/// C: `PAMI_Context_createv`.
///
/// # Safety
/// The program keeps to what `pami.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_createv(
    client: abi::Client,
    configuration: *mut abi::Configuration,
    num_configs: usize,
    contexts: *mut abi::Context,
    ncontexts: usize,
) -> abi::ResultCode {
    boundary::result(|| {
        let client = CLIENTS.get(client)?;
        // SAFETY: the program passes this many settings.
        check_settings(unsafe { passed_settings(configuration, num_configs)? })?;
        let most = client.contexts.len();
        if ncontexts == 0 || ncontexts > most || contexts.is_null() {
            return Err(Failure::invalid(format!(
                "{ncontexts} contexts, expected 1 to {most}"
            )));
        }
        if !client.created.lock().is_empty() {
            return Err(Failure::invalid("the client has its contexts"));
        }
        for offset in 0..ncontexts {
            let handle = CONTEXTS.add(|handle| {
                Ok::<_, Failure>(Context::new(handle, Arc::clone(&client), offset))
            })?;
            client.created.lock().push(handle);
            // SAFETY: the program passes this many handles.
            unsafe { contexts.add(offset).write(handle as *mut c_void) };
        }
        Ok(())
    })
}

/// C: `PAMI_Context_destroyv`.
///
/// # Safety
/// The program keeps to what `pami.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_destroyv(
    contexts: *mut abi::Context,
    ncontexts: usize,
) -> abi::ResultCode {
    boundary::result(|| {
        let in_array = !is_handle(contexts, ncontexts);
        // SAFETY: the program passes this many handles.
        let all = unsafe { all_of(contexts, ncontexts)? };
        for (place, context) in all.into_iter().enumerate() {
            let handle = context.handle;
            CONTEXTS.remove(handle as abi::Context)?;
            for (_, group) in GEOMETRIES.all() {
                group.forget(handle);
            }
            context
                .client
                .created
                .lock()
                .retain(|&other| other != handle);
            // Its asynchronous progress ends.
            context.driver().wake();
            if in_array {
                // SAFETY: as above.
                unsafe { contexts.add(place).write(std::ptr::null_mut()) };
            }
        }
        Ok(())
    })
}

/// C: `PAMI_Context_post`.
///
/// # Safety
/// As [`PAMI_Context_destroyv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_post(
    context: abi::Context,
    _work: *mut abi::Work,
    function: abi::WorkFunction,
    cookie: *mut c_void,
) -> abi::ResultCode {
    boundary::result(|| {
        let context = CONTEXTS.get(context)?;
        if function.is_none() {
            return Err(Failure::invalid("the function is null"));
        }
        context.work.lock().push_back(Work {
            function,
            cookie: cookie as usize,
        });
        context.driver().wake();
        Ok(())
    })
}

/// C: `PAMI_Context_advance`.
///
/// # Safety
/// As [`PAMI_Context_destroyv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_advance(
    context: abi::Context,
    maximum: usize,
) -> abi::ResultCode {
    boundary::result(|| advance(&[CONTEXTS.get(context)?], maximum, Context::poll))
}

/// C: `PAMI_Context_advancev`.
///
/// # Safety
/// As [`PAMI_Context_destroyv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_advancev(
    contexts: *mut abi::Context,
    count: usize,
    maximum: usize,
) -> abi::ResultCode {
    // SAFETY: the program passes this many handles.
    boundary::result(|| advance(&unsafe { all_of(contexts, count)? }, maximum, Context::poll))
}

/// C: `PAMI_Context_trylock_advancev`.
///
/// # Safety
/// As [`PAMI_Context_destroyv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_trylock_advancev(
    contexts: *mut abi::Context,
    count: usize,
    maximum: usize,
) -> abi::ResultCode {
    let poll = |context: &Context| {
        if !context.lock.trylock() {
            // Time passes for who repeats it.
            context.client.job.platform.charge(Op::Turn, 1);
            return Ok(false);
        }
        let found = context.poll();
        context.lock.unlock();
        found
    };
    // SAFETY: the program passes this many handles.
    boundary::result(|| advance(&unsafe { all_of(contexts, count)? }, maximum, poll))
}

/// C: `PAMI_Context_lock`.
///
/// # Safety
/// As [`PAMI_Context_destroyv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_lock(context: abi::Context) -> abi::ResultCode {
    boundary::result(|| {
        let context = CONTEXTS.get(context)?;
        if context.lock.is_own() {
            return Err(Failure::invalid("the thread has the lock already"));
        }
        context.lock.lock();
        Ok(())
    })
}

/// C: `PAMI_Context_trylock`.
///
/// # Safety
/// As [`PAMI_Context_destroyv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_trylock(context: abi::Context) -> abi::ResultCode {
    boundary::result(|| match CONTEXTS.get(context)?.lock.trylock() {
        true => Ok(()),
        false => Err(Failure::again()),
    })
}

/// C: `PAMI_Context_unlock`.
///
/// # Safety
/// As [`PAMI_Context_destroyv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_unlock(context: abi::Context) -> abi::ResultCode {
    boundary::result(|| {
        let context = CONTEXTS.get(context)?;
        if !context.lock.is_own() {
            return Err(Failure::invalid("the thread does not have the lock"));
        }
        context.lock.unlock();
        Ok(())
    })
}
