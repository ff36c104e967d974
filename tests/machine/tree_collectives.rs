// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives on the hardware's tree: geometries take class and barrier routes by agreement, use them, give
//! them back (HW-5, HW-9).

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre::job::Job;
use gyre::placement::Placement;
use gyre::platform::{NodeBuffer, SimPlatform};
use gyre::team::{Seat, Team};
use gyre_collectives::{
    Algorithm, Collective, DataType, Done, Error, Geometry, Initiator, Member, ReduceKind,
    ReduceOp, Request, RoutesTaken, tree_operation,
};
use gyre_driver::{
    BufferRange, ClientConfig, CollnetChoice, CostTable, Instruction, Platform as _, Receive,
    RoutePart, SendMessage, SendProtocol, TaskId,
};
use gyre_sim::MachineConfig;
use gyre_testkit::contents;

const ALL: RoutesTaken = RoutesTaken {
    class: true,
    barrier: true,
    window: true,
};

fn job(dims: &[u16], tasks: usize) -> Job {
    let config = MachineConfig {
        dims: dims.to_vec(),
        ..MachineConfig::default()
    };
    let placement = Placement::new(tasks, dims, Some("tcba")).expect("there is room");
    Job::new(&config, &CostTable::default(), &placement, None).expect("a machine")
}

fn team(dims: &[u16], tasks: usize, contexts: impl Fn(TaskId) -> u8 + 'static) -> Team {
    let open = |client| ClientConfig {
        contexts: 3,
        ..client
    };
    Team::open(job(dims, tasks), contexts, open).expect("all contexts open")
}

/// Carries a collective out on another geometry than the seat's.
fn on(
    seat: &Seat,
    member: &Member<SimPlatform>,
    algorithm: Option<Algorithm>,
    request: Request<NodeBuffer>,
) -> Result<(), Error> {
    seat.until_done(|done| member.post_as(Initiator::All, algorithm, request, Some(done)))?;
    Ok(())
}

/// Takes routes, and says what it got.
fn take(seat: &Seat, member: &Member<SimPlatform>) -> Result<RoutesTaken, Error> {
    seat.until_done(|done| member.take_routes(Some(done)))?;
    Ok(member.routes())
}

/// Gives routes back.
fn release(seat: &Seat, member: &Member<SimPlatform>) -> Result<(), Error> {
    seat.until_done(|done| member.release_routes(Some(done)))?;
    assert_eq!(member.routes(), RoutesTaken::default());
    Ok(())
}

/// What a task contributes: whole elements of `data`, told apart by task and round. Doubles are of many
/// magnitudes, so that their sum tells the order.
fn contribution(data: DataType, task: u32, round: usize, count: usize) -> Vec<u8> {
    let mut state = (u64::from(task) << 32 | round as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut element = || match data {
        DataType::F64 => {
            let value = (word() >> 11) as f64 / (1_u64 << (40 + word() % 24)) as f64 - 512.0;
            value.to_le_bytes().to_vec()
        }
        _ => word().to_le_bytes()[..data.bytes()].to_vec(),
    };
    (0..count).flat_map(|_| element()).collect()
}

/// What the tasks at `nodes` (by position) contribute, combined in the order of the tree: the tasks of a node by
/// position, then those below its first child, then those below its second.
fn combined(
    (data, op): (DataType, ReduceOp),
    nodes: &[usize],
    contribution: &dyn Fn(usize) -> Vec<u8>,
) -> Vec<u8> {
    fn below(
        kind: (DataType, ReduceOp),
        nodes: &[usize],
        contribution: &dyn Fn(usize) -> Vec<u8>,
        node: usize,
    ) -> Option<Vec<u8>> {
        if nodes.iter().all(|&other| other < node) {
            return None;
        }
        let here = (0..nodes.len()).filter(|&p| nodes[p] == node);
        let mut parts: Vec<Vec<u8>> = here.map(contribution).collect();
        for child in [2 * node + 1, 2 * node + 2] {
            parts.extend(below(kind, nodes, contribution, child));
        }
        parts.into_iter().reduce(|mut sum, part| {
            kind.1.combine(kind.0, &part, &mut sum, false);
            sum
        })
    }
    below((data, op), nodes, contribution, 0).expect("somebody contributes")
}

/// Operations and types of the hardware.
fn kinds() -> Vec<(DataType, ReduceOp)> {
    let all = DataType::ALL.map(|data| ReduceOp::ALL.map(|op| (data, op)));
    let mut kinds = all.concat();
    kinds.retain(|&(data, op)| tree_operation(ReduceKind::BuiltIn(data, op)).is_some());
    // Bits of integers, and sums, minima and maxima of everything.
    assert_eq!(kinds.len(), 4 * 6 + 3);
    kinds
}

/// A member of a geometry: what it needs for checked collectives.
struct Checked<'a> {
    seat: &'a Seat,
    member: &'a Member<SimPlatform>,
    /// Node of each position.
    nodes: Vec<usize>,
    /// The task's buffers, which its endpoints share.
    buffers: &'a [BufferRange<NodeBuffer>; 2],
}

