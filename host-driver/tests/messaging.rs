//! The matching module on the test double: order, wildcards, unexpected messages, errors.

mod double;

use std::cell::RefCell;
use std::rc::Rc;

use double::{Commit, Double, Process};
use gyre_driver::messaging::{Messaging, Received};
use gyre_driver::{Context, Error, Op, Resources, TaskId, advancev};
use proptest::prelude::*;

const DISPATCH: u8 = 1;

fn small() -> Resources {
    Resources {
        injection_ring: 4096,
        reception_ring: 4096,
        ..Resources::default()
    }
}

fn modules(contexts: &[Context<Process>]) -> Vec<Messaging<Process>> {
    contexts
        .iter()
        .map(|context| Messaging::create(context, DISPATCH).expect("first use"))
        .collect()
}

fn settle(machine: &Double, contexts: &[Context<Process>]) {
    loop {
        let moved = machine.step();
        let progress = advancev(contexts, 1).expect("no error");
        if !moved && progress.is_idle() {
            return;
        }
    }
}

fn pattern(length: usize, seed: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (i * 13 + seed * 101 + i / 251) as u8)
        .collect()
}

/// What receives got: (number of the receive, what, its bytes).
type Log = Rc<RefCell<Vec<(usize, Result<Received, Error>, Vec<u8>)>>>;

fn receive(
    module: &Messaging<Process>,
    log: &Log,
    number: usize,
    from: Option<u32>,
    tag: Option<u32>,
    comm: u8,
    room: usize,
) -> gyre_driver::messaging::Request {
    let into = module.context().platform().buffer(&vec![0xee; room]);
    let (copy, log) = (into.clone(), Rc::clone(log));
    let done = move |_: &Context<Process>, result: Result<Received, Error>| {
        let mut bytes = vec![0; copy.len()];
        copy.read(0, &mut bytes).expect("inside");
        log.borrow_mut().push((number, result, bytes));
    };
    module
        .receive(from.map(TaskId), tag, comm, into, Some(Box::new(done)))
        .expect("valid")
}

fn send(module: &Messaging<Process>, to: u32, tag: u32, comm: u8, data: &[u8]) {
    let buffer = module.context().platform().buffer(data);
    module
        .send(TaskId(to), tag, comm, buffer, None)
        .expect("valid");
}

fn got(source: u32, tag: u32, comm: u8, length: usize) -> Result<Received, Error> {
    Ok(Received {
        source: TaskId(source),
        tag,
        comm,
        length,
    })
}

#[test]
fn ct1_a_posted_receive_gets_its_message_without_a_copy_in_between() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let modules = modules(&contexts);
    let log = Log::default();
    let request = receive(&modules[1], &log, 0, Some(0), Some(5), 2, 1300);
    settle(&machine, &contexts);
    assert!(!request.is_complete());
    send(&modules[0], 1, 5, 2, &pattern(1300, 1));
    settle(&machine, &contexts);
    assert!(request.is_complete());
    assert_eq!(*log.borrow(), [(0, got(0, 5, 2, 1300), pattern(1300, 1))]);
    let stats = modules[1].stats();
    assert_eq!((stats.expected, stats.unexpected), (1, 0));
    assert_eq!(stats.peak_held_bytes, 0);
    assert_eq!(machine.charged(Op::CopyChunk), 1300_u64.div_ceil(32));
}

#[test]
fn ct3_an_unexpected_message_is_held_and_counted() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let modules = modules(&contexts);
    let log = Log::default();
    for (tag, length) in [(1, 1000), (2, 0), (3, 200)] {
        send(&modules[0], 1, tag, 0, &pattern(length, tag as usize));
    }
    settle(&machine, &contexts);
    let stats = modules[1].stats();
    assert_eq!(
        (stats.unexpected, stats.held, stats.held_bytes),
        (3, 3, 1200)
    );
    for (number, (tag, length)) in [(3, 200), (1, 1000), (2, 0)].into_iter().enumerate() {
        receive(&modules[1], &log, number, Some(0), Some(tag), 0, length);
    }
    settle(&machine, &contexts);
    assert_eq!(
        *log.borrow(),
        [
            (0, got(0, 3, 0, 200), pattern(200, 3)),
            (1, got(0, 1, 0, 1000), pattern(1000, 1)),
            (2, got(0, 2, 0, 0), vec![]),
        ]
    );
    let stats = modules[1].stats();
    assert_eq!(
        (stats.held, stats.held_bytes, stats.peak_held_bytes),
        (0, 0, 1200)
    );
}

