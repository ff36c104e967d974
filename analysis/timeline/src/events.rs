// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events of a run: gathered while it runs, in order afterwards.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::{Event, Lane, What};
use crate::spool::{Merged, Record, Runs, SpoolError};

/// What events are in the order of.
type Key = (u64, u32, Lane);

impl Record for Event {
    type Key = Key;

    fn key(&self) -> Key {
        (self.ps, self.node, self.lane)
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        let written = postcard::to_extend(self, std::mem::take(bytes));
        *bytes = written.expect("a vector takes whatever an event has");
    }

    fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        postcard::take_from_bytes(bytes).ok()
    }
}

/// What is known of events without a look at each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Summary {
    count: usize,
    /// Of software, with their nodes.
    threads: BTreeSet<(u32, u32)>,
    /// A driver has spent time in its operations.
    spent: bool,
    /// An operation of a program has ended.
    ended: bool,
}

impl Summary {
    fn add(&mut self, events: &[Event]) {
        self.count += events.len();
        let mut last = None;
        for event in events {
            match event.what {
                What::Spent { .. } => self.spent = true,
                What::Operation { .. } => self.ended = true,
                _ => {}
            }
            if let Lane::Thread(number) = event.lane
                && last.replace((event.node, number)) != Some((event.node, number))
            {
                self.threads.insert((event.node, number));
            }
        }
    }
}

/// The events of a machine while it runs: those that are more than a [`Sink`] holds go to disk. Clones are the same.
#[derive(Debug, Clone)]
pub struct Spool(Arc<Mutex<Spooled>>);

#[derive(Debug)]
struct Spooled {
    runs: Runs<Key>,
    summary: Summary,
}

impl Spool {
    /// One whose file is made in a folder, without a name, once there is too much for memory.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self(Arc::new(Mutex::new(Spooled {
            runs: Runs::new(folder),
            summary: Summary::default(),
        })))
    }

    /// One that holds `limit` events in memory before they go to disk.
    #[must_use]
    pub fn sink(&self, limit: usize) -> Sink {
        Sink {
            spool: self.clone(),
            limit,
            held: Vec::new(),
        }
    }

    /// What has gone wrong with its file, if something has: events are lost from then on.
    #[must_use]
    pub fn error(&self) -> Option<SpoolError> {
        self.lock().runs.error().cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Spooled> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them, with the `rest` that its sinks held at the end.
    pub(crate) fn into_events(self, mut rest: Vec<Event>) -> Events {
        let mut spooled = self.lock();
        let empty = Runs::new(spooled.runs.folder().to_owned());
        let runs = std::mem::replace(&mut spooled.runs, empty);
        let mut summary = std::mem::take(&mut spooled.summary);
        summary.add(&rest);
        rest.sort_by_key(Record::key);
        Events(Arc::new(Kept {
            runs,
            rest,
            summary,
        }))
    }
}

/// Takes events of lanes that no other sink of its spool takes events of.
#[derive(Debug)]
pub struct Sink {
    spool: Spool,
    limit: usize,
    held: Vec<Event>,
}

impl Sink {
    /// Takes the next event.
    pub fn push(&mut self, event: Event) {
        self.held.push(event);
        if self.held.len() >= self.limit {
            // Stable: equal times of a lane stay in its order.
            self.held.sort_by_key(Record::key);
            let mut spooled = self.spool.lock();
            spooled.summary.add(&self.held);
            spooled.runs.add(&self.held);
            self.held.clear();
        }
    }

    /// Those that are in memory, with which it ends; its next ones go to another spool.
    #[must_use]
    pub fn rest(&mut self, next: &Spool) -> Vec<Event> {
        self.spool = next.clone();
        std::mem::take(&mut self.held)
    }
}

/// Events in their order.
#[derive(Clone)]
pub(crate) struct Events(Arc<Kept>);

struct Kept {
    runs: Runs<Key>,
    /// In order; of equal keys they follow those of runs.
    rest: Vec<Event>,
    summary: Summary,
}

impl Events {
    /// Those of memory alone, in any order of lanes.
    pub(crate) fn of(events: Vec<Event>) -> Self {
        Spool::new(PathBuf::new()).into_events(events)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.summary.count
    }

    pub(crate) fn spent(&self) -> bool {
        self.0.summary.spent
    }

    pub(crate) fn ended(&self) -> bool {
        self.0.summary.ended
    }

    pub(crate) fn has_thread(&self, node: u32, number: u32) -> bool {
        self.0.summary.threads.contains(&(node, number))
    }

    pub(crate) fn error(&self) -> Option<&SpoolError> {
        self.0.runs.error()
    }

    /// Each, by time, node, lane and serial.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Event> {
        let mut last = None;
        let mut next = 0;
        Merged::of(&self.0.runs, &self.0.rest).map(move |mut event| {
            let key = event.key();
            next = if last == Some(key) { next + 1 } else { 0 };
            event.serial = next;
            last = Some(key);
            event
        })
    }
}

impl PartialEq for Events {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Events {}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
