// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver's platform on the double.

use std::sync::{Arc, Weak};

use gyre_driver::{
    AllocError, BufferRange, BusError, BusErrorKind, DmaBuffer, Op, Platform, SegmentError,
    WakeReason,
};
use gyre_note::Note;

use crate::access::Access;
use crate::double::Double;
use crate::lock::{DoubleLock, PATIENCE};
use crate::memory::Memory;
use crate::registers;
use crate::segment::{Segment, SegmentState};
use crate::state::State;

/// Picoseconds of an instruction.
const INSTRUCTION_PS: u64 = 625;

/// One process of one node of the double.
#[derive(Clone)]
pub struct Process {
    /// The machine.
    pub machine: Double,
    /// Number of the node.
    pub node: usize,
}

impl Double {
    /// A process of a node.
    #[must_use]
    pub fn process(&self, node: usize) -> Process {
        Process {
            machine: self.clone(),
            node,
        }
    }
}

impl Process {
    /// Memory that claims to be in another slot.
    ///
    /// # Panics
    /// When the node's memory is used up.
    #[must_use]
    pub fn alloc_in_slot(&self, bytes: usize, slot: u16) -> Memory {
        let memory = self.alloc(bytes, 64).expect("the double has memory");
        memory.in_slot(slot)
    }

    /// A buffer with contents, whatever the node refuses: it is the test's own.
    ///
    /// # Panics
    /// When the node's memory is used up.
    #[must_use]
    pub fn buffer(&self, data: &[u8]) -> BufferRange<Memory> {
        if data.is_empty() {
            return BufferRange::empty();
        }
        let memory = Memory::alloc(&self.machine, self.node, data.len(), 1);
        let memory = memory.expect("the double has memory");
        memory.write(0, data).expect("it fits");
        BufferRange::whole(memory)
    }
}

/// The answer of a node that refuses an access.
fn refused(address: u64, write: bool) -> BusError {
    BusError {
        address,
        write,
        kind: BusErrorKind::Slave,
    }
}

impl Platform for Process {
    type Buffer = Memory;
    type Lock = DoubleLock;
    type Segment = Segment;

    fn read_reg(&self, address: u64) -> Result<u64, BusError> {
        self.machine.watch();
        let mut state = self.machine.state();
        if !state.nodes[self.node].gate.passes(Access::Read(address)) {
            return Err(refused(address, false));
        }
        let value = registers::read(&mut state, self.node, address);
        value.ok_or(refused(address, false))
    }

    fn write_reg(&self, address: u64, value: u64) -> Result<(), BusError> {
        let mut state = self.machine.state();
        if !state.nodes[self.node].gate.passes(Access::Write(address)) {
            return Err(refused(address, true));
        }
        let done = registers::write(&mut state, self.node, address, value);
        drop(state);
        self.machine.changed();
        done.ok_or(refused(address, true))
    }

    fn alloc(&self, bytes: usize, align: usize) -> Result<Memory, AllocError> {
        let access = Access::Alloc(bytes);
        let passes = self.machine.state().nodes[self.node].gate.passes(access);
        if !passes {
            return Err(AllocError {
                bytes,
                align,
                reason: "refused".to_owned(),
            });
        }
        Memory::alloc(&self.machine, self.node, bytes, align)
    }

    fn share(&self, number: u32, bytes: usize) -> Result<Segment, SegmentError> {
        let mut state = self.machine.state();
        let node = &mut state.nodes[self.node];
        let error = |reason| SegmentError {
            number,
            bytes,
            reason,
        };
        if !node.gate.passes(Access::Share(number)) {
            return Err(error("refused".to_owned()));
        }
        let segments = &mut node.segments;
        let open = segments.get(&number).and_then(Weak::upgrade);
        let segment = open.unwrap_or_else(|| Arc::new(SegmentState::new(bytes)));
        segments.insert(number, Arc::downgrade(&segment));
        let len = segment.len();
        if len != bytes {
            return Err(error(format!("it has {len} bytes")));
        }
        Ok(Segment(segment))
    }

    fn now_ps(&self) -> u64 {
        self.machine.state().instructions * INSTRUCTION_PS
    }

    fn charge(&self, op: Op, count: u64) {
        if op == Op::Turn {
            self.machine.watch();
        }
        {
            let mut state = self.machine.state();
            state.instructions += count * state.costs.instructions(op);
            *state.charged.entry(op).or_default() += count;
        }
        self.machine.hooks().charge(op);
    }

    /// A deadline passes when nothing moves. Without one the thread sleeps until another host thread changes
    /// something, and panics when none does.
    fn wait(&self, group: u8, deadline_ps: Option<u64>) -> WakeReason {
        let group = usize::from(group);
        loop {
            if self.machine.state().nodes[self.node].wake.take(group) {
                return WakeReason::Wake;
            }
            if self.machine.step() || self.machine.hooks().sleep() {
                continue;
            }
            if deadline_ps.is_some() {
                return WakeReason::Deadline;
            }
            let signalled = |state: &State| state.nodes[self.node].wake.is_signalled(group);
            let changed = self.machine.sleep(PATIENCE, signalled);
            assert!(changed, "sleeps for ever");
        }
    }

    fn notify(&self, group: u8) {
        let mut state = self.machine.state();
        state.nodes[self.node].wake.notify(usize::from(group));
        drop(state);
        self.machine.changed();
    }

    fn yield_now(&self) {
        self.machine.step();
    }

    fn note(&self, note: Note) {
        if let Some(notes) = &mut self.machine.state().notes {
            notes.push((self.node, note));
        }
    }

    fn new_lock(&self) -> DoubleLock {
        DoubleLock::default()
    }
}
