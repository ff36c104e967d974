// SPDX-License-Identifier: MIT OR Apache-2.0
//! Findings of `gyre why` for people.

use comfy_table::{CellAlignment, ContentArrangement};
use gyre::outcome::table;
use gyre_timeline::{Message, Messages};
use gyre_why::{Analysis, Explained, Kind};

use super::cycles::Cycles;
use super::figures::parts;
use super::prove::{CAUSES, Proof};

/// Columns of a terminal.
const TERMINAL: u16 = 80;

/// Kinds of segments of the critical path that people are shown.
const PARTS: usize = 6;

/// Slow messages that people are shown.
const SHOWN: usize = 5;

/// Ranks that people are shown.
const RANKS: usize = 16;

fn percent(ps: impl Into<u128>, total: impl Into<u128>) -> String {
    let (ps, total): (u128, u128) = (ps.into(), total.into());
    format!("{:.1} %", ps as f64 * 100.0 / total.max(1) as f64)
}

/// Findings for people: all, or those about one message where the user has `chosen` it.
pub(super) fn text(
    analysis: &Analysis,
    (messages, explained): (&Messages, &[Explained]),
    proofs: &[Proof],
    chosen: bool,
    cycles: Cycles,
) -> String {
    let mut parts = vec![format!("{}\n", analysis.verdict)];
    parts.push(kinds_text(analysis, cycles));
    parts.push(path_text(analysis, cycles));
    parts.push(causes_text(analysis, proofs, cycles));
    if !chosen {
        parts.push(ranks_text(analysis));
        parts.push(messages_text(messages, explained, cycles));
    }
    parts.extend(explained.first().map(|slowest| {
        let message = &messages.all()[slowest.serial as usize - 1];
        message_text(message, slowest, cycles)
    }));
    parts.join("\n")
}

fn kinds_text(analysis: &Analysis, cycles: Cycles) -> String {
    let (path, ranks) = (analysis.path_times(), analysis.rank_times());
    let (path_ps, ranks_ps): (u64, u128) = (path.iter().sum(), ranks.iter().sum());
    let mut kinds = table(&["", "critical path, cycles", "share", "all ranks, share"]);
    for ((kind, path), ranks) in Kind::ALL.iter().zip(path).zip(ranks) {
        if path > 0 || ranks > 0 {
            kinds.add_row(vec![
                kind.words().to_owned(),
                format!("{:.0}", cycles.of(path)),
                percent(path, path_ps),
                percent(ranks, ranks_ps),
            ]);
        }
    }
    kinds.add_row(vec![
        "program".to_owned(),
        format!("{:.0}", cycles.of(path_ps)),
        percent(path_ps, path_ps),
        percent(ranks_ps, ranks_ps),
    ]);
    format!("{kinds}\n")
}

fn path_text(analysis: &Analysis, cycles: Cycles) -> String {
    let total: u64 = analysis.path_times().iter().sum();
    let mut rows = table(&["critical path", "of", "cycles", "share"]);
    if let Some(column) = rows.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for (kind, what, ps) in parts(&analysis.path).into_iter().take(PARTS) {
        rows.add_row(vec![
            what.to_owned(),
            kind.words().to_owned(),
            format!("{:.0}", cycles.of(ps)),
            percent(ps, total),
        ]);
    }
    format!("{rows}\n")
}

fn causes_text(analysis: &Analysis, proofs: &[Proof], cycles: Cycles) -> String {
    let measured = !proofs.is_empty();
    let mut rows = table(match measured {
        true => &["what if", "predicted gain, cycles", "measured"],
        false => &["what if", "predicted gain, cycles"],
    });
    for (number, cause) in analysis.causes.iter().take(CAUSES).enumerate() {
        let mut row = vec![
            cause.text.clone(),
            format!("{:.0}", cycles.of(cause.gain_ps)),
        ];
        row.extend(proofs.get(number).map(|proof| {
            proof
                .cycles(cycles)
                .map_or_else(|| "not run".to_owned(), |gain| format!("{gain:.0}"))
        }));
        rows.add_row(row);
    }
    let left = proofs.iter().any(|proof| proof.cycles(cycles).is_none());
    let left = match left {
        true => "not run: what a process computes and sends is its own\n",
        false => "",
    };
    format!("{rows}\n{left}")
}

fn ranks_text(analysis: &Analysis) -> String {
    let kinds: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|&kind| analysis.rank_times()[kind as usize] > 0)
        .collect();
    let header: Vec<&str> = std::iter::once("rank")
        .chain(kinds.iter().map(|kind| kind.words()))
        .collect();
    let mut rows = table(&header);
    for rank in analysis.ranks.iter().take(RANKS) {
        let total: u64 = rank.times.iter().sum();
        let shares = kinds
            .iter()
            .map(|&kind| percent(rank.times[kind as usize], total));
        rows.add_row(std::iter::once(rank.rank.to_string()).chain(shares));
    }
    match analysis.ranks.len().checked_sub(RANKS) {
        Some(more) if more > 0 => format!("{rows}\n{more} more ranks: see --json\n"),
        _ => format!("{rows}\n"),
    }
}

fn messages_text(messages: &Messages, explained: &[Explained], cycles: Cycles) -> String {
    let mut rows = table(&[
        "slowest message",
        "from",
        "to",
        "bytes",
        "cycles",
        "most of it",
        "share",
    ]);
    for explained in explained.iter().take(SHOWN) {
        let message = &messages.all()[explained.serial as usize - 1];
        let Some(most) = explained.stages.iter().max_by_key(|stage| stage.ps) else {
            continue;
        };
        rows.add_row(vec![
            message.serial.to_string(),
            message.source.task.to_string(),
            message.destination.task.to_string(),
            message.bytes.to_string(),
            format!("{:.0}", cycles.of(explained.total_ps)),
            most.stage.words().to_owned(),
            percent(most.ps, explained.total_ps),
        ]);
    }
    format!("{rows}\n")
}

fn message_text(message: &Message, explained: &Explained, cycles: Cycles) -> String {
    let mut rows = table(&["stage", "cycles", "meanwhile"]);
    rows.set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(TERMINAL);
    if let Some(column) = rows.column_mut(2) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for stage in &explained.stages {
        let blame: Vec<String> = stage
            .blame
            .iter()
            .map(|(text, ps)| format!("{text} {:.0}", cycles.of(*ps)))
            .collect();
        rows.add_row(vec![
            stage.stage.words().to_owned(),
            format!("{:.0}", cycles.of(stage.ps)),
            blame.join("; "),
        ]);
    }
    rows.add_row(vec![
        "whole".to_owned(),
        format!("{:.0}", cycles.of(explained.total_ps)),
        String::new(),
    ]);
    format!(
        "message {} of {} bytes from rank {} to rank {}, tag {}\n{rows}\n",
        message.serial, message.bytes, message.source.task, message.destination.task, message.tag
    )
}
