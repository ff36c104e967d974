//! Waveforms: standard readers open them, tracing changes nothing, a packet's id is in them.

use std::path::Path;

use wellen::simple;

use crate::{json, scratch, text};

/// Runs LULESH with a waveform of its first message.
fn traced(name: &str) -> (serde_json::Value, std::path::PathBuf) {
    let path = scratch(name);
    let result = json(&["run", "lulesh", "--trace", text(&path)]);
    (result, path)
}

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

#[test]
fn x1_x2_vcd_and_fst_show_the_first_message_and_change_nothing() {
    let plain = json(&["run", "lulesh"]);
    for name in ["first.vcd", "first.fst"] {
        let (result, path) = traced(name);
        assert_eq!(plain["hash"], result["hash"], "{name}");
        assert_eq!(plain["metrics"], result["metrics"], "{name}");
        let size = path.metadata().expect("the waveform was written").len();
        assert!(size < 20 << 20, "{name} has {size} bytes");
        // Message ids count from 1 in each rank: (rank << 16) | number.
        let source = result["metrics"]["first_message"]["source"]
            .as_u64()
            .expect("a rank");
        let id = (source << 16) | 1;
        assert!(
            carries(&path, "link_dbg_o", id),
            "{name}: id {id:#x} on a link"
        );
    }
}
