// SPDX-License-Identifier: MIT OR Apache-2.0
//! The traces of real programs: counts as in `workloads/README.md`, and a full run of each on the
//! reference network.

use std::path::{Path, PathBuf};

use gyre_goal::reference::{SendMode, run};
use gyre_goal::{Program, RankTotals, parse_file};

/// A row of the table: file, ranks, sends, bytes, shortest, median and longest message.
type Row = (&'static str, usize, u64, u64, [u64; 3]);

const BUNDLED: [Row; 5] = [
    ("lulesh_8", 8, 1_383, 868_944, [1, 336, 2_352]),
    ("lulesh_27", 27, 4_399, 1_283_879, [1, 120, 1_200]),
    ("amg-anysrc_8", 8, 9_056, 471_332, [0, 12, 1_016]),
    ("npb-cg-S_16", 16, 9_487, 11_199_484, [1, 8, 2_800]),
    ("prk-stencil_16", 16, 1_644, 808_872, [1, 800, 800]),
];

const OTHERS: [Row; 4] = [
    ("comd_8", 8, 2_599, 28_448_692, [1, 13_440, 21_504]),
    (
        "prk-transpose-a2a_16",
        16,
        3_020,
        5_408_228,
        [1, 2_048, 2_048],
    ),
    (
        "prk-transpose-large_16",
        16,
        1_179,
        94_373_664,
        [1, 131_072, 131_072],
    ),
    ("sweep3d_4", 4, 6_052, 207_362_036, [1, 36_000, 36_000]),
];

fn bundled(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
    root.join(format!("{name}.goal"))
}

fn load(path: &Path) -> Program {
    parse_file(path).unwrap_or_else(|error| panic!("{error}"))
}

fn check_row(program: &Program, (name, ranks, sends, bytes, sizes): Row) {
    let totals = program.totals();
    assert_eq!(program.ranks().len(), ranks, "{name}");
    assert_eq!(totals.all.sends, sends, "{name}");
    assert_eq!(totals.all.receives, sends, "{name}");
    assert_eq!(totals.all.bytes, bytes, "{name}");
    let rank_sum = |f: fn(&RankTotals) -> u64| totals.per_rank.iter().map(f).sum::<u64>();
    assert_eq!(rank_sum(|r| r.sends), sends, "{name}");
    assert_eq!(rank_sum(|r| r.bytes), bytes, "{name}");

    for mode in [
        SendMode::Eager,
        SendMode::Synchronous,
        SendMode::EagerUpTo(1_024),
    ] {
        let outcome = run(program, mode).unwrap_or_else(|error| panic!("{name} {mode:?}: {error}"));
        assert_eq!(outcome.deliveries.len() as u64, sends, "{name} {mode:?}");
        let mut lengths: Vec<u64> = outcome.deliveries.iter().map(|d| d.bytes).collect();
        lengths.sort_unstable();
        assert_eq!(lengths.iter().sum::<u64>(), bytes, "{name} {mode:?}");
        let [min, median, max] = sizes;
        assert_eq!(lengths.first(), Some(&min), "{name}");
        assert_eq!(lengths[(lengths.len() - 1) / 2], median, "{name}");
        assert_eq!(lengths.last(), Some(&max), "{name}");
        let longest_calc = totals.per_rank.iter().map(|r| r.calc_ns).max();
        assert!(Some(outcome.makespan_ns) >= longest_calc, "{name} {mode:?}");
        assert!(outcome.makespan_ns <= totals.all.calc_ns, "{name} {mode:?}");
    }
    let text = program.to_string();
    let again = gyre_goal::parse(name, text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(&again, program, "{name}");
}

#[test]
fn bundled_traces_match_the_table_and_run_to_the_end() {
    for row in BUNDLED {
        check_row(&load(&bundled(row.0)), row);
    }
}

#[test]
fn other_traces_match_the_table_and_run_to_the_end() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/workloads");
    for row in OTHERS {
        let path = folder.join(format!("{}.goal", row.0));
        if path.exists() {
            check_row(&load(&path), row);
        } else {
            println!(
                "skipped {}: not bundled and not at {}",
                row.0,
                path.display()
            );
        }
    }
}

#[test]
fn lulesh_8_floor_is_that_of_an_infinitely_fast_network() {
    let floor = load(&bundled("lulesh_8")).floor_ns();
    assert_eq!(floor, Ok(1_999_500));
}

#[test]
fn amg_has_wildcards_self_sends_and_empty_messages() {
    let totals = load(&bundled("amg-anysrc_8")).totals().all;
    assert_eq!(totals.any_source_receives, 43);
    assert_eq!(totals.self_sends, 68);
    assert_eq!(totals.empty_sends, 338);
}

#[test]
fn cg_has_self_sends() {
    assert_eq!(load(&bundled("npb-cg-S_16")).totals().all.self_sends, 332);
}

#[test]
fn a_run_repeats_itself() {
    let program = load(&bundled("amg-anysrc_8"));
    assert_eq!(
        run(&program, SendMode::Eager),
        run(&program, SendMode::Eager)
    );
}
