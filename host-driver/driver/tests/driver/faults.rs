// SPDX-License-Identifier: MIT OR Apache-2.0
//! Planted faults of the hardware: none may pass in silence.

use std::sync::Arc;

use gyre_driver::{
    Arrival, BufferRange, Communicator, Context, DoneFn, Error, Fence, Get, Messaging,
    MessagingConfig, Put, PutNotify, Rank, Receive, RemoteAddress, Resources, SendMessage, TaskId,
    WakeReason, advancev,
};
use gyre_layout::ErrorReason;
use gyre_testkit::{Double, Fault, Process};
use parking_lot::Mutex;

type Results = Arc<Mutex<Vec<Result<Vec<u8>, Error>>>>;

/// Three messages of two packets each from task 0 to task 1, on a machine with a fault. Returns what
/// the receives got, and the errors of `advance`.
fn run(fault: Fault) -> (Vec<Result<Vec<u8>, Error>>, Vec<Error>) {
    run_of(800, fault)
}

/// The same of `length` bytes each.
fn run_of(length: usize, fault: Fault) -> (Vec<Result<Vec<u8>, Error>>, Vec<Error>) {
    let machine = Double::new(2, 1);
    let resources = Resources {
        injection_ring: 4096,
        reception_ring: 4096,
        ..Resources::default()
    };
    let contexts = machine.contexts(&[0, 1], resources);
    let modules: Vec<_> = contexts
        .iter()
        .map(|context| Messaging::create(context, MessagingConfig::new(1)).expect("first use"))
        .collect();
    machine.plant(fault);
    let results = Results::default();
    for tag in 0..3 {
        let into = machine.process(1).buffer(&vec![0; length]);
        let (copy, log) = (into.clone(), Arc::clone(&results));
        let done = move |_: &Context<Process>, result: Result<_, Error>| {
            let bytes = result.map(|_| {
                let mut bytes = vec![0; copy.len()];
                copy.read(0, &mut bytes).expect("inside");
                bytes
            });
            log.lock().push(bytes);
        };
        modules[1]
            .receive(
                Some(Rank(0)),
                Some(tag),
                &Communicator::WORLD,
                into,
                Some(Box::new(done)),
            )
            .expect("valid");
        let data = machine.process(0).buffer(&vec![tag as u8 + 1; length]);
        modules[0]
            .send(Rank(1), tag, &Communicator::WORLD, data, None)
            .expect("valid");
    }
    let mut errors = Vec::new();
    for _ in 0..50 {
        machine.step();
        for context in &contexts {
            errors.extend(context.advance(1).err());
        }
    }
    let results = results.lock().clone();
    (results, errors)
}

fn whole(tag: u8) -> Result<Vec<u8>, Error> {
    Ok(vec![tag + 1; 800])
}

#[test]
fn without_a_fault_all_arrives() {
    // A packet number that never comes.
    let (results, errors) = run(Fault::LosePacket(1000));
    assert_eq!(results, [whole(0), whole(1), whole(2)]);
    assert_eq!(errors, []);
}

#[test]
fn a_lost_first_packet_is_noticed() {
    let (results, errors) = run(Fault::LosePacket(0));
    assert_eq!(results, [whole(1), whole(2)]);
    assert!(matches!(
        errors[..],
        [Error::PacketOrder { field: "first", .. }]
    ));
}

#[test]
fn a_lost_last_packet_fails_its_receive() {
    let (results, errors) = run(Fault::LosePacket(1));
    assert!(matches!(
        results[0],
        Err(Error::PacketOrder { field: "first", .. })
    ));
    assert_eq!(results[1..], [whole(1), whole(2)]);
    assert_eq!(errors, []);
}

#[test]
fn a_lost_packet_fails_its_receive_by_the_next_offset() {
    let (results, _) = run_of(2048, Fault::LosePacket(1));
    let expected = Error::PacketOrder {
        origin: TaskId(0),
        field: "offset",
        value: 1024,
        expected: 512,
    };
    assert_eq!(results[0], Err(expected));
    assert_eq!(results[1..], [1, 2].map(|tag: u8| Ok(vec![tag + 1; 2048])));
}

#[test]
fn a_doubled_packet_fails_its_message() {
    let (results, errors) = run(Fault::DoublePacket(1));
    assert_eq!(results, [whole(0), whole(1), whole(2)]);
    assert!(matches!(errors[..], [Error::PacketOrder { .. }]));
    let (results, _) = run(Fault::DoublePacket(2));
    assert!(matches!(results[1], Err(Error::PacketOrder { .. })));
}

