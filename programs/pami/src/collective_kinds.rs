// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kinds of collectives, and their parameters for operation and types.

use gyre_collectives::Collective;

use crate::abi::{Type, Xfer, XferType};
use crate::failure::Failure;
use crate::reduction::Operation;

/// The collective of a kind, and whether it is a vector form; `None` for the active-message forms.
pub fn collective(kind: XferType) -> Option<(Collective, bool)> {
    use Collective as C;
    Some(match kind {
        XferType::BROADCAST => (C::Broadcast, false),
        XferType::ALLREDUCE => (C::Allreduce, false),
        XferType::REDUCE => (C::Reduce, false),
        XferType::ALLGATHER => (C::Allgather, false),
        XferType::ALLGATHERV | XferType::ALLGATHERV_INT => (C::Allgather, true),
        XferType::SCATTER => (C::Scatter, false),
        XferType::SCATTERV | XferType::SCATTERV_INT => (C::Scatter, true),
        XferType::GATHER => (C::Gather, false),
        XferType::GATHERV | XferType::GATHERV_INT => (C::Gather, true),
        XferType::BARRIER => (C::Barrier, false),
        XferType::ALLTOALL => (C::Alltoall, false),
        XferType::ALLTOALLV | XferType::ALLTOALLV_INT => (C::Alltoall, true),
        XferType::SCAN => (C::Scan, false),
        XferType::REDUCE_SCATTER => (C::ReduceScatter, true),
        _ => return None,
    })
}

/// The operation of a reduction; `None` for other collectives.
///
/// # Errors
/// As [`Operation::new`].
pub fn operation(kind: XferType, xfer: &Xfer) -> Result<Option<Operation>, Failure> {
    let cmd = &xfer.cmd;
    // SAFETY: all members are plain numbers and addresses, and the kind's is the one that the program has filled in.
    let (type_, op, commutative) = unsafe {
        match kind {
            XferType::ALLREDUCE => {
                let of = cmd.xfer_allreduce;
                (of.stype, (of.op, of.data_cookie), of.commutative)
            }
            XferType::REDUCE => {
                let of = cmd.xfer_reduce;
                (of.stype, (of.op, of.data_cookie), of.commutative)
            }
            XferType::REDUCE_SCATTER => {
                let of = cmd.xfer_reduce_scatter;
                (of.stype, (of.op, of.data_cookie), of.commutative)
            }
            XferType::SCAN => {
                let of = cmd.xfer_scan;
                (of.stype, (of.op, of.data_cookie), 0)
            }
            _ => return Ok(None),
        }
    };
    Operation::new(type_, op, commutative != 0).map(Some)
}

/// The send and receive types, equal if there is one; `None` for a barrier.
pub fn types(kind: XferType, xfer: &Xfer) -> Option<(Type, Type)> {
    /// The types of a member of the parameters.
    macro_rules! both {
        ($member:ident) => {{
            // SAFETY: as for the operation.
            let of = unsafe { xfer.cmd.$member };
            (of.stype, of.rtype)
        }};
    }
    /// The type of a member with one type.
    macro_rules! one {
        ($member:ident.$type:ident) => {{
            // SAFETY: as for the operation.
            let of = unsafe { xfer.cmd.$member };
            (of.$type, of.$type)
        }};
    }
    Some(match kind {
        XferType::BROADCAST => one!(xfer_broadcast.r#type),
        XferType::AMBROADCAST => one!(xfer_ambroadcast.stype),
        XferType::AMSCATTER => one!(xfer_amscatter.stype),
        XferType::AMGATHER => one!(xfer_amgather.rtype),
        XferType::AMREDUCE => one!(xfer_amreduce.rtype),
        XferType::ALLREDUCE => both!(xfer_allreduce),
        XferType::REDUCE => both!(xfer_reduce),
        XferType::ALLGATHER => both!(xfer_allgather),
        XferType::ALLGATHERV => both!(xfer_allgatherv),
        XferType::ALLGATHERV_INT => both!(xfer_allgatherv_int),
        XferType::SCATTER => both!(xfer_scatter),
        XferType::SCATTERV => both!(xfer_scatterv),
        XferType::SCATTERV_INT => both!(xfer_scatterv_int),
        XferType::GATHER => both!(xfer_gather),
        XferType::GATHERV => both!(xfer_gatherv),
        XferType::GATHERV_INT => both!(xfer_gatherv_int),
        XferType::ALLTOALL => both!(xfer_alltoall),
        XferType::ALLTOALLV => both!(xfer_alltoallv),
        XferType::ALLTOALLV_INT => both!(xfer_alltoallv_int),
        XferType::SCAN => both!(xfer_scan),
        XferType::REDUCE_SCATTER => both!(xfer_reduce_scatter),
        _ => return None,
    })
}