impl Checked<'_> {
    /// Carries a collective out by the tree, or by what the list says, and checks the result.
    fn run(
        &self,
        collective: Collective,
        algorithm: Option<Algorithm>,
        (data, op): (DataType, ReduceOp),
        (root, round, count, in_place): (usize, usize, usize, bool),
    ) -> Result<(), Error> {
        let me = self.member.position();
        let tasks = self.member.geometry().tasks();
        let bytes = count * data.bytes();
        let part = |range: &BufferRange<NodeBuffer>| range.part(0, bytes).expect("inside");
        let (send, receive) = (part(&self.buffers[0]), part(&self.buffers[1]));
        let given = |position: usize| contribution(data, tasks[position].0, round, count);
        let in_place = in_place && (collective != Collective::Reduce || me == root);
        let all = combined((data, op), &self.nodes, &given);
        let (before, after, request) = match collective {
            Collective::Broadcast => (
                if me == root {
                    given(root)
                } else {
                    vec![0xee; bytes]
                },
                given(root),
                Request::broadcast(root, receive.clone()),
            ),
            Collective::Reduce => (
                if in_place {
                    given(me)
                } else {
                    vec![0xee; bytes]
                },
                if me == root { all } else { vec![0xee; bytes] },
                Request::reduce(
                    root,
                    (data, op),
                    (!in_place).then_some(send.clone()),
                    receive.clone(),
                ),
            ),
            _ => (
                if in_place {
                    given(me)
                } else {
                    vec![0xee; bytes]
                },
                all,
                Request::allreduce(
                    (data, op),
                    (!in_place).then_some(send.clone()),
                    receive.clone(),
                ),
            ),
        };
        // The endpoints of a task share its buffers: none writes them while another checks.
        on(self.seat, self.member, None, Request::barrier())?;
        send.write(0, &given(me)).expect("inside");
        receive.write(0, &before).expect("inside");
        on(self.seat, self.member, None, Request::barrier())?;
        on(self.seat, self.member, algorithm, request)?;
        let what = format!("{collective:?} {op:?} {data:?} {count} root {root} at {me}");
        let got = contents(&receive);
        let wrong = (0..bytes).find(|&at| got[at] != after[at]);
        assert_eq!(wrong, None, "{what}: first wrong byte");
        Ok(())
    }
}

/// Send and receive buffer of every task.
fn buffers(team: &Team, bytes: usize) -> Arc<Vec<[BufferRange<NodeBuffer>; 2]>> {
    let of = |task: &Vec<Seat>| {
        let platform = task[0].context.platform();
        [(); 2].map(|()| BufferRange::zeroed(platform, bytes).expect("there is memory"))
    };
    Arc::new(team.seats().iter().map(of).collect())
}

