// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions on types.

use std::ffi::c_void;

use crate::abi::{self, AttributeName, Configuration, DataFunction, ResultCode};
use crate::boundary;
use crate::failure::Failure;
use crate::memory::check_length;
use crate::query::{answer, number};
use crate::type_handles::{Made, TYPES, complete, made};
use crate::typed_data::{Function, Place, transform};
use crate::types::Type;

/// Writes the handle of a new type for the program.
///
/// # Safety
/// `type_` is null or a place for a handle.
unsafe fn add(type_: *mut abi::Type, new: Made) -> Result<(), Failure> {
    let handle = TYPES.add(|_| Ok::<_, Failure>(new))?;
    // SAFETY: what the caller promises; it is not null.
    unsafe { type_.write(handle as abi::Type) };
    Ok(())
}

fn refuse_null<T>(pointer: *const T, what: &str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::invalid(format!("the {what} is null")));
    }
    Ok(())
}

/// C: `PAMI_Type_create`.
///
/// # Safety
/// The program keeps to what `pami.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_create(type_: *mut abi::Type) -> ResultCode {
    boundary::result(|| {
        refuse_null(type_, "place for the type")?;
        // SAFETY: the program passes a place for the handle.
        unsafe { add(type_, Made::new()) }
    })
}

/// C: `PAMI_Type_add_simple`.
///
/// # Safety
/// As [`PAMI_Type_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_add_simple(
    type_: abi::Type,
    bytes: usize,
    offset: usize,
    count: usize,
    stride: usize,
) -> ResultCode {
    boundary::result(|| made(type_)?.change(|type_| type_.add_simple(bytes, offset, count, stride)))
}

/// C: `PAMI_Type_add_typed`.
///
/// # Safety
/// As [`PAMI_Type_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_add_typed(
    type_: abi::Type,
    subtype: abi::Type,
    offset: usize,
    count: usize,
    stride: usize,
) -> ResultCode {
    boundary::result(|| {
        let type_ = made(type_)?;
        let subtype = complete(subtype).map_err(|failure| Failure {
            text: format!("subtype: {failure}"),
            ..failure
        })?;
        type_.change(|type_| type_.add_typed(&subtype.layout, offset, count, stride))
    })
}

/// C: `PAMI_Type_complete`.
///
/// # Safety
/// As [`PAMI_Type_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_complete(type_: abi::Type, atom_size: usize) -> ResultCode {
    boundary::result(|| made(type_)?.finish(atom_size))
}

/// C: `PAMI_Type_destroy`.
///
/// # Safety
/// As [`PAMI_Type_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_destroy(type_: *mut abi::Type) -> ResultCode {
    boundary::result(|| {
        refuse_null(type_, "place of the type")?;
        // SAFETY: the program passes a place with a handle.
        let handle = unsafe { type_.read() };
        made(handle)?;
        TYPES.remove(handle)?;
        // SAFETY: as above.
        unsafe { type_.write(std::ptr::null_mut()) };
        Ok(())
    })
}

/// C: `PAMI_Type_serialize`.
///
/// # Safety
/// As [`PAMI_Type_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_serialize(
    type_: abi::Type,
    address: *mut *mut c_void,
    size: *mut usize,
) -> ResultCode {
    boundary::result(|| {
        let type_ = complete(type_)?;
        refuse_null(address, "place for the address")?;
        refuse_null(size, "place for the size")?;
        let bytes = type_.serialized();
        // SAFETY: the program passes places for both. The bytes last as long as the type, whose handle holds it.
        unsafe {
            address.write(bytes.as_ptr().cast_mut().cast());
            size.write(bytes.len());
        }
        Ok(())
    })
}

/// C: `PAMI_Type_deserialize`.
///
/// # Safety
/// As [`PAMI_Type_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_deserialize(
    type_: *mut abi::Type,
    address: *mut c_void,
    size: usize,
) -> ResultCode {
    boundary::result(|| {
        refuse_null(type_, "place for the type")?;
        refuse_null(address, "address")?;
        check_length(size)?;
        // SAFETY: the program passes this many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(address.cast(), size) };
        let made = Made::complete(Type::deserialized(bytes)?);
        // SAFETY: the program passes a place for the handle.
        unsafe { add(type_, made) }
    })
}

/// C: `PAMI_Type_query`.
///
/// # Safety
/// As [`PAMI_Type_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_query(
    type_: abi::Type,
    configuration: *mut Configuration,
    num_configs: usize,
) -> ResultCode {
    boundary::result(|| {
        let type_ = complete(type_)?;
        let value = |name| match name {
            AttributeName::TYPE_DATA_SIZE => Some(number(type_.size())),
            AttributeName::TYPE_DATA_EXTENT => Some(number(type_.extent())),
            AttributeName::TYPE_ATOM_SIZE => Some(number(type_.atom)),
            _ => None,
        };
        // SAFETY: the program passes this many attributes.
        unsafe { answer(configuration, num_configs, value) }
    })
}

/// C: `PAMI_Type_transform_data`.
///
/// # Safety
/// As [`PAMI_Type_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Type_transform_data(
    src_addr: *mut c_void,
    src_type: abi::Type,
    src_offset: usize,
    dst_addr: *mut c_void,
    dst_type: abi::Type,
    dst_offset: usize,
    size: usize,
    data_fn: DataFunction,
    cookie: *mut c_void,
) -> ResultCode {
    boundary::result(|| {
        let from = Place::new(src_addr, src_type, src_offset)?;
        let to = Place::new(dst_addr, dst_type, dst_offset)?;
        let by = Function {
            function: data_fn,
            cookie,
        };
        // SAFETY: the program's memory is as its types say.
        unsafe { transform(from, to, size, by) }
    })
}
