// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of cases and campaigns on the RTL.

mod campaign;
mod wires;

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::Rtl;

/// Faults planted in the RTL: file, text, replacement. One tree has them all, as each tree costs the compilation of a model.
const PLANTED: [(&str, &str, &str); 2] = [
    // Reserved fields of descriptors are not checked.
    (
        "dma/desc_check.sv",
        "else if (reserved) err_o = ErrDescReserved;",
        "",
    ),
    // The receiving half of a link does not check parity.
    (
        "link/link_rx.sv",
        "assign side_fault_o = ^",
        "assign side_fault_o = 1'b0 & ^",
    ),
];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("readable") {
        let path = entry.expect("readable").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copied");
        }
    }
}

/// A copy of the RTL with the faults of [`PLANTED`].
fn planted() -> (TempDir, Rtl) {
    let folder = tempfile::tempdir().expect("a folder");
    copy(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rtl"),
        folder.path(),
    );
    for (file, text, faulty) in PLANTED {
        let file = folder.path().join(file);
        let source = fs::read_to_string(&file).expect("RTL");
        assert!(source.contains(text), "{text}");
        fs::write(&file, source.replace(text, faulty)).expect("written");
    }
    let tree = Some(folder.path().to_owned());
    (
        folder,
        Rtl {
            tree,
            coverage: false,
        },
    )
}
