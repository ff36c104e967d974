// SPDX-License-Identifier: MIT OR Apache-2.0
//! Byte counters that puts of peers lower, and whose owner waits for zero (EP-16, HW-1).

use gyre_layout::CounterRef;

use crate::cost::Op;
use crate::done_table::DoneId;
use crate::endpoint::Endpoint;
use crate::error::{Error, Fault};
use crate::platform::{DmaBuffer, Platform};
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::task::TaskId;
use crate::transport::counter::{COUNTER_BYTES, REACH, index_of};

/// Base slots that the header of a put can name.
const SLOTS: u32 = 1 << 10;

/// A byte counter as the puts of peers name it. Copyable; travels in messages as [`Self::BYTES`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteCounter {
    pub(crate) task: TaskId,
    pub(crate) context: u8,
    pub(crate) slot: u16,
    pub(crate) index: u32,
}

impl RemoteCounter {
    /// Bytes of its encoding.
    pub const BYTES: usize = 12;

    /// The task whose context waits for the counter.
    #[must_use]
    pub fn task(&self) -> TaskId {
        self.task
    }

    /// Little-endian: task, 4 B; slot, 2 B; context, 1 B; zero, 1 B; number of the counter in its slot, 4 B.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.task.0.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.slot.to_le_bytes());
        bytes[6] = self.context;
        bytes[8..].copy_from_slice(&self.index.to_le_bytes());
        bytes
    }

    /// The counter in `bytes`.
    ///
    /// # Errors
    /// [`Error::CounterEncoding`] when the bytes are malformed.
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self, Error> {
        let [t0, t1, t2, t3, s0, s1, context, zero, index @ ..] = *bytes;
        let index = u32::from_le_bytes(index);
        let slot = u16::from_le_bytes([s0, s1]);
        let fields = [
            ("zero", u32::from(zero), 1),
            ("slot", u32::from(slot), SLOTS),
            ("index", index, REACH),
        ];
        for (field, value, end) in fields {
            if value >= end {
                let value = u64::from(value);
                return Err(Error::CounterEncoding { field, value });
            }
        }
        Ok(Self {
            task: TaskId(u32::from_le_bytes([t0, t1, t2, t3])),
            context,
            slot,
            index,
        })
    }

    pub(crate) fn reference(&self) -> CounterRef {
        CounterRef {
            slot: self.slot,
            index: self.index,
        }
    }
}

/// The memory of a counter. It is not reused while bytes are outstanding, even without an owner.
pub(crate) struct TargetCounter<P: Platform> {
    memory: Option<P::Buffer>,
    remote: RemoteCounter,
    /// Bytes are outstanding.
    armed: AtomicBool,
}

impl<P: Platform> TargetCounter<P> {
    /// A counter for puts to `endpoint`, at zero.
    ///
    /// # Errors
    /// [`Error::Alloc`], [`Error::CounterReach`] when the memory lies too far into its slot.
    pub fn new(platform: &P, endpoint: Endpoint) -> Result<Self, Fault> {
        platform.charge(Op::Allocate, 1);
        let memory = platform.alloc(COUNTER_BYTES, COUNTER_BYTES)?;
        let index = index_of(&memory)?;
        memory.write(0, &[0; COUNTER_BYTES])?;
        Ok(Self {
            remote: RemoteCounter {
                task: endpoint.task,
                context: endpoint.context,
                slot: memory.slot(),
                index,
            },
            memory: Some(memory),
            armed: AtomicBool::new(false),
        })
    }

    pub fn remote(&self) -> RemoteCounter {
        self.remote
    }

    /// Sets the counter.
    ///
    /// # Errors
    /// [`Error::CounterArmed`] while bytes are outstanding.
    pub fn arm(&self, platform: &P, bytes: u64) -> Result<(), Fault> {
        if self.armed.swap(true, Ordering::AcqRel) {
            return Err(Error::CounterArmed.into());
        }
        platform.charge(Op::Counter, 1);
        Ok(self.memory()?.write(0, &bytes.to_le_bytes())?)
    }

    /// Outstanding bytes.
    ///
    /// # Errors
    /// Errors of the memory.
    pub fn left(&self, platform: &P) -> Result<u64, Fault> {
        platform.charge(Op::Counter, 1);
        let mut bytes = [0; COUNTER_BYTES];
        self.memory()?.read(0, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn memory(&self) -> Result<&P::Buffer, Fault> {
        // Present until the drop.
        Ok(self.memory.as_ref().ok_or(Error::Destroyed)?)
    }
}

impl<P: Platform> Drop for TargetCounter<P> {
    /// Peers may still lower a counter with outstanding bytes: its memory is leaked rather than reused.
    fn drop(&mut self) {
        if self.armed.load(Ordering::Acquire) {
            core::mem::forget(self.memory.take());
        }
    }
}

/// An armed counter.
struct Awaited<P: Platform> {
    counter: Arc<TargetCounter<P>>,
    done: Option<DoneId>,
}

/// The counters that a context waits for.
pub(crate) struct TargetCounters<P: Platform>(Vec<Awaited<P>>);

impl<P: Platform> TargetCounters<P> {
    /// None.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a counter.
    pub fn push(&mut self, counter: Arc<TargetCounter<P>>, done: Option<DoneId>) {
        self.0.push(Awaited { counter, done });
    }

    /// Takes out the next counter at zero, and returns its callback.
    ///
    /// # Errors
    /// Errors of the memory.
    pub fn take_zero(&mut self, platform: &P) -> Result<Option<Option<DoneId>>, Fault> {
        for at in 0..self.0.len() {
            if self.0[at].counter.left(platform)? == 0 {
                let Awaited { counter, done } = self.0.remove(at);
                counter.armed.store(false, Ordering::Release);
                return Ok(Some(done));
            }
        }
        Ok(None)
    }

    /// Gives all up.
    pub fn close(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ep16_x5_remote_counters_round_trip_or_are_refused() {
        let counter = RemoteCounter {
            task: TaskId(0x0403_0201),
            slot: 0x0305,
            context: 7,
            index: 0x3f_0b0a,
        };
        let bytes = counter.encode();
        assert_eq!(bytes, [1, 2, 3, 4, 5, 3, 7, 0, 0x0a, 0x0b, 0x3f, 0]);
        assert_eq!(RemoteCounter::decode(&bytes), Ok(counter));
        for (at, byte, field, value) in [
            (7, 1, "zero", 1),
            (5, 4, "slot", 0x405),
            (10, 0x40, "index", 0x40_0b0a),
        ] {
            let mut wrong = bytes;
            wrong[at] = byte;
            let refused = Error::CounterEncoding { field, value };
            assert_eq!(RemoteCounter::decode(&wrong), Err(refused));
        }
    }
}