/// Node of every task.
fn nodes(team: &mut Team) -> Vec<usize> {
    let job = team.job();
    (0..job.tasks())
        .map(|task| job.node(TaskId(task)))
        .collect()
}

/// The world's endpoints that `keep` keeps, as a geometry of their own.
fn some(seat: &Seat, number: u16, keep: impl Fn(u32) -> bool) -> Geometry {
    let world = seat.member.geometry().endpoints().iter().copied();
    let kept = world.filter(|endpoint| keep(endpoint.task().0));
    Geometry::endpoint_list("some", number, kept).expect("valid")
}

#[test]
fn hw5_hw9_a_network_barrier_holds_all_members() {
    // Task 6 lives beside task 0; task 1 has three endpoints.
    let mut team = team(&[3, 2, 1], 7, |task| if task.0 == 1 { 3 } else { 1 });
    assert_eq!(team.take_routes().expect("agreed"), ALL);
    let run = move |seat: &Seat| {
        let endpoints = seat.member.geometry().endpoints().len();
        let platform = seat.context.platform();
        let mut times = Vec::new();
        for round in 0..20 {
            // Another endpoint is last each time.
            let late = (seat.member.rank() as usize * 7 + round * 5) % endpoints;
            platform.cpu().charge_instructions(late as u64 * 3000);
            let entered = platform.now_ps();
            seat.carry_out(Some(Algorithm::Tree), Request::barrier())?;
            times.push((entered, platform.now_ps()));
        }
        seat.context.advance_until(|| seat.context.is_at_rest())?;
        Ok::<_, Error>(times)
    };
    let (times, _) = team.run("barriers", run).expect("the program ends");
    assert_eq!(left_early(&times), None);
}

#[test]
fn hw5_hw9_a_barrier_after_many_broadcasts_holds_all_members() {
    // Task t posts its barrier of round t late, when its broadcasts before that have ended.
    const TASKS: usize = 4;
    const BROADCASTS: usize = 7;
    const BYTES: usize = 4096;
    let mut team = team(&[2, 2, 1], TASKS, |_| 1);
    assert_eq!(team.take_routes().expect("agreed"), ALL);
    let run = move |seat: &Seat| {
        let (me, platform) = (seat.member.position(), seat.context.platform());
        let mut times = Vec::new();
        for round in 0..TASKS {
            let (ended, given) = (Arc::new(AtomicCell::new(0_usize)), |number| {
                contribution(DataType::U8, number as u32, round, BYTES)
            });
            let mut ranges = Vec::new();
            for number in 0..BROADCASTS {
                let root = (round + number) % TASKS;
                let data = match me == root {
                    true => given(number),
                    false => vec![0; BYTES],
                };
                let range = BufferRange::copied(platform, &data)?;
                let count = Arc::clone(&ended);
                let done: Done<SimPlatform> = Box::new(move |_, result| {
                    result.expect("all members agree");
                    count.fetch_add(1);
                });
                let request = Request::broadcast(root, range.clone());
                let tree = Some(Algorithm::Tree);
                seat.member
                    .post_as(Initiator::All, tree, request, Some(done))?;
                ranges.push(range);
            }
            if me == round {
                seat.context.advance_until(|| ended.load() == BROADCASTS)?;
                platform.cpu().charge_instructions(30_000);
            }
            let entered = platform.now_ps();
            seat.carry_out(Some(Algorithm::Tree), Request::barrier())?;
            times.push((entered, platform.now_ps()));
            seat.context.advance_until(|| ended.load() == BROADCASTS)?;
            for (number, range) in ranges.iter().enumerate() {
                assert!(contents(range) == given(number), "{number} at {me}");
            }
        }
        seat.context.advance_until(|| seat.context.is_at_rest())?;
        Ok::<_, Error>(times)
    };
    let (times, _) = team.run("broadcasts", run).expect("the program ends");
    assert_eq!(left_early(&times), None);
}

