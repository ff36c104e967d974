// SPDX-License-Identifier: MIT OR Apache-2.0
//! One task of a program on any platform: runs its operations and notes the results.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::matching::{Received, Request};
use gyre_driver::{
    Arrival, BufferRange, CallFn, Client, ClientConfig, Communicator, Context, DoneFn, Endpoint,
    Error, Fence, Get, Instruction, MemoryRegion, Messaging, Platform, Put, PutNotify, Rank,
    Receive, RegionRights, RemoteAddress, RemoteRegion, Rget, Rmw, RmwOp, RmwWidth, Routing, Rput,
    SendImmediate, SendMessage, SendProtocol, TaskId,
};
use gyre_testkit::contents;
use parking_lot::Mutex;

use crate::conformance::history::{Event, Facts, Fate, explain};
use crate::conformance::log::{Log, digest, outcome};
use crate::conformance::program::{
    Action, COMMS, End, EndpointId, Op, Pattern, Place, Program, Take, Turn, Wrong, bytes_of,
    group, rank,
};
use crate::conformance::words::{Change, WORD};

/// Dispatch identifier of active messages.
const DATA: u8 = 1;
/// Dispatch identifiers of requests for an acknowledgement, and for a refusal.
const ACKNOWLEDGE: u8 = 2;
const REFUSE: u8 = 3;
/// First dispatch identifier of matched messages.
pub const MATCHED: u8 = 10;
/// A dispatch identifier whose messages are dropped.
pub const LOST: u8 = 20;
/// A dispatch identifier without callback.
const UNKNOWN: u8 = 99;
/// Idle turns of an endpoint after which nothing is under way any more.
const QUIET: usize = 6;
/// A wake group without a context.
const UNUSED_GROUP: u8 = 15;
/// A slot without a region.
const NO_SLOT: u16 = 30;
/// First number of receives that are not in the program.
const FIRST_EXTRA: usize = 1 << 20;
/// Room for every matched message.
const ROOM: usize = 6000;
/// Contents of receive buffers before a message.
const UNTOUCHED: u8 = 0xee;

/// State of a run that all tasks share outside the network.
pub struct World {
    pub program: Program,
    pub log: Mutex<Log>,
    /// The region of each endpoint, and the one before.
    regions: Mutex<BTreeMap<EndpointId, [Option<RemoteRegion>; 2]>>,
    at: BTreeMap<EndpointId, Progress>,
    /// Number of the next receive that is not in the program.
    extra: AtomicCell<usize>,
}

/// Progress of an endpoint in a round.
#[derive(Default)]
struct Progress {
    /// Operations begun.
    begun: AtomicCell<usize>,
    /// Callbacks that have to come.
    left: AtomicCell<usize>,
    /// Active messages that have come.
    arrived: AtomicCell<usize>,
    /// It waits for nothing.
    satisfied: AtomicCell<bool>,
    /// Turns of advance without anything to do, one after the other.
    idle: AtomicCell<usize>,
}

impl World {
    /// The world of a program.
    pub fn new(program: &Program) -> Arc<Self> {
        let endpoints = program.endpoints();
        Arc::new(Self {
            at: endpoints.map(|id| (id, Progress::default())).collect(),
            program: program.clone(),
            log: Mutex::default(),
            regions: Mutex::default(),
            extra: AtomicCell::new(FIRST_EXTRA),
        })
    }

    fn progress(&self, of: EndpointId) -> &Progress {
        &self.at[&of]
    }

    /// Whether no endpoint waits, and none had anything to do for some turns: unawaited messages of refused
    /// operations have arrived too.
    pub fn is_over(&self) -> bool {
        let over = |at: &Progress| at.satisfied.load() && at.idle.load() >= QUIET;
        self.at.values().all(over)
    }

    /// Prepares for the next round.
    pub fn next(&self) {
        for progress in self.at.values() {
            progress.begun.store(0);
            progress.satisfied.store(false);
            progress.arrived.store(0);
            progress.idle.store(0);
        }
    }

    /// The endpoints that wait, and why.
    pub fn waiting(&self) -> String {
        let waiting = self
            .at
            .iter()
            .filter(|(_, progress)| !progress.satisfied.load());
        let lines = waiting.map(|(endpoint, progress)| {
            let (left, arrived) = (progress.left.load(), progress.arrived.load());
            format!("{endpoint:?}: {left} callbacks left, {arrived} messages have come")
        });
        lines.collect::<Vec<_>>().join("; ")
    }

    fn rank(&self, comm: usize, task: usize) -> Option<Rank> {
        rank(comm, task, self.program.tasks()).map(Rank)
    }
}

/// Matching at a context in a round.
struct Matching<P: Platform> {
    events: Vec<Event>,
    /// Expected and unexpected arrivals so far, and all of them when the round began.
    arrivals: (u64, u64),
    before: u64,
    /// The receives since the context was opened.
    receives: BTreeMap<usize, Posted<P>>,
    /// Sends of the round.
    sends: BTreeMap<usize, Request<P, ()>>,
    /// Receives of the round have been cancelled, and messages without receive received.
    drained: bool,
}

