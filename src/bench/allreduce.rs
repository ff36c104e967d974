//! `gyre bench allreduce`: sums of doubles over all nodes, by size and algorithm (EP-13).
//!
//! One task a node. Every algorithm of the geometry's list runs at every size up to 64 KiB; at longer ones only
//! the one that the list chooses. The time runs from the first post, which all make after a barrier, to the
//! last done callback. Inputs are whole numbers, so that the sum is exact in any order.

use std::time::Instant;

use gyre_collectives::{Algorithm, Collective, DataType, Error, Query, ReduceOp, Request};
use gyre_driver::{BufferRange, Error as DriverError, Platform as _};
use serde_json::{Map, Value, json};

use super::endpoint_parallel::carry_out;
use super::{Measured, figures};
use crate::cli::CommandError;
use crate::job::Job;
use crate::machine_file::MachineSpec;
use crate::options::Settings;
use crate::placement::Placement;
use crate::team::{Seat, Team};

/// Sizes in bytes.
const SIZES: [usize; 6] = [8, 64, 512, 4 << 10, 64 << 10, 1 << 20];
/// Longest size at which every algorithm runs.
const EVERY: usize = 64 << 10;

pub(super) fn run(spec: &MachineSpec, settings: &mut Settings) -> Result<Measured, CommandError> {
    let most: usize = settings.take_in("max_bytes", 1 << 20, 8..=1 << 20)?;
    settings.finish()?;
    let started = Instant::now();
    let placement = Placement::filled(1, &spec.config.dims)?;
    let job = Job::new(&spec.config, &spec.costs, &placement, None)?;
    let mut team = Team::open(job, |_| 1, |client| client)?;
    let mut rows = Vec::new();
    let mut hash = 0;
    let mut cycles = 0;
    for bytes in SIZES.into_iter().filter(|&bytes| bytes <= most) {
        let (algorithms, chosen) = algorithms(&team, bytes)?;
        let mut best: Option<(u64, Algorithm)> = None;
        let mut row = Map::new();
        row.insert("bytes".into(), json!(bytes));
        for algorithm in algorithms {
            let (took, report) = measure(&mut team, spec, algorithm, bytes)?;
            (cycles, hash) = (report.cycles, report.hash);
            row.insert(format!("{}_cycles", algorithm.name()), json!(took));
            if best.is_none_or(|(least, _)| took < least) {
                best = Some((took, algorithm));
            }
        }
        if let Some((least, algorithm)) = best {
            row.insert("best".into(), json!(algorithm.name()));
            row.insert("best_cycles".into(), json!(least));
        }
        row.insert("chosen".into(), json!(chosen.name()));
        rows.push(Value::Object(row));
    }
    let mut metrics = Map::new();
    metrics.insert("sizes".into(), json!(rows));
    let mut params = Map::new();
    params.insert("max_bytes".into(), json!(most));
    Ok(Measured {
        params,
        metrics,
        sim: figures(spec, cycles, started),
        hash,
    })
}

/// The algorithms to run, and the one that the list chooses.
fn algorithms(team: &Team, bytes: usize) -> Result<(Vec<Algorithm>, Algorithm), CommandError> {
    let geometry = team.seats()[0][0].member.geometry();
    let query = Query {
        geometry,
        collective: Collective::Allreduce,
        root: 0,
        bytes: Some(bytes),
        data: DataType::F64,
        op: ReduceOp::Sum,
    };
    let lists = geometry.algorithms();
    let chosen = lists.choose(&query, None);
    let chosen = chosen.map_err(|error| CommandError::Check(error.to_string()))?;
    let valid = lists
        .list(Collective::Allreduce)
        .iter()
        .filter(|e| e.is_valid(&query));
    let wanted = valid
        .map(|e| e.algorithm)
        .filter(|&a| bytes <= EVERY || a == chosen);
    Ok((wanted.collect(), chosen))
}

/// Cycles that one allreduce takes.
fn measure(
    team: &mut Team,
    spec: &MachineSpec,
    algorithm: Algorithm,
    bytes: usize,
) -> Result<(u64, gyre_sim::RunReport), CommandError> {
    let tasks = team.seats().len();
    let body = move |seat: &Seat| {
        let me = seat.member.position();
        let value = |task: usize, i: usize| ((task * 13 + i) % 1001) as f64;
        let doubles = |of: &dyn Fn(usize) -> f64| -> Vec<u8> {
            (0..bytes / 8).flat_map(|i| of(i).to_le_bytes()).collect()
        };
        let platform = seat.context.platform();
        let send = BufferRange::copied(platform, &doubles(&|i| value(me, i)))?;
        let receive = BufferRange::zeroed(platform, bytes).map_err(DriverError::from)?;
        carry_out(seat, None, Request::barrier())?;
        let from = platform.now_ps();
        let kind = (DataType::F64, ReduceOp::Sum);
        let request = Request::allreduce(kind, Some(send), receive.clone());
        let to = carry_out(seat, Some(algorithm), request)?;
        seat.context.advance_until(|| seat.context.is_at_rest())?;
        let mut got = vec![0; bytes];
        receive.read(0, &mut got).map_err(DriverError::from)?;
        let sum = |i| (0..tasks).map(|task| value(task, i)).sum();
        Ok::<_, Error>((from, to, got == doubles(&sum)))
    };
    let (times, report) = team.run(algorithm.name(), body)?;
    if let Some(task) = times.iter().position(|t| !t.2) {
        let name = algorithm.name();
        let wrong = format!("task {task} has a wrong sum after {name} of {bytes} bytes");
        return Err(CommandError::Check(wrong));
    }
    let first = times.iter().map(|t| t.0).min().unwrap_or(0);
    let last = times.iter().map(|t| t.1).max().unwrap_or(0);
    Ok(((last - first) / spec.config.cycle_ps, report))
}
