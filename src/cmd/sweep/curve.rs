// SPDX-License-Identifier: MIT OR Apache-2.0
//! Curves: points along one axis, with the values of the others.

use gyre::options::parse_shape;
use gyre::outcome::Outcome;
use serde::Serialize;
use serde_json::{Map, Value};

use super::axis::Range;
use crate::cmd::values::{json_value, scalars, text_of};

/// Times the least latency of a curve beyond which it is not looked at: beyond saturation it grows with the measured cycles.
const CEILING: f64 = 8.0;

/// The points of one combination of values of the other axes.
#[derive(Debug, Serialize)]
pub(super) struct Curve {
    /// The other axes, with their values.
    pub(super) values: Map<String, Value>,
    /// Its points, by their value.
    points: Vec<Point>,
}

/// A point.
#[derive(Debug, Serialize)]
pub(super) struct Point {
    /// Its value on the axis along the curve; null without axes.
    pub(super) value: Value,
    /// Its figures that are no lists.
    pub(super) metrics: Map<String, Value>,
    /// State hash of its machines.
    pub(super) hash: String,
    /// Hash of its RTL.
    pub(super) rtl_digest: Value,
    /// Cycles that it was simulated for.
    pub(super) cycles: u64,
    #[serde(skip)]
    pub(super) node_cycles: u64,
    #[serde(skip)]
    pub(super) passed: bool,
}

impl Point {
    /// Place on the axis.
    pub(super) fn x(&self) -> Option<f64> {
        self.value.as_f64()
    }

    /// A figure, where it is a number.
    pub(super) fn figure(&self, name: &str) -> Option<f64> {
        self.metrics.get(name)?.as_f64()
    }
}

impl Curve {
    /// A curve without points; `values` are those of all `keys` but the last.
    pub(super) fn new(keys: &[&str], values: &[String]) -> Self {
        let values = keys.iter().zip(values);
        Self {
            values: values
                .map(|(&key, value)| (key.into(), json_value(value)))
                .collect(),
            points: Vec::new(),
        }
    }

    /// Name of the curve: the values of the other axes.
    pub(super) fn name(&self) -> String {
        let values: Vec<String> = self.values.values().map(text_of).collect();
        values.join(" ")
    }

    pub(super) fn points(&self) -> impl Iterator<Item = &Point> {
        self.points.iter()
    }

    /// Adds a point, in its place among numbers and last among others.
    pub(super) fn add(&mut self, value: Option<&str>, outcome: &Outcome) {
        let value = value.map_or(Value::Null, json_value);
        let shape = parse_shape(&outcome.shape).into_iter().flatten();
        let nodes: u64 = shape.map(u64::from).product();
        let point = Point {
            metrics: scalars(&outcome.metrics),
            hash: outcome.hash.clone(),
            rtl_digest: outcome
                .params
                .get("rtl_digest")
                .cloned()
                .unwrap_or_default(),
            cycles: outcome.sim.cycles,
            node_cycles: outcome.sim.cycles * nodes,
            passed: outcome.passed,
            value,
        };
        let place = match point.x() {
            Some(x) => self
                .points
                .partition_point(|other| other.x().is_some_and(|other| other <= x)),
            None => self.points.len(),
        };
        self.points.insert(place, point);
    }

    /// The value that comes next: half way along the longest piece of the curves of the figures `show`, as they look in a
    /// square. None where no number is left between two points.
    pub(super) fn next(&self, range: &Range, show: &[String]) -> Option<String> {
        let mut longest = None;
        for (left, right) in self.points.iter().zip(self.points.iter().skip(1)) {
            let (from, to) = (left.x()?, right.x()?);
            let Some(middle) = range.between(from, to) else {
                continue;
            };
            let length = show
                .iter()
                .map(|name| self.length(name, left, right))
                .fold(0.0, f64::max);
            if longest.as_ref().is_none_or(|&(most, _)| length > most) {
                longest = Some((length, middle));
            }
        }
        longest.map(|(_, middle)| middle)
    }

    /// The value of a figure up to which its curve is looked at.
    pub(super) fn ceiling(&self, name: &str) -> f64 {
        if !name.starts_with("latency") {
            return f64::INFINITY;
        }
        let figures = self.points.iter().filter_map(|point| point.figure(name));
        CEILING * figures.fold(f64::INFINITY, f64::min)
    }

    /// Length of a piece of the curve of a figure, which fills a square of side 1.
    fn length(&self, name: &str, left: &Point, right: &Point) -> f64 {
        let share = |values: (Option<f64>, Option<f64>), all: &mut dyn Iterator<Item = f64>| {
            let (least, most) = all.fold((f64::MAX, f64::MIN), |(least, most), value| {
                (least.min(value), most.max(value))
            });
            match values {
                (Some(from), Some(to)) if least < most => (to - from) / (most - least),
                _ => 0.0,
            }
        };
        let x = share(
            (left.x(), right.x()),
            &mut self.points.iter().filter_map(Point::x),
        );
        let most = self.ceiling(name);
        let figure = |point: &Point| Some(point.figure(name)?.min(most));
        let y = share(
            (figure(left), figure(right)),
            &mut self.points.iter().filter_map(figure),
        );
        x.hypot(y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::sweep::axis;
    use gyre::options::MachineOptions;

    fn point(x: f64, y: f64) -> Point {
        Point {
            value: x.into(),
            metrics: Map::from_iter([("y".to_owned(), y.into())]),
            rtl_digest: Value::Null,
            hash: String::new(),
            cycles: 0,
            node_cycles: 0,
            passed: true,
        }
    }

    fn range() -> Range {
        let options = MachineOptions {
            set: vec!["x=0.5:4.5".into()],
            ..MachineOptions::default()
        };
        let (axes, _) = axis::split(&options).expect("a range");
        match axes[0].points {
            axis::Points::Range(range) => range,
            axis::Points::List(_) => panic!("a range"),
        }
    }

    #[test]
    fn x7_points_are_added_where_the_curve_is_steep() {
        let curve = Curve {
            values: Map::new(),
            points: vec![
                point(0.0, 1.0),
                point(1.0, 1.0),
                point(2.0, 90.0),
                point(3.0, 100.0),
            ],
        };
        let next = curve.next(&range(), &["y".to_owned()]);
        assert_eq!(next.as_deref(), Some("1.5"));
        // A figure that no point has leaves the distances on the axis.
        let next = curve.next(&range(), &["z".to_owned()]);
        assert_eq!(next.as_deref(), Some("0.5"));
    }
}
