//! Collectives on the machine: tasks on its nodes, several endpoints in some of them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gyre::job::Job;
use gyre::placement::Placement;
use gyre::platform::{NodeBuffer, SimPlatform};
use gyre::team::{Seat, Team};
use gyre_collectives::{
    Algorithm, Blocks, Collective, DataType, Done, Error, Follow, Query, ReduceOp, Request, Way,
};
use gyre_driver::{BufferRange, ClientConfig, CostTable, TaskId};
use gyre_sim::MachineConfig;

type Range = BufferRange<NodeBuffer>;

const TASKS: usize = 7;
/// Sums of doubles: of whole numbers, so that the order does not matter.
const SUM: (DataType, ReduceOp) = (DataType::F64, ReduceOp::Sum);

/// Endpoints of a task: three in task 1, two in task 4, one in the others.
fn contexts(task: TaskId) -> u8 {
    match task.0 {
        1 => 3,
        4 => 2,
        _ => 1,
    }
}

fn team() -> Team {
    let config = MachineConfig {
        dims: vec![3, 2, 1],
        ..MachineConfig::default()
    };
    // Task 6 lives beside task 0.
    let placement = Placement::new(TASKS, &config.dims, Some("tcba")).expect("seven tasks");
    let job = Job::new(&config, &CostTable::default(), &placement, None).expect("a machine");
    let open = |client| ClientConfig {
        contexts: 3,
        ..client
    };
    Team::open(job, contexts, open).expect("all contexts open")
}

/// Doubles in little-endian bytes: element `i` of task `task` in round `round`.
fn doubles(task: usize, round: usize, count: usize) -> Vec<u8> {
    let value = |i| ((task * 1009 + round * 31 + i * 7) % 4093) as f64;
    (0..count)
        .flat_map(|i| f64::to_le_bytes(value(i)))
        .collect()
}

fn contents(range: &Range) -> Vec<u8> {
    let mut bytes = vec![0; range.len()];
    range.read(0, &mut bytes).expect("inside");
    bytes
}

/// A flag, and a done callback that sets it.
fn flag() -> (Rc<Cell<bool>>, Option<Done<SimPlatform>>) {
    let ended = Rc::new(Cell::new(false));
    let flag = Rc::clone(&ended);
    let done: Done<SimPlatform> = Box::new(move |_, result| {
        result.expect("all members agree");
        flag.set(true);
    });
    (ended, Some(done))
}

/// Posts and advances until it has ended.
fn carry_out(
    seat: &Seat,
    algorithm: Option<Algorithm>,
    request: Request<NodeBuffer>,
) -> Result<(), Error> {
    let (ended, done) = flag();
    seat.member.post_as(Way::All, algorithm, request, done)?;
    seat.context.advance_until(|| ended.get())?;
    Ok(())
}

/// Algorithms of a collective that are valid on the seat's geometry.
fn algorithms(seat: &Seat, collective: Collective, root: usize, bytes: usize) -> Vec<Algorithm> {
    let geometry = seat.member.geometry();
    let query = Query {
        geometry,
        collective,
        root,
        bytes: Some(bytes),
        data: SUM.0,
        op: SUM.1,
    };
    let list = geometry.algorithms().list(collective).iter();
    list.filter(|e| e.is_valid(&query))
        .map(|e| e.algorithm)
        .collect()
}

/// What position `me` has after a collective of `count` doubles a block; `None` where it gets nothing.
fn expected(
    collective: Collective,
    (me, root): (usize, usize),
    round: usize,
    count: usize,
) -> Option<Vec<u8>> {
    let block = |task: usize, p: usize| {
        let all = doubles(task, round, count * TASKS);
        all[p * count * 8..(p + 1) * count * 8].to_vec()
    };
    let sum = |tasks: core::ops::Range<usize>, p: usize| {
        let mut sum = block(tasks.start, p);
        for task in tasks.start + 1..tasks.end {
            SUM.1.combine(SUM.0, &block(task, p), &mut sum, false);
        }
        sum
    };
    let all = |of: &dyn Fn(usize) -> Vec<u8>| (0..TASKS).flat_map(of).collect();
    match collective {
        Collective::Barrier => None,
        Collective::Broadcast => Some(block(root, 0)),
        Collective::Scatter => Some(block(root, me)),
        Collective::Gather => (me == root).then(|| all(&|task| block(task, 0))),
        Collective::Allgather => Some(all(&|task| block(task, 0))),
        Collective::Reduce => (me == root).then(|| sum(0..TASKS, 0)),
        Collective::Allreduce => Some(sum(0..TASKS, 0)),
        Collective::Alltoall => Some(all(&|task| block(task, me))),
        Collective::Scan => Some(sum(0..me + 1, 0)),
        Collective::ReduceScatter => Some(sum(0..TASKS, me)),
    }
}

