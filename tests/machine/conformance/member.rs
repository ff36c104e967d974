// SPDX-License-Identifier: MIT OR Apache-2.0
//! One task of a random program on any platform: what it does and what it notes.

use std::collections::BTreeMap;
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::matching::Received;
use gyre_driver::{
    Arrival, BufferRange, CallFn, Client, ClientConfig, Communicator, Context, DoneFn, Endpoint,
    Error, Fence, Get, Instruction, MemoryRegion, Messaging, MessagingConfig, Platform, Put,
    PutNotify, Rank, Receive, RegionRights, RemoteAddress, RemoteRegion, Rget, Rmw, RmwOp,
    RmwWidth, Routing, Rput, SendImmediate, SendMessage, SendProtocol, TaskId,
};
use gyre_testkit::contents;
use parking_lot::Mutex;

use crate::conformance::log::{Log, digest, outcome};
use crate::conformance::program::{
    Action, COMMS, Change, End, EndpointId, Op, Place, Posted, Program, Receiving, Take, Turn,
    Wrong, bytes_of,
};

/// Dispatch identifier of active messages.
const DATA: u8 = 1;
/// That of requests for an acknowledgement, and for a refusal.
const ACKNOWLEDGE: u8 = 2;
const REFUSE: u8 = 3;
/// First of the matched messages.
const MATCHED: u8 = 10;
/// One that has no callback.
const UNKNOWN: u8 = 99;
/// Idle turns of an endpoint behind which nothing is under way any more.
const QUIET: usize = 6;
/// A wake group that no context has.
const NOBODYS: u8 = 15;
/// A slot that nobody grants.
const NO_SLOT: u16 = 30;

/// What all tasks of a run have together: it travels by no network.
pub struct World {
    pub program: Program,
    pub log: Mutex<Log>,
    /// The region of each endpoint, and the one before.
    regions: Mutex<BTreeMap<EndpointId, [Option<RemoteRegion>; 2]>>,
    at: Vec<Progress>,
}

/// How far an endpoint is in a round.
#[derive(Default)]
struct Progress {
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
        let at = program.endpoints().map(|_| Progress::default()).collect();
        Arc::new(Self {
            program: program.clone(),
            log: Mutex::default(),
            regions: Mutex::default(),
            at,
        })
    }

    fn progress(&self, of: EndpointId) -> &Progress {
        &self.at[self.program.index(of)]
    }

    /// Whether nobody waits for anything any more, and nobody had anything to do for some turns: messages that
    /// nobody waits for, of what was refused, have come too.
    pub fn is_over(&self) -> bool {
        let over = |at: &Progress| at.satisfied.load() && at.idle.load() >= QUIET;
        self.at.iter().all(over)
    }

    /// Nobody has begun the next round.
    pub fn next(&self) {
        for progress in &self.at {
            progress.satisfied.store(false);
            progress.arrived.store(0);
            progress.idle.store(0);
        }
    }

    /// Who waits, and for what.
    pub fn waiting(&self) -> String {
        let ends = self.program.endpoints().zip(&self.at);
        let waiting = ends.filter(|(_, progress)| !progress.satisfied.load());
        let lines = waiting.map(|(endpoint, progress)| {
            let (left, arrived) = (progress.left.load(), progress.arrived.load());
            format!("{endpoint:?}: {left} callbacks left, {arrived} messages have come")
        });
        lines.collect::<Vec<_>>().join("; ")
    }
}

/// A context and what works over it.
struct Open<P: Platform> {
    context: Context<P>,
    module: Messaging<P>,
    comms: [Communicator; 2],
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
    client: Client<P>,
    platform: P,
    members: Vec<Member<P>>,
}

impl<P: Platform> Task<P> {
    /// The task that `base` is made for, with its client.
    pub fn new(world: &Arc<World>, platform: &P, base: ClientConfig) -> Result<Self, Error> {
        let task = base.task.0 as usize;
        let client = Client::create(platform, world.program.client(base))?;
        let mine = world.program.endpoints().filter(|id| id.task == task);
        let members = mine.map(|id| Member {
            id,
            open: Mutex::default(),
            region: Mutex::default(),
        });
        Ok(Self {
            world: Arc::clone(world),
            client,
            platform: platform.clone(),
            members: members.collect(),
        })
    }

