// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays of settings from programs.

use crate::abi;
use crate::failure::Failure;

/// Most settings or attributes of a call; there are fewer different ones.
const MOST: usize = 1 << 16;

/// Refuses more settings or attributes than a program can have.
///
/// # Errors
/// `PAMI_INVAL`.
pub fn check_count(count: usize) -> Result<(), Failure> {
    match count {
        0..=MOST => Ok(()),
        _ => Err(Failure::invalid(format!("{count} settings or attributes"))),
    }
}

/// The settings of a program.
///
/// # Safety
/// `configuration` points to `count` settings, which do not change while they are used.
pub unsafe fn passed_settings<'a>(
    configuration: *const abi::Configuration,
    count: usize,
) -> Result<&'a [abi::Configuration], Failure> {
    check_count(count)?;
    match (configuration.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::invalid("the settings are null")),
        // SAFETY: what the caller promises.
        _ => Ok(unsafe { std::slice::from_raw_parts(configuration, count) }),
    }
}