/// A receive.
struct Posted<P: Platform> {
    pattern: Pattern,
    room: usize,
    request: Request<P, Received>,
    left: bool,
}

impl<P: Platform> Default for Matching<P> {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            arrivals: (0, 0),
            before: 0,
            receives: BTreeMap::new(),
            sends: BTreeMap::new(),
            drained: false,
        }
    }
}

/// A context, its module for matched messages and the module's communicators.
struct Open<P: Platform> {
    context: Context<P>,
    module: Messaging<P>,
    comms: Vec<Communicator>,
    matching: Mutex<Matching<P>>,
}

/// An endpoint of a task.
struct Member<P: Platform> {
    id: EndpointId,
    open: Mutex<Option<Arc<Open<P>>>>,
    region: Mutex<Option<MemoryRegion<P>>>,
}

/// A task of a program.
pub struct Task<P: Platform> {
    world: Arc<World>,
    number: usize,
    clients: Vec<Client<P>>,
    platform: P,
    members: Vec<Member<P>>,
}

impl<P: Platform> Task<P> {
    /// The task of `base`, with its clients.
    pub fn new(world: &Arc<World>, platform: &P, base: &ClientConfig) -> Result<Self, Error> {
        let task = base.task.0 as usize;
        let clients = (0..world.program.clients.len())
            .map(|number| Client::create(platform, world.program.client(number, base.clone())))
            .collect::<Result<Vec<_>, _>>()?;
        let mine = world.program.endpoints_of(task).into_iter();
        let members = mine.map(|id| Member {
            id,
            open: Mutex::default(),
            region: Mutex::default(),
        });
        Ok(Self {
            world: Arc::clone(world),
            number: task,
            clients,
            platform: platform.clone(),
            members: members.collect(),
        })
    }

    /// Carries out what this task does before a round, in its order.
    pub fn turn(&self, number: usize) -> Result<(), Error> {
        let world = Arc::clone(&self.world);
        for turn in &world.program.rounds[number].turns {
            let at = turn.at();
            if at.task != self.number {
                continue;
            }
            let member = self.members.iter().find(|member| member.id == at);
            let lines = self.carry_out(member.expect("an endpoint of the task"), turn)?;
            let mut log = world.log.lock();
            log.turns.entry((number, at)).or_default().extend(lines);
        }
        for member in &self.members {
            if let Some(open) = &*member.open.lock() {
                let mut matching = open.matching.lock();
                let matching = &mut *matching;
                matching.receives.retain(|_, receive| receive.left);
                let left = matching.receives.keys().copied();
                matching.events = left.map(Event::Receive).collect();
                matching.before = matching.arrivals.0 + matching.arrivals.1;
                matching.sends.clear();
                matching.drained = false;
            }
        }
        Ok(())
    }

    fn carry_out(&self, member: &Member<P>, turn: &Turn) -> Result<Vec<String>, Error> {
        let id = member.id;
        Ok(match turn {
            Turn::Open { .. } => {
                let open = Arc::new(self.open(id)?);
                *member.open.lock() = Some(open);
                Vec::new()
            }
            Turn::Destroy { posted, .. } => {
                let open = member.open.lock().take().expect("it is open");
                for op in posted {
                    self.start(&open, op)?;
                }
                let destroyed = outcome(&open.context.destroy());
                let again = open.context.fence_all(None);
                let advanced = open.context.advance(1).map(drop);
                vec![destroyed, outcome(&again), outcome(&advanced)]
            }
            Turn::Revoke { dropped, .. } => {
                let region = member.region.lock().take().expect("there is one");
                let mut regions = self.world.regions.lock();
                regions.entry(id).or_default().rotate_left(1);
                regions.entry(id).or_default()[0] = None;
                drop(regions);
                match dropped {
                    true => {
                        drop(region);
                        Vec::new()
                    }
                    false => vec![outcome(&region.destroy())],
                }
            }
            Turn::Grant {
                rights, contents, ..
            } => {
                let bytes = self.world.program.region_contents(id.client, *contents);
                let range = BufferRange::copied(&self.platform, &bytes)?;
                let region = self.clients[id.client].create_region(&range, *rights)?;
                let mut regions = self.world.regions.lock();
                regions.entry(id).or_default()[0] = Some(region.remote());
                *member.region.lock() = Some(region);
                Vec::new()
            }
            Turn::NoSlot { .. } => {
                let range = BufferRange::zeroed(&self.platform, 64)?;
                let region = self.clients[id.client].create_region(&range, RegionRights::ALL);
                vec![outcome(&region)]
            }
        })
    }

