// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver's own count of memory for fences equals that of a counting allocator (FN-2). The allocator counts by
//! thread, and the test runs on one thread, so that other tests may run in parallel.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use gyre_driver::{Client, ClientConfig, Context, Coord, Fence, Resources, TaskMap};
use gyre_testkit::{Double, Process, config};

/// Fences in flight at once.
const FENCES: usize = 64;

thread_local! {
    /// Bytes that this thread has allocated, less those that it has freed.
    static LIVE: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is the system allocator's own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.set(LIVE.get().wrapping_add(layout.size()));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LIVE.set(LIVE.get().wrapping_add(layout.size()));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.set(LIVE.get().wrapping_add(size).wrapping_sub(layout.size()));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get().wrapping_sub(layout.size()));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static HEAP: Counting = Counting;

/// A client of `tasks` tasks with two contexts each, all but the first task elsewhere.
fn contexts(machine: &Double, tasks: usize) -> [Context<Process>; 2] {
    let place = |task: usize| Coord([task, task >> 6, task >> 12, 0, 0].map(|at| at as u8 & 0x3f));
    let map = Arc::new(TaskMap::new((0..tasks).map(place)).expect("few a node"));
    let client = ClientConfig {
        contexts: 2,
        ..config(&map, 0, Resources::default())
    };
    let client = Client::create(&machine.process(0), client).expect("the double has room");
    [0, 1].map(|offset| client.create_context(offset).expect("free"))
}

/// Posts fences of one context to the other and starts them; none of their packets arrives.
fn start(contexts: &[Context<Process>; 2]) {
    for _ in 0..FENCES {
        let destination = contexts[1].query().endpoint;
        let fence = Fence {
            destination,
            done: None,
        };
        contexts[0].fence(fence).expect("it exists");
    }
    for _ in 0..4 {
        contexts[0].advance(1).expect("no error");
    }
}

/// Bytes allocated for fences in flight, and the driver's count of them.
fn bytes_in_flight(tasks: usize) -> (usize, usize) {
    let machine = Double::new(1, 1);
    let contexts = contexts(&machine, tasks);
    let bytes = || contexts[0].fence_bytes().expect("nobody advances");
    // Queues keep their capacity.
    for _ in 0..3 {
        start(&contexts);
        while !contexts.iter().all(Context::is_at_rest) {
            machine.settle();
            for context in &contexts {
                context.advance(1).expect("no error");
            }
        }
        assert_eq!(bytes(), 0);
    }
    let before = LIVE.get();
    start(&contexts);
    (LIVE.get() - before, bytes())
}

#[test]
fn fn2_reported_fence_memory_equals_allocated_memory() {
    let (allocated, known) = bytes_in_flight(1);
    assert!(known >= FENCES, "{known} B");
    // Tree nodes are at least half full, and the room for gets was allocated before.
    assert!(
        allocated <= 2 * known && known <= 2 * allocated,
        "{allocated} B are allocated for fences, the driver counts {known} B"
    );
    assert_eq!(bytes_in_flight(500_000), (allocated, known));
}
