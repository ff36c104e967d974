// SPDX-License-Identifier: MIT OR Apache-2.0
//! Large machines, one dimension at a time.

use crate::graph::{Report, exhaustive};
use crate::rules::{Fault, Rules};
use crate::torus::Torus;

/// Checks each dimension of `torus` as a machine of its own. None if `rules` make the dimensions depend on each
/// other: nodes of unequal order, channels entered anew while others are held, no deterministic channel at all.
///
/// It suffices because a deterministic channel of dimension `d` is followed by one of `d`, or of a dimension that
/// comes later in the order all nodes share, and within `d` the route depends on coordinates of `d` alone: a cycle
/// would lie in one dimension. In a ring of two it depends on the others too, but a packet takes one link there. Classes are joined at the ejection of requests alone, which leads to
/// responses, and these lead to no request. Places of flows are waited for at their own node alone.
pub fn decomposed(torus: &Torus, rules: &Rules) -> Option<Report> {
    let independent = !matches!(
        rules.fault,
        Some(Fault::Order | Fault::CutThrough | Fault::Escape)
    );
    independent.then(|| {
        let mut total = Report::default();
        for d in 0..torus.dims() {
            let line = Torus::new(&[(torus.size(d), torus.ring(d))]);
            let one = exhaustive(&line, rules);
            total.resources += one.resources;
            total.dependencies += one.dependencies;
            if total.cycle.is_empty() {
                total.cycle = one.cycle;
            }
        }
        total
    })
}
