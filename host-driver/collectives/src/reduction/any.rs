//! How a collective combines its data: a built-in operation on a type, or an operation that the user defines.

use super::kind::ReduceKind;
use super::user::UserOp;
use super::{DataType, ReduceOp};
use crate::error::Error;

/// How a collective combines its data. Made from a pair of type and operation, or from a [`UserOp`].
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
    /// The reduction of collectives that combine nothing.
    pub(crate) const NONE: Self = Self::BuiltIn(DataType::U8, ReduceOp::Copy);

    /// What members compare.
    #[must_use]
    pub const fn kind(&self) -> ReduceKind {
        match self {
            Self::BuiltIn(data, op) => ReduceKind::BuiltIn(*data, *op),
            Self::User(op) => op.kind(),
        }
    }

    /// Refuses an operation that its type does not have.
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
    /// multiple of the element's. What is in `other` afterwards is undefined.
    pub(crate) fn combine(&self, other: &mut [u8], into: &mut [u8], earlier: bool) {
        match self {
            Self::BuiltIn(data, op) => op.combine(*data, other, into, earlier),
            Self::User(op) => op.combine(other, into, earlier),
        }
    }
}