/// The first round in which a member left the barrier before the last one entered; `times`: of every
/// endpoint, by round, when it has entered and left.
fn left_early(times: &[Vec<(u64, u64)>]) -> Option<usize> {
    let rounds = times.iter().map(Vec::len).min().unwrap_or(0);
    (0..rounds).find(|&round| {
        let last = times.iter().map(|t| t[round].0).max();
        let first = times.iter().map(|t| t[round].1).min();
        last >= first
    })
}

#[test]
fn hw5_a_planted_barrier_without_a_subtree_is_caught() {
    // Nodes 0 to 5: 1 and 2 below 0; 3 and 4 below 1; 5 below 2.
    let barriers = |forgotten: Option<u32>| {
        let mut team = team(&[3, 2, 1], 6, |_| 1);
        let run = move |seat: &Seat| {
            let nodes: Vec<u32> = (0..6).collect();
            let node = seat.context.task().0;
            let mut part = RoutePart::of(&nodes, node).expect("a member");
            if let Some(forgotten) = forgotten {
                part.parent &= node != forgotten;
                for (child, there) in part.children.iter_mut().enumerate() {
                    *there &= 2 * node + 1 + child as u32 != forgotten;
                }
            }
            let choice = CollnetChoice {
                barrier: Some(5),
                ..CollnetChoice::default()
            };
            let routes = seat.context.take_collnet_routes(&choice, &part)?;
            let routes = routes.expect("the route is free");
            seat.carry_out(Some(Algorithm::Dissemination), Request::barrier())?;
            let platform = seat.context.platform();
            let mut times = Vec::new();
            for round in 0..6 {
                let late = u64::from((node + round).is_multiple_of(6)) * 9000;
                platform.cpu().charge_instructions(late);
                let entered = platform.now_ps();
                let over = Arc::new(AtomicCell::new(false));
                let end = Arc::clone(&over);
                seat.context.post(Instruction::CollnetBarrier {
                    routes: Arc::clone(&routes),
                    done: Some(Box::new(move |_, result| end.store(result.is_ok()))),
                })?;
                seat.context.advance_until(|| over.load())?;
                times.push((entered, platform.now_ps()));
            }
            seat.context.advance_until(|| seat.context.is_at_rest())?;
            Ok::<_, Error>(times)
        };
        team.run("barriers", run).expect("the program ends").0
    };
    assert_eq!(left_early(&barriers(None)), None);
    for forgotten in [1, 3, 5] {
        assert!(left_early(&barriers(Some(forgotten))).is_some());
    }
}

#[test]
fn hw5_planted_child_order_and_missed_instruction_are_caught() {
    let nodes = [0, 1, 2, 3, 4, 5];
    let given = |data| move |position: usize| contribution(data, position as u32, 3, 65);
    // The tree with its children swapped: node n of one is node MIRROR[n] of the other.
    const MIRROR: [usize; 7] = [0, 2, 1, 6, 5, 4, 3];
    let mirrored = nodes.map(|node| MIRROR[node]);
    let sum = (DataType::F64, ReduceOp::Sum);
    let value = given(DataType::F64);
    assert_ne!(
        combined(sum, &nodes, &value),
        combined(sum, &mirrored, &value)
    );
    // Every operation that follows another on its type has another result.
    for pair in kinds().windows(2) {
        let [(data, before), (other, op)] = [pair[0], pair[1]];
        if data == other {
            let value = given(data);
            let one = combined((data, before), &nodes, &value);
            assert_ne!(
                one,
                combined((data, op), &nodes, &value),
                "{before:?} {op:?}"
            );
        }
    }
}

