// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of the program that are called for active-message collectives.

use std::ffi::c_void;
use std::ptr;

use crate::abi::{self, DataFunction, Recv};
use crate::amcollective::call::Kind;
use crate::failure::Failure;

/// Receives data.
type Receives = unsafe extern "C" fn(
    abi::Context,
    *mut c_void,
    *const c_void,
    usize,
    *const c_void,
    usize,
    abi::Endpoint,
    abi::Geometry,
    *mut Recv,
);

/// A function of a dispatch.
#[derive(Clone, Copy)]
enum Function {
    Receives(Receives),
    Gathers(
        unsafe extern "C" fn(
            abi::Context,
            *mut c_void,
            *const c_void,
            usize,
            usize,
            abi::Endpoint,
            abi::Geometry,
            *mut Recv,
        ),
    ),
    Reduces(
        unsafe extern "C" fn(
            abi::Context,
            *mut c_void,
            *const c_void,
            usize,
            usize,
            abi::Endpoint,
            abi::Geometry,
            *mut DataFunction,
            *mut Recv,
        ),
    ),
}

/// Answer of a function of the program.
pub struct Said {
    /// Place of the data.
    pub place: Recv,
    /// Operation, from the function of a reduction.
    pub operation: DataFunction,
}

/// A function of the program, with its cookie.
#[derive(Clone, Copy)]
pub struct Receiver {
    function: Function,
    cookie: usize,
    /// Handle of its context.
    pub context: usize,
}

impl Receiver {
    /// The member of `function` for a kind.
    ///
    /// # Errors
    /// `PAMI_INVAL` when it is null.
    pub fn new(
        kind: Kind,
        function: abi::DispatchCallbackFunction,
        cookie: *mut c_void,
        context: usize,
    ) -> Result<Self, Failure> {
        // SAFETY: all members are functions or null, and the program has filled in that of the kind.
        let function = unsafe {
            match kind {
                Kind::Broadcast => function.ambroadcast.map(Function::Receives),
                Kind::Scatter => function.amscatter.map(Function::Receives),
                Kind::Gather => function.amgather.map(Function::Gathers),
                Kind::Reduce => function.amreduce.map(Function::Reduces),
            }
        };
        Ok(Self {
            function: function.ok_or_else(|| Failure::invalid("the function is null"))?,
            cookie: cookie as usize,
            context,
        })
    }

    /// Calls it. It gets no data; it returns the place of the data.
    pub fn call(
        &self,
        header: &[u8],
        bytes: usize,
        origin: abi::Endpoint,
        geometry: usize,
    ) -> Said {
        let mut said = Said {
            place: Recv::UNSAID,
            operation: None,
        };
        let (context, cookie) = (self.context as abi::Context, self.cookie as *mut c_void);
        let (address, length) = (header.as_ptr().cast(), header.len());
        let geometry = geometry as abi::Geometry;
        let place = &raw mut said.place;
        // SAFETY: the program has set the function and its cookie for such calls. The header and what is to be filled in
        // last until it returns.
        unsafe {
            match self.function {
                Function::Receives(function) => function(
                    context,
                    cookie,
                    address,
                    length,
                    ptr::null(),
                    bytes,
                    origin,
                    geometry,
                    place,
                ),
                Function::Gathers(function) => function(
                    context, cookie, address, length, bytes, origin, geometry, place,
                ),
                Function::Reduces(function) => function(
                    context,
                    cookie,
                    address,
                    length,
                    bytes,
                    origin,
                    geometry,
                    &raw mut said.operation,
                    place,
                ),
            }
        }
        said
    }
}
