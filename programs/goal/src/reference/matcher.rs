// SPDX-License-Identifier: MIT OR Apache-2.0
//! MPI matching at one rank: by source and tag, in posting and arrival order, with wildcards.

use std::collections::VecDeque;

use thiserror::Error;

use crate::program::ANY_TAG;

/// A message that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival<M> {
    /// Rank that sent it.
    pub source: u32,
    /// Its tag, [`ANY_TAG`] if every tag matches.
    pub tag: u32,
    /// Its payload in bytes.
    pub bytes: u64,
    /// Whatever the caller tells messages apart by.
    pub message: M,
}

/// A receive that is posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receive<R> {
    /// Source wanted, `None` for any.
    pub source: Option<u32>,
    /// Tag wanted, `None` for any.
    pub tag: Option<u32>,
    /// Size of the buffer in bytes; the message may be shorter.
    pub bytes: u64,
    /// Whatever the caller tells receives apart by.
    pub receive: R,
}

/// A message and the receive it goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matched<M, R> {
    /// The message.
    pub arrival: Arrival<M>,
    /// The receive.
    pub receive: Receive<R>,
}

/// A message matched a receive that is too small for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "message of {message_bytes} bytes from rank {from} with tag {tag} matches a receive of {receive_bytes} bytes"
)]
pub struct Truncated {
    /// Rank that sent the message.
    pub from: u32,
    /// Tag of the message.
    pub tag: u32,
    /// Size of the message in bytes.
    pub message_bytes: u64,
    /// Size of the receive in bytes.
    pub receive_bytes: u64,
}

/// The two queues of a rank: receives without a message, messages without a receive.
#[derive(Debug, Clone)]
pub struct Matcher<M, R> {
    posted: VecDeque<Receive<R>>,
    unexpected: VecDeque<Arrival<M>>,
}

impl<M, R> Default for Matcher<M, R> {
    fn default() -> Self {
        Self {
            posted: VecDeque::new(),
            unexpected: VecDeque::new(),
        }
    }
}

impl<M, R> Matcher<M, R> {
    /// Both queues empty.
    pub fn new() -> Self {
        Self::default()
    }

    /// A message arrives: it goes to the receive posted first among those that match, or waits.
    ///
    /// # Errors
    /// [`Truncated`] if it is longer than that receive; both are lost then.
    pub fn arrive(&mut self, arrival: Arrival<M>) -> Result<Option<Matched<M, R>>, Truncated> {
        let wanted = self.posted.iter().position(|r| matches(r, &arrival));
        match wanted.and_then(|i| self.posted.remove(i)) {
            Some(receive) => pair(arrival, receive).map(Some),
            None => {
                self.unexpected.push_back(arrival);
                Ok(None)
            }
        }
    }

    /// A receive is posted: it gets the message that arrived first among those that match, or
    /// waits.
    ///
    /// # Errors
    /// [`Truncated`] if that message is longer than the receive; both are lost then.
    pub fn post(&mut self, receive: Receive<R>) -> Result<Option<Matched<M, R>>, Truncated> {
        let wanted = self.unexpected.iter().position(|a| matches(&receive, a));
        match wanted.and_then(|i| self.unexpected.remove(i)) {
            Some(arrival) => pair(arrival, receive).map(Some),
            None => {
                self.posted.push_back(receive);
                Ok(None)
            }
        }
    }

    /// Receives without a message, in posting order.
    pub fn posted(&self) -> impl Iterator<Item = &Receive<R>> {
        self.posted.iter()
    }

    /// Messages without a receive, in arrival order.
    pub fn unexpected(&self) -> impl Iterator<Item = &Arrival<M>> {
        self.unexpected.iter()
    }
}

fn matches<M, R>(receive: &Receive<R>, arrival: &Arrival<M>) -> bool {
    receive.source.is_none_or(|source| source == arrival.source)
        && receive
            .tag
            .is_none_or(|tag| tag == arrival.tag || arrival.tag == ANY_TAG)
}

fn pair<M, R>(arrival: Arrival<M>, receive: Receive<R>) -> Result<Matched<M, R>, Truncated> {
    if arrival.bytes > receive.bytes {
        return Err(Truncated {
            from: arrival.source,
            tag: arrival.tag,
            message_bytes: arrival.bytes,
            receive_bytes: receive.bytes,
        });
    }
    Ok(Matched { arrival, receive })
}
