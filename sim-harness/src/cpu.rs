//! What software on a node can do: registers, memory, time, waiting.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use gyre_firmware::RegisterAccess;

use crate::actor::{ActorError, ActorId, ActorState, LogEntry, Shared, Signal, Wait};
use crate::regbus::{BusError, Pending, Request};

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeReason {
    /// What was waited for is there.
    Wake,
    /// The deadline came first.
    Deadline,
}

/// A node's processor as seen by the software on it. Clones are handles to the same node; whichever
/// actor of that node makes a call is the one that spends the time.
///
/// All waiting is in simulated time. An actor's time runs ahead by what it charges; before it touches
/// registers, memory or a lock, everything that happens on its node earlier has happened.
///
/// Actors of different nodes must share nothing through host memory that influences what they do:
/// within a window the order of nodes is not that of time.
#[derive(Clone)]
pub struct Cpu {
    shared: Rc<Shared>,
    node: usize,
}

/// Wake-up line of the interrupt output, in the masks of [`Cpu::wait_lines`].
const IRQ_LINE: u32 = 16;

impl Cpu {
    pub(crate) fn new(shared: Rc<Shared>, node: usize) -> Self {
        Self { shared, node }
    }

    /// Number of the node.
    pub fn node(&self) -> usize {
        self.node
    }

    /// Coordinates of the node.
    pub fn coord(&self) -> [u16; crate::MAX_DIMS] {
        self.shared.topology.coord(self.node)
    }

    /// The machine's shape.
    pub fn topology(&self) -> &crate::Topology {
        &self.shared.topology
    }

    /// Picoseconds of a node cycle.
    pub fn cycle_ps(&self) -> u64 {
        self.shared.cycle_ps
    }

    /// The running actor's time; outside of actors, the node's.
    pub fn now_ps(&self) -> u64 {
        match self.actor() {
            Some(actor) => actor.local_ps.get(),
            None => self.shared.nodes[self.node].borrow().now_ps,
        }
    }

    /// Spends the time of `count` instructions, one a processor cycle.
    pub fn charge_instructions(&self, count: u64) {
        self.charge_ps(count * self.shared.cpu_ps);
    }

    /// Spends time.
    pub fn charge_ps(&self, ps: u64) {
        if let Some(actor) = self.actor() {
            actor.local_ps.set(actor.local_ps.get() + ps);
        }
    }

    /// Reads a register: the time to the node, of its bus, and back. Fails on a slave error, of this
    /// read or of a posted write before it.
    pub fn read_reg(&self, addr: u64) -> Result<u64, BusError> {
        let actor = self.access(addr)?;
        let ticket = actor.new_ticket();
        self.issue(&actor, addr, None, Some(ticket));
        let signal = actor.suspend(Wait::Read { addr });
        take_posted_error(&actor)?;
        match signal {
            Signal::Value(value) => value,
            Signal::Go | Signal::Deadline => Err(BusError::Reset { addr }),
        }
    }

    /// Writes a register. Posted: costs the actor no waiting, arrives in order with its other
    /// accesses. A slave error surfaces at the next read or fence.
    pub fn write_reg(&self, addr: u64, value: u64) -> Result<(), BusError> {
        let actor = self.access(addr)?;
        actor.posted.set(actor.posted.get() + 1);
        self.issue(&actor, addr, Some(value), None);
        Ok(())
    }

    /// Waits until all of the actor's posted writes are answered, and reports the first refused one.
    pub fn fence(&self) -> Result<(), BusError> {
        let Some(actor) = self.actor() else {
            return Ok(());
        };
        if actor.posted.get() > 0 {
            actor.new_ticket();
            actor.suspend(Wait::Fence);
        }
        take_posted_error(&actor)
    }

    /// Reads the node's memory. Free of charge: the caller charges its copies.
    pub fn mem_read(&self, addr: u64, out: &mut [u8]) {
        self.sync();
        self.shared.nodes[self.node].borrow().memory.read(addr, out);
    }

    /// Writes the node's memory. Free of charge: the caller charges its copies.
    pub fn mem_write(&self, addr: u64, data: &[u8]) {
        self.sync();
        self.shared.nodes[self.node]
            .borrow_mut()
            .memory
            .write(addr, data);
    }

    /// Writes the node's memory where its processes share it: time, address and data count in the machine's
    /// hash.
    pub fn mem_share(&self, addr: u64, data: &[u8]) {
        self.mem_write(addr, data);
        let now = self.now_ps();
        self.shared.nodes[self.node]
            .borrow_mut()
            .digest
            .software_write(now, addr, data);
    }

