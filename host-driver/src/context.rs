//! Contexts: a share of a client's resources with a work queue (EP-2, EP-3).

use core::ops::{Deref, DerefMut, Range};
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use crate::ack::AckStats;
use crate::buffer::BufferRange;
use crate::client::Plan;
use crate::cookie::{CookieTable, Pending};
use crate::cost::{COPY_CHUNK, Op};
use crate::dispatch::{DispatchFn, NewDispatches};
use crate::endpoint::Endpoint;
use crate::engine::{Engine, PREPARED};
use crate::error::Error;
use crate::injection::InjectionFifo;
use crate::instruction::{
    CallFn, DoneFn, Fence, Get, ImmediateMessage, Instruction, Put, RemoteAddress, Rget, Rmw, Rput,
    SendImmediate, SendMessage,
};
use crate::platform::{Platform, PlatformLock, WakeReason};
use crate::region::RemoteRegion;
use crate::route::Routing;
use crate::shared_memory::EndpointTable;
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering, hold, short};
use crate::task::{TaskId, TaskLocation, TaskMap};
use crate::wire::{FIRST_SYSTEM, Headed, MAX_HEADER, System};

/// The time of an alarm that is not there.
const NEVER: u64 = u64::MAX;

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

struct Queue<P: Platform> {
    work: VecDeque<Instruction<P>>,
    /// What is to be called at which time, by time and order of calls.
    alarms: BTreeMap<(u64, u64), CallFn<P>>,
    /// Alarms set so far.
    alarms_ever: u64,
    /// Threads inside `wait`.
    sleepers: usize,
    /// Announcements made to threads inside `wait`, or on their way there.
    announcements: u64,
    /// Threads inside `wait` that the last announcement has not reached.
    unaware: usize,
    destroyed: bool,
}

impl<P: Platform> Queue<P> {
    /// Time of the first alarm.
    fn alarm_ps(&self) -> u64 {
        self.alarms.keys().next().map_or(NEVER, |(at, _)| *at)
    }

    /// Everybody inside `wait` is to look again. Says whether the wake group must be signalled for that.
    fn announce(&mut self) -> bool {
        self.announcements += 1;
        self.unaware = self.sleepers;
        self.sleepers > 0
    }
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
                queue: Mutex::new(Queue {
                    work: VecDeque::with_capacity(PREPARED),
                    alarms: BTreeMap::new(),
                    alarms_ever: 0,
                    sleepers: 0,
                    announcements: 0,
                    unaware: 0,
                    destroyed: false,
                }),
                posted: AtomicBool::new(false),
                alarm_ps: AtomicU64::new(NEVER),
                dispatch: Mutex::new(NewDispatches::new()),
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

    /// Puts an instruction on the work queue, checks it, and returns; `advance` carries it out.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::UnknownContext`], [`Error::ForeignEndpoint`],
    /// [`Error::MessageLength`], [`Error::PacketLength`], [`Error::SystemDispatch`],
    /// [`Error::Destroyed`].
    pub fn post(&self, instruction: Instruction<P>) -> Result<(), Error> {
        self.check(&instruction)?;
        self.shared.platform.charge(Op::Post, 1);
        let asleep = self.with_queue(|queue| {
            if queue.destroyed {
                return Err(Error::Destroyed);
            }
            queue.work.push_back(instruction);
            self.shared.posted.store(true, Ordering::Release);
            Ok(queue.announce())
        })?;
        if asleep {
            self.shared.platform.notify(self.shared.info.wake_group);
        }
        Ok(())
    }

    /// Has `advance` call a function when simulated time has come to `at_ps`, or after that as soon as a thread
    /// advances the context; [`wait`](Self::wait) ends by then. It is no work: a context at rest may have alarms,
    /// and one that is destroyed forgets them.
    ///
    /// # Errors
    /// [`Error::Destroyed`].
    pub fn call_at(&self, at_ps: u64, function: CallFn<P>) -> Result<(), Error> {
        let asleep = self.with_queue(|queue| {
            if queue.destroyed {
                return Err(Error::Destroyed);
            }
            queue.alarms_ever += 1;
            queue.alarms.insert((at_ps, queue.alarms_ever), function);
            self.shared
                .alarm_ps
                .store(queue.alarm_ps(), Ordering::Release);
            Ok(queue.announce())
        })?;
        if asleep {
            self.shared.platform.notify(self.shared.info.wake_group);
        }
        Ok(())
    }

