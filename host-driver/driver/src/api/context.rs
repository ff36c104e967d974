// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts: a share of a client's resources with a work queue (EP-2, EP-3).

use core::ops::{Deref, DerefMut};
use std::collections::VecDeque;

use crate::ack::AckStats;
use crate::am::deferred_messages::DeferredStats;
use crate::am::dispatch::{Arrival, DispatchTable, NewDispatches};
use crate::api::check::check_dispatch;
use crate::api::queue::{NEVER, Queue};
use crate::attention::Reason;
use crate::core::Core;
use crate::cost::Op;
use crate::endpoint::Endpoint;
use crate::engine::{Engine, Parts};
use crate::error::{Error, Fault};
use crate::layout::{ClientLayout, ContextInfo};
use crate::operation::DeferredId;
use crate::platform::{Platform, PlatformLock};
use crate::rma::notify::PutArrival;
use crate::sync::{
    Arc, AtomicBool, AtomicU64, AtomicUsize, Exclusive, ExclusiveGuard, Mutex, Ordering, Weak,
    lock, try_take,
};
use crate::task::TaskId;
use crate::task_map::TaskMap;
use crate::transport::lanes::Lanes;

/// Done callback: called once, by the thread that advances the context, whichever has posted the operation (EP-3).
pub type DoneFn<P> = Box<dyn FnOnce(&Context<P>, Result<(), Error>) + Send>;

/// A function that the context calls from `advance`, on the thread that advances.
pub type CallFn<P> = Box<dyn FnOnce(&Context<P>) + Send>;

