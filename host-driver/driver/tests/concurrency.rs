// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work queue, locks and sleeping of a context, and the matching module, under a model checker: every
//! interleaving of a few threads, up to a bound of preemptions, on the test double of the bus (EP-2, EP-3).
//!
//! Run with `make model-check`: the checker's primitives stand in for the standard library's throughout
//! the driver, and work inside a model only.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gyre_driver::{
    AllocError, BufferRange, BusError, Client, ClientConfig, Communicator, Context, Error,
    Instruction, Messaging, MessagingConfig, Op, Platform, PlatformLock, RangeError, Rank,
    Resources, SameNode, SegmentError, SendImmediate, SharedSegment, TaskId, WakeReason,
};
use gyre_testkit::{Double, Process, config};
use loom::sync::{Condvar, Mutex};
use loom::thread;
// Of no interest to the checker: what it guards is the test's own.
use parking_lot::Mutex as Unchecked;

/// A fault of the platform that the models must notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// Locks exclude no thread.
    OpenLock,
    /// Notifications do not reach the threads that sleep.
    LostNotify,
}

/// The double with locks and sleeping made of the checker's primitives. Its registers and memory change
/// between two of these only.
#[derive(Clone)]
struct Checked {
    process: Process,
    sleep: Arc<Sleep>,
    segments: Arc<Unchecked<BTreeMap<u32, Arc<SegmentState>>>>,
    planted: Planted,
}

#[derive(Default)]
struct Sleep {
    state: Mutex<Sleepers>,
    changed: Condvar,
}

#[derive(Default)]
struct Sleepers {
    count: usize,
    /// Notifications that found a sleeper.
    notified: usize,
}

/// A lock that sleeps while it is taken.
struct CheckedLock {
    taken: Mutex<bool>,
    freed: Condvar,
    open: bool,
}

/// A handle of a shared segment, whose every access is a step of its own.
struct CheckedSegment(Arc<SegmentState>);

struct SegmentState {
    segment: gyre_testkit::Segment,
    access: Mutex<()>,
    lock: CheckedLock,
}

impl SharedSegment for CheckedSegment {
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), RangeError> {
        let _step = self.0.access.lock().expect("no thread panics");
        self.0.segment.read(offset, out)
    }

    fn write(&self, offset: usize, data: &[u8]) -> Result<(), RangeError> {
        let _step = self.0.access.lock().expect("no thread panics");
        self.0.segment.write(offset, data)
    }
}

impl PlatformLock for CheckedSegment {
    fn lock(&self) {
        self.0.lock.lock();
    }

    fn trylock(&self) -> bool {
        self.0.lock.trylock()
    }

    fn unlock(&self) {
        self.0.lock.unlock();
    }
}

impl Platform for Checked {
    type Buffer = gyre_testkit::Memory;
    type Lock = CheckedLock;
    type Segment = CheckedSegment;

    fn read_reg(&self, address: u64) -> Result<u64, BusError> {
        self.process.read_reg(address)
    }

    /// The effects of a write are complete when it returns, and wake sleeping threads.
    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        let state = self.sleep.state.lock().expect("no thread panics");
        let result = self.process.write_reg(address, value);
        self.process.machine.settle();
        drop(state);
        self.sleep.changed.notify_all();
        result
    }

    fn alloc(&self, bytes: usize, align: usize) -> Result<gyre_testkit::Memory, AllocError> {
        self.process.alloc(bytes, align)
    }

    fn share(&self, number: u32, bytes: usize) -> Result<CheckedSegment, SegmentError> {
        let segment = self.process.share(number, bytes)?;
        let mut segments = self.segments.lock();
        let state = segments.entry(number).or_insert_with(|| {
            Arc::new(SegmentState {
                segment,
                access: Mutex::new(()),
                lock: self.new_lock(),
            })
        });
        Ok(CheckedSegment(Arc::clone(state)))
    }

    fn now_ps(&self) -> u64 {
        self.process.now_ps()
    }

    fn charge(&self, op: Op, count: u64) {
        self.process.charge(op, count);
    }

    fn wait(&self, group: u8, deadline_ps: Option<u64>) -> WakeReason {
        assert_eq!(deadline_ps, None);
        let mut state = self.sleep.state.lock().expect("no thread panics");
        let before = state.notified;
        // With a deadline the double does not sleep.
        while self.process.wait(group, Some(0)) != WakeReason::Wake && state.notified == before {
            state.count += 1;
            state = self.sleep.changed.wait(state).expect("no thread panics");
            state.count -= 1;
        }
        WakeReason::Wake
    }

    fn notify(&self, group: u8) {
        if self.planted == Planted::LostNotify {
            return;
        }
        let mut state = self.sleep.state.lock().expect("no thread panics");
        if state.count > 0 {
            state.notified += 1;
        } else {
            self.process.notify(group);
        }
        drop(state);
        self.sleep.changed.notify_all();
    }

    fn yield_now(&self) {
        thread::yield_now();
    }

    fn new_lock(&self) -> CheckedLock {
        CheckedLock {
            taken: Mutex::new(false),
            freed: Condvar::new(),
            open: self.planted == Planted::OpenLock,
        }
    }
}

