// SPDX-License-Identifier: MIT OR Apache-2.0
//! Curves of a sweep as a picture.

use std::path::Path;

use gyre::options::unwritable;
use plotters::prelude::*;
use serde_json::Value;

/// Draws accepted over offered load of the points of `curve` into an SVG file.
///
/// # Errors
/// What went wrong with the file, in words.
pub(super) fn accepted_load(file: &Path, title: &str, curve: &[Value]) -> Result<(), String> {
    let load = |point: &Value, key: &str| point[key].as_f64().unwrap_or_default();
    let points: Vec<(f64, f64)> = curve
        .iter()
        .map(|point| (load(point, "offered_load"), load(point, "accepted_load")))
        .collect();
    let most = |axis: fn(&(f64, f64)) -> f64| points.iter().map(axis).fold(0.0, f64::max) * 1.05;
    let (offered, accepted) = (most(|point| point.0), most(|point| point.1));

    let mut picture = String::new();
    let mut draw = || -> Result<(), Box<dyn std::error::Error>> {
        let area = SVGBackend::with_string(&mut picture, (800, 500)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(title, ("sans-serif", 20))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(50)
            .build_cartesian_2d(0.0..offered, 0.0..accepted)?;
        chart
            .configure_mesh()
            .x_desc("offered load, flits a node and cycle")
            .y_desc("accepted load, flits a node and cycle")
            .draw()?;
        chart.draw_series(LineSeries::new(
            points.iter().copied(),
            BLUE.stroke_width(2),
        ))?;
        chart.draw_series(
            points
                .iter()
                .map(|&point| Circle::new(point, 3, BLUE.filled())),
        )?;
        area.present()?;
        Ok(())
    };
    draw().map_err(|error| unwritable("--plot", file, error))?;
    gyre_files::write(file, picture.as_bytes()).map_err(|error| unwritable("--plot", file, error))
}
