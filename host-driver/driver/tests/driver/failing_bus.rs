// SPDX-License-Identifier: MIT OR Apache-2.0
//! A register bus and an allocator that refuse an access, at every point of what the driver does with them:
//! what cannot be opened leaves nothing behind, and what has been posted ends once, well or not.

mod instructions;
mod opening;

use std::sync::Arc;

use gyre_driver::{
    AckConfig, Arrival, Client, ClientConfig, Context, DoneFn, Error, Ordered, Receive, Resources,
    SameNode, Together,
};
use gyre_testkit::{Double, Process, config, small};
use parking_lot::Mutex;

const SINK: u8 = 5;
/// Longest message of the tests that goes eagerly.
const EAGER: usize = 1000;
/// Turns in which nothing happens, after which nothing will.
const IDLE: usize = 60;

type Change = fn(ClientConfig) -> ClientConfig;

fn few() -> Resources {
    Resources {
        shared_ring: 4096,
        counters: 8,
        ..small()
    }
}

/// A configuration of each kind that takes resources of its own.
fn kinds() -> [(&'static str, Change); 5] {
    [
        ("plain", |config| config),
        ("shared memory", |config| ClientConfig {
            same_node: SameNode::SharedMemory,
            ..config
        }),
        ("flows", |config| ClientConfig {
            ordered: Ordered::Flow,
            ..config
        }),
        ("shared injection", |config| ClientConfig {
            resources: Resources {
                shared_injection: true,
                injection_per_context: 2,
                ..config.resources
            },
            ..config
        }),
        ("path acknowledgements", |mut config| {
            config.ack.rules[0].together = Together::Path;
            config
        }),
    ]
}

/// The client of `task`, of which task `t` is on node `t`.
fn client(machine: &Double, task: u32, change: Change) -> Result<Client<Process>, Error> {
    let tasks = machine.tasks(&[0, 1]);
    let config = ClientConfig {
        eager_limit: EAGER,
        ack: AckConfig {
            threshold: 1,
            ..AckConfig::default()
        },
        ..config(&tasks, task, few())
    };
    Client::create(&machine.process(task as usize), change(config))
}

type Log = Arc<Mutex<Vec<Result<(), Error>>>>;

fn into(log: &Log) -> Option<DoneFn<Process>> {
    let log = Arc::clone(log);
    Some(Box::new(move |_, result| log.lock().push(result)))
}

/// Messages that have come to a context: how many were taken, and the ends of their receives.
#[derive(Default, Clone)]
struct Arrivals {
    taken: Arc<Mutex<usize>>,
    ended: Log,
}

fn sink(context: &Context<Process>) -> Arrivals {
    let arrivals = Arrivals::default();
    let of = arrivals.clone();
    let dispatch = move |context: &Context<Process>, arrival: &Arrival<'_>| {
        *of.taken.lock() += 1;
        if arrival.immediate.is_some() {
            of.ended.lock().push(Ok(()));
            return Receive::Consumed;
        }
        let into = context.platform().buffer(&vec![0; arrival.length]);
        Receive::Into {
            into,
            done: self::into(&of.ended),
        }
    };
    let set = context.set_dispatch(SINK, Box::new(dispatch));
    set.expect("first use");
    arrivals
}

/// Advances contexts until nothing happens, whatever errors they report.
fn settle(machine: &Double, contexts: &[Context<Process>]) {
    let mut idle = 0;
    while idle < IDLE {
        let mut moved = machine.step();
        for context in contexts {
            // Errors are looked for when a thread wakes.
            if idle % 2 == 1 {
                let _ = context.wait(Some(1));
            }
            moved |= context.advance(1).is_ok_and(|progress| !progress.is_idle());
        }
        idle = if moved { 0 } else { idle + 1 };
    }
}
