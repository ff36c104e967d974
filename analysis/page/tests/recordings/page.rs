// SPDX-License-Identifier: MIT OR Apache-2.0
//! A page of a run made by hand.

use gyre_page::{Failure, Page, Run, Wait, html};
use gyre_timeline::{Event, Lane, Link, Messages, PacketKind, Recording, Thread, What, Why};
use gyre_why::{Analysis, Kind, Place, RankTime, Segment};
use serde_json::{Map, Value};

/// One thread that computes, and a packet on one link.
fn recording() -> Recording {
    let event = |lane, ps, end_ps, what| Event::new(0, lane, (ps, end_ps), what);
    let mut recording = Recording::empty(2000, 2, 0, 100_000);
    recording.link_ps = 8000;
    recording.threads = vec![Thread {
        node: 0,
        number: 3,
        name: "rank 0 <cpu>".to_owned(),
        task: Some(0),
    }];
    recording.links = vec![Link {
        node: 0,
        port: 0,
        to: 1,
        name: "a+".to_owned(),
    }];
    recording.operations = vec!["post"];
    let hop = What::Hop {
        channel: 1,
        kind: PacketKind::PUT,
        flits: 6,
        id: 1,
        word: 2,
    };
    let waited = What::Waited {
        why: Why::Compute,
        by: None,
    };
    recording.with_events(vec![
        event(Lane::Thread(3), 1000, 9000, waited),
        event(Lane::Link(0), 20_000, 32_000, hop),
        event(Lane::Load(0), 0, 100_000, What::Load { flits: 6 }),
    ])
}

fn analysis() -> Analysis {
    Analysis {
        from_ps: 0,
        to_ps: 100_000,
        path: vec![Segment {
            from_ps: 0,
            to_ps: 100_000,
            kind: Kind::Computation,
            what: "computation",
            place: Place::Thread(0),
            message: None,
        }],
        ranks: vec![RankTime {
            rank: 0,
            times: [0; Kind::ALL.len()],
        }],
        causes: Vec::new(),
        verdict: "it computes".to_owned(),
    }
}

/// The head of a file's data, as text, and all of the data.
fn opened(file: &str) -> (Value, Vec<u8>) {
    let (_, rest) = file.split_once("type=\"text/plain\">").expect("data");
    let (data, _) = rest.split_once("</script>").expect("their end");
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for digit in data.trim_end_matches('=').bytes() {
        let value = digits.iter().position(|&d| d == digit).expect("a digit");
        bits = bits << 6 | value as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    let bytes = miniz_oxide::inflate::decompress_to_vec_zlib(&bytes).expect("deflated");
    let length = u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")) as usize;
    let head = serde_json::from_slice(&bytes[4..4 + length]).expect("a head");
    (head, bytes[4 + length..].to_vec())
}

#[test]
fn x7_a_page_holds_its_run_and_is_a_function_of_it() {
    let recording = recording();
    let messages = Messages::of(&recording);
    let analysis = analysis();
    let runs = [Run {
        unanalysed: None,
        recording: &recording,
        messages: &messages,
        analysis: Some(&analysis),
    }];
    let figures = Map::from_iter([("cycles".to_owned(), Value::from(50))]);
    let page = Page {
        title: "run <it>",
        shape: &[2, 1],
        mesh: &[],
        command: "gyre run it",
        numbers_machines: false,
        figures: Some(&figures),
        failure: None,
        runs: &runs,
    };
    let file = html(&page).expect("a page");
    assert_eq!(file, html(&page).expect("a page"));
    assert!(file.contains("<title>run &lt;it&gt; - Gyre</title>"));
    for mark in ["{{data}}", "{{title}}", "/* style */", "/* scripts */"] {
        assert!(!file.contains(mark), "{mark} is filled in");
    }
    let (head, bytes) = opened(&file);
    assert_eq!(head["figures"]["cycles"], 50);
    let run = &head["runs"][0];
    assert_eq!(
        run["threads"][0],
        serde_json::json!([0, 3, "rank 0 <cpu>", 0])
    );
    assert_eq!(run["links"][0], serde_json::json!([0, 0, 1, "a+"]));
    assert_eq!(run["analysis"]["verdict"], "it computes");
    let path = serde_json::json!([0, 100_000, 0, "computation", 0, null]);
    assert_eq!(run["analysis"]["path"][0], path);
    assert_eq!(run["bytes"], bytes.len());
    // The thread's wait is what follows the one operation; times are seven bits a byte.
    let spans = [1, 1, 0xd0, 0x0f, 0xc0, 0x3e, 1];
    assert_eq!(bytes[..spans.len()], spans);
    // A packet on the link, of 6 flits, on channel 1, that nothing accounts for.
    let hops = [1, 2, 6, 1, 0, 0xc0, 0xb8, 0x02, 0xe0, 0x5d];
    assert_eq!(bytes[spans.len()..][..hops.len()], hops);
}

#[test]
fn x7_a_page_of_a_failure_has_who_waits_and_no_figures() {
    let failure = Failure {
        text: "deadlock </script>".to_owned(),
        node: Some(1),
        cycle: Some(70),
        waits: vec![Wait {
            who: "rank 0: recv".to_owned(),
            rank: Some(0),
            node: 0,
            since_ps: None,
            what: "the message".to_owned(),
            on: Some(1),
        }],
    };
    let page = Page {
        title: "run it",
        shape: &[2],
        mesh: &[true],
        command: "gyre run it",
        numbers_machines: true,
        figures: None,
        failure: Some(&failure),
        runs: &[],
    };
    let (head, bytes) = opened(&html(&page).expect("a page"));
    assert!(head["figures"].is_null() && bytes.is_empty());
    assert_eq!(head["failure"]["waits"][0]["on"], 1);
    assert_eq!(head["failure"]["node"], 1);
    assert_eq!(head["failure"]["cycle"], 70);
    assert_eq!(head["failure"]["text"], "deadlock </script>");
}
