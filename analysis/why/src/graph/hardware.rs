// SPDX-License-Identifier: MIT OR Apache-2.0
//! The points of packets: what the hardware does with them.

use super::{Graph, Job, Work};
use crate::lanes::Noted;

/// Points of a stream before its packets arrive.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Begin {
    /// A thread has queued it: thread, and when.
    queued: Option<(usize, u64)>,
    fetch: Option<u32>,
}

impl Graph<'_> {
    /// The points of packets up to their arrival.
    pub(super) fn packets(&mut self) -> Vec<Begin> {
        let mut begins = vec![Begin::default(); self.messages.packets().len()];
        for (index, lane) in self.lanes.iter().enumerate() {
            for &(point, noted) in &lane.notes {
                if let Noted::Queued(stream) = noted {
                    begins[stream as usize].queued = Some((index, lane.points[point as usize]));
                }
            }
        }
        for stream in 0..begins.len() {
            let packets = self.messages.packets()[stream].clone();
            let way = self.streams.all[stream].way.clone();
            // A request within a node brings its data there.
            let asked = packets.request.and_then(|request| begins[request].queued);
            let begin = &mut begins[stream];
            let place = match (way.first(), way.last(), begin.queued.or(asked)) {
                (Some(&first), Some(&last), _) => {
                    let links = &self.recording.links;
                    (links[first].node, links[last].to)
                }
                (.., Some((lane, _))) => (self.lanes[lane].node, self.lanes[lane].node),
                (.., None) => continue,
            };
            let tail = packets
                .tail_ps
                .zip(begin.queued)
                .map(|(ps, (lane, queued_ps))| {
                    // The write left the thread so long before.
                    let written = ps.saturating_sub(self.recording.register_ps).max(queued_ps);
                    let from = self.point(lane, self.lanes[lane].point_at(written));
                    let tail = self.add(ps, place);
                    self.depend(tail, from, Job::RegisterWrite.work(), Some(stream), None);
                    tail
                });
            let fetch = packets.fetched_ps.map(|ps| {
                let fetch = self.add(ps, place);
                if let Some(tail) = tail {
                    self.depend(fetch, tail, Job::Fetch.work(), Some(stream), None);
                }
                fetch
            });
            begin.fetch = fetch;
            let arrivals = self.streams.all[stream].arrivals.clone();
            let begins_ps = packets.head_ps.or(arrivals.first().copied());
            let Some((fetch, begins_ps)) = fetch.zip(begins_ps) else {
                continue;
            };
            // Memory is sampled half way: the data of the descriptor is to come, and that of the payload.
            let fetched_ps = self.ps(fetch);
            let read_ps = (fetched_ps + self.recording.memory_read_ps * 3 / 2).min(begins_ps);
            let read = self.add(read_ps, place);
            self.depend(read, fetch, Job::Payload.work(), Some(stream), None);
            let (from, work) = match packets.head_ps {
                Some(head_ps) => {
                    let head = self.add(head_ps, place);
                    self.depend(head, read, Job::Inject.work(), Some(stream), None);
                    let links = u16::try_from(way.len()).unwrap_or(u16::MAX);
                    let job = Job::Links;
                    (head, Work::Hardware { job, links })
                }
                None => (read, Job::Copy.work()),
            };
            for ps in arrivals {
                let arrival = self.add(ps, place);
                self.depend(arrival, from, work, Some(stream), None);
                self.arrivals[stream].push(arrival);
            }
        }
        begins
    }

    /// Data that was asked for is fetched when its request has arrived.
    pub(super) fn answers(&mut self, begins: &mut [Begin]) {
        for stream in 0..begins.len() {
            let Some(request) = self.messages.packets()[stream].request else {
                continue;
            };
            let fetch = begins[stream].fetch;
            // Within a node a request is on no link.
            let asked = self.arrivals[request].first().copied();
            if let (Some(fetch), Some(asked)) = (fetch, asked.or(begins[request].fetch)) {
                self.depend(fetch, asked, Job::Serve.work(), Some(stream), None);
            }
        }
        for (stream, begin) in begins.iter().enumerate() {
            // Packets without a known end have arrived when they were read.
            if let (true, Some(fetch)) = (self.arrivals[stream].is_empty(), begin.fetch) {
                self.arrivals[stream].push(fetch);
            }
        }
    }
}
