// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints: reliable datagrams.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use gyre_collectives::Collectives;
use parking_lot::Mutex;

use crate::abi::{CmOps, ENABLE, EpOps, Fid, Info, OPT_MIN_MULTI_RECV, class, flags, not_there};
use crate::av::{self, Name, write_name};
use crate::boundary::{self, Refusal};
use crate::handle::{self, Domain, FidEp};
use crate::object::{self, BindFn, ControlFn, Object};
use crate::port::{Bindings, Port};
use crate::progress::Progress;
use crate::{arrival, cntr, cq, message_functions, mpi, receive, rma, short_write};

/// Dispatch of the messages of collectives.
const COLLECTIVES: u8 = 100;

static EP_OPS: EpOps = EpOps {
    size: size_of::<EpOps>(),
    cancel,
    getopt,
    setopt,
    tx_ctx: not_there,
    rx_ctx: not_there,
    rx_size_left: not_there,
    tx_size_left: not_there,
};

static CM_OPS: CmOps = CmOps {
    size: size_of::<CmOps>(),
    setname: not_there,
    getname,
    getpeer: not_there,
    connect: not_there,
    listen: not_there,
    accept: not_there,
    reject: not_there,
    shutdown: not_there,
    join: not_there,
};

/// `fi_endpoint`.
///
/// # Safety
/// As libfabric says.
pub unsafe extern "C" fn open(
    of_domain: *mut Fid,
    info: *mut Info,
    endpoint: *mut *mut Fid,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the program passes a domain, information or null, and a place for the result. Information points to attributes
    // or to nothing.
    unsafe {
        object::open(endpoint, context, |fid| {
            let domain = object::of::<Domain>(of_domain)?;
            let info = info.as_ref();
            let tx = info.and_then(|info| info.tx_attr.as_ref());
            let rx = info.and_then(|info| info.rx_attr.as_ref());
            let port = Port::new(
                Arc::clone(&domain.node),
                tx.map_or(0, |tx| tx.op_flags),
                rx.map_or(0, |rx| rx.op_flags),
            )?;
            Ok(FidEp {
                fid,
                ops: &raw const EP_OPS,
                cm: &raw const CM_OPS,
                msg: &raw const message_functions::MSG_OPS,
                rma: &raw const rma::OPS,
                tagged: &raw const message_functions::TAGGED_OPS,
                atomic: ptr::null(),
                collective: ptr::null(),
                port: Arc::new(port),
                bindings: Mutex::default(),
            })
        })
    }
}

// SAFETY: it begins with its `fid`.
unsafe impl Object for FidEp {
    const CLASS: usize = class::EP;
    const BIND: BindFn = bind;
    const CONTROL: ControlFn = control;

    fn end(&self) -> Result<(), Refusal> {
        let port = &self.port;
        if port.collectives.get().is_some() {
            mpi::communicator::close(&port.context)?;
        }
        // Messages without a receive are refused.
        for matcher in &port.matchers {
            *matcher.lock() = Default::default();
        }
        port.node.give_back(&port.context)
    }
}

unsafe extern "C" fn bind(fid: *mut Fid, other: *mut Fid, asked: u64) -> c_int {
    boundary::status(|| {
        // SAFETY: the program passes an endpoint and something else.
        let (endpoint, class) = unsafe {
            let endpoint = object::of::<FidEp>(fid)?;
            (endpoint, other.as_ref().ok_or(Refusal::INVALID)?.fclass)
        };
        if endpoint.port.bindings.get().is_some() {
            return Err(Refusal(crate::abi::errno::BAD_STATE));
        }
        let mut bindings = endpoint.bindings.lock();
        let Bindings {
            addresses,
            sends,
            receives,
            reads,
            writes,
        } = &mut *bindings;
        match class {
            // SAFETY: its class says what it is.
            class::AV => *addresses = Some(unsafe { av::of(other)? }),
            class::CQ => {
                // SAFETY: as above.
                let queue = unsafe { cq::of(other)? };
                let selective = asked & flags::SELECTIVE_COMPLETION != 0;
                let kinds = [
                    (flags::SEND, sends),
                    // One-sided operations end where sends do.
                    (flags::SEND, reads),
                    (flags::SEND, writes),
                    (flags::RECV, receives),
                ];
                for (flag, bound) in kinds {
                    if asked & flag != 0 {
                        bound.queue = Some(Arc::clone(&queue));
                        bound.selective = selective;
                    }
                }
            }
            class::CNTR => {
                // SAFETY: as above.
                let counter = unsafe { cntr::of(other)? };
                let kinds = [
                    (flags::SEND, sends),
                    (flags::READ, reads),
                    (flags::WRITE, writes),
                    (flags::RECV, receives),
                ];
                for (flag, bound) in kinds {
                    if asked & flag != 0 {
                        bound.counter = Some(Arc::clone(&counter));
                    }
                }
            }
            _ => return Err(Refusal(libc::ENOSYS)),
        }
        Ok(())
    })
}