impl PlatformLock for CheckedLock {
    fn lock(&self) {
        let mut taken = self.taken.lock().expect("no thread panics");
        while *taken && !self.open {
            taken = self.freed.wait(taken).expect("no thread panics");
        }
        *taken = true;
    }

    fn trylock(&self) -> bool {
        !core::mem::replace(&mut *self.taken.lock().expect("no thread panics"), true)
    }

    fn unlock(&self) {
        let held = core::mem::replace(&mut *self.taken.lock().expect("no thread panics"), false);
        assert!(held || self.open, "unlocks a free lock");
        self.freed.notify_one();
    }
}

/// A context of the only task of a client, on one node.
fn context(planted: Planted) -> Context<Checked> {
    let machine = Double::new(1, 1);
    let tasks = machine.tasks(&[0]);
    let resources = Resources {
        injection_ring: 4096,
        reception_ring: 4096,
        ..Resources::default()
    };
    let platform = Checked {
        process: machine.process(0),
        sleep: Arc::default(),
        segments: Arc::default(),
        planted,
    };
    Client::create(&platform, config(&tasks, 0, resources))
        .and_then(|client| client.create_context(0))
        .expect("the double has the resources")
}

/// A context of each of the two tasks of a client, both on one node, whose messages go through shared
/// memory.
fn neighbours(planted: Planted) -> [Context<Checked>; 2] {
    let machine = Double::new(1, 1);
    let tasks = machine.tasks(&[0, 0]);
    let resources = Resources {
        injection_ring: 4096,
        reception_ring: 4096,
        shared_ring: 4096,
        ..Resources::default()
    };
    let platform = Checked {
        process: machine.process(0),
        sleep: Arc::default(),
        segments: Arc::default(),
        planted,
    };
    [0, 1].map(|task| {
        let config = ClientConfig {
            same_node: SameNode::SharedMemory,
            ..config(&tasks, task, resources)
        };
        Client::create(&platform, config)
            .and_then(|client| client.create_context(0))
            .expect("the double has the resources")
    })
}

/// Checks every interleaving with at most `preemptions` preemptions; there must be some.
fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let count = count.load(Ordering::Relaxed);
    println!("{count} interleavings");
    assert!(count > 4, "only {count} interleavings");
}

/// The calls that have run: (thread, number).
type Calls = Arc<Unchecked<Vec<(u32, u32)>>>;

fn post(context: &Context<Checked>, calls: &Calls, thread: u32, number: u32) -> Result<(), Error> {
    let calls = Arc::clone(calls);
    context.post(Instruction::Call(Box::new(move |_| {
        calls.lock().push((thread, number));
    })))
}

/// Advances and sleeps until `done`.
fn advance_until(context: &Context<Checked>, done: impl Fn() -> bool) {
    loop {
        context.advance(1).expect("no error");
        if done() {
            return;
        }
        context.wait(None).expect("not destroyed");
    }
}

/// Two threads post while the first advances and sleeps: nothing is lost, the calls of a thread run in its
/// order, and no wake-up is missed (a missed one would be a deadlock, which the checker reports).
fn two_post_one_advances(planted: Planted) {
    let context = context(planted);
    let calls = Calls::default();
    let posters: Vec<_> = [(1, 2), (2, 1)]
        .into_iter()
        .map(|(number, count)| {
            let (context, calls) = (context.clone(), Arc::clone(&calls));
            thread::spawn(move || {
                for call in 0..count {
                    post(&context, &calls, number, call).expect("not destroyed");
                }
            })
        })
        .collect();
    advance_until(&context, || calls.lock().len() == 3);
    for poster in posters {
        poster.join().expect("no thread panics");
    }
    let calls = calls.lock();
    let of = |thread| calls.iter().filter(move |call| call.0 == thread);
    assert!(of(1).map(|call| call.1).eq([0, 1]));
    assert!(of(2).map(|call| call.1).eq([0]));
    assert!(context.advance(1).expect("no error").is_idle());
}

