//! What depends on what: points in the time of threads and of packets, and the dependencies between them.

use std::collections::{BTreeMap, BTreeSet};

use gyre_timeline::{Context, Messages, Note, Recording, What, Why};

use crate::lanes::{self, Lane, Step};
use crate::path::{Kind, Place};
use crate::streams::Streams;

/// What time between two points is spent on, and what would change it.
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

/// That a point comes so long after another one at the earliest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    /// The other point.
    pub from: u32,
    /// Picoseconds.
    pub ps: u64,
    /// What they are spent on.
    pub work: Work,
    /// Packets that it belongs to, by place in [`Messages::packets`].
    pub stream: Option<u32>,
    /// Point since which a thread has looked for it, and found it; none of what it has not looked for.
    pub looked_from: Option<u32>,
}

/// A point in the time of a run.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    /// When it was.
    pub ps: u64,
    /// Where.
    pub place: Place,
    /// What it waits for: the last of them has decided its time.
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
    /// By packets: the points of their arrivals.
    arrivals: Vec<Vec<u32>>,
}

/// Points of a stream before its packets arrive.
#[derive(Debug, Clone, Copy, Default)]
struct Begin {
    /// A thread has queued it: thread, and when.
    queued: Option<(usize, u64)>,
    head: Option<u32>,
    fetch: Option<u32>,
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
            arrivals: vec![Vec::new(); messages.packets().len()],
            looked: vec![BTreeSet::new(); lanes.len()],
            lanes,
            streams,
        };
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

    /// What a point has waited for.
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

    /// The points of the arrivals of packets.
    pub fn arrivals(&self, stream: usize) -> &[u32] {
        &self.arrivals[stream]
    }

    /// What time is spent on, in a word or two.
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

    /// That `to` comes after `from`, which takes all the time between them or, given less, at least that.
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
        self.points[to as usize].edges.push(Edge {
            from,
            ps: least.map_or(between, |least| least.min(between)),
            work,
            stream: stream.map(|stream| stream as u32),
            looked_from: None,
        });
    }

    /// The same of a thread that has looked for it.
    fn look(
        &mut self,
        (since, to): (u32, u32),
        from: u32,
        (work, stream): (Work, Option<usize>),
        least: Option<u64>,
    ) {
        let edges = self.points[to as usize].edges.len();
        self.depend(to, from, work, stream, least);
        for edge in &mut self.points[to as usize].edges[edges..] {
            edge.looked_from = Some(since);
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

    /// The points of packets up to their arrival.
    fn packets(&mut self) -> Vec<Begin> {
        let mut begins = vec![Begin::default(); self.messages.packets().len()];
        for (index, lane) in self.lanes.iter().enumerate() {
            for &(point, event) in &lane.notes {
                let queues = matches!(
                    self.recording.events()[event].what,
                    What::Note(Note::Sent { .. } | Note::Put { .. } | Note::Asked { .. })
                );
                if let (true, Some(stream)) = (queues, self.messages.of_event(event)) {
                    begins[stream].queued = Some((index, lane.points[point]));
                }
            }
        }
        for stream in 0..begins.len() {
            let packets = self.messages.packets()[stream].clone();
            let way = self.streams.all[stream].way.clone();
            let place = match (way.first(), way.last(), begins[stream].queued) {
                (Some(&first), Some(&last), _) => Place::Nodes {
                    from: self.recording.links[first].node,
                    to: self.recording.links[last].to,
                },
                (.., Some((lane, _))) => Place::Nodes {
                    from: self.lanes[lane].node,
                    to: self.lanes[lane].node,
                },
                (.., None) => continue,
            };
            let hardware = |kind, what, half_reads, writes, links| Work::Hardware {
                kind,
                what,
                half_reads,
                writes,
                links,
            };
            let tail = packets
                .tail_ps
                .zip(begins[stream].queued)
                .map(|(ps, (lane, queued_ps))| {
                    // The write left the thread so long before.
                    let written = ps.saturating_sub(self.recording.register_ps).max(queued_ps);
                    let from = self.point(lane, self.lanes[lane].point_at(written));
                    let tail = self.add(ps, place);
                    let work = hardware(Kind::Driver, "register write", 0, 0, 0);
                    self.depend(tail, from, work, Some(stream), None);
                    tail
                });
            let fetch = packets.fetched_ps.map(|ps| {
                let fetch = self.add(ps, place);
                if let Some(tail) = tail {
                    let work = hardware(Kind::Memory, "fetch", 1, 0, 0);
                    self.depend(fetch, tail, work, Some(stream), None);
                }
                fetch
            });
            begins[stream].fetch = fetch;
            let Some((fetch, head_ps)) = fetch.zip(packets.head_ps) else {
                continue;
            };
            // Memory is sampled half way: the data of the descriptor is to come, and that of the payload.
            let fetched_ps = self.points[fetch as usize].ps;
            let read_ps = (fetched_ps + self.recording.memory_read_ps * 3 / 2).min(head_ps);
            let read = self.add(read_ps, place);
            let work = hardware(Kind::Memory, "descriptor and payload", 3, 0, 0);
            self.depend(read, fetch, work, Some(stream), None);
            let head = self.add(head_ps, place);
            let work = hardware(Kind::Network, "inject", 0, 0, 0);
            self.depend(head, read, work, Some(stream), None);
            begins[stream].head = Some(head);
            let arrivals = self.streams.all[stream].arrivals.clone();
            for ps in arrivals {
                let arrival = self.add(ps, place);
                let work = hardware(Kind::Network, LINKS, 0, 0, way.len() as u32);
                self.depend(arrival, head, work, Some(stream), None);
                self.arrivals[stream].push(arrival);
            }
        }
        begins
    }

    /// Data that was asked for is fetched when its request has arrived.
    fn answers(&mut self, begins: &mut [Begin]) {
        for stream in 0..begins.len() {
            let Some(request) = self.messages.packets()[stream].request else {
                continue;
            };
            let fetch = begins[stream].fetch;
            // Within a node a request is on no link.
            let asked = self.arrivals[request].first().copied();
            if let (Some(fetch), Some(asked)) = (fetch, asked.or(begins[request].fetch)) {
                let work = Work::Hardware {
                    kind: Kind::Memory,
                    what: "serve request",
                    half_reads: 0,
                    writes: 1,
                    links: 0,
                };
                self.depend(fetch, asked, work, Some(stream), None);
            }
        }
        for (stream, begin) in begins.iter().enumerate() {
            // The same for packets that stay on their node: they have arrived when they were read.
            if let (true, Some(fetch)) = (self.arrivals[stream].is_empty(), begin.fetch) {
                self.arrivals[stream].push(fetch);
            }
        }
    }

    /// What threads wait for: packets, and work that others have left.
    fn software(&mut self) {
        let mut posts: BTreeMap<Context, Vec<u32>> = BTreeMap::new();
        let mut starts: BTreeMap<Context, Vec<(usize, usize)>> = BTreeMap::new();
        // By packets: how many have been taken.
        let mut taken = vec![0_usize; self.arrivals.len()];
        let mut wanted: Vec<Wanted> = Vec::new();
        for (index, lane) in self.lanes.iter().enumerate() {
            for (note, &(number, event)) in lane.notes.iter().enumerate() {
                let What::Note(what) = self.recording.events()[event].what else {
                    continue;
                };
                let stream = self.messages.of_event(event);
                let arrivals = stream.map(|stream| &self.arrivals[stream]);
                let from = match (what, arrivals, stream) {
                    (Note::Posted { at }, ..) => {
                        let point = self.point(index, number);
                        posts.entry(at).or_default().push(point);
                        None
                    }
                    (Note::Started { at }, ..) => {
                        starts.entry(at).or_default().push((index, note));
                        None
                    }
                    (Note::Packet { .. }, Some(arrivals), Some(stream)) => {
                        taken[stream] += 1;
                        arrivals.get(taken[stream] - 1).or(arrivals.last())
                    }
                    (Note::Fetched { .. }, Some(arrivals), _) => arrivals.last(),
                    _ => None,
                };
                wanted.extend(from.map(|&from| Wanted {
                    lane: index,
                    note,
                    from,
                    stream,
                }));
            }
        }
        for (at, starts) in starts {
            let mut posts = posts.remove(&at).unwrap_or_default();
            // Posts of several threads are queued in order of time.
            posts.sort_by_key(|&post| self.points[post as usize].ps);
            wanted.extend(
                starts
                    .into_iter()
                    .zip(posts)
                    .map(|((lane, note), from)| Wanted {
                        lane,
                        note,
                        from,
                        stream: None,
                    }),
            );
        }
        self.taken(&wanted);
    }

    /// Threads deal with what has arrived, or has been left to them.
    fn taken(&mut self, wanted: &[Wanted]) {
        let ps = |graph: &Self, point: u32| graph.points[point as usize].ps;
        let at = |graph: &Self, wanted: &Wanted| {
            graph.point(wanted.lane, graph.lanes[wanted.lane].notes[wanted.note].0)
        };
        // So long it takes at least: of packets that no thread was late for.
        let least = wanted
            .iter()
            .filter(|wanted| wanted.stream.is_some())
            .filter_map(|wanted| ps(self, at(self, wanted)).checked_sub(ps(self, wanted.from)))
            .min();
        // Waits of which it is known what has ended them.
        let mut explained = BTreeSet::new();
        for wanted in wanted {
            let &Wanted {
                lane,
                note,
                from,
                stream,
            } = wanted;
            let point = at(self, wanted);
            let (number, _) = self.lanes[lane].notes[note];
            let from_ps = ps(self, from);
            let (work, least) = match stream {
                Some(_) => (RECEPTION, least),
                None => (Work::Thread, Some(0)),
            };
            let Idle { since, woken } = self.idle(lane, note);
            let since_ps = self.lanes[lane].points[since];
            // What it has looked at before that was there it has looked at in vain.
            let found = since.max(self.lanes[lane].point_at(from_ps)).min(number);
            self.looked[lane].insert(found);
            let begin = self.point(lane, found);
            match woken {
                // The hardware has ended its wait, and this is what it has dealt with first.
                true if stream.is_some() && from_ps <= since_ps => {
                    let to = self.point(lane, since);
                    if explained.insert(to) {
                        self.depend(to, from, work, stream, None);
                    }
                    self.look((begin, point), from, (work, stream), least);
                }
                // It was looking for something to do.
                _ if since_ps < from_ps => self.look((begin, point), from, (work, stream), None),
                _ => self.look((begin, point), from, (work, stream), least),
            }
        }
        self.other_wakeups(&explained);
    }

    /// Since when a thread has found nothing to do when it noted something: since it woke up, or since it looked first.
    fn idle(&self, lane: usize, note: usize) -> Idle {
        let lane = &self.lanes[lane];
        let (number, _) = lane.notes[note];
        let before = note.checked_sub(1).map_or(0, |before| lane.notes[before].0);
        let mut since = number;
        for point in (before + 1..=number).rev() {
            match lane.steps[point - 1] {
                Step::Wait { by, .. } => {
                    return Idle {
                        since: point,
                        woken: by.is_none(),
                    };
                }
                Step::Spent { operation, .. } => match self.looking(operation) {
                    Looking::Begins => since = point - 1,
                    Looking::Goes => {}
                    Looking::No => break,
                },
                Step::Register => {}
                Step::Compute | Step::CacheLines => break,
            }
        }
        Idle {
            since,
            woken: false,
        }
    }

    /// Whether an operation of the driver is a part of looking for something to do.
    fn looking(&self, operation: u8) -> Looking {
        let names = &self.recording.operations;
        match names.get(usize::from(operation)).copied() {
            Some("advance" | "turn" | "conclude" | "wait" | "batch") => Looking::Begins,
            Some("register" | "poll" | "receive" | "packet" | "copy_chunk") => Looking::Goes,
            _ => Looking::No,
        }
    }

    /// Wake-ups of which threads note nothing: for what came last to their node, or left it. A wait that nothing has ended is
    /// as long as it was.
    fn other_wakeups(&mut self, explained: &BTreeSet<u32>) {
        let mut news: BTreeMap<u32, Vec<(u64, u32)>> = BTreeMap::new();
        for (index, point) in (0..).zip(&self.points) {
            if let Place::Nodes { from, to } = point.place {
                news.entry(from).or_default().push((point.ps, index));
                news.entry(to).or_default().push((point.ps, index));
            }
        }
        for news in news.values_mut() {
            news.sort_unstable();
        }
        for lane in 0..self.lanes.len() {
            for step in 0..self.lanes[lane].steps.len() {
                let Step::Wait { why, by: None } = self.lanes[lane].steps[step] else {
                    continue;
                };
                let to = self.point(lane, step + 1);
                if explained.contains(&to) {
                    continue;
                }
                let from_ps = self.lanes[lane].points[step];
                let to_ps = self.lanes[lane].points[step + 1];
                let news = news
                    .get(&self.lanes[lane].node)
                    .filter(|_| why == Why::WakeUp);
                let last = news.and_then(|news| {
                    let before = news.partition_point(|&(ps, _)| ps < to_ps);
                    news[..before].last().filter(|&&(ps, _)| from_ps < ps)
                });
                match last {
                    Some(&(_, from)) => self.depend(to, from, RECEPTION, None, None),
                    None => self.depend(
                        to,
                        to - 1,
                        Work::Step(self.lanes[lane].steps[step]),
                        None,
                        None,
                    ),
                }
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

/// What the time from the first flit on a link to an arrival is called.
pub(crate) const LINKS: &str = "links";

/// From the arrival of a packet to a thread that knows of it.
const RECEPTION: Work = Work::Hardware {
    kind: Kind::Memory,
    what: "memory write and wake-up",
    half_reads: 0,
    writes: 1,
    links: 0,
};

/// A note of a thread that cannot come before something else.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    lane: usize,
    /// Which of its notes.
    note: usize,
    /// What must be before it: an arrival, or the point of another thread.
    from: u32,
    /// Packets that it is about.
    stream: Option<usize>,
}

/// Whether something is a part of a thread's look for something to do.
enum Looking {
    /// It may begin with it.
    Begins,
    /// It goes on with it.
    Goes,
    No,
}

/// What a thread has done before a note.
#[derive(Debug, Clone, Copy)]
struct Idle {
    /// Point since which it has found nothing to do.
    since: usize,
    /// The hardware has woken it then.
    woken: bool,
}
