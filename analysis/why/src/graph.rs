// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dependency graph: points in the time of threads and of packets, and the dependencies between them.

mod hardware;
mod software;

use std::collections::{BTreeMap, BTreeSet};

use gyre_timeline::{Messages, Recording, What};

use crate::lanes::{self, Lane, Step};
use crate::segment::{Kind, Place};
use crate::streams::Streams;

/// Work between two points, and the cause that would change its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// A step of a thread.
    Step(Step),
    /// Hardware: the accesses to memory that follow each other in it, and the links of its way. Reads count by halves:
    /// memory is sampled half way.
    Hardware {
        kind: Kind,
        what: &'static str,
        half_reads: u32,
        writes: u32,
        links: u32,
    },
    /// One thread has let another one go on, or has left work to it.
    Thread,
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

/// A point in the time of a run.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    /// When it was.
    pub ps: u64,
    /// Where.
    pub place: Place,
    /// Dependencies: the last of them decides the point's time.
    pub edges: Vec<Edge>,
}

/// The dependencies of a recording.
#[derive(Debug)]
pub(crate) struct Graph<'a> {
    pub recording: &'a Recording,
    pub messages: &'a Messages,
    pub lanes: Vec<Lane>,
    pub streams: Streams,
    pub points: Vec<Point>,
    /// By thread: since when it has looked for what it has dealt with then.
    pub looked: Vec<BTreeSet<usize>>,
    /// By thread: its first point.
    base: Vec<u32>,
    /// The points in an order in which none comes before what it waits for.
    order: Vec<u32>,
    /// By point: its place in that order.
    place: Vec<u32>,
    /// By message: its packets, by place in [`Messages::packets`].
    of_message: Vec<Vec<usize>>,
    /// By packets: the points of their arrivals.
    arrivals: Vec<Vec<u32>>,
}

