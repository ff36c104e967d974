// SPDX-License-Identifier: MIT OR Apache-2.0
//! State shared by actors and the machine.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::actor::{Actor, ActorState};
use super::event::{Event, EventHeap};
use super::register_bus::RegBus;
use super::wait::{ActorId, Signal, Wait, WakeReason};
use crate::config::MOST_PS;
use crate::error::ActorError;
use crate::hash::Digest;
use crate::memory::Memory;
use crate::topology::Topology;
use gyre_timeline::{Event as Recorded, Lane, Sink, Thread, What, Why};

/// Software's side of a node.
pub(crate) struct SoftNode {
    pub(crate) memory: Memory,
    pub(crate) events: EventHeap,
    pub(crate) regs: RegBus,
    /// Interrupt (bit 16) and wake-up (bits 15:0) outputs as software sees them.
    pub(crate) levels: u32,
    /// Wake groups that software has signalled and nobody has waited for yet.
    pub(crate) signals: u32,
    /// Actors that wait for one of some outputs, in order of their waits.
    pub(crate) waiters: Vec<(ActorId, u64, u32)>,
    /// Time of the last event, or of the running actor's last shared access.
    pub(crate) now_ps: u64,
    /// Digest of software's writes into memory that processes share.
    pub(crate) digest: Digest,
    /// Actors that were started so far.
    actors: u32,
}

/// A line of the software log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Time, picoseconds.
    pub ps: u64,
    /// Node.
    pub node: usize,
    /// Name of the actor.
    pub actor: String,
    /// Message id, as in the debug side-band of its packets.
    pub message: u32,
    /// Step of the message.
    pub what: &'static str,
}

/// State shared by actors and the machine.
pub(crate) struct Shared {
    pub(crate) topology: Topology,
    pub(crate) cycle_ps: u64,
    pub(crate) cpu_ps: u64,
    pub(crate) reg_latency: u64,
    pub(crate) nodes: Vec<RefCell<SoftNode>>,
    /// The actor whose code is on the processor of the host.
    current: RefCell<Option<Rc<ActorState>>>,
    /// Started by actors, not yet taken over by the machine.
    pub(crate) spawned: RefCell<Vec<Actor>>,
    /// Ended by actors, not yet given up by the machine.
    pub(crate) given_up: RefCell<Vec<ActorId>>,
    next_actor: Cell<u32>,
    /// Time at which an actor, or its computation, ended last, or received something.
    pub(crate) progress_ps: Cell<Option<u64>>,
    /// End of the window under way: no actor acts beyond it.
    pub(crate) window_end_ps: Cell<u64>,
    /// The machine, or an actor, is going away: nothing blocks any more.
    pub(crate) closing: Cell<bool>,
    pub(crate) log: RefCell<Option<Vec<LogEntry>>>,
    /// Whether events are recorded.
    pub(crate) recording: Cell<bool>,
    /// Takes events of actors, those of each in its order.
    pub(crate) events: RefCell<Option<Sink>>,
    /// Actors since recording began.
    pub(crate) threads: RefCell<Vec<Thread>>,
}

impl Shared {
    pub(crate) fn new(
        topology: Topology,
        (cycle_ps, cpu_ps, reg_latency): (u64, u64, u64),
        memories: impl Iterator<Item = Memory>,
    ) -> Self {
        let nodes = memories
            .map(|memory| {
                RefCell::new(SoftNode {
                    memory,
                    events: EventHeap::default(),
                    regs: RegBus::default(),
                    levels: 0,
                    signals: 0,
                    waiters: Vec::new(),
                    now_ps: 0,
                    digest: Digest::default(),
                    actors: 0,
                })
            })
            .collect();
        Self {
            topology,
            cycle_ps,
            cpu_ps,
            reg_latency,
            nodes,
            current: RefCell::new(None),
            spawned: RefCell::new(Vec::new()),
            given_up: RefCell::default(),
            next_actor: Cell::new(0),
            progress_ps: Cell::new(None),
            window_end_ps: Cell::new(0),
            closing: Cell::new(false),
            log: RefCell::new(None),
            recording: Cell::new(false),
            events: RefCell::default(),
            threads: RefCell::default(),
        }
    }

    /// Software got on at `ps`.
    pub(super) fn note_progress(&self, ps: u64) {
        self.progress_ps.set(self.progress_ps.get().max(Some(ps)));
    }

