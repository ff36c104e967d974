// SPDX-License-Identifier: MIT OR Apache-2.0
//! All events of a run, with the names of what they are about.

use crate::event::Event;
use crate::events::{Events, Spool};
use crate::spool::SpoolError;

/// A software thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Its node.
    pub node: u32,
    /// Its number on the node, as in [`Lane::Thread`](crate::Lane::Thread).
    pub number: u32,
    /// Its name.
    pub name: String,
    /// The task that it belongs to, if it belongs to one.
    pub task: Option<u32>,
}

/// A link, from the node that sends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Sending node.
    pub node: u32,
    /// Port that it leaves by, as in [`Lane::Link`](crate::Lane::Link).
    pub port: u8,
    /// Receiving node.
    pub to: u32,
    /// Name on its node.
    pub name: String,
}

/// A run: its events and what they are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// Picoseconds of a cycle.
    pub cycle_ps: u64,
    /// Picoseconds that a flit spends on a link, from the sender's register to the receiver's.
    pub link_ps: u64,
    /// Picoseconds from the acceptance of a read of memory to its first data.
    pub memory_read_ps: u64,
    /// Picoseconds from the last data of a write to memory to the response.
    pub memory_write_ps: u64,
    /// Picoseconds of a register access between a processor and the port of the registers, one way.
    pub register_ps: u64,
    /// When recording began.
    pub start_ps: u64,
    /// When it ended.
    pub end_ps: u64,
    /// Nodes of the machine.
    pub nodes: u32,
    /// Software threads, by node and number.
    pub threads: Vec<Thread>,
    /// Links, by node and port.
    pub links: Vec<Link>,
    /// Names of the driver's operations, by their number in [`What::Spent`](crate::What::Spent).
    pub operations: Vec<&'static str>,
    events: Events,
}

impl Recording {
    /// A recording of nothing from `start_ps` to `end_ps`.
    #[must_use]
    pub fn empty(cycle_ps: u64, nodes: u32, start_ps: u64, end_ps: u64) -> Self {
        Self {
            cycle_ps,
            link_ps: 0,
            memory_read_ps: 0,
            memory_write_ps: 0,
            register_ps: 0,
            start_ps,
            end_ps,
            nodes,
            threads: Vec::new(),
            links: Vec::new(),
            operations: Vec::new(),
            events: Events::of(Vec::new()),
        }
    }

    /// The same with these events. Those of a lane come in its order; lanes may be mixed in any way.
    #[must_use]
    pub fn with_events(mut self, events: Vec<Event>) -> Self {
        self.events = Events::of(events);
        self
    }

    /// The same with the events of a spool, and the `rest` that its sinks held at the end.
    #[must_use]
    pub fn with_spool(mut self, spool: Spool, rest: Vec<Event>) -> Self {
        self.events = spool.into_events(rest);
        self
    }

    /// Whether a driver has spent time in its operations.
    #[must_use]
    pub fn has_operations(&self) -> bool {
        self.events.spent()
    }

    /// Whether an operation of a program has ended.
    #[must_use]
    pub fn has_program(&self) -> bool {
        self.events.ended()
    }

    /// Whether there are events of a software thread.
    #[must_use]
    pub fn has_thread(&self, thread: &Thread) -> bool {
        self.events.has_thread(thread.node, thread.number)
    }

    /// How many events there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.events.count()
    }

    /// Each event, by time, node, lane and serial. The last ones are missing after an error, which [`Recording::error`] has.
    pub fn events(&self) -> impl Iterator<Item = Event> {
        self.events.iter()
    }

    /// What has gone wrong with the file of the events, if something has.
    #[must_use]
    pub fn error(&self) -> Option<&SpoolError> {
        self.events.error()
    }
}
