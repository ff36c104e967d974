// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dependency graph: points in the time of threads and of packets, and the dependencies between them.

mod hardware;
mod software;

use std::collections::{BTreeMap, BTreeSet};

use gyre_timeline::{Messages, Recording, Why};

use crate::lanes::{self, Lane, Noted, Step};
use crate::segment::{Kind, Place};
use crate::streams::Streams;

/// Work between two points, and the cause that would change its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// A step of a thread.
    Step(Step),
    /// Hardware.
    Hardware {
        job: Job,
        /// Links of its way.
        links: u16,
    },
    /// One thread has let another one go on, or has left work to it.
    Thread,
}

// There are millions.
const _: () = assert!(size_of::<Work>() == 8);

/// Work of the hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    /// The write that tells the DMA engine of a descriptor.
    RegisterWrite,
    /// The DMA engine is told of a descriptor, until it samples it in memory.
    Fetch,
    /// The rest of the descriptor, and the payload.
    Payload,
    Inject,
    /// From the first flit on a link to an arrival.
    Links,
    /// Packets that stay on their node.
    Copy,
    /// A request has arrived, until its data is fetched.
    Serve,
    /// From the arrival of a packet to a thread that knows of it.
    Reception,
    /// The collective network, from the last member to a thread that knows the result.
    Tree,
}

impl Job {
    /// The same as work that uses no link.
    pub const fn work(self) -> Work {
        Work::Hardware {
            job: self,
            links: 0,
        }
    }

    const fn kind(self) -> Kind {
        match self {
            Self::RegisterWrite => Kind::Driver,
            Self::Inject | Self::Links | Self::Tree => Kind::Network,
            Self::Fetch | Self::Payload | Self::Copy | Self::Serve | Self::Reception => {
                Kind::Memory
            }
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::RegisterWrite => "register write",
            Self::Fetch => "fetch",
            Self::Payload => "descriptor and payload",
            Self::Inject => "inject",
            Self::Links => "links",
            Self::Copy => "DMA copy within the node",
            Self::Serve => "serve request",
            Self::Reception => "memory write and wake-up",
            Self::Tree => "collective network",
        }
    }

    /// The reads of memory that follow each other in it, by halves: memory is sampled half way.
    pub const fn half_reads(self) -> u64 {
        match self {
            Self::Fetch => 1,
            Self::Payload => 3,
            _ => 0,
        }
    }

    /// The same of writes.
    pub const fn writes(self) -> u64 {
        match self {
            Self::Serve | Self::Reception => 1,
            _ => 0,
        }
    }
}

/// Dependency: a point comes at least so long after another one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    /// The other point.
    pub from: u32,
    /// Picoseconds.
    pub ps: u64,
    /// Work done in that time.
    pub work: Work,
    /// Packets that it belongs to, by place in [`Messages::packets`].
    pub stream: Option<u32>,
    /// A thread has looked for it since this point; it begins with that so many picoseconds after the other point at the
    /// earliest. None of what it has not looked for.
    pub looked: Option<(u32, u64)>,
}

/// Number of a dependency, as [`Graph::edge`] takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EdgeId(u32);

/// Mark of the number of a step: the rest is the point that it ends at.
const STEP: u32 = 1 << 31;

/// A dependency as it is kept: there are millions. Steps of threads follow from those of their lanes.
#[derive(Debug, Clone, Copy)]
struct Kept {
    ps: u64,
    work: Work,
    from: u32,
    to: u32,
    /// [`NONE`] if it belongs to none.
    stream: u32,
}

const NONE: u32 = u32::MAX;

