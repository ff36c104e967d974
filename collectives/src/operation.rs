//! A collective under way at one member: which steps of its schedule have ended.

use std::collections::BTreeMap;
use std::rc::Rc;

use gyre_driver::{BufferRange, Platform, Routing};

use crate::error::Error;
use crate::geometry::Geometry;
use crate::header::{Header, Signature};
use crate::member::Done;
use crate::node::{MemoryPlan, NodeMemory};
use crate::schedule::{Action, Schedule, Slice, Space};

/// A collective under way.
pub(crate) struct Operation<P: Platform> {
    pub signature: Signature,
    schedule: Schedule,
    memory: Rc<MemoryPlan>,
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
    scratch: BufferRange<P::Buffer>,
    pub done: Option<Done<P>>,
    /// How often it has been found waiting on the tree.
    pub looks: u32,
}

/// A receive of a schedule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    pub step: usize,
    /// Its turn has come: what arrives may be stored.
    pub ready: bool,
    /// Where; `None` to drop it.
    pub into: Option<Slice>,
    /// How it comes if it is fetched.
    pub routing: Routing,
    /// Bytes that have come so far, of a message in parts.
    pub arrived: usize,
}

impl<P: Platform> Operation<P> {
    pub fn new(
        signature: Signature,
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
            waits: schedule.steps.iter().map(|step| step.after.len()).collect(),
            waiters,
            left: schedule.steps.len(),
            expected,
            memory: Rc::new(core::mem::take(&mut schedule.memory)),
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

    /// Steps that enter the tree of the collective network, in their order.
    pub fn tree_steps(&self) -> Vec<usize> {
        let steps = self.schedule.steps.iter().enumerate();
        let enters = |action| matches!(action, Action::TreeBarrier | Action::TreeTransfer { .. });
        steps
            .filter(|(_, step)| enters(step.action))
            .map(|(number, _)| number)
            .collect()
    }

    /// Who has to do with the member in the memory of its node.
    pub fn memory(&self) -> Rc<MemoryPlan> {
        Rc::clone(&self.memory)
    }

    /// The place of a slice for copies and combinations; `memory` is that of the node, if the member uses it.
    pub fn place(
        &self,
        slice: Slice,
        memory: Option<&Rc<NodeMemory<P>>>,
    ) -> Result<Data<P>, gyre_driver::Error> {
        match (slice.space, memory) {
            (Space::Memory, Some(memory)) => Ok(Data::Memory(Rc::clone(memory), slice)),
            _ => Ok(Data::Buffer(self.range(slice)?)),
        }
    }

    /// What a step does.
    pub fn action(&self, step: usize) -> Action {
        self.schedule.steps[step].action
    }

    /// Notes the end of a step; gives those whose turn has come by it.
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

    /// The receive that waits for a message.
    pub fn expected(&mut self, key: (u32, u32)) -> Option<&mut Expected> {
        self.expected.get_mut(&key)
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

    /// Something has come for a receive: it expects nothing more.
    pub fn arrived(&mut self, key: (u32, u32)) {
        self.expected.remove(&key);
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

/// Bytes that copies and combinations read and write. They are charged by the caller.
pub(crate) enum Data<P: Platform> {
    Buffer(BufferRange<P::Buffer>),
    Memory(Rc<NodeMemory<P>>, Slice),
}

impl<P: Platform> Data<P> {
    pub fn read(&self) -> Result<Vec<u8>, Error> {
        match self {
            Self::Buffer(range) => {
                let mut bytes = vec![0; range.len()];
                range
                    .read(0, &mut bytes)
                    .map_err(gyre_driver::Error::from)?;
                Ok(bytes)
            }
            Self::Memory(memory, slice) => {
                let mut bytes = vec![0; slice.len];
                memory.read(slice.offset, &mut bytes)?;
                Ok(bytes)
            }
        }
    }

    pub fn write(&self, data: &[u8]) -> Result<(), Error> {
        match self {
            Self::Buffer(range) => Ok(range.write(0, data).map_err(gyre_driver::Error::from)?),
            Self::Memory(memory, slice) => memory.write_data(slice.offset, data),
        }
    }
}

/// The error of a member that does not agree with the sender of a message: (field, ours, theirs).
pub(crate) fn disagreement(
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
