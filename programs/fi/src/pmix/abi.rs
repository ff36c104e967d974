// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types and constants of PMIx, the same in its versions 3 to 6.

use std::ffi::{c_char, c_int, c_void};

/// A result, `pmix_status_t`.
pub type Status = c_int;

/// Results.
pub mod status {
    use super::Status;

    /// `PMIX_SUCCESS`
    pub const SUCCESS: Status = 0;
    /// `PMIX_ERROR`
    pub const ERROR: Status = -1;
    /// `PMIX_ERR_UNREACH`: there is no server.
    pub const UNREACHABLE: Status = -25;
    /// `PMIX_ERR_BAD_PARAM`
    pub const INVALID: Status = -27;
    /// `PMIX_ERR_INIT`: not between start and end.
    pub const NOT_STARTED: Status = -31;
    /// `PMIX_ERR_NOMEM`
    pub const NO_MEMORY: Status = -32;
    /// `PMIX_ERR_NOT_FOUND`
    pub const NOT_FOUND: Status = -46;
    /// `PMIX_ERR_NOT_SUPPORTED`
    pub const NOT_SUPPORTED: Status = -47;
}

/// Types of values, `pmix_data_type_t`.
pub mod kind {
    /// `PMIX_STRING`
    pub const TEXT: u16 = 3;
    /// `PMIX_UINT16`
    pub const U16: u16 = 13;
    /// `PMIX_UINT32`
    pub const U32: u16 = 14;
    /// `PMIX_BYTE_OBJECT`
    pub const BYTES: u16 = 27;
    /// `PMIX_PROC_RANK`
    pub const RANK: u16 = 40;
}

/// Ranks from here on stand for several processes, or none: `PMIX_RANK_VALID`.
pub const RANKS: u32 = u32::MAX - 50;

/// `PMIX_RANK_WILDCARD`: all processes of a name space.
pub const ALL: u32 = u32::MAX - 1;

/// `pmix_proc_t`
#[repr(C)]
#[derive(Clone)]
pub struct Process {
    /// Name space, text that ends with a zero.
    pub space: [c_char; 256],
    /// Number in it.
    pub rank: u32,
}

/// `pmix_byte_object_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ByteObject {
    /// The bytes, which `free` takes.
    pub bytes: *mut c_char,
    /// How many.
    pub count: usize,
}

/// Content of a value, by its type.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Data {
    /// A number, in its first bytes.
    pub number: [u8; 8],
    /// Text, which `free` takes.
    pub text: *mut c_char,
    /// Bytes.
    pub bytes: ByteObject,
    /// The longest of others.
    pub others: [*mut c_void; 3],
}

/// `pmix_value_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CValue {
    /// Its type.
    pub kind: u16,
    /// The value.
    pub data: Data,
}

/// `pmix_info_t`, which nothing here looks into.
#[repr(C)]
pub struct Info {
    _private: [u8; 0],
}

/// Called when an operation has ended: result, a word of the caller's.
pub type DoneFn = Option<unsafe extern "C" fn(Status, *mut c_void)>;

/// The same with a value, which is the caller's only during the call.
pub type ValueFn = Option<unsafe extern "C" fn(Status, *mut CValue, *mut c_void)>;

/// The same with the number of a handler of events.
pub type HandlerFn = Option<unsafe extern "C" fn(Status, usize, *mut c_void)>;

const _: () = assert!(size_of::<CValue>() == 32 && size_of::<Process>() == 260);