/// Called by `advance` once per message, at its first packet. May post; may not advance.
pub type DispatchFn<P> = Box<dyn FnMut(&Context<P>, &Arrival<'_>) -> Receive<P> + Send>;

/// Called by `advance` once per put with a dispatch identifier, when the data is in memory. May post; may not advance.
pub type PutFn<P> = Box<dyn FnMut(&Context<P>, &PutArrival) + Send>;

/// Called by every turn of `advance`; says whether it has found something to do. May post; may not advance.
pub type ProgressFn<P> = Box<dyn FnMut(&Context<P>) -> bool + Send>;

/// Gets a message whose receive is deferred, as part of its dispatch callback. May post; may not advance.
pub type DeferFn<P> = Box<dyn FnOnce(&Context<P>, DeferredReceive<P>)>;

/// Disposition of a message, as its dispatch callback returns it.
pub type Receive<P> = crate::am::dispatch::Receive<P, DoneFn<P>, DeferFn<P>>;

/// Posted work, whose done callbacks stand in the queue's table.
pub(super) type Work<P> = crate::operation::Work<P, DoneFn<P>, CallFn<P>>;

/// A context. Clones are handles to the same context; all methods take `&self`.
///
/// [`post`](Self::post) and [`wait`](Self::wait) may be called by any thread at any time.
/// [`advance`](Self::advance) may be called by one thread at a time: threads that share a context take
/// its [`lock`](Self::lock) for it. On every platform a handle is `Send` and `Sync`, and callbacks are `Send`: they
/// run on the thread that advances (EP-2, EP-3).
pub struct Context<P: Platform> {
    shared: Arc<Shared<P>>,
}

impl<P: Platform> Clone for Context<P> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

/// A message whose receive is deferred: the handle by which the program receives or discards it, on any thread and at
/// any time after [`Receive::Deferred`](crate::Receive::Deferred) (EP-4). Dropped, it refuses the message: a SEND whose
/// `remote_done` waits for it gets [`Error::NotFetched`]. It does not keep its context alive.
pub struct DeferredReceive<P: Platform> {
    pub(super) context: Weak<Shared<P>>,
    /// Until the message is received or discarded.
    pub(super) message: Option<DeferredId>,
}

/// Outcome of a request, once it has ended.
pub(crate) type Outcome<T> = Mutex<Option<Result<T, Fault>>>;

/// Done callback of an operation.
pub(crate) enum Done<P: Platform> {
    /// A function.
    Function(DoneFn<P>),
    /// A request, which gets the outcome, and then a function.
    Request(Arc<Outcome<()>>, Option<DoneFn<P>>),
}

/// A module over a context with a queue of completions to deliver.
pub(crate) trait Ends<P: Platform>: Send + Sync {
    /// Delivers the next one. Called by `advance`.
    fn end_next(&self, context: &Context<P>);
}

impl<P: Platform> Done<P> {
    /// Calls it.
    #[inline]
    pub fn call(self, context: &Context<P>, result: Result<(), Error>) {
        match self {
            Self::Function(function) => function(context, result),
            Self::Request(outcome, function) => {
                let kept = match &result {
                    Ok(()) => Ok(()),
                    Err(error) => Err(error.clone().into()),
                };
                *lock(&outcome) = Some(kept);
                // Makes the result without error anew, which costs less than a move.
                match (function, result) {
                    (None, _) => {}
                    (Some(function), Ok(())) => function(context, Ok(())),
                    (Some(function), error) => function(context, error),
                }
            }
        }
    }

    /// Whether there is a function to call.
    pub fn calls(&self) -> bool {
        !matches!(self, Self::Request(_, None))
    }

    /// As a function.
    pub fn into_function(self) -> DoneFn<P> {
        match self {
            Self::Function(function) => function,
            request => Box::new(move |context, result| request.call(context, result)),
        }
    }
}

impl<P: Platform> From<DoneFn<P>> for Done<P> {
    fn from(function: DoneFn<P>) -> Self {
        Self::Function(function)
    }
}

/// Queue from the threads of a context to the one that advances it.
pub(super) type ContextQueue<P> = Queue<Work<P>, Done<P>, CallFn<P>, Arc<dyn Ends<P>>>;

/// A context as its handles see it.
pub(super) struct Shared<P: Platform> {
    pub core: Arc<Core<P>>,
    /// The injection FIFOs, for immediate messages.
    pub lanes: Arc<Lanes<P>>,
    lock: P::Lock,
    /// Taken around every use of the queue: orders posts and takes by the machine's time.
    pub queue_lock: P::Lock,
    pub queue: Mutex<ContextQueue<P>>,
    /// Threads inside `wait`: changes under the lock of the queue.
    pub sleepers: AtomicUsize,
    /// Announcements made to threads inside `wait`, or on their way there.
    pub announcements: AtomicU64,
    /// Time of the first alarm in the queue, or [`NEVER`].
    pub alarm_ps: AtomicU64,
    pub dispatch: Mutex<NewDispatches<DispatchFn<P>>>,
    /// Callbacks for puts, in the same way.
    pub puts: Mutex<NewDispatches<PutFn<P>>>,
    /// New functions for every turn, which the advancing thread has not seen yet.
    pub progress: Mutex<Vec<ProgressFn<P>>>,
    /// Functions to call at the end of the context.
    pub at_destroy: Mutex<Vec<CallFn<P>>>,
    /// Receives deferred so far.
    pub deferred_ever: AtomicU64,
    /// Taken by the thread that uses `held`, and held across platform calls and callbacks.
    pub engine_lock: P::Lock,
    /// Taken by the holder of `engine_lock` alone.
    held: Exclusive<Held<P>>,
    /// The holder of `engine_lock` is in `advance`: no other thread may be.
    advancing: AtomicBool,
    /// A callback is running.
    pub in_callback: AtomicBool,
    /// The last turn left something to do that no event will announce.
    pub unfinished: AtomicBool,
    /// The context has given its resources back.
    pub closed: AtomicBool,
}

/// Parts of a context that one thread at a time uses.
pub(super) struct Held<P: Platform> {
    pub engine: Engine<P>,
    pub calls: Calls<P>,
}

/// Functions of the program as the advancing thread knows them, and work that it has taken off the queue.
pub(super) struct Calls<P: Platform> {
    pub work: VecDeque<Work<P>>,
    /// Modules that the thread that advances has taken off the queue.
    pub ends: VecDeque<Arc<dyn Ends<P>>>,
    pub dispatch: DispatchTable<DispatchFn<P>>,
    pub puts: DispatchTable<PutFn<P>>,
    /// Functions that every turn calls.
    pub progress: Vec<ProgressFn<P>>,
}

impl<P: Platform> Context<P> {
    pub(super) fn create(
        platform: P,
        layout: Arc<ClientLayout>,
        info: ContextInfo,
        parts: &Parts<'_, P>,
    ) -> Result<Self, Error> {
        let core = Arc::new(Core::new(platform, layout, info));
        let engine = Engine::open(&core, parts)?;
        let lanes = engine.lanes();
        let platform = &core.platform;
        Ok(Self {
            shared: Arc::new(Shared {
                lock: platform.new_lock(),
                queue_lock: platform.new_lock(),
                engine_lock: platform.new_lock(),
                core,
                lanes,
                queue: Mutex::new(Queue::new()),
                sleepers: AtomicUsize::new(0),
                announcements: AtomicU64::new(0),
                alarm_ps: AtomicU64::new(NEVER),
                dispatch: Mutex::new(NewDispatches::new()),
                puts: Mutex::new(NewDispatches::new()),
                progress: Mutex::new(Vec::new()),
                at_destroy: Mutex::new(Vec::new()),
                deferred_ever: AtomicU64::new(0),
                held: Exclusive::new(Held {
                    engine,
                    calls: Calls {
                        work: VecDeque::with_capacity(crate::PREPARED),
                        ends: VecDeque::new(),
                        dispatch: DispatchTable::new(),
                        puts: DispatchTable::new(),
                        progress: Vec::new(),
                    },
                }),
                advancing: AtomicBool::new(false),
                in_callback: AtomicBool::new(false),
                unfinished: AtomicBool::new(false),
                closed: AtomicBool::new(false),
            }),
        })
    }

    /// A handle of the context of `weak`, while it lives.
    pub(super) fn upgrade(weak: &Weak<Shared<P>>) -> Option<Self> {
        weak.upgrade().map(|shared| Self { shared })
    }

    /// A handle that does not keep the context alive.
    pub(super) fn downgrade(&self) -> Weak<Shared<P>> {
        Arc::downgrade(&self.shared)
    }

    pub(super) fn shared(&self) -> &Shared<P> {
        &self.shared
    }

    pub(crate) fn core(&self) -> &Core<P> {
        &self.shared.core
    }

    /// The machine.
    #[must_use]
    pub fn platform(&self) -> &P {
        &self.shared.core.platform
    }

    /// Tells the platform of a step above the driver, such as one of a collective. Takes no time.
    #[inline(always)]
    pub fn note(&self, note: impl FnOnce(gyre_note::Context) -> gyre_note::Note) {
        self.core().note(note);
    }

    /// Resources of the context.
    #[must_use]
    pub fn query(&self) -> &ContextInfo {
        &self.shared.core.info
    }

    /// The task of this process.
    #[must_use]
    pub fn task(&self) -> TaskId {
        self.shared.core.info.endpoint.task
    }

    /// The client's task list.
    #[must_use]
    pub fn tasks(&self) -> &TaskMap {
        &self.shared.core.layout.config.tasks
    }

    /// The endpoint (task, context offset) of this context's client.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::UnknownContext`].
    pub fn endpoint(&self, task: TaskId, context: u8) -> Result<Endpoint, Error> {
        self.shared.core.layout.endpoint(task, context)
    }

    /// Sets the callback for messages with dispatch identifier `id`, 0 to 223. Set it before such
    /// messages arrive.
    ///
    /// # Errors
    /// [`Error::DispatchInUse`], [`Error::ReservedDispatch`].
    pub fn set_dispatch(&self, id: u8, callback: DispatchFn<P>) -> Result<(), Error> {
        set_callback(&self.shared.dispatch, id, callback)
    }

    /// Sets the callback for puts of peers with dispatch identifier `id`, 0 to 223
    /// ([`PutNotify::Dispatch`](crate::PutNotify::Dispatch)): `advance` calls it when all of a put's data is in memory.
    /// The identifiers are not those of messages. Set it before such puts arrive.
    ///
    /// # Errors
    /// [`Error::DispatchInUse`], [`Error::ReservedDispatch`].
    pub fn set_put_dispatch(&self, id: u8, callback: PutFn<P>) -> Result<(), Error> {
        set_callback(&self.shared.puts, id, callback)
    }

    /// Has every turn of `advance` call a function from now on. It looks for changes that no event of the node
    /// announces, such as those in memory that the node's processes share; their writer signals the wake group
    /// ([`Platform::notify`]). The function charges the cost of its looks.
    pub fn add_progress(&self, function: ProgressFn<P>) {
        lock(&self.shared.progress).push(function);
        self.core().attention.call(Reason::NewEveryTurn);
        self.core().attention.call(Reason::EveryTurn);
    }

    /// Counts of the acknowledgement dispatcher so far (AK-6).
    ///
    /// # Errors
    /// [`Error::AdvanceInCallback`], [`Error::Busy`] while another thread advances the context,
    /// [`Error::Destroyed`].
    pub fn ack_stats(&self) -> Result<AckStats, Error> {
        Ok(self.enter()?.engine.ack_stats())
    }

    /// Counts of messages whose receives are deferred.
    ///
    /// # Errors
    /// As [`ack_stats`](Self::ack_stats).
    pub fn deferred_stats(&self) -> Result<DeferredStats, Error> {
        Ok(self.enter()?.engine.deferred_stats())
    }

    /// Bytes of memory that the context keeps for fences which have not ended: its own, and its part in those of peers. It
    /// does not depend on how many endpoints there are (FN-2).
    ///
    /// # Errors
    /// As [`ack_stats`](Self::ack_stats).
    pub fn fence_bytes(&self) -> Result<usize, Error> {
        Ok(self.enter()?.engine.fence_bytes())
    }

    /// Takes the context's lock, which is held until the guard is dropped; other threads of the node run while it
    /// waits (EP-3).
    pub fn lock(&self) -> ContextLock<'_, P> {
        self.platform().charge(Op::Lock, 1);
        self.shared.lock.lock();
        ContextLock { context: self }
    }

    /// Takes the context's lock if it is free; `None` where another thread holds it (EP-3).
    #[must_use]
    pub fn try_lock(&self) -> Option<ContextLock<'_, P>> {
        self.platform().charge(Op::Lock, 1);
        let taken = self.shared.lock.trylock();
        taken.then(|| ContextLock { context: self })
    }

    /// Has [`destroy`](Self::destroy) call a function after all other unfinished work has been given up: for protocols
    /// over the context that keep callbacks themselves.
    pub(crate) fn at_destroy(&self, function: CallFn<P>) {
        lock(&self.shared.at_destroy).push(function);
    }

    /// Whether the context has been destroyed and its resources are free.
    pub(super) fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }

    /// Makes this thread the one that advances.
    pub(super) fn enter(&self) -> Result<HeldGuard<'_, P>, Error> {
        let shared = &*self.shared;
        if !shared.engine_lock.trylock() {
            if shared.advancing.load(Ordering::Acquire) {
                return Err(if shared.in_callback.load(Ordering::Acquire) {
                    Error::AdvanceInCallback
                } else {
                    Error::Busy
                });
            }
            // A thread in `call_at_once` releases the lock soon.
            shared.engine_lock.lock();
        }
        shared.advancing.store(true, Ordering::Release);
        self.hold_engine(true)
    }

    /// The engine, for the holder of its lock. Dropping the guard gives the lock back.
    pub(super) fn hold_engine(&self, advances: bool) -> Result<HeldGuard<'_, P>, Error> {
        let hold = Hold {
            shared: &self.shared,
            advances,
        };
        // The platform's lock may admit more than one thread.
        let Some(held) = try_take(&self.shared.held) else {
            return Err(Error::Busy);
        };
        Ok(HeldGuard { held, _hold: hold })
    }
}

