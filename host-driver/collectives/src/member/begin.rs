// SPDX-License-Identifier: MIT OR Apache-2.0
//! Start of a collective at one member.

use std::sync::Arc;

use gyre_driver::{BufferRange, Context, Op, Platform};
use gyre_note::CollectiveStep;

use super::executor::{Executor, gave_up, note};
use super::memory;
use super::operation::Operation;
use super::state::{Key, State};
use crate::algorithm::Algorithm;
use crate::callback::Done;
use crate::collective::Collective;
use crate::collnet::routes::RoutesTaken;
use crate::error::Error;
use crate::geometry::Geometry;
use crate::header::{Form, Header};
use crate::initiator::Initiator;
use crate::node::sharing::Sharing;
use crate::request::Request;
use crate::schedule::builder::Arguments;
use crate::schedule::schedule;
use crate::selection::choose::Query;
use crate::signature::Signature;

/// Query for the choice of an algorithm for a request.
pub(super) fn query<'a, B: gyre_driver::DmaBuffer>(
    geometry: &'a Geometry,
    request: &Request<B>,
    (routes, sharing): (RoutesTaken, Sharing),
) -> Query<'a> {
    Query {
        geometry,
        collective: request.collective,
        root: request.root,
        bytes: request.bytes(),
        alignment: request.alignment,
        reduction: request.reduction.kind(),
        routes,
        sharing,
    }
}

/// The signature of a request.
pub(super) fn signature<B: gyre_driver::DmaBuffer>(
    request: &Request<B>,
    algorithm: Algorithm,
    initiator: Initiator,
) -> Signature {
    Signature {
        collective: request.collective,
        algorithm,
        initiator,
        reduction: request.reduction.kind(),
        // Checked to be a position.
        root: request.root as u32,
        bytes: request.bytes().map_or(u64::MAX, |bytes| bytes as u64),
    }
}

/// Begins the next collective of a geometry.
pub(super) fn begin<P: Platform>(
    executor: &Arc<Executor<P>>,
    context: &Context<P>,
    number: u16,
    signature: Signature,
    request: Request<P::Buffer>,
    done: Option<Done<P>>,
) {
    let next = executor.states.with(number, |state| {
        let (geometry, rank) = state.joined.clone()?;
        state.skip_failed();
        Some((geometry, rank, state.history.take_next()))
    });
    let Some((geometry, rank, (sequence, given_up))) = next.flatten() else {
        return;
    };
    if let Some(by) = given_up {
        executor.tell(context, done, Err(gave_up(&geometry, sequence, by)));
        return memory::pass_left(&executor.states, context, number);
    }
    let neighbours = executor.states.neighbours(number);
    let arguments = Arguments {
        collective: request.collective,
        root: request.root,
        send_blocks: &request.send_blocks,
        receive_blocks: &request.receive_blocks,
        in_place: request.send.is_none(),
        receive: request.receive.len(),
        unit: signature.reduction.bytes(),
        keeps_block: request.keeps_block(),
        neighbours: &neighbours,
    };
    context.platform().charge(Op::Control, 1);
    let schedule = schedule(&geometry, rank, signature.algorithm, arguments);
    let scratch = scratch(executor, context, number, schedule.scratch);
    let send = request.send.unwrap_or_else(BufferRange::empty);
    let key = (number, sequence);
    let (states, member) = (&executor.states, (&geometry, rank));
    let opened = match schedule.memory.used {
        true => memory::open(states, context, member, &neighbours, sequence).map(Some),
        false => Ok(None),
    };
    let (scratch, node_memory, failed) = match (scratch, opened) {
        (Ok(scratch), Ok(memory)) => (scratch, memory, None),
        (Err(error), _) | (_, Err(error)) => (BufferRange::empty(), None, Some(error)),
    };
    let what = (signature, request.reduction);
    let operation = Operation::new(what, schedule, [send, request.receive, scratch], done);
    let first = operation.first();
    states.with(number, |state| {
        for step in operation.network_steps() {
            state.order.push((sequence, step));
        }
        state.running.insert(sequence, Box::new(operation));
    });
    note(context, key, signature, CollectiveStep::Begun);
    if let Some(memory) = node_memory {
        memory.begin(sequence);
    }
    memory::pass_left(states, context, number);
    if let Some(error) = failed {
        return executor.give_up(context, key, error);
    }
    let called = call_others(executor, context, member, sequence, signature);
    // Also for algorithms by messages: a disagreeing neighbour may expect one in memory.
    let watched = match neighbours.sharing().some {
        true => called.and_then(|()| executor.watch(context)),
        false => called,
    };
    if let Err(error) = watched {
        return executor.give_up(context, key, error);
    }
    executor.run(context, key, first);
    // Ready receives have taken their messages; the rest must at least be expected.
    if let Some(error) = unexpected(executor, key) {
        executor.give_up(context, key, error);
    }
}

