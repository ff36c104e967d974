//! Reads the ports of a Verilated model from its header.

use std::fs;
use std::path::{Path, PathBuf};

/// A port as Verilator declares it.
#[derive(Debug, PartialEq, Eq)]
pub struct Port {
    /// Name in SystemVerilog.
    pub name: String,
    /// Bits of one element.
    pub bits: usize,
    /// Elements of an unpacked array, all dimensions multiplied; 1 for a packed port.
    pub elements: usize,
}

/// A header that does not look as expected.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    /// The header could not be read.
    #[error("{0}: {1}")]
    Io(PathBuf, std::io::Error),
    /// A port's declaration is of an unknown form.
    #[error("{0}:{1}: {2:?}: expected VL_IN*(&name,msb,lsb..) or VlUnpacked<..> &name")]
    Declaration(PathBuf, usize, String),
}

/// The ports declared in the header `file`.
pub fn read_ports(file: &Path) -> Result<Vec<Port>, HeaderError> {
    let text = fs::read_to_string(file).map_err(|error| HeaderError::Io(file.to_owned(), error))?;
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
        ports.push(parsed.ok_or_else(|| {
            HeaderError::Declaration(file.to_owned(), index + 1, line.to_owned())
        })?);
    }
    Ok(ports)
}

/// `VL_IN8(&clk_i,0,0);`, `VL_INW(&cfg_i,81,0,3);`.
fn packed(line: &str) -> Option<Port> {
    let (_, arguments) = line.split_once('(')?;
    let mut words = arguments.trim_end_matches([')', ';']).split(',');
    let name = words.next()?.trim().strip_prefix('&')?.to_owned();
    let msb: usize = words.next()?.parse().ok()?;
    let lsb: usize = words.next()?.parse().ok()?;
    Some(Port {
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
    Some(Port {
        name: name.trim().to_owned(),
        bits: msb.parse::<usize>().ok()? - lsb.parse::<usize>().ok()? + 1,
        elements,
    })
}
