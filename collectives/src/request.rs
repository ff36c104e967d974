//! What a caller asks for.

use core::ops::Range;

use gyre_driver::{BufferRange, DmaBuffer};

use crate::error::Error;
use crate::geometry::Geometry;
use crate::reduction::{DataType, ReduceOp};

/// The collectives (EP-13). The vector forms are those with [`Blocks::Listed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Collective {
    /// Nobody leaves before all endpoints have entered.
    Barrier,
    /// The root's receive buffer goes to all.
    Broadcast,
    /// Block `i` of the root's send buffer goes to position `i`.
    Scatter,
    /// The send buffer of position `i` becomes block `i` of the root's receive buffer.
    Gather,
    /// As gather, to everybody.
    Allgather,
    /// The send buffers are combined into the root's receive buffer.
    Reduce,
    /// The send buffers are combined into everybody's receive buffer.
    Allreduce,
    /// Block `i` of the send buffer of position `j` becomes block `j` of the receive buffer of position `i`.
    Alltoall,
    /// The send buffers of positions 0 to `i` are combined into the receive buffer of position `i`.
    Scan,
    /// The send buffers are combined; position `i` gets block `i`.
    ReduceScatter,
}

impl Collective {
    /// All of them, in declaration order.
    pub const ALL: [Self; 10] = [
        Self::Barrier,
        Self::Broadcast,
        Self::Scatter,
        Self::Gather,
        Self::Allgather,
        Self::Reduce,
        Self::Allreduce,
        Self::Alltoall,
        Self::Scan,
        Self::ReduceScatter,
    ];

    /// Name, as configurations give it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Broadcast => "broadcast",
            Self::Scatter => "scatter",
            Self::Gather => "gather",
            Self::Allgather => "allgather",
            Self::Reduce => "reduce",
            Self::Allreduce => "allreduce",
            Self::Alltoall => "alltoall",
            Self::Scan => "scan",
            Self::ReduceScatter => "reduce_scatter",
        }
    }
}

/// Blocks of a buffer, one a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocks {
    /// Blocks of so many bytes each, one after the other.
    Equal(usize),
    /// Byte ranges of any order and size.
    Listed(Vec<Range<usize>>),
}

impl Blocks {
    /// Blocks of these many bytes, one after the other.
    #[must_use]
    pub fn counted(bytes: &[usize]) -> Self {
        let mut end = 0;
        Self::Listed(
            bytes
                .iter()
                .map(|bytes| {
                    let start = end;
                    end += bytes;
                    start..end
                })
                .collect(),
        )
    }

    /// Byte range of block `position`.
    pub(crate) fn block(&self, position: usize) -> Range<usize> {
        match self {
            Self::Equal(bytes) => position * bytes..(position + 1) * bytes,
            Self::Listed(ranges) => ranges[position].clone(),
        }
    }

    /// One past the last byte of the first `count` blocks.
    pub(crate) fn end(&self, count: usize) -> usize {
        match self {
            Self::Equal(bytes) => bytes.saturating_mul(count),
            Self::Listed(ranges) => ranges.iter().map(|r| r.end).max().unwrap_or(0),
        }
    }

    /// Bytes of each block, if all members know them without being told.
    pub(crate) fn equal(&self) -> Option<usize> {
        match self {
            Self::Equal(bytes) => Some(*bytes),
            Self::Listed(_) => None,
        }
    }
}

