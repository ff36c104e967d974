// SPDX-License-Identifier: MIT OR Apache-2.0
//! A collective under way at one member: progress through the steps of its schedule.

use std::collections::BTreeMap;
use std::sync::Arc;

use gyre_driver::{BufferRange, Platform, Routing};

use super::data::Data;
use crate::callback::Done;
use crate::error::Error;
use crate::geometry::Geometry;
use crate::header::{Form, Header};
use crate::node::memory::NodeMemory;
use crate::node::steps::MemoryPeers;
use crate::reduction::any::Reduction;
use crate::schedule::steps::{Action, Schedule, Slice, Space};
use crate::signature::Signature;

/// A collective under way.
pub(super) struct Operation<P: Platform> {
    pub signature: Signature,
    reduction: Reduction,
    schedule: Schedule,
    memory_peers: Arc<MemoryPeers>,
    /// Steps that each step waits for.
    waits: Vec<usize>,
    /// Steps that wait for each step.
    waiters: Vec<Vec<usize>>,
    /// Unfinished steps.
    left: usize,
    /// Receives without a message, by (rank, tag).
    expected: BTreeMap<(u32, u32), Expected>,
    send: BufferRange<P::Buffer>,
    receive: BufferRange<P::Buffer>,
    pub scratch: BufferRange<P::Buffer>,
    pub done: Option<Done<P>>,
    /// Looks that found it waiting on the collective network.
    pub looks: u32,
}

/// A receive of a schedule.
#[derive(Debug, Clone, Copy)]
struct Expected {
    step: usize,
    /// Ready: arriving data may be stored.
    ready: bool,
    /// Destination; `None` to drop the data.
    into: Option<Slice>,
    /// Routing of a fetch.
    routing: Routing,
    /// Bytes received so far, of a message in parts.
    arrived: usize,
}

/// Destination of a message.
pub(super) struct Destination<P: Platform> {
    /// Step that ends with this message, if it is the last part.
    pub step: Option<usize>,
    /// `None` to drop it.
    pub into: Option<BufferRange<P::Buffer>>,
    pub routing: Routing,
}

impl<P: Platform> Operation<P> {
    pub fn new(
        (signature, reduction): (Signature, Reduction),
        mut schedule: Schedule,
        [send, receive, scratch]: [BufferRange<P::Buffer>; 3],
        done: Option<Done<P>>,
    ) -> Self {
        let mut waiters = vec![Vec::new(); schedule.steps.len()];
        let mut expected = BTreeMap::new();
        for (number, step) in schedule.steps.iter().enumerate() {
            for &before in &step.after {
                waiters[before].push(number);
            }
            let (key, into, routing) = match step.action {
                Action::Receive {
                    from,
                    tag,
                    into,
                    routing,
                } => ((from, tag), Some(into), routing),
                Action::Discard { from, tag } => ((from, tag), None, Routing::Fixed),
                _ => continue,
            };
            let receive = Expected {
                step: number,
                ready: false,
                into,
                routing,
                arrived: 0,
            };
            let twice = expected.insert(key, receive);
            debug_assert!(
                twice.is_none(),
                "two receives of one tag from rank {}",
                key.0
            );
        }
        Self {
            signature,
            reduction,
            waits: schedule.steps.iter().map(|step| step.after.len()).collect(),
            waiters,
            left: schedule.steps.len(),
            expected,
            memory_peers: Arc::new(core::mem::take(&mut schedule.memory)),
            schedule,
            send,
            receive,
            scratch,
            done,
            looks: 0,
        }
    }

    /// Steps without predecessors.
    pub fn first(&self) -> Vec<usize> {
        let steps = 0..self.waits.len();
        steps.filter(|&step| self.waits[step] == 0).collect()
    }

    /// Steps on the collective network, in order.
    pub fn network_steps(&self) -> Vec<usize> {
        let steps = self.schedule.steps.iter().enumerate();
        let enters = |action| {
            matches!(
                action,
                Action::CollnetBarrier | Action::CollnetTransfer { .. }
            )
        };
        steps
            .filter(|(_, step)| enters(step.action))
            .map(|(number, _)| number)
            .collect()
    }

    /// Members of the node that share memory with this one in the collective.
    pub fn memory_peers(&self) -> Arc<MemoryPeers> {
        Arc::clone(&self.memory_peers)
    }

