//! Types of `pami.h`, `pami_ext_torus.h` and `pami_ext_async_progress.h` as Rust sees them; `tests/layout.rs` compares
//! them with C. The headers say what they mean.
//!
//! Values of enumerations come from C, so these are numbers with names. A struct of bit fields is one word, and
//! [`Bits`] says which of it is which field.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// Bytes of a [`Memregion`]. C: `PAMI_CLIENT_MEMREGION_SIZE_STATIC`.
pub const MEMREGION_BYTES: usize = size_of::<Memregion>();
/// Bytes of a [`Work`]. C: `PAMI_WORK_SIZE_STATIC`.
pub const WORK_BYTES: usize = size_of::<Work>();
/// Units of 16 bytes that are enough for the state of any request. C: `PAMI_REQUEST_NQUADS`.
pub const REQUEST_NQUADS: usize = 512;
/// Attribute of a client: whether progress never needs an advance. C: `PAMIX_CLIENT_ASYNC_GUARANTEE`.
pub const CLIENT_ASYNC_GUARANTEE: AttributeName = AttributeName(1016);

/// A bit field: `width` bits of a word from bit `shift` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// Its lowest bit.
    pub shift: u32,
    /// How many bits it has.
    pub width: u32,
}

impl Bits {
    /// The field's bits in the word.
    pub const fn mask(self) -> c_uint {
        ((1 << self.width) - 1) << self.shift
    }

    /// The field's value in `word`.
    pub const fn get(self, word: c_uint) -> c_uint {
        (word & self.mask()) >> self.shift
    }

    /// `word` with the field set to `value`, of which bits that do not fit are dropped.
    pub const fn set(self, word: c_uint, value: c_uint) -> c_uint {
        (word & !self.mask()) | ((value << self.shift) & self.mask())
    }
}

/// Bytes somewhere. C: `struct iovec`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Iovec {
    /// The first.
    pub iov_base: *mut c_void,
    /// How many.
    pub iov_len: usize,
}

/// What a function returns, or what an operation that has ended tells its callback. C: `pami_result_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct ResultCode(pub c_int);

impl ResultCode {
    /// Done, or accepted.
    pub const SUCCESS: Self = Self(0);
    /// Failed for a reason that has no code, below zero.
    pub const NERROR: Self = Self(-1);
    /// Failed for a reason that has no code.
    pub const ERROR: Self = Self(1);
    /// An argument is wrong.
    pub const INVAL: Self = Self(2);
    /// Not there in this implementation.
    pub const UNIMPL: Self = Self(3);
    /// Not now: nothing happened, or resources are in use.
    pub const EAGAIN: Self = Self(4);
    /// No memory is left.
    pub const ENOMEM: Self = Self(5);
    /// The other task has ended.
    pub const SHUTDOWN: Self = Self(6);
    /// A system call failed: see errno.
    pub const CHECK_ERRNO: Self = Self(7);
    /// Any other error.
    pub const OTHER: Self = Self(8);
    /// First code of extensions.
    pub const RESULT_EXT: Self = Self(1000);
}

/// A client. C: `pami_client_t`.
pub type Client = *mut c_void;

/// A context. C: `pami_context_t`.
pub type Context = *mut c_void;

/// A data type: which bytes of a buffer belong to a transfer, and in which order. C: `pami_type_t`.
pub type Type = *mut c_void;

/// Number of a task, from 0. C: `pami_task_t`.
pub type Task = u32;

/// An endpoint. C: `pami_endpoint_t`.
pub type Endpoint = u32;

/// A geometry. C: `pami_geometry_t`.
pub type Geometry = *mut c_void;

/// An algorithm for one kind of collective on one geometry. C: `pami_algorithm_t`.
pub type Algorithm = usize;

/// Called by an advance of `context` when an operation has come as far as the place of this callback says. C:
/// `pami_event_function`.
pub type EventFunction =
    Option<unsafe extern "C" fn(context: Context, cookie: *mut c_void, result: ResultCode)>;

/// Combines `bytes` bytes of `source` into `target`, both contiguous. C: `pami_data_function`.
pub type DataFunction = Option<
    unsafe extern "C" fn(
        target: *mut c_void,
        source: *mut c_void,
        bytes: usize,
        cookie: *mut c_void,
    ),
>;

/// Work that was posted to a context, called by its advance. C: `pami_work_function`.
pub type WorkFunction =
    Option<unsafe extern "C" fn(context: Context, cookie: *mut c_void) -> ResultCode>;

/// Room for a piece of posted work. C: `pami_work_t`.
pub type Work = [usize; 8];

/// Name of a setting as text. C: `pami_user_key_t`.
pub type UserKey = *mut c_char;

/// Value of a setting as text. C: `pami_user_value_t`.
pub type UserValue = *mut c_char;

/// A setting as text. C: `pami_user_config_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct UserConfig {
    /// Its name.
    pub key: UserKey,
    /// Its value.
    pub value: UserValue,
}

/// Attributes. C: `pami_attribute_name_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct AttributeName(pub c_uint);

