// SPDX-License-Identifier: MIT OR Apache-2.0
//! Host threads as threads of the double's nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use gyre_driver::{Platform, PlatformLock, SharedSegment, WakeReason};

use gyre_testkit::{Double, DoubleLock, Memory, Process, Segment};

#[test]
fn host_threads_may_share_everything() {
    fn shared<T: Send + Sync>() {}
    shared::<Double>();
    shared::<Process>();
    shared::<Memory>();
    shared::<Segment>();
    shared::<DoubleLock>();
}

#[test]
fn a_lock_lets_one_host_thread_in() {
    const TURNS: u32 = 2_000;
    let machine = Double::new(1, 1);
    let segment = machine.process(0).share(1, 4).expect("it fits");
    thread::scope(|scope| {
        for _ in 0..3 {
            let segment = machine.process(0).share(1, 4).expect("it fits");
            scope.spawn(move || {
                for _ in 0..TURNS {
                    segment.lock();
                    let [count] = segment.read_words(0).expect("inside");
                    thread::yield_now();
                    segment.write_words(0, [count + 1]).expect("inside");
                    segment.unlock();
                }
            });
        }
        loop {
            segment.lock();
            let [count] = segment.read_words(0).expect("inside");
            segment.unlock();
            if count == 3 * TURNS {
                break;
            }
            thread::yield_now();
        }
    });
}

#[test]
#[should_panic(expected = "waits for ever for a lock")]
fn a_thread_that_locks_twice_panics() {
    let lock = Double::new(1, 1).process(0).new_lock();
    lock.lock();
    lock.lock();
}

#[test]
fn a_thread_that_sleeps_is_woken_by_another() {
    let machine = Double::new(2, 1);
    let (turns, rounds) = (Arc::new(AtomicU64::new(0)), 500);
    thread::scope(|scope| {
        for node in 0..2_usize {
            let (process, turns) = (machine.process(node), Arc::clone(&turns));
            let other = machine.process(1 - node);
            scope.spawn(move || {
                for round in 0..rounds {
                    // The other side answers each round once.
                    if node == 0 {
                        other.notify(0);
                        assert_eq!(process.wait(0, None), WakeReason::Wake);
                        assert_eq!(turns.load(Ordering::SeqCst), round + 1);
                    } else {
                        assert_eq!(process.wait(0, None), WakeReason::Wake);
                        turns.fetch_add(1, Ordering::SeqCst);
                        other.notify(0);
                    }
                }
            });
        }
    });
    assert_eq!(turns.load(Ordering::SeqCst), rounds);
}
