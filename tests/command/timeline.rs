// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timelines: read back and compared with what the run has counted, and with each other.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gyre_timeline::perfetto::proto::{EventType, InternedData, Trace, TrackDescriptor, TrackEvent};
use prost::Message as _;
use serde_json::Value;

use crate::program::all_to_all;
use crate::{error_of, gyre, json, once, printed_by, scratch, text};

/// An event with its time in nanoseconds.
type Timed = (u64, TrackEvent);

/// A timeline as a reader sees it, once its structure has been checked.
pub struct Timeline {
    tracks: BTreeMap<u64, TrackDescriptor>,
    names: InternedData,
    events: BTreeMap<u64, Vec<Timed>>,
    /// By arrow: the events that it leaves from and ends at.
    arrows: BTreeMap<u64, (Option<Timed>, Option<Timed>)>,
}

impl Timeline {
    pub fn read(path: &Path) -> Self {
        let bytes = fs::read(path).expect("the timeline is there");
        let trace = Trace::decode(&bytes[..]).expect("a trace of Perfetto's format");
        let mut timeline = Self {
            tracks: BTreeMap::new(),
            names: InternedData::default(),
            events: BTreeMap::new(),
            arrows: BTreeMap::new(),
        };
        for packet in trace.packet {
            if let Some(names) = packet.interned_data {
                timeline.names = names;
            }
            if let Some(track) = packet.track_descriptor {
                let before = timeline.tracks.insert(track.uuid(), track);
                assert!(before.is_none(), "a track is described once");
            }
            if let Some(event) = packet.track_event {
                let ns = packet.timestamp.expect("an event has a time");
                timeline.arrow((ns, event.clone()));
                let track = event.track_uuid();
                timeline.events.entry(track).or_default().push((ns, event));
            }
        }
        timeline.check();
        timeline
    }

    fn arrow(&mut self, event: Timed) {
        for &flow in &event.1.flow_ids {
            let ends = self.arrows.entry(flow).or_default();
            assert!(
                ends.0.replace(event.clone()).is_none(),
                "arrow {flow} leaves once"
            );
        }
        for &flow in &event.1.terminating_flow_ids {
            let ends = self.arrows.entry(flow).or_default();
            assert!(
                ends.1.replace(event.clone()).is_none(),
                "arrow {flow} ends once"
            );
        }
    }

    /// Checks the structure of every timeline.
    fn check(&self) {
        for (flow, (from, to)) in &self.arrows {
            let (from, to) = (
                from.as_ref().expect("a begin"),
                to.as_ref().expect("an end"),
            );
            assert!(from.0 <= to.0, "arrow {flow} goes forward");
            assert_eq!(from.1.r#type(), EventType::SliceBegin);
            assert_eq!(to.1.r#type(), EventType::SliceBegin);
        }
        for (uuid, events) in &self.events {
            let track = &self.tracks[uuid];
            let group = track.parent_uuid.expect("a track is in a group");
            assert!(self.tracks[&group].process.is_some(), "{track:?}");
            let times = events.iter().map(|(ns, _)| ns);
            assert!(times.is_sorted(), "{track:?}");
            let mut open = 0;
            for (_, event) in events {
                match event.r#type() {
                    EventType::SliceBegin => open += 1,
                    EventType::SliceEnd => open -= 1,
                    EventType::Instant => assert!(event.name_iid.is_some()),
                    EventType::Counter => {
                        let value = event.double_counter_value.expect("a value");
                        assert!((0.0..=1.0).contains(&value), "{track:?}: {value}");
                        assert!(track.counter.is_some());
                    }
                    EventType::Unspecified => panic!("{event:?}"),
                }
                // Nothing here is inside something else.
                assert!((0..=1).contains(&open), "{track:?}");
            }
            assert_eq!(open, 0, "{track:?}: every slice ends");
        }
    }

    /// The numbers that an event says of itself.
    fn notes(&self, event: &TrackEvent) -> Vec<(&str, u64)> {
        let name = |iid| {
            let mut names = self.names.debug_annotation_names.iter();
            names.find(|name| name.iid == iid).map(|name| name.name())
        };
        let notes = event.debug_annotations.iter();
        notes
            .map(|note| {
                let name = name(note.name_iid).expect("a note has a name");
                (name, note.uint_value())
            })
            .collect()
    }

    fn note(&self, event: &TrackEvent, wanted: &str) -> Option<u64> {
        let notes = self.notes(event).into_iter();
        notes
            .filter(|(name, _)| *name == wanted)
            .map(|(_, value)| value)
            .next()
    }

    /// The tracks whose name begins so, with their events.
    fn named<'a>(&'a self, begin: &'a str) -> impl Iterator<Item = (&'a str, &'a [Timed])> {
        let tracks = self.events.iter();
        let tracks = tracks.map(|(uuid, events)| (self.tracks[uuid].name(), events.as_slice()));
        tracks.filter(move |(name, _)| name.starts_with(begin))
    }

