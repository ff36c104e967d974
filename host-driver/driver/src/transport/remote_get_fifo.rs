// SPDX-License-Identifier: MIT OR Apache-2.0
//! The remote-get injection FIFO of a context: gets of peers from this context fill it, and the DMA engine empties it
//! (CT-4).

use gyre_firmware::{InjectionConfig, Node, Register};
use gyre_layout::{DESCRIPTOR_BYTES, Descriptor, ErrorReason};

use crate::cost::Op;
use crate::error::{Error, Fault};
use crate::platform::{DmaBuffer, Platform};
use crate::resources::RING_ALIGN;
use crate::transport::registers::{self, Bus};

/// A remote-get FIFO.
pub(crate) struct RemoteGetFifo<P: Platform> {
    id: u16,
    ring: Option<P::Buffer>,
}

/// A descriptor that came by remote get and was refused.
pub(crate) struct Refused {
    /// The descriptor, unless its bytes are malformed.
    pub descriptor: Option<Descriptor>,
    pub reason: Result<ErrorReason, u8>,
}

impl<P: Platform> RemoteGetFifo<P> {
    /// Allocates a ring of `bytes` bytes and hands it to FIFO `id`.
    pub fn open(
        platform: &P,
        node: &mut Node<Bus<P>>,
        id: u16,
        bytes: usize,
        owner: u8,
    ) -> Result<Self, Fault> {
        platform.charge(Op::Allocate, 1);
        let ring = platform.alloc(bytes, RING_ALIGN)?;
        let config = InjectionConfig {
            base: ring.address(),
            size: bytes as u64,
            owner,
            remote_get: true,
            interrupt: false,
        };
        node.open_injection(id, &config)
            .map_err(|cause| Error::SetUp {
                what: "a remote-get FIFO",
                cause,
            })?;
        Ok(Self {
            id,
            ring: Some(ring),
        })
    }

    pub fn id(&self) -> u16 {
        self.id
    }

    /// Disables the FIFO, and frees its ring unless descriptors may still be on their way there (`in_use`).
    pub fn close(&mut self, node: &mut Node<Bus<P>>, in_use: bool) -> Result<(), Fault> {
        node.close_injection(self.id)
            .map_err(|cause| Error::SetUp {
                what: "a remote-get FIFO",
                cause,
            })?;
        if !in_use {
            self.ring = None;
        }
        Ok(())
    }

    /// Looks whether the FIFO has halted at a descriptor that the DMA engine refuses; if so, reads the
    /// descriptor and lets the FIFO skip it.
    pub fn check_halt(&mut self, platform: &P) -> Result<Option<Refused>, Fault> {
        let Some(ring) = &self.ring else {
            return Err(Error::Destroyed.into());
        };
        let Some(reason) = registers::injection_halt(platform, self.id)? else {
            return Ok(None);
        };
        let head = registers::read(platform, Register::injection_head(self.id))?;
        let mut bytes = [0; DESCRIPTOR_BYTES];
        let place = head as usize & (ring.len() - 1) & !(DESCRIPTOR_BYTES - 1);
        ring.read(place, &mut bytes)?;
        registers::skip_refused(platform, self.id)?;
        Ok(Some(Refused {
            descriptor: Descriptor::decode(&bytes).ok(),
            reason,
        }))
    }
}

impl<P: Platform> Drop for RemoteGetFifo<P> {
    /// Peers may still fill a FIFO that was not closed at rest: its ring is leaked rather than reused.
    fn drop(&mut self) {
        if let Some(ring) = self.ring.take() {
            core::mem::forget(ring);
        }
    }
}
