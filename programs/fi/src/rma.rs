// SPDX-License-Identifier: MIT OR Apache-2.0
//! One-sided reads and writes, by virtual address.

use std::ffi::c_void;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gyre_driver::{DoneFn, Get, Put, RemoteAddress, Routing, TaskId};
use gyre_interpose::Staging;
use gyre_note::{OtherStep, ProgramStep};
use gyre_remote::windows::offset_of;
use parking_lot::Mutex;

use crate::abi::{Addr, Fid, Iovec, MsgRma, RmaIov, RmaOps, flags, not_there};
use crate::arrival::map;
use crate::boundary::{self, Refusal};
use crate::cq::Completion;
use crate::destination::Piece;
use crate::handle;
use crate::port::{Port, wants_completion};
use crate::send::INJECT;
use crate::send_data::{MOST_PIECES, Memory, staged, total};
use crate::short_write;

/// The functions of an endpoint.
pub static OPS: RmaOps = RmaOps {
    size: size_of::<RmaOps>(),
    read,
    readv,
    readmsg,
    write,
    writev,
    writemsg,
    inject,
    writedata: not_there,
    injectdata: not_there,
};

/// A transfer.
struct Transfer {
    /// Whether it writes.
    writes: bool,
    /// Owner of the memory.
    peer: Addr,
    /// Local pieces.
    local: Vec<Piece>,
    /// Remote pieces, by virtual address.
    remote: Vec<(u64, usize)>,
    /// Context of the operation, an address.
    context: usize,
    /// Its flags.
    flags: u64,
}

/// Rest of a transfer in parts.
struct Parts {
    port: Arc<Port>,
    left: AtomicUsize,
    failed: AtomicBool,
    writes: bool,
    context: usize,
    flags: u64,
    /// A copy of the data, for as long as the transfer lasts.
    _keep: Mutex<Option<Staging>>,
}

impl Parts {
    /// Notes the end of one.
    fn end(&self, outcome: Result<(), gyre_driver::Error>) {
        if let Err(error) = outcome {
            eprintln!("libgyre-fi: {error}");
            self.failed.store(true, Ordering::Relaxed);
        }
        if self.left.fetch_sub(1, Ordering::Relaxed) > 1 {
            return;
        }
        let kind = if self.writes {
            flags::WRITE
        } else {
            flags::READ
        };
        let mut completion = Completion::new(self.context, flags::RMA | kind);
        if self.failed.load(Ordering::Relaxed) {
            completion = completion.failed(libc::EIO);
        }
        if let Some(bound) = self.port.bindings.get() {
            let bound = if self.writes {
                &bound.writes
            } else {
                &bound.reads
            };
            self.port
                .complete(bound, wants_completion(self.flags), completion);
        }
    }
}

/// Contiguous parts that local and remote pieces have in common.
fn common(local: &[Piece], remote: &[(u64, usize)]) -> Vec<(Piece, u64)> {
    let mut parts = Vec::new();
    let mut here = local.iter().copied();
    let mut now = here.next();
    for &(mut address, mut bytes) in remote {
        while let Some(piece) = now.as_mut().filter(|_| bytes > 0) {
            let part = bytes.min(piece.bytes);
            let from = Piece {
                address: piece.address,
                bytes: part,
            };
            parts.push((from, address));
            address += part as u64;
            bytes -= part;
            piece.address += part;
            piece.bytes -= part;
            if piece.bytes == 0 {
                now = here.next();
            }
        }
    }
    parts
}

