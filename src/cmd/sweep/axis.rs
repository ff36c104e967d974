// SPDX-License-Identifier: MIT OR Apache-2.0
//! Axes: keys of `--set` with several values.

use std::collections::BTreeSet;

use gyre::options::{MachineOptions, UsageError};

/// Points of a range before those that it chooses.
const FIRST: usize = 9;

/// Points of a range that it chooses.
const CHOSEN: usize = 7;

/// Values of an axis, at most.
const MOST: usize = 10_000;

/// A key with its values.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    pub(super) key: String,
    pub(super) points: Points,
}

/// Values of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Points {
    /// These.
    List(Vec<String>),
    /// Some of a range.
    Range(Range),
}

/// A range of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    from: f64,
    to: f64,
    /// Its numbers are whole.
    whole: bool,
}

impl Range {
    /// The number of the range that is next to `value`.
    fn number(self, value: f64) -> f64 {
        match self.whole {
            true => value.round(),
            false => value,
        }
    }

    /// The number half way between two, as text; none where there is none.
    pub(super) fn between(self, from: f64, to: f64) -> Option<String> {
        let middle = text(self.number(f64::midpoint(from, to)));
        let value: f64 = middle.parse().ok()?;
        (from < value && value < to).then_some(middle)
    }

    /// Numbers at equal distances, both ends among them.
    fn first(self) -> Vec<String> {
        let step = (self.to - self.from) / (FIRST - 1) as f64;
        let numbers = (0..FIRST).map(|i| self.number(self.from + step * i as f64));
        let mut texts: Vec<String> = numbers.map(text).collect();
        texts.dedup();
        texts
    }
}

impl Axis {
    /// Values that are measured in any case.
    pub(super) fn first(&self) -> Vec<String> {
        match &self.points {
            Points::List(values) => values.clone(),
            Points::Range(range) => range.first(),
        }
    }

    /// How many more values it chooses, one after the other.
    pub(super) const fn rounds(&self) -> usize {
        match self.points {
            Points::List(_) => 0,
            Points::Range(_) => CHOSEN,
        }
    }

    /// Whether all its values are numbers.
    pub(super) fn is_numeric(&self) -> bool {
        match &self.points {
            Points::List(values) => values.iter().all(|value| number(value).is_some()),
            Points::Range(_) => true,
        }
    }

    /// How many values it has at first.
    fn len(&self) -> usize {
        self.first().len()
    }

    /// The axis that `key=values` describes; none for a single value.
    fn parse(key: &str, values: &str) -> Result<Option<Self>, UsageError> {
        let list: Vec<&str> = values.split(',').map(str::trim).collect();
        let points = match &list[..] {
            [one] => match points_of(key, one)? {
                Some(points) => points,
                None => return Ok(None),
            },
            many => Points::List(many.iter().map(|&value| value.into()).collect()),
        };
        if let Points::List(values) = &points {
            let mut seen = BTreeSet::new();
            if let Some(twice) = values.iter().find(|value| !seen.insert(*value)) {
                return Err(refuse(
                    key,
                    values.join(","),
                    format!("each value once, `{twice}` is there twice"),
                ));
            }
        }
        Ok(Some(Self {
            key: key.into(),
            points,
        }))
    }
}

/// The points of `a:b` or `a:b:step`; none for any other value.
fn points_of(key: &str, value: &str) -> Result<Option<Points>, UsageError> {
    let parts: Option<Vec<f64>> = value.split(':').map(number).collect();
    let is_whole = !value.contains(['.', 'e', 'E']);
    match parts.as_deref() {
        Some(&[from, to]) if from < to => {
            let whole = is_whole;
            Ok(Some(Points::Range(Range { from, to, whole })))
        }
        Some(&[from, to, step]) if from < to && step > 0.0 => {
            let count = ((to - from) / step + 1e-9).floor() + 1.0;
            if count > MOST as f64 {
                return Err(refuse(key, value.into(), format!("at most {MOST} values")));
            }
            let numbers = (0..count as usize).map(|i| text(from + step * i as f64));
            Ok(Some(Points::List(numbers.collect())))
        }
        Some([_]) | None => Ok(None),
        Some(_) => Err(refuse(
            key,
            value.into(),
            "a:b or a:b:step, a before b and a step above 0".into(),
        )),
    }
}

fn refuse(key: &str, value: String, expected: String) -> UsageError {
    UsageError::Value {
        option: format!("--set {key}"),
        value,
        expected,
    }
}

/// A finite number.
fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    number.is_finite().then_some(number)
}

/// A number as a setting takes it, without the noise of sums of fractions.
fn text(number: f64) -> String {
    let rounded = (number * 1e9).round() / 1e9;
    rounded.to_string()
}

/// Whether a key that is an option of a command, and no setting, is given as an option; none of settings.
fn option(options: &MachineOptions, key: &str) -> Option<bool> {
    Some(match key {
        "shape" => options.shape.is_some(),
        "mesh" => options.mesh.is_some(),
        "link_latency" => options.link_latency.is_some(),
        "seed" => options.seed.is_some(),
        "rtl" => options.rtl.is_some(),
        "machine" => options.machine.is_some(),
        _ => return None,
    })
}