impl AttributeName {
    /// `intval`: Clock of a core, in MHz.
    pub const CLIENT_CLOCK_MHZ: Self = Self(100);
    /// `intval`: 1: PAMI_CLIENT_NUM_CONTEXTS is the same in all tasks.
    pub const CLIENT_CONST_CONTEXTS: Self = Self(101);
    /// `intval`: Hardware threads that this task has for itself, 1 or more.
    pub const CLIENT_HWTHREADS_AVAILABLE: Self = Self(102);
    /// `intval`: Bytes of a pami_memregion_t that are in use.
    pub const CLIENT_MEMREGION_SIZE: Self = Self(103);
    /// `intval`: Main memory, in MiB.
    pub const CLIENT_MEM_SIZE: Self = Self(104);
    /// `intval`: Tasks of the job.
    pub const CLIENT_NUM_TASKS: Self = Self(105);
    /// `intval`: Tasks on this node, this one included.
    pub const CLIENT_NUM_LOCAL_TASKS: Self = Self(106);
    /// `intarray`: Their numbers; the array belongs to the client.
    pub const CLIENT_LOCAL_TASKS: Self = Self(107);
    /// `intval`: Most contexts that this client may have in this task.
    pub const CLIENT_NUM_CONTEXTS: Self = Self(108);
    /// `chararray`: Name of the place where the task runs; it belongs to the client.
    pub const CLIENT_PROCESSOR_NAME: Self = Self(109);
    /// `intval`: Number of this task.
    pub const CLIENT_TASK_ID: Self = Self(110);
    /// `intval`: Steps of PAMI_Wtimebase in a microsecond.
    pub const CLIENT_WTIMEBASE_MHZ: Self = Self(111);
    /// `doubleval`: Resolution of PAMI_Wtime, in seconds.
    pub const CLIENT_WTICK: Self = Self(112);
    /// `intval`: Largest number of a dispatch.
    pub const CONTEXT_DISPATCH_ID_MAX: Self = Self(200);
    /// `intval`: Most bytes, header and data, that arrive whole in a dispatch call.
    pub const DISPATCH_RECV_IMMEDIATE_MAX: Self = Self(300);
    /// `intval`: Most bytes, header and data, of a PAMI_Send_immediate.
    pub const DISPATCH_SEND_IMMEDIATE_MAX: Self = Self(301);
    /// `intval`: Largest atom size of a type in a PAMI_Send_typed.
    pub const DISPATCH_ATOM_SIZE_MAX: Self = Self(302);
    /// `intval`: 1: has algorithms that hold hardware, such as a class route; 0: gives it back.
    pub const GEOMETRY_OPTIMIZE: Self = Self(400);
    /// `intval`: Bytes of data.
    pub const TYPE_DATA_SIZE: Self = Self(500);
    /// `intval`: Distance from one repetition to the next, in bytes.
    pub const TYPE_DATA_EXTENT: Self = Self(501);
    /// `intval`: Bytes that data functions never see divided.
    pub const TYPE_ATOM_SIZE: Self = Self(502);
    /// First attribute of extensions.
    pub const ATTRIBUTE_NAME_EXT: Self = Self(1000);
}

/// Value of an attribute. C: `pami_attribute_value_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub union AttributeValue {
    /// A number.
    pub intval: usize,
    /// A number with a fraction.
    pub doubleval: f64,
    /// Text that ends with a zero.
    pub chararray: *const c_char,
    /// Numbers; another attribute has their count.
    pub intarray: *const usize,
}

/// An attribute and its value: the unit of queries, of updates and of settings at creation. C:
/// `pami_configuration_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Configuration {
    /// Which attribute.
    pub name: AttributeName,
    /// Its value.
    pub value: AttributeValue,
}

/// Why an algorithm cannot do a collective. C: `metadata_result_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct MetadataResult {
    /// All bits.
    pub bits: c_uint,
}

impl MetadataResult {
    /// A reason that has no bit.
    pub const UNSPECIFIED: Bits = Bits { shift: 0, width: 1 };
    /// Too few or too many bytes.
    pub const RANGE: Bits = Bits { shift: 1, width: 1 };
    /// The address of the send buffer is not aligned as needed.
    pub const ALIGN_SEND_BUFFER: Bits = Bits { shift: 2, width: 1 };
    /// The address of the receive buffer is not aligned as needed.
    pub const ALIGN_RECV_BUFFER: Bits = Bits { shift: 3, width: 1 };
    /// This pair of type and operation is not there.
    pub const DATATYPE_OP: Bits = Bits { shift: 4, width: 1 };
    /// The type of what is sent has holes.
    pub const CONTIGUOUS_SEND: Bits = Bits { shift: 5, width: 1 };
    /// The type of what is received has holes.
    pub const CONTIGUOUS_RECV: Bits = Bits { shift: 6, width: 1 };
    /// The parts of a vector to send are not one behind the other.
    pub const CONTINUOUS_SEND: Bits = Bits { shift: 7, width: 1 };
    /// The parts of a vector to receive are not one behind the other.
    pub const CONTINUOUS_RECV: Bits = Bits { shift: 8, width: 1 };
    /// All endpoints must agree, by a reduction of their results, before it may run.
    pub const NONLOCAL: Bits = Bits { shift: 9, width: 1 };
}

/// Says whether an algorithm can do the collective `xfer`, as far as this endpoint knows. C:
/// `pami_metadata_function`.
pub type MetadataFunction = Option<unsafe extern "C" fn(xfer: *mut Xfer) -> MetadataResult>;

/// What must hold for an algorithm. C: member `check_correct` of `pami_metadata_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CheckCorrect {
    /// All bits.
    pub bits: c_uint,
}

impl CheckCorrect {
    /// `check_fn` must be asked each time.
    pub const CHECKREQUIRED: Bits = Bits { shift: 0, width: 1 };
    /// The answers of all endpoints count: reduce them.
    pub const NONLOCAL: Bits = Bits { shift: 1, width: 1 };
    /// Bytes have limits.
    pub const RANGEMINMAX: Bits = Bits { shift: 2, width: 1 };
    /// The send buffer must be aligned.
    pub const SENDMINALIGN: Bits = Bits { shift: 3, width: 1 };
    /// The receive buffer must be aligned.
    pub const RECVMINALIGN: Bits = Bits { shift: 4, width: 1 };
    /// Does every predefined type with every operation that is valid for it.
    pub const ALLDTOP: Bits = Bits { shift: 5, width: 1 };
    /// Sends types without holes only.
    pub const CONTIGSFLAGS: Bits = Bits { shift: 6, width: 1 };
    /// Receives types without holes only.
    pub const CONTIGRFLAGS: Bits = Bits { shift: 7, width: 1 };
    /// Sends vectors only whose parts lie one behind the other.
    pub const CONTINSFLAGS: Bits = Bits { shift: 8, width: 1 };
    /// Receives vectors only whose parts lie one behind the other.
    pub const CONTINRFLAGS: Bits = Bits { shift: 9, width: 1 };
    /// The call may wait for others.
    pub const BLOCKING: Bits = Bits {
        shift: 10,
        width: 1,
    };
    /// Send and receive buffer may be the same.
    pub const INPLACE: Bits = Bits {
        shift: 11,
        width: 1,
    };
    /// Endpoints may run ahead of each other: a barrier now and then bounds what is buffered.
    pub const ASYNCFLOWCTL: Bits = Bits {
        shift: 12,
        width: 1,
    };
    /// One such collective may be pending at a time.
    pub const ONEATATIME: Bits = Bits {
        shift: 13,
        width: 1,
    };
    /// Not 0: all endpoints start such collectives in one order, over all geometries.
    pub const GLOBAL_ORDER: Bits = Bits {
        shift: 14,
        width: 4,
    };
}

