//! What a context does in `advance`: its FIFOs, the operations under way, and the messages that are
//! arriving.

mod arrive;
mod close;
mod fence;
mod flows;
mod refused;
mod start;
mod tree;

use std::collections::{BTreeMap, VecDeque};

use gyre_layout::{Coord, ErrorReason, MAX_PAYLOAD_BYTES, event};

use crate::ack::{AckDispatcher, Ways};
use crate::buffer::BufferRange;
use crate::client::Plan;
use crate::context::{Context, ContextInfo, Progress};
use crate::cost::Op;
use crate::counter::CounterBlock;
use crate::dispatch::{DispatchTable, ProgressFn};
use crate::endpoint::Endpoint;
use crate::envelope::Envelope;
use crate::error::{Error, Fault};
use crate::gets::{Gets, Landed, Purpose};
use crate::injection::{Completed, Finish, InjectionFifo, Lane};
use crate::instruction::{DoneFn, Instruction};
use crate::platform::Platform;
use crate::reception::ReceptionFifo;
use crate::registers;
use crate::remote_get::RemoteGetFifo;
use crate::route::{Hop, Network, Routing};
use crate::shared_memory::{EndpointTable, SharedPath};
use crate::sync::{Arc, Ordering, short};
use crate::task::{TaskLocation, TaskMap};
use crate::wire::{GetFailed, Refused, System};

use close::open_fifos;
use fence::Fences;
use flows::Flows;
pub(crate) use flows::KeptEnds;
pub(crate) use refused::GetWord;
use refused::Refusals;
use tree::Trees;

/// Turns that may start work or take packets without looking at completions or packets, so that neither
/// starves.
const PATIENCE: u32 = 8;
/// Polls that may find nothing before errors are looked for without a wake-up: a thread that never waits
/// is never woken for them.
const IDLE_POLLS: u32 = 256;

/// How packets arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Path {
    Network,
    SharedMemory,
}

/// Entries for which lists have memory from the start, so that what is under way in small numbers allocates
/// nothing.
pub(crate) const PREPARED: usize = 16;

/// Who sends, and how: messages of one origin arrive one after the other.
type Origin = (TaskLocation, u8, Path);

/// A message of which the first packet has arrived and the last has not.
struct Assembly<P: Platform> {
    length: usize,
    received: usize,
    target: Target<P>,
    /// To be acknowledged when the message has arrived.
    cookie: Option<(Endpoint, u32)>,
}

/// Where a message goes.
enum Target<P: Platform> {
    Nowhere,
    Buffer {
        into: BufferRange<P::Buffer>,
        done: Option<DoneFn<P>>,
    },
    /// Longer than its receive.
    TooLong {
        receive: usize,
        done: Option<DoneFn<P>>,
    },
}

/// A headed message whose data comes in the next message of its origin.
struct Announced<P: Platform> {
    length: usize,
    target: Target<P>,
    cookie: Option<(Endpoint, u32)>,
}

/// The part of a context that one thread at a time works on.
pub(crate) struct Engine<P: Platform> {
    lanes: Vec<Lane<P>>,
    remote_get: RemoteGetFifo<P>,
    reception: ReceptionFifo<P>,
    /// The node's endpoint table and the context's place in it, until the context is destroyed.
    table: Option<(Arc<EndpointTable<P>>, u16)>,
    /// The way of messages on this node, if it is not through the DMA engine.
    shared: Option<SharedPath<P>>,
    arriving: BTreeMap<Origin, Assembly<P>>,
    announced: BTreeMap<Origin, Announced<P>>,
    gets: Gets<P>,
    acks: AckDispatcher,
    dispatch: DispatchTable<P>,
    /// Functions that every turn calls.
    progress: Vec<ProgressFn<P>>,
    fences: Fences<P>,
    /// Of a client that asks for them.
    flows: Option<Flows<P>>,
    refusals: Refusals,
    trees: Trees<P>,
    /// Events of this context's FIFOs and of counters in the wake cause.
    events: u64,
    /// Completions have not been looked at since the wake cause was cleared.
    completions_unseen: bool,
    /// Turns since packets were last looked for.
    since_poll: u32,
    /// Turns since completions were last looked for.
    since_completions: u32,
    /// Polls in a row that found nothing.
    idle_polls: u32,
    next_message: u32,
    /// Payload of a packet while it is handled.
    payload: Box<[u8]>,
    /// Taken off the work queue and not started.
    work: VecDeque<Instruction<P>>,
    /// Empty between turns; keeps its memory.
    completed: Vec<Completed<P>>,
    /// Empty between turns; keeps its memory.
    landed: Vec<Landed<P>>,
}

