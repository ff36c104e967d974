// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where events of a run go that memory should not hold, and what is lost there.

use std::path::{Path, PathBuf};
use std::{env, fs};

use gyre_timeline::Recording;

/// The folder of the first output, for what is written before it is. Outputs that are no files, and folders that take no
/// other file, leave that for temporary ones.
pub(crate) fn folder_beside(output: Option<&Path>) -> PathBuf {
    let beside = output.and_then(|path| {
        let path = match fs::metadata(path) {
            Ok(found) if !found.is_file() => return None,
            Ok(_) => path.canonicalize().ok()?,
            Err(_) => path.to_owned(),
        };
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        folder.unwrap_or(Path::new(".")).canonicalize().ok()
    });
    let takes = |folder: &PathBuf| {
        use rustix::fs::{Access, access};
        access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
    };
    beside.filter(takes).unwrap_or_else(env::temp_dir)
}

/// Whether no event is lost.
pub(crate) fn is_whole(recordings: &[Recording]) -> bool {
    recordings
        .iter()
        .all(|recording| recording.error().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x5_what_comes_before_an_output_is_beside_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = dir.path().canonicalize().expect("a folder");
        let output = folder.join("x.html");
        assert_eq!(folder_beside(Some(&output)), folder);
        fs::write(&output, "earlier").expect("a file");
        assert_eq!(folder_beside(Some(&output)), folder);
        for elsewhere in [Some(Path::new("/dev/null")), None] {
            assert_eq!(folder_beside(elsewhere), env::temp_dir());
        }
    }
}
