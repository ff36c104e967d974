// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plants faults in copies of RTL files.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use gyre_verilate::workspace_root;

use super::spec::{Fault, Spec};
use crate::library::target;

/// A fault that cannot be planted.
#[derive(Debug, thiserror::Error)]
pub(super) enum FaultError {
    /// The text to be replaced is not there once.
    #[error("unit {unit}: rtl/{file} has {found} times {text:?}, expected once")]
    Text {
        /// Name of the unit.
        unit: &'static str,
        /// File in `rtl/`.
        file: &'static str,
        /// The text.
        text: &'static str,
        /// How often it is there.
        found: usize,
    },
    /// A file could not be read or written.
    #[error("{0}: {1}")]
    Io(PathBuf, std::io::Error),
}

/// Writes the faulty files of a unit to a folder that is named after their content, and returns it.
pub(super) fn plant(spec: &Spec) -> Result<PathBuf, FaultError> {
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for &Fault {
        file,
        text,
        instead,
    } in spec.faults
    {
        if !files.contains_key(file) {
            let path = workspace_root().join("rtl").join(file);
            let source = fs::read_to_string(&path).map_err(io(&path))?;
            files.insert(file, source);
        }
        let source = &files[file];
        let found = source.matches(text).count();
        if found != 1 {
            return Err(FaultError::Text {
                unit: spec.name,
                file,
                text,
                found,
            });
        }
        let source = source.replace(text, instead);
        files.insert(file, source);
    }
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    let folder = target().join(format!("faults/{}-{:016x}", spec.name, hasher.finish()));
    let folder = workspace_root().join(folder);
    fs::create_dir_all(&folder).map_err(io(&folder))?;
    for (file, source) in files {
        let name = Path::new(file).file_name().expect("a file");
        let path = folder.join(name);
        // Other processes may read it, or write the same.
        if !path.exists() {
            let part = folder.with_extension(std::process::id().to_string());
            let source = format!("`define SYNTHESIS\n{source}`undef SYNTHESIS\n");
            fs::write(&part, source).map_err(io(&part))?;
            fs::rename(&part, &path).map_err(io(&path))?;
        }
    }
    Ok(folder)
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> FaultError {
    let path = path.to_owned();
    move |error| FaultError::Io(path, error)
}
