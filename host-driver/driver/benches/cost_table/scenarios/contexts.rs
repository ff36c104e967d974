// SPDX-License-Identifier: MIT OR Apache-2.0
//! Post, advance, wait, lock, memory.

use core::hint::black_box;

use gyre_driver::{BufferRange, Op, Platform};

use super::world::{CONSUME, NOBODY, World};
use super::{BURST, List};
use crate::book;

/// Advances over nothing, or turns.
const IDLE: usize = 64;

pub fn scenarios(list: &mut List) {
    list.plain("post a call", |w| {
        book::count(|| w.call());
        w.run(NOBODY);
    });
    list.plain("post a send", |w| {
        book::count(|| w.send(64, 0, false));
        w.run(NOBODY);
    });
    list.plain("post an immediate send behind a call", |w| {
        w.call();
        book::count(|| w.immediate(CONSUME, 32, 0));
        w.run(NOBODY);
    });
    for calls in [0, 1, BURST] {
        list.plain(format!("advance over {calls} calls"), move |w| {
            (0..calls).for_each(|_| w.call());
            book::count(|| w.advance(0, 1));
        });
    }
    for sends in [1, BURST] {
        list.plain(format!("advance that starts {sends} sends"), move |w| {
            (0..sends).for_each(|_| w.send(64, 0, false));
            book::count(|| w.advance(0, 1));
            w.run(NOBODY);
        });
    }
    list.plain(format!("advance {IDLE} times over nothing"), |w| {
        book::count(|| (0..IDLE).for_each(|_| w.advance(0, 1)));
    });
    list.plain(format!("{IDLE} turns of advance over nothing"), |w| {
        book::count(|| w.advance(0, IDLE));
    });
    for (what, turns) in [
        ("advance with a function for every turn", 1),
        ("the same, turns", IDLE),
    ] {
        list.add(what, move || {
            let world = World::new();
            world.contexts[0].add_progress(Box::new(|_| false));
            move || book::count(|| world.advance(0, turns))
        });
    }
    list.plain("wait over nothing", |w| {
        book::count(|| w.contexts[0].wait(Some(1)).expect("not destroyed"));
        w.run(NOBODY);
    });
    list.plain("lock and unlock", |w| {
        book::count(|| drop(w.contexts[0].lock()));
    });
    list.plain("try_lock and unlock", |w| {
        book::count(|| assert!(w.contexts[0].try_lock().is_some()));
    });
    list.plain("a block of DMA memory got and given back", |w| {
        let platform = w.contexts[0].platform();
        book::count(|| {
            platform.charge(Op::Allocate, 2);
            drop(black_box(BufferRange::zeroed(platform, 64)));
        });
    });
}