#[test]
fn a_flipped_byte_shows_in_the_data() {
    let (results, _) = run(Fault::FlipByte(2));
    assert_eq!(results[0], whole(0));
    assert_ne!(results[1], whole(1));
}

/// A message of one header and 800 bytes, of which a byte of the first packet is another. Gives what its receive
/// and the next one got, and the errors of `advance`.
fn headed_with_a_flipped_byte(at: usize) -> (Vec<Result<(), Error>>, Vec<Error>) {
    ends_of([(8, 800), (8, 800)], Fault::FlipAt { packet: 0, at })
}

/// Results of the receives of two messages of these header and data bytes on a machine with a fault, and the errors of
/// `advance`.
fn ends_of(messages: [(usize, usize); 2], fault: Fault) -> (Vec<Result<(), Error>>, Vec<Error>) {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], Resources::default());
    let ends = Ends::default();
    let log = Arc::clone(&ends);
    let receiver = machine.process(1);
    let receive = move |_: &Context<Process>, arrival: &Arrival<'_>| {
        let log = Arc::clone(&log);
        Receive::Into {
            into: receiver.buffer(&vec![0; arrival.length]),
            done: Some(Box::new(move |_, result| log.lock().push(result))),
        }
    };
    contexts[1]
        .set_dispatch(1, Box::new(receive))
        .expect("free");
    machine.plant(fault);
    for (header, length) in messages {
        let destination = contexts[0].endpoint(TaskId(1), 0).expect("exists");
        let data = machine.process(0).buffer(&vec![5; length]);
        let send = SendMessage {
            header: vec![3; header],
            ..SendMessage::new(destination, 1, data)
        };
        contexts[0].send(send).expect("valid");
    }
    let errors = errors(&machine, &contexts);
    (std::mem::take(&mut *ends.lock()), errors)
}

#[test]
fn x5_a_message_fails_the_incomplete_one_before_it() {
    // Without its last packet, and without what its header announces.
    for (before, field) in [((0, 800), "first"), ((8, 510), "dispatch")] {
        let (ends, errors) = ends_of([before, (0, 16)], Fault::LosePacket(1));
        let [Err(Error::PacketOrder { field: wrong, .. }), Ok(())] = ends[..] else {
            panic!("{before:?}: {ends:?}");
        };
        assert_eq!((wrong, errors), (field, vec![]));
    }
}

#[test]
fn x5_data_of_another_length_than_announced_fails_its_receive() {
    // Byte 4 of the first packet is the lowest of the length.
    let (ends, errors) = headed_with_a_flipped_byte(4);
    let expected = Error::PacketOrder {
        origin: TaskId(0),
        field: "length",
        value: 800,
        expected: 801,
    };
    assert_eq!(ends, [Err(expected), Ok(())]);
    assert_eq!(errors, []);
    // One of the user's header changes nothing of that.
    let (ends, errors) = headed_with_a_flipped_byte(12);
    assert_eq!((ends, errors), (vec![Ok(()), Ok(())], vec![]));
}

#[test]
fn a_head_that_moves_too_early_is_caught_by_freed_memory() {
    let (results, _) = run(Fault::EarlyHead);
    assert!(
        results
            .iter()
            .any(|result| { result.as_ref().is_ok_and(|bytes| bytes.contains(&0xdd)) })
    );
}

#[test]
fn a_tail_beyond_the_data_is_noticed() {
    let (_, errors) = run(Fault::TailBeyond);
    assert!(!errors.is_empty());
}

#[test]
fn a_wake_up_that_never_comes_leaves_the_thread_asleep() {
    let machine = Double::new(2, 1);
    let contexts = machine.contexts(&[0, 1], Resources::default());
    let modules: Vec<_> = contexts
        .iter()
        .map(|context| Messaging::create(context, MessagingConfig::new(1)).expect("first use"))
        .collect();
    advancev(&contexts, 1).expect("no error");
    machine.plant(Fault::NoWake);
    modules[0]
        .send(Rank(1), 0, &Communicator::WORLD, BufferRange::empty(), None)
        .expect("valid");
    contexts[0].advance(1).expect("no error");
    assert_eq!(contexts[1].wait(Some(1)), Ok(WakeReason::Deadline));
}

/// Dispatch identifiers of two of the driver's messages.
const FENCE_ACK: u8 = 230;
const GET_FAILED: u8 = 231;

type Ends = Arc<Mutex<Vec<Result<(), Error>>>>;

