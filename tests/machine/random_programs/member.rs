// SPDX-License-Identifier: MIT OR Apache-2.0
//! One endpoint of a random program: what it does, and what it sees.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::matching::{Communicator, Messaging, MessagingConfig, Received};
use gyre_driver::{
    Arrival, BufferRange, Client, Context, DoneFn, Endpoint, Error, Fence, Get, MemoryRegion,
    Platform, Put, PutNotify, Rank, Receive, RegionRights, RemoteAddress, Rget, Rmw, Rput,
    SendImmediate, SendMessage, TaskId,
};
use gyre_testkit::contents;
use parking_lot::Mutex;

use crate::random_programs::faults::{FaultyPlatform, LOST, MATCHED};
use crate::random_programs::program::{
    Action, Change, CommId, EndpointId, Group, Program, Step, bytes_of,
};
use crate::random_programs::reference::Reference;

type Buffer = <FaultyPlatform as Platform>::Buffer;

const DATA: u8 = 1;
const ACKNOWLEDGE: u8 = 2;
const OVER: u8 = 3;

/// Longest matched message.
const LONGEST_MATCH: usize = 5000;

/// Every endpoint of a program.
pub type Members = BTreeMap<EndpointId, Arc<Member>>;

/// A receive of a matched message: what it leaves open, in the order posted, and what it got.
#[derive(Debug, Clone)]
pub struct Posted {
    pub comm: CommId,
    pub source: Option<Rank>,
    pub tag: Option<u32>,
    pub got: Option<usize>,
}

/// What an endpoint has seen.
#[derive(Default)]
pub struct Seen {
    /// Steps whose message came, by origin, in the order of their dispatch.
    pub dispatched: BTreeMap<EndpointId, Vec<usize>>,
    received: BTreeSet<usize>,
    /// Steps of this endpoint that are done, and how often their callbacks ran.
    pub done: BTreeMap<usize, usize>,
    /// What words held before this endpoint changed them, by step.
    pub fetched: BTreeMap<usize, u64>,
    pub posted: Vec<Posted>,
    over: usize,
    pub wrong: Vec<String>,
}

pub struct Member {
    pub id: EndpointId,
    program: Arc<Program>,
    reference: Arc<Reference>,
    context: Context<FaultyPlatform>,
    module: Messaging<FaultyPlatform>,
    communicators: BTreeMap<CommId, Communicator>,
    region: MemoryRegion<FaultyPlatform>,
    /// What gets bring, by step.
    gets: Mutex<BTreeMap<usize, BufferRange<Buffer>>>,
    pub seen: Mutex<Seen>,
    left: AtomicCell<usize>,
}

