// SPDX-License-Identifier: MIT OR Apache-2.0
//! Read-modify-writes between the nodes of a machine, all at once.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use gyre_firmware::{InjectionConfig, Node, Rights, SelfTest, SlotConfig};
use gyre_layout::registers::{self as reg, group_page, injection_fifo, node, wake_group};
use gyre_layout::{CounterRef, Descriptor, Rmw, RmwOp, Source, event};
use gyre_sim::{Cpu, Machine, MachineConfig, MemoryConfig, Until};

type Failure = Box<dyn std::error::Error>;

const RING: u64 = 0x1000;
const RING_BYTES: u64 = 0x1000;
/// Slot 0 of every node: results and payload, then the shared word, own words of every node, counters.
const MEMORY: u64 = 0x10_0000;
const MEMORY_BYTES: u64 = 0x10_0000;
const SHARED: u64 = 0x8000;
const OWN: u64 = 0x9000;
const LANDING: u64 = 0xa000;
const COUNTER: u64 = 0xb000;
/// Requests of each sort that a node has under way at once, and how often: with as many puts they fit the ring.
const BATCH: u64 = 20;
const BATCHES: u64 = 3;
const _: () = assert!(3 * BATCH * 64 <= RING_BYTES);

fn bring_up(cpu: &Cpu) -> Result<(), Failure> {
    let network = cpu.topology().network_config(cpu.node());
    let mut node = Node::identify(cpu.clone())?;
    node.bring_up(&network, SelfTest::Skip, 1000)?;
    let ring = InjectionConfig {
        base: RING,
        size: RING_BYTES,
        owner: 2,
        remote_get: false,
        interrupt: false,
    };
    node.open_injection(0, &ring)?;
    let slot = SlotConfig {
        base: MEMORY,
        limit: MEMORY_BYTES,
        owner: 2,
        rights: Rights {
            read: true,
            write: true,
            atomic: true,
            remote_read: false,
        },
    };
    node.grant_slot(0, &slot)?;
    Ok(())
}

fn read_word(cpu: &Cpu, offset: u64) -> u64 {
    let mut bytes = [0; 8];
    cpu.mem_read(MEMORY + offset, &mut bytes);
    u64::from_le_bytes(bytes)
}

/// Fetches and adds on node 0's shared word, works on words of its own at the next nodes, and sends puts
/// all around, in batches; the values fetched from the shared word.
fn work(cpu: &Cpu) -> Result<Vec<u64>, Failure> {
    let nodes = cpu.topology().nodes();
    let counter = CounterRef {
        slot: 0,
        index: (COUNTER / 8) as u32,
    };
    cpu.write_reg(reg::wake(0) + wake_group::MASK, event::COUNTER)?;
    let mut fetched = Vec::new();
    let mut own = vec![0_u64; nodes];
    let mut posted = 0;
    for batch in 0..BATCHES {
        let mut expected = Vec::new();
        cpu.mem_write(MEMORY + COUNTER, &(2 * BATCH * 8).to_le_bytes());
        for number in 0..BATCH {
            let add = Rmw {
                op: RmwOp::Add,
                wide: true,
                value: 1,
                test: None,
                fetch: Some((0, 16 * number)),
            };
            let shared = Descriptor::rmw(cpu.topology().header_coord(0), 0, SHARED, add)
                .with_counter(counter);
            // Compare and swap, every third with a wrong guess.
            let target = (cpu.node() + number as usize) % nodes;
            let old = own[target];
            let guess = if number % 3 == 0 { old + 1 } else { old };
            let value = (batch * BATCH + number + 1) << 8 | cpu.node() as u64;
            if guess == old {
                own[target] = value;
            }
            expected.push(old);
            let swap = Rmw {
                op: RmwOp::Set,
                wide: true,
                value,
                test: Some(guess),
                fetch: Some((0, 16 * number + 8)),
            };
            let place = OWN + 8 * cpu.node() as u64;
            let swap = Descriptor::rmw(cpu.topology().header_coord(target), 0, place, swap)
                .with_counter(counter);
            let source = Source {
                slot: 0,
                offset: 0x1001,
                length: 700,
            };
            let put = Descriptor::put(cpu.topology().header_coord(target), source, 0, LANDING + 3);
            for descriptor in [shared, put, swap] {
                let at = posted * 64 % RING_BYTES;
                cpu.mem_write(RING + at, &descriptor.encode()?);
                posted += 1;
            }
        }
        let tail = reg::page(0) + group_page::inj(0) + injection_fifo::TAIL;
        cpu.write_reg(tail, posted * 64)?;
        loop {
            // The cause goes before the look at the counter: an event in between wakes again.
            cpu.write_reg(reg::wake(0) + wake_group::CAUSE, event::COUNTER)?;
            cpu.fence()?;
            if read_word(cpu, COUNTER) == 0 {
                break;
            }
            cpu.describe_wait("answers");
            cpu.wait_wake(0, None);
        }
        for number in 0..BATCH {
            fetched.push(read_word(cpu, 16 * number));
            let read = read_word(cpu, 16 * number + 8);
            assert_eq!(
                read,
                expected[number as usize],
                "node {}, swap {number}",
                cpu.node()
            );
        }
    }
    Ok(fetched)
}

fn all_at_once(config: MachineConfig) {
    let mut machine = Machine::new(config).expect("made");
    let nodes = machine.topology().nodes();
    for number in 0..nodes {
        machine.spawn(number, "firmware", |cpu| bring_up(&cpu));
    }
    machine.run(Until::Done).expect("every node comes up");
    let fetched = Rc::new(RefCell::new(Vec::new()));
    for number in 0..nodes {
        let fetched = Rc::clone(&fetched);
        machine.spawn(number, "work", move |cpu| {
            let mut values = work(&cpu)?;
            assert!(values.is_sorted(), "one flow's requests are done in order");
            fetched.borrow_mut().append(&mut values);
            let status = cpu.read_reg(node::ERR_STATUS)?;
            assert_eq!(status, 0, "an error on node {}", cpu.node());
            Ok::<(), Failure>(())
        });
    }
    machine.run(Until::Done).expect("every request is answered");
    let total = nodes as u64 * BATCH * BATCHES;
    let distinct: BTreeSet<u64> = fetched.borrow().iter().copied().collect();
    assert!(distinct.into_iter().eq(0..total), "each value once");
}

#[test]
fn hw1_rmw_of_all_nodes_on_one_word_are_done_once_each() {
    all_at_once(MachineConfig {
        dims: vec![3, 2, 2],
        watchdog: 200_000,
        ..MachineConfig::default()
    });
}

#[test]
fn hw1_rmw_are_exact_over_lines_and_memory_that_reorders() {
    all_at_once(MachineConfig {
        dims: vec![5, 2],
        mesh: vec![true, false],
        link_latency: 1,
        memory: MemoryConfig {
            reorder: true,
            jitter: 60,
            stall_percent: 30,
            seed: 7,
            ..MemoryConfig::default()
        },
        watchdog: 200_000,
        ..MachineConfig::default()
    });
}
