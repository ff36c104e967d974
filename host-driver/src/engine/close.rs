//! The beginning and the end of a context: its resources of the node are taken and given back.

use super::{Engine, Target};
use crate::client::{Plan, SameNode};
use crate::context::{Context, ContextInfo, Progress};
use crate::cost::Op;
use crate::error::{Error, Fault};
use crate::gets::Purpose;
use crate::injection::Finish;
use crate::instruction::{DoneFn, Instruction};
use crate::platform::Platform;
use crate::reception::ReceptionFifo;
use crate::registers;
use crate::remote_get::RemoteGetFifo;
use crate::shared_memory::{EndpointTable, SharedPath};
use crate::sync::{Arc, short};

/// What a context receives by.
type Receiving<P> = (RemoteGetFifo<P>, ReceptionFifo<P>, Option<SharedPath<P>>);

/// Opens what a context receives by, all of it or nothing, and lets `events` wake it.
pub(super) fn open_fifos<P: Platform>(
    platform: &P,
    plan: &Arc<Plan>,
    table: &Arc<EndpointTable<P>>,
    info: &ContextInfo,
    events: u64,
) -> Result<Receiving<P>, Fault> {
    let resources = &plan.config.resources;
    let mut node = registers::node(platform)?;
    let mut remote_get = RemoteGetFifo::open(
        platform,
        &mut node,
        info.remote_get_fifo,
        resources.remote_get_ring,
        resources.owner,
    )?;
    let reception = ReceptionFifo::open(
        platform,
        &mut node,
        info.reception_fifo,
        resources.reception_ring,
        resources.owner,
    );
    let mut reception = match reception {
        Ok(reception) => reception,
        Err(error) => {
            remote_get.close(&mut node, false)?;
            return Err(error);
        }
    };
    let shared = match plan.config.same_node {
        SameNode::Loopback => Ok(None),
        SameNode::SharedMemory => SharedPath::open(platform, plan, table, info).map(Some),
    };
    let mask = registers::wake_mask(info.wake_group);
    let opened = shared.and_then(|shared| {
        registers::write(platform, mask, events)?;
        Ok(shared)
    });
    match opened {
        Ok(shared) => Ok((remote_get, reception, shared)),
        Err(error) => {
            remote_get.close(&mut node, false)?;
            reception.close(&mut node, false)?;
            Err(error.into())
        }
    }
}

impl<P: Platform> Engine<P> {
    /// Gives the resources back. What has not finished, the instructions of `posted` included, is given up:
    /// its callbacks get [`Error::Destroyed`]. Memory that the DMA engine or a peer may still write is
    /// leaked rather than given to somebody else.
    ///
    /// # Errors
    /// [`Error::WorkLeft`] when something was given up; those of the node. The context is closed all the
    /// same.
    pub fn close(
        &mut self,
        context: &Context<P>,
        posted: impl ExactSizeIterator<Item = Instruction<P>>,
    ) -> Result<(), Fault> {
        let platform = context.platform();
        let info = context.query();
        let plan = &context.shared().plan;
        let mut progress = Progress::default();
        let mut outcome = Ok(());
        for lane in &mut self.lanes {
            if lane.in_flight() > 0 {
                let polled = lane.poll(platform, &mut self.completed);
                outcome = outcome.and(polled.map(|_| ()));
            }
        }
        outcome = outcome.and(self.run_completions(context, &mut progress));
        let left = self.left(short(&context.shared().cookies).len());
        outcome = outcome.and(match (posted.len(), left) {
            (0, None) => Ok(()),
            (posted, left) => Err(left.unwrap_or_default().error(posted).into()),
        });
        let mut abandoned = Vec::new();
        let closed = self.close_resources(platform, plan, info, left.is_some(), &mut abandoned);
        outcome = closed.and(outcome);
        self.abandon(context, &mut abandoned);
        abandoned.extend(posted.flat_map(callbacks));
        for done in abandoned {
            super::callback(context, Op::Callback, || {
                done(context, Err(Error::Destroyed))
            });
        }
        // After what was given up: that may have been in the hands of who asked for this.
        for function in context.take_at_destroy() {
            super::guarded(context, || function(context));
        }
        outcome
    }