#[test]
fn ct3_a_receive_posted_while_its_message_arrives_gets_it() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let modules = modules(&contexts);
    let log = Log::default();
    send(&modules[0], 1, 1, 0, &pattern(2000, 1));
    send(&modules[0], 1, 1, 0, &pattern(100, 2));
    contexts[0].advance(1).expect("no error");
    machine.step();
    contexts[1].advance(1).expect("no error");
    // One packet of the first message is there; two receives: the first gets the first message.
    let first = receive(&modules[1], &log, 0, None, None, 0, 2000);
    receive(&modules[1], &log, 1, None, None, 0, 2000);
    contexts[1].advance(1).expect("no error");
    assert!(!first.is_complete());
    settle(&machine, &contexts);
    let lengths: Vec<_> = log.borrow().iter().map(|l| (l.0, l.1.clone())).collect();
    assert_eq!(lengths, [(0, got(0, 1, 0, 2000)), (1, got(0, 1, 0, 100))]);
    assert_eq!(log.borrow()[0].2, pattern(2000, 1));
}

#[test]
fn ct1_wildcards_take_the_first_that_came_and_comm_is_never_one() {
    let machine = Double::new(3, 1);
    let contexts = machine.contexts(&[0, 1, 2], small());
    let modules = modules(&contexts);
    let log = Log::default();
    for (from, tag, comm) in [(1, 10, 0), (2, 20, 1), (2, 30, 0), (0, 40, 0)] {
        send(&modules[from as usize], 0, tag, comm, b"x");
        settle(&machine, &contexts);
    }
    receive(&modules[0], &log, 0, None, Some(30), 0, 1);
    receive(&modules[0], &log, 1, None, None, 1, 1);
    receive(&modules[0], &log, 2, Some(0), None, 0, 1);
    receive(&modules[0], &log, 3, None, None, 0, 1);
    receive(&modules[0], &log, 4, None, None, 0, 1);
    settle(&machine, &contexts);
    let results: Vec<_> = log.borrow().iter().map(|l| (l.0, l.1.clone())).collect();
    assert_eq!(
        results,
        [
            (0, got(2, 30, 0, 1)),
            (1, got(2, 20, 1, 1)),
            (2, got(0, 40, 0, 1)),
            (3, got(1, 10, 0, 1))
        ]
    );
    assert_eq!(modules[0].stats().posted, 1);
}

#[test]
fn x5_a_message_longer_than_its_receive_is_that_receives_error_in_both_orders() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let modules = modules(&contexts);
    let log = Log::default();
    let too_long = Err(Error::MessageTooLong {
        message: 601,
        receive: 600,
    });
    // Receive first.
    receive(&modules[1], &log, 0, None, None, 0, 600);
    settle(&machine, &contexts);
    send(&modules[0], 1, 0, 0, &pattern(601, 0));
    settle(&machine, &contexts);
    // Message first.
    send(&modules[0], 1, 0, 0, &pattern(601, 0));
    settle(&machine, &contexts);
    receive(&modules[1], &log, 1, None, None, 0, 600);
    // And the next one is not disturbed.
    receive(&modules[1], &log, 2, None, None, 0, 600);
    send(&modules[0], 1, 0, 0, &pattern(600, 9));
    settle(&machine, &contexts);
    assert_eq!(
        *log.borrow(),
        [
            (0, too_long.clone(), vec![0xee; 600]),
            (1, too_long, vec![0xee; 600]),
            (2, got(0, 0, 0, 600), pattern(600, 9)),
        ]
    );
    assert_eq!(modules[1].stats().held_bytes, 0);
}

