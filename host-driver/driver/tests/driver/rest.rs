// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts at rest: a thread may stop advancing one without delaying others (EP-3).

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{
    AckConfig, Arrival, BufferRange, Client, ClientConfig, CoalescingRule, Context, Error, Receive,
    Resources, SendImmediate, SendMessage, TaskId,
};
use gyre_testkit::{Double, Process, config};

const ASK: u8 = 3;

/// Two contexts whose dispatchers make the packet when a message arrives.
fn pair(machine: &Double) -> Vec<Context<Process>> {
    let ack = AckConfig {
        rules: vec![CoalescingRule {
            minimum_group: 1,
            ..CoalescingRule::default()
        }],
        ..AckConfig::default()
    };
    with_ack(machine, &ack)
}

/// Two contexts with these dispatchers.
fn with_ack(machine: &Double, ack: &AckConfig) -> Vec<Context<Process>> {
    let tasks = machine.tasks(&[0, 1]);
    let context = |task| {
        let config = ClientConfig {
            ack: ack.clone(),
            ..config(&tasks, task, Resources::default())
        };
        let client = Client::create(&machine.process(task as usize), config);
        client.and_then(|client| client.create_context(0))
    };
    let contexts = (0..2).map(context).collect::<Result<_, _>>();
    contexts.expect("the double has the resources")
}

/// Task 1 acknowledges requests of task 0 in a callback. Returns the number of acknowledgements.
fn ask(machine: &Double, contexts: &[Context<Process>]) -> Arc<AtomicCell<u32>> {
    let answer = |context: &Context<Process>, arrival: &Arrival<'_>| {
        let posted = context.acknowledge(arrival.origin, arrival.tag);
        posted.expect("not destroyed");
        Receive::Consumed
    };
    contexts[1]
        .set_dispatch(ASK, Box::new(answer))
        .expect("first use");
    let target = contexts[0].endpoint(TaskId(1), 0).expect("exists");
    let acknowledged = Arc::new(AtomicCell::new(0_u32));
    let count = Arc::clone(&acknowledged);
    let done = move |_: &Context<Process>, result: Result<(), Error>| {
        result.expect("acknowledged");
        count.fetch_add(1);
    };
    let cookie = contexts[0]
        .expect_ack(target, Box::new(done))
        .expect("exists");
    let ask = SendImmediate {
        tag: cookie,
        ..SendImmediate::new(target, ASK)
    };
    contexts[0].send_immediate(&ask).expect("valid");
    machine.settle();
    acknowledged
}

#[test]
fn ep3_ak4_a_context_with_a_held_acknowledgement_is_not_at_rest() {
    let machine = Double::new(2, 1);
    let contexts = pair(&machine);
    let acknowledged = ask(&machine, &contexts);
    // The callback's post runs after the dispatcher's iteration of the same turn.
    contexts[1].advance(1).expect("no error");
    assert!(!contexts[1].is_at_rest());
    // A thread that never sleeps polls untracked completions every 16 turns.
    for _ in 0..20 {
        if contexts[1].is_at_rest() {
            break;
        }
        contexts[1].advance(1).expect("no error");
        machine.settle();
    }
    assert!(contexts[1].is_at_rest());
    // Its thread has stopped: nothing else is needed for the other to go on.
    contexts[0].advance(2).expect("no error");
    assert_eq!(acknowledged.load(), 1);
}

#[test]
fn ep3_ak4_destroy_reports_a_held_acknowledgement() {
    let machine = Double::new(2, 1);
    let contexts = pair(&machine);
    let acknowledged = ask(&machine, &contexts);
    contexts[1].advance(1).expect("no error");
    let left = Error::WorkLeft {
        posted: 0,
        waiting: 0,
        in_flight: 0,
        arriving: 0,
        operations: 1,
    };
    assert_eq!(contexts[1].destroy(), Err(left));
    contexts[0].advance(2).expect("no error");
    assert_eq!(acknowledged.load(), 0);
}

#[test]
fn ep3_ak5_destroy_sends_the_pending_acknowledgements() {
    let machine = Double::new(2, 1);
    let contexts = with_ack(&machine, &AckConfig::default());
    contexts[1]
        .set_dispatch(ASK, Box::new(|_, _| Receive::Consumed))
        .expect("first use");
    let told = Arc::new(AtomicCell::new(None));
    let result = Arc::clone(&told);
    let target = contexts[0].endpoint(TaskId(1), 0).expect("exists");
    contexts[0]
        .send(SendMessage {
            remote_done: Some(Box::new(move |_, outcome: Result<(), Error>| {
                result.store(Some(outcome.is_ok()));
            })),
            ..SendMessage::new(target, ASK, BufferRange::empty())
        })
        .expect("valid");
    contexts[0].advance(1).expect("no error");
    machine.settle();
    contexts[1].advance(1).expect("no error");
    // It waits for others to the same peer.
    assert_eq!(contexts[1].ack_stats().expect("not advanced").packets, 0);
    assert!(!contexts[1].is_at_rest());
    // The machine goes on meanwhile.
    let moving = machine.clone();
    machine.set_hook(move |_| {
        moving.step();
    });
    let left = contexts[1].destroy();
    machine.clear_hook();
    assert!(matches!(left, Err(Error::WorkLeft { operations: 1, .. })));
    machine.settle();
    contexts[0].advance(1).expect("no error");
    assert_eq!(told.load(), Some(true));
}
