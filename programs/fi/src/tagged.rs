//! The functions of an endpoint that send and receive, with tags and without.

use std::ffi::c_void;

use crate::abi::{Addr, Fid, Iovec, Msg, MsgOps, MsgTagged, TaggedOps, flags};
use crate::boundary;
use crate::gather::Memory;
use crate::handle;
use crate::message::Kind;
use crate::receive::Receive;
use crate::send::Send;

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
            };
            // SAFETY: the program leaves them alone.
            unsafe { receive.start(&port) }
        })
    }
}

unsafe extern "C" fn recv(
    fid: *mut Fid,
    into: *mut c_void,
    bytes: usize,
    _desc: *mut c_void,
    from: Addr,
    context: *mut c_void,
) -> isize {
    // SAFETY: as the caller promises.
    unsafe { Call::untagged(from, context).receive(fid, Memory::One(into, bytes)) }
}

unsafe extern "C" fn recvv(
    fid: *mut Fid,
    into: *const Iovec,
    _desc: *mut *mut c_void,
    count: usize,
    from: Addr,
    context: *mut c_void,
) -> isize {
    // SAFETY: as the caller promises.
    unsafe { Call::untagged(from, context).receive(fid, Memory::Vector(into, count)) }
}

/// The call that a message describes, and its memory.
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

/// The same for a tagged message.
///
/// # Safety
/// `message` is null or a message.
unsafe fn tagged(message: *const MsgTagged, asked: u64) -> Option<(Call, Memory)> {
    // SAFETY: what the caller promises.
    let message = unsafe { message.as_ref()? };
    let call = Call {
        flags: Some(asked),
        ignore: message.ignore,
        data: (asked & flags::REMOTE_CQ_DATA != 0).then_some(message.data),
        ..Call::tagged(message.addr, message.tag, message.context)
    };
    Some((call, Memory::Vector(message.msg_iov, message.iov_count)))
}

/// Answer to a message that is null.
const INVALID: isize = -(libc::EINVAL as isize);

unsafe extern "C" fn recvmsg(fid: *mut Fid, message: *const Msg, asked: u64) -> isize {
    // SAFETY: as the caller promises.
    unsafe { untagged(message, asked).map_or(INVALID, |(call, memory)| call.receive(fid, memory)) }
}

unsafe extern "C" fn send(
    fid: *mut Fid,
    from: *const c_void,
    bytes: usize,
    _desc: *mut c_void,
    to: Addr,
    context: *mut c_void,
) -> isize {
    // SAFETY: as the caller promises.
    unsafe { Call::untagged(to, context).send(fid, Memory::One(from, bytes)) }
}

unsafe extern "C" fn sendv(
    fid: *mut Fid,
    from: *const Iovec,
    _desc: *mut *mut c_void,
    count: usize,
    to: Addr,
    context: *mut c_void,
) -> isize {
    // SAFETY: as the caller promises.
    unsafe { Call::untagged(to, context).send(fid, Memory::Vector(from, count)) }
}

unsafe extern "C" fn sendmsg(fid: *mut Fid, message: *const Msg, asked: u64) -> isize {
    // SAFETY: as the caller promises.
    unsafe { untagged(message, asked).map_or(INVALID, |(call, memory)| call.send(fid, memory)) }
}

/// Flags of a send that is copied and gives no completion.
const INJECTED: Option<u64> = Some(flags::INJECT);

unsafe extern "C" fn inject(fid: *mut Fid, from: *const c_void, bytes: usize, to: Addr) -> isize {
    let call = Call {
        flags: INJECTED,
        ..Call::untagged(to, std::ptr::null_mut())
    };
    // SAFETY: as the caller promises.
    unsafe { call.send(fid, Memory::One(from, bytes)) }
}

unsafe extern "C" fn senddata(
    fid: *mut Fid,
    from: *const c_void,
    bytes: usize,
    _desc: *mut c_void,
    data: u64,
    to: Addr,
    context: *mut c_void,
) -> isize {
    let call = Call::untagged(to, context).with_data(data);
    // SAFETY: as the caller promises.
    unsafe { call.send(fid, Memory::One(from, bytes)) }
}