#[test]
fn hw5_ep13_network_operations_match_the_serial_reference() {
    const LONG: usize = 3000;
    // Task 6 lives beside task 0, task 7 beside task 1; task 1 has three endpoints, task 4 two.
    let contexts = |task: TaskId| match task.0 {
        1 => 3,
        4 => 2,
        _ => 1,
    };
    let mut team = team(&[3, 2, 1], 8, contexts);
    let (nodes, buffers) = (nodes(&mut team), buffers(&team, LONG * 8));
    let run = move |seat: &Seat| {
        let task = seat.context.task().0;
        // All tasks; an odd subset, whose tree passes nodes 0 and 1, which are no members; one task; one node.
        let sets: [&[u32]; 4] = [&[0, 1, 2, 3, 4, 5, 6, 7], &[3, 4, 5], &[1], &[0, 6]];
        for (number, set) in (2..).zip(sets) {
            if set.contains(&task) {
                let geometry = some(seat, number, |task| set.contains(&task));
                let member = seat.member.collectives().join(&geometry)?;
                assert_eq!(take(seat, &member)?, ALL);
                let checked = Checked {
                    seat,
                    member: &member,
                    nodes: set.iter().map(|&task| nodes[task as usize]).collect(),
                    buffers: &buffers[task as usize],
                };
                sweep(&checked, set.len(), LONG)?;
                release(seat, &member)?;
            }
            // Those that are no members serve the agreements of the others meanwhile.
            seat.carry_out(Some(Algorithm::Dissemination), Request::barrier())?;
        }
        seat.context.advance_until(|| seat.context.is_at_rest())?;
        Ok::<_, Error>(())
    };
    team.run("collectives", run).expect("the program ends");
}

fn sweep(checked: &Checked<'_>, tasks: usize, long: usize) -> Result<(), Error> {
    let tree = Some(Algorithm::Tree);
    let mut round = 0;
    for kind in kinds() {
        // Nothing, odd counts, a packet and more, beyond what is copied.
        for count in [0, 1, 7, 65, 1033] {
            round += 1;
            let place = (round % tasks, round, count, round % 3 == 0);
            checked.run(Collective::Allreduce, tree, kind, place)?;
        }
        for count in [3, 130] {
            round += 1;
            let place = (round % tasks, round, count, round % 3 == 0);
            checked.run(Collective::Reduce, tree, kind, place)?;
        }
    }
    let bytes = (DataType::U8, ReduceOp::Copy);
    for root in 0..tasks {
        // Any number of bytes.
        for count in [0, 1, 511, 513, 2049] {
            round += 1;
            let place = (root, round, count, false);
            checked.run(Collective::Broadcast, tree, bytes, place)?;
        }
        let sum = (DataType::F64, ReduceOp::Sum);
        checked.run(Collective::Reduce, tree, sum, (root, round, long, false))?;
    }
    let sum = (DataType::F64, ReduceOp::Sum);
    checked.run(Collective::Allreduce, tree, sum, (0, round, long, true))
}

