// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of contexts and clients on the test double: what has not finished is given up with an error, and
//! everything can be made again on the same resources (EP-2, EP-3).

use std::sync::Arc;

use crossbeam_utils::atomic::AtomicCell;
use gyre_driver::{
    Arrival, BufferRange, Client, ClientConfig, Context, DoneFn, Error, Fence, Get, Instruction,
    Put, PutNotify, Receive, Resources, SameNode, SendMessage, TaskId,
};
use gyre_testkit::{Double, Process, config};
use parking_lot::Mutex;

const SINK: u8 = 5;

fn small() -> Resources {
    Resources {
        shared_ring: 4096,
        ..gyre_testkit::small()
    }
}

fn settle(machine: &Double, contexts: &[Context<Process>]) {
    assert_eq!(machine.run_until_idle(contexts, 20), []);
}

/// Receives messages; counts those that are whole.
fn sink(context: &Context<Process>) -> Arc<AtomicCell<usize>> {
    let count = Arc::new(AtomicCell::new(0_usize));
    let received = Arc::clone(&count);
    let dispatch = move |context: &Context<Process>, arrival: &Arrival<'_>| {
        let received = Arc::clone(&received);
        Receive::Into {
            into: context.platform().buffer(&vec![0; arrival.length]),
            done: Some(Box::new(move |_, result| {
                received.fetch_add(usize::from(result.is_ok()));
            })),
        }
    };
    context
        .set_dispatch(SINK, Box::new(dispatch))
        .expect("first use");
    count
}

fn message(context: &Context<Process>, to: u32, bytes: usize) -> SendMessage<Process> {
    let destination = context.endpoint(TaskId(to), 0).expect("exists");
    let data: BufferRange<_> = context.platform().buffer(&vec![7; bytes]);
    SendMessage::new(destination, SINK, data)
}

type Results = Arc<Mutex<Vec<Result<(), Error>>>>;

fn into(results: &Results) -> Option<DoneFn<Process>> {
    let results = Arc::clone(results);
    Some(Box::new(move |_, result| results.lock().push(result)))
}

#[test]
fn ep3_destroy_cancels_open_work_and_runs_each_callback_once() {
    for (nodes, same_node) in [
        ([0, 1], SameNode::Loopback),
        ([0, 0], SameNode::Loopback),
        ([0, 0], SameNode::SharedMemory),
    ] {
        // From nothing started to everything waiting for the peer.
        for steps in [0, 1, 5, 60] {
            let machine = Double::new(2, 3);
            let clients = machine.clients(&nodes, small(), |config| ClientConfig {
                same_node,
                eager_limit: 1024,
                ..config
            });
            let open = |task: usize| clients[task].create_context(0).expect("free");
            let (context, peer) = (open(0), open(1));
            sink(&peer);
            let results = Results::default();
            let window = machine.process(nodes[1]).buffer(&[0; 4000]);
            let remote = window.remote_address().expect("a buffer");
            let destination = context.endpoint(TaskId(1), 0).expect("exists");
            let buffer = |bytes| machine.process(nodes[0]).buffer(&vec![1; bytes]);
            for bytes in [100, 1000, 3000] {
                context
                    .send(SendMessage {
                        local_done: into(&results),
                        remote_done: into(&results),
                        ..message(&context, 1, bytes)
                    })
                    .expect("valid");
            }
            context
                .put(Put {
                    destination,
                    data: buffer(2000),
                    remote,
                    notify: PutNotify::None,
                    local_done: into(&results),
                    remote_done: into(&results),
                })
                .expect("valid");
            context
                .get(Get {
                    source: destination,
                    remote,
                    into: buffer(4000),
                    routing: gyre_driver::Routing::Fixed,
                    done: into(&results),
                })
                .expect("valid");
            context
                .fence(Fence {
                    destination,
                    done: into(&results),
                })
                .expect("valid");
            context.fence_all(into(&results)).expect("valid");
            for _ in 0..steps {
                machine.step();
                context.advance(1).expect("no error");
            }
            let before = results.lock().len();
            assert!(before < 11, "{nodes:?} {same_node:?} {steps}");
            let end = context.destroy();
            assert!(matches!(end, Err(Error::WorkLeft { .. })), "{end:?}");
            let told = std::mem::take(&mut *results.lock());
            assert_eq!(told.len(), 11, "{nodes:?} {same_node:?} {steps}");
            let given_up = told.iter().filter(|r| **r == Err(Error::Destroyed));
            assert!(given_up.count() > 0);
            if steps == 0 {
                assert_eq!(told, vec![Err(Error::Destroyed); 11]);
            }
            assert_eq!(context.destroy(), Err(Error::Destroyed));
            assert_eq!(context.advance(1), Err(Error::Destroyed));
            let call = Instruction::Call(Box::new(|_| ()));
            assert_eq!(context.post(call), Err(Error::Destroyed));
        }
    }
}

