// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dependencies of threads: waits and polls.

use std::collections::{BTreeMap, BTreeSet};

use gyre_timeline::{Context, Why};

use super::{Graph, Job, Work};
use crate::lanes::{Collective, Noted, Step};

/// From the arrival of a packet to a thread that knows of it.
const RECEPTION: Work = Job::Reception.work();

/// A note of a thread that cannot come before something else.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    lane: usize,
    /// Which of its notes.
    note: usize,
    /// Point that must precede it: an arrival, or a point of another thread.
    from: u32,
    /// Packets that it is about.
    stream: Option<usize>,
}

/// How a thread has come by something.
#[derive(Debug, Clone, Copy)]
struct Found {
    /// Its point when it noted it.
    number: usize,
    /// Its point since which it has found nothing to do, and when that was.
    since: usize,
    since_ps: u64,
    /// When it was there.
    from_ps: u64,
    /// The hardware has woken it.
    woken: bool,
}

/// Whether something is a part of a thread's look for something to do.
enum Looking {
    /// It may begin with it.
    Begins,
    /// It goes on with it.
    Goes,
    No,
}

/// Idle time of a thread before a note.
#[derive(Debug, Clone, Copy)]
struct Idle {
    /// Point since which it has found nothing to do.
    since: usize,
    /// The hardware has woken it then.
    woken: bool,
}

