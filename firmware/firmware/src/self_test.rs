// SPDX-License-Identifier: MIT OR Apache-2.0
//! Self-test of the registers that live in memories.

use gyre_layout::registers::{
    base_slot, group_page, injection_fifo as inj, node, reception_fifo as rec, ring_base,
};

use crate::access::{Register, RegisterAccess};
use crate::error::NodeError;
use crate::node::Node;

/// Whether bring-up tests the register memories, about 600 register reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelfTest {
    /// Test them.
    Run,
    /// Do not.
    Skip,
}

const SCRATCH: Register = Register::node("SCRATCH", node::SCRATCH);

/// One register of every FIFO or slot: its name, its place in an entry and the bits it keeps.
struct Column {
    register: fn(u16) -> Register,
    mask: u64,
}

const INJECTION: [Column; 1] = [Column {
    register: |id| Register::injection(id, "injection FIFO BASE", inj::BASE),
    mask: ring_base::ADDR.mask() & !0xfff,
}];

const RECEPTION: [Column; 2] = [
    Column {
        register: |id| Register::reception(id, "reception FIFO BASE", rec::BASE),
        mask: ring_base::ADDR.mask() & !0xfff,
    },
    Column {
        register: |id| Register::reception(id, "reception FIFO THRESHOLD", rec::THRESHOLD),
        mask: rec::threshold::BYTES.mask(),
    },
];

const SLOTS: [Column; 2] = [
    Column {
        register: |id| Register::slot(id, "base slot BASE", base_slot::BASE),
        mask: base_slot::base::ADDR.mask(),
    },
    Column {
        register: |id| Register::slot(id, "base slot LIMIT", base_slot::LIMIT),
        mask: base_slot::limit::BYTES.mask(),
    },
];

/// A value that differs between entries in many bits, so that an address fault shows.
fn pattern(id: u16) -> u64 {
    (u64::from(id) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl<A: RegisterAccess> Node<A> {
    /// Tests SCRATCH bit by bit, then the memories behind the FIFO and slot registers of group 0: every
    /// entry gets its own pattern, all are read back, then the same with the complement; the old
    /// values are restored.
    ///
    /// # Errors
    /// [`NodeError::InUse`] when a FIFO or slot is enabled, [`NodeError::Mismatch`] with the register,
    /// the value read and the value expected, [`NodeError::Access`].
    pub fn self_test(&mut self) -> Result<(), NodeError<A::Error>> {
        let old = self.read(SCRATCH)?;
        for bit in 0..64 {
            self.write_checked(SCRATCH, 1 << bit, u64::MAX)?;
        }
        self.write_checked(SCRATCH, !0, u64::MAX)?;
        self.write_checked(SCRATCH, old, u64::MAX)?;

        let parameters = *self.parameters();
        for id in 0..parameters.injection_fifos {
            self.expect_off(Register::injection_ctrl(id), inj::ctrl::ENABLE.mask())?;
        }
        for id in 0..parameters.reception_fifos {
            self.expect_off(Register::reception_ctrl(id), rec::ctrl::ENABLE.mask())?;
        }
        for id in 0..parameters.slots {
            self.expect_off(Register::slot_ctrl(id), base_slot::ctrl::VALID.mask())?;
        }
        for column in INJECTION {
            self.test_column(&column, parameters.injection_fifos)?;
        }
        for column in RECEPTION {
            self.test_column(&column, parameters.reception_fifos)?;
        }
        for column in SLOTS {
            self.test_column(&column, parameters.slots)?;
        }
        Ok(())
    }

    fn expect_off(&mut self, register: Register, mask: u64) -> Result<(), NodeError<A::Error>> {
        let value = self.read(register)?;
        if value & mask != 0 {
            return Err(NodeError::InUse { register, value });
        }
        Ok(())
    }

    fn test_column(&mut self, column: &Column, count: u16) -> Result<(), NodeError<A::Error>> {
        // Room for the largest column; PARAMS has been checked against these counts.
        const MOST: usize = if group_page::INJ_COUNT > group_page::SLOT_COUNT {
            group_page::INJ_COUNT as usize
        } else {
            group_page::SLOT_COUNT as usize
        };
        let mut old = [0; MOST];
        for (id, value) in (0..count).zip(&mut old) {
            *value = self.read((column.register)(id))?;
        }
        for flip in [0, u64::MAX] {
            for id in 0..count {
                self.write((column.register)(id), (pattern(id) ^ flip) & column.mask)?;
            }
            for id in 0..count {
                self.expect(
                    (column.register)(id),
                    (pattern(id) ^ flip) & column.mask,
                    column.mask,
                )?;
            }
        }
        for (id, value) in (0..count).zip(old) {
            self.write((column.register)(id), value)?;
        }
        Ok(())
    }
}
