// SPDX-License-Identifier: MIT OR Apache-2.0
//! Future events of a node, in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::register_bus::Response;
use super::wait::{ActorId, Signal};
use crate::axi::{ReadBurst, WriteBurst};

/// Something that happens to a node's memory or software at a time.
pub(crate) enum Event {
    /// A write burst of the DMA engine becomes visible and is answered.
    MemoryWrite(Box<WriteBurst>),
    /// A read burst of the DMA engine samples memory.
    MemoryRead(ReadBurst),
    /// The oldest register access of a port is answered.
    RegisterResponse(Response),
    /// Software sees the interrupt and wake-up outputs change.
    Levels(u32),
    /// An actor runs again, if it still waits with this ticket.
    Resume {
        /// Actor to resume.
        actor: ActorId,
        /// Which of its waits.
        ticket: u64,
        /// Signal that it receives.
        signal: Signal,
    },
}

impl Event {
    /// At equal times memory changes before it is sampled, and hardware is seen before software runs.
    fn class(&self) -> u8 {
        match self {
            Event::MemoryWrite(_) => 0,
            Event::MemoryRead(_) => 1,
            Event::RegisterResponse(_) => 2,
            Event::Levels(_) => 3,
            Event::Resume { .. } => 4,
        }
    }
}

struct Entry {
    /// Picoseconds, class, order of insertion.
    key: (u64, u8, u64),
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// Events ordered by time, then class, then insertion.
#[derive(Default)]
pub(crate) struct EventHeap {
    heap: BinaryHeap<Reverse<Entry>>,
    inserted: u64,
}

impl EventHeap {
    pub(crate) fn push(&mut self, ps: u64, event: Event) {
        let key = (ps, event.class(), self.inserted);
        self.inserted += 1;
        self.heap.push(Reverse(Entry { key, event }));
    }

    /// When the next event is, in picoseconds.
    pub(crate) fn next_ps(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(entry)| entry.key.0)
    }

    /// Takes the next event if it is before `end_ps`.
    pub(crate) fn pop_before(&mut self, end_ps: u64) -> Option<(u64, Event)> {
        if self.next_ps()? >= end_ps {
            return None;
        }
        self.heap
            .pop()
            .map(|Reverse(entry)| (entry.key.0, entry.event))
    }

    /// Removes the resumption of an actor's wait that has ended by something else: nothing goes on for its sake.
    pub(crate) fn withdraw(&mut self, waited: (ActorId, u64)) {
        self.heap.retain(|Reverse(entry)| match entry.event {
            Event::Resume { actor, ticket, .. } => (actor, ticket) != waited,
            _ => true,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_time_then_class_then_insertion() {
        let mut heap = EventHeap::default();
        let resume = |ticket| Event::Resume {
            actor: ActorId(0),
            ticket,
            signal: Signal::Go,
        };
        heap.push(20, resume(1));
        heap.push(10, resume(2));
        heap.push(10, resume(3));
        heap.push(10, Event::Levels(7));
        let mut order = Vec::new();
        while let Some((ps, event)) = heap.pop_before(20) {
            order.push((
                ps,
                match event {
                    Event::Levels(levels) => levels.into(),
                    Event::Resume { ticket, .. } => ticket,
                    _ => unreachable!("not pushed"),
                },
            ));
        }
        assert_eq!(order, [(10, 7), (10, 2), (10, 3)]);
        assert_eq!(heap.next_ps(), Some(20));
    }
}