    /// Operand that a slice names; `memory` is the node's, if the member uses it.
    pub fn place(
        &self,
        slice: Slice,
        memory: Option<&Arc<NodeMemory<P>>>,
    ) -> Result<Data<P>, gyre_driver::Error> {
        match (slice.space, memory) {
            (Space::Memory, Some(memory)) => Ok(Data::Memory(Arc::clone(memory), slice)),
            _ => Ok(Data::Buffer(self.range(slice)?)),
        }
    }

    /// Reduction of the collective.
    pub fn reduction(&self) -> Reduction {
        self.reduction.clone()
    }

    /// Action of a step.
    pub fn action(&self, step: usize) -> Action {
        self.schedule.steps[step].action
    }

    /// Marks a step as ended; returns the steps that become ready.
    pub fn end(&mut self, step: usize) -> Vec<usize> {
        self.left -= 1;
        let mut ready = Vec::new();
        for &waiter in &self.waiters[step] {
            self.waits[waiter] -= 1;
            if self.waits[waiter] == 0 {
                ready.push(waiter);
            }
        }
        ready
    }

    /// Whether all steps have ended.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Marks a receive as ready.
    pub fn expect(&mut self, key: (u32, u32)) {
        if let Some(expected) = self.expected.get_mut(&key) {
            expected.ready = true;
        }
    }

    /// Difference between a message's collective and this one.
    pub fn disagrees(&self, geometry: &Geometry, header: &Header) -> Option<Error> {
        let difference = self.signature.difference(&header.signature);
        difference.map(|difference| disagreement(geometry, header, difference))
    }

    /// Fault of a message: another collective, or no receive waits for it.
    pub fn fault(&self, geometry: &Geometry, header: &Header) -> Option<Error> {
        self.disagrees(geometry, header).or_else(|| {
            let expected = self.expected.contains_key(&(header.from, header.tag));
            let nobody = ("receives of a message", 0, 1);
            (!expected).then(|| disagreement(geometry, header, nobody))
        })
    }

    /// Accounts `bytes` bytes of a message to the receive that waits for it. Returns their destination; `None` if the
    /// receive is not ready.
    ///
    /// # Errors
    /// [`Error::Disagreement`] about the collective or the length of the message.
    pub fn take(
        &mut self,
        geometry: &Geometry,
        header: &Header,
        bytes: usize,
    ) -> Result<Option<Destination<P>>, Error> {
        if let Some(fault) = self.fault(geometry, header) {
            return Err(fault);
        }
        let key = (header.from, header.tag);
        let Some(receive) = self.expected.get_mut(&key).filter(|receive| receive.ready) else {
            return Ok(None);
        };
        receive.arrived += bytes;
        let receive = *receive;
        let length = header.length as usize;
        let wrong = |ours: usize, theirs: usize| {
            let lengths = ("message bytes", ours as u64, theirs as u64);
            Err(disagreement(geometry, header, lengths))
        };
        let whole = match header.form {
            Form::Data { .. } => receive.arrived == length,
            _ => true,
        };
        if whole {
            self.expected.remove(&key);
        }
        if receive.arrived > length {
            return wrong(length, receive.arrived);
        }
        let into = match receive.into {
            Some(slice) if slice.len != length => return wrong(slice.len, length),
            Some(slice) => Some(self.range(slice)?),
            None => None,
        };
        Ok(Some(Destination {
            step: whole.then_some(receive.step),
            into,
            routing: receive.routing,
        }))
    }

    /// Bytes that a slice names.
    pub fn range(&self, slice: Slice) -> Result<BufferRange<P::Buffer>, gyre_driver::Error> {
        if slice.len == 0 {
            return Ok(BufferRange::empty());
        }
        let buffer = match slice.space {
            Space::Send => &self.send,
            Space::Receive => &self.receive,
            Space::Scratch => &self.scratch,
            // No buffer.
            Space::Memory => &BufferRange::empty(),
        };
        Ok(buffer.part(slice.offset, slice.len)?)
    }
}

/// Disagreement with the sender of a message: (field, ours, theirs).
pub(super) fn disagreement(
    geometry: &Geometry,
    header: &Header,
    (field, ours, theirs): (&'static str, u64, u64),
) -> Error {
    Error::Disagreement {
        geometry: geometry.name().into(),
        sequence: header.sequence,
        field,
        ours,
        theirs,
        rank: header.from,
    }
}
