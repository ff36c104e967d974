// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures of a sweep for people, and as comma-separated values.

use std::collections::BTreeSet;
use std::path::Path;

use gyre::error::RunError;
use gyre::options::unwritable;
use gyre::outcome::table;

use super::curve::{Curve, Point};
use super::swept::Swept;
use crate::cmd::values::{figure, text_of};

/// The sweep as a table, a row a point.
pub(super) fn text(swept: &Swept) -> String {
    // Units stand below names: a terminal has 80 columns.
    let below = |name: &String| match name.strip_suffix("_cycles") {
        Some(name) => format!("{name}\ncycles"),
        None => name.clone(),
    };
    let header: Vec<String> = swept
        .axes
        .iter()
        .cloned()
        .chain(swept.show.iter().map(below))
        .collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut rows = table(&header);
    let mut last: Vec<String> = Vec::new();
    for (curve, point) in all(swept) {
        let values: Vec<String> = curve.values.values().map(text_of).collect();
        // The values of a curve stand in its first row.
        let shown: Vec<String> = match values == last {
            true => values.iter().map(|_| String::new()).collect(),
            false => values.clone(),
        };
        last = values;
        let along = (!swept.axes.is_empty()).then(|| text_of(&point.value));
        let figures = swept.show.iter().map(|name| {
            let mark = match name.starts_with("latency") && rises(point) {
                true => " *",
                false => "",
            };
            figure(point.metrics.get(name)) + mark
        });
        rows.add_row(shown.into_iter().chain(along).chain(figures));
    }
    let drifts = all(swept).any(|(_, point)| rises(point));
    let note = match drifts {
        true => "* latency rises within the measured cycles: saturated, or warmup too short\n",
        false => "",
    };
    let files: String = swept.files.iter().map(|file| format!("{file}\n")).collect();
    let points = all(swept).count();
    format!(
        "sweep of {}\n{rows}\n{note}\n{points} point{}, {} cycles simulated in {:.2} s: {:.0} node-cycles/s, {} thread{}, {} model\n{files}",
        swept.sweep,
        plural(points),
        swept.sim.cycles,
        swept.sim.wall_s,
        swept.sim.node_cycles_per_s,
        swept.sim.threads,
        plural(swept.sim.threads),
        swept.sim.model,
    )
}

/// Latency of the second half of the measured cycles over that of the first from which on it is not steady.
const DRIFT: f64 = 1.1;

/// Whether latency rises within the measured cycles of a point.
fn rises(point: &Point) -> bool {
    point
        .figure("latency_drift")
        .is_some_and(|drift| drift > DRIFT)
}

const fn plural(count: usize) -> &'static str {
    match count {
        1 => "",
        _ => "s",
    }
}

/// Every point with its curve.
fn all(swept: &Swept) -> impl Iterator<Item = (&Curve, &Point)> {
    let curves = swept.curves.iter();
    curves.flat_map(|curve| curve.points().map(move |point| (curve, point)))
}

/// Writes all figures of all points: the axes, the figures by name, the hash.
///
/// # Errors
/// A file that cannot be written.
pub(super) fn write_csv(swept: &Swept, file: &Path) -> Result<(), RunError> {
    let wrong = |error: &dyn std::fmt::Display| RunError::Output(unwritable("--csv", file, error));
    let names: BTreeSet<&str> = all(swept)
        .flat_map(|(_, point)| point.metrics.keys().map(String::as_str))
        .collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let axes = swept.axes.iter().map(String::as_str);
    let mut records = vec![
        axes.chain(names.iter().copied())
            .chain(["hash", "rtl_digest", "version"])
            .map(String::from)
            .collect::<Vec<_>>(),
    ];
    for (curve, point) in all(swept) {
        let values = curve.values.values().map(text_of);
        let along = (!swept.axes.is_empty()).then(|| text_of(&point.value));
        let figures = names
            .iter()
            .map(|&name| point.metrics.get(name).map_or_else(String::new, text_of));
        let record = values.chain(along).chain(figures).chain([
            point.hash.clone(),
            text_of(&point.rtl_digest),
            swept.version.into(),
        ]);
        records.push(record.collect());
    }
    for record in records {
        writer.write_record(record).map_err(|error| wrong(&error))?;
    }
    let text = writer.into_inner().map_err(|error| wrong(&error))?;
    gyre_files::write(file, &text).map_err(|error| wrong(&error))
}
