// SPDX-License-Identifier: MIT OR Apache-2.0
//! Causes of delay of a message in each of its stages.

use std::collections::BTreeMap;

use gyre_timeline::{How, Message, Stage, Stages};

use crate::graph::Graph;
use crate::lanes::{Lane, Step};
use crate::streams::overlap;

/// A message with what held it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// Its serial.
    pub serial: u64,
    /// Picoseconds from post to done.
    pub total_ps: u64,
    /// Its stages, in order of time. They add up to the total.
    pub stages: Vec<ExplainedStage>,
}

/// A stage of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedStage {
    /// Which.
    pub stage: Stage,
    /// Its picoseconds.
    pub ps: u64,
    /// Activities that it waited for, longest first: in words, and picoseconds.
    pub blame: Vec<(String, u64)>,
}

/// Most activities named for a stage.
const BLAMED: usize = 3;

impl Explained {
    /// The messages of these serials; without those that were not done when the recording ended.
    pub(crate) fn all(graph: &Graph, serials: &[u64]) -> Vec<Self> {
        let all = graph.messages.all();
        let chosen = serials
            .iter()
            .filter_map(|&serial| all.get(serial.checked_sub(1)? as usize));
        chosen
            .filter_map(|message| explain(graph, message))
            .collect()
    }
}

fn explain(graph: &Graph, message: &Message) -> Option<Explained> {
    let stages = Stages::of(graph.messages, message)?;
    let mut from_ps = message.posted_ps;
    let explained = stages.times().map(|(stage, ps)| {
        let span = (from_ps, from_ps + ps);
        from_ps += ps;
        ExplainedStage {
            stage,
            ps,
            blame: blame(graph, message, stage, span),
        }
    });
    Some(Explained {
        serial: message.serial,
        total_ps: stages.total_ps(),
        stages: explained.collect(),
    })
}

fn blame(graph: &Graph, message: &Message, stage: Stage, span: (u64, u64)) -> Vec<(String, u64)> {
    // Who asks for data is its destination.
    let asks = matches!(message.how, How::Get);
    let (source, destination) = (message.source.task, message.destination.task);
    let mut found = match stage {
        Stage::Queue | Stage::Start if asks => threads(graph, destination, span, false),
        Stage::Queue | Stage::Start => threads(graph, source, span, false),
        Stage::WaitForReceive => threads(graph, destination, span, true),
        Stage::Reception | Stage::Match | Stage::Ask | Stage::Deliver => {
            threads(graph, destination, span, false)
        }
        Stage::Fetch | Stage::ServeRequest => Vec::new(),
        Stage::Inject | Stage::Network => {
            let streams = [message.first, message.data];
            links(graph, &streams, span)
        }
        Stage::InjectRequest | Stage::RequestNetwork => links(
            graph,
            &[if asks { message.first } else { message.asked }],
            span,
        ),
        Stage::DataNetwork => links(graph, &[message.answer], span),
    };
    found.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
    found.truncate(BLAMED);
    found
}

/// Activities of a task's threads: of those that only advance contexts, unless `all` are asked for or there are none.
fn threads(graph: &Graph, task: u32, span: (u64, u64), all: bool) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    let lanes = graph.lanes.iter().enumerate();
    let own = lanes.filter(|(_, lane)| lane.task == Some(task));
    let computes = |lane: &Lane| lane.steps.contains(&Step::Compute);
    let all = all || own.clone().all(|(_, lane)| computes(lane));
    for (index, lane) in own.filter(|(_, lane)| all || !computes(lane)) {
        let mut times: BTreeMap<&'static str, u64> = BTreeMap::new();
        let first = lane.point_at(span.0);
        let steps = lane.points.windows(2).zip(&lane.steps).skip(first);
        for (points, step) in steps.take_while(|(points, _)| points[0] < span.1) {
            if !matches!(step, Step::Wait { .. }) {
                let (_, what) = graph.describe_step(step);
                *times.entry(what).or_default() += overlap((points[0], points[1]), span);
            }
        }
        let name = &graph.recording.threads[index].name;
        found.extend(
            times
                .into_iter()
                .map(|(what, ps)| (format!("{name}: {what}"), ps)),
        );
    }
    found
}

/// Messages whose packets held the links that these streams waited for.
fn links(graph: &Graph, streams: &[Option<usize>], span: (u64, u64)) -> Vec<(String, u64)> {
    let mut times: BTreeMap<(Option<u64>, usize), u64> = BTreeMap::new();
    for &stream in streams.iter().flatten() {
        for blame in graph.streams.blame(stream, span) {
            let serial = blame.stream.and_then(|other| graph.serial(other as u32));
            *times.entry((serial, blame.link)).or_default() += blame.ps;
        }
    }
    let words = |((serial, link), ps): ((Option<u64>, usize), u64)| {
        let link = &graph.recording.links[link];
        let who = match serial {
            Some(serial) => format!("message {serial}"),
            None => "control messages".to_owned(),
        };
        (format!("node{} {}: {who}", link.node, link.name), ps)
    };
    times.into_iter().map(words).collect()
}
