//! A collective under way at one member: which steps of its schedule have ended.

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
    /// Steps that have not ended.
    left: usize,
    /// Receives that nothing has come for, by (rank, tag).
    expected: BTreeMap<(u32, u32), Expected>,
    send: BufferRange<P::Buffer>,
    receive: BufferRange<P::Buffer>,
    pub scratch: BufferRange<P::Buffer>,
    pub done: Option<Done<P>>,
    /// How often it has been found waiting on the tree.
    pub looks: u32,
}

/// A receive of a schedule.
#[derive(Debug, Clone, Copy)]
struct Expected {
    step: usize,
    /// Its turn has come: what arrives may be stored.
    ready: bool,
    /// Where; `None` to drop it.
    into: Option<Slice>,
    /// How it comes if it is fetched.
    routing: Routing,
    /// Bytes that have come so far, of a message in parts.
    arrived: usize,
}

/// Where a message goes.
pub(super) struct Destination<P: Platform> {
    /// The step that ends by it, if nothing of it is still to come.
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

    /// Steps that wait for nothing.
    pub fn first(&self) -> Vec<usize> {
        let steps = 0..self.waits.len();
        steps.filter(|&step| self.waits[step] == 0).collect()
    }

    /// Steps that enter the collective network, in their order.
    pub fn network_steps(&self) -> Vec<usize> {
        let steps = self.schedule.steps.iter().enumerate();
        let enters = |action| matches!(action, Action::TreeBarrier | Action::TreeTransfer { .. });
        steps
            .filter(|(_, step)| enters(step.action))
            .map(|(number, _)| number)
            .collect()
    }

    /// The other members of the node that work with this one in memory.
    pub fn memory_peers(&self) -> Arc<MemoryPeers> {
        Arc::clone(&self.memory_peers)
    }

    /// The place of a slice for copies and combinations; `memory` is that of the node, if the member uses it.
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

    /// How data is combined.
    pub fn reduction(&self) -> Reduction {
        self.reduction.clone()
    }

    /// What a step does.
    pub fn action(&self, step: usize) -> Action {
        self.schedule.steps[step].action
    }

    /// Notes the end of a step; returns those whose turn has come by it.
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

    /// Notes that the turn of a receive has come.
    pub fn expect(&mut self, key: (u32, u32)) {
        if let Some(expected) = self.expected.get_mut(&key) {
            expected.ready = true;
        }
    }

    /// How a message is of another collective than this.
    pub fn disagrees(&self, geometry: &Geometry, header: &Header) -> Option<Error> {
        let difference = self.signature.difference(&header.signature);
        difference.map(|difference| disagreement(geometry, header, difference))
    }

    /// What is wrong with a message: another collective than this, or one that no receive waits for.
    pub fn fault(&self, geometry: &Geometry, header: &Header) -> Option<Error> {
        self.disagrees(geometry, header).or_else(|| {
            let expected = self.expected.contains_key(&(header.from, header.tag));
            let nobody = ("receives of a message", 0, 1);
            (!expected).then(|| disagreement(geometry, header, nobody))
        })
    }

    /// Takes `bytes` bytes of a message for the receive that waits for it, which expects nothing more when all of them
    /// have come. Returns where they go; `None` when the turn of the receive has not come.
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

    /// The bytes that a slice names.
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

/// The error of a member that does not agree with the sender of a message: (field, ours, theirs).
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
