// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench affinity`: what collectives of software threads gain by knowing where these run (AF-6).
//!
//! Every hardware thread of every node carries a software thread; of several nodes, a leader each enters the
//! network. Each placement of software threads on hardware threads is measured twice, with trees of the same
//! arity: along the affinity domains, and by the threads' numbers. All threads begin at once, after all have come
//! together once; the time runs until the last one is done, `repeat` times over.
//!
//! A transfer is a cache line of the node's shared memory that a hardware thread waits for because another one has
//! written it: counted by the simulated memory, not by the collectives. Those across cores include those
//! across modules.

use gyre_affinity::{Domains, Place, Processor, Tree, Unit};
use gyre_collectives::{DataType, Error, ReduceOp, ThreadMember, ThreadRoot};
use gyre_driver::Platform as _;
use rand::SeedableRng as _;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom as _;
use serde_json::{Map, Value, json};

use super::measure::{Measured, Total};
use gyre::error::RunError;
use gyre::job::Job;
use gyre::machine_file::MachineSpec;
use gyre::placement::Placement;
use gyre::platform::{SimPlatform, Transfers};
use gyre::settings::{Default as Unless, Setting, Settings, Table, Values};
use gyre::thread_team::{ThreadLayout, ThreadTeam};

/// Measured collectives.
#[derive(Clone, Copy)]
enum Kind {
    Reduce,
    Barrier,
    Broadcast,
    Allreduce,
}

impl Kind {
    const ALL: [Self; 4] = [
        Self::Reduce,
        Self::Barrier,
        Self::Broadcast,
        Self::Allreduce,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Reduce => "reduce",
            Self::Barrier => "barrier",
            Self::Broadcast => "broadcast",
            Self::Allreduce => "allreduce",
        }
    }
}

/// How software threads come to lie on hardware threads.
#[derive(Clone, Copy)]
enum Order {
    /// By their numbers.
    ByNumber,
    /// One for each module in turn, there one for each core in turn.
    RoundRobin,
    /// At random, by the seed; every node otherwise.
    Shuffled,
}

impl Order {
    const ALL: [Self; 3] = [Self::ByNumber, Self::RoundRobin, Self::Shuffled];

    fn name(self) -> &'static str {
        match self {
            Self::ByNumber => "in_order",
            Self::RoundRobin => "round_robin",
            Self::Shuffled => "shuffled",
        }
    }

    /// Hardware thread of every software thread of a node.
    fn hardware(self, processor: &Processor, random: &mut ChaCha8Rng) -> Vec<usize> {
        let mut threads: Vec<usize> = (0..processor.hardware_threads()).collect();
        match self {
            Self::ByNumber => {}
            Self::RoundRobin => threads.sort_by_key(|&number| {
                let place = processor.place(number);
                place.map(|p| (p.thread, p.core, p.module))
            }),
            Self::Shuffled => threads.shuffle(random),
        }
        threads
    }
}

const ARITY: Setting<usize> = Setting::number(
    "arity",
    "",
    4,
    (1, 64),
    "most children of a thread in the tree of one domain, and in the blind tree",
);
const BYTES: Setting<usize> = Setting {
    key: "bytes",
    about: "each thread's vector of doubles",
    unit: "bytes",
    default: Unless::Value(8),
    values: Values::Such(
        |bytes| bytes.is_multiple_of(8) && bytes <= 64 << 10,
        "a multiple of 8 from 0 to 65536",
    ),
};
const REPEAT: Setting<u32> = Setting::number(
    "repeat",
    "",
    1,
    (1, 1000),
    "times that each collective runs, one after the other; figures are of all together",
);
/// Its settings.
pub(super) const SETTINGS: &Table = &[&ARITY, &BYTES, &REPEAT];

/// Values of the settings.
#[derive(Clone, Copy)]
struct Parameters {
    arity: usize,
    bytes: usize,
    repeat: u32,
}

pub(super) fn run(spec: &MachineSpec, settings: &Settings) -> Result<Measured, RunError> {
    let parameters = Parameters {
        arity: settings.get(&ARITY),
        bytes: settings.get(&BYTES),
        repeat: settings.get(&REPEAT),
    };
    let mut total = Total::new();
    total.expect(2 * Order::ALL.len());
    let mut rows = Vec::new();
    for order in Order::ALL {
        let aware = measure(spec, parameters, order, true, &mut total)?;
        let blind = measure(spec, parameters, order, false, &mut total)?;
        for (kind, (aware, blind)) in Kind::ALL.into_iter().zip(aware.into_iter().zip(blind)) {
            rows.push(row(order, kind, &aware, &blind));
        }
    }
    let mut metrics = Map::new();
    metrics.insert("collectives".into(), Value::Array(rows));
    Ok(total.measured(spec, describe(spec, parameters), metrics))
}

fn describe(spec: &MachineSpec, parameters: Parameters) -> Map<String, Value> {
    let processor = &spec.processor;
    gyre::outcome::object(json!({
        "modules": processor.modules,
        "cores": processor.cores,
        "threads": processor.threads,
        "core_cycles": processor.core_cycles,
        "module_cycles": processor.module_cycles,
        "processor_cycles": processor.processor_cycles,
        "arity": parameters.arity,
        "bytes": parameters.bytes,
        "repeat": parameters.repeat,
    }))
}

