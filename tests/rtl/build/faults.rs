//! Plants faults in copies of RTL files.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use gyre_verilate::workspace_root;

use super::models::{Fault, Spec};

/// A fault that cannot be planted.
#[derive(Debug, thiserror::Error)]
pub enum FaultError {
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

/// Writes the faulty files of a unit; returns the folder they are in.
pub fn plant(spec: &Spec) -> Result<PathBuf, FaultError> {
    // Beside the profiles' folders: a model is found by its folders' names too, and all profiles share it.
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let target = out.ancestors().nth(4).unwrap_or(&out);
    let folder = target.join("faults").join(spec.name);
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| FaultError::Io(path, error)
    };
    fs::create_dir_all(&folder).map_err(io(&folder))?;
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for &Fault {
        file,
        text,
        instead,
    } in spec.faults
    {
        let path = workspace_root().join("rtl").join(file);
        if !files.contains_key(file) {
            files.insert(file, fs::read_to_string(&path).map_err(io(&path))?);
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
    // What an earlier list of faults has left.
    for entry in fs::read_dir(&folder).map_err(io(&folder))? {
        let path = entry.map_err(io(&folder))?.path();
        if !files
            .keys()
            .any(|file| Path::new(file).file_name() == path.file_name())
        {
            fs::remove_file(&path).map_err(io(&path))?;
        }
    }
    for (file, source) in files {
        let name = Path::new(file).file_name().expect("a file");
        let path = folder.join(name);
        let source = format!("`define SYNTHESIS\n{source}`undef SYNTHESIS\n");
        // A file that is written anew makes cargo run the build script again.
        if fs::read_to_string(&path).ok().as_ref() != Some(&source) {
            fs::write(&path, source).map_err(io(&path))?;
        }
    }
    Ok(folder)
}
