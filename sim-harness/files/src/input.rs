// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inputs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use crate::{Fault, claims, kind};

/// Notes that a file which a user names is read: no output may take its place.
///
/// # Errors
/// A file that is an output of the command.
pub fn keep(path: &Path) -> io::Result<()> {
    Ok(claims::input(path)?)
}

/// Notes that the files of a folder which a user names are read: no output may take the place of one of them.
///
/// # Errors
/// A file of it that is an output of the command.
pub fn keep_folder(path: &Path) -> io::Result<()> {
    Ok(claims::folder(path)?)
}

/// Opens a regular file to read it.
///
/// # Errors
/// Those of the system; anything else than a regular file, without waiting for it.
pub fn open(path: &Path) -> io::Result<File> {
    // To open a device may already do something.
    let before = fs::metadata(path)?.file_type();
    if !before.is_file() {
        return Err(Fault::NoInput(kind(before)).into());
    }
    let mut options = OpenOptions::new();
    // Another file may be there by now: nobody waits for the other end of a pipe.
    options
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(path)?;
    let found = file.metadata()?.file_type();
    match found.is_file() {
        true => Ok(file),
        false => Err(Fault::NoInput(kind(found)).into()),
    }
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
/// As [`open`]; a file with more bytes, before it is read.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let bytes = file.metadata()?.len();
    if bytes > limit {
        return Err(Fault::TooLarge { limit }.into());
    }
    let mut content = Vec::new();
    // The files of /proc have no length.
    file.take(limit.saturating_add(1))
        .read_to_end(&mut content)?;
    match content.len() as u64 > limit {
        true => Err(Fault::TooLarge { limit }.into()),
        false => Ok(content),
    }
}

/// Reads a regular file of at most `limit` bytes of UTF-8.
///
/// # Errors
/// As [`read`]; bytes that are no UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let content = read(path, limit)?;
    String::from_utf8(content)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "is no UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x5_inputs_that_are_no_regular_files_are_refused_without_waiting() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let pipe = dir.path().join("pipe");
        let made = rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into());
        made.expect("a pipe");
        for (path, expected) in [
            (pipe.as_path(), "is a pipe: expected a regular file"),
            (dir.path(), "is a folder: expected a regular file"),
            (
                Path::new("/dev/zero"),
                "is a device: expected a regular file",
            ),
            (
                Path::new("/dev/null"),
                "is a device: expected a regular file",
            ),
        ] {
            let error = read(path, 10).expect_err("refused");
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn x5_input_over_its_limit_is_refused_before_it_is_read() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("large");
        // More than there is memory.
        let file = File::create(&path).expect("a file");
        file.set_len(1 << 43).expect("sparse");
        let error = read(&path, 1 << 20).expect_err("refused");
        let expected = "has more than 1048576 bytes: expected at most that";
        assert_eq!(error.to_string(), expected);
        file.set_len(1 << 10).expect("shorter");
        assert_eq!(read(&path, 1 << 10).expect("read").len(), 1 << 10);
        // A file without a length.
        assert!(read_text(Path::new("/proc/self/status"), 1 << 20).is_ok());
        assert!(read_text(Path::new("/proc/self/status"), 10).is_err());
    }
}