/// A collective with its arguments. Made by the constructors, one for each collective; all members give
/// the same root, blocks, type and operation, except where a vector form is known to some of them alone.
///
/// A send buffer of `None` means *in place*: the member's data lies in its receive buffer, where its result
/// or its block belongs.
#[derive(Debug)]
pub struct Request<B> {
    /// Which collective.
    pub collective: Collective,
    /// Position of the root; 0 for collectives without.
    pub root: usize,
    /// The member's data, or `None` for in place.
    pub send: Option<BufferRange<B>>,
    /// Where results go.
    pub receive: BufferRange<B>,
    /// Blocks of the send buffer.
    pub send_blocks: Blocks,
    /// Blocks of the receive buffer.
    pub receive_blocks: Blocks,
    /// Type of the data where it is combined.
    pub data: DataType,
    /// How it is combined.
    pub op: ReduceOp,
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
            data: self.data,
            op: self.op,
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
            data: DataType::U8,
            op: ReduceOp::Copy,
        }
    }

    /// Nobody leaves before all endpoints have entered.
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

    /// Block `i` of `send` of `root` goes to `receive` of position `i`; `blocks` are looked at on the root
    /// alone when they are listed. In place: the root's own block stays where it is.
    #[must_use]
    pub fn scatter(
        root: usize,
        send: BufferRange<B>,
        blocks: Blocks,
        receive: Option<BufferRange<B>>,
    ) -> Self {
        // What travels lies in the send buffer; the root that keeps its block has no receive buffer.
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

    /// `send` of position `i` becomes block `i` of `receive` of `root`; listed `blocks` are looked at on the
    /// root alone.
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

    /// `send` of position `i` becomes block `i` of everybody's `receive`.
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
        (data, op): (DataType, ReduceOp),
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
            data,
            op,
            ..Self::new(Collective::Reduce)
        }
    }

    /// `send` of all, combined, into everybody's `receive`.
    #[must_use]
    pub fn allreduce(
        kind: (DataType, ReduceOp),
        send: Option<BufferRange<B>>,
        receive: BufferRange<B>,
    ) -> Self {
        Self {
            collective: Collective::Allreduce,
            ..Self::reduce(0, kind, send, receive)
        }
    }

    /// `send` of positions 0 to one's own, combined, into `receive`.
    #[must_use]
    pub fn scan(
        kind: (DataType, ReduceOp),
        send: Option<BufferRange<B>>,
        receive: BufferRange<B>,
    ) -> Self {
        Self {
            collective: Collective::Scan,
            ..Self::reduce(0, kind, send, receive)
        }
    }

    /// `send` of all, combined, of which position `i` gets block `i` at the start of `receive`. In place:
    /// `receive` holds all blocks at first.
    #[must_use]
    pub fn reduce_scatter(
        (data, op): (DataType, ReduceOp),
        send: Option<BufferRange<B>>,
        receive: BufferRange<B>,
        blocks: Blocks,
    ) -> Self {
        Self {
            send,
            receive,
            send_blocks: blocks,
            data,
            op,
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

    /// Bytes by which algorithms are chosen: of a block, or of the vector that is combined. `None` when not
    /// every member knows them.
    pub(crate) fn bytes(&self) -> Option<usize> {
        match self.collective {
            Collective::Barrier => Some(0),
            Collective::Broadcast | Collective::Gather | Collective::Allgather => {
                self.receive_blocks.equal()
            }
            Collective::Scatter
            | Collective::Reduce
            | Collective::Allreduce
            | Collective::Scan
            | Collective::Alltoall
            | Collective::ReduceScatter => self.send_blocks.equal(),
        }
    }

    /// Refuses what does not fit the geometry or its own buffers, for a member at `position`.
    pub(crate) fn check(&self, geometry: &Geometry, position: usize) -> Result<(), Error> {
        let tasks = geometry.tasks().len();
        let refuse = |field, value: usize, expected: String| {
            Err(Error::Request {
                geometry: geometry.name().into(),
                collective: self.collective.name(),
                field,
                value: value as u64,
                expected,
            })
        };
        if self.root >= tasks {
            return refuse("root", self.root, format!("a position below {tasks}"));
        }
        let root = self.root == position;
        let (sends, receives) = match self.collective {
            Collective::Barrier => (0, 0),
            Collective::Broadcast => (0, 1),
            Collective::Scatter => (if root { tasks } else { 0 }, 0),
            Collective::Gather => (1, if root { tasks } else { 0 }),
            Collective::Allgather => (1, tasks),
            Collective::Reduce => (1, usize::from(root)),
            Collective::Allreduce | Collective::Scan => (1, 1),
            Collective::Alltoall => (tasks, tasks),
            Collective::ReduceScatter => (tasks, 0),
        };
        for (field, blocks, count) in [
            ("send_blocks", &self.send_blocks, sends),
            ("receive_blocks", &self.receive_blocks, receives),
        ] {
            if let Blocks::Listed(ranges) = blocks
                && count > 0
            {
                if ranges.len() != count {
                    return refuse(field, ranges.len(), format!("{count} blocks"));
                }
                if let Some(range) = ranges.iter().find(|r| r.start > r.end) {
                    return refuse(field, range.end, format!("at least {}", range.start));
                }
            }
        }
        let data = self.send.as_ref().unwrap_or(&self.receive);
        if sends > 0 && self.send_blocks.end(sends) > data.len() {
            let end = self.send_blocks.end(sends);
            return refuse("send", data.len(), format!("at least {end} bytes"));
        }
        if receives > 0 && self.receive_blocks.end(receives) > self.receive.len() {
            let end = self.receive_blocks.end(receives);
            return refuse(
                "receive",
                self.receive.len(),
                format!("at least {end} bytes"),
            );
        }
        if self.combines() {
            self.op.check(self.data)?;
            let size = self.data.bytes();
            for i in 0..sends {
                let bytes = self.send_blocks.block(i).len();
                if !bytes.is_multiple_of(size) {
                    return refuse("send_blocks", bytes, format!("a multiple of {size} bytes"));
                }
            }
        }
        self.check_own(geometry, position)
    }

    /// Refuses a member's own block that has not the size that the blocks say.
    fn check_own(&self, geometry: &Geometry, position: usize) -> Result<(), Error> {
        let root = self.root == position;
        let (field, own, expected) = match self.collective {
            Collective::Scatter if root && !self.keeps_block() => (
                "receive",
                self.receive.len(),
                self.send_blocks.block(position).len(),
            ),
            Collective::Scatter if !root => match self.send_blocks.equal() {
                Some(bytes) => ("receive", self.receive.len(), bytes),
                None => return Ok(()),
            },
            Collective::Gather if !root => match (&self.send, self.receive_blocks.equal()) {
                (Some(send), Some(bytes)) => ("send", send.len(), bytes),
                (Some(_), None) => return Ok(()),
                (None, _) => ("in place", 1, 0),
            },
            Collective::Reduce if !root && self.send.is_none() => ("in place", 1, 0),
            Collective::Gather | Collective::Allgather => match &self.send {
                Some(send) => (
                    "send",
                    send.len(),
                    self.receive_blocks.block(position).len(),
                ),
                None => return Ok(()),
            },
            Collective::ReduceScatter => {
                let bytes = self.send_blocks.block(position).len();
                ("receive", self.receive.len().min(bytes), bytes)
            }
            Collective::Alltoall => (
                "own block",
                self.send_blocks.block(position).len(),
                self.receive_blocks.block(position).len(),
            ),
            _ => return Ok(()),
        };
        if own == expected {
            return Ok(());
        }
        Err(Error::Request {
            geometry: geometry.name().into(),
            collective: self.collective.name(),
            field,
            value: own as u64,
            expected: expected.to_string(),
        })
    }

    /// Whether data is combined.
    pub(crate) fn combines(&self) -> bool {
        matches!(
            self.collective,
            Collective::Reduce
                | Collective::Allreduce
                | Collective::Scan
                | Collective::ReduceScatter
        )
    }

    /// Whether the root of a scatter leaves its block in its send buffer.
    pub(crate) fn keeps_block(&self) -> bool {
        matches!(&self.receive_blocks, Blocks::Listed(_))
    }
}