/// The request of position `me`, whose send buffer has `TASKS` blocks of `bytes` bytes.
fn request(
    collective: Collective,
    (me, root): (usize, usize),
    bytes: usize,
    send: &Range,
    receive: &Range,
) -> Request<NodeBuffer> {
    let first = |range: &Range| range.part(0, bytes).expect("inside");
    let (own, into, blocks) = (Some(first(send)), first(receive), Blocks::Equal(bytes));
    let (all, whole) = (send.clone(), receive.clone());
    match collective {
        Collective::Barrier => Request::barrier(),
        Collective::Broadcast if me == root => Request::broadcast(root, first(send)),
        Collective::Broadcast => Request::broadcast(root, into),
        Collective::Scatter => Request::scatter(root, all, blocks, Some(into)),
        Collective::Gather => Request::gather(root, own, whole, blocks),
        Collective::Allgather => Request::allgather(own, whole, blocks),
        Collective::Reduce => Request::reduce(root, SUM, own, into),
        Collective::Allreduce => Request::allreduce(SUM, own, into),
        Collective::Alltoall => Request::alltoall(Some(all), blocks.clone(), whole, blocks),
        Collective::Scan => Request::scan(SUM, own, into),
        Collective::ReduceScatter => Request::reduce_scatter(SUM, Some(all), into, blocks),
    }
}

/// Send and receive buffer of every task, `TASKS` blocks of `bytes` bytes each.
fn buffers(team: &Team, bytes: usize) -> Rc<Vec<(Range, Range)>> {
    let of = |task: &Vec<Seat>| {
        let platform = task[0].context.platform();
        let zeroed = || BufferRange::zeroed(platform, bytes * TASKS).expect("there is memory");
        (zeroed(), zeroed())
    };
    Rc::new(team.seats().iter().map(of).collect())
}

/// Checks the receive buffer of a position; the root of a broadcast has its data in the send buffer.
fn check(
    collective: Collective,
    (me, root): (usize, usize),
    round: usize,
    count: usize,
    receive: &Range,
    what: &str,
) {
    if collective == Collective::Broadcast && me == root {
        return;
    }
    if let Some(expected) = expected(collective, (me, root), round, count) {
        let got = contents(receive);
        assert_eq!(
            got[..expected.len()],
            expected,
            "{collective:?} {what} at {me}"
        );
    }
}

#[test]
fn ep7_ep8_ep10_ep11_ep12_ep13_every_collective_by_every_algorithm_on_the_machine() {
    let mut team = team();
    // Short and announced ones.
    for (number, count) in [3, 260].into_iter().enumerate() {
        let buffers = buffers(&team, count * 8);
        let run = move |seat: &Seat| {
            let me = seat.member.position();
            let (send, receive) = &buffers[me];
            let mut round = number * 100;
            for collective in Collective::ALL {
                // Among the roots are those with several endpoints.
                let root = match collective {
                    Collective::Broadcast => 1,
                    Collective::Scatter => 4,
                    Collective::Gather => 1,
                    Collective::Reduce => 5,
                    _ => 0,
                };
                for algorithm in algorithms(seat, collective, root, count * 8) {
                    round += 1;
                    let data = doubles(me, round, count * TASKS);
                    carry_out(seat, None, Request::barrier())?;
                    send.write(0, &data).expect("it fits");
                    let request = request(collective, (me, root), count * 8, send, receive);
                    carry_out(seat, Some(algorithm), request)?;
                    let what = format!("by {algorithm:?} of {count} doubles");
                    check(collective, (me, root), round, count, receive, &what);
                }
            }
            seat.context.advance_until(|| seat.context.is_at_rest())?;
            Ok::<(), Error>(())
        };
        team.run("collectives", run).expect("the program ends");
    }
}

#[test]
fn ep9_only_the_root_or_only_the_others_post_on_the_machine() {
    const COUNT: usize = 90;
    let mut team = team();
    let buffers = buffers(&team, COUNT * 8);
    let run = move |seat: &Seat| {
        let me = seat.member.position();
        let (send, receive) = buffers[me].clone();
        let ended = Rc::new(RefCell::new(0));
        let (count, all) = (Rc::clone(&ended), Rc::clone(&buffers));
        seat.member.on_call(Box::new(move |_, call| {
            let (send, receive) = &all[me];
            let request = request(call.collective, (me, call.root), COUNT * 8, send, receive);
            let count = Rc::clone(&count);
            let done: Done<SimPlatform> = Box::new(move |_, result| {
                result.expect("all members agree");
                *count.borrow_mut() += 1;
            });
            let done = Some(done);
            Some(Follow { request, done })
        }));
        let mut followed = 0;
        for (round, way) in [(1, Way::Root), (2, Way::Others)] {
            for (collective, root) in [
                (Collective::Broadcast, 1),
                (Collective::Scatter, 4),
                (Collective::Gather, 1),
                (Collective::Allreduce, 0),
            ] {
                send.write(0, &doubles(me, round, COUNT * TASKS))
                    .expect("it fits");
                carry_out(seat, None, Request::barrier())?;
                if (me == root) == (way == Way::Root) {
                    let (over, done) = flag();
                    let request = request(collective, (me, root), COUNT * 8, &send, &receive);
                    seat.member.post_as(way, None, request, done)?;
                    seat.context.advance_until(|| over.get())?;
                } else {
                    followed += 1;
                    seat.context.advance_until(|| *ended.borrow() == followed)?;
                }
                let what = format!("by {way:?}");
                check(collective, (me, root), round, COUNT, &receive, &what);
                carry_out(seat, None, Request::barrier())?;
            }
        }
        seat.context.advance_until(|| seat.context.is_at_rest())?;
        Ok::<(), Error>(())
    };
    team.run("follows", run).expect("the program ends");
}