impl<'a> Graph<'a> {
    pub fn of(recording: &'a Recording, messages: &'a Messages) -> Self {
        let lanes = lanes::of(recording);
        let streams = Streams::of(recording, messages);
        let mut graph = Self {
            recording,
            messages,
            base: Vec::new(),
            points: Vec::new(),
            order: Vec::new(),
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
        graph.sort();
        graph
    }

    /// The point of a thread of this number.
    pub fn point(&self, lane: usize, number: usize) -> u32 {
        self.base[lane] + number as u32
    }

    /// Dependencies of a point.
    pub fn dependencies(&self, point: u32) -> impl Iterator<Item = &Edge> {
        let place = self.place[point as usize];
        let edges = self.points[point as usize].edges.iter();
        edges.filter(move |edge| self.place[edge.from as usize] < place)
    }

    /// The dependency that has decided when a point was: the one that ends last; of equals, what a thread was looking for,
    /// not that it has looked.
    pub fn decisive(&self, point: u32) -> Option<&Edge> {
        self.dependencies(point).max_by_key(|edge| {
            let from_ps = self.points[edge.from as usize].ps;
            (from_ps + edge.ps, !matches!(edge.work, Work::Step(_)))
        })
    }

    /// By task: the point at which its last operation ended.
    pub fn ends(&self) -> BTreeMap<u32, u32> {
        let mut ends: BTreeMap<u32, u32> = BTreeMap::new();
        for (index, lane) in self.lanes.iter().enumerate() {
            let last = lane.notes.iter().rev().find(|&&(_, event)| {
                matches!(self.recording.events()[event].what, What::Operation { .. })
            });
            let Some((task, &(number, _))) = lane.task.zip(last) else {
                continue;
            };
            let point = self.point(index, number);
            let end = ends.entry(task).or_insert(point);
            if self.points[*end as usize].ps < self.points[point as usize].ps {
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
            &Work::Hardware { kind, what, .. } => (kind, what),
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
            Step::Wait { why, .. } => (Kind::Other, why.name()),
        }
    }

    /// The message that packets belong to, by its serial.
    pub fn serial(&self, stream: u32) -> Option<u64> {
        let packets = &self.messages.packets()[stream as usize];
        let message = packets.messages.first()?;
        Some(self.messages.all()[*message].serial)
    }

    fn add(&mut self, ps: u64, place: Place) -> u32 {
        self.points.push(Point {
            ps,
            place,
            edges: Vec::new(),
        });
        self.points.len() as u32 - 1
    }

    /// Adds a dependency of `to` on `from` that takes all the time between them or, given less, at least that.
    fn depend(
        &mut self,
        to: u32,
        from: u32,
        work: Work,
        stream: Option<usize>,
        least: Option<u64>,
    ) {
        let (from_ps, to_ps) = (self.points[from as usize].ps, self.points[to as usize].ps);
        // Threads are ahead of each other by what they charge.
        let Some(between) = to_ps.checked_sub(from_ps) else {
            return;
        };
        let edges = &mut self.points[to as usize].edges;
        // Most points have one or two, of which there is room for no more: there are millions of points.
        edges.reserve_exact(1);
        edges.push(Edge {
            from,
            ps: least.map_or(between, |least| least.min(between)),
            work,
            stream: stream.map(|stream| stream as u32),
            looked: None,
        });
    }

    /// The same of a thread that has looked for it since a point, and begins with that so long after `from` at the earliest.
    fn look(
        &mut self,
        looked: (u32, u64),
        (to, from): (u32, u32),
        (work, stream): (Work, Option<usize>),
        least: Option<u64>,
    ) {
        let edges = self.points[to as usize].edges.len();
        self.depend(to, from, work, stream, least);
        for edge in &mut self.points[to as usize].edges[edges..] {
            edge.looked = Some(looked);
        }
    }

    /// The points of threads. A wait takes no time of its own.
    fn threads(&mut self) {
        for index in 0..self.lanes.len() {
            self.base.push(self.points.len() as u32);
            let lane = self.lanes[index].clone();
            for (number, &ps) in lane.points.iter().enumerate() {
                let point = self.add(ps, Place::Thread(index));
                if number > 0 {
                    let step = lane.steps[number - 1];
                    let least = matches!(step, Step::Wait { .. }).then_some(0);
                    self.depend(point, point - 1, Work::Step(step), None, least);
                }
            }
        }
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
                let Some(&other) = number.get(&(lane.node, by)) else {
                    continue;
                };
                let from = self.point(other, self.lanes[other].point_at(lane.points[step + 1]));
                let to = self.point(index, step + 1);
                self.depend(to, from, Work::Thread, None, None);
            }
        }
    }

    /// Puts the points in order: by time, and of equal times each after those that it waits for.
    fn sort(&mut self) {
        let mut by_time: Vec<u32> = (0..self.points.len() as u32).collect();
        by_time.sort_by_key(|&point| self.points[point as usize].ps);
        let mut done = vec![false; self.points.len()];
        let mut order = Vec::with_capacity(by_time.len());
        for point in by_time {
            self.visit(point, &mut done, &mut order);
        }
        self.place = vec![0; order.len()];
        for (place, &point) in (0..).zip(&order) {
            self.place[point as usize] = place;
        }
        self.order = order;
    }

    /// Adds a point after those of its time that it waits for.
    fn visit(&self, point: u32, done: &mut [bool], sorted: &mut Vec<u32>) {
        // Each with the next of its dependencies to look at.
        let mut stack = vec![(point, 0)];
        if std::mem::replace(&mut done[point as usize], true) {
            return;
        }
        while let Some((point, edge)) = stack.pop() {
            match self.points[point as usize].edges.get(edge) {
                Some(edge_to) => {
                    stack.push((point, edge + 1));
                    if !std::mem::replace(&mut done[edge_to.from as usize], true) {
                        stack.push((edge_to.from, 0));
                    }
                }
                None => sorted.push(point),
            }
        }
    }
}

/// Name of the time from the first flit on a link to an arrival.
pub(crate) const LINKS: &str = "links";
