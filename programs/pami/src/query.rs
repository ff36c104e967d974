// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attributes of clients, contexts and dispatches.

use crate::abi::{
    AttributeName, AttributeValue, CLIENT_ASYNC_GUARANTEE, Client, Configuration, Context,
    ResultCode,
};
use crate::boundary;
use crate::client::{self, CLIENTS};
use crate::context::CONTEXTS;
use crate::dispatch;
use crate::failure::Failure;
use crate::settings::check_count;

/// Main memory of a process, MiB.
const MEMORY_MIB: usize = 65_536;

/// Name of a task's processor.
const PROCESSOR: &std::ffi::CStr = c"gyre";

/// Fills in the values of `count` attributes.
///
/// # Safety
/// `configuration` points to `count` of them.
pub unsafe fn answer(
    configuration: *mut Configuration,
    count: usize,
    value: impl Fn(AttributeName) -> Option<AttributeValue>,
) -> Result<(), Failure> {
    if configuration.is_null() && count > 0 {
        return Err(Failure::invalid("the attributes are null"));
    }
    check_count(count)?;
    for place in 0..count {
        // SAFETY: what the caller promises.
        let attribute = unsafe { &mut *configuration.add(place) };
        let name = attribute.name;
        attribute.value = value(name).ok_or_else(|| {
            Failure::invalid(format!("attribute {} cannot be queried here", name.0))
        })?;
    }
    Ok(())
}

/// A number as the value of an attribute.
pub fn number(intval: usize) -> AttributeValue {
    AttributeValue { intval }
}

fn of_client(client: &client::Client, name: AttributeName) -> Option<AttributeValue> {
    let job = client.job;
    let clock_mhz = job.description.clock_mhz;
    Some(match name {
        AttributeName::CLIENT_CLOCK_MHZ | AttributeName::CLIENT_WTIMEBASE_MHZ => {
            number(clock_mhz as usize)
        }
        AttributeName::CLIENT_CONST_CONTEXTS => number(1),
        AttributeName::CLIENT_HWTHREADS_AVAILABLE => {
            number(job.description.hardware_threads.into())
        }
        AttributeName::CLIENT_MEMREGION_SIZE => number(size_of::<crate::abi::Memregion>()),
        AttributeName::CLIENT_MEM_SIZE => number(MEMORY_MIB),
        AttributeName::CLIENT_NUM_TASKS => number(job.description.nodes.len()),
        AttributeName::CLIENT_NUM_LOCAL_TASKS => number(job.local_tasks.len()),
        AttributeName::CLIENT_LOCAL_TASKS => AttributeValue {
            intarray: job.local_tasks.as_ptr(),
        },
        AttributeName::CLIENT_NUM_CONTEXTS => number(client.contexts.len()),
        AttributeName::CLIENT_PROCESSOR_NAME => AttributeValue {
            chararray: PROCESSOR.as_ptr(),
        },
        AttributeName::CLIENT_TASK_ID => number(job.description.task as usize),
        CLIENT_ASYNC_GUARANTEE => number(1),
        // One picosecond.
        AttributeName::CLIENT_WTICK => AttributeValue { doubleval: 1e-12 },
        _ => return None,
    })
}

/// C: `PAMI_Client_query`.
///
/// # Safety
/// The program keeps to what `pami.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Client_query(
    client: Client,
    configuration: *mut Configuration,
    num_configs: usize,
) -> ResultCode {
    boundary::result(|| {
        let client = CLIENTS.get(client)?;
        // SAFETY: the program passes this many attributes.
        unsafe { answer(configuration, num_configs, |name| of_client(&client, name)) }
    })
}

/// C: `PAMI_Context_query`.
///
/// # Safety
/// As [`PAMI_Client_query`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_query(
    context: Context,
    configuration: *mut Configuration,
    num_configs: usize,
) -> ResultCode {
    boundary::result(|| {
        CONTEXTS.get(context)?;
        let value = |name| {
            (name == AttributeName::CONTEXT_DISPATCH_ID_MAX).then(|| number(dispatch::LARGEST))
        };
        // SAFETY: the program passes this many attributes.
        unsafe { answer(configuration, num_configs, value) }
    })
}

/// C: `PAMI_Dispatch_query`.
///
/// # Safety
/// As [`PAMI_Client_query`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Dispatch_query(
    context: Context,
    dispatch: usize,
    configuration: *mut Configuration,
    num_configs: usize,
) -> ResultCode {
    boundary::result(|| {
        let context = CONTEXTS.get(context)?;
        if !context.dispatches.lock().contains_key(&dispatch) {
            return Err(Failure::invalid(format!("dispatch {dispatch} is not set")));
        }
        let value = |name| match name {
            AttributeName::DISPATCH_RECV_IMMEDIATE_MAX
            | AttributeName::DISPATCH_SEND_IMMEDIATE_MAX => Some(number(dispatch::IMMEDIATE)),
            AttributeName::DISPATCH_ATOM_SIZE_MAX => Some(number(usize::MAX)),
            _ => None,
        };
        // SAFETY: the program passes this many attributes.
        unsafe { answer(configuration, num_configs, value) }
    })
}

/// No attribute of clients, contexts and dispatches can be updated.
fn update(known: Result<(), Failure>, count: usize) -> ResultCode {
    boundary::result(|| {
        known?;
        match count {
            0 => Ok(()),
            _ => Err(Failure::invalid("the attribute cannot be updated")),
        }
    })
}

/// C: `PAMI_Client_update`.
///
/// # Safety
/// As [`PAMI_Client_query`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Client_update(
    client: Client,
    _configuration: *mut Configuration,
    num_configs: usize,
) -> ResultCode {
    update(CLIENTS.get(client).map(|_| ()), num_configs)
}

/// C: `PAMI_Context_update`.
///
/// # Safety
/// As [`PAMI_Client_query`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Context_update(
    context: Context,
    _configuration: *mut Configuration,
    num_configs: usize,
) -> ResultCode {
    update(CONTEXTS.get(context).map(|_| ()), num_configs)
}

/// C: `PAMI_Dispatch_update`.
///
/// # Safety
/// As [`PAMI_Client_query`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Dispatch_update(
    context: Context,
    _dispatch: usize,
    _configuration: *mut Configuration,
    num_configs: usize,
) -> ResultCode {
    update(CONTEXTS.get(context).map(|_| ()), num_configs)
}
