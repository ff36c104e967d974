//! The requirements map, `docs/requirements.md`: every id is there, every path and test it names exists,
//! and every test with an id in its name is in it. `GYRE_UPDATE_MAP=1` writes the lists of tests anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use crate::root;

const MAP: &str = "docs/requirements.md";
const UPDATE: &str = "GYRE_UPDATE_MAP";

/// A line of the list of tests: a file, then its tests.
const TESTS_OF_A_FILE: &str = "  - ";

/// Groups of ids with the number of requirements in each.
const GROUPS: [(&str, u32); 7] = [
    ("HW", 12),
    ("EP", 18),
    ("FN", 8),
    ("AF", 6),
    ("AK", 6),
    ("CT", 8),
    ("X", 9),
];

/// Tests in these places drive the Verilated RTL through the host driver.
const ON_THE_MACHINE: [&str; 3] = ["tests/command/", "tests/machine/", "tests/processes/"];

/// One requirement of the map.
#[derive(Debug, Default, PartialEq)]
struct Row {
    code: Vec<String>,
    /// (file, test).
    tests: BTreeSet<(String, String)>,
    state: String,
}

/// The words in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Reads the map; what cannot be read goes into `faults`.
fn read(text: &str, faults: &mut Vec<String>) -> BTreeMap<String, Row> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let mut id = String::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("### ") {
            id = title.split(' ').next().unwrap_or_default().to_owned();
            if rows.insert(id.clone(), Row::default()).is_some() {
                faults.push(format!("{id} stands there twice"));
            }
        }
        let Some(row) = rows.get_mut(&id) else {
            continue;
        };
        if let Some(code) = line.strip_prefix("- code: ") {
            row.code.extend(quoted(code).map(str::to_owned));
        } else if let Some(tests) = line.strip_prefix(TESTS_OF_A_FILE) {
            let mut words = quoted(tests);
            let file = words.next().unwrap_or_default();
            row.tests
                .extend(words.map(|test| (file.to_owned(), test.to_owned())));
        } else if let Some(state) = line.strip_prefix("- state: ") {
            row.state = state.split("**").nth(1).unwrap_or_default().to_owned();
        }
    }
    rows
}

/// The ids that a test's name begins with: `hw1_ct8_...` gives HW-1 and CT-8.
fn ids_of(name: &str) -> Vec<String> {
    let id = |segment: &str| {
        let (group, _) = GROUPS.iter().find(|(group, _)| {
            let number = segment.strip_prefix(&group.to_lowercase());
            number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        })?;
        Some(format!("{group}-{}", &segment[group.len()..]))
    };
    name.split('_').map_while(id).collect()
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

/// Every Rust source of the project, by path from its root.
fn sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).expect("a folder of the project") {
            let entry = entry.expect("an entry of a folder");
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = folder.join(&name);
            if entry.path().is_dir() {
                if !name.starts_with('.') && name != "target" {
                    folders.push(path);
                }
            } else if name.ends_with(".rs") {
                let text = fs::read_to_string(entry.path()).expect("a source is text");
                found.insert(path.to_string_lossy().into_owned(), text);
            }
        }
    }
    found
}

/// What is wrong with the map, a line each.
fn faults(map: &str, sources: &BTreeMap<String, String>) -> Vec<String> {
    let mut faults = Vec::new();
    let rows = read(map, &mut faults);
    let expected: BTreeSet<String> = GROUPS
        .iter()
        .flat_map(|(group, last)| (1..=*last).map(move |n| format!("{group}-{n}")))
        .collect();
    for id in expected.iter().filter(|id| !rows.contains_key(*id)) {
        faults.push(format!("{id} is missing"));
    }
    for (id, row) in &rows {
        if !expected.contains(id) {
            faults.push(format!("{id} is no requirement"));
        }
        for path in row.code.iter().filter(|path| !root().join(path).exists()) {
            faults.push(format!("{id}: no file or folder {path}"));
        }
        for (file, test) in &row.tests {
            let source = sources.get(file);
            if !source.is_some_and(|source| functions(source).any(|name| name == test)) {
                faults.push(format!("{id}: no test {test} in {file}"));
            }
        }
        let on_the_machine = row
            .tests
            .iter()
            .any(|(file, _)| ON_THE_MACHINE.iter().any(|folder| file.starts_with(folder)));
        let fits = match row.state.as_str() {
            "done" => !row.code.is_empty() && on_the_machine,
            "partial" => !row.code.is_empty(),
            "not started" => row.code.is_empty() && row.tests.is_empty(),
            _ => false,
        };
        if !fits {
            faults.push(format!("{id}: state `{}` does not fit its row", row.state));
        }
    }
    for (file, source) in sources {
        for name in functions(source) {
            for id in ids_of(name) {
                let pair = (file.clone(), name.to_owned());
                if !rows.get(&id).is_some_and(|row| row.tests.contains(&pair)) {
                    faults.push(format!("{id}: test {name} in {file} is not in the map"));
                }
            }
        }
    }
    faults
}

