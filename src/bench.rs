// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gyre bench`: measurements of the machine.

mod ack;
mod affinity;
mod allreduce;
mod alltoall;
mod bandwidth;
mod barrier;
mod class_latency;
mod dispatch;
mod endpoint_parallel;
mod fence;
mod hop_latency;
mod link_bandwidth;
mod link_load;
mod match_memory;
mod measure;
mod message_rate;
mod metered;
mod named_algorithm;
mod packets;
mod pattern;
mod pingpong;
mod raw_dma;
mod router_traffic;
mod sim_speed;
mod timed_collective;
mod traffic;

use clap::Args;

use gyre::error::RunError;
use gyre::machine_file::{self, MachineSpec};
use gyre::options::{MachineOptions, UsageError};
use gyre::outcome::Outcome;
use gyre::settings::{self, Settings, Table};
use gyre::timeline::{self, Timeline, Told};
use gyre::waves::{self, CommandLine};

use self::measure::Measured;

/// Arguments of `gyre bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Which bench; see --list
    name: Option<String>,
    /// Names every bench
    #[arg(long, exclusive = true)]
    pub list: bool,
    /// The machine that `--trace` shows, by number, in a bench that makes several [default: 1]
    #[arg(
        long,
        value_name = "NUMBER",
        requires = "trace",
        conflicts_with = "trace_on_failure",
        value_parser = number
    )]
    trace_machine: Option<usize>,
    #[command(flatten)]
    machine: MachineOptions,
    /// Prints one JSON object instead of tables
    #[arg(long)]
    pub json: bool,
}

/// A number that counts from 1, refused in words that say so.
fn number(text: &str) -> Result<usize, &'static str> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or("expected a whole number, 1 or more")
}

/// A bench by name.
struct Bench {
    name: &'static str,
    about: &'static str,
    /// Default shape.
    shape: &'static [u16],
    /// Whether it runs for a minute or more by default, so that a full model pays.
    long: bool,
    /// Its settings beside those of the machine.
    settings: &'static Table,
    run: fn(&MachineSpec, &Settings) -> Result<Measured, RunError>,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "ack",
        about: "acknowledgement packets a message and completion latency, 16 senders to one",
        shape: &[17, 1, 1],
        long: true,
        settings: ack::SETTINGS,
        run: ack::run,
    },
    Bench {
        name: "affinity",
        about: "collectives of a node's 64 threads along affinity domains, against a tree that knows none",
        shape: &[1, 1, 1],
        long: false,
        settings: affinity::SETTINGS,
        run: affinity::run,
    },
    Bench {
        name: "allreduce",
        about: "sums of doubles over all tasks by size: the collective network's tree and software",
        shape: &[4, 4, 4],
        long: true,
        settings: allreduce::SETTINGS,
        run: allreduce::run,
    },
    Bench {
        name: "alltoall",
        about: "a block of every task for every other by algorithm, against the links' bound",
        shape: &[4, 4, 4],
        long: false,
        settings: alltoall::SETTINGS,
        run: alltoall::run,
    },
    Bench {
        name: "bandwidth",
        about: "payload share of a link under long messages: rendezvous, rput and rget",
        shape: &[4, 1, 1],
        long: true,
        settings: bandwidth::SETTINGS,
        run: bandwidth::run,
    },
    Bench {
        name: "barrier",
        about: "a barrier over all tasks on the collective network's tree, against its bound, and by software",
        shape: &[4, 4, 4],
        long: false,
        settings: barrier::SETTINGS,
        run: barrier::run,
    },
    Bench {
        name: "broadcast",
        about: "broadcast by several endpoints of the root in parallel, against one",
        shape: &[4, 4, 4],
        long: false,
        settings: endpoint_parallel::SETTINGS,
        run: endpoint_parallel::broadcast,
    },
    Bench {
        name: "class-latency",
        about: "latency of short messages of each class through a network that long requests fill",
        shape: &[4, 4, 4],
        long: false,
        settings: class_latency::SETTINGS,
        run: class_latency::run,
    },
    Bench {
        name: "fence",
        about: "control messages, memory and cycles of a fence",
        shape: &[2, 1, 1],
        long: false,
        settings: &[],
        run: fence::run,
    },
    Bench {
        name: "gather",
        about: "gather by several endpoints of the root in parallel, against one",
        shape: &[4, 4, 4],
        long: false,
        settings: endpoint_parallel::SETTINGS,
        run: endpoint_parallel::gather,
    },
    Bench {
        name: "hop-latency",
        about: "cycles a packet spends in a router, link latency subtracted",
        shape: &[8, 1, 1],
        long: false,
        settings: &[],
        run: hop_latency::run,
    },
    Bench {
        name: "link-bandwidth",
        about: "payload share of a link under long direct puts, one way and both ways; or of all links of a node at once",
        shape: &[4, 1, 1],
        long: false,
        settings: link_bandwidth::SETTINGS,
        run: link_bandwidth::run,
    },
    Bench {
        name: "match-memory",
        about: "payload bytes held at the target for messages whose receives are posted late",
        shape: &[4, 1, 1],
        long: false,
        settings: match_memory::SETTINGS,
        run: match_memory::run,
    },
    Bench {
        name: "message-rate",
        about: "short messages a cycle from one node to its neighbours, by the number of contexts",
        shape: &[3, 3, 3],
        long: false,
        settings: message_rate::SETTINGS,
        run: message_rate::run,
    },
    Bench {
        name: "pingpong",
        about: "half round trip of a message between neighbours, its hardware and software part",
        shape: &[4, 4, 4],
        long: false,
        settings: pingpong::SETTINGS,
        run: pingpong::run,
    },
    Bench {
        name: "scatter",
        about: "scatter by several endpoints of the root in parallel, against one",
        shape: &[4, 4, 4],
        long: false,
        settings: endpoint_parallel::SETTINGS,
        run: endpoint_parallel::scatter,
    },
    Bench {
        name: "sim-speed",
        about: "speed of the simulator with full nodes under traffic through the DMA engine",
        shape: &[4, 4, 4],
        long: true,
        settings: sim_speed::SETTINGS,
        run: sim_speed::run,
    },
    Bench {
        name: "traffic",
        about: "offered and accepted load and latency under a traffic pattern",
        shape: &[8, 8],
        long: false,
        settings: traffic::SETTINGS,
        run: traffic::run,
    },
];

