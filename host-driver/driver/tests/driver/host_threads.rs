// SPDX-License-Identifier: MIT OR Apache-2.0
//! Host threads share contexts: some post, others advance under the context's lock (EP-2, EP-3).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::matching::ReceiveDone;
use gyre_driver::{
    Arrival, CallFn, Client, Context, DispatchFn, DoneFn, Error, Instruction, MemoryRegion,
    Messaging, Platform, ProgressFn, Receive, Resources, SendMessage, TaskId,
};
use gyre_testkit::{Double, Process, config};

const DATA: u8 = 9;
/// Threads that post, and those that advance each context.
const POSTERS: usize = 3;
const ADVANCERS: usize = 2;
/// Messages of each thread that posts.
const MESSAGES: usize = 120;
/// In one packet, in several, and fetched by the receiver.
const LENGTHS: [usize; 4] = [0, 300, 1500, 9000];

fn travels<T: Send>() {}
fn is_shared<T: Send + Sync>() {}

/// Does not compile for any platform where it does not hold for all.
fn handles_are_shared_and_callbacks_travel<P: Platform>() {
    is_shared::<P>();
    is_shared::<P::Buffer>();
    is_shared::<P::Lock>();
    is_shared::<P::Segment>();
    is_shared::<Client<P>>();
    is_shared::<Context<P>>();
    is_shared::<MemoryRegion<P>>();
    is_shared::<Messaging<P>>();
    travels::<DoneFn<P>>();
    travels::<CallFn<P>>();
    travels::<DispatchFn<P>>();
    travels::<ProgressFn<P>>();
    travels::<ReceiveDone<P>>();
    travels::<Instruction<P>>();
}

#[test]
fn ep2_ep3_handles_are_sync_and_callbacks_are_send() {
    handles_are_shared_and_callbacks_travel::<Process>();
}

/// How often each of a row of callbacks has run.
#[derive(Clone)]
struct Tally(Arc<[AtomicUsize]>);

impl Tally {
    fn new() -> Self {
        Self(
            (0..POSTERS * MESSAGES)
                .map(|_| AtomicUsize::new(0))
                .collect(),
        )
    }

    fn count(&self, number: usize) {
        self.0[number].fetch_add(1, Ordering::AcqRel);
    }

    fn is_complete(&self) -> bool {
        self.0.iter().all(|n| n.load(Ordering::Acquire) > 0)
    }

    fn assert_once(&self, what: &str) {
        for (number, times) in self.0.iter().enumerate() {
            assert_eq!(times.load(Ordering::Acquire), 1, "{what} {number}");
        }
    }
}

/// A context with what its callbacks have done.
#[derive(Clone)]
struct Shared {
    context: Context<Process>,
    /// The thread that advances.
    holder: Arc<AtomicCell<Option<ThreadId>>>,
    calls: Tally,
    local: Tally,
    remote: Tally,
    received: Tally,
}

impl Shared {
    fn open(platform: &Process, tasks: &Arc<gyre_driver::TaskMap>, task: u32) -> Self {
        let client = Client::create(platform, config(tasks, task, Resources::default()));
        let context = client.and_then(|client| client.create_context(0));
        Self {
            context: context.expect("the double has the resources"),
            holder: Arc::default(),
            calls: Tally::new(),
            local: Tally::new(),
            remote: Tally::new(),
            received: Tally::new(),
        }
    }

    /// A callback runs: on the thread that advances.
    fn noted(&self, tally: &Tally, number: usize) {
        assert_eq!(self.holder.load(), Some(thread::current().id()));
        tally.count(number);
    }

    /// Counts the messages that come, each with its data.
    fn receive(&self) -> Result<(), Error> {
        let this = self.clone();
        let dispatch = move |context: &Context<Process>, arrival: &Arrival<'_>| {
            let number = arrival.tag as usize;
            let expected = vec![number as u8; arrival.length];
            if let Some(data) = arrival.immediate {
                assert_eq!(data, expected);
                this.noted(&this.received, number);
                return Receive::Consumed;
            }
            let into = context.platform().buffer(&vec![0; arrival.length]);
            let (copy, this) = (into.clone(), this.clone());
            Receive::Into {
                into,
                done: Some(Box::new(move |_, result| {
                    result.expect("it fits");
                    let mut data = vec![0; expected.len()];
                    copy.read(0, &mut data).expect("inside");
                    assert_eq!(data, expected);
                    this.noted(&this.received, number);
                })),
            }
        };
        self.context.set_dispatch(DATA, Box::new(dispatch))
    }

    /// Posts the messages of one thread to task 1, and a call with each.
    fn post(&self, poster: usize) -> Result<(), Error> {
        let to = self.context.endpoint(TaskId(1), 0)?;
        for number in poster * MESSAGES..(poster + 1) * MESSAGES {
            let data = vec![number as u8; LENGTHS[number % LENGTHS.len()]];
            let (calls, local, remote) = (self.clone(), self.clone(), self.clone());
            self.context.send(SendMessage {
                tag: number as u32,
                local_done: Some(Box::new(move |_, result| {
                    result.expect("valid");
                    local.noted(&local.local, number);
                })),
                remote_done: Some(Box::new(move |_, result| {
                    result.expect("valid");
                    remote.noted(&remote.remote, number);
                })),
                ..SendMessage::new(to, DATA, self.context.platform().buffer(&data))
            })?;
            self.context.post(Instruction::Call(Box::new(move |_| {
                calls.noted(&calls.calls, number);
            })))?;
        }
        Ok(())
    }

    /// Advances under the lock until `over`.
    fn advance_until(&self, over: impl Fn() -> bool) {
        while !over() {
            let locked = self.context.lock();
            self.holder.store(Some(thread::current().id()));
            let advanced = locked.advance(1);
            self.holder.store(None);
            drop(locked);
            advanced.expect("nobody else advances");
            // Packets move.
            self.context.platform().yield_now();
        }
    }
}

#[test]
fn ep2_ep3_lock_holders_run_each_callback_of_other_threads_once() {
    for seed in 1..6 {
        let machine = Double::new(2, seed);
        machine.reorder();
        let tasks = machine.tasks(&[0, 1]);
        let open = |task| Shared::open(&machine.process(task as usize), &tasks, task);
        let ends: [Shared; 2] = [0, 1].map(open);
        let [sender, receiver] = &ends;
        receiver.receive().expect("first use");
        let over = || {
            let tallies = [&sender.calls, &sender.local, &sender.remote];
            tallies.iter().all(|tally| tally.is_complete()) && receiver.received.is_complete()
        };
        thread::scope(|scope| {
            for poster in 0..POSTERS {
                scope.spawn(move || sender.post(poster).expect("valid"));
            }
            for end in &ends {
                for _ in 0..ADVANCERS {
                    scope.spawn(move || end.advance_until(over));
                }
            }
        });
        sender.calls.assert_once("call");
        sender.local.assert_once("local callback of message");
        sender.remote.assert_once("remote callback of message");
        receiver.received.assert_once("message");
        for end in &ends {
            end.advance_until(|| end.context.is_at_rest());
            end.context.destroy().expect("at rest");
        }
    }
}