    /// Opens a context, with its dispatches and matched messages.
    fn open(&self, id: EndpointId) -> Result<Open<P>, Error> {
        let program = &self.world.program;
        // At most 2.
        let context = self.clients[id.client].create_context(id.context as u8)?;
        let module = Messaging::create(&context, program.messaging(MATCHED))?;
        let comm = |(place, &number): (usize, &u32)| match group(place, program.tasks()) {
            None => Ok(Communicator::world(number)),
            Some(group) => {
                let tasks: Vec<_> = group.iter().map(|&task| TaskId(task as u32)).collect();
                module.register(number, &tasks)
            }
        };
        let comms = COMMS
            .iter()
            .enumerate()
            .map(comm)
            .collect::<Result<_, _>>()?;
        let world = Arc::clone(&self.world);
        let data = move |context: &Context<P>, arrival: &Arrival<'_>| {
            arrived(&world, id, context, arrival)
        };
        context.set_dispatch(DATA, Box::new(data))?;
        for (dispatch, answer) in [
            (ACKNOWLEDGE, Context::acknowledge as fn(&_, _, _) -> _),
            (REFUSE, Context::refuse),
        ] {
            let world = Arc::clone(&self.world);
            let acknowledge = move |context: &Context<P>, arrival: &Arrival<'_>| {
                world.progress(id).arrived.fetch_add(1);
                match answer(context, arrival.origin, arrival.tag) {
                    Ok(()) => Receive::Consumed,
                    Err(error) => Receive::Refused(Box::new(error)),
                }
            };
            context.set_dispatch(dispatch, Box::new(acknowledge))?;
        }
        let lost = |_: &Context<P>, _: &Arrival<'_>| Receive::Consumed;
        context.set_dispatch(LOST, Box::new(lost))?;
        Ok(Open {
            context,
            module,
            comms,
            matching: Mutex::default(),
        })
    }

    /// Begins the next operation of an endpoint in a round; false when all have begun.
    pub fn begin(&self, number: usize, place: usize) -> Result<bool, Error> {
        let world = Arc::clone(&self.world);
        let member = &self.members[place];
        let progress = world.progress(member.id);
        let mut ops = world.program.rounds[number].of(member.id);
        let Some(op) = ops.nth(progress.begun.load()) else {
            return Ok(false);
        };
        let open = member.open.lock().clone().expect("it is open");
        self.start(&open, op)?;
        progress.begun.fetch_add(1);
        if op.advance {
            self.poll(number, place)?;
        }
        Ok(true)
    }

    /// Posts receive `number`.
    fn receive(
        &self,
        open: &Open<P>,
        (number, at): (usize, EndpointId),
        (pattern, room, left): (Pattern, usize, bool),
    ) -> Result<(), Error> {
        let rank = |task| self.world.rank(pattern.comm, task).expect("in the group");
        let into = BufferRange::copied(&self.platform, &vec![UNTOUCHED; room])?;
        let compared = number < FIRST_EXTRA;
        let (world, copy) = (Arc::clone(&self.world), into.clone());
        let done = move |_: &Context<P>, result: Result<Received, Error>| {
            // Reads let other threads of the machine run, which may want the log.
            let data = digest(&contents(&copy));
            let mut log = world.log.lock();
            let free = |round: &crate::conformance::program::Round| {
                round.free && round.of(at).any(|op| op.number == number)
            };
            if compared && !world.program.rounds.iter().any(free) {
                log.end(number, "receive", format!("{result:?}, {data}"));
            }
            log.matched.entry(number).or_default().push((result, data));
            if !left {
                world.progress(at).left.fetch_sub(1);
            }
        };
        if !left {
            self.world.progress(at).left.fetch_add(1);
        }
        let request = open.module.receive(
            pattern.source.map(rank),
            pattern.tag,
            &open.comms[pattern.comm],
            into,
            Some(Box::new(done)),
        )?;
        let mut matching = open.matching.lock();
        matching.events.push(Event::Receive(number));
        let posted = Posted {
            pattern,
            room,
            request,
            left,
        };
        matching.receives.insert(number, posted);
        Ok(())
    }

    /// Probes, and notes the result.
    fn probe(&self, open: &Open<P>, pattern: Pattern) -> Result<Option<Received>, Error> {
        let rank = |task| self.world.rank(pattern.comm, task).expect("in the group");
        let comm = &open.comms[pattern.comm];
        let found = open
            .module
            .probe(pattern.source.map(rank), pattern.tag, comm)?;
        let event = Event::Probe(pattern, found);
        open.matching.lock().events.push(event);
        Ok(found)
    }

    /// Cancels a receive, and notes whether that took it back.
    fn cancel(&self, open: &Open<P>, number: usize) -> Result<(), Error> {
        let request = open.matching.lock().receives[&number].request.clone();
        let cancelled = open.module.cancel(&request)?;
        let event = Event::Cancel(number, cancelled);
        open.matching.lock().events.push(event);
        Ok(())
    }

    /// Cancels the receives of a round, and receives every message without one, except those that none can match.
    fn drain(&self, open: &Open<P>, at: EndpointId) -> Result<(), Error> {
        let numbers: Vec<_> = {
            let mut matching = open.matching.lock();
            matching.drained = true;
            let receives = matching.receives.iter();
            let own = receives.filter(|(_, r)| !r.left && !r.request.is_complete());
            own.map(|(&number, _)| number).collect()
        };
        for number in numbers {
            self.cancel(open, number)?;
        }
        for comm in 0..COMMS.len() {
            let pattern = Pattern {
                comm,
                source: None,
                tag: None,
            };
            while self.probe(open, pattern)?.is_some() {
                let number = self.world.extra.fetch_add(1);
                self.receive(open, (number, at), (pattern, ROOM, false))?;
            }
        }
        Ok(())
    }

    /// Notes the matched messages that have arrived since the last time.
    fn observe(open: &Open<P>) {
        let stats = open.module.stats();
        let mut matching = open.matching.lock();
        let (expected, unexpected) = matching.arrivals;
        if (stats.expected, stats.unexpected) != matching.arrivals {
            matching.events.push(Event::Arrivals {
                expected: stats.expected - expected,
                unexpected: stats.unexpected - unexpected,
            });
            matching.arrivals = (stats.expected, stats.unexpected);
        }
    }

    /// Advances an endpoint once; says whether it found something to do.
    pub fn poll(&self, number: usize, place: usize) -> Result<bool, Error> {
        let member = &self.members[place];
        let round = &self.world.program.rounds[number];
        let progress = self.world.progress(member.id);
        let Some(open) = member.open.lock().clone() else {
            progress.satisfied.store(true);
            progress.idle.store(QUIET);
            return Ok(false);
        };
        let found = match open.context.advance(1) {
            Ok(found) => !found.is_idle(),
            Err(error) => {
                if let Error::UnknownDispatch { .. } = error {
                    progress.arrived.fetch_add(1);
                }
                self.note(number, member.id, &error);
                true
            }
        };
        Self::observe(&open);
        let begun = progress.begun.load() == round.of(member.id).count();
        let (arrived, drained) = {
            let matching = open.matching.lock();
            let arrived = matching.arrivals.0 + matching.arrivals.1 - matching.before;
            let all = arrived == round.matched(member.id).count() as u64;
            (all, matching.drained)
        };
        if begun && arrived && !drained {
            self.drain(&open, member.id)?;
        }
        // The announcement of a message that none receives stays unacknowledged.
        let foreign = |op: &Op| self.world.program.is_foreign(op);
        let satisfied = begun
            && arrived
            && progress.left.load() == 0
            && progress.arrived.load() == round.arrivals(member.id)
            && (open.context.is_at_rest() || round.of(member.id).any(foreign));
        progress.satisfied.store(satisfied);
        progress
            .idle
            .store(if found { 0 } else { progress.idle.load() + 1 });
        Ok(found)
    }

    /// Lets an endpoint sleep until something happens; one that waits for nothing, for a while at most.
    pub fn sleep(&self, place: usize, picoseconds: u64) -> Result<(), Error> {
        let member = &self.members[place];
        let open = member.open.lock().clone();
        let deadline = Some(self.platform.now_ps() + picoseconds);
        match open {
            Some(open) => {
                let satisfied = self.world.progress(member.id).satisfied.load();
                let deadline = deadline.filter(|_| satisfied || picoseconds == 0);
                open.context.wait(deadline).map(drop)
            }
            None => {
                self.platform.wait(UNUSED_GROUP, deadline);
                Ok(())
            }
        }
    }

    fn note(&self, number: usize, id: EndpointId, error: &Error) {
        let mut log = self.world.log.lock();
        if let Error::UnknownCookie { .. } = error {
            log.wrong.push(format!("round {number}, {id:?}: {error}"));
        }
        let errors = log.errors.entry((number, id)).or_default();
        errors.push(format!("{error:?}"));
        errors.sort();
    }

    /// Notes the regions of the task at the end of a round, and what contradicts MPI's matching.
    pub fn look(&self, number: usize) {
        for member in &self.members {
            if let Some(region) = &*member.region.lock() {
                let mut bytes = contents(region.range());
                let word: &mut [u8; WORD] = bytes.first_chunk_mut().expect("a word");
                let contended = u64::from_le_bytes(std::mem::take(word));
                let mut log = self.world.log.lock();
                log.words.insert((number, member.id), contended);
                log.memory.insert((number, member.id), digest(&bytes));
            }
            if let Some(open) = &*member.open.lock() {
                let judged = self.judge(number, member.id, open);
                if let Err(wrong) = judged {
                    let mut log = self.world.log.lock();
                    log.wrong
                        .push(format!("round {number}, {:?}: {wrong}", member.id));
                }
            }
        }
    }

    /// Whether an interleaving explains the matching of a round at an endpoint.
    fn judge(&self, number: usize, at: EndpointId, open: &Open<P>) -> Result<(), String> {
        let program = &self.world.program;
        let round = &program.rounds[number];
        let stats = open.module.stats();
        let mut matching = open.matching.lock();
        matching.events.push(Event::Queues {
            posted: stats.posted,
            pending: stats.pending,
        });
        let origins: Vec<Vec<_>> = (0..program.tasks())
            .map(|task| {
                let sent = round.matched(at).filter(|op| op.from.task == task);
                sent.map(|op| op.number).collect()
            })
            .collect();
        let log = self.world.log.lock();
        let facts = Results {
            program,
            log: &log,
            receives: &matching.receives,
            gets: RefCell::default(),
        };
        let end = explain(&matching.events, &origins, &facts)?;
        let lengths = end
            .pending
            .iter()
            .filter_map(|&message| match program.op(message)?.action {
                Action::Match { length, .. } => Some(length),
                _ => None,
            });
        let held: usize = lengths.filter(|&length| program.is_buffered(length)).sum();
        if stats.held_bytes != held {
            return Err(format!("{stats:?}, expected {held} held"));
        }
        if !program.is_buffered(0) && stats.peak_held_bytes != 0 {
            return Err(format!("payload was held: {stats:?}"));
        }
        for (receive, posted) in &matching.receives {
            if posted.request.is_complete() != log.matched.contains_key(receive) {
                return Err(format!("request of receive {receive}"));
            }
        }
        for (send, request) in &matching.sends {
            let op = program.op(*send).expect("an operation");
            let Action::Match { length, .. } = op.action else {
                continue;
            };
            let done = log.has_ended(*send, "done");
            let expected = !program.is_foreign(op) || program.is_buffered(length);
            let certain = op.end == End::Well || program.is_foreign(op);
            if certain && (done, request.is_complete()) != (expected, expected) {
                return Err(format!("{op:?} is done: {done}"));
            }
        }
        Ok(())
    }

    /// Ends the task's clients.
    pub fn end(self) -> Result<(), Error> {
        for member in &self.members {
            drop(member.region.lock().take());
        }
        let id = self.members[0].id;
        let program = &self.world.program;
        let of_task = |op: &Op| [op.from.task, op.to.task].contains(&id.task);
        let mut ops = program.rounds.iter().flat_map(|round| &round.ops);
        let owes = ops.any(|op| program.is_foreign(op) && of_task(op));
        for client in self.clients {
            let ended = match client.destroy() {
                // A message that none receives is refused now; its origin may have ended before.
                Err(Error::ContextNotOpen { .. }) if owes => outcome(&Ok(())),
                ended => outcome(&ended),
            };
            let mut log = self.world.log.lock();
            log.turns.entry((usize::MAX, id)).or_default().push(ended);
        }
        Ok(())
    }

    fn done(
        &self,
        op: &Op,
        which: &'static str,
        into: Option<&BufferRange<P::Buffer>>,
    ) -> DoneFn<P> {
        let (world, op, into) = (Arc::clone(&self.world), *op, into.cloned());
        let fence = matches!(op.action, Action::Fence | Action::FenceAll);
        // The first of two refusals to be reported is the error of the fence.
        let any = fence && op.end == End::Either;
        Box::new(move |_, result| {
            // Reads let other threads of the machine run, which may want the log.
            let data = into.filter(|_| result.is_ok()).map(|into| contents(&into));
            let mut log = world.log.lock();
            let how = match (&result, data) {
                (Ok(()), Some(mut word)) if op.is_contended() => {
                    word.resize(WORD, 0);
                    let word = word.try_into().expect("a word");
                    log.fetched.insert(op.number, u64::from_le_bytes(word));
                    "ok".to_owned()
                }
                (Ok(()), Some(data)) => format!("ok, {}", digest(&data)),
                (Err(_), _) if any => "refused".to_owned(),
                _ => outcome(&result),
            };
            log.end(op.number, which, how);
            if fence && result.is_ok() {
                let rounds = world.program.rounds.iter();
                let mut of = rounds.filter(|r| r.ops.iter().any(|o| o.number == op.number));
                if let Some(round) = of.next() {
                    log.check_fence(round, &op);
                }
            }
            if !world.program.is_foreign(&op) {
                world.progress(op.from).left.fetch_sub(1);
            }
        })
    }

    /// Posts an operation, and notes its refusal.
    fn start(&self, open: &Open<P>, op: &Op) -> Result<(), Error> {
        let progress = self.world.progress(op.from);
        let (callbacks, posted) = self.post(open, op)?;
        match posted {
            // No callback runs before the next turn of advance.
            Ok(()) if !self.world.program.is_foreign(op) => {
                progress.left.fetch_add(callbacks);
            }
            Ok(()) => {}
            Err(error) => {
                let mut log = self.world.log.lock();
                log.refused.insert(op.number, format!("{error:?}"));
            }
        }
        Ok(())
    }

    /// Number of callbacks of an operation, and the result of its post.
    fn post(&self, open: &Open<P>, op: &Op) -> Result<(usize, Result<(), Error>), Error> {
        let (context, number) = (&open.context, op.number);
        let to = self.endpoint(op.to)?;
        let buffer = |length| BufferRange::copied(&self.platform, &bytes_of(number, length));
        let tag = number as u32;
        Ok(match op.action {
            Action::Immediate {
                header,
                length,
                known,
                ..
            } => {
                let message = SendImmediate {
                    tag,
                    header: &bytes_of(number + 1, header),
                    data: &bytes_of(number, length),
                    ..SendImmediate::new(to, if known { DATA } else { UNKNOWN })
                };
                (0, context.send_immediate(&message))
            }
            Action::Send {
                header,
                length,
                eager,
                known,
                ..
            } => {
                let dispatch = if known { DATA } else { UNKNOWN };
                let message = SendMessage {
                    tag,
                    protocol: match eager {
                        true => SendProtocol::Eager,
                        false => SendProtocol::ByLength,
                    },
                    header: bytes_of(number + 1, header),
                    local_done: Some(self.done(op, "local", None)),
                    remote_done: Some(self.done(op, "remote", None)),
                    ..SendMessage::new(to, dispatch, buffer(length)?)
                };
                (2, context.send(message))
            }
            Action::Put {
                length,
                place,
                told,
            } => {
                let data = buffer(length)?;
                let local_done = Some(self.done(op, "local", None));
                let remote_done = told.then(|| self.done(op, "remote", None));
                let callbacks = 1 + usize::from(told);
                let posted = match self.place(op.to, place) {
                    Ok((region, at)) => context.rput(Rput {
                        notify: PutNotify::None,
                        destination: to,
                        data,
                        region,
                        offset: at,
                        local_done,
                        remote_done,
                    }),
                    Err(remote) => context.put(Put {
                        destination: to,
                        data,
                        remote,
                        notify: PutNotify::None,
                        local_done,
                        remote_done,
                    }),
                };
                (callbacks, posted)
            }
            Action::Get { length, place } => {
                let into = BufferRange::copied(&self.platform, &vec![0; length])?;
                let done = Some(self.done(op, "done", Some(&into)));
                let posted = match self.place(op.to, place) {
                    Ok((region, at)) => context.rget(Rget {
                        source: to,
                        region,
                        offset: at,
                        into,
                        done,
                    }),
                    Err(remote) => context.get(Get {
                        source: to,
                        remote,
                        into,
                        routing: Routing::Fixed,
                        done,
                    }),
                };
                (1, posted)
            }
            Action::Change(change, place) => (1, self.change(context, op, &change, place, to)?),
            Action::Acknowledge { refuse } => {
                let cookie = context.expect_ack(to, self.done(op, "done", None))?;
                let message = SendImmediate {
                    tag: cookie,
                    ..SendImmediate::new(to, if refuse { REFUSE } else { ACKNOWLEDGE })
                };
                (1, context.send_immediate(&message))
            }
            Action::Match { comm, tag, length } => {
                let rank = self.world.rank(comm, op.to.task).expect("in the group");
                let (comm, done) = (&open.comms[comm], self.done(op, "done", None));
                let sent = open
                    .module
                    .send(rank, tag, comm, buffer(length)?, Some(done));
                let sent = sent.map(|request| {
                    open.matching.lock().sends.insert(number, request);
                });
                (1, sent)
            }
            Action::Receive {
                pattern,
                room,
                left,
            } => {
                self.receive(open, (number, op.from), (pattern, room, left))?;
                (0, Ok(()))
            }
            Action::Probe(pattern) => (0, self.probe(open, pattern).map(drop)),
            Action::Cancel(receive) => (0, self.cancel(open, receive)),
            Action::Fence => {
                let done = Some(self.done(op, "done", None));
                let destination = to;
                (1, context.fence(Fence { destination, done }))
            }
            Action::FenceAll => (1, context.fence_all(Some(self.done(op, "done", None)))),
            Action::Wrong(wrong) => (0, self.wrong(open, op, to, wrong)?),
        })
    }

    fn endpoint(&self, id: EndpointId) -> Result<Endpoint, Error> {
        let (task, context) = (TaskId(id.task as u32), id.context as u8);
        self.clients[id.client].endpoint(task, context)
    }

    /// A place as a region and an offset, or as an address.
    fn place(&self, of: EndpointId, place: Place) -> Result<(RemoteRegion, u64), RemoteAddress> {
        let [now, before] = self
            .world
            .regions
            .lock()
            .get(&of)
            .copied()
            .unwrap_or_default();
        match place {
            Place::Region(at) => Ok((now.expect("it has one"), at as u64)),
            Place::Gone => Ok((before.expect("it had one"), 0)),
            Place::Address(at) => Err(RemoteAddress {
                slot: now.map_or(NO_SLOT, slot),
                offset: at as u64,
            }),
            Place::NoSlot => Err(RemoteAddress {
                slot: NO_SLOT,
                offset: 0,
            }),
        }
    }

    /// Posts a read-modify-write.
    fn change(
        &self,
        context: &Context<P>,
        op: &Op,
        change: &Change,
        place: Place,
        destination: Endpoint,
    ) -> Result<Result<(), Error>, Error> {
        let (region, offset) = self.place(op.to, place).expect("a region");
        let word = vec![0; change.width.bytes()];
        let result = match change.fetch {
            true => Some(BufferRange::copied(&self.platform, &word)?),
            false => None,
        };
        Ok(context.rmw(Rmw {
            destination,
            region,
            offset: offset + change.offset() as u64,
            op: change.op,
            width: change.width,
            value: change.value,
            test: change.test,
            done: Some(self.done(op, "done", result.as_ref())),
            result,
        }))
    }

    /// Posts an operation that is refused when it is posted, or at once.
    fn wrong(
        &self,
        open: &Open<P>,
        op: &Op,
        to: Endpoint,
        wrong: Wrong,
    ) -> Result<Result<(), Error>, Error> {
        let context = &open.context;
        let immediate = |header: &[u8], data: &[u8], dispatch| {
            context.send_immediate(&SendImmediate {
                header,
                data,
                ..SendImmediate::new(to, dispatch)
            })
        };
        let (own, other) = {
            let regions = self.world.regions.lock();
            let of = |id: EndpointId| regions.get(&id).and_then(|region| region[0]);
            let elsewhere = regions.keys().find(|id| id.task != op.to.task);
            (of(op.to), elsewhere.and_then(|&id| of(id)))
        };
        let bytes = |length| BufferRange::copied(&self.platform, &vec![0; length]);
        let put = |region, offset| {
            let data = bytes(8)?;
            Ok::<_, Error>(context.rput(Rput {
                notify: PutNotify::None,
                destination: to,
                data,
                region,
                offset,
                local_done: None,
                remote_done: None,
            }))
        };
        let add = |region, offset, result| Rmw {
            destination: to,
            region,
            offset,
            op: RmwOp::Add,
            width: RmwWidth::Eight,
            value: 0,
            test: None,
            result,
            done: None,
        };
        let nothing = Err(Error::Cancelled);
        Ok(match wrong {
            Wrong::LongImmediate => immediate(&[], &[0; SendImmediate::MAX + 1], DATA),
            Wrong::LongHeadedImmediate => immediate(&[0; SendImmediate::MAX_HEADED], &[0], DATA),
            Wrong::LongHeader => context.send(SendMessage {
                header: vec![0; gyre_driver::MAX_HEADER + 1],
                ..SendMessage::new(to, DATA, bytes(8)?)
            }),
            Wrong::ReservedDispatch => immediate(&[], &[], 224),
            Wrong::UnknownTask => {
                let task = TaskId(self.world.program.tasks() as u32);
                context.endpoint(task, 0).map(drop)
            }
            Wrong::UnknownContext => {
                let contexts = self.world.program.clients[op.from.client].contexts;
                let context = contexts as u8;
                self.clients[op.from.client]
                    .endpoint(TaskId(0), context)
                    .map(drop)
            }
            Wrong::UnknownRank => {
                let rank = Rank(self.world.program.tasks() as u32);
                let send = open.module.send(rank, 0, &open.comms[2], bytes(8)?, None);
                send.map(drop)
            }
            Wrong::BeyondRegion => match own {
                Some(region) => put(region, region.len() - 7)?,
                None => nothing,
            },
            Wrong::OtherRegion => match other {
                Some(region) => put(region, 0)?,
                None => nothing,
            },
            Wrong::MisalignedWord => match own {
                Some(region) => context.rmw(add(region, 4, None)),
                None => nothing,
            },
            Wrong::ResultLength => match own {
                Some(region) => context.rmw(add(region, 8, Some(bytes(4)?))),
                None => nothing,
            },
            Wrong::DispatchInUse => context.set_dispatch(DATA, Box::new(|_, _| Receive::Consumed)),
            Wrong::AdvanceInCallback => {
                let (world, op) = (Arc::clone(&self.world), *op);
                let advance: CallFn<P> = Box::new(move |context: &Context<P>| {
                    let advanced = outcome(&context.advance(1));
                    world.log.lock().end(op.number, "advance", advanced);
                });
                context.post(Instruction::Call(advance))
            }
            Wrong::SecondContext => {
                let client = &self.clients[op.from.client];
                let second = client.create_context(op.from.context as u8);
                second.map(drop)
            }
        })
    }
}

