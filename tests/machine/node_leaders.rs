// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives on the hardware's tree where nodes have many endpoints: one leader of each node enters it, the others work
//! with it in the memory that they share (HW-5, HW-7, AF-5).

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre::job::Job;
use gyre::placement::Placement;
use gyre::platform::{NodeBuffer, SimPlatform};
use gyre::team::{Seat, Team};
use gyre_collectives::{
    Algorithm, Collective, DataType, Done, Error, Initiator, ReduceOp, Request,
};
use gyre_driver::{BufferRange, ClientConfig, CostTable, Platform as _, TaskId};
use gyre_sim::MachineConfig;
use gyre_testkit::contents;

type Range = BufferRange<NodeBuffer>;

const SHAPE: [u16; 3] = [3, 1, 1];
const TREE: Option<Algorithm> = Some(Algorithm::Tree);
const SUM: (DataType, ReduceOp) = (DataType::U64, ReduceOp::Sum);
/// Sizes in bytes: nothing, one element, around one slot of a node's memory, and several.
const SIZES: [usize; 6] = [0, 8, 8184, 8192, 8200, 40_008];

/// Tasks as placed, with class route and barrier route.
fn team(placement: &Placement, contexts: fn(TaskId) -> u8) -> Team {
    let config = MachineConfig {
        dims: SHAPE.to_vec(),
        ..MachineConfig::default()
    };
    let job = Job::new(&config, &CostTable::default(), placement, None).expect("a machine");
    let open = |client| ClientConfig {
        contexts: 2,
        ..client
    };
    let mut team = Team::open(job, contexts, open).expect("all contexts open");
    let routes = team.take_routes().expect("the program ends");
    assert!(routes.class && routes.barrier, "{routes:?}");
    team
}

