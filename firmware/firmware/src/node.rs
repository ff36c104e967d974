// SPDX-License-Identifier: MIT OR Apache-2.0
//! A node behind its register bus.

use gyre_layout::registers::node;
use gyre_layout::{Field, ID_MAGIC, ID_VERSION, MAX_DIM};

use crate::access::{Register, RegisterAccess};
use crate::error::NodeError;

/// Parameters that a node was built with (PARAMS).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Dimensions of the torus, 1 to 5.
    pub dimensions: u8,
    /// Flit width in bytes: 8, 16 or 32.
    pub flit_bytes: u8,
    /// Injection FIFOs in a group page.
    pub injection_fifos: u16,
    /// Reception FIFOs in a group page.
    pub reception_fifos: u16,
    /// Base slots in a group page.
    pub slots: u16,
    /// AXI4 memory masters.
    pub axi_masters: u8,
    /// Data bytes of an AXI4 memory master.
    pub axi_bytes: u8,
    /// Group pages present.
    pub groups: u8,
}

/// A node that has been identified. All set-up goes through it.
#[derive(Debug)]
pub struct Node<A> {
    access: A,
    parameters: Parameters,
}

pub(crate) const ID: Register = Register::node("ID", node::ID);
pub(crate) const PARAMS: Register = Register::node("PARAMS", node::PARAMS);
pub(crate) const CTRL: Register = Register::node("CTRL", node::CTRL);
pub(crate) const STATUS: Register = Register::node("STATUS", node::STATUS);

impl<A: RegisterAccess> Node<A> {
    /// Checks magic and version and reads the parameters.
    ///
    /// # Errors
    /// [`NodeError::Mismatch`] for another device or register-map version, [`NodeError::Field`] for
    /// parameters that make no sense, [`NodeError::Access`].
    pub fn identify(access: A) -> Result<Self, NodeError<A::Error>> {
        let mut node = Self {
            access,
            parameters: Parameters {
                dimensions: 0,
                flit_bytes: 0,
                injection_fifos: 0,
                reception_fifos: 0,
                slots: 0,
                axi_masters: 0,
                axi_bytes: 0,
                groups: 0,
            },
        };
        let id = node.read(ID)?;
        let expected = node::id::MAGIC.put(ID_MAGIC) | node::id::VERSION.put(ID_VERSION);
        let mask = node::id::MAGIC.mask() | node::id::VERSION.mask();
        if id & mask != expected {
            return Err(NodeError::Mismatch {
                register: ID,
                value: id,
                expected,
                mask,
            });
        }
        let params = node.read(PARAMS)?;
        node.parameters = Parameters::from_register(params)?;
        Ok(node)
    }

    /// Parameters that the node was built with.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Gives the bus back.
    #[must_use]
    pub fn into_access(self) -> A {
        self.access
    }

    /// Reads a register.
    ///
    /// # Errors
    /// [`NodeError::Access`].
    pub fn read(&mut self, register: Register) -> Result<u64, NodeError<A::Error>> {
        self.access
            .read(register.address)
            .map_err(|cause| NodeError::Access { register, cause })
    }

    /// Writes a register.
    ///
    /// # Errors
    /// [`NodeError::Access`].
    pub fn write(&mut self, register: Register, value: u64) -> Result<(), NodeError<A::Error>> {
        self.access
            .write(register.address, value)
            .map_err(|cause| NodeError::Access { register, cause })
    }

    /// Writes a register and reads it back; `mask` selects the bits that must have been kept.
    pub(crate) fn write_checked(
        &mut self,
        register: Register,
        value: u64,
        mask: u64,
    ) -> Result<(), NodeError<A::Error>> {
        self.write(register, value)?;
        self.expect(register, value, mask)
    }