/// Sets the callback of dispatch identifier `id`.
fn set_callback<F>(callbacks: &Mutex<NewDispatches<F>>, id: u8, callback: F) -> Result<(), Error> {
    check_dispatch(id)?;
    match lock(callbacks).set(id, callback) {
        true => Ok(()),
        false => Err(Error::DispatchInUse { id }),
    }
}

/// A context's lock, held: dropping it gives the lock back. It derefs to the context, for its thread to advance.
#[must_use = "the lock is held until the guard is dropped"]
pub struct ContextLock<'a, P: Platform> {
    context: &'a Context<P>,
}

impl<P: Platform> Deref for ContextLock<'_, P> {
    type Target = Context<P>;

    fn deref(&self) -> &Context<P> {
        self.context
    }
}

impl<P: Platform> Drop for ContextLock<'_, P> {
    fn drop(&mut self) {
        self.context.platform().charge(Op::Lock, 1);
        self.context.shared.lock.unlock();
    }
}

/// Use of a context's engine by one thread. Fields are dropped in this order.
pub(super) struct HeldGuard<'a, P: Platform> {
    held: ExclusiveGuard<'a, Held<P>>,
    _hold: Hold<'a, P>,
}

impl<P: Platform> Deref for HeldGuard<'_, P> {
    type Target = Held<P>;

    fn deref(&self) -> &Held<P> {
        &self.held
    }
}

impl<P: Platform> DerefMut for HeldGuard<'_, P> {
    fn deref_mut(&mut self) -> &mut Held<P> {
        &mut self.held
    }
}

/// The lock of a context's engine, held.
struct Hold<'a, P: Platform> {
    shared: &'a Shared<P>,
    advances: bool,
}

impl<P: Platform> Drop for Hold<'_, P> {
    fn drop(&mut self) {
        // Before the lock: a thread that finds the lock taken after that waits for it.
        if self.advances {
            self.shared.advancing.store(false, Ordering::Release);
        }
        self.shared.engine_lock.unlock();
    }
}
