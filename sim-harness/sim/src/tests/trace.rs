// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contents of waveforms; writing them changes no result.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::common::{Failure, bring_up, config, post, run_exchange, run_exchange_only};
use gyre_layout::registers::node;
use gyre_layout::{Descriptor, Source};
use gyre_sim::{Machine, MachineConfig, ModelKind, RunReport, SimError, TraceConfig, Until};
use wellen::simple;

fn traced(dims: &[u16]) -> MachineConfig {
    MachineConfig {
        model: ModelKind::Traced,
        ..config(dims)
    }
}

/// Runs the exchange. The window of the trace counts from the end of bring-up, which is returned.
fn run(config: &MachineConfig, trace: Option<TraceConfig>) -> (RunReport, u64) {
    let mut machine = Machine::new(config.clone()).expect("made");
    let start = bring_up(&mut machine).expect("comes up").cycles;
    if let Some(mut trace) = trace {
        trace.window = start + trace.window.start..start + trace.window.end;
        machine.trace(trace).expect("a good trace");
    }
    let report = run_exchange_only(&mut machine, 3).expect("runs");
    machine.finish_trace().expect("written");
    (report, start)
}

fn trace(path: &Path, window: std::ops::Range<u64>, scopes: &[&str]) -> Option<TraceConfig> {
    Some(TraceConfig {
        path: path.to_owned(),
        window,
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
    })
}

/// Names of the outermost scopes that hold signals.
fn nodes_in(wave: &simple::Waveform) -> BTreeSet<String> {
    let hierarchy = wave.hierarchy();
    hierarchy
        .all_vars()
        .map(|var| hierarchy[var].full_name(hierarchy))
        .filter_map(|name| name.split('.').next().map(str::to_owned))
        .collect()
}

#[test]
fn x1_waveforms_change_no_result() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let (fast, _) = run(&config(&[2]), None);
    let (unseen, _) = run(&traced(&[2]), None);
    let (seen, _) = run(
        &traced(&[2]),
        trace(&dir.path().join("w.vcd"), 0..2000, &[]),
    );
    let (part, _) = run(
        &traced(&[2]),
        trace(&dir.path().join("p.vcd"), 300..333, &["node1"]),
    );
    for other in [unseen, seen, part] {
        assert_eq!(
            (other.hash, other.cycles, other.makespan_ps),
            (fast.hash, fast.cycles, fast.makespan_ps)
        );
    }
}

#[test]
fn x2_waveform_holds_all_nodes_of_its_window_in_vcd_and_fst_alike() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut seen = Vec::new();
    for name in ["w.vcd", "w.fst"] {
        let path = dir.path().join(name);
        let (_, start) = run(&traced(&[2]), trace(&path, 200..250, &[]));
        let wave = simple::read(&path).expect("readable");
        // FST readers show a frame of initial values at time 0 as well.
        let times: Vec<u64> = wave
            .time_table()
            .iter()
            .copied()
            .filter(|&t| t > 0)
            .collect();
        assert_eq!(times.first(), Some(&((start + 200) * 2000)), "{name}");
        assert_eq!(
            times.last(),
            Some(&((start + 249) * 2000 + 1000)),
            "{name}: falling edge of the last cycle"
        );
        assert_eq!(
            nodes_in(&wave),
            ["machine", "node0", "node1"].map(str::to_owned).into(),
            "{name}"
        );
        seen.push((wave.hierarchy().all_vars().count(), times.len()));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(
        std::fs::read_dir(dir.path()).expect("readable").count(),
        2,
        "nothing else is left"
    );
}

#[test]
fn x2_the_cycle_is_in_the_waveform_whatever_the_scope() {
    for scopes in [&[][..], &["node1"]] {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("w.vcd");
        let (_, start) = run(&traced(&[2]), trace(&path, 200..250, scopes));
        let mut wave = simple::read(&path).expect("readable");
        let hierarchy = wave.hierarchy();
        let cycle = hierarchy
            .all_vars()
            .find(|&var| hierarchy[var].full_name(hierarchy) == "machine.cycle")
            .map(|var| hierarchy[var].signal_ref())
            .expect("declared");
        wave.load_signals(&[cycle]);
        let signal = wave.get_signal(cycle).expect("loaded above");
        let values: Vec<u64> = signal
            .iter_changes()
            .map(|(_, value)| u64::from_str_radix(&value.to_string(), 2).expect("bits"))
            .collect();
        let expected: Vec<u64> = (start + 200..start + 250).collect();
        assert_eq!(values, expected);
    }
}

