// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random programs of the driver's users on the test double and on the Verilated machine: sends of every kind, puts,
//! gets, read-modify-writes, fences, acknowledgements, matched messages, refused accesses and posts, regions and
//! contexts that come and go, of one or two clients, through the network, by loop-back and through shared memory.
//!
//! Both runs must give the results of the program: order of each pair, everything once, every byte, read-modify-writes
//! in a serial order, complete fences, MPI's matching. Messages, ends of callbacks, errors and memory must be the same
//! on both. Planted faults must be caught. `GYRE_PROGRAMS` sets the number of programs, `GYRE_PROGRAM` selects one.

mod dma_faults;
mod double;
mod history;
mod log;
mod machine;
mod maker;
mod program;
mod task;
mod words;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::matching::Protocol;
use gyre_driver::{AckConfig, Ordered, RegionRights, SameNode};
use gyre_testkit::Fault;

use dma_faults::DmaFault;
use log::Log;
use program::{Action, ClientShape, End, EndpointId, Op, Pattern, Program, Round, Turn};

/// Programs of a test on both machines, and on the double alone.
const PROGRAMS: u64 = 100;
const ON_THE_DOUBLE: u64 = 300;
/// Differences that a report shows of a program.
const SHOWN: usize = 6;

/// Contradictions of a run on the double to its program; else its log.
fn on_double(program: &Program, fault: Option<Fault>) -> Result<Log, String> {
    let (log, _) = double::run(program, fault)?;
    report(log.wrong(program))?;
    Ok(log)
}

/// Contradictions of a run on the RTL to its program; else its log.
fn on_rtl(program: &Program) -> Result<Log, String> {
    let log = machine::run(program, None, &Arc::default())?;
    report(log.wrong(program))?;
    Ok(log)
}

/// Fails with the first contradictions.
fn report(mut wrong: Vec<String>) -> Result<(), String> {
    if wrong.is_empty() {
        return Ok(());
    }
    let more = wrong.len().saturating_sub(SHOWN);
    wrong.truncate(SHOWN);
    Err(format!("{}\n  and {more} more", wrong.join("\n  ")))
}

/// Runs a program on both machines and compares.
fn check(program: &Program) -> Result<(), String> {
    let double = on_double(program, None).map_err(|error| format!("double: {error}"))?;
    let rtl = on_rtl(program).map_err(|error| format!("RTL: {error}"))?;
    report(double.differences(&rtl))
}

/// A number in the environment.
fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    let number = value.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is not a number: {value}")))
}

/// Runs the programs of some seeds, and fails with the errors of all.
fn run_all(seeds: std::ops::Range<u64>, check: impl Fn(&Program) -> Result<(), String>) {
    let wrong: Vec<_> = seeds
        .filter_map(|seed| {
            let error = check(&Program::new(seed)).err()?;
            Some(format!("program {seed}: {error}"))
        })
        .collect();
    let count = wrong.len();
    assert!(wrong.is_empty(), "{count} programs:\n{}", wrong.join("\n"));
}

#[test]
fn ep1_ep2_ep3_ep4_fn1_ct1_ak1_hw1_hw7_x5_random_programs_hold_on_double_and_rtl() {
    if let Some(seed) = variable("GYRE_PROGRAM") {
        eprintln!("{:#?}", Program::new(seed));
        run_all(seed..seed + 1, check);
        return;
    }
    run_all(0..variable("GYRE_PROGRAMS").unwrap_or(PROGRAMS), check);
}

#[test]
fn ct1_ct8_x5_further_random_programs_hold_on_the_double() {
    let first = variable("GYRE_PROGRAMS").unwrap_or(PROGRAMS);
    run_all(first..first + ON_THE_DOUBLE, |program| {
        on_double(program, None).map(drop)
    });
}