#[test]
fn x5_memory_that_runs_out_is_the_error_of_the_receive_and_not_a_lost_message() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let modules = modules(&contexts);
    let log = Log::default();
    let process = machine.process(1);
    // Use the memory of the target up.
    let mut hoard = Vec::new();
    let mut size = 1 << 20;
    while size > 0 {
        match gyre_driver::Platform::alloc(&process, size, 1) {
            Ok(memory) => hoard.push(memory),
            Err(_) => size /= 2,
        }
    }
    send(&modules[0], 1, 7, 0, &pattern(900, 1));
    settle(&machine, &contexts);
    modules[1]
        .receive(
            None,
            Some(7),
            0,
            gyre_driver::BufferRange::whole(hoard.remove(0)),
            Some({
                let log = Rc::clone(&log);
                Box::new(move |_, result| log.borrow_mut().push((0, result, vec![])))
            }),
        )
        .expect("valid");
    settle(&machine, &contexts);
    assert!(matches!(log.borrow()[..], [(0, Err(Error::Alloc(_)), _)]));
}

#[test]
fn ct8_ping_pong_from_done_callbacks() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], small());
    let modules = modules(&contexts);
    let rounds = Rc::new(RefCell::new(0));
    fn bounce(module: Messaging<Process>, peer: u32, rounds: Rc<RefCell<u32>>) {
        let into = module.context().platform().buffer(&[0; 4]);
        let copy = into.clone();
        let again = module.clone();
        let done = move |_: &Context<Process>, result: Result<Received, Error>| {
            let tag = result.expect("received").tag;
            let mut bytes = [0; 4];
            copy.read(0, &mut bytes).expect("inside");
            assert_eq!(u32::from_le_bytes(bytes), tag);
            *rounds.borrow_mut() += 1;
            if tag < 20 {
                send(&again, peer, tag + 1, 0, &(tag + 1).to_le_bytes());
                bounce(again, peer, rounds);
            }
        };
        module
            .receive(Some(TaskId(peer)), None, 0, into, Some(Box::new(done)))
            .expect("valid");
    }
    bounce(modules[0].clone(), 1, Rc::clone(&rounds));
    bounce(modules[1].clone(), 0, Rc::clone(&rounds));
    send(&modules[0], 1, 0, 0, &0_u32.to_le_bytes());
    settle(&machine, &contexts);
    assert_eq!(*rounds.borrow(), 21);
}

/// One step of a random program.
#[derive(Debug, Clone)]
enum Step {
    Send {
        from: usize,
        to: usize,
        tag: u32,
        comm: u8,
        length: usize,
    },
    Receive {
        at: usize,
        from: Option<usize>,
        tag: Option<u32>,
        comm: u8,
    },
    Advance(usize),
    Packets(usize),
}

fn step(tasks: usize) -> impl Strategy<Value = Step> {
    let length = prop_oneof![Just(0_usize), 1..64_usize, 500..530_usize, 1000..3000_usize];
    prop_oneof![
        4 => (0..tasks, 0..tasks, 0..3_u32, 0..2_u8, length).prop_map(
            |(from, to, tag, comm, length)| Step::Send { from, to, tag, comm, length }
        ),
        4 => (
            0..tasks,
            proptest::option::weighted(0.6, 0..tasks),
            proptest::option::weighted(0.6, 0..3_u32),
            0..2_u8
        ).prop_map(|(at, from, tag, comm)| Step::Receive { at, from, tag, comm }),
        2 => (0..tasks).prop_map(Step::Advance),
        2 => (1..6_usize).prop_map(Step::Packets),
    ]
}

struct Sent {
    from: usize,
    to: usize,
    tag: u32,
    comm: u8,
    length: usize,
}

struct Posted {
    at: usize,
    from: Option<usize>,
    tag: Option<u32>,
    comm: u8,
}