/// What makes an algorithm fast. C: member `check_perf` of `pami_metadata_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CheckPerf {
    /// All bits.
    pub bits: c_uint,
}

impl CheckPerf {
    /// Done by hardware for collectives.
    pub const HW_ACCEL: Bits = Bits { shift: 0, width: 1 };
}

/// What an algorithm can do and where it is fast. C: `pami_metadata_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Metadata {
    /// Its name; it belongs to the geometry.
    pub name: *mut c_char,
    /// Version of the algorithm.
    pub version: c_uint,
    /// Checks the parameters of a collective; may be null if `checkrequired` is clear.
    pub check_fn: MetadataFunction,
    /// Fewest bytes, if `rangeminmax`.
    pub range_lo: usize,
    /// Most bytes, if `rangeminmax`.
    pub range_hi: usize,
    /// Alignment of the send buffer, in bytes, if `sendminalign`.
    pub send_min_align: c_uint,
    /// Alignment of the receive buffer, in bytes, if `recvminalign`.
    pub recv_min_align: c_uint,
    /// What must hold.
    pub check_correct: CheckCorrect,
    /// What makes it fast.
    pub check_perf: CheckPerf,
    /// Fewest bytes for which it is a good choice.
    pub range_lo_perf: usize,
    /// Most bytes for which it is a good choice.
    pub range_hi_perf: usize,
    /// Alignment of buffers, in bytes, for which it is a good choice.
    pub min_align_perf: c_uint,
}

/// Values of the two-bit fields of hints. C: `pami_hint_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Hint(pub c_uint);

impl Hint {
    /// As the implementation likes, or as the field says.
    pub const DEFAULT: Self = Self(0);
    /// Wanted.
    pub const ENABLE: Self = Self(1);
    /// Not wanted.
    pub const DISABLE: Self = Self(2);
    /// Means nothing.
    pub const INVALID: Self = Self(3);
}

/// Hints of a dispatch. C: `pami_dispatch_hint_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct DispatchHint {
    /// All bits.
    pub bits: c_uint,
}

impl DispatchHint {
    /// Messages may use other contexts, which must be advanced.
    pub const MULTICONTEXT: Bits = Bits { shift: 0, width: 2 };
    /// Headers longer than a packet.
    pub const LONG_HEADER: Bits = Bits { shift: 2, width: 2 };
    /// `type` and `offset` of pami_recv_t are not read: the buffer is contiguous.
    pub const RECV_CONTIGUOUS: Bits = Bits { shift: 4, width: 2 };
    /// `data_fn` and `data_cookie` of pami_recv_t are not read: data is copied.
    pub const RECV_COPY: Bits = Bits { shift: 6, width: 2 };
    /// All data arrives with the dispatch call.
    pub const RECV_IMMEDIATE: Bits = Bits { shift: 8, width: 2 };
    /// Dispatch calls for messages between two endpoints come in the order of the sends; the ends of the receives
    /// need not.
    pub const CONSISTENCY: Bits = Bits {
        shift: 10,
        width: 2,
    };
    /// All buffers lie in memory regions; contradicts `use_rdma` disabled.
    pub const BUFFER_REGISTERED: Bits = Bits {
        shift: 12,
        width: 2,
    };
    /// The receiver makes progress without advancing.
    pub const REMOTE_ASYNC_PROGRESS: Bits = Bits {
        shift: 14,
        width: 2,
    };
    /// Data goes by remote memory access.
    pub const USE_RDMA: Bits = Bits {
        shift: 16,
        width: 2,
    };
    /// Messages go through shared memory; one to another node is PAMI_INVAL.
    pub const USE_SHMEM: Bits = Bits {
        shift: 18,
        width: 2,
    };
    /// PAMI_Send_immediate queues what finds no room; disabled: it returns PAMI_EAGAIN.
    pub const QUEUE_IMMEDIATE: Bits = Bits {
        shift: 20,
        width: 2,
    };
}

/// Hints of one transfer, with the meaning of pami_dispatch_hint_t. C: `pami_send_hint_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SendHint {
    /// All bits.
    pub bits: c_uint,
}

impl SendHint {
    /// Zero.
    pub const RESERVED0: Bits = Bits {
        shift: 0,
        width: 12,
    };
    /// The buffers lie in memory regions.
    pub const BUFFER_REGISTERED: Bits = Bits {
        shift: 12,
        width: 2,
    };
    /// The target makes progress without advancing.
    pub const REMOTE_ASYNC_PROGRESS: Bits = Bits {
        shift: 14,
        width: 2,
    };
    /// Data goes by remote memory access.
    pub const USE_RDMA: Bits = Bits {
        shift: 16,
        width: 2,
    };
    /// The transfer goes through shared memory.
    pub const USE_SHMEM: Bits = Bits {
        shift: 18,
        width: 2,
    };
    /// Zero.
    pub const RESERVED1: Bits = Bits {
        shift: 20,
        width: 2,
    };
}

/// Hints of a collective. C: `pami_collective_hint_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CollectiveHint {
    /// All bits.
    pub bits: c_uint,
}

impl CollectiveHint {
    /// The collective may use other contexts, which must be advanced.
    pub const MULTICONTEXT: Bits = Bits { shift: 0, width: 2 };
    /// Zero.
    pub const RESERVED0: Bits = Bits {
        shift: 2,
        width: 20,
    };
}

/// What all sends have. C: `pami_send_immediate_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SendImmediate {
    /// Header: passed to the dispatch function as it is.
    pub header: Iovec,
    /// Data: goes where the receiver says.
    pub data: Iovec,
    /// Number of the dispatch, the same on both sides.
    pub dispatch: usize,
    /// Soft hints.
    pub hints: SendHint,
    /// To whom; the sending context's own endpoint is valid.
    pub dest: Endpoint,
}

/// Callbacks of a send; each may be null. C: `pami_send_event_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SendEvent {
    /// Passed to both.
    pub cookie: *mut c_void,
    /// Header and data may be changed again.
    pub local_fn: EventFunction,
    /// All data has arrived at the receiver.
    pub remote_fn: EventFunction,
}

/// Parameters of PAMI_Send. C: `pami_send_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SendSimple {
    /// What to send.
    pub send: SendImmediate,
    /// Whom to tell.
    pub events: SendEvent,
}

