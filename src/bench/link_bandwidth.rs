//! `gyre bench link-bandwidth`: payload share of a link under long direct puts to a neighbour.

use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;
use std::time::Instant;

use gyre_layout::{CounterRef, Descriptor, Source};
use gyre_sim::{Cpu, Machine, Until};
use serde_json::{Map, json};

use super::raw_dma::{COUNTERS, PAYLOAD, RawInjection, SLOT, coord};
use super::{Measured, Total, figures};
use crate::bring_up::bring_up;
use crate::cli::CommandError;
use crate::machine_file::MachineSpec;
use crate::options::UsageError;
use crate::platform::process_base;
use crate::settings::Settings;

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
/// Part of a transfer that counts as steady state.
const FROM_PERCENT: u64 = 20;
const TO_PERCENT: u64 = 90;

type Failure = Box<dyn Error>;
/// (cycle, bytes received) at the looks of one receiver.
type Samples = Rc<RefCell<Vec<(u64, u64)>>>;

pub(super) fn run(spec: &MachineSpec, _settings: &Settings) -> Result<Measured, CommandError> {
    if spec.config.dims[0] < 2 {
        return Err(UsageError::Combination(
            "link-bandwidth needs a neighbour in the first dimension".into(),
        )
        .into());
    }
    let started = Instant::now();
    let mut rows = Vec::new();
    let mut least = f64::INFINITY;
    let mut total = Total::of(2 * SIZES.len());
    for size in SIZES {
        for both in [false, true] {
            let (shares, ran, digest) = measure(spec, size, both)?;
            total.add(ran, digest);
            for (direction, share) in ["+", "-"].into_iter().zip(&shares) {
                least = least.min(*share);
                rows.push(json!({
                    "message_bytes": size,
                    "ways": if both { "both" } else { "one" },
                    "direction": format!("a{direction}"),
                    "payload_share": share,
                }));
            }
        }
    }
    let mut metrics = Map::new();
    metrics.insert("payload_share".into(), json!(least));
    metrics.insert("format_limit".into(), json!(512.0 / 544.0));
    metrics.insert("transfers".into(), json!(rows));
    Ok(Measured {
        params: Map::new(),
        metrics,
        sim: figures(spec, total.cycles, started),
        hash: total.hash,
    })
}

/// Payload share of the link from node 0 to its + neighbour, and of the way back if `both`; cycles and
/// hash.
fn measure(
    spec: &MachineSpec,
    size: u32,
    both: bool,
) -> Result<(Vec<f64>, u64, u64), CommandError> {
    let mut machine = Machine::new(spec.config.clone())?;
    bring_up(&mut machine, 1)?;
    let messages = TOTAL.div_ceil(size).max(4);
    let total = u64::from(messages) * u64::from(size);
    let ways: &[(usize, usize)] = if both { &[(0, 1), (1, 0)] } else { &[(0, 1)] };
    let mut samples = Vec::new();
    for &(from, to) in ways {
        machine.poke(to, process_base(0) + COUNTERS, &total.to_le_bytes());
        let seen = Samples::default();
        samples.push(Rc::clone(&seen));
        machine.spawn(to, "receiver", move |cpu| receive(&cpu, total, &seen));
        let put = Descriptor::put(
            coord(&machine, to),
            Source {
                slot: SLOT,
                offset: PAYLOAD,
                length: size,
            },
            SLOT,
            LANDING,
        )
        .with_counter(CounterRef {
            slot: SLOT,
            index: (COUNTERS / 8) as u32,
        });
        machine.spawn(from, "sender", move |cpu| {
            let mut fifo = RawInjection::open(&cpu, 0)?;
            (0..messages).try_for_each(|_| fifo.push(&put))
        });
    }
    let report = machine.run(Until::Quiet)?;
    let shares = samples
        .iter()
        .map(|seen| steady_share(&seen.borrow(), total));
    let shares = shares.collect::<Option<Vec<f64>>>().ok_or_else(|| {
        CommandError::Check(format!(
            "messages of {size} B leave no steady state to measure"
        ))
    })?;
    Ok((shares, report.cycles, report.hash))
}

/// Looks at the byte counter until it is zero.
fn receive(cpu: &Cpu, total: u64, samples: &RefCell<Vec<(u64, u64)>>) -> Result<(), Failure> {
    loop {
        cpu.sleep_until(cpu.now_ps() + SAMPLE * cpu.cycle_ps());
        let mut counter = [0; 8];
        cpu.mem_read(process_base(0) + COUNTERS, &mut counter);
        let left = u64::from_le_bytes(counter);
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
