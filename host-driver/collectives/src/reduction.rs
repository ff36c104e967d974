// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types of data and operations that combine them.

pub(crate) mod any;
mod combine;
pub(crate) mod kind;
pub(crate) mod user;

use strum::{IntoStaticStr, VariantArray};

use crate::error::Error;

/// Type of the elements that a collective combines. All numbers are little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[repr(u8)]
pub enum DataType {
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE single.
    F32,
    /// IEEE double.
    F64,
    /// Complex of two IEEE singles.
    ComplexF32,
    /// Complex of two IEEE doubles.
    ComplexF64,
    /// Value and index, both signed, 32 bits.
    LocI32,
    /// Value: signed, 16 bits; index at byte 4: signed, 32 bits.
    LocI16,
    /// Value: IEEE single; index: signed, 32 bits.
    LocF32,
    /// Value: IEEE double; index at byte 8: signed, 32 bits; 16 bytes in all.
    LocF64,
    /// Value and index, both IEEE single.
    LocTwoF32,
    /// Value and index, both IEEE double.
    LocTwoF64,
}

/// Combination of two elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[repr(u8)]
pub enum ReduceOp {
    /// The last element.
    Copy,
    /// 1 if both are nonzero, otherwise 0.
    LogicalAnd,
    /// 1 if any is nonzero, otherwise 0.
    LogicalOr,
    /// 1 if exactly one is nonzero, otherwise 0.
    LogicalXor,
    /// Bitwise and.
    BitAnd,
    /// Bitwise or.
    BitOr,
    /// Bitwise exclusive or.
    BitXor,
    /// Sum; integers wrap.
    Sum,
    /// Product; integers wrap.
    Product,
    /// The smaller one. NaN if one is; -0 is below +0.
    Min,
    /// The larger one. NaN if one is; -0 is below +0.
    Max,
    /// The smaller value with its index; of equal values the one with the smaller index. NaN is below all.
    MinLoc,
    /// The larger value with its index; of equal values the one with the smaller index. NaN is above all.
    MaxLoc,
}

impl DataType {
    /// All variants, in declaration order.
    pub const ALL: [Self; Self::VARIANTS.len()] =
        *Self::VARIANTS.first_chunk().expect("all variants");

    /// Bytes of an element.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::ComplexF32 => 8,
            Self::LocI32 | Self::LocI16 | Self::LocF32 | Self::LocTwoF32 => 8,
            Self::ComplexF64 | Self::LocF64 | Self::LocTwoF64 => 16,
        }
    }

    /// Name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl ReduceOp {
    /// All variants, in declaration order.
    pub const ALL: [Self; Self::VARIANTS.len()] =
        *Self::VARIANTS.first_chunk().expect("all variants");

    /// Name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether the operation is defined on `data`: logical and bitwise on integers; minimum and maximum on all but
    /// complex numbers and pairs; their locations on pairs; copy on every type.
    #[must_use]
    pub const fn is_defined_on(self, data: DataType) -> bool {
        use DataType as D;
        let pair = matches!(
            data,
            D::LocI32 | D::LocI16 | D::LocF32 | D::LocF64 | D::LocTwoF32 | D::LocTwoF64
        );
        let complex = matches!(data, D::ComplexF32 | D::ComplexF64);
        let float = matches!(data, D::F32 | D::F64);
        match self {
            Self::Copy => true,
            Self::LogicalAnd | Self::LogicalOr | Self::LogicalXor => !pair && !complex && !float,
            Self::BitAnd | Self::BitOr | Self::BitXor => !pair && !complex && !float,
            Self::Sum | Self::Product => !pair,
            Self::Min | Self::Max => !pair && !complex,
            Self::MinLoc | Self::MaxLoc => pair,
        }
    }

    /// # Errors
    /// [`Error::Operation`] when the operation is not defined on `data`.
    pub(crate) fn check(self, data: DataType) -> Result<(), Error> {
        if self.is_defined_on(data) {
            return Ok(());
        }
        Err(Error::Operation {
            op: self.name(),
            data: data.name(),
        })
    }
}
