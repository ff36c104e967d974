// SPDX-License-Identifier: MIT OR Apache-2.0
//! Base slots: regions of node memory that descriptors and packets may name.

use gyre_layout::registers::base_slot;

use crate::access::{Register, RegisterAccess};
use crate::error::NodeError;
use crate::node::Node;

/// Allowed accesses to a region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rights {
    /// Descriptors of local injection FIFOs may read it.
    pub read: bool,
    /// Puts may write it.
    pub write: bool,
    /// Byte counters may live in it.
    pub atomic: bool,
    /// Descriptors that arrived by remote get may read it.
    pub remote_read: bool,
}

/// A region of node memory with its owner and rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotConfig {
    /// Byte address, 48 bits.
    pub base: u64,
    /// Bytes, less than 2^40.
    pub limit: u64,
    /// Owner, 0 to 15.
    pub owner: u8,
    /// Allowed accesses.
    pub rights: Rights,
}

impl<A: RegisterAccess> Node<A> {
    fn check_slot_id(&self, id: u16) -> Result<(), NodeError<A::Error>> {
        self.check_id("base slot", id, self.parameters().slots)
    }

    /// Grants the region of `config` as base slot `id`.
    ///
    /// # Errors
    /// [`NodeError::Config`], [`NodeError::InUse`] when the slot is valid already,
    /// [`NodeError::Mismatch`], [`NodeError::Access`].
    pub fn grant_slot(&mut self, id: u16, config: &SlotConfig) -> Result<(), NodeError<A::Error>> {
        self.check_slot_id(id)?;
        let refuse =
            |what, value, expected| Err(NodeError::config(what, Some(id), value, expected));
        if config.base & !base_slot::base::ADDR.mask() != 0 {
            return refuse("base of slot", config.base, "a 48-bit address");
        }
        if config.limit & !base_slot::limit::BYTES.mask() != 0 {
            return refuse("limit of slot", config.limit, "less than 2^40 bytes");
        }
        if config.owner > 15 {
            return refuse("owner of slot", u64::from(config.owner), "0 to 15");
        }
        let ctrl = Register::slot_ctrl(id);
        self.check_unused(ctrl, base_slot::ctrl::VALID)?;
        let base = Register::slot(id, "base slot BASE", base_slot::BASE);
        let limit = Register::slot(id, "base slot LIMIT", base_slot::LIMIT);
        self.write_checked(base, config.base, base_slot::base::ADDR.mask())?;
        self.write_checked(limit, config.limit, base_slot::limit::BYTES.mask())?;
        let rights = config.rights;
        let value = base_slot::ctrl::VALID.put(1)
            | base_slot::ctrl::READ.put(rights.read.into())
            | base_slot::ctrl::WRITE.put(rights.write.into())
            | base_slot::ctrl::ATOMIC.put(rights.atomic.into())
            | base_slot::ctrl::REMOTE_READ.put(rights.remote_read.into())
            | base_slot::ctrl::OWNER.put(config.owner.into());
        self.hand_over(ctrl, value)
    }

    /// Takes slot `id` back: descriptors and packets that name it are errors from now on.
    ///
    /// # Errors
    /// [`NodeError::Config`], [`NodeError::Access`].
    pub fn revoke_slot(&mut self, id: u16) -> Result<(), NodeError<A::Error>> {
        self.check_slot_id(id)?;
        self.write_checked(Register::slot_ctrl(id), 0, base_slot::ctrl::VALID.mask())
    }
}