/// What a context has not finished: the numbers of [`Error::WorkLeft`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Left {
    waiting: usize,
    in_flight: usize,
    arriving: usize,
    operations: usize,
}

impl Left {
    /// The error, with what has been posted besides.
    pub fn error(self, posted: usize) -> Error {
        Error::WorkLeft {
            posted,
            waiting: self.waiting,
            in_flight: self.in_flight,
            arriving: self.arriving,
            operations: self.operations,
        }
    }
}

impl<P: Platform> Engine<P> {
    /// Sets up a context that injects through `fifos`: its other FIFOs, counters and wake group.
    pub fn open(
        platform: &P,
        plan: &Arc<Plan>,
        table: Arc<EndpointTable<P>>,
        info: &ContextInfo,
        fifos: &[Arc<InjectionFifo<P>>],
    ) -> Result<Self, Fault> {
        let resources = &plan.config.resources;
        let mut acks = AckDispatcher::new(plan.config.ack.clone())?;
        if plan.config.ack.copies() {
            let network = Network::read(platform)?;
            let (tasks, here) = (&plan.config.tasks, plan.location.node);
            acks = acks.with_ways(recipients_on_the_way(tasks, network, here));
        }
        let mut events = event::reception(u32::from(info.reception_fifo)) | event::COUNTER;
        for id in info.injection_fifos.clone() {
            events |= event::injection(u32::from(id));
        }
        let mut counters = CounterBlock::open(platform, resources.counters)?;
        let fifos_open = open_fifos(platform, plan, &table, info, events | event::ERROR);
        let (remote_get, reception, shared) = match fifos_open {
            Ok(open) => open,
            Err(error) => {
                counters.close();
                return Err(error);
            }
        };
        let refusals = Refusals::open(platform)?;
        let mut flows = Flows::open(platform, plan)?;
        let mut lanes = Vec::new();
        for fifo in fifos {
            lanes.push(Lane::open(platform, fifo)?);
        }
        // From now on the others find the context.
        let index = plan.index_here(info.endpoint.context);
        table.announce(platform, index, info)?;
        if let Some(flows) = &mut flows {
            flows.inherit(plan, info.endpoint.context);
        }
        Ok(Self {
            lanes,
            remote_get,
            reception,
            table: Some((table, index)),
            shared,
            arriving: BTreeMap::new(),
            announced: BTreeMap::new(),
            gets: Gets::new(counters),
            acks,
            dispatch: DispatchTable::new(),
            progress: Vec::new(),
            fences: Fences::new(),
            flows,
            refusals,
            trees: Trees::new(),
            events,
            completions_unseen: false,
            since_poll: 0,
            since_completions: 0,
            idle_polls: 0,
            next_message: 0,
            payload: vec![0; MAX_PAYLOAD_BYTES].into(),
            work: VecDeque::with_capacity(PREPARED),
            completed: Vec::with_capacity(PREPARED),
            landed: Vec::with_capacity(PREPARED),
        })
    }

    /// What has not finished, `unacknowledged` sends and puts among it; `None` when nothing is left.
    pub fn left(&self, unacknowledged: usize) -> Option<Left> {
        let left = Left {
            waiting: self.waiting() + self.flows.as_ref().map_or(0, Flows::held),
            in_flight: self.in_flight(),
            arriving: self.arriving.len() + self.announced.len(),
            operations: self.gets.len()
                + self.fences.len()
                + self.trees.len()
                + self.acks.unsent()
                + unacknowledged,
        };
        let nothing = left.waiting + left.in_flight + left.arriving + left.operations == 0;
        (!nothing).then_some(left)
    }

    /// Whether there is work to start, or that waits for room.
    fn can_start(&self, context: &Context<P>) -> bool {
        let waits = |lane: &Lane<P>| lane.waiting() > 0;
        context.has_posted()
            || !self.work.is_empty()
            || !self.completed.is_empty()
            || self.gets.waiting() > 0
            || self.lanes.iter().any(waits)
            || self.trees.any(waits)
            || self.shared.as_ref().is_some_and(|s| s.lane.waiting() > 0)
    }

    /// Descriptors handed to the DMA engine and not completed.
    pub fn in_flight(&self) -> usize {
        let trees = self.trees.in_flight();
        self.lanes.iter().map(Lane::in_flight).sum::<usize>() + trees
    }

