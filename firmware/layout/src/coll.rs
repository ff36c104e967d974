// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operation of a collective, in the `hint` of descriptors and headers.

use crate::field::Packer;
use crate::fields::coll::{DTYPE, OP, ROUTE};
use crate::{CollOp, CollType, LayoutError};

/// Operation of a collective and the route that it takes (HW-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Operation.
    pub op: CollOp,
    /// Elements of the payload.
    pub dtype: CollType,
    /// Class route, 0 to 15.
    pub route: u8,
}

impl Collective {
    /// The `hint` of a header or a descriptor.
    ///
    /// # Errors
    /// [`LayoutError::Range`] if the route needs more bits than its field has.
    pub fn hint(&self) -> Result<u16, LayoutError> {
        let mut words = Packer::<1>::new();
        words.put(ROUTE, self.route.into());
        words.put(DTYPE, self.dtype as u64);
        words.put(OP, self.op as u64);
        Ok(words.words()?[0] as u16) // 10 bits
    }
}
