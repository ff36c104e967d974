// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations as programs post them: with functions as done callbacks.

use crate::api::context::{CallFn, DoneFn};
use crate::operation;

/// One entry of a context's work queue.
pub type Instruction<P> = operation::Instruction<P, DoneFn<P>, CallFn<P>>;
/// SEND, see [`operation::SendMessage`].
pub type SendMessage<P> = operation::SendMessage<P, DoneFn<P>>;
/// PUT, see [`operation::Put`].
pub type Put<P> = operation::Put<P, DoneFn<P>>;
/// A wait for a byte counter, see [`operation::Count`].
pub type Count<P> = operation::Count<P, DoneFn<P>>;
/// GET, see [`operation::Get`].
pub type Get<P> = operation::Get<P, DoneFn<P>>;
/// RPUT, see [`operation::Rput`].
pub type Rput<P> = operation::Rput<P, DoneFn<P>>;
/// RGET, see [`operation::Rget`].
pub type Rget<P> = operation::Rget<P, DoneFn<P>>;
/// RMW, see [`operation::Rmw`].
pub type Rmw<P> = operation::Rmw<P, DoneFn<P>>;
/// FENCE, see [`operation::Fence`].
pub type Fence<P> = operation::Fence<DoneFn<P>>;
/// A transfer on a class route, see [`operation::CollnetTransfer`].
pub type CollnetTransfer<P> = operation::CollnetTransfer<P, DoneFn<P>>;
