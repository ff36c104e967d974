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
}