#[test]
fn x2_message_ids_are_in_the_waveform() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("w.vcd");
    run(&traced(&[2]), trace(&path, 0..2000, &["node0"]));
    let mut wave = simple::read(&path).expect("readable");
    let ids: Vec<_> = {
        let hierarchy = wave.hierarchy();
        hierarchy
            .all_vars()
            .filter(|&var| hierarchy[var].full_name(hierarchy).contains(".link_dbg_o"))
            .map(|var| hierarchy[var].signal_ref())
            .collect()
    };
    assert!(!ids.is_empty());
    wave.load_signals(&ids);
    let values: BTreeSet<String> = ids
        .iter()
        .filter_map(|&id| wave.get_signal(id))
        .flat_map(|signal| signal.iter_changes().map(|(_, value)| value.to_string()))
        .collect();
    // Message 1 of node 0 is the first that leaves it.
    let one = format!("{:032b}", 1);
    assert!(values.contains(&one), "{values:?}");
}

#[test]
fn x2_scopes_leave_out_the_rest() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("w.vcd");
    run(&traced(&[3]), trace(&path, 100..110, &["node2"]));
    let wave = simple::read(&path).expect("readable");
    assert_eq!(
        nodes_in(&wave),
        ["machine", "node2"].map(str::to_owned).into()
    );
    let all = wave.hierarchy().all_vars().count();
    run(
        &traced(&[3]),
        trace(&path, 100..110, &["node2.gyre_node.u_network"]),
    );
    let wave = simple::read(&path).expect("readable");
    let some = wave.hierarchy().all_vars().count();
    assert!(some > 0 && some < all, "{some} of {all}");
}

#[test]
fn x1_x2_traced_and_plain_nodes_mix_and_change_nothing() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let (fast, _) = run(&config(&[3]), None);
    let mixed = MachineConfig {
        traced_nodes: Some([1].into()),
        threads: 2,
        ..traced(&[3])
    };
    for name in ["w.vcd", "w.fst"] {
        let path = dir.path().join(name);
        let (seen, start) = run(&mixed, trace(&path, 200..250, &["node1"]));
        assert_eq!(
            (seen.hash, seen.cycles, seen.makespan_ps),
            (fast.hash, fast.cycles, fast.makespan_ps)
        );
        let wave = simple::read(&path).expect("readable");
        assert_eq!(
            nodes_in(&wave),
            ["machine", "node1"].map(str::to_owned).into()
        );
        assert!(wave.time_table().contains(&((start + 249) * 2000 + 1000)));
    }
    let mut machine = Machine::new(mixed).expect("made");
    let plain = trace(&dir.path().join("w.vcd"), 0..9, &["node1", "node2"]);
    let error = machine.trace(plain.expect("a trace")).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "trace-scope = node2: expected nodes of traced models"
    );
}

/// An actor of node 1 of 2 fails some time after it has written a register; it is ahead of its node then.
fn failing(config: &MachineConfig, trace: Option<TraceConfig>) -> SimError {
    let mut machine = Machine::new(config.clone()).expect("made");
    if let Some(trace) = trace {
        machine.trace(trace).expect("a good trace");
    }
    machine.spawn(1, "failing", |cpu| {
        cpu.write_reg(node::SCRATCH, 1)?;
        cpu.charge_ps(500 * cpu.cycle_ps() + 1);
        Err::<(), Failure>("planned".into())
    });
    machine.run(Until::Done).expect_err("it fails")
}

#[test]
fn x2_waveform_of_a_run_that_fails_ends_with_the_failing_cycle() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let plain = failing(&config(&[2]), None).to_string();
    assert_eq!(plain, "node 1, failing, at 1.000001 us: planned");
    for name in ["w.vcd", "w.fst"] {
        let path = dir.path().join(name);
        let error = failing(&traced(&[2]), trace(&path, 480..u64::MAX, &["node1"]));
        assert_eq!(error.to_string(), plain);
        let wave = Wave::read(&path);
        assert_eq!(wave.0.time_table().last(), Some(&1_001_000), "{name}");
        let left = fs::read_dir(dir.path()).expect("readable");
        let left = left.map(|entry| entry.expect("readable").file_name());
        assert!(
            left.into_iter()
                .all(|file| file == "w.vcd" || file == "w.fst")
        );
    }
}

