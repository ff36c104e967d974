// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench allreduce`: sums of doubles over all nodes, by size and algorithm (EP-13, HW-5, HW-7).
//!
//! One task a node, or `tasks`. Every algorithm of the geometry's list runs at every size up to 64 KiB; at longer ones the
//! tree of the collective network and the software algorithm that the list chooses. The time runs from the
//! first post, which all make after a barrier, to the last done callback. Inputs are whole numbers, so that
//! the sum is exact in any order.
//!
//! Payload shares are of a tree link: what the result's bytes would take on its data wires alone, over the time
//! that they took. In the steady state several sums are under way at once. There, the root's node is asked twice
//! how many flits it has sent to its first child, when some of the first sums have ended and when the last have begun:
//! ends that software sees come in bursts.

use crossbeam_utils::atomic::AtomicCell;
use gyre_collectives::{
    Algorithm, Collective, DataType, Done, Error, Initiator, ReduceOp, Request, RoutesTaken,
};
use gyre_driver::{BufferRange, Error as DriverError, Platform as _};
use gyre_layout::registers::perf_coll;
use gyre_layout::{MAX_PAYLOAD_BYTES, packet_bytes};
use gyre_sim::RunReport;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::measure::{Measured, TASKS, Total};
use super::named_algorithm::Named;
use super::timed_collective::{Exchange, check, named, open_team, query};
use crate::settings::SAME_NODE;
use gyre::error::RunError;
use gyre::machine_file::MachineSpec;
use gyre::platform::SimPlatform;
use gyre::settings::{Default as Unless, Setting, Settings, Table, Values};
use gyre::team::{Seat, Team};

/// Longest sum, bytes.
const MOST: usize = 1 << 20;
/// Longest size at which every algorithm runs.
const EVERY: usize = 64 << 10;
/// Data wires of a tree link, bytes.
const FLIT_BYTES: usize = 16;
const SUM: (DataType, ReduceOp) = (DataType::F64, ReduceOp::Sum);
/// Error of a task that gets something else than the sum.
const WRONG: &str = "a wrong sum";

/// Sums of the steady state: bytes of each, how many are under way, how many in all, and how many of them lead
/// into it. While as many more end, the link is looked at.
const STEADY_BYTES: usize = 64 << 10;
const IN_FLIGHT: usize = 4;
const STEADY: usize = 16;
const LEAD: usize = 4;
const LOOKED_AT: usize = STEADY - IN_FLIGHT - LEAD;
/// Tree port of a node's first child.
const FIRST_CHILD: u64 = 1;

/// Sizes in bytes.
#[derive(Clone, PartialEq, PartialOrd)]
struct Sizes(Vec<usize>);

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<_> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&sizes.join(","))
    }
}

impl Default for Sizes {
    fn default() -> Self {
        Self(vec![8, 64, 512, 4 << 10, 64 << 10, MOST])
    }
}

impl FromStr for Sizes {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let size = |size: &str| {
            let size: usize = size.parse().map_err(|_| ())?;
            let fits = size.is_multiple_of(8) && (8..=MOST).contains(&size);
            fits.then_some(size).ok_or(())
        };
        text.split(',')
            .map(size)
            .collect::<Result<_, ()>>()
            .map(Self)
    }
}

const SIZES: Setting<Sizes> = Setting {
    key: "sizes",
    about: "sizes of the vectors, between commas",
    unit: "bytes",
    default: Unless::Words("8,64,512,4096,65536,1048576"),
    values: Values::Such(|_| true, "multiples of 8 from 8 to 1048576"),
};
const ALGORITHM: Setting<Named> = Setting {
    key: "algorithm",
    about: "the only algorithm that runs",
    unit: "",
    default: Unless::Words(
        "every one up to 64 KiB; above, the tree and the one in software that the list chooses",
    ),
    values: Values::Such(
        |_| true,
        "tree, shared_memory, affinity, ring, recursive_doubling or there_and_back",
    ),
};
/// Its settings.
pub(super) const SETTINGS: &Table = &[&SIZES, &ALGORITHM, &TASKS, &SAME_NODE];

