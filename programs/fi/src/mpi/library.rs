// SPDX-License-Identifier: MIT OR Apache-2.0
//! MPICH's functions under their second names, in the library that the program has loaded.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// A handle of MPI as an argument: MPICH's have 32 bits, those of other libraries are addresses and pass through.
pub type Handle = usize;

/// `MPI_ERR_OTHER` of MPICH.
pub const OTHER: c_int = 15;

/// Number of elements.
pub type Count = i64;

type Attribute = *mut c_void;

/// Called when a communicator with an attribute ends: communicator, key, attribute, a word of ours.
pub type DeleteFn = unsafe extern "C" fn(c_int, c_int, Attribute, *mut c_void) -> c_int;

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*);)*) => {
        /// The functions.
        pub struct Library {
            /// As the system's loader knows it.
            handle: usize,
            $(pub $name: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Library {
            /// Functions of a loaded library. A stub that fails replaces each missing one: Open MPI's library lacks some.
            fn of(library: *mut c_void) -> Self {
                Self {
                    handle: library as usize,
                    $($name: {
                        let name = concat!("PMPI_", stringify!($name), "\0");
                        // SAFETY: a library that is loaded, and a name that ends with a zero.
                        let address = unsafe { libc::dlsym(library, name.as_ptr().cast()) };
                        if address.is_null() {
                            unsafe extern "C" fn missing($(_: $argument),*) -> c_int {
                                OTHER
                            }
                            missing
                        } else {
                            // SAFETY: the function of this name has this type.
                            unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> c_int>(address) }
                        }
                    },)*
                }
            }
        }
    };
}

functions! {
    Init: fn(*mut c_void, *mut c_void);
    Init_thread: fn(*mut c_void, *mut c_void, c_int, *mut c_int);
    Finalize: fn();
    Barrier: fn(Handle);
    Bcast: fn(*mut c_void, c_int, Handle, c_int, Handle);
    Bcast_c: fn(*mut c_void, Count, Handle, c_int, Handle);
    Reduce: fn(*const c_void, *mut c_void, c_int, Handle, Handle, c_int, Handle);
    Reduce_c: fn(*const c_void, *mut c_void, Count, Handle, Handle, c_int, Handle);
    Allreduce: fn(*const c_void, *mut c_void, c_int, Handle, Handle, Handle);
    Allreduce_c: fn(*const c_void, *mut c_void, Count, Handle, Handle, Handle);
    Allgather: fn(*const c_void, c_int, Handle, *mut c_void, c_int, Handle, Handle);
    Comm_rank: fn(Handle, *mut c_int);
    Comm_size: fn(Handle, *mut c_int);
    Comm_split: fn(Handle, c_int, c_int, *mut c_void);
    Comm_split_type: fn(Handle, c_int, c_int, Handle, *mut c_void);
    Win_allocate_shared: fn(Count, c_int, Handle, Handle, *mut c_void, *mut c_int);
    Win_allocate_shared_c: fn(Count, Count, Handle, Handle, *mut c_void, *mut c_int);
    Win_create_c: fn(*mut c_void, Count, Count, Handle, Handle, *mut c_int);
    Win_free: fn(*mut c_int);
    Win_get_attr: fn(Handle, c_int, *mut c_void, *mut c_int);
    Win_shared_query: fn(Handle, c_int, *mut Count, *mut c_int, *mut c_void);
    Win_shared_query_c: fn(Handle, c_int, *mut Count, *mut Count, *mut c_void);
    Comm_test_inter: fn(Handle, *mut c_int);
    Comm_create_keyval: fn(*mut c_void, DeleteFn, *mut c_int, *mut c_void);
    Comm_set_attr: fn(Handle, c_int, Attribute);
    Comm_get_attr: fn(Handle, c_int, *mut Attribute, *mut c_int);
    Type_size_c: fn(Handle, *mut Count);
    Pack_c: fn(*const c_void, Count, Handle, *mut c_void, Count, *mut Count, Handle);
    Unpack_c: fn(*const c_void, Count, *mut Count, *mut c_void, Count, Handle, Handle);
    Test: fn(*mut c_void, *mut c_int, *mut c_void);
    Testall: fn(c_int, *mut c_void, *mut c_int, *mut c_void);
    Testany: fn(c_int, *mut c_void, *mut c_int, *mut c_int, *mut c_void);
    Testsome: fn(c_int, *mut c_void, *mut c_int, *mut c_int, *mut c_void);
    Iprobe: fn(c_int, c_int, Handle, *mut c_int, *mut c_void);
    Improbe: fn(c_int, c_int, Handle, *mut c_int, *mut c_void, *mut c_void);
    Request_get_status: fn(Handle, *mut c_int, *mut c_void);
    Request_get_status_all: fn(c_int, *mut c_void, *mut c_int, *mut c_void);
    Request_get_status_any: fn(c_int, *mut c_void, *mut c_int, *mut c_int, *mut c_void);
    Request_get_status_some: fn(c_int, *mut c_void, *mut c_int, *mut c_int, *mut c_void);
    Win_test: fn(Handle, *mut c_int);
    Parrived: fn(Handle, c_int, *mut c_int);
    Get_library_version: fn(*mut c_char, *mut c_int);
}

/// Room for a library's version: `MPI_MAX_LIBRARY_VERSION_STRING` of MPICH.
const VERSION_BYTES: usize = 8192;

impl Library {
    /// The program's MPI.
    pub fn get() -> Option<&'static Self> {
        static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
        LIBRARY.get_or_init(Self::find).as_ref()
    }

    fn find() -> Option<Self> {
        let mut found = std::ptr::null_mut::<c_void>();
        // SAFETY: the function takes the address of a pointer.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
        match found.is_null() {
            true => None,
            false => Some(Self::of(found)),
        }
    }

    /// Address of a function of it by name, which ends with a zero.
    pub fn address(&self, name: &'static str) -> *mut c_void {
        // SAFETY: a library that is loaded, and a text that ends with a zero.
        unsafe { libc::dlsym(self.handle as *mut c_void, name.as_ptr().cast()) }
    }

    /// Whether it is MPICH, whose handles are known here.
    pub fn is_mpich(&self) -> bool {
        static MPICH: OnceLock<bool> = OnceLock::new();
        *MPICH.get_or_init(|| {
            let mut text = vec![0u8; VERSION_BYTES];
            let mut length = 0;
            // SAFETY: room as MPI asks for.
            let result =
                unsafe { (self.Get_library_version)(text.as_mut_ptr().cast(), &raw mut length) };
            result == 0 && text.starts_with(b"MPICH")
        })
    }
}

/// Opens a loaded library once more, if it is one of MPI with MPICH's handles.
unsafe extern "C" fn look(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    found: *mut c_void,
) -> c_int {
    // SAFETY: the C library passes what it knows of a library.
    let name = unsafe { (*info).dlpi_name };
    if name.is_null() {
        return 0;
    }
    // SAFETY: text that ends with a zero.
    let path = unsafe { CStr::from_ptr(name) };
    let bytes = path.to_bytes();
    let file = bytes.rsplit(|&byte| byte == b'/').next().unwrap_or(bytes);
    // That of the standard's binary interface has other handles.
    let is_mpi = [&b"libmpi.so"[..], b"libmpich.so"]
        .iter()
        .any(|beginning| file.starts_with(beginning));
    if !is_mpi {
        return 0;
    }
    // SAFETY: a name, and the library is there already: none of its code runs.
    let library = unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if library.is_null() {
        return 0;
    }
    // SAFETY: the place that the search has given.
    unsafe { found.cast::<*mut c_void>().write(library) };
    1
}
