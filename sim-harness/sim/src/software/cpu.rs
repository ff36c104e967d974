// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of software on a node: memory, time, waiting. Registers are in `registers.rs`.

use std::ops::Range;
use std::rc::Rc;

use gyre_timeline::{Note, Thread, What};

use super::actor::ActorState;
use super::shared::{LogEntry, Shared};
use super::wait::{ActorId, Signal, Wait, WakeReason};
use crate::config::MOST_PS;
use crate::error::ActorError;
use crate::memory::OutsideMemory;
use crate::topology::{MAX_DIMS, Topology};

/// A node's processor as its software sees it. Clones are handles to the same node; the actor that makes a call spends
/// the time.
///
/// All waiting is in simulated time. An actor's time runs ahead by the time it charges; before it touches registers,
/// memory or a lock, all earlier events of its node have happened.
///
/// Actors of different nodes must share nothing through host memory that influences what they do:
/// within a window the order of nodes is not that of time.
#[derive(Clone)]
pub struct Cpu {
    pub(super) shared: Rc<Shared>,
    pub(super) node: usize,
}

/// Wake-up line of the interrupt output, in the masks of [`Cpu::wait_lines`].
const IRQ_LINE: u32 = 16;

/// The time that is `ps` picoseconds later; it stands still where the machine's time ends.
fn later(now_ps: u64, ps: u64) -> u64 {
    now_ps.saturating_add(ps).min(MOST_PS.max(now_ps))
}

impl Cpu {
    pub(super) fn new(shared: Rc<Shared>, node: usize) -> Self {
        Self { shared, node }
    }

    /// Number of the node.
    pub fn node(&self) -> usize {
        self.node
    }

    /// Coordinates of the node.
    pub fn coord(&self) -> [u16; MAX_DIMS] {
        self.shared.topology.coord(self.node)
    }

    /// The machine's shape.
    pub fn topology(&self) -> &Topology {
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
        self.charge_ps(count.saturating_mul(self.shared.cpu_ps));
    }

    /// Spends the time of `instructions` instructions in `count` operations `operation`, and records that if the machine
    /// records events; see [`Recorder`](crate::Recorder).
    pub fn charge_operation(&self, instructions: u64, operation: u8, count: u64) {
        let Some(actor) = self.actor() else {
            return;
        };
        let from = actor.local_ps.get();
        let to = later(from, instructions.saturating_mul(self.shared.cpu_ps));
        actor.local_ps.set(to);
        if self.shared.recording.get() {
            let count = count.try_into().unwrap_or(u32::MAX);
            let what = What::Spent { operation, count };
            self.shared.record(&actor, (from, to), what);
        }
    }

    /// Whether the machine records events.
    pub fn is_recording(&self) -> bool {
        self.shared.recording.get()
    }

    /// Records what the driver notes, if the machine records events. Takes no time.
    pub fn record_note(&self, note: Note) {
        if self.shared.recording.get()
            && let Some(actor) = self.actor()
        {
            let now = actor.local_ps.get();
            self.shared.record(&actor, (now, now), What::Note(note));
        }
    }

    /// Records that an operation of the program has ended, by its line, if the machine records events.
    pub fn record_operation(&self, line: u32) {
        if self.shared.recording.get()
            && let Some(actor) = self.actor()
        {
            let now = actor.local_ps.get();
            self.shared
                .record(&actor, (now, now), What::Operation { line });
        }
    }

    /// Has the running actor, and those that it starts, belong to a task: that is where a timeline shows them.
    pub fn belong_to(&self, task: u32) {
        let Some(actor) = self.actor() else {
            return;
        };
        actor.task.set(Some(task));
        let place = (actor.node as u32, actor.number);
        let mut threads = self.shared.threads.borrow_mut();
        let own = |thread: &&mut Thread| (thread.node, thread.number) == place;
        if let Some(thread) = threads.iter_mut().find(own) {
            thread.task = Some(task);
        }
    }

    /// Spends time.
    pub fn charge_ps(&self, ps: u64) {
        if let Some(actor) = self.actor() {
            actor.local_ps.set(later(actor.local_ps.get(), ps));
        }
    }

    /// Tells the watchdog that software gets on, as when it has received something: what it does then may take longer than
    /// hardware has to wait.
    pub fn note_progress(&self) {
        self.shared.note_progress(self.now_ps());
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

    /// Has a range of the node's memory, which overlaps no other such range, stand for bytes outside the simulator from now
    /// on. AXI accesses to bytes that are not there are answered with SLVERR.
    pub fn map_memory(&self, range: Range<u64>, outside: Box<dyn OutsideMemory>) {
        self.sync();
        let mut node = self.shared.nodes[self.node].borrow_mut();
        node.memory.map(range, outside);
    }

    /// Makes the range that begins at `start` ordinary memory again.
    pub fn unmap_memory(&self, start: u64) {
        self.sync();
        let mut node = self.shared.nodes[self.node].borrow_mut();
        node.memory.unmap(start);
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
    /// the condition, then waits. Software sees an output change `wake_latency` cycles later.
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
                .resume_at(self.node, id, ticket, now, Signal::By(actor.number));
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

    /// Lets all happen that comes before the running actor's time, as every access to registers and memory does.
    pub fn catch_up(&self) {
        self.sync();
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
        self.spawn_at(name, self.now_ps(), body)
    }

    /// Starts an actor on this node, whose time is `ps` picoseconds.
    pub(super) fn spawn_at<E: Into<ActorError>>(
        &self,
        name: &str,
        ps: u64,
        body: impl FnOnce(Cpu) -> Result<(), E> + 'static,
    ) -> ActorId {
        let cpu = self.clone();
        let body = move || body(cpu).map_err(Into::into);
        self.shared.spawn(self.node, name, ps, body)
    }

    /// Names the running actor; `None` outside of actors.
    #[must_use]
    pub fn running(&self) -> Option<ActorId> {
        Some(self.actor()?.id)
    }

    /// Ends another actor of this node wherever it waits. Its state is dropped, in no simulated time, before another actor
    /// runs. Nothing happens where it has ended.
    ///
    /// # Panics
    /// If it is the running one, which would return instead.
    pub fn end(&self, actor: ActorId) {
        assert!(
            self.running() != Some(actor),
            "an actor ends itself by returning"
        );
        self.shared.given_up.borrow_mut().push(actor);
    }

    /// Describes the next wait of the actor, for reports of a machine that hangs. Stays
    /// until the next call; empty for nothing.
    pub fn describe_wait(&self, text: &str) {
        if let Some(actor) = self.actor() {
            let mut description = actor.description.borrow_mut();
            description.clear();
            description.push_str(text);
        }
    }

    /// Has the running actor run on hardware thread `number` of its node's processor from now on.
    pub fn run_on(&self, number: usize) {
        if let Some(actor) = self.actor() {
            actor.hardware_thread.set(Some(number));
        }
    }

    /// Hardware thread of the node's processor that the running actor runs on; `None` outside of actors, and for one that
    /// has not said so.
    #[must_use]
    pub fn hardware_thread(&self) -> Option<usize> {
        self.actor()?.hardware_thread.get()
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

    pub(super) fn actor(&self) -> Option<Rc<ActorState>> {
        self.shared.running(self.node)
    }

    fn sync(&self) {
        self.synced();
    }

    /// The running actor, with its node brought up to its time.
    pub(super) fn synced(&self) -> Option<Rc<ActorState>> {
        let actor = self.actor()?;
        self.shared.sync(&actor);
        Some(actor)
    }
}