/// Element `i` of a task's data in round `round`.
fn value(task: usize, round: usize, i: usize) -> u64 {
    (task as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ((round << 32 | i) as u64)
}

fn words(bytes: usize, of: impl Fn(usize) -> u64) -> Vec<u8> {
    (0..bytes / 8).flat_map(|i| of(i).to_le_bytes()).collect()
}

/// Runs a collective on the tree and checks what the member's task has then. The endpoints of a task share its buffers,
/// those on other nodes have buffers of their own, which are not checked.
fn run(
    seat: &Seat,
    collective: Collective,
    (root, round, bytes): (usize, usize, usize),
    buffers: &[(Range, Range)],
) -> Result<(), Error> {
    let (me, tasks) = (seat.member.position(), buffers.len());
    let given = |task: usize| words(bytes, |i| value(task, round, i));
    let sum = || {
        let of = |i| (0..tasks).fold(0_u64, |sum, task| sum.wrapping_add(value(task, round, i)));
        words(bytes, of)
    };
    let at_home = is_at_home(seat);
    let part = |range: &Range| -> Result<Range, Error> {
        let part = match at_home {
            true => range.part(0, bytes).map_err(gyre_driver::Error::from),
            false => {
                let own = BufferRange::zeroed(seat.context.platform(), bytes);
                own.map_err(gyre_driver::Error::from)
            }
        };
        Ok(part?)
    };
    let (send, receive) = (part(&buffers[me].0)?, part(&buffers[me].1)?);
    let blank = vec![0xee; bytes];
    let (before, after, request) = match collective {
        Collective::Broadcast => (
            if me == root { given(root) } else { blank },
            given(root),
            Request::broadcast(root, receive.clone()),
        ),
        Collective::Reduce => (
            blank.clone(),
            if me == root { sum() } else { blank },
            Request::reduce(root, SUM, Some(send.clone()), receive.clone()),
        ),
        _ => (
            blank,
            sum(),
            Request::allreduce(SUM, Some(send.clone()), receive.clone()),
        ),
    };
    // No endpoint writes buffers while another of the task checks them, or reads them before they are written.
    seat.carry_out(TREE, Request::barrier())?;
    send.write(0, &given(me)).expect("inside");
    receive.write(0, &before).expect("inside");
    seat.carry_out(TREE, Request::barrier())?;
    seat.carry_out(TREE, request)?;
    if at_home {
        let right = contents(&receive) == after;
        assert!(right, "{collective:?} of {bytes} B, root {root}, at {me}");
    }
    Ok(())
}

fn is_at_home(seat: &Seat) -> bool {
    let endpoint = seat.context.query().endpoint;
    let tasks = seat.context.tasks();
    tasks.place(endpoint.task(), endpoint.context_offset()) == tasks.location(endpoint.task())
}

/// Send and receive buffer of every task.
fn buffers(team: &Team, tasks: usize) -> Arc<Vec<(Range, Range)>> {
    let most = SIZES[SIZES.len() - 1];
    let of = |task: usize| {
        let platform = team.seats()[task][0].context.platform();
        let zeroed = || BufferRange::zeroed(platform, most).expect("there is memory");
        (zeroed(), zeroed())
    };
    Arc::new((0..tasks).map(of).collect())
}

/// Runs every collective of every size with several roots; returns the messages that each endpoint has sent meanwhile.
fn sweep(mut team: Team, tasks: usize) -> Vec<u64> {
    let buffers = buffers(&team, tasks);
    let run = move |seat: &Seat| {
        let sent = || seat.member.collectives().stats().messages;
        let before = sent();
        let kinds = [
            Collective::Broadcast,
            Collective::Reduce,
            Collective::Allreduce,
        ];
        let mut round = 0;
        for collective in kinds {
            for bytes in SIZES {
                // A leader of its node, another task of it, the last.
                for root in [round % 3, 3 + round % (tasks - 3), tasks - 1] {
                    let root = if collective == Collective::Allreduce {
                        0
                    } else {
                        root
                    };
                    round += 1;
                    self::run(seat, collective, (root, round, bytes), &buffers)?;
                }
            }
        }
        let sent = sent() - before;
        seat.context.advance_until(|| seat.context.is_at_rest())?;
        Ok::<_, Error>(sent)
    };
    team.run("collectives", run).expect("the program ends").0
}

#[test]
fn hw5_hw7_af5_one_leader_a_node_enters_the_collective_network() {
    // Task t lives on node t % 3, so that a node has more than an endpoint has children in the affinity tree.
    let placement = Placement::new(19, &SHAPE, Some("tcba")).expect("there is room");
    let contexts = |task: TaskId| 1 + u8::from(task.0 == 1 || task.0 == 5);
    let sent = sweep(team(&placement, contexts), 19);
    assert_eq!(sent, vec![0; 21]);
}

#[test]
fn hw5_hw7_ep15_away_endpoints_get_results_from_the_leader() {
    // Of task 1, on node 1, one endpoint lives on node 0; of task 0 one on node 2, which has task 2 alone.
    let placement = Placement::new(7, &SHAPE, Some("tcba")).expect("there is room");
    let placement = placement.with_away(1, 1..2, 0).expect("there is room");
    let placement = placement.with_away(0, 1..2, 2).expect("there is room");
    let contexts = |task: TaskId| 1 + u8::from(task.0 < 2);
    let sent = sweep(team(&placement, contexts), 7);
    // Tasks come first, then parts of tasks: the two that are away and the agents of their tasks' nodes.
    for (number, sent) in sent.into_iter().enumerate() {
        assert_eq!(sent > 0, [0, 1, 7, 8].contains(&number), "{number}: {sent}");
    }
}

#[test]
fn hw5_hw7_af5_a_barrier_holds_all_endpoints_of_a_node() {
    let placement = Placement::new(7, &SHAPE, Some("tcba")).expect("there is room");
    let placement = placement.with_away(1, 1..2, 0).expect("there is room");
    let mut team = team(&placement, |task| 1 + u8::from(task.0 < 4));
    let run = move |seat: &Seat| {
        let endpoints = seat.member.geometry().endpoints().len();
        let platform = seat.context.platform();
        let mut times = Vec::new();
        for round in 0..endpoints {
            // Each endpoint is last once.
            let late = (seat.member.rank() as usize + round) % endpoints;
            let instructions = if late == 0 { 20_000 } else { late as u64 * 500 };
            platform.cpu().charge_instructions(instructions);
            let entered = platform.now_ps();
            let left = seat.carry_out(TREE, Request::barrier())?;
            times.push((entered, left));
        }
        seat.context.advance_until(|| seat.context.is_at_rest())?;
        Ok::<_, Error>(times)
    };
    let (times, _) = team.run("barriers", run).expect("the program ends");
    for round in 0..times.len() {
        let last = times.iter().map(|t| t[round].0).max();
        let first = times.iter().map(|t| t[round].1).min();
        assert!(last < first, "round {round}");
    }
}

#[test]
fn hw7_ep4_the_last_reader_wakes_waiters_for_node_memory() {
    /// Far less than after which members tell each other what they wait for.
    const MOST_PS: u64 = 300_000_000;
    let placement = Placement::new(6, &SHAPE, Some("tcba")).expect("there is room");
    let mut team = team(&placement, |_| 1);
    let run = move |seat: &Seat| {
        let me = seat.member.position();
        let platform = seat.context.platform();
        let range = BufferRange::copied(platform, &words(64, |i| value(me, 0, i)))?;
        let begun = platform.now_ps();
        for algorithm in [Algorithm::SharedMemory, Algorithm::Tree] {
            for barrier in [true, false] {
                let ended = Arc::new(AtomicCell::new(0_usize));
                let post = |request| {
                    let count = Arc::clone(&ended);
                    let done: Done<SimPlatform> = Box::new(move |_, result| {
                        result.expect("all members agree");
                        count.fetch_add(1);
                    });
                    seat.member
                        .post_as(Initiator::All, Some(algorithm), request, Some(done))
                };
                post(match barrier {
                    true => Request::barrier(),
                    false => Request::allreduce(SUM, None, range.clone()),
                })?;
                // The second task of node 0 has signalled its arrival, and reads late what the first publishes.
                if me == 3 {
                    seat.context.advance(4)?;
                    platform.cpu().charge_instructions(20_000);
                    seat.context.advance_until(|| ended.load() == 1)?;
                }
                // The first publishes again.
                post(Request::broadcast(0, range.clone()))?;
                seat.context.advance_until(|| ended.load() == 2)?;
            }
        }
        let took = platform.now_ps() - begun;
        seat.context.advance_until(|| seat.context.is_at_rest())?;
        Ok::<_, Error>(took)
    };
    let (took, _) = team.run("waits for room", run).expect("the program ends");
    assert!(took.iter().all(|&took| took < MOST_PS), "{took:?}");
}