/// Labels and results of the messages and receives of a context.
struct Results<'a, P: Platform> {
    program: &'a Program,
    log: &'a Log,
    receives: &'a BTreeMap<usize, Posted<P>>,
    /// Whether a receive got a message, of the pairs compared so far.
    gets: RefCell<BTreeMap<(usize, usize), bool>>,
}

impl<P: Platform> Results<'_, P> {
    /// Task, communicator, tag and length of a message.
    fn label(&self, message: usize) -> (usize, usize, u32, usize) {
        let op = self.program.op(message).expect("a message");
        match op.action {
            Action::Match { comm, tag, length } => (op.from.task, comm, tag, length),
            other => unreachable!("{other:?} is no message"),
        }
    }
}

impl<P: Platform> Facts for Results<'_, P> {
    fn received(&self, message: usize) -> Option<Received> {
        let (from, comm, tag, length) = self.label(message);
        Some(Received {
            source: Rank(rank(comm, from, self.program.tasks())?),
            tag,
            comm: COMMS[comm],
            length,
        })
    }

    fn matches(&self, pattern: &Pattern, message: usize) -> bool {
        let (from, comm, tag, _) = self.label(message);
        pattern.comm == comm
            && pattern.source.is_none_or(|source| source == from)
            && pattern.tag.is_none_or(|only| only == tag)
            && rank(comm, from, self.program.tasks()).is_some()
    }

    fn pattern(&self, receive: usize) -> Pattern {
        self.receives[&receive].pattern
    }

    fn has_ended(&self, receive: usize, fate: Fate) -> bool {
        match fate {
            Fate::Gets(message) => {
                let known = self.gets.borrow().get(&(receive, message)).copied();
                known.unwrap_or_else(|| {
                    let got = self.is_end(receive, fate);
                    self.gets.borrow_mut().insert((receive, message), got);
                    got
                })
            }
            _ => self.is_end(receive, fate),
        }
    }
}

