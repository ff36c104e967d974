// SPDX-License-Identifier: MIT OR Apache-2.0
//! Identity of a reduction, which members compare.

use super::{DataType, ReduceOp};

/// Identity of a reduction: the same at all members of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReduceKind {
    /// A built-in operation on elements of a type.
    BuiltIn(DataType, ReduceOp),
    /// An operation that the user defines (EP-18).
    User {
        /// Number of the operation, the same at all members.
        number: u16,
        /// Bytes of an element.
        bytes: u16,
        /// Whether the operation is commutative.
        commutative: bool,
    },
}

/// Set in the flags of an operation that the user defines.
const USER: u8 = 1;
/// Set in the flags of a commutative operation.
const COMMUTATIVE: u8 = 2;

impl ReduceKind {
    /// Bytes of an element.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::BuiltIn(data, _) => data.bytes(),
            Self::User { bytes, .. } => bytes as usize,
        }
    }

    /// Whether the operation is commutative: all built-in ones but [`ReduceOp::Copy`].
    #[must_use]
    pub const fn is_commutative(self) -> bool {
        match self {
            Self::BuiltIn(_, op) => !matches!(op, ReduceOp::Copy),
            Self::User { commutative, .. } => commutative,
        }
    }

    /// Names of [`ReduceKind::fields`].
    pub(crate) const FIELDS: [&str; 4] =
        ["type", "operation", "bytes of an element", "commutative"];

    /// Fields for comparison; the type of a user operation is 255.
    pub(crate) fn fields(self) -> [u64; 4] {
        let (data, op) = match self {
            Self::BuiltIn(data, op) => (data as u8, op as u16),
            Self::User { number, .. } => (u8::MAX, number),
        };
        let commutative = u64::from(self.is_commutative());
        [data.into(), op.into(), self.bytes() as u64, commutative]
    }

    /// Flags, and a word.
    pub(crate) fn pack(self) -> (u8, u32) {
        match self {
            Self::BuiltIn(data, op) => (0, u32::from(data as u8) | u32::from(op as u8) << 8),
            Self::User {
                number,
                bytes,
                commutative,
            } => {
                let flags = USER | (COMMUTATIVE * u8::from(commutative));
                (flags, u32::from(number) | u32::from(bytes) << 16)
            }
        }
    }

    /// Inverse of [`ReduceKind::pack`]; the error is the invalid field with its value.
    pub(crate) fn unpack(flags: u8, word: u32) -> Result<Self, (&'static str, u64)> {
        let [low, high] = [word as u16, (word >> 16) as u16];
        if flags & USER != 0 {
            return match high {
                0 => Err(("bytes of an element", 0)),
                bytes => Ok(Self::User {
                    number: low,
                    bytes,
                    commutative: flags & COMMUTATIVE != 0,
                }),
            };
        }
        let [data, op] = low.to_le_bytes();
        let known = DataType::ALL.get(usize::from(data));
        let data = known.ok_or(("type", u64::from(data)))?;
        let known = ReduceOp::ALL.get(usize::from(op));
        let op = known.ok_or(("operation", u64::from(op)))?;
        Ok(Self::BuiltIn(*data, *op))
    }
}
