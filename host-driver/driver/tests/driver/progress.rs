// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions that every turn of `advance` calls, for what no event of the node announces (EP-3, HW-7).

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{Context, Error, Instruction, Op, Platform, Resources, SharedSegment};
use gyre_testkit::{Double, Process};
use parking_lot::Mutex;

/// A number of a segment that is no client's.
const SEGMENT: u32 = 1 << 30;

/// Two tasks on one node.
fn pair(machine: &Double) -> Vec<Context<Process>> {
    machine.contexts(&[0, 0], Resources::default())
}

#[test]
fn ep3_hw7_a_turn_function_sees_writes_from_before_a_signal() {
    let machine = Double::new(1, 1);
    let contexts = pair(&machine);
    let segment = |context: &Context<Process>| {
        let segment = context.platform().share(SEGMENT, 64);
        segment.expect("there is memory")
    };
    let (theirs, ours) = (segment(&contexts[1]), segment(&contexts[0]));
    let seen = Arc::new(AtomicCell::new(0_u8));
    let last = Arc::clone(&seen);
    contexts[0].add_progress(Box::new(move |_| {
        let mut byte = [0];
        ours.read(0, &mut byte).expect("inside");
        last.swap(byte[0]) != byte[0]
    }));
    // The neighbour writes when this task sleeps, which nothing else would wake.
    let (neighbour, group) = (contexts[1].clone(), contexts[0].query().wake_group);
    machine.when_asleep(move || {
        theirs.write(0, &[7]).expect("inside");
        neighbour.platform().notify(group);
    });
    let woken = contexts[0].advance_until(|| seen.load() == 7);
    woken.expect("no error");
    assert!(contexts[0].is_at_rest());
}

#[test]
fn ep3_a_turn_function_reports_progress_and_may_post() {
    let machine = Double::new(1, 1);
    let contexts = pair(&machine);
    let turns = Arc::new(AtomicCell::new(0_usize));
    let calls = Arc::new(Mutex::new(Vec::new()));
    let (turn, called) = (Arc::clone(&turns), Arc::clone(&calls));
    contexts[0].add_progress(Box::new(move |context| {
        turn.fetch_add(1);
        let now = turn.load();
        if now != 2 {
            return false;
        }
        assert_eq!(
            context.advance(1).map(|_| ()),
            Err(Error::AdvanceInCallback)
        );
        let called = Arc::clone(&called);
        let call = move |_: &Context<Process>| called.lock().push(now);
        let posted = context.post(Instruction::Call(Box::new(call)));
        posted.expect("not destroyed");
        // What is added meanwhile is called from the next turn on.
        context.add_progress(Box::new(|_| true));
        true
    }));
    assert!(contexts[0].advance(1).expect("no error").is_idle());
    let second = contexts[0].advance(1).expect("no error");
    // The function, and the call that it has posted, in the same turn.
    assert_eq!((second.callbacks, second.instructions), (2, 1));
    assert_eq!(*calls.lock(), [2]);
    let third = contexts[0].advance(1).expect("no error");
    assert_eq!((turns.load(), third.callbacks), (3, 1));
    // Those of another context are its own.
    assert!(contexts[1].advance(1).expect("no error").is_idle());
    assert_eq!(turns.load(), 3);
}

#[test]
fn ep2_advance_looks_again_until_something_has_happened() {
    let machine = Double::new(1, 1);
    let contexts = pair(&machine);
    let looks = |maximum: usize| {
        let before = machine.charged(Op::Turn);
        let progress = contexts[0].advance(maximum).expect("no error");
        (machine.charged(Op::Turn) - before, progress.is_idle())
    };
    let one = looks(1).0;
    assert_eq!(looks(0), (one, true));
    assert_eq!(looks(5), (5 * one, true));
    // Two calls, the second posted by the first: each is something.
    let call = |context: &Context<Process>| {
        let posted = context.post(Instruction::Call(Box::new(|_| ())));
        posted.expect("not destroyed");
    };
    let posted = contexts[0].post(Instruction::Call(Box::new(call)));
    posted.expect("not destroyed");
    assert_eq!(looks(5), (one, false));
    // What is found at the third look is found.
    let turns = Arc::new(AtomicCell::new(0_usize));
    contexts[0].add_progress(Box::new(move |_| {
        turns.fetch_add(1);
        turns.load() == 3
    }));
    assert_eq!(looks(5), (3 * one, false));
}