impl<P: Platform> Results<'_, P> {
    /// Whether the callback of a receive, the end of its send and every byte of its buffer are those of a fate.
    fn is_end(&self, receive: usize, fate: Fate) -> bool {
        let room = self.receives[&receive].room;
        let mut bytes = vec![UNTOUCHED; room];
        let result = match fate {
            Fate::Waits => return !self.log.matched.contains_key(&receive),
            Fate::Cancelled => Err(Error::Cancelled),
            Fate::Gets(message) => {
                // Only the end of the send tells the message of a receive that is too short.
                if !self.log.has_ended(message, "done") {
                    return false;
                }
                let Some(received) = self.received(message) else {
                    return false;
                };
                match received.length > room {
                    true => Err(Error::MessageTooLong {
                        message: received.length,
                        receive: room,
                    }),
                    false => {
                        let data = bytes_of(message, received.length);
                        bytes[..data.len()].copy_from_slice(&data);
                        Ok(received)
                    }
                }
            }
        };
        let ended = self.log.matched.get(&receive).and_then(|ends| ends.first());
        ended == Some(&(result, digest(&bytes)))
    }
}

/// The slot of a region.
fn slot(region: RemoteRegion) -> u16 {
    let bytes = region.encode();
    u16::from_le_bytes([bytes[4], bytes[5]])
}

