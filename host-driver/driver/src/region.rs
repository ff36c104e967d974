// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory regions: parts of a process's memory that peers may reach by rput and rget, behind base slots
//! of their own.

use gyre_firmware::{Rights, SlotConfig};

use crate::buffer::BufferRange;
use crate::error::Error;
use crate::platform::Platform;
use crate::sync::{Arc, Mutex, lock};
use crate::task::TaskId;
use crate::transport::registers;

/// Rights of peers on a memory region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RegionRights {
    /// Read it: rget.
    pub get: bool,
    /// Write it: rput.
    pub put: bool,
    /// Change it by read-modify-write.
    pub rmw: bool,
}

impl RegionRights {
    /// Everything.
    pub const ALL: Self = Self {
        get: true,
        put: true,
        rmw: true,
    };

    fn bits(self) -> u8 {
        u8::from(self.get) | u8::from(self.put) << 1 | u8::from(self.rmw) << 2
    }
}

/// Base slots in use by one process.
#[derive(Debug)]
pub(crate) struct SlotShare {
    first: u16,
    used: Mutex<Vec<bool>>,
}

impl SlotShare {
    pub fn new(first: u16, count: u16) -> Self {
        Self {
            first,
            used: Mutex::new(vec![false; usize::from(count)]),
        }
    }

    fn take(&self) -> Option<u16> {
        let mut used = lock(&self.used);
        let free = used.iter().position(|used| !used)?;
        used[free] = true;
        // At most as many as the node has slots.
        Some(self.first + free as u16)
    }

    fn give_back(&self, slot: u16) {
        if let Some(used) = lock(&self.used).get_mut(usize::from(slot - self.first)) {
            *used = false;
        }
    }

    fn len(&self) -> usize {
        lock(&self.used).len()
    }
}

/// A region of this process's memory. It keeps its buffer alive until it is dropped, or ended by
/// [`destroy`](Self::destroy), which returns whether the node took its slot back. Where the node refuses, slot and
/// buffer are not reused: peers may still reach them.
pub struct MemoryRegion<P: Platform> {
    platform: P,
    range: BufferRange<P::Buffer>,
    remote: RemoteRegion,
    share: Arc<SlotShare>,
    /// The slot is granted.
    granted: bool,
}

impl<P: Platform> MemoryRegion<P> {
    pub(crate) fn create(
        platform: &P,
        client: &str,
        task: TaskId,
        owner: u8,
        share: &Arc<SlotShare>,
        range: &BufferRange<P::Buffer>,
        rights: RegionRights,
    ) -> Result<Self, Error> {
        let Some(base) = range.address() else {
            return Err(Error::EmptyRegion);
        };
        if rights.rmw && !base.is_multiple_of(8) {
            return Err(Error::RegionAlignment { address: base });
        }
        let Some(slot) = share.take() else {
            return Err(Error::RegionSlots {
                client: client.to_owned(),
                slots: share.len(),
            });
        };
        let config = SlotConfig {
            base,
            limit: range.len() as u64,
            owner,
            rights: Rights {
                read: rights.get,
                write: rights.put,
                atomic: rights.rmw,
                remote_read: rights.get,
            },
        };
        let granted = registers::node(platform).and_then(|mut node| {
            Ok(node
                .grant_slot(slot, &config)
                .map_err(|cause| Error::SetUp {
                    what: "a base slot",
                    cause,
                })?)
        });
        if let Err(error) = granted {
            share.give_back(slot);
            return Err(*error);
        }
        Ok(Self {
            platform: platform.clone(),
            range: range.clone(),
            remote: RemoteRegion {
                task,
                slot,
                rights,
                len: range.len() as u64,
            },
            share: Arc::clone(share),
            granted: true,
        })
    }

    /// The memory.
    #[must_use]
    pub fn range(&self) -> &BufferRange<P::Buffer> {
        &self.range
    }

