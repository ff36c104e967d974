// SPDX-License-Identifier: MIT OR Apache-2.0
//! One collective of all tasks, timed on its own: what the list says of it, and the cycles that it takes.

use gyre_collectives::{
    Algorithm, Collective, DataType, Error, Member, Query, ReduceKind, ReduceOp, Request,
    RoutesTaken,
};
use gyre_driver::{BufferRange, ClientConfig, Error as DriverError, Platform as _, SameNode};
use gyre_sim::RunReport;

use super::named_algorithm::Named;
use gyre::error::RunError;
use gyre::job::Job;
use gyre::machine_file::MachineSpec;
use gyre::options::UsageError;
use gyre::placement::Placement;
use gyre::platform::{NodeBuffer, SimPlatform};
use gyre::settings::Setting;
use gyre::team::{Seat, Team};

/// Query of the list of algorithms for a collective of `bytes` bytes of `of`, without or with class routes.
pub(super) fn query(
    member: &Member<SimPlatform>,
    collective: Collective,
    bytes: usize,
    of: (DataType, ReduceOp),
    routes: RoutesTaken,
) -> Query<'_> {
    Query {
        geometry: member.geometry(),
        collective,
        root: 0,
        bytes: Some(bytes),
        alignment: 1,
        reduction: ReduceKind::BuiltIn(of.0, of.1),
        routes,
        sharing: member.sharing(),
    }
}

/// A team of `tasks` tasks on each node, each with one endpoint.
pub(super) fn open_team(
    spec: &MachineSpec,
    tasks: usize,
    same_node: SameNode,
) -> Result<Team, RunError> {
    let placement = Placement::filled(tasks, &spec.config.dims)?;
    let config = move |client| ClientConfig {
        same_node,
        ..client
    };
    Ok(Team::open(Job::of(spec, &placement)?, |_| 1, config)?)
}

/// The algorithm that `setting` names, where its conditions hold.
pub(super) fn named(
    setting: &Setting<Named>,
    named: Named,
    query: &Query<'_>,
) -> Result<Algorithm, UsageError> {
    let lists = query.geometry.algorithms();
    lists.choose(query, Some(named.0)).map_err(|error| {
        let expected = format!("one whose conditions hold here ({error})");
        setting.refuse(named, expected)
    })
}

/// A collective in which every task gives and gets bytes.
pub(super) struct Exchange<Give, Get, Ask> {
    /// Data that the task at a position gives.
    pub give: Give,
    /// Data that it must get.
    pub get: Get,
    /// The request with these buffers.
    pub ask: Ask,
}

impl<Give, Get, Ask> Exchange<Give, Get, Ask>
where
    Give: Fn(usize) -> Vec<u8> + 'static,
    Get: Fn(usize) -> Vec<u8> + 'static,
    Ask: Fn(BufferRange<NodeBuffer>, BufferRange<NodeBuffer>) -> Request<NodeBuffer> + 'static,
{
    /// Cycles from the first post, which all make after a barrier, to the last done callback.
    ///
    /// # Errors
    /// Those of the run; a task that gets `wrong` bytes, of messages of `bytes`.
    pub(super) fn time(
        self,
        team: &mut Team,
        spec: &MachineSpec,
        algorithm: Algorithm,
        wrong: &str,
        bytes: usize,
    ) -> Result<(u64, RunReport), RunError> {
        let Self { give, get, ask } = self;
        let body = move |seat: &Seat| {
            let me = seat.member.position();
            let platform = seat.context.platform();
            let expected = get(me);
            let send = BufferRange::copied(platform, &give(me))?;
            let receive =
                BufferRange::zeroed(platform, expected.len()).map_err(DriverError::from)?;
            seat.carry_out(None, Request::barrier())?;
            let from = platform.now_ps();
            let to = seat.carry_out(Some(algorithm), ask(send, receive.clone()))?;
            seat.context.advance_until(|| seat.context.is_at_rest())?;
            let mut got = vec![0; expected.len()];
            receive.read(0, &mut got).map_err(DriverError::from)?;
            Ok::<_, Error>((from, to, got == expected))
        };
        let (times, report) = team.run(algorithm.name(), body)?;
        check(times.iter().map(|t| t.2), wrong, algorithm.name(), bytes)?;
        let first = times.iter().map(|t| t.0).min().unwrap_or(0);
        let last = times.iter().map(|t| t.1).max().unwrap_or(0);
        Ok(((last - first) / spec.config.cycle_ps, report))
    }
}

/// Refuses a run after which a task has wrong data.
pub(super) fn check(
    mut right: impl Iterator<Item = bool>,
    wrong: &str,
    name: &str,
    bytes: usize,
) -> Result<(), RunError> {
    match right.position(|right| !right) {
        None => Ok(()),
        Some(task) => Err(RunError::Check(format!(
            "task {task} has {wrong} after {name} of {bytes} bytes"
        ))),
    }
}
