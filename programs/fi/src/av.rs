// SPDX-License-Identifier: MIT OR Apache-2.0
//! Address vectors. The name of an endpoint has 8 bytes ([`Name`]); its address is its index in a vector.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::slice;
use std::sync::Arc;

use gyre_driver::TaskId;
use parking_lot::Mutex;

use crate::abi::{ADDR_UNSPEC, Addr, AvAttr, AvOps, Fid, class, not_there};
use crate::boundary::{self, Refusal};
use crate::matcher::Source;
use crate::object::{self, Object};

/// The name of an endpoint: task and offset of its context.
pub struct Name(pub TaskId, pub u8);

impl Name {
    /// Bytes of a name.
    pub const BYTES: usize = 8;

    /// Encodes the name.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.0.0.to_le_bytes());
        bytes[4] = self.1;
        bytes
    }

    /// Decodes a name.
    pub fn decode(bytes: [u8; Self::BYTES]) -> Self {
        let [a, b, c, d, context, ..] = bytes;
        Self(TaskId(u32::from_le_bytes([a, b, c, d])), context)
    }
}

/// Names by index.
#[derive(Default)]
struct Places {
    names: Vec<Option<Source>>,
    by_name: BTreeMap<Source, Addr>,
}

/// An address vector.
#[derive(Default)]
pub struct AddressVector {
    places: Mutex<Places>,
}

impl AddressVector {
    fn insert(&self, Name(task, context): Name) -> Addr {
        let mut places = self.places.lock();
        let place = places.names.len() as Addr;
        places.names.push(Some((task, context)));
        places.by_name.entry((task, context)).or_insert(place);
        place
    }

    fn remove(&self, place: Addr) {
        let mut places = self.places.lock();
        let Some(name) = usize::try_from(place)
            .ok()
            .and_then(|place| places.names.get_mut(place)?.take())
        else {
            return;
        };
        if places.by_name.get(&name) == Some(&place) {
            places.by_name.remove(&name);
        }
    }

    /// Task and context at an index.
    pub fn name(&self, place: Addr) -> Option<Source> {
        let place = usize::try_from(place).ok()?;
        self.places.lock().names.get(place).copied().flatten()
    }

    /// Index of an endpoint, [`ADDR_UNSPEC`] if it has none.
    pub fn place(&self, name: Source) -> Addr {
        let places = self.places.lock();
        places.by_name.get(&name).copied().unwrap_or(ADDR_UNSPEC)
    }
}

/// `struct fid_av`, and what is behind it.
#[repr(C)]
struct Vector {
    fid: Fid,
    ops: *const AvOps,
    addresses: Arc<AddressVector>,
}

// SAFETY: it begins with its `fid`.
unsafe impl Object for Vector {
    const CLASS: usize = class::AV;
}

static AV_OPS: AvOps = AvOps {
    size: size_of::<AvOps>(),
    insert,
    insertsvc: not_there,
    insertsym: not_there,
    remove,
    lookup,
    straddr,
    av_set: not_there,
    insert_auth_key: not_there,
    lookup_auth_key: not_there,
    set_user_id: not_there,
};

/// `fi_av_open`. Named vectors, which processes share, are refused.
///
/// # Safety
/// As libfabric says.
pub unsafe extern "C" fn open(
    _domain: *mut Fid,
    attr: *mut AvAttr,
    vector: *mut *mut Fid,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the program passes attributes or null, and a place for the result.
    unsafe {
        object::open(vector, context, |fid| {
            if attr.as_ref().is_some_and(|attr| !attr.name.is_null()) {
                return Err(Refusal(libc::ENOSYS));
            }
            Ok(Vector {
                fid,
                ops: &raw const AV_OPS,
                addresses: Arc::default(),
            })
        })
    }
}

/// The address vector of a pointer from the program.
///
/// # Safety
/// The pointer is null or from [`open`], and stays valid.
pub unsafe fn of(fid: *mut Fid) -> Result<Arc<AddressVector>, Refusal> {
    // SAFETY: what the caller promises.
    let vector = unsafe { object::of::<Vector>(fid)? };
    Ok(Arc::clone(&vector.addresses))
}

