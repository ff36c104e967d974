// SPDX-License-Identifier: MIT OR Apache-2.0
//! The software of a machine: actors on the processors of its nodes.

mod actor;
mod cpu;
mod event;
mod lock;
mod register_bus;
mod registers;
mod shared;
mod wait;

use std::cell::RefMut;
use std::collections::BTreeMap;
use std::rc::Rc;

use gyre_timeline::{Sink, Spool};

pub use cpu::Cpu;
pub(crate) use event::Event;
pub use lock::{Lock, Notify};
pub(crate) use register_bus::Response;
pub use shared::LogEntry;
pub(crate) use shared::SoftNode;
pub use wait::{ActorId, WakeReason};

use crate::config::MachineConfig;
use crate::error::{ActorError, SimError};
use crate::memory::Memory;
use crate::stall::StalledActor;
use crate::topology::Topology;
use actor::Actor;
use shared::Shared;
use wait::{Signal, Wait};

/// All actors, with their shared state.
pub(crate) struct Software {
    // Before `shared`: actors own handles to it.
    actors: BTreeMap<ActorId, Actor>,
    shared: Rc<Shared>,
    /// First failure of an actor that was not asked for, with its time.
    failed: Option<(u64, SimError)>,
    makespan_ps: u64,
    ended: u64,
}

impl Software {
    /// Nodes with empty memories and no actors.
    pub(crate) fn new(config: &MachineConfig, topology: Topology) -> Self {
        let memories = (0..topology.nodes()).map(|_| Memory::new(&config.memory.error_ranges));
        let clock = (config.cycle_ps, config.cpu_ps, config.reg_latency);
        Self {
            actors: BTreeMap::new(),
            shared: Rc::new(Shared::new(topology, clock, memories)),
            failed: None,
            makespan_ps: 0,
            ended: 0,
        }
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.shared.topology
    }

