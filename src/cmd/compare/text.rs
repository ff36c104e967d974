// SPDX-License-Identifier: MIT OR Apache-2.0
//! A comparison for people, and as JSON.

use gyre::outcome::table;
use serde_json::Value;

use super::compared::{Compared, Named};
use super::figures::Row;
use super::limit::Verdict;
use crate::cmd::values::{figure, text_of};

/// Entries of lists in the table, at most, unless the user names them.
const NESTED: usize = 12;

/// Columns of a value in the table, at most.
const WIDEST: usize = 20;

impl Compared {
    /// The comparison as text for standard output: one JSON object, or tables.
    ///
    /// # Errors
    /// A figure that JSON cannot hold.
    pub fn text(&self, json: bool) -> Result<String, serde_json::Error> {
        if json {
            return Ok(serde_json::to_string_pretty(self)? + "\n");
        }
        let side = |letter: &str, side: &Named| {
            let hash = side.hash.as_ref();
            let hash = hash.map_or(String::new(), |hash| format!("  hash {hash}"));
            let failed = match side.passed {
                true => "",
                false => "  not verified",
            };
            format!("    {letter}  {}{hash}{failed}\n", side.name)
        };
        let subject = self.subject.as_deref().unwrap_or("results");
        let mut text = format!(
            "compare {subject}\n{}{}",
            side("A", &self.a),
            side("B", &self.b)
        );
        let parameters: Vec<&Row> = self.parameters.iter().filter(|row| row.differs()).collect();
        if !parameters.is_empty() {
            let mut rows = table(&["parameter", "A", "B"]);
            for row in parameters {
                rows.add_row([row.name.clone(), short(&row.a), short(&row.b)]);
            }
            text += &format!("{rows}\n\n");
        }
        text += &self.figures();
        Ok(text + &self.limits.iter().map(verdict).collect::<String>())
    }

    /// The table of figures, and how many are not in it.
    fn figures(&self) -> String {
        let (rows, hidden) = self.shown();
        let equal = self.figures.iter().filter(|row| !row.differs()).count();
        let mut table = table(&["metric", "A", "B", "change"]);
        for row in &rows {
            let change = row.change_percent.map_or(String::new(), percent);
            table.add_row([row.name.clone(), short(&row.a), short(&row.b), change]);
        }
        let mut text = match rows.is_empty() {
            true => String::new(),
            false => format!("{table}\n\n"),
        };
        let count = |count: usize, what: &str| match count {
            0 => String::new(),
            count => format!("{count} figures {what}\n"),
        };
        text += &count(hidden, "of lists differ less: --show LIST, or --json");
        text + &count(equal, "are equal")
    }

    /// Rows of the table, and how many that differ are left out.
    fn shown(&self) -> (Vec<&Row>, usize) {
        if let Some(chosen) = &self.show {
            let rows = chosen.iter().map(|&number| &self.figures[number]);
            return (rows.collect(), 0);
        }
        let different = || self.figures.iter().filter(|row| row.differs());
        let mut nested: Vec<&Row> = different().filter(|row| row.is_nested()).collect();
        let size = |row: &Row| row.change_percent.map_or(0.0, f64::abs);
        // The sort is stable: equals stay in their order.
        nested.sort_by(|a, b| size(b).total_cmp(&size(a)));
        let hidden = nested.len().saturating_sub(NESTED);
        nested.truncate(NESTED);
        let scalars = different().filter(|row| !row.is_nested());
        (scalars.chain(nested).collect(), hidden)
    }
}

fn percent(change: f64) -> String {
    format!("{change:+.2} %")
}

/// A limit, and whether it is kept.
fn verdict(verdict: &Verdict) -> String {
    let change = verdict.change_percent.map_or_else(
        || match verdict.broken {
            true => "from 0".to_owned(),
            false => "no change".to_owned(),
        },
        percent,
    );
    let kept = match verdict.broken {
        true => "BROKEN",
        false => "kept",
    };
    format!(
        "limit {}={}: {kept} ({change})\n",
        verdict.metric, verdict.limit
    )
}

/// A value that fits a column.
fn short(value: &Value) -> String {
    let text = match value {
        Value::String(_) | Value::Null => text_of(value),
        value => figure(Some(value)),
    };
    match text.chars().count() > WIDEST {
        true => text.chars().take(WIDEST - 1).chain(['…']).collect(),
        false => text,
    }
}
