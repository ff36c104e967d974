// SPDX-License-Identifier: MIT OR Apache-2.0
//! The trace of a program.

use std::collections::{BTreeMap, BTreeSet};

use gyre_goal::{Dependency, Op, OpKind, Program, RankBuilder, RankProgram};
use gyre_timeline::{Event, Lane, Note, OtherStep, ProgramStep, Recording, What};

use super::rank::{Kind, Rank};

/// Bits of a tag that are the program's own, with every library of MPI. The others are the library's, as for communicators.
const OWN_BITS: u32 = 20;

/// Tags of GOAL have 32 bits, and the one with all of them set is any tag.
const MOST_SPACES: usize = (1 << (32 - OWN_BITS)) - 1;

/// Operations of a driver that looks whether there is something to do. Others are its work.
const LOOKS: [&str; 9] = [
    "advance",
    "leave",
    "turn",
    "tick",
    "full_turn",
    "conclude",
    "wait",
    "poll",
    "acknowledge",
];

/// What the tasks of a program have done.
pub(super) struct Trace {
    ranks: Vec<Rank>,
    spaces: Spaces,
    /// When the first task may use MPI, and when the last ends its use, picoseconds.
    start_ps: u64,
    end_ps: u64,
}

/// Tasks of a recording, as their steps come.
#[derive(Default)]
struct Tasks {
    ranks: Vec<Rank>,
    /// The thread of each task that calls MPI, and the client of its endpoint.
    callers: BTreeMap<u32, (Lane, u8)>,
}

impl Trace {
    /// The trace of `tasks` tasks.
    ///
    /// # Errors
    /// What the program does and no trace can say, in words.
    pub(super) fn of(recording: &Recording, tasks: usize) -> Result<Self, String> {
        let mut all = Tasks::default();
        all.ranks.resize_with(tasks, Rank::default);
        let threads = threads(recording);
        for event in recording.events() {
            if let What::Note(note) = event.what {
                all.note(&event, note)?;
            } else if let Some((task, ps)) = worked(recording, &threads, &event)
                && let Some(rank) = all.ranks.get_mut(task as usize)
            {
                rank.work(ps);
            }
        }
        let times = all.ranks.iter().enumerate().map(|(task, rank)| {
            let times = rank.begun_ps.zip(rank.ended_ps);
            times.ok_or_else(|| {
                format!("no trace: task {task} does not call MPI_Init and MPI_Finalize")
            })
        });
        let times = times.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            spaces: Spaces::of(&all.ranks)?,
            ranks: all.ranks,
            start_ps: times.iter().map(|&(begun, _)| begun).min().unwrap_or(0),
            end_ps: times.iter().map(|&(_, ended)| ended).max().unwrap_or(0),
        })
    }

    /// From the first task that may use MPI to the last that ends its use, picoseconds.
    pub(super) fn makespan_ps(&self) -> u64 {
        self.end_ps.saturating_sub(self.start_ps)
    }

    /// Its program. `replay_ps` is the work of the driver for each task in a replay: what the library of MPI has worked beyond that
    /// counts as computation.
    ///
    /// # Errors
    /// A message that has lost its other end, in words.
    pub(super) fn program(&self, file: &str, replay_ps: &[u64]) -> Result<Program, String> {
        let numbered = (0..).zip(self.ranks.iter().zip(replay_ps));
        let ranks = numbered.map(|(number, (rank, &replay_ps))| {
            let late_ps = rank.begun_ps.unwrap_or(0).saturating_sub(self.start_ps);
            program(number, rank, (late_ps, replay_ps), &self.spaces)
        });
        let program = Program::new(ranks.collect::<Result<_, _>>()?);
        match gyre_goal::parse(file, program.to_string().as_bytes()) {
            Ok(program) => Ok(program),
            Err(error) => Err(format!(
                "no trace: sends and receives of the program do not belong together: {error}"
            )),
        }
    }
}

/// Work of the driver for each of `tasks` tasks, picoseconds.
pub(super) fn work(recording: &Recording, tasks: usize) -> Vec<u64> {
    let mut work_ps = vec![0; tasks];
    let threads = threads(recording);
    for event in recording.events() {
        if let Some((task, ps)) = worked(recording, &threads, &event)
            && let Some(work_ps) = work_ps.get_mut(task as usize)
        {
            *work_ps += ps;
        }
    }
    work_ps
}

/// Threads of tasks, by node and number.
fn threads(recording: &Recording) -> BTreeMap<(u32, u32), u32> {
    let threads = recording.threads.iter();
    threads
        .filter_map(|thread| Some(((thread.node, thread.number), thread.task?)))
        .collect()
}

/// Work of the driver in an event: whose, and picoseconds.
fn worked(
    recording: &Recording,
    threads: &BTreeMap<(u32, u32), u32>,
    event: &Event,
) -> Option<(u32, u64)> {
    let (Lane::Thread(number), What::Spent { operation, .. }) = (event.lane, event.what) else {
        return None;
    };
    let name = recording.operations.get(usize::from(operation))?;
    let task = *threads.get(&(event.node, number))?;
    (!LOOKS.contains(name)).then_some((task, event.end_ps - event.ps))
}

fn refused(task: u32, does: &str) -> String {
    format!("no trace: task {task} {does}, which a GOAL trace cannot say")
}

