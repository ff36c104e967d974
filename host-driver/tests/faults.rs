//! Planted faults of the hardware: none may pass in silence.

mod double;

use std::cell::RefCell;
use std::rc::Rc;

use double::{Double, Fault, Process};
use gyre_driver::{
    BufferRange, Context, Error, Messaging, MessagingConfig, Resources, TaskId, WakeReason,
    advancev,
};

type Results = Rc<RefCell<Vec<Result<Vec<u8>, Error>>>>;

/// Three messages of two packets each from task 0 to task 1, on a machine with a fault. Returns what
/// the receives got, and the errors of `advance`.
fn run(fault: Fault) -> (Vec<Result<Vec<u8>, Error>>, Vec<Error>) {
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
        let into = machine.process(1).buffer(&[0; 800]);
        let (copy, log) = (into.clone(), Rc::clone(&results));
        let done = move |_: &Context<Process>, result: Result<_, Error>| {
            let bytes = result.map(|_| {
                let mut bytes = vec![0; copy.len()];
                copy.read(0, &mut bytes).expect("inside");
                bytes
            });
            log.borrow_mut().push(bytes);
        };
        modules[1]
            .receive(Some(TaskId(0)), Some(tag), 0, into, Some(Box::new(done)))
            .expect("valid");
        let data = machine.process(0).buffer(&[tag as u8 + 1; 800]);
        modules[0]
            .send(TaskId(1), tag, 0, data, None)
            .expect("valid");
    }
    let mut errors = Vec::new();
    for _ in 0..50 {
        machine.step();
        for context in &contexts {
            errors.extend(context.advance(1).err());
        }
    }
    let results = results.borrow().clone();
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

#[test]
fn a_head_that_moves_before_the_data_is_read_corrupts_what_is_freed_and_shows() {
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
        .send(TaskId(1), 0, 0, BufferRange::empty(), None)
        .expect("valid");
    contexts[0].advance(1).expect("no error");
    assert_eq!(contexts[1].wait(Some(1)), Ok(WakeReason::Deadline));
}