    /// Waits until the node's wake-up output `group` is set, another actor calls [`Cpu::signal`], or the
    /// deadline comes.
    ///
    /// Returns at once while the output is set: the caller clears its cause register, then looks at
    /// what it waits for, then waits. Software sees an output change `wake_latency` cycles later.
    pub fn wait_wake(&self, group: u8, deadline_ps: Option<u64>) -> WakeReason {
        self.wait_lines(1 << (group % 16), deadline_ps)
    }

    /// Wakes the node's actors that wait for wake-up group `group`, as if its output had been set for a
    /// moment; with none waiting, the next wait for the group returns at once.
    pub fn signal(&self, group: u8) {
        let Some(actor) = self.synced() else {
            return;
        };
        let mask = 1 << (group % 16);
        let woken: Vec<_> = {
            let mut node = self.shared.nodes[self.node].borrow_mut();
            let woken: Vec<_> = node
                .waiters
                .extract_if(.., |(_, _, other)| *other & mask != 0)
                .collect();
            if woken.is_empty() {
                node.signals |= mask;
            }
            woken
        };
        let now = actor.local_ps.get();
        for (id, ticket, _) in woken {
            self.shared
                .resume_at(self.node, id, ticket, now, Signal::Go);
        }
    }

    /// As [`Cpu::wait_wake`], for the interrupt output.
    pub fn wait_irq(&self, deadline_ps: Option<u64>) -> WakeReason {
        self.wait_lines(1 << IRQ_LINE, deadline_ps)
    }

    fn wait_lines(&self, mask: u32, deadline_ps: Option<u64>) -> WakeReason {
        let Some(actor) = self.synced() else {
            return WakeReason::Deadline;
        };
        let ticket = {
            let mut node = self.shared.nodes[self.node].borrow_mut();
            if (node.levels | node.signals) & mask != 0 {
                node.signals &= !mask;
                return WakeReason::Wake;
            }
            let ticket = actor.new_ticket();
            node.waiters.push((actor.id, ticket, mask));
            ticket
        };
        let wait = Wait::Wake { mask, deadline_ps };
        let reason = self.shared.wait_until(&actor, ticket, wait, deadline_ps);
        let mut node = self.shared.nodes[self.node].borrow_mut();
        let own = (actor.id, ticket, mask);
        node.waiters.retain(|waiter| *waiter != own);
        reason
    }

    /// Lets time pass, as a computation does.
    pub fn sleep_until(&self, ps: u64) {
        if let Some(actor) = self.actor()
            && ps > actor.local_ps.get()
        {
            let ticket = actor.new_ticket();
            self.shared
                .resume_at(self.node, actor.id, ticket, ps, Signal::Go);
            actor.suspend(Wait::Sleep { until_ps: ps });
        }
    }

    /// Lets the node's other actors run that are ready at this time.
    pub fn yield_now(&self) {
        if let Some(actor) = self.actor() {
            let ticket = actor.new_ticket();
            let now = actor.local_ps.get();
            self.shared
                .resume_at(self.node, actor.id, ticket, now, Signal::Go);
            actor.suspend(Wait::Ready);
        }
    }

    /// Starts another actor on this node, now.
    pub fn spawn<E: Into<ActorError>>(
        &self,
        name: &str,
        body: impl FnOnce(Cpu) -> Result<(), E> + 'static,
    ) -> ActorId {
        let now = self.now_ps();
        self.shared.spawn(self.node, name, now, move |cpu| {
            body(cpu).map_err(Into::into)
        })
    }

    /// Says in words what the actor is about to wait for, for reports of a machine that hangs. Stays
    /// until the next call; empty for nothing.
    pub fn describe_wait(&self, text: &str) {
        if let Some(actor) = self.actor() {
            let mut description = actor.description.borrow_mut();
            description.clear();
            description.push_str(text);
        }
    }

    /// Notes what happened to a message, if the machine keeps a log.
    pub fn log_message(&self, message: u32, what: &'static str) {
        if let Some(actor) = self.actor()
            && let Some(log) = self.shared.log.borrow_mut().as_mut()
        {
            log.push(LogEntry {
                ps: actor.local_ps.get(),
                node: self.node,
                actor: actor.name.clone(),
                message,
                what,
            });
        }
    }

    fn actor(&self) -> Option<Rc<ActorState>> {
        self.shared.running(self.node)
    }

    fn sync(&self) {
        self.synced();
    }

    /// The running actor, with its node brought up to its time.
    fn synced(&self) -> Option<Rc<ActorState>> {
        let actor = self.actor()?;
        self.shared.sync(&actor);
        Some(actor)
    }

    fn access(&self, addr: u64) -> Result<Rc<ActorState>, BusError> {
        if !addr.is_multiple_of(8) || addr >> 24 != 0 {
            return Err(BusError::Address { addr });
        }
        self.synced().ok_or(BusError::Reset { addr })
    }