/// Scratch memory of `bytes` bytes, not cleared: that of an earlier collective if long enough.
fn scratch<P: Platform>(
    executor: &Executor<P>,
    context: &Context<P>,
    number: u16,
    bytes: usize,
) -> Result<BufferRange<P::Buffer>, Error> {
    if bytes == 0 {
        return Ok(BufferRange::empty());
    }
    let take = |state: &mut State<P>| core::mem::replace(&mut state.spare, BufferRange::empty());
    let spare = executor.states.with(number, take);
    if let Some(kept) = spare.and_then(|spare| spare.part(0, bytes).ok()) {
        return Ok(kept);
    }
    context.platform().charge(Op::Allocate, 1);
    Ok(BufferRange::zeroed(context.platform(), bytes)?)
}

/// First fault among the early messages of a collective.
fn unexpected<P: Platform>(executor: &Executor<P>, (number, sequence): Key) -> Option<Error> {
    let fault = executor.states.with(number, |state| {
        let (geometry, _) = state.joined.as_ref()?;
        let operation = state.running.get(&sequence)?;
        state.early.begin(sequence, |header| match header.form {
            Form::Start => None,
            Form::Waits => operation.disagrees(geometry, header),
            _ => operation.fault(geometry, header),
        })
    });
    fault.flatten()
}

/// Notifies following members of a collective that not all post (EP-9).
fn call_others<P: Platform>(
    executor: &Executor<P>,
    context: &Context<P>,
    (geometry, rank): (&Geometry, u32),
    sequence: u32,
    signature: Signature,
) -> Result<(), Error> {
    let header = Header::control(geometry.number(), sequence, rank, signature, Form::Start);
    for to in called(geometry, rank, &signature) {
        let to = geometry.endpoints()[to as usize];
        executor.messenger.send(context, to, &header, &[])?;
    }
    Ok(())
}

/// Ranks that the member with rank `rank` notifies.
fn called(geometry: &Geometry, rank: u32, signature: &Signature) -> Vec<u32> {
    let root = geometry.ranks_of(signature.root as usize);
    let count = geometry.endpoints().len() as u32;
    match signature.initiator {
        Initiator::All => Vec::new(),
        // Data of the root notifies all members, but not over the collective network (too early) or in shared memory
        // (nobody looks).
        Initiator::Root
            if !signature.is_silent()
                && matches!(
                    signature.collective,
                    Collective::Broadcast | Collective::Scatter
                ) =>
        {
            Vec::new()
        }
        Initiator::Root => {
            // Binomial tree of the ranks, counted from the root's leader.
            let distance = (rank + count - root[0]) % count;
            let below = match distance {
                0 => count.next_power_of_two(),
                _ => distance & distance.wrapping_neg(),
            };
            let bits = (0..below.trailing_zeros()).rev().map(|bit| 1 << bit);
            let children = bits.filter(|bit| distance + bit < count);
            children
                .map(|bit| (root[0] + distance + bit) % count)
                .collect()
        }
        Initiator::NonRoot => {
            let caller = (0..count).find(|&r| geometry.position(r) != signature.root as usize);
            match caller == Some(rank) {
                true => root.to_vec(),
                false => Vec::new(),
            }
        }
    }
}
