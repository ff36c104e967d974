// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first view of a waveform: what its save file names is there, and its markers and words are those of the run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use wellen::simple::{self, Waveform};

use crate::program::ring;
use crate::timeline::first_message_of;
use crate::waveform::carries;
use crate::{error_of, gyre, json, once, printed_by, scratch, text};

/// A save file as GTKWave reads it.
struct SaveFile {
    /// Rows: flags, name with range, and the only bit that is shown.
    signals: Vec<(u32, String, Option<u32>)>,
    labels: Vec<String>,
    titles: Vec<String>,
    /// By letter: time and name.
    markers: BTreeMap<char, (u64, String)>,
    zoom: f64,
}

impl SaveFile {
    /// Reads the save file beside a waveform, which it must name.
    fn beside(wave: &Path) -> Self {
        let path = wave.with_extension("gtkw");
        let content = fs::read_to_string(&path).expect("a save file beside the waveform");
        let name = wave.file_name().and_then(|name| name.to_str());
        let named = format!("[dumpfile] \"{}\"\n", name.expect("a name"));
        assert!(content.contains(&named), "{content}");
        let mut file = Self {
            signals: Vec::new(),
            labels: Vec::new(),
            titles: Vec::new(),
            markers: BTreeMap::new(),
            zoom: 0.0,
        };
        let (mut flags, mut times) = (0, Vec::new());
        for line in content.lines() {
            if let Some(rest) = line.strip_prefix('@') {
                flags = u32::from_str_radix(rest, 16).expect("flags");
            } else if let Some(rest) = line.strip_prefix('-') {
                assert_eq!(flags, 0x200, "a comment: {line}");
                file.titles.push(rest.to_owned());
            } else if let Some(rest) = line.strip_prefix('*') {
                let mut words = rest.split(' ');
                file.zoom = words.next().and_then(|w| w.parse().ok()).expect("a zoom");
                // The cursor comes first.
                times = words
                    .skip(1)
                    .map(|w| w.parse::<i64>().expect("a time"))
                    .collect();
            } else if let Some(rest) = line.strip_prefix("[markername] ") {
                let letter = rest.chars().next().expect("a letter");
                let time = times[letter as usize - 'A' as usize];
                let time = u64::try_from(time).expect("a marker with a name has a time");
                file.markers.insert(letter, (time, rest[1..].to_owned()));
            } else if let Some(rest) = line.strip_prefix("+{") {
                let (label, name) = rest.split_once("} ").expect("a label and a name");
                assert!(
                    !label.contains('.'),
                    "GTKWave leaves out what is before a dot: {label}"
                );
                let (bit, name) = match name.strip_prefix('(') {
                    Some(rest) => {
                        let (bit, name) = rest.split_once(')').expect("a bit");
                        (Some(bit.parse().expect("a number")), name)
                    }
                    None => (None, name),
                };
                file.labels.push(label.to_owned());
                file.signals.push((flags, name.to_owned(), bit));
            }
        }
        file
    }

    fn marker(&self, letter: char, name: &str) -> u64 {
        let (time, found) = self.markers.get(&letter).expect("the marker is set");
        assert_eq!(found, name);
        *time
    }
}

/// A waveform and its first view.
struct Shown {
    wave: Waveform,
    view: SaveFile,
    /// First and last time.
    times: (u64, u64),
}

