// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests of a task to the machine and their answers: a variant for each method of the platform.
//! Bytes of buffers travel in the mailbox's window, everything else in its message.

use gyre_driver::{BusError, BusErrorKind, Note, Op};
use serde::{Deserialize, Serialize};

/// A request of the task's process. A message holds one or several, which are carried out in order. All but the last have the
/// answer [`Answer::Done`], which is not sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Description of the task: [`Answer::Value`], the bytes in the window.
    Describe,
    /// Waits until all earlier requests are carried out: [`Answer::Done`].
    Flush,
    /// `Platform::read_reg`: [`Answer::Value`] or [`Answer::Refused`].
    ReadRegister { address: u64 },
    /// `Platform::write_reg`: [`Answer::Done`] or [`Answer::Refused`].
    WriteRegister { address: u64, value: u64 },
    /// `Platform::alloc`: [`Answer::Buffer`] or [`Answer::NoMemory`].
    Allocate { bytes: u64, align: u64 },
    /// Bytes of the task's own process become memory for the DMA engine: [`Answer::Buffer`] or [`Answer::NoMemory`].
    Map { address: u64, bytes: u64 },
    /// The task sleeps until this time: [`Answer::Done`].
    Sleep { until_ps: u64 },
    /// The task has come to the next barrier of its job: [`Answer::Done`].
    Arrive,
    /// Whether all tasks have come to the barrier to which this one came last: [`Answer::Truth`].
    HaveArrived,
    /// `Platform::share`: [`Answer::Segment`] or [`Answer::NoMemory`]. The handle of a
    /// segment serves wherever one of a buffer does.
    Share { number: u32, bytes: u64 },
    /// A buffer or segment is dropped: [`Answer::Done`].
    Free { buffer: u64 },
    /// `read` of at most a window: [`Answer::Done`], with the bytes in the window.
    ReadBuffer {
        buffer: u64,
        offset: u64,
        bytes: u64,
    },
    /// `write` of the first bytes of the window: [`Answer::Done`].
    WriteBuffer {
        buffer: u64,
        offset: u64,
        bytes: u64,
    },
    /// `write` of at most [`INLINE_BYTES`] bytes: [`Answer::Done`].
    WriteInline {
        buffer: u64,
        offset: u64,
        data: Vec<u8>,
    },
    /// `Platform::now_ps`: [`Answer::Value`].
    Now,
    /// The program reads a clock, which takes this simulated time, and may wait for a time: [`Answer::Done`].
    Look { ps: u64 },
    /// `Platform::note`, if the machine records events: [`Answer::Done`].
    Note { note: Note },
    /// `Platform::charge` of operation `op` of [`Op::ALL`]: [`Answer::Done`].
    Charge { op: u8, count: u64 },
    /// The program has computed for this simulated time: [`Answer::Done`].
    Compute { ps: u64 },
    /// The program has polled in vain for this simulated time, which changes nothing: [`Answer::Done`].
    Poll { ps: u64 },
    /// `Platform::wait`: [`Answer::Truth`], whether it was woken before the deadline.
    Wait { group: u8, deadline_ps: Option<u64> },
    /// `Platform::notify`: [`Answer::Done`].
    Notify { group: u8 },
    /// `Platform::yield_now`: [`Answer::Done`].
    Yield,
    /// `PlatformLock::lock` of a segment: [`Answer::Done`].
    Lock { segment: u64 },
    /// `PlatformLock::trylock` of a segment: [`Answer::Truth`].
    TryLock { segment: u64 },
    /// `PlatformLock::unlock` of a segment: [`Answer::Done`].
    Unlock { segment: u64 },
    /// The thread waits until another one of its task wakes it, or the deadline: [`Answer::Truth`], whether it was woken.
    Park { deadline_ps: Option<u64> },
    /// Wakes a thread of the task, or lets its next wait return at once: [`Answer::Done`].
    Unpark { thread: u32 },
    /// The task gets another thread: [`Answer::Value`], its number, with the descriptors of its mailbox.
    StartThread,
    /// The thread will not start: [`Answer::Done`].
    DropThread { thread: u32 },
    /// The task breaks a rule of the platform. There is no answer.
    Misuse { reason: String },
    /// The task has ended, with this error if any, or a thread that is not its first: [`Answer::Done`]. Nothing may follow.
    Finish { error: Option<String> },
}

