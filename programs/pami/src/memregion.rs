// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory regions. All memory of a process is reachable by its base slot, so a region takes no resources of the node: it is a
//! task, an address and a length in the program's own object, which tasks may send to each other.

use std::ffi::c_void;
use std::sync::Arc;

use gyre_remote::windows::offset_of;

use crate::abi;
use crate::boundary;
use crate::context::{CONTEXTS, Context};
use crate::failure::Failure;
use crate::parameters::exported;
use crate::rma::{get, put};

/// First word of a region's object.
const MARK: usize = usize::from_le_bytes(*b"gyre mrg");

/// Content of a region's object.
struct Region {
    task: usize,
    address: usize,
    bytes: usize,
}

impl Region {
    fn words(&self) -> abi::Memregion {
        [MARK, self.task, self.address, self.bytes, 0, 0, 0, 0]
    }

    fn of(words: &abi::Memregion) -> Result<Self, Failure> {
        match *words {
            [MARK, task, address, bytes, ..] => Ok(Self {
                task,
                address,
                bytes,
            }),
            _ => Err(Failure::invalid("the object is not a valid memory region")),
        }
    }
}

/// Start and bounds of one side of a transfer.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Its address.
    pub address: *mut c_void,
    /// First address and number of bytes of its region, if it is in one.
    pub bounds: Option<(usize, usize)>,
}

impl Place {
    /// The address of `bytes` bytes that begin `at` bytes behind this one's; wraps.
    ///
    /// # Errors
    /// `PAMI_INVAL` for bytes that leave the region.
    pub fn part(&self, at: usize, bytes: usize) -> Result<*mut c_void, Failure> {
        let address = (self.address as usize).wrapping_add(at);
        if let Some((first, len)) = self.bounds {
            let offset = address.wrapping_sub(first);
            if offset.checked_add(bytes).is_none_or(|end| end > len) {
                return Err(Failure::invalid(format!(
                    "{bytes} bytes from {} on leave a region of {len} bytes",
                    offset.cast_signed()
                )));
            }
        }
        Ok(address as *mut c_void)
    }
}

/// A place in a region of `task`.
///
/// # Safety
/// `place.mr` is null or points to an object.
unsafe fn place(place: &abi::RmaMr, task: u32) -> Result<Place, Failure> {
    // SAFETY: what the caller promises.
    let words = unsafe { place.mr.as_ref() }.ok_or_else(|| Failure::invalid("a region is null"))?;
    let region = Region::of(words)?;
    if region.task != task as usize {
        return Err(Failure::invalid(format!(
            "a region of task {}, expected one of task {task}",
            region.task
        )));
    }
    Ok(Place {
        address: region.address.wrapping_add(place.offset) as *mut c_void,
        bounds: Some((region.address, region.bytes)),
    })
}

/// The local and remote places of a transfer by region.
///
/// # Safety
/// The regions are null or objects.
pub unsafe fn places(
    context: &Context,
    rma: &abi::Rma,
    rdma: &abi::Rdma,
) -> Result<(Place, Place), Failure> {
    let own = context.client.job.description.task;
    let other = context.client.endpoint(rma.dest)?.task();
    // SAFETY: what the caller promises.
    unsafe { Ok((place(&rdma.local, own)?, place(&rdma.remote, other.0)?)) }
}

/// The addresses of a transfer by region, contiguous on both sides.
///
/// # Safety
/// As [`places`].
unsafe fn addresses(
    context: &Context,
    rma: &abi::Rma,
    rdma: &abi::Rdma,
) -> Result<(*mut c_void, *mut c_void), Failure> {
    // SAFETY: what the caller promises.
    let (local, remote) = unsafe { places(context, rma, rdma)? };
    Ok((local.part(0, rma.bytes)?, remote.part(0, rma.bytes)?))
}

/// C: `PAMI_Memregion_create`.
///
/// # Safety
/// The program keeps to what `pami.h` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Memregion_create(
    context: abi::Context,
    address: *mut c_void,
    bytes_in: usize,
    bytes_out: *mut usize,
    memregion: *mut abi::Memregion,
) -> abi::ResultCode {
    boundary::result(|| {
        let context: Arc<Context> = CONTEXTS.get(context)?;
        if bytes_in == 0 || address.is_null() || bytes_out.is_null() || memregion.is_null() {
            return Err(Failure::invalid("an empty region, or a null argument"));
        }
        if offset_of(address as usize, bytes_in).is_none() {
            let text = format!("{bytes_in} bytes from {address:p} on are not memory of a task");
            return Err(Failure::error(text));
        }
        let region = Region {
            task: context.client.job.description.task as usize,
            address: address as usize,
            bytes: bytes_in,
        };
        // SAFETY: the program passes places for both.
        unsafe {
            bytes_out.write(bytes_in);
            memregion.write(region.words());
        }
        Ok(())
    })
}

/// C: `PAMI_Memregion_destroy`.
///
/// # Safety
/// As [`PAMI_Memregion_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PAMI_Memregion_destroy(
    context: abi::Context,
    memregion: *mut abi::Memregion,
) -> abi::ResultCode {
    boundary::result(|| {
        let context: Arc<Context> = CONTEXTS.get(context)?;
        // SAFETY: the program passes an object.
        let words = unsafe { memregion.as_mut() };
        let words = words.ok_or_else(|| Failure::invalid("the region is null"))?;
        if Region::of(words)?.task != context.client.job.description.task as usize {
            return Err(Failure::invalid("the region is another task's"));
        }
        *words = [0; 8];
        Ok(())
    })
}

exported! {
    PAMI_Rput(RputSimple) = |context, p| {
        // SAFETY: the program passes regions in the parameters.
        let addresses = unsafe { addresses(context, &p.rma, &p.rdma)? };
        put(context, &p.rma, addresses, p.put.rdone_fn)
    };
    PAMI_Rget(RgetSimple) = |context, p| {
        // SAFETY: the program passes regions in the parameters.
        let addresses = unsafe { addresses(context, &p.rma, &p.rdma)? };
        get(context, &p.rma, addresses)
    };
}