    fn name(&self, event: &TrackEvent) -> &str {
        let mut names = self.names.event_names.iter();
        let name = names.find(|name| name.iid == event.name_iid);
        name.expect("an event has a name").name()
    }

    /// The slices of the track of this name, with what they say of themselves.
    pub fn slices(&self, track: &str) -> Vec<(String, BTreeMap<&str, u64>)> {
        let tracks = self.named(track).filter(|(name, _)| *name == track);
        let events = tracks.flat_map(|(_, events)| events);
        events
            .filter(|(_, event)| event.r#type() == EventType::SliceBegin)
            .map(|(_, event)| {
                let notes = self.notes(event).into_iter().collect();
                (self.name(event).to_owned(), notes)
            })
            .collect()
    }

    /// Picoseconds of the slices of a name on a track.
    pub fn time_of(&self, track: &str, slice: &str) -> u64 {
        let (_, events) = self.named(track).next().expect("a track");
        let ends = events.windows(2);
        ends.filter(|pair| pair[0].1.r#type() == EventType::SliceBegin)
            .filter(|pair| self.name(&pair[0].1) == slice)
            .map(|pair| 1000 * (pair[1].0 - pair[0].0))
            .sum()
    }

    /// How many slices of a name are on a track.
    pub fn count_of(&self, track: &str, slice: &str) -> usize {
        let slices = self.slices(track);
        slices.iter().filter(|(name, _)| name == slice).count()
    }

    /// The stages of messages by their serials, picoseconds.
    pub fn stages(&self) -> BTreeMap<u64, BTreeMap<&str, u64>> {
        let ends = self.arrows.iter();
        ends.filter_map(|(&serial, (_, to))| {
            let notes = self.notes(&to.as_ref()?.1);
            Some((serial, notes.into_iter().collect()))
        })
        .collect()
    }

    /// Messages by their arrows: every one has stages that add up, to the picosecond, to its time from post to done.
    fn check_stages(&self) {
        for (from, to) in self.arrows.values().map(|(from, to)| {
            (
                from.as_ref().expect("a begin"),
                to.as_ref().expect("an end"),
            )
        }) {
            let notes = self.notes(&to.1);
            let total = notes.iter().position(|(name, _)| *name == "total_ps");
            let total = total.expect("the time from post to done");
            let stages: u64 = notes[total + 1..].iter().map(|(_, ps)| ps).sum();
            assert_eq!(stages, notes[total].1, "{notes:?}");
            let posted = self
                .note(&from.1, "posted_ps")
                .expect("the time of the post");
            // Of several machines each begins where the one before it ended.
            let length = (posted + stages) / 1000 - posted / 1000;
            assert_eq!(length, to.0 - from.0, "{notes:?}");
        }
    }
}

/// The first message from a rank to another, as a timeline has it: when it was posted, in picoseconds, and how long each
/// stage was.
pub fn first_message_of(path: &Path, (from, to): (u64, u64)) -> (u64, Vec<(String, u64)>) {
    let timeline = Timeline::read(path);
    let ends = timeline.arrows.values().filter_map(|(post, done)| {
        let (post, done) = (&post.as_ref()?.1, &done.as_ref()?.1);
        let ranks = (
            timeline.note(done, "from rank")?,
            timeline.note(done, "to rank")?,
        );
        let posted = timeline.note(post, "posted_ps")?;
        (ranks == (from, to)).then_some((posted, done))
    });
    let (posted, done) = ends.min_by_key(|(posted, _)| *posted).expect("a message");
    let notes = timeline.notes(done).into_iter();
    let mut notes = notes.skip_while(|(name, _)| *name != "total_ps");
    notes.next();
    (
        posted,
        notes.map(|(name, ps)| (name.to_owned(), ps)).collect(),
    )
}

fn links_of(result: &Value) -> BTreeMap<String, u64> {
    let rows = result["metrics"]["links"].as_array().expect("links");
    let row = |row: &Value| {
        let direction = row["direction"].as_str().expect("a direction").to_owned();
        (direction, row["flits"].as_u64().expect("flits"))
    };
    rows.iter().map(row).collect()
}

/// A run with a timeline, which is the same as one without.
fn recorded(arguments: &[&str], name: &str) -> (Value, Timeline) {
    recorded_beside(&json(arguments), arguments, name)
}

fn recorded_beside(plain: &Value, arguments: &[&str], name: &str) -> (Value, Timeline) {
    let path = scratch(name);
    let result = json(&[arguments, &["--timeline", text(&path)]].concat());
    assert_eq!(plain["hash"], result["hash"]);
    assert_eq!(plain["metrics"], result["metrics"]);
    assert_eq!(plain["sim"]["cycles"], result["sim"]["cycles"]);
    (result, Timeline::read(&path))
}

#[test]
fn x2_x7_the_timeline_of_lulesh_says_what_the_run_counts() {
    for (name, arguments) in [
        ("lulesh", &["run", "lulesh"][..]),
        // Most messages are fetched.
        ("fetched", &["run", "lulesh", "--set", "eager_limit=64"]),
    ] {
        let plain = once(arguments);
        let name_of_file = format!("{name}.perfetto-trace");
        let (result, timeline) = recorded_beside(&plain, arguments, &name_of_file);
        let metrics = &result["metrics"];
        assert_eq!(timeline.arrows.len(), 1383);
        assert_eq!(metrics["messages"], 1383);
        timeline.check_stages();
        let ends = timeline.arrows.values();
        let bytes = ends.filter_map(|(_, to)| timeline.note(&to.as_ref()?.1, "bytes"));
        assert_eq!(metrics["bytes"], bytes.sum::<u64>());
        // Packets, and the share of cycles over time, have the flits that the machine has counted.
        let mut packets: BTreeMap<String, u64> = BTreeMap::new();
        for (track, events) in timeline.named("link ") {
            let direction = track.split(' ').nth(1).expect("a direction");
            let flits = events.iter().filter_map(|(_, e)| timeline.note(e, "flits"));
            *packets.entry(direction.to_owned()).or_default() += flits.sum::<u64>();
        }
        assert_eq!(packets, links_of(&result), "{name}");
        let mut loads: BTreeMap<String, f64> = BTreeMap::new();
        for (track, events) in timeline.named("load of link ") {
            let direction = track.split(' ').nth(3).expect("a direction");
            for pair in events.windows(2) {
                // A cycle has 2 ns.
                let cycles = (pair[1].0 - pair[0].0) as f64 / 2.0;
                let share = pair[0].1.double_counter_value();
                *loads.entry(direction.to_owned()).or_default() += share * cycles;
            }
        }
        let loads = loads
            .into_iter()
            .map(|(name, flits)| (name, flits.round() as u64));
        assert_eq!(
            loads.collect::<BTreeMap<_, _>>(),
            links_of(&result),
            "{name}"
        );
        // Every write to memory is a message's, or the value of a counter; the data of all messages is written.
        let mut written = 0;
        for (_, events) in timeline.named("memory writes") {
            for (_, event) in events {
                let message = timeline.note(event, "message");
                let bytes = timeline.note(event, "bytes").expect("bytes");
                let of_counter = bytes == 8 && timeline.note(event, "id") == Some(0);
                assert!(message.is_some() || of_counter, "{name}: {event:?}");
                written += bytes;
            }
        }
        assert!(
            written > metrics["bytes"].as_u64().expect("bytes"),
            "{name}"
        );
        // Every packet on a link is one of a message.
        for (_, events) in timeline.named("link ") {
            for (_, event) in events
                .iter()
                .filter(|(_, e)| e.r#type() == EventType::SliceBegin)
            {
                assert!(
                    timeline.note(event, "message").is_some(),
                    "{name}: {event:?}"
                );
            }
        }
    }
}

/// The timeline of a program of 64 messages in a file of this name: the same bytes whatever the simulator does.
pub fn written_alike(name: &str) -> PathBuf {
    let path = all_to_all(name, 8);
    let file = scratch(name);
    let bytes = |arguments: &[&str]| {
        let run = [
            "run",
            text(&path),
            "--shape",
            "2x2x2",
            "--timeline",
            text(&file),
        ];
        json(&[&run[..], arguments].concat());
        fs::read(&file).expect("the timeline is there")
    };
    let plain = bytes(&[]);
    for arguments in [
        &["--threads", "2"][..],
        &["--set", "window=1"],
        &["--set", "skip_idle=false"],
        &[],
    ] {
        assert!(plain == bytes(arguments), "{arguments:?}");
    }
    file
}

#[test]
fn x1_x7_timelines_hold_nothing_of_the_simulator() {
    let file = written_alike("same.perfetto-trace");
    let timeline = Timeline::read(&file);
    // Every rank sends to itself, too.
    assert_eq!(timeline.arrows.len(), 64);
    timeline.check_stages();
}

#[test]
fn x7_messages_of_any_way_have_their_arrow_and_stages() {
    let path = all_to_all("ways", 8);
    for (number, arguments) in [
        &["--shape", "2x2", "--set", "same_node=shared_memory"][..],
        &["--shape", "2x2", "--set", "eager_limit=0"],
        &["--shape", "2x2x2", "--set", "ordered=flow"],
        &["--shape", "1", "--set", "comm_thread=false"],
    ]
    .into_iter()
    .enumerate()
    {
        let run = [&["run", text(&path)][..], arguments].concat();
        let (_, timeline) = recorded(&run, &format!("way{number}.perfetto-trace"));
        assert_eq!(timeline.arrows.len(), 64, "{arguments:?}");
        timeline.check_stages();
    }
}

#[test]
fn x7_a_bench_without_driver_has_a_timeline_of_the_hardware() {
    let path = scratch("bare.perfetto-trace");
    let output = gyre(&["bench", "hop-latency", "--timeline", text(&path)]);
    assert!(output.status.success());
    let shown = printed_by(&output);
    assert!(shown.contains("no driver ran"), "{shown}");
    let timeline = Timeline::read(&path);
    assert_eq!(timeline.arrows.len(), 0);
    assert!(timeline.named("link a+").count() > 0);
    let path = scratch("driven.perfetto-trace");
    let arguments = ["bench", "match-memory"];
    let (_, timeline) = recorded(&arguments, "driven.perfetto-trace");
    assert!(!timeline.arrows.is_empty(), "{}", path.display());
    timeline.check_stages();
}

#[test]
fn x5_x7_timelines_that_cannot_be_written_are_refused() {
    for (file, words) in [
        ("out.json", &["--timeline", ".html", ".perfetto-trace"][..]),
        (
            "no/such/folder/x.perfetto-trace",
            &["--timeline", "no/such/folder"],
        ),
        ("no/such/folder/x.html", &["--timeline", "no/such/folder"]),
    ] {
        for command in [["run", "lulesh"], ["bench", "hop-latency"]] {
            let output = gyre(&[&command[..], &["--timeline", file]].concat());
            assert_eq!(output.status.code(), Some(2), "{file}");
            let error = error_of(&output);
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
    }
}

#[test]
fn x1_x7_a_timeline_of_more_events_than_memory_holds_is_the_same_for_any_threads() {
    let program = scratch("many.goal");
    let many = |operation: &str| format!("{operation}\n").repeat(4000);
    let (sends, receives) = (many("send 8b to 1"), many("recv 8b from 0"));
    let lines = format!("num_ranks 2\nrank 0 {{\n{sends}}}\nrank 1 {{\n{receives}}}\n");
    fs::write(&program, lines).expect("the build's folder can be written");
    let written = ["1", "2"].map(|threads| {
        let path = scratch(&format!("many{threads}.perfetto-trace"));
        let run = ["run", text(&program), "--threads", threads];
        let output = gyre(&[&run[..], &["--timeline", text(&path)]].concat());
        assert!(output.status.success(), "{}", error_of(&output));
        path
    });
    let timeline = Timeline::read(&written[0]);
    assert_eq!(timeline.arrows.len(), 4000);
    timeline.check_stages();
    let [one, two] = written.map(|path| fs::read(path).expect("written"));
    assert!(one == two, "timelines differ");
}

#[test]
fn x7_a_run_that_stops_leaves_the_timeline_of_what_went_before() {
    let program = scratch("stops.goal");
    // After the first message each waits for the other.
    let waits = "num_ranks 2\n\
        rank 0 {\nsend 9b to 1\nb: recv 8b from 1\nc: send 7b to 1\nc requires b\n}\n\
        rank 1 {\nr: recv 9b from 0\nx: recv 7b from 0\ns: send 8b to 0\nx requires r\ns requires x\n}\n";
    fs::write(&program, waits).expect("the build's folder can be written");
    let path = scratch("stops.perfetto-trace");
    let output = gyre(&["run", text(&program), "--timeline", text(&path)]);
    assert_eq!(output.status.code(), Some(1));
    let timeline = Timeline::read(&path);
    assert_eq!(timeline.arrows.len(), 1);
    timeline.check_stages();
}