    /// Handle by which peers reach the region.
    #[must_use]
    pub fn remote(&self) -> RemoteRegion {
        self.remote
    }

    /// Takes the region's slot back: the hardware refuses later uses of it. Fence before, so that no operation is under
    /// way.
    ///
    /// # Errors
    /// [`Error::SetUp`] when the node refuses: the region's memory is leaked.
    pub fn destroy(mut self) -> Result<(), Error> {
        self.revoke()
    }

    fn revoke(&mut self) -> Result<(), Error> {
        if !core::mem::take(&mut self.granted) {
            return Ok(());
        }
        let slot = self.remote.slot;
        let revoked = registers::node(&self.platform)
            .map_err(|error| *error)
            .and_then(|mut node| {
                node.revoke_slot(slot).map_err(|cause| Error::SetUp {
                    what: "a base slot",
                    cause,
                })
            });
        match &revoked {
            Ok(()) => self.share.give_back(slot),
            Err(_) => core::mem::forget(core::mem::replace(&mut self.range, BufferRange::empty())),
        }
        revoked
    }
}

impl<P: Platform> Drop for MemoryRegion<P> {
    fn drop(&mut self) {
        // The error has no receiver: memory that the node still grants is leaked.
        let _ = self.revoke();
    }
}

/// A memory region of some task, as its peers name it. Copyable; travels in messages as
/// [`Self::BYTES`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteRegion {
    pub(crate) task: TaskId,
    pub(crate) slot: u16,
    pub(crate) rights: RegionRights,
    pub(crate) len: u64,
}

impl RemoteRegion {
    /// Bytes of its encoding.
    pub const BYTES: usize = 16;

    /// The task whose memory it is.
    #[must_use]
    pub fn task(&self) -> TaskId {
        self.task
    }

    /// Its size in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Rights of peers.
    #[must_use]
    pub fn rights(&self) -> RegionRights {
        self.rights
    }

    /// Little-endian: task, 4 B; slot, 2 B; rights, 1 B (get, put, rmw from bit 0); zero, 1 B; size, 8 B.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.task.0.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.slot.to_le_bytes());
        bytes[6] = self.rights.bits();
        bytes[8..].copy_from_slice(&self.len.to_le_bytes());
        bytes
    }

    /// The region in `bytes`.
    ///
    /// # Errors
    /// [`Error::RegionEncoding`] when the bytes are malformed.
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self, Error> {
        let [t0, t1, t2, t3, s0, s1, rights, zero, len @ ..] = *bytes;
        let refuse = |field, value| {
            Err(Error::RegionEncoding {
                field,
                value: u64::from(value),
            })
        };
        if rights > RegionRights::ALL.bits() {
            return refuse("rights", rights);
        }
        if zero != 0 {
            return refuse("zero", zero);
        }
        Ok(Self {
            task: TaskId(u32::from_le_bytes([t0, t1, t2, t3])),
            slot: u16::from_le_bytes([s0, s1]),
            rights: RegionRights {
                get: rights & 1 != 0,
                put: rights & 2 != 0,
                rmw: rights & 4 != 0,
            },
            len: u64::from_le_bytes(len),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_regions_round_trip_and_wrong_ones_are_refused() {
        let region = RemoteRegion {
            task: TaskId(0x0403_0201),
            slot: 0x0605,
            rights: RegionRights {
                get: true,
                put: false,
                rmw: true,
            },
            len: 0x1122_3344_5566_7788,
        };
        let mut bytes = region.encode();
        assert_eq!(bytes[..7], [1, 2, 3, 4, 5, 6, 5]);
        assert_eq!(RemoteRegion::decode(&bytes), Ok(region));
        bytes[7] = 1;
        assert!(matches!(
            RemoteRegion::decode(&bytes),
            Err(Error::RegionEncoding {
                field: "zero",
                value: 1
            })
        ));
        bytes[6..8].copy_from_slice(&[8, 0]);
        assert!(RemoteRegion::decode(&bytes).is_err());
    }
}
