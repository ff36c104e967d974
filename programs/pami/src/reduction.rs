// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types and operations of collectives as the driver's.

use std::ffi::c_void;
use std::sync::Arc;

use gyre_collectives::{DataType, ReduceOp, Reduction, UserOp};

use crate::abi::{DataFunction, Type};
use crate::elements::{Element, Kind};
use crate::failure::Failure;
use crate::operations::{self, Operation as Predefined};
use crate::type_handles::complete;

/// Combines elements: the first = the first op the second, for each.
pub type Combine = dyn Fn(&mut [u8], &[u8]) + Send + Sync;

/// The driver's type of an element, if it has it.
fn data_type(element: Element) -> Option<DataType> {
    use DataType as D;
    use Kind::{Complex32, Complex64, Float32, Float64, Located, Logical, Signed, Unsigned};
    Some(match element.kind() {
        Signed(1) => D::I8,
        Signed(2) => D::I16,
        Signed(4) => D::I32,
        Signed(8) => D::I64,
        Unsigned(1) | Logical(1) => D::U8,
        Unsigned(2) | Logical(2) => D::U16,
        Unsigned(4) | Logical(4) => D::U32,
        Unsigned(8) | Logical(8) => D::U64,
        Float32 => D::F32,
        Float64 => D::F64,
        Complex32 => D::ComplexF32,
        Complex64 => D::ComplexF64,
        Located(Signed(4), Signed(4)) => D::LocI32,
        Located(Signed(2), Signed(4)) => D::LocI16,
        Located(Float32, Signed(4)) => D::LocF32,
        Located(Float64, Signed(4)) => D::LocF64,
        Located(Float32, Float32) => D::LocTwoF32,
        Located(Float64, Float64) => D::LocTwoF64,
        _ => return None,
    })
}

/// The driver's operation.
fn reduce_op(operation: Predefined) -> Option<ReduceOp> {
    use ReduceOp as R;
    Some(match operation {
        Predefined::Copy => R::Copy,
        Predefined::Noop => return None,
        Predefined::Max => R::Max,
        Predefined::Min => R::Min,
        Predefined::Sum => R::Sum,
        Predefined::Prod => R::Product,
        Predefined::Land => R::LogicalAnd,
        Predefined::Lor => R::LogicalOr,
        Predefined::Lxor => R::LogicalXor,
        Predefined::Band => R::BitAnd,
        Predefined::Bor => R::BitOr,
        Predefined::Bxor => R::BitXor,
        Predefined::Maxloc => R::MaxLoc,
        Predefined::Minloc => R::MinLoc,
    })
}

/// Number of all operations of programs, whose functions have no number common to all tasks.
const PROGRAMS: u16 = u16::MAX;

/// Bytes of data in one repetition of a type.
///
/// # Errors
/// `PAMI_INVAL` for none that is complete.
pub fn bytes_of(type_: Type) -> Result<usize, Failure> {
    Ok(complete(type_)?.size())
}

/// Action of an operation.
#[derive(Clone, Copy)]
enum Does {
    Predefined(Predefined, Element),
    Program {
        function: DataFunction,
        cookie: usize,
        commutative: bool,
    },
}

/// Operation of a collective on its data.
pub struct Operation {
    does: Does,
    /// Bytes that are never divided.
    unit: usize,
}

impl Operation {
    /// The operation `function` on data of a type; `commutative` counts only for functions of the program.
    ///
    /// # Errors
    /// `PAMI_INVAL` for an invalid or open type, and for an operation that it does not have.
    pub fn new(
        type_: Type,
        (function, cookie): (DataFunction, *mut c_void),
        commutative: bool,
    ) -> Result<Self, Failure> {
        let of = complete(type_)?;
        let address = function.map_or(0, |function| function as usize);
        if address == 0 {
            return Err(Failure::invalid("the operation is null"));
        }
        let Some(operation) = Predefined::of(address) else {
            let cookie = cookie as usize;
            let does = Does::Program {
                function,
                cookie,
                commutative,
            };
            return Ok(Self {
                does,
                unit: of.atom,
            });
        };
        let element = match operation {
            Predefined::Copy | Predefined::Noop => Some(Element::BYTE),
            _ => of.element(),
        };
        let found = element.filter(|&e| operations::combine(e, operation).is_some());
        let Some(element) = found else {
            let text = format!("{operation:?} is not defined on the type");
            return Err(Failure::invalid(text));
        };
        Ok(Self {
            does: Does::Predefined(operation, element),
            unit: element.size(),
        })
    }

    /// Bytes that are never divided.
    pub fn bytes(&self) -> usize {
        self.unit
    }

    /// The predefined operation and its type, if endpoints may combine data in any order; `None` for functions of the program,
    /// and for operations whose order counts.
    pub fn anywhere(&self) -> Option<(Predefined, Element)> {
        match self.does {
            Does::Predefined(operation, element) if self.is_commutative() => {
                Some((operation, element))
            }
            _ => None,
        }
    }

    fn is_commutative(&self) -> bool {
        match self.does {
            Does::Predefined(operation, _) => {
                !matches!(operation, Predefined::Copy | Predefined::Noop)
            }
            Does::Program { commutative, .. } => commutative,
        }
    }

    /// Number that is the same for all members.
    fn number(&self) -> u16 {
        match self.does {
            // Both below 32.
            Does::Predefined(operation, element) => {
                (element.number() * 0x100 + operation as usize) as u16
            }
            Does::Program { .. } => PROGRAMS,
        }
    }

    /// The reduction for the driver.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn reduction(&self) -> Result<Reduction, Failure> {
        if let Does::Predefined(operation, element) = self.does
            && let (Some(data), Some(op)) = (data_type(element), reduce_op(operation))
        {
            return Ok((data, op).into());
        }
        let combine = self.combine();
        self.user(self.unit, self.is_commutative(), move |a, b| combine(a, b))
    }

    /// An operation on pairs of `bytes` bytes, whose members have this type.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn on_pairs(
        &self,
        bytes: usize,
        combine: impl Fn(&mut [u8], &[u8]) + Send + Sync + 'static,
    ) -> Result<Reduction, Failure> {
        self.user(bytes, false, combine)
    }

    fn user(
        &self,
        bytes: usize,
        commutative: bool,
        combine: impl Fn(&mut [u8], &[u8]) + Send + Sync + 'static,
    ) -> Result<Reduction, Failure> {
        Ok(UserOp::new(self.number(), bytes, commutative, combine)?.into())
    }

    /// The function that combines.
    pub fn combine(&self) -> Arc<Combine> {
        match self.does {
            Does::Predefined(operation, element) => {
                let combine = operations::combine(element, operation);
                Arc::new(move |into: &mut [u8], other: &[u8]| {
                    if let Some(combine) = combine {
                        combine(into, other);
                    }
                })
            }
            Does::Program {
                function, cookie, ..
            } => Arc::new(move |into: &mut [u8], other: &[u8]| {
                let Some(function) = function else { return };
                // SAFETY: the program gives the function for data of this type; it does not write its source.
                unsafe {
                    function(
                        into.as_mut_ptr().cast(),
                        other.as_ptr().cast_mut().cast(),
                        into.len(),
                        cookie as *mut c_void,
                    );
                }
            }),
        }
    }
}