/// Takes an active message.
fn arrived<P: Platform>(
    world: &Arc<World>,
    at: EndpointId,
    context: &Context<P>,
    arrival: &Arrival<'_>,
) -> Receive<P> {
    let number = arrival.tag as usize;
    let origin = EndpointId {
        client: at.client,
        task: arrival.origin.task().0 as usize,
        context: arrival.origin.context_offset().into(),
    };
    let line = format!(
        "{number}: header {}, {} B",
        digest(arrival.header),
        arrival.length
    );
    let mut log = world.log.lock();
    log.dispatched.entry((at, origin)).or_default().push(line);
    drop(log);
    world.progress(at).arrived.fetch_add(1);
    let take = match world.program.op(number).map(|op| op.action) {
        Some(Action::Immediate { take, .. } | Action::Send { take, .. }) => take,
        _ => Take::Nothing,
    };
    let length = match (take, arrival.immediate) {
        (Take::Nothing, _) => return Receive::Consumed,
        (Take::Refuse, _) => return Receive::Refused(Box::new(Error::Cancelled)),
        (Take::Data, Some(data)) => {
            let how = format!("ok, {}", digest(data));
            world.log.lock().end(number, "received", how);
            return Receive::Consumed;
        }
        (Take::Short, _) => arrival.length / 2,
        (Take::Data | Take::Into, _) => arrival.length,
    };
    let into = BufferRange::copied(context.platform(), &vec![0; length]);
    let into = match into {
        Ok(into) => into,
        Err(error) => return Receive::Refused(Box::new(error)),
    };
    let (world, copy) = (Arc::clone(world), into.clone());
    world.progress(at).left.fetch_add(1);
    Receive::Into {
        into,
        done: Some(Box::new(move |_, result| {
            let how = match &result {
                Ok(()) => format!("ok, {}", digest(&contents(&copy))),
                Err(error) => format!("{error:?}"),
            };
            world.log.lock().end(number, "received", how);
            world.progress(at).left.fetch_sub(1);
        })),
    }
}
