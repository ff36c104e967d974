// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fences, with something before them and with nothing.

use gyre_driver::Fence;

use super::one_sided::{Operation, get, put};
use super::world::{EACH, ORIGIN, World, done};
use super::{List, SINGLE_AND_BURST};

pub fn scenarios(list: &mut List) {
    // To the target a fence behind a put or a get is a fence.
    for (name, before, sides) in [
        ("fence", (|_, _| ()) as Operation, EACH),
        ("send and fence", |w, _| w.send(64, 0, false), EACH),
        ("put and fence", put, &[ORIGIN]),
        ("get and fence", get, &[ORIGIN]),
    ] {
        list.protocol_of(sides, name, SINGLE_AND_BURST, move || {
            let world = World::new();
            let region = world.region();
            let post = move |w: &World| {
                before(w, &region);
                let fence = Fence {
                    destination: w.peer,
                    done: done(),
                };
                w.contexts[0].fence(fence).expect("valid");
            };
            (world, post)
        });
    }
    list.protocol("fence of all endpoints", &[1], || {
        let post = |w: &World| w.contexts[0].fence_all(done()).expect("valid");
        (World::new(), post)
    });
}
