// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that are linked statically: functions of Gyre never come before theirs.

use std::fs::File;
use std::path::Path;

use gyre::options::UsageError;
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Endianness, ReadCache, elf};

/// Refuses a program that is linked statically. One that cannot be found or read is left to its start, a script to its
/// interpreter.
///
/// # Errors
/// The program is linked statically.
pub(super) fn refuse_static(program: &Path) -> Result<(), UsageError> {
    match which::which(program).ok().and_then(is_static) {
        Some(true) => Err(UsageError::Combination(format!(
            "{}: is linked statically: expected a program with shared libraries, whose threads, clocks and messages can be \
             those of the machine",
            program.display()
        ))),
        _ => Ok(()),
    }
}

/// Whether the file names no loader; `None` if it is no program of this kind of computer.
fn is_static(path: impl AsRef<Path>) -> Option<bool> {
    let data = ReadCache::new(File::open(path).ok()?);
    let header = elf::FileHeader64::<Endianness>::parse(&data).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, &data).ok()?;
    let names_loader = |segment: &elf::ProgramHeader64<_>| segment.p_type(endian) == elf::PT_INTERP;
    Some(!segments.iter().any(names_loader))
}