impl Member {
    /// Creates the endpoint's context, region and dispatches.
    pub fn open(
        client: &Client<FaultyPlatform>,
        id: EndpointId,
        program: &Arc<Program>,
        reference: &Arc<Reference>,
    ) -> Result<Arc<Self>, Error> {
        // At most 2 contexts.
        let context = client.create_context(id.context as u8)?;
        let memory = BufferRange::copied(context.platform(), &reference.initial[&id])?;
        let region = client.create_region(&memory, RegionRights::ALL)?;
        let module = Messaging::create(&context, MessagingConfig::new(MATCHED))?;
        let mut communicators = BTreeMap::new();
        for comm in CommId::all() {
            let tasks = comm.tasks(program.tasks()).into_iter();
            let tasks: Vec<_> = tasks.map(|task| TaskId(task as u32)).collect();
            let known = match comm.group {
                Group::World => Communicator::world(comm.number()),
                _ => module.register(comm.number(), &tasks)?,
            };
            communicators.insert(comm, known);
        }
        let member = Arc::new(Self {
            id,
            program: Arc::clone(program),
            reference: Arc::clone(reference),
            context,
            module,
            communicators,
            region,
            gets: Mutex::default(),
            seen: Mutex::default(),
            left: AtomicCell::new(0),
        });
        let this = Arc::clone(&member);
        let data = move |context: &Context<FaultyPlatform>, arrival: &Arrival<'_>| {
            this.arrived(context, arrival)
        };
        member.context.set_dispatch(DATA, Box::new(data))?;
        let acknowledge = |context: &Context<FaultyPlatform>, arrival: &Arrival<'_>| {
            let acknowledged = context.acknowledge(arrival.origin, arrival.tag);
            acknowledged.expect("the origin exists");
            Receive::Consumed
        };
        member
            .context
            .set_dispatch(ACKNOWLEDGE, Box::new(acknowledge))?;
        let this = Arc::clone(&member);
        let over = move |_: &Context<FaultyPlatform>, _: &Arrival<'_>| {
            this.seen.lock().over += 1;
            Receive::Consumed
        };
        member.context.set_dispatch(OVER, Box::new(over))?;
        let lost = |_: &Context<FaultyPlatform>, _: &Arrival<'_>| Receive::Consumed;
        member.context.set_dispatch(LOST, Box::new(lost))?;
        Ok(member)
    }

    pub fn wrong(&self, what: String) {
        let what = format!("{:?}: {what}", self.id);
        self.seen.lock().wrong.push(what);
    }

    /// What is in this endpoint's region now.
    pub fn memory(&self) -> Vec<u8> {
        contents(self.region.range())
    }

    fn buffer(&self, data: &[u8]) -> Result<BufferRange<Buffer>, Error> {
        BufferRange::copied(self.context.platform(), data)
    }

    fn endpoint(&self, id: EndpointId) -> Result<Endpoint, Error> {
        self.context
            .endpoint(TaskId(id.task as u32), id.context as u8)
    }

    /// The rank of an endpoint's task, by the program.
    fn rank(&self, comm: CommId, of: EndpointId) -> Rank {
        let tasks = comm.tasks(self.program.tasks());
        let place = tasks.iter().position(|&task| task == of.task);
        Rank(place.expect("steps stay within groups") as u32)
    }

    /// The message of a step has come.
    fn arrived(
        self: &Arc<Self>,
        context: &Context<FaultyPlatform>,
        arrival: &Arrival<'_>,
    ) -> Receive<FaultyPlatform> {
        let index = arrival.tag as usize;
        let origin = EndpointId {
            client: self.id.client,
            task: arrival.origin.task().0 as usize,
            context: arrival.origin.context_offset().into(),
        };
        let expected = match self.program.steps[index].action {
            Action::Immediate { header, length } | Action::Send { header, length } => {
                Some((bytes_of(index, header), length))
            }
            _ => None,
        };
        if expected != Some((arrival.header.to_vec(), arrival.length)) {
            self.wrong(format!("step {index} came with another header or length"));
        }
        let mut seen = self.seen.lock();
        seen.dispatched.entry(origin).or_default().push(index);
        drop(seen);
        if let Some(data) = arrival.immediate {
            self.take(index, data);
            return Receive::Consumed;
        }
        let into = BufferRange::zeroed(context.platform(), arrival.length);
        let into = into.expect("there is memory");
        let (this, copy) = (Arc::clone(self), into.clone());
        Receive::Into {
            into,
            done: Some(Box::new(move |_, result| {
                result.expect("it fits");
                this.take(index, &contents(&copy));
            })),
        }
    }

    fn take(&self, index: usize, data: &[u8]) {
        if data != bytes_of(index, data.len()) {
            self.wrong(format!("step {index} came with other data"));
        }
        if !self.seen.lock().received.insert(index) {
            self.wrong(format!("step {index} came twice"));
        }
    }

    /// Counts a callback that has to come.
    fn done(self: &Arc<Self>, index: usize) -> DoneFn<FaultyPlatform> {
        self.left.fetch_add(1);
        let this = Arc::clone(self);
        Box::new(move |_, result| {
            if let Err(error) = result {
                this.wrong(format!("step {index} failed: {error}"));
            }
            *this.seen.lock().done.entry(index).or_default() += 1;
            this.left.store(this.left.load().saturating_sub(1));
        })
    }

    /// Posts the receive of matched message `index`.
    fn receive(self: &Arc<Self>, index: usize) -> Result<(), Error> {
        let step = self.program.steps[index];
        let Action::Match { comm, tag, .. } = step.action else {
            return Ok(());
        };
        let source = (!comm.any_rank).then(|| self.rank(comm, step.from));
        let tag = (!comm.any_tag).then_some(tag);
        let mut seen = self.seen.lock();
        let place = seen.posted.len();
        seen.posted.push(Posted {
            comm,
            source,
            tag,
            got: None,
        });
        drop(seen);
        self.left.fetch_add(1);
        let into = self.buffer(&[0; LONGEST_MATCH])?;
        let (this, copy) = (Arc::clone(self), into.clone());
        let done = move |_: &Context<FaultyPlatform>, result: Result<Received, Error>| {
            this.left.fetch_sub(1);
            match result {
                Ok(received) => this.matched(place, received, &contents(&copy)),
                Err(error) => this.wrong(format!("a receive failed: {error}")),
            }
        };
        self.module.receive(
            source,
            tag,
            &self.communicators[&comm],
            into,
            Some(Box::new(done)),
        )?;
        Ok(())
    }

    /// Receive number `place` has got a message.
    fn matched(&self, place: usize, received: Received, data: &[u8]) {
        let mut number = [0; 4];
        number.copy_from_slice(&data[..4]);
        let index = u32::from_le_bytes(number) as usize;
        let sent = match self.program.steps.get(index) {
            Some(&Step {
                from,
                to,
                action: Action::Match {
                    comm, tag, length, ..
                },
            }) if to == self.id => Some(Received {
                source: self.rank(comm, from),
                tag,
                comm: comm.number(),
                length,
            }),
            _ => None,
        };
        if sent != Some(received) || data[..received.length] != bytes_of(index, received.length) {
            self.wrong(format!("{received:?} is not what step {index} sent"));
        }
        self.seen.lock().posted[place].got = Some(index);
    }

    /// Carries out this endpoint's steps.
    pub fn run(self: &Arc<Self>, all: &Members) -> Result<(), Error> {
        let program = Arc::clone(&self.program);
        let steps = || program.steps.iter().enumerate();
        let receives = |early| {
            steps()
                .filter(move |(_, step)| {
                    step.to == self.id
                        && matches!(step.action, Action::Match { early: e, .. } if e == early)
                })
                .map(|(index, _)| index)
        };
        for index in receives(true) {
            self.receive(index)?;
        }
        for (index, step) in steps().filter(|(_, step)| step.from == self.id) {
            self.step(index, *step, all)?;
            if index % 3 == 0 {
                self.context.advance(1)?;
            }
        }
        for index in receives(false) {
            self.receive(index)?;
        }
        self.context.advance_until(|| self.left.load() == 0)?;
        // Nobody stops before the others have got what they wait for.
        let mut peers = 0;
        for peer in program.endpoints(self.id.client) {
            let over = SendImmediate::new(self.endpoint(peer)?, OVER);
            self.context.send_immediate(&over)?;
            peers += 1;
        }
        let over = || self.seen.lock().over == peers;
        self.context
            .advance_until(|| over() && self.context.is_at_rest())
    }

    fn step(self: &Arc<Self>, index: usize, step: Step, all: &Members) -> Result<(), Error> {
        let context = &self.context;
        let to = self.endpoint(step.to)?;
        let target = &all[&step.to];
        let offset = self.reference.places[index] as u64;
        match step.action {
            Action::Immediate { header, length } => context.send_immediate(&SendImmediate {
                tag: index as u32,
                header: &bytes_of(index, header),
                data: &bytes_of(index, length),
                ..SendImmediate::new(to, DATA)
            }),
            Action::Send { header, length } => context.send(SendMessage {
                tag: index as u32,
                header: bytes_of(index, header),
                remote_done: Some(self.done(index)),
                ..SendMessage::new(to, DATA, self.buffer(&bytes_of(index, length))?)
            }),
            Action::Put { length, region } => {
                let data = self.buffer(&bytes_of(index, length))?;
                let remote_done = Some(self.done(index));
                if region {
                    return context.rput(Rput {
                        destination: to,
                        data,
                        region: target.region.remote(),
                        offset,
                        notify: PutNotify::None,
                        local_done: None,
                        remote_done,
                    });
                }
                context.put(Put {
                    destination: to,
                    data,
                    remote: target.address(offset),
                    notify: PutNotify::None,
                    local_done: None,
                    remote_done,
                })
            }
            Action::Get { length, region } => {
                let into = self.buffer(&vec![0; length])?;
                self.gets.lock().insert(index, into.clone());
                let done = Some(self.done(index));
                if region {
                    return context.rget(Rget {
                        source: to,
                        region: target.region.remote(),
                        offset,
                        into,
                        done,
                    });
                }
                context.get(Get {
                    source: to,
                    remote: target.address(offset),
                    into,
                    routing: gyre_driver::Routing::Fixed,
                    done,
                })
            }
            Action::Change(change) => self.change(index, to, &change, target),
            Action::Acknowledge => {
                let cookie = context.expect_ack(to, self.done(index))?;
                context.send_immediate(&SendImmediate {
                    tag: cookie,
                    ..SendImmediate::new(to, ACKNOWLEDGE)
                })
            }
            Action::Match {
                comm, tag, length, ..
            } => {
                let data = self.buffer(&bytes_of(index, length))?;
                let done = Some(self.done(index));
                let to = self.rank(comm, step.to);
                let comm = &self.communicators[&comm];
                self.module.send(to, tag, comm, data, done).map(drop)
            }
            Action::Fence => context.fence(Fence {
                destination: to,
                done: Some(self.fenced(index, Some(step.to), all)),
            }),
            Action::FenceAll => context.fence_all(Some(self.fenced(index, None, all))),
        }
    }

    /// Byte `offset` of the region, as peers name it without its own slot.
    fn address(&self, offset: u64) -> RemoteAddress {
        let first = self.region.range().remote_address().expect("has bytes");
        RemoteAddress {
            offset: first.offset + offset,
            ..first
        }
    }

    fn change(
        self: &Arc<Self>,
        index: usize,
        destination: Endpoint,
        change: &Change,
        target: &Self,
    ) -> Result<(), Error> {
        let result = match change.fetch {
            true => Some(self.buffer(&[0; 8][..change.width.bytes()])?),
            false => None,
        };
        let (this, before) = (Arc::clone(self), result.clone());
        let count = self.done(index);
        self.context.rmw(Rmw {
            destination,
            region: target.region.remote(),
            offset: change.offset(),
            op: change.op,
            width: change.width,
            value: change.value,
            test: change.test,
            result,
            done: Some(Box::new(move |context, result| {
                if let Some(before) = before {
                    let mut word = contents(&before);
                    word.resize(8, 0);
                    let word = word.try_into().expect("8 bytes");
                    let mut seen = this.seen.lock();
                    seen.fetched.insert(index, u64::from_le_bytes(word));
                }
                count(context, result);
            })),
        })
    }

    /// The callback of fence `index`: everything that this endpoint started to `to`, or to anybody, before it has
    /// completed.
    fn fenced(
        self: &Arc<Self>,
        index: usize,
        to: Option<EndpointId>,
        all: &Members,
    ) -> DoneFn<FaultyPlatform> {
        let count = self.done(index);
        let (this, all) = (Arc::clone(self), all.clone());
        Box::new(move |context, result| {
            for (earlier, step) in this.program.steps[..index].iter().enumerate() {
                if step.from == this.id && to.is_none_or(|to| to == step.to) {
                    this.check_fenced(index, earlier, &all[&step.to]);
                }
            }
            count(context, result);
        })
    }

    /// Whether step `earlier` has completed, as fence `index` promises.
    fn check_fenced(&self, index: usize, earlier: usize, target: &Self) {
        let done = || self.seen.lock().done.contains_key(&earlier);
        let completed = match self.program.steps[earlier].action {
            Action::Immediate { .. } | Action::Send { .. } => {
                target.seen.lock().received.contains(&earlier)
            }
            Action::Get { length, .. } => {
                let got = self.gets.lock()[&earlier].clone();
                contents(&got) == bytes_of(earlier, length) && done()
            }
            // The target's memory is not this endpoint's to look at.
            Action::Put { .. } | Action::Change(_) => done(),
            Action::Acknowledge | Action::Match { .. } | Action::Fence | Action::FenceAll => true,
        };
        if !completed {
            self.wrong(format!("fence {index} returns before step {earlier}"));
        }
    }
}
