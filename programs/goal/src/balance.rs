// SPDX-License-Identifier: MIT OR Apache-2.0
//! Refuses programs whose messages and receives certainly cannot all match, whatever the timing.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::program::{ANY_TAG, OpId, OpKind, Program, RankProgram};

/// Messages and receives that cannot all match.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Imbalance {
    /// As many messages must be sent to a rank as it receives.
    #[error("messages sent to rank {rank}: {sends}, receives that it posts: {receives}")]
    Total {
        /// The receiving rank.
        rank: u32,
        /// Receives that it posts.
        receives: u64,
        /// Messages sent to it by all ranks.
        sends: u64,
    },
    /// More receives name a source (and tag) than it sends messages.
    #[error(
        "receives that rank {rank} posts from rank {peer}{}: {receives}, such messages sent: {sends}",
        with_tag(*tag)
    )]
    TooManyReceives {
        /// The receiving rank.
        rank: u32,
        /// The source that the receives name.
        peer: u32,
        /// The tag that the receives name; `None` if all receives from the source are counted.
        tag: Option<u32>,
        /// Receives posted.
        receives: u64,
        /// Messages sent.
        sends: u64,
        /// The last of the receives.
        op: OpId,
    },
    /// More messages are sent than there are receives that could match them, wildcards included.
    #[error(
        "messages from rank {peer} to rank {rank}{}: {sends}, receives that can match them: {receives}",
        with_tag(Some(*tag))
    )]
    TooManySends {
        /// The receiving rank.
        rank: u32,
        /// The sending rank.
        peer: u32,
        /// The tag of the messages.
        tag: u32,
        /// Receives that could match.
        receives: u64,
        /// Messages sent.
        sends: u64,
        /// The last of the sends.
        op: OpId,
    },
    /// A message is longer than every receive that could match it.
    #[error(
        "rank {peer} sends {bytes} bytes to rank {rank}{}, but no receive that can match takes more than {largest}",
        with_tag(Some(*tag))
    )]
    TooLong {
        /// The receiving rank.
        rank: u32,
        /// The sending rank.
        peer: u32,
        /// The tag of the message.
        tag: u32,
        /// Size of the message in bytes.
        bytes: u64,
        /// Size of the largest receive in bytes.
        largest: u64,
        /// The send.
        op: OpId,
    },
}

impl Imbalance {
    /// The rank and, if there is one, its operation to blame.
    pub(crate) fn place(&self) -> (u32, Option<OpId>) {
        match *self {
            Self::Total { rank, .. } => (rank, None),
            Self::TooManyReceives { rank, op, .. } => (rank, Some(op)),
            Self::TooManySends { peer, op, .. } | Self::TooLong { peer, op, .. } => {
                (peer, Some(op))
            }
        }
    }
}

fn with_tag(tag: Option<u32>) -> String {
    match tag {
        None => String::new(),
        Some(ANY_TAG) => " with tag -1".to_owned(),
        Some(tag) => format!(" with tag {tag}"),
    }
}

/// Operations that are alike for matching.
#[derive(Debug, Clone, Copy)]
struct Group {
    count: u64,
    last: OpId,
    largest_bytes: u64,
    largest: OpId,
}

impl Group {
    fn add<K: Ord>(groups: &mut BTreeMap<K, Self>, key: K, op: OpId, bytes: u64) {
        let group = groups.entry(key).or_insert(Self {
            count: 0,
            last: op,
            largest_bytes: bytes,
            largest: op,
        });
        group.count += 1;
        group.last = op;
        if bytes > group.largest_bytes {
            group.largest_bytes = bytes;
            group.largest = op;
        }
    }
}

/// By source and tag.
type Sends = BTreeMap<(u32, u32), Group>;
/// By source and tag, `None` for any.
type Receives = BTreeMap<(Option<u32>, Option<u32>), Group>;