impl Tasks {
    fn note(&mut self, event: &Event, note: Note) -> Result<(), String> {
        let at = note.at();
        let Some(rank) = self.ranks.get_mut(at.task as usize) else {
            return Ok(());
        };
        match note {
            Note::Program {
                outside_ps, step, ..
            } => {
                let (caller, _) = *self
                    .callers
                    .entry(at.task)
                    .or_insert((event.lane, at.client));
                rank.step(event.ps, outside_ps, step);
                if !rank.is_active() {
                    return Ok(());
                }
                if caller != event.lane {
                    return Err(refused(at.task, "calls MPI from several threads"));
                }
                if at.offset > 0 {
                    return Err(refused(at.task, "has MPI use several endpoints"));
                }
                match step {
                    ProgramStep::Other(other) => Err(refused(at.task, uses(other))),
                    _ => Ok(()),
                }
            }
            Note::Collective { .. } => {
                Err(refused(at.task, "takes part in a collective of the driver"))
            }
            Note::Message { .. } => match self.callers.get(&at.task) {
                Some(&(_, client)) if client == at.client => Ok(()),
                Some(_) => Err(refused(at.task, "sends by PAMI, too")),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

const fn uses(other: OtherStep) -> &'static str {
    match other {
        OtherStep::OneSided => "reads or writes memory of another task (one-sided)",
        OtherStep::Untagged => "has MPI send active messages (one-sided, as accumulations)",
        OtherStep::SharedWindow => "shares a window with tasks of its node (one-sided)",
    }
}

/// Numbers of what tags have beside the program's own bits.
struct Spaces(BTreeMap<u64, u32>);

impl Spaces {
    fn of(ranks: &[Rank]) -> Result<Self, String> {
        let operations = ranks.iter().flat_map(|rank| &rank.operations);
        let tags = operations.filter_map(|operation| match operation.kind {
            Kind::Send { tag, .. } | Kind::Receive(Some((_, tag, _))) => Some(tag >> OWN_BITS),
            Kind::Receive(None) | Kind::Compute { .. } => None,
        });
        let spaces: BTreeSet<u64> = tags.collect();
        match spaces.len() > MOST_SPACES {
            true => Err(format!(
                "no trace: {} communicators and kinds of messages; tags of GOAL have room for {MOST_SPACES}",
                spaces.len()
            )),
            false => Ok(Self(spaces.into_iter().zip(0..).collect())),
        }
    }

    /// The tag of a trace.
    fn tag(&self, tag: u64) -> u32 {
        let own = tag as u32 & ((1 << OWN_BITS) - 1);
        let space = self.0.get(&(tag >> OWN_BITS));
        space.map_or(own, |space| (space << OWN_BITS) | own)
    }
}

/// The program of a rank that is ready `late_ps` after the first one, and whose replay works for `replay_ps`.
fn program(
    number: u32,
    rank: &Rank,
    (late_ps, replay_ps): (u64, u64),
    spaces: &Spaces,
) -> Result<RankProgram, String> {
    let works = rank
        .operations
        .iter()
        .map(|operation| match operation.kind {
            Kind::Compute { work_ps, .. } => work_ps,
            _ => 0,
        });
    let whole_ps: u64 = works.sum();
    let more_ps = whole_ps.saturating_sub(replay_ps);
    // The part of it that the replay does not do, at most all of it.
    let more = |work_ps: u64| {
        let part = u128::from(work_ps) * u128::from(more_ps) / u128::from(whole_ps.max(1));
        part as u64
    };
    let mut builder = RankBuilder::new(number);
    let compute = |ns: u64| OpKind::Calc { ns };
    let late = (late_ps > 0).then(|| builder.op(op(compute(late_ps / 1000))));
    let mut places = Vec::with_capacity(rank.operations.len());
    // Parts of a nanosecond count for the next computation.
    let mut rest_ps = 0;
    for operation in &rank.operations {
        let kind = match operation.kind {
            Kind::Send { to, tag, bytes } => OpKind::Send {
                bytes: bytes.into(),
                to,
                tag: spaces.tag(tag),
                nic: 0,
            },
            Kind::Receive(Some((from, tag, bytes))) => OpKind::Recv {
                bytes: bytes.into(),
                from: Some(from),
                tag: Some(spaces.tag(tag)),
                nic: 0,
            },
            // A cancelled receive takes no time.
            Kind::Receive(None) => compute(0),
            Kind::Compute { ps, work_ps } => {
                let all_ps = ps + more(work_ps) + rest_ps;
                rest_ps = all_ps % 1000;
                compute(all_ps / 1000)
            }
        };
        let id = builder.op(op(kind));
        let ended = operation.ended.iter().map(|&place| places[place]);
        ended.for_each(|on| builder.depend(id, Dependency::Requires, on));
        let begun = operation.begun.map(|place| places[place]);
        if let Some(on) = begun {
            builder.depend(id, Dependency::Irequires, on);
        }
        if let Some(late) = late.filter(|_| places.is_empty()) {
            builder.depend(id, Dependency::Requires, late);
        }
        places.push(id);
    }
    builder
        .build()
        .map_err(|cycle| format!("no trace: {cycle}"))
}

const fn op(kind: OpKind) -> Op {
    Op { kind, cpu: 0 }
}
