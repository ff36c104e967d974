// SPDX-License-Identifier: MIT OR Apache-2.0
//! Curves of a sweep as a picture.

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use epaint_default_fonts::UBUNTU_LIGHT;
use gyre::error::RunError;
use gyre::options::unwritable;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

use super::curve::{Curve, Point};
use super::swept::Swept;

/// Colours that people tell apart whatever colours they see (Okabe and Ito).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// Width of the picture and height of a panel, in pixels.
const PANEL: (u32, u32) = (800, 340);

/// Draws a panel for each figure that is shown, with all curves, as the file's ending says: PNG, else SVG.
///
/// # Errors
/// A file that cannot be written.
pub(super) fn draw(swept: &Swept, file: &Path) -> Result<(), RunError> {
    let wrong = |error: &dyn std::fmt::Display| RunError::Output(unwritable("--plot", file, error));
    // Systems differ in their fonts, and some have none: this one says how wide words are, and draws those of a PNG.
    register_font("sans-serif", FontStyle::Normal, UBUNTU_LIGHT)
        .map_err(|_| wrong(&"the font cannot be read"))?;
    let picture = match file.extension().is_some_and(|ending| ending == "png") {
        true => png(swept),
        false => svg(swept),
    };
    let picture = picture.map_err(|error| wrong(&error))?;
    gyre_files::write(file, &picture).map_err(|error| wrong(&error))
}

/// Size in pixels.
fn size(swept: &Swept) -> (u32, u32) {
    (PANEL.0, PANEL.1 * swept.show.len().max(1) as u32)
}

fn svg(swept: &Swept) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut picture = String::new();
    let area = SVGBackend::with_string(&mut picture, size(swept)).into_drawing_area();
    draw_panels(&area, swept)?;
    drop(area);
    Ok(picture.into_bytes())
}

fn png(swept: &Swept) -> Result<Vec<u8>, Box<dyn Error>> {
    let (width, height) = size(swept);
    let mut pixels = vec![0; (3 * width * height) as usize];
    let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
    draw_panels(&area, swept)?;
    drop(area);
    let mut picture = Vec::new();
    let mut encoder = png::Encoder::new(&mut picture, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(picture)
}

fn draw_panels<B>(area: &DrawingArea<B, Shift>, swept: &Swept) -> Result<(), Box<dyn Error>>
where
    B: DrawingBackend<ErrorType: 'static>,
{
    area.fill(&WHITE)?;
    let panels = area.split_evenly((swept.show.len().max(1), 1));
    for (panel, name) in panels.iter().zip(&swept.show) {
        draw_panel(panel, swept, name)?;
    }
    area.present()?;
    Ok(())
}

fn draw_panel<B>(
    panel: &DrawingArea<B, Shift>,
    swept: &Swept,
    name: &str,
) -> Result<(), Box<dyn Error>>
where
    B: DrawingBackend<ErrorType: 'static>,
{
    let ceilings = swept.curves.iter().map(|curve| curve.ceiling(name));
    let most = ceilings.fold(f64::MIN, f64::max);
    let lines: Vec<Vec<(f64, f64)>> = swept
        .curves
        .iter()
        .map(|curve| line(curve, name, most))
        .collect();
    // All panels have the same axis.
    let points = swept.curves.iter().flat_map(Curve::points);
    let x = span(points.filter_map(Point::x));
    let y = span(lines.iter().flatten().map(|point| point.1));
    let mut chart = ChartBuilder::on(panel)
        .caption(format!("{}: {name}", swept.sweep), ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d(x, y)?;
    let along = swept.axes.last().map_or("", String::as_str);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc(along)
        .y_desc(name)
        .draw()?;
    for (number, (curve, line)) in swept.curves.iter().zip(&lines).enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let drawn = chart.draw_series(LineSeries::new(
            line.iter().copied(),
            colour.stroke_width(2),
        ))?;
        if !curve.values.is_empty() {
            drawn.label(curve.name()).legend(move |(x, y)| {
                PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2))
            });
        }
        chart.draw_series(line.iter().map(|&point| marker(number, point, colour)))?;
    }
    if swept.curves.iter().any(|curve| !curve.values.is_empty()) {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()?;
    }
    Ok(())
}

/// Marks of curves differ in form, too.
fn marker<B: DrawingBackend>(
    number: usize,
    point: (f64, f64),
    colour: RGBColor,
) -> DynElement<'static, B, (f64, f64)> {
    match number % 3 {
        0 => Circle::new(point, 3, colour.filled()).into_dyn(),
        1 => TriangleMarker::new(point, 5, colour.filled()).into_dyn(),
        _ => Cross::new(point, 4, colour.stroke_width(2)).into_dyn(),
    }
}

/// The points of a curve up to a value; there a piece that goes beyond it ends.
fn line(curve: &Curve, name: &str, most: f64) -> Vec<(f64, f64)> {
    let points = curve.points();
    let points = points.filter_map(|point| point.x().zip(point.figure(name)));
    let mut line: Vec<(f64, f64)> = Vec::new();
    for (x, y) in points {
        if y <= most {
            line.push((x, y));
            continue;
        }
        if let Some(&(before, under)) = line.last() {
            line.push((before + (x - before) * (most - under) / (y - under), most));
        }
        break;
    }
    line
}

/// From 0, or the least if it is below, to a little beyond the most.
fn span(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (least, most) = values.fold((0.0_f64, 0.0_f64), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    let most = if least < most { most } else { least + 1.0 };
    least * 1.05..most * 1.05
}