#[test]
fn ep3_messages_that_arrive_are_given_up_too() {
    let machine = Double::new(2, 1);
    let clients = machine.clients(&[0, 1], small(), |config| config);
    let origin = clients[0].create_context(0).expect("free");
    let target = clients[1].create_context(0).expect("free");
    let results = Results::default();
    let told = Arc::clone(&results);
    let dispatch = move |context: &Context<Process>, arrival: &Arrival<'_>| Receive::Into {
        into: context.platform().buffer(&vec![0; arrival.length]),
        done: into(&told),
    };
    target
        .set_dispatch(SINK, Box::new(dispatch))
        .expect("first use");
    origin.send(message(&origin, 1, 2000)).expect("valid");
    origin.advance(1).expect("no error");
    machine.step();
    target.advance(1).expect("no error");
    assert!(matches!(
        target.destroy(),
        Err(Error::WorkLeft { arriving: 1, .. })
    ));
    assert_eq!(*results.lock(), [Err(Error::Destroyed)]);
}

#[test]
fn ep2_ep3_clients_and_contexts_are_made_again_on_the_same_resources() {
    for same_node in [SameNode::Loopback, SameNode::SharedMemory] {
        for shared_injection in [false, true] {
            let machine = Double::new(2, 1);
            for round in 0..3 {
                let clients = machine.clients(&[0, 0, 1], small(), |config| ClientConfig {
                    same_node,
                    contexts: 2,
                    resources: Resources {
                        shared_injection,
                        ..config.resources
                    },
                    ..config
                });
                let open = |offset| -> Vec<_> {
                    let open = |client: &Client<_>| client.create_context(offset).expect("free");
                    clients.iter().map(open).collect()
                };
                let _idle = open(1);
                // Each context twice, with a message between all of them each time.
                for _ in 0..2 {
                    let contexts = open(0);
                    let counts: Vec<_> = contexts.iter().map(sink).collect();
                    for context in &contexts {
                        for to in 0..3 {
                            context.send(message(context, to, 700)).expect("valid");
                        }
                    }
                    settle(&machine, &contexts);
                    for count in counts {
                        assert_eq!(count.load(), 3, "round {round}");
                    }
                    assert!(matches!(
                        clients[0].create_context(0),
                        Err(Error::ContextExists { .. })
                    ));
                    for context in contexts {
                        context.destroy().expect("at rest");
                    }
                }
                for client in clients {
                    client.destroy().expect("its contexts are at rest");
                }
            }
        }
    }
}

#[test]
fn ep2_ep3_memory_is_given_back_but_for_what_a_get_may_still_fill() {
    const BYTES: usize = 1 << 16;
    // A get that has ended, one that has not, and one of a context that stays open.
    for (ended, destroyed) in [(true, true), (false, true), (false, false)] {
        let machine = Double::new(2, 1);
        let clients = machine.clients(&[0, 1], small(), |config| config);
        let _peer = clients[1].create_context(0).expect("free");
        let remote = machine.process(1).buffer(&[0; BYTES]);
        let before = machine.allocated(0);
        let context = clients[0].create_context(0).expect("free");
        let get = Get {
            source: context.endpoint(TaskId(1), 0).expect("exists"),
            remote: remote.remote_address().expect("a buffer"),
            into: machine.process(0).buffer(&[0; BYTES]),
            routing: gyre_driver::Routing::Fixed,
            done: None,
        };
        context.get(get).expect("valid");
        context.advance(1).expect("no error");
        if ended {
            settle(&machine, std::slice::from_ref(&context));
        }
        if destroyed {
            assert_eq!(context.destroy().is_ok(), ended);
        }
        drop((context, clients));
        let kept = machine.allocated(0) - before;
        assert_eq!((kept >= BYTES, kept == 0), (!ended, ended), "{kept} B");
    }
}