    /// What has not been started, and sends that wait for room.
    fn waiting(&self) -> usize {
        let shared = self.shared.as_ref().map_or(0, |s| s.lane.waiting());
        let lanes = self.lanes.iter().map(Lane::waiting).sum::<usize>();
        self.work.len() + lanes + self.trees.waiting() + shared
    }

    /// Whether a send has found no room.
    fn blocked(&self) -> bool {
        let shared = self.shared.as_ref().is_some_and(|s| s.lane.blocked());
        self.lanes.iter().any(Lane::blocked) || shared
    }

    /// Takes what has been taken off the work queue and not been started.
    pub fn unstarted(&mut self) -> VecDeque<Instruction<P>> {
        core::mem::take(&mut self.work)
    }

    /// Whether there is something to do that no wake-up will announce.
    pub fn unfinished(&self) -> bool {
        self.completions_unseen
            || !self.acks.is_empty()
            || self.trees.can_start()
            || self.gets.has_refused()
            || self.refusals.unseen()
    }

    /// One turn: new work first, then packets and completions when they are due.
    pub fn turn(&mut self, context: &Context<P>, progress: &mut Progress) -> Result<(), Fault> {
        let platform = context.platform();
        platform.charge(Op::Advance, 1);
        while let Some(function) = context.take_alarm() {
            progress.callbacks += 1;
            callback(context, Op::Callback, || function(context));
        }
        self.progress.append(&mut context.take_progress());
        for function in &mut self.progress {
            progress.callbacks += usize::from(guarded(context, || function(context)));
        }
        if self.can_start(context) {
            self.start_work(context, progress)?;
        }
        let woken = context.shared().woken.swap(false, Ordering::AcqRel);
        // A wake-up follows every event after the cause was cleared, so a turn that had work to start
        // need not look for packets.
        let due = woken
            || self.completions_unseen
            || progress.is_idle()
            || self.since_poll >= PATIENCE
            || self.blocked();
        if due {
            if let Err(error) = self.poll(context, woken, progress) {
                // What the failed poll has not seen must be looked at again.
                context.shared().woken.store(true, Ordering::Release);
                return Err(error);
            }
        } else {
            self.since_poll += 1;
        }
        self.acknowledge(context)?;
        // What callbacks have posted and what packets have asked for starts now, not a turn later.
        if self.can_start(context) {
            self.start_work(context, progress)?;
        }
        Ok(())
    }

    fn poll(
        &mut self,
        context: &Context<P>,
        woken: bool,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let platform = context.platform();
        if woken {
            // Cleared before FIFOs and counters are read: what comes later sets it again.
            let cause = registers::wake_cause(context.query().wake_group);
            registers::write(platform, cause, self.events)?;
            self.completions_unseen = self.in_flight() > 0;
        }
        self.since_poll = 0;
        let before = progress.packets;
        self.receive(context, progress)?;
        let packets = progress.packets - before;
        let landed = self.poll_gets(context, progress)? + self.poll_trees(context, progress)?;

        // Completions cost a read per FIFO: they can wait while packets come in.
        self.since_completions += 1;
        if packets > 0 {
            self.idle_polls = 0;
            if self.since_completions < PATIENCE && !self.lanes.iter().any(Lane::blocked) {
                return Ok(());
            }
        }
        self.since_completions = 0;
        let mut outcome = Ok(());
        let mut retired = 0;
        for lane in &mut self.lanes {
            if lane.in_flight() > 0 {
                match lane.poll(platform, &mut self.completed) {
                    Ok(count) => retired += count,
                    Err(error) => outcome = outcome.and(Err(error)),
                }
            }
        }
        if packets + landed + retired > 0 {
            self.idle_polls = 0;
        } else if outcome.is_ok() {
            self.idle_polls += 1;
            if woken || self.idle_polls >= IDLE_POLLS || self.refusals.unseen() {
                self.idle_polls = 0;
                outcome = self.check_errors(context);
            }
        }
        self.completions_unseen =
            self.lanes.iter().any(Lane::resuming) || self.trees.any(Lane::resuming);
        if self.completed.is_empty() {
            return outcome;
        }
        progress.completed += self.completed.len();
        let called = self.run_completions(context, progress);
        outcome.and(called)
    }

