// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench alltoall`: a block of every task for every other (EP-13).
//!
//! One task a node. Every algorithm of the geometry's list that is valid runs, or the one given. The time runs from
//! the first post, which all make after a barrier, to the last done callback; every byte is checked. `bound_cycles`
//! is what the busiest link takes for the packets of all blocks on fixed routes.

use gyre_collectives::{Algorithm, Blocks, Collective, DataType, ReduceOp, Request, RoutesTaken};
use gyre_driver::Routing;
use gyre_sim::RunReport;
use serde_json::{Map, Value, json};

use super::link_load::{FLIT_BYTES, LinkLoad};
use super::measure::{Measured, Total};
use super::named_algorithm::Named;
use super::timed_collective::{Exchange, named, query};
use gyre::error::RunError;
use gyre::job::Job;
use gyre::machine_file::MachineSpec;
use gyre::placement::Placement;
use gyre::settings::{Default as Unless, Setting, Settings, Table, Values};
use gyre::team::Team;

const BYTES: Setting<usize> =
    Setting::number("bytes", "bytes", 512, (0, 64 << 10), "length of each block");
const ALGORITHM: Setting<Named> = Setting {
    key: "algorithm",
    about: "the only algorithm that runs",
    unit: "",
    default: Unless::Words("every one that is valid"),
    values: Values::Such(|_| true, "linear or pairwise"),
};
/// Its settings.
pub(super) const SETTINGS: &Table = &[&BYTES, &ALGORITHM];

pub(super) fn run(spec: &MachineSpec, settings: &Settings) -> Result<Measured, RunError> {
    let bytes = settings.get(&BYTES);
    let only = settings.given(&ALGORITHM);
    let mut total = Total::new();
    let placement = Placement::filled(1, &spec.config.dims)?;
    let job = Job::of(spec, &placement)?;
    let mut team = Team::open(job, |_| 1, |client| client)?;
    let algorithms = algorithms(&team, bytes, only)?;
    let mut rows = Vec::new();
    total.expect(algorithms.len());
    for algorithm in algorithms {
        let (took, report) = measure(&mut team, spec, algorithm, bytes)?;
        total.add(report.cycles, report.hash);
        total.cycles = report.cycles;
        let mut row = Map::new();
        row.insert("algorithm".into(), json!(algorithm.name()));
        row.insert("cycles".into(), json!(took));
        rows.push(Value::Object(row));
    }
    let mut metrics = Map::new();
    let bound = bound(&mut team, bytes) / FLIT_BYTES;
    metrics.insert("bound_cycles".into(), json!(bound));
    metrics.insert("algorithms".into(), json!(rows));
    let mut params = Map::new();
    params.insert("bytes".into(), json!(bytes));
    if let Some(Named(algorithm)) = only {
        params.insert("algorithm".into(), json!(algorithm.name()));
    }
    Ok(total.measured(spec, params, metrics))
}

/// The algorithms to run.
fn algorithms(team: &Team, bytes: usize, only: Option<Named>) -> Result<Vec<Algorithm>, RunError> {
    let member = &team.seats()[0][0].member;
    let of = (DataType::U8, ReduceOp::Copy);
    let query = query(
        member,
        Collective::Alltoall,
        bytes,
        of,
        RoutesTaken::default(),
    );
    if let Some(only) = only {
        return Ok(vec![named(&ALGORITHM, only, &query)?]);
    }
    let lists = query.geometry.algorithms();
    let entries = lists.list(Collective::Alltoall).iter();
    let valid = entries.filter(|entry| entry.is_valid(&query));
    Ok(valid.map(|entry| entry.algorithm).collect())
}

/// Most bytes on a link.
fn bound(team: &mut Team, bytes: usize) -> u64 {
    // Task t lives on node t.
    let topology = team.job().machine().topology();
    let mut load = LinkLoad::new(topology);
    for from in 0..topology.nodes() {
        for to in (0..topology.nodes()).filter(|&to| to != from) {
            load.add(from, to, Routing::Fixed, bytes);
        }
    }
    load.most()
}

/// Block of `from` for `to`.
fn block(from: usize, to: usize, bytes: usize) -> impl Iterator<Item = u8> {
    (0..bytes).map(move |i| (from * 31 + to * 7 + i) as u8)
}

/// Cycles that one alltoall takes.
fn measure(
    team: &mut Team,
    spec: &MachineSpec,
    algorithm: Algorithm,
    bytes: usize,
) -> Result<(u64, RunReport), RunError> {
    let tasks = team.seats().len();
    let blocks = move || Blocks::Equal(bytes);
    let exchange = Exchange {
        give: move |me| (0..tasks).flat_map(|to| block(me, to, bytes)).collect(),
        get: move |me| (0..tasks).flat_map(|from| block(from, me, bytes)).collect(),
        ask: move |send, receive| Request::alltoall(Some(send), blocks(), receive, blocks()),
    };
    exchange.time(team, spec, algorithm, "wrong bytes", bytes)
}
