// SPDX-License-Identifier: MIT OR Apache-2.0
//! Acknowledgements by the path rule on the test double: one packet to the farthest recipient, which leaves a
//! copy at every node on the way (AK-4).

use std::sync::Arc;

use crate::checked::into_checked;
use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{
    AckConfig, BufferRange, Client, ClientConfig, Context, Op, Ordered, Resources, SendMessage,
    TaskId, advancev,
};
use gyre_testkit::{Double, Process, config};
use parking_lot::Mutex;

const SINK: u8 = 9;
const EAGER_LIMIT: usize = 2000;

/// Contexts on the nodes given, which acknowledge by the path rule; they receive whatever comes.
fn contexts(
    machine: &Double,
    nodes: &[usize],
    minimum_group: u32,
    ordered: Ordered,
) -> Vec<Context<Process>> {
    let tasks = machine.tasks(nodes);
    let open = |(task, &node): (u32, &usize)| {
        let config = ClientConfig {
            eager_limit: EAGER_LIMIT,
            ack: AckConfig::by_path(minimum_group),
            ordered,
            ..config(&tasks, task, Resources::default())
        };
        let context = Client::create(&machine.process(node), config)
            .and_then(|client| client.create_context(0))
            .expect("the double has the resources");
        let receive = |context: &Context<Process>, arrival: &gyre_driver::Arrival<'_>| {
            into_checked(context, pattern(arrival.tag, arrival.length), || ())
        };
        context
            .set_dispatch(SINK, Box::new(receive))
            .expect("first use");
        context
    };
    (0..).zip(nodes).map(open).collect()
}

fn pattern(tag: u32, length: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (tag as usize * 31 + i * 7 + i / 256) as u8)
        .collect()
}

/// Sends `length` bytes; counts the end in `done`, which must come once.
fn send(from: &Context<Process>, to: u32, tag: u32, length: usize, done: &Arc<AtomicCell<usize>>) {
    let data = match length {
        0 => BufferRange::empty(),
        _ => from.platform().buffer(&pattern(tag, length)),
    };
    let done = Arc::clone(done);
    from.send(SendMessage {
        tag,
        remote_done: Some(Box::new(move |_, result| {
            result.expect("no error");
            done.fetch_add(1);
        })),
        ..SendMessage::new(from.endpoint(TaskId(to), 0).expect("exists"), SINK, data)
    })
    .expect("valid");
}

fn settle(machine: &Double, contexts: &[Context<Process>]) {
    assert_eq!(machine.run_until_idle(contexts, 40), []);
    for context in contexts {
        assert!(context.is_at_rest());
    }
}

/// Acknowledgement packets of task 0 on node `origin` of `nodes` nodes, of which all others send it a
/// message each before it looks.
fn packets(nodes: usize, line: bool, origin: usize, length: usize) -> u64 {
    let machine = Double::new(nodes, 7);
    if line {
        machine.cut();
    }
    let places: Vec<usize> = (0..nodes).map(|task| (origin + task) % nodes).collect();
    let contexts = contexts(&machine, &places, 1000, Ordered::Fixed);
    let done = Arc::new(AtomicCell::new(0_usize));
    for task in 1..nodes as u32 {
        send(&contexts[task as usize], 0, task, length, &done);
    }
    advancev(&contexts[1..], 3).expect("no error");
    machine.settle();
    settle(&machine, &contexts);
    assert_eq!(done.load(), nodes - 1);
    machine.messages_from(origin)
}

#[test]
fn ak4_one_packet_a_path_acknowledges_every_recipient() {
    for length in [16, EAGER_LIMIT + 1] {
        // A line has one path from its end and two from anywhere else; a ring has two.
        assert_eq!(packets(5, true, 0, length), 1);
        assert_eq!(packets(5, true, 4, length), 1);
        assert_eq!(packets(5, true, 2, length), 2);
        assert_eq!(packets(5, true, 1, length), 2);
        assert_eq!(packets(5, false, 0, length), 2);
        assert_eq!(packets(6, false, 3, length), 2);
        assert_eq!(packets(2, false, 1, length), 1);
    }
}

#[test]
fn ak4_tasks_that_share_a_node_are_reached_by_packets_of_their_own() {
    // Two processes a node: a copy reaches that of the same number.
    let machine = Double::new(3, 5);
    machine.cut();
    let contexts = contexts(&machine, &[0, 1, 1, 2, 2], 1000, Ordered::Fixed);
    let done = Arc::new(AtomicCell::new(0_usize));
    for task in 1..5 {
        send(&contexts[task as usize], 0, task, 16, &done);
    }
    advancev(&contexts[1..], 3).expect("no error");
    machine.settle();
    settle(&machine, &contexts);
    assert_eq!(done.load(), 4);
    assert_eq!(machine.messages_from(0), 2);
}

#[test]
fn ak4_ak5_copies_between_packets_lose_and_double_nothing() {
    let mut copied = 0;
    for seed in 1..100 {
        // Between opposite nodes of the ring there are two ways: flows, but for the copies.
        let machine = Double::new(6, seed);
        machine.reorder();
        if seed % 2 == 0 {
            machine.cut();
        }
        let ordered = match seed % 3 {
            0 => Ordered::Flow,
            _ => Ordered::Fixed,
        };
        let contexts = contexts(&machine, &[0, 1, 2, 3, 4, 5], 3, ordered);
        let done = Arc::new(AtomicCell::new(0_usize));
        let random = Mutex::new(seed);
        let below = |n: u64| {
            let mut random = random.lock();
            *random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (*random >> 33) % n
        };
        let count = 80;
        for tag in 0..count {
            // Long eager messages go both ways.
            let (from, to) = (below(6), below(6));
            let length = [0, 16, 1500, EAGER_LIMIT + 100][below(4) as usize];
            send(&contexts[from as usize], to as u32, tag, length, &done);
            for _ in 0..below(12) {
                machine.step();
            }
            contexts[below(6) as usize].advance(1).expect("no error");
        }
        settle(&machine, &contexts);
        assert_eq!(done.load(), count as usize, "seed {seed}");
        let taken = contexts
            .iter()
            .map(|context| context.ack_stats().expect("not advanced"));
        let counts = taken.fold((0, 0, 0), |sum, stats| {
            let steps = stats.messages + stats.iterations + stats.looked_at;
            (sum.0 + stats.packets, sum.1 + stats.messages, sum.2 + steps)
        });
        assert_eq!(counts.1, u64::from(count));
        assert_eq!(machine.charged(Op::Acknowledge), counts.2);
        copied += counts.1 - counts.0;
    }
    assert!(copied > 1000, "{copied} acknowledgements joined others");
}
