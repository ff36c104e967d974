// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench link-bandwidth`: payload share of links under long direct puts to neighbours.

use gyre_layout::{CounterRef, Descriptor, Source};
use gyre_sim::{Cpu, SimError, Until};
use serde_json::{Map, json};
use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;
use strum::{Display, EnumString};

use super::measure::{Measured, Total};
use super::raw_dma::{COUNTERS, PAYLOAD, RawInjection, SLOT, coord};
use gyre::bring_up::bring_up;
use gyre::error::RunError;
use gyre::machine_file::MachineSpec;
use gyre::options::UsageError;
use gyre::platform::process_base;
use gyre::settings::{Setting, Settings, Table};

/// Message sizes in bytes.
const SIZES: [u32; 3] = [64 << 10, 256 << 10, 1 << 20];
/// Bytes each direction moves at least.
const TOTAL: u32 = 2 << 20;
/// Cycles between two looks at a counter.
const SAMPLE: u64 = 256;
/// Data wires of a link, bytes.
const FLIT_BYTES: u64 = 16;
/// Where puts land in the memory of process 0.
const LANDING: u64 = PAYLOAD + 0x1000_0000;
/// Bytes of memory for the data received over a link.
const LANDING_BYTES: u64 = 2 << 20;
/// Part of a transfer that counts as steady state.
const FROM_PERCENT: u64 = 20;
const TO_PERCENT: u64 = 90;

type Failure = Box<dyn Error>;
/// (cycle, bytes received) at the looks of one receiver.
type Samples = Rc<RefCell<Vec<(u64, u64)>>>;

/// The links of node 0 that carry puts.
#[derive(Clone, Copy, Debug, Display, EnumString, PartialEq, Eq, PartialOrd)]
#[strum(serialize_all = "kebab-case")]
enum Links {
    /// The link to the + neighbour in the first dimension, one way and both ways.
    First,
    /// All, both ways at once.
    All,
}

/// Puts over one direction of one link.
#[derive(Clone, Copy, Debug)]
struct Flow {
    from: usize,
    to: usize,
    /// Port of node 0 that the link is at.
    port: usize,
}

impl Flow {
    /// Direction of the link as seen from where the puts start: `a+`, `b-`.
    fn name(self) -> String {
        let port = self.port ^ usize::from(self.from != 0);
        let dimension = char::from(b'a' + (port / 2) as u8); // at most 5
        format!(
            "{dimension}{}",
            if port.is_multiple_of(2) { '+' } else { '-' }
        )
    }
}

const LINKS: Setting<Links> = Setting::choice(
    "links",
    Links::First,
    "first or all",
    "links of node 0 that carry puts: that to its + neighbour in the first dimension, one way and both ways; or all at once, both ways",
);
/// Its settings.
pub(super) const SETTINGS: &Table = &[&LINKS];

pub(super) fn run(spec: &MachineSpec, settings: &Settings) -> Result<Measured, RunError> {
    let links = settings.get(&LINKS);
    let topology = spec.config.topology().map_err(SimError::from)?;
    let ports = match links {
        Links::First => 1,
        Links::All => 2 * spec.config.dims.len(),
    };
    let mut out = Vec::new();
    for port in 0..ports {
        let neighbour = topology.neighbour(0, port).map(|(to, _)| to);
        let Some(to) = neighbour.filter(|&to| topology.first_port(0, to) == Some(port)) else {
            let text = match links {
                Links::First => "link-bandwidth needs a neighbour in the first dimension",
                Links::All => "links=all needs rings of at least 3 nodes in every dimension",
            };
            return Err(UsageError::Combination(text.into()).into());
        };
        out.push(Flow { from: 0, to, port });
    }
    let back = |flow: &Flow| Flow {
        from: flow.to,
        to: flow.from,
        port: flow.port,
    };
    let both: Vec<Flow> = out.iter().flat_map(|flow| [*flow, back(flow)]).collect();
    let ways = match links {
        Links::First => vec![("one", out), ("both", both)],
        Links::All => vec![("both", both)],
    };
    let mut total = Total::new();
    let mut rows = Vec::new();
    let mut least = f64::INFINITY;
    total.expect(SIZES.len() * ways.len());
    for size in SIZES {
        for (ways, flows) in &ways {
            let (shares, ran, digest) = measure(spec, size, flows)?;
            total.add(ran, digest);
            for (flow, share) in flows.iter().zip(&shares) {
                least = least.min(*share);
                rows.push(json!({
                    "message_bytes": size,
                    "ways": ways,
                    "direction": flow.name(),
                    "from_node": flow.from,
                    "payload_share": share,
                }));
            }
        }
    }
    let mut params = Map::new();
    params.insert(LINKS.key.into(), json!(links.to_string()));
    let mut metrics = Map::new();
    metrics.insert("payload_share".into(), json!(least));
    metrics.insert("format_limit".into(), json!(512.0 / 544.0));
    metrics.insert("transfers".into(), json!(rows));
    Ok(total.measured(spec, params, metrics))
}

