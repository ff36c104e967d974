// SPDX-License-Identifier: MIT OR Apache-2.0
//! Active messages (EP-4): dispatch, and the messages that packets make up.

pub(crate) mod assembly;
pub(crate) mod deferred;
pub(crate) mod deferred_messages;
pub(crate) mod dispatch;
pub(crate) mod held_memory;
pub(crate) mod send;

use crate::ack::sender::AckSender;
use crate::am::deferred_messages::KeptMessages;
use crate::io::Io;
use crate::platform::Platform;

/// Parts of the context that active messages use.
pub(crate) struct AmIo<'a, P: Platform, U> {
    pub io: &'a mut Io<P>,
    pub acks: &'a mut AckSender,
    pub kept: &'a mut KeptMessages<P>,
    pub up: &'a mut U,
}
