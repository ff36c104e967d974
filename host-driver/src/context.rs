//! Contexts: a share of a client's resources with a work queue (EP-2, EP-3).

mod check;
mod post;
mod queue;

use core::ops::{Deref, DerefMut, Range};

use check::check_dispatch;
use queue::{NEVER, Queue};

use crate::ack::AckStats;
use crate::client::Plan;
use crate::cookie::CookieTable;
use crate::cost::Op;
use crate::dispatch::{DispatchFn, NewDispatches, ProgressFn};
use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::error::Error;
use crate::injection::InjectionFifo;
use crate::instruction::CallFn;
use crate::platform::{Platform, PlatformLock};
use crate::shared_memory::EndpointTable;
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering, hold, short};
use crate::task::{TaskId, TaskMap};

/// A context. Clones are handles to the same context; all methods take `&self`.
///
/// [`post`](Self::post) and [`wait`](Self::wait) may be called by any thread at any time.
/// [`advance`](Self::advance) may be called by one thread at a time: threads that share a context take
/// its [`lock`](Self::lock) around it.
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

/// Which resources a context has: the answer of [`Context::query`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextInfo {
    /// The endpoint that leads here.
    pub endpoint: Endpoint,
    /// Its injection FIFOs.
    pub injection_fifos: Range<u16>,
    /// Its remote-get FIFO.
    pub remote_get_fifo: u16,
    /// Its reception FIFO.
    pub reception_fifo: u16,
    /// Its wake group.
    pub wake_group: u8,
}

/// What `advance` has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Instructions taken off the work queue.
    pub instructions: usize,
    /// Descriptors handed to the DMA engine, and messages written to shared memory.
    pub started: usize,
    /// Descriptors completed.
    pub completed: usize,
    /// Packets received.
    pub packets: usize,
    /// Callbacks called.
    pub callbacks: usize,
}

impl Progress {
    /// Whether nothing has happened.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        // One test of all at once.
        self.instructions | self.started | self.completed | self.packets | self.callbacks == 0
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.started += other.started;
        self.completed += other.completed;
        self.packets += other.packets;
        self.callbacks += other.callbacks;
    }
}

pub(crate) struct Shared<P: Platform> {
    pub platform: P,
    pub plan: Arc<Plan>,
    pub info: ContextInfo,
    lock: P::Lock,
    locked: AtomicBool,
    /// Taken around every use of the queue: orders posts and takes by the machine's time.
    queue_lock: P::Lock,
    queue: Mutex<Queue<P>>,
    /// The queue has work, or the context has been destroyed.
    posted: AtomicBool,
    /// Time of the first alarm in the queue, or [`NEVER`].
    alarm_ps: AtomicU64,
    pub dispatch: Mutex<NewDispatches<P>>,
    /// Functions that every turn is to call, and that the thread that advances has not seen yet.
    progress: Mutex<Vec<ProgressFn<P>>>,
    /// There are some.
    more_progress: AtomicBool,
    /// Functions that the end of the context is to call.
    at_destroy: Mutex<Vec<CallFn<P>>>,
    /// Operations that wait for an acknowledgement.
    pub cookies: Mutex<CookieTable<P>>,
    /// Taken by the thread that uses `engine`, and held across platform calls and callbacks.
    engine_lock: P::Lock,
    /// Only ever taken with `hold`, by the holder of `engine_lock`.
    engine: Mutex<Engine<P>>,
    /// A thread is in `advance`: no other may be.
    advancing: AtomicBool,
    /// A callback is running.
    pub in_callback: AtomicBool,
    /// A wait ended by a wake-up that no poll has followed yet.
    pub woken: AtomicBool,
    /// The last turn left something to do that no event will announce.
    pub unfinished: AtomicBool,
    /// Nothing is under way: what a turn of `advance` does is to look for packets. Set by the thread that
    /// advances, under the lock of `cookies`; cleared by whoever begins something.
    at_rest: AtomicBool,
    /// The context has given its resources back.
    closed: AtomicBool,
}

