// SPDX-License-Identifier: MIT OR Apache-2.0
//! Campaigns on the RTL: the same for any number of threads, and faults planted in a copy of the RTL are found.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{
    Action, Campaign, CampaignOptions, CampaignReport, Case, Forge, Rtl, Send, SendKind, Shape,
    Stimulus, draw_case, read_case, run_case,
};
use gyre_layout::{Coord, ErrorReason, FlowPlace, HEADER_BYTES, Header, Kind, VClass};

fn campaign(cases: u64, threads: usize, rtl: Rtl) -> CampaignReport {
    let options = CampaignOptions {
        seed: 5,
        cases,
        dims: Some(vec![2]),
        threads,
        stop_at_first: false,
        shrink_runs: 60,
        rtl,
    };
    Campaign::new(options)
        .run(|_, _| ())
        .expect("machines can be made")
}

fn case(stimuli: &[(u32, usize, Action)]) -> Case {
    let stimulus = |(cycle, node, action): &(u32, usize, Action)| Stimulus {
        cycle: *cycle,
        node: *node,
        action: action.clone(),
    };
    Case {
        machine: Shape {
            dims: vec![2],
            link_latency: 2,
            read_latency: 10,
            write_latency: 5,
            jitter: 0,
            stall_percent: 0,
            reorder: false,
            seed: 1,
        },
        stimulus: stimuli.iter().map(stimulus).collect(),
    }
}

fn send(kind: SendKind, class: u8, target: u16) -> Action {
    Action::Send(Send {
        fifo: 0,
        kind,
        to: 1,
        class,
        length: 700,
        slot: 0,
        source: 33,
        target,
        offset: 0x800,
        counter: None,
        dynamic: false,
        flow: false,
        deposit: false,
        carries: Vec::new(),
        spoil: Vec::new(),
    })
}

#[test]
fn x5_hw1_a_case_without_faults_is_good() {
    let verdict = run_case(
        &case(&[
            (0, 0, send(SendKind::Message, 0, 0)),
            (3, 0, send(SendKind::Put, 1, 1)),
            (5, 0, send(SendKind::Add, 0, 2)),
            (20, 0, Action::Barrier {}),
            (90, 1, Action::Barrier {}),
            (
                100,
                0,
                Action::Reduce {
                    length: 128,
                    source: 7,
                    offset: 0x4000,
                },
            ),
            // Refused, and skipped at the end.
            (200, 1, Action::Blank { fifo: 1, count: 2 }),
        ]),
        &Rtl::default(),
    );
    let verdict = verdict.expect("the machine can be made");
    assert_eq!(verdict.findings, []);
}

/// Bits in which the headers differ.
fn differing(a: &Header, b: &Header) -> [String; 4] {
    let [a, b] = [a, b].map(|header| header.encode().expect("in range"));
    let word = |bytes: &[u8; HEADER_BYTES], n: usize| {
        let bytes = bytes[8 * n..8 * n + 8].try_into().expect("8 bytes");
        u64::from_le_bytes(bytes)
    };
    [0, 1, 2, 3].map(|n| format!("{:#x}", word(&a, n) ^ word(&b, n)))
}

#[test]
fn hw1_hw3_x5_packets_with_other_headers_are_refused_each_for_its_reason() {
    use ErrorReason::{PktBounds, PktFlow, PktKind, PktReserved, PktSlot, PktTruncated};
    let coord = |at| Coord([at, 0, 0, 0, 0]);
    // The first packet of the put that `send` asks for.
    let sent = Header {
        dst: coord(1),
        vclass: VClass::Response,
        src: coord(0),
        deposit: false,
        dynamic_route: false,
        kind: Kind::Put,
        len: 512,
        hint: 0,
        order: 0,
        flow: None,
        first: true,
        last: false,
        seq: 0,
        target: 1,
        offset: 0x800,
        aux: 0,
        sw0: 0,
        sw1: 0,
    };
    let other = |change: fn(&mut Header)| {
        let mut header = sent;
        change(&mut header);
        header
    };
    for (header, reason) in [
        (other(|h| h.kind = Kind::Collective), Some(PktKind)),
        (other(|h| h.len = 480), Some(PktTruncated)),
        (other(|h| h.target = 40), Some(PktSlot)),
        (other(|h| h.offset = 0x7fff_ffff), Some(PktBounds)),
        (other(|h| h.aux = 1 << 20), Some(PktReserved)),
        (
            other(|h| {
                h.dynamic_route = true;
                h.flow = Some(FlowPlace { flow: 3, seq: 0 });
            }),
            Some(PktFlow),
        ),
        // Nobody can tell: it is a good put to another place.
        (other(|h| h.offset = 0x900), None),
    ] {
        let forge = Action::Forge(Forge {
            port: 0,
            header: differing(&sent, &header),
        });
        let case = case(&[(0, 0, forge), (3, 0, send(SendKind::Put, 1, 1))]);
        let verdict = run_case(&case, &Rtl::default()).expect("the machine can be made");
        assert_eq!(verdict.findings, [], "{header:?}");
        let reports: Vec<_> = verdict.reports.iter().map(|r| (r.node, r.reason)).collect();
        let wanted: Vec<_> = reason.iter().map(|r| (1, u8::from(*r))).collect();
        assert_eq!(reports, wanted, "{header:?}");
    }
}

