// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations of the collective network.

use gyre_driver::{CollOp, CollType};

use crate::reduction::kind::ReduceKind;
use crate::reduction::{DataType, ReduceOp};

/// ALU operation of the collective network; `None` if there is none, as for operations of the user.
#[must_use]
pub fn tree_operation(reduction: ReduceKind) -> Option<(CollOp, CollType)> {
    let ReduceKind::BuiltIn(data, op) = reduction else {
        return None;
    };
    let dtype = match data {
        DataType::U32 => CollType::U32,
        DataType::I32 => CollType::I32,
        DataType::U64 => CollType::U64,
        DataType::I64 => CollType::I64,
        DataType::F64 => CollType::F64,
        _ => return None,
    };
    let op = match op {
        ReduceOp::BitAnd => CollOp::And,
        ReduceOp::BitOr => CollOp::Or,
        ReduceOp::BitXor => CollOp::Xor,
        ReduceOp::Sum => CollOp::Add,
        ReduceOp::Min => CollOp::Min,
        ReduceOp::Max => CollOp::Max,
        _ => return None,
    };
    let bits = matches!(op, CollOp::And | CollOp::Or | CollOp::Xor);
    (!bits || dtype != CollType::F64).then_some((op, dtype))
}
