// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparison of software's register map with that of an RTL tree.

use std::collections::BTreeMap;
use std::path::Path;

/// The description, and the register block made from it.
const DESCRIPTION: &str = "csr/gyre.rdl";
const BLOCK: &str = "csr/generated/gyre_csr.sv";

/// Bytes of either, at most.
const SOURCE_BYTES: u64 = 64 << 20;

/// Description of each component, by its path.
type Map = BTreeMap<String, Vec<String>>;

/// Compares the register map of the RTL in `tree` with the one that software was compiled with.
///
/// # Errors
/// The first register or field that differs, in words.
pub(super) fn compare(tree: &Path) -> Result<(), String> {
    let read = |file: &str| {
        let path = tree.join(file);
        gyre_files::read_text(&path, SOURCE_BYTES)
            .map_err(|error| format!("{}: {error}", path.display()))
    };
    let expected = map(include_str!("../../../../rtl/csr/gyre.rdl"));
    differs(&map(&read(DESCRIPTION)?), &expected)
        .map_err(|text| format!("{}: {text}", tree.join(DESCRIPTION).display()))?;
    let expected = decoder(include_str!("../../../../rtl/csr/generated/gyre_csr.sv"));
    same_lines(&decoder(&read(BLOCK)?), &expected)
        .map_err(|text| format!("{}:{text}", tree.join(BLOCK).display()))
}

/// Place and properties of each component of an RDL description, by its path; names and descriptions are left out.
fn map(text: &str) -> Map {
    let mut map = BTreeMap::new();
    let mut words = words(text).into_iter();
    components(&mut words, "", &mut map);
    map
}