    /// Woken for nothing that was expected: looks whether an error is the reason. The error event keeps
    /// waking the context until this has run.
    fn check_errors(&mut self, context: &Context<P>) -> Result<(), Fault> {
        let platform = context.platform();
        let cause = registers::wake_cause(context.query().wake_group);
        let raised = registers::read(platform, cause)? & event::ERROR != 0;
        if !raised && !self.refusals.unseen() {
            return Ok(());
        }
        registers::write(platform, cause, event::ERROR)?;
        for lane in &mut self.lanes {
            if lane.in_flight() > 0 {
                lane.check_halt(platform, &mut self.completed)?;
            }
        }
        self.trees.check_halt(platform, &mut self.completed)?;
        // Room for what the node refuses next.
        let looked = self.look_for_refusals(context);
        let refused = self.check_remote_gets(context).and(looked);
        self.reception.check_halt(platform).and(refused)
    }

    /// Looks whether somebody's get was refused here, and tells the requester.
    fn check_remote_gets(&mut self, context: &Context<P>) -> Result<(), Fault> {
        let Some(refused) = self.remote_get.check_halt(context.platform())? else {
            return Ok(());
        };
        context.leave_rest();
        let plan = &context.shared().plan;
        let reason = refused.reason.map_or_else(|code| code, u8::from);
        let word = refused.descriptor.and_then(|d| GetWord::unpack(d.sw1));
        if let (Some(descriptor), Some(word)) = (refused.descriptor, word) {
            // A requester's software words are its own envelope and the number of its get.
            let envelope = Envelope::unpack(descriptor.sw0);
            let from = TaskLocation {
                node: descriptor.requester,
                process: envelope.process,
            };
            let requester = plan.config.tasks.task_at(from);
            if let Some(task) = requester.filter(|_| envelope.context < plan.config.contexts) {
                let peer = plan.endpoint(task, envelope.context)?;
                let message = GetFailed {
                    get: word.number,
                    reason,
                    process: plan.location.process,
                    context: context.query().endpoint.context,
                };
                self.send_control(context, peer, System::GetFailed, message.encode())?;
            }
        }
        Err(Error::RemoteDescriptor {
            fifo: self.remote_get.id(),
            reason: refused.reason,
        }
        .into())
    }

    /// GET_FAILED has come from `node`.
    fn get_failed(
        &mut self,
        context: &Context<P>,
        node: Coord,
        message: GetFailed,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let plan = &context.shared().plan;
        let process = message.process;
        let task = plan.config.tasks.task_at(TaskLocation { node, process });
        let Some(task) = task else {
            return Err(Error::UnknownOrigin { node, process }.into());
        };
        let peer = plan.endpoint(task, message.context)?;
        let error = Error::RemoteRefused {
            peer: task,
            reason: ErrorReason::try_from(message.reason).map_err(|_| message.reason),
        };
        if message.get & GetFailed::BY_COUNTER != 0 {
            let word = message.get & !GetFailed::BY_COUNTER;
            let tasks = &plan.config.tasks;
            let there = |peer: Endpoint| {
                let place = tasks.place(peer.task, peer.context);
                place.is_ok_and(|place| place.node == node)
            };
            let number = self.gets.with_counter(word, there);
            let lost = number.and_then(|number| self.gets.fail(number, None, error.into()));
            return lost.map_or(Ok(()), |get| self.end_get(context, get, progress));
        }
        match self.gets.fail(message.get, Some(peer), error.into()) {
            Some(get) => self.end_get(context, get, progress),
            None if short(&context.shared().cookies).has_given_up(peer) => Ok(()),
            None => Err(Error::UnknownCookie {
                origin: task,
                cookie: message.get,
            }
            .into()),
        }
    }

    /// Ends the gets whose data has arrived.
    fn poll_gets(&mut self, context: &Context<P>, progress: &mut Progress) -> Result<usize, Fault> {
        if self.gets.len() == 0 {
            return Ok(0);
        }
        let mut result = self.gets.poll(context.platform(), &mut self.landed);
        let mut landed = core::mem::take(&mut self.landed);
        let count = landed.len();
        for get in landed.drain(..) {
            let ended = self.end_get(context, get, progress);
            result = result.and(ended);
        }
        self.landed = landed;
        result.map(|()| count)
    }

    /// A get has landed or failed: what it was for goes on.
    fn end_get(
        &mut self,
        context: &Context<P>,
        get: Landed<P>,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        progress.completed += 1;
        match get.purpose {
            Purpose::User(done) => deliver(context, done, get.result, progress),
            Purpose::Receive { done, cookie } => {
                let fetched = get.result.is_ok();
                let delivered = deliver(context, done, get.result, progress);
                if fetched {
                    self.owe(context, get.peer, cookie);
                    return delivered;
                }
                delivered.and(self.refuse(context, get.peer, (cookie, Refused::DATA)))
            }
            Purpose::PutSync { cookie, number } => {
                let told = self.put_landed(context, get.peer, cookie, number);
                get.result.and(told)
            }
            Purpose::PeerFence { cookie, number } => {
                self.answer_fence(context, get.peer, (cookie, number), get.result)
            }
            Purpose::OwnFence { cookie } => {
                self.own_gets_landed(context, cookie, get.result, progress)
            }
        }
    }

