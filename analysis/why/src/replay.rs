// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run once more, from its dependencies alone, some of which take another time.
//!
//! Threads that compute do what they did, in the same order. A thread that does nothing but advance contexts deals with what
//! comes in the order in which it comes: that order may change.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use gyre_timeline::Why;

use crate::graph::{Edge, Graph, Work};
use crate::lanes::{Lane, Step};

/// Part of a thread from the point that resumes it to its next dependency.
#[derive(Debug, Clone)]
struct Unit {
    lane: usize,
    /// Point at which it begins; one of its own unless the unit before it ends there.
    first: u32,
    owns_first: bool,
    /// Its first step: to the point after the first.
    entry: Option<Edge>,
}

/// Successor of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Point(u32),
    Unit(u32),
}

/// How the points of a run depend on each other if threads may do things in another order.
#[derive(Debug)]
pub(crate) struct Replay<'a> {
    graph: &'a Graph<'a>,
    units: Vec<Unit>,
    /// By point: the unit that begins there.
    begun: BTreeMap<u32, u32>,
    /// By point: the unit that ends with it.
    ends: BTreeMap<u32, Vec<u32>>,
    /// By point: what waits for it, and how.
    after: Vec<Vec<(Next, Edge)>>,
    /// By point: how many dependencies it waits for.
    waits: Vec<u32>,
    /// By unit: the same.
    releases: Vec<u32>,
    /// Points that begin units.
    begun_by_unit: Vec<bool>,
}

impl<'a> Replay<'a> {
    pub fn of(graph: &'a Graph<'a>) -> Self {
        let points = graph.points.len();
        let mut replay = Self {
            graph,
            units: Vec::new(),
            begun: BTreeMap::new(),
            ends: BTreeMap::new(),
            after: vec![Vec::new(); points],
            waits: vec![0; points],
            releases: Vec::new(),
            begun_by_unit: vec![false; points],
        };
        // By point: the unit that it is in, unless it begins it.
        let mut within: Vec<Option<u32>> = vec![None; points];
        // By point: the unit that it begins, if it is in no other.
        let mut begins: Vec<Option<u32>> = vec![None; points];
        for (index, lane) in graph.lanes.iter().enumerate() {
            if !lane.steps.contains(&Step::Compute) {
                replay.divide(index, lane, &mut within, &mut begins);
            }
        }
        for point in 0..points as u32 {
            for &edge in graph.dependencies(point) {
                replay.connect(point, edge, &within, &begins);
            }
        }
        replay.follow();
        for unit in &replay.units {
            replay.begun_by_unit[unit.first as usize] |= unit.owns_first;
        }
        replay
    }