impl Request {
    /// Whether others may wait for its effect.
    pub fn acts(&self) -> bool {
        match self {
            Self::WriteRegister { .. }
            | Self::Allocate { .. }
            | Self::Map { .. }
            | Self::Sleep { .. }
            | Self::Compute { .. }
            | Self::Arrive
            | Self::Share { .. }
            | Self::Free { .. }
            | Self::WriteBuffer { .. }
            | Self::WriteInline { .. }
            | Self::Look { .. }
            | Self::Notify { .. }
            | Self::Unpark { .. }
            | Self::StartThread
            | Self::DropThread { .. }
            | Self::Finish { .. } => true,
            Self::Describe
            | Self::Flush
            | Self::ReadRegister { .. }
            | Self::HaveArrived
            | Self::ReadBuffer { .. }
            | Self::Now
            | Self::Note { .. }
            | Self::Charge { .. }
            | Self::Poll { .. }
            | Self::Wait { .. }
            | Self::Park { .. }
            | Self::Yield
            | Self::Lock { .. }
            | Self::TryLock { .. }
            | Self::Unlock { .. }
            | Self::Misuse { .. } => false,
        }
    }
}

/// The machine's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// It is done.
    Done,
    /// A register's value, a time, a handle.
    Value(u64),
    /// Yes or no.
    Truth(bool),
    /// A register access was refused.
    Refused(Refusal),
    /// A buffer: its handle, base slot, offset behind the slot, and address in node memory.
    Buffer {
        buffer: u64,
        slot: u16,
        offset: u64,
        address: u64,
    },
    /// A shared segment: its handle, and its address in node memory if the DMA engine reaches it.
    Segment { segment: u64, address: Option<u64> },
    /// The memory cannot be had.
    NoMemory { reason: String },
}

/// An answer with the task's time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reply {
    pub answer: Answer,
    /// The task's simulated time, picoseconds, where the task knows what its operations take
    /// ([`TaskDescription::operation_ps`](crate::TaskDescription::operation_ps)).
    pub now_ps: Option<u64>,
}

/// A [`BusError`] in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refusal {
    address: u64,
    write: bool,
    kind: RefusalKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum RefusalKind {
    Slave,
    Decode,
    Timeout,
}

impl Refusal {
    /// `None` for a kind of error that the protocol does not have.
    pub fn new(error: &BusError) -> Option<Self> {
        let kind = match error.kind {
            BusErrorKind::Slave => RefusalKind::Slave,
            BusErrorKind::Decode => RefusalKind::Decode,
            BusErrorKind::Timeout => RefusalKind::Timeout,
            _ => return None,
        };
        Some(Self {
            address: error.address,
            write: error.write,
            kind,
        })
    }
}

impl From<Refusal> for BusError {
    fn from(refusal: Refusal) -> Self {
        Self {
            address: refusal.address,
            write: refusal.write,
            kind: match refusal.kind {
                RefusalKind::Slave => BusErrorKind::Slave,
                RefusalKind::Decode => BusErrorKind::Decode,
                RefusalKind::Timeout => BusErrorKind::Timeout,
            },
        }
    }
}

/// Number of an operation in [`Op::ALL`].
pub(crate) fn op_number(op: Op) -> u8 {
    let position = Op::ALL.iter().position(|&other| other == op);
    position.expect("ALL has every operation") as u8 // a handful
}

/// Misuse of a lock by a task.
pub(crate) const WAITS_FOR_ITSELF: &str = "the task would wait for itself";
pub(crate) const NOT_HELD: &str = "the task does not hold the lock";

/// Most requests of a message.
pub(crate) const BATCH: usize = 64;

/// Maximum notes of a message. They do not count as its requests, so that recording does not move the limits of messages.
pub(crate) const NOTES: usize = 32;

/// Most bytes of a write that is a part of a message, and of all such writes of one message.
pub(crate) const INLINE_BYTES: usize = 256;
pub(crate) const MESSAGE_INLINE_BYTES: usize = 1024;

/// Bytes that a small read of a buffer asks for, as far as the buffer goes: a packet.
pub(crate) const READ_AHEAD_BYTES: usize = 544;

/// Most bytes of a text in a message, so that every message fits the slot.
const TEXT_BYTES: usize = 768;

/// The part of `text` that fits a message.
pub(crate) fn clip(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_BYTES)].to_owned()
}