    fn issue(&self, actor: &ActorState, addr: u64, write: Option<u64>, ticket: Option<u64>) {
        let issued = actor.local_ps.get().div_ceil(self.shared.cycle_ps);
        let request = Request {
            cycle: issued + self.shared.reg_latency,
            write: write.is_some(),
            addr,
            data: write.unwrap_or(0),
        };
        let pending = Pending {
            actor: actor.id,
            ticket,
            addr,
        };
        let mut node = self.shared.nodes[self.node].borrow_mut();
        node.regs.issue(request, pending);
    }
}

impl RegisterAccess for Cpu {
    type Error = BusError;

    fn read(&mut self, address: u64) -> Result<u64, BusError> {
        self.read_reg(address)
    }

    fn write(&mut self, address: u64, value: u64) -> Result<(), BusError> {
        self.write_reg(address, value)
    }
}

fn take_posted_error(actor: &ActorState) -> Result<(), BusError> {
    actor.posted_error.take().map_or(Ok(()), Err)
}

type Waiters = RefCell<VecDeque<(ActorId, u64)>>;

/// A lock between actors of one node. Waiters get it in order.
#[derive(Clone)]
pub struct Lock {
    cpu: Cpu,
    owner: Rc<Cell<Option<ActorId>>>,
    waiters: Rc<Waiters>,
}

impl Lock {
    /// A free lock for actors of `cpu`'s node.
    pub fn new(cpu: &Cpu) -> Self {
        Self {
            cpu: cpu.clone(),
            owner: Rc::default(),
            waiters: Rc::default(),
        }
    }

    /// Waits for the lock and takes it.
    ///
    /// # Panics
    /// If the running actor holds it already: it would wait for ever.
    pub fn lock(&self) {
        let Some(actor) = self.cpu.synced() else {
            return;
        };
        match self.owner.get() {
            None => self.owner.set(Some(actor.id)),
            Some(owner) => {
                assert!(owner != actor.id, "actor {} locks twice", actor.name);
                let ticket = actor.new_ticket();
                self.waiters.borrow_mut().push_back((actor.id, ticket));
                // The one that unlocks makes this actor the owner.
                actor.suspend(Wait::Lock);
            }
        }
    }

    /// Takes the lock if it is free; whether it did.
    pub fn try_lock(&self) -> bool {
        let Some(actor) = self.cpu.synced() else {
            return true;
        };
        let free = self.owner.get().is_none();
        if free {
            self.owner.set(Some(actor.id));
        }
        free
    }

    /// Gives the lock to the next waiter, or frees it.
    ///
    /// # Panics
    /// If the running actor does not hold it.
    pub fn unlock(&self) {
        let Some(actor) = self.cpu.synced() else {
            return;
        };
        assert!(
            self.owner.get() == Some(actor.id),
            "actor {} unlocks what it does not hold",
            actor.name
        );
        let next = self.waiters.borrow_mut().pop_front();
        self.owner.set(next.map(|(id, _)| id));
        if let Some((id, ticket)) = next {
            self.cpu
                .shared
                .resume_at(actor.node, id, ticket, actor.local_ps.get(), Signal::Go);
        }
    }
}

/// Lets actors of one node wait until another one has news for them.
#[derive(Clone)]
pub struct Notify {
    cpu: Cpu,
    waiters: Rc<Waiters>,
}

impl Notify {
    /// For actors of `cpu`'s node.
    pub fn new(cpu: &Cpu) -> Self {
        Self {
            cpu: cpu.clone(),
            waiters: Rc::default(),
        }
    }

    /// Waits for the next [`Notify::notify_all`], or until the deadline.
    pub fn wait(&self, deadline_ps: Option<u64>) -> WakeReason {
        let Some(actor) = self.cpu.synced() else {
            return WakeReason::Deadline;
        };
        let ticket = actor.new_ticket();
        self.waiters.borrow_mut().push_back((actor.id, ticket));
        let wait = Wait::Notify { deadline_ps };
        let reason = self
            .cpu
            .shared
            .wait_until(&actor, ticket, wait, deadline_ps);
        let own = (actor.id, ticket);
        self.waiters.borrow_mut().retain(|waiter| *waiter != own);
        reason
    }

    /// Wakes all that wait, at the running actor's time.
    pub fn notify_all(&self) {
        if let Some(actor) = self.cpu.synced() {
            let now = actor.local_ps.get();
            for (id, ticket) in self.waiters.borrow_mut().drain(..) {
                self.cpu
                    .shared
                    .resume_at(actor.node, id, ticket, now, Signal::Go);
            }
        }
    }
}
