// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small messaging program, written on registers and memory alone, for tests of the machine.
#![allow(dead_code)] // each test file uses its part

pub mod collective;
pub mod traffic;

use gyre_firmware::{
    InjectionConfig, Node, NodeError, ReceptionConfig, Rights, SelfTest, SlotConfig,
};
use gyre_layout::registers::{self, group_page, injection_fifo, reception_fifo, wake_group};
use gyre_layout::{Descriptor, HEADER_BYTES, Header, Source, VClass};
use gyre_sim::{BusError, Cpu, Machine, MachineConfig, RunReport, SimError, Until, WakeReason};

pub type Failure = Box<dyn std::error::Error>;

/// A change of a machine's configuration.
pub type Change = fn(&mut MachineConfig);

pub const INJECTION_RING: u64 = 0x1000;
pub const INJECTION_BYTES: u64 = 0x1000;
pub const RECEPTION_RING: u64 = 0x1_0000;
pub const RECEPTION_BYTES: u64 = 0x1_0000;
pub const PAYLOAD: u64 = 0x10_0000;
pub const PAYLOAD_BYTES: u64 = 0x10_0000;

pub fn config(dims: &[u16]) -> MachineConfig {
    MachineConfig {
        dims: dims.to_vec(),
        watchdog: 200_000,
        ..MachineConfig::default()
    }
}

/// Brings a node up with one injection FIFO, one reception FIFO and one slot, all numbered 0.
pub fn bring_up_node(cpu: &Cpu) -> Result<(), NodeError<BusError>> {
    let mut node = Node::identify(cpu.clone())?;
    node.bring_up(
        &cpu.topology().network_config(cpu.node()),
        SelfTest::Run,
        1000,
    )?;
    node.open_injection(
        0,
        &InjectionConfig {
            base: INJECTION_RING,
            size: INJECTION_BYTES,
            owner: 0,
            remote_get: false,
            interrupt: false,
        },
    )?;
    node.open_reception(
        0,
        &ReceptionConfig {
            base: RECEPTION_RING,
            size: RECEPTION_BYTES,
            owner: 0,
            threshold: 0,
        },
    )?;
    let rights = Rights {
        read: true,
        write: true,
        atomic: true,
        remote_read: true,
    };
    node.grant_slot(
        0,
        &SlotConfig {
            base: PAYLOAD,
            limit: PAYLOAD_BYTES,
            owner: 0,
            rights,
        },
    )
}

pub fn bring_up(machine: &mut Machine) -> Result<RunReport, SimError> {
    for node in 0..machine.topology().nodes() {
        machine.spawn(node, "firmware", |cpu| bring_up_node(&cpu));
    }
    machine.run(Until::Done)
}

pub fn injection(register: u64) -> u64 {
    registers::page(0) + group_page::inj(0) + register
}

pub fn reception(register: u64) -> u64 {
    registers::page(0) + group_page::rec(0) + register
}

/// Posts a descriptor as number `number` of the node's injection FIFO.
pub fn post(cpu: &Cpu, number: u64, descriptor: &Descriptor) -> Result<(), Failure> {
    let at = number * 64 % INJECTION_BYTES;
    cpu.mem_write(INJECTION_RING + at, &descriptor.encode()?);
    cpu.write_reg(injection(injection_fifo::TAIL), (number + 1) * 64)?;
    Ok(())
}

/// Message `number` of the exchange: its bytes and who gets it.
pub fn message(nodes: usize, src: usize, number: usize) -> (usize, usize) {
    let len = (src * 977 + number * 1361 + 13) % 3000;
    ((src + number) % nodes, len)
}

pub fn byte(src: usize, number: usize, at: usize) -> u8 {
    (src * 31 + number * 17 + at * 7 + at / 256) as u8
}