#[test]
fn hw9_software_serves_without_class_routes_until_one_returns() {
    const GEOMETRIES: u16 = 18;
    let mut team = team(&[2, 2, 1], 4, |_| 1);
    let (nodes, buffers) = (nodes(&mut team), buffers(&team, 1 << 14));
    let run = move |seat: &Seat| {
        let mut members = Vec::new();
        let mut taken = Vec::new();
        for number in 2..2 + GEOMETRIES {
            let geometry = some(seat, number, |_| true);
            let member = seat.member.collectives().join(&geometry)?;
            taken.push(take(seat, &member)?);
            members.push(member);
        }
        let count = |has: fn(&RoutesTaken) -> bool| taken.iter().filter(|t| has(t)).count();
        // The first four have two class routes each for long transfers.
        assert_eq!((count(|t| t.class), count(|t| t.barrier)), (12, 16));
        assert_eq!(taken[16..], [RoutesTaken::default(); 2]);
        // All of them work, those without a window block by block, those without routes by software.
        assert!(taken[0].window && !taken[11].window);
        let sum = (DataType::F64, ReduceOp::Sum);
        let check = |member: &Member<SimPlatform>, algorithm, round, count| {
            let checked = Checked {
                seat,
                member,
                nodes: nodes.clone(),
                buffers: &buffers[seat.context.task().0 as usize],
            };
            // Of whole numbers, so that the order of software does not matter.
            let data = (DataType::I64, sum.1);
            checked.run(
                Collective::Allreduce,
                algorithm,
                data,
                (0, round, count, false),
            )
        };
        for (round, member) in members.iter().enumerate() {
            let tree = member.routes().class.then_some(Algorithm::Tree);
            check(member, tree, round, 300)?;
            check(member, None, round, 300)?;
        }
        let named = members[17].post_as(
            Initiator::All,
            Some(Algorithm::Tree),
            Request::barrier(),
            Some(Box::new(|_, result| {
                assert!(matches!(result, Err(Error::Algorithm { .. })), "{result:?}");
            })),
        );
        named.expect("refused when its turn comes");
        release(seat, &members[3])?;
        release(seat, &members[9])?;
        let again = [take(seat, &members[17])?, take(seat, &members[3])?];
        assert!(again.iter().all(|t| t.class && t.barrier), "{again:?}");
        // A class route is left of the two of geometry 3, and no barrier route.
        let last = take(seat, &members[9])?;
        assert_eq!((last.class, last.barrier), (true, false));
        for (round, member) in members.iter().enumerate() {
            check(member, None, 100 + round, 40)?;
        }
        for member in &members {
            release(seat, member)?;
        }
        assert_eq!(take(seat, &members[16])?, ALL);
        seat.context.advance_until(|| seat.context.is_at_rest())?;
        Ok::<_, Error>(())
    };
    team.run("routes", run).expect("the program ends");
}

/// A collective of the mixture: geometry, collective, algorithm, type and operation, root, elements, round.
type Call = (
    usize,
    Collective,
    Option<Algorithm>,
    (DataType, ReduceOp),
    usize,
    usize,
    usize,
);

/// Tree and torus in turn, on two geometries with `sizes` tasks.
fn mixture(sizes: [usize; 2], length: usize) -> Vec<Call> {
    let mut state = 0x1234_5678_9abc_def1_u64;
    let mut below = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % bound
    };
    let mut calls = Vec::new();
    for round in 0..length {
        let geometry = below(2);
        let tree = below(3) > 0;
        let collective = [
            Collective::Barrier,
            Collective::Broadcast,
            Collective::Reduce,
            Collective::Allreduce,
        ][below(4)];
        let software = match collective {
            Collective::Barrier => Algorithm::Dissemination,
            Collective::Allreduce => Algorithm::Ring,
            _ => Algorithm::Binomial,
        };
        // The order of software is another: of whole numbers that does not matter.
        let mut kinds = kinds();
        kinds.retain(|(data, _)| tree || *data != DataType::F64);
        let kind = kinds[below(kinds.len())];
        let count = [1, 5, 64, 200, 1500][below(5)];
        let algorithm = if tree { Algorithm::Tree } else { software };
        let root = below(sizes[geometry]);
        calls.push((
            geometry,
            collective,
            Some(algorithm),
            kind,
            root,
            count,
            round,
        ));
    }
    calls
}

