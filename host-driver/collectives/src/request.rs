// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests: a collective with its arguments.

mod check;

use gyre_driver::{BufferRange, DmaBuffer};

use crate::blocks::Blocks;
use crate::collective::Collective;
use crate::reduction::any::Reduction;

/// A collective with its arguments. Each collective has a constructor. All members pass the same root, blocks and
/// reduction, except where only some know a vector form.
///
/// A send buffer of `None` means *in place*: the member's data is in its receive buffer, at the place of its result
/// or block.
#[derive(Debug)]
pub struct Request<B> {
    /// The collective.
    pub collective: Collective,
    /// Position of the root; 0 for collectives without a root.
    pub root: usize,
    /// The member's data, or `None` for in place.
    pub send: Option<BufferRange<B>>,
    /// Buffer of the result.
    pub receive: BufferRange<B>,
    /// Blocks of the send buffer.
    pub send_blocks: Blocks,
    /// Blocks of the receive buffer.
    pub receive_blocks: Blocks,
    /// Common alignment of both buffers at all members, bytes; 1 if unknown.
    pub alignment: usize,
    /// Reduction of the data.
    pub reduction: Reduction,
}

impl<B> Clone for Request<B> {
    fn clone(&self) -> Self {
        Self {
            collective: self.collective,
            root: self.root,
            send: self.send.clone(),
            receive: self.receive.clone(),
            send_blocks: self.send_blocks.clone(),
            receive_blocks: self.receive_blocks.clone(),
            alignment: self.alignment,
            reduction: self.reduction.clone(),
        }
    }
}

impl<B: DmaBuffer> Request<B> {
    fn new(collective: Collective) -> Self {
        Self {
            collective,
            root: 0,
            send: Some(BufferRange::empty()),
            receive: BufferRange::empty(),
            send_blocks: Blocks::Equal(0),
            receive_blocks: Blocks::Equal(0),
            alignment: 1,
            reduction: Reduction::NONE,
        }
    }

    /// The same with buffers aligned to `bytes`, a power of two, at all members, as a condition of algorithms
    /// ([`Condition::Aligned`](crate::Condition::Aligned)). A member knows only its own buffers, so all members call
    /// this, or none.
    #[must_use]
    pub fn aligned(self, bytes: usize) -> Self {
        Self {
            alignment: bytes,
            ..self
        }
    }

    /// No endpoint leaves before all have entered.
    #[must_use]
    pub fn barrier() -> Self {
        Self::new(Collective::Barrier)
    }

    /// `buffer` of `root` goes to `buffer` of all others.
    #[must_use]
    pub fn broadcast(root: usize, buffer: BufferRange<B>) -> Self {
        Self {
            root,
            send: None,
            receive_blocks: Blocks::Equal(buffer.len()),
            receive: buffer,
            ..Self::new(Collective::Broadcast)
        }
    }

    /// Block `i` of `send` of `root` goes to `receive` of position `i`; listed `blocks` are read only at the root. In
    /// place: the root's own block stays in its send buffer.
    #[must_use]
    pub fn scatter(
        root: usize,
        send: BufferRange<B>,
        blocks: Blocks,
        receive: Option<BufferRange<B>>,
    ) -> Self {
        // A root that keeps its block has no receive buffer.
        let keeps = receive.is_none();
        let receive = receive.unwrap_or_else(BufferRange::empty);
        Self {
            root,
            send: Some(send),
            send_blocks: blocks,
            receive_blocks: match keeps {
                true => Blocks::Listed(Vec::new()),
                false => Blocks::Equal(receive.len()),
            },
            receive,
            ..Self::new(Collective::Scatter)
        }
    }

    /// `send` of position `i` becomes block `i` of `receive` of `root`; listed `blocks` are read only at the root.
    #[must_use]
    pub fn gather(
        root: usize,
        send: Option<BufferRange<B>>,
        receive: BufferRange<B>,
        blocks: Blocks,
    ) -> Self {
        Self {
            root,
            send_blocks: Blocks::Equal(send.as_ref().map_or(0, BufferRange::len)),
            send,
            receive,
            receive_blocks: blocks,
            ..Self::new(Collective::Gather)
        }
    }

    /// `send` of position `i` becomes block `i` of every `receive`.
    #[must_use]
    pub fn allgather(
        send: Option<BufferRange<B>>,
        receive: BufferRange<B>,
        blocks: Blocks,
    ) -> Self {
        Self {
            collective: Collective::Allgather,
            ..Self::gather(0, send, receive, blocks)
        }
    }

    /// `send` of all, combined, into `receive` of `root`. The length is that of `send`, or of `receive` in
    /// place.
    #[must_use]
    pub fn reduce(
        root: usize,
        reduction: impl Into<Reduction>,
        send: Option<BufferRange<B>>,
        receive: BufferRange<B>,
    ) -> Self {
        let bytes = send.as_ref().unwrap_or(&receive).len();
        Self {
            root,
            send,
            receive,
            send_blocks: Blocks::Equal(bytes),
            receive_blocks: Blocks::Equal(bytes),
            reduction: reduction.into(),
            ..Self::new(Collective::Reduce)
        }
    }

    /// `send` of all, combined, into every `receive`.
    #[must_use]
    pub fn allreduce(
        reduction: impl Into<Reduction>,
        send: Option<BufferRange<B>>,
        receive: BufferRange<B>,
    ) -> Self {
        Self {
            collective: Collective::Allreduce,
            ..Self::reduce(0, reduction, send, receive)
        }
    }

    /// `send` of positions 0 to the caller's, combined, into `receive`.
    #[must_use]
    pub fn scan(
        reduction: impl Into<Reduction>,
        send: Option<BufferRange<B>>,
        receive: BufferRange<B>,
    ) -> Self {
        Self {
            collective: Collective::Scan,
            ..Self::reduce(0, reduction, send, receive)
        }
    }

    /// `send` of all, combined, of which position `i` gets block `i` at the start of `receive`. In place:
    /// `receive` holds all blocks at first.
    #[must_use]
    pub fn reduce_scatter(
        reduction: impl Into<Reduction>,
        send: Option<BufferRange<B>>,
        receive: BufferRange<B>,
        blocks: Blocks,
    ) -> Self {
        Self {
            send,
            receive,
            send_blocks: blocks,
            reduction: reduction.into(),
            ..Self::new(Collective::ReduceScatter)
        }
    }

    /// Block `i` of `send` of position `j` becomes block `j` of `receive` of position `i`. In place: the
    /// blocks lie in `receive`, as `receive_blocks` say.
    #[must_use]
    pub fn alltoall(
        send: Option<BufferRange<B>>,
        send_blocks: Blocks,
        receive: BufferRange<B>,
        receive_blocks: Blocks,
    ) -> Self {
        Self {
            send_blocks: match &send {
                Some(_) => send_blocks,
                None => receive_blocks.clone(),
            },
            send,
            receive,
            receive_blocks,
            ..Self::new(Collective::Alltoall)
        }
    }
}
