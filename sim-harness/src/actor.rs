//! Software on the simulated clock: blocking code in stackful coroutines.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::cpu::{Cpu, WakeReason};
use crate::event::{Event, EventHeap};
use crate::hash::Digest;
use crate::memory::Memory;
use crate::regbus::{BusError, RegBus};
use crate::topology::Topology;

/// Any error that an actor ends with.
pub type ActorError = Box<dyn std::error::Error + 'static>;

/// Names an actor of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActorId(pub(crate) u32);

/// What an actor is told when it runs again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Signal {
    Go,
    Deadline,
    Value(Result<u64, BusError>),
}

/// What an actor waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Ready,
    Sleep { until_ps: u64 },
    Read { addr: u64 },
    Fence,
    Wake { mask: u32, deadline_ps: Option<u64> },
    Lock,
    Notify { deadline_ps: Option<u64> },
    Finished,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let deadline = |f: &mut fmt::Formatter<'_>, deadline: &Option<u64>| match deadline {
            Some(ps) => write!(f, ", at most until {ps} ps"),
            None => Ok(()),
        };
        match self {
            Wait::Ready => write!(f, "its turn"),
            Wait::Sleep { until_ps } => write!(f, "time {until_ps} ps"),
            Wait::Read { addr } => write!(f, "the answer of register {addr:#x}"),
            Wait::Fence => write!(f, "its posted register writes"),
            Wait::Wake { mask, deadline_ps } => {
                write!(f, "wake-up lines {mask:#x}")?;
                deadline(f, deadline_ps)
            }
            Wait::Lock => write!(f, "a lock"),
            Wait::Notify { deadline_ps } => {
                write!(f, "a notification")?;
                deadline(f, deadline_ps)
            }
            Wait::Finished => write!(f, "nothing: it has ended"),
        }
    }
}

/// The part of an actor that it shares with the machine while it runs.
pub(crate) struct ActorState {
    pub(crate) id: ActorId,
    pub(crate) node: usize,
    pub(crate) name: String,
    /// The actor's own time; may be ahead of its node's until it touches something shared.
    pub(crate) local_ps: Cell<u64>,
    /// Counts waits. A resume event for an older one is stale.
    pub(crate) ticket: Cell<u64>,
    pub(crate) wait: Cell<Wait>,
    pub(crate) description: RefCell<String>,
    /// Posted register writes that are not answered.
    pub(crate) posted: Cell<u32>,
    /// First refused posted write that was not reported.
    pub(crate) posted_error: Cell<Option<BusError>>,
    /// Set by the coroutine when it starts, dereferenced in `suspend` only.
    yielder: Cell<*const Yielder<Signal, ()>>,
}

impl ActorState {
    /// Gives control back to the machine until a resume event with the current ticket.
    ///
    /// Must be called by the running actor for itself; [`Shared::running`] hands out no other.
    pub(crate) fn suspend(&self, wait: Wait) -> Signal {
        self.wait.set(wait);
        // SAFETY: `self` is the running actor, so the pointer was set when its coroutine started, and
        // the `Yielder` it points to lives on the coroutine's stack until its function returns, which
        // it cannot have while it runs this call. Everything is on one thread (`Rc`, raw pointer).
        let signal = unsafe { (*self.yielder.get()).suspend(()) };
        self.wait.set(Wait::Ready);
        signal
    }

    /// Starts a new wait and returns its ticket.
    pub(crate) fn new_ticket(&self) -> u64 {
        self.ticket.set(self.ticket.get() + 1);
        self.ticket.get()
    }
}

/// An actor with its stack.
pub(crate) struct Actor {
    pub(crate) state: Rc<ActorState>,
    coroutine: Coroutine<Signal, (), Result<(), ActorError>>,
}

impl Actor {
    fn new(
        state: Rc<ActorState>,
        cpu: Cpu,
        body: impl FnOnce(Cpu) -> Result<(), ActorError> + 'static,
    ) -> Self {
        let own = Rc::clone(&state);
        let coroutine = Coroutine::new(move |yielder: &Yielder<Signal, ()>, _: Signal| {
            own.yielder.set(yielder);
            body(cpu)
        });
        Self { state, coroutine }
    }

    /// Runs the actor until it waits. Returns its result when it ends.
    pub(crate) fn resume(
        &mut self,
        shared: &Shared,
        signal: Signal,
    ) -> Option<Result<(), ActorError>> {
        let outer = shared.current.replace(Some(Rc::clone(&self.state)));
        let result = self.coroutine.resume(signal);
        shared.current.replace(outer);
        match result {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(result) => {
                self.state.wait.set(Wait::Finished);
                Some(result)
            }
        }
    }
}

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
    /// What software has written into memory that processes share.
    pub(crate) digest: Digest,
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
    /// What happened to the message.
    pub what: &'static str,
}

/// What actors and the machine share.
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
    next_actor: Cell<u32>,
    /// End of the window under way: no actor acts beyond it.
    pub(crate) window_end_ps: Cell<u64>,
    /// The machine is going away: nothing blocks any more.
    pub(crate) closing: Cell<bool>,
    pub(crate) log: RefCell<Option<Vec<LogEntry>>>,
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
            next_actor: Cell::new(0),
            window_end_ps: Cell::new(0),
            closing: Cell::new(false),
            log: RefCell::new(None),
        }
    }

    /// Makes an actor that first runs at `start_ps`.
    pub(crate) fn spawn(
        self: &Rc<Self>,
        node: usize,
        name: &str,
        start_ps: u64,
        body: impl FnOnce(Cpu) -> Result<(), ActorError> + 'static,
    ) -> ActorId {
        let id = ActorId(self.next_actor.get());
        self.next_actor.set(id.0 + 1);
        let state = Rc::new(ActorState {
            id,
            node,
            name: name.to_owned(),
            local_ps: Cell::new(start_ps),
            ticket: Cell::new(0),
            wait: Cell::new(Wait::Ready),
            description: RefCell::default(),
            posted: Cell::new(0),
            posted_error: Cell::new(None),
            yielder: Cell::new(std::ptr::null()),
        });
        let actor = Actor::new(state, Cpu::new(Rc::clone(self), node), body);
        self.spawned.borrow_mut().push(actor);
        self.resume_at(node, id, 0, start_ps, Signal::Go);
        id
    }

    /// Plans that an actor runs again.
    pub(crate) fn resume_at(
        &self,
        node: usize,
        actor: ActorId,
        ticket: u64,
        ps: u64,
        signal: Signal,
    ) {
        self.nodes[node].borrow_mut().events.push(
            ps,
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
            Signal::Go | Signal::Value(_) => WakeReason::Wake,
        }
    }
}
