// SPDX-License-Identifier: MIT OR Apache-2.0
//! Analysis of a run.

use gyre_timeline::{Messages, Recording};

use crate::causes::{self, Cause};
use crate::explain::Explained;
use crate::graph::Graph;
use crate::path;
use crate::ranks::{self, RankTime};
use crate::segment::{Kind, Segment};

/// Analyses a run of a program, and explains these of its messages, by their serials; none where [`Analysis::of`] has
/// none. Of messages it has none that were not done when the recording ended.
#[must_use]
pub fn explain(
    recording: &Recording,
    messages: &Messages,
    serials: &[u64],
) -> Option<(Analysis, Vec<Explained>)> {
    let graph = Graph::of(recording, messages);
    let analysis = Analysis::from_graph(&graph)?;
    Some((analysis, Explained::all(&graph, serials)))
}

/// Where the time of a run of a program went. Times are picoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// When the program began.
    pub from_ps: u64,
    /// When its last rank ended.
    pub to_ps: u64,
    /// The critical path, in order of time, without gap from begin to end.
    pub path: Vec<Segment>,
    /// By rank: where its time went, from begin to end.
    pub ranks: Vec<RankTime>,
    /// Causes that could be removed, largest gain first.
    pub causes: Vec<Cause>,
    /// In a sentence: what the program spent its time on, and the first cause.
    pub verdict: String,
}

impl Analysis {
    /// Analysis of a recording of a program with these messages; none for a recording in which no operation of a program
    /// has ended.
    #[must_use]
    pub fn of(recording: &Recording, messages: &Messages) -> Option<Self> {
        // That is told before anything is looked into.
        if !recording.has_program() {
            return None;
        }
        Self::from_graph(&Graph::of(recording, messages))
    }

    pub(crate) fn from_graph(graph: &Graph) -> Option<Self> {
        let recording = graph.recording;
        let ends = graph.ends();
        let (_, &last) = ends
            .iter()
            .max_by_key(|&(task, &point)| (graph.ps(point), std::cmp::Reverse(task)))?;
        let (from_ps, to_ps) = (recording.start_ps, graph.ps(last));
        let path = path::to(graph, last);
        let (ranks, late) = ranks::of(graph, &ends, to_ps);
        let causes = causes::of(graph, &path, &ends, &late);
        let mut analysis = Self {
            from_ps,
            to_ps,
            path,
            ranks,
            causes,
            verdict: String::new(),
        };
        analysis.verdict = analysis.sentence();
        Some(analysis)
    }

    /// Picoseconds of the critical path by kind, in the order of [`Kind::ALL`]. They add up to the time of the program.
    #[must_use]
    pub fn path_times(&self) -> [u64; Kind::ALL.len()] {
        let mut times = [0; Kind::ALL.len()];
        for segment in &self.path {
            times[segment.kind as usize] += segment.to_ps - segment.from_ps;
        }
        times
    }

    /// Picoseconds of all ranks by kind, in the order of [`Kind::ALL`].
    #[must_use]
    pub fn rank_times(&self) -> [u128; Kind::ALL.len()] {
        let mut times = [0; Kind::ALL.len()];
        for rank in &self.ranks {
            for (sum, time) in times.iter_mut().zip(rank.times) {
                *sum += u128::from(time);
            }
        }
        times
    }

    fn sentence(&self) -> String {
        let total = (self.to_ps - self.from_ps).max(1) as f64;
        let mut shares: Vec<(Kind, u64)> = Kind::ALL.into_iter().zip(self.path_times()).collect();
        shares.sort_by_key(|&(kind, ps)| (std::cmp::Reverse(ps), kind));
        let shares: Vec<String> = shares
            .into_iter()
            .filter(|&(_, ps)| ps as f64 / total >= 0.01)
            .map(|(kind, ps)| format!("{:.0} % {}", ps as f64 / total * 100.0, kind.words()))
            .collect();
        let first = self.causes.first().map(|cause| {
            let share = cause.gain_ps as f64 / total * 100.0;
            format!(" Most would be gained, {share:.1} %, by: {}.", cause.text)
        });
        format!(
            "The critical path is {}.{}",
            shares.join(", "),
            first.unwrap_or_default()
        )
    }
}