impl Graph<'_> {
    /// Adds the dependencies of threads: on packets, and on work that other threads have posted.
    pub(super) fn software(&mut self) {
        let mut posts: BTreeMap<Context, Vec<u32>> = BTreeMap::new();
        let mut starts: BTreeMap<Context, Vec<(usize, usize)>> = BTreeMap::new();
        // By packets: how many have been taken.
        let mut taken = vec![0_usize; self.arrivals.len()];
        let mut wanted: Vec<Wanted> = Vec::new();
        // By collective: where its members began.
        let mut begun: BTreeMap<Collective, Vec<u32>> = BTreeMap::new();
        for (index, lane) in self.lanes.iter().enumerate() {
            for (note, &(number, noted)) in lane.notes.iter().enumerate() {
                let (stream, from) = match noted {
                    Noted::Posted(at) => {
                        let point = self.point(index, number as usize);
                        posts.entry(at).or_default().push(point);
                        continue;
                    }
                    Noted::Started(at) => {
                        starts.entry(at).or_default().push((index, note));
                        continue;
                    }
                    Noted::Packet(stream) => {
                        let stream = stream as usize;
                        let arrivals = &self.arrivals[stream];
                        taken[stream] += 1;
                        let own = arrivals.get(taken[stream] - 1);
                        (stream, own.or(arrivals.last()))
                    }
                    Noted::Fetched(stream) => {
                        let stream = stream as usize;
                        (stream, self.arrivals[stream].last())
                    }
                    Noted::Begun(collective) => {
                        let point = self.point(index, number as usize);
                        begun.entry(collective).or_default().push(point);
                        continue;
                    }
                    Noted::Ended | Noted::Queued(_) | Noted::Over(_) | Noted::Other => continue,
                };
                wanted.extend(from.map(|&from| Wanted {
                    lane: index,
                    note,
                    from,
                    stream: Some(stream),
                }));
            }
        }
        for (at, starts) in starts {
            let mut posts = posts.remove(&at).unwrap_or_default();
            // Posts of several threads are queued in order of time.
            posts.sort_by_key(|&post| self.ps(post));
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
        self.taken(&wanted, &begun);
    }

    /// Threads deal with what has arrived, or has been left to them.
    fn taken(&mut self, wanted: &[Wanted], begun: &BTreeMap<Collective, Vec<u32>>) {
        let found: Vec<Found> = wanted.iter().map(|wanted| self.found(wanted)).collect();
        // So long hardware takes from an arrival to a thread that runs.
        let least = wanted
            .iter()
            .zip(&found)
            .filter(|(wanted, found)| wanted.stream.is_some() && found.woken)
            .filter_map(|(_, found)| found.since_ps.checked_sub(found.from_ps))
            .min();
        // Waits of which it is known what has ended them.
        let mut explained = BTreeSet::new();
        for (wanted, found) in wanted.iter().zip(&found) {
            let &Wanted {
                lane, from, stream, ..
            } = wanted;
            let (work, least) = match stream {
                Some(_) => (RECEPTION, least.unwrap_or(0)),
                None => (Work::Thread, 0),
            };
            // What it has looked at before that was there it has looked at in vain.
            let begin = found.since.max(self.lanes[lane].point_at(found.from_ps));
            let begin = begin.min(found.number);
            self.looked[lane].insert(begin);
            let since = self.point(lane, begin);
            let point = self.point(lane, found.number);
            match found.since_ps.checked_sub(found.from_ps) {
                // The hardware has ended its wait, and this is what it has dealt with first.
                Some(_) if found.woken && stream.is_some() && explained.insert(since) => {
                    self.depend(since, from, work, stream, None);
                }
                // It was busy.
                Some(before) => {
                    let least = least.min(before);
                    self.look((since, least), (point, from), (work, stream), Some(least));
                }
                // It was looking for something to do.
                None => self.look((since, 0), (point, from), (work, stream), None),
            }
        }
        self.other_wakeups(&explained, begun);
    }

    /// The end of a wait that the collective network has brought about: the last member that had begun the collective which a
    /// thread ends next.
    fn last_member(
        &self,
        lane: usize,
        step: usize,
        begun: &BTreeMap<Collective, Vec<u32>>,
    ) -> Option<u32> {
        let lane = &self.lanes[lane];
        let woken = step + 1;
        let later = lane
            .notes
            .partition_point(|&(number, _)| (number as usize) < woken);
        let (number, collective) = lane.notes[later..].iter().find_map(|&(number, noted)| {
            let Noted::Over(collective) = noted else {
                return None;
            };
            Some((number as usize, collective))
        })?;
        let waits = |step: &Step| matches!(step, Step::Wait { .. });
        if lane.steps[woken..number.max(woken)].iter().any(waits) {
            return None;
        }
        let members = begun.get(&collective)?.iter().copied();
        let before = members.filter(|&point| self.ps(point) < lane.points[woken]);
        before.max_by_key(|&point| self.ps(point))
    }

    /// How a thread has come by something.
    fn found(&self, wanted: &Wanted) -> Found {
        let (number, _) = self.lanes[wanted.lane].notes[wanted.note];
        let number = number as usize;
        let Idle { since, woken } = self.idle(wanted.lane, wanted.note);
        Found {
            number,
            since,
            since_ps: self.lanes[wanted.lane].points[since],
            from_ps: self.ps(wanted.from),
            woken,
        }
    }

    /// Since when a thread has found nothing to do when it noted something: since it woke up, or since it looked first.
    fn idle(&self, lane: usize, note: usize) -> Idle {
        let lane = &self.lanes[lane];
        let point = |note: usize| lane.notes[note].0 as usize;
        let number = point(note);
        let before = note.checked_sub(1).map_or(0, point);
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
            Some("advance" | "turn" | "leave" | "conclude" | "announce" | "wait" | "batch") => {
                Looking::Begins
            }
            Some(
                "tick" | "full_turn" | "wake" | "register" | "poll" | "receive" | "packet"
                | "origin" | "assemble" | "place" | "unload" | "copy" | "copy_chunk",
            ) => Looking::Goes,
            _ => Looking::No,
        }
    }

    /// Wake-ups of which threads note nothing: for what came last to their node, or left it. A wait that nothing has ended is
    /// as long as it was.
    fn other_wakeups(&mut self, explained: &BTreeSet<u32>, begun: &BTreeMap<Collective, Vec<u32>>) {
        // So long after its news a wake-up comes at the latest, several bursts of memory before it among them; what comes later
        // comes from the clock.
        let recording = self.recording;
        let longest =
            4 * (recording.memory_write_ps + recording.memory_read_ps + 4 * recording.register_ps);
        let mut news: BTreeMap<u32, Vec<(u64, u32)>> = BTreeMap::new();
        let first = self.base.last().copied().unwrap_or(0);
        for (point, &(from, to)) in (first..).zip(&self.nodes) {
            news.entry(from).or_default().push((self.ps(point), point));
            news.entry(to).or_default().push((self.ps(point), point));
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
                if why == Why::WakeUp
                    && let Some(from) = self.last_member(lane, step, begun)
                {
                    self.depend(to, from, Job::Tree.work(), None, None);
                    continue;
                }
                let from_ps = self.lanes[lane].points[step];
                let to_ps = self.lanes[lane].points[step + 1];
                let news = news
                    .get(&self.lanes[lane].node)
                    .filter(|_| why == Why::WakeUp);
                let last = news.and_then(|news| {
                    let before = news.partition_point(|&(ps, _)| ps < to_ps);
                    let soon = |&&(ps, _): &&(u64, u32)| from_ps < ps && to_ps - ps <= longest;
                    news[..before].last().filter(soon)
                });
                let (from, work) = match last {
                    Some(&(_, from)) => (from, RECEPTION),
                    None => (to - 1, Work::Step(self.lanes[lane].steps[step])),
                };
                self.depend(to, from, work, None, None);
            }
        }
    }
}
