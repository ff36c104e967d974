// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run once more, from its dependencies alone, some of which take another time.
//!
//! Threads that compute do what they did, in the same order. A thread that does nothing but advance contexts deals with what
//! comes in the order in which it comes: that order may change.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use gyre_timeline::Why;

use crate::graph::{Edge, EdgeId, Graph, Work};
use crate::lanes::{Lane, Step};

/// No unit, no link, no entry.
const NONE: u32 = u32::MAX;

/// Part of a thread from the point that resumes it to its next dependency.
#[derive(Debug, Clone)]
struct Unit {
    lane: u32,
    /// Point at which it begins; one of its own unless the unit before it ends there.
    first: u32,
    owns_first: bool,
    /// The point that it ends with.
    last: u32,
    /// Its first step: to the point after the first.
    entry: Option<EdgeId>,
}

/// Successor of a point, in four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Next(u32);

impl Next {
    const UNIT: u32 = 1 << 31;

    const fn point(point: u32) -> Self {
        Self(point)
    }

    const fn unit(unit: u32) -> Self {
        Self(Self::UNIT | unit)
    }

    /// The unit, or else the point.
    const fn either(self) -> Result<u32, u32> {
        match self.0 & Self::UNIT {
            0 => Err(self.0),
            _ => Ok(self.0 & !Self::UNIT),
        }
    }
}

/// Something that waits for a point, and how: by a dependency or, without one, for no time.
#[derive(Debug, Clone, Copy)]
struct Link {
    next: Next,
    edge: Option<EdgeId>,
    /// The next link of the point.
    other: u32,
}

/// How the points of a run depend on each other if threads may do things in another order.
#[derive(Debug)]
pub(crate) struct Replay<'a> {
    graph: &'a Graph<'a>,
    /// In the order of their first points.
    units: Vec<Unit>,
    /// By point: the unit that it is in, unless it begins it.
    within: Vec<u32>,
    /// By point: the first of the links to what waits for it.
    after: Vec<u32>,
    links: Vec<Link>,
    /// By point: how many dependencies it waits for.
    waits: Vec<u32>,
    /// By unit: the same.
    releases: Vec<u32>,
    /// Points that begin units, and are in no other.
    begins: Vec<bool>,
}

impl<'a> Replay<'a> {
    pub fn of(graph: &'a Graph<'a>) -> Self {
        let points = graph.points();
        let mut replay = Self {
            graph,
            units: Vec::new(),
            within: vec![NONE; points],
            after: vec![NONE; points],
            links: Vec::new(),
            waits: vec![0; points],
            releases: Vec::new(),
            begins: vec![false; points],
        };
        for (index, lane) in graph.lanes.iter().enumerate() {
            if !lane.steps.contains(&Step::Compute) {
                replay.divide(index, lane);
            }
        }
        for point in 0..points as u32 {
            for (id, edge) in graph.dependencies(point) {
                replay.connect(point, id, &edge);
            }
        }
        replay.follow();
        replay
    }

    /// The unit that begins at a point.
    fn begun(&self, point: u32) -> Option<u32> {
        let found = self.units.binary_search_by_key(&point, |unit| unit.first);
        found.ok().map(|unit| unit as u32)
    }

    /// Divides what a thread does into units: it waits, or looks for something, before each.
    fn divide(&mut self, index: usize, lane: &Lane) {
        let waits = |step: &Step| {
            matches!(
                step,
                Step::Wait {
                    why: Why::WakeUp | Why::News,
                    ..
                }
            )
        };
        let mut firsts = BTreeSet::from([0]);
        let woken = lane
            .steps
            .iter()
            .enumerate()
            .filter(|(_, step)| waits(step));
        firsts.extend(woken.map(|(number, _)| number + 1));
        firsts.extend(self.graph.looked[index].iter().copied());
        let firsts: Vec<usize> = firsts.into_iter().collect();
        for (place, &first) in firsts.iter().enumerate() {
            let last = match firsts.get(place + 1) {
                // The wait for the next one is no part of it.
                Some(&next) if waits(&lane.steps[next - 1]) => next - 1,
                Some(&next) => next,
                None => lane.points.len() - 1,
            };
            let unit = self.units.len() as u32;
            let point = |number| self.graph.point(index, number);
            for number in first + 1..=last {
                self.within[point(number) as usize] = unit;
            }
            let owns_first = self.within[point(first) as usize] == NONE;
            self.begins[point(first) as usize] = owns_first;
            self.units.push(Unit {
                lane: index as u32,
                first: point(first),
                owns_first,
                last: point(last),
                entry: None,
            });
            self.releases.push(0);
        }
    }

