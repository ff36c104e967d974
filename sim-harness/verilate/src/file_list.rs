// SPDX-License-Identifier: MIT OR Apache-2.0
use std::path::{Path, PathBuf};

use crate::Error;
use crate::digest::SOURCE_BYTES;

/// Absolute paths that a command file (`rtl/gyre.f`) names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileList {
    /// Source files, in order.
    pub(crate) sources: Vec<PathBuf>,
    /// `-y` directories: a module not in a source file is looked up here by its file's name.
    pub(crate) library_dirs: Vec<PathBuf>,
    /// `+incdir+` directories.
    pub(crate) include_dirs: Vec<PathBuf>,
}

impl FileList {
    /// Reads a command file whose paths are relative to its own directory, as with `-F`.
    pub(crate) fn read(file: &Path) -> Result<Self, Error> {
        let text = gyre_files::read_text(file, SOURCE_BYTES).map_err(Error::io(file))?;
        Self::parse(&text, file, |path, is_dir| match is_dir {
            true => path.is_dir(),
            false => path.is_file(),
        })
    }

    /// The list of a text; `is_there` says whether a path is a folder, or a file.
    fn parse(
        text: &str,
        file: &Path,
        is_there: impl Fn(&Path, bool) -> bool,
    ) -> Result<Self, Error> {
        let base = file.parent().unwrap_or(Path::new(""));
        let mut list = Self::default();
        for (index, line) in text.lines().enumerate() {
            let bad = |found: &str| Error::FileList {
                file: file.to_owned(),
                line: index + 1,
                found: found.to_owned(),
            };
            let there = |name: &str, is_dir| {
                let path = base.join(name);
                match is_there(&path, is_dir) {
                    true => Ok(path),
                    false => Err(Error::NotListed {
                        file: file.to_owned(),
                        line: index + 1,
                        path,
                        expected: if is_dir { "a folder" } else { "a file" },
                    }),
                }
            };
            let mut words = line.split("//").next().unwrap_or("").split_whitespace();
            while let Some(word) = words.next() {
                if word == "-y" {
                    let dir = words.next().ok_or_else(|| bad(word))?;
                    list.library_dirs.push(there(dir, true)?);
                } else if let Some(dir) = word.strip_prefix("+incdir+") {
                    list.include_dirs.push(there(dir, true)?);
                } else if word.starts_with("+libext+") {
                    // Every module file is `.sv`, which Verilator looks for anyway.
                } else if word.starts_with(['-', '+']) {
                    return Err(bad(word));
                } else {
                    list.sources.push(there(word, false)?);
                }
            }
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_libraries_and_includes_are_told_apart() {
        let text =
            "// packages\npkg/a_pkg.sv pkg/b_pkg.sv // two\n-y common\n+incdir+inc\n+libext+.sv\n";
        let list =
            FileList::parse(text, Path::new("rtl/gyre.f"), |_, _| true).expect("well-formed");
        let path = |p: &str| PathBuf::from("rtl").join(p);
        assert_eq!(list.sources, [path("pkg/a_pkg.sv"), path("pkg/b_pkg.sv")]);
        assert_eq!(list.library_dirs, [path("common")]);
        assert_eq!(list.include_dirs, [path("inc")]);
    }

    #[test]
    fn unknown_word_is_refused_with_its_line() {
        let error =
            FileList::parse("a.sv\n-v lib.sv\n", Path::new("x.f"), |_, _| true).expect_err("-v");
        assert!(error.to_string().starts_with("x.f:2: \"-v\""), "{error}");
        let error = FileList::parse("-y", Path::new("x.f"), |_, _| true).expect_err("-y alone");
        assert!(error.to_string().starts_with("x.f:1: \"-y\""), "{error}");
    }

    #[test]
    fn x5_list_that_names_what_is_not_there_is_refused_with_its_line() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let list = folder.path().join("x.f");
        for (text, line, name, expected) in [
            ("// none\nno.sv\n", 2, "no.sv", "a file"),
            ("-y no\n", 1, "no", "a folder"),
            ("\n\n+incdir+x.f\n", 3, "x.f", "a folder"),
        ] {
            std::fs::write(&list, text).expect("file");
            let error = FileList::read(&list).expect_err("refused");
            let path = folder.path().join(name);
            let said = format!(
                "{}:{line}: {} is not there: expected {expected}",
                list.display(),
                path.display()
            );
            assert_eq!(error.to_string(), said);
            assert!(error.refuses_rtl());
        }
    }
}