    /// Divides what a thread does into units: it waits, or looks for something, before each.
    fn divide(
        &mut self,
        index: usize,
        lane: &Lane,
        within: &mut [Option<u32>],
        begins: &mut [Option<u32>],
    ) {
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
                within[point(number) as usize] = Some(unit);
            }
            let owns_first = within[point(first) as usize].is_none();
            if owns_first {
                begins[point(first) as usize] = Some(unit);
            }
            self.begun.insert(point(first), unit);
            if first < last {
                self.ends.entry(point(last)).or_default().push(unit);
            }
            self.units.push(Unit {
                lane: index,
                first: point(first),
                owns_first,
                entry: None,
            });
            self.releases.push(0);
        }
    }

    /// Enters a dependency of a point.
    fn connect(&mut self, point: u32, edge: Edge, within: &[Option<u32>], begins: &[Option<u32>]) {
        if let Some((since, ps)) = edge.looked
            && let Some(&unit) = self.begun.get(&since)
        {
            return self.release(unit, Edge { ps, ..edge });
        }
        let own_step = matches!(edge.work, Work::Step(_));
        match (begins[point as usize], within[point as usize]) {
            // Before it the thread has waited: as long as it did only if nobody knows what for.
            (Some(_), _) if own_step && edge.ps == 0 => {}
            (Some(unit), _) => self.release(unit, edge),
            (None, Some(unit)) if own_step && edge.from == self.units[unit as usize].first => {
                self.units[unit as usize].entry = Some(edge);
                self.waits[point as usize] += 1;
            }
            (None, _) => {
                self.after[edge.from as usize].push((Next::Point(point), edge));
                self.waits[point as usize] += 1;
            }
        }
    }

    /// Points without a dependency follow their predecessor.
    fn follow(&mut self) {
        for unit in 0..self.units.len() {
            let Unit {
                first, owns_first, ..
            } = self.units[unit];
            if self.releases[unit] == 0 && !owns_first {
                let edge = Edge {
                    from: first,
                    ps: 0,
                    work: Work::Thread,
                    stream: None,
                    looked: None,
                };
                self.release(unit as u32, edge);
            }
        }
    }

    fn release(&mut self, unit: u32, edge: Edge) {
        self.after[edge.from as usize].push((Next::Unit(unit), edge));
        self.releases[unit as usize] += 1;
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
            times: vec![None; self.graph.points.len()],
            reached: vec![0; self.graph.points.len()],
            waits: self.waits.clone(),
            released: vec![0; self.units.len()],
            releases: self.releases.clone(),
            ready: vec![BinaryHeap::new(); self.graph.lanes.len()],
            busy: vec![false; self.graph.lanes.len()],
            events: BinaryHeap::new(),
        };
        run.all();
        run.times.into_iter().collect()
    }
}

/// A run under way.
struct Run<'a> {
    replay: &'a Replay<'a>,
    fixed: &'a BTreeSet<u32>,
    change: &'a dyn Fn(u32, &Edge) -> u64,
    /// By point: when it was.
    times: Vec<Option<u64>>,
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
        for point in 0..graph.points.len() as u32 {
            let index = point as usize;
            let free = self.waits[index] == 0 && !self.replay.begun_by_unit[index];
            if free || self.fixed.contains(&point) {
                let ps = graph.points[index].ps;
                self.events.push(Reverse((ps, Next::Point(point))));
            }
        }
        for unit in 0..self.releases.len() as u32 {
            if self.releases[unit as usize] == 0 {
                let ps = graph.recording.start_ps;
                self.events.push(Reverse((ps, Next::Unit(unit))));
            }
        }
        while let Some(Reverse((ps, next))) = self.events.pop() {
            match next {
                Next::Point(point) => self.point(ps, point),
                Next::Unit(unit) => {
                    let lane = self.replay.units[unit as usize].lane;
                    self.ready[lane].push(Reverse(unit));
                    self.begin(ps, lane);
                }
            }
        }
    }

    /// A point is reached.
    fn point(&mut self, ps: u64, point: u32) {
        if self.times[point as usize].is_some() {
            return;
        }
        self.times[point as usize] = Some(ps);
        let replay = self.replay;
        for (next, edge) in &replay.after[point as usize] {
            match *next {
                Next::Point(to) => self.reach(ps, to, edge),
                Next::Unit(unit) => {
                    let first = replay.units[unit as usize].first;
                    let index = unit as usize;
                    let ps = ps + (self.change)(first, edge);
                    self.released[index] = self.released[index].max(ps);
                    self.releases[index] -= 1;
                    if self.releases[index] == 0 {
                        self.events.push(Reverse((self.released[index], *next)));
                    }
                }
            }
        }
        for &unit in replay.ends.get(&point).into_iter().flatten() {
            let lane = replay.units[unit as usize].lane;
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
                .push(Reverse((self.reached[index], Next::Point(to))));
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
            self.events.push(Reverse((ps, Next::Point(unit.first))));
        }
        match unit.entry {
            Some(edge) => self.reach(ps, unit.first + 1, &edge),
            // It does nothing.
            None => {
                self.busy[lane] = false;
                self.begin(ps, lane);
            }
        }
    }
}