    /// Calls the done callbacks of what has completed; an error that has none is returned.
    fn run_completions(
        &mut self,
        context: &Context<P>,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let mut completed = core::mem::take(&mut self.completed);
        let mut result = Ok(());
        for entry in completed.drain(..) {
            let ended = match (entry.finish, entry.result) {
                (Finish::Control | Finish::Fence { .. } | Finish::Get { .. }, Ok(())) => Ok(()),
                (Finish::Control, Err(error)) => Err(error),
                (Finish::Fence { cookie }, Err(error)) => {
                    self.fail_fence(context, cookie, error, progress)
                }
                (Finish::Get { number }, Err(error)) => {
                    match self.gets.fail(number, None, error.clone()) {
                        Some(get) => self.end_get(context, get, progress),
                        None => Err(error),
                    }
                }
                (Finish::Tree { route, part }, result) => {
                    self.contributed(context, (route, part), result, progress)
                }
                (Finish::Send { local_done, .. }, Ok(())) => {
                    deliver(context, local_done, Ok(()), progress)
                }
                (
                    Finish::Send {
                        local_done,
                        cookie,
                        answered,
                    },
                    Err(error),
                ) => self.fail_send(context, local_done, cookie, answered, error, progress),
            };
            result = result.and(ended);
        }
        self.completed = completed;
        result
    }

    /// A send or put was refused: its callbacks get the error, which is returned if there are none.
    fn fail_send(
        &mut self,
        context: &Context<P>,
        local_done: Option<DoneFn<P>>,
        cookie: Option<u32>,
        answered: bool,
        error: Fault,
        progress: &mut Progress,
    ) -> Result<(), Fault> {
        let pending = cookie.and_then(|cookie| {
            let mut cookies = short(&context.shared().cookies);
            if answered {
                cookies.disarm(cookie)
            } else {
                cookies.remove(cookie)
            }
        });
        // That of a rendezvous waits with its data.
        let (pending_local, remote_done) = pending.map_or((None, None), |pending| {
            (pending.local_done, pending.remote_done)
        });
        let waiting = [local_done, pending_local, remote_done];
        if waiting.iter().all(Option::is_none) {
            return Err(error);
        }
        for done in waiting.into_iter().flatten() {
            deliver(context, Some(done), Err(error.clone()), progress)?;
        }
        Ok(())
    }
}

/// For each endpoint, those that a packet to it passes. Every node has to have a process of the endpoint's
/// number: its context of the endpoint's offset then has the reception FIFO of the same number.
fn recipients_on_the_way(tasks: &Arc<TaskMap>, network: Network, here: Coord) -> Ways {
    let tasks = Arc::clone(tasks);
    Box::new(move |peer| {
        let to = tasks.place(peer.task, peer.context).ok()?;
        let endpoint = |hop: Hop| {
            let node = hop.to;
            let task = tasks.task_at(TaskLocation { node, ..to })?;
            Some(Endpoint { task, ..peer })
        };
        network
            .way(here, to.node, Routing::Fixed)
            .into_iter()
            .map(endpoint)
            .collect()
    })
}

/// Gives a result to its done callback; an error that has none is returned.
fn deliver<P: Platform>(
    context: &Context<P>,
    done: Option<DoneFn<P>>,
    result: Result<(), Fault>,
    progress: &mut Progress,
) -> Result<(), Fault> {
    match done {
        Some(done) => {
            progress.callbacks += 1;
            callback(context, Op::Callback, || {
                done(context, result.map_err(Error::from))
            });
            Ok(())
        }
        None => result,
    }
}

/// Runs a callback, which `op` stands for, and during which the context may not be advanced.
fn callback<P: Platform, R>(context: &Context<P>, op: Op, call: impl FnOnce() -> R) -> R {
    context.platform().charge(op, 1);
    guarded(context, call)
}

/// Runs a function during which the context may not be advanced.
fn guarded<P: Platform, R>(context: &Context<P>, call: impl FnOnce() -> R) -> R {
    let flag = &context.shared().in_callback;
    flag.store(true, Ordering::Release);
    let result = call();
    flag.store(false, Ordering::Release);
    result
}