#[test]
fn hw5_ep13_network_and_torus_alternate_on_two_geometries() {
    const UNDER_WAY: usize = 6;
    const DISPATCH: u8 = 40;
    let mut team = team(&[3, 2, 1], 8, |_| 1);
    let nodes = nodes(&mut team);
    let run = move |seat: &Seat| {
        let task = seat.context.task();
        let platform = seat.context.platform();
        let sets = [vec![0, 1, 2, 3, 4, 5, 6, 7], vec![7, 5, 4, 2, 0]];
        seat.context
            .set_dispatch(DISPATCH, Box::new(|_, _| Receive::Consumed))?;
        // In this order of positions.
        let world = seat.member.geometry().endpoints();
        let mut members = Vec::new();
        for (number, set) in (2..).zip(&sets) {
            let endpoints = set.iter().map(|&task| world[task]);
            let geometry = Geometry::endpoint_list("set", number, endpoints)?;
            let member = match set.contains(&(task.0 as usize)) {
                true => Some(seat.member.collectives().join(&geometry)?),
                false => None,
            };
            if let Some(member) = &member {
                assert_eq!(take(seat, member)?, ALL);
            }
            seat.carry_out(Some(Algorithm::Dissemination), Request::barrier())?;
            members.push(member);
        }
        // Long messages keep every injection FIFO and link of the torus busy.
        let noise = BufferRange::zeroed(platform, 4096).map_err(gyre_driver::Error::from)?;
        let sent = Arc::new(AtomicCell::new(0_usize));
        let send = |to: usize| {
            let done = Arc::clone(&sent);
            let mut message = SendMessage::new(world[to % world.len()], DISPATCH, noise.clone());
            message.protocol = SendProtocol::Eager;
            message.local_done = Some(Box::new(move |_, _| {
                done.fetch_add(1);
            }));
            seat.context.send(message)
        };
        let ended = Arc::new(AtomicCell::new(0_usize));
        let mut posted = 0;
        let mut results = Vec::new();
        let mut messages = 0;
        for (geometry, collective, algorithm, kind, root, count, round) in
            mixture([sets[0].len(), sets[1].len()], 80)
        {
            let Some(member) = &members[geometry] else {
                continue;
            };
            for _ in 0..3 {
                messages += 1;
                send(task.0 as usize + 1 + messages % 7)?;
            }
            let me = member.position();
            let bytes = count * kind.0.bytes();
            let given = |position: usize| {
                contribution(kind.0, sets[geometry][position] as u32, round, count)
            };
            let own = BufferRange::copied(platform, &given(me))?;
            let into = BufferRange::zeroed(platform, bytes).map_err(gyre_driver::Error::from)?;
            let at: Vec<usize> = sets[geometry].iter().map(|&task| nodes[task]).collect();
            let (request, range, expected) = match collective {
                Collective::Barrier => (Request::barrier(), into, vec![0; bytes]),
                Collective::Broadcast => {
                    let range = if me == root { own } else { into };
                    (Request::broadcast(root, range.clone()), range, given(root))
                }
                Collective::Reduce => {
                    let sum = match me == root {
                        true => combined(kind, &at, &given),
                        false => vec![0; bytes],
                    };
                    (
                        Request::reduce(root, kind, Some(own), into.clone()),
                        into,
                        sum,
                    )
                }
                _ => {
                    let sum = combined(kind, &at, &given);
                    (Request::allreduce(kind, Some(own), into.clone()), into, sum)
                }
            };
            let count = Arc::clone(&ended);
            let done: Done<SimPlatform> = Box::new(move |_, result| {
                result.expect("all members agree");
                count.fetch_add(1);
            });
            member.post_as(Initiator::All, algorithm, request, Some(done))?;
            posted += 1;
            results.push((
                format!("{round}: {collective:?} {algorithm:?}"),
                range,
                expected,
            ));
            seat.context
                .advance_until(|| ended.load() + UNDER_WAY > posted)?;
        }
        seat.context
            .advance_until(|| ended.load() == posted && sent.load() == messages)?;
        for (what, range, expected) in results {
            assert!(contents(&range) == expected, "{what} at {task}");
        }
        for member in members.iter().flatten() {
            release(seat, member)?;
        }
        seat.carry_out(Some(Algorithm::Dissemination), Request::barrier())?;
        seat.context.advance_until(|| seat.context.is_at_rest())?;
        Ok::<_, Error>(())
    };
    team.run("mixture", run).expect("the program ends");
}
