// SPDX-License-Identifier: MIT OR Apache-2.0
//! Affinity domains.

use std::collections::BTreeMap;

use crate::place::{Place, Unit};
use crate::tree::{Tree, TreeError};

/// The software threads of one hardware unit (AF-2), with the topology by which they talk (AF-3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// Kind of the unit.
    pub unit: Unit,
    /// Place of the unit's first hardware thread.
    pub place: Place,
    /// All software threads of the unit, ascending.
    pub threads: Vec<usize>,
    /// Thread that communicates for the domain.
    pub leader: usize,
    /// Nodes of the domain's tree, the leader first: the threads of a core, otherwise the leaders of the domains
    /// inside.
    pub members: Vec<usize>,
    /// Maximum children of a member.
    pub arity: usize,
}

impl Domain {
    /// Edges of the tree: (child, parent).
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        let edge = |i: usize| (self.members[i], self.members[(i - 1) / self.arity]);
        (1..self.members.len()).map(edge)
    }
}

/// The domains of a node's software threads, and the tree that joins them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domains {
    domains: Vec<Domain>,
    tree: Tree,
}

impl Domains {
    /// Domains of software threads `0..places.len()` with `arity`-ary trees; thread `i` runs at `places[i]`. The lowest
    /// thread of a domain leads it.
    ///
    /// # Errors
    /// [`TreeError`].
    pub fn new(places: &[Place], arity: usize) -> Result<Self, TreeError> {
        Self::led_by(places, arity, 0)
    }

    /// As [`Domains::new`], but software thread `first` leads every domain that contains it.
    ///
    /// # Errors
    /// [`TreeError`].
    pub fn led_by(places: &[Place], arity: usize, first: usize) -> Result<Self, TreeError> {
        if places.is_empty() {
            return Err(TreeError::Empty);
        }
        let mut domains = Vec::new();
        // Threads that the trees of the next larger units join.
        let mut talkers: Vec<usize> = (0..places.len()).collect();
        for unit in Unit::DOMAINS {
            if unit == Unit::Node && talkers.len() == 1 {
                break;
            }
            let mut units: BTreeMap<Place, Domain> = BTreeMap::new();
            for (thread, place) in places.iter().enumerate() {
                let place = place.within(unit);
                let domain = units.entry(place).or_insert_with(|| Domain {
                    unit,
                    place,
                    threads: Vec::new(),
                    leader: thread,
                    members: Vec::new(),
                    arity,
                });
                domain.threads.push(thread);
                if thread == first {
                    domain.leader = thread;
                }
            }
            for thread in talkers {
                if let Some(domain) = units.get_mut(&places[thread].within(unit)) {
                    domain.members.push(thread);
                }
            }
            let mut units: Vec<Domain> = units.into_values().collect();
            for domain in &mut units {
                let leader = domain.leader;
                domain
                    .members
                    .sort_by_key(|&thread| (thread != leader, thread));
            }
            talkers = units.iter().map(|domain| domain.leader).collect();
            domains.extend(units);
        }
        let mut tree = Tree::alone(places.len(), talkers[0]);
        for domain in &domains {
            tree.join(&domain.members, arity)?;
        }
        Ok(Self { domains, tree })
    }

    /// All domains, smallest units first.
    #[must_use]
    pub fn all(&self) -> &[Domain] {
        &self.domains
    }

    /// Domains of one kind of unit.
    pub fn of(&self, unit: Unit) -> impl Iterator<Item = &Domain> {
        self.domains.iter().filter(move |d| d.unit == unit)
    }

    /// The trees of all domains, joined at their leaders. Children of the smallest domain come first.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }
}