unsafe extern "C" fn control(fid: *mut Fid, command: c_int, _argument: *mut c_void) -> c_int {
    boundary::status(|| {
        // SAFETY: the program passes an endpoint.
        let endpoint = unsafe { object::of::<FidEp>(fid)? };
        if command != ENABLE {
            return Err(Refusal(libc::ENOSYS));
        }
        let port = &endpoint.port;
        let bindings = endpoint.bindings.lock().clone();
        if bindings.addresses.is_none() {
            return Err(Refusal(crate::abi::errno::BAD_STATE));
        }
        let all = [
            &bindings.sends,
            &bindings.receives,
            &bindings.reads,
            &bindings.writes,
        ];
        let served: Weak<dyn Progress> = Arc::<Port>::downgrade(port);
        for bound in all {
            if let Some(queue) = &bound.queue {
                queue.served.add(served.clone());
            }
            if let Some(counter) = &bound.counter {
                counter.served.add(served.clone());
            }
        }
        if port.bindings.set(bindings).is_err() {
            return Err(Refusal(crate::abi::errno::BAD_STATE));
        }
        arrival::attach(port)?;
        short_write::attach(port)?;
        if port.context.query().endpoint.context_offset() == 0 {
            let collectives = Collectives::attach(&port.context, COLLECTIVES)?;
            // It has just been enabled.
            let _ = port.collectives.set(collectives);
            mpi::communicator::serve(port);
        }
        Ok(())
    })
}

unsafe extern "C" fn getname(fid: *mut Fid, into: *mut c_void, room: *mut usize) -> c_int {
    boundary::status(|| {
        // SAFETY: the program passes an endpoint.
        let port = unsafe { handle::port(fid)? };
        let own = port.context.query().endpoint;
        // SAFETY: and room for a name.
        unsafe { write_name(&Name(own.task(), own.context_offset()), into, room) }
    })
}

unsafe extern "C" fn cancel(fid: *mut Fid, context: *mut c_void) -> isize {
    boundary::size(|| {
        // SAFETY: the program passes an endpoint.
        let port = unsafe { handle::port(fid)? };
        receive::cancel(&port, context as usize)
    })
}

unsafe extern "C" fn getopt(
    fid: *mut Fid,
    _level: c_int,
    option: c_int,
    value: *mut c_void,
    room: *mut usize,
) -> c_int {
    boundary::status(|| {
        // SAFETY: the program passes an endpoint.
        let port = unsafe { handle::port(fid)? };
        if option != OPT_MIN_MULTI_RECV {
            return Err(Refusal(libc::ENOPROTOOPT));
        }
        if value.is_null() || room.is_null() {
            return Err(Refusal::INVALID);
        }
        // SAFETY: room for a size.
        unsafe {
            if room.read() < size_of::<usize>() {
                return Err(Refusal(crate::abi::errno::TOO_SMALL));
            }
            room.write(size_of::<usize>());
            value.cast::<usize>().write_unaligned(port.least_room());
        }
        Ok(())
    })
}

unsafe extern "C" fn setopt(
    fid: *mut Fid,
    _level: c_int,
    option: c_int,
    value: *const c_void,
    bytes: usize,
) -> c_int {
    boundary::status(|| {
        // SAFETY: the program passes an endpoint.
        let port = unsafe { handle::port(fid)? };
        if option != OPT_MIN_MULTI_RECV {
            return Err(Refusal(libc::ENOPROTOOPT));
        }
        if value.is_null() || bytes != size_of::<usize>() {
            return Err(Refusal::INVALID);
        }
        // SAFETY: the program passes a size.
        let least = unsafe { value.cast::<usize>().read_unaligned() };
        port.least_room.store(least, Ordering::Relaxed);
        Ok(())
    })
}
