//! The machine as tests see it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gyre_driver::Op;
use gyre_layout::{Coord, ErrorReason, event};
use gyre_note::Note;
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::access::{Access, Refusal};
use crate::fault::{Commit, Fault};
use crate::flows::FlowEnd;
use crate::hooks::Hooks;
use crate::injection::Injection;
use crate::state::State;
use crate::step;

/// Steps, turns of `advance` and register reads after which a test does not end any more.
const PATIENCE: u64 = 50_000_000;

/// The machine: a handle, of which all clones are the same machine.
#[derive(Clone)]
pub struct Double(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Something has happened for which a thread may sleep.
    changed: Condvar,
    hooks: Hooks,
    /// Steps, turns of `advance` and register reads since the watchdog was wound up.
    turns: AtomicU64,
}

impl Double {
    /// A ring of `nodes` nodes; `seed` picks the order of packets.
    #[must_use]
    pub fn new(nodes: usize, seed: u64) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State::new(nodes, seed)),
            changed: Condvar::new(),
            hooks: Hooks::default(),
            turns: AtomicU64::new(0),
        }))
    }

    /// Winds the watchdog up again: the next of a test's many parts begins.
    pub fn wind_up(&self) {
        self.0.turns.store(0, Ordering::Relaxed);
    }

    /// Plants a fault, in the place of the one before.
    pub fn plant(&self, fault: Fault) {
        self.state().fault = Some(fault);
    }

    /// Lets a node refuse accesses of its software from now on, in the place of those that it refused before.
    pub fn refuse(&self, node: usize, refusal: Refusal) {
        self.state().nodes[node].gate.set(Some(refusal));
    }

    /// Lets a node refuse no accesses any more; those that it has refused.
    pub fn refuse_nothing(&self, node: usize) -> Vec<Access> {
        self.state().nodes[node].gate.set(None)
    }

    /// Gives the nodes places on the diagonal of a square, so that there are several shortest ways between
    /// any two. Before tasks are placed.
    pub fn diagonal(&self) {
        let mut state = self.state();
        for (n, node) in state.nodes.iter_mut().enumerate() {
            node.coord = Coord([n as u8, n as u8, 0, 0, 0]);
        }
        state.index();
    }

    /// Gives the slot of all memory to `owner`.
    pub fn own(&self, owner: u8) {
        for node in &mut self.state().nodes {
            node.slots.own(owner);
        }
    }

    /// Makes the ring a line.
    pub fn cut(&self) {
        self.state().line = true;
    }

    /// From now on packets travel, and overtake where the network lets them.
    pub fn reorder(&self) {
        self.state().reordering = true;
    }

    /// Halts a reception FIFO as a failed memory write does.
    pub fn halt_reception(&self, node: usize, fifo: usize) {
        let mut state = self.state();
        state.nodes[node].reception[fifo].halted = true;
        state.raise(node, event::ERROR);
        drop(state);
        self.changed();
    }

    /// Moves one packet, picked by the seed; false when nothing can move.
    pub fn step(&self) -> bool {
        self.watch();
        let moved = step::step(&mut self.state());
        if moved {
            self.changed();
        }
        moved
    }

    /// Moves packets until none can.
    pub fn settle(&self) {
        while self.step() {}
    }

    /// Sets what runs at every charge, as another thread of the node would run there, on this host thread.
    pub fn set_hook(&self, hook: impl FnMut(Op) + 'static) {
        self.0.hooks.set_at_charge(Some(Box::new(hook)));
    }

    /// Takes the hook of charges away. Not from inside it.
    pub fn clear_hook(&self) {
        self.0.hooks.set_at_charge(None);
    }

    /// Sets another thread, which runs once when this host thread sleeps and nothing moves.
    pub fn when_asleep(&self, hook: impl FnOnce() + 'static) {
        self.0.hooks.set_asleep(Box::new(hook));
    }

    /// Packets and descriptors that nodes refused, with the reasons.
    #[must_use]
    pub fn refused(&self) -> Vec<ErrorReason> {
        self.state().refused.clone()
    }

    /// Memory-FIFO packets that a node has injected so far.
    #[must_use]
    pub fn messages_from(&self, node: usize) -> u64 {
        self.state().nodes[node].messages
    }

    /// Packets that a node has injected by ordered-dynamic flows so far.
    #[must_use]
    pub fn packets_by_flow(&self, node: usize) -> u64 {
        self.state().nodes[node].by_flow
    }

    /// How many flows start at a node, and how many end there.
    #[must_use]
    pub fn flows(&self, node: usize) -> (usize, usize) {
        let state = self.state();
        let flows = &state.nodes[node].flows;
        let open = |ends: &[FlowEnd]| ends.iter().filter(|end| end.is_open()).count();
        (open(&flows.sources), open(&flows.targets))
    }

    /// FIFOs of a node that are enabled: for injection, for descriptors of remote gets, for reception.
    #[must_use]
    pub fn open_fifos(&self, node: usize) -> (usize, usize, usize) {
        let state = self.state();
        let node = &state.nodes[node];
        let remote = |fifo: &&Injection| fifo.takes_remote_gets();
        let remote = node.injection.iter().filter(remote).count();
        let injection = node.injection.iter().filter(|fifo| fifo.is_open()).count();
        let reception = node.reception.iter().filter(|fifo| fifo.is_open()).count();
        (injection - remote, remote, reception)
    }

    /// Bytes of DMA memory of a node that are allocated.
    #[must_use]
    pub fn allocated(&self, node: usize) -> usize {
        self.state().nodes[node].allocated
    }

    /// Packets that have left so far.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.state().packets
    }

    /// First packets that reception FIFOs have taken, in their order.
    #[must_use]
    pub fn commits(&self) -> Vec<Commit> {
        self.state().commits.clone()
    }

    /// Keeps what the driver notes about messages from now on.
    pub fn record(&self) {
        self.state().notes.get_or_insert_default();
    }

    /// What the driver of a node has noted since [`record`](Self::record).
    #[must_use]
    pub fn notes(&self, node: usize) -> Vec<Note> {
        let state = self.state();
        let notes = state.notes.iter().flatten();
        let of_node = notes.filter(|(noted_by, _)| *noted_by == node);
        of_node.map(|&(_, note)| note).collect()
    }

    /// Reads of registers so far.
    #[must_use]
    pub fn register_reads(&self) -> u64 {
        self.state().reads
    }

    /// Writes of registers so far.
    #[must_use]
    pub fn register_writes(&self) -> u64 {
        self.state().writes
    }

    /// How often a packet found its reception FIFO full.
    #[must_use]
    pub fn full_waits(&self) -> u64 {
        self.state().full_waits
    }

    /// Writes of HEAD of a reception FIFO so far.
    #[must_use]
    pub fn head_writes(&self, node: usize, fifo: usize) -> u64 {
        self.state().nodes[node].reception[fifo].head_writes
    }

    /// Operations `op` charged so far.
    #[must_use]
    pub fn charged(&self, op: Op) -> u64 {
        self.state().charged.get(&op).copied().unwrap_or(0)
    }

    /// The state. No hook, callback or other lock happens under it.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    /// What runs in the place of other threads.
    pub(crate) fn hooks(&self) -> &Hooks {
        &self.0.hooks
    }

    /// Wakes the host threads that sleep.
    pub(crate) fn changed(&self) {
        self.0.changed.notify_all();
    }

    /// Sleeps until another host thread changes something, unless `over` or something can move; says whether
    /// anything did within `limit` of host time.
    pub(crate) fn sleep(&self, limit: Duration, over: impl FnOnce(&State) -> bool) -> bool {
        let mut state = self.state();
        over(&state)
            || step::step(&mut state)
            || !self.0.changed.wait_for(&mut state, limit).timed_out()
    }

    /// The watchdog: no test waits for ever, whatever it waits for.
    pub(crate) fn watch(&self) {
        let turns = self.0.turns.fetch_add(1, Ordering::Relaxed) + 1;
        assert!(
            turns <= PATIENCE,
            "no end after {turns} steps, turns of advance and register reads"
        );
    }
}