#[test]
fn ep2_ep3_memory_is_given_back_but_for_what_a_peer_may_still_fetch() {
    const BYTES: usize = 1 << 16;
    // A rendezvous message that has ended, one that has not, and one of a context that stays open.
    for (ended, destroyed) in [(true, true), (false, true), (false, false)] {
        let machine = Double::new(2, 1);
        let clients = machine.clients(&[0, 1], small(), |config| config);
        let peer = clients[1].create_context(0).expect("free");
        let received = sink(&peer);
        let before = machine.allocated(0);
        let context = clients[0].create_context(0).expect("free");
        let message = message(&context, 1, BYTES);
        context.send(message).expect("valid");
        context.advance(1).expect("no error");
        let contexts = [context, peer];
        if ended {
            settle(&machine, &contexts);
        }
        assert_eq!(received.load(), usize::from(ended));
        if destroyed {
            assert_eq!(contexts[0].destroy().is_ok(), ended);
        }
        drop((contexts, clients));
        let kept = machine.allocated(0) - before;
        assert_eq!((kept >= BYTES, kept == 0), (!ended, ended), "{kept} B");
    }
}

#[test]
fn ep2_a_context_that_cannot_be_created_leaves_no_fifo_behind() {
    let machine = Double::new(1, 1);
    let tasks = machine.tasks(&[0]);
    let client = |id: u8, change: &dyn Fn(&mut Resources)| {
        let mut resources = Resources {
            injection_per_context: 3,
            ..small()
        };
        change(&mut resources);
        let config = ClientConfig {
            id,
            ..config(&tasks, 0, resources)
        };
        Client::create(&machine.process(0), config).expect("the double has the resources")
    };
    let other = client(1, &|_| ());
    let context = other.create_context(0).expect("free");
    // Beside the first client but for one resource, of each kind in turn.
    let beside = |resources: &mut Resources| {
        resources.injection_first = 3;
        resources.remote_get_first = 20;
        resources.reception_first = 5;
        resources.wake_first = 5;
    };
    let conflicts: [&dyn Fn(&mut Resources); 3] = [
        &|resources| resources.injection_first = 1,
        &|resources| resources.remote_get_first = 16,
        &|resources| resources.reception_first = 0,
    ];
    for conflict in conflicts {
        let refused = client(2, &|resources| {
            beside(resources);
            conflict(resources);
        });
        let error = refused.create_context(0).err();
        assert!(matches!(error, Some(Error::SetUp { .. })), "{error:?}");
        drop(refused);
        // Everything that it had taken is free, and the first client's is not.
        let fits = client(2, &beside);
        let count = {
            let context = fits.create_context(0).expect("nothing was left behind");
            let count = sink(&context);
            context.send(message(&context, 0, 100)).expect("valid");
            settle(&machine, &[context]);
            count
        };
        assert_eq!(count.load(), 1);
        fits.destroy().expect("at rest");
    }
    let count = sink(&context);
    context.send(message(&context, 0, 100)).expect("valid");
    settle(&machine, &[context]);
    assert_eq!(count.load(), 1, "the first client is as it was");
}

#[test]
fn ep2_destroy_keeps_shared_fifos_and_retires_descriptors() {
    let machine = Double::new(2, 1);
    let clients = machine.clients(&[0, 1], small(), |config| ClientConfig {
        contexts: 2,
        resources: Resources {
            shared_injection: true,
            ..config.resources
        },
        ..config
    });
    let open = |offset| clients[0].create_context(offset).expect("free");
    let (first, second) = (open(0), open(1));
    let peer = clients[1].create_context(0).expect("free");
    let received = sink(&peer);
    let results = Results::default();
    let send = |context: &Context<Process>, results: &Results| {
        let message = SendMessage {
            local_done: into(results),
            ..message(context, 1, 300)
        };
        context.send(message).expect("valid");
        context.advance(1).expect("no error");
    };
    send(&first, &results);
    assert!(matches!(
        first.destroy(),
        Err(Error::WorkLeft { in_flight: 1, .. })
    ));
    assert_eq!(
        std::mem::take(&mut *results.lock()),
        [Err(Error::Destroyed)]
    );
    // Its descriptor was handed over: the message arrives, and no other context hears of it.
    let others = Results::default();
    let again = open(0);
    send(&second, &others);
    send(&again, &others);
    settle(&machine, &[again.clone(), second.clone(), peer.clone()]);
    assert_eq!(*others.lock(), [Ok(()), Ok(())]);
    assert_eq!(*results.lock(), []);
    assert_eq!(received.load(), 3);
    for context in [again, second, peer] {
        context.destroy().expect("at rest");
    }
}
