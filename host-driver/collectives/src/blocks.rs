// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks of a buffer, one for each task.

use core::ops::Range;

/// Blocks of a buffer, one a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocks {
    /// Contiguous blocks of this many bytes each.
    Equal(usize),
    /// Byte ranges of any order and size.
    Listed(Vec<Range<usize>>),
}

impl Blocks {
    /// Contiguous blocks of these lengths.
    #[must_use]
    pub fn counted(bytes: &[usize]) -> Self {
        let mut end = 0;
        Self::Listed(
            bytes
                .iter()
                .map(|bytes| {
                    let start = end;
                    end += bytes;
                    start..end
                })
                .collect(),
        )
    }

    /// Byte range of block `position`.
    pub(crate) fn block(&self, position: usize) -> Range<usize> {
        match self {
            Self::Equal(bytes) => position * bytes..(position + 1) * bytes,
            Self::Listed(ranges) => ranges[position].clone(),
        }
    }

    /// One past the last byte of the first `count` blocks.
    pub(crate) fn end(&self, count: usize) -> usize {
        match self {
            Self::Equal(bytes) => bytes.saturating_mul(count),
            Self::Listed(ranges) => ranges.iter().map(|r| r.end).max().unwrap_or(0),
        }
    }

    /// Bytes of each block, if known to all members.
    pub(crate) fn equal(&self) -> Option<usize> {
        match self {
            Self::Equal(bytes) => Some(*bytes),
            Self::Listed(_) => None,
        }
    }
}
