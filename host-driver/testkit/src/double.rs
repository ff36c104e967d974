// SPDX-License-Identifier: MIT OR Apache-2.0
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

/// Steps, turns of `advance` and register reads after which the watchdog fails a test.
const PATIENCE: u64 = 50_000_000;

/// A handle of the machine: all clones are the same machine.
#[derive(Clone)]
pub struct Double(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Signalled by every event that may wake a thread.
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

    /// Resets the watchdog, between the parts of a test.
    pub fn wind_up(&self) {
        self.0.turns.store(0, Ordering::Relaxed);
    }

    /// Plants a fault; replaces the previous one.
    pub fn plant(&self, fault: Fault) {
        self.state().fault = Some(fault);
    }

    /// Makes a node refuse these accesses of its software; replaces the previous refusal.
    pub fn refuse(&self, node: usize, refusal: Refusal) {
        self.state().nodes[node].gate.set(Some(refusal));
    }

    /// Stops refusing; returns the refused accesses.
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

    /// Makes packets travel, and overtake where the network permits.
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

    /// Moves one packet, chosen by the seed; false when none can move.
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

    /// Sets a hook that runs at every charge on this host thread, in the place of another thread of the node.
    pub fn set_hook(&self, hook: impl FnMut(Op) + 'static) {
        self.0.hooks.set_at_charge(Some(Box::new(hook)));
    }

    /// Removes the hook of charges. Must not be called from the hook.
    pub fn clear_hook(&self) {
        self.0.hooks.set_at_charge(None);
    }

    /// Sets a hook that runs once when this host thread sleeps and nothing moves.
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

    /// Numbers of flows that start and that end at a node.
    #[must_use]
    pub fn flows(&self, node: usize) -> (usize, usize) {
        let state = self.state();
        let flows = &state.nodes[node].flows;
        let open = |ends: &[FlowEnd]| ends.iter().filter(|end| end.is_open()).count();
        (open(&flows.sources), open(&flows.targets))
    }

    /// Numbers of a node's enabled FIFOs: injection, remote get, reception.
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

    /// Starts to record the driver's notes.
    pub fn record(&self) {
        self.state().notes.get_or_insert_default();
    }

    /// Notes of a node's driver since [`record`](Self::record).
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

    /// Number of packets that found their reception FIFO full.
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

    /// The locked state. No hook, callback or other lock runs under it.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    /// Hooks that run in the place of other threads.
    pub(crate) fn hooks(&self) -> &Hooks {
        &self.0.hooks
    }

    /// Wakes sleeping host threads.
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

    /// Counts a turn of the watchdog.
    pub(crate) fn watch(&self) {
        let turns = self.0.turns.fetch_add(1, Ordering::Relaxed) + 1;
        assert!(
            turns <= PATIENCE,
            "no end after {turns} steps, turns of advance and register reads"
        );
    }
}
