// SPDX-License-Identifier: MIT OR Apache-2.0
//! Completion tokens: a thread waits for operations without callbacks of its own (EP-2).

use gyre_driver::{
    BufferRange, Completion, Context, Error, Put, PutNotify, Receive, RemoteAddress, Resources,
    SendMessage, TaskId,
};
use gyre_testkit::{Double, Process};

const STORE: u8 = 1;

fn pair(machine: &Double) -> Vec<Context<Process>> {
    machine.contexts(&[0, 1], Resources::default())
}

#[test]
fn ep2_a_token_is_complete_when_all_its_callbacks_have_been_called() {
    let machine = Double::new(2, 1);
    let contexts = pair(&machine);
    contexts[1]
        .set_dispatch(STORE, Box::new(|_, _| Receive::Consumed))
        .expect("first use");
    let to = contexts[0].endpoint(TaskId(1), 0).expect("exists");
    let token = Completion::new();
    assert!(token.is_complete());
    for _ in 0..3 {
        let send = SendMessage {
            local_done: Some(token.callback()),
            ..SendMessage::new(to, STORE, BufferRange::empty())
        };
        contexts[0].send(send).expect("valid");
    }
    assert!(!token.is_complete());
    while !token.is_complete() {
        contexts[0].advance(1).expect("no error");
        machine.settle();
    }
    assert_eq!(token.wait(&contexts[0]), Ok(()));
}

#[test]
fn ep2_x5_a_token_tells_the_first_error_once() {
    let machine = Double::new(2, 1);
    let contexts = pair(&machine);
    let to = contexts[0].endpoint(TaskId(1), 0).expect("exists");
    let token = Completion::new();
    let nowhere = || Put {
        destination: to,
        data: BufferRange::empty(),
        remote: RemoteAddress { slot: 0, offset: 0 },
        notify: PutNotify::None,
        local_done: Some(token.callback()),
        remote_done: None,
    };
    contexts[0].put(nowhere()).expect("valid");
    let left = contexts[0].destroy().expect_err("work is left");
    assert!(matches!(left, Error::WorkLeft { posted: 1, .. }), "{left}");
    assert!(token.is_complete());
    assert_eq!(token.take_result(), Err(Error::Destroyed));
    assert_eq!(token.take_result(), Ok(()));
    // A refused post ends no callback and blocks no waiter.
    assert_eq!(contexts[0].put(nowhere()), Err(Error::Destroyed));
    assert!(token.is_complete());
    assert_eq!(token.take_result(), Ok(()));
}
