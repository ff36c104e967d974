// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives of software threads on the machine: results, communication partners and costs of cache lines.

use std::sync::Arc;

use gyre::error::RunError;
use gyre::job::{Job, Process};
use gyre::launch::Launch;
use gyre::placement::Placement;
use gyre::platform::{SimPlatform, Transfers};
use gyre::program::Program;
use gyre::report::Report;
use gyre::task::Task;
use gyre::thread_team::{ThreadLayout, ThreadTeam};
use gyre_affinity::{Domains, Place, PlaceError, Processor, ThreadPlace as _, Tree, Unit};
use gyre_collectives::{DataType, Error, ReduceOp, ThreadGroup, ThreadMember, ThreadRoot};
use gyre_driver::{CostTable, Platform as _, PlatformLock as _, RangeError, SharedSegment as _};
use gyre_sim::{MachineConfig, Until};

type Thread = ThreadMember<SimPlatform>;

/// Software thread `s` of a node on hardware thread `s * step % threads`.
fn strided(processor: &Processor, step: usize) -> Vec<usize> {
    let threads = processor.hardware_threads();
    (0..threads).map(|s| s * step % threads).collect()
}

fn job(dims: &[u16], processor: &Processor) -> Job {
    let config = MachineConfig {
        dims: dims.to_vec(),
        ..MachineConfig::default()
    };
    let processes = usize::from(processor.modules) * usize::from(processor.cores);
    let placement = Placement::filled(processes, dims).expect("at most 16 cores");
    let job = Job::new(&config, &CostTable::default(), &placement, None);
    job.expect("a machine").with_processor(processor)
}

/// A team along the domains of threads that lie `step` apart.
fn team(dims: &[u16], processor: &Processor, arity: usize, step: usize) -> (ThreadTeam, Tree) {
    let nodes = dims.iter().map(|&d| usize::from(d)).product();
    let hardware = vec![strided(processor, step); nodes];
    let layout = ThreadLayout::new(processor, hardware, |places: &[Place]| {
        Domains::new(places, arity).map(|domains| domains.tree().clone())
    });
    let layout = layout.expect("trees");
    let tree = layout.trees[0].clone();
    let team = ThreadTeam::open(job(dims, processor), layout);
    (team.expect("all threads join"), tree)
}

/// Transfers of one node that no edge of `domains` allows: pairs of software threads that talk although
/// neither is the other's parent, or across domains although one is no leader. `hardware` says where software
/// threads are.
fn violations(
    transfers: &Transfers,
    hardware: &[usize],
    processor: &Processor,
    domains: &Domains,
) -> Vec<(usize, usize)> {
    let software = |number: usize| {
        let found = hardware.iter().position(|&h| h == number);
        found.expect("every hardware thread carries one")
    };
    let place = |thread: usize| processor.place(hardware[thread]).expect("a place");
    let leads = |thread: usize, unit: Unit| domains.of(unit).any(|d| d.leader == thread);
    let allowed = |a: usize, b: usize| {
        let tree = domains.tree();
        let joined = tree.parent(a) == Some(b) || tree.parent(b) == Some(a);
        let apart = |unit: &Unit| place(a).within(*unit) != place(b).within(*unit);
        let mut crossed = Unit::DOMAINS.into_iter().filter(apart);
        joined && crossed.all(|unit| leads(a, unit) && leads(b, unit))
    };
    let pairs = transfers.keys().map(|&(a, b)| (software(a), software(b)));
    pairs.filter(|&(a, b)| !allowed(a, b)).collect()
}