#[test]
fn ep3_threads_post_while_another_advances_and_sleeps() {
    check(2, || two_post_one_advances(Planted::Nothing));
}

#[test]
#[should_panic(expected = "deadlock")]
fn ep3_a_lost_notification_is_found() {
    check(2, || two_post_one_advances(Planted::LostNotify));
}

/// A thread sends immediate messages, which need the engine that the other advances with.
#[test]
fn ep4_a_thread_sends_immediately_while_another_advances() {
    check(2, || {
        const HELLO: u8 = 3;
        let context = context(Planted::Nothing);
        let tags = Arc::new(Unchecked::new(Vec::new()));
        let log = Arc::clone(&tags);
        let dispatch = move |_: &Context<Checked>, arrival: &gyre_driver::Arrival<'_>| {
            log.lock().push(arrival.tag);
            gyre_driver::Receive::Consumed
        };
        context
            .set_dispatch(HELLO, Box::new(dispatch))
            .expect("first use");
        let destination = context.endpoint(TaskId(0), 0).expect("exists");
        let sender = context.clone();
        let sends = thread::spawn(move || {
            for tag in 0..2 {
                let message = SendImmediate {
                    tag,
                    ..SendImmediate::new(destination, HELLO)
                };
                sender.send_immediate(&message).expect("valid");
            }
        });
        advance_until(&context, || tags.lock().len() == 2);
        sends.join().expect("no thread panics");
        assert_eq!(*tags.lock(), [0, 1]);
        advance_until(&context, || context.is_at_rest());
    });
}

/// Two threads advance a context, whichever gets the lock, and each sleeps until its own call has run.
fn two_wait_for_what_either_runs(
    wait: impl Fn(&Context<Checked>, u64) -> Result<WakeReason, Error> + Copy + 'static,
) {
    let context = context(Planted::Nothing);
    let calls = Calls::default();
    let work = |number: u32| {
        let (context, calls) = (context.clone(), Arc::clone(&calls));
        move || {
            post(&context, &calls, number, 0).expect("not destroyed");
            loop {
                let seen = context.epoch();
                if calls.lock().contains(&(number, 0)) {
                    return;
                }
                if let Some(context) = context.try_lock() {
                    context.advance(1).expect("never busy under the lock");
                } else {
                    wait(&context, seen).expect("not destroyed");
                    // There may be work, and the one who has the lock does it.
                    thread::yield_now();
                }
            }
        }
    };
    let other = thread::spawn(work(1));
    work(0)();
    other.join().expect("no thread panics");
}

#[test]
fn ep3_no_callback_is_missed_before_a_thread_sleeps() {
    check(2, || {
        two_wait_for_what_either_runs(|context, seen| context.wait_since(seen, None));
    });
}

#[test]
#[should_panic(expected = "deadlock")]
fn ep3_a_sleep_that_does_not_look_at_the_epoch_is_found() {
    check(2, || {
        two_wait_for_what_either_runs(|context, _| context.wait(None));
    });
}

/// Two threads share a context: each takes the lock to advance.
fn two_share_by_lock(planted: Planted) {
    let context = context(planted);
    let calls = Calls::default();
    let work = |number: u32| {
        let (context, calls) = (context.clone(), Arc::clone(&calls));
        move || {
            post(&context, &calls, number, 0).expect("not destroyed");
            let locked = context.lock();
            locked.advance(1).expect("never busy under the lock");
            drop(locked);
            assert!(calls.lock().contains(&(number, 0)), "own work is done");
        }
    };
    let other = thread::spawn(work(1));
    work(0)();
    other.join().expect("no thread panics");
    assert_eq!(calls.lock().len(), 2);
}

#[test]
fn ep3_the_lock_keeps_threads_that_advance_apart() {
    check(2, || two_share_by_lock(Planted::Nothing));
}

#[test]
#[should_panic(expected = "never busy under the lock")]
fn ep3_a_lock_that_lets_everybody_in_is_found() {
    check(2, || two_share_by_lock(Planted::OpenLock));
}

