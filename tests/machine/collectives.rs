// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives on the machine: tasks on its nodes, several endpoints in some of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre::job::Job;
use gyre::placement::Placement;
use gyre::platform::{NodeBuffer, SimPlatform};
use gyre::team::{Seat, Team};
use gyre_collectives::{
    Algorithm, Blocks, Collective, DataType, Done, Error, Follow, Initiator, Query, ReduceKind,
    ReduceOp, Request, UserOp,
};
use gyre_driver::{
    BufferRange, ClientConfig, Context, CostTable, Endpoint, Put, PutNotify, RemoteAddress, TaskId,
};
use gyre_sim::MachineConfig;
use gyre_testkit::contents;

type Range = BufferRange<NodeBuffer>;

/// A position, the root's, and how many there are.
#[derive(Clone, Copy)]
struct At {
    me: usize,
    root: usize,
    tasks: usize,
}

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

/// Seven tasks on six nodes: task 6 lives beside task 0.
fn team() -> Team {
    let shape = [3, 2, 1];
    let placement = Placement::new(7, &shape, Some("tcba")).expect("seven tasks");
    open(&shape, &placement, contexts)
}

fn open(shape: &[u16], placement: &Placement, contexts: fn(TaskId) -> u8) -> Team {
    let config = MachineConfig {
        dims: shape.to_vec(),
        ..MachineConfig::default()
    };
    let job = Job::new(&config, &CostTable::default(), placement, None).expect("a machine");
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

/// Algorithms of a collective that are valid on the seat's geometry.
fn algorithms(seat: &Seat, collective: Collective, root: usize, bytes: usize) -> Vec<Algorithm> {
    let geometry = seat.member.geometry();
    let query = Query {
        geometry,
        collective,
        root,
        bytes: Some(bytes),
        alignment: 1,
        reduction: ReduceKind::BuiltIn(SUM.0, SUM.1),
        routes: seat.member.routes(),
        sharing: seat.member.sharing(),
    };
    let list = geometry.algorithms().list(collective).iter();
    list.filter(|e| e.is_valid(&query))
        .map(|e| e.algorithm)
        .collect()
}

/// What position `me` has after a collective of `count` doubles a block; `None` where it gets nothing.
fn expected(
    collective: Collective,
    At { me, root, tasks }: At,
    round: usize,
    count: usize,
) -> Option<Vec<u8>> {
    let block = |task: usize, p: usize| {
        let all = doubles(task, round, count * tasks);
        all[p * count * 8..(p + 1) * count * 8].to_vec()
    };
    let sum = |tasks: core::ops::Range<usize>, p: usize| {
        let mut sum = block(tasks.start, p);
        for task in tasks.start + 1..tasks.end {
            SUM.1.combine(SUM.0, &block(task, p), &mut sum, false);
        }
        sum
    };
    let all = |of: &dyn Fn(usize) -> Vec<u8>| (0..tasks).flat_map(of).collect();
    match collective {
        Collective::Barrier => None,
        Collective::Broadcast => Some(block(root, 0)),
        Collective::Scatter => Some(block(root, me)),
        Collective::Gather => (me == root).then(|| all(&|task| block(task, 0))),
        Collective::Allgather => Some(all(&|task| block(task, 0))),
        Collective::Reduce => (me == root).then(|| sum(0..tasks, 0)),
        Collective::Allreduce => Some(sum(0..tasks, 0)),
        Collective::Alltoall => Some(all(&|task| block(task, me))),
        Collective::Scan => Some(sum(0..me + 1, 0)),
        Collective::ReduceScatter => Some(sum(0..tasks, me)),
    }
}

/// The request of a position whose send buffer has a block of `bytes` bytes for each.
fn request(
    collective: Collective,
    At { me, root, .. }: At,
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

/// Send and receive buffer of every task, as many blocks of `bytes` bytes as there are tasks.
fn buffers(team: &Team, bytes: usize) -> Arc<Vec<(Range, Range)>> {
    let of = |task: &Vec<Seat>| {
        let platform = task[0].context.platform();
        let whole = bytes * team.seats().len();
        let zeroed = || BufferRange::zeroed(platform, whole).expect("there is memory");
        (zeroed(), zeroed())
    };
    Arc::new(team.seats().iter().map(of).collect())
}

/// Checks the receive buffer of a position; the root of a broadcast has its data in the send buffer.
fn check(collective: Collective, at: At, round: usize, count: usize, receive: &Range, what: &str) {
    let me = at.me;
    if collective == Collective::Broadcast && me == at.root {
        return;
    }
    if let Some(expected) = expected(collective, at, round, count) {
        let got = contents(receive);
        assert!(
            got[..expected.len()] == expected,
            "{collective:?} {what} at {me}"
        );
    }
}

/// Runs every collective by every algorithm with blocks of `count` doubles; returns the algorithms of broadcasts.
fn sweep(seat: &Seat, count: usize, buffers: &[(Range, Range)]) -> Result<Vec<Algorithm>, Error> {
    let (me, tasks) = (seat.member.position(), buffers.len());
    let (send, receive) = &buffers[me];
    let mut round = count;
    let mut broadcasts = Vec::new();
    for collective in Collective::ALL {
        // Among the roots are those with several endpoints.
        let root = match collective {
            Collective::Broadcast | Collective::Gather => 1,
            Collective::Scatter => tasks / 2 + 1,
            Collective::Reduce => tasks - 2,
            _ => 0,
        };
        let at = At { me, root, tasks };
        let algorithms = algorithms(seat, collective, root, count * 8);
        for &algorithm in &algorithms {
            round += 1;
            let data = doubles(me, round, count * tasks);
            seat.carry_out(None, Request::barrier())?;
            send.write(0, &data).expect("it fits");
            let request = request(collective, at, count * 8, send, receive);
            seat.carry_out(Some(algorithm), request)?;
            let what = format!("by {algorithm:?} of {count} doubles");
            check(collective, at, round, count, receive, &what);
        }
        if collective == Collective::Broadcast {
            broadcasts = algorithms;
        }
    }
    Ok(broadcasts)
}

/// Nothing is left to do.
fn rest(seat: &Seat) -> Result<(), Error> {
    Ok(seat.context.advance_until(|| seat.context.is_at_rest())?)
}

#[test]
fn ep7_ep8_ep10_ep11_ep12_ep13_every_collective_by_every_algorithm_on_the_machine() {
    let mut team = team();
    // Short and announced ones.
    for count in [3, 260] {
        let buffers = buffers(&team, count * 8);
        let run = move |seat: &Seat| {
            sweep(seat, count, &buffers)?;
            rest(seat)
        };
        team.run("collectives", run).expect("the program ends");
    }
}

/// Maps `x -> a x + b` of 32-bit numbers, one after the other: not commutative.
fn follow(accumulated: &mut [u8], operand: &[u8]) {
    let words = |map: &[u8]| {
        let (words, _) = map.as_chunks::<4>();
        [words[0], words[1]].map(u32::from_le_bytes)
    };
    for (accumulated, operand) in accumulated.chunks_mut(8).zip(operand.chunks(8)) {
        let ([a, b], [c, d]) = (words(accumulated), words(operand));
        let result = [a.wrapping_mul(c), b.wrapping_mul(c).wrapping_add(d)];
        accumulated.copy_from_slice(result.map(u32::to_le_bytes).as_flattened());
    }
}

#[test]
fn ep18_user_operations_keep_rank_order_off_the_network() {
    const COUNT: usize = 300;
    let mut team = team();
    let buffers = buffers(&team, COUNT * 8);
    let run = move |seat: &Seat| {
        seat.until_done(|done| seat.member.take_routes(Some(done)))?;
        assert!(seat.member.routes().class);
        let (me, tasks) = (seat.member.position(), buffers.len());
        let (send, receive) = &buffers[me];
        let part = |range: &Range| range.part(0, COUNT * 8).expect("inside");
        let own = |task| doubles(task, 7, COUNT);
        send.write(0, &own(me)).expect("it fits");
        let mut sum = own(0);
        (1..tasks).for_each(|task| follow(&mut sum, &own(task)));
        let op = UserOp::new(1, 8, false, follow).expect("a size");
        for (root, algorithm) in [(tasks - 1, None), (0, Some(Algorithm::Linear))] {
            let request = Request::reduce(root, &op, Some(part(send)), part(receive));
            seat.carry_out(algorithm, request)?;
            assert!(
                me != root || contents(&part(receive)) == sum,
                "reduce to {root}"
            );
        }
        for algorithm in [None, Some(Algorithm::ThereAndBack)] {
            let request = Request::allreduce(&op, Some(part(send)), part(receive));
            seat.carry_out(algorithm, request)?;
            assert!(contents(&part(receive)) == sum, "{algorithm:?} at {me}");
        }
        let request = Request::allreduce(&op, Some(part(send)), part(receive));
        let named = seat.carry_out(Some(Algorithm::Tree), request);
        assert!(matches!(named, Err(Error::Algorithm { .. })), "{named:?}");
        seat.until_done(|done| seat.member.release_routes(Some(done)))?;
        rest(seat)
    };
    team.run("collectives", run).expect("the program ends");
}

#[test]
fn hw7_ep8_ep13_every_collective_by_every_algorithm_where_tasks_share_nodes() {
    // Four tasks on one node, and four and three on two, some with several endpoints; the data needs three slots.
    for (shape, tasks) in [([1, 1, 1], 4), ([2, 1, 1], 7)] {
        let placement = Placement::new(tasks, &shape, None).expect("they have places");
        let mut team = open(&shape, &placement, |task| 1 + u8::from(task.0 % 4 == 1));
        let count = 2100;
        let buffers = buffers(&team, count * 8);
        let run = move |seat: &Seat| {
            let all = algorithms(seat, Collective::Allreduce, 0, count * 8);
            assert!(all.contains(&Algorithm::SharedMemory), "{all:?}");
            sweep(seat, count, &buffers)?;
            rest(seat)
        };
        team.run("collectives", run).expect("the program ends");
    }
}

#[test]
fn hw3_ep13_collectives_hold_by_every_algorithm_on_1_to_5_dims() {
    for (shape, contexts) in [
        (&[5][..], 1),
        (&[4, 3], 2),
        (&[3, 2, 2], 3),
        (&[2, 3, 1, 2], 1),
        (&[2, 2, 1, 2, 2], 2),
    ] {
        let placement = Placement::filled(1, shape).expect("a task a node");
        let mut team = open(
            shape,
            &placement,
            match contexts {
                1 => |_| 1,
                2 => |_| 2,
                _ => |_| 3,
            },
        );
        let count = 270;
        let buffers = buffers(&team, count * 8);
        let run = move |seat: &Seat| {
            let broadcasts = sweep(seat, count, &buffers)?;
            rest(seat)?;
            Ok::<_, Error>(broadcasts)
        };
        let (broadcasts, _) = team.run("collectives", run).expect("the program ends");
        let pipelined = broadcasts
            .iter()
            .all(|b| b.contains(&Algorithm::DimensionPipelined));
        assert!(pipelined, "{shape:?}");
    }
}

#[test]
fn ep9_only_the_root_or_only_the_others_post_on_the_machine() {
    const COUNT: usize = 90;
    let mut team = team();
    let buffers = buffers(&team, COUNT * 8);
    let run = move |seat: &Seat| {
        let (me, tasks) = (seat.member.position(), buffers.len());
        let (send, receive) = buffers[me].clone();
        let ended = Arc::new(AtomicCell::new(0_usize));
        let (count, all) = (Arc::clone(&ended), Arc::clone(&buffers));
        seat.member.on_call(Box::new(move |_, call| {
            let (send, receive) = &all[me];
            let root = call.root;
            let at = At { me, root, tasks };
            let request = request(call.collective, at, COUNT * 8, send, receive);
            let count = Arc::clone(&count);
            let done: Done<SimPlatform> = Box::new(move |_, result| {
                result.expect("all members agree");
                count.fetch_add(1);
            });
            let done = Some(done);
            Some(Follow { request, done })
        }));
        let mut followed = 0;
        for (round, initiator) in [(1, Initiator::Root), (2, Initiator::NonRoot)] {
            for (collective, root) in [
                (Collective::Broadcast, 1),
                (Collective::Scatter, 4),
                (Collective::Gather, 1),
                (Collective::Allreduce, 0),
            ] {
                let at = At { me, root, tasks };
                send.write(0, &doubles(me, round, COUNT * tasks))
                    .expect("it fits");
                seat.carry_out(None, Request::barrier())?;
                if (me == root) == (initiator == Initiator::Root) {
                    let request = request(collective, at, COUNT * 8, &send, &receive);
                    seat.until_done(|done| {
                        seat.member.post_as(initiator, None, request, Some(done))
                    })?;
                } else {
                    followed += 1;
                    seat.context.advance_until(|| ended.load() == followed)?;
                }
                let what = format!("by {initiator:?}");
                check(collective, at, round, COUNT, &receive, &what);
                seat.carry_out(None, Request::barrier())?;
            }
        }
        rest(seat)
    };
    team.run("follows", run).expect("the program ends");
}

/// A row of the numbers below `count` in which each comes after each, itself too.
fn each_after_each(count: usize) -> Vec<usize> {
    let mut row = Vec::new();
    for first in 0..count {
        row.push(first);
        row.extend((first + 1..count).flat_map(|second| [first, second]));
    }
    row.push(0);
    row
}

#[test]
fn hw5_ep13_collectives_hold_in_every_order_with_the_network() {
    let shape = [2, 2, 1];
    let placement = Placement::filled(1, &shape).expect("a task a node");
    after_every_other(open(&shape, &placement, |task| 1 + u8::from(task.0 == 1)));
}

#[test]
fn hw7_ep13_collectives_hold_in_every_order_on_shared_nodes() {
    let shape = [2, 1, 1];
    let placement = Placement::filled(2, &shape).expect("two tasks a node");
    after_every_other(open(&shape, &placement, |_| 1));
}

/// Runs every collective by every algorithm after every other, some under way at once, and checks what comes out.
fn after_every_other(mut team: Team) {
    const UNDER_WAY: usize = 3;
    const SHORT: usize = 3;
    const LONG: usize = 250;
    let routes = team.take_routes().expect("the program ends");
    assert!(routes.class && routes.barrier, "{routes:?}");
    let lists = |seat: &Seat| {
        let mut kinds = Vec::new();
        for collective in Collective::ALL {
            let of = |count| algorithms(seat, collective, 0, count * 8);
            let short = of(SHORT);
            let valid = of(LONG).into_iter().filter(|a| short.contains(a));
            kinds.extend(valid.map(|algorithm| (collective, algorithm)));
        }
        Ok::<_, Error>(kinds)
    };
    let (kinds, _) = team.run("lists", lists).expect("the program ends");
    let kinds = kinds[0].clone();
    for named in [Algorithm::Tree, Algorithm::SharedMemory] {
        let by = kinds.iter().filter(|(_, algorithm)| *algorithm == named);
        assert_eq!(by.count(), 4, "{kinds:?}");
    }
    let row: Arc<Vec<_>> = Arc::new(
        each_after_each(kinds.len())
            .into_iter()
            .map(|k| kinds[k])
            .collect(),
    );
    let pairs: BTreeSet<_> = row.windows(2).map(|pair| (pair[0], pair[1])).collect();
    assert_eq!(pairs.len(), kinds.len() * kinds.len());
    let tasks = team.seats().len();
    let count = |number: usize| if number % 9 == 4 { LONG } else { SHORT };
    let offset = |number| (0..number).map(count).sum::<usize>() * 8 * tasks;
    // Buffers of each collective follow those of the previous ones.
    let buffer = |task: usize| {
        let platform = team.seats()[task][0].context.platform();
        let data = (0..row.len()).flat_map(|number| doubles(task, number, count(number) * tasks));
        let send = BufferRange::copied(platform, &data.collect::<Vec<_>>());
        let receive = BufferRange::zeroed(platform, offset(row.len()));
        (
            send.expect("there is memory"),
            receive.expect("there is memory"),
        )
    };
    let buffers: Arc<Vec<(Range, Range)>> = Arc::new((0..tasks).map(buffer).collect());
    let (calls, ranges) = (Arc::clone(&row), Arc::clone(&buffers));
    let run = move |seat: &Seat| {
        let me = seat.member.position();
        let (send, receive) = &ranges[me];
        let ended = Arc::new(AtomicCell::new(0_usize));
        let mut start = 0;
        for (number, &(collective, algorithm)) in calls.iter().enumerate() {
            seat.context
                .advance_until(|| number < ended.load() + UNDER_WAY)?;
            let at = At {
                me,
                root: number % tasks,
                tasks,
            };
            let bytes = count(number) * 8;
            let part = |range: &Range| range.part(start, bytes * tasks).expect("inside");
            let request = request(collective, at, bytes, &part(send), &part(receive));
            start += bytes * tasks;
            let end = Arc::clone(&ended);
            let done: Done<SimPlatform> = Box::new(move |_, result| {
                result.expect("all members agree");
                end.fetch_add(1);
            });
            seat.member
                .post_as(Initiator::All, Some(algorithm), request, Some(done))?;
        }
        seat.context.advance_until(|| ended.load() == calls.len())?;
        rest(seat)
    };
    team.run("pairs", run).expect("the program ends");
    let mut start = 0;
    for (number, &(collective, algorithm)) in row.iter().enumerate() {
        let bytes = count(number) * 8 * tasks;
        for (me, (_, receive)) in buffers.iter().enumerate() {
            let at = At {
                me,
                root: number % tasks,
                tasks,
            };
            let got = receive.part(start, bytes).expect("inside");
            let before = &row[number.saturating_sub(1)];
            let what = format!("number {number} by {algorithm:?} after {before:?}");
            check(collective, at, number, count(number), &got, &what);
        }
        start += bytes;
    }
}

/// Puts to one endpoint in sequence, two in flight, until stopped.
struct Stream {
    to: Endpoint,
    data: Range,
    remote: RemoteAddress,
    over: AtomicCell<bool>,
}

impl Stream {
    fn go_on(self: Arc<Self>, context: &Context<SimPlatform>) -> Result<(), gyre_driver::Error> {
        if self.over.load() {
            return Ok(());
        }
        let next = Arc::clone(&self);
        context.put(Put {
            destination: self.to,
            data: self.data.clone(),
            remote: self.remote,
            notify: PutNotify::None,
            local_done: Some(Box::new(move |context, result| {
                result.expect("the put is sent");
                next.go_on(context).expect("so is the next");
            })),
            remote_done: None,
        })
    }
}

#[test]
fn hw5_ep13_collectives_hold_on_a_saturated_torus() {
    const STREAM: usize = 16 << 10;
    const PORTS: usize = 2;
    let shape = [4, 1, 1];
    let placement = Placement::filled(1, &shape).expect("a task a node");
    // Beside the first, an endpoint for each link of its node.
    let mut team = open(&shape, &placement, |_| 1 + PORTS as u8);
    let routes = team.take_routes().expect("the program ends");
    assert!(routes.class && routes.barrier, "{routes:?}");
    let count = 260;
    let buffers = buffers(&team, count * 8);
    let nodes = team.seats().len();
    let zeroed = |task: usize| {
        let platform = team.seats()[task][0].context.platform();
        BufferRange::zeroed(platform, STREAM).expect("there is memory")
    };
    let targets: Vec<Range> = (0..nodes).map(zeroed).collect();
    let topology = team.job().machine().topology().clone();
    let run = move |seat: &Seat| {
        let me = seat.member.position();
        let offset = usize::from(seat.context.query().endpoint.context_offset());
        let stream = offset.checked_sub(1).map(|port| {
            let (to, _) = topology.neighbour(me, port).expect("a ring");
            Arc::new(Stream {
                to: seat.context.endpoint(TaskId(to as u32), 0).expect("a task"),
                data: targets[me].clone(),
                remote: targets[to].remote_address().expect("memory of a node"),
                over: AtomicCell::new(false),
            })
        });
        for stream in stream.iter().flat_map(|stream| [stream, stream]) {
            Arc::clone(stream).go_on(&seat.context)?;
        }
        let ran = sweep(seat, count, &buffers)?;
        assert!(ran.contains(&Algorithm::Tree), "{ran:?}");
        seat.carry_out(None, Request::barrier())?;
        if let Some(stream) = stream {
            stream.over.store(true);
        }
        rest(seat)
    };
    let flits = |team: &mut Team| {
        let links = (0..nodes).flat_map(|node| (0..PORTS).map(move |port| (node, port)));
        let of = |(node, port): (usize, usize)| team.job().machine().link_flits(node)[port];
        let sent: Vec<u64> = links.map(of).collect();
        (sent, team.job().machine().cycles())
    };
    let (before, from) = flits(&mut team);
    team.run("beside streams", run).expect("the program ends");
    let (after, to) = flits(&mut team);
    let sent = before
        .iter()
        .zip(&after)
        .map(|(before, after)| (after - before) as f64);
    let shares: Vec<f64> = sent.map(|flits| flits / (to - from) as f64).collect();
    assert!(shares.iter().all(|share| *share > 0.8), "{shares:?}");
}
