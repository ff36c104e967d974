// SPDX-License-Identifier: MIT OR Apache-2.0
//! JSON head of a page, before the columns.

use gyre_timeline::Recording;
use gyre_why::{Analysis, Kind, Place};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::columns::{Column, Columns};
use crate::failure::Failure;
use crate::messages::{ROLES, STAGES};
use crate::page::{Page, Run};
use crate::run::WHYS;

/// Changes when the page would not understand what an older one did.
const FORMAT: u32 = 1;

/// The head.
#[derive(Serialize)]
pub(crate) struct Head<'a> {
    format: u32,
    title: &'a str,
    shape: &'a [u16],
    mesh: &'a [bool],
    command: &'a str,
    numbers_machines: bool,
    figures: Option<&'a Map<String, Value>>,
    failure: Option<&'a Failure>,
    whys: Vec<&'static str>,
    roles: Vec<&'static str>,
    stages: Vec<&'static str>,
    kinds: Vec<&'static str>,
    runs: Vec<RunHead<'a>>,
}

/// Head of a run.
#[derive(Serialize)]
struct RunHead<'a> {
    cycle_ps: u64,
    link_ps: u64,
    start_ps: u64,
    end_ps: u64,
    nodes: u32,
    operations: &'a [&'static str],
    /// Node, number, name, task.
    threads: Vec<Value>,
    /// Node, port, receiving node, name.
    links: Vec<Value>,
    analysis: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unanalysed: Option<&'a str>,
    columns: &'a [Column],
    /// Bytes of the columns.
    bytes: usize,
}

impl<'a> Head<'a> {
    /// Head of a page whose runs have these columns.
    pub(crate) fn of(page: &'a Page<'a>, columns: &'a [Columns]) -> Self {
        Self {
            format: FORMAT,
            title: page.title,
            shape: page.shape,
            mesh: page.mesh,
            command: page.command,
            numbers_machines: page.numbers_machines,
            figures: page.figures,
            failure: page.failure,
            whys: WHYS.iter().map(|why| why.name()).collect(),
            roles: ROLES.iter().map(|role| role.name()).collect(),
            stages: STAGES.iter().map(|stage| stage.name()).collect(),
            kinds: Kind::ALL.iter().map(|kind| kind.name()).collect(),
            runs: page
                .runs
                .iter()
                .zip(columns)
                .map(|(run, columns)| RunHead::of(run, columns))
                .collect(),
        }
    }
}

impl<'a> RunHead<'a> {
    fn of(run: &'a Run<'a>, columns: &'a Columns) -> Self {
        let recording = run.recording;
        let threads = recording.threads.iter();
        let links = recording.links.iter();
        Self {
            cycle_ps: recording.cycle_ps,
            link_ps: recording.link_ps,
            start_ps: recording.start_ps,
            end_ps: recording.end_ps,
            nodes: recording.nodes,
            operations: &recording.operations,
            threads: threads
                .map(|t| json!([t.node, t.number, t.name, t.task]))
                .collect(),
            links: links
                .map(|l| json!([l.node, l.port, l.to, l.name]))
                .collect(),
            analysis: run.analysis.map(|analysis| found(recording, analysis)),
            unanalysed: run.unanalysed,
            columns: &columns.names,
            bytes: columns.bytes.len(),
        }
    }
}

/// An analysis. A place is a thread, or two nodes.
fn found(recording: &Recording, analysis: &Analysis) -> Value {
    let number = |kind: Kind| Kind::ALL.iter().position(|&other| other == kind);
    let path = analysis.path.iter().map(|segment| {
        let place = match segment.place {
            Place::Thread(thread) => json!(thread),
            Place::Nodes { from, to } => json!([from, to]),
        };
        json!([
            segment.from_ps,
            segment.to_ps - segment.from_ps,
            number(segment.kind),
            segment.what,
            place,
            segment.message,
        ])
    });
    let ranks = analysis.ranks.iter();
    let causes = analysis.causes.iter();
    json!({
        "from_ps": analysis.from_ps.max(recording.start_ps),
        "to_ps": analysis.to_ps,
        "verdict": analysis.verdict,
        "path": path.collect::<Vec<_>>(),
        "ranks": ranks.map(|r| json!([r.rank, r.times])).collect::<Vec<_>>(),
        "causes": causes.map(|c| json!([c.text, c.gain_ps])).collect::<Vec<_>>(),
    })
}