/// The error of a machine that must refuse a waveform.
fn refuse(config: MachineConfig, trace: Option<TraceConfig>) -> String {
    let mut machine = Machine::new(config).expect("made");
    let error = machine.trace(trace.expect("a trace")).expect_err("refused");
    assert!(matches!(error, SimError::Config(_)));
    error.to_string()
}

#[test]
fn x5_bad_traces_are_refused_with_field_and_value() {
    let good = Path::new("w.vcd");
    assert_eq!(
        refuse(config(&[2]), trace(good, 0..9, &[])),
        "model = fast: expected traced, to write waveforms"
    );
    assert_eq!(
        refuse(traced(&[2]), trace(Path::new("w.txt"), 0..9, &[])),
        "trace = w.txt: expected a file name ending in .vcd or .fst"
    );
    assert_eq!(
        refuse(traced(&[2]), trace(good, 9..9, &[])),
        "trace-window = 9:9: expected from:to with from below to"
    );
    assert_eq!(
        refuse(traced(&[2]), trace(good, 0..9, &["node2"])),
        "trace-scope = node2: expected node0 to node1, then names below it"
    );
    refuses_unknown_scopes(&[2]);
}

/// The scopes of a node are those of the model for the machine's dimensions.
#[test]
#[ignore = "deep: models of its own"]
fn x5_unknown_scopes_are_refused_in_5_dimensions_too() {
    refuses_unknown_scopes(&[1, 2, 1, 1]);
}

fn refuses_unknown_scopes(dims: &[u16]) {
    let dir = tempfile::tempdir().expect("temporary directory");
    let good = dir.path().join("w.vcd");
    let scopes = [
        "node0.gyre_node.u_dma",
        "node1.gyre_node.u_dma.u_tx.u_fetsch",
    ];
    let error = refuse(traced(dims), trace(&good, 0..9, &scopes));
    let refused = "trace-scope = node1.gyre_node.u_dma.u_tx.u_fetsch: expected below \
                   node1.gyre_node.u_dma.u_tx. one of ";
    assert!(
        error.starts_with(refused) && error.contains("u_fetch"),
        "{error}"
    );
    let left = fs::read_dir(dir.path()).expect("it is there").count();
    assert_eq!(left, 0, "nothing is left beside the waveform");
}

#[test]
fn x5_a_file_that_cannot_be_written_is_named() {
    let mut machine = Machine::new(traced(&[2])).expect("made");
    let path = Path::new("/nowhere/w.vcd");
    machine
        .trace(trace(path, 0..u64::MAX, &[]).expect("a trace"))
        .expect("not opened yet");
    let error = run_exchange(&mut machine, 1).expect_err("refused");
    assert!(error.to_string().contains("/nowhere/w.vcd"), "{error}");
}

#[test]
fn a_window_in_which_nothing_happens_is_written_all_the_same() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("w.vcd");
    let mut machine = Machine::new(traced(&[2])).expect("made");
    machine
        .trace(trace(&path, 1_000_000..1_000_100, &[]).expect("a trace"))
        .expect("a good trace");
    machine.run(Until::Cycle(2_000_000)).expect("runs");
    machine.finish_trace().expect("written");
    let wave = simple::read(&path).expect("readable");
    assert_eq!(wave.time_table().first(), Some(&2_000_000_000));
}

/// A waveform whose signals are found by name.
struct Wave(simple::Waveform);

impl Wave {
    fn read(path: &Path) -> Self {
        Self(simple::read(path).expect("readable"))
    }

    /// Changes of a signal: time in picoseconds, value.
    fn changes(&mut self, name: &str) -> Vec<(u64, u64)> {
        let hierarchy = self.0.hierarchy();
        // The reader makes a scope of an array: `a.[0]` for `a[0]` of the file.
        let is_named = |full: String| full.replace(".[", "[") == name;
        let found = hierarchy
            .all_vars()
            .find(|&var| is_named(hierarchy[var].full_name(hierarchy)));
        let signal = hierarchy[found.unwrap_or_else(|| panic!("no signal {name}"))].signal_ref();
        self.0.load_signals(&[signal]);
        let times = self.0.time_table();
        let changes = self.0.get_signal(signal).expect("loaded").iter_changes();
        // An FST begins with a frame of unknown values.
        changes
            .filter_map(|(at, found)| {
                let value = u64::from_str_radix(&found.to_string(), 2).ok()?;
                Some((times[at as usize], value))
            })
            .collect()
    }

    /// When a signal first has a value.
    fn first(&mut self, name: &str, value: u64) -> u64 {
        let changes = self.changes(name);
        let found = changes.iter().find(|&&(_, found)| found == value);
        found
            .unwrap_or_else(|| panic!("{name} is never {value:#x}: {changes:x?}"))
            .0
    }