impl Shown {
    /// Reads both, and checks that the waveform has all that the view names, as the view says it is.
    fn read(path: &Path) -> Self {
        let wave = simple::read(path).expect("a standard reader opens the file");
        let view = SaveFile::beside(path);
        let hierarchy = wave.hierarchy();
        let mut widths = BTreeMap::new();
        for var in hierarchy.all_vars().map(|var| &hierarchy[var]) {
            // The reader makes a scope of an array.
            let name = var.full_name(hierarchy).replace(".[", "[");
            let range = var.index().map(|index| (index.msb(), index.lsb()));
            widths.insert(
                name,
                (range, var.length(hierarchy).expect("a vector of bits")),
            );
        }
        for (flags, name, bit) in &view.signals {
            // The range of a vector stands behind its name.
            let (name, range) = match name.rsplit_once('[') {
                Some((short, range)) if range.contains(':') => (short, Some(range)),
                _ => (name.as_str(), None),
            };
            let found = widths.get(name);
            let &(declared, width) = found.unwrap_or_else(|| panic!("no signal {name}"));
            if let Some(range) = range {
                let (high, low) = range
                    .strip_suffix(']')
                    .and_then(|range| range.split_once(':'))
                    .expect("a range");
                let range = (high.parse().expect("a bit"), low.parse().expect("a bit"));
                assert_eq!(declared, Some(range), "{name}");
                assert_eq!(i64::from(width), range.0 - range.1 + 1, "{name}");
            } else {
                assert_eq!((declared, width), (None, 1), "{name}");
            }
            assert!(bit.is_none_or(|bit| bit < width), "{name}: bit {bit:?}");
            // One level, or a number, or words.
            let level = bit.is_some() || width == 1;
            assert_eq!(*flags == 0x28, level, "{name}: flags {flags:x}");
        }
        assert!(view.signals.len() > 4, "{:?}", view.signals);
        let mut table = wave.time_table().iter().copied().filter(|&time| time > 0);
        let first = table.next().expect("a time");
        let times = (first, table.next_back().unwrap_or(first));
        for (time, name) in view.markers.values() {
            assert!((times.0..=times.1).contains(time), "{name} at {time}");
        }
        // All of the waveform is in the window, and it takes most of it.
        let pixels = (times.1 - times.0) as f64 * 200.0 / (-view.zoom).exp2();
        assert!((800.0..1000.0).contains(&pixels), "{pixels}");
        Self { wave, view, times }
    }

    /// The rows that show `value` at some time between two, by their labels: of levels 1 counts, of others their bits.
    fn that_show(&mut self, value: u32, (from, to): (u64, u64)) -> Vec<String> {
        let hierarchy = self.wave.hierarchy();
        let mut found = BTreeMap::new();
        for var in hierarchy.all_vars().map(|var| &hierarchy[var]) {
            let name = var.full_name(hierarchy).replace(".[", "[");
            found.insert(name, var.signal_ref());
        }
        let signals = self.view.signals.iter().map(|(_, name, _)| {
            let short = name
                .rsplit_once('[')
                .filter(|(_, range)| range.contains(':'));
            found[short.map_or(name.as_str(), |(short, _)| short)]
        });
        let signals: Vec<_> = signals.collect();
        self.wave.load_signals(&signals);
        let times = self.wave.time_table();
        let shows = |number: usize| {
            let changes = self.wave.get_signal(signals[number]).expect("loaded above");
            let changes = changes.iter_changes();
            let mut inside = changes.filter(|(at, _)| (from..=to).contains(&times[*at as usize]));
            inside.any(|(_, bits)| {
                let bits = bits.to_string();
                match self.view.signals[number].2 {
                    Some(bit) => bits.as_bytes()[bit as usize] == b'1',
                    None if bits.len() == 1 => bits == "1",
                    None => u32::from_str_radix(&bits, 2) == Ok(value),
                }
            })
        };
        let rows = self.view.labels.iter().enumerate();
        rows.filter(|(number, _)| shows(*number))
            .map(|(_, label)| label.clone())
            .collect()
    }

    /// The words of the row of stages, from when on each; none without a row.
    fn words(&mut self) -> Vec<(u64, String)> {
        let hierarchy = self.wave.hierarchy();
        let row = hierarchy
            .all_vars()
            .find(|&var| hierarchy[var].full_name(hierarchy) == "message.stage")
            .map(|var| hierarchy[var].signal_ref());
        let Some(row) = row else {
            return Vec::new();
        };
        self.wave.load_signals(&[row]);
        let times = self.wave.time_table();
        let changes = self.wave.get_signal(row).expect("loaded above");
        let text = |bits: String| {
            // An FST begins with a frame of unknown values.
            let bytes = bits.as_bytes().chunks(8).map(|byte| {
                let byte = std::str::from_utf8(byte).ok()?;
                u8::from_str_radix(byte, 2).ok()
            });
            let bytes = bytes.collect::<Option<Vec<u8>>>()?;
            let word = String::from_utf8(bytes).expect("ASCII");
            Some(word.trim_matches(['\0', ' ']).to_owned())
        };
        let changes = changes.iter_changes();
        let words =
            changes.filter_map(|(at, value)| Some((times[at as usize], text(value.to_string())?)));
        words.filter(|(_, word)| !word.is_empty()).collect()
    }
}