impl<P: Platform> Context<P> {
    pub(crate) fn create(
        platform: P,
        plan: Arc<Plan>,
        table: Arc<EndpointTable<P>>,
        info: ContextInfo,
        fifos: &[Arc<InjectionFifo<P>>],
    ) -> Result<Self, Error> {
        let engine = Engine::open(&platform, &plan, table, &info, fifos)?;
        Ok(Self {
            shared: Arc::new(Shared {
                lock: platform.new_lock(),
                queue_lock: platform.new_lock(),
                engine_lock: platform.new_lock(),
                platform,
                plan,
                info,
                locked: AtomicBool::new(false),
                queue: Mutex::new(Queue::new()),
                posted: AtomicBool::new(false),
                alarm_ps: AtomicU64::new(NEVER),
                dispatch: Mutex::new(NewDispatches::new()),
                progress: Mutex::new(Vec::new()),
                more_progress: AtomicBool::new(false),
                at_destroy: Mutex::new(Vec::new()),
                cookies: Mutex::new(CookieTable::new()),
                engine: Mutex::new(engine),
                advancing: AtomicBool::new(false),
                in_callback: AtomicBool::new(false),
                woken: AtomicBool::new(true),
                unfinished: AtomicBool::new(false),
                at_rest: AtomicBool::new(true),
                closed: AtomicBool::new(false),
            }),
        })
    }

    pub(crate) fn shared(&self) -> &Shared<P> {
        &self.shared
    }

    /// The machine.
    #[must_use]
    pub fn platform(&self) -> &P {
        &self.shared.platform
    }

    /// Which resources the context has.
    #[must_use]
    pub fn query(&self) -> &ContextInfo {
        &self.shared.info
    }

    /// The task of this process.
    #[must_use]
    pub fn task(&self) -> TaskId {
        self.shared.info.endpoint.task
    }

    /// The client's task list.
    #[must_use]
    pub fn tasks(&self) -> &TaskMap {
        &self.shared.plan.config.tasks
    }

    /// The endpoint (task, context offset) of this context's client.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::UnknownContext`].
    pub fn endpoint(&self, task: TaskId, context: u8) -> Result<Endpoint, Error> {
        self.shared.plan.endpoint(task, context)
    }

    /// Sets the callback for messages with dispatch identifier `id`, 0 to 223. Set it before such
    /// messages arrive.
    ///
    /// # Errors
    /// [`Error::DispatchInUse`], [`Error::SystemDispatch`].
    pub fn set_dispatch(&self, id: u8, callback: DispatchFn<P>) -> Result<(), Error> {
        check_dispatch(id)?;
        if short(&self.shared.dispatch).set(id, callback) {
            Ok(())
        } else {
            Err(Error::DispatchInUse { id })
        }
    }

    /// Has every turn of `advance` from now on call a function that looks for what no event of the node announces,
    /// such as news in memory that the node's processes share: who writes them signals the wake group
    /// ([`Platform::notify`]). What the looks cost the function charges itself.
    pub fn add_progress(&self, function: ProgressFn<P>) {
        short(&self.shared.progress).push(function);
        self.shared.more_progress.store(true, Ordering::Release);
    }

    /// The functions added since the last call.
    pub(crate) fn take_progress(&self) -> Vec<ProgressFn<P>> {
        match self.shared.more_progress.swap(false, Ordering::AcqRel) {
            true => core::mem::take(&mut short(&self.shared.progress)),
            false => Vec::new(),
        }
    }

    /// Counts of the acknowledgement dispatcher so far (AK-6).
    ///
    /// # Errors
    /// [`Error::AdvanceInCallback`], [`Error::Busy`] while another thread advances the context,
    /// [`Error::Destroyed`].
    pub fn ack_stats(&self) -> Result<AckStats, Error> {
        Ok(self.enter()?.ack_stats())
    }

