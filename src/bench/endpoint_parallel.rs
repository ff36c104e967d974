// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench broadcast`, `scatter` and `gather`: the root task's endpoints share the work (EP-10 to EP-12,
//! EP-14, EP-15).
//!
//! One task a node, or `tasks`; the root task, on node 0, has P endpoints, each with a context, an injection FIFO, a
//! remote-get FIFO and a thread of its own, the others have one. The same collective runs with P = 1, for the
//! speedup. The time runs from the first post, which all make after a barrier, to the last done callback. Beside a
//! broadcast stand the other algorithms that are valid there, with P endpoints in every task.
//!
//! With helpers, so many endpoints of the root live on a neighbour, and the same collective runs with as many
//! endpoints at home instead. `busy` keeps the links in the + directions of the root's node under long puts of
//! another client.

mod run;

use gyre_collectives::{Algorithm, Collective};
use serde_json::{Map, Value, json};

use super::link_load::FLIT_BYTES;
use super::measure::{Measured, TASKS, Total, refuse_if};
use crate::settings::SAME_NODE;
use gyre::error::RunError;
use gyre::machine_file::MachineSpec;
use gyre::settings::{Setting, Settings, Table};

use run::{Case, Endpoints, Ran};

/// Contexts that a node's resources are enough for, with a second process of the client and another client there.
const MOST_ENDPOINTS: u8 = 6;
/// The same with several processes of the client and no other there.
const MOST_OF_NODE: usize = 8;

const ENDPOINTS: Setting<u8> = Setting::number(
    "endpoints",
    "",
    6,
    (1, 8),
    "endpoints of the root task on its node",
);
const HELPERS: Setting<u8> = Setting::number(
    "helpers",
    "",
    0,
    (0, MOST_ENDPOINTS),
    "endpoints of the root task on a neighbour of its node, besides",
);
const BUSY: Setting<bool> = Setting::flag(
    "busy",
    false,
    "another client keeps the links of the root's node in + directions under long puts",
);
const BYTES: Setting<usize> = Setting::number(
    "bytes",
    "bytes",
    64 << 10,
    (0, 1 << 20),
    "length of the message, or of each task's block",
);
/// Their settings.
pub(super) const SETTINGS: &Table = &[&ENDPOINTS, &HELPERS, &BUSY, &BYTES, &TASKS, &SAME_NODE];

pub(super) fn broadcast(spec: &MachineSpec, settings: &Settings) -> Result<Measured, RunError> {
    run(spec, settings, Collective::Broadcast)
}

pub(super) fn scatter(spec: &MachineSpec, settings: &Settings) -> Result<Measured, RunError> {
    run(spec, settings, Collective::Scatter)
}

pub(super) fn gather(spec: &MachineSpec, settings: &Settings) -> Result<Measured, RunError> {
    run(spec, settings, Collective::Gather)
}

fn run(
    spec: &MachineSpec,
    settings: &Settings,
    collective: Collective,
) -> Result<Measured, RunError> {
    let endpoints = settings.get(&ENDPOINTS);
    let helpers = settings.get(&HELPERS);
    let busy = settings.get(&BUSY);
    let bytes = settings.get(&BYTES);
    refuse_if(
        (helpers > 0 || busy) && endpoints + helpers > MOST_ENDPOINTS,
        format!(
            "endpoints {endpoints} and helpers {helpers}: expected at most {MOST_ENDPOINTS} together with \
             helpers or busy links"
        ),
    )?;
    let (tasks, same_node) = (settings.get(&TASKS), settings.get(&SAME_NODE));
    refuse_if(
        tasks > 1 && (helpers > 0 || busy || tasks * usize::from(endpoints) > MOST_OF_NODE),
        format!(
            "tasks {tasks} and endpoints {endpoints}: expected a product of at most {MOST_OF_NODE}, and neither \
             helpers nor busy links"
        ),
    )?;
    let mut total = Total::new();
    let algorithm = Algorithm::EndpointParallel;
    let root = |endpoints, helpers| Case {
        collective,
        algorithm,
        endpoints: Endpoints::Root(endpoints),
        helpers,
        busy,
        bytes,
        tasks,
        same_node,
    };
    let all = Case {
        endpoints: Endpoints::All(endpoints),
        ..root(endpoints, 0)
    };
    let others = match collective {
        Collective::Broadcast if helpers == 0 && !busy => run::others(spec, all)?,
        _ => Vec::new(),
    };
    let alone = endpoints == 1 && helpers == 0;
    total.expect(1 + usize::from(!alone) + usize::from(helpers > 0) + others.len());
    let mut measure = |case| -> Result<Ran, RunError> {
        let ran = run::measure(spec, case)?;
        total.add(ran.machine_cycles, ran.hash);
        Ok(ran)
    };
    let several = measure(root(endpoints, helpers))?;
    let one = match alone {
        true => several,
        false => measure(root(1, 0))?,
    };
    let mut metrics = Map::new();
    metrics.insert("algorithm".into(), json!(algorithm.name()));
    metrics.insert("cycles".into(), json!(several.cycles));
    metrics.insert("bound".into(), json!(several.bound));
    metrics.insert("bound_cycles".into(), json!(several.bound / FLIT_BYTES));
    metrics.insert("cycles_one_endpoint".into(), json!(one.cycles));
    metrics.insert("speedup".into(), ratio(one, several));
    if helpers > 0 {
        let home = measure(root(endpoints + helpers, 0))?;
        metrics.insert("cycles_without_helpers".into(), json!(home.cycles));
        metrics.insert("bound_without_helpers".into(), json!(home.bound));
        metrics.insert("helper_speedup".into(), ratio(home, several));
    }
    metrics.insert("redundant_transmissions".into(), json!(several.redundant));
    if !others.is_empty() {
        let mut rows = Vec::new();
        for algorithm in others {
            let other = measure(Case { algorithm, ..all })?;
            let mut row = Map::new();
            row.insert("algorithm".into(), json!(algorithm.name()));
            row.insert("cycles".into(), json!(other.cycles));
            rows.push(Value::Object(row));
        }
        metrics.insert("others".into(), json!(rows));
    }
    let mut params = Map::new();
    params.insert("endpoints".into(), json!(endpoints));
    params.insert("helpers".into(), json!(helpers));
    params.insert("busy".into(), json!(busy));
    params.insert("bytes".into(), json!(bytes));
    params.insert("tasks".into(), json!(tasks));
    params.insert("same_node".into(), json!(same_node.name()));
    Ok(total.measured(spec, params, metrics))
}

/// How many times as fast the second is.
fn ratio(slow: Ran, fast: Ran) -> Value {
    json!(slow.cycles as f64 / fast.cycles.max(1) as f64)
}
