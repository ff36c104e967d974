// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of a process's address space with fixed places in node memory as long as it runs.
//!
//! A put names an address of the other process: the place of static, heap and stack memory follows by arithmetic.

/// A part of an address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its first address.
    pub start: usize,
    /// Bytes.
    pub bytes: usize,
    /// Offset of the first byte in the process's base slot.
    pub offset: u64,
}

const GIB: usize = 1 << 30;

/// Offset of the first window, above the driver's allocations.
const FIRST: u64 = 32 << 30;

/// Address ranges without randomization: programs with a fixed address, position-independent programs with their heaps, and
/// libraries, mappings and stacks.
pub const WINDOWS: [Window; 3] = [
    Window {
        start: 0,
        bytes: 4 * GIB,
        offset: FIRST,
    },
    Window {
        start: 0x5555_4000_0000,
        bytes: 8 * GIB,
        offset: FIRST + (4 << 30),
    },
    Window {
        start: 0x7ffc_0000_0000,
        bytes: 16 * GIB,
        offset: FIRST + (12 << 30),
    },
];

/// Bytes of all windows: no data of a process is longer.
pub const ALL_BYTES: usize = WINDOWS[0].bytes + WINDOWS[1].bytes + WINDOWS[2].bytes;

/// Offset in a process's base slot of `bytes` bytes from `address` on, if they are in a window.
#[must_use]
pub fn offset_of(address: usize, bytes: usize) -> Option<u64> {
    let within = |window: &&Window| {
        let begin = address.checked_sub(window.start);
        let end = begin.and_then(|begin| begin.checked_add(bytes));
        end.is_some_and(|end| end <= window.bytes)
    };
    let window = WINDOWS.iter().find(within)?;
    Some(window.offset + (address - window.start) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_lie_one_behind_the_other_and_overlap_nowhere() {
        let mut offset = FIRST;
        let mut end = 0;
        for window in WINDOWS {
            assert_eq!(window.offset, offset);
            assert!(window.start >= end);
            offset += window.bytes as u64;
            end = window.start + window.bytes;
        }
        assert_eq!(end, 1 << 47, "the end of what a program may have");
    }

    #[test]
    fn addresses_are_found_to_the_last_byte_of_a_window() {
        for window in WINDOWS {
            assert_eq!(offset_of(window.start, window.bytes), Some(window.offset));
            assert_eq!(offset_of(window.start, window.bytes + 1), None);
            let last = window.start + window.bytes - 1;
            let offset = window.offset + window.bytes as u64 - 1;
            assert_eq!(offset_of(last, 1), Some(offset));
            assert_eq!(offset_of(last, 2), None);
        }
        assert_eq!(offset_of(1 << 33, 1), None);
        assert_eq!(offset_of(usize::MAX, usize::MAX), None);
    }
}
