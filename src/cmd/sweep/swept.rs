// SPDX-License-Identifier: MIT OR Apache-2.0
//! Result of a sweep.

use gyre::outcome::SimFigures;
use serde::Serialize;
use serde_json::{Map, Value};

use super::curve::Curve;

/// A sweep that has run.
#[derive(Debug, Serialize)]
pub struct Swept {
    /// Bench or program.
    pub(super) sweep: String,
    /// Version of Gyre.
    pub(super) version: &'static str,
    /// Parameters of the first point; axes change them from point to point.
    pub(super) params: Map<String, Value>,
    /// Keys of the axes, the one along the curves last.
    pub(super) axes: Vec<String>,
    /// Figures that are shown.
    pub(super) show: Vec<String>,
    /// The curves, in the order of their values.
    pub(super) curves: Vec<Curve>,
    /// Extent and speed of the simulation: cycles of all points.
    pub(super) sim: SimFigures,
    /// The files that were written.
    #[serde(skip)]
    pub(super) files: Vec<String>,
    /// Whether every point verified itself.
    #[serde(skip)]
    pub(super) passed: bool,
}