/// Layout of the data of a typed send. C: member `typed` of `pami_send_typed_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SendTypedData {
    /// Layout of the data at `data.iov_base`.
    pub r#type: Type,
    /// Bytes of the type's data to skip at the start.
    pub offset: usize,
    /// Makes the data that is sent; PAMI_DATA_COPY for a plain copy.
    pub data_fn: DataFunction,
    /// Passed to `data_fn`.
    pub data_cookie: *mut c_void,
}

/// Parameters of PAMI_Send_typed. C: `pami_send_typed_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SendTyped {
    /// What to send; `data.iov_len` counts bytes of data, without holes.
    pub send: SendImmediate,
    /// Whom to tell.
    pub events: SendEvent,
    /// How the data lies.
    pub typed: SendTypedData,
}

/// Where the data of a message goes. C: `pami_recv_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Recv {
    /// Passed to `local_fn`.
    pub cookie: *mut c_void,
    /// All data is in place; may be null.
    pub local_fn: EventFunction,
    /// Where it goes.
    pub addr: *mut c_void,
    /// How it lies there; PAMI_TYPE_BYTE if contiguous.
    pub r#type: Type,
    /// Bytes of the type's data to skip at the start.
    pub offset: usize,
    /// Takes the data in; PAMI_DATA_COPY for a plain copy.
    pub data_fn: DataFunction,
    /// Passed to `data_fn`.
    pub data_cookie: *mut c_void,
}

impl Recv {
    /// What a program fills in.
    pub const UNSAID: Self = Self {
        cookie: std::ptr::null_mut(),
        local_fn: None,
        addr: std::ptr::null_mut(),
        r#type: std::ptr::null_mut(),
        offset: 0,
        data_fn: None,
        data_cookie: std::ptr::null_mut(),
    };
}

/// Receives a message. C: `pami_dispatch_p2p_function`.
pub type DispatchP2pFunction = Option<
    unsafe extern "C" fn(
        context: Context,
        cookie: *mut c_void,
        header_addr: *const c_void,
        header_size: usize,
        pipe_addr: *const c_void,
        data_size: usize,
        origin: Endpoint,
        recv: *mut Recv,
    ),
>;

/// What all one-sided transfers have. C: `pami_rma_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Rma {
    /// With whom; the context's own endpoint is valid.
    pub dest: Endpoint,
    /// Soft hints.
    pub hints: SendHint,
    /// Bytes of data, more than 0.
    pub bytes: usize,
    /// Passed to all callbacks.
    pub cookie: *mut c_void,
    /// The local buffer may be used again; may be null.
    pub done_fn: EventFunction,
}

/// Addresses of a transfer. C: `pami_rma_addr_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RmaAddr {
    /// In this task.
    pub local: *mut c_void,
    /// In the other task's address space.
    pub remote: *mut c_void,
}

/// Types of a transfer, both of this task. C: `pami_rma_typed_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RmaTyped {
    /// Layout of the local buffer.
    pub local: Type,
    /// Layout of the remote buffer.
    pub remote: Type,
}

/// What puts have besides. C: `pami_rma_put_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RmaPut {
    /// All data is in place at the other task; called here; may be null.
    pub rdone_fn: EventFunction,
}

/// Parameters of PAMI_Put. C: `pami_put_simple_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PutSimple {
    /// Whom, how much, callbacks.
    pub rma: Rma,
    /// From `local` to `remote`.
    pub addr: RmaAddr,
    /// Completion at the other task.
    pub put: RmaPut,
}

/// Parameters of PAMI_Put_typed. C: `pami_put_typed_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PutTyped {
    /// Whom, how much, callbacks.
    pub rma: Rma,
    /// From `local` to `remote`.
    pub addr: RmaAddr,
    /// How the data lies.
    pub r#type: RmaTyped,
    /// Completion at the other task.
    pub put: RmaPut,
}

/// Parameters of PAMI_Get. C: `pami_get_simple_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct GetSimple {
    /// Whom, how much, callbacks.
    pub rma: Rma,
    /// From `remote` to `local`.
    pub addr: RmaAddr,
}

/// Parameters of PAMI_Get_typed. C: `pami_get_typed_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct GetTyped {
    /// Whom, how much, callbacks.
    pub rma: Rma,
    /// From `remote` to `local`.
    pub addr: RmaAddr,
    /// How the data lies.
    pub r#type: RmaTyped,
}

/// Atomic operations: one way to modify, by itself or with FETCH, COMPARE or both; FETCH also alone. C:
/// `pami_atomic_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Atomic(pub c_uint);

impl Atomic {
    /// Reads.
    pub const FETCH: Self = Self(0x01);
    /// Bit of the conditional operations; none by itself.
    pub const COMPARE: Self = Self(0x02);
    /// Replaces by `value`.
    pub const SET: Self = Self(0x04);
    /// Adds `value`.
    pub const ADD: Self = Self(0x08);
    /// Or with `value`, bit by bit.
    pub const OR: Self = Self(0x0c);
    /// And with `value`, bit by bit.
    pub const AND: Self = Self(0x10);
    /// Exclusive or with `value`, bit by bit.
    pub const XOR: Self = Self(0x14);
    /// Reads, then replaces.
    pub const FETCH_SET: Self = Self(0x05);
    /// Reads, then adds.
    pub const FETCH_ADD: Self = Self(0x09);
    /// Reads, then or.
    pub const FETCH_OR: Self = Self(0x0d);
    /// Reads, then and.
    pub const FETCH_AND: Self = Self(0x11);
    /// Reads, then exclusive or.
    pub const FETCH_XOR: Self = Self(0x15);
    /// Replaces if equal.
    pub const COMPARE_SET: Self = Self(0x06);
    /// Adds if equal.
    pub const COMPARE_ADD: Self = Self(0x0a);
    /// Or if equal.
    pub const COMPARE_OR: Self = Self(0x0e);
    /// And if equal.
    pub const COMPARE_AND: Self = Self(0x12);
    /// Exclusive or if equal.
    pub const COMPARE_XOR: Self = Self(0x16);
    /// Reads, then replaces if equal.
    pub const FETCH_COMPARE_SET: Self = Self(0x07);
    /// Reads, then adds if equal.
    pub const FETCH_COMPARE_ADD: Self = Self(0x0b);
    /// Reads, then or if equal.
    pub const FETCH_COMPARE_OR: Self = Self(0x0f);
    /// Reads, then and if equal.
    pub const FETCH_COMPARE_AND: Self = Self(0x13);
    /// Reads, then exclusive or if equal.
    pub const FETCH_COMPARE_XOR: Self = Self(0x17);
}

