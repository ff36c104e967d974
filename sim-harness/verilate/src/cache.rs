use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::Error;

/// A running hash over the inputs of a build step.
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
        let content = fs::read(file).map_err(Error::io(file))?;
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
        hash[..12]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// SHA-256 of a file, in hexadecimal digits.
pub(crate) fn digest_of(file: &Path) -> Result<String, Error> {
    let content = fs::read(file).map_err(Error::io(file))?;
    let hash = Sha256::digest(&content);
    Ok(hash.iter().map(|byte| format!("{byte:02x}")).collect())
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

/// A directory of finished build steps, each named `<name>-<hash of its inputs>`.
pub(crate) struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// The cache of a package: `<target>/verilated/<package>`, shared by all profiles.
    pub(crate) fn of_package(out_dir: &Path, package: &str) -> Self {
        // OUT_DIR is <target>/<profile>/build/<package>-<hash>/out.
        let target = out_dir
            .ancestors()
            .find(|dir| dir.ends_with("build"))
            .and_then(|build| build.ancestors().nth(2))
            .unwrap_or(out_dir);
        Self {
            dir: target.join("verilated").join(package),
        }
    }

    /// Where the result of a step with these inputs is, or will be.
    pub(crate) fn path(&self, name: &str, hash: &str) -> PathBuf {
        self.dir.join(format!("{name}-{hash}"))
    }

    /// An empty directory to work in; [`Cache::keep`] makes it the result.
    pub(crate) fn scratch(&self, name: &str) -> Result<PathBuf, Error> {
        let dir = self.dir.join(format!("{name}.{}.part", std::process::id()));
        if dir.exists() {
            fs::remove_dir_all(&dir).map_err(Error::io(&dir))?;
        }
        fs::create_dir_all(&dir).map_err(Error::io(&dir))?;
        Ok(dir)
    }

    /// Makes a finished scratch directory the result at `path`, and drops older results of the same
    /// name. A build that finished first with the same inputs wins.
    pub(crate) fn keep(&self, name: &str, scratch: &Path, path: &Path) -> Result<(), Error> {
        if path.exists() {
            fs::remove_dir_all(scratch).map_err(Error::io(scratch))?;
        } else {
            fs::rename(scratch, path).map_err(Error::io(path))?;
        }
        for entry in fs::read_dir(&self.dir).map_err(Error::io(&self.dir))? {
            let entry = entry.map_err(Error::io(&self.dir))?;
            let found = entry.file_name().to_string_lossy().into_owned();
            let same_name = found.rsplit_once('-').is_some_and(|(n, _)| n == name);
            if same_name && entry.path() != path {
                fs::remove_dir_all(entry.path()).map_err(Error::io(&entry.path()))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_is_shared_by_profiles_and_split_by_target() {
        let dir = |out: &str| Cache::of_package(Path::new(out), "p").dir;
        let native = PathBuf::from("/w/target/verilated/p");
        assert_eq!(dir("/w/target/debug/build/p-1/out"), native);
        assert_eq!(dir("/w/target/release/build/p-2/out"), native);
        assert_eq!(
            dir("/w/target/x86_64-unknown-linux-gnu/debug/build/p-1/out"),
            PathBuf::from("/w/target/x86_64-unknown-linux-gnu/verilated/p")
        );
    }

    #[test]
    fn keeping_a_result_drops_older_ones_of_the_same_name_only() {
        let target = tempfile::tempdir().expect("temporary directory");
        let cache = Cache::of_package(&target.path().join("debug/build/p-1/out"), "p");
        let put = |name: &str, hash: &str| {
            let scratch = cache.scratch(name).expect("scratch");
            let path = cache.path(name, hash);
            cache.keep(name, &scratch, &path).expect("keep");
            path
        };
        let old = put("Vnode", "aa");
        let other = put("Vnode3", "aa");
        let new = put("Vnode", "bb");
        assert!(!old.exists() && other.exists() && new.exists());
    }

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
