// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a GOAL program on the machine: every rank is a task, every message goes through the driver, the
//! DMA engine and the torus (HW-1, CT-1, CT-8).
//!
//! A rank has one thread for each processor number of the program, which computes and posts, and a
//! communication thread, which advances the context. Without the latter the first thread advances when
//! it has nothing else to do. Generating and checking payload takes no simulated time.

mod change;
mod failure;
mod rank;

use std::fmt;
use std::sync::Arc;

use gyre_driver::{AckConfig, ClientConfig, Ordered, Resources, SameNode};
use gyre_goal::Program;
use gyre_goal::exec::{BlockedReport, RankState};
use gyre_sim::{Machine, RunReport, SimError, Until};
use indicatif::ProgressBar;
use thiserror::Error;

pub use change::{Change, Withheld};
pub use failure::failure;
use gyre::error::{JobError, status_of};
use gyre::job::Job;
use gyre::machine_file::MachineSpec;
use gyre::placement::Placement;
use rank::Rank;
pub use rank::{MAX_MESSAGE_BYTES, RankCounts};

/// A run: machine, placement and use of the driver.
#[derive(Debug, Clone)]
pub struct GoalRun {
    /// The machine, and the costs of the driver's operations.
    pub spec: MachineSpec,
    /// Nodes of the ranks.
    pub placement: Placement,
    /// Bytes of each reception FIFO.
    pub reception_fifo: usize,
    /// Bytes of each injection FIFO.
    pub injection_fifo: usize,
    /// Longest message, in bytes, that does not wait for its receive.
    pub eager_limit: usize,
    /// How messages go between ranks of one node.
    pub same_node: SameNode,
    /// How messages between nodes stay in order.
    pub ordered: Ordered,
    /// Whether a communication thread advances each rank's context.
    pub comm_thread: bool,
    /// Turns without a new message after which messages are acknowledged.
    pub ack_threshold: u32,
    /// The change made to the program; none in a run of the program itself.
    pub change: Change,
}

/// Error of a program that did not run to its end.
#[derive(Debug, Error)]
pub enum GoalError {
    /// The machine stopped.
    #[error("{source}{blocked}")]
    Machine {
        /// Why.
        source: SimError,
        /// Operations that wait.
        blocked: Blocked,
    },
    /// The ranks cannot be placed.
    #[error(transparent)]
    Placement(#[from] gyre_driver::Error),
    /// The machine stopped, and a waveform shows it.
    #[error("{}\n{shown}", .source.to_string().trim_end())]
    Shown {
        /// Why.
        source: Box<GoalError>,
        /// The waveform, and how to repeat it, in lines.
        shown: String,
    },
}

/// Operations that ranks wait for when the machine stands still: a line each, with the line number of the trace.
#[derive(Debug, Default)]
pub struct Blocked(pub Vec<BlockedReport>);

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|report| write!(f, "\n{report}"))
    }
}

impl GoalError {
    /// Exit status of a command that ended with it.
    pub fn status(&self) -> u8 {
        match self {
            Self::Machine { source, .. } => status_of(source),
            Self::Placement(_) => 2,
            Self::Shown { source, .. } => source.status(),
        }
    }
}

impl From<JobError> for GoalError {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Machine(source) => source.into(),
            JobError::Placement(error) => Self::Placement(error),
        }
    }
}

impl From<SimError> for GoalError {
    fn from(source: SimError) -> Self {
        Self::Machine {
            source,
            blocked: Blocked::default(),
        }
    }
}

/// Way of one message, for waveforms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageSpan {
    /// Rank that sent it.
    pub source: u32,
    /// Rank that received it.
    pub destination: u32,
    /// Cycle in which it was posted.
    pub from: u64,
    /// Cycle in which it was handed to the receiver.
    pub to: u64,
}

/// A finished run.
pub struct GoalReport {
    /// Cycles from the start of the program, after bring-up, to its end.
    pub makespan_cycles: u64,
    /// The same in picoseconds.
    pub makespan_ps: u64,
    /// Counts of each rank.
    pub ranks: Vec<RankCounts>,
    /// Flits sent by each port of each node during the program.
    pub link_flits: Vec<Vec<u64>>,
    /// The message posted first.
    pub first_message: Option<MessageSpan>,
    /// The machine's own report.
    pub sim: RunReport,
}

/// A machine with a program loaded and its contexts open, ready to run.
pub struct Loaded {
    job: Job,
    ranks: Vec<Arc<Rank>>,
    start_ps: u64,
    start_flits: Vec<Vec<u64>>,
}

