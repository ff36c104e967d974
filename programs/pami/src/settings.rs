// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays of settings from programs.

use crate::abi;
use crate::failure::Failure;

/// The settings of a program.
///
/// # Safety
/// `configuration` points to `count` settings, which do not change while they are used.
pub unsafe fn passed_settings<'a>(
    configuration: *const abi::Configuration,
    count: usize,
) -> Result<&'a [abi::Configuration], Failure> {
    match (configuration.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::invalid("the settings are null")),
        // SAFETY: what the caller promises.
        _ => Ok(unsafe { std::slice::from_raw_parts(configuration, count) }),
    }
}