/// The word with which a stage of a timeline begins in the row; hops are named by their links.
fn word(stage: &str) -> &str {
    match stage {
        "queue" => "post",
        "start" => "make descriptor",
        "fetch" => "fetch descriptor",
        "network" => "hop ",
        "reception" => "arrive",
        "match" => "dispatch",
        "wait_for_receive" => "wait for receive",
        "ask" => "ask for data",
        "inject_request" => "inject request",
        "request_network" => "request hop ",
        "serve_request" => "serve request",
        "data_network" => "data hop ",
        other => other,
    }
}

/// The row has the stages of the message, to the picosecond, and between them nothing but hops.
fn compare(words: &[(u64, String)], posted_ps: u64, stages: &[(String, u64)]) {
    let mut at = posted_ps;
    let mut expected: Vec<(u64, &str)> = Vec::new();
    for (stage, length) in stages {
        // Of several at the same time the last one is shown.
        expected.retain(|&(time, _)| time != at);
        expected.push((at, word(stage)));
        at += length;
    }
    expected.retain(|&(time, _)| time != at);
    expected.push((at, "done"));
    let mut rest = words;
    for &(time, begin) in &expected {
        while let Some(((_, word), after)) = rest.split_first()
            && !rest.is_empty()
            && rest[0].0 < time
        {
            assert!(word.contains("hop "), "{word} at {}: {words:?}", rest[0].0);
            rest = after;
        }
        let (found, after) = rest.split_first().expect("another word");
        assert_eq!(found.0, time, "{begin}: {words:?} are not {expected:?}");
        assert!(found.1.starts_with(begin), "{begin}: {words:?}");
        rest = after;
    }
    assert_eq!(rest, [], "nothing follows");
}

/// Rows of the first message of LULESH, from rank 3 on node 3 to rank 7 on node 7 by link c+, that are levels or carry its id.
const AT_WORK: [&str; 22] = [
    "s_aw_valid_i[0]",
    "u_fetch ar_valid_o",
    "u_fetch desc_q msg_id",
    "u_activate load_o",
    "u_packetizer cmd_valid_o[4]",
    "u_path ar_valid_o",
    "u_path r_valid_i",
    "inj_valid[4]",
    "inj_ctl[4] dbg",
    "link_ctl_o[4] valid",
    "link_ctl_o[4] head",
    "link_ctl_o[4] tail",
    "link_dbg_o[4]",
    "link_ctl_i[5] valid",
    "ej_valid[5][0]",
    "ej_ctl[5][0] dbg",
    "u_header hdr_valid_o",
    "m_aw_valid_o[1]",
    "m_w_valid_o[1]",
    "u_mux w_dbg_q",
    "m_b_valid_i[1]",
    "s_ar_valid_i[0]",
];
/// Number of rows that show something else.
const OTHERS: usize = 9;

