// SPDX-License-Identifier: MIT OR Apache-2.0
//! Faults put in by the back doors reach the error registers, and what should survive them does.

use super::common;
use super::common::{Failure, bring_up, bring_up_node, config, exchange, post, run_exchange};
use gyre_layout::registers::node;
use gyre_layout::{Descriptor, ErrorReason, Source};
use gyre_sim::{AxiChannels, Cpu, LinkFault, Machine, SimError, Until};

/// Sends 256 bytes from node 0 to node 1 and leaves time for what follows.
fn send(machine: &mut Machine) -> Result<(), SimError> {
    machine.spawn(0, "sender", |cpu| {
        let source = Source {
            slot: 0,
            offset: 0,
            length: 256,
        };
        let descriptor = Descriptor::memory_fifo(cpu.topology().header_coord(1), source, 0);
        post(&cpu, 0, &descriptor)?;
        Ok::<(), Failure>(())
    });
    machine
        .run(Until::Cycle(machine.cycles() + 3000))
        .map(|_| ())
}

/// First error of a node.
fn first_error(machine: &mut Machine, number: usize) -> Option<ErrorReason> {
    let (tx, rx) = std::sync::mpsc::channel();
    machine.spawn(number, "reader", move |cpu: Cpu| {
        let status = cpu.read_reg(node::ERR_STATUS)?;
        let valid = node::err_status::VALID.is_set(status);
        let reason = node::err_status::REASON.get(status) as u8;
        tx.send(valid.then_some(reason))?;
        Ok::<(), Failure>(())
    });
    machine.run(Until::Done).expect("reads");
    let reason = rx.recv().expect("an answer")?;
    Some(ErrorReason::try_from(reason).expect("a known reason"))
}

fn machine() -> Machine {
    let mut machine = Machine::new(config(&[2])).expect("made");
    bring_up(&mut machine).expect("comes up");
    machine
}

#[test]
fn without_a_fault_there_is_no_error() {
    let mut machine = machine();
    send(&mut machine).expect("runs");
    assert_eq!(first_error(&mut machine, 0), None);
    assert_eq!(first_error(&mut machine, 1), None);
}

#[test]
fn hw3_a_disturbed_flit_is_found_by_the_links_check() {
    for (word, data) in [(0, [1 << 17, 0]), (0, [0, 1 << 63]), (1 << 9, [0, 0])] {
        let mut machine = machine();
        machine.disturb_link(LinkFault {
            node: 0,
            port: 0,
            from_cycle: 0,
            word,
            data,
        });
        send(&mut machine).expect("runs");
        assert_eq!(first_error(&mut machine, 1), Some(ErrorReason::LinkCrc));
    }
}

#[test]
fn x5_memory_errors_are_contained() {
    let mut machine = machine();
    machine.fail_memory(0, common::PAYLOAD..common::PAYLOAD + 1);
    send(&mut machine).expect("runs");
    assert_eq!(first_error(&mut machine, 0), Some(ErrorReason::PayloadRead));

    let mut machine = self::machine();
    machine.fail_memory(0, common::INJECTION_RING..common::INJECTION_RING + 64);
    send(&mut machine).expect("runs");
    assert_eq!(first_error(&mut machine, 0), Some(ErrorReason::DescRead));

    let mut machine = self::machine();
    machine.fail_memory(1, common::RECEPTION_RING..common::RECEPTION_RING + 64);
    send(&mut machine).expect("runs");
    assert_eq!(first_error(&mut machine, 1), Some(ErrorReason::Write));
}

#[test]
fn repaired_memory_answers_again() {
    let mut machine = machine();
    machine.fail_memory(0, 0..1 << 48);
    machine.repair_memory(0);
    send(&mut machine).expect("runs");
    assert_eq!(first_error(&mut machine, 0), None);
}

#[test]
fn hw3_a_node_reset_alone_comes_back() {
    let mut machine = machine();
    machine.reset_node(1).expect("resets");
    machine.spawn(1, "firmware", |cpu| bring_up_node(&cpu));
    machine.run(Until::Done).expect("comes up again");
    for node in 0..2 {
        machine.spawn(node, "exchange", |cpu| exchange(&cpu, 6));
    }
    machine.run(Until::Quiet).expect("messages arrive");
}

#[test]
fn register_accesses_cut_off_by_a_reset_fail() {
    let mut machine = Machine::new(config(&[1])).expect("made");
    machine.spawn(0, "reader", |cpu| {
        cpu.read_reg(node::SCRATCH)?;
        Ok::<(), Failure>(())
    });
    machine.run(Until::Cycle(4)).expect("runs");
    machine.reset_node(0).expect("resets");
    let error = machine.run(Until::Done).expect_err("cut off");
    assert!(error.to_string().contains("cut off by a reset"), "{error}");
}

#[test]
fn stalled_memory_delays_and_loses_nothing() {
    let run = |stall: bool| {
        let mut machine = Machine::new(config(&[2])).expect("made");
        bring_up(&mut machine).expect("comes up");
        if stall {
            for master in [0, 1] {
                machine.stall_axi(0, master, AxiChannels::All, 4000);
            }
        }
        for node in 0..2 {
            machine.spawn(node, "exchange", |cpu| exchange(&cpu, 4));
        }
        machine
            .run(Until::Quiet)
            .expect("messages arrive")
            .makespan_ps
    };
    let delay = run(true).checked_sub(run(false)).expect("later");
    assert!(delay > 3000 * 2000, "only {delay} ps later");
}

#[test]
fn peek_sees_writes_of_the_dma_engine_and_poke_changes_its_reads() {
    let mut machine = machine();
    machine.poke(0, common::PAYLOAD, &[0xa5; 256]);
    send(&mut machine).expect("runs");
    let mut found = [0; 256];
    machine.peek(1, common::RECEPTION_RING + 32, &mut found);
    assert_eq!(found, [0xa5; 256]);
}

#[test]
fn report_of_a_hang_reads_the_fifos_of_the_hardware() {
    let mut machine = Machine::new(config(&[2])).expect("made");
    bring_up(&mut machine).expect("comes up");
    // Node 1 never takes its packets, node 0 waits for an answer.
    send(&mut machine).expect("runs");
    machine.spawn(1, "sleeper", |cpu| {
        cpu.wait_wake(0, None);
        Ok::<(), Failure>(())
    });
    let error = machine.run(Until::Done).expect_err("deadlock");
    let text = error.to_string();
    assert!(
        text.contains("reception FIFO 0: head 0x0, tail 0x120"),
        "{text}"
    );
}

#[test]
fn recorded_transfers_are_what_the_hash_covers() {
    let mut machine = Machine::new(config(&[3])).expect("made");
    machine.record_transfers();
    let report = run_exchange(&mut machine, 4).expect("runs");
    let transfers = machine.take_transfers();
    let flits = transfers.iter().filter(|t| t.word & 4 != 0).count();
    assert_eq!(flits as u64, report.link_flits);
    assert!(transfers.is_sorted());
    assert!(machine.take_transfers().is_empty());
}
