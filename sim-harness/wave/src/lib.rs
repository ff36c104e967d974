// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processing of the VCD waveforms that models write: rows of words, FST, first views for GTKWave.
//!
//! Verilator builds one trace format into a model. The traced models write VCD, and this makes an
//! FST file of it, so that one model serves both formats and no compression library is needed to
//! build one.

#![forbid(unsafe_code)]

mod gtkwave;
mod rows;

pub use gtkwave::{Line, Radix, SaveFile, Signal};
pub use rows::{Declared, Row, WithRows};

use std::collections::BTreeMap;
use std::io::{self, BufRead, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use fst_writer::{
    FstBodyWriter, FstFileType, FstHeaderWriter, FstInfo, FstScopeType, FstSignalId, FstSignalType,
    FstVarDirection, FstVarType, FstWriteError, open_fst,
};
use vcd::{Command, IdCode, Parser, ScopeItem, ScopeType, TimescaleUnit, Value, VarType};

/// Place of the first time in an FST file: behind the header's kind and length.
const FIRST_TIME: u64 = 9;
/// Bytes of value changes held in memory before they are written.
const FLUSH_BYTES: usize = 64 << 20;

/// Why a VCD file could not be converted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The VCD text could not be read, or is not VCD.
    #[error("VCD line {line}: {source}")]
    Vcd {
        /// Line number, from 1.
        line: u64,
        /// Reason.
        source: io::Error,
    },
    /// The VCD text holds something that no model writes.
    #[error("VCD line {line}: {what} is not supported")]
    Unsupported {
        /// Line number, from 1.
        line: u64,
        /// Contents found.
        what: String,
    },
    /// The FST file could not be written.
    #[error("FST: {0}")]
    Fst(#[from] FstWriteError),
}

type FstHeader = FstHeaderWriter<io::BufWriter<std::fs::File>>;
type FstBody = FstBodyWriter<io::BufWriter<std::fs::File>>;

/// Reads a VCD waveform and writes it as the FST file `fst`: same scopes, names, times and changes.
pub fn vcd_to_fst(vcd: impl BufRead, fst: &Path) -> Result<(), Error> {
    let mut parser = Parser::new(vcd);
    let header = match parser.parse_header() {
        Ok(header) => header,
        Err(source) => {
            return Err(Error::Vcd {
                line: parser.line(),
                source,
            });
        }
    };
    // The first time comes with the header: a reader shows what is between it and the last one.
    let mut first = None;
    while first.is_none() {
        first = match parser.next() {
            None => break,
            Some(Ok(Command::Timestamp(time))) => Some(time),
            Some(Ok(Command::Begin(_) | Command::End(_) | Command::Comment(_))) => None,
            Some(Ok(other)) => {
                return Err(Error::Unsupported {
                    line: parser.line(),
                    what: format!("{other:?} before the first time"),
                });
            }
            Some(Err(source)) => {
                return Err(Error::Vcd {
                    line: parser.line(),
                    source,
                });
            }
        };
    }
    let info = FstInfo {
        // Offset that readers add to all times.
        start_time: 0,
        timescale_exponent: timescale_exponent(header.timescale),
        version: header.version.clone().unwrap_or_default(),
        date: header.date.clone().unwrap_or_default(),
        file_type: FstFileType::Verilog,
    };
    let mut writer = open_fst(fst, &info)?;
    let mut signals = Signals::default();
    signals.declare(&mut writer, &header.items, parser.line())?;
    let mut body = writer.finish()?;
    if let Some(time) = first {
        body.time_change(time)?;
    }
    convert_changes(&mut parser, &signals, &mut body)?;
    let mut file = body.finish()?;
    // The library leaves the first time of the header at 0, and readers would begin there.
    file.seek(SeekFrom::Start(FIRST_TIME))
        .map_err(FstWriteError::from)?;
    file.write_all(&first.unwrap_or(0).to_be_bytes())
        .and_then(|()| file.flush())
        .map_err(FstWriteError::from)?;
    Ok(())
}

/// The exponent of ten of the VCD's unit of time; a picosecond, Verilator's, if it names none.
fn timescale_exponent(timescale: Option<(u32, TimescaleUnit)>) -> i8 {
    let Some((count, unit)) = timescale else {
        return -12;
    };
    let unit = match unit {
        TimescaleUnit::S => 0,
        TimescaleUnit::MS => -3,
        TimescaleUnit::US => -6,
        TimescaleUnit::NS => -9,
        TimescaleUnit::PS => -12,
        TimescaleUnit::FS => -15,
    };
    unit + match count {
        100 => 2,
        10 => 1,
        _ => 0,
    }
}

/// The FST signal and width in bits of each VCD identifier.
#[derive(Default)]
struct Signals(BTreeMap<IdCode, (FstSignalId, u32)>);

impl Signals {
    /// Declares scopes and variables as they nest in the VCD header.
    fn declare(
        &mut self,
        writer: &mut FstHeader,
        items: &[ScopeItem],
        line: u64,
    ) -> Result<(), Error> {
        for item in items {
            match item {
                ScopeItem::Scope(scope) => {
                    writer.scope(&scope.identifier, "", scope_type(scope.scope_type))?;
                    self.declare(writer, &scope.items, line)?;
                    writer.up_scope()?;
                }
                ScopeItem::Var(var) => {
                    let tpe = var_type(var.var_type).ok_or_else(|| Error::Unsupported {
                        line,
                        what: format!("variable {} of type {}", var.reference, var.var_type),
                    })?;
                    let name = match &var.index {
                        Some(index) => format!("{} {index}", var.reference),
                        None => var.reference.clone(),
                    };
                    let alias = self.0.get(&var.code).map(|(id, _)| *id);
                    let id = writer.var(
                        name,
                        FstSignalType::bit_vec(var.size),
                        tpe,
                        FstVarDirection::Implicit,
                        alias,
                    )?;
                    self.0.insert(var.code, (id, var.size));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn scope_type(kind: ScopeType) -> FstScopeType {
    match kind {
        ScopeType::Task => FstScopeType::Task,
        ScopeType::Function => FstScopeType::Function,
        ScopeType::Begin => FstScopeType::Begin,
        ScopeType::Fork => FstScopeType::Fork,
        _ => FstScopeType::Module,
    }
}

/// The FST type of a variable; none for reals and strings, which the RTL does not have.
fn var_type(kind: VarType) -> Option<FstVarType> {
    Some(match kind {
        VarType::Event => FstVarType::Event,
        VarType::Integer => FstVarType::Integer,
        VarType::Parameter => FstVarType::Parameter,
        VarType::Reg => FstVarType::Reg,
        VarType::Wire => FstVarType::Wire,
        _ => return None,
    })
}

/// Copies the value changes.
fn convert_changes(
    parser: &mut Parser<impl BufRead>,
    signals: &Signals,
    body: &mut FstBody,
) -> Result<(), Error> {
    let mut text = Vec::new();
    loop {
        let command = match parser.next() {
            None => return Ok(()),
            Some(Ok(command)) => command,
            Some(Err(source)) => {
                return Err(Error::Vcd {
                    line: parser.line(),
                    source,
                });
            }
        };
        let (code, value): (IdCode, &mut dyn Iterator<Item = Value>) = match &command {
            Command::Timestamp(time) => {
                if body.size() > FLUSH_BYTES {
                    body.flush()?;
                }
                body.time_change(*time)?;
                continue;
            }
            Command::ChangeScalar(code, value) => (*code, &mut std::iter::once(*value)),
            Command::ChangeVector(code, vector) => (*code, &mut vector.iter()),
            Command::Begin(_) | Command::End(_) | Command::Comment(_) => continue,
            other => {
                return Err(Error::Unsupported {
                    line: parser.line(),
                    what: format!("{other:?}"),
                });
            }
        };
        let Some(&(id, width)) = signals.0.get(&code) else {
            return Err(Error::Unsupported {
                line: parser.line(),
                what: format!("change of the undeclared variable {code}"),
            });
        };
        text.clear();
        text.extend(value.map(digit));
        extend_left(&mut text, width as usize);
        body.signal_change(id, &text)?;
    }
}

fn digit(value: Value) -> u8 {
    match value {
        Value::V0 => b'0',
        Value::V1 => b'1',
        Value::X => b'x',
        Value::Z => b'z',
    }
}

/// Fills a vector that VCD shortened up to `width` digits: x and z repeat, 0 and 1 are led by 0.
fn extend_left(digits: &mut Vec<u8>, width: usize) {
    let missing = width.saturating_sub(digits.len());
    let fill = match digits.first() {
        Some(&first @ (b'x' | b'z')) => first,
        _ => b'0',
    };
    digits.splice(0..0, std::iter::repeat_n(fill, missing));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(vcd: &str) -> Result<(), Error> {
        let dir = tempfile::tempdir().expect("temporary directory");
        vcd_to_fst(vcd.as_bytes(), &dir.path().join("out.fst"))
    }

    const HEADER: &str = "$timescale 1ns $end\n$scope module top $end\n\
        $var wire 4 # bus [3:0] $end\n$upscope $end\n$enddefinitions $end\n";

    #[test]
    fn short_vectors_are_extended_by_their_first_digit() {
        let extended = |digits: &str| {
            let mut digits = digits.as_bytes().to_vec();
            extend_left(&mut digits, 4);
            String::from_utf8(digits).expect("ASCII")
        };
        assert_eq!(extended("1"), "0001");
        assert_eq!(extended("x1"), "xxx1");
        assert_eq!(extended("1010"), "1010");
    }

    #[test]
    fn changes_of_undeclared_variables_are_refused_with_their_line() {
        convert(&format!("{HEADER}#0\nb11 #\n")).expect("well-formed");
        let error = convert(&format!("{HEADER}#0\nb11 %\n")).expect_err("no such variable");
        assert!(error.to_string().contains("VCD line 7"), "{error}");
    }

    #[test]
    fn text_that_is_not_vcd_is_refused() {
        assert!(matches!(convert("hello world"), Err(Error::Vcd { .. })));
    }
}