    /// Carries out what this task does before a round, in its order.
    pub fn turn(&self, number: usize) -> Result<(), Error> {
        let world = Arc::clone(&self.world);
        for turn in &world.program.rounds[number].turns {
            let at = turn.at();
            if at.task != self.client.task().0 as usize {
                continue;
            }
            let lines = self.carry_out(&self.members[at.context], turn)?;
            let mut log = world.log.lock();
            log.turns.entry((number, at)).or_default().extend(lines);
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
                let bytes = self.world.program.region_contents(*contents);
                let range = BufferRange::copied(&self.platform, &bytes)?;
                let region = self.client.create_region(&range, *rights)?;
                let mut regions = self.world.regions.lock();
                regions.entry(id).or_default()[0] = Some(region.remote());
                *member.region.lock() = Some(region);
                Vec::new()
            }
            Turn::NoSlot { .. } => {
                let range = BufferRange::zeroed(&self.platform, 64)?;
                let region = self.client.create_region(&range, RegionRights::ALL);
                vec![outcome(&region)]
            }
        })
    }

    /// Opens a context, with its dispatches and matched messages.
    fn open(&self, id: EndpointId) -> Result<Open<P>, Error> {
        let program = &self.world.program;
        // At most 2.
        let context = self.client.create_context(id.context as u8)?;
        let config = MessagingConfig {
            switch_over: program.switch_over,
            ..MessagingConfig::new(MATCHED)
        };
        let module = Messaging::create(&context, config)?;
        let ranks = program.ranks(1).into_iter().map(|task| TaskId(task as u32));
        let reversed = module.register(COMMS[1], &ranks.collect::<Vec<_>>())?;
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
        Ok(Open {
            context,
            module,
            comms: [Communicator::world(COMMS[0]), reversed],
        })
    }

    /// Starts what one endpoint does in a round.
    pub fn begin(&self, number: usize, context: usize) -> Result<(), Error> {
        let world = Arc::clone(&self.world);
        let round = &world.program.rounds[number];
        let member = &self.members[context];
        let Some(open) = member.open.lock().clone() else {
            return Ok(());
        };
        let mine = |receive: &&Posted| receive.at == member.id;
        let mut requests = Vec::new();
        let mut receives = |early| {
            for receive in round.receives.iter().filter(mine) {
                if receive.early == early {
                    requests.extend(self.receive(&open, receive)?);
                }
            }
            Ok::<_, Error>(())
        };
        receives(true)?;
        for op in round.ops.iter().filter(|op| op.from == member.id) {
            self.start(&open, op)?;
            if op.advance {
                self.poll(number, context);
            }
        }
        receives(false)?;
        for request in requests {
            let cancelled = open.module.cancel(&request)?;
            assert!(cancelled, "nothing has its tag");
        }
        Ok(())
    }

    /// Posts a receive; its request if it is to be cancelled.
    fn receive(
        &self,
        open: &Open<P>,
        receive: &Posted,
    ) -> Result<Option<gyre_driver::matching::Request<P, Received>>, Error> {
        let program = &self.world.program;
        let Posted {
            number, at, kind, ..
        } = *receive;
        let comm = receive.comm;
        let source = receive.source.map(|task| Rank(program.rank(comm, task)));
        let into = BufferRange::copied(&self.platform, &vec![0; receive.room])?;
        let counts = kind != Receiving::Left;
        let (world, copy) = (Arc::clone(&self.world), into.clone());
        let done = move |_: &Context<P>, result: Result<Received, Error>| {
            let how = match &result {
                Ok(got) => {
                    let data = contents(&copy);
                    let data = data.get(..got.length).map_or_else(String::new, digest);
                    format!("{got:?}, {data}")
                }
                Err(error) => format!("{error:?}"),
            };
            world.log.lock().end(number, "receive", how);
            if counts {
                world.progress(at).left.fetch_sub(1);
            }
        };
        let comm = &open.comms[comm];
        let request = open
            .module
            .receive(source, receive.tag, comm, into, Some(Box::new(done)))?;
        if counts {
            self.world.progress(at).left.fetch_add(1);
        }
        Ok((kind == Receiving::Cancelled).then_some(request))
    }

    /// Advances an endpoint once; says whether it found something to do.
    pub fn poll(&self, number: usize, context: usize) -> bool {
        let member = &self.members[context];
        let round = &self.world.program.rounds[number];
        let progress = self.world.progress(member.id);
        let Some(open) = member.open.lock().clone() else {
            progress.satisfied.store(true);
            progress.idle.store(QUIET);
            return false;
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
        let satisfied = progress.left.load() == 0
            && progress.arrived.load() == round.arrivals(member.id)
            && open.context.is_at_rest();
        progress.satisfied.store(satisfied);
        progress
            .idle
            .store(if found { 0 } else { progress.idle.load() + 1 });
        found
    }

    /// Lets an endpoint sleep until something happens, for a while at most.
    pub fn sleep(&self, context: usize, picoseconds: u64) -> Result<(), Error> {
        let open = self.members[context].open.lock().clone();
        let deadline = Some(self.platform.now_ps() + picoseconds);
        match open {
            Some(open) => open.context.wait(deadline).map(drop),
            None => {
                self.platform.wait(NOBODYS, deadline);
                Ok(())
            }
        }
    }

    fn note(&self, number: usize, id: EndpointId, error: &Error) {
        let mut log = self.world.log.lock();
        let errors = log.errors.entry((number, id)).or_default();
        errors.push(format!("{error:?}"));
        errors.sort();
    }

    /// Notes the regions of the task at the end of a round.
    pub fn look(&self, number: usize) {
        for member in &self.members {
            if let Some(region) = &*member.region.lock() {
                let bytes = contents(region.range());
                let mut log = self.world.log.lock();
                log.memory.insert((number, member.id), digest(&bytes));
            }
        }
    }

    /// Ends the task's client.
    pub fn end(self) -> Result<(), Error> {
        for member in &self.members {
            drop(member.region.lock().take());
        }
        let id = self.members[0].id;
        let ended = outcome(&self.client.destroy());
        let mut log = self.world.log.lock();
        log.turns.entry((usize::MAX, id)).or_default().push(ended);
        Ok(())
    }

    fn done(
        &self,
        op: &Op,
        which: &'static str,
        into: Option<&BufferRange<P::Buffer>>,
    ) -> DoneFn<P> {
        let (world, op, into) = (Arc::clone(&self.world), *op, into.cloned());
        // Which of two refusals a fence tells of depends on which is told first.
        let fence = matches!(op.action, Action::Fence | Action::FenceAll);
        let posted = fence && op.end == End::Either;
        Box::new(move |_, result| {
            let how = match (&result, into) {
                (Ok(()), Some(into)) => format!("ok, {}", digest(&contents(&into))),
                (Err(_), _) if posted => "refused".to_owned(),
                _ => outcome(&result),
            };
            world.log.lock().end(op.number, which, how);
            world.progress(op.from).left.fetch_sub(1);
        })
    }

    /// Posts an operation, and notes its refusal.
    fn start(&self, open: &Open<P>, op: &Op) -> Result<(), Error> {
        let progress = self.world.progress(op.from);
        let (callbacks, posted) = self.post(open, op)?;
        match posted {
            // No callback runs before the next turn of advance.
            Ok(()) => {
                progress.left.fetch_add(callbacks);
            }
            Err(error) => {
                let mut log = self.world.log.lock();
                log.refused.insert(op.number, format!("{error:?}"));
            }
        }
        Ok(())
    }

    /// How many callbacks an operation has, and what its post has said.
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
                let rank = Rank(self.world.program.rank(comm, op.to.task));
                let (comm, done) = (&open.comms[comm], self.done(op, "done", None));
                let sent = open
                    .module
                    .send(rank, tag, comm, buffer(length)?, Some(done));
                (1, sent.map(drop))
            }
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
        self.client.endpoint(task, context)
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
            offset,
            op: change.op,
            width: change.width,
            value: change.value,
            test: change.test,
            done: Some(self.done(op, "done", result.as_ref())),
            result,
        }))
    }

    /// Something that is refused when it is posted, or at once.
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
                let context = self.world.program.contexts as u8;
                self.client.endpoint(TaskId(0), context).map(drop)
            }
            Wrong::UnknownRank => {
                let rank = Rank(self.world.program.tasks() as u32);
                let send = open.module.send(rank, 0, &open.comms[1], bytes(8)?, None);
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
                let second = self.client.create_context(op.from.context as u8);
                second.map(drop)
            }
        })
    }
}

/// The slot of a region.
fn slot(region: RemoteRegion) -> u16 {
    let bytes = region.encode();
    u16::from_le_bytes([bytes[4], bytes[5]])
}

/// An active message has come.
fn arrived<P: Platform>(
    world: &Arc<World>,
    at: EndpointId,
    context: &Context<P>,
    arrival: &Arrival<'_>,
) -> Receive<P> {
    let number = arrival.tag as usize;
    let origin = EndpointId {
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
