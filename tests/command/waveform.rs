// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals of waveforms.

use std::path::Path;

use wellen::simple;

/// Whether any signal called `name` ever has value `id`.
pub fn carries(path: &Path, name: &str, id: u64) -> bool {
    let mut waveform = simple::read(path).expect("a standard reader opens the file");
    let hierarchy = waveform.hierarchy();
    let found: Vec<_> = hierarchy
        .all_vars()
        .map(|var| &hierarchy[var])
        .filter(|var| var.name(hierarchy).contains(name))
        .map(|var| var.signal_ref())
        .collect();
    assert!(!found.is_empty(), "no signal {name} in {}", path.display());
    waveform.load_signals(&found);
    found.iter().any(|&signal| {
        let signal = waveform.get_signal(signal).expect("loaded above");
        signal
            .iter_changes()
            .any(|(_, value)| u64::from_str_radix(&value.to_string(), 2) == Ok(id))
    })
}
