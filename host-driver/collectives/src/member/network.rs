// SPDX-License-Identifier: MIT OR Apache-2.0
//! Steps of schedules that enter the collective network, in the order of the collectives (HW-5).

use std::sync::Arc;

use gyre_driver::{
    BufferRange, CollOp, CollType, CollnetRoutes, CollnetTransfer, Context, DoneFn, Instruction,
    Platform,
};

use super::state::{State, States};
use crate::collective::Collective;
use crate::collnet::operation::tree_operation;
use crate::collnet::order::Step;
use crate::error::Error;
use crate::schedule::steps::{Action, Slice};
use crate::signature::Signature;

/// Makes the instruction for the collective network, given its done callback.
pub(super) type Entry<P> = Box<dyn FnOnce(DoneFn<P>) -> Instruction<P> + Send>;

/// Takes out the next step of a geometry for the collective network, if it is ready; `routes` are the node's.
///
/// # Errors
/// [`Error::Driver`].
pub(super) fn next<P: Platform>(
    states: &States<P>,
    context: &Context<P>,
    number: u16,
    routes: impl FnOnce() -> Option<Arc<CollnetRoutes<P>>>,
) -> Result<Option<(Entry<P>, Step)>, Error> {
    let Some(step) = states.with(number, |state| state.order.next()).flatten() else {
        return Ok(None);
    };
    let gone = || Error::from(gyre_driver::Error::Destroyed);
    let routes = routes().ok_or_else(gone)?;
    let entry = states.with(number, |state| entry(state, context, step, routes));
    Ok(Some((entry.ok_or_else(gone)??, step)))
}

fn entry<P: Platform>(
    state: &State<P>,
    context: &Context<P>,
    (sequence, step): Step,
    routes: Arc<CollnetRoutes<P>>,
) -> Result<Entry<P>, Error> {
    let (Some((geometry, _)), Some(operation)) = (&state.joined, state.running.get(&sequence))
    else {
        return Err(gyre_driver::Error::Destroyed.into());
    };
    let Action::CollnetTransfer { from, into, to } = operation.action(step) else {
        return Ok(Box::new(move |done| Instruction::CollnetBarrier {
            routes,
            done: Some(done),
        }));
    };
    let range = |slice: Option<Slice>| slice.map(|s| operation.range(s)).transpose();
    let (from, into) = (range(from)?, range(into)?);
    let bytes = [&from, &into].into_iter().flatten().map(BufferRange::len);
    let bytes = bytes.max().unwrap_or(0);
    let Signature {
        collective,
        reduction,
        ..
    } = operation.signature;
    let broadcast = (CollOp::Broadcast, CollType::U32);
    let (op, data) = match collective {
        Collective::Broadcast => broadcast,
        // Guaranteed by the algorithm's conditions.
        _ => tree_operation(reduction).unwrap_or(broadcast),
    };
    let node = |to: u32| {
        let task = geometry.tasks()[to as usize];
        context.tasks().location(task).map(|at| at.node)
    };
    let to = to.map(node).transpose()?;
    Ok(Box::new(move |done| {
        Instruction::CollnetTransfer(CollnetTransfer {
            routes,
            op,
            data,
            bytes,
            from,
            into,
            to,
            done: Some(done),
        })
    }))
}
