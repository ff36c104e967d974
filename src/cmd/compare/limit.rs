// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits of how far a figure may change.

use gyre::options::UsageError;
use serde::Serialize;

use super::figures::{Row, unknown};

/// A figure with the change that it may have.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limit {
    metric: String,
    /// As the user wrote it.
    text: String,
    /// Percent of the first that the second may have less.
    less: f64,
    /// Percent that it may have more.
    more: f64,
}

/// A limit with what was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Verdict {
    /// The figure.
    pub(super) metric: String,
    /// The limit as it was given.
    pub(super) limit: String,
    /// Change of the figure in percent; null where a change has none, as that of 0.
    pub(super) change_percent: Option<f64>,
    /// Whether it changes by more.
    pub(super) broken: bool,
}

impl Limit {
    /// The limit that `METRIC=PERCENT` describes.
    pub(super) fn parse(text: &str) -> Result<Self, UsageError> {
        let refuse = || UsageError::Value {
            option: "--limit".into(),
            value: text.into(),
            expected: "METRIC=20%, METRIC=+20% or METRIC=-20%".into(),
        };
        let (metric, limit) = text.split_once('=').ok_or_else(refuse)?;
        let percent = limit.trim().trim_end_matches('%');
        let size: f64 = percent
            .strip_prefix(['+', '-'])
            .unwrap_or(percent)
            .parse()
            .ok()
            .filter(|size: &f64| size.is_finite() && *size >= 0.0)
            .ok_or_else(refuse)?;
        let (less, more) = match percent.as_bytes().first() {
            Some(b'+') => (f64::INFINITY, size),
            Some(b'-') => (size, f64::INFINITY),
            _ => (size, size),
        };
        Ok(Self {
            metric: metric.trim().into(),
            text: limit.trim().into(),
            less,
            more,
        })
    }
}

/// Holds the figures against limits.
///
/// # Errors
/// A limit of a figure that not both sides have as a number.
pub(super) fn judge(limits: &[Limit], figures: &[Row]) -> Result<Vec<Verdict>, UsageError> {
    let judged = limits.iter().map(|limit| {
        let row = figures
            .iter()
            .find(|row| row.name == limit.metric && row.a.is_number() && row.b.is_number())
            .ok_or_else(|| unknown("--limit", &limit.metric, figures))?;
        let broken = match row.change_percent {
            Some(change) => change < -limit.less || change > limit.more,
            // Of 0: any change is more than any share of it.
            None => row.differs(),
        };
        Ok(Verdict {
            metric: limit.metric.clone(),
            limit: limit.text.clone(),
            change_percent: row.change_percent,
            broken,
        })
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::compare::figures::{flat, rows};
    use serde_json::json;

    fn broken(limit: &str, a: f64, b: f64) -> bool {
        let side = |value: f64| flat(&json!({ "x": value }));
        let limit = Limit::parse(limit).expect("a limit");
        let judged = judge(&[limit], &rows(&side(a), &side(b)));
        judged.expect("known")[0].broken
    }

    #[test]
    fn x7_limit_is_of_either_way_or_of_one() {
        for (limit, b, expected) in [
            ("x=5%", 105.0, false),
            ("x=5%", 105.1, true),
            ("x=5%", 94.9, true),
            ("x=+5", 50.0, false),
            ("x=+5%", 106.0, true),
            ("x=-5%", 200.0, false),
            ("x=-5%", 94.0, true),
            ("x=0%", 100.0, false),
        ] {
            assert_eq!(broken(limit, 100.0, b), expected, "{limit} {b}");
        }
        assert!(broken("x=50%", 0.0, 1.0));
        assert!(!broken("x=0%", 0.0, 0.0));
    }

    #[test]
    fn x5_limits_that_say_nothing_are_refused() {
        for text in ["x", "x=", "x=%", "x=a%", "x=NaN", "x=--5%", "x=inf"] {
            let error = Limit::parse(text).map(drop).expect_err("refused");
            assert!(error.to_string().contains("METRIC=20%"), "{text}: {error}");
        }
        let limit = Limit::parse("y=1%").expect("a limit");
        let figures = rows(&flat(&json!({ "x": 1 })), &flat(&json!({ "x": 1 })));
        let error = judge(&[limit], &figures).expect_err("refused").to_string();
        assert_eq!(error, "--limit: expected a figure of both: x, found `y`");
    }
}
