// SPDX-License-Identifier: MIT OR Apache-2.0
//! Extensions, which programs open by name: the torus, `pami_ext_torus.h`, and asynchronous progress (`async_progress`).

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

use gyre_driver::Network;

use crate::abi::{self, ResultCode, Task, TorusInformation};
use crate::async_progress;
use crate::boundary;
use crate::client::CLIENTS;
use crate::failure::Failure;
use crate::handles::Handles;
use gyre_interpose::Job;

/// An extension that is open.
#[derive(Clone, Copy)]
enum Extension {
    Torus,
    AsyncProgress,
}

/// Extensions that are open.
static OPEN: Handles<Extension> = Handles::new("extension", 0x200_0000);

/// Dimensions of the torus.
const DIMENSIONS: usize = 5;

/// The torus as this task sees it, constant for the process.
static TORUS: OnceLock<Torus> = OnceLock::new();

struct Torus {
    size: [usize; DIMENSIONS],
    /// Structure that points to the other arrays.
    information: TorusInformation,
}

// SAFETY: what the addresses point to belongs to the library, lasts as long as the process, and is never written.
unsafe impl Send for Torus {}
// SAFETY: as above.
unsafe impl Sync for Torus {}

impl Torus {
    fn new(network: Network, job: &Job) -> Self {
        let coordinates = job.description.nodes[job.description.task as usize];
        let leak = |values: [usize; DIMENSIONS]| Box::leak(Box::new(values)).as_mut_ptr();
        let size = network.sizes().map(usize::from);
        Self {
            size,
            information: TorusInformation {
                dims: DIMENSIONS,
                coord: leak(coordinates.map(usize::from)),
                size: leak(size),
                torus: leak(network.rings().map(usize::from)),
            },
        }
    }
}

fn torus() -> Result<&'static Torus, Failure> {
    let opened = TORUS.get();
    opened.ok_or_else(|| Failure::invalid("the extension of the torus has never been open"))
}

/// Symbol `information`.
extern "C" fn information() -> *const TorusInformation {
    boundary::value(|| torus().map_or(std::ptr::null(), |torus| &raw const torus.information))
}

/// Symbol `task2torus`.
unsafe extern "C" fn task_to_torus(task: Task, address: *mut usize) -> ResultCode {
    boundary::result(|| {
        torus()?;
        let nodes = &Job::get()?.description.nodes;
        let node = nodes.get(task as usize);
        let node = node.ok_or_else(|| Failure::invalid(format!("task {task} does not exist")))?;
        if address.is_null() {
            return Err(Failure::invalid("the place for coordinates is null"));
        }
        for (dimension, &at) in node.iter().enumerate() {
            // SAFETY: the program passes a place for each dimension.
            unsafe { address.add(dimension).write(at.into()) };
        }
        Ok(())
    })
}

/// Symbol `torus2task`: the first task of the node.
unsafe extern "C" fn torus_to_task(address: *mut usize, task: *mut Task) -> ResultCode {
    boundary::result(|| {
        let torus = torus()?;
        if address.is_null() || task.is_null() {
            return Err(Failure::invalid(
                "coordinates or place for the task are null",
            ));
        }
        // SAFETY: the program passes a coordinate for each dimension.
        let at: [usize; DIMENSIONS] =
            std::array::from_fn(|dimension| unsafe { *address.add(dimension) });
        if at.iter().zip(torus.size).any(|(at, size)| *at >= size) {
            let text = format!("{at:?} is no place in a torus of {:?}", torus.size);
            return Err(Failure::invalid(text));
        }
        let mut nodes = Job::get()?.description.nodes.iter();
        let found = nodes.position(|node| node.map(usize::from) == at);
        let found = found.ok_or_else(|| Failure::error(format!("no task is at {at:?}")))?;
        // SAFETY: the program passes a place for the task, below the number of tasks.
        unsafe { task.write(found as Task) };
        Ok(())
    })
}

/// Text that the program passes.
///
/// # Safety
/// `name` is null or ends with a zero.
unsafe fn text<'a>(name: *const c_char) -> Result<&'a CStr, Failure> {
    if name.is_null() {
        return Err(Failure::invalid("the name is null"));
    }
    // SAFETY: what the caller promises.
    Ok(unsafe { CStr::from_ptr(name) })
}

/// C: `PAMI_Extension_open`.
///
/// # Safety
/// The program keeps to what `pami.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Extension_open(
    client: abi::Client,
    name: *const c_char,
    extension: *mut abi::Extension,
) -> ResultCode {
    boundary::result(|| {
        // SAFETY: the program passes text.
        let name = unsafe { text(name)? };
        let known = match name.to_bytes() {
            b"EXT_torus_network" => Extension::Torus,
            b"EXT_async_progress" => Extension::AsyncProgress,
            _ => {
                let name = name.to_string_lossy();
                return Err(Failure::unimplemented(&format!("extension `{name}`")));
            }
        };
        if extension.is_null() {
            return Err(Failure::invalid("the place for the extension is null"));
        }
        // Programs open asynchronous progress before they have a client.
        if matches!(known, Extension::Torus) {
            let client = CLIENTS.get(client)?;
            let network = client.network()?;
            TORUS.get_or_init(|| Torus::new(network, client.job));
        }
        let handle = OPEN.add(|_| Ok::<_, Failure>(known))?;
        // SAFETY: the program passes a place for the handle.
        unsafe { extension.write(handle as *mut c_void) };
        Ok(())
    })
}

/// C: `PAMI_Extension_close`.
#[unsafe(no_mangle)]
pub extern "C" fn PAMI_Extension_close(extension: abi::Extension) -> ResultCode {
    boundary::result(|| OPEN.remove(extension).map(|_| ()))
}

/// C: `PAMI_Extension_symbol`.
///
/// # Safety
/// As [`PAMI_Extension_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Extension_symbol(
    extension: abi::Extension,
    name: *const c_char,
) -> *mut c_void {
    boundary::value(|| {
        let open = OPEN.get(extension);
        // SAFETY: the program passes text.
        let named = open.and_then(|open| Ok((*open, unsafe { text(name)? })));
        let function = match named.map(|(open, name)| (open, name.to_bytes())) {
            Ok((Extension::Torus, b"information")) => information as *const (),
            Ok((Extension::Torus, b"task2torus")) => task_to_torus as *const (),
            Ok((Extension::Torus, b"torus2task")) => torus_to_task as *const (),
            Ok((Extension::Torus, _)) => std::ptr::null(),
            Ok((Extension::AsyncProgress, name)) => async_progress::symbol(name),
            Err(failure) => {
                boundary::note(&failure.text);
                std::ptr::null()
            }
        };
        function.cast_mut().cast()
    })
}