impl Transfer {
    /// Starts it.
    ///
    /// # Safety
    /// The pieces are memory of the program that does not change until the transfer has ended.
    unsafe fn start(self, port: &Arc<Port>, keep: Option<Staging>) -> Result<(), Refusal> {
        let bytes = total(&self.local);
        if bytes != self.remote.iter().map(|(_, bytes)| bytes).sum::<usize>() {
            return Err(Refusal::INVALID);
        }
        let endpoint = port.peer(self.peer)?;
        port.step(ProgramStep::Other(OtherStep::OneSided)).take();
        let parts = common(&self.local, &self.remote);
        // Refusals come before the first transfer begins.
        let mut ready = Vec::with_capacity(parts.len());
        for (piece, address) in parts {
            let remote = remote(port, endpoint.task(), address, piece.bytes)?;
            let range = match self.writes && piece.bytes <= INJECT {
                true => None,
                false => Some(map(port, piece.address as *mut u8, piece.bytes)?),
            };
            ready.push((piece, range, remote, address));
        }
        let all = Arc::new(Parts {
            port: Arc::clone(port),
            left: AtomicUsize::new(ready.len().max(1)),
            failed: Default::default(),
            writes: self.writes,
            context: self.context,
            flags: self.flags,
            _keep: Mutex::new(keep),
        });
        if ready.is_empty() {
            all.end(Ok(()));
        }
        for (piece, range, remote, address) in ready {
            let parts = Arc::clone(&all);
            let Some(range) = range else {
                // SAFETY: what the caller promises.
                let bytes =
                    unsafe { slice::from_raw_parts(piece.address as *const u8, piece.bytes) };
                let done = Box::new(move |outcome| parts.end(outcome));
                short_write::send(port, endpoint, address, bytes, done)?;
                continue;
            };
            let done: DoneFn<_> = Box::new(move |_, outcome| parts.end(outcome));
            if self.writes {
                port.context.put(Put {
                    remote_done: Some(done),
                    ..Put::new(endpoint, range, remote)
                })?;
            } else {
                port.context.get(Get {
                    source: endpoint,
                    remote,
                    into: range,
                    routing: Routing::default(),
                    done: Some(done),
                })?;
            }
        }
        Ok(())
    }
}

/// Hardware address of bytes at a virtual address of another task.
fn remote(port: &Port, task: TaskId, address: u64, bytes: usize) -> Result<RemoteAddress, Refusal> {
    let address = usize::try_from(address).map_err(|_| Refusal::INVALID)?;
    let offset = offset_of(address, bytes).ok_or(Refusal(libc::EFAULT))?;
    let slot = u16::from(port.context.tasks().location(task)?.process);
    Ok(RemoteAddress { slot, offset })
}

/// The functions that transfer between local memory and one remote place: arguments after the endpoint, then the direction and
/// the local memory.
macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*) writes $writes:literal, $memory:expr;)*) => {$(
        unsafe extern "C" fn $name(
            fid: *mut Fid,
            $($argument: $type,)*
            peer: Addr,
            address: u64,
            _key: u64,
            context: *mut c_void,
        ) -> isize {
            // SAFETY: the program passes an endpoint and memory, as libfabric says.
            unsafe { transfer(fid, $writes, &$memory, (peer, address), context) }
        }
    )*};
}

functions! {
    read(into: *mut c_void, bytes: usize, _desc: *mut c_void) writes false, Memory::One(into, bytes);
    readv(into: *const Iovec, _desc: *mut *mut c_void, count: usize) writes false, Memory::Vector(into, count);
    write(from: *const c_void, bytes: usize, _desc: *mut c_void) writes true, Memory::One(from, bytes);
    writev(from: *const Iovec, _desc: *mut *mut c_void, count: usize) writes true, Memory::Vector(from, count);
}

/// Starts a transfer between local memory and one remote place.
///
/// # Safety
/// As libfabric says.
unsafe fn transfer(
    fid: *mut Fid,
    writes: bool,
    memory: &Memory,
    (peer, address): (Addr, u64),
    context: *mut c_void,
) -> isize {
    boundary::size(|| {
        // SAFETY: the program passes an endpoint, and memory.
        let (port, local) = unsafe { (handle::port(fid)?, memory.pieces()?) };
        let bytes = total(&local);
        let transfer = Transfer {
            writes,
            peer,
            local,
            remote: vec![(address, bytes)],
            context: context as usize,
            flags: port.send_flags,
        };
        // SAFETY: the program's memory, as libfabric says.
        unsafe { transfer.start(&port, None) }
    })
}