/// Every node sends `count` messages of all classes in turn, to itself and others, and checks every byte that it gets.
pub fn exchange(cpu: &Cpu, count: usize) -> Result<(), Failure> {
    let nodes = cpu.topology().nodes();
    let mask = registers::wake(0) + wake_group::MASK;
    let cause = registers::wake(0) + wake_group::CAUSE;
    cpu.write_reg(mask, 1)?;
    for number in 0..count {
        let (dst, len) = message(nodes, cpu.node(), number);
        let offset = 4096 * number as u64;
        let bytes: Vec<u8> = (0..len).map(|at| byte(cpu.node(), number, at)).collect();
        cpu.mem_write(PAYLOAD + offset, &bytes);
        cpu.charge_instructions(bytes.len() as u64 / 8 + 20);
        let source = Source {
            slot: 0,
            offset,
            length: len as u32,
        };
        let mut descriptor = Descriptor::memory_fifo(cpu.topology().header_coord(dst), source, 0)
            .with_software(cpu.node() as u32, number as u32)
            .with_message_id((cpu.node() * count + number) as u32);
        descriptor.vclass = VClass::MESSAGES[number % VClass::MESSAGES.len()];
        post(cpu, number as u64, &descriptor)?;
    }
    // Bytes still to come of every message to this node.
    let mut open: Vec<(usize, usize, usize)> = (0..nodes)
        .flat_map(|src| (0..count).map(move |number| (src, number)))
        .filter_map(|(src, number)| {
            let (dst, len) = message(nodes, src, number);
            (dst == cpu.node()).then_some((src, number, len))
        })
        .collect();
    let mut head = 0;
    while !open.is_empty() {
        cpu.describe_wait(&format!("{} messages", open.len()));
        cpu.wait_wake(0, None);
        cpu.write_reg(cause, 1)?;
        let tail = cpu.read_reg(reception(reception_fifo::TAIL))?;
        while head != tail {
            head += take_packet(cpu, head, &mut open)?;
        }
        cpu.write_reg(reception(reception_fifo::HEAD), head)?;
    }
    cpu.describe_wait("");
    Ok(cpu.fence()?)
}

/// Checks the packet at `head` of the reception ring and returns its bytes in the ring.
fn take_packet(
    cpu: &Cpu,
    head: u64,
    open: &mut Vec<(usize, usize, usize)>,
) -> Result<u64, Failure> {
    let ring = |at: u64, out: &mut [u8]| {
        for (i, byte) in out.iter_mut().enumerate() {
            let offset = (at + i as u64) % RECEPTION_BYTES;
            cpu.mem_read(RECEPTION_RING + offset, std::slice::from_mut(byte));
        }
    };
    let mut bytes = [0; HEADER_BYTES];
    ring(head, &mut bytes);
    let header = Header::decode(&bytes)?;
    let (src, number) = (header.sw0 as usize, header.sw1 as usize);
    if header.src != cpu.topology().header_coord(src)
        || header.dst != cpu.topology().header_coord(cpu.node())
    {
        return Err(format!("wrong coordinates: {header:?}").into());
    }
    let mut payload = vec![0; usize::from(header.len)];
    ring(head + 32, &mut payload);
    for (at, &found) in payload.iter().enumerate() {
        let expected = byte(src, number, header.offset as usize + at);
        if found != expected {
            return Err(
                format!("byte {at} is {found:#x}, expected {expected:#x}: {header:?}").into(),
            );
        }
    }
    let index = open
        .iter()
        .position(|&(s, n, _)| (s, n) == (src, number))
        .ok_or_else(|| format!("packet of no open message: {header:?}"))?;
    open[index].2 = open[index]
        .2
        .checked_sub(payload.len())
        .ok_or("more bytes than sent")?;
    if header.last {
        if open[index].2 != 0 {
            return Err(format!("{} bytes are missing: {header:?}", open[index].2).into());
        }
        open.swap_remove(index);
    }
    cpu.charge_instructions(50 + payload.len() as u64 / 8);
    Ok(32 + u64::from(header.len).next_multiple_of(32))
}

/// Brings a machine up and runs the exchange on it.
pub fn run_exchange(machine: &mut Machine, count: usize) -> Result<RunReport, SimError> {
    bring_up(machine)?;
    run_exchange_only(machine, count)
}

/// Runs the exchange on a machine that is up.
pub fn run_exchange_only(machine: &mut Machine, count: usize) -> Result<RunReport, SimError> {
    for node in 0..machine.topology().nodes() {
        machine.spawn(node, "exchange", move |cpu| exchange(&cpu, count));
    }
    machine.run(Until::Quiet)
}

/// Waits for a wake-up at most `cycles`.
pub fn wait_cycles(cpu: &Cpu, group: u8, cycles: u64) -> WakeReason {
    cpu.wait_wake(group, Some(cpu.now_ps() + cycles * cpu.cycle_ps()))
}
