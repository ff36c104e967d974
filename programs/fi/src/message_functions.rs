// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of an endpoint that send and receive, with tags and without.

use std::ffi::c_void;

use crate::abi::{Addr, Fid, Iovec, Msg, MsgOps, MsgTagged, TaggedOps, flags};
use crate::boundary;
use crate::handle;
use crate::message::Kind;
use crate::receive::Receive;
use crate::send::Send;
use crate::send_data::Memory;

/// Functions for untagged messages.
pub static MSG_OPS: MsgOps = MsgOps {
    size: size_of::<MsgOps>(),
    recv,
    recvv,
    recvmsg,
    send,
    sendv,
    sendmsg,
    inject,
    senddata,
    injectdata,
};

/// Functions for tagged messages.
pub static TAGGED_OPS: TaggedOps = TaggedOps {
    size: size_of::<TaggedOps>(),
    recv: trecv,
    recvv: trecvv,
    recvmsg: trecvmsg,
    send: tsend,
    sendv: tsendv,
    sendmsg: tsendmsg,
    inject: tinject,
    senddata: tsenddata,
    injectdata: tinjectdata,
};

/// Arguments of a function of the tables, except its memory.
#[derive(Clone, Copy)]
struct Call {
    kind: Kind,
    peer: Addr,
    tag: u64,
    ignore: u64,
    data: Option<u64>,
    context: *mut c_void,
    /// Flags of the operation; `None`: those of the endpoint.
    flags: Option<u64>,
}

impl Call {
    const fn untagged(peer: Addr, context: *mut c_void) -> Self {
        Self {
            kind: Kind::Untagged,
            peer,
            tag: 0,
            ignore: 0,
            data: None,
            context,
            flags: None,
        }
    }

    const fn tagged(peer: Addr, tag: u64, context: *mut c_void) -> Self {
        Self {
            kind: Kind::Tagged,
            tag,
            ..Self::untagged(peer, context)
        }
    }

    const fn with_data(self, data: u64) -> Self {
        Self {
            data: Some(data),
            ..self
        }
    }

    const fn ignoring(self, ignore: u64) -> Self {
        Self { ignore, ..self }
    }

    /// A send that is copied and gives no completion.
    const fn injected(self) -> Self {
        Self {
            flags: Some(flags::INJECT),
            ..self
        }
    }

    /// # Safety
    /// As libfabric says of the endpoint and its pieces.
    unsafe fn send(self, fid: *mut Fid, memory: Memory) -> isize {
        boundary::size(|| {
            // SAFETY: the program passes an endpoint.
            let port = unsafe { handle::port(fid)? };
            let send = Send {
                kind: self.kind,
                to: self.peer,
                tag: self.tag,
                data: self.data,
                // SAFETY: the program passes pieces.
                pieces: unsafe { memory.pieces()? },
                context: self.context as usize,
                flags: self.flags.unwrap_or(port.send_flags),
                number: port.next_number(),
            };
            // SAFETY: the program leaves them alone.
            unsafe { send.start(&port) }
        })
    }

    /// # Safety
    /// As libfabric says of the endpoint and its pieces.
    unsafe fn receive(self, fid: *mut Fid, memory: Memory) -> isize {
        boundary::size(|| {
            // SAFETY: the program passes an endpoint.
            let port = unsafe { handle::port(fid)? };
            let receive = Receive {
                kind: self.kind,
                from: self.peer,
                tag: self.tag,
                ignore: self.ignore,
                // SAFETY: the program passes pieces.
                pieces: unsafe { memory.pieces()? },
                context: self.context as usize,
                flags: self.flags.unwrap_or(port.receive_flags),
                number: port.next_number(),
            };
            // SAFETY: the program leaves them alone.
            unsafe { receive.start(&port) }
        })
    }
}

/// Decodes a message: its call and its memory.
///
/// # Safety
/// `message` is null or a message.
unsafe fn untagged(message: *const Msg, asked: u64) -> Option<(Call, Memory)> {
    // SAFETY: what the caller promises.
    let message = unsafe { message.as_ref()? };
    let call = Call {
        flags: Some(asked),
        data: (asked & flags::REMOTE_CQ_DATA != 0).then_some(message.data),
        ..Call::untagged(message.addr, message.context)
    };
    Some((call, Memory::Vector(message.msg_iov, message.iov_count)))
}

