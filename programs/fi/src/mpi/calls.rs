// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of MPI as collectives of the driver; others are left to MPICH.

use std::env;
use std::ffi::c_void;
use std::sync::OnceLock;

use gyre_collectives::{DataType, ReduceOp, Request};
use gyre_driver::{BufferRange, Error};
use gyre_interpose::Staging;
use gyre_remote::RemoteBuffer;

use super::communicator::{Communicator, carry_out};
use super::data::{data_type, is_dense, operation, size};
use super::library::{Count, Handle, Library, OTHER};
use crate::arrival::map;
use crate::boundary::Refusal;
use crate::port::Port;

/// `MPI_IN_PLACE`
const IN_PLACE: usize = usize::MAX;

/// Variable that selects the implementation of collectives.
const VARIABLE: &str = "GYRE_MPI_COLLECTIVES";

/// The communicator of a call, if the driver carries out its collectives.
fn communicator(comm: Handle) -> Option<(&'static Library, &'static Communicator)> {
    static MPICH: OnceLock<bool> = OnceLock::new();
    let left_to_mpich = || env::var_os(VARIABLE).is_some_and(|value| value == "mpich");
    if *MPICH.get_or_init(left_to_mpich) {
        return None;
    }
    // Kinds of communicators among MPICH's handles: predefined, direct, indirect.
    if (comm as u32 >> 26) & 0xf != 1 || comm as u32 >> 30 == 0 {
        return None;
    }
    let library = Library::get().filter(|library| library.is_mpich())?;
    Some((library, Communicator::of(library, comm)?))
}

/// The answer to a call of MPI.
fn result(outcome: Result<(), Refusal>) -> i32 {
    match outcome {
        Ok(()) => 0,
        Err(_) => OTHER,
    }
}

fn range(port: &Port, memory: usize, bytes: usize) -> Result<BufferRange<RemoteBuffer>, Error> {
    map(port, memory as *mut u8, bytes)
}

/// `MPI_Barrier`; `None`: it is MPICH's.
pub fn barrier(comm: Handle) -> Option<i32> {
    gyre_interpose::boundary::value(|| {
        let (library, communicator) = communicator(comm)?;
        let (member, port) = communicator.member()?;
        Some(result(carry_out(
            (library, comm),
            (&member, &port),
            Request::barrier(),
        )))
    })
}

/// `MPI_Bcast`; `None`: it is MPICH's.
pub fn bcast(
    buffer: *mut c_void,
    count: Count,
    data: Handle,
    root: i32,
    comm: Handle,
) -> Option<i32> {
    gyre_interpose::boundary::value(|| {
        let (library, communicator) = communicator(comm)?;
        let (member, port) = communicator.member()?;
        let root = usize::try_from(root).ok()?;
        if root >= member.geometry().tasks().len() || count < 0 {
            return None;
        }
        let mut each = 0;
        // Types of sender and receivers may differ, as long as they have as many bytes.
        // SAFETY: the program passes a type.
        if unsafe { (library.Type_size_c)(data, &raw mut each) } != 0 {
            return None;
        }
        let bytes = usize::try_from(count.checked_mul(each)?).ok()?;
        if bytes == 0 {
            return None;
        }
        let dense = is_dense(data as u32);
        if dense && buffer.is_null() {
            return None;
        }
        let is_root = member.position() == root;
        let broadcast = || {
            if dense {
                let whole = range(&port, buffer as usize, bytes)?;
                return carry_out(
                    (library, comm),
                    (&member, &port),
                    Request::broadcast(root, whole),
                );
            }
            let staging = Staging::zeroed(bytes).map_err(|_| Refusal(libc::ENOMEM))?;
            let (memory, room) = (staging.address().cast(), bytes as Count);
            let mut place = 0;
            if is_root {
                port.charge_copy(bytes);
                // SAFETY: the program's buffer, and room for its bytes.
                let packed = unsafe {
                    (library.Pack_c)(buffer, count, data, memory, room, &raw mut place, comm)
                };
                if packed != 0 {
                    return Err(Refusal::INVALID);
                }
            }
            let whole = range(&port, staging.address() as usize, bytes)?;
            carry_out(
                (library, comm),
                (&member, &port),
                Request::broadcast(root, whole),
            )?;
            if !is_root {
                port.charge_copy(bytes);
                // SAFETY: as above.
                let unpacked = unsafe {
                    (library.Unpack_c)(memory, room, &raw mut place, buffer, count, data, comm)
                };
                if unpacked != 0 {
                    return Err(Refusal::INVALID);
                }
            }
            Ok(())
        };
        Some(result(broadcast()))
    })
}

/// Buffers of a reduction as MPI gives them.
#[derive(Clone, Copy)]
pub struct Reduced {
    /// Elements to combine.
    pub send: *const c_void,
    /// Where the result goes.
    pub receive: *mut c_void,
    /// Elements.
    pub count: Count,
    /// Their type.
    pub data: Handle,
    /// The operation.
    pub op: Handle,
}

impl Reduced {
    /// Type, operation and bytes, if the driver has them.
    fn known(&self) -> Option<((DataType, ReduceOp), usize)> {
        let handle = self.data as u32;
        let data = data_type(handle)?;
        let op = operation(self.op as u32, data)?;
        let count = usize::try_from(self.count)
            .ok()
            .filter(|&count| count > 0)?;
        Some(((data, op), count.checked_mul(size(handle))?))
    }

    /// Whether MPICH would refuse the buffers: then it gets the call, to report the error.
    fn is_wrong(&self, receives: bool) -> bool {
        let (send, receive) = (self.send as usize, self.receive as usize);
        send == 0 || (receives && (receive == 0 || receive == IN_PLACE || send == receive))
    }
}

/// `MPI_Allreduce`; `None`: it is MPICH's.
pub fn allreduce(reduced: Reduced, comm: Handle) -> Option<i32> {
    gyre_interpose::boundary::value(|| {
        let (reduction, bytes) = reduced.known()?;
        let (library, communicator) = communicator(comm)?;
        let (member, port) = communicator.member()?;
        if reduced.is_wrong(true) {
            return None;
        }
        let run = || {
            let send = match reduced.send as usize {
                IN_PLACE => None,
                send => Some(range(&port, send, bytes)?),
            };
            let receive = range(&port, reduced.receive as usize, bytes)?;
            let request = Request::allreduce(reduction, send, receive);
            carry_out((library, comm), (&member, &port), request)
        };
        Some(result(run()))
    })
}

/// `MPI_Reduce`; `None`: it is MPICH's.
pub fn reduce(reduced: Reduced, root: i32, comm: Handle) -> Option<i32> {
    gyre_interpose::boundary::value(|| {
        let (reduction, bytes) = reduced.known()?;
        let (library, communicator) = communicator(comm)?;
        let (member, port) = communicator.member()?;
        let root = usize::try_from(root).ok()?;
        let is_root = member.position() == root;
        if root >= member.geometry().tasks().len() || reduced.is_wrong(is_root) {
            return None;
        }
        let in_place = reduced.send as usize == IN_PLACE;
        if in_place && !is_root {
            return None;
        }
        let run = || {
            let send = match in_place {
                true => None,
                false => Some(range(&port, reduced.send as usize, bytes)?),
            };
            let receive = match is_root {
                true => range(&port, reduced.receive as usize, bytes)?,
                false => BufferRange::empty(),
            };
            let request = Request::reduce(root, reduction, send, receive);
            carry_out((library, comm), (&member, &port), request)
        };
        Some(result(run()))
    })
}
