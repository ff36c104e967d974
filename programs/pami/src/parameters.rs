// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of the interface that take a context and a structure of parameters.

use std::sync::Arc;

use crate::abi::{self, ResultCode};
use crate::boundary;
use crate::context::{CONTEXTS, Context};
use crate::failure::Failure;

/// Body of such a function.
pub type Body<T> = fn(&Arc<Context>, &T) -> Result<(), Failure>;

/// Runs the body of such a function.
///
/// # Safety
/// `parameters` is null or points to them, for as long as the body runs.
pub unsafe fn run<T>(context: abi::Context, parameters: *const T, body: Body<T>) -> ResultCode {
    boundary::result(|| {
        let context = CONTEXTS.get(context)?;
        // SAFETY: what the caller promises.
        let parameters = unsafe { parameters.as_ref() };
        let parameters = parameters.ok_or_else(|| Failure::invalid("parameters are null"))?;
        body(&context, parameters)
    })
}

/// Exports such functions, each with the type of its parameters and its body.
macro_rules! exported {
    ($($name:ident($type:ident) = $body:expr;)*) => {$(
        #[doc = concat!("C: `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// The program keeps to what `pami.h` says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            context: $crate::abi::Context,
            parameters: *mut $crate::abi::$type,
        ) -> $crate::abi::ResultCode {
            let body: $crate::parameters::Body<$crate::abi::$type> = $body;
            // SAFETY: the program passes parameters or null.
            unsafe { $crate::parameters::run(context, parameters, body) }
        }
    )*};
}
pub(crate) use exported;