/// Protocols and limits of matched messages, with paths that keep packets in order.
fn settings() -> impl Iterator<Item = (Protocol, usize)> {
    [Protocol::RemoteGet, Protocol::TemporaryBuffer]
        .into_iter()
        .flat_map(|protocol| [0, 64].map(|switch_over| (protocol, switch_over)))
}

/// Pairs of tasks on two nodes, so that all messages are packets.
const THERE_AND_BACK: [(usize, usize); 2] = [(2, 0), (0, 2)];

/// Several matched messages of one label each way, with receives before and after them.
fn matching_program(
    (protocol, switch_over): (Protocol, usize),
    pairs: &[(usize, usize)],
    seed: u64,
) -> Program {
    let shape = ClientShape {
        contexts: 1,
        same_node: SameNode::SharedMemory,
        ordered: Ordered::Fixed,
        shared_injection: false,
        injection_per_context: 1,
        eager_limit: 4096,
        counters: 8,
        ack: AckConfig::default(),
    };
    let mut program = Program {
        seed,
        dims: vec![3],
        mesh: false,
        tasks_per_node: 2,
        jitter: 0,
        reorder: false,
        clients: vec![shape],
        protocol,
        switch_over,
        rounds: Vec::new(),
    };
    let endpoint = |task| EndpointId {
        client: 0,
        task,
        context: 0,
    };
    let mut number = 0;
    let mut op = |from, to, action| {
        number += 1;
        Op {
            number,
            from: endpoint(from),
            to: endpoint(to),
            action,
            end: End::Well,
            advance: number % 2 == 0,
        }
    };
    let receive = Action::Receive {
        pattern: Pattern {
            comm: 0,
            source: None,
            tag: None,
        },
        room: 3000,
        left: false,
    };
    let mut ops = Vec::new();
    for (tag, &(from, to)) in (0..).zip(pairs) {
        ops.extend([receive, receive].map(|receive| op(to, to, receive)));
        let send = |length| Action::Match {
            comm: 0,
            tag,
            length,
        };
        ops.extend([700, 900, 1100, 20].map(|length| op(from, to, send(length))));
        ops.extend([receive, receive].map(|receive| op(to, to, receive)));
    }
    let all = program.endpoints().collect::<Vec<_>>();
    let open = |&at: &EndpointId| {
        let grant = Turn::Grant {
            at,
            rights: RegionRights::ALL,
            contents: 1,
        };
        [Turn::Open { at }, grant]
    };
    program.rounds.push(Round {
        turns: all.iter().flat_map(open).collect(),
        ops,
        free: true,
        memory: all
            .iter()
            .map(|&at| (at, program.region_contents(0, 1)))
            .collect(),
        open: all.into_iter().collect(),
        ..Round::default()
    });
    program
}

#[test]
fn ct8_messages_and_receives_of_one_label_match_in_order() {
    let pairs = [THERE_AND_BACK; 4].concat();
    for setting in settings() {
        for seed in 0..8 {
            let program = matching_program(setting, &pairs, seed);
            let ran = on_double(&program, None).map(drop);
            assert_eq!(ran, Ok(()), "{setting:?}, seed {seed}");
        }
    }
}

/// A message of another communicator, whose number has the low bytes of that of a receive, does not match it.
#[test]
fn ct1_a_receive_does_not_match_a_similar_communicator() {
    let mut program = matching_program((Protocol::RemoteGet, 0), &[], 0);
    let mut like = matching_program((Protocol::RemoteGet, 0), &[(0, 2)], 0);
    let mut ops = like.rounds.remove(0).ops;
    ops.truncate(3);
    ops.remove(1);
    ops[1].action = Action::Match {
        comm: 2,
        tag: 0,
        length: 0,
    };
    program.rounds[0].ops = ops;
    assert_eq!(check(&program), Ok(()));
}

/// A fault, and where it is planted.
#[derive(Debug, Clone, Copy)]
enum Planted {
    /// In the double's network.
    Double(Fault),
    /// Between driver and RTL: the report says one of these.
    Dma(DmaFault, &'static [&'static str]),
}

