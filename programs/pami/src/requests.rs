// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests of the driver from the parameters of collectives, by kind.

use gyre_collectives::{Reduction, Request};
use gyre_remote::RemoteBuffer;

use crate::abi::XferType;
use crate::arguments::Arguments;
use crate::failure::Failure;

/// The request of the driver. `reduction` is the operation of collectives that combine data.
///
/// # Errors
/// `PAMI_INVAL` for parameters that cannot be, and for kinds that are no request of the driver.
///
/// # Safety
/// The member of the kind is filled in as `pami.h` says, with data that lies without holes.
pub unsafe fn request(
    arguments: &Arguments<'_>,
    reduction: Option<Reduction>,
) -> Result<Request<RemoteBuffer>, Failure> {
    let cmd = &arguments.xfer.cmd;
    let reduction = || reduction.ok_or_else(|| Failure::invalid("the operation is missing"));
    /// A kind with lists of `size_t` or `int`.
    macro_rules! allgatherv {
        ($p:expr) => {{
            let p = $p;
            let send = (p.sndbuf, p.stype, p.stypecount);
            arguments.allgatherv(send, (p.rcvbuf, p.rtype), (p.rtypecounts, p.rdispls))
        }};
    }
    macro_rules! gatherv {
        ($p:expr) => {{
            let p = $p;
            let send = (p.sndbuf, p.stype, p.stypecount);
            arguments.gatherv(
                p.root,
                send,
                (p.rcvbuf, p.rtype),
                (p.rtypecounts, p.rdispls),
            )
        }};
    }
    macro_rules! scatterv {
        ($p:expr) => {{
            let p = $p;
            let receive = (p.rcvbuf, p.rtype, p.rtypecount);
            arguments.scatterv(
                p.root,
                (p.sndbuf, p.stype),
                (p.stypecounts, p.sdispls),
                receive,
            )
        }};
    }
    macro_rules! alltoallv {
        ($p:expr) => {{
            let p = $p;
            let send = ((p.sndbuf, p.stype), (p.stypecounts, p.sdispls));
            arguments.alltoallv(send, ((p.rcvbuf, p.rtype), (p.rtypecounts, p.rdispls)))
        }};
    }
    // SAFETY: what the caller promises.
    unsafe {
        match arguments.kind {
            XferType::BARRIER => Ok(Request::barrier()),
            XferType::BROADCAST => arguments.broadcast(&cmd.xfer_broadcast),
            XferType::REDUCE => arguments.reduce(&cmd.xfer_reduce, reduction()?),
            XferType::ALLREDUCE => arguments.allreduce(&cmd.xfer_allreduce, reduction()?),
            XferType::SCAN => arguments.scan(&cmd.xfer_scan, reduction()?),
            XferType::REDUCE_SCATTER => {
                arguments.reduce_scatter(&cmd.xfer_reduce_scatter, reduction()?)
            }
            XferType::ALLGATHER => arguments.allgather(&cmd.xfer_allgather),
            XferType::ALLGATHERV => allgatherv!(cmd.xfer_allgatherv),
            XferType::ALLGATHERV_INT => allgatherv!(cmd.xfer_allgatherv_int),
            XferType::GATHER => arguments.gather(&cmd.xfer_gather),
            XferType::GATHERV => gatherv!(cmd.xfer_gatherv),
            XferType::GATHERV_INT => gatherv!(cmd.xfer_gatherv_int),
            XferType::SCATTER => arguments.scatter(&cmd.xfer_scatter),
            XferType::SCATTERV => scatterv!(cmd.xfer_scatterv),
            XferType::SCATTERV_INT => scatterv!(cmd.xfer_scatterv_int),
            XferType::ALLTOALL => arguments.alltoall(&cmd.xfer_alltoall),
            XferType::ALLTOALLV => alltoallv!(cmd.xfer_alltoallv),
            XferType::ALLTOALLV_INT => alltoallv!(cmd.xfer_alltoallv_int),
            kind => Err(Failure::invalid(format!(
                "collective {} has no request",
                kind.0
            ))),
        }
    }
}
