// SPDX-License-Identifier: MIT OR Apache-2.0
//! Callbacks of collectives.

use gyre_driver::{Context, Platform};

use crate::collective::Collective;
use crate::error::Error;
use crate::reduction::kind::ReduceKind;
use crate::request::Request;

/// Called once when a collective has ended at a member, by the thread that advances its context.
pub type Done<P> = Box<dyn FnOnce(&Context<P>, Result<(), Error>) + Send>;

/// Begins a collective when its turn has come.
pub(crate) type Start<P> = Box<dyn FnOnce(&Context<P>) + Send>;

/// A collective that others have posted and this member follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The collective.
    pub collective: Collective,
    /// Position of the root.
    pub root: usize,
    /// Bytes of a block or of the combined vector, if all members know them.
    pub bytes: Option<usize>,
    /// Reduction of the data.
    pub reduction: ReduceKind,
}

/// Answer of a following member.
pub struct Follow<P: Platform> {
    /// The collective of the call, with the member's buffers.
    pub request: Request<P::Buffer>,
    /// Called when it has ended at this member.
    pub done: Option<Done<P>>,
}

/// Dispatch callback of collectives (EP-9): called by `advance` when the first message of a collective
/// arrives that this member has to follow. `None` refuses: the collective ends with an error at all members.
pub type FollowFn<P> = Box<dyn FnMut(&Context<P>, &Call) -> Option<Follow<P>> + Send>;