    /// A signal's value at a time.
    fn at(&mut self, name: &str, time: u64) -> u64 {
        let changes = self.changes(name);
        let before = changes.iter().take_while(|&&(at, _)| at <= time).last();
        before
            .unwrap_or_else(|| panic!("{name} has no value yet"))
            .1
    }
}

/// Sends three messages over a line of 3 nodes and writes the waveform of it.
fn send_over_two_hops(path: &Path, ids: [u32; 3]) -> MachineConfig {
    let config = MachineConfig {
        mesh: vec![true],
        ..traced(&[3])
    };
    let mut machine = Machine::new(config.clone()).expect("made");
    let start = bring_up(&mut machine).expect("comes up").cycles;
    machine
        .trace(trace(path, start..start + 3000, &[]).expect("a trace"))
        .expect("a good trace");
    machine.spawn(0, "sender", move |cpu| {
        for (number, id) in (0..).zip(ids) {
            let source = Source {
                slot: 0,
                offset: 640 * number,
                length: 600,
            };
            let dst = cpu.topology().header_coord(2);
            let descriptor = Descriptor::memory_fifo(dst, source, 0).with_message_id(id);
            post(&cpu, number, &descriptor)?;
        }
        Ok::<(), Failure>(())
    });
    machine.run(Until::Cycle(start + 3000)).expect("runs");
    machine.finish_trace().expect("written");
    config
}

#[test]
fn x2_message_id_leads_from_descriptor_fetch_to_memory_write() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let ids = [0x11, 0x5eed_c0de, 0x22];
    for name in ["w.vcd", "w.fst"] {
        let path = dir.path().join(name);
        let config = send_over_two_hops(&path, ids);
        let mut wave = Wave::read(&path);
        let id = u64::from(ids[1]);
        let dma = |node: usize| format!("node{node}.gyre_node.u_dma");
        let (tx, rx) = (dma(0) + ".u_tx", dma(2) + ".u_rx");
        // The way of docs/waveforms.md: port 0 leads on, port 1 is where it comes from.
        let stages = [
            format!("{tx}.u_fetch.desc_q.msg_id"),
            format!("{tx}.u_activate.dec_desc_q.msg_id"),
            format!("{tx}.u_packetizer.cmd_q.dbg"),
            "node0.gyre_node.inj_ctl[0].dbg".to_owned(),
            "node0.link_dbg_o[0]".to_owned(),
            "node1.link_dbg_i[1]".to_owned(),
            "node1.link_dbg_o[0]".to_owned(),
            "node2.link_dbg_i[1]".to_owned(),
            "node2.gyre_node.ej_ctl[1][0].dbg".to_owned(),
            format!("{rx}.gen_path[1].u_path.gen_class[0].u_header.hdr_dbg_o"),
            format!("{rx}.gen_master[1].u_mux.w_dbg_q"),
        ];
        let times: Vec<u64> = stages.iter().map(|stage| wave.first(stage, id)).collect();
        for (pair, stage) in times.windows(2).zip(&stages[1..]) {
            assert!(
                pair[0] < pair[1],
                "{name}: {stage} at {} ps: {times:?}",
                pair[1]
            );
        }
        for (from, to) in [(4, 5), (6, 7)] {
            let link = config.link_latency * config.cycle_ps;
            assert_eq!(times[to] - times[from], link, "{name}: a link");
        }
        // A descriptor is loaded, flits are on the links, data is on the AXI bus at these times.
        let load = times[1];
        assert_eq!(
            wave.at(&format!("{tx}.u_activate.load_o"), load),
            1,
            "{name}"
        );
        assert_eq!(
            wave.at(&format!("{tx}.u_activate.load_dbg_o"), load),
            id,
            "{name}"
        );
        for (stage, port) in [(4, "node0.link_ctl_o[0]"), (6, "node1.link_ctl_o[0]")] {
            let valid = wave.at(&format!("{port}.valid"), times[stage]);
            assert_eq!(valid, 1, "{name}: {port}");
        }
        let valid = wave.at("node2.m_w_valid_o", times[10]);
        assert_eq!(valid >> 1 & 1, 1, "{name}: master 1 writes");

        // The messages of the same FIFO stay in order all the way.
        for stage in &stages {
            let order = ids.map(|id| wave.first(stage, id.into()));
            assert!(order.is_sorted(), "{name}: {stage} {order:?}");
        }
    }
}