#[test]
fn x1_x2_the_first_view_of_lulesh_follows_the_stages_of_a_message() {
    for (name, eager) in [
        ("eager.vcd", "4096"),
        ("eager.fst", "4096"),
        ("asked.fst", "64"),
    ] {
        let path = scratch(&format!("view-{name}"));
        fs::remove_file(path.with_extension("gtkw")).ok();
        let timeline = path.with_extension("perfetto-trace");
        let limit = format!("eager_limit={eager}");
        let arguments = ["run", "lulesh", "--set", &limit];
        let plain = once(&arguments);
        let files = ["--trace", text(&path), "--timeline", text(&timeline)];
        let result = json(&[&arguments[..], &files].concat());
        assert_eq!(plain["hash"], result["hash"], "{name}");
        assert_eq!(plain["metrics"], result["metrics"], "{name}");
        let size = path.metadata().expect("the waveform was written").len();
        assert!(size < 20 << 20, "{name} has {size} bytes");
        let mut shown = Shown::read(&path);
        let first = &result["metrics"]["first_message"];
        let number = |name: &str| first[name].as_u64().expect("a number");

        let (posted_ps, stages) =
            first_message_of(&timeline, (number("source"), number("destination")));
        let total: u64 = stages.iter().map(|(_, ps)| ps).sum();
        assert_eq!(shown.view.marker('A', "post"), posted_ps);
        assert_eq!(shown.view.marker('B', "arrival"), posted_ps + total);
        // The program has called before that, and has the message after it.
        let called = number("from_cycle") * 2000..=number("to_cycle") * 2000;
        assert!(called.contains(&posted_ps) && called.contains(&(posted_ps + total)));
        let words = shown.words();
        compare(&words, posted_ps, &stages);

        // The stages in order, with the real names of nodes and links.
        let (from, to) = (number("source"), number("destination"));
        let mut titles = shown.view.titles.iter();
        for title in [
            format!("node {from}: doorbell (TAIL)"),
            format!("node {from}: descriptor fetch"),
            format!("node {from}: injection, "),
            format!(", node {from} to {to}"),
            format!("node {to}: ejection, reception"),
            format!("node {to}: memory write"),
            format!("node {to}: wake-up"),
        ] {
            let all = &shown.view.titles;
            assert!(
                titles.any(|found| found.contains(&title)),
                "{title}: {all:?}"
            );
        }
        if eager != "64" {
            // Each stage does its work between post and arrival, for this message, on the path that it takes.
            let id = u32::try_from(from << 16 | 1).expect("an id");
            assert!(carries(&path, "link_dbg_o", id.into()), "{name}: {id:#x}");
            let at_work = shown.that_show(id, (posted_ps, posted_ps + total));
            assert_eq!(at_work, AT_WORK, "{name}");
            assert_eq!(shown.view.labels.len(), AT_WORK.len() + OTHERS);
        }
        let asked = shown
            .view
            .titles
            .iter()
            .any(|title| title.starts_with("get data: "));
        assert_eq!(asked, eager == "64");
    }
}

#[test]
fn x2_the_first_view_of_a_part_has_what_is_in_the_waveform() {
    // The target alone; a part of it; all nodes; a window of others.
    for (name, option, value) in [
        ("target.vcd", "--trace-scope", "7"),
        ("part.fst", "--trace-scope", "node7.gyre_node.u_dma"),
        ("all.fst", "--trace-scope", "all"),
        ("window.fst", "--trace-window", "60000:62000"),
    ] {
        let path = scratch(&format!("view-{name}"));
        let output = gyre(&["run", "lulesh", "--trace", text(&path), option, value]);
        let said = printed_by(&output);
        assert!(output.status.success(), "{said}");
        let view = format!(": {}\n", text(&path.with_extension("gtkw")));
        assert!(said.contains(&view), "{said}");
        let mut shown = Shown::read(&path);
        assert!(!shown.words().is_empty(), "{name}");
        if option == "--trace-scope" {
            assert!(
                said.contains("of message 1, send of 392 B from task 3 to 7: "),
                "{said}"
            );
            assert_eq!(shown.words().last().expect("a word").1, "done");
        }
        let outside = |name: &str| !name.starts_with("node7.") && name.starts_with("node");
        let left_out = value.contains('7') && !value.contains(':');
        for (_, name, _) in &shown.view.signals {
            assert!(!(left_out && outside(name)), "{name}");
        }
    }
}