/// The dependencies of a recording.
#[derive(Debug)]
pub(crate) struct Graph<'a> {
    pub recording: &'a Recording,
    pub messages: &'a Messages,
    pub lanes: Vec<Lane>,
    pub streams: Streams,
    /// By point: when it was. The points of threads come first.
    times: Vec<u64>,
    /// Of each other point: the nodes that it is between.
    nodes: Vec<(u32, u32)>,
    /// By thread: since when it has looked for what it has dealt with then.
    pub looked: Vec<BTreeSet<usize>>,
    /// By thread: its first point; and the first point of no thread.
    base: Vec<u32>,
    /// The dependencies that are no steps, in the order in which they were found.
    edges: Vec<Kept>,
    /// Of those that a thread has looked for, by their numbers: since which point, and how long they take at least.
    looks: Vec<(u32, u32, u64)>,
    /// By point: where its dependencies begin in the list of their numbers.
    first: Vec<u32>,
    into: Vec<u32>,
    /// By point: its place in an order in which none comes before what it waits for.
    place: Vec<u32>,
    /// By message: its packets, by place in [`Messages::packets`].
    of_message: Vec<Vec<usize>>,
    /// By packets: the points of their arrivals.
    arrivals: Vec<Vec<u32>>,
}

impl<'a> Graph<'a> {
    pub fn of(recording: &'a Recording, messages: &'a Messages) -> Self {
        let lanes = lanes::of(recording, messages);
        let streams = Streams::of(recording, messages);
        let mut graph = Self {
            recording,
            messages,
            base: Vec::new(),
            times: Vec::new(),
            nodes: Vec::new(),
            edges: Vec::new(),
            looks: Vec::new(),
            first: Vec::new(),
            into: Vec::new(),
            place: Vec::new(),
            of_message: vec![Vec::new(); messages.all().len()],
            arrivals: vec![Vec::new(); messages.packets().len()],
            looked: vec![BTreeSet::new(); lanes.len()],
            lanes,
            streams,
        };
        for (stream, packets) in messages.packets().iter().enumerate() {
            for &message in &packets.messages {
                graph.of_message[message].push(stream);
            }
        }
        graph.threads();
        let mut begins = graph.packets();
        graph.answers(&mut begins);
        graph.software();
        graph.index();
        graph.sort();
        graph
    }

    /// The point of a thread of this number.
    pub fn point(&self, lane: usize, number: usize) -> u32 {
        self.base[lane] + number as u32
    }

    /// How many points there are.
    pub fn points(&self) -> usize {
        self.times.len()
    }

    /// When a point was.
    pub fn ps(&self, point: u32) -> u64 {
        self.times[point as usize]
    }

    /// Where it was.
    pub fn place(&self, point: u32) -> Place {
        match self.nodes_of(point) {
            Some((from, to)) => Place::Nodes { from, to },
            None => Place::Thread(self.lane_of(point)),
        }
    }

    /// The nodes that a point is between, if it is of no thread.
    fn nodes_of(&self, point: u32) -> Option<(u32, u32)> {
        let hardware = point.checked_sub(*self.base.last()?)?;
        self.nodes.get(hardware as usize).copied()
    }

    /// The thread of a point of one.
    fn lane_of(&self, point: u32) -> usize {
        // A thread has a point at least.
        self.base.partition_point(|&first| first <= point) - 1
    }

    /// The dependency of a point that is a step of a thread, if it has one.
    fn step_to(&self, point: u32) -> Option<EdgeId> {
        let of_thread = self.base.last().is_some_and(|&end| point < end);
        let step = of_thread && self.base[self.lane_of(point)] != point;
        step.then_some(EdgeId(STEP | point))
    }

    /// Numbers of the dependencies of a point that are no steps.
    fn others(&self, point: u32) -> &[u32] {
        let point = point as usize;
        &self.into[self.first[point] as usize..self.first[point + 1] as usize]
    }

    /// The dependency of a number.
    pub fn edge(&self, id: EdgeId) -> Edge {
        let EdgeId(number) = id;
        if number & STEP != 0 {
            let point = number & !STEP;
            let lane = self.lane_of(point);
            let step = self.lanes[lane].steps[(point - self.base[lane]) as usize - 1];
            // A wait takes no time of its own.
            let ps = match step {
                Step::Wait { .. } => 0,
                _ => self.ps(point) - self.ps(point - 1),
            };
            return Edge {
                from: point - 1,
                ps,
                work: Work::Step(step),
                stream: None,
                looked: None,
            };
        }
        let kept = &self.edges[number as usize];
        let look = self.looks.binary_search_by_key(&number, |look| look.0);
        Edge {
            from: kept.from,
            ps: kept.ps,
            work: kept.work,
            stream: (kept.stream != NONE).then_some(kept.stream),
            looked: look.ok().map(|found| {
                let (_, since, least) = self.looks[found];
                (since, least)
            }),
        }
    }