/// Faults of the double's network.
const NETWORK: [Fault; 5] = [
    Fault::LosePacket(40),
    Fault::DoublePacket(40),
    Fault::FlipByte(40),
    Fault::RefuseSync(0),
    Fault::CutRmw,
];

/// Error of a program with a fault, if the checks find one.
fn caught(program: &Program, planted: Planted) -> Result<(), String> {
    match planted {
        // The double stops the test when a counter goes below zero.
        Planted::Double(fault) => {
            match catch_unwind(AssertUnwindSafe(|| on_double(program, Some(fault)))) {
                Ok(Ok(_)) => Err("nothing was wrong".to_owned()),
                _ => Ok(()),
            }
        }
        Planted::Dma(fault, words) => {
            let count = Arc::new(AtomicCell::new(0));
            let ran = machine::run(program, Some(fault), &count)
                .and_then(|log| report(log.wrong(program)));
            let count = count.load();
            match ran {
                Err(error) if count > 0 && words.iter().any(|words| error.contains(words)) => {
                    Ok(())
                }
                other => Err(format!("planted {count} times: {other:?}")),
            }
        }
    }
}

/// Fails if none of the first programs catches a fault.
fn is_caught(planted: Planted) {
    let mut errors = Vec::new();
    let mut seeds = 0..150;
    let found = seeds.any(|seed| {
        let result = caught(&Program::new(seed), planted);
        result.map_err(|error| errors.push(error)).is_ok()
    });
    assert!(found, "{planted:?} is not caught: {errors:#?}");
}

#[test]
fn x5_every_fault_of_the_network_is_caught() {
    for fault in NETWORK {
        is_caught(Planted::Double(fault));
    }
}

#[test]
fn fn1_a_fence_that_returns_early_is_caught() {
    is_caught(Planted::Dma(DmaFault::EarlyFence, &["returns before step"]));
}

#[test]
fn ak1_a_lost_acknowledgement_is_caught() {
    let words = &["nothing is left to happen", "has no end"];
    is_caught(Planted::Dma(DmaFault::LostAcknowledgement, words));
}

#[test]
fn ak1_a_doubled_acknowledgement_is_caught() {
    let words = &["nothing waits for it"];
    is_caught(Planted::Dma(DmaFault::DoubledAcknowledgement, words));
}

#[test]
fn ct1_a_match_out_of_order_is_caught() {
    let words = &["nothing explains event"];
    is_caught(Planted::Dma(DmaFault::MatchOutOfOrder, words));
}

/// The loss or repetition of any packet, RTS, CTS, get, put, acknowledgement or data, is noticed.
#[test]
fn ct6_every_lost_and_every_doubled_packet_is_caught() {
    for setting in settings() {
        let program = matching_program(setting, &THERE_AND_BACK, 1);
        let (log, packets) = double::run(&program, None).expect("no fault");
        assert_eq!(report(log.wrong(&program)), Ok(()));
        assert!(packets > 10, "{packets} packets");
        for number in 0..packets {
            for fault in [Fault::LosePacket(number), Fault::DoublePacket(number)] {
                let caught = caught(&program, Planted::Double(fault));
                assert_eq!(caught, Ok(()), "{fault:?}, {setting:?}");
            }
        }
    }
}

/// The comparison of both machines alone catches a double that does not do as the RTL does.
#[test]
fn x5_a_double_that_differs_from_the_rtl_is_caught() {
    let mut left = NETWORK.to_vec();
    for seed in 0..40 {
        let program = Program::new(seed);
        let rtl = on_rtl(&program).expect("no fault");
        left.retain(|&fault| {
            let ran = catch_unwind(AssertUnwindSafe(|| double::run(&program, Some(fault))));
            ran.is_ok_and(|ran| ran.is_ok_and(|(log, _)| log.differences(&rtl).is_empty()))
        });
        if left.is_empty() {
            return;
        }
    }
    panic!("not caught: {left:?}");
}