    /// Enters a dependency of a point.
    fn connect(&mut self, point: u32, id: EdgeId, edge: &Edge) {
        if let Some((since, _)) = edge.looked
            && let Some(unit) = self.begun(since)
        {
            return self.release(unit, edge.from, Some(id));
        }
        let own_step = matches!(edge.work, Work::Step(_));
        if self.begins[point as usize] {
            // Before it the thread has waited: as long as it did only if nobody knows what for.
            if let (false, Some(unit)) = (own_step && edge.ps == 0, self.begun(point)) {
                self.release(unit, edge.from, Some(id));
            }
            return;
        }
        self.waits[point as usize] += 1;
        match self.units.get_mut(self.within[point as usize] as usize) {
            Some(unit) if own_step && edge.from == unit.first => unit.entry = Some(id),
            _ => self.link(edge.from, Next::point(point), Some(id)),
        }
    }

    /// Points without a dependency follow their predecessor.
    fn follow(&mut self) {
        for unit in 0..self.units.len() {
            let Unit {
                first, owns_first, ..
            } = self.units[unit];
            if self.releases[unit] == 0 && !owns_first {
                self.release(unit as u32, first, None);
            }
        }
    }

    fn release(&mut self, unit: u32, from: u32, edge: Option<EdgeId>) {
        self.link(from, Next::unit(unit), edge);
        self.releases[unit as usize] += 1;
    }

    fn link(&mut self, from: u32, next: Next, edge: Option<EdgeId>) {
        let link = self.links.len() as u32;
        let other = std::mem::replace(&mut self.after[from as usize], link);
        self.links.push(Link { next, edge, other });
    }

    /// The dependency by which a unit waits for a point.
    fn released_by(&self, unit: &Unit, edge: Option<EdgeId>) -> Edge {
        let Some(id) = edge else {
            return Edge {
                from: unit.first,
                ps: 0,
                work: Work::Thread,
                stream: None,
                looked: None,
            };
        };
        let edge = self.graph.edge(id);
        match edge.looked {
            // It begins when that has come, whatever it has done before it found it.
            Some((since, ps)) if since == unit.first => Edge { ps, ..edge },
            _ => edge,
        }
    }

    /// When every point would be if each dependency took as long as `change` says, in picoseconds; those of `fixed` stay.
    /// None if threads waited for each other then.
    pub fn run(
        &self,
        fixed: &BTreeSet<u32>,
        change: &dyn Fn(u32, &Edge) -> u64,
    ) -> Option<Vec<u64>> {
        let mut run = Run {
            replay: self,
            fixed,
            change,
            times: vec![NEVER; self.graph.points()],
            reached: vec![0; self.graph.points()],
            waits: self.waits.clone(),
            released: vec![0; self.units.len()],
            releases: self.releases.clone(),
            ready: vec![BinaryHeap::new(); self.graph.lanes.len()],
            busy: vec![false; self.graph.lanes.len()],
            events: BinaryHeap::new(),
        };
        run.all();
        (!run.times.contains(&NEVER)).then_some(run.times)
    }
}

/// The time of a point that has not been reached.
const NEVER: u64 = u64::MAX;

