//! Progress bars: on standard error, and only where that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar up to `total`, counted in `unit`.
pub fn bar(total: u64, unit: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!(
        "{{elapsed_precise}} [{{wide_bar}}] {{pos}}/{{len}} {unit}, {{eta}} left"
    ));
    ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
