// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of settings and figures, as text and in JSON.

use serde_json::{Map, Value, json};

/// Scalar figures of a point.
pub(super) fn scalars(metrics: &Map<String, Value>) -> Map<String, Value> {
    let scalar = |value: &Value| !value.is_array() && !value.is_object();
    metrics
        .iter()
        .filter(|(_, value)| scalar(value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// A value as a number of JSON where it is one.
pub(super) fn json_value(text: &str) -> Value {
    match (text.parse::<u64>(), text.parse::<f64>()) {
        (Ok(whole), _) => json!(whole),
        (_, Ok(number)) if number.is_finite() => json!(number),
        _ => json!(text),
    }
}

/// A value as text: words without quotes, nothing for null.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A figure of a table.
pub(super) fn figure(value: Option<&Value>) -> String {
    match value {
        Some(Value::Number(number)) if number.is_f64() => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            match number.abs() {
                100.0.. => format!("{number:.1}"),
                _ => format!("{number:.4}"),
            }
        }
        Some(value) => text_of(value),
        None => String::new(),
    }
}