/// A run under way.
struct Run<'a> {
    replay: &'a Replay<'a>,
    fixed: &'a BTreeSet<u32>,
    change: &'a dyn Fn(u32, &Edge) -> u64,
    /// By point: when it was.
    times: Vec<u64>,
    /// By point: the latest of what it has waited for.
    reached: Vec<u64>,
    waits: Vec<u32>,
    /// By unit: the same.
    released: Vec<u64>,
    releases: Vec<u32>,
    /// By thread: units that may begin. Of those that may, it begins the one with which it began first in the run.
    ready: Vec<BinaryHeap<Reverse<u32>>>,
    busy: Vec<bool>,
    events: BinaryHeap<Reverse<(u64, Next)>>,
}

impl Run<'_> {
    fn all(&mut self) {
        let graph = self.replay.graph;
        for point in 0..graph.points() as u32 {
            let index = point as usize;
            let free = self.waits[index] == 0 && !self.replay.begins[index];
            if free || self.fixed.contains(&point) {
                self.events
                    .push(Reverse((graph.ps(point), Next::point(point))));
            }
        }
        for unit in 0..self.releases.len() as u32 {
            if self.releases[unit as usize] == 0 {
                let ps = graph.recording.start_ps;
                self.events.push(Reverse((ps, Next::unit(unit))));
            }
        }
        while let Some(Reverse((ps, next))) = self.events.pop() {
            match next.either() {
                Err(point) => self.point(ps, point),
                Ok(unit) => {
                    let lane = self.replay.units[unit as usize].lane as usize;
                    self.ready[lane].push(Reverse(unit));
                    self.begin(ps, lane);
                }
            }
        }
    }

    /// A point is reached.
    fn point(&mut self, ps: u64, point: u32) {
        let time = &mut self.times[point as usize];
        if *time != NEVER {
            return;
        }
        *time = ps;
        let replay = self.replay;
        let mut link = replay.after[point as usize];
        while let Some(&Link { next, edge, other }) = replay.links.get(link as usize) {
            match (next.either(), edge) {
                (Ok(unit), _) => {
                    let index = unit as usize;
                    let unit = &replay.units[index];
                    let edge = replay.released_by(unit, edge);
                    let ps = ps + (self.change)(unit.first, &edge);
                    self.released[index] = self.released[index].max(ps);
                    self.releases[index] -= 1;
                    if self.releases[index] == 0 {
                        self.events.push(Reverse((self.released[index], next)));
                    }
                }
                (Err(to), Some(edge)) => self.reach(ps, to, &replay.graph.edge(edge)),
                (Err(_), None) => {}
            }
            link = other;
        }
        let within = replay.within[point as usize];
        if let Some(unit) = replay.units.get(within as usize)
            && unit.last == point
        {
            let lane = unit.lane as usize;
            self.busy[lane] = false;
            self.begin(ps, lane);
        }
    }

    /// A dependency of a point is met.
    fn reach(&mut self, ps: u64, to: u32, edge: &Edge) {
        let index = to as usize;
        self.reached[index] = self.reached[index].max(ps + (self.change)(to, edge));
        self.waits[index] -= 1;
        if self.waits[index] == 0 && !self.fixed.contains(&to) {
            self.events
                .push(Reverse((self.reached[index], Next::point(to))));
        }
    }

    /// A thread begins the unit that could begin first, unless it is in one.
    fn begin(&mut self, ps: u64, lane: usize) {
        if self.busy[lane] {
            return;
        }
        let Some(Reverse(unit)) = self.ready[lane].pop() else {
            return;
        };
        let replay = self.replay;
        let unit = &replay.units[unit as usize];
        self.busy[lane] = true;
        if unit.owns_first {
            self.events.push(Reverse((ps, Next::point(unit.first))));
        }
        match unit.entry {
            Some(edge) => self.reach(ps, unit.first + 1, &replay.graph.edge(edge)),
            // It does nothing.
            None => {
                self.busy[lane] = false;
                self.begin(ps, lane);
            }
        }
    }
}