#[test]
fn ep3_try_lock_takes_a_free_lock_only() {
    check(2, || {
        let context = context(Planted::Nothing);
        let inside = Arc::new(AtomicUsize::new(0));
        let taken = Arc::new(AtomicUsize::new(0));
        let work = || {
            let (context, inside, taken) =
                (context.clone(), Arc::clone(&inside), Arc::clone(&taken));
            move || {
                if let Some(context) = context.try_lock() {
                    assert_eq!(
                        inside.swap(1, Ordering::Relaxed),
                        0,
                        "two threads hold the lock"
                    );
                    context.advance(1).expect("never busy under the lock");
                    assert_eq!(inside.swap(0, Ordering::Relaxed), 1);
                    taken.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        let other = thread::spawn(work());
        work()();
        other.join().expect("no thread panics");
        assert!(
            taken.load(Ordering::Relaxed) >= 1,
            "the first to come finds it free"
        );
        assert!(context.try_lock().is_some());
    });
}

#[test]
fn ep3_a_post_against_destroy_is_refused_or_reported() {
    check(3, || {
        let context = context(Planted::Nothing);
        let calls = Calls::default();
        let poster = {
            let (context, calls) = (context.clone(), Arc::clone(&calls));
            thread::spawn(move || post(&context, &calls, 1, 0))
        };
        let destroyed = context.destroy();
        match poster.join().expect("no thread panics") {
            // Accepted: destroy says that it has given it up.
            Ok(()) => match destroyed {
                Err(Error::WorkLeft { posted: 1, .. }) => {}
                Ok(()) => panic!("destroy lost an accepted post"),
                Err(error) => panic!("{error}"),
            },
            Err(Error::Destroyed) => assert_eq!(destroyed, Ok(())),
            Err(error) => panic!("{error}"),
        }
    });
}

#[test]
fn ep3_destroy_against_advance_lets_one_of_them_in() {
    check(3, || {
        let context = context(Planted::Nothing);
        let other = {
            let context = context.clone();
            thread::spawn(move || context.advance(1))
        };
        let destroyed = context.destroy();
        let advanced = other.join().expect("no thread panics");
        match destroyed {
            Ok(()) => assert!(matches!(
                advanced,
                Ok(_) | Err(Error::Busy | Error::Destroyed)
            )),
            Err(error) => {
                assert_eq!(error, Error::Busy);
                assert!(advanced.is_ok());
                assert_eq!(context.destroy(), Ok(()));
            }
        }
    });
}

#[test]
fn ep3_destroy_wakes_all_threads_that_sleep() {
    check(2, || {
        let context = context(Planted::Nothing);
        context.advance(1).expect("no error");
        let sleepers: Vec<_> = (0..2)
            .map(|_| {
                let context = context.clone();
                thread::spawn(move || context.wait(None))
            })
            .collect();
        context.destroy().expect("at rest");
        for sleeper in sleepers {
            assert_eq!(
                sleeper.join().expect("no thread panics"),
                Err(Error::Destroyed)
            );
        }
    });
}

/// The ring in shared memory between two tasks is full: the sender sleeps until there is room, the receiver
/// until there is something in it.
fn a_full_ring_between_two_tasks(planted: Planted) {
    const SINK: u8 = 3;
    /// More than a ring of 4 KiB holds.
    const MESSAGES: usize = 8;
    let [sender, receiver] = neighbours(planted);
    let received = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&received);
    let dispatch = move |_: &Context<Checked>, _: &gyre_driver::Arrival<'_>| {
        count.fetch_add(1, Ordering::Relaxed);
        gyre_driver::Receive::Consumed
    };
    receiver
        .set_dispatch(SINK, Box::new(dispatch))
        .expect("first use");
    let destination = sender.endpoint(TaskId(1), 0).expect("exists");
    for _ in 0..MESSAGES {
        sender
            .send_immediate(&SendImmediate {
                data: &[1; 512],
                ..SendImmediate::new(destination, SINK)
            })
            .expect("valid");
    }
    sender.advance(1).expect("no error");
    assert!(!sender.is_at_rest(), "the ring is full");
    let sends = thread::spawn(move || advance_until(&sender, || sender.is_at_rest()));
    advance_until(&receiver, || received.load(Ordering::Relaxed) == MESSAGES);
    sends.join().expect("no thread panics");
}

#[test]
fn hw7_a_sender_that_waits_for_room_in_shared_memory_is_woken() {
    check(2, || a_full_ring_between_two_tasks(Planted::Nothing));
}

#[test]
#[should_panic(expected = "deadlock")]
fn hw7_a_lost_notification_between_tasks_is_found() {
    check(2, || a_full_ring_between_two_tasks(Planted::LostNotify));
}

#[test]
fn ct1_threads_share_a_module_while_another_advances() {
    check(2, || {
        let context = context(Planted::Nothing);
        let module = Messaging::create(&context, MessagingConfig::new(1)).expect("first use");
        let received = Calls::default();
        let receiver = {
            let (module, received) = (module.clone(), Arc::clone(&received));
            thread::spawn(move || {
                for number in 0..2 {
                    let received = Arc::clone(&received);
                    let done = move |_: &Context<Checked>, result: Result<_, Error>| {
                        let result: gyre_driver::matching::Received = result.expect("received");
                        received.lock().push((number, result.tag));
                    };
                    module
                        .receive(
                            None,
                            None,
                            &Communicator::WORLD,
                            BufferRange::empty(),
                            Some(Box::new(done)),
                        )
                        .expect("valid");
                }
            })
        };
        let sender = {
            let module = module.clone();
            thread::spawn(move || {
                for tag in 0..2 {
                    module
                        .send(
                            Rank(0),
                            tag,
                            &Communicator::WORLD,
                            BufferRange::empty(),
                            None,
                        )
                        .expect("valid");
                }
            })
        };
        advance_until(&context, || received.lock().len() == 2);
        sender.join().expect("no thread panics");
        receiver.join().expect("no thread panics");
        // Its memory is given back: there are many interleavings.
        advance_until(&context, || context.is_at_rest());
        context.destroy().expect("at rest");
        // The messages in the order sent to the receives in the order posted; these may end in any order.
        let mut received = received.lock().clone();
        received.sort_unstable();
        assert_eq!(received, [(0, 0), (1, 1)]);
    });
}

#[test]
fn ct3_a_receive_against_its_rts_gets_the_message_once() {
    check(2, || {
        let context = context(Planted::Nothing);
        let config = MessagingConfig {
            switch_over: 0,
            ..MessagingConfig::new(1)
        };
        let module = Messaging::create(&context, config).expect("first use");
        let received = Calls::default();
        let data = context.platform().process.buffer(&[7; 600]);
        let into = context.platform().process.buffer(&[0; 600]);
        module
            .send(Rank(0), 5, &Communicator::WORLD, data, None)
            .expect("valid");
        let receiver = {
            let (module, received, into) = (module.clone(), Arc::clone(&received), into.clone());
            thread::spawn(move || {
                let done = move |_: &Context<Checked>, result: Result<_, Error>| {
                    let result: gyre_driver::matching::Received = result.expect("received");
                    received.lock().push((0, result.tag));
                };
                module
                    .receive(None, None, &Communicator::WORLD, into, Some(Box::new(done)))
                    .expect("valid");
            })
        };
        advance_until(&context, || !received.lock().is_empty());
        receiver.join().expect("no thread panics");
        assert_eq!(*received.lock(), [(0, 5)]);
        let mut bytes = [0; 600];
        into.read(0, &mut bytes).expect("inside");
        assert_eq!(bytes, [7; 600]);
        let stats = module.stats();
        assert_eq!(
            (stats.posted, stats.pending, stats.peak_held_bytes),
            (0, 0, 0)
        );
    });
}

#[test]
fn ct3_a_receive_that_is_about_to_end_is_no_rest_for_another_thread() {
    check(2, || {
        let context = context(Planted::Nothing);
        let module = Messaging::create(&context, MessagingConfig::new(1)).expect("first use");
        let world = &Communicator::WORLD;
        module
            .send(Rank(0), 5, world, BufferRange::empty(), None)
            .expect("valid");
        advance_until(&context, || {
            module.stats().pending == 1 && context.is_at_rest()
        });
        let received = Calls::default();
        let noted = Arc::clone(&received);
        let done = move |_: &Context<Checked>, result: Result<_, Error>| {
            let result: gyre_driver::matching::Received = result.expect("received");
            noted.lock().push((0, result.tag));
        };
        let into = BufferRange::empty();
        module
            .receive(None, None, world, into, Some(Box::new(done)))
            .expect("valid");
        let looker = {
            let (context, received) = (context.clone(), Arc::clone(&received));
            thread::spawn(move || {
                if context.is_at_rest() {
                    assert_eq!(*received.lock(), [(0, 5)]);
                }
            })
        };
        advance_until(&context, || !received.lock().is_empty());
        looker.join().expect("no thread panics");
        // Its memory is given back: there are many interleavings.
        advance_until(&context, || context.is_at_rest());
        context.destroy().expect("at rest");
    });
}
