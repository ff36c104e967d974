// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that SystemVerilog includes, wherever they lie.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::digest::{SOURCE_BYTES, read};

/// A file name as a directive has it, and the file that it may mean.
pub(crate) type Included = (String, PathBuf);

/// All files that `files` and what they include may include, at the places of a name or beside the file with the
/// directive: more than the preprocessor takes, never fewer. A file that is not there is the preprocessor's business.
///
/// # Errors
/// A file that cannot be read, is no regular file, or whose name is no text in quotes.
pub(crate) fn included(
    files: &[PathBuf],
    places: impl Fn(&str) -> Vec<PathBuf>,
) -> Result<Vec<Included>, Error> {
    let mut found = Vec::new();
    let mut seen: BTreeSet<PathBuf> = files.iter().cloned().collect();
    let mut open: Vec<PathBuf> = seen.iter().cloned().collect();
    while let Some(file) = open.pop() {
        let text = String::from_utf8_lossy(&read(&file, SOURCE_BYTES)?).into_owned();
        let beside = file.parent().unwrap_or(Path::new("")).to_owned();
        for name in names(&text, &file)? {
            for path in places(&name).into_iter().chain([beside.join(&name)]) {
                // A folder of that name is none; anything else is read, or refused.
                if path.exists() && !path.is_dir() && seen.insert(path.clone()) {
                    found.push((name.clone(), path.clone()));
                    open.push(path);
                }
            }
        }
    }
    Ok(found)
}

/// Names of the files that a text includes.
fn names(text: &str, file: &Path) -> Result<Vec<String>, Error> {
    const DIRECTIVE: &str = "`include";
    let mut names = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        // The slashes may be of the name.
        let code = if code.contains(DIRECTIVE) { line } else { code };
        for (at, _) in code.match_indices(DIRECTIVE) {
            let rest = code[at + DIRECTIVE.len()..].trim_start();
            let quoted = [('"', '"'), ('<', '>')]
                .into_iter()
                .find_map(|(open, close)| {
                    Some(rest.strip_prefix(open)?.split_once(close)?.0.to_owned())
                });
            names.push(quoted.ok_or_else(|| {
                Error::Include {
                    file: file.to_owned(),
                    line: index + 1,
                    found: rest
                        .split_whitespace()
                        .next()
                        .unwrap_or_default()
                        .to_owned(),
                }
            })?);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn x5_included_files_are_found_wherever_they_lie() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let at = |name: &str| dir.path().join(name);
        let put = |name: &str, text: &str| {
            let path = at(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
            fs::write(path, text).expect("file");
        };
        let far = at("far/away.svh");
        let absolute = format!("`include \"{}\"\n", far.display());
        put(
            "a/top.sv",
            &format!("`include \"sub/x.svh\" // x\n{absolute}// `include \"no\"\n"),
        );
        put(
            "a/sub/x.svh",
            "`include \"../../b/y.svh\"\n`include \"none.svh\"",
        );
        put("b/y.svh", "`include \"top.sv\" `include <z.svh>");
        put("b/z.svh", "");
        put("far/away.svh", "");
        let files = [at("a/top.sv")];
        let found = included(&files, |name| vec![at("a").join(name), at("b").join(name)]);
        let found = found.expect("found");
        let mut names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let far = far.display().to_string();
        let mut expected = ["../../b/y.svh", far.as_str(), "sub/x.svh", "z.svh"];
        expected.sort_unstable();
        assert_eq!(
            names.into_iter().collect::<BTreeSet<_>>(),
            BTreeSet::from(expected)
        );
    }

    #[test]
    fn x5_include_of_a_macro_is_refused_with_its_line() {
        let error = names("\n`include `NAME\n", Path::new("x.sv")).expect_err("a macro");
        let text = error.to_string();
        assert_eq!(
            text,
            "x.sv:2: `include `NAME: expected the file's name in quotes"
        );
    }
}
