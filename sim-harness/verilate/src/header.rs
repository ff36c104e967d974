// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the ports of a Verilated model from its header.

use std::fs;
use std::path::Path;

use crate::Error;

/// A port as Verilator declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Name in SystemVerilog.
    pub name: String,
    /// Whether it is an input.
    pub input: bool,
    /// Bits of one element.
    pub bits: usize,
    /// Elements of an unpacked array, all dimensions multiplied; 1 for a packed port.
    pub elements: usize,
}

/// The ports declared in the header `file`, in its order.
///
/// # Errors
/// A header that cannot be read, or a declaration of an unknown form.
pub(crate) fn read_ports(file: &Path) -> Result<Vec<Port>, Error> {
    let text = fs::read_to_string(file).map_err(Error::io(file))?;
    let mut ports = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let parsed = if line.starts_with("VL_IN") || line.starts_with("VL_OUT") {
            packed(line)
        } else if line.starts_with("VlUnpacked<") && line.contains('&') {
            unpacked(line)
        } else {
            continue;
        };
        ports.push(parsed.ok_or_else(|| Error::Declaration {
            file: file.to_owned(),
            line: index + 1,
            found: line.to_owned(),
        })?);
    }
    Ok(ports)
}

/// Ports of an unpacked array carry no direction in the header: by lowRISC's names.
fn is_input(name: &str) -> bool {
    name.ends_with("_i") || name.ends_with("_ni")
}

/// `VL_IN8(&clk_i,0,0);`, `VL_INW(&cfg_i,81,0,3);`.
fn packed(line: &str) -> Option<Port> {
    let (_, arguments) = line.split_once('(')?;
    let mut words = arguments.trim_end_matches([')', ';']).split(',');
    let name = words.next()?.trim().strip_prefix('&')?.to_owned();
    let msb: usize = words.next()?.parse().ok()?;
    let lsb: usize = words.next()?.parse().ok()?;
    Some(Port {
        input: line.starts_with("VL_IN"),
        name,
        bits: msb - lsb + 1,
        elements: 1,
    })
}

/// `VlUnpacked<VlUnpacked<QData/*34:0*/, 2>, 6> &e_o;`.
fn unpacked(line: &str) -> Option<Port> {
    let (kind, name) = line.trim_end_matches(';').split_once('&')?;
    let (_, range) = kind.split_once("/*")?;
    let (range, dimensions) = range.split_once("*/")?;
    let (msb, lsb) = range.split_once(':')?;
    let mut elements = 1;
    for dimension in dimensions.split('>') {
        let dimension = dimension.trim_matches([',', ' ']);
        if !dimension.is_empty() {
            elements *= dimension.parse::<usize>().ok()?;
        }
    }
    let name = name.trim().to_owned();
    Some(Port {
        input: is_input(&name),
        name,
        bits: msb.parse::<usize>().ok()? - lsb.parse::<usize>().ok()? + 1,
        elements,
    })
}