impl GoalRun {
    /// Makes the machine of `spec`, which is [`GoalRun::spec`] in one of its attempts, brings it up, opens a context in every
    /// rank and starts the ranks' threads.
    ///
    /// # Errors
    /// [`GoalError::Machine`], [`GoalError::Placement`].
    pub fn load(
        &self,
        spec: &MachineSpec,
        program: Program,
        bar: &ProgressBar,
    ) -> Result<Loaded, GoalError> {
        let mut job = Job::on(spec.machine()?, &spec.costs, &self.placement)?;
        let programs: Vec<_> = program.into_ranks().into_iter().map(Arc::new).collect();
        let (reception_ring, injection_ring) = (self.reception_fifo, self.injection_fifo);
        let (eager_limit, same_node, ordered) = (self.eager_limit, self.same_node, self.ordered);
        let threshold = self.ack_threshold;
        let bar = bar.clone();
        let change = self.change;
        let (ranks, _) = job.each("set-up", Until::Done, move |process| {
            let client = process.client("goal");
            let config = ClientConfig {
                resources: Resources {
                    injection_ring,
                    reception_ring,
                    // Ranks have no memory regions.
                    slots_per_process: 0,
                    ..client.resources
                },
                eager_limit,
                same_node,
                ordered,
                ack: AckConfig {
                    threshold,
                    ..AckConfig::default()
                },
                ..client
            };
            let program = &programs[process.task.0 as usize];
            let state = RankState::new(Arc::clone(program));
            Rank::open(process.platform, config, state, (bar.clone(), change)).map(Arc::new)
        })?;
        for rank in &ranks {
            let process = rank.number() as usize;
            let node = self.placement.node[process];
            let task = rank.number();
            for (number, (name, thread)) in (0..).zip(Rank::threads(rank, self.comm_thread)) {
                let hardware = job.hardware_thread(process, number);
                job.machine().spawn(node, &name, move |cpu| {
                    cpu.run_on(hardware);
                    cpu.belong_to(task);
                    thread()
                });
            }
        }
        // A timeline is of the program alone.
        job.machine().restart_recording();
        Ok(Loaded {
            start_ps: job.machine().cycles() * spec.config.cycle_ps,
            start_flits: flits(job.machine()),
            job,
            ranks,
        })
    }
}

impl Loaded {
    /// The machine, to trace it or to run it a part of the way.
    pub fn machine(&mut self) -> &mut Machine {
        self.job.machine()
    }

    /// Runs the program to its end.
    ///
    /// # Errors
    /// [`GoalError::Machine`], with the operations that were blocked.
    pub fn run(mut self) -> Result<GoalReport, GoalError> {
        let sim = self.job.machine().run(Until::Quiet).map_err(|source| {
            let blocked = self.ranks.iter().map(|rank| rank.blocked());
            GoalError::Machine {
                source,
                blocked: Blocked(blocked.filter(|report| !report.ops.is_empty()).collect()),
            }
        })?;
        let cycle_ps = self.job.machine().config().cycle_ps;
        let end_ps = self.ranks.iter().map(|rank| rank.end_ps()).max();
        // Ranks without operations end when they start.
        let makespan_ps = end_ps.unwrap_or(0).saturating_sub(self.start_ps);
        let mut link_flits = flits(self.job.machine());
        for (now, start) in link_flits.iter_mut().zip(&self.start_flits) {
            for (now, start) in now.iter_mut().zip(start) {
                *now -= start;
            }
        }
        Ok(GoalReport {
            makespan_cycles: makespan_ps.div_ceil(cycle_ps),
            makespan_ps,
            ranks: self.ranks.iter().map(|rank| rank.counts()).collect(),
            link_flits,
            first_message: first_message(&self.ranks, cycle_ps),
            sim,
        })
    }
}

/// Flits sent by each port of each node.
pub fn flits(machine: &Machine) -> Vec<Vec<u64>> {
    (0..machine.topology().nodes())
        .map(|node| machine.link_flits(node))
        .collect()
}

/// The message that was posted first, from its post to its arrival.
fn first_message(ranks: &[Arc<Rank>], cycle_ps: u64) -> Option<MessageSpan> {
    let (from_ps, key) = ranks.iter().filter_map(|rank| rank.first_sent()).min()?;
    let receiver = ranks.get(key.destination as usize)?;
    let to_ps = receiver.arrival_ps(&key)?;
    Some(MessageSpan {
        source: key.source,
        destination: key.destination,
        from: from_ps / cycle_ps,
        to: to_ps.div_ceil(cycle_ps),
    })
}
