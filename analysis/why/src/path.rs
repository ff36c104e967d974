// SPDX-License-Identifier: MIT OR Apache-2.0
//! The critical path.

use crate::graph::Graph;
use crate::segment::{Kind, Segment};

/// The critical path that ends at a point: what each point has waited for last, back to the begin of the recording.
pub(crate) fn to(graph: &Graph, end: u32) -> Vec<Segment> {
    let mut segments = Vec::new();
    back(graph, end, graph.recording.start_ps, |segment| {
        segments.push(segment);
    });
    segments.reverse();
    segments.dedup_by(|later, earlier| {
        let same = |s: &Segment| (s.kind, s.what, s.place, s.message);
        let joined = same(later) == same(earlier);
        if joined {
            earlier.to_ps = later.to_ps;
        }
        joined
    });
    segments
}

/// Walks the critical path from a point back to `from_ps`, piece by piece. Pieces abut.
pub(crate) fn back(graph: &Graph, end: u32, from_ps: u64, mut piece: impl FnMut(Segment)) {
    let mut at = end;
    while graph.ps(at) > from_ps {
        let (ps, place) = (graph.ps(at), graph.place(at));
        let Some(edge) = graph.decisive(at) else {
            // Nothing is known of what was before.
            piece(Segment {
                from_ps,
                to_ps: ps,
                kind: Kind::Other,
                what: "unknown",
                place,
                message: None,
            });
            return;
        };
        let before_ps = graph.ps(edge.from);
        let (kind, what) = graph.describe(&edge.work);
        if before_ps < ps {
            piece(Segment {
                from_ps: before_ps.max(from_ps),
                to_ps: ps,
                kind,
                what,
                place,
                message: edge.stream.and_then(|stream| graph.serial(stream)),
            });
        }
        at = edge.from;
    }
}
