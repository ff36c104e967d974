// SPDX-License-Identifier: MIT OR Apache-2.0
//! The variables of the interface: null handles, predefined types and operations.

use crate::abi::Type;

/// A handle in a variable of the library: a number that is not an address.
#[derive(Debug)]
#[repr(transparent)]
pub struct Number(usize);

/// Exports variables, each with its value.
macro_rules! variables {
    ($($name:ident: $type:ty = $value:expr;)*) => {
        $(
            #[doc = concat!("C: `", stringify!($name), "`.")]
            #[unsafe(no_mangle)]
            pub static $name: $type = $value;
        )*
    };
}

variables! {
    PAMI_CLIENT_NULL: Number = Number(0);
    PAMI_TYPE_NULL: Number = Number(0);
    PAMI_CONTEXT_NULL: Number = Number(0);
    PAMI_GEOMETRY_NULL: Number = Number(0);
    PAMI_ALGORITHM_NULL: Number = Number(0);
    PAMI_ENDPOINT_NULL: u32 = u32::MAX;
    PAMI_ALL_CONTEXTS: Number = Number(usize::MAX);
}

variables! {
    PAMI_TYPE_BYTE: Number = Number(1);
    PAMI_TYPE_SIGNED_CHAR: Number = Number(2);
    PAMI_TYPE_UNSIGNED_CHAR: Number = Number(3);
    PAMI_TYPE_SIGNED_SHORT: Number = Number(4);
    PAMI_TYPE_UNSIGNED_SHORT: Number = Number(5);
    PAMI_TYPE_SIGNED_INT: Number = Number(6);
    PAMI_TYPE_UNSIGNED_INT: Number = Number(7);
    PAMI_TYPE_SIGNED_LONG: Number = Number(8);
    PAMI_TYPE_UNSIGNED_LONG: Number = Number(9);
    PAMI_TYPE_SIGNED_LONG_LONG: Number = Number(10);
    PAMI_TYPE_UNSIGNED_LONG_LONG: Number = Number(11);
    PAMI_TYPE_FLOAT: Number = Number(12);
    PAMI_TYPE_DOUBLE: Number = Number(13);
    PAMI_TYPE_LONG_DOUBLE: Number = Number(14);
    PAMI_TYPE_LOGICAL1: Number = Number(15);
    PAMI_TYPE_LOGICAL2: Number = Number(16);
    PAMI_TYPE_LOGICAL4: Number = Number(17);
    PAMI_TYPE_LOGICAL8: Number = Number(18);
    PAMI_TYPE_SINGLE_COMPLEX: Number = Number(19);
    PAMI_TYPE_DOUBLE_COMPLEX: Number = Number(20);
    PAMI_TYPE_LOC_2INT: Number = Number(21);
    PAMI_TYPE_LOC_2FLOAT: Number = Number(22);
    PAMI_TYPE_LOC_2DOUBLE: Number = Number(23);
    PAMI_TYPE_LOC_SHORT_INT: Number = Number(24);
    PAMI_TYPE_LOC_FLOAT_INT: Number = Number(25);
    PAMI_TYPE_LOC_DOUBLE_INT: Number = Number(26);
    PAMI_TYPE_LOC_LONG_INT: Number = Number(27);
    PAMI_TYPE_LOC_LONGDOUBLE_INT: Number = Number(28);
}

variables! {
    PAMI_DATA_COPY: Number = Number(1);
    PAMI_DATA_NOOP: Number = Number(2);
    PAMI_DATA_MAX: Number = Number(3);
    PAMI_DATA_MIN: Number = Number(4);
    PAMI_DATA_SUM: Number = Number(5);
    PAMI_DATA_PROD: Number = Number(6);
    PAMI_DATA_LAND: Number = Number(7);
    PAMI_DATA_LOR: Number = Number(8);
    PAMI_DATA_LXOR: Number = Number(9);
    PAMI_DATA_BAND: Number = Number(10);
    PAMI_DATA_BOR: Number = Number(11);
    PAMI_DATA_BXOR: Number = Number(12);
    PAMI_DATA_MAXLOC: Number = Number(13);
    PAMI_DATA_MINLOC: Number = Number(14);
}

/// Bytes of an integer type, 4 or 8; `None` for any other type.
pub fn integer_bytes(type_: Type) -> Option<usize> {
    let is = |types: &[&Number]| types.iter().any(|number| number.0 == type_ as usize);
    if is(&[&PAMI_TYPE_SIGNED_INT, &PAMI_TYPE_UNSIGNED_INT]) {
        return Some(4);
    }
    let longs = [
        &PAMI_TYPE_SIGNED_LONG,
        &PAMI_TYPE_UNSIGNED_LONG,
        &PAMI_TYPE_SIGNED_LONG_LONG,
        &PAMI_TYPE_UNSIGNED_LONG_LONG,
    ];
    is(&longs).then_some(8)
}
