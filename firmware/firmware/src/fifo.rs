// SPDX-License-Identifier: MIT OR Apache-2.0
//! Injection and reception FIFOs.

use gyre_layout::registers::{injection_fifo as inj, reception_fifo as rec, ring_base, ring_size};

use crate::access::{Register, RegisterAccess};
use crate::error::NodeError;
use crate::node::Node;

/// An injection FIFO: a ring of 64 B descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InjectionConfig {
    /// Byte address of the ring, a multiple of 4 KiB.
    pub base: u64,
    /// Bytes of the ring: a power of two, 4 KiB to 1 MiB.
    pub size: u64,
    /// Owner, 0 to 15: only slots of the same owner may be read.
    pub owner: u8,
    /// Filled by arriving remote gets instead of by software.
    pub remote_get: bool,
    /// A completed descriptor raises the descriptor interrupt.
    pub interrupt: bool,
}

/// A reception FIFO: a ring of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceptionConfig {
    /// Byte address of the ring, a multiple of 4 KiB.
    pub base: u64,
    /// Bytes of the ring: a power of two, 4 KiB to 1 MiB.
    pub size: u64,
    /// Owner, 0 to 15.
    pub owner: u8,
    /// More bytes than this in the ring raise the threshold interrupt; 0: never.
    pub threshold: u32,
}

/// Alignment of a ring and its least size, bytes.
const RING_ALIGN: u64 = 4096;
/// Most bytes of a ring.
const RING_MAX: u64 = 1 << 20;

fn check_ring<E: core::fmt::Debug + core::fmt::Display>(
    id: u16,
    base: u64,
    size: u64,
    owner: u8,
) -> Result<(), NodeError<E>> {
    let refuse = |what, value, expected| Err(NodeError::config(what, Some(id), value, expected));
    if base & !ring_base::ADDR.mask() != 0 || !base.is_multiple_of(RING_ALIGN) {
        return refuse(
            "ring base of FIFO",
            base,
            "a 48-bit address that is a multiple of 4096",
        );
    }
    if !size.is_power_of_two() || !(RING_ALIGN..=RING_MAX).contains(&size) {
        return refuse(
            "ring size of FIFO",
            size,
            "a power of two from 4096 to 1048576",
        );
    }
    if owner > 15 {
        return refuse("owner of FIFO", u64::from(owner), "0 to 15");
    }
    Ok(())
}

impl<A: RegisterAccess> Node<A> {
    fn check_injection_id(&self, id: u16) -> Result<(), NodeError<A::Error>> {
        self.check_id("injection FIFO", id, self.parameters().injection_fifos)
    }

    fn check_reception_id(&self, id: u16) -> Result<(), NodeError<A::Error>> {
        self.check_id("reception FIFO", id, self.parameters().reception_fifos)
    }

    /// Sets up and enables injection FIFO `id`; head, tail and count start at zero.
    ///
    /// # Errors
    /// [`NodeError::Config`], [`NodeError::InUse`] when it is enabled already, [`NodeError::Mismatch`],
    /// [`NodeError::Access`].
    pub fn open_injection(
        &mut self,
        id: u16,
        config: &InjectionConfig,
    ) -> Result<(), NodeError<A::Error>> {
        self.check_injection_id(id)?;
        check_ring(id, config.base, config.size, config.owner)?;
        let ctrl = Register::injection_ctrl(id);
        self.check_unused(ctrl, inj::ctrl::ENABLE)?;
        let base = Register::injection(id, "injection FIFO BASE", inj::BASE);
        let size = Register::injection(id, "injection FIFO SIZE", inj::SIZE);
        self.write_checked(base, config.base, ring_base::ADDR.mask())?;
        self.write_checked(size, config.size, ring_size::BYTES.mask())?;
        let enable = inj::ctrl::ENABLE.put(1)
            | inj::ctrl::REMOTE_GET.put(config.remote_get.into())
            | inj::ctrl::OWNER.put(config.owner.into())
            | inj::ctrl::IRQ_COMPLETE.put(config.interrupt.into());
        self.hand_over(ctrl, enable)
    }

    /// Disables injection FIFO `id`.
    ///
    /// # Errors
    /// [`NodeError::Config`], [`NodeError::Access`].
    pub fn close_injection(&mut self, id: u16) -> Result<(), NodeError<A::Error>> {
        self.check_injection_id(id)?;
        self.write_checked(Register::injection_ctrl(id), 0, inj::ctrl::ENABLE.mask())
    }

    /// Sets up and enables reception FIFO `id`; head and tail start at zero.
    ///
    /// # Errors
    /// As [`Node::open_injection`].
    pub fn open_reception(
        &mut self,
        id: u16,
        config: &ReceptionConfig,
    ) -> Result<(), NodeError<A::Error>> {
        self.check_reception_id(id)?;
        check_ring(id, config.base, config.size, config.owner)?;
        let ctrl = Register::reception_ctrl(id);
        self.check_unused(ctrl, rec::ctrl::ENABLE)?;
        let base = Register::reception(id, "reception FIFO BASE", rec::BASE);
        let size = Register::reception(id, "reception FIFO SIZE", rec::SIZE);
        let threshold = Register::reception(id, "reception FIFO THRESHOLD", rec::THRESHOLD);
        self.write_checked(base, config.base, ring_base::ADDR.mask())?;
        self.write_checked(size, config.size, ring_size::BYTES.mask())?;
        self.write_checked(
            threshold,
            u64::from(config.threshold),
            rec::threshold::BYTES.mask(),
        )?;
        let enable = rec::ctrl::ENABLE.put(1) | rec::ctrl::OWNER.put(config.owner.into());
        self.hand_over(ctrl, enable)
    }

    /// Disables reception FIFO `id`: packets that arrive for it are errors.
    ///
    /// # Errors
    /// [`NodeError::Config`], [`NodeError::Access`].
    pub fn close_reception(&mut self, id: u16) -> Result<(), NodeError<A::Error>> {
        self.check_reception_id(id)?;
        self.write_checked(Register::reception_ctrl(id), 0, rec::ctrl::ENABLE.mask())
    }
}