unsafe extern "C" fn insert(
    vector: *mut Fid,
    names: *const c_void,
    count: usize,
    places: *mut Addr,
    _flags: u64,
    _context: *mut c_void,
) -> c_int {
    let inserted = boundary::count(|| {
        // SAFETY: the program passes a vector.
        let addresses = unsafe { of(vector)? };
        if count > 0 && names.is_null() {
            return Err(Refusal::INVALID);
        }
        for number in 0..count {
            // SAFETY: the program passes this many names.
            let name = unsafe {
                names
                    .cast::<[u8; Name::BYTES]>()
                    .add(number)
                    .read_unaligned()
            };
            let place = addresses.insert(Name::decode(name));
            if !places.is_null() {
                // SAFETY: and as many places for results.
                unsafe { places.add(number).write(place) };
            }
        }
        Ok(count)
    });
    // A count of names in memory.
    inserted as c_int
}

unsafe extern "C" fn remove(
    vector: *mut Fid,
    places: *mut Addr,
    count: usize,
    _flags: u64,
) -> c_int {
    boundary::status(|| {
        // SAFETY: the program passes a vector.
        let addresses = unsafe { of(vector)? };
        if count > 0 && places.is_null() {
            return Err(Refusal::INVALID);
        }
        // SAFETY: the program passes this many places.
        let places = (0..count).map(|number| unsafe { places.add(number).read() });
        places.for_each(|place| addresses.remove(place));
        Ok(())
    })
}

/// Writes the part of a name that fits, and its length.
///
/// # Safety
/// `into` has space for `room` bytes.
pub unsafe fn write_name(name: &Name, into: *mut c_void, room: *mut usize) -> Result<(), Refusal> {
    if room.is_null() {
        return Err(Refusal::INVALID);
    }
    // SAFETY: what the caller promises.
    unsafe {
        let fits = room.read().min(Name::BYTES);
        room.write(Name::BYTES);
        if fits > 0 && into.is_null() {
            return Err(Refusal::INVALID);
        }
        let bytes = name.encode();
        into.cast::<u8>().copy_from(bytes.as_ptr(), fits);
        match fits < Name::BYTES {
            true => Err(Refusal(crate::abi::errno::TOO_SMALL)),
            false => Ok(()),
        }
    }
}

unsafe extern "C" fn lookup(
    vector: *mut Fid,
    place: Addr,
    into: *mut c_void,
    room: *mut usize,
) -> c_int {
    boundary::status(|| {
        // SAFETY: the program passes a vector.
        let addresses = unsafe { of(vector)? };
        let (task, context) = addresses.name(place).ok_or(Refusal::INVALID)?;
        // SAFETY: and room for a name.
        unsafe { write_name(&Name(task, context), into, room) }
    })
}

unsafe extern "C" fn straddr(
    _vector: *mut Fid,
    name: *const c_void,
    text: *mut c_char,
    room: *mut usize,
) -> *const c_char {
    if name.is_null() || room.is_null() {
        return text;
    }
    // SAFETY: the program passes a name.
    let Name(task, context) =
        Name::decode(unsafe { name.cast::<[u8; Name::BYTES]>().read_unaligned() });
    let mut shown = format!("gyre://{}:{context}", task.0).into_bytes();
    shown.push(0);
    // SAFETY: the program passes space for this many bytes.
    unsafe {
        let fits = room.read().min(shown.len());
        room.write(shown.len());
        if fits > 0 && !text.is_null() {
            let into = slice::from_raw_parts_mut(text.cast::<u8>(), fits);
            into.copy_from_slice(&shown[..fits]);
            into[fits - 1] = 0;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x6_names_come_back_and_places_are_those_of_their_insertion() {
        let vector = AddressVector::default();
        for (number, name) in [(7, 0), (0, 3), (7, 1)].into_iter().enumerate() {
            let bytes = Name(TaskId(name.0), name.1).encode();
            assert_eq!(vector.insert(Name::decode(bytes)), number as Addr);
            assert_eq!(vector.name(number as Addr), Some((TaskId(name.0), name.1)));
        }
        vector.remove(1);
        vector.remove(99);
        assert_eq!(vector.name(1), None);
        assert_eq!(vector.name(ADDR_UNSPEC), None);
    }
}
