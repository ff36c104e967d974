// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inboxes and typed slices: a thread takes active messages when it wants them (EP-4).

use gyre_driver::{
    BufferSlice, Context, Error, Inbox, Message, RangeError, Resources, SendImmediate, SendMessage,
    TaskId,
};
use gyre_testkit::{Double, Memory, Process};

const NUMBERS: u8 = 1;

fn pair(machine: &Double) -> Vec<Context<Process>> {
    machine.contexts(&[0, 1], Resources::default())
}

fn settle(machine: &Double, contexts: &[Context<Process>]) {
    assert_eq!(machine.run_until_idle(contexts, 3), []);
}

fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|i| (i * 7 + seed) as f64 / 3.0).collect()
}

fn send(context: &Context<Process>, tag: u32, numbers: &[f64]) {
    let data = BufferSlice::copied(context.platform(), numbers).expect("memory");
    let to = context.endpoint(TaskId(1), 0).expect("exists");
    let message = SendMessage {
        comm: 3,
        tag,
        header: vec![5, 6],
        ..SendMessage::new(to, NUMBERS, data.range().clone())
    };
    context.send(message).expect("valid");
}

#[test]
fn ep4_an_inbox_keeps_messages_of_every_protocol() {
    let machine = Double::new(2, 1);
    let contexts = pair(&machine);
    // In one packet, eager in several, rendezvous: one after the other, so that their order is known.
    let lengths = [0, 4, 300, 4000];
    let inbox = Inbox::create(&contexts[1], NUMBERS).expect("first use");
    for (tag, length) in (0..).zip(lengths) {
        assert_eq!(inbox.try_next(), Ok(None));
        send(&contexts[0], tag, &numbers(length, tag as usize));
        settle(&machine, &contexts);
        let taken = inbox.next().expect("it has come");
        let origin = contexts[1].endpoint(TaskId(0), 0).expect("exists");
        assert_eq!((taken.origin, taken.comm, taken.tag), (origin, 3, tag));
        assert_eq!(taken.header, [5, 6]);
        let elements = taken.elements::<f64>().expect("whole numbers");
        assert_eq!(elements, numbers(length, tag as usize));
    }
    for tag in 0..3 {
        send(&contexts[0], tag, &[]);
    }
    settle(&machine, &contexts);
    let tags: Vec<_> = inbox.take(3).expect("all are there");
    assert!(tags.iter().map(|message| message.tag).eq(0..3));
    assert_eq!(inbox.try_next(), Ok(None));
}

#[test]
fn ep4_messages_that_come_before_their_inbox_wait_for_it() {
    let machine = Double::new(2, 1);
    let contexts = pair(&machine);
    send(&contexts[0], 1, &numbers(2, 0));
    settle(&machine, &contexts[..1]);
    let inbox = Inbox::create(&contexts[1], NUMBERS).expect("first use");
    settle(&machine, &contexts);
    assert_eq!(inbox.next().expect("it has come").tag, 1);
    let again = Inbox::create(&contexts[1], NUMBERS).err();
    assert_eq!(again, Some(Error::DispatchInUse { id: NUMBERS }));
}

#[test]
fn ep4_x5_a_message_that_cannot_be_received_is_an_error_of_its_inbox() {
    let machine = Double::new(2, 1);
    let contexts = pair(&machine);
    let inbox = Inbox::create(&contexts[1], NUMBERS).expect("first use");
    let to = contexts[0].endpoint(TaskId(1), 0).expect("exists");
    let message = SendImmediate {
        data: &[1; 12],
        ..SendImmediate::new(to, NUMBERS)
    };
    contexts[0].send_immediate(&message).expect("valid");
    settle(&machine, &contexts);
    let message: Message = inbox.next().expect("it has come");
    let error = Error::ElementLength {
        bytes: 12,
        element: 8,
    };
    assert_eq!(message.elements::<f64>(), Err(error));
    assert_eq!(message.elements::<u32>(), Ok(vec![0x0101_0101; 3]));
    // All of a message has not come when its context ends.
    send(&contexts[0], 2, &numbers(4000, 0));
    contexts[0].advance(1).expect("no error");
    machine.settle();
    contexts[1].advance(1).expect("its request has come");
    let left = contexts[1].destroy().expect_err("its data has not");
    assert!(matches!(left, Error::WorkLeft { .. }), "{left}");
    assert_eq!(inbox.try_next(), Err(Error::Destroyed));
}

#[test]
fn typed_slices_count_in_elements_and_share_their_memory() {
    let machine = Double::new(1, 1);
    let platform = machine.process(0);
    let all: BufferSlice<Memory, u32> = BufferSlice::zeroed(&platform, 6).expect("memory");
    let middle = all.part(2, 3).expect("inside");
    middle.write(1, &[8, 9]).expect("inside");
    assert_eq!(all.to_vec(), Ok(vec![0, 0, 0, 8, 9, 0]));
    assert_eq!(middle.to_vec(), Ok(vec![0, 8, 9]));
    assert_eq!((middle.len(), middle.range().len()), (3, 12));
    let outside = RangeError {
        offset: 8,
        bytes: 8,
        len: 12,
    };
    assert_eq!(middle.write(2, &[1, 2]), Err(outside));
    assert!(all.part(usize::MAX, 1).is_err());
    let copied = BufferSlice::copied(&platform, &[1.5, -0.25]).expect("memory");
    let mut bytes = [0; 16];
    copied.range().read(0, &mut bytes).expect("inside");
    assert_eq!(bytes[8..], (-0.25_f64).to_le_bytes());
}