pub(super) fn run(spec: &MachineSpec, settings: &Settings) -> Result<Measured, RunError> {
    let sizes = settings.given(&SIZES).unwrap_or_default();
    let only = settings.given(&ALGORITHM);
    let mut total = Total::new();
    let (tasks, same_node) = (settings.get(&TASKS), settings.get(&SAME_NODE));
    let mut team = open_team(spec, tasks, same_node)?;
    if !team.take_routes()?.class {
        return Err(RunError::Check("no class route is free".into()));
    }
    let mut rows = Vec::new();
    for &bytes in &sizes.0 {
        let (algorithms, chosen) = algorithms(&team, bytes, only)?;
        let mut best: Option<(u64, Algorithm)> = None;
        let mut row = Map::new();
        row.insert("bytes".into(), json!(bytes));
        for algorithm in algorithms {
            if tasks > 1 {
                // The first by each algorithm sets the driver's state up.
                measure(&mut team, spec, algorithm, 8)?;
            }
            let (took, report) = measure(&mut team, spec, algorithm, bytes)?;
            (total.cycles, total.hash) = (report.cycles, report.hash);
            row.insert(format!("{}_cycles", algorithm.name()), json!(took));
            if algorithm == Algorithm::Tree {
                row.insert("tree_payload_share".into(), json!(share(bytes, took)));
            } else if best.is_none_or(|(least, _)| took < least) {
                best = Some((took, algorithm));
            }
        }
        if let Some((least, algorithm)) = best {
            row.insert("best_software".into(), json!(algorithm.name()));
            row.insert("best_software_cycles".into(), json!(least));
        }
        row.insert("chosen".into(), json!(chosen.name()));
        rows.push(Value::Object(row));
    }
    let mut metrics = Map::new();
    metrics.insert("sizes".into(), json!(rows));
    if only.is_none() && tasks == 1 && sizes.0.contains(&STEADY_BYTES) {
        let (flits, took, report) = steady(&mut team, spec)?;
        (total.cycles, total.hash) = (report.cycles, report.hash);
        // Sums of this length are whole packets.
        let payload = flits * MAX_PAYLOAD_BYTES as u64 / packet_bytes(MAX_PAYLOAD_BYTES) as u64;
        let steady = json!({
            "bytes": STEADY_BYTES,
            "in_flight": IN_FLIGHT,
            "sums": LOOKED_AT,
            "flits": flits,
            "cycles": took,
            "payload_share": payload as f64 / took.max(1) as f64,
        });
        metrics.insert("steady_state".into(), steady);
    }
    let mut params = Map::new();
    params.insert("sizes".into(), json!(sizes.0));
    params.insert("tasks".into(), json!(tasks));
    params.insert("same_node".into(), json!(same_node.name()));
    if let Some(Named(algorithm)) = only {
        params.insert("algorithm".into(), json!(algorithm.name()));
    }
    Ok(total.measured(spec, params, metrics))
}

/// Part of the time of a tree link's data wires that `bytes` bytes take.
fn share(bytes: usize, cycles: u64) -> f64 {
    (bytes / FLIT_BYTES) as f64 / cycles.max(1) as f64
}

/// The algorithms to run, and the list's choice.
fn algorithms(
    team: &Team,
    bytes: usize,
    only: Option<Named>,
) -> Result<(Vec<Algorithm>, Algorithm), RunError> {
    let member = &team.seats()[0][0].member;
    let query = |routes| query(member, Collective::Allreduce, bytes, SUM, routes);
    let asked = query(member.routes());
    let lists = asked.geometry.algorithms();
    let chosen = lists.choose(&asked, None)?;
    if let Some(only) = only {
        return Ok((vec![named(&ALGORITHM, only, &asked)?], chosen));
    }
    let software = lists.choose(&query(RoutesTaken::default()), None)?;
    let valid = lists
        .list(Collective::Allreduce)
        .iter()
        .filter(|e| e.is_valid(&asked));
    let wanted = valid
        .map(|e| e.algorithm)
        .filter(|&a| bytes <= EVERY || a == Algorithm::Tree || a == software);
    Ok((wanted.collect(), chosen))
}

fn value(task: usize, i: usize) -> f64 {
    ((task * 13 + i) % 1001) as f64
}

