// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matching events of an endpoint, and whether MPI's matching explains them.
//!
//! Messages of one origin arrive in the order sent. The network decides how those of several origins interleave, and
//! only their number is seen. A history holds when some interleaving, matched with two plain lists, returns every
//! result in it.

use std::collections::HashSet;

use gyre_driver::matching::Received;

use crate::conformance::program::Pattern;

/// Branches of a history after which it counts as unexplained.
const MOST_BRANCHES: usize = 300_000;

/// A matching event of an endpoint.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// A receive is posted.
    Receive(usize),
    /// A probe and its result.
    Probe(Pattern, Option<Received>),
    /// A cancellation, and whether it took the receive back.
    Cancel(usize, bool),
    /// Numbers of messages that came and found a receive, and that found none.
    Arrivals { expected: u64, unexpected: u64 },
    /// Lengths of the queues of receives and of messages.
    Queues { posted: usize, pending: usize },
}

/// Labels and results of messages and receives.
pub trait Facts {
    /// The result of a receive that matches a message.
    fn received(&self, message: usize) -> Option<Received>;
    /// Whether a receive or probe matches a message.
    fn matches(&self, pattern: &Pattern, message: usize) -> bool;
    /// Labels that a receive matches.
    fn pattern(&self, receive: usize) -> Pattern;
    /// Whether a receive has ended as its fate says.
    fn has_ended(&self, receive: usize, fate: Fate) -> bool;
}

/// The end of a receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Waits,
    Cancelled,
    Gets(usize),
}

/// The end of a history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matching {
    /// Receives with their messages.
    pub pairs: Vec<(usize, usize)>,
    /// Receives without message.
    pub posted: Vec<usize>,
    /// Messages without receive, in order of arrival.
    pub pending: Vec<usize>,
}

/// A history up to a point, by some interleaving.
#[derive(Clone, Default)]
struct Branch {
    event: usize,
    /// Arrivals of the current event so far.
    expected: u64,
    unexpected: u64,
    /// Messages of each origin that have come.
    arrived: Vec<usize>,
    matching: Matching,
}

/// Finds an interleaving of `origins`, the messages of each origin to the task, that explains `events`.
pub fn explain(
    events: &[Event],
    origins: &[Vec<usize>],
    facts: &impl Facts,
) -> Result<Matching, String> {
    let mut branches = vec![Branch {
        arrived: vec![0; origins.len()],
        ..Branch::default()
    }];
    let mut seen = HashSet::new();
    let mut reached = 0;
    while let Some(branch) = branches.pop() {
        let key = (branch.event, branch.expected, branch.arrived.clone());
        if !seen.insert((key, branch.matching.pending.clone())) {
            continue;
        }
        // A history that no interleaving explains may have too many of them; one that holds is found early.
        if seen.len() > MOST_BRANCHES {
            break;
        }
        reached = reached.max(branch.event);
        let Some(event) = events.get(branch.event) else {
            if branch.holds_at_end(origins, facts) {
                return Ok(branch.matching);
            }
            continue;
        };
        branches.extend(branch.after(event, origins, facts));
    }
    let event = events.get(reached);
    Err(format!("nothing explains event {reached}, {event:?}"))
}

impl Branch {
    /// The branches after an event.
    fn after(mut self, event: &Event, origins: &[Vec<usize>], facts: &impl Facts) -> Vec<Self> {
        let so_far = (self.expected, self.unexpected);
        let matching = &mut self.matching;
        let holds = match *event {
            Event::Receive(receive) => {
                let pattern = facts.pattern(receive);
                match matching.oldest_pending(&pattern, facts) {
                    Some(index) => {
                        let message = matching.pending.remove(index);
                        matching.pairs.push((receive, message));
                        facts.has_ended(receive, Fate::Gets(message))
                    }
                    None => {
                        matching.posted.push(receive);
                        true
                    }
                }
            }
            Event::Probe(pattern, found) => {
                let oldest = matching.oldest_pending(&pattern, facts);
                oldest.and_then(|index| facts.received(matching.pending[index])) == found
            }
            Event::Cancel(receive, cancelled) => {
                let index = matching.posted.iter().position(|&posted| posted == receive);
                if let Some(index) = index {
                    matching.posted.remove(index);
                }
                let ended = !cancelled || facts.has_ended(receive, Fate::Cancelled);
                cancelled == index.is_some() && ended
            }
            Event::Arrivals {
                expected,
                unexpected,
            } if (expected, unexpected) != so_far => {
                let next = |origin| self.arrive(origin, origins, (expected, unexpected), facts);
                return (0..origins.len()).filter_map(next).collect();
            }
            Event::Arrivals { .. } => true,
            Event::Queues { posted, pending } => {
                (posted, pending) == (matching.posted.len(), matching.pending.len())
            }
        };
        (self.event, self.expected, self.unexpected) = (self.event + 1, 0, 0);
        if holds { vec![self] } else { Vec::new() }
    }

    /// The branch in which the next message of `origin` arrives, of these totals in the event.
    fn arrive(
        &self,
        origin: usize,
        origins: &[Vec<usize>],
        (expected, unexpected): (u64, u64),
        facts: &impl Facts,
    ) -> Option<Self> {
        let &message = origins[origin].get(self.arrived[origin])?;
        let mut branch = self.clone();
        branch.arrived[origin] += 1;
        let matching = &mut branch.matching;
        let mut posted = matching.posted.iter();
        let holds =
            match posted.position(|&receive| facts.matches(&facts.pattern(receive), message)) {
                Some(index) => {
                    let receive = matching.posted.remove(index);
                    matching.pairs.push((receive, message));
                    branch.expected += 1;
                    branch.expected <= expected && facts.has_ended(receive, Fate::Gets(message))
                }
                None => {
                    matching.pending.push(message);
                    branch.unexpected += 1;
                    branch.unexpected <= unexpected
                }
            };
        holds.then_some(branch)
    }

    /// Whether all messages have arrived, and the remaining receives wait.
    fn holds_at_end(&self, origins: &[Vec<usize>], facts: &impl Facts) -> bool {
        let all = |(origin, &arrived): (&Vec<usize>, &usize)| origin.len() == arrived;
        let mut posted = self.matching.posted.iter();
        origins.iter().zip(&self.arrived).all(all)
            && posted.all(|&receive| facts.has_ended(receive, Fate::Waits))
    }
}

impl Matching {
    /// Place of the oldest matching message without receive.
    fn oldest_pending(&self, pattern: &Pattern, facts: &impl Facts) -> Option<usize> {
        let mut pending = self.pending.iter();
        pending.position(|&message| facts.matches(pattern, message))
    }
}