    /// Disables FIFOs and wake-ups; `in_use`: the DMA engine may still use their memory.
    fn close_resources(
        &mut self,
        platform: &P,
        plan: &Plan,
        info: &ContextInfo,
        in_use: bool,
        abandoned: &mut Vec<DoneFn<P>>,
    ) -> Result<(), Fault> {
        let mut node = registers::node(platform)?;
        let mut outcome = registers::write(platform, registers::wake_mask(info.wake_group), 0);
        let mut ends = Vec::new();
        if let Some((table, index)) = self.table.take() {
            outcome = outcome.and(table.withdraw(platform, index).map_err(Fault::from));
        }
        if let Some(mut shared) = self.shared.take() {
            shared.lane.close(&mut ends);
            outcome = outcome.and(shared.inbox.close(platform));
        }
        for lane in &mut self.lanes {
            outcome = outcome.and(lane.close(platform, &mut node, &mut ends));
        }
        if let Some(mut flows) = self.flows.take() {
            let offset = info.endpoint.context;
            outcome = outcome.and(flows.close(platform, plan, offset, &mut ends));
        }
        for end in ends {
            if let Finish::Send { local_done, .. } = end {
                abandoned.extend(local_done);
            }
        }
        outcome = outcome.and(self.trees.close(platform, &mut node, abandoned));
        let remote_get = self.remote_get.close(&mut node, in_use);
        let reception = self.reception.close(&mut node, in_use);
        outcome.and(remote_get).and(reception)
    }

    /// Gives the operations up that are under way.
    fn abandon(&mut self, context: &Context<P>, abandoned: &mut Vec<DoneFn<P>>) {
        let arriving = core::mem::take(&mut self.arriving).into_values();
        let announced = core::mem::take(&mut self.announced).into_values();
        let targets = arriving.map(|assembly| assembly.target);
        for target in targets.chain(announced.map(|announced| announced.target)) {
            match target {
                Target::Nowhere => {}
                Target::Buffer { done, .. } | Target::TooLong { done, .. } => {
                    abandoned.extend(done);
                }
            }
        }
        for purpose in self.gets.close() {
            match purpose {
                Purpose::User(done) | Purpose::Receive { done, .. } => abandoned.extend(done),
                Purpose::PutSync { .. } | Purpose::PeerFence { .. } | Purpose::OwnFence { .. } => {}
            }
        }
        self.fences.close(abandoned);
        let pending = short(&context.shared().cookies).take_all();
        for operation in pending {
            abandoned.extend(operation.local_done);
            abandoned.extend(operation.remote_done);
        }
    }
}

/// The done callbacks of an instruction.
fn callbacks<P: Platform>(instruction: Instruction<P>) -> impl Iterator<Item = DoneFn<P>> {
    let done = match instruction {
        Instruction::Send(send) => [send.local_done, send.remote_done],
        Instruction::Put(put) => [put.local_done, put.remote_done],
        Instruction::Get(get) => [get.done, None],
        Instruction::Rmw(rmw) => [rmw.done, None],
        Instruction::Fence(fence) => [fence.done, None],
        Instruction::FenceAll(done) => [done, None],
        Instruction::TreeBarrier { done, .. } | Instruction::TreeRelease { done, .. } => {
            [done, None]
        }
        Instruction::TreeTransfer(transfer) => [transfer.done, None],
        Instruction::SendImmediate(_)
        | Instruction::Acknowledge { .. }
        | Instruction::Refuse { .. }
        | Instruction::Call(_) => [None, None],
    };
    done.into_iter().flatten()
}
