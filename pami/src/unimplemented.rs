//! Functions of the interface that are not there yet: each answers `PAMI_UNIMPL` and says so.

use crate::abi::ResultCode;
use crate::boundary;
use crate::failure::Failure;

/// Exports functions that refuse whatever they are called with: what is in the registers of arguments is not looked at.
macro_rules! unimplemented {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("C: `", stringify!($name), "`, which is not implemented.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> ResultCode {
                boundary::result(|| Err(Failure::unimplemented(stringify!($name))))
            }
        )*
    };
}

unimplemented! {
    PAMI_AMCollective_dispatch_set
    PAMI_Collective
    PAMI_Extension_close
    PAMI_Extension_open
    PAMI_Geometry_algorithms_num
    PAMI_Geometry_algorithms_query
    PAMI_Geometry_create_endpointlist
    PAMI_Geometry_create_tasklist
    PAMI_Geometry_create_taskrange
    PAMI_Geometry_destroy
    PAMI_Geometry_query
    PAMI_Geometry_update
    PAMI_Geometry_world
    PAMI_Get
    PAMI_Get_typed
    PAMI_Memregion_create
    PAMI_Memregion_destroy
    PAMI_Put
    PAMI_Put_typed
    PAMI_Rget
    PAMI_Rget_typed
    PAMI_Rmw
    PAMI_Rput
    PAMI_Rput_typed
    PAMI_Send_typed
    PAMI_Type_add_simple
    PAMI_Type_add_typed
    PAMI_Type_complete
    PAMI_Type_create
    PAMI_Type_deserialize
    PAMI_Type_destroy
    PAMI_Type_query
    PAMI_Type_serialize
    PAMI_Type_transform_data
}

/// C: `PAMI_Extension_symbol`: no extension can be opened, so none has a symbol.
#[unsafe(no_mangle)]
pub extern "C" fn PAMI_Extension_symbol() -> *mut std::ffi::c_void {
    boundary::value(|| {
        boundary::note("PAMI_Extension_symbol is not implemented");
        std::ptr::null_mut()
    })
}
