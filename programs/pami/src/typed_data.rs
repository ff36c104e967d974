// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transfer of data to and from the program's memory, by a type and a data function.

#[cfg(test)]
mod tests;

use std::ffi::c_void;
use std::ops::ControlFlow;
use std::slice;
use std::sync::Arc;

use crate::abi::{DataFunction, Type as Handle};
use crate::elements::Element;
use crate::failure::Failure;
use crate::memory::check_length;
use crate::operations::{Combine, Operation, combine};
use crate::type_handles::{complete, predefined};
use crate::types::Type;
use gyre_interpose::Staging;

/// Lowest address of functions of a program; smaller values are predefined operations.
const LOWEST_ADDRESS: usize = 4096;

/// A data function of a program, with its cookie.
#[derive(Clone, Copy)]
pub struct Function {
    /// Null: a plain copy.
    pub function: DataFunction,
    /// Passed to it.
    pub cookie: *mut c_void,
}

impl Function {
    /// A plain copy.
    pub const COPY: Self = Self {
        function: None,
        cookie: std::ptr::null_mut(),
    };
}

/// Use of a piece of data.
#[derive(Clone, Copy)]
enum Way {
    Copy,
    Keep,
    /// Elements are combined.
    Elements(Combine),
    /// The program combines bytes.
    Program {
        function: unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *mut c_void),
        cookie: usize,
    },
}

impl Way {
    /// Combines `bytes` bytes.
    ///
    /// # Safety
    /// Both addresses have `bytes` bytes, which do not overlap; the program's function accesses no others.
    unsafe fn apply(self, target: *mut u8, source: *const u8, bytes: usize) {
        match self {
            Self::Keep => (),
            // SAFETY: what the caller promises.
            Self::Copy => unsafe { source.copy_to_nonoverlapping(target, bytes) },
            Self::Elements(combine) => {
                // SAFETY: what the caller promises.
                let (target, source) = unsafe {
                    (
                        slice::from_raw_parts_mut(target, bytes),
                        slice::from_raw_parts(source, bytes),
                    )
                };
                combine(target, source);
            }
            // SAFETY: the program has given the function and its cookie for such calls.
            Self::Program { function, cookie } => unsafe {
                function(
                    target.cast(),
                    source.cast_mut().cast(),
                    bytes,
                    cookie as *mut c_void,
                );
            },
        }
    }
}

/// Memory of the program with a type.
#[derive(Clone)]
pub struct Place {
    address: usize,
    of: Arc<Type>,
    offset: usize,
}

impl Place {
    /// The data of a type with `handle` from its byte `offset` on, at an address.
    ///
    /// # Errors
    /// `PAMI_INVAL` for an invalid or open type.
    pub fn new(address: *mut c_void, handle: Handle, offset: usize) -> Result<Self, Failure> {
        Ok(Self {
            address: address as usize,
            of: complete(handle)?,
            offset,
        })
    }

    /// Contiguous bytes at an address.
    pub fn contiguous(address: *mut c_void) -> Self {
        Self {
            address: address as usize,
            of: predefined(Element::BYTE),
            offset: 0,
        }
    }

    /// A transfer of `length` bytes of data to or from here.
    ///
    /// # Errors
    /// `PAMI_INVAL` when the data function does not fit, and when there is no room for data.
    pub fn transfer(self, length: usize, by: Function) -> Result<Transfer, Failure> {
        if length > 0 && self.address == 0 {
            return Err(Failure::invalid("the data has no address"));
        }
        if length > 0 && self.of.size() == 0 {
            return Err(Failure::invalid("the type has no data"));
        }
        check_length(length)?;
        let (way, unit) = self.way(by)?;
        self.check(unit, length)?;
        Ok(Transfer {
            place: self,
            length,
            way,
        })
    }

    /// Action of a data function, and the bytes that it takes at once.
    fn way(&self, by: Function) -> Result<(Way, usize), Failure> {
        let Some(function) = by.function else {
            return Ok((Way::Copy, 1));
        };
        let address = function as usize;
        if address >= LOWEST_ADDRESS {
            let cookie = by.cookie as usize;
            return Ok((Way::Program { function, cookie }, self.of.atom));
        }
        let operation = Operation::of(address)
            .ok_or_else(|| Failure::invalid(format!("{address:#x} is no data function")))?;
        match operation {
            Operation::Copy => return Ok((Way::Copy, 1)),
            Operation::Noop => return Ok((Way::Keep, 1)),
            _ => (),
        }
        let element = self.of.element().ok_or_else(|| {
            let text = "an operation on data that is not of one predefined type";
            Failure::invalid(text)
        })?;
        let combine = combine(element, operation).ok_or_else(|| {
            let number = element.number();
            Failure::invalid(format!(
                "{operation:?} is not an operation on type number {number}"
            ))
        })?;
        Ok((Way::Elements(combine), element.size()))
    }