    /// Dependencies of a point, with their numbers.
    pub fn dependencies(&self, point: u32) -> impl Iterator<Item = (EdgeId, Edge)> {
        let place = self.place[point as usize];
        let others = self.others(point).iter().map(|&number| EdgeId(number));
        let ids = self.step_to(point).into_iter().chain(others);
        let edges = ids.map(|id| (id, self.edge(id)));
        edges.filter(move |(_, edge)| self.place[edge.from as usize] < place)
    }

    /// The dependency that has decided when a point was: the one that ends last; of equals, what a thread was looking for,
    /// not that it has looked.
    pub fn decisive(&self, point: u32) -> Option<Edge> {
        let edges = self.dependencies(point).map(|(_, edge)| edge);
        edges.max_by_key(|edge| {
            let ends_ps = self.ps(edge.from) + edge.ps;
            (ends_ps, !matches!(edge.work, Work::Step(_)))
        })
    }

    /// By task: the point at which its last operation ended.
    pub fn ends(&self) -> BTreeMap<u32, u32> {
        let mut ends: BTreeMap<u32, u32> = BTreeMap::new();
        for (index, lane) in self.lanes.iter().enumerate() {
            let mut notes = lane.notes.iter().rev();
            let last = notes.find(|(_, noted)| *noted == Noted::Ended);
            let Some((task, &(number, _))) = lane.task.zip(last) else {
                continue;
            };
            let point = self.point(index, number as usize);
            let end = ends.entry(task).or_insert(point);
            if self.ps(*end) < self.ps(point) {
                *end = point;
            }
        }
        ends
    }

    /// All packets of the message of a serial, by place in [`Messages::packets`].
    pub fn streams_of(&self, serial: u64) -> &[usize] {
        &self.of_message[serial as usize - 1]
    }

    /// The points of the arrivals of packets.
    pub fn arrivals(&self, stream: usize) -> &[u32] {
        &self.arrivals[stream]
    }

    /// Kind of work, and its name.
    pub fn describe(&self, work: &Work) -> (Kind, &'static str) {
        match work {
            Work::Step(step) => self.describe_step(step),
            Work::Hardware { job, .. } => (job.kind(), job.name()),
            Work::Thread => (Kind::Driver, "another thread"),
        }
    }

    /// The same of a step of a thread.
    pub fn describe_step(&self, step: &Step) -> (Kind, &'static str) {
        match *step {
            Step::Spent {
                operation,
                unexpected,
            } => {
                let kind = match unexpected {
                    true => Kind::Unexpected,
                    false => Kind::Driver,
                };
                let name = self.recording.operations.get(usize::from(operation));
                (kind, name.copied().unwrap_or("operation"))
            }
            Step::Compute => (Kind::Computation, "compute"),
            Step::Register => (Kind::Driver, "register access"),
            Step::CacheLines => (Kind::Memory, "cache lines"),
            Step::Wait {
                why: Why::WakeUp,
                by: None,
            } => (Kind::Other, "sleep until a time"),
            Step::Wait { why, .. } => (Kind::Other, why.name()),
        }
    }

    /// The message that packets belong to, by its serial.
    pub fn serial(&self, stream: u32) -> Option<u64> {
        let packets = &self.messages.packets()[stream as usize];
        let message = packets.messages.first()?;
        Some(self.messages.all()[*message].serial)
    }

    /// A point of no thread.
    fn add(&mut self, ps: u64, nodes: (u32, u32)) -> u32 {
        self.times.push(ps);
        self.nodes.push(nodes);
        self.times.len() as u32 - 1
    }

