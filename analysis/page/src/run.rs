// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of a run as columns: threads and links in the order of the recording's lists, each with its events in order of
//! time.

use std::collections::BTreeMap;

use gyre_timeline::{Event, Lane, Messages, Recording, What, Why};

use crate::columns::{Coding, Columns, Part};
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

/// Parts of `N` columns by places of `lanes`; events of other lanes are left out.
fn by_lane<const N: usize>(
    recording: &Recording,
    lanes: impl Iterator<Item = (u32, Lane)>,
    codings: [Coding; N],
    of: impl Fn(usize, &Event) -> Option<[u64; N]>,
) -> Vec<[Part; N]> {
    let places: BTreeMap<(u32, Lane), usize> = lanes.zip(0..).collect();
    let mut lists = vec![codings.map(Part::new); places.len()];
    for (event_number, event) in recording.events().enumerate() {
        if let Some(&place) = places.get(&(event.node, event.lane))
            && let Some(values) = of(event_number, &event)
        {
            for (part, value) in lists[place].iter_mut().zip(values) {
                part.push(value);
            }
        }
    }
    lists
}

/// Adds a column with the length of each list, and those of their parts.
fn add<const N: usize>(
    columns: &mut Columns,
    lengths: &'static str,
    parts: [(&'static str, Coding); N],
    lists: &[[Part; N]],
) {
    columns.plain(lengths, lists.iter().map(|list| list[0].count as u64));
    for (place, (name, coding)) in parts.into_iter().enumerate() {
        columns.joined(name, coding, lists.iter().map(|list| &list[place]));
    }
}

/// Activity of threads.
const SPANS: [(&str, Coding); 4] = [
    ("span.what", Coding::Plain),
    ("span.begin", Coding::Delta),
    ("span.time", Coding::Plain),
    ("span.count", Coding::Plain),
];

fn add_spans(columns: &mut Columns, recording: &Recording) {
    let lanes = recording
        .threads
        .iter()
        .map(|thread| (thread.node, Lane::Thread(thread.number)));
    let span = |_, event: &Event| {
        let (what, count) = match event.what {
            What::Spent { operation, count } => (operation.into(), count.into()),
            What::Waited { why, .. } => {
                (recording.operations.len() as u64 + number(&WHYS, &why), 1)
            }
            _ => return None,
        };
        Some([what, event.ps, event.end_ps - event.ps, count])
    };
    let threads = by_lane(recording, lanes, SPANS.map(|(_, coding)| coding), span);
    add(columns, "span.of_thread", SPANS, &threads);
}

/// Packets on links; each with the place of its descriptor in the list of packets.
const HOPS: [(&str, Coding); 6] = [
    ("hop.kind", Coding::Plain),
    ("hop.flits", Coding::Plain),
    ("hop.channel", Coding::Plain),
    ("hop.packets", Coding::Delta),
    ("hop.begin", Coding::Delta),
    ("hop.time", Coding::Plain),
];

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
        Some([
            kind.0.into(),
            flits.into(),
            channel.into(),
            packets.map_or(0, |index| index as u64 + 1),
            event.ps,
            event.end_ps - event.ps,
        ])
    };
    let links = by_lane(recording, lanes, HOPS.map(|(_, coding)| coding), hop);
    add(columns, "hop.of_link", HOPS, &links);
}
