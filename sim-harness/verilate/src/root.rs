// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folders of the RTL, of Verilator and of the model cache: in a checkout, or below the prefix of an installation.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::Error;

/// `VERILATOR_ROOT` of the project's own Verilator in a checkout; its name in keys of caches everywhere.
pub(crate) const OWN_VERILATOR: &str = ".tools/verilator/verilator";

/// The checkout or the installation that a program belongs to.
#[derive(Debug)]
pub(crate) struct Places {
    /// Folder with `rtl/`.
    root: PathBuf,
    /// Prefix of the installation; none in a checkout.
    prefix: Option<PathBuf>,
}

impl Places {
    /// A checkout.
    pub(crate) fn checkout(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            prefix: None,
        }
    }

    /// The installation whose `bin/` holds `program`, if that is installed.
    fn of_installed(program: &Path) -> Option<Self> {
        let program = program.canonicalize().ok()?;
        let bin = program.parent().filter(|bin| bin.ends_with("bin"))?;
        let prefix = bin.parent()?;
        let root = prefix.join("share/gyre");
        root.is_dir().then(|| Self {
            root,
            prefix: Some(prefix.to_owned()),
        })
    }

    /// Places of the program that runs.
    pub(crate) fn own() -> &'static Self {
        static OWN: OnceLock<Places> = OnceLock::new();
        OWN.get_or_init(|| {
            let program = env::current_exe().ok();
            if let Some(places) = program.as_deref().and_then(Self::of_installed) {
                return places;
            }
            let compiled_in = Path::new(env!("CARGO_MANIFEST_DIR"));
            let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
            let is_root = |dir: &&Path| dir.join("Cargo.lock").is_file() && has_rtl(dir);
            let found = [package, program, Some(compiled_in.to_owned())]
                .iter()
                .flatten()
                .find_map(|place| place.ancestors().find(is_root).map(Path::to_owned));
            let built_in = || compiled_in.ancestors().nth(2).unwrap_or(compiled_in).into();
            Self::checkout(found.unwrap_or_else(built_in))
        })
    }

    /// Folder that relative paths start from.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// [`Places::root`], with the RTL in it.
    fn with_rtl(&self) -> Result<&Path, Error> {
        match (has_rtl(&self.root), &self.prefix) {
            (true, _) => Ok(&self.root),
            (false, None) => Err(Error::NoCheckout(self.root.clone())),
            (false, Some(_)) => Err(Error::NotInstalled(self.root.join("rtl/gyre.f"))),
        }
    }

    /// `VERILATOR_ROOT` of the project's own Verilator.
    pub(crate) fn verilator(&self) -> Result<PathBuf, Error> {
        let (root, missing): (_, fn(PathBuf) -> Error) = match &self.prefix {
            None => (self.root.join(OWN_VERILATOR), Error::NotSetUp),
            Some(prefix) => (prefix.join("lib/gyre/verilator"), Error::NotInstalled),
        };
        match root.is_dir() {
            true => Ok(root),
            false => Err(missing(root)),
        }
    }

    /// Folder of the model cache, without `GYRE_CACHE`: in the checkout; of an installation, in the user's folder of caches.
    pub(crate) fn models(&self) -> Result<PathBuf, Error> {
        let root = self.with_rtl()?;
        if self.prefix.is_none() {
            return Ok(root.join(".tools/models"));
        }
        let folder = |name| {
            let folder = env::var_os(name).map(PathBuf::from);
            folder.filter(|folder| folder.is_absolute())
        };
        let caches = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
        caches
            .map(|caches| caches.join("gyre"))
            .ok_or(Error::NoCache)
    }
}

/// The workspace root, which relative paths start from: of the crate whose test runs, else of the
/// program that runs, as it lies in a folder of the workspace; for an installed program, `share/gyre` below its prefix.
/// (A compiled-in path would lead a copy of the workspace with its `target/` back to the original: it is taken where
/// nothing else is found.)
pub fn workspace_root() -> &'static Path {
    Places::own().root()
}

/// [`workspace_root`], with the RTL in it.
///
/// # Errors
/// [`Error::NoCheckout`]: a program was taken away from the checkout that it was built in. [`Error::NotInstalled`].
pub fn checkout() -> Result<&'static Path, Error> {
    Places::own().with_rtl()
}

fn has_rtl(dir: &Path) -> bool {
    dir.join("rtl/gyre.f").is_file()
}

/// `path` as an absolute path; relative paths start from the workspace root.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    workspace_root().join(path)
}

/// `path` from the workspace root if it is inside, so that messages and generated code name the
/// same file in every checkout.
pub(crate) fn relative(path: &Path) -> &Path {
    path.strip_prefix(workspace_root()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn x8_missing_checkout_is_named() {
        let empty = tempfile::tempdir().expect("temporary directory");
        let error = Places::checkout(empty.path())
            .with_rtl()
            .expect_err("nothing is there");
        let text = error.to_string();
        let expected = format!(
            "no checkout of Gyre: {} has no rtl/gyre.f",
            empty.path().display()
        );
        assert!(text.starts_with(&expected), "{text}");
        assert!(checkout().is_ok());
    }

    #[test]
    fn installed_program_finds_its_prefix_or_names_the_missing_part() {
        let prefix = tempfile::tempdir().expect("temporary directory");
        let prefix = prefix.path().canonicalize().expect("it exists");
        let program = prefix.join("bin/gyre");
        fs::create_dir_all(prefix.join("bin")).expect("bin");
        fs::write(&program, "").expect("program");
        assert!(Places::of_installed(&program).is_none());
        fs::create_dir_all(prefix.join("share/gyre/rtl")).expect("share");
        let places = Places::of_installed(&program).expect("installed");
        let missing = |error: Error| match error {
            Error::NotInstalled(path) => path,
            other => panic!("{other}"),
        };
        let rtl = prefix.join("share/gyre/rtl/gyre.f");
        assert_eq!(missing(places.with_rtl().expect_err("no RTL")), rtl);
        let verilator = prefix.join("lib/gyre/verilator");
        assert_eq!(missing(places.verilator().expect_err("none")), verilator);
        fs::write(&rtl, "").expect("RTL");
        fs::create_dir_all(&verilator).expect("Verilator");
        assert_eq!(places.with_rtl().expect("RTL"), prefix.join("share/gyre"));
        assert_eq!(places.verilator().expect("Verilator"), verilator);
    }
}
