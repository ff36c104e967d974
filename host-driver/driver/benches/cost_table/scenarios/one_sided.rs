// SPDX-License-Identifier: MIT OR Apache-2.0
//! Put, get, read-modify-write.

use gyre_driver::{MemoryRegion, Rget, Rmw, RmwOp, RmwWidth, Rput};

use super::world::{EACH, NOBODY, ORIGIN, World, done};
use super::{List, SINGLE_AND_BURST};
use crate::book;
use crate::platform::Counted;

/// Bytes of a put or get.
const LENGTH: usize = 4096;

/// Posts an operation on the second task's region.
pub type Operation = fn(&World, &MemoryRegion<Counted>);

pub fn scenarios(list: &mut List) {
    let put_remote: Operation = |w, region| {
        let rput = Rput {
            remote_done: done(),
            ..Rput::new(w.peer, w.part(LENGTH), region.remote())
        };
        w.contexts[0].rput(rput).expect("valid");
    };
    let rmw: Operation = |w, region| {
        let width = RmwWidth::Eight;
        let rmw = Rmw {
            destination: w.peer,
            region: region.remote(),
            offset: 0,
            op: RmwOp::Add,
            width,
            value: 1,
            test: None,
            result: Some(w.part(width.bytes())),
            done: done(),
        };
        w.contexts[0].rmw(rmw).expect("valid");
    };
    // Most leave nothing to do to the target's processor.
    for (name, operation, sides) in [
        ("put", put as Operation, &[ORIGIN][..]),
        ("put, remote done", put_remote, EACH),
        ("get", get, &[ORIGIN]),
        ("read-modify-write", rmw, &[ORIGIN]),
    ] {
        list.protocol_of(sides, name, SINGLE_AND_BURST, move || {
            let world = World::new();
            let region = world.region();
            (world, move |w: &World| operation(w, &region))
        });
    }
    for many in [1, 16] {
        list.add(
            format!("8 advances while {many} gets are under way"),
            move || {
                let world = World::new();
                let region = world.region();
                move || {
                    (0..many).for_each(|_| get(&world, &region));
                    world.advance(0, 1);
                    book::count(|| (0..8).for_each(|_| world.advance(0, 1)));
                    world.run(NOBODY);
                }
            },
        );
    }
}

pub fn put(world: &World, region: &MemoryRegion<Counted>) {
    let rput = Rput {
        local_done: done(),
        ..Rput::new(world.peer, world.part(LENGTH), region.remote())
    };
    world.contexts[0].rput(rput).expect("valid");
}

pub fn get(world: &World, region: &MemoryRegion<Counted>) {
    let rget = Rget {
        source: world.peer,
        region: region.remote(),
        offset: 0,
        into: world.part(LENGTH),
        done: done(),
    };
    world.contexts[0].rget(rget).expect("valid");
}