/// The map with its lists of tests as they are now: those with the id in their names, and others that are
/// listed and exist.
fn updated(map: &str, sources: &BTreeMap<String, String>) -> String {
    let rows = read(map, &mut Vec::new());
    let mut text = String::new();
    let mut id = String::new();
    for line in map.lines() {
        if let Some(title) = line.strip_prefix("### ") {
            id = title.split(' ').next().unwrap_or_default().to_owned();
        }
        if line == "- tests:" || line.starts_with(TESTS_OF_A_FILE) {
            continue;
        }
        if line.starts_with("- state: ") {
            let mut list = String::new();
            for (file, source) in sources {
                let listed = |name: &str| {
                    let pair = (file.clone(), name.to_owned());
                    rows.get(&id).is_some_and(|row| row.tests.contains(&pair))
                };
                let named = |name: &str| ids_of(name).contains(&id);
                let tests: BTreeSet<&str> = functions(source)
                    .filter(|name| named(name) || listed(name))
                    .collect();
                if !tests.is_empty() {
                    let tests: Vec<String> = tests.iter().map(|test| format!("`{test}`")).collect();
                    list.push_str(&format!("{TESTS_OF_A_FILE}`{file}` {}\n", tests.join(" ")));
                }
            }
            if !list.is_empty() {
                text.push_str("- tests:\n");
                text.push_str(&list);
            }
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[test]
fn the_map_names_every_requirement_and_what_exists() {
    let path = root().join(MAP);
    let map = fs::read_to_string(&path).expect("the map is there");
    let sources = sources();
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&path, updated(&map, &sources)).expect("the map can be written");
        return;
    }
    let faults = faults(&map, &sources);
    assert!(
        faults.is_empty(),
        "{MAP}: {UPDATE}=1 writes the lists of tests anew\n{}",
        faults.join("\n")
    );
}

#[test]
fn lists_of_tests_written_anew_are_right() {
    let map =
        "### CT-2 x\n- code: `src`\n- tests:\n  - `a.rs` `gone` `other`\n- state: **partial**\n";
    let source = "fn hw1_ct2_here() {}\nfn other() {}\nfn third() {}\n";
    let sources = BTreeMap::from([("a.rs".to_owned(), source.to_owned())]);
    let updated = updated(map, &sources);
    assert_eq!(
        updated,
        map.replace("`gone` `other`", "`hw1_ct2_here` `other`")
    );
}

#[test]
fn the_check_of_the_map_finds_what_is_wrong() {
    let map = "### HW-1 x\n- code: `src`, `no/such/folder`\n- tests:\n  - `a.rs` `hw1_gone`\n- state: **done**\n\
               ### ZZ-9 x\n- state: **not started**\n";
    let source = "#[test]\nfn hw1_ct2_here() {}\n";
    let sources = BTreeMap::from([("a.rs".to_owned(), source.to_owned())]);
    let faults = faults(map, &sources);
    for fault in [
        "HW-2 is missing",
        "ZZ-9 is no requirement",
        "HW-1: no file or folder no/such/folder",
        "HW-1: no test hw1_gone in a.rs",
        "HW-1: state `done` does not fit its row",
        "HW-1: test hw1_ct2_here in a.rs is not in the map",
        "CT-2: test hw1_ct2_here in a.rs is not in the map",
    ] {
        assert!(
            faults.iter().any(|f| f == fault),
            "no `{fault}` in {faults:?}"
        );
    }
}