/// Parameters of PAMI_Rmw. C: `pami_rmw_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Rmw {
    /// With whom; the context's own endpoint is valid.
    pub dest: Endpoint,
    /// Soft hints.
    pub hints: SendHint,
    /// Passed to `done_fn`.
    pub cookie: *mut c_void,
    /// The operation has been done and the old value is here; may be null.
    pub done_fn: EventFunction,
    /// Where the old value goes, for FETCH.
    pub local: *mut c_void,
    /// The variable, in the other task's address space.
    pub remote: *mut c_void,
    /// Where the operand is, in this task.
    pub value: *mut c_void,
    /// Where the value to compare with is, in this task, for COMPARE.
    pub test: *mut c_void,
    /// What to do.
    pub operation: Atomic,
    /// PAMI_TYPE_SIGNED_ or PAMI_TYPE_UNSIGNED_ INT, LONG or LONG_LONG.
    pub r#type: Type,
}

/// A memory region. C: `pami_memregion_t`.
pub type Memregion = [usize; 8];

/// A place in a memory region. C: `pami_rma_mr_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RmaMr {
    /// The region.
    pub mr: *mut Memregion,
    /// Bytes from its first.
    pub offset: usize,
}

/// Places of a transfer by region. C: `pami_rdma_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Rdma {
    /// In a region of this task.
    pub local: RmaMr,
    /// In a region of the other task.
    pub remote: RmaMr,
}

/// Parameters of PAMI_Rput. C: `pami_rput_simple_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RputSimple {
    /// Whom, how much, callbacks.
    pub rma: Rma,
    /// From `local` to `remote`.
    pub rdma: Rdma,
    /// Completion at the other task.
    pub put: RmaPut,
}

/// Parameters of PAMI_Rput_typed. C: `pami_rput_typed_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RputTyped {
    /// Whom, how much, callbacks.
    pub rma: Rma,
    /// From `local` to `remote`.
    pub rdma: Rdma,
    /// How the data lies.
    pub r#type: RmaTyped,
    /// Completion at the other task.
    pub put: RmaPut,
}

/// Parameters of PAMI_Rget. C: `pami_rget_simple_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RgetSimple {
    /// Whom, how much, callbacks.
    pub rma: Rma,
    /// From `remote` to `local`.
    pub rdma: Rdma,
}

/// Parameters of PAMI_Rget_typed. C: `pami_rget_typed_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RgetTyped {
    /// Whom, how much, callbacks.
    pub rma: Rma,
    /// From `remote` to `local`.
    pub rdma: Rdma,
    /// How the data lies.
    pub r#type: RmaTyped,
}

/// Kinds of collectives. C: `pami_xfer_type_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct XferType(pub c_uint);

impl XferType {
    /// Data of the root goes to all.
    pub const BROADCAST: Self = Self(0);
    /// Data of all is combined; all get the result.
    pub const ALLREDUCE: Self = Self(1);
    /// Data of all is combined; the root gets the result.
    pub const REDUCE: Self = Self(2);
    /// All get the data of all.
    pub const ALLGATHER: Self = Self(3);
    /// The same with lengths of their own.
    pub const ALLGATHERV: Self = Self(4);
    /// The same with lengths of type int.
    pub const ALLGATHERV_INT: Self = Self(5);
    /// Each gets its part of the root's data.
    pub const SCATTER: Self = Self(6);
    /// The same with lengths of their own.
    pub const SCATTERV: Self = Self(7);
    /// The same with lengths of type int.
    pub const SCATTERV_INT: Self = Self(8);
    /// The root gets the data of all.
    pub const GATHER: Self = Self(9);
    /// The same with lengths of their own.
    pub const GATHERV: Self = Self(10);
    /// The same with lengths of type int.
    pub const GATHERV_INT: Self = Self(11);
    /// Nobody goes on before all have come.
    pub const BARRIER: Self = Self(12);
    /// Each has a part for each.
    pub const ALLTOALL: Self = Self(13);
    /// The same with lengths of their own.
    pub const ALLTOALLV: Self = Self(14);
    /// The same with lengths of type int.
    pub const ALLTOALLV_INT: Self = Self(15);
    /// Each gets the combination of those up to itself.
    pub const SCAN: Self = Self(16);
    /// Data of all is combined; each gets its part of the result.
    pub const REDUCE_SCATTER: Self = Self(17);
    /// Broadcast that only the root calls.
    pub const AMBROADCAST: Self = Self(18);
    /// Scatter that only the root calls.
    pub const AMSCATTER: Self = Self(19);
    /// Gather that only the root calls.
    pub const AMGATHER: Self = Self(20);
    /// Reduce that only the root calls.
    pub const AMREDUCE: Self = Self(21);
    /// How many kinds there are.
    pub const COUNT: Self = Self(22);
    /// First kind of extensions.
    pub const TYPE_EXT: Self = Self(1000);
}

/// Consecutive tasks. C: `pami_geometry_range_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct GeometryRange {
    /// The first.
    pub lo: Task,
    /// The last, which belongs to it.
    pub hi: Task,
}

/// Parameters of PAMI_XFER_ALLTOALLV. C: `pami_alltoallv_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Alltoallv {
    /// What is sent.
    pub sndbuf: *mut c_char,
    /// Its type.
    pub stype: Type,
    /// How much goes to each.
    pub stypecounts: *mut usize,
    /// Where that begins.
    pub sdispls: *mut usize,
    /// What is received.
    pub rcvbuf: *mut c_char,
    /// Its type.
    pub rtype: Type,
    /// How much comes from each.
    pub rtypecounts: *mut usize,
    /// Where that begins.
    pub rdispls: *mut usize,
}

/// Parameters of PAMI_XFER_ALLTOALLV_INT. C: `pami_alltoallv_int_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AlltoallvInt {
    /// What is sent.
    pub sndbuf: *mut c_char,
    /// Its type.
    pub stype: Type,
    /// How much goes to each.
    pub stypecounts: *mut c_int,
    /// Where that begins.
    pub sdispls: *mut c_int,
    /// What is received.
    pub rcvbuf: *mut c_char,
    /// Its type.
    pub rtype: Type,
    /// How much comes from each.
    pub rtypecounts: *mut c_int,
    /// Where that begins.
    pub rdispls: *mut c_int,
}