unsafe extern "C" fn injectdata(
    fid: *mut Fid,
    from: *const c_void,
    bytes: usize,
    data: u64,
    to: Addr,
) -> isize {
    let call = Call {
        flags: INJECTED,
        ..Call::untagged(to, std::ptr::null_mut()).with_data(data)
    };
    // SAFETY: as the caller promises.
    unsafe { call.send(fid, Memory::One(from, bytes)) }
}

unsafe extern "C" fn trecv(
    fid: *mut Fid,
    into: *mut c_void,
    bytes: usize,
    _desc: *mut c_void,
    from: Addr,
    tag: u64,
    ignore: u64,
    context: *mut c_void,
) -> isize {
    let call = Call {
        ignore,
        ..Call::tagged(from, tag, context)
    };
    // SAFETY: as the caller promises.
    unsafe { call.receive(fid, Memory::One(into, bytes)) }
}

unsafe extern "C" fn trecvv(
    fid: *mut Fid,
    into: *const Iovec,
    _desc: *mut *mut c_void,
    count: usize,
    from: Addr,
    tag: u64,
    ignore: u64,
    context: *mut c_void,
) -> isize {
    let call = Call {
        ignore,
        ..Call::tagged(from, tag, context)
    };
    // SAFETY: as the caller promises.
    unsafe { call.receive(fid, Memory::Vector(into, count)) }
}

unsafe extern "C" fn trecvmsg(fid: *mut Fid, message: *const MsgTagged, asked: u64) -> isize {
    // SAFETY: as the caller promises.
    unsafe { tagged(message, asked).map_or(INVALID, |(call, memory)| call.receive(fid, memory)) }
}

unsafe extern "C" fn tsend(
    fid: *mut Fid,
    from: *const c_void,
    bytes: usize,
    _desc: *mut c_void,
    to: Addr,
    tag: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: as the caller promises.
    unsafe { Call::tagged(to, tag, context).send(fid, Memory::One(from, bytes)) }
}

unsafe extern "C" fn tsendv(
    fid: *mut Fid,
    from: *const Iovec,
    _desc: *mut *mut c_void,
    count: usize,
    to: Addr,
    tag: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: as the caller promises.
    unsafe { Call::tagged(to, tag, context).send(fid, Memory::Vector(from, count)) }
}

unsafe extern "C" fn tsendmsg(fid: *mut Fid, message: *const MsgTagged, asked: u64) -> isize {
    // SAFETY: as the caller promises.
    unsafe { tagged(message, asked).map_or(INVALID, |(call, memory)| call.send(fid, memory)) }
}

unsafe extern "C" fn tinject(
    fid: *mut Fid,
    from: *const c_void,
    bytes: usize,
    to: Addr,
    tag: u64,
) -> isize {
    let call = Call {
        flags: INJECTED,
        ..Call::tagged(to, tag, std::ptr::null_mut())
    };
    // SAFETY: as the caller promises.
    unsafe { call.send(fid, Memory::One(from, bytes)) }
}

unsafe extern "C" fn tsenddata(
    fid: *mut Fid,
    from: *const c_void,
    bytes: usize,
    _desc: *mut c_void,
    data: u64,
    to: Addr,
    tag: u64,
    context: *mut c_void,
) -> isize {
    let call = Call::tagged(to, tag, context).with_data(data);
    // SAFETY: as the caller promises.
    unsafe { call.send(fid, Memory::One(from, bytes)) }
}

unsafe extern "C" fn tinjectdata(
    fid: *mut Fid,
    from: *const c_void,
    bytes: usize,
    data: u64,
    to: Addr,
    tag: u64,
) -> isize {
    let call = Call {
        flags: INJECTED,
        ..Call::tagged(to, tag, std::ptr::null_mut()).with_data(data)
    };
    // SAFETY: as the caller promises.
    unsafe { call.send(fid, Memory::One(from, bytes)) }
}
