// SPDX-License-Identifier: MIT OR Apache-2.0
//! Collectives that a member joins by its follow callback (EP-9).

use std::sync::Arc;

use gyre_driver::{Context, Platform};

use super::begin::{begin, query, signature};
use super::executor::Executor;
use super::memory;
use crate::callback::{Call, Follow, FollowFn};
use crate::geometry::Geometry;
use crate::signature::Signature;

/// A collective that this member follows.
struct Next<P: Platform> {
    geometry: Geometry,
    rank: u32,
    sequence: u32,
    signature: Signature,
    callback: FollowFn<P>,
}

/// Begins the collectives that this member follows, in order.
pub(super) fn follow<P: Platform>(executor: &Arc<Executor<P>>, context: &Context<P>, number: u16) {
    while let Some(mut next) = next(executor, number) {
        let signature = next.signature;
        let call = Call {
            collective: signature.collective,
            root: signature.root as usize,
            bytes: usize::try_from(signature.bytes)
                .ok()
                .filter(|_| signature.bytes != u64::MAX),
            reduction: signature.reduction,
        };
        let answer = (next.callback)(context, &call);
        let Next {
            geometry,
            rank,
            sequence,
            callback,
            ..
        } = next;
        executor.states.with(number, |state| {
            state.follow.get_or_insert(callback);
        });
        let member = (&geometry, rank);
        let Some(Follow { request, done }) = answer else {
            refuse(executor, context, member, sequence, signature);
            continue;
        };
        let valid = request
            .check(&geometry, geometry.position(rank))
            .and_then(|()| {
                let query = query(&geometry, &request, executor.network(number));
                let named = Some(signature.algorithm);
                geometry.algorithms().choose(&query, named).map(|_| ())
            });
        if let Err(error) = valid {
            refuse(executor, context, member, sequence, signature);
            if let Some(done) = done {
                done(context, Err(error));
            }
            continue;
        }
        // The member's arguments are compared with the others' as in any call.
        let own = self::signature(&request, signature.algorithm, signature.initiator);
        begin(executor, context, number, own, request, done);
    }
}

/// Next collective that messages ask this member to follow, with the follow callback, which is taken out while it
/// runs.
fn next<P: Platform>(executor: &Executor<P>, number: u16) -> Option<Next<P>> {
    if executor.negotiation.table.is_taking(number) {
        return None;
    }
    let next = executor.states.with(number, |state| {
        let (geometry, rank) = state.joined.clone()?;
        state.skip_failed();
        let sequence = state.history.next();
        let signature = state.early.signature(sequence)?;
        if !state.follows(&signature) {
            return None;
        }
        Some(Next {
            geometry,
            rank,
            sequence,
            signature,
            callback: state.follow.take()?,
        })
    });
    next.flatten()
}

/// Refuses to follow a collective.
fn refuse<P: Platform>(
    executor: &Executor<P>,
    context: &Context<P>,
    (geometry, rank): (&Geometry, u32),
    sequence: u32,
    signature: Signature,
) {
    let messenger = &executor.messenger;
    messenger.give_up(context, (geometry, rank), sequence, signature);
    let key = (geometry.number(), sequence);
    executor.drop_early(key);
    executor.states.with(key.0, |state| {
        state.history.refuse(sequence, (rank, signature));
    });
    memory::give_up(&executor.states, context, key);
}