/// The axes among the settings of `options`, in their order but for the one along the curves, which comes last: the range,
/// else the axis of numbers with most values; and the options without them.
///
/// # Errors
/// Two ranges; an axis that is given twice, or beside its option.
pub(super) fn split(options: &MachineOptions) -> Result<(Vec<Axis>, MachineOptions), UsageError> {
    let mut rest = MachineOptions {
        set: Vec::new(),
        ..options.clone()
    };
    let mut axes: Vec<Axis> = Vec::new();
    for text in &options.set {
        let (key, values) = text
            .split_once('=')
            .ok_or_else(|| UsageError::NoValue(text.clone()))?;
        let key = key.trim();
        let option = option(options, key);
        if option == Some(true) || axes.iter().any(|axis| axis.key == key) {
            let text = format!("--set {key}: given twice, expected once");
            return Err(UsageError::Combination(text));
        }
        match Axis::parse(key, values)? {
            Some(axis) => axes.push(axis),
            // An option of one value is set like an axis of it.
            None if option.is_some() => axes.push(Axis {
                key: key.into(),
                points: Points::List(vec![values.trim().into()]),
            }),
            None => rest.set.push(text.clone()),
        }
    }
    let ranges: Vec<&str> = axes
        .iter()
        .filter(|axis| matches!(axis.points, Points::Range(_)))
        .map(|axis| &*axis.key)
        .collect();
    if let [first, second, ..] = ranges[..] {
        return Err(UsageError::Combination(format!(
            "--set {first}, --set {second}: expected one range that chooses its values, others as a:b:step"
        )));
    }
    let total: u128 = axes.iter().map(|axis| axis.len() as u128).product();
    if total > MOST as u128 {
        return Err(UsageError::Combination(format!(
            "--set: {total} points: expected at most {MOST}"
        )));
    }
    let weight = |axis: &Axis| match &axis.points {
        Points::Range(_) => usize::MAX,
        Points::List(values) if axis.is_numeric() => values.len(),
        Points::List(_) => 0,
    };
    // Of equals the last.
    let along = axes.iter().enumerate().max_by_key(|(_, axis)| weight(axis));
    if let Some(along) = along.map(|(index, _)| index) {
        let along = axes.remove(along);
        axes.push(along);
    }
    Ok((axes, rest))
}

/// All combinations of the values of axes, the last varying fastest; one empty one without axes.
pub(super) fn combinations(axes: &[Axis]) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    for axis in axes {
        let values = axis.first();
        all = all
            .into_iter()
            .flat_map(|before: Vec<String>| {
                values.iter().map(move |value| {
                    let mut with = before.clone();
                    with.push(value.clone());
                    with
                })
            })
            .collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_of(set: &[&str]) -> Result<(Vec<Axis>, Vec<String>), String> {
        let options = MachineOptions {
            set: set.iter().map(|&text| text.into()).collect(),
            ..MachineOptions::default()
        };
        let (axes, rest) = split(&options).map_err(|error| error.to_string())?;
        Ok((axes, rest.set))
    }

    #[test]
    fn x7_lists_steps_and_ranges_are_axes_and_others_are_settings() {
        let set = ["load=0.1:0.4:0.1", "payload=64", "pattern=uniform, tornado"];
        let (axes, rest) = split_of(&set).expect("accepted");
        assert_eq!(rest, ["payload=64"]);
        let keys: Vec<&str> = axes.iter().map(|axis| &*axis.key).collect();
        assert_eq!(keys, ["pattern", "load"], "curves go along the numbers");
        assert_eq!(axes[0].first(), ["uniform", "tornado"]);
        assert_eq!(axes[1].first(), ["0.1", "0.2", "0.3", "0.4"]);
        let (axes, _) = split_of(&["load=0.05:1.0", "seed=1:5:1"]).expect("accepted");
        assert_eq!(axes[0].key, "seed");
        let first = axes[1].first();
        assert_eq!((first.len(), &*first[0], &*first[8]), (9, "0.05", "1"));
    }

    #[test]
    fn x7_range_of_whole_numbers_has_each_once() {
        let (axes, _) = split_of(&["rounds=1:4"]).expect("accepted");
        assert_eq!(axes[0].first(), ["1", "2", "3", "4"]);
        let Points::Range(range) = axes[0].points else {
            panic!("a range");
        };
        assert_eq!(range.between(1.0, 2.0), None);
        assert_eq!(range.between(1.0, 4.0).as_deref(), Some("3"));
    }

    #[test]
    fn x5_axes_that_cannot_be_are_refused_by_their_key() {
        let refused = |set: &[&str]| split_of(set).expect_err("refused");
        assert_eq!(
            refused(&["load=1:0"]),
            "--set load: expected a:b or a:b:step, a before b and a step above 0, found `1:0`"
        );
        assert_eq!(
            refused(&["load=0:1", "payload=0:512"]),
            "--set load, --set payload: expected one range that chooses its values, others as a:b:step"
        );
        assert_eq!(refused(&["load"]), "--set load: expected key=value");
        let twice = "--set load: given twice, expected once";
        assert_eq!(refused(&["load=1,2", "load=3,4"]), twice);
        assert_eq!(
            refused(&["seed=1,1"]),
            "--set seed: expected each value once, `1` is there twice, found `1,1`"
        );
        assert_eq!(
            refused(&["load=0:1:0.00000001"]),
            "--set load: expected at most 10000 values, found `0:1:0.00000001`"
        );
        assert_eq!(
            refused(&["seed=1:1000:1", "payload=0:500:5"]),
            "--set: 101000 points: expected at most 10000"
        );
    }

    #[test]
    fn x7_combinations_vary_the_last_axis_fastest() {
        let (axes, _) = split_of(&["a=x,y", "b=u,v", "c=1,2"]).expect("accepted");
        let all = combinations(&axes[..2]);
        let all: Vec<String> = all.iter().map(|values| values.concat()).collect();
        assert_eq!(all, ["xu", "xv", "yu", "yv"]);
        assert_eq!(combinations(&[]), [Vec::<String>::new()]);
    }
}
