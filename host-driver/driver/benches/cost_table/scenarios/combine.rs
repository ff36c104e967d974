// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reductions, as far as the processor combines: the same calls as those of `gyre-collectives`.

use core::hint::black_box;

use gyre_collectives::{DataType, ReduceOp};
use gyre_driver::{Op, Platform};

use super::List;
use crate::book;
use crate::platform::Counted;
use gyre_testkit::Double;

/// Bytes of an operand.
const BYTES: usize = 512;

pub fn scenarios(list: &mut List) {
    for (op, data) in [
        (ReduceOp::Sum, DataType::F64),
        (ReduceOp::Max, DataType::F64),
        (ReduceOp::Sum, DataType::F32),
        (ReduceOp::Sum, DataType::I64),
        (ReduceOp::Min, DataType::I32),
        (ReduceOp::BitOr, DataType::U32),
        (ReduceOp::MinLoc, DataType::LocI32),
        (ReduceOp::Product, DataType::ComplexF64),
    ] {
        let name = format!("combine {BYTES} B: {} of {}", op.name(), data.name());
        list.add(name, move || {
            let platform = Counted(Double::new(1, 1).process(0));
            // Numbers that are none of the special ones in any type.
            let other = [0x3f; BYTES];
            let mut into = [0x40; BYTES];
            move || {
                book::count(|| {
                    platform.charge(Op::Combine, (BYTES / data.bytes()) as u64);
                    op.combine(data, black_box(&other), black_box(&mut into), false);
                });
            }
        });
    }
}