/// Parameters of PAMI_XFER_ALLTOALL. C: `pami_alltoall_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Alltoall {
    /// What is sent: a part for each, one behind the other.
    pub sndbuf: *mut c_char,
    /// Its type.
    pub stype: Type,
    /// How much goes to each.
    pub stypecount: usize,
    /// What is received: a part from each, one behind the other.
    pub rcvbuf: *mut c_char,
    /// Its type.
    pub rtype: Type,
    /// How much comes from each.
    pub rtypecount: usize,
}

/// Parameters of PAMI_XFER_REDUCE. C: `pami_reduce_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Reduce {
    /// Who gets the result.
    pub root: Endpoint,
    /// What is combined.
    pub sndbuf: *mut c_char,
    /// Its type.
    pub stype: Type,
    /// How much.
    pub stypecount: usize,
    /// The result, at the root.
    pub rcvbuf: *mut c_char,
    /// Its type.
    pub rtype: Type,
    /// How much.
    pub rtypecount: usize,
    /// Combines two.
    pub op: DataFunction,
    /// Passed to `op`.
    pub data_cookie: *mut c_void,
    /// Not 0: `op` may be called in any order.
    pub commutative: c_int,
}

/// Parameters of PAMI_XFER_REDUCE_SCATTER. C: `pami_reduce_scatter_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ReduceScatter {
    /// What is combined: a part for each, one behind the other.
    pub sndbuf: *mut c_char,
    /// Its type.
    pub stype: Type,
    /// How much, all parts together.
    pub stypecount: usize,
    /// This endpoint's part of the result.
    pub rcvbuf: *mut c_char,
    /// Its type.
    pub rtype: Type,
    /// How much each gets; the same at all endpoints.
    pub rcounts: *mut usize,
    /// Combines two.
    pub op: DataFunction,
    /// Passed to `op`.
    pub data_cookie: *mut c_void,
    /// Not 0: `op` may be called in any order.
    pub commutative: c_int,
}

/// Parameters of PAMI_XFER_BROADCAST. C: `pami_broadcast_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Broadcast {
    /// Who sends.
    pub root: Endpoint,
    /// What is sent at the root, what is received elsewhere.
    pub buf: *mut c_char,
    /// Its type; endpoints may differ.
    pub r#type: Type,
    /// How much.
    pub typecount: usize,
}

/// Parameters of PAMI_XFER_ALLGATHER. C: `pami_allgather_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Allgather {
    /// What is sent.
    pub sndbuf: *mut c_char,
    /// Its type.
    pub stype: Type,
    /// How much.
    pub stypecount: usize,
    /// What is received: a part from each, one behind the other.
    pub rcvbuf: *mut c_char,
    /// Its type.
    pub rtype: Type,
    /// How much comes from each.
    pub rtypecount: usize,
}

/// Parameters of PAMI_XFER_GATHER. C: `pami_gather_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Gather {
    /// Who receives.
    pub root: Endpoint,
    /// What is sent.
    pub sndbuf: *mut c_char,
    /// Its type.
    pub stype: Type,
    /// How much.
    pub stypecount: usize,
    /// What is received, at the root: a part from each, one behind the other.
    pub rcvbuf: *mut c_char,
    /// Its type.
    pub rtype: Type,
    /// How much comes from each.
    pub rtypecount: usize,
}

/// Parameters of PAMI_XFER_GATHERV. C: `pami_gatherv_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Gatherv {
    /// Who receives.
    pub root: Endpoint,
    /// What is sent.
    pub sndbuf: *mut c_char,
    /// Its type.
    pub stype: Type,
    /// How much.
    pub stypecount: usize,
    /// What is received, at the root.
    pub rcvbuf: *mut c_char,
    /// Its type.
    pub rtype: Type,
    /// How much comes from each.
    pub rtypecounts: *mut usize,
    /// Where that begins.
    pub rdispls: *mut usize,
}

/// Parameters of PAMI_XFER_GATHERV_INT. C: `pami_gatherv_int_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct GathervInt {
    /// Who receives.
    pub root: Endpoint,
    /// What is sent.
    pub sndbuf: *mut c_char,
    /// Its type.
    pub stype: Type,
    /// How much.
    pub stypecount: c_int,
    /// What is received, at the root.
    pub rcvbuf: *mut c_char,
    /// Its type.
    pub rtype: Type,
    /// How much comes from each.
    pub rtypecounts: *mut c_int,
    /// Where that begins.
    pub rdispls: *mut c_int,
}

/// Parameters of PAMI_XFER_ALLGATHERV. C: `pami_allgatherv_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Allgatherv {
    /// What is sent.
    pub sndbuf: *mut c_char,
    /// Its type.
    pub stype: Type,
    /// How much.
    pub stypecount: usize,
    /// What is received.
    pub rcvbuf: *mut c_char,
    /// Its type.
    pub rtype: Type,
    /// How much comes from each.
    pub rtypecounts: *mut usize,
    /// Where that begins.
    pub rdispls: *mut usize,
}

/// Parameters of PAMI_XFER_ALLGATHERV_INT. C: `pami_allgatherv_int_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AllgathervInt {
    /// What is sent.
    pub sndbuf: *mut c_char,
    /// Its type.
    pub stype: Type,
    /// How much.
    pub stypecount: c_int,
    /// What is received.
    pub rcvbuf: *mut c_char,
    /// Its type.
    pub rtype: Type,
    /// How much comes from each.
    pub rtypecounts: *mut c_int,
    /// Where that begins.
    pub rdispls: *mut c_int,
}

/// Parameters of PAMI_XFER_SCATTER. C: `pami_scatter_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Scatter {
    /// Who sends.
    pub root: Endpoint,
    /// What is sent, at the root: a part for each, one behind the other.
    pub sndbuf: *mut c_char,
    /// Its type.
    pub stype: Type,
    /// How much goes to each.
    pub stypecount: usize,
    /// What is received.
    pub rcvbuf: *mut c_char,
    /// Its type.
    pub rtype: Type,
    /// How much.
    pub rtypecount: usize,
}

