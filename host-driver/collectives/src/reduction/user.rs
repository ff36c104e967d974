// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations that the user defines (EP-18).

use std::fmt;
use std::sync::Arc;

use super::kind::ReduceKind;
use crate::error::Error;

/// Combines elements: `accumulated` = `accumulated` op `operand`, element by element.
type CombineFn = dyn Fn(&mut [u8], &[u8]) + Send + Sync;

/// An operation of the user, as `MPI_Op_create` makes one (EP-18). It takes the place of a type and a built-in
/// operation in reductions. Clones share it.
///
/// It must be associative. Results repeat bit for bit, since the geometry fixes the order of combination; that order
/// is by position if the operation is not commutative. The collective network cannot apply it, so software algorithms
/// are used.
///
/// All members give the same number, element size and commutativity, which are compared like those of built-in
/// operations. The functions themselves cannot be compared.
#[derive(Clone)]
pub struct UserOp {
    number: u16,
    bytes: u16,
    commutative: bool,
    combine: Arc<CombineFn>,
}

impl fmt::Debug for UserOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

impl UserOp {
    /// Maximum bytes of an element.
    pub const MOST_BYTES: usize = u16::MAX as usize;

    /// An operation with number `number` on elements of `bytes` bytes. `combine` gets the accumulated elements and as
    /// many further operands, both a whole number of elements: `accumulated` = `accumulated` op `operand` for each.
    /// The thread that advances the context calls it, and each element is charged like one of a built-in operation.
    ///
    /// # Errors
    /// [`Error::ElementBytes`] unless `bytes` is 1 to [`UserOp::MOST_BYTES`].
    pub fn new(
        number: u16,
        bytes: usize,
        commutative: bool,
        combine: impl Fn(&mut [u8], &[u8]) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let fits = u16::try_from(bytes).ok().filter(|&bytes| bytes > 0);
        Ok(Self {
            number,
            bytes: fits.ok_or(Error::ElementBytes { number, bytes })?,
            commutative,
            combine: Arc::new(combine),
        })
    }

    /// Number, element size and commutativity, which members compare.
    #[must_use]
    pub const fn kind(&self) -> ReduceKind {
        ReduceKind::User {
            number: self.number,
            bytes: self.bytes,
            commutative: self.commutative,
        }
    }

    /// `into` = `into` op `other`, or `other` op `into` when `other` is `earlier`, which overwrites `other`.
    pub(super) fn combine(&self, other: &mut [u8], into: &mut [u8], earlier: bool) {
        match earlier {
            false => (self.combine)(into, other),
            true => {
                (self.combine)(other, into);
                into.copy_from_slice(other);
            }
        }
    }
}