    /// Takes an alarm whose time has come.
    pub(crate) fn take_alarm(&self) -> Option<CallFn<P>> {
        let first = self.shared.alarm_ps.load(Ordering::Acquire);
        if first == NEVER || self.shared.platform.now_ps() < first {
            return None;
        }
        self.with_queue(|queue| {
            let alarm = queue.alarms.pop_first();
            self.shared
                .alarm_ps
                .store(queue.alarm_ps(), Ordering::Release);
            alarm.map(|(_, function)| function)
        })
    }

    /// Posts a send.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn send(&self, message: SendMessage<P>) -> Result<(), Error> {
        self.post(Instruction::Send(message))
    }

    /// Sends a short message: header and data are copied. It is handed to the DMA engine at the call, or posted
    /// when that is not possible: while a thread advances the context, as in a callback, behind work that has
    /// been posted, or without room.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn send_immediate(&self, message: &SendImmediate<'_>) -> Result<(), Error> {
        check_dispatch(message.dispatch)?;
        let to = self.check_endpoint(message.destination)?;
        let bytes = message.header.len() + message.data.len();
        let limit = if message.header.is_empty() {
            SendImmediate::MAX
        } else {
            SendImmediate::MAX_HEADED
        };
        if bytes > limit {
            return Err(Error::PacketLength {
                what: "immediate message",
                bytes,
                limit,
            });
        }
        let (dispatch, payload) = if message.header.is_empty() {
            (message.dispatch, Cow::Borrowed(message.data))
        } else {
            self.charge_copy(bytes);
            // Both lengths are below 512.
            let fields = Headed {
                cookie: 0,
                length: message.data.len() as u32,
                header_length: message.header.len() as u16,
                dispatch: message.dispatch,
            };
            let mut payload = fields.encode();
            payload.extend_from_slice(message.header);
            payload.extend_from_slice(message.data);
            (System::Headed as u8, Cow::Owned(payload))
        };
        let message = ImmediateMessage {
            destination: message.destination,
            dispatch,
            comm: message.comm,
            tag: message.tag,
            payload,
        };
        if self.inject(&message, to)? {
            return Ok(());
        }
        if let Cow::Borrowed(payload) = message.payload {
            self.charge_copy(payload.len());
        }
        self.post(Instruction::SendImmediate(ImmediateMessage {
            payload: Cow::Owned(message.payload.into_owned()),
            ..message
        }))
    }

    fn charge_copy(&self, bytes: usize) {
        let chunks = bytes.div_ceil(COPY_CHUNK);
        self.shared.platform.charge(Op::CopyChunk, chunks as u64);
    }

    /// Sends an immediate message at the call, if it can be; says whether it did.
    fn inject(&self, message: &ImmediateMessage<'_>, to: TaskLocation) -> Result<bool, Error> {
        // What has been posted goes first. A context that has been destroyed is found by the post.
        if self.has_posted() || !self.shared.engine_lock.trylock() {
            return Ok(false);
        }
        let mut engine = self.hold_engine(false)?;
        let injected = engine.inject(self, message, to)?;
        if injected {
            self.leave_rest();
        }
        Ok(injected)
    }

    /// Posts a put.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn put(&self, put: Put<P>) -> Result<(), Error> {
        self.post(Instruction::Put(put))
    }

    /// Posts a get. Gets of one context from one endpoint are served in the order posted.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn get(&self, get: Get<P>) -> Result<(), Error> {
        self.post(Instruction::Get(get))
    }

    /// Posts a put into a memory region.
    ///
    /// # Errors
    /// [`Error::RegionTask`], [`Error::RegionRights`], [`Error::RegionBounds`]; as [`Context::post`].
    pub fn rput(&self, rput: Rput<P>) -> Result<(), Error> {
        let remote = check_region(
            &rput.region,
            rput.destination,
            (rput.region.rights.put, "puts"),
            rput.offset,
            rput.data.len(),
        )?;
        self.put(Put {
            destination: rput.destination,
            data: rput.data,
            remote,
            local_done: rput.local_done,
            remote_done: rput.remote_done,
        })
    }

    /// Posts a get from a memory region.
    ///
    /// # Errors
    /// As [`Context::rput`].
    pub fn rget(&self, rget: Rget<P>) -> Result<(), Error> {
        let remote = check_region(
            &rget.region,
            rget.source,
            (rget.region.rights.get, "gets"),
            rget.offset,
            rget.into.len(),
        )?;
        self.get(Get {
            source: rget.source,
            remote,
            into: rget.into,
            routing: Routing::Fixed,
            done: rget.done,
        })
    }

    /// Posts a read-modify-write of a word of a memory region.
    ///
    /// # Errors
    /// [`Error::RmwAlignment`], [`Error::RmwResult`]; as [`Context::rput`].
    pub fn rmw(&self, rmw: Rmw<P>) -> Result<(), Error> {
        self.post(Instruction::Rmw(rmw))
    }

    /// Posts a fence.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn fence(&self, fence: Fence<P>) -> Result<(), Error> {
        self.post(Instruction::Fence(fence))
    }

    /// Posts a fence of every endpoint of the client; `done` is called when all have completed. All of
    /// them have to advance. It keeps a fixed number of fences under way.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn fence_all(&self, done: Option<DoneFn<P>>) -> Result<(), Error> {
        self.post(Instruction::FenceAll(done))
    }

    /// Remembers an operation that `peer` will acknowledge, and gives the cookie by which it does so:
    /// never 0. `done` is called when the acknowledgement comes.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], [`Error::UnknownContext`], [`Error::ForeignEndpoint`].
    pub fn expect_ack(&self, peer: Endpoint, done: DoneFn<P>) -> Result<u32, Error> {
        self.check_endpoint(peer)?;
        Ok(self.remember(Pending {
            peer,
            fenced: false,
            data: BufferRange::empty(),
            local_done: None,
            remote_done: Some(done),
        }))
    }

    /// Remembers what waits for an acknowledgement, and gives its cookie.
    pub(crate) fn remember(&self, pending: Pending<P>) -> u32 {
        let mut cookies = short(&self.shared.cookies);
        self.leave_rest();
        cookies.insert(pending)
    }

    /// Forgets an operation that will not be acknowledged, and gives its callback back.
    pub fn forget_ack(&self, cookie: u32) -> Option<DoneFn<P>> {
        short(&self.shared.cookies).remove(cookie)?.remote_done
    }

    /// Acknowledges `cookie` to `peer`, when the acknowledgement dispatcher thinks fit.
    ///
    /// # Errors
    /// As [`Context::post`].
    pub fn acknowledge(&self, peer: Endpoint, cookie: u32) -> Result<(), Error> {
        self.post(Instruction::Acknowledge { peer, cookie })
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

    fn check(&self, instruction: &Instruction<P>) -> Result<(), Error> {
        match instruction {
            Instruction::Send(send) => {
                self.check_endpoint(send.destination)?;
                check_dispatch(send.dispatch)?;
                check_length(send.data.len())?;
                if send.header.len() > MAX_HEADER {
                    return Err(Error::PacketLength {
                        what: "header",
                        bytes: send.header.len(),
                        limit: MAX_HEADER,
                    });
                }
                Ok(())
            }
            Instruction::SendImmediate(message) => {
                self.check_endpoint(message.destination).map(drop)
            }
            Instruction::Put(put) => {
                self.check_endpoint(put.destination)?;
                check_length(put.data.len())
            }
            Instruction::Get(get) => {
                self.check_endpoint(get.source)?;
                check_length(get.into.len())
            }
            Instruction::Rmw(rmw) => {
                self.check_endpoint(rmw.destination)?;
                check_rmw(rmw)
            }
            Instruction::Fence(fence) => self.check_endpoint(fence.destination).map(drop),
            Instruction::Acknowledge { peer, .. } => self.check_endpoint(*peer).map(drop),
            Instruction::TreeTransfer(transfer) => transfer.check().map_err(Error::from),
            Instruction::FenceAll(_)
            | Instruction::Call(_)
            | Instruction::TreeBarrier { .. }
            | Instruction::TreeRelease { .. } => Ok(()),
        }
    }

    /// Checks an endpoint, and says where it is.
    fn check_endpoint(&self, endpoint: Endpoint) -> Result<TaskLocation, Error> {
        if endpoint.client != self.shared.info.endpoint.client {
            return Err(Error::ForeignEndpoint {
                expected: self.shared.info.endpoint.client,
                found: endpoint.client,
            });
        }
        self.endpoint(endpoint.task, endpoint.context)?;
        self.tasks().location(endpoint.task)
    }

    /// Starts new work, takes packets and completions, and runs callbacks; at most `turns` times (0 counts
    /// as 1), ending early when a turn finds nothing to do.
    ///
    /// # Errors
    /// [`Error::AdvanceInCallback`], [`Error::Busy`], [`Error::Destroyed`]; errors of the hardware, and
    /// errors of messages that no done callback takes. After those the context can be advanced further.
    pub fn advance(&self, turns: usize) -> Result<Progress, Error> {
        let mut progress = Progress::default();
        let mut engine = self.enter()?;
        let mut result = Ok(());
        for _ in 0..turns.max(1) {
            let mut turn = Progress::default();
            result = engine.turn(self, &mut turn);
            progress.add(turn);
            if result.is_err() || turn.is_idle() {
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
        if news && self.with_queue(Queue::announce) {
            self.shared.platform.notify(self.shared.info.wake_group);
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

    /// A mark of what has happened until now, for [`wait_since`](Self::wait_since). It moves on with every
    /// post, and with every `advance` that has run callbacks or after which the context is at rest.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.with_queue(|queue| queue.announcements)
    }

    /// As [`wait`](Self::wait), and returns at once when something has happened since `epoch`. A thread that
    /// looks whether something holds, before it sleeps until a callback run by another thread makes it hold,
    /// asks for the epoch first: what the callback does between its look and its sleep is not missed.
    ///
    /// ```text
    /// let seen = context.epoch();
    /// if !done.get() { context.wait_since(seen, None)?; }
    /// ```
    ///
    /// # Errors
    /// [`Error::Destroyed`].
    pub fn wait_since(&self, epoch: u64, deadline_ps: Option<u64>) -> Result<WakeReason, Error> {
        self.sleep(Some(epoch), deadline_ps)
    }

    /// Sleeps until there may be something for `advance` to do, or until `deadline_ps`; returns at once if
    /// there is already. Wakes for packets, completions, work posted by other threads, and callbacks that
    /// another thread has run; may wake without reason. Call it without the lock, never from a callback,
    /// and call `advance` between two waits: it takes note of the wake-up.
    ///
    /// # Errors
    /// [`Error::Destroyed`].
    pub fn wait(&self, deadline_ps: Option<u64>) -> Result<WakeReason, Error> {
        self.sleep(None, deadline_ps)
    }

    fn sleep(&self, since: Option<u64>, deadline_ps: Option<u64>) -> Result<WakeReason, Error> {
        self.shared.platform.charge(Op::Wait, 1);
        let asleep_since = self.with_queue(|queue| {
            if queue.destroyed {
                return Err(Error::Destroyed);
            }
            let sleeps = queue.work.is_empty()
                && since.is_none_or(|epoch| epoch == queue.announcements)
                && !self.shared.unfinished.load(Ordering::Acquire)
                && !self.shared.woken.load(Ordering::Acquire);
            queue.sleepers += usize::from(sleeps);
            Ok(sleeps.then_some(queue.announcements))
        })?;
        let Some(asleep_since) = asleep_since else {
            return Ok(WakeReason::Wake);
        };
        let group = self.shared.info.wake_group;
        let alarm_ps = self.shared.alarm_ps.load(Ordering::Acquire);
        let alarm_first = alarm_ps < deadline_ps.unwrap_or(NEVER);
        let until_ps = match alarm_first {
            true => Some(alarm_ps),
            false => deadline_ps,
        };
        let mut reason = self.shared.platform.wait(group, until_ps);
        let (destroyed, others) = self.with_queue(|queue| {
            queue.sleepers -= 1;
            queue.unaware -= usize::from(queue.announcements != asleep_since);
            (queue.destroyed, queue.unaware > 0)
        });
        if others {
            // A signal that found nobody asleep yet wakes only one of those that were about to sleep.
            self.shared.platform.notify(group);
        }
        if destroyed {
            return Err(Error::Destroyed);
        }
        if reason == WakeReason::Wake {
            self.shared.woken.store(true, Ordering::Release);
        } else if alarm_first {
            reason = WakeReason::Wake;
        }
        Ok(reason)
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
            self.shared.alarm_ps.store(NEVER, Ordering::Release);
            self.shared.posted.store(true, Ordering::Release);
            (core::mem::take(&mut queue.work), queue.announce())
        });
        if asleep {
            self.shared.platform.notify(self.shared.info.wake_group);
        }
        let mut posted = engine.unstarted();
        posted.extend(work);
        let result = engine.close(self, posted.into_iter());
        self.shared.closed.store(true, Ordering::Release);
        Ok(result?)
    }

    /// Whether the context has been destroyed and its resources are free.
    pub(crate) fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }

    /// Refuses a destroyed context.
    pub(crate) fn check_alive(&self) -> Result<(), Error> {
        if self.with_queue(|queue| queue.destroyed) {
            return Err(Error::Destroyed);
        }
        Ok(())
    }

    /// Whether instructions have been posted and not taken, or the context has been destroyed.
    pub(crate) fn has_posted(&self) -> bool {
        self.shared.posted.load(Ordering::Acquire)
    }

    /// Moves the instructions posted so far behind those in `work`.
    ///
    /// # Errors
    /// [`Error::Destroyed`].
    pub(crate) fn take_work(&self, work: &mut VecDeque<Instruction<P>>) -> Result<(), Error> {
        // Set and cleared inside: who has seen a post sees this too.
        if !self.has_posted() {
            return Ok(());
        }
        self.with_queue(|queue| {
            if queue.destroyed {
                return Err(Error::Destroyed);
            }
            self.shared.posted.store(false, Ordering::Release);
            if work.is_empty() {
                // The memory of either goes on being used.
                core::mem::swap(work, &mut queue.work);
            } else {
                work.append(&mut queue.work);
            }
            Ok(())
        })
    }

    fn with_queue<R>(&self, work: impl FnOnce(&mut Queue<P>) -> R) -> R {
        self.shared.queue_lock.lock();
        let result = work(&mut short(&self.shared.queue));
        self.shared.queue_lock.unlock();
        result
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
        let engine = hold(&self.shared.engine).ok_or(Error::Busy)?;
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

/// Refuses dispatch identifiers of the driver.
fn check_dispatch(id: u8) -> Result<(), Error> {
    if id >= FIRST_SYSTEM {
        return Err(Error::SystemDispatch { id });
    }
    Ok(())
}

/// Refuses transfers longer than a descriptor can say.
fn check_length(bytes: usize) -> Result<(), Error> {
    u32::try_from(bytes)
        .map(|_| ())
        .map_err(|_| Error::MessageLength { bytes })
}

/// Checks a transfer of `bytes` bytes at `offset` of a region, and says where in memory that is.
fn check_region(
    region: &RemoteRegion,
    endpoint: Endpoint,
    (allowed, what): (bool, &'static str),
    offset: u64,
    bytes: usize,
) -> Result<RemoteAddress, Error> {
    if region.task != endpoint.task {
        return Err(Error::RegionTask {
            expected: endpoint.task,
            found: region.task,
        });
    }
    if !allowed {
        return Err(Error::RegionRights {
            task: region.task,
            what,
        });
    }
    let bytes = bytes as u64;
    if offset.checked_add(bytes).is_none_or(|end| end > region.len) {
        return Err(Error::RegionBounds {
            task: region.task,
            offset,
            bytes,
            len: region.len,
        });
    }
    Ok(RemoteAddress {
        slot: region.slot,
        offset,
    })
}

/// Refuses read-modify-writes that the hardware would refuse: it does not answer those.
fn check_rmw<P: Platform>(rmw: &Rmw<P>) -> Result<(), Error> {
    let width = rmw.width.bytes();
    check_region(
        &rmw.region,
        rmw.destination,
        (rmw.region.rights.rmw, "read-modify-writes"),
        rmw.offset,
        width,
    )?;
    if !rmw.offset.is_multiple_of(width as u64) {
        return Err(Error::RmwAlignment {
            offset: rmw.offset,
            width,
        });
    }
    match &rmw.result {
        Some(result) if result.len() != width => Err(Error::RmwResult {
            bytes: result.len(),
            width,
        }),
        _ => Ok(()),
    }
}

/// Advances several contexts, each at most `turns` times.
///
/// # Errors
/// The first error of any of them; the others have been advanced nevertheless.
pub fn advancev<P: Platform>(contexts: &[Context<P>], turns: usize) -> Result<Progress, Error> {
    let mut progress = Progress::default();
    let mut first = Ok(());
    for context in contexts {
        match context.advance(turns) {
            Ok(one) => progress.add(one),
            Err(error) => first = first.and(Err(error)),
        }
    }
    first.map(|()| progress)
}
