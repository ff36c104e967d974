// SPDX-License-Identifier: MIT OR Apache-2.0
//! Findings of `gyre why` as figures.

use gyre::outcome::object;
use gyre_timeline::Message;
use gyre_why::{Analysis, Explained, Kind, Segment};
use serde_json::{Map, Value, json};

use super::cycles::Cycles;
use super::observed::Observed;
use super::prove::Proof;

/// Name and share of each kind that is there.
fn shares(times: [impl Into<u128>; Kind::ALL.len()]) -> Map<String, Value> {
    let times = times.map(Into::into);
    let total: u128 = times.iter().sum();
    let share = |ps: u128| ps as f64 / total.max(1) as f64;
    let all = Kind::ALL.iter().zip(times);
    all.map(|(kind, ps)| (kind.name().to_owned(), share(ps).into()))
        .collect()
}

/// Parts of the critical path by kind, longest first.
pub(super) fn parts(path: &[Segment]) -> Vec<(Kind, &'static str, u64)> {
    let mut parts: Vec<(Kind, &'static str, u64)> = Vec::new();
    for segment in path {
        let ps = segment.to_ps - segment.from_ps;
        let own = |part: &&mut (Kind, &'static str, u64)| {
            (part.0, part.1) == (segment.kind, segment.what)
        };
        match parts.iter_mut().find(own) {
            Some(part) => part.2 += ps,
            None => parts.push((segment.kind, segment.what, ps)),
        }
    }
    parts.sort_by_key(|&(kind, what, ps)| (std::cmp::Reverse(ps), kind, what));
    parts
}

/// Figures of a run.
pub(super) fn metrics(
    observed: &Observed,
    analysis: &Analysis,
    explained: &[Explained],
    proofs: &[Proof],
    cycles: Cycles,
) -> Map<String, Value> {
    let messages = &observed.messages;
    let path_ps: u64 = analysis.path_times().iter().sum();
    let per_rank = analysis.ranks.iter().map(|rank| {
        let mut row = object(json!({"rank": rank.rank}));
        row.append(&mut shares(rank.times));
        Value::Object(row)
    });
    let critical_path = parts(&analysis.path).into_iter().map(|(kind, what, ps)| {
        json!({"kind": kind.name(), "what": what, "cycles": cycles.of(ps), "ps": ps})
    });
    let told = explained.iter().map(|explained| {
        let message = &messages.all()[explained.serial as usize - 1];
        message_json(message, explained, cycles)
    });
    let causes = analysis.causes.iter().enumerate().map(|(number, cause)| {
        json!({
            "cause": cause.text,
            "predicted_cycles": cycles.of(cause.gain_ps),
            "measured_cycles": proofs.get(number).and_then(|proof| proof.cycles(cycles)),
        })
    });
    let causes: Vec<Value> = match proofs.len() {
        0 => causes.collect(),
        proven => causes.take(proven).collect(),
    };
    object(json!({
        "makespan_cycles": observed.ended.makespan_cycles,
        "makespan_ps": observed.ended.makespan_ps,
        "critical_path_cycles": path_ps.div_ceil(cycles.0),
        "critical_path_ps": path_ps,
        "verdict": analysis.verdict,
        "shares": shares(analysis.rank_times()),
        "critical_path_shares": shares(analysis.path_times()),
        "critical_path": critical_path.collect::<Vec<_>>(),
        "per_rank": per_rank.collect::<Vec<_>>(),
        "causes": causes,
        "messages": told.collect::<Vec<_>>(),
    }))
}

fn message_json(message: &Message, explained: &Explained, cycles: Cycles) -> Value {
    let stages = |of: &dyn Fn(u64) -> Value| -> Map<String, Value> {
        let all = explained.stages.iter();
        all.map(|stage| (stage.stage.name().to_owned(), of(stage.ps)))
            .collect()
    };
    let blame = explained.stages.iter().flat_map(|stage| {
        stage.blame.iter().map(
            |(text, ps)| json!({"stage": stage.stage.name(), "by": text, "cycles": cycles.of(*ps)}),
        )
    });
    json!({
        "message": message.serial,
        "source": message.source.task,
        "destination": message.destination.task,
        "tag": message.tag,
        "bytes": message.bytes,
        "posted_ps": message.posted_ps,
        "cycles": cycles.of(explained.total_ps),
        "ps": explained.total_ps,
        "stages": stages(&|ps| cycles.of(ps).into()),
        "stages_ps": stages(&|ps| ps.into()),
        "blame": blame.collect::<Vec<_>>(),
    })
}