    /// Adds a dependency of `to` on `from` that takes all the time between them or, given less, at least that. Says whether
    /// there is one.
    fn depend(
        &mut self,
        to: u32,
        from: u32,
        work: Work,
        stream: Option<usize>,
        least: Option<u64>,
    ) -> bool {
        // Threads are ahead of each other by what they charge.
        let Some(between) = self.ps(to).checked_sub(self.ps(from)) else {
            return false;
        };
        self.edges.push(Kept {
            ps: least.map_or(between, |least| least.min(between)),
            work,
            from,
            to,
            stream: stream.map_or(NONE, |stream| stream as u32),
        });
        true
    }

    /// The same of a thread that has looked for it since a point, and begins with that so long after `from` at the earliest.
    fn look(
        &mut self,
        (since, ps): (u32, u64),
        (to, from): (u32, u32),
        (work, stream): (Work, Option<usize>),
        least: Option<u64>,
    ) {
        if self.depend(to, from, work, stream, least) {
            self.looks.push((self.edges.len() as u32 - 1, since, ps));
        }
    }

    /// The points of threads.
    fn threads(&mut self) {
        for lane in &self.lanes {
            self.base.push(self.times.len() as u32);
            self.times.extend(&lane.points);
        }
        self.base.push(self.times.len() as u32);
        // A wait that another thread has ended.
        let number: BTreeMap<(u32, u32), usize> = (0..)
            .zip(&self.lanes)
            .map(|(index, lane)| ((lane.node, lane.number), index))
            .collect();
        for index in 0..self.lanes.len() {
            for step in 0..self.lanes[index].steps.len() {
                let lane = &self.lanes[index];
                let Step::Wait { by: Some(by), .. } = lane.steps[step] else {
                    continue;
                };
                let Some(&other) = number.get(&(lane.node, by.number())) else {
                    continue;
                };
                let from = self.point(other, self.lanes[other].point_at(lane.points[step + 1]));
                let to = self.point(index, step + 1);
                self.depend(to, from, Work::Thread, None, None);
            }
        }
    }

    /// Lists the dependencies of each point, in the order in which they were found.
    fn index(&mut self) {
        let mut first = vec![0; self.points() + 1];
        for edge in &self.edges {
            first[edge.to as usize + 1] += 1;
        }
        for point in 0..self.points() {
            first[point + 1] += first[point];
        }
        let mut next = first.clone();
        let mut into = vec![0; self.edges.len()];
        for (number, edge) in (0..).zip(&self.edges) {
            let place = &mut next[edge.to as usize];
            into[*place as usize] = number;
            *place += 1;
        }
        (self.first, self.into) = (first, into);
    }

    /// Puts the points in order: by time, and of equal times each after those that it waits for.
    fn sort(&mut self) {
        let mut by_time: Vec<u32> = (0..self.points() as u32).collect();
        by_time.sort_by_key(|&point| self.ps(point));
        let mut done = vec![false; self.points()];
        let mut place = vec![0; self.points()];
        let mut next = 0;
        for point in by_time {
            self.visit(point, &mut done, |point| {
                place[point as usize] = next;
                next += 1;
            });
        }
        self.place = place;
    }

    /// Gives a point after those of its time that it waits for.
    fn visit(&self, point: u32, done: &mut [bool], mut give: impl FnMut(u32)) {
        if std::mem::replace(&mut done[point as usize], true) {
            return;
        }
        // Each with the next of its dependencies to look at: first its step.
        let mut stack = vec![(point, 0)];
        while let Some((point, edge)) = stack.pop() {
            let from = match edge {
                0 => Some(self.step_to(point).map(|_| point - 1)),
                _ => {
                    let number = self.others(point).get(edge - 1);
                    number.map(|&number| Some(self.edges[number as usize].from))
                }
            };
            match from {
                Some(from) => {
                    stack.push((point, edge + 1));
                    if let Some(from) = from
                        && !std::mem::replace(&mut done[from as usize], true)
                    {
                        stack.push((from, 0));
                    }
                }
                None => give(point),
            }
        }
    }
}
