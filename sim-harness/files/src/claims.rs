// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that the command reads and writes: no output takes the place of an input, or of another output.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::{Fault, folder_of};

/// A file, by its place and, if it is there, by what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    path: PathBuf,
    found: Option<(u64, u64)>,
}

impl Place {
    /// The place that a path names.
    fn of(path: &Path) -> Self {
        let found = fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
        let whole = path.canonicalize().or_else(|_| {
            let folder = folder_of(path).canonicalize()?;
            Ok::<_, io::Error>(
                path.file_name()
                    .map_or(folder.clone(), |name| folder.join(name)),
            )
        });
        Self {
            path: whole.unwrap_or_else(|_| path.to_owned()),
            found,
        }
    }

    /// Whether another place is the same, or leads to the same file.
    fn is(&self, other: &Self) -> bool {
        // The system gives the number of a file that is gone to another one.
        let still_there = || Self::of(&self.path).found == self.found;
        let same_file = self.found.is_some() && self.found == other.found;
        self.path == other.path || (same_file && still_there())
    }
}

#[derive(Debug)]
struct Claims {
    inputs: Vec<Place>,
    /// Folders all of whose files are inputs.
    folders: Vec<PathBuf>,
    /// With the option that names each.
    outputs: Vec<(&'static str, Place)>,
}

static CLAIMS: Mutex<Claims> = Mutex::new(Claims {
    inputs: Vec::new(),
    folders: Vec::new(),
    outputs: Vec::new(),
});

/// Notes an input: no output may take its place. Files that the command has made itself are none.
///
/// # Errors
/// An input that is an output of an option.
pub(crate) fn input(path: &Path) -> Result<(), Fault> {
    let place = Place::of(path);
    let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
    let output = claims.outputs.iter().find(|(_, output)| output.is(&place));
    if let Some(&(option, _)) = output {
        return Err(Fault::IsOutput { option });
    }
    if !claims.inputs.contains(&place) {
        claims.inputs.push(place);
    }
    Ok(())
}

/// Notes a folder whose files are inputs.
///
/// # Errors
/// A file of it that is an output of an option.
pub(crate) fn folder(path: &Path) -> Result<(), Fault> {
    let folder = Place::of(path).path;
    let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
    let inside = |place: &Place| place.found.is_some() && place.path.starts_with(&folder);
    let output = claims.outputs.iter().find(|(_, output)| inside(output));
    if let Some(&(option, _)) = output {
        return Err(Fault::IsOutput { option });
    }
    if !claims.folders.contains(&folder) {
        claims.folders.push(folder);
    }
    Ok(())
}

/// Notes the output of an option.
///
/// # Errors
/// An input, or the output of another option.
pub(crate) fn output(option: &'static str, path: &Path) -> Result<(), Fault> {
    let place = Place::of(path);
    let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut folders = claims.folders.iter();
    let inside = place.found.is_some() && folders.any(|folder| place.path.starts_with(folder));
    if inside || claims.inputs.iter().any(|input| input.is(&place)) {
        return Err(Fault::IsInput);
    }
    let mut outputs = claims.outputs.iter();
    match outputs.find(|(_, output)| output.is(&place)) {
        Some(&(other, _)) if other != option => return Err(Fault::IsOutput { option: other }),
        Some(_) => {}
        None => claims.outputs.push((option, place)),
    }
    Ok(())
}
