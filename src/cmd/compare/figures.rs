// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures of a result by name, and two results side by side.

use std::collections::BTreeMap;

use gyre::options::UsageError;
use serde::Serialize;
use serde_json::Value;

use crate::cmd::values::text_of;

/// A figure of both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    /// Its name; of a list, that of the list, of the entry and of the column.
    pub(super) name: String,
    /// Of the first; null where it has none.
    pub(super) a: Value,
    /// Of the second.
    pub(super) b: Value,
    /// Change from the first to the second, in percent of the first; null where there is none.
    pub(super) change_percent: Option<f64>,
}

impl Row {
    pub(super) fn differs(&self) -> bool {
        self.a != self.b
    }

    /// Whether it is an entry of a list.
    pub(super) fn is_nested(&self) -> bool {
        self.name.contains('[')
    }
}

/// Scalars of `value` by name, in their order: members joined by dots, entries of lists by what names them.
pub(super) fn flat(value: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    flatten(String::new(), value, &mut all);
    all
}

fn flatten(name: String, value: &Value, all: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let name = match name.is_empty() {
                    true => key.clone(),
                    false => format!("{name}.{key}"),
                };
                flatten(name, value, all);
            }
        }
        Value::Array(entries) => {
            for (number, entry) in entries.iter().enumerate() {
                let label = label(entry).unwrap_or_else(|| number.to_string());
                flatten(format!("{name}[{label}]"), entry, all);
            }
        }
        scalar => all.push((name, scalar.clone())),
    }
}

/// What names an entry of a list: its value or values on the axes of a sweep, else its first member where that is a word or a
/// whole number.
fn label(entry: &Value) -> Option<String> {
    let members = entry.as_object()?;
    if let Some(values) = members.get("values").and_then(Value::as_object) {
        let values: Vec<String> = values.values().map(text_of).collect();
        return Some(values.join(" "));
    }
    let first = members.get("value").or(members.values().next())?;
    let names = first.is_string() || first.is_u64() || members.contains_key("value");
    names.then(|| text_of(first))
}

/// Both sides by name, in the order of the first; what only the second has comes last.
pub(super) fn rows(a: &[(String, Value)], b: &[(String, Value)]) -> Vec<Row> {
    let row = |name: &str, a: &Value, b: &Value| Row {
        name: name.into(),
        change_percent: change(a, b),
        a: a.clone(),
        b: b.clone(),
    };
    let by_name: BTreeMap<&str, &Value> = b.iter().map(|(name, value)| (&**name, value)).collect();
    let known: BTreeMap<&str, &Value> = a.iter().map(|(name, value)| (&**name, value)).collect();
    let first = a.iter().map(|(name, value)| {
        let other = by_name.get(&**name).copied().unwrap_or(&Value::Null);
        row(name, value, other)
    });
    let rest = b.iter().filter(|(name, _)| !known.contains_key(&**name));
    first
        .chain(rest.map(|(name, value)| row(name, &Value::Null, value)))
        .collect()
}

/// Change in percent of `a`, where both are numbers and `a` is not 0.
fn change(a: &Value, b: &Value) -> Option<f64> {
    let (a, b) = (a.as_f64()?, b.as_f64()?);
    let change = (b - a) / a.abs() * 100.0;
    change.is_finite().then_some(change)
}

/// Numbers of the rows that `text` names, joined by commas; a list by its name has all its entries.
///
/// # Errors
/// A name that no row has.
pub(super) fn chosen(text: &str, rows: &[Row]) -> Result<Vec<usize>, UsageError> {
    let mut all = Vec::new();
    for name in text.split(',').map(str::trim) {
        let before = all.len();
        let of_list = |row: &Row| row.name.split('[').next() == Some(name);
        let named = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.name == name || of_list(row));
        all.extend(named.map(|(number, _)| number));
        if all.len() == before {
            return Err(unknown("--show", name, rows));
        }
    }
    Ok(all)
}

/// Refuses a figure that there is not.
pub(super) fn unknown(option: &str, name: &str, rows: &[Row]) -> UsageError {
    let mut known: Vec<&str> = rows
        .iter()
        .filter_map(|row| row.name.split('[').next())
        .collect();
    known.dedup();
    UsageError::Value {
        option: option.into(),
        value: name.into(),
        expected: format!("a figure of both: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn x7_entries_of_lists_are_named_by_what_tells_them_apart() {
        let result = json!({
            "mean": 2.5,
            "deep": { "er": 1 },
            "stages": [{ "stage": "fetch", "cycles": 4 }, { "stage": "link", "cycles": 5 }],
            "bare": [7, 8],
            "curves": [{ "values": { "pattern": "uniform" }, "points": [{ "value": 0.25, "hash": "a" }] }],
        });
        let names: Vec<String> = flat(&result).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            [
                "mean",
                "deep.er",
                "stages[fetch].stage",
                "stages[fetch].cycles",
                "stages[link].stage",
                "stages[link].cycles",
                "bare[0]",
                "bare[1]",
                "curves[uniform].values.pattern",
                "curves[uniform].points[0.25].value",
                "curves[uniform].points[0.25].hash",
            ]
        );
    }

    #[test]
    fn x7_change_is_in_percent_of_the_first() {
        let of = |value: Value| flat(&value);
        let rows = rows(
            &of(json!({ "a": 200, "b": 0, "c": "x", "d": -4 })),
            &of(json!({ "a": 150.0, "b": 3, "c": "y", "d": -5, "e": 1 })),
        );
        let changes: Vec<_> = rows.iter().map(|row| row.change_percent).collect();
        assert_eq!(changes, [Some(-25.0), None, None, Some(-25.0), None]);
        assert_eq!((&rows[4].name[..], &rows[4].a), ("e", &Value::Null));
    }
}