/// Compares what is sent to each rank with what it receives.
///
/// # Panics
/// If a send names a destination that is no rank of the program.
pub(crate) fn check(program: &Program) -> Result<(), Imbalance> {
    let mut sends_to = vec![Sends::new(); program.ranks().len()];
    for rank in program.ranks() {
        for (id, op) in rank.op_ids().zip(rank.ops()) {
            if let OpKind::Send { bytes, to, tag, .. } = op.kind {
                Group::add(&mut sends_to[to as usize], (rank.rank(), tag), id, bytes);
            }
        }
    }
    for (rank, sends) in program.ranks().iter().zip(&sends_to) {
        let receives = receives_of(rank);
        check_totals(rank.rank(), sends, &receives)?;
        check_receives(rank.rank(), sends, &receives)?;
        check_sends(rank.rank(), sends, &receives)?;
    }
    Ok(())
}

fn receives_of(rank: &RankProgram) -> Receives {
    let mut receives = Receives::new();
    for (id, op) in rank.op_ids().zip(rank.ops()) {
        if let OpKind::Recv {
            bytes, from, tag, ..
        } = op.kind
        {
            Group::add(&mut receives, (from, tag), id, bytes);
        }
    }
    receives
}

fn check_totals(rank: u32, sends: &Sends, receives: &Receives) -> Result<(), Imbalance> {
    let sends = sends.values().map(|g| g.count).sum();
    let receives = receives.values().map(|g| g.count).sum();
    if sends == receives {
        return Ok(());
    }
    Err(Imbalance::Total {
        rank,
        receives,
        sends,
    })
}

/// Receives that name a source need as many messages from it.
fn check_receives(rank: u32, sends: &Sends, receives: &Receives) -> Result<(), Imbalance> {
    let mut from_peer: BTreeMap<u32, Group> = BTreeMap::new();
    for (&(from, tag), group) in receives {
        let Some(peer) = from else { continue };
        let entry = from_peer
            .entry(peer)
            .or_insert(Group { count: 0, ..*group });
        entry.count += group.count;
        entry.last = entry.last.max(group.last);
        let Some(tag) = tag else { continue };
        let with = |tag| sends.get(&(peer, tag)).map_or(0, |g| g.count);
        let sent = with(tag) + with(ANY_TAG);
        if group.count > sent {
            return Err(Imbalance::TooManyReceives {
                rank,
                peer,
                tag: Some(tag),
                receives: group.count,
                sends: sent,
                op: group.last,
            });
        }
    }
    for (peer, group) in from_peer {
        let all_tags = sends.range((peer, 0)..=(peer, u32::MAX));
        let sent = all_tags.map(|(_, g)| g.count).sum();
        if group.count > sent {
            return Err(Imbalance::TooManyReceives {
                rank,
                peer,
                tag: None,
                receives: group.count,
                sends: sent,
                op: group.last,
            });
        }
    }
    Ok(())
}

/// Messages need as many receives that could match them, one of them large enough.
fn check_sends(rank: u32, sends: &Sends, receives: &Receives) -> Result<(), Imbalance> {
    for (&(peer, tag), group) in sends {
        let matching: Vec<&Group> = if tag == ANY_TAG {
            let from_peer = receives
                .iter()
                .filter(|((from, _), _)| from.is_none_or(|f| f == peer));
            from_peer.map(|(_, group)| group).collect()
        } else {
            let patterns = [
                (Some(peer), Some(tag)),
                (Some(peer), None),
                (None, Some(tag)),
                (None, None),
            ];
            patterns.iter().filter_map(|p| receives.get(p)).collect()
        };
        let receives = matching.iter().map(|g| g.count).sum();
        if group.count > receives {
            return Err(Imbalance::TooManySends {
                rank,
                peer,
                tag,
                receives,
                sends: group.count,
                op: group.last,
            });
        }
        let largest = matching.iter().map(|g| g.largest_bytes).max().unwrap_or(0);
        if group.largest_bytes > largest {
            return Err(Imbalance::TooLong {
                rank,
                peer,
                tag,
                bytes: group.largest_bytes,
                largest,
                op: group.largest,
            });
        }
    }
    Ok(())
}