    /// A node's memory and events. No actor runs while the caller holds them.
    pub(crate) fn node(&self, index: usize) -> RefMut<'_, SoftNode> {
        self.shared.nodes[index].borrow_mut()
    }

    /// Digests of what software has written into memory that processes share, by node.
    pub(crate) fn digests(&self) -> impl Iterator<Item = u64> {
        let nodes = self.shared.nodes.iter();
        nodes.map(|node| node.borrow().digest.value())
    }

    /// Bytes of all memories that were ever written, in whole pages.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let nodes = self.shared.nodes.iter();
        nodes
            .map(|node| node.borrow().memory.resident_bytes())
            .sum()
    }

    /// Starts an actor.
    pub(crate) fn spawn<E: Into<ActorError>>(
        &mut self,
        node: usize,
        name: &str,
        now_ps: u64,
        body: impl FnOnce(Cpu) -> Result<(), E> + 'static,
    ) -> ActorId {
        let id = Cpu::new(Rc::clone(&self.shared), node).spawn_at(name, now_ps, body);
        self.adopt_actors();
        id
    }

    pub(crate) fn has_ended(&self, actor: ActorId) -> bool {
        !self.actors.contains_key(&actor)
    }

    pub(crate) fn all_ended(&self) -> bool {
        self.actors.is_empty()
    }

    /// Actors that have ended.
    pub(crate) fn ended(&self) -> u64 {
        self.ended
    }

    /// Time at which the last actor that ended did so.
    pub(crate) fn makespan_ps(&self) -> u64 {
        self.makespan_ps
    }

    /// No actor acts beyond `end_ps` from now on.
    pub(crate) fn limit_window(&self, end_ps: u64) {
        self.shared.window_end_ps.set(end_ps);
    }

    /// Takes a node's next event if it is before `end_ps`; it is that time then.
    pub(crate) fn next_event(&self, index: usize, end_ps: u64) -> Option<(u64, Event)> {
        let mut node = self.node(index);
        let (ps, event) = node.events.pop_before(end_ps)?;
        node.now_ps = ps;
        Some((ps, event))
    }

    /// Software sees the answer to a register access.
    pub(crate) fn answer(&self, index: usize, ps: u64, response: Response) {
        let access = response.access;
        let Some(actor) = self.actors.get(&access.actor) else {
            return;
        };
        let state = &actor.state;
        match access.ticket {
            Some(ticket) => {
                let signal = Signal::Value(response.value);
                self.shared
                    .resume_at(index, access.actor, ticket, ps, signal);
            }
            None => {
                state.posted.set(state.posted.get() - 1);
                if let (Err(error), None) = (response.value, state.posted_error.get()) {
                    state.posted_error.set(Some(error));
                }
                if state.posted.get() == 0 && state.wait.get() == Wait::Fence {
                    let ticket = state.ticket.get();
                    self.shared
                        .resume_at(index, access.actor, ticket, ps, Signal::Go);
                }
            }
        }
    }

    /// Software sees the interrupt and wake-up outputs change.
    pub(crate) fn set_levels(&self, index: usize, ps: u64, levels: u32) {
        let woken: Vec<_> = {
            let mut node = self.node(index);
            node.levels = levels;
            node.waiters
                .extract_if(.., |(_, _, mask)| *mask & levels != 0)
                .collect()
        };
        for (actor, ticket, _) in woken {
            self.shared.resume_at(index, actor, ticket, ps, Signal::Go);
        }
    }

    /// An actor runs again, if it still waits with this ticket.
    pub(crate) fn resume(&mut self, id: ActorId, ticket: u64, ps: u64, signal: Signal) {
        let Some(actor) = self.actors.get_mut(&id) else {
            return;
        };
        let state = Rc::clone(&actor.state);
        if state.ticket.get() != ticket || state.wait.get() == Wait::Finished {
            return;
        }
        // A ticket is good for one resume.
        state.new_ticket();
        if matches!(state.wait.get(), Wait::Sleep { .. }) {
            self.shared.note_progress(ps);
        }
        if self.shared.recording.get() {
            self.shared.record_wait(&state, ps, signal);
        }
        state.local_ps.set(ps);
        let ended = self.shared.run(actor, signal);
        self.adopt_actors();
        self.give_actors_up();
        let Some(result) = ended else {
            return;
        };
        self.actors.remove(&id);
        self.ended += 1;
        let end_ps = state.local_ps.get();
        self.shared.note_progress(end_ps);
        self.makespan_ps = self.makespan_ps.max(end_ps);
        if let Err(source) = result {
            let earlier = self.failed.as_ref().is_some_and(|(ps, _)| *ps <= end_ps);
            if !earlier {
                let error = SimError::Actor {
                    node: state.node,
                    actor: state.name.clone(),
                    ps: end_ps,
                    source,
                };
                self.failed = Some((end_ps, error));
            }
        }
    }

    /// Takes over actors that were started.
    fn adopt_actors(&mut self) {
        for actor in self.shared.spawned.borrow_mut().drain(..) {
            self.actors.insert(actor.state.id, actor);
        }
    }

    /// Drops actors that others have ended.
    fn give_actors_up(&mut self) {
        let given_up = std::mem::take(&mut *self.shared.given_up.borrow_mut());
        for id in given_up {
            let Some(actor) = self.actors.remove(&id) else {
                continue;
            };
            self.ended += 1;
            // No signal is lost to it.
            let node = actor.state.node;
            self.node(node).waiters.retain(|(waiter, ..)| *waiter != id);
            // Calls made while it unwinds must not block.
            self.shared.closing.set(true);
            drop(actor);
            self.shared.closing.set(false);
        }
    }

    /// Time of the first failure of an actor; it may lie ahead, as an actor is ahead of its node by the time it charged.
    pub(crate) fn failure_ps(&self) -> Option<u64> {
        self.failed.as_ref().map(|(ps, _)| *ps)
    }

    /// The first failure of an actor, if it was before `end_ps`.
    pub(crate) fn take_failure(&mut self, end_ps: u64) -> Option<SimError> {
        let failed = self.failed.take_if(|(ps, _)| *ps < end_ps);
        failed.map(|(_, error)| error)
    }

    /// Time at which an actor, or its computation, ended last, or received something.
    pub(crate) fn progress_ps(&self) -> Option<u64> {
        self.shared.progress_ps.get()
    }

    /// Whether an actor computes: its time passes without it.
    pub(crate) fn is_computing(&self) -> bool {
        let computing = |actor: &Actor| matches!(actor.state.wait.get(), Wait::Sleep { .. });
        self.actors.values().any(computing)
    }

    /// The actors that have not ended and what they wait for, by node and name.
    pub(crate) fn stalled(&self) -> Vec<StalledActor> {
        let stalled = |actor: &Actor| StalledActor {
            node: actor.state.node,
            name: actor.state.name.clone(),
            since_ps: actor.state.local_ps.get(),
            waits_for: actor.state.wait.get().to_string(),
            description: actor.state.description.borrow().clone(),
        };
        let mut actors: Vec<StalledActor> = self.actors.values().map(stalled).collect();
        actors.sort_by(|a, b| (a.node, &a.name).cmp(&(b.node, &b.name)));
        actors
    }

    /// Records events from now on.
    pub(crate) fn record(&self, events: Sink) {
        self.shared.events.replace(Some(events));
        self.shared.recording.set(true);
    }

    /// The last events, those of each actor in its order; their spool has the others. Those from now on go to the `next`
    /// one.
    pub(crate) fn take_events(&self, next: &Spool) -> Vec<gyre_timeline::Event> {
        let mut events = self.shared.events.borrow_mut();
        let rest = events.as_mut().map(|events| events.rest(next));
        rest.unwrap_or_default()
    }

    /// The actors since recording began.
    pub(crate) fn threads(&self) -> Vec<gyre_timeline::Thread> {
        self.shared.threads.borrow().clone()
    }

    /// Keeps what software notes about messages from now on.
    pub(crate) fn keep_log(&self) {
        self.shared.log.borrow_mut().get_or_insert_default();
    }

    /// Log entries of software since the last call, in order of time and node.
    pub(crate) fn take_log(&self) -> Vec<LogEntry> {
        let mut kept = self.shared.log.borrow_mut();
        let mut log = kept.as_mut().map(std::mem::take).unwrap_or_default();
        log.sort_by_key(|entry| (entry.ps, entry.node));
        log
    }
}

impl Drop for Software {
    fn drop(&mut self) {
        // Actors that have not ended are unwound; their calls then must not block.
        self.shared.closing.set(true);
        self.actors.clear();
    }
}