/// Elements of a thread: numbers that make integers wrap and sums of floating point round.
fn elements(data: DataType, thread: usize, count: usize) -> Vec<u8> {
    let number = |i: usize| (thread * 37 + i * 101 + 11) % 251;
    let float = |i: usize| (number(i) as f64 - 120.0) / 7.0;
    let mut bytes = Vec::new();
    for i in 0..count {
        let small = (number(i) % 5) as i32;
        match data {
            DataType::F32 => bytes.extend((float(i) as f32).to_le_bytes()),
            DataType::F64 => bytes.extend(float(i).to_le_bytes()),
            DataType::ComplexF32 => {
                bytes.extend((float(i) as f32).to_le_bytes());
                bytes.extend((float(i + 1) as f32).to_le_bytes());
            }
            DataType::ComplexF64 => {
                bytes.extend(float(i).to_le_bytes());
                bytes.extend(float(i + 1).to_le_bytes());
            }
            DataType::LocI32 | DataType::LocI16 => {
                bytes.extend(small.to_le_bytes());
                bytes.extend((thread as i32).to_le_bytes());
            }
            DataType::LocF32 => {
                bytes.extend((small as f32).to_le_bytes());
                bytes.extend((thread as i32).to_le_bytes());
            }
            DataType::LocF64 => {
                bytes.extend(f64::from(small).to_le_bytes());
                bytes.extend((thread as i64).to_le_bytes());
            }
            DataType::LocTwoF32 => {
                bytes.extend((small as f32).to_le_bytes());
                bytes.extend((thread as f32).to_le_bytes());
            }
            DataType::LocTwoF64 => {
                bytes.extend(f64::from(small).to_le_bytes());
                bytes.extend((thread as f64).to_le_bytes());
            }
            integer => {
                let value = (number(i) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                bytes.extend(&value.to_le_bytes()[..integer.bytes()]);
            }
        }
    }
    bytes
}

/// The serial reference: one thread after the other. Sums and products that round are combined in the order
/// of the tree, which fixes their bits.
fn reduced(data: DataType, op: ReduceOp, tree: &Tree, count: usize) -> Vec<u8> {
    let rounds = matches!(op, ReduceOp::Sum | ReduceOp::Product)
        && matches!(
            data,
            DataType::F32 | DataType::F64 | DataType::ComplexF32 | DataType::ComplexF64
        );
    if !rounds {
        let mut result = elements(data, 0, count);
        for thread in 1..tree.len() {
            op.combine(data, &elements(data, thread, count), &mut result, false);
        }
        return result;
    }
    fn below(data: DataType, op: ReduceOp, tree: &Tree, thread: usize, count: usize) -> Vec<u8> {
        let mut result = elements(data, thread, count);
        for &child in tree.children(thread) {
            let part = below(data, op, tree, child, count);
            op.combine(data, &part, &mut result, false);
        }
        result
    }
    below(data, op, tree, tree.root(), count)
}

#[test]
fn af5_every_operation_on_every_type_matches_a_serial_reference() {
    let processor = Processor::default();
    let (mut team, tree) = team(&[1, 1, 1], &processor, 3, 7);
    let mut cases = Vec::new();
    for data in DataType::ALL {
        for op in ReduceOp::ALL {
            if op != ReduceOp::Copy && op.is_defined_on(data) {
                let expected = reduced(data, op, &tree, 3);
                cases.push((data, op, expected));
            }
        }
    }
    assert!(cases.len() > 80, "{}", cases.len());
    let run = move |_, member: &mut Thread| {
        for (number, (data, op, expected)) in cases.iter().enumerate() {
            let own = elements(*data, member.thread(), 3);
            let what = format!("{data:?} {op:?} at {}", member.thread());
            let mut everywhere = own.clone();
            member.allreduce((*data, *op), &mut everywhere)?;
            assert_eq!(&everywhere, expected, "allreduce {what}");
            // The leader, threads below it, and leaves, in turn.
            let root = ThreadRoot {
                node: 0,
                thread: number % 64,
            };
            let mut there = own.clone();
            member.reduce(root, (*data, *op), &mut there)?;
            match member.thread() == root.thread {
                true => assert_eq!(&there, expected, "reduce {what}"),
                false => assert_eq!(there, own, "reduce {what}"),
            }
        }
        Ok::<(), Error>(())
    };
    team.run("reduces", run).expect("the program ends");
}

/// Enters a barrier after `work`: times of entry and exit, picoseconds.
fn stay(member: &mut Thread, work: usize) -> Result<(u64, u64), Error> {
    let platform = member.platform().clone();
    platform.charge(gyre_driver::Op::Counter, work as u64);
    let came = platform.now_ps();
    member.barrier()?;
    Ok((came, platform.now_ps()))
}

/// Checks the stays of every thread at one barrier after the other.
fn nobody_leaves_early(stays: &[Vec<(u64, u64)>]) {
    for round in 0..stays[0].len() {
        let last = stays.iter().map(|s| s[round].0).max();
        let first = stays.iter().map(|s| s[round].1).min();
        assert!(
            last <= first,
            "round {round}: {last:?} came, {first:?} left"
        );
    }
}

#[test]
fn af5_every_size_from_every_root_and_no_early_leaving() {
    let processor = Processor {
        modules: 2,
        cores: 3,
        threads: 2,
        ..Processor::default()
    };
    for arity in [1, 2, 5] {
        let (mut team, tree) = team(&[1, 1, 1], &processor, arity, 5);
        let run = move |_, member: &mut Thread| {
            let me = member.thread();
            // None, one line, around a line and a part, and several parts.
            for count in [0, 1, 4, 5, 124, 125, 600] {
                for thread in 0..12 {
                    let root = ThreadRoot { node: 0, thread };
                    let expected = elements(DataType::F64, thread, count);
                    let mut data = elements(DataType::F64, me, count);
                    member.broadcast(root, &mut data)?;
                    assert_eq!(data, expected, "broadcast from {thread} at {me}");
                    let mut data = elements(DataType::F64, me, count);
                    member.reduce(root, (DataType::F64, ReduceOp::Sum), &mut data)?;
                    if me == thread {
                        let expected = reduced(DataType::F64, ReduceOp::Sum, &tree, count);
                        assert_eq!(data, expected, "reduce to {thread}");
                    }
                }
            }
            // Each thread enters at a different time.
            (0..4)
                .map(|round| stay(member, (me * 7 + round * 5) % 12 * 1000))
                .collect::<Result<Vec<_>, _>>()
        };
        let (stays, _) = team.run("collectives", run).expect("the program ends");
        nobody_leaves_early(&stays);
    }
}

#[test]
fn af2_af3_af4_threads_of_two_domains_meet_only_by_leaders() {
    for (processor, step) in [
        (Processor::default(), 1),
        (Processor::default(), 5),
        (Processor::default(), 27),
        (
            Processor {
                modules: 3,
                cores: 2,
                threads: 3,
                ..Processor::default()
            },
            7,
        ),
    ] {
        let hardware = strided(&processor, step);
        let place = |&thread: &usize| processor.place(thread).expect("a place");
        let places: Vec<Place> = hardware.iter().map(place).collect();
        let domains = Domains::new(&places, 2).expect("a tree");
        let check = |transfers: &Transfers| violations(transfers, &hardware, &processor, &domains);

        let (mut along, _) = team(&[1, 1, 1], &processor, 2, step);
        let threads = processor.hardware_threads();
        let run = move |_, member: &mut Thread| {
            for round in 0..6 {
                let thread = round * 5 % threads;
                let root = ThreadRoot { node: 0, thread };
                let mut data = elements(DataType::U64, member.thread(), 200);
                member.broadcast(root, &mut data)?;
                member.reduce(root, (DataType::U64, ReduceOp::Max), &mut data)?;
                member.barrier()?;
                member.allreduce((DataType::U64, ReduceOp::Sum), &mut data)?;
            }
            Ok::<(), Error>(())
        };
        along.run("collectives", run).expect("the program ends");
        let transfers = along.transfers();
        assert!(
            transfers[0].len() >= 2 * (threads - 1),
            "all edges carry data"
        );
        assert_eq!(check(&transfers[0]), []);

        // Communication between threads of two cores without a leader is detected.
        let leads = |thread: usize| domains.of(Unit::Core).any(|d| d.leader == thread);
        let quiet = (0..threads)
            .find(|&t| !leads(t))
            .expect("cores of several threads");
        let core = places[quiet].within(Unit::Core);
        let elsewhere = |&t: &usize| !leads(t) && places[t].within(Unit::Core) != core;
        let other = (0..threads).find(elsewhere).expect("several cores");
        let whisper = move |_, member: &mut Thread| {
            let platform = member.platform().clone();
            let segment = platform.share(77, 64).map_err(gyre_driver::Error::from)?;
            let wrong = |error| Error::from(gyre_driver::Error::from(error));
            if member.thread() == quiet {
                segment.write(0, &[1]).map_err(wrong)?;
            }
            member.barrier()?;
            if member.thread() == other {
                segment.read(0, &mut [0]).map_err(wrong)?;
            }
            member.barrier()
        };
        along.run("whispers", whisper).expect("the program ends");
        assert_eq!(check(&along.transfers()[0]), [(quiet, other)]);

        // So is a tree that knows no domains.
        let blind = ThreadLayout::new(&processor, vec![hardware.clone()], |places: &[Place]| {
            Tree::by_number(places.len(), 2)
        });
        let layout = blind.expect("a tree");
        let mut blind =
            ThreadTeam::open(job(&[1, 1, 1], &processor), layout).expect("all threads join");
        blind
            .run("barrier", |_, member| member.barrier())
            .expect("the program ends");
        assert_ne!(check(&blind.transfers()[0]), []);
    }
}

#[test]
fn af5_leaders_enter_the_network_for_their_threads() {
    let processor = Processor {
        modules: 2,
        cores: 2,
        threads: 2,
        ..Processor::default()
    };
    const NODES: usize = 3;
    let (mut team, _) = team(&[3, 1, 1], &processor, 2, 3);
    let run = |node: usize, member: &mut Thread| {
        let me = node * 8 + member.thread();
        let mut stays = Vec::new();
        for (round, count) in [0, 1, 125, 700].into_iter().enumerate() {
            let kind = (DataType::I64, ReduceOp::Sum);
            let own = elements(kind.0, me, count);
            let mut sum = elements(kind.0, 0, count);
            for thread in 1..NODES * 8 {
                kind.1
                    .combine(kind.0, &elements(kind.0, thread, count), &mut sum, false);
            }
            let mut data = own.clone();
            member.allreduce(kind, &mut data)?;
            assert_eq!(data, sum, "allreduce of {count} at {me}");
            for (node, thread) in [(0, 0), (1, 0), (2, 5), (0, 7)] {
                let root = ThreadRoot { node, thread };
                let from = node * 8 + thread;
                let mut data = own.clone();
                member.broadcast(root, &mut data)?;
                assert_eq!(data, elements(kind.0, from, count), "from {from} at {me}");
                let mut data = own.clone();
                member.reduce(root, kind, &mut data)?;
                let expected = if me == from { &sum } else { &own };
                assert_eq!(&data, expected, "to {from} at {me}");
            }
            stays.push(stay(member, (me + round) % 5 * 3000)?);
        }
        Ok::<_, Error>(stays)
    };
    let (stays, _) = team.run("collectives", run).expect("the program ends");
    assert_eq!(stays.len(), NODES * 8);
    nobody_leaves_early(&stays);
}

#[test]
fn af5_threads_that_disagree_get_an_error() {
    let processor = Processor {
        modules: 1,
        cores: 1,
        threads: 4,
        ..Processor::default()
    };
    let kind = (DataType::F64, ReduceOp::Sum);
    let root = |thread| ThreadRoot { node: 0, thread };
    type Body = fn(usize, &mut Thread) -> Result<(), Error>;
    let bodies: [(Body, &str); 4] = [
        (
            |odd, member| match odd {
                1 => member.barrier(),
                _ => member.allreduce((DataType::F64, ReduceOp::Sum), &mut [0; 8]),
            },
            "collective, type and operation",
        ),
        (
            |odd, member| {
                let thread = odd * 2;
                member.broadcast(ThreadRoot { node: 0, thread }, &mut [0; 8])
            },
            "thread of the root",
        ),
        (
            |odd, member| member.allreduce((DataType::U8, ReduceOp::Max), &mut vec![0; 3 + odd]),
            "bytes",
        ),
        (
            |odd, member| match odd {
                1 => member.reduce(
                    ThreadRoot { node: 0, thread: 0 },
                    (DataType::U8, ReduceOp::Max),
                    &mut [0; 3000],
                ),
                _ => member.barrier(),
            },
            "collective, type and operation",
        ),
    ];
    for (body, field) in bodies {
        let (mut team, _) = team(&[1, 1, 1], &processor, 2, 1);
        let run = move |_, member: &mut Thread| body(usize::from(member.thread() == 1), member);
        let error = team.run("disagrees", run).expect_err("no agreement");
        let error = error.to_string();
        assert!(error.contains(field), "no `{field}` in: {error}");
    }
    // What no thread can mean is refused before anything moves.
    let (mut team, _) = team(&[1, 1, 1], &processor, 2, 1);
    let run = move |_, member: &mut Thread| {
        let mut errors = Vec::new();
        errors.extend(member.broadcast(root(4), &mut []).err());
        let node = ThreadRoot { node: 1, thread: 0 };
        errors.extend(member.reduce(node, kind, &mut []).err());
        errors.extend(member.allreduce(kind, &mut [0; 9]).err());
        errors.extend(
            member
                .allreduce((DataType::U8, ReduceOp::Copy), &mut [])
                .err(),
        );
        errors.extend(
            member
                .allreduce((DataType::F64, ReduceOp::BitAnd), &mut [])
                .err(),
        );
        Ok::<_, Error>(errors.iter().map(Error::to_string).collect::<Vec<_>>())
    };
    let (errors, _) = team.run("refused", run).expect("nobody waits");
    for (error, words) in errors[0].iter().zip([
        "thread of the root is 4, expected below 4",
        "node of the root is 1, expected below 1",
        "bytes is 9, expected a multiple of 8",
        "operation is 0, expected an operation whose operands may change places",
        "bit_and is not defined on f64",
    ]) {
        assert!(error.contains(words), "no `{words}` in: {error}");
    }
    assert_eq!(errors[0].len(), 5);
}

/// A processor whose lines cost differently from everywhere.
fn apart() -> Processor {
    Processor {
        core_cycles: 10,
        module_cycles: 200,
        processor_cycles: 3000,
        ..Processor::default()
    }
}

#[test]
fn af6_a_line_costs_what_the_description_says() {
    let processor = apart();
    let cpu_ps = MachineConfig::default().cpu_ps;
    let mut job = job(&[1, 1, 1], &processor);
    let run = move |process: gyre::job::Process| {
        if process.task.0 != 0 {
            return Ok(());
        }
        let platform = &process.platform;
        let segment = platform.share(5, 256)?;
        assert!(!platform.run_on(64));
        let took = |number: usize, write: bool, offset: usize, bytes: usize| {
            assert!(platform.run_on(number));
            let from = platform.now_ps();
            let access = match write {
                true => segment.write(offset, &vec![1; bytes]),
                false => segment.read(offset, &mut vec![0; bytes]),
            };
            access.expect("inside");
            (platform.now_ps() - from) / cpu_ps
        };
        for (number, write, offset, bytes, cycles, what) in [
            (1, false, 0, 64, 0, "what nobody has written"),
            (0, true, 0, 128, 0, "a first write"),
            (0, false, 0, 128, 0, "one's own lines"),
            (1, false, 0, 64, 10, "a line of the core"),
            (1, false, 0, 64, 0, "a line that one has"),
            (4, false, 0, 64, 200, "a line of the module"),
            (16, false, 60, 8, 2 * 3000, "two lines of another module"),
            (17, false, 60, 8, 2 * 10, "lines that one's core has"),
            (16, true, 0, 8, 0, "a write to a line that one has"),
            (0, false, 0, 8, 3000, "a line that was taken away"),
            (63, true, 64, 1, 3000, "a write to a line of another module"),
            (
                0,
                true,
                64,
                1,
                3000,
                "a write to a line that was taken away",
            ),
        ] {
            assert_eq!(took(number, write, offset, bytes), cycles, "{what}");
        }
        Ok::<(), gyre_driver::SegmentError>(())
    };
    job.each("touches lines", Until::Quiet, run)
        .expect("it ends");
    let transfers = job.transfers(gyre_driver::TaskId(0));
    let expected = [
        ((0, 1), 1),
        ((0, 4), 1),
        ((0, 16), 2),
        ((0, 17), 2),
        ((0, 63), 1),
        ((16, 0), 1),
        ((63, 0), 1),
    ];
    assert_eq!(transfers, expected.into_iter().collect());
}

#[test]
fn af1_af2_threads_build_their_tree_from_their_places() {
    let processor = Processor {
        modules: 2,
        cores: 2,
        threads: 2,
        ..Processor::default()
    };
    let all = processor.hardware_threads();
    let mut job = job(&[2], &processor);
    let run = move |process: Process, number: usize| -> Result<_, Error> {
        let hardware = process.task.0 as usize % 4 * 2 + number;
        // The group counts its threads in another order than the processor.
        let thread = (hardware * 3 + 1) % all;
        let platform = &process.platform;
        let place = platform.thread_place().expect("the job has given it one");
        assert!(platform.run_on(5), "there are 8");
        let bound = platform.thread_place().expect("it has moved there");
        assert!(platform.run_on(hardware));
        let group = ThreadGroup::gather(platform, ("asked", 1), (thread, all), 2)?;
        let mut sum = (hardware as u64).to_le_bytes();
        let mut member = group.join(platform, thread, None)?;
        member.allreduce((DataType::U64, ReduceOp::Sum), &mut sum)?;
        Ok((thread, hardware, [place, bound], group.tree().clone(), sum))
    };
    let (asked, _) = job.threads("asks", 2, Until::Quiet, run).expect("all join");
    assert_eq!(asked.len(), 2 * all);
    let mut places = vec![Place::default(); all];
    for (thread, hardware, [place, bound], ..) in &asked {
        assert_eq!(Some(*place), processor.place(*hardware));
        assert_eq!(Some(*bound), processor.place(5));
        places[*thread] = *place;
    }
    let domains = Domains::new(&places, 2).expect("there are threads");
    for (.., tree, sum) in &asked {
        assert_eq!(tree, domains.tree());
        assert_eq!(u64::from_le_bytes(*sum), 28);
    }
}

#[test]
fn af1_x5_a_thread_beyond_the_processor_fails_its_group() {
    let config = MachineConfig {
        dims: vec![1],
        ..MachineConfig::default()
    };
    let placement = Placement::filled(2, &config.dims).expect("two tasks");
    let small = Processor {
        modules: 1,
        cores: 1,
        threads: 1,
        ..Processor::default()
    };
    let job = Job::new(&config, &CostTable::default(), &placement, None);
    let mut job = job.expect("a machine").with_processor(&small);
    let run = |process: Process| -> Result<_, Error> {
        let thread = process.task.0 as usize;
        // Queries whether such a thread exists; programs do not.
        process.platform.cpu().run_on(thread);
        let asked = process.platform.thread_place();
        let gathered = ThreadGroup::gather(&process.platform, ("asked", 1), (thread, 2), 4);
        Ok((asked, gathered.err().map(|error| error.to_string())))
    };
    let (asked, _) = job.each("asks", Until::Quiet, run).expect("all end");
    assert_eq!(asked[0].0, Ok(Place::default()));
    let reason =
        "it is number 1, expected one below 1, as many as the node's processor has".to_owned();
    assert_eq!(
        asked[1].0,
        Err(PlaceError {
            reason: reason.clone()
        })
    );
    let unknown =
        "group of threads `asked`: the hardware thread of the calling thread is not known: ";
    let other = format!("{unknown}thread 1 of the group has been given none");
    assert_eq!(asked[0].1, Some(other));
    assert_eq!(asked[1].1, Some(format!("{unknown}{reason}")));
}

#[test]
fn af6_software_without_a_hardware_thread_pays_for_lines() {
    let processor = apart();
    let cpu_ps = MachineConfig::default().cpu_ps;
    // A task a core, two threads each.
    let mut job = job(&[1, 1, 1], &processor);
    let share = |process: gyre::job::Process| process.platform.share(5, 64);
    let (segments, _) = job.each("shares", Until::Quiet, share).expect("memory");
    let segments = Arc::new(segments);
    for (from, to, cycles) in [
        ((0, 0), (0, 1), 10),
        ((0, 1), (1, 0), 200),
        ((1, 0), (5, 1), 3000),
    ] {
        for locked in [false, true] {
            let touch = |who: (usize, usize), write: bool| {
                let segments = Arc::clone(&segments);
                move |process: gyre::job::Process, thread: usize| {
                    if (process.number, thread) != who {
                        return Ok(0);
                    }
                    let segment = &segments[process.number];
                    let begin = process.platform.now_ps();
                    match (locked, write) {
                        (true, _) => {
                            segment.lock();
                            segment.unlock();
                        }
                        (false, true) => segment.write(0, &[1; 8])?,
                        (false, false) => segment.read(0, &mut [0; 8])?,
                    }
                    Ok::<_, RangeError>((process.platform.now_ps() - begin) / cpu_ps)
                }
            };
            let writes = touch(from, true);
            job.threads("writes", 2, Until::Quiet, writes)
                .expect("inside");
            let (took, _) = job
                .threads("reads", 2, Until::Quiet, touch(to, false))
                .expect("inside");
            assert_eq!(
                took.iter().sum::<u64>(),
                cycles,
                "{from:?} {to:?}, lock {locked}"
            );
        }
    }
}

/// Asks every thread of every task where it runs; there are more of them than a core has hardware threads.
fn threads_say_where_they_run(launch: &Launch<'_>) -> Result<Report, RunError> {
    let (found, report) = launch.run(|task: &Task| -> Result<_, Box<dyn std::error::Error>> {
        let platform = task.platform().clone();
        let places = task.threads(0..5, move |_| platform.thread_place());
        Ok((task.platform().thread_place()?, places))
    })?;
    let place = |core, thread| Place {
        processor: 0,
        module: 0,
        core,
        thread,
    };
    for (core, found) in (0..).zip(found) {
        let threads = [0, 1, 2, 3, 0].map(|thread| place(core, thread));
        assert_eq!(found, (place(core, 0), threads.to_vec()));
    }
    Ok(report)
}

#[test]
fn af1_af6_threads_of_a_task_run_on_its_core() {
    let program = Program::new("places", "places", &[1, 1, 1], threads_say_where_they_run);
    let printed = program.execute(["places", "--set", "tasks_per_node=3"]);
    assert_eq!((printed.error.as_str(), printed.status), ("", 0));
}