/// Parameters of PAMI_XFER_SCATTERV. C: `pami_scatterv_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Scatterv {
    /// Who sends.
    pub root: Endpoint,
    /// What is sent, at the root.
    pub sndbuf: *mut c_char,
    /// Its type.
    pub stype: Type,
    /// How much goes to each.
    pub stypecounts: *mut usize,
    /// Where that begins.
    pub sdispls: *mut usize,
    /// What is received.
    pub rcvbuf: *mut c_char,
    /// Its type.
    pub rtype: Type,
    /// How much.
    pub rtypecount: usize,
}

/// Parameters of PAMI_XFER_SCATTERV_INT. C: `pami_scatterv_int_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ScattervInt {
    /// Who sends.
    pub root: Endpoint,
    /// What is sent, at the root.
    pub sndbuf: *mut c_char,
    /// Its type.
    pub stype: Type,
    /// How much goes to each.
    pub stypecounts: *mut c_int,
    /// Where that begins.
    pub sdispls: *mut c_int,
    /// What is received.
    pub rcvbuf: *mut c_char,
    /// Its type.
    pub rtype: Type,
    /// How much.
    pub rtypecount: c_int,
}

/// Parameters of PAMI_XFER_ALLREDUCE. C: `pami_allreduce_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Allreduce {
    /// What is combined.
    pub sndbuf: *mut c_char,
    /// Its type.
    pub stype: Type,
    /// How much.
    pub stypecount: usize,
    /// The result.
    pub rcvbuf: *mut c_char,
    /// Its type.
    pub rtype: Type,
    /// How much.
    pub rtypecount: usize,
    /// Combines two.
    pub op: DataFunction,
    /// Passed to `op`.
    pub data_cookie: *mut c_void,
    /// Not 0: `op` may be called in any order.
    pub commutative: c_int,
}

/// Parameters of PAMI_XFER_SCAN. C: `pami_scan_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Scan {
    /// What is combined.
    pub sndbuf: *mut c_char,
    /// Its type.
    pub stype: Type,
    /// How much.
    pub stypecount: usize,
    /// The result of the endpoints up to this one, in the geometry's order.
    pub rcvbuf: *mut c_char,
    /// Its type.
    pub rtype: Type,
    /// How much.
    pub rtypecount: usize,
    /// Combines two.
    pub op: DataFunction,
    /// Passed to `op`.
    pub data_cookie: *mut c_void,
    /// Not 0: without this endpoint's own; the first one's result is then not defined.
    pub exclusive: c_int,
}

/// Parameters of PAMI_XFER_BARRIER: none. C: `pami_barrier_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Barrier {}

/// Parameters of PAMI_XFER_AMBROADCAST. C: `pami_ambroadcast_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Ambroadcast {
    /// Number of the dispatch.
    pub dispatch: usize,
    /// Header that all get.
    pub user_header: *mut c_void,
    /// Its bytes; may be 0.
    pub headerlen: usize,
    /// What is sent.
    pub sndbuf: *mut c_void,
    /// Its type.
    pub stype: Type,
    /// How much.
    pub stypecount: usize,
}

/// Receives an active-message broadcast: pami_dispatch_p2p_function with the geometry; `origin` is the root. C:
/// `pami_dispatch_ambroadcast_function`.
pub type DispatchAmbroadcastFunction = Option<
    unsafe extern "C" fn(
        context: Context,
        cookie: *mut c_void,
        header_addr: *const c_void,
        header_size: usize,
        pipe_addr: *const c_void,
        data_size: usize,
        origin: Endpoint,
        geometry: Geometry,
        recv: *mut Recv,
    ),
>;

/// Parameters of PAMI_XFER_AMSCATTER. C: `pami_amscatter_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Amscatter {
    /// Number of the dispatch.
    pub dispatch: usize,
    /// A header for each endpoint, one behind the other.
    pub headers: *mut c_void,
    /// Bytes of each.
    pub headerlen: usize,
    /// What is sent: a part for each, one behind the other.
    pub sndbuf: *mut c_void,
    /// Its type.
    pub stype: Type,
    /// How much goes to each.
    pub stypecount: usize,
}

/// Receives its part of an active-message scatter: pami_dispatch_p2p_function with the geometry; `origin` is the
/// root. C: `pami_dispatch_amscatter_function`.
pub type DispatchAmscatterFunction = Option<
    unsafe extern "C" fn(
        context: Context,
        cookie: *mut c_void,
        header_addr: *const c_void,
        header_size: usize,
        pipe_addr: *const c_void,
        data_size: usize,
        origin: Endpoint,
        geometry: Geometry,
        recv: *mut Recv,
    ),
>;

/// Parameters of PAMI_XFER_AMGATHER. C: `pami_amgather_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Amgather {
    /// Number of the dispatch.
    pub dispatch: usize,
    /// A header for each endpoint, one behind the other.
    pub headers: *mut c_void,
    /// Bytes of each.
    pub headerlen: usize,
    /// What is received: a part from each, one behind the other.
    pub rcvbuf: *mut c_void,
    /// Its type.
    pub rtype: Type,
    /// How much comes from each.
    pub rtypecount: usize,
}

/// Is asked for its part of an active-message gather. C: `pami_dispatch_amgather_function`.
pub type DispatchAmgatherFunction = Option<
    unsafe extern "C" fn(
        context: Context,
        cookie: *mut c_void,
        header_addr: *const c_void,
        header_size: usize,
        data_size: usize,
        origin: Endpoint,
        geometry: Geometry,
        send: *mut Recv,
    ),
>;

/// Parameters of PAMI_XFER_AMREDUCE. C: `pami_amreduce_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Amreduce {
    /// Number of the dispatch.
    pub dispatch: usize,
    /// Header that all get.
    pub user_header: *mut c_void,
    /// Its bytes; may be 0.
    pub headerlen: usize,
    /// The result.
    pub rcvbuf: *mut c_void,
    /// Its type.
    pub rtype: Type,
    /// How much.
    pub rtypecount: usize,
    /// Passed to the operation.
    pub data_cookie: *mut c_void,
    /// Not 0: the operation may be called in any order.
    pub commutative: c_int,
}

/// Is asked for its part of an active-message reduce. C: `pami_dispatch_amreduce_function`.
pub type DispatchAmreduceFunction = Option<
    unsafe extern "C" fn(
        context: Context,
        cookie: *mut c_void,
        header_addr: *const c_void,
        header_size: usize,
        data_size: usize,
        origin: Endpoint,
        geometry: Geometry,
        op: *mut DataFunction,
        send: *mut Recv,
    ),
>;