/// Cost of a collective.
struct Ran {
    cross_core: u64,
    cross_module: u64,
    cycles: u64,
}

fn row(order: Order, kind: Kind, aware: &Ran, blind: &Ran) -> Value {
    json!({
        "placement": order.name(),
        "collective": kind.name(),
        "cross_core": aware.cross_core,
        "cross_core_blind": blind.cross_core,
        "cross_module": aware.cross_module,
        "cross_module_blind": blind.cross_module,
        "cycles": aware.cycles,
        "cycles_blind": blind.cycles,
        "speedup": blind.cycles as f64 / aware.cycles.max(1) as f64,
    })
}

/// Measures every collective on a machine of its own.
fn measure(
    spec: &MachineSpec,
    parameters: Parameters,
    order: Order,
    aware: bool,
    total: &mut Total,
) -> Result<Vec<Ran>, RunError> {
    let processor = &spec.processor;
    let mut random = ChaCha8Rng::seed_from_u64(spec.seed);
    let hardware = (0..spec.nodes()).map(|_| order.hardware(processor, &mut random));
    let arity = parameters.arity;
    let layout = ThreadLayout::new(
        processor,
        hardware.collect(),
        |places: &[Place]| match aware {
            true => Domains::new(places, arity).map(|domains| domains.tree().clone()),
            false => Tree::by_number(places.len(), arity),
        },
    );
    let layout = layout.map_err(|error| RunError::Check(error.to_string()))?;
    let processes = usize::from(processor.modules) * usize::from(processor.cores);
    let placement = Placement::filled(processes, &spec.config.dims)?;
    let job = Job::of(spec, &placement)?;
    let mut team = ThreadTeam::open(job, layout)?;
    let mut ran = Vec::new();
    let mut last = None;
    for kind in Kind::ALL {
        let before = team.transfers();
        let threads = processor.hardware_threads();
        let body = move |node: usize, member: &mut ThreadMember<SimPlatform>| {
            carry_out(kind, parameters, (node, threads), member)
        };
        let (times, report) = team.run(kind.name(), body)?;
        if let Some(thread) = times.iter().position(|t| !t.2) {
            return Err(RunError::Check(format!(
                "thread {thread} has a wrong result after {}",
                kind.name()
            )));
        }
        let first = times.iter().map(|t| t.0).min().unwrap_or(0);
        let end = times.iter().map(|t| t.1).max().unwrap_or(0);
        let since = difference(&team.transfers(), &before);
        let across = |unit: Unit| -> u64 {
            let crosses = |&((a, b), _): &((usize, usize), u64)| {
                let places = processor.place(a).zip(processor.place(b));
                places.is_some_and(|(a, b)| a.common(b) > unit)
            };
            since.iter().filter(|&t| crosses(t)).map(|(_, n)| n).sum()
        };
        ran.push(Ran {
            cross_core: across(Unit::Core),
            cross_module: across(Unit::Module),
            cycles: (end - first) / spec.config.cycle_ps,
        });
        last = Some(report);
    }
    if let Some(report) = last {
        total.add(report.cycles, report.hash);
    }
    Ok(ran)
}

/// The transfers of all nodes since `before`.
fn difference(now: &[Transfers], before: &[Transfers]) -> Vec<((usize, usize), u64)> {
    let since = |(now, before): (&Transfers, &Transfers)| -> Vec<((usize, usize), u64)> {
        let grown = |(&pair, &count): (&(usize, usize), &u64)| {
            (pair, count - before.get(&pair).copied().unwrap_or(0))
        };
        now.iter().map(grown).collect()
    };
    now.iter().zip(before).flat_map(since).collect()
}

/// Carries a collective out as one thread: when it began and ended, picoseconds, and whether the result is right.
fn carry_out(
    kind: Kind,
    parameters: Parameters,
    (node, threads): (usize, usize),
    member: &mut ThreadMember<SimPlatform>,
) -> Result<(u64, u64, bool), Error> {
    let nodes = member.nodes();
    let me = node * threads + member.thread();
    // Whole numbers: the sum is exact in any order.
    let value = |thread: usize, i: usize| ((thread * 13 + i) % 1001) as f64;
    let doubles = |of: &dyn Fn(usize) -> f64| -> Vec<u8> {
        (0..parameters.bytes / 8)
            .flat_map(|i| of(i).to_le_bytes())
            .collect()
    };
    let sum = || doubles(&|i| (0..nodes * threads).map(|t| value(t, i)).sum());
    let own = doubles(&|i| value(me, i));
    let root = ThreadRoot { node: 0, thread: 0 };
    let expected = match kind {
        Kind::Barrier => own.clone(),
        Kind::Broadcast => doubles(&|i| value(0, i)),
        Kind::Reduce if me != 0 => own.clone(),
        Kind::Reduce | Kind::Allreduce => sum(),
    };
    let from = member.platform().now_ps();
    let mut right = true;
    for _ in 0..parameters.repeat {
        let mut data = own.clone();
        let type_and_op = (DataType::F64, ReduceOp::Sum);
        match kind {
            Kind::Barrier => member.barrier()?,
            Kind::Broadcast => member.broadcast(root, &mut data)?,
            Kind::Reduce => member.reduce(root, type_and_op, &mut data)?,
            Kind::Allreduce => member.allreduce(type_and_op, &mut data)?,
        }
        right &= data == expected;
    }
    Ok((from, member.platform().now_ps(), right))
}
