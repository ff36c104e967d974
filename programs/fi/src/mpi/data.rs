// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types and operations of MPICH that the driver's collectives have.

use gyre_collectives::{DataType, ReduceOp};

/// The element that a handle of a predefined type stands for.
pub fn data_type(handle: u32) -> Option<DataType> {
    Some(match handle {
        // MPI_INT, MPI_INT32_T
        0x4c00_0405 | 0x4c00_0439 => DataType::I32,
        // MPI_LONG, MPI_LONG_LONG, MPI_INT64_T
        0x4c00_0807 | 0x4c00_0809 | 0x4c00_083a => DataType::I64,
        // MPI_UNSIGNED, MPI_UINT32_T
        0x4c00_0406 | 0x4c00_043d => DataType::U32,
        // MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT64_T
        0x4c00_0808 | 0x4c00_0819 | 0x4c00_083e => DataType::U64,
        // MPI_FLOAT
        0x4c00_040a => DataType::F32,
        // MPI_DOUBLE
        0x4c00_080b => DataType::F64,
        _ => return None,
    })
}

/// Whether the type of a handle has the same bytes in memory and in messages.
pub fn is_dense(handle: u32) -> bool {
    // MPI_BYTE, MPI_CHAR
    data_type(handle).is_some() || matches!(handle, 0x4c00_010d | 0x4c00_0101)
}

/// Bytes of an element of a predefined type: they stand in its handle.
pub const fn size(handle: u32) -> usize {
    (handle as usize >> 8) & 0xff
}

/// The operation that a handle stands for, on elements of a type.
pub fn operation(handle: u32, data: DataType) -> Option<ReduceOp> {
    let floats = matches!(data, DataType::F32 | DataType::F64);
    Some(match handle {
        0x5800_0001 => ReduceOp::Max,
        0x5800_0002 => ReduceOp::Min,
        0x5800_0003 => ReduceOp::Sum,
        0x5800_0006 if !floats => ReduceOp::BitAnd,
        0x5800_0008 if !floats => ReduceOp::BitOr,
        0x5800_000a if !floats => ReduceOp::BitXor,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x6_handles_of_predefined_types_and_operations() {
        assert_eq!(data_type(0x4c00_080b), Some(DataType::F64));
        assert_eq!(size(0x4c00_080b), 8);
        assert_eq!(size(0x4c00_0405), 4);
        assert_eq!(data_type(0x4c00_010d), None);
        assert!(is_dense(0x4c00_010d));
        assert_eq!(operation(0x5800_0003, DataType::F64), Some(ReduceOp::Sum));
        assert_eq!(operation(0x5800_0006, DataType::F64), None);
        assert_eq!(
            operation(0x5800_0006, DataType::U32),
            Some(ReduceOp::BitAnd)
        );
        // MPI_OP_NULL
        assert_eq!(operation(0x1800_0000, DataType::U32), None);
    }
}