    /// Whether the context has nothing left to do: no work posted, nothing under way, waiting or owed to
    /// anybody. Only then may a thread stop advancing it without holding others up.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        // Asked again behind the queue: another thread may have taken work off it, and has left rest before.
        self.rests() && self.with_queue(|q| q.work.is_empty()) && self.rests()
    }

    /// Whether nothing is under way, apart from what has been posted.
    fn rests(&self) -> bool {
        self.shared.at_rest.load(Ordering::Acquire)
    }

    /// Something begins.
    pub(crate) fn leave_rest(&self) {
        self.shared.at_rest.store(false, Ordering::Release);
    }

    /// Looks whether everything that was under way has ended, and says whether it has.
    fn comes_to_rest(&self, engine: &Engine<P>) -> bool {
        if self.rests() || engine.in_flight() > 0 {
            return false;
        }
        // Nobody expects another acknowledgement meanwhile.
        let cookies = short(&self.shared.cookies);
        let nothing = engine.left(cookies.len()).is_none();
        self.shared.at_rest.store(nothing, Ordering::Release);
        nothing
    }

    /// Starts new work, takes packets and completions, and runs callbacks: looks for something to do up to `maximum`
    /// times (0 counts as 1), and returns when a look has found something, as PAMI_Context_advance does.
    ///
    /// # Errors
    /// [`Error::AdvanceInCallback`], [`Error::Busy`], [`Error::Destroyed`]; errors of the hardware, and
    /// errors of messages that no done callback takes. After those the context can be advanced further.
    pub fn advance(&self, maximum: usize) -> Result<Progress, Error> {
        let mut progress = Progress::default();
        let mut engine = self.enter()?;
        let mut result = Ok(());
        for _ in 0..maximum.max(1) {
            let mut turn = Progress::default();
            result = engine.turn(self, &mut turn);
            progress.add(turn);
            if result.is_err() || !turn.is_idle() {
                break;
            }
        }
        let unfinished = result.is_err() || engine.unfinished();
        self.shared.unfinished.store(unfinished, Ordering::Release);
        if result.is_err() {
            self.leave_rest();
        }
        let comes_to_rest = result.is_ok() && self.comes_to_rest(&engine);
        drop(engine);
        // Threads that wait on this context look again at what callbacks may have changed. What other threads
        // have posted meanwhile they have announced themselves.
        let news = progress.callbacks > 0 || comes_to_rest || unfinished;
        if news {
            let asleep = self.with_queue(Queue::announce);
            self.signal(asleep);
        }
        result?;
        Ok(progress)
    }

    /// Advances until `condition` holds, and sleeps while there is nothing to do: the loop of a thread
    /// that waits for what callbacks note down, whichever thread runs those. Call it without the lock, never
    /// from a callback.
    ///
    /// ```text
    /// context.send(message)?;                              // with a callback that sets `done`
    /// context.advance_until(|| done.get())?;
    /// context.advance_until(|| context.is_at_rest())?;     // before the thread stops advancing
    /// ```
    ///
    /// # Errors
    /// As [`Context::advance`] and [`Context::wait`].
    pub fn advance_until(&self, mut condition: impl FnMut() -> bool) -> Result<(), Error> {
        loop {
            let seen = self.epoch();
            if condition() {
                return Ok(());
            }
            if self.advance(1)?.is_idle() {
                self.wait_since(seen, None)?;
            }
        }
    }

    /// Takes the context's lock; other threads of the node run meanwhile.
    pub fn lock(&self) {
        self.shared.platform.charge(Op::Lock, 1);
        self.shared.lock.lock();
        self.shared.locked.store(true, Ordering::Release);
    }

    /// Takes the context's lock if it is free, and says whether it did.
    #[must_use]
    pub fn trylock(&self) -> bool {
        self.shared.platform.charge(Op::Lock, 1);
        let taken = self.shared.lock.trylock();
        if taken {
            self.shared.locked.store(true, Ordering::Release);
        }
        taken
    }

    /// Gives the context's lock back.
    ///
    /// # Errors
    /// [`Error::NotLocked`] when nobody holds it.
    pub fn unlock(&self) -> Result<(), Error> {
        self.shared.platform.charge(Op::Lock, 1);
        if !self.shared.locked.swap(false, Ordering::AcqRel) {
            return Err(Error::NotLocked);
        }
        self.shared.lock.unlock();
        Ok(())
    }

    /// Ends the context and gives its FIFOs back to the node; the client may then create another one in its
    /// place. Nothing can be posted any more. What has not finished is given up: its done callbacks get
    /// [`Error::Destroyed`], and [`Error::WorkLeft`] says how much it was. To lose nothing, and to leave no
    /// peer waiting, advance until the context [is at rest](Self::is_at_rest). Messages that arrive later are
    /// errors of the node.
    ///
    /// # Errors
    /// [`Error::AdvanceInCallback`], [`Error::Busy`], [`Error::Destroyed`]: the context is as before.
    /// [`Error::WorkLeft`], [`Error::SetUp`], [`Error::Bus`]: it is destroyed.
    pub fn destroy(&self) -> Result<(), Error> {
        let mut engine = self.enter()?;
        self.check_alive()?;
        let (work, asleep) = self.with_queue(|queue| {
            queue.destroyed = true;
            queue.alarms.clear();
            self.note_alarm(queue);
            self.shared.posted.store(true, Ordering::Release);
            (core::mem::take(&mut queue.work), queue.announce())
        });
        self.signal(asleep);
        let mut posted = engine.unstarted();
        posted.extend(work);
        let result = engine.close(self, posted.into_iter());
        self.shared.closed.store(true, Ordering::Release);
        Ok(result?)
    }

    /// Has [`destroy`](Self::destroy) call a function when all else that has not finished is given up: for protocols over
    /// the context that have callbacks of their own to call.
    pub(crate) fn at_destroy(&self, function: CallFn<P>) {
        short(&self.shared.at_destroy).push(function);
    }

    /// The functions that the end of the context is to call.
    pub(crate) fn take_at_destroy(&self) -> Vec<CallFn<P>> {
        core::mem::take(&mut *short(&self.shared.at_destroy))
    }

    /// Whether the context has been destroyed and its resources are free.
    pub(crate) fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }

    /// Makes this thread the one that advances.
    fn enter(&self) -> Result<EngineGuard<'_, P>, Error> {
        let advancing = &self.shared.advancing;
        let others = advancing.compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire);
        if others.is_err() {
            return Err(if self.shared.in_callback.load(Ordering::Acquire) {
                Error::AdvanceInCallback
            } else {
                Error::Busy
            });
        }
        // A thread that sends an immediate message gives it back soon.
        self.shared.engine_lock.lock();
        self.hold_engine(true)
    }

    /// The engine, for the holder of its lock. Dropping the guard gives the lock back.
    fn hold_engine(&self, advances: bool) -> Result<EngineGuard<'_, P>, Error> {
        let held = Hold {
            shared: &self.shared,
            advances,
        };
        // The platform's lock may let more than one in.
        let Some(engine) = hold(&self.shared.engine) else {
            return Err(Error::Busy);
        };
        Ok(EngineGuard {
            engine,
            _hold: held,
        })
    }
}

