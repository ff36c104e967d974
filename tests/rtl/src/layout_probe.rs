// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads packed structs and enumerations of `gyre_pkg` in Verilated SystemVerilog
//! (`rtl/pkg/layout_probe.sv`).

use crate::Unit;

/// Structs and enumerations of the probe, in the order of `struct_i` in SystemVerilog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Fields of `header_t`.
    Header,
    /// Fields of `desc_t`.
    Descriptor,
    /// Fields of `link_word_t`.
    Link,
    /// Values of `kind_e`, `vclass_e`, `err_e`, `link_ctl_e` and `rmw_op_e`, one after the other.
    Codes,
    /// Fields of `rmw_aux_t`.
    RmwAux,
    /// Fields of `coll_t`.
    Coll,
    /// Values of `coll_op_e` and `coll_dtype_e`, one after the other.
    CollCodes,
}

/// The Verilated probe.
pub struct Probe(Unit);

impl Default for Probe {
    fn default() -> Self {
        Self(Unit::new("layout_probe", 1))
    }
}

impl Probe {
    /// Value of a field, lowest bits first, of the struct in `bits`; `None` if it has no such field.
    ///
    /// # Panics
    /// If an assertion of the RTL fails.
    pub fn field(&mut self, subject: Subject, index: usize, bits: &[u8; 64]) -> Option<u128> {
        let Self(unit) = self;
        let words: Vec<u32> = (bits.chunks_exact(4))
            .map(|word| {
                word.iter()
                    .rev()
                    .fold(0, |all, &byte| all << 8 | u32::from(byte))
            })
            .collect();
        unit.set(unit.port("struct_i"), 0, subject as u64);
        unit.set(unit.port("field_i"), 0, index as u64);
        unit.set_wide(unit.port("bits_i"), 0, &words);
        unit.eval().expect("no assertion fails");
        (unit.get(unit.port("known_o"), 0) != 0).then(|| unit.get_u128(unit.port("value_o"), 0))
    }
}
