// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of a run as columns: threads and links in the order of the recording's lists, each with its events in order of
//! time.

use std::collections::BTreeMap;

use gyre_timeline::{Event, Lane, Messages, Recording, What, Why};

use crate::columns::Columns;
use crate::messages::{self, number};

/// Reasons of waits, by their number in a column; numbers follow those of the operations.
pub(crate) const WHYS: [Why; 5] = [
    Why::Compute,
    Why::Register,
    Why::WakeUp,
    Why::News,
    Why::Lock,
];

/// The columns of a run.
pub(crate) fn columns(recording: &Recording, messages: &Messages) -> Columns {
    let mut columns = Columns::default();
    add_spans(&mut columns, recording);
    add_hops(&mut columns, recording, messages);
    messages::add_packets(&mut columns, messages);
    messages::add(&mut columns, messages);
    columns
}

/// Lists of `T` by places of `lanes`; events of other lanes are left out.
fn by_lane<T>(
    recording: &Recording,
    lanes: impl Iterator<Item = (u32, Lane)>,
    of: impl Fn(usize, &Event) -> Option<T>,
) -> Vec<Vec<T>> {
    let places: BTreeMap<(u32, Lane), usize> = lanes.zip(0..).collect();
    let mut lists: Vec<Vec<T>> = places.iter().map(|_| Vec::new()).collect();
    for (event_number, event) in recording.events().iter().enumerate() {
        if let Some(&place) = places.get(&(event.node, event.lane)) {
            lists[place].extend(of(event_number, event));
        }
    }
    lists
}

/// Activity of a thread: times, kind and count.
type Span = ((u64, u64), u64, u64);

fn add_spans(columns: &mut Columns, recording: &Recording) {
    let lanes = recording
        .threads
        .iter()
        .map(|thread| (thread.node, Lane::Thread(thread.number)));
    let span = |_, event: &Event| -> Option<Span> {
        let times = (event.ps, event.end_ps);
        match event.what {
            What::Spent { operation, count } => Some((times, operation.into(), count.into())),
            What::Waited { why, .. } => {
                let kind = recording.operations.len() as u64 + number(&WHYS, &why);
                Some((times, kind, 1))
            }
            _ => None,
        }
    };
    let threads = by_lane(recording, lanes, span);
    columns.plain("span.of_thread", threads.iter().map(|t| t.len() as u64));
    let all = || threads.iter().flatten();
    columns.plain("span.what", all().map(|&(_, what, _)| what));
    columns.deltas("span.begin", all().map(|&((begin, _), _, _)| begin));
    columns.plain("span.time", all().map(|&((begin, end), _, _)| end - begin));
    columns.plain("span.count", all().map(|&(_, _, count)| count));
}

/// A packet on a link: times, kind, flits, channel, and place of its descriptor in the list of packets.
struct Hop {
    times: (u64, u64),
    kind: u64,
    flits: u64,
    channel: u64,
    packets: u64,
}

fn add_hops(columns: &mut Columns, recording: &Recording, messages: &Messages) {
    let lanes = recording
        .links
        .iter()
        .map(|link| (link.node, Lane::Link(link.port)));
    let hop = |event_number, event: &Event| {
        let What::Hop {
            channel,
            kind,
            flits,
            ..
        } = event.what
        else {
            return None;
        };
        let packets = messages.of_event(event_number);
        Some(Hop {
            times: (event.ps, event.end_ps),
            kind: kind.0.into(),
            flits: flits.into(),
            channel: channel.into(),
            packets: packets.map_or(0, |index| index as u64 + 1),
        })
    };
    let links = by_lane(recording, lanes, hop);
    columns.plain("hop.of_link", links.iter().map(|l| l.len() as u64));
    let all = || links.iter().flatten();
    columns.plain("hop.kind", all().map(|hop| hop.kind));
    columns.plain("hop.flits", all().map(|hop| hop.flits));
    columns.plain("hop.channel", all().map(|hop| hop.channel));
    columns.deltas("hop.packets", all().map(|hop| hop.packets));
    columns.deltas("hop.begin", all().map(|hop| hop.times.0));
    columns.plain("hop.time", all().map(|hop| hop.times.1 - hop.times.0));
}