#[test]
fn x2_benches_have_first_views_with_and_without_a_driver() {
    for (bench, shape, window, follows) in [
        ("pingpong", "2", "16000:18000", " of message "),
        // Routers alone.
        ("hop-latency", "8", "2000:2060", " of a packet of "),
        ("traffic", "3x3", "200:400", " of a packet of "),
        // The collective network.
        ("barrier", "2x2", "16000:18000", ""),
    ] {
        let path = scratch(&format!("view-{bench}.fst"));
        let arguments = ["bench", bench, "--shape", shape];
        let trace = ["--trace", text(&path), "--trace-window", window];
        let output = gyre(&[&arguments[..], &trace].concat());
        let said = printed_by(&output);
        assert!(output.status.success(), "{}", error_of(&output));
        let line = said.lines().find(|line| line.contains("view in GTKWave"));
        assert!(line.is_some_and(|line| line.contains(follows)), "{said}");
        let mut shown = Shown::read(&path);
        if follows.contains("packet") {
            let words = shown.words();
            let first = shown.view.marker('A', "first flit");
            assert_eq!(words[0].0, first);
            assert!(words[0].1.starts_with("hop "), "{words:?}");
            let links = shown
                .view
                .titles
                .iter()
                .filter(|title| title.starts_with("link "));
            let hops = words.iter().filter(|(_, word)| word.starts_with("hop "));
            assert_eq!(
                links.count(),
                hops.count(),
                "{words:?} {:?}",
                shown.view.titles
            );
        }
    }
}

#[test]
fn x2_the_first_view_within_a_node_shows_the_loopback_path() {
    let program = scratch("view-within.goal");
    let ranks = "num_ranks 2\nrank 0 {\na: send 600b to 1 tag 7\n}\n\
                 rank 1 {\na: recv 600b from 0 tag 7\n}\n";
    fs::write(&program, ranks).expect("own folder");
    let path = scratch("view-within.vcd");
    let result = json(&[
        "run",
        text(&program),
        "--shape",
        "1",
        "--trace",
        text(&path),
    ]);
    assert_eq!(result["metrics"]["verified"], true);
    let mut shown = Shown::read(&path);
    let ends = (
        shown.view.marker('A', "post"),
        shown.view.marker('B', "arrival"),
    );
    let at_work = shown.that_show(1, ends);
    for label in [
        "u_packetizer cmd_valid_o[6]",
        "inj_valid[6]",
        "inj_ctl[6] dbg",
        "ej_valid[6][0]",
        "loop_ctl[0] dbg",
        "u_header hdr_valid_o",
        "u_mux w_dbg_q",
    ] {
        assert!(
            at_work.iter().any(|row| row == label),
            "no {label} in {at_work:?}"
        );
    }
}

#[test]
fn x2_a_view_that_somebody_has_saved_is_kept() {
    let path = scratch("view-kept.fst");
    let program = ring("view-kept", 2, 2);
    let view = path.with_extension("gtkw");
    let own = "[*]\n[*] GTKWave Analyzer v3.3.118 (w)1999-2023 BSI\n[*]\n";
    fs::write(&view, own).expect("own folder");
    let run = || {
        let output = gyre(&["run", text(&program), "--trace", text(&path)]);
        printed_by(&output)
    };
    let said = run();
    assert!(
        said.contains("view in GTKWave, kept as it was saved: "),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&view).expect("still there"), own);
    fs::remove_file(&view).expect("own file");
    run();
    let first = fs::read(&view).expect("written");
    run();
    assert_eq!(fs::read(&view).expect("written again"), first);
}

/// Checks the view of a run that failed in cycle `cycle`, or made no progress after it. The words of its row.
pub fn check_failure(path: &Path, cycle: u64, stalled: bool) -> Vec<(u64, String)> {
    let mut shown = Shown::read(path);
    let name = if stalled { "last progress" } else { "failure" };
    assert_eq!(shown.view.marker('B', name), cycle * 2000);
    let state = |title: &String| title.ends_with("errors, rest");
    assert!(
        shown.view.titles.iter().any(state),
        "{:?}",
        shown.view.titles
    );
    let words = shown.words();
    assert!(words.iter().all(|(at, _)| *at <= shown.times.1));
    words
}
