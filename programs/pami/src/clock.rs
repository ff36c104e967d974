// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time of the machine, and the text about the last result.

use std::ffi::c_char;

use crate::abi;
use crate::boundary;
use crate::client::CLIENTS;
use crate::failure::Failure;

/// Picoseconds of a second.
const SECOND: f64 = 1e12;

/// The machine's time in picoseconds; 0 for an invalid handle.
fn now_ps(client: abi::Client) -> u64 {
    boundary::value(|| {
        let client = CLIENTS.get(client)?;
        Ok::<_, Failure>(client.job.platform.clock_ps())
    })
    .unwrap_or(0)
}

/// C: `PAMI_Wtime`.
#[unsafe(no_mangle)]
pub extern "C" fn PAMI_Wtime(client: abi::Client) -> f64 {
    now_ps(client) as f64 / SECOND
}

/// C: `PAMI_Wtimebase`: cycles of a processor.
#[unsafe(no_mangle)]
pub extern "C" fn PAMI_Wtimebase(client: abi::Client) -> u64 {
    let clock_mhz = boundary::value(|| {
        let client = CLIENTS.get(client)?;
        Ok::<_, Failure>(client.job.description.clock_mhz)
    });
    let cycles = u128::from(now_ps(client)) * u128::from(clock_mhz.unwrap_or(0)) / 1_000_000;
    // Below the time in picoseconds for any clock of less than 1 THz.
    cycles as u64
}

/// C: `PAMI_Error_text`.
///
/// # Safety
/// `string` has space for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Error_text(string: *mut c_char, length: usize) -> usize {
    boundary::value(|| {
        if string.is_null() || length == 0 {
            return 0;
        }
        let text = boundary::last();
        let count = text.floor_char_boundary(length - 1);
        // SAFETY: one byte less than there is room for, and a zero behind them.
        unsafe {
            string.copy_from_nonoverlapping(text.as_ptr().cast(), count);
            string.add(count).write(0);
        }
        count
    })
}