fn doubles(bytes: usize, of: &dyn Fn(usize) -> f64) -> Vec<u8> {
    (0..bytes / 8).flat_map(|i| of(i).to_le_bytes()).collect()
}

/// The sum over the values of `tasks` tasks. Values repeat, so that little is added up.
fn sums(tasks: usize, bytes: usize) -> Vec<u8> {
    let sum = |i| (0..tasks).map(|task| value(task, i)).sum();
    let period: Vec<f64> = (0..1001).map(sum).collect();
    doubles(bytes, &|i| period[i % 1001])
}

/// Cycles that one allreduce takes.
fn measure(
    team: &mut Team,
    spec: &MachineSpec,
    algorithm: Algorithm,
    bytes: usize,
) -> Result<(u64, RunReport), RunError> {
    let expected = sums(team.seats().len(), bytes);
    let exchange = Exchange {
        give: move |me| doubles(bytes, &|i| value(me, i)),
        get: move |_| expected.clone(),
        ask: |send, receive| Request::allreduce(SUM, Some(send), receive),
    };
    exchange.time(team, spec, algorithm, WRONG, bytes)
}

/// Flits that the root of the tree sends to its first child in the steady state, and the cycles of that.
fn steady(team: &mut Team, spec: &MachineSpec) -> Result<(u64, u64, RunReport), RunError> {
    let expected = sums(team.seats().len(), STEADY_BYTES);
    let body = move |seat: &Seat| {
        let me = seat.member.position();
        let platform = seat.context.platform();
        let data = doubles(STEADY_BYTES, &|i| value(me, i));
        let send = BufferRange::copied(platform, &data)?;
        let buffer = |_| BufferRange::zeroed(platform, STEADY_BYTES).map_err(DriverError::from);
        let receive = (0..STEADY).map(buffer).collect::<Result<Vec<_>, _>>()?;
        seat.carry_out(None, Request::barrier())?;
        let ends = Arc::new(AtomicCell::new(0_usize));
        let looks = Arc::new(Mutex::new(Vec::new()));
        let failed = Arc::new(AtomicCell::new(None));
        for (number, into) in receive.iter().enumerate() {
            let under_way = || number < ends.load() + IN_FLIGHT;
            seat.context.advance_until(under_way)?;
            let (ends, looks, failed) =
                (Arc::clone(&ends), Arc::clone(&looks), Arc::clone(&failed));
            let done: Done<SimPlatform> = Box::new(move |context, result| {
                ends.fetch_add(1);
                if [LEAD, LEAD + LOOKED_AT].contains(&ends.load()) {
                    let platform = context.platform();
                    let flits = platform.read_reg(perf_coll(FIRST_CHILD));
                    looks.lock().push((platform.now_ps(), flits));
                }
                if let Err(error) = result {
                    failed.store(Some(error));
                }
            });
            let request = Request::allreduce(SUM, Some(send.clone()), into.clone());
            let tree = Some(Algorithm::Tree);
            seat.member
                .post_as(Initiator::All, tree, request, Some(done))?;
        }
        seat.context.advance_until(|| ends.load() == STEADY)?;
        seat.context.advance_until(|| seat.context.is_at_rest())?;
        if let Some(error) = failed.take() {
            return Err(error);
        }
        let mut right = true;
        for range in &receive {
            let mut got = vec![0; STEADY_BYTES];
            range.read(0, &mut got).map_err(DriverError::from)?;
            right &= got == expected;
        }
        let mut seen = Vec::new();
        let looks = std::mem::take(&mut *looks.lock());
        for (time, flits) in looks {
            seen.push((time, flits.map_err(DriverError::from)?));
        }
        Ok::<_, Error>((seen, right))
    };
    let (seen, report) = team.run("steady state", body)?;
    check(seen.iter().map(|t| t.1), WRONG, "tree", STEADY_BYTES)?;
    // Task 0 lives on node 0, the root.
    match seen[0].0[..] {
        [(from, before), (to, after)] => {
            let cycles = (to - from) / spec.config.cycle_ps;
            Ok((after - before, cycles, report))
        }
        _ => Err(RunError::Check("the steady state was not seen".into())),
    }
}
