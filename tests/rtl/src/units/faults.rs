// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plants faults in copies of RTL files.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use gyre_verilate::workspace_root;

use super::spec::{Fault, Spec};
use crate::library::target;

/// Writes the faulty files of a unit to a folder that is named after their content, and returns it.
///
/// # Panics
/// If the text to be replaced is not there once, or a file cannot be read or written.
pub(super) fn plant(spec: &Spec) -> PathBuf {
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for &Fault {
        file,
        text,
        instead,
    } in spec.faults
    {
        if !files.contains_key(file) {
            let path = workspace_root().join("rtl").join(file);
            let source = fs::read_to_string(&path).unwrap_or_else(failed(&path));
            files.insert(file, source);
        }
        let source = &files[file];
        let found = source.matches(text).count();
        assert_eq!(found, 1, "unit {}: {text:?} in rtl/{file}", spec.name);
        let source = source.replace(text, instead);
        files.insert(file, source);
    }
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    let folder = target().join(format!("faults/{}-{:016x}", spec.name, hasher.finish()));
    let folder = workspace_root().join(folder);
    fs::create_dir_all(&folder).unwrap_or_else(failed(&folder));
    for (file, source) in files {
        let name = Path::new(file).file_name().expect("a file");
        let path = folder.join(name);
        // Other processes may read it, or write the same.
        if !path.exists() {
            let part = folder.with_extension(std::process::id().to_string());
            let source = format!("`define SYNTHESIS\n{source}`undef SYNTHESIS\n");
            fs::write(&part, source).unwrap_or_else(failed(&part));
            fs::rename(&part, &path).unwrap_or_else(failed(&path));
        }
    }
    folder
}

/// Panics with the path that an operation failed on.
fn failed<T>(path: &Path) -> impl FnOnce(std::io::Error) -> T {
    move |error| panic!("{}: {error}", path.display())
}