#[test]
fn x5_cases_that_had_findings_once_are_good() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .expect("readable")
        .map(|entry| entry.expect("readable").path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let case = read_case(&path).unwrap_or_else(|error| panic!("{error}"));
        let verdict = run_case(&case, &Rtl::default()).expect("the machine can be made");
        assert_eq!(verdict.findings, [], "{}", path.display());
    }
}

#[test]
fn x5_hw1_a_doorbell_that_waits_for_a_reset_sends_once() {
    let case =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/doorbell-that-waits-for-a-reset.toml");
    let case = read_case(&case).unwrap_or_else(|error| panic!("{error}"));
    let verdict = run_case(&case, &Rtl::default()).expect("the machine can be made");
    assert_eq!(verdict.findings, []);
    // The first message was in the FIFO when it was reset; those of both doorbells behind have arrived.
    let lost: Vec<&str> = verdict.lost.iter().map(|f| f.detail.as_str()).collect();
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert!(lost[0].starts_with("message 1,"), "{lost:?}");
}

#[test]
fn x1_x5_campaigns_do_not_depend_on_threads() {
    let (one, two) = (
        campaign(128, 1, Rtl::default()),
        campaign(128, 2, Rtl::default()),
    );
    assert_eq!(one.hash, two.hash);
    assert_eq!(one.coverage, two.coverage);
    let cases = |report: &CampaignReport| -> Vec<(String, u64, u64, Case)> {
        let found = report.found.iter();
        found
            .map(|f| (f.signature.clone(), f.cases, f.first, f.case.clone()))
            .collect()
    };
    assert_eq!(cases(&one), cases(&two));
    assert!(one.corpus > 10, "cases are kept");
}

#[test]
#[ignore = "deep: models of its own"]
fn x1_x5_cases_on_rtl_that_counts_its_lines_do_the_same() {
    let counting = Rtl {
        tree: None,
        coverage: true,
    };
    let mut run = Vec::new();
    for number in 0..8 {
        let case = draw_case(5, number, Some(&[2]));
        let verdict = run_case(&case, &Rtl::default()).expect("the machine can be made");
        assert_eq!(verdict.rtl.points, 0);
        let counted = run_case(&case, &counting).expect("the machine can be made");
        assert_eq!(counted.hash, verdict.hash);
        assert_eq!(counted.findings, verdict.findings);
        assert!(counted.rtl.run.len() < counted.rtl.points);
        run.push(counted.rtl.run);
    }
    assert!(run.iter().all(|lines| lines.len() > 5_000));
    assert_ne!(run[0], run[1], "not all run the same lines");
}

#[test]
#[ignore = "deep: models of its own"]
fn x5_hw1_a_planted_fault_is_found_and_shrunk() {
    let (_folder, faulty) = super::planted();
    let report = campaign(256, 2, faulty.clone());
    let planted = report
        .found
        .iter()
        .find(|found| found.signature == "error not recorded")
        .expect("found");
    let left = planted.case.stimulus.len();
    assert!(left <= 2 && planted.stimuli >= 20, "{left} stimuli");
    // The shrunk case fails on the faulty RTL alone.
    let fails = |rtl: &Rtl| {
        let verdict = run_case(&planted.case, rtl).expect("the machine can be made");
        let mut findings = verdict.findings.iter();
        findings.any(|f| f.signature == planted.signature)
    };
    assert!(fails(&faulty));
    assert!(!fails(&Rtl::default()));
}
