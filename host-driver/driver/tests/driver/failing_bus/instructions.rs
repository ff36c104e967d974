// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything that can be posted.

use gyre_driver::{
    BufferRange, Client, Context, Endpoint, Error, Fence, Get, Instruction, MemoryRegion, Put,
    PutNotify, RegionRights, Rmw, RmwOp, RmwWidth, Routing, SendImmediate, SendMessage, TaskId,
};
use gyre_testkit::{Double, Memory, Process, Refusal};

use super::{Arrivals, Change, EAGER, Log, SINK, client, into, kinds, settle, sink};

/// Two contexts, and a region of the second.
struct World {
    machine: Double,
    contexts: Vec<Context<Process>>,
    arrivals: Arrivals,
    region: MemoryRegion<Process>,
    window: BufferRange<Memory>,
    _clients: Vec<Client<Process>>,
}

/// Posts an instruction; returns its number of callbacks.
type Post = fn(&World, &Log) -> Result<usize, Error>;

const LENGTHS: [usize; 3] = [100, EAGER, 5000];

/// Everything that can be posted to a peer.
fn instructions() -> [(&'static str, Post); 9] {
    [
        ("immediate", |world, _| {
            let message = SendImmediate {
                data: &[1; 40],
                ..SendImmediate::new(world.peer(), SINK)
            };
            world.contexts[0].send_immediate(&message).map(|()| 0)
        }),
        ("short message", |world, log| world.send(LENGTHS[0], log)),
        ("message at its post", |world, log| {
            let message = world.message(LENGTHS[0], log);
            let start = |_: &Context<Process>, message| Some(Instruction::Send(message));
            let left = world.contexts[0].call_at_once(message, start)?;
            assert!(left.is_none());
            Ok(2)
        }),
        ("eager message", |world, log| world.send(LENGTHS[1], log)),
        ("rendezvous", |world, log| world.send(LENGTHS[2], log)),
        ("put", |world, log| {
            let put = Put {
                destination: world.peer(),
                data: world.data(LENGTHS[2]),
                remote: world.window.remote_address().expect("a buffer"),
                notify: PutNotify::None,
                local_done: into(log),
                remote_done: into(log),
            };
            world.contexts[0].put(put).map(|()| 2)
        }),
        ("get", |world, log| {
            let get = Get {
                source: world.peer(),
                remote: world.window.remote_address().expect("a buffer"),
                into: world.data(LENGTHS[2]),
                routing: Routing::Fixed,
                done: into(log),
            };
            world.contexts[0].get(get).map(|()| 1)
        }),
        ("rmw", |world, log| {
            let rmw = Rmw {
                destination: world.peer(),
                region: world.region.remote(),
                offset: 8,
                op: RmwOp::Add,
                width: RmwWidth::Eight,
                value: 3,
                test: None,
                result: Some(world.data(8)),
                done: into(log),
            };
            world.contexts[0].rmw(rmw).map(|()| 1)
        }),
        ("fence", |world, log| {
            let fence = Fence {
                destination: world.peer(),
                done: into(log),
            };
            world.contexts[0].fence(fence).map(|()| 1)
        }),
    ]
}

impl World {
    fn new(change: Change) -> Self {
        let machine = Double::new(2, 1);
        let clients = [0, 1].map(|task| client(&machine, task, change).expect("it is"));
        let contexts = clients
            .each_ref()
            .map(|client| client.create_context(0).expect("free"));
        let window = machine.process(1).buffer(&[0; 8192]);
        let region = clients[1].create_region(&window, RegionRights::ALL);
        sink(&contexts[0]);
        Self {
            arrivals: sink(&contexts[1]),
            machine,
            contexts: contexts.into(),
            region: region.expect("a slot is free"),
            window,
            _clients: clients.into(),
        }
    }

    fn peer(&self) -> Endpoint {
        self.contexts[0].endpoint(TaskId(1), 0).expect("exists")
    }

    fn data(&self, bytes: usize) -> BufferRange<Memory> {
        self.machine.process(0).buffer(&vec![1; bytes])
    }

    fn message(&self, bytes: usize, log: &Log) -> SendMessage<Process> {
        SendMessage {
            local_done: into(log),
            remote_done: into(log),
            ..SendMessage::new(self.peer(), SINK, self.data(bytes))
        }
    }

    fn send(&self, bytes: usize, log: &Log) -> Result<usize, Error> {
        self.contexts[0].send(self.message(bytes, log)).map(|()| 2)
    }
}

/// Posts `what`, then a message, refuses access `n` of node `side` meanwhile, and posts another message
/// after that; says what is wrong, and whether `n` was beyond the last access.
fn fail(change: Change, post: Post, side: usize, n: u64) -> (Option<String>, bool) {
    let world = World::new(change);
    let [first, behind, after] = [(); 3].map(|()| Log::default());
    world.machine.refuse(side, Refusal::nth(n));
    // Who gets the error at once gets no callback.
    let calls = post(&world, &first).unwrap_or(0);
    let calls_behind = world.send(LENGTHS[0], &behind).unwrap_or(0);
    settle(&world.machine, &world.contexts);
    let refused = world.machine.refuse_nothing(side);
    let sent = world.send(LENGTHS[0], &after);
    settle(&world.machine, &world.contexts);

    let ends = (first.lock().len(), behind.lock().len());
    let arrivals = &world.arrivals;
    let received = (*arrivals.taken.lock(), arrivals.ended.lock().len());
    let good = ends == (calls, calls_behind)
        && received.0 == received.1
        && sent == Ok(2)
        && *after.lock() == [Ok(()), Ok(())];
    let fault = format!(
        "node {side}, access {n}, {refused:x?}: {ends:?} callbacks of {calls} and {calls_behind}, ends of \
         {received:?} receives, after {after:?}"
    );
    ((!good).then_some(fault), refused.is_empty())
}

/// Lets each access fail under the kinds and instructions that are `of` interest; what is wrong.
fn faults(of: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for (kind, change) in kinds() {
        for (what, post) in instructions() {
            for side in 0..if of(kind, what) { 2 } else { 0 } {
                for n in 0.. {
                    let (fault, over) = fail(change, post, side, n);
                    faults.extend(fault.map(|fault| format!("{kind}, {what}, {fault}")));
                    if over {
                        assert!(n > 3, "{kind}, {what}: {n} accesses");
                        break;
                    }
                }
            }
        }
    }
    faults
}

#[test]
fn x5_an_instruction_that_fails_half_way_ends_its_callbacks_once() {
    let faults = faults(|kind, what| kind != "flows" && what != "put");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn x5_a_put_that_fails_half_way_ends_its_callbacks_once() {
    let faults = faults(|kind, what| kind != "flows" && what == "put");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn x5_a_flow_instruction_that_fails_ends_its_callbacks_once() {
    let faults = faults(|kind, _| kind == "flows");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
