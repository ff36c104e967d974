// SPDX-License-Identifier: MIT OR Apache-2.0
//! The messages of a run, and the packets that they took, as columns.

use gyre_timeline::{How, Messages, Role, Stage, Stages};

use crate::columns::Columns;

/// Names of roles of packets, by their number in a column.
pub(crate) const ROLES: [Role; 7] = [
    Role::Eager,
    Role::RequestToSend,
    Role::RemoteGet,
    Role::GetData,
    Role::Put,
    Role::Acknowledgement,
    Role::Control,
];

/// Names of stages, by their number in a column.
pub(crate) const STAGES: [Stage; 14] = [
    Stage::Queue,
    Stage::Start,
    Stage::Fetch,
    Stage::Inject,
    Stage::Network,
    Stage::Reception,
    Stage::Match,
    Stage::WaitForReceive,
    Stage::Ask,
    Stage::InjectRequest,
    Stage::RequestNetwork,
    Stage::ServeRequest,
    Stage::DataNetwork,
    Stage::Deliver,
];

/// A place in a list, or none.
fn place(index: Option<usize>) -> u64 {
    index.map_or(0, |index| index as u64 + 1)
}

/// The number of an element of a list.
pub(crate) fn number<T: PartialEq>(list: &[T], wanted: &T) -> u64 {
    let found = list.iter().position(|element| element == wanted);
    found.unwrap_or(list.len()) as u64
}

/// Adds the messages.
pub(crate) fn add(columns: &mut Columns, messages: &Messages) {
    let all = messages.all();
    let hows = [How::Send, How::Put, How::Get];
    columns.plain("message.how", all.iter().map(|m| number(&hows, &m.how)));
    let ends = [
        ("message.from", "message.from_client", "message.from_offset"),
        ("message.to", "message.to_client", "message.to_offset"),
    ];
    for (end, (task, client, offset)) in ends.into_iter().enumerate() {
        let contexts = || all.iter().map(move |m| [m.source, m.destination][end]);
        columns.plain(task, contexts().map(|at| at.task.into()));
        columns.plain(client, contexts().map(|at| at.client.into()));
        columns.plain(offset, contexts().map(|at| at.offset.into()));
    }
    columns.plain("message.tag", all.iter().map(|m| m.tag.into()));
    columns.plain("message.bytes", all.iter().map(|m| m.bytes.into()));
    columns.deltas("message.posted", all.iter().map(|m| m.posted_ps));
    let mut times = |name, of: fn(&gyre_timeline::Message) -> Option<u64>| {
        columns.optional(name, all.iter().map(|m| (of(m), m.posted_ps)));
    };
    times("message.started", |m| m.started_ps);
    times("message.unexpected", |m| m.unexpected_ps);
    times("message.matched", |m| m.matched_ps);
    times("message.done", |m| m.done_ps);
    times("message.acknowledged", |m| m.acknowledged_ps);
    columns.plain("message.first", all.iter().map(|m| place(m.first)));
    columns.plain("message.data", all.iter().map(|m| place(m.data)));
    columns.plain("message.asked", all.iter().map(|m| place(m.asked)));
    columns.plain("message.answer", all.iter().map(|m| place(m.answer)));

    let stages: Vec<Vec<(Stage, u64)>> = all
        .iter()
        .map(|m| Stages::of(messages, m).map_or_else(Vec::new, |s| s.times().collect()))
        .collect();
    columns.plain("message.stages", stages.iter().map(|s| s.len() as u64));
    let flat = || stages.iter().flatten();
    columns.plain(
        "stage.what",
        flat().map(|(stage, _)| number(&STAGES, stage)),
    );
    columns.plain("stage.time", flat().map(|&(_, ps)| ps));
}

/// Adds the packets, those of messages and others.
pub(crate) fn add_packets(columns: &mut Columns, messages: &Messages) {
    let all = messages.packets();
    columns.plain("packets.role", all.iter().map(|p| number(&ROLES, &p.role)));
    columns.plain("packets.id", all.iter().map(|p| p.id.into()));
    columns.plain("packets.flits", all.iter().map(|p| p.flits));
    columns.deltas("packets.queued", all.iter().map(|p| p.queued_ps));
    let mut times = |name, of: fn(&gyre_timeline::Packets) -> Option<u64>| {
        columns.optional(name, all.iter().map(|p| (of(p), p.queued_ps)));
    };
    times("packets.tail", |p| p.tail_ps);
    times("packets.fetched", |p| p.fetched_ps);
    times("packets.head", |p| p.head_ps);
    times("packets.arrived", |p| p.arrived_ps);
    times("packets.first_taken", |p| p.first_taken_ps);
    times("packets.last_taken", |p| p.last_taken_ps);
    columns.plain(
        "packets.messages",
        all.iter().map(|p| p.messages.len() as u64),
    );
    let served = all.iter().flat_map(|p| &p.messages);
    columns.deltas("packets.message", served.map(|&m| m as u64));
}
