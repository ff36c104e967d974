// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench barrier`: a barrier over all nodes on the tree of the collective network, and by software (HW-5,
//! HW-7).
//!
//! One task a node, or `tasks`; all enter at once. `hardware_cycles` runs from the last write of a trigger register at a
//! node's port to the last wake-up that the status bit of a node causes at its port; `tree_cycles` from the last
//! post to the last done callback, `software_cycles` of which are the driver's. `bound_cycles` is what the tree
//! needs for its hops alone: up and down, each node two cycles and each link its latency.
//! `dissemination_cycles` is the same barrier by messages, `shared_memory_cycles` that in the memory of nodes with
//! several tasks and by messages between nodes, each the second of two.

use gyre_collectives::{Algorithm, Error, Request};
use gyre_driver::{Error as DriverError, Platform as _};
use gyre_layout::registers::{COLL, coll_network, wake, wake_group};
use gyre_sim::{RunReport, SimError};
use serde_json::{Map, json};

use super::measure::{Measured, TASKS, Total};
use super::timed_collective::open_team;
use crate::settings::SAME_NODE;
use gyre::error::RunError;
use gyre::machine_file::MachineSpec;
use gyre::settings::{Settings, Table};
use gyre::team::{Seat, Team};

/// Cycles of a node that a pulse passes.
const HOP: u64 = 2;
/// Wake-up output of the contexts' wake group.
const WAKE: u32 = 1;

/// Its settings.
pub(super) const SETTINGS: &Table = &[&TASKS, &SAME_NODE];

pub(super) fn run(spec: &MachineSpec, settings: &Settings) -> Result<Measured, RunError> {
    let mut total = Total::new();
    let (tasks, same_node) = (settings.get(&TASKS), settings.get(&SAME_NODE));
    let mut team = open_team(spec, tasks, same_node)?;
    if !team.take_routes()?.barrier {
        return Err(RunError::Check("no barrier route is free".into()));
    }
    let mut metrics = Map::new();
    let mut software = vec![Algorithm::Dissemination];
    if tasks > 1 {
        software.push(Algorithm::SharedMemory);
    }
    // The first by each algorithm sets the driver's state up.
    for algorithm in software {
        measure(&mut team, spec, algorithm)?;
        let (cycles, _) = measure(&mut team, spec, algorithm)?;
        metrics.insert(format!("{}_cycles", algorithm.name()), json!(cycles));
    }
    measure(&mut team, spec, Algorithm::Tree)?;
    team.job().machine().record_inputs();
    team.job().machine().record_outputs();
    let (tree, report) = measure(&mut team, spec, Algorithm::Tree)?;
    let hardware = hardware(&mut team)
        .ok_or_else(|| RunError::Check("no barrier was seen at the ports".into()))?;
    // The root is node 0; node n has parent (n - 1) / 2.
    let depth = u64::from((spec.nodes() as u64).ilog2());
    metrics.insert("hardware_cycles".into(), json!(hardware));
    let bound = 2 * depth * (HOP + spec.config.link_latency);
    metrics.insert("bound_cycles".into(), json!(bound));
    metrics.insert("tree_cycles".into(), json!(tree));
    let software = tree.saturating_sub(hardware);
    metrics.insert("software_cycles".into(), json!(software));
    let mut params = Map::new();
    params.insert("tasks".into(), json!(tasks));
    params.insert("same_node".into(), json!(same_node.name()));
    params.insert("tree_depth".into(), json!(depth));
    total.add(report.cycles, report.hash);
    Ok(total.measured(spec, params, metrics))
}

/// Cycles from the last post to the last done callback.
fn measure(
    team: &mut Team,
    spec: &MachineSpec,
    algorithm: Algorithm,
) -> Result<(u64, RunReport), SimError> {
    let body = move |seat: &Seat| {
        let (context, platform) = (&seat.context, seat.context.platform());
        // A barrier that is over before the driver looks needs no wake-up: what an earlier one has left would
        // hide that of this one.
        let group = context.query().wake_group;
        let cause = wake(group.into()) + wake_group::CAUSE;
        platform
            .write_reg(cause, u64::MAX)
            .map_err(DriverError::from)?;
        let from = platform.now_ps();
        let to = seat.carry_out(Some(algorithm), Request::barrier())?;
        context.advance_until(|| context.is_at_rest())?;
        Ok::<_, Error>((from, to))
    };
    let (times, report) = team.run(algorithm.name(), body)?;
    let from = times.iter().map(|t| t.0).max().unwrap_or(0);
    let to = times.iter().map(|t| t.1).max().unwrap_or(0);
    Ok(((to - from) / spec.config.cycle_ps, report))
}

/// Cycles from the last trigger at a port to the last wake-up, as recorded.
fn hardware(team: &mut Team) -> Option<u64> {
    let machine = team.job().machine();
    let enter = COLL + coll_network::BARRIER_ENTER;
    let inputs = machine.take_inputs();
    let writes = inputs.iter().flat_map(|input| input.register_writes());
    let triggers = writes.filter(|write| write.addr == enter);
    let last = triggers.map(|write| write.cycle).max()?;
    let outputs = machine.take_outputs();
    let levels = outputs.iter().flat_map(|output| output.levels());
    let wakes = levels.filter(|(_, levels)| levels & WAKE != 0);
    wakes.map(|(cycle, _)| cycle).max()?.checked_sub(last)
}
