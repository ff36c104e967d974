// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timelines as pages: what a page holds is what the run has counted, and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::timeline::written_alike;
use crate::{error_of, gyre, json, once, printed_by, scratch, text};

/// Contents of a page: its head, and the columns of its first machine by name.
struct Shown {
    file: String,
    head: Value,
    columns: BTreeMap<String, Vec<u64>>,
}

impl Shown {
    fn read(path: &Path) -> Self {
        let file = fs::read_to_string(path).expect("the page is there");
        let (_, rest) = file.split_once("type=\"text/plain\">").expect("its data");
        let (data, _) = rest.split_once("</script>").expect("their end");
        let data = STANDARD.decode(data).expect("in base64");
        let bytes = miniz_oxide::inflate::decompress_to_vec_zlib(&data).expect("deflated");
        let length = u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")) as usize;
        let (head, rest) = bytes[4..].split_at(length);
        let head: Value = serde_json::from_slice(head).expect("a head");
        let mut rest = rest.iter();
        let mut columns = BTreeMap::new();
        for column in head["runs"][0]["columns"].as_array().expect("columns") {
            let name = column["name"].as_str().expect("a name").to_owned();
            let mut before = 0_u64;
            let count = column["count"].as_u64().expect("a count");
            let values = (0..count).map(|_| {
                let value = number(&mut rest);
                if column["coding"] == "plain" {
                    return value;
                }
                before = before.wrapping_add(((value >> 1) as i64 ^ -((value & 1) as i64)) as u64);
                before
            });
            columns.insert(name, values.collect());
        }
        if head["runs"].as_array().map(Vec::len) == Some(1) {
            assert_eq!(rest.next(), None, "nothing is left");
        }
        let shown = Self {
            file,
            head,
            columns,
        };
        shown.check();
        shown
    }

    fn sum(&self, column: &str) -> u64 {
        self.columns[column].iter().sum()
    }

    /// Checks what every page must have.
    fn check(&self) {
        let loading = ["src=", "@import", "fetch(", "XMLHttpRequest", "import("];
        for loads in loading {
            assert!(!self.file.contains(loads), "a page loads nothing: {loads}");
        }
        let addresses = self.file.split("url(").skip(1);
        assert!(
            addresses
                .into_iter()
                .all(|address| address.starts_with('#'))
        );
        // Stages of a message follow each other from post to done.
        let mut times = self.columns["stage.time"].iter();
        let ends = self.columns["message.stages"]
            .iter()
            .zip(&self.columns["message.done"]);
        for (&stages, &done) in ends {
            let sum: u64 = times.by_ref().take(stages as usize).sum();
            if stages > 0 {
                // One more than twice the difference from the post.
                assert_eq!(sum * 2 + 1, done);
            }
        }
        assert_eq!(times.next(), None);
    }
}

fn number<'a>(bytes: &mut impl Iterator<Item = &'a u8>) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = *bytes.next().expect("a byte");
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}

#[test]
fn x2_x7_the_page_of_lulesh_says_what_the_run_counts() {
    let path = scratch("lulesh.html");
    let plain = once(&["run", "lulesh"]);
    let result = json(&["run", "lulesh", "--timeline", text(&path)]);
    assert_eq!(plain["hash"], result["hash"]);
    let shown = Shown::read(&path);
    assert_eq!(shown.head["figures"], result["metrics"]);
    assert_eq!(shown.head["shape"], serde_json::json!([2, 2, 2]));
    assert_eq!(shown.head["command"], "gyre run lulesh");
    assert_eq!(shown.columns["message.how"].len(), 1383);
    assert_eq!(result["metrics"]["bytes"], shown.sum("message.bytes"));
    // Flits of the torus: nothing else uses links.
    let links = result["metrics"]["links"].as_array().expect("links");
    let flits = links.iter().filter_map(|row| row["flits"].as_u64());
    assert_eq!(flits.sum::<u64>(), shown.sum("hop.flits"));
    // The critical path has no gap, and is as long as the program.
    let run = &shown.head["runs"][0];
    let analysis = &run["analysis"];
    let mut at = analysis["from_ps"].as_u64();
    for segment in analysis["path"].as_array().expect("a critical path") {
        assert_eq!(segment[0].as_u64(), at);
        at = at
            .zip(segment[1].as_u64())
            .map(|(begin, time)| begin + time);
    }
    assert_eq!(at, analysis["to_ps"].as_u64());
    assert!(fs::metadata(&path).expect("the page is there").len() < 500_000);
}

#[test]
fn x1_x7_pages_hold_nothing_of_the_simulator() {
    let file = written_alike("same.html");
    // Every rank sends to itself, too.
    assert_eq!(Shown::read(&file).columns["message.how"].len(), 64);
}

#[test]
fn x7_the_page_of_a_bench_has_all_its_machines() {
    let path = scratch("bare.html");
    let output = gyre(&["bench", "hop-latency", "--timeline", text(&path)]);
    assert!(output.status.success());
    let said = printed_by(&output);
    assert!(said.contains("no driver ran"), "{said}");
    let shown = Shown::read(&path);
    assert_eq!(shown.head["title"], "bench hop-latency");
    assert!(shown.columns["message.how"].is_empty() && shown.sum("hop.flits") > 0);
    assert!(shown.head["runs"][0]["analysis"].is_null());
    let path = scratch("driven.html");
    let result = json(&["bench", "match-memory", "--timeline", text(&path)]);
    let shown = Shown::read(&path);
    assert_eq!(shown.head["figures"], result["metrics"]);
    assert!(!shown.columns["message.how"].is_empty());
}

#[test]
fn x7_the_page_of_a_run_that_stops_says_who_waits_for_whom() {
    let program = scratch("circle.goal");
    // After the first message each waits for the other.
    let waits = "num_ranks 2\n\
        rank 0 {\nsend 9b to 1\nb: recv 8b from 1\nc: send 7b to 1\nc requires b\n}\n\
        rank 1 {\nr: recv 9b from 0\nx: recv 7b from 0\ns: send 8b to 0\nx requires r\ns requires x\n}\n";
    fs::write(&program, waits).expect("the build's folder can be written");
    let path = scratch("circle.html");
    let output = gyre(&["run", text(&program), "--timeline", text(&path)]);
    assert_eq!(output.status.code(), Some(1));
    let shown = Shown::read(&path);
    assert!(shown.head["figures"].is_null());
    let failure = &shown.head["failure"];
    let error = error_of(&output);
    assert!(
        error.contains(failure["text"].as_str().expect("an error").trim()),
        "{error}"
    );
    let waits = failure["waits"].as_array().expect("who waits");
    let on = |rank: u64| {
        let own = waits.iter().find(|wait| wait["rank"] == rank);
        own.and_then(|wait| wait["on"].as_u64())
    };
    assert_eq!((on(0), on(1)), (Some(1), Some(0)));
    // Threads wait as well; since when is known.
    assert!(waits.iter().any(|wait| wait["since_ps"].is_u64()));
    assert_eq!(shown.columns["message.how"].len(), 1);
}