fn into(ends: &Ends) -> Option<DoneFn<Process>> {
    let ends = Arc::clone(ends);
    Some(Box::new(move |_, result| ends.lock().push(result)))
}

fn fence(context: &Context<Process>) -> Ends {
    let ends = Ends::default();
    let destination = context.endpoint(TaskId(1), 0).expect("exists");
    let fence = Fence {
        destination,
        done: into(&ends),
    };
    context.fence(fence).expect("valid");
    ends
}

/// Runs until everything has ended that will; returns the errors of `advance`.
fn errors(machine: &Double, contexts: &[Context<Process>]) -> Vec<Error> {
    let mut errors = Vec::new();
    for _ in 0..100 {
        machine.step();
        for context in contexts {
            context.wait(Some(1)).expect("not destroyed");
            errors.extend(context.advance(1).err());
        }
    }
    errors
}

#[test]
fn x5_fn1_a_fence_reports_a_refused_synchronisation() {
    let refused = Error::RemoteRefused {
        peer: TaskId(1),
        reason: Ok(ErrorReason::DescSlot),
    };
    let failed = Error::FenceFailed { peer: TaskId(1) };
    // The target's node refuses requests after the origin's own gets; the origin's node refuses those of the target.
    for (node, expected) in [(1, refused), (0, failed)] {
        let machine = Double::new(2, 1);
        let contexts = machine.contexts(&[0, 1], Resources::default());
        machine.plant(Fault::RefuseSync(node));
        let window = machine.process(1).buffer(&[0; 200]);
        let at = |first| {
            let range = window.part(first, 100).expect("inside");
            range.remote_address().expect("a buffer")
        };
        let peer = contexts[0].endpoint(TaskId(1), 0).expect("exists");
        let get = Get {
            source: peer,
            remote: at(0),
            into: machine.process(0).buffer(&[0; 100]),
            routing: gyre_driver::Routing::Fixed,
            done: None,
        };
        contexts[0].get(get).expect("valid");
        let put = Put {
            destination: peer,
            data: machine.process(0).buffer(&[1; 100]),
            remote: at(100),
            notify: PutNotify::None,
            local_done: None,
            remote_done: None,
        };
        contexts[0].put(put).expect("valid");
        let ends = fence(&contexts[0]);
        let reported = errors(&machine, &contexts);
        assert!(!reported.is_empty(), "node {node} has refused a descriptor");
        assert_eq!(*ends.lock(), [Err(expected)], "node {node}");
        // The next one holds.
        let ends = fence(&contexts[0]);
        assert_eq!(errors(&machine, &contexts), []);
        assert_eq!(*ends.lock(), [Ok(())], "node {node}");
    }
}

#[test]
fn x5_fn1_the_answer_to_a_fence_counts_from_its_target_alone() {
    let machine = Double::new(3, 1);
    let contexts = machine.contexts(&[0, 1, 2], Resources::default());
    machine.plant(Fault::WrongSource {
        dispatch: FENCE_ACK,
        node: 2,
    });
    let ends = fence(&contexts[0]);
    let reported = errors(&machine, &contexts);
    assert!(
        matches!(
            reported[..],
            [Error::UnknownCookie {
                origin: TaskId(2),
                ..
            }]
        ),
        "{reported:?}"
    );
    assert_eq!(*ends.lock(), []);
}

#[test]
fn x5_the_refusal_of_a_get_counts_from_its_peer_alone() {
    for (node, ended) in [(1, 1), (2, 0)] {
        let machine = Double::new(3, 1);
        let contexts = machine.contexts(&[0, 1, 2], Resources::default());
        machine.plant(Fault::WrongSource {
            dispatch: GET_FAILED,
            node,
        });
        let ends = Ends::default();
        let get = Get {
            source: contexts[0].endpoint(TaskId(1), 0).expect("exists"),
            // There is no such slot.
            remote: RemoteAddress {
                slot: 30,
                offset: 0,
            },
            into: machine.process(0).buffer(&[0; 100]),
            routing: gyre_driver::Routing::Fixed,
            done: into(&ends),
        };
        contexts[0].get(get).expect("valid");
        let unknown = errors(&machine, &contexts)
            .into_iter()
            .filter(|error| {
                matches!(
                    error,
                    Error::UnknownCookie {
                        origin: TaskId(2),
                        ..
                    }
                )
            })
            .count();
        assert_eq!(unknown, 1 - ended, "from node {node}");
        assert_eq!(ends.lock().len(), ended, "from node {node}");
    }
}
