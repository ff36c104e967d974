// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages whose data the receiver knows.

use gyre_driver::{BufferRange, Context, Platform, Receive};

/// Receives a message asynchronously, checks that its data is `expected`, and calls `received`.
pub fn into_checked<P: Platform>(
    context: &Context<P>,
    expected: Vec<u8>,
    received: impl FnOnce() + Send + 'static,
) -> Receive<P> {
    let memory = context.platform().alloc(expected.len() + 8, 64);
    let into = BufferRange::whole(memory.expect("there is memory"));
    let copy = into.clone();
    Receive::Into {
        into,
        done: Some(Box::new(move |_, result| {
            result.expect("it fits");
            let mut data = vec![0; expected.len()];
            copy.read(0, &mut data).expect("inside");
            assert_eq!(data, expected);
            received();
        })),
    }
}
