// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole machines of Verilated nodes with software on them.

use super::common::{config, run_exchange};
use gyre_sim::{Machine, MachineConfig, MemoryConfig, RunReport};

fn exchange(config: &MachineConfig, count: usize) -> RunReport {
    let mut machine = Machine::new(config.clone()).expect("made");
    run_exchange(&mut machine, count).unwrap_or_else(|error| panic!("{:?}: {error}", config.dims))
}

#[test]
fn x1_results_do_not_depend_on_window_or_skipping() {
    let base = config(&[2, 2]);
    let expected = exchange(&base, 8);
    assert_eq!(exchange(&base, 8), expected, "twice the same");
    for (window, skip_idle) in [(Some(1), true), (Some(3), true), (None, false)] {
        let changed = MachineConfig {
            window,
            skip_idle,
            ..base.clone()
        };
        let report = exchange(&changed, 8);
        let evaluated = report.node_cycles_evaluated;
        assert_eq!(
            RunReport {
                node_cycles_evaluated: expected.node_cycles_evaluated,
                ..report
            },
            expected,
            "window {window:?}, skip {skip_idle}"
        );
        assert_eq!(evaluated > expected.node_cycles_evaluated, !skip_idle);
    }
}

#[test]
fn x1_lists_of_a_machine_on_threads_are_those_of_one_thread() {
    let lists = |threads| {
        let mut machine = Machine::new(MachineConfig {
            threads,
            ..config(&[3, 2])
        })
        .expect("machine");
        machine.record_transfers();
        machine.record_inputs();
        machine.record_outputs();
        run_exchange(&mut machine, 8).expect("every message");
        (
            machine.take_transfers(),
            machine.take_inputs(),
            machine.take_outputs(),
        )
    };
    let expected = lists(1);
    assert!(!expected.0.is_empty() && !expected.1.is_empty() && !expected.2.is_empty());
    assert!(lists(2) == expected, "two threads");
}

#[test]
fn hw2_slow_stalling_reordering_memory_delivers_the_same_bytes() {
    for seed in 1..4 {
        let memory = MemoryConfig {
            read_latency: 60,
            write_latency: 30,
            reorder: true,
            jitter: 40,
            stall_percent: 40,
            seed,
            ..MemoryConfig::default()
        };
        let config = MachineConfig {
            memory,
            ..config(&[3])
        };
        let report = exchange(&config, 8);
        let again = exchange(
            &MachineConfig {
                window: Some(1),
                ..config
            },
            8,
        );
        assert_eq!(report.hash, again.hash);
    }
}

#[test]
fn x1_noise_in_registers_and_memories_changes_nothing() {
    let base = config(&[2, 2]);
    let expected = exchange(&base, 4).hash;
    let noisy = MachineConfig {
        noise: Some(3),
        ..base
    };
    assert_eq!(exchange(&noisy, 4).hash, expected);
}
