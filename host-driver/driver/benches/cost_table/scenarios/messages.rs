// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends, by part and by protocol.

use gyre_driver::{Arrival, Context, Op, Receive, SameNode, SendImmediate};

use super::world::{CONSUME, NOBODY, STORE, World};
use super::{List, SINGLE_AND_BURST};
use crate::book;
use crate::platform::Counted;

/// Dispatch identifier of messages whose callback is not one of the world's.
const OTHER: u8 = 100;

/// Header of an immediate message, bytes, and the most data behind it.
const HEADER: usize = 32;
const HEADED: usize = SendImmediate::MAX_HEADED - HEADER;

pub fn scenarios(list: &mut List) {
    parts(list);
    callbacks(list);
    for (length, header, many) in [
        (0, 0, SINGLE_AND_BURST),
        (32, 0, &[1]),
        (128, 0, &[1]),
        (512, 0, SINGLE_AND_BURST),
        (0, HEADER, &[1]),
        (32, HEADER, SINGLE_AND_BURST),
        (128, HEADER, &[1]),
        (HEADED, HEADER, &[1]),
    ] {
        let name = format!("immediate {length} + {header} B");
        list.protocol(&name, many, move || {
            let post = move |w: &World| w.immediate(CONSUME, length, header);
            (World::new(), post)
        });
    }
    for (length, header, remote, many) in [
        (64, 0, false, SINGLE_AND_BURST),
        (64, HEADER, true, &[1]),
        (512, HEADER, false, &[1]),
        (512, 0, true, &[1]),
        (2048, 0, false, &[1]),
        (2048, HEADER, true, SINGLE_AND_BURST),
        (4096, HEADER, false, &[1]),
        (4096, 0, true, &[1]),
        (8192, 0, false, SINGLE_AND_BURST),
        (8192, HEADER, true, SINGLE_AND_BURST),
        (32768, 0, true, &[1]),
    ] {
        let protocol = if length > 4096 { "rendezvous" } else { "eager" };
        let acknowledged = if remote { ", remote done" } else { "" };
        let name = format!("{protocol} {length} + {header} B{acknowledged}");
        list.protocol(&name, many, move || {
            let post = move |w: &World| w.send(length, header, remote);
            (World::new(), post)
        });
    }
    for length in [512, 8192] {
        let name = format!("send {length} B, acknowledged together");
        list.protocol(&name, SINGLE_AND_BURST, move || {
            let post = move |w: &World| w.send(length, 0, true);
            (World::coalescing(), post)
        });
    }
    list.protocol("send 64 B by shared FIFOs", SINGLE_AND_BURST, || {
        let world = World::on([0, 1], |config| config.resources.shared_injection = true);
        (world, |w: &World| w.send(64, 0, false))
    });
    for (length, many) in [
        (0, SINGLE_AND_BURST),
        (32, &[1]),
        (512, SINGLE_AND_BURST),
        (4096, &[1]),
    ] {
        list.protocol(&format!("same node {length} B"), many, move || {
            let world = World::on([0, 0], |config| config.same_node = SameNode::SharedMemory);
            let post = move |w: &World| match length {
                ..=SendImmediate::MAX => w.immediate(CONSUME, length, 0),
                _ => w.send(length, 0, false),
            };
            (world, post)
        });
    }
}

/// The calls that a send is made of.
fn parts(list: &mut List) {
    for length in [0, 128, 512] {
        list.plain(format!("send {length} B immediate alone"), move |w| {
            book::count(|| w.immediate(CONSUME, length, 0));
            w.run(NOBODY);
        });
        list.add_from_inside(
            format!("behind {length} B immediate on its way"),
            move || {
                let world = World::new();
                move || {
                    book::start_over_at(Op::Injected);
                    book::count(|| world.immediate(CONSUME, length, 0));
                    world.run(NOBODY);
                }
            },
        );
        for (what, dispatch) in [("consume", CONSUME), ("store", STORE)] {
            list.plain(format!("{what} {length} B"), move |w| {
                w.arrive(|| w.immediate(dispatch, length, 0));
            });
        }
    }
    list.plain(
        "immediate sends to an endpoint that share a template's place",
        |w| {
            for comm in 0..8 {
                let other = SendImmediate {
                    comm,
                    ..SendImmediate::new(w.peer, CONSUME)
                };
                book::count(|| w.contexts[0].send_immediate(&other).expect("valid"));
            }
            w.run(NOBODY);
        },
    );
    list.plain("advance behind an immediate send", |w| {
        w.immediate(CONSUME, 0, 0);
        book::count(|| w.advance(0, 1));
        w.run(NOBODY);
    });
    // The last have the ring give room back.
    for (count, length) in [(4, 0), (16, 0), (32, 512)] {
        let name = format!("consume {count} of {length} B in one advance");
        list.plain(name, move |w| {
            w.arrive(|| (0..count).for_each(|_| w.immediate(CONSUME, length, 0)));
        });
    }
    list.plain("consume 0 B of two endpoints in turn", |w| {
        w.arrive(|| {
            for _ in 0..4 {
                w.immediate(CONSUME, 0, 0);
                w.machine.settle();
                let own = SendImmediate::new(w.peer, CONSUME);
                w.contexts[1].send_immediate(&own).expect("valid");
                w.machine.settle();
            }
        });
    });
}

/// Callbacks with and without a reply, and the part of `advance` behind them, where a reply leaves.
fn callbacks(list: &mut List) {
    for (what, answers) in [("answers", true), ("is silent", false)] {
        for behind in [false, true] {
            let make = move || {
                let world = World::new();
                let callback = move |context: &Context<Counted>, arrival: &Arrival<'_>| {
                    if answers {
                        let answer = SendImmediate::new(arrival.origin, CONSUME);
                        context.send_immediate(&answer).expect("valid");
                    }
                    if behind {
                        book::start_over();
                    }
                    Receive::Consumed
                };
                world.contexts[1]
                    .set_dispatch(OTHER, Box::new(callback))
                    .expect("first use");
                move || world.arrive(|| world.immediate(OTHER, 0, 0))
            };
            if behind {
                list.add_from_inside(format!("advance behind a callback that {what}"), make);
            } else {
                list.add(format!("advance with a callback that {what}"), make);
            }
        }
    }
}