/// MPI matching, as simple as can be: since both queues are ordered, the result depends on the order of
/// arrivals and the order of receives only, so all receives may be taken as posted first.
fn reference(arrivals: &[usize], sent: &[Sent], posted: &[Posted]) -> Vec<Option<usize>> {
    let mut matched = vec![None; posted.len()];
    for &message in arrivals {
        let m = &sent[message];
        let free = (0..posted.len()).find(|&r| {
            let p = &posted[r];
            matched[r].is_none()
                && p.at == m.to
                && p.comm == m.comm
                && p.from.is_none_or(|from| from == m.from)
                && p.tag.is_none_or(|tag| tag == m.tag)
        });
        if let Some(r) = free {
            matched[r] = Some(message);
        }
    }
    matched
}

/// Runs a program; returns what each receive got, and the arrivals at each task as message numbers.
fn run(nodes: &[usize], steps: &[Step], seed: u64) -> (Vec<Option<usize>>, Vec<Option<usize>>) {
    let machine = Double::new(3, seed);
    let contexts = machine.contexts(nodes, small());
    let modules = modules(&contexts);
    let (mut sent, mut posted) = (Vec::new(), Vec::new());
    let log = Log::default();
    for step in steps {
        match *step {
            Step::Send {
                from,
                to,
                tag,
                comm,
                length,
            } => {
                let data = pattern(length, sent.len());
                send(&modules[from], to as u32, tag, comm, &data);
                sent.push(Sent {
                    from,
                    to,
                    tag,
                    comm,
                    length,
                });
            }
            Step::Receive {
                at,
                from,
                tag,
                comm,
            } => {
                let number = posted.len();
                let from_task = from.map(|f| f as u32);
                receive(&modules[at], &log, number, from_task, tag, comm, 3000);
                posted.push(Posted {
                    at,
                    from,
                    tag,
                    comm,
                });
            }
            Step::Advance(task) => {
                contexts[task].advance(1).expect("no error");
            }
            Step::Packets(count) => {
                for _ in 0..count {
                    machine.step();
                }
            }
        }
    }
    settle(&machine, &contexts);

    // The messages of a task carry its number and a count; arrivals name them.
    let mut of_task = vec![Vec::new(); nodes.len()];
    for (number, message) in sent.iter().enumerate() {
        of_task[message.from].push(number);
    }
    let arrivals: Vec<usize> = machine
        .commits()
        .iter()
        .map(|Commit { message, .. }| {
            of_task[(message >> 16) as usize][(message & 0xffff) as usize - 1]
        })
        .collect();
    assert_eq!(arrivals.len(), sent.len(), "every message arrives once");
    for from in 0..nodes.len() {
        for to in 0..nodes.len() {
            let order: Vec<_> = arrivals
                .iter()
                .filter(|&&m| sent[m].from == from && sent[m].to == to)
                .collect();
            assert!(order.is_sorted(), "messages overtake each other");
        }
    }

    let expected = reference(&arrivals, &sent, &posted);
    let mut got = vec![None; posted.len()];
    for (number, result, bytes) in log.borrow().iter() {
        let received = result.clone().expect("there is room");
        // The contents tell which message it is.
        let message = expected[*number].filter(|&m| {
            let s = &sent[m];
            bytes[..received.length] == pattern(s.length, m)[..]
                && (received.source.0 as usize, received.tag, received.comm)
                    == (s.from, s.tag, s.comm)
        });
        assert!(got[*number].is_none(), "a receive completes once");
        got[*number] = Some(message.unwrap_or(usize::MAX));
    }
    (got, expected)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn ct1_ct8_matching_is_that_of_the_reference(
        steps in proptest::collection::vec(step(5), 1..80),
        seed in any::<u64>(),
    ) {
        // Two tasks share node 0, two share node 2.
        let (got, expected) = run(&[0, 1, 2, 0, 2], &steps, seed);
        prop_assert_eq!(got, expected);
    }
}