/// Payload share of the link of each flow while all of them run; cycles and hash.
fn measure(
    spec: &MachineSpec,
    size: u32,
    flows: &[Flow],
) -> Result<(Vec<f64>, u64, u64), RunError> {
    let mut machine = spec.machine()?;
    bring_up(&mut machine, 1)?;
    let messages = TOTAL.div_ceil(size).max(4);
    let total = u64::from(messages) * u64::from(size);
    let mut samples = Vec::new();
    for flow in flows {
        // A counter, a place and an injection FIFO of its own for each link.
        let counter = process_base(0) + COUNTERS + 8 * flow.port as u64;
        machine.poke(flow.to, counter, &total.to_le_bytes());
        let seen = Samples::default();
        samples.push(Rc::clone(&seen));
        machine.spawn(flow.to, "receiver", move |cpu| {
            receive(&cpu, counter, total, &seen)
        });
        let put = Descriptor::put(
            coord(&machine, flow.to),
            Source {
                slot: SLOT,
                offset: PAYLOAD,
                length: size,
            },
            SLOT,
            LANDING + flow.port as u64 * LANDING_BYTES,
        )
        .with_counter(CounterRef {
            slot: SLOT,
            index: (COUNTERS / 8) as u32 + flow.port as u32, // at most 10
        });
        let fifo = flow.port as u16; // at most 10
        machine.spawn(flow.from, "sender", move |cpu| {
            let mut fifo = RawInjection::open(&cpu, fifo)?;
            (0..messages).try_for_each(|_| fifo.push(&put))
        });
    }
    let report = machine.run(Until::Quiet)?;
    let shares = samples
        .iter()
        .map(|seen| steady_share(&seen.borrow(), total));
    let shares = shares.collect::<Option<Vec<f64>>>().ok_or_else(|| {
        RunError::Check(format!(
            "messages of {size} B leave no steady state to measure"
        ))
    })?;
    Ok((shares, report.cycles, report.hash))
}

/// Looks at the byte counter until it is zero.
fn receive(
    cpu: &Cpu,
    counter: u64,
    total: u64,
    samples: &RefCell<Vec<(u64, u64)>>,
) -> Result<(), Failure> {
    loop {
        cpu.sleep_until(cpu.now_ps() + SAMPLE * cpu.cycle_ps());
        let mut left = [0; 8];
        cpu.mem_read(counter, &mut left);
        let left = u64::from_le_bytes(left);
        let received = total
            .checked_sub(left)
            .ok_or("the byte counter went below zero")?;
        let cycle = cpu.now_ps() / cpu.cycle_ps();
        samples.borrow_mut().push((cycle, received));
        if left == 0 {
            return Ok(());
        }
    }
}

/// Payload bytes over the link's capacity between two looks in the steady state.
fn steady_share(samples: &[(u64, u64)], total: u64) -> Option<f64> {
    let steady = |&&(_, bytes): &&(u64, u64)| {
        bytes >= total * FROM_PERCENT / 100 && bytes <= total * TO_PERCENT / 100
    };
    let (from, from_bytes) = samples.iter().find(steady)?;
    let (to, to_bytes) = samples.iter().rev().find(steady)?;
    let capacity = to.checked_sub(*from).filter(|&cycles| cycles > 0)? * FLIT_BYTES;
    Some((to_bytes - from_bytes) as f64 / capacity as f64)
}
