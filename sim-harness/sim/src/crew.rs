// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that run the hardware of a window's nodes.
//!
//! The thread of the machine, the only one that runs software, offers the nodes of a window one after another as
//! their software is done. All threads, that one last of all, take what is offered, and when all is done the window
//! is over: one synchronisation a window. Nodes of a window do not see each other, so results do not depend on who
//! runs which, or when.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::hardware::{Hardware, Window};

/// Looks in vain before a thread gives its processor to others, and before it sleeps.
const SPINS: u32 = 2_000;
const YIELDS: u32 = 200;

/// A thread that sleeps looks again by itself: nobody waits for it, since the machine's own thread takes what no
/// other does.
const NAP: Duration = Duration::from_micros(200);

/// A counter on a cache line of its own: threads write them all the time.
#[derive(Default)]
#[repr(align(128))]
struct Count(AtomicU64);

struct Tasks {
    window: Window,
    /// Number of the first task.
    first: u64,
    /// The node of each task.
    nodes: Vec<usize>,
}

/// State shared by the threads. Tasks are numbered from the start of the machine: counts never go back.
struct Board {
    hardware: Arc<Hardware>,
    /// Of the window under way. Changes only while all tasks are done.
    tasks: RwLock<Tasks>,
    offered: Count,
    taken: Count,
    done: Count,
    closing: AtomicBool,
}

/// The threads of a machine.
pub(crate) struct Crew {
    board: Arc<Board>,
    threads: Vec<JoinHandle<()>>,
}

/// Counts a task as done, also when it panics: the machine then finds the node poisoned instead of waiting.
struct Done<'a>(&'a Board);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.done.0.fetch_add(1, Ordering::Release);
    }
}

impl Board {
    /// Runs one task. False if none is offered.
    fn work(&self) -> bool {
        let taken = &self.taken.0;
        let number = taken.load(Ordering::Relaxed);
        if number >= self.offered.0.load(Ordering::Acquire) {
            return false;
        }
        let order = (Ordering::Relaxed, Ordering::Relaxed);
        if taken
            .compare_exchange(number, number + 1, order.0, order.1)
            .is_err()
        {
            return true;
        }
        let _done = Done(self);
        let (node, window) = {
            let tasks = self.tasks.read().unwrap_or_else(PoisonError::into_inner);
            (tasks.nodes[(number - tasks.first) as usize], tasks.window)
        };
        self.hardware.run(node, window);
        true
    }

    /// Body of a thread: runs tasks until the machine is dropped.
    fn serve(&self) {
        let mut idle = 0;
        while !self.closing.load(Ordering::Relaxed) {
            if self.work() {
                idle = 0;
                continue;
            }
            idle += 1;
            if idle <= SPINS {
                hint::spin_loop();
            } else if idle <= SPINS + YIELDS {
                thread::yield_now();
            } else {
                thread::park_timeout(NAP);
            }
        }
    }
}

impl Crew {
    /// Threads beside that of the machine.
    pub(crate) fn new(hardware: &Arc<Hardware>, others: usize) -> Self {
        let board = Arc::new(Board {
            hardware: Arc::clone(hardware),
            tasks: RwLock::new(Tasks {
                window: Window {
                    start: 0,
                    end: 0,
                    skip: true,
                },
                first: 0,
                nodes: Vec::new(),
            }),
            offered: Count::default(),
            taken: Count::default(),
            done: Count::default(),
            closing: AtomicBool::new(false),
        });
        let start = |_| {
            let board = Arc::clone(&board);
            thread::spawn(move || board.serve())
        };
        Self {
            threads: (0..others).map(start).collect(),
            board,
        }
    }

    /// Runs `nodes` for a window: `software` of each in order on this thread, then its hardware on any.
    pub(crate) fn run(&self, window: Window, nodes: &[usize], mut software: impl FnMut(usize)) {
        let board = &*self.board;
        {
            let mut tasks = board.tasks.write().unwrap_or_else(PoisonError::into_inner);
            tasks.window = window;
            tasks.first = board.offered.0.load(Ordering::Relaxed);
            tasks.nodes.clear();
            tasks.nodes.extend_from_slice(nodes);
        }
        for &node in nodes {
            software(node);
            board.offered.0.fetch_add(1, Ordering::Release);
        }
        while board.work() {}
        let offered = board.offered.0.load(Ordering::Relaxed);
        let mut idle = 0;
        while board.done.0.load(Ordering::Acquire) != offered {
            idle += 1;
            if idle <= SPINS {
                hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.board.closing.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // A thread that panicked has poisoned its node; the machine has reported that.
            thread.join().ok();
        }
    }
}
