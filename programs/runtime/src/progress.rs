// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress bars: on standard error, and only where that is a terminal.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gyre_sim::{BuildProgress, report_builds};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

thread_local! {
    /// Whether the bars of this thread are hidden.
    static HIDDEN: Cell<bool> = const { Cell::new(false) };
}

/// Hides the bars that `work` makes: they are parts of something that has a bar of its own.
pub fn hidden<T>(work: impl FnOnce() -> T) -> T {
    let before = HIDDEN.replace(true);
    let done = work();
    HIDDEN.set(before);
    done
}

/// A bar up to `total`, counted in `unit`.
pub fn bar(total: u64, unit: &str) -> ProgressBar {
    if HIDDEN.get() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(&format!(
        "{{elapsed_precise}} [{{wide_bar}}] {{pos}}/{{len}} {unit}, {{eta}} left"
    ));
    ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Of a model's build, the part of Verilator in thousandths; the rest is the C++ compiler's.
const VERILATOR: u64 = 150;

/// Shows which models are compiled, how far they are and when they will be done; without a terminal, a line for each
/// that begins.
pub fn show_builds() {
    let bars: Mutex<BTreeMap<String, ProgressBar>> = Mutex::default();
    let on_terminal = io::stderr().is_terminal();
    report_builds(Box::new(move |name, progress| {
        let mut bars = bars.lock().unwrap_or_else(PoisonError::into_inner);
        let say = |text: String| {
            if !on_terminal {
                eprintln!("gyre: {text}");
            }
        };
        let bar = bars.entry(name.to_owned()).or_insert_with(|| {
            let style = ProgressStyle::with_template(
                "{elapsed_precise} [{wide_bar}] {percent} % of {prefix}: {msg}",
            );
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(1000)
                .with_style(style)
                .with_prefix(format!("model {name}"))
        });
        match progress {
            BuildProgress::Waiting => {
                say(format!("another process compiles the model {name}"));
                bar.set_message("another process compiles it");
            }
            BuildProgress::Damaged => {
                say(format!(
                    "the model {name} is damaged in the cache and compiled anew"
                ));
            }
            BuildProgress::Begins { expected } => {
                let about = expected.map_or(String::new(), |time| {
                    format!(", about {}", HumanDuration(time))
                });
                say(format!("compiling the model {name}{about}"));
                bar.enable_steady_tick(Duration::from_millis(200));
                bar.set_message(format!("Verilator{about}"));
            }
            BuildProgress::Verilated => {
                bar.set_position(VERILATOR);
                bar.set_message("C++ compiler");
            }
            BuildProgress::Compiled { done, total } => {
                bar.set_position(VERILATOR + (1000 - VERILATOR) * done / total.max(1));
                bar.set_message(format!("C++ compiler, {} left", HumanDuration(bar.eta())));
            }
            BuildProgress::Ready => {
                bar.finish_and_clear();
                bars.remove(name);
            }
        }
    }));
}