/// Decodes a tagged message.
///
/// # Safety
/// `message` is null or a message.
unsafe fn tagged(message: *const MsgTagged, asked: u64) -> Option<(Call, Memory)> {
    // SAFETY: what the caller promises.
    let message = unsafe { message.as_ref()? };
    let call = Call {
        flags: Some(asked),
        data: (asked & flags::REMOTE_CQ_DATA != 0).then_some(message.data),
        ..Call::tagged(message.addr, message.tag, message.context).ignoring(message.ignore)
    };
    Some((call, Memory::Vector(message.msg_iov, message.iov_count)))
}

/// The functions of the tables: arguments after the endpoint, then the call that they make and its memory.
macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),*) $end:ident $call:expr, $memory:expr;)*) => {$(
        unsafe extern "C" fn $name(fid: *mut Fid, $($argument: $type),*) -> isize {
            // SAFETY: the program passes an endpoint and memory, as libfabric says.
            unsafe { $call.$end(fid, $memory) }
        }
    )*};
    // Functions that take a message.
    (messages $($name:ident($message:ty) $end:ident by $decode:ident;)*) => {$(
        unsafe extern "C" fn $name(fid: *mut Fid, message: *const $message, asked: u64) -> isize {
            // SAFETY: the program passes an endpoint, and a message or null.
            unsafe {
                match $decode(message, asked) {
                    Some((call, memory)) => call.$end(fid, memory),
                    None => -(libc::EINVAL as isize),
                }
            }
        }
    )*};
}

type In = *mut c_void;
type Out = *const c_void;
type Pieces = *const Iovec;
type Desc = *mut c_void;
type Descs = *mut *mut c_void;
type Context = *mut c_void;

const NO_CONTEXT: Context = std::ptr::null_mut();

functions! {
    recv(into: In, bytes: usize, _desc: Desc, from: Addr, context: Context)
        receive Call::untagged(from, context), Memory::One(into, bytes);
    recvv(into: Pieces, _desc: Descs, count: usize, from: Addr, context: Context)
        receive Call::untagged(from, context), Memory::Vector(into, count);
    send(from: Out, bytes: usize, _desc: Desc, to: Addr, context: Context)
        send Call::untagged(to, context), Memory::One(from, bytes);
    sendv(from: Pieces, _desc: Descs, count: usize, to: Addr, context: Context)
        send Call::untagged(to, context), Memory::Vector(from, count);
    inject(from: Out, bytes: usize, to: Addr)
        send Call::untagged(to, NO_CONTEXT).injected(), Memory::One(from, bytes);
    senddata(from: Out, bytes: usize, _desc: Desc, data: u64, to: Addr, context: Context)
        send Call::untagged(to, context).with_data(data), Memory::One(from, bytes);
    injectdata(from: Out, bytes: usize, data: u64, to: Addr)
        send Call::untagged(to, NO_CONTEXT).with_data(data).injected(), Memory::One(from, bytes);
    trecv(into: In, bytes: usize, _desc: Desc, from: Addr, tag: u64, ignore: u64, context: Context)
        receive Call::tagged(from, tag, context).ignoring(ignore), Memory::One(into, bytes);
    trecvv(into: Pieces, _desc: Descs, count: usize, from: Addr, tag: u64, ignore: u64, context: Context)
        receive Call::tagged(from, tag, context).ignoring(ignore), Memory::Vector(into, count);
    tsend(from: Out, bytes: usize, _desc: Desc, to: Addr, tag: u64, context: Context)
        send Call::tagged(to, tag, context), Memory::One(from, bytes);
    tsendv(from: Pieces, _desc: Descs, count: usize, to: Addr, tag: u64, context: Context)
        send Call::tagged(to, tag, context), Memory::Vector(from, count);
    tinject(from: Out, bytes: usize, to: Addr, tag: u64)
        send Call::tagged(to, tag, NO_CONTEXT).injected(), Memory::One(from, bytes);
    tsenddata(from: Out, bytes: usize, _desc: Desc, data: u64, to: Addr, tag: u64, context: Context)
        send Call::tagged(to, tag, context).with_data(data), Memory::One(from, bytes);
    tinjectdata(from: Out, bytes: usize, data: u64, to: Addr, tag: u64)
        send Call::tagged(to, tag, NO_CONTEXT).with_data(data).injected(), Memory::One(from, bytes);
}

functions! { messages
    recvmsg(Msg) receive by untagged;
    sendmsg(Msg) send by untagged;
    trecvmsg(MsgTagged) receive by tagged;
    tsendmsg(MsgTagged) send by tagged;
}