    /// Refuses data whose ends divide units of `unit` bytes.
    fn check(&self, unit: usize, length: usize) -> Result<(), Failure> {
        let offset = self.offset;
        if offset.is_multiple_of(unit) && length.is_multiple_of(unit) {
            return Ok(());
        }
        Err(Failure::invalid(format!(
            "{length} bytes of data from byte {offset} on divide units of {unit} bytes"
        )))
    }
}

/// A transfer of data to or from memory of the program.
pub struct Transfer {
    place: Place,
    length: usize,
    way: Way,
}

impl Transfer {
    /// Address of the data, if it is copied and contiguous.
    pub fn direct(&self) -> Option<*mut u8> {
        let direct = matches!(self.way, Way::Copy) && self.place.of.layout.is_contiguous();
        direct.then(|| self.place.address.wrapping_add(self.place.offset) as *mut u8)
    }

    /// Calls `each` for the pieces of the data: an address and the range in the data.
    fn pieces(&self, mut each: impl FnMut(*mut u8, usize, usize)) {
        let layout = &self.place.of.layout;
        layout.pieces(self.place.offset, self.length, &mut |piece| {
            let address = self.place.address.wrapping_add(piece.at);
            each(address as *mut u8, piece.from, piece.bytes);
            ControlFlow::Continue(())
        });
    }

    /// The data to send: the data function applied to zeros and the program's memory.
    ///
    /// # Errors
    /// `PAMI_ENOMEM` when there is no memory.
    ///
    /// # Safety
    /// The program's memory is as the type says.
    pub unsafe fn gathered(&self) -> Result<Staging, Failure> {
        let data = Staging::zeroed(self.length)?;
        // SAFETY: what the caller promises; the data has as many bytes.
        unsafe { self.gather(data.address()) };
        Ok(data)
    }

    /// Gathers the data into zeros of the library at `target`.
    ///
    /// # Safety
    /// As [`gathered`](Self::gathered); there are as many bytes as data.
    pub unsafe fn gather(&self, target: *mut u8) {
        self.pieces(|source, from, bytes| {
            // SAFETY: what the caller promises; a place in the data is within it.
            unsafe { self.way.apply(target.add(from), source, bytes) }
        });
    }

    /// Scatters received data into the program's memory.
    ///
    /// # Safety
    /// As [`gathered`](Self::gathered).
    pub unsafe fn take(&self, data: &[u8]) {
        self.pieces(|target, from, bytes| {
            let source = data[from..from + bytes].as_ptr();
            // SAFETY: what the caller promises.
            unsafe { self.way.apply(target, source, bytes) }
        });
    }

    /// Scatters with one call of the function, on a copy of the program's memory, so the data is not divided.
    unsafe fn take_at_once(&self, data: &Staging) -> Result<(), Failure> {
        let place = self.place.clone();
        let copy = Self {
            place,
            way: Way::Copy,
            ..*self
        };
        // SAFETY: what the caller promises; both have all the data.
        unsafe {
            let target = copy.gathered()?;
            let source = data.address();
            self.way.apply(target.address(), source, self.length);
            copy.take(target.bytes());
        }
        Ok(())
    }
}

/// Transfers `length` bytes of data between two places.
///
/// # Errors
/// `PAMI_INVAL` when the data function does not fit; `PAMI_ENOMEM`.
///
/// # Safety
/// The program's memory is as the types say.
pub unsafe fn transform(
    from: Place,
    to: Place,
    length: usize,
    by: Function,
) -> Result<(), Failure> {
    let (way, _) = to.way(by)?;
    let mut divides = false;
    match way {
        Way::Copy | Way::Keep => (),
        Way::Elements(_) => {
            let fits = [None, Some(Element::BYTE), to.of.element()];
            if !fits.contains(&from.of.element()) {
                let text = "an operation on data of two different predefined types";
                return Err(Failure::invalid(text));
            }
        }
        Way::Program { .. } => {
            from.check(from.of.atom, length)?;
            divides = !to.of.atom.is_multiple_of(from.of.atom);
        }
    }
    let to = to.transfer(length, by)?;
    let from = from.transfer(length, Function::COPY)?;
    // SAFETY: what the caller promises.
    unsafe {
        let data = from.gathered()?;
        if divides {
            return to.take_at_once(&data);
        }
        to.take(data.bytes());
    }
    Ok(())
}
