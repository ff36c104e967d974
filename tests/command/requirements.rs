// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requirements map, `docs/requirements.md`: one row for every id, whatever a row names exists, and its state fits.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::root;

const MAP: &str = "docs/requirements.md";

/// Groups of ids with the number of requirements in each.
const GROUPS: [(&str, u32); 7] = [
    ("HW", 12),
    ("EP", 19),
    ("FN", 9),
    ("AF", 6),
    ("AK", 7),
    ("CT", 8),
    ("X", 11),
];

/// Folders whose tests drive the Verilated RTL through the host driver.
const ON_THE_MACHINE: [&str; 3] = ["tests/command/", "tests/machine/", "tests/processes/"];

/// The words in backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// All ids of [`GROUPS`].
fn ids() -> BTreeSet<String> {
    let group = |&(group, last)| (1..=last).map(move |n| format!("{group}-{n}"));
    GROUPS.iter().flat_map(group).collect()
}

/// The ids at the beginning of a test's name: `hw1_ct8_...` gives HW-1 and CT-8.
fn ids_of(name: &str) -> impl Iterator<Item = String> {
    let id = |word: &str| {
        let number = word.trim_start_matches(|c: char| c.is_ascii_lowercase());
        let group = word.strip_suffix(number)?.to_uppercase();
        let known = GROUPS.iter().any(|(name, _)| *name == group);
        (known && number.parse::<u32>().is_ok()).then(|| format!("{group}-{number}"))
    };
    name.split('_').map_while(id)
}

/// The names of all functions in a Rust source.
fn functions(source: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    source.lines().filter_map(move |line| {
        let name = line
            .trim_start()
            .trim_start_matches("pub ")
            .strip_prefix("fn ")?;
        name.split(|c| !is_name(c)).next()
    })
}

/// Whether the proof of a row exists: a file, and a test in it if one is named.
fn exists(root: &Path, proof: &[&str]) -> bool {
    match proof {
        [] => true,
        [file] => root.join(file).is_file(),
        [file, test] => fs::read_to_string(root.join(file))
            .is_ok_and(|source| functions(&source).any(|name| name == *test)),
        _ => false,
    }
}

/// Faults of the map, a line each.
fn faults(root: &Path, map: &str) -> Vec<String> {
    let (mut faults, mut missing) = (Vec::new(), ids());
    for line in map
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('-'))
    {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [id, _, state, code, lack, proof] = cells[..] else {
            faults.push(format!("expected 6 cells: {line}"));
            continue;
        };
        if !missing.remove(id) {
            faults.push(format!("{id} stands there twice, or is no requirement"));
        }
        let (code, proof) = (quoted(code), quoted(proof));
        for path in code.iter().filter(|path| !root.join(path).exists()) {
            faults.push(format!("{id}: no file or folder {path}"));
        }
        if !exists(root, &proof) {
            faults.push(format!("{id}: no proof {}", proof.join(" ")));
        }
        let on_the_machine =
            proof.len() == 2 && ON_THE_MACHINE.iter().any(|at| proof[0].starts_with(at));
        let fits = match state {
            "done" => !code.is_empty() && on_the_machine,
            "partial" => !code.is_empty() && !lack.is_empty(),
            "not started" => code.is_empty() && proof.is_empty() && !lack.is_empty(),
            _ => false,
        };
        if !fits {
            faults.push(format!("{id}: state `{state}` does not fit its row"));
        }
    }
    faults.extend(missing.iter().map(|id| format!("{id} is missing")));
    faults
}

/// Ids in names of functions below a folder that are no requirements.
fn unknown_ids(folder: PathBuf, known: &BTreeSet<String>, faults: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder of the project") {
        let path = entry.expect("an entry of a folder").path();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        if path.is_dir() && !name.starts_with('.') && name != "target" {
            unknown_ids(path, known, faults);
        } else if name.ends_with(".rs") {
            let source = fs::read_to_string(&path).expect("a source is text");
            let ids = functions(&source)
                .flat_map(|function| ids_of(function).map(move |id| (function, id)));
            let unknown = ids.filter(|(_, id)| !known.contains(id));
            faults.extend(
                unknown.map(|(function, id)| format!("{id} of {function} is no requirement")),
            );
        }
    }
}

#[test]
fn the_map_has_every_requirement_and_names_what_exists() {
    let map = fs::read_to_string(root().join(MAP)).expect("the map is there");
    let mut faults = faults(root(), &map);
    unknown_ids(root().to_owned(), &ids(), &mut faults);
    assert!(faults.is_empty(), "{MAP}:\n{}", faults.join("\n"));
}

#[test]
fn the_check_of_the_map_finds_planted_faults() {
    let folder = crate::scratch("requirements");
    fs::create_dir_all(folder.join("src")).expect("a folder");
    let source = "#[test]\nfn hw1_ct2_here() {}\nfn hw99_there() {}\nfn x_1() {}\n";
    fs::write(folder.join("src/a.rs"), source).expect("a file");
    let map = "| HW-1 | x | done | `src`, `no/such` | | `src/a.rs` `hw1_gone` |\n\
               | HW-2 | x | done | `src` | | `src/a.rs` `hw1_ct2_here` |\n\
               | HW-2 | x | partial | `src` | all | `src/a.rs` |\n\
               | HW-3 | x | partial | `src` | | `src/b.rs` |\n\
               | HW-4 | x | not started | | all | |\n\
               | HW-5 | x | not started | | all |\n\
               | HW-6 | x | begun | `src` | all | |\n\
               | ZZ-9 | x | not started | `src` | all | |\n";
    let mut found = faults(&folder, map);
    unknown_ids(folder.clone(), &ids(), &mut found);
    let expected = [
        "HW-1: no file or folder no/such",
        "HW-1: no proof src/a.rs hw1_gone",
        "HW-1: state `done` does not fit its row",
        "HW-2: state `done` does not fit its row",
        "HW-2 stands there twice, or is no requirement",
        "HW-3: no proof src/b.rs",
        "HW-3: state `partial` does not fit its row",
        "expected 6 cells: | HW-5 | x | not started | | all |",
        "HW-6: state `begun` does not fit its row",
        "ZZ-9 stands there twice, or is no requirement",
        "ZZ-9: state `not started` does not fit its row",
        "AF-1 is missing",
        "HW-5 is missing",
        "HW-99 of hw99_there is no requirement",
    ];
    for fault in expected {
        assert!(
            found.iter().any(|f| f == fault),
            "no `{fault}` in {found:?}"
        );
    }
    let present = found.iter().filter(|fault| !fault.ends_with(" is missing"));
    assert_eq!(present.count(), expected.len() - 2, "{found:?}");
}