/// Parameters of any collective. C: `pami_collective_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub union Collective {
    /// Of `PAMI_XFER_ALLREDUCE`.
    pub xfer_allreduce: Allreduce,
    /// Of `PAMI_XFER_BROADCAST`.
    pub xfer_broadcast: Broadcast,
    /// Of `PAMI_XFER_REDUCE`.
    pub xfer_reduce: Reduce,
    /// Of `PAMI_XFER_ALLGATHER`.
    pub xfer_allgather: Allgather,
    /// Of `PAMI_XFER_ALLGATHERV`.
    pub xfer_allgatherv: Allgatherv,
    /// Of `PAMI_XFER_ALLGATHERV_INT`.
    pub xfer_allgatherv_int: AllgathervInt,
    /// Of `PAMI_XFER_SCATTER`.
    pub xfer_scatter: Scatter,
    /// Of `PAMI_XFER_SCATTERV`.
    pub xfer_scatterv: Scatterv,
    /// Of `PAMI_XFER_SCATTERV_INT`.
    pub xfer_scatterv_int: ScattervInt,
    /// Of `PAMI_XFER_GATHER`.
    pub xfer_gather: Gather,
    /// Of `PAMI_XFER_GATHERV`.
    pub xfer_gatherv: Gatherv,
    /// Of `PAMI_XFER_GATHERV_INT`.
    pub xfer_gatherv_int: GathervInt,
    /// Of `PAMI_XFER_ALLTOALL`.
    pub xfer_alltoall: Alltoall,
    /// Of `PAMI_XFER_ALLTOALLV`.
    pub xfer_alltoallv: Alltoallv,
    /// Of `PAMI_XFER_ALLTOALLV_INT`.
    pub xfer_alltoallv_int: AlltoallvInt,
    /// Of `PAMI_XFER_AMBROADCAST`.
    pub xfer_ambroadcast: Ambroadcast,
    /// Of `PAMI_XFER_AMSCATTER`.
    pub xfer_amscatter: Amscatter,
    /// Of `PAMI_XFER_AMGATHER`.
    pub xfer_amgather: Amgather,
    /// Of `PAMI_XFER_AMREDUCE`.
    pub xfer_amreduce: Amreduce,
    /// Of `PAMI_XFER_SCAN`.
    pub xfer_scan: Scan,
    /// Of `PAMI_XFER_BARRIER`.
    pub xfer_barrier: Barrier,
    /// Of `PAMI_XFER_REDUCE_SCATTER`.
    pub xfer_reduce_scatter: ReduceScatter,
}

/// A collective. C: `pami_xfer_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Xfer {
    /// This endpoint's part has ended; may be null.
    pub cb_done: EventFunction,
    /// Passed to `cb_done`.
    pub cookie: *mut c_void,
    /// From PAMI_Geometry_algorithms_query, which fixes kind and geometry.
    pub algorithm: Algorithm,
    /// Soft hints.
    pub options: CollectiveHint,
    /// Parameters of the kind.
    pub cmd: Collective,
}

/// The function that a dispatch calls, by what it is for. C: `pami_dispatch_callback_function`.
#[derive(Clone, Copy)]
#[repr(C)]
pub union DispatchCallbackFunction {
    /// Sends.
    pub p2p: DispatchP2pFunction,
    /// Of `PAMI_XFER_AMBROADCAST`.
    pub ambroadcast: DispatchAmbroadcastFunction,
    /// Of `PAMI_XFER_AMSCATTER`.
    pub amscatter: DispatchAmscatterFunction,
    /// Of `PAMI_XFER_AMGATHER`.
    pub amgather: DispatchAmgatherFunction,
    /// Of `PAMI_XFER_AMREDUCE`.
    pub amreduce: DispatchAmreduceFunction,
}

/// An extension that is open. C: `pami_extension_t`.
pub type Extension = *mut c_void;

/// The torus as this task sees it. C: `pami_extension_torus_information_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TorusInformation {
    /// Number of dimensions.
    pub dims: usize,
    /// Coordinates of this task.
    pub coord: *mut usize,
    /// Length of each dimension.
    pub size: *mut usize,
    /// 1 for a dimension that is a ring, 0 for one that is a line.
    pub torus: *mut usize,
}

/// Symbol "information": the torus. C: `pami_extension_torus_information_fn`.
pub type TorusInformationFunction = Option<unsafe extern "C" fn() -> *const TorusInformation>;

/// Symbol "task2torus": coordinates of a task. C: `pami_extension_torus_task2torus_fn`.
pub type TorusTask2torusFunction =
    Option<unsafe extern "C" fn(task: Task, addr: *mut usize) -> ResultCode>;

/// Symbol "torus2task": the task at coordinates. C: `pami_extension_torus_torus2task_fn`.
pub type TorusTorus2taskFunction =
    Option<unsafe extern "C" fn(addr: *mut usize, task: *mut Task) -> ResultCode>;

/// What wakes a context up. C: `pamix_async_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct AsyncEvent(pub c_uint);

impl AsyncEvent {
    /// All of these.
    pub const ALL: Self = Self(0);
    /// The arrival of a message.
    pub const RECV_INTERRUPT: Self = Self(1);
    /// A timer.
    pub const TIMER: Self = Self(2);
    /// First value of further extensions.
    pub const EXT: Self = Self(1000);
}

/// Called by the thread that makes progress, without the context's lock. C: `pamix_async_function`.
pub type AsyncFunction = Option<unsafe extern "C" fn(context: Context, cookie: *mut c_void)>;

/// Symbol "register": names the functions of a context; each may be null. C: `pamix_async_progress_register_fn`.
pub type AsyncRegisterFunction = Option<
    unsafe extern "C" fn(
        context: Context,
        progress_fn: AsyncFunction,
        suspend_fn: AsyncFunction,
        resume_fn: AsyncFunction,
        cookie: *mut c_void,
    ) -> ResultCode,
>;

/// Symbol "enable": lets a context make progress by itself from now on. C: `pamix_async_progress_enable_fn`.
pub type AsyncEnableFunction =
    Option<unsafe extern "C" fn(context: Context, event_type: AsyncEvent) -> ResultCode>;

/// Symbol "disable": ends that. C: `pamix_async_progress_disable_fn`.
pub type AsyncDisableFunction =
    Option<unsafe extern "C" fn(context: Context, event_type: AsyncEvent) -> ResultCode>;
