// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packets, descriptors and codes that software knows (`gyre-layout`), as a module that elaborates only with
//! packages that say the same.

use std::fmt::{Debug, Write as _};

use gyre_layout::{
    BitField, CollOp, CollType, ErrorReason, Kind, LinkState, RmwOp, VClass, fields,
};

/// The module's name.
pub(super) const TOP: &str = "gyre_layout_check";

/// A check of each field of a packed struct: with its bits set alone, it is all ones.
fn structure(text: &mut String, name: &str, fields: &[BitField]) {
    let bits: usize = fields.iter().map(|field| field.width).sum();
    let _ = writeln!(
        text,
        "  if ($bits({name}) != {bits}) $error(\"{name}: has %0d bits: expected {bits}\", $bits({name}));"
    );
    for field in fields {
        let (field_name, lsb, width) = (field.name, field.lsb, field.width);
        let constant = format!("{name}_{field_name}");
        let msb = lsb + width - 1;
        let _ = writeln!(
            text,
            "  localparam {name} {constant} = {name}'({bits}'(({{{width}{{1'b1}}}}))  << {lsb});\n  \
             if ($bits({constant}.{field_name}) != {width} || {constant}.{field_name} != '1) \
             $error(\"{name}.{field_name}: expected bits {msb}:{lsb}\");"
        );
    }
}

/// A check of each code of an enumeration whose members SystemVerilog calls `<prefix><name>`.
fn codes<T: Debug>(text: &mut String, prefix: &str, codes: impl Iterator<Item = (T, u8)>) {
    for (name, code) in codes {
        let _ = writeln!(
            text,
            "  if ({prefix}{name:?} != {code}) $error(\"gyre_pkg::{prefix}{name:?}: is %0d: expected {code}, both decimal\", {prefix}{name:?});"
        );
    }
}

/// The module.
pub(super) fn module() -> String {
    let mut text = format!("module {TOP}\n  import gyre_pkg::*;\n();\n");
    structure(&mut text, "header_t", fields::header::FIELDS);
    structure(&mut text, "desc_t", fields::descriptor::FIELDS);
    structure(&mut text, "link_word_t", fields::link::FIELDS);
    structure(&mut text, "rmw_aux_t", fields::rmw_aux::FIELDS);
    structure(&mut text, "coll_t", fields::coll::FIELDS);
    codes(
        &mut text,
        "Kind",
        Kind::ALL.iter().map(|&code| (code, code.into())),
    );
    codes(
        &mut text,
        "Class",
        VClass::ALL.iter().map(|&code| (code, code.into())),
    );
    codes(
        &mut text,
        "Err",
        ErrorReason::ALL.iter().map(|&code| (code, code.into())),
    );
    codes(
        &mut text,
        "Link",
        LinkState::ALL.iter().map(|&code| (code, code as u8)),
    );
    codes(
        &mut text,
        "Rmw",
        RmwOp::ALL.iter().map(|&code| (code, code.into())),
    );
    codes(
        &mut text,
        "Coll",
        CollOp::ALL.iter().map(|&code| (code, code.into())),
    );
    codes(
        &mut text,
        "Coll",
        CollType::ALL.iter().map(|&code| (code, code.into())),
    );
    text + "endmodule\n"
}
