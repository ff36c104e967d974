//! What the packed structs and enumerations of `gyre_pkg` hold, asked from Verilated SystemVerilog
//! (`rtl/pkg/layout_probe.sv`).

#[cxx::bridge]
mod ffi {
    unsafe extern "C++" {
        include!("gyre-layout-tests/src/probe.h");

        fn probe_field(kind: u8, field: u8, bits: &[u8]) -> Vec<u8>;
    }
}

/// What the probe can be asked for; the order is that of `struct_i` in SystemVerilog.
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

/// Value of a field, lowest bits first, of the struct in `bits`; `None` if it has no such field.
pub fn field(subject: Subject, index: usize, bits: &[u8; 64]) -> Option<u128> {
    let index = u8::try_from(index).ok().filter(|&index| index < 64)?;
    let value = ffi::probe_field(subject as u8, index, bits);
    let mut bytes = [0; 16];
    bytes.get_mut(..value.len())?.copy_from_slice(&value);
    (!value.is_empty()).then(|| u128::from_le_bytes(bytes))
}