/// The benches, a line each.
pub fn list() -> String {
    BENCHES
        .iter()
        .map(|bench| format!("{:<16} {}\n", bench.name, bench.about))
        .collect()
}

/// Settings, for `--help`.
pub fn settings_help() -> String {
    let benches = BENCHES.iter().map(|bench| (bench.name, bench.settings));
    settings::help(
        [("every bench", machine_file::SETTINGS)]
            .into_iter()
            .chain(benches),
    )
}

/// A bench with its machine.
struct Prepared {
    bench: &'static Bench,
    settings: Settings,
    spec: MachineSpec,
}

impl Prepared {
    /// The bench `name` with these options.
    fn new(name: &str, options: &MachineOptions) -> Result<Self, UsageError> {
        let Some(bench) = BENCHES.iter().find(|bench| bench.name == name) else {
            let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
            return Err(UsageError::Value {
                option: "bench".into(),
                value: name.into(),
                expected: format!("one of {}", names.join(", ")),
            });
        };
        let settings = Settings::parse(&options.set, &[machine_file::SETTINGS, bench.settings])?;
        let spec = MachineSpec::new(options, &settings, Some(bench.shape.to_vec()))?;
        Ok(Self {
            bench,
            settings,
            spec: spec.simulating_much(bench.long),
        })
    }

    fn measure(&self, spec: &MachineSpec) -> Result<Measured, RunError> {
        (self.bench.run)(spec, &self.settings)
    }

    /// The outcome of a measurement, with text for people.
    fn outcome(&self, mut measured: Measured, pictures: Vec<String>) -> Outcome {
        let mut params = self.spec.params();
        params.append(&mut measured.params);
        Outcome {
            bench: self.bench.name.into(),
            shape: self.spec.shape(),
            params,
            metrics: measured.metrics,
            sim: measured.sim,
            hash: format!("{:016x}", measured.hash),
            pictures,
            passed: true,
        }
    }
}

/// Whether there is a bench of this name.
pub(crate) fn exists(name: &str) -> bool {
    BENCHES.iter().any(|bench| bench.name == name)
}

/// Refuses options that make no measurement by the bench `name`.
///
/// # Errors
/// Wrong options.
pub(crate) fn check(name: &str, options: &MachineOptions) -> Result<(), UsageError> {
    Prepared::new(name, options).map(drop)
}

/// Measures by the bench `name`, without waveform or timeline.
///
/// # Errors
/// Wrong options, or a machine that stopped.
pub(crate) fn measure(name: &str, options: &MachineOptions) -> Result<Outcome, RunError> {
    let prepared = Prepared::new(name, options)?;
    let measured = prepared.measure(&prepared.spec)?;
    Ok(prepared.outcome(measured, Vec::new()))
}

/// Runs a bench as the command line `command` asks.
///
/// # Errors
/// An unknown name, wrong options, or a machine that stopped.
pub fn run(args: &BenchArgs, command: &CommandLine) -> Result<Outcome, RunError> {
    let options = &args.machine;
    let mut prepared = Prepared::new(args.name.as_deref().unwrap_or_default(), options)?;
    // Scopes below a node are known when the machine is made: of nodes, or of routers alone.
    waves::check(options, &prepared.spec)?;
    let timeline = Timeline::create(options, &mut prepared.spec.config)?;
    let spec = &prepared.spec;
    let observed = waves::observed(
        spec,
        options,
        args.trace_machine,
        command,
        |_| None,
        |spec| prepared.measure(spec),
    );
    let told = Told {
        title: &format!("bench {}", prepared.bench.name),
        spec,
        command,
        numbers_machines: true,
    };
    let (measured, wave) = match observed {
        Ok(observed) => observed,
        Err(error) => {
            timeline.failed(told, || timeline::failure(&error, spec.config.cycle_ps));
            return Err(error);
        }
    };
    let timeline = timeline.ended(told, &measured.metrics, None)?;
    Ok(prepared.outcome(measured, wave.into_iter().chain(timeline).collect()))
}
