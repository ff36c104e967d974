// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::columns::Columns;
use crate::head::Head;
use crate::page::Page;
use crate::run;

/// How much is spent on deflating the data, from 0 to 10.
const LEVEL: u8 = 7;

const FRAME: &str = include_str!("../assets/page.html");
const STYLE: &str = include_str!("../assets/page.css");
/// Each uses only what stands in those before it, but for the functions that it calls later on.
const SCRIPTS: [&str; 20] = [
    include_str!("../assets/words.js"),
    include_str!("../assets/data.js"),
    include_str!("../assets/routes.js"),
    include_str!("../assets/view.js"),
    include_str!("../assets/canvas.js"),
    include_str!("../assets/lanes.js"),
    include_str!("../assets/sketch.js"),
    include_str!("../assets/rows.js"),
    include_str!("../assets/threads.js"),
    include_str!("../assets/strip.js"),
    include_str!("../assets/overview.js"),
    include_str!("../assets/torus.js"),
    include_str!("../assets/card.js"),
    include_str!("../assets/place.js"),
    include_str!("../assets/span.js"),
    include_str!("../assets/tables.js"),
    include_str!("../assets/waits.js"),
    include_str!("../assets/search.js"),
    include_str!("../assets/input.js"),
    include_str!("../assets/main.js"),
];

/// The bytes of the file.
///
/// # Errors
/// A figure that JSON cannot hold.
pub fn html(page: &Page<'_>) -> Result<String, serde_json::Error> {
    let columns: Vec<Columns> = page
        .runs
        .iter()
        .map(|run| run::columns(run.recording, run.messages))
        .collect();
    let head = serde_json::to_vec(&Head::of(page, &columns))?;
    // The head's length stands before it, in four bytes, lowest first.
    let mut data = (head.len() as u32).to_le_bytes().to_vec();
    data.extend(head);
    for columns in columns {
        data.extend_from_slice(&columns.bytes);
    }
    let data = STANDARD.encode(miniz_oxide::deflate::compress_to_vec_zlib(&data, LEVEL));
    let scripts = SCRIPTS.concat();
    let parts = [
        ("{{title}}", escaped(page.title)),
        ("/* style */", STYLE.to_owned()),
        ("{{data}}", data),
        ("/* scripts */", scripts),
    ];
    let mut file = String::new();
    let mut rest = FRAME;
    for (mark, part) in parts {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        file.push_str(before);
        file.push_str(&part);
        rest = after;
    }
    file.push_str(rest);
    Ok(file)
}

/// `text` between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