    /// Writes the control register by which something is handed to its user. What the node may have taken although
    /// it has not said so is withdrawn.
    pub(crate) fn hand_over(
        &mut self,
        ctrl: Register,
        value: u64,
    ) -> Result<(), NodeError<A::Error>> {
        let handed = self.write_checked(ctrl, value, u64::MAX);
        if handed.is_err() {
            // The first error is reported.
            let _ = self.write(ctrl, 0);
        }
        handed
    }

    /// Refuses FIFO or slot `id` of a node that has `per_group` of them in a group page, if it is absent.
    pub(crate) fn check_id(
        &self,
        what: &'static str,
        id: u16,
        per_group: u16,
    ) -> Result<(), NodeError<A::Error>> {
        if id < per_group * u16::from(self.parameters.groups) {
            return Ok(());
        }
        Err(NodeError::config(
            what,
            None,
            id.into(),
            "one that the node has (PARAMS)",
        ))
    }

    /// Refuses a FIFO or slot whose control register has `enabled` set.
    pub(crate) fn check_unused(
        &mut self,
        register: Register,
        enabled: Field,
    ) -> Result<(), NodeError<A::Error>> {
        let value = self.read(register)?;
        if enabled.is_set(value) {
            return Err(NodeError::InUse { register, value });
        }
        Ok(())
    }

    /// Reads a register and compares the bits `mask`.
    pub(crate) fn expect(
        &mut self,
        register: Register,
        expected: u64,
        mask: u64,
    ) -> Result<(), NodeError<A::Error>> {
        let value = self.read(register)?;
        if (value ^ expected) & mask != 0 {
            return Err(NodeError::Mismatch {
                register,
                value,
                expected,
                mask,
            });
        }
        Ok(())
    }

    /// Reads a register until the bits `mask` equal `expected`, at most `polls` times.
    pub(crate) fn poll(
        &mut self,
        register: Register,
        expected: u64,
        mask: u64,
        polls: u32,
    ) -> Result<(), NodeError<A::Error>> {
        let mut value = 0;
        for _ in 0..polls {
            value = self.read(register)?;
            if (value ^ expected) & mask == 0 {
                return Ok(());
            }
        }
        Err(NodeError::NotInTime {
            register,
            value,
            expected,
            mask,
            polls,
        })
    }
}

impl Parameters {
    fn from_register<E: core::fmt::Debug + core::fmt::Display>(
        params: u64,
    ) -> Result<Self, NodeError<E>> {
        use gyre_layout::registers::node::params as field;
        let check = |name, field: Field, ok: fn(u64) -> bool, expected| {
            let value = field.get(params);
            if ok(value) {
                Ok(value)
            } else {
                Err(NodeError::Field {
                    register: PARAMS,
                    field: name,
                    value,
                    expected,
                })
            }
        };
        // Every field is narrower than the type it is stored in.
        Ok(Self {
            dimensions: check(
                "ndim",
                field::NDIM,
                |v| (1..=MAX_DIM as u64).contains(&v),
                "1 to 5",
            )? as u8,
            flit_bytes: check(
                "flit_bytes",
                field::FLIT_BYTES,
                |v| matches!(v, 8 | 16 | 32),
                "8, 16 or 32",
            )? as u8,
            injection_fifos: check("ninj", field::NINJ, |v| (1..=32).contains(&v), "1 to 32")?
                as u16,
            reception_fifos: check("nrec", field::NREC, |v| (1..=16).contains(&v), "1 to 16")?
                as u16,
            slots: check("nslot", field::NSLOT, |v| (1..=32).contains(&v), "1 to 32")? as u16,
            axi_masters: check("naxi", field::NAXI, |v| v >= 1, "at least 1")? as u8,
            axi_bytes: check(
                "axi_bytes",
                field::AXI_BYTES,
                u64::is_power_of_two,
                "a power of two",
            )? as u8,
            groups: check(
                "groups",
                field::GROUPS,
                |v| (1..=17).contains(&v),
                "1 to 17",
            )? as u8,
        })
    }
}