/// Words of a description: strings whole, punctuation of blocks and statements alone.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut rest = text.chars().peekable();
    while let Some(next) = rest.next() {
        let comment = next == '/' && rest.peek() == Some(&'/');
        if !(next.is_whitespace() || comment || matches!(next, '{' | '}' | ';' | '"' | '=' | '@')) {
            word.push(next);
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        match next {
            _ if comment => while rest.next().is_some_and(|c| c != '\n') {},
            '"' => {
                let mut string = String::from('"');
                while let Some(c) = rest.next().filter(|&c| c != '"') {
                    string.push(c);
                }
                words.push(string);
            }
            '{' | '}' | ';' | '=' | '@' => words.push(next.to_string()),
            _ => {}
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// The statements up to the end of a block, those of blocks in it by their own paths.
fn components(words: &mut impl Iterator<Item = String>, path: &str, map: &mut Map) {
    let mut statement: Vec<String> = Vec::new();
    // Text before an ended block, and the text in it.
    let mut block: Option<(Vec<String>, Map)> = None;
    while let Some(word) = words.next() {
        match word.as_str() {
            "}" => return,
            "{" => {
                let mut inside = BTreeMap::new();
                components(words, "", &mut inside);
                block = Some((std::mem::take(&mut statement), inside));
            }
            ";" => {
                let after = std::mem::take(&mut statement);
                let Some((before, inside)) = block.take() else {
                    let of_text =
                        matches!(after.first().map(String::as_str), Some("name" | "desc"));
                    if !of_text {
                        map.entry(path.to_owned())
                            .or_default()
                            .push(after.join(" "));
                    }
                    continue;
                };
                // `reg {..} ctrl @ 0x10;`, `field {..} drain[1:1] = 0;`, or a type: `reg foo {..};`.
                let named = after.first().or(before.last());
                let name = named.map_or("", |word| word.split('[').next().unwrap_or_default());
                let own = match path {
                    "" => name.to_owned(),
                    _ => format!("{path}.{name}"),
                };
                let place = [before, after].concat().join(" ");
                map.entry(own.clone()).or_default().push(place);
                for (below, statements) in inside {
                    let path = match below.as_str() {
                        "" => own.clone(),
                        _ => format!("{own}.{below}"),
                    };
                    map.entry(path).or_default().extend(statements);
                }
            }
            _ => statement.push(word),
        }
    }
}

/// Names the first component that is not the same in both.
fn differs(found: &Map, expected: &Map) -> Result<(), String> {
    for (path, wanted) in expected {
        match found.get(path) {
            Some(is) if is == wanted => {}
            None => {
                return Err(format!(
                    "{path} is missing: expected `{}`",
                    wanted.join("; ")
                ));
            }
            Some(is) => {
                let at = |side: &[String], other: &[String]| {
                    let own = side.iter().find(|statement| !other.contains(statement));
                    own.cloned().unwrap_or_else(|| side.join("; "))
                };
                return Err(format!(
                    "{path} is `{}`: expected `{}`, which software was compiled with",
                    at(is, wanted),
                    at(wanted, is)
                ));
            }
        }
    }
    match found.keys().find(|path| !expected.contains_key(*path)) {
        None => Ok(()),
        Some(path) => Err(format!(
            "{path} is not expected: software was compiled without it"
        )),
    }
}

/// Lines of the generated block that decode addresses, or read or write bits of registers, with their numbers.
fn decoder(text: &str) -> Vec<(usize, &str)> {
    let numbered = (1..).zip(text.lines().map(str::trim));
    numbered
        .filter(|(_, line)| {
            [
                "cpuif_addr ==",
                "decoded_wr_data[",
                "rd_mux_addr ==",
                "readback_data_var[",
            ]
            .iter()
            .any(|part| line.contains(part))
        })
        .collect()
}

fn same_lines(found: &[(usize, &str)], expected: &[(usize, &str)]) -> Result<(), String> {
    for (at, (_, wanted)) in expected.iter().enumerate() {
        match found.get(at) {
            Some((_, line)) if line == wanted => {}
            Some((number, line)) => return Err(format!("{number}: `{line}`: expected `{wanted}`")),
            None => return Err(format!(" the line `{wanted}` is missing")),
        }
    }
    match found.get(expected.len()) {
        None => Ok(()),
        Some((number, line)) => Err(format!("{number}: `{line}` is not expected")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RDL: &str = "addrmap a { default sw = r; // comment; }\n reg { name = \"x; }\"; field { hw = na; } f[3:1] = 0; \
                       } r @ 0x10; big b[4] @ 0x20 += 8; };";

    fn change(from: &str, to: &str) -> Result<(), String> {
        assert!(RDL.contains(from), "{from}");
        differs(&map(&RDL.replace(from, to)), &map(RDL))
    }

    #[test]
    fn x8_texts_of_a_register_map_may_differ() {
        assert_eq!(change("// comment; }", "// other"), Ok(()));
        assert_eq!(change("\"x; }\"", "\"y\""), Ok(()));
    }

    #[test]
    fn x8_first_register_or_field_that_differs_is_named() {
        for (from, to, expected) in [
            (
                "f[3:1]",
                "f[4:2]",
                "a.r.f is `field f[4:2] = 0`: expected `field f[3:1] = 0`",
            ),
            ("hw = na", "hw = r", "a.r.f is `hw = r`: expected `hw = na`"),
            (
                "r @ 0x10",
                "r @ 0x18",
                "a.r is `reg r @ 0x18`: expected `reg r @ 0x10`",
            ),
            ("+= 8", "+= 16", "a is `big b[4] @ 0x20 + = 16`"),
            ("} r @", "} s @", "a.r is missing"),
            (
                "default sw = r",
                "default sw = rw",
                "a is `default sw = rw`: expected `default sw = r`",
            ),
        ] {
            let error = change(from, to).expect_err(from);
            assert!(error.starts_with(expected), "{error}");
        }
        let more = RDL.replace("big b", "reg { field {} g[0:0]; } more @ 0x8; big b");
        let error = differs(&map(&more), &map(RDL)).expect_err("one more");
        assert!(error.starts_with("a.more is not expected"), "{error}");
    }

    #[test]
    fn x8_every_component_of_the_own_description_is_found() {
        let own = map(include_str!("../../../../rtl/csr/gyre.rdl"));
        for path in [
            "node_regs.ctrl.drain",
            "gyre",
            "injection_fifo.tail",
            "group_page",
            "refusals.refused",
        ] {
            assert!(own.contains_key(path), "{path} of {:?}", own.keys());
        }
        assert!(decoder(include_str!("../../../../rtl/csr/generated/gyre_csr.sv")).len() > 100);
    }
}
