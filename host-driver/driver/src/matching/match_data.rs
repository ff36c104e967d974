// SPDX-License-Identifier: MIT OR Apache-2.0
//! Match data of messages and receives.

use super::communicator::Communicator;
use super::table::Pattern;
use crate::task::{Rank, TaskId};

/// Tag of a message that matches receives of every tag. MPI does not know it; traced programs do.
pub const ANY_TAG: u32 = u32::MAX;

/// Message that a receive has got or a probe has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Rank of its origin in the receive's group.
    pub source: Rank,
    /// Its tag.
    pub tag: u32,
    /// Number of its communicator.
    pub comm: u32,
    /// Its bytes.
    pub length: usize,
}

/// Match data of a message, and its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MatchData {
    pub source: TaskId,
    pub tag: u32,
    pub comm: u32,
    pub length: usize,
}

impl MatchData {
    /// The result of a receive that takes this message of `source`.
    pub fn received(&self, source: Rank) -> Received {
        Received {
            source,
            tag: self.tag,
            comm: self.comm,
            length: self.length,
        }
    }
}

/// Match data of a receive; `None` is any.
#[derive(Debug, Clone)]
pub(super) struct ReceivePattern {
    pub source: Option<(Rank, TaskId)>,
    pub tag: Option<u32>,
    pub comm: Communicator,
}

impl Pattern for ReceivePattern {
    type Data = MatchData;
    type Match = Rank;

    /// The rank of a message's origin. A receive of any rank matches the tasks of its group.
    #[inline]
    fn matches(&self, data: &MatchData) -> Option<Rank> {
        let other = |tag| tag != data.tag && data.tag != ANY_TAG;
        if self.tag.is_some_and(other) || self.comm.number() != data.comm {
            return None;
        }
        match self.source {
            Some((rank, task)) => (task == data.source).then_some(rank),
            None => self.comm.rank(data.source),
        }
    }
}