unsafe extern "C" fn readmsg(fid: *mut Fid, message: *const MsgRma, asked: u64) -> isize {
    // SAFETY: as the caller promises.
    unsafe { with_message(fid, false, message, asked) }
}

unsafe extern "C" fn writemsg(fid: *mut Fid, message: *const MsgRma, asked: u64) -> isize {
    // SAFETY: as the caller promises.
    unsafe { with_message(fid, true, message, asked) }
}

/// # Safety
/// As libfabric says.
unsafe fn with_message(fid: *mut Fid, writes: bool, message: *const MsgRma, asked: u64) -> isize {
    boundary::size(|| {
        // SAFETY: the program passes an endpoint, and a message that lasts until the function returns.
        let (port, message) = unsafe { (handle::port(fid)?, message.as_ref()) };
        let message = message.ok_or(Refusal::INVALID)?;
        if asked & flags::REMOTE_CQ_DATA != 0 {
            return Err(Refusal(libc::EOPNOTSUPP));
        }
        if message.rma_iov_count > MOST_PIECES || message.rma_iov.is_null() {
            return Err(Refusal::INVALID);
        }
        let there = |place| {
            // SAFETY: there are this many.
            let RmaIov { addr, len, .. } = unsafe { message.rma_iov.add(place).read() };
            (addr, len)
        };
        // SAFETY: there are this many pieces.
        let local = unsafe { Memory::Vector(message.msg_iov, message.iov_count).pieces()? };
        let (local, keep) = match asked & flags::INJECT != 0 {
            // SAFETY: the program's memory.
            true => unsafe { copied(&port, &local)? },
            false => (local, None),
        };
        let transfer = Transfer {
            writes,
            peer: message.addr,
            local,
            remote: (0..message.rma_iov_count).map(there).collect(),
            context: message.context as usize,
            flags: asked,
        };
        // SAFETY: the program's memory, as libfabric says, or its copy.
        unsafe { transfer.start(&port, keep) }
    })
}

/// Copies data that the program may change at once.
///
/// # Safety
/// The pieces are the program's memory.
unsafe fn copied(port: &Port, local: &[Piece]) -> Result<(Vec<Piece>, Option<Staging>), Refusal> {
    let bytes = total(local);
    if bytes > INJECT {
        return Err(Refusal::INVALID);
    }
    // SAFETY: what the caller promises.
    let staging = unsafe { staged(port, local)? };
    let piece = Piece {
        address: staging.address() as usize,
        bytes,
    };
    let pieces = if bytes > 0 { vec![piece] } else { Vec::new() };
    Ok((pieces, Some(staging)))
}

unsafe extern "C" fn inject(
    fid: *mut Fid,
    from: *const c_void,
    bytes: usize,
    to: Addr,
    address: u64,
    _key: u64,
) -> isize {
    boundary::size(|| {
        // SAFETY: the program passes an endpoint.
        let port = unsafe { handle::port(fid)? };
        // SAFETY: the program's memory.
        let (local, keep) = unsafe { copied(&port, &Memory::One(from, bytes).pieces()?)? };
        let transfer = Transfer {
            writes: true,
            peer: to,
            local,
            remote: vec![(address, bytes)],
            context: 0,
            // No completion; the counter counts it.
            flags: flags::INJECT,
        };
        // SAFETY: the program's memory, as libfabric says, or its copy.
        unsafe { transfer.start(&port, keep) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x6_pieces_here_and_there_are_cut_where_either_ends() {
        let piece = |address, bytes| Piece { address, bytes };
        let local = [piece(100, 4), piece(200, 6)];
        let remote = [(1000, 7), (2000, 3)];
        let parts = common(&local, &remote);
        let expected = [
            (piece(100, 4), 1000),
            (piece(200, 3), 1004),
            (piece(203, 3), 2000),
        ];
        assert_eq!(parts, expected);
        assert!(common(&[], &[]).is_empty());
    }
}