    /// Makes an actor that first runs at `start_ps`.
    pub(super) fn spawn(
        &self,
        node: usize,
        name: &str,
        start_ps: u64,
        body: impl FnOnce() -> Result<(), ActorError> + 'static,
    ) -> ActorId {
        let id = ActorId(self.next_actor.get());
        self.next_actor.set(id.0 + 1);
        let number = {
            let actors = &mut self.nodes[node].borrow_mut().actors;
            *actors += 1;
            *actors - 1
        };
        let actor = Actor::new(id, (node, number), name, start_ps, body);
        // It belongs where who starts it does.
        let starter = self.current.borrow();
        let task = starter.as_ref().and_then(|starter| starter.task.get());
        drop(starter);
        if self.recording.get() {
            self.threads.borrow_mut().push(Thread {
                node: node as u32,
                number,
                name: name.to_owned(),
                task,
            });
        }
        actor.state.task.set(task);
        self.spawned.borrow_mut().push(actor);
        self.resume_at(node, id, 0, start_ps, Signal::Go);
        id
    }

    /// Records what an actor has done.
    pub(super) fn record(&self, actor: &ActorState, span: (u64, u64), what: What) {
        let lane = Lane::Thread(actor.number);
        let event = Recorded::new(actor.node as u32, lane, span, what);
        if let Some(events) = &mut *self.events.borrow_mut() {
            events.push(event);
        }
    }

    /// An actor resumes at `ps`: records its wait and the actor that ended it.
    pub(super) fn record_wait(&self, actor: &ActorState, ps: u64, signal: Signal) {
        let from = actor.local_ps.get();
        let why = match actor.wait.get() {
            Wait::Sleep { .. } => Why::Compute,
            Wait::Read { .. } | Wait::Fence => Why::Register,
            Wait::Wake { .. } => Why::WakeUp,
            Wait::Notify { .. } => Why::News,
            Wait::Lock => Why::Lock,
            Wait::Ready | Wait::Finished => return,
        };
        let by = match signal {
            Signal::By(number) => Some(number),
            Signal::Go | Signal::Deadline | Signal::Value(_) => None,
        };
        if from < ps {
            self.record(actor, (from, ps), What::Waited { why, by });
        }
    }

    /// Runs an actor until it waits. Returns its result when it ends.
    pub(super) fn run(&self, actor: &mut Actor, signal: Signal) -> Option<Result<(), ActorError>> {
        let outer = self.current.replace(Some(Rc::clone(&actor.state)));
        let ended = actor.resume(signal);
        self.current.replace(outer);
        ended
    }

    /// Plans that an actor runs again. The machine does not run longer than to the last time that it can count.
    pub(crate) fn resume_at(
        &self,
        node: usize,
        actor: ActorId,
        ticket: u64,
        ps: u64,
        signal: Signal,
    ) {
        self.nodes[node].borrow_mut().events.push(
            ps.min(MOST_PS),
            Event::Resume {
                actor,
                ticket,
                signal,
            },
        );
    }

    /// The running actor if it is one of `node`; none outside of actors and while the machine goes away.
    ///
    /// # Panics
    /// If an actor of another node runs: a `Cpu` reaches its own node only.
    pub(crate) fn running(&self, node: usize) -> Option<Rc<ActorState>> {
        if self.closing.get() {
            return None;
        }
        let actor = self.current.borrow().clone()?;
        assert!(
            actor.node == node,
            "actor {} of node {} used the Cpu of node {node}",
            actor.name,
            actor.node
        );
        Some(actor)
    }

    /// Brings the node up to the running actor's own time before it touches anything shared: what
    /// happens earlier happens first.
    pub(crate) fn sync(&self, actor: &ActorState) {
        let local = actor.local_ps.get();
        let next = {
            let mut node = self.nodes[actor.node].borrow_mut();
            if local == node.now_ps {
                return;
            }
            let next = node.events.next_ps();
            if local < self.window_end_ps.get() && next.is_none_or(|next| next > local) {
                node.now_ps = local;
                return;
            }
            local
        };
        let ticket = actor.new_ticket();
        self.resume_at(actor.node, actor.id, ticket, next, Signal::Go);
        actor.suspend(Wait::Ready);
    }

    /// Waits of a kind that may end by its deadline.
    pub(crate) fn wait_until(
        &self,
        actor: &ActorState,
        ticket: u64,
        wait: Wait,
        deadline: Option<u64>,
    ) -> WakeReason {
        if let Some(ps) = deadline {
            let ps = ps.max(actor.local_ps.get());
            self.resume_at(actor.node, actor.id, ticket, ps, Signal::Deadline);
        }
        match actor.suspend(wait) {
            Signal::Deadline => WakeReason::Deadline,
            Signal::Go | Signal::By(_) | Signal::Value(_) => {
                if deadline.is_some() {
                    let mut node = self.nodes[actor.node].borrow_mut();
                    node.events.withdraw((actor.id, ticket));
                }
                WakeReason::Wake
            }
        }
    }
}
