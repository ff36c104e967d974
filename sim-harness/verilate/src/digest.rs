// SPDX-License-Identifier: MIT OR Apache-2.0
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::Error;

/// Hexadecimal digits of a key.
pub(crate) const KEY_DIGITS: usize = 24;

/// Bytes of a source at most.
pub(crate) const SOURCE_BYTES: u64 = 64 << 20;

/// Reads a regular file of at most `limit` bytes.
pub(crate) fn read(file: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    gyre_files::read(file, limit).map_err(Error::io(file))
}

/// A running hash over the inputs of a build step.
#[derive(Clone)]
pub(crate) struct Digest(Sha256);

impl Digest {
    pub(crate) fn new() -> Self {
        Self(Sha256::new())
    }

    /// Adds a string, so that `"ab", "c"` and `"a", "bc"` differ.
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds a file's name and content.
    pub(crate) fn file(&mut self, file: &Path) -> Result<(), Error> {
        let content = read(file, SOURCE_BYTES)?;
        let name = file.file_name().unwrap_or_default();
        self.text(&name.to_string_lossy());
        self.bytes(&content);
        Ok(())
    }

    /// Adds the files directly in a directory, in order of name.
    pub(crate) fn dir(&mut self, dir: &Path) -> Result<(), Error> {
        for file in files_in(dir)? {
            self.file(&file)?;
        }
        Ok(())
    }

    /// The hash as hexadecimal digits.
    pub(crate) fn finish(self) -> String {
        let hash = self.0.finalize();
        hash[..KEY_DIGITS / 2]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// SHA-256 of a file's content, in hexadecimal digits.
pub(crate) fn digest_of(content: &[u8]) -> String {
    let hash = Sha256::digest(content);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The regular files directly in a directory, in order of name.
pub(crate) fn files_in(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(Error::io(dir))? {
        let path = entry.map_err(Error::io(dir))?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_tells_split_strings_apart() {
        let hash = |parts: &[&str]| {
            let mut digest = Digest::new();
            parts.iter().for_each(|part| digest.text(part));
            digest.finish()
        };
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_eq!(hash(&["ab"]), hash(&["ab"]));
    }
}
