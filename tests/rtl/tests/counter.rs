// SPDX-License-Identifier: MIT OR Apache-2.0
//! The build support end to end: Verilator, C++ compiler, cxx, waveforms.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use gyre_rtl_tests::counter::Counters;
use wellen::simple::Waveform;

/// Counts differently in two counters over ten cycles.
fn run(counters: &mut Counters) {
    for cycle in 0..10 {
        counters
            .cycle(if cycle < 4 { 0b11 } else { 0b01 })
            .expect("no assertion fails");
    }
}

/// All changes of a signal as (time, value in binary).
fn changes(wave: &mut Waveform, scope: &str, name: &str) -> Vec<(u64, String)> {
    let scopes: Vec<&str> = scope.split('.').collect();
    let var = wave
        .hierarchy()
        .lookup_var(&scopes, name)
        .unwrap_or_else(|| panic!("no signal {scope}.{name}"));
    let signal = wave.hierarchy()[var].signal_ref();
    wave.load_signals(&[signal]);
    let times = wave.time_table().to_vec();
    wave.get_signal(signal)
        .expect("loaded")
        .iter_changes()
        .map(|(index, value)| {
            (
                times[index as usize],
                value.to_bit_string().expect("a bit vector"),
            )
        })
        .collect()
}

fn trace(dir: &Path) -> std::path::PathBuf {
    let vcd = dir.join("counters.vcd");
    let mut counters = Counters::new(&["left", "right"], true, None);
    counters.open_trace(&vcd);
    run(&mut counters);
    counters.close_trace();
    vcd
}

#[test]
fn fast_and_traced_models_count_alike() {
    for traced in [false, true] {
        let mut counters = Counters::new(&["left", "right"], traced, None);
        run(&mut counters);
        assert_eq!((counters.count(0), counters.count(1)), (10, 4));
    }
}

#[test]
fn two_instances_trace_into_one_vcd_file() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut wave = wellen::simple::read(trace(dir.path())).expect("a VCD file");
    let left = changes(&mut wave, "left.counter", "count_q");
    let right = changes(&mut wave, "right.counter", "count_q");
    assert_eq!(left.len(), 11, "{left:?}");
    assert_eq!(right.len(), 5, "{right:?}");
    assert_eq!(left[10], (19, format!("{:064b}", 10)));
}

#[test]
fn fst_made_from_vcd_has_the_same_signals_and_changes() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let vcd = trace(dir.path());
    let fst = dir.path().join("counters.fst");
    let source = BufReader::new(File::open(&vcd).expect("VCD"));
    gyre_wave::vcd_to_fst(source, &fst).expect("convertible");

    let mut from_vcd = wellen::simple::read(&vcd).expect("a VCD file");
    let mut from_fst = wellen::simple::read(&fst).expect("an FST file");
    assert_ne!(
        fs::read(&fst).expect("FST").first(),
        fs::read(&vcd).expect("VCD").first()
    );
    let names: Vec<String> = from_vcd
        .hierarchy()
        .all_vars()
        .map(|var| from_vcd.hierarchy()[var].full_name(from_vcd.hierarchy()))
        .collect();
    assert!(names.len() >= 16, "{names:?}");
    for full in names {
        let (scope, name) = full.rsplit_once('.').expect("inside a scope");
        assert_eq!(
            changes(&mut from_vcd, scope, name),
            changes(&mut from_fst, scope, name),
            "{full}"
        );
    }
}

#[test]
fn failed_assertion_is_an_error_that_names_place_and_values() {
    let mut counters = Counters::new(&["only"], false, None);
    let text = (0..200)
        .find_map(|_| counters.cycle(1).err())
        .expect("the limit is 100");
    for part in ["counter.sv:32", "only.counter", "count 101 is over 100"] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
    assert_eq!(counters.count(0), 101);
}

#[test]
fn memories_start_as_zeros_or_as_noise_of_the_seed() {
    let noise = |seed| Counters::new(&["only"], false, seed).noise(0);
    assert_eq!(noise(None), 0);
    assert_ne!(noise(Some(1)), 0);
    assert_eq!(noise(Some(1)), noise(Some(1)));
    assert_ne!(noise(Some(1)), noise(Some(2)));
}
