// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints and their codes.

use gyre_driver::TaskId;

use crate::abi;
use crate::boundary;
use crate::client::CLIENTS;
use crate::endpoint_code::{endpoint_code, parts};
use crate::failure::Failure;
use gyre_interpose::Job;

/// C: `PAMI_Endpoint_create`.
///
/// # Safety
/// As `PAMI_Client_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Endpoint_create(
    client: abi::Client,
    task: abi::Task,
    offset: usize,
    endpoint: *mut abi::Endpoint,
) -> abi::ResultCode {
    boundary::result(|| {
        let client = CLIENTS.get(client)?;
        if endpoint.is_null() {
            return Err(Failure::invalid("endpoint is null"));
        }
        let offset = u8::try_from(offset)
            .map_err(|_| Failure::invalid(format!("no context has offset {offset}")))?;
        let found = client.contexts[0].endpoint(TaskId(task), offset)?;
        // SAFETY: the program passes a place for the endpoint.
        unsafe { endpoint.write(endpoint_code(found)) };
        Ok(())
    })
}

/// C: `PAMI_Endpoint_query`.
///
/// # Safety
/// As `PAMI_Client_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Endpoint_query(
    endpoint: abi::Endpoint,
    task: *mut abi::Task,
    offset: *mut usize,
) -> abi::ResultCode {
    boundary::result(|| {
        let (number, context) = parts(endpoint);
        if number as usize >= Job::get()?.description.nodes.len() {
            return Err(Failure::invalid(format!(
                "{endpoint:#x} is not an endpoint"
            )));
        }
        if task.is_null() || offset.is_null() {
            return Err(Failure::invalid("task or offset is null"));
        }
        // SAFETY: the program passes places for both.
        unsafe {
            task.write(number);
            offset.write(usize::from(context));
        }
        Ok(())
    })
}
