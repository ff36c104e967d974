//! Software costs: how many instructions each operation of the driver takes.

use core::num::NonZeroU32;

use serde::Deserialize;

/// Bytes that one [`Op::CopyChunk`] stands for.
pub(crate) const COPY_CHUNK: usize = 32;

/// An operation of the driver that takes processor time. [`Platform::charge`](crate::Platform::charge)
/// is called with it; [`CostTable`] says what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// One instruction put on a context's work queue.
    Post,
    /// One turn of `advance`.
    Advance,
    /// One instruction taken off the work queue.
    Start,
    /// One descriptor built and stored in the ring.
    Descriptor,
    /// One register access issued.
    Register,
    /// One completed descriptor retired.
    Retire,
    /// One received packet handled.
    Packet,
    /// 32 bytes copied.
    CopyChunk,
    /// One callback called.
    Callback,
    /// One queue entry compared with match data.
    MatchAttempt,
    /// One entry put on a matching queue.
    Enqueue,
    /// One block of DMA memory allocated.
    Allocate,
    /// One lock taken or given back.
    Lock,
    /// One byte counter set or looked at.
    Counter,
    /// One system message built or taken apart.
    Control,
    /// One message handed to the acknowledgement dispatcher, or one iteration of it with messages owed.
    Acknowledge,
}

impl Op {
    /// Every operation, in declaration order.
    pub const ALL: [Self; 16] = [
        Self::Post,
        Self::Advance,
        Self::Start,
        Self::Descriptor,
        Self::Register,
        Self::Retire,
        Self::Packet,
        Self::CopyChunk,
        Self::Callback,
        Self::MatchAttempt,
        Self::Enqueue,
        Self::Allocate,
        Self::Lock,
        Self::Counter,
        Self::Control,
        Self::Acknowledge,
    ];
}

/// Instructions per operation. Every entry must be there and none may be zero: software is never free.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostTable {
    post: NonZeroU32,
    advance: NonZeroU32,
    start: NonZeroU32,
    descriptor: NonZeroU32,
    register: NonZeroU32,
    retire: NonZeroU32,
    packet: NonZeroU32,
    copy_chunk: NonZeroU32,
    callback: NonZeroU32,
    match_attempt: NonZeroU32,
    enqueue: NonZeroU32,
    allocate: NonZeroU32,
    lock: NonZeroU32,
    counter: NonZeroU32,
    control: NonZeroU32,
    acknowledge: NonZeroU32,
}

/// A cost table that cannot be used; the message names line, column and field.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{name}: {source}")]
pub struct CostTableError {
    /// File the text came from.
    pub name: String,
    /// What is wrong, and where.
    #[source]
    pub source: toml::de::Error,
}

impl CostTable {
    /// The text of the table that comes with the driver, `host-driver/cost-table.toml`.
    pub const DEFAULT_TOML: &str = include_str!("../cost-table.toml");

    /// Parses a table in TOML; `name` is the file named in errors.
    ///
    /// # Errors
    /// [`CostTableError`] for anything but exactly one positive whole number per operation.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, CostTableError> {
        toml::from_str(text).map_err(|source| CostTableError {
            name: name.to_owned(),
            source,
        })
    }

    /// Instructions that one `op` takes.
    #[must_use]
    pub fn instructions(&self, op: Op) -> u64 {
        let entry = match op {
            Op::Post => self.post,
            Op::Advance => self.advance,
            Op::Start => self.start,
            Op::Descriptor => self.descriptor,
            Op::Register => self.register,
            Op::Retire => self.retire,
            Op::Packet => self.packet,
            Op::CopyChunk => self.copy_chunk,
            Op::Callback => self.callback,
            Op::MatchAttempt => self.match_attempt,
            Op::Enqueue => self.enqueue,
            Op::Allocate => self.allocate,
            Op::Lock => self.lock,
            Op::Counter => self.counter,
            Op::Control => self.control,
            Op::Acknowledge => self.acknowledge,
        };
        u64::from(entry.get())
    }
}

impl Default for CostTable {
    fn default() -> Self {
        Self::from_toml("host-driver/cost-table.toml", Self::DEFAULT_TOML)
            .expect("the table in the driver is complete; a test parses it")
    }
}
