//! The parameters of a collective as the request of the driver, by its kind.

use gyre_collectives::{Reduction, Request};
use gyre_remote::RemoteBuffer;

use crate::abi::XferType;
use crate::arguments::Arguments;
use crate::failure::Failure;

/// The request of the driver. `reduction` is how data is combined, if it is.
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
    let reduction = || reduction.ok_or_else(|| Failure::invalid("there is no operation"));
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
            XferType::ALLGATHERV => {
                let p = cmd.xfer_allgatherv;
                let send = (p.sndbuf, p.stype, p.stypecount);
                arguments.allgatherv(send, (p.rcvbuf, p.rtype), (p.rtypecounts, p.rdispls))
            }
            XferType::ALLGATHERV_INT => {
                let p = cmd.xfer_allgatherv_int;
                let send = (p.sndbuf, p.stype, p.stypecount);
                arguments.allgatherv(send, (p.rcvbuf, p.rtype), (p.rtypecounts, p.rdispls))
            }
            XferType::GATHER => arguments.gather(&cmd.xfer_gather),
            XferType::GATHERV => {
                let p = cmd.xfer_gatherv;
                let send = (p.sndbuf, p.stype, p.stypecount);
                let receive = (p.rcvbuf, p.rtype);
                arguments.gatherv(p.root, send, receive, (p.rtypecounts, p.rdispls))
            }
            XferType::GATHERV_INT => {
                let p = cmd.xfer_gatherv_int;
                let send = (p.sndbuf, p.stype, p.stypecount);
                let receive = (p.rcvbuf, p.rtype);
                arguments.gatherv(p.root, send, receive, (p.rtypecounts, p.rdispls))
            }
            XferType::SCATTER => arguments.scatter(&cmd.xfer_scatter),
            XferType::SCATTERV => {
                let p = cmd.xfer_scatterv;
                let receive = (p.rcvbuf, p.rtype, p.rtypecount);
                arguments.scatterv(
                    p.root,
                    (p.sndbuf, p.stype),
                    (p.stypecounts, p.sdispls),
                    receive,
                )
            }
            XferType::SCATTERV_INT => {
                let p = cmd.xfer_scatterv_int;
                let receive = (p.rcvbuf, p.rtype, p.rtypecount);
                arguments.scatterv(
                    p.root,
                    (p.sndbuf, p.stype),
                    (p.stypecounts, p.sdispls),
                    receive,
                )
            }
            XferType::ALLTOALL => arguments.alltoall(&cmd.xfer_alltoall),
            XferType::ALLTOALLV => {
                let p = cmd.xfer_alltoallv;
                let send = ((p.sndbuf, p.stype), (p.stypecounts, p.sdispls));
                arguments.alltoallv(send, ((p.rcvbuf, p.rtype), (p.rtypecounts, p.rdispls)))
            }
            XferType::ALLTOALLV_INT => {
                let p = cmd.xfer_alltoallv_int;
                let send = ((p.sndbuf, p.stype), (p.stypecounts, p.sdispls));
                arguments.alltoallv(send, ((p.rcvbuf, p.rtype), (p.rtypecounts, p.rdispls)))
            }
            kind => Err(Failure::invalid(format!(
                "collective {} has no request",
                kind.0
            ))),
        }
    }
}