/// Use of a context's engine by one thread. What it holds is given back in this order.
struct EngineGuard<'a, P: Platform> {
    engine: MutexGuard<'a, Engine<P>>,
    _hold: Hold<'a, P>,
}

impl<P: Platform> Deref for EngineGuard<'_, P> {
    type Target = Engine<P>;

    fn deref(&self) -> &Engine<P> {
        &self.engine
    }
}

impl<P: Platform> DerefMut for EngineGuard<'_, P> {
    fn deref_mut(&mut self) -> &mut Engine<P> {
        &mut self.engine
    }
}

/// The lock of a context's engine, held.
struct Hold<'a, P: Platform> {
    shared: &'a Shared<P>,
    advances: bool,
}

impl<P: Platform> Drop for Hold<'_, P> {
    fn drop(&mut self) {
        self.shared.engine_lock.unlock();
        if self.advances {
            self.shared.advancing.store(false, Ordering::Release);
        }
    }
}

/// Advances several contexts, each with up to `maximum` looks for something to do.
///
/// # Errors
/// The first error of any of them; the others have been advanced nevertheless.
pub fn advancev<P: Platform>(contexts: &[Context<P>], maximum: usize) -> Result<Progress, Error> {
    let mut progress = Progress::default();
    let mut first = Ok(());
    for context in contexts {
        match context.advance(maximum) {
            Ok(one) => progress.add(one),
            Err(error) => first = first.and(Err(error)),
        }
    }
    first.map(|()| progress)
}
