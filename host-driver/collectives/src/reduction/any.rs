// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reductions: a built-in operation on a type, or an operation of the user.

use super::kind::ReduceKind;
use super::user::UserOp;
use super::{DataType, ReduceOp};
use crate::error::Error;

/// Reduction of a collective. Converts from a pair of type and operation, or from a [`UserOp`].
#[derive(Debug, Clone)]
pub enum Reduction {
    /// A built-in operation on elements of a type.
    BuiltIn(DataType, ReduceOp),
    /// An operation that the user defines (EP-18).
    User(UserOp),
}

impl From<(DataType, ReduceOp)> for Reduction {
    fn from((data, op): (DataType, ReduceOp)) -> Self {
        Self::BuiltIn(data, op)
    }
}

impl From<UserOp> for Reduction {
    fn from(op: UserOp) -> Self {
        Self::User(op)
    }
}

impl From<&UserOp> for Reduction {
    fn from(op: &UserOp) -> Self {
        Self::User(op.clone())
    }
}

impl Reduction {
    /// Placeholder for collectives without a reduction.
    pub(crate) const NONE: Self = Self::BuiltIn(DataType::U8, ReduceOp::Copy);

    /// Kind, which members compare.
    #[must_use]
    pub const fn kind(&self) -> ReduceKind {
        match self {
            Self::BuiltIn(data, op) => ReduceKind::BuiltIn(*data, *op),
            Self::User(op) => op.kind(),
        }
    }

    /// Refuses an operation that is not defined on its type.
    ///
    /// # Errors
    /// [`Error::Operation`].
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self {
            Self::BuiltIn(data, op) => op.check(*data),
            Self::User(_) => Ok(()),
        }
    }

    /// `into` = `into` op `other`, or `other` op `into` when `other` is `earlier`. Both have the same length, a
    /// multiple of the element's. The final contents of `other` are undefined.
    pub(crate) fn combine(&self, other: &mut [u8], into: &mut [u8], earlier: bool) {
        match self {
            Self::BuiltIn(data, op) => op.combine(*data, other, into, earlier),
            Self::User(op) => op.combine(other, into, earlier),
        }
    }
}
