/**
 * PAMI V1R2M0: active messages, one-sided transfers and collectives between the tasks of a job.
 *
 * Vocabulary:
 * - A task is one process of the job, numbered from 0.
 * - A client is one user of the interface within a task (a library, a language runtime). Clients of the same name in
 *   all tasks belong together; different clients share nothing.
 * - A context is a part of a client's resources that makes progress by itself. Its number within the client is its
 *   offset.
 * - An endpoint is the address of a context: a task and an offset, packed.
 * - A geometry is a group of endpoints for collectives.
 *
 * Rules for all calls:
 * - Nothing waits for a transfer, except where the text says so. An operation that is accepted returns PAMI_SUCCESS and
 *   ends later, inside a call that advances its context; that call runs the callbacks.
 * - One thread at a time uses a context. Only PAMI_Context_post and the locks may be called by any thread at any time.
 * - Callbacks own their context while they run: they may start operations on it, and must not advance it. For another
 *   context they need its lock, or post work to it.
 * - All contexts of a client must be advanced while operations are pending, unless the hint `multicontext` is disabled.
 * - Structures of parameters may be reused as soon as the call returns. Buffers belong to the operation until the
 *   callback that says it is done.
 * - Sizes, lengths and offsets are in bytes unless the text says otherwise.
 * - A function that is handed a bad handle or a bad argument returns PAMI_INVAL and has done nothing.
 */
#ifndef PAMI_H
#define PAMI_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/uio.h>

/* Sizes of objects that the caller provides. */

/** Bytes of a pami_memregion_t. */
#define PAMI_CLIENT_MEMREGION_SIZE_STATIC (8 * sizeof(uintptr_t))
/** Bytes of a pami_work_t. */
#define PAMI_WORK_SIZE_STATIC (8 * sizeof(uintptr_t))
/** Units of 16 bytes that are enough for the state of any request. */
#define PAMI_REQUEST_NQUADS 512

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Results and handles ---------------------------------------------------------------------------------------- */

/** What a function returns, or what an operation that has ended tells its callback. */
typedef enum {
  PAMI_SUCCESS = 0,      /**< Done, or accepted. */
  PAMI_NERROR = -1,      /**< Failed for a reason that has no code, below zero. */
  PAMI_ERROR = 1,        /**< Failed for a reason that has no code. */
  PAMI_INVAL = 2,        /**< An argument is wrong. */
  PAMI_UNIMPL = 3,       /**< Not there in this implementation. */
  PAMI_EAGAIN = 4,       /**< Not now: nothing happened, or resources are in use. */
  PAMI_ENOMEM = 5,       /**< No memory is left. */
  PAMI_SHUTDOWN = 6,     /**< The other task has ended. */
  PAMI_CHECK_ERRNO = 7,  /**< A system call failed: see errno. */
  PAMI_OTHER = 8,        /**< Any other error. */
  PAMI_RESULT_EXT = 1000 /**< First code of extensions. */
} pami_result_t;

/** A client. */
typedef void *pami_client_t;
/** A context. */
typedef void *pami_context_t;
/** A data type: which bytes of a buffer belong to a transfer, and in which order. */
typedef void *pami_type_t;
/** Number of a task, from 0. */
typedef uint32_t pami_task_t;
/** An endpoint. It holds no pointer, so tasks may send it to each other and share it. */
typedef uint32_t pami_endpoint_t;
/** A geometry. */
typedef void *pami_geometry_t;
/** An algorithm for one kind of collective on one geometry. */
typedef size_t pami_algorithm_t;

extern pami_client_t PAMI_CLIENT_NULL;       /**< No client. */
extern pami_type_t PAMI_TYPE_NULL;           /**< No type. */
extern pami_context_t PAMI_CONTEXT_NULL;     /**< No context. */
extern pami_geometry_t PAMI_GEOMETRY_NULL;   /**< No geometry. */
extern pami_algorithm_t PAMI_ALGORITHM_NULL; /**< No algorithm. */
extern pami_endpoint_t PAMI_ENDPOINT_NULL;   /**< No endpoint. */
extern size_t PAMI_ALL_CONTEXTS;             /**< In place of an offset: all contexts of each task. */

/* ---- Callbacks -------------------------------------------------------------------------------------------------- */

/**
 * Called by an advance of `context` when an operation has come as far as the place of this callback says.
 *
 * @param cookie  what the caller of the operation gave with it
 * @param result  PAMI_SUCCESS, or why the operation has failed
 */
typedef void (*pami_event_function)(pami_context_t context, void *cookie, pami_result_t result);

/**
 * Combines `bytes` bytes of `source` into `target`, both contiguous. A transfer that names one calls it instead of
 * copying, in pieces of any multiple of the type's atom size.
 */
typedef void (*pami_data_function)(void *target, void *source, size_t bytes, void *cookie);

/**
 * Work that was posted to a context, called by its advance.
 *
 * @return PAMI_EAGAIN to be called again by a later advance; anything else ends the work, whose pami_work_t may then be
 *         reused, by the function itself too
 */
typedef pami_result_t (*pami_work_function)(pami_context_t context, void *cookie);

/** Room for a piece of posted work. The caller provides it and leaves it alone until the work has ended. */
typedef uintptr_t pami_work_t[PAMI_WORK_SIZE_STATIC / sizeof(uintptr_t)];

/* ---- Configuration ---------------------------------------------------------------------------------------------- */

/** Name of a setting as text. */
typedef char *pami_user_key_t;
/** Value of a setting as text. */
typedef char *pami_user_value_t;

/** A setting as text. */
typedef struct {
  pami_user_key_t key;     /**< Its name. */
  pami_user_value_t value; /**< Its value. */
} pami_user_config_t;

/**
 * Attributes. The member of pami_attribute_value_t that holds each is named in brackets. All can be queried; only
 * PAMI_GEOMETRY_OPTIMIZE can be updated.
 */
typedef enum {
  /* Of a client. */
  PAMI_CLIENT_CLOCK_MHZ = 100,           /**< [intval] Clock of a core, in MHz. */
  PAMI_CLIENT_CONST_CONTEXTS = 101,      /**< [intval] 1: PAMI_CLIENT_NUM_CONTEXTS is the same in all tasks. */
  PAMI_CLIENT_HWTHREADS_AVAILABLE = 102, /**< [intval] Hardware threads of its core, for the threads of this task. */
  PAMI_CLIENT_MEMREGION_SIZE = 103,      /**< [intval] Bytes of a pami_memregion_t that are in use. */
  PAMI_CLIENT_MEM_SIZE = 104,            /**< [intval] Main memory, in MiB. */
  PAMI_CLIENT_NUM_TASKS = 105,           /**< [intval] Tasks of the job. */
  PAMI_CLIENT_NUM_LOCAL_TASKS = 106,     /**< [intval] Tasks on this node, this one included. */
  PAMI_CLIENT_LOCAL_TASKS = 107,         /**< [intarray] Their numbers; the array belongs to the client. */
  PAMI_CLIENT_NUM_CONTEXTS = 108,        /**< [intval] Most contexts that this client may have in this task. */
  PAMI_CLIENT_PROCESSOR_NAME = 109,      /**< [chararray] Name of where the task runs; it belongs to the client. */
  PAMI_CLIENT_TASK_ID = 110,             /**< [intval] Number of this task. */
  PAMI_CLIENT_WTIMEBASE_MHZ = 111,       /**< [intval] Steps of PAMI_Wtimebase in a microsecond. */
  PAMI_CLIENT_WTICK = 112,               /**< [doubleval] Resolution of PAMI_Wtime, in seconds. */
  /* Of a context. */
  PAMI_CONTEXT_DISPATCH_ID_MAX = 200, /**< [intval] Largest number of a dispatch. */
  /* Of a dispatch. */
  PAMI_DISPATCH_RECV_IMMEDIATE_MAX = 300, /**< [intval] Most bytes of header and data that one dispatch call gets. */
  PAMI_DISPATCH_SEND_IMMEDIATE_MAX = 301, /**< [intval] Most bytes of header and data of a PAMI_Send_immediate. */
  PAMI_DISPATCH_ATOM_SIZE_MAX = 302,      /**< [intval] Largest atom size of a type in a PAMI_Send_typed. */
  /* Of a geometry. */
  PAMI_GEOMETRY_OPTIMIZE = 400, /**< [intval] 1: has algorithms that hold hardware; 0: gives it back. */
  /* Of a type. */
  PAMI_TYPE_DATA_SIZE = 500,   /**< [intval] Bytes of data. */
  PAMI_TYPE_DATA_EXTENT = 501, /**< [intval] Distance from one repetition to the next, in bytes. */
  PAMI_TYPE_ATOM_SIZE = 502,   /**< [intval] Bytes that data functions never see divided. */
  PAMI_ATTRIBUTE_NAME_EXT = 1000 /**< First attribute of extensions. */
} pami_attribute_name_t;

/** Value of an attribute. */
typedef union {
  size_t intval;          /**< A number. */
  double doubleval;       /**< A number with a fraction. */
  const char *chararray;  /**< Text that ends with a zero. */
  const size_t *intarray; /**< Numbers; another attribute has their count. */
} pami_attribute_value_t;

/** An attribute and its value: the unit of queries, of updates and of settings at creation. */
typedef struct {
  pami_attribute_name_t name;   /**< Which attribute. */
  pami_attribute_value_t value; /**< Its value. */
} pami_configuration_t;

/* ---- Metadata of algorithms ------------------------------------------------------------------------------------- */

/** Why an algorithm cannot do a collective. All bits clear: it can. */
typedef union metadata_result_t {
  unsigned bitmask; /**< All bits. */
  struct {
    unsigned unspecified : 1;       /**< A reason that has no bit. */
    unsigned range : 1;             /**< Too few or too many bytes. */
    unsigned align_send_buffer : 1; /**< The address of the send buffer is not aligned as needed. */
    unsigned align_recv_buffer : 1; /**< The address of the receive buffer is not aligned as needed. */
    unsigned datatype_op : 1;       /**< This pair of type and operation is not there. */
    unsigned contiguous_send : 1;   /**< The type of what is sent has holes. */
    unsigned contiguous_recv : 1;   /**< The type of what is received has holes. */
    unsigned continuous_send : 1;   /**< The parts of a vector to send are not one behind the other. */
    unsigned continuous_recv : 1;   /**< The parts of a vector to receive are not one behind the other. */
    unsigned nonlocal : 1;          /**< The answers of all endpoints count: reduce them. */
  } check;                          /**< Bit by bit. */
} metadata_result_t;

/** Pointer to the parameters of a collective. */
typedef struct pami_xfer_t *xfer_p;

/** Says whether an algorithm can do the collective `xfer`, as far as this endpoint knows. */
typedef metadata_result_t (*pami_metadata_function)(struct pami_xfer_t *xfer);

/**
 * What an algorithm can do and where it is fast.
 *
 * `checkrequired` set: call `check_fn` before each collective; nothing else needs a look. Clear: the other bits say
 * what limits there are, and `check_fn`, where there is one, answers for given parameters until one changes that a set
 * bit concerns.
 */
typedef struct {
  char *name;                      /**< Its name; it belongs to the geometry. */
  unsigned version;                /**< Version of the algorithm. */
  pami_metadata_function check_fn; /**< Checks parameters; may be null if `checkrequired` is clear. */
  size_t range_lo;                 /**< Fewest bytes, if `rangeminmax`. */
  size_t range_hi;                 /**< Most bytes, if `rangeminmax`. */
  unsigned send_min_align;         /**< Alignment of the send buffer, in bytes, if `sendminalign`. */
  unsigned recv_min_align;         /**< Alignment of the receive buffer, in bytes, if `recvminalign`. */
  union {
    unsigned bitmask_correct; /**< All bits. */
    struct {
      unsigned checkrequired : 1; /**< `check_fn` must be asked each time. */
      unsigned nonlocal : 1;      /**< The answers of all endpoints count: reduce them. */
      unsigned rangeminmax : 1;   /**< Bytes have limits. */
      unsigned sendminalign : 1;  /**< The send buffer must be aligned. */
      unsigned recvminalign : 1;  /**< The receive buffer must be aligned. */
      unsigned alldtop : 1;       /**< Does every predefined type with every operation that is valid for it. */
      unsigned contigsflags : 1;  /**< Sends types without holes only. */
      unsigned contigrflags : 1;  /**< Receives types without holes only. */
      unsigned continsflags : 1;  /**< Sends vectors only whose parts lie one behind the other. */
      unsigned continrflags : 1;  /**< Receives vectors only whose parts lie one behind the other. */
      unsigned blocking : 1;      /**< The call may wait for others. */
      unsigned inplace : 1;       /**< Send and receive buffer may be the same. */
      unsigned asyncflowctl : 1;  /**< Endpoints may run ahead: a barrier now and then bounds what is buffered. */
      unsigned oneatatime : 1;    /**< One such collective may be pending at a time. */
      unsigned global_order : 4;  /**< Not 0: all endpoints start such collectives in one order, over all geometries. */
    } values;                     /**< Bit by bit. */
  } check_correct;                /**< What must hold. */
  union {
    unsigned bitmask_perf; /**< All bits. */
    struct {
      unsigned hw_accel : 1; /**< Done by hardware for collectives. */
    } values;                /**< Bit by bit. */
  } check_perf;              /**< What makes it fast. */
  size_t range_lo_perf;      /**< Fewest bytes for which it is a good choice. */
  size_t range_hi_perf;      /**< Most bytes for which it is a good choice. */
  unsigned min_align_perf;   /**< Alignment of buffers, in bytes, for which it is a good choice. */
} pami_metadata_t;

/* ---- Hints ------------------------------------------------------------------------------------------------------ */

/** Values of the two-bit fields of hints. */
typedef enum {
  PAMI_HINT_DEFAULT = 0, /**< As the implementation likes, or as the field says. */
  PAMI_HINT_ENABLE = 1,  /**< Wanted. */
  PAMI_HINT_DISABLE = 2, /**< Not wanted. */
  PAMI_HINT_INVALID = 3  /**< Means nothing. */
} pami_hint_t;

/**
 * Hints of a dispatch. These are hard: PAMI_Dispatch_set keeps them or fails. All tasks must give the same for one
 * dispatch and offset; nothing checks that.
 */
typedef struct {
  /** Messages may use other contexts, which must be advanced. Default: enabled. */
  unsigned multicontext : 2;
  /** Headers longer than a packet. Disabled: at most PAMI_DISPATCH_RECV_IMMEDIATE_MAX bytes. Default: enabled. */
  unsigned long_header : 2;
  /** `type` and `offset` of pami_recv_t are not read: the buffer is contiguous. Default: disabled. */
  unsigned recv_contiguous : 2;
  /** `data_fn` and `data_cookie` of pami_recv_t are not read: data is copied. Default: disabled. */
  unsigned recv_copy : 2;
  /**
   * All data arrives with the dispatch call. Enabled: at most PAMI_DISPATCH_RECV_IMMEDIATE_MAX bytes of header and data
   * may be sent. Disabled: it never does, so each call has a pami_recv_t. Default: as it comes.
   */
  unsigned recv_immediate : 2;
  /**
   * Dispatch calls for messages between two endpoints come in the order of the sends; the ends of the receives need
   * not. Default: disabled.
   */
  unsigned consistency : 2;
  /** All buffers lie in memory regions; contradicts `use_rdma` disabled. Default: disabled. */
  unsigned buffer_registered : 2;
  /** The receiver makes progress without advancing. Default: disabled. */
  unsigned remote_async_progress : 2;
  /** Data goes by remote memory access. Default: as the implementation likes. */
  unsigned use_rdma : 2;
  /** Messages go through shared memory; one to another node is PAMI_INVAL. Default: as the implementation likes. */
  unsigned use_shmem : 2;
  /** PAMI_Send_immediate queues what finds no room; disabled: it returns PAMI_EAGAIN. Default: enabled. */
  unsigned queue_immediate : 2;
} pami_dispatch_hint_t;

/** Hints of one transfer, with the meaning of pami_dispatch_hint_t. These are soft: they may be ignored. */
typedef struct {
  unsigned reserved0 : 12;            /**< Zero. */
  unsigned buffer_registered : 2;     /**< The buffers lie in memory regions. */
  unsigned remote_async_progress : 2; /**< The target makes progress without advancing. */
  unsigned use_rdma : 2;              /**< Data goes by remote memory access. */
  unsigned use_shmem : 2;             /**< The transfer goes through shared memory. */
  unsigned reserved1 : 2;             /**< Zero. */
} pami_send_hint_t;

/** Hints of a collective. These are soft: they may be ignored. */
typedef struct {
  unsigned multicontext : 2; /**< The collective may use other contexts, which must be advanced. */
  unsigned reserved0 : 20;   /**< Zero. */
} pami_collective_hint_t;

/* ---- Active messages -------------------------------------------------------------------------------------------- */

/** What all sends have. */
typedef struct {
  struct iovec header;    /**< Header: passed to the dispatch function as it is. */
  struct iovec data;      /**< Data: goes where the receiver says. */
  size_t dispatch;        /**< Number of the dispatch, the same on both sides. */
  pami_send_hint_t hints; /**< Soft hints. */
  pami_endpoint_t dest;   /**< To whom; the sending context's own endpoint is valid. */
} pami_send_immediate_t;

/** Callbacks of a send; each may be null. */
typedef struct {
  void *cookie;                  /**< Passed to both. */
  pami_event_function local_fn;  /**< Header and data may be changed again. */
  pami_event_function remote_fn; /**< All data has arrived at the receiver. */
} pami_send_event_t;

/** Parameters of PAMI_Send. */
typedef struct {
  pami_send_immediate_t send; /**< What to send. */
  pami_send_event_t events;   /**< Whom to tell. */
} pami_send_t;

/** Parameters of PAMI_Send_typed. */
typedef struct {
  pami_send_immediate_t send; /**< What to send; `data.iov_len` counts bytes of data, without holes. */
  pami_send_event_t events;   /**< Whom to tell. */
  struct {
    pami_type_t type;           /**< Layout of the data at `data.iov_base`. */
    size_t offset;              /**< Bytes of the type's data to skip at the start. */
    pami_data_function data_fn; /**< Makes the data that is sent; PAMI_DATA_COPY for a plain copy. */
    void *data_cookie;          /**< Passed to `data_fn`. */
  } typed;                      /**< How the data lies. */
} pami_send_typed_t;

/**
 * Sends a header and data of any length.
 *
 * @return PAMI_SUCCESS: accepted. PAMI_INVAL: refused, for instance because the dispatch is not set.
 */
pami_result_t PAMI_Send(pami_context_t context, pami_send_t *parameters);

/**
 * Sends a header and data that together have at most PAMI_DISPATCH_SEND_IMMEDIATE_MAX bytes. Both may be changed when
 * the call returns, and no callback follows.
 *
 * @return PAMI_SUCCESS: sent or queued. PAMI_EAGAIN: there is no room, and the hint `queue_immediate` is disabled.
 *         PAMI_INVAL: too long, or otherwise refused.
 */
pami_result_t PAMI_Send_immediate(pami_context_t context, pami_send_immediate_t *parameters);

/**
 * Sends a header and data that lies as a type says. On the wire the data is a row of bytes, so the receiver may use
 * another type.
 *
 * @return PAMI_SUCCESS: accepted. PAMI_INVAL: refused, for instance because the type is not complete.
 */
pami_result_t PAMI_Send_typed(pami_context_t context, pami_send_typed_t *parameters);

/** Where the data of a message goes. The dispatch function fills it in. */
typedef struct {
  void *cookie;                 /**< Passed to `local_fn`. */
  pami_event_function local_fn; /**< All data is in place; may be null. */
  void *addr;                   /**< Where it goes. */
  pami_type_t type;             /**< How it lies there; PAMI_TYPE_BYTE if contiguous. */
  size_t offset;                /**< Bytes of the type's data to skip at the start. */
  pami_data_function data_fn;   /**< Takes the data in; PAMI_DATA_COPY for a plain copy. */
  void *data_cookie;            /**< Passed to `data_fn`. */
} pami_recv_t;

/**
 * Receives a message. The header is valid until the function returns.
 *
 * @param cookie     what PAMI_Dispatch_set was given
 * @param pipe_addr  the data, all of it, valid until the function returns; null if it is still to come
 * @param data_size  bytes of data, in both cases
 * @param origin     endpoint of the sender
 * @param recv       to be filled in if the data is still to come, else null
 */
typedef void (*pami_dispatch_p2p_function)(pami_context_t context, void *cookie, const void *header_addr,
                                           size_t header_size, const void *pipe_addr, size_t data_size,
                                           pami_endpoint_t origin, pami_recv_t *recv);

/* ---- Put and get ------------------------------------------------------------------------------------------------ */

/** What all one-sided transfers have. */
typedef struct {
  pami_endpoint_t dest;        /**< With whom; the context's own endpoint is valid. */
  pami_send_hint_t hints;      /**< Soft hints. */
  size_t bytes;                /**< Bytes of data, more than 0. */
  void *cookie;                /**< Passed to all callbacks. */
  pami_event_function done_fn; /**< The local buffer may be used again; may be null. */
} pami_rma_t;

/** Addresses of a transfer. */
typedef struct {
  void *local;  /**< In this task. */
  void *remote; /**< In the other task's address space. */
} pami_rma_addr_t;

/** Types of a transfer, both of this task. */
typedef struct {
  pami_type_t local;  /**< Layout of the local buffer. */
  pami_type_t remote; /**< Layout of the remote buffer. */
} pami_rma_typed_t;

/** What puts have besides. */
typedef struct {
  pami_event_function rdone_fn; /**< All data is in place at the other task; called here; may be null. */
} pami_rma_put_t;

/** Parameters of PAMI_Put. */
typedef struct {
  pami_rma_t rma;       /**< Whom, how much, callbacks. */
  pami_rma_addr_t addr; /**< From `local` to `remote`. */
  pami_rma_put_t put;   /**< Completion at the other task. */
} pami_put_simple_t;

/**
 * Writes contiguous memory of another task.
 *
 * @return PAMI_SUCCESS: accepted. PAMI_INVAL: refused.
 */
pami_result_t PAMI_Put(pami_context_t context, pami_put_simple_t *parameters);

/** Parameters of PAMI_Put_typed. */
typedef struct {
  pami_rma_t rma;        /**< Whom, how much, callbacks. */
  pami_rma_addr_t addr;  /**< From `local` to `remote`. */
  pami_rma_typed_t type; /**< How the data lies. */
  pami_rma_put_t put;    /**< Completion at the other task. */
} pami_put_typed_t;

/**
 * Writes memory of another task, with a layout on each side.
 *
 * @return PAMI_SUCCESS: accepted. PAMI_INVAL: refused.
 */
pami_result_t PAMI_Put_typed(pami_context_t context, pami_put_typed_t *parameters);

/** Parameters of PAMI_Get. */
typedef struct {
  pami_rma_t rma;       /**< Whom, how much, callbacks. */
  pami_rma_addr_t addr; /**< From `remote` to `local`. */
} pami_get_simple_t;

/**
 * Reads contiguous memory of another task. `done_fn` says that the data is here.
 *
 * @return PAMI_SUCCESS: accepted. PAMI_INVAL: refused.
 */
pami_result_t PAMI_Get(pami_context_t context, pami_get_simple_t *parameters);

/** Parameters of PAMI_Get_typed. */
typedef struct {
  pami_rma_t rma;        /**< Whom, how much, callbacks. */
  pami_rma_addr_t addr;  /**< From `remote` to `local`. */
  pami_rma_typed_t type; /**< How the data lies. */
} pami_get_typed_t;

/**
 * Reads memory of another task, with a layout on each side.
 *
 * @return PAMI_SUCCESS: accepted. PAMI_INVAL: refused.
 */
pami_result_t PAMI_Get_typed(pami_context_t context, pami_get_typed_t *parameters);

/* ---- Read-modify-write ------------------------------------------------------------------------------------------ */

/**
 * Atomic operations: one way to modify, by itself or with FETCH, COMPARE or both; FETCH also alone. FETCH stores the
 * old remote value at `local`. COMPARE modifies only if the remote value equals `test`.
 */
typedef enum {
  PAMI_ATOMIC_FETCH = 0x01,             /**< Reads. */
  PAMI_ATOMIC_COMPARE = 0x02,           /**< Bit of the conditional operations; none by itself. */
  PAMI_ATOMIC_SET = 0x04,               /**< Replaces by `value`. */
  PAMI_ATOMIC_ADD = 0x08,               /**< Adds `value`. */
  PAMI_ATOMIC_OR = 0x0c,                /**< Or with `value`, bit by bit. */
  PAMI_ATOMIC_AND = 0x10,               /**< And with `value`, bit by bit. */
  PAMI_ATOMIC_XOR = 0x14,               /**< Exclusive or with `value`, bit by bit. */
  PAMI_ATOMIC_FETCH_SET = 0x05,         /**< Reads, then replaces. */
  PAMI_ATOMIC_FETCH_ADD = 0x09,         /**< Reads, then adds. */
  PAMI_ATOMIC_FETCH_OR = 0x0d,          /**< Reads, then or. */
  PAMI_ATOMIC_FETCH_AND = 0x11,         /**< Reads, then and. */
  PAMI_ATOMIC_FETCH_XOR = 0x15,         /**< Reads, then exclusive or. */
  PAMI_ATOMIC_COMPARE_SET = 0x06,       /**< Replaces if equal. */
  PAMI_ATOMIC_COMPARE_ADD = 0x0a,       /**< Adds if equal. */
  PAMI_ATOMIC_COMPARE_OR = 0x0e,        /**< Or if equal. */
  PAMI_ATOMIC_COMPARE_AND = 0x12,       /**< And if equal. */
  PAMI_ATOMIC_COMPARE_XOR = 0x16,       /**< Exclusive or if equal. */
  PAMI_ATOMIC_FETCH_COMPARE_SET = 0x07, /**< Reads, then replaces if equal. */
  PAMI_ATOMIC_FETCH_COMPARE_ADD = 0x0b, /**< Reads, then adds if equal. */
  PAMI_ATOMIC_FETCH_COMPARE_OR = 0x0f,  /**< Reads, then or if equal. */
  PAMI_ATOMIC_FETCH_COMPARE_AND = 0x13, /**< Reads, then and if equal. */
  PAMI_ATOMIC_FETCH_COMPARE_XOR = 0x17  /**< Reads, then exclusive or if equal. */
} pami_atomic_t;

/** Parameters of PAMI_Rmw. */
typedef struct {
  pami_endpoint_t dest;        /**< With whom; the context's own endpoint is valid. */
  pami_send_hint_t hints;      /**< Soft hints. */
  void *cookie;                /**< Passed to `done_fn`. */
  pami_event_function done_fn; /**< The operation has been done and the old value is here; may be null. */
  void *local;                 /**< Where the old value goes, for FETCH. */
  void *remote;                /**< The variable, in the other task's address space. */
  void *value;                 /**< Where the operand is, in this task. */
  void *test;                  /**< Where the value to compare with is, in this task, for COMPARE. */
  pami_atomic_t operation;     /**< What to do. */
  pami_type_t type;            /**< PAMI_TYPE_SIGNED_ or PAMI_TYPE_UNSIGNED_ INT, LONG or LONG_LONG. */
} pami_rmw_t;

/**
 * Changes a variable of another task in one piece. Nothing orders it after or before other transfers, other
 * read-modify-writes included.
 *
 * @return PAMI_SUCCESS: accepted. PAMI_INVAL: refused, for instance for another type.
 */
pami_result_t PAMI_Rmw(pami_context_t context, pami_rmw_t *parameters);

/* ---- Memory regions --------------------------------------------------------------------------------------------- */

/** A memory region. Its bytes may be sent to other tasks, which then name it in their transfers. */
typedef uintptr_t pami_memregion_t[PAMI_CLIENT_MEMREGION_SIZE_STATIC / sizeof(uintptr_t)];

/**
 * Registers memory for transfers by region. Regions may overlap; each lives by itself.
 *
 * @param address    first byte
 * @param bytes_in   bytes that are wanted
 * @param bytes_out  bytes, from the first, that the region has; may be fewer
 * @return PAMI_SUCCESS: there is a region, which PAMI_Memregion_destroy must end. PAMI_EAGAIN: resources are in use.
 *         PAMI_INVAL: an argument is wrong. PAMI_ERROR: the memory cannot be registered.
 */
pami_result_t PAMI_Memregion_create(pami_context_t context, void *address, size_t bytes_in, size_t *bytes_out,
                                    pami_memregion_t *memregion);

/**
 * Ends a region of this task and makes the object invalid. Transfers that use the region must have completed.
 *
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Memregion_destroy(pami_context_t context, pami_memregion_t *memregion);

/** A place in a memory region. */
typedef struct {
  pami_memregion_t *mr; /**< The region. */
  size_t offset;        /**< Bytes from its first. */
} pami_rma_mr_t;

/** Places of a transfer by region. */
typedef struct {
  pami_rma_mr_t local;  /**< In a region of this task. */
  pami_rma_mr_t remote; /**< In a region of the other task. */
} pami_rdma_t;

/** Parameters of PAMI_Rput. */
typedef struct {
  pami_rma_t rma;     /**< Whom, how much, callbacks. */
  pami_rdma_t rdma;   /**< From `local` to `remote`. */
  pami_rma_put_t put; /**< Completion at the other task. */
} pami_rput_simple_t;

/** Parameters of PAMI_Rput_typed. */
typedef struct {
  pami_rma_t rma;        /**< Whom, how much, callbacks. */
  pami_rdma_t rdma;      /**< From `local` to `remote`. */
  pami_rma_typed_t type; /**< How the data lies. */
  pami_rma_put_t put;    /**< Completion at the other task. */
} pami_rput_typed_t;

/**
 * Writes contiguous memory of another task, from region to region.
 *
 * @return PAMI_SUCCESS: accepted. PAMI_INVAL: refused, for instance because a region is too short.
 */
pami_result_t PAMI_Rput(pami_context_t context, pami_rput_simple_t *parameters);

/**
 * Writes memory of another task, from region to region, with a layout on each side.
 *
 * @return PAMI_SUCCESS: accepted. PAMI_INVAL: refused.
 */
pami_result_t PAMI_Rput_typed(pami_context_t context, pami_rput_typed_t *parameters);

/** Parameters of PAMI_Rget. */
typedef struct {
  pami_rma_t rma;   /**< Whom, how much, callbacks. */
  pami_rdma_t rdma; /**< From `remote` to `local`. */
} pami_rget_simple_t;

/**
 * Reads contiguous memory of another task, from region to region. `done_fn` says that the data is here.
 *
 * @return PAMI_SUCCESS: accepted. PAMI_INVAL: refused, for instance because a region is too short.
 */
pami_result_t PAMI_Rget(pami_context_t context, pami_rget_simple_t *parameters);

/** Parameters of PAMI_Rget_typed. */
typedef struct {
  pami_rma_t rma;        /**< Whom, how much, callbacks. */
  pami_rdma_t rdma;      /**< From `remote` to `local`. */
  pami_rma_typed_t type; /**< How the data lies. */
} pami_rget_typed_t;

/**
 * Reads memory of another task, from region to region, with a layout on each side.
 *
 * @return PAMI_SUCCESS: accepted. PAMI_INVAL: refused.
 */
pami_result_t PAMI_Rget_typed(pami_context_t context, pami_rget_typed_t *parameters);

/* ---- Tasks that come and go ------------------------------------------------------------------------------------- */

/**
 * Gives back what this context holds for endpoints that are about to end. Traffic with them must have stopped, by a
 * fence and a synchronization. The context's own endpoint is not valid.
 *
 * @param dest   the endpoints
 * @param count  how many
 * @return PAMI_SUCCESS; PAMI_INVAL; PAMI_UNIMPL where tasks cannot come and go
 */
pami_result_t PAMI_Purge(pami_context_t context, pami_endpoint_t *dest, size_t count);

/**
 * Makes endpoints that were purged, or that are new, reachable. The context's own endpoint is not valid.
 *
 * @param dest   the endpoints
 * @param count  how many
 * @return PAMI_SUCCESS; PAMI_INVAL; PAMI_UNIMPL where tasks cannot come and go
 */
pami_result_t PAMI_Resume(pami_context_t context, pami_endpoint_t *dest, size_t count);

/* ---- Fences ----------------------------------------------------------------------------------------------------- */

/**
 * Opens a fence region: fences are valid between this call and PAMI_Fence_end. Regions do not nest.
 *
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Fence_begin(pami_context_t context);

/**
 * Closes the fence region that is open.
 *
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Fence_end(pami_context_t context);

/**
 * Calls `done_fn` when all transfers that this context has started before have completed at their targets.
 *
 * @return PAMI_SUCCESS: accepted
 */
pami_result_t PAMI_Fence_all(pami_context_t context, pami_event_function done_fn, void *cookie);

/**
 * Calls `done_fn` when all transfers to one endpoint that this context has started before have completed there.
 *
 * @param target  the endpoint; the context's own is valid
 * @return PAMI_SUCCESS: accepted
 */
pami_result_t PAMI_Fence_endpoint(pami_context_t context, pami_event_function done_fn, void *cookie,
                                  pami_endpoint_t target);

/* ---- Geometries ------------------------------------------------------------------------------------------------- */

/** Kinds of collectives. */
typedef enum {
  PAMI_XFER_BROADCAST = 0,      /**< Data of the root goes to all. */
  PAMI_XFER_ALLREDUCE = 1,      /**< Data of all is combined; all get the result. */
  PAMI_XFER_REDUCE = 2,         /**< Data of all is combined; the root gets the result. */
  PAMI_XFER_ALLGATHER = 3,      /**< All get the data of all. */
  PAMI_XFER_ALLGATHERV = 4,     /**< The same with lengths of their own. */
  PAMI_XFER_ALLGATHERV_INT = 5, /**< The same with lengths of type int. */
  PAMI_XFER_SCATTER = 6,        /**< Each gets its part of the root's data. */
  PAMI_XFER_SCATTERV = 7,       /**< The same with lengths of their own. */
  PAMI_XFER_SCATTERV_INT = 8,   /**< The same with lengths of type int. */
  PAMI_XFER_GATHER = 9,         /**< The root gets the data of all. */
  PAMI_XFER_GATHERV = 10,       /**< The same with lengths of their own. */
  PAMI_XFER_GATHERV_INT = 11,   /**< The same with lengths of type int. */
  PAMI_XFER_BARRIER = 12,       /**< Nobody goes on before all have come. */
  PAMI_XFER_ALLTOALL = 13,      /**< Each has a part for each. */
  PAMI_XFER_ALLTOALLV = 14,     /**< The same with lengths of their own. */
  PAMI_XFER_ALLTOALLV_INT = 15, /**< The same with lengths of type int. */
  PAMI_XFER_SCAN = 16,          /**< Each gets the combination of those up to itself. */
  PAMI_XFER_REDUCE_SCATTER = 17, /**< Data of all is combined; each gets its part of the result. */
  PAMI_XFER_AMBROADCAST = 18,   /**< Broadcast that only the root calls. */
  PAMI_XFER_AMSCATTER = 19,     /**< Scatter that only the root calls. */
  PAMI_XFER_AMGATHER = 20,      /**< Gather that only the root calls. */
  PAMI_XFER_AMREDUCE = 21,      /**< Reduce that only the root calls. */
  PAMI_XFER_COUNT = 22,         /**< How many kinds there are. */
  PAMI_XFER_TYPE_EXT = 1000     /**< First kind of extensions. */
} pami_xfer_type_t;

/** Consecutive tasks. */
typedef struct {
  pami_task_t lo; /**< The first. */
  pami_task_t hi; /**< The last, which belongs to it. */
} pami_geometry_range_t;

/**
 * Creates a geometry of ranges of tasks, with one context of each. All tasks of the parent call, or, without a parent,
 * those of the new geometry; `fn` follows when it can be used.
 *
 * @param context_offset  which context of each task takes part, the same everywhere; PAMI_ALL_CONTEXTS: all of them,
 *                        and then there must be no parent, unless they are one
 * @param configuration   settings, PAMI_GEOMETRY_OPTIMIZE among them
 * @param num_configs     their number
 * @param geometry        the new geometry; null in tasks of the parent that do not belong to it
 * @param parent          a geometry that has all of its tasks, or PAMI_GEOMETRY_NULL
 * @param id              number of the geometry, the same in all its tasks; more than 0, and different from that of any
 *                        geometry that lives in one of them
 * @param task_slices     the ranges; to be kept as long as the geometry lives
 * @param slice_count     their number
 * @param context         whose advance calls `fn`
 * @param fn              called when the geometry is there; may be null
 * @param cookie          passed to `fn`
 * @return PAMI_SUCCESS: creation has begun. PAMI_INVAL: refused.
 */
pami_result_t PAMI_Geometry_create_taskrange(pami_client_t client, size_t context_offset,
                                             pami_configuration_t configuration[], size_t num_configs,
                                             pami_geometry_t *geometry, pami_geometry_t parent, unsigned id,
                                             pami_geometry_range_t *task_slices, size_t slice_count,
                                             pami_context_t context, pami_event_function fn, void *cookie);

/**
 * Creates a geometry of a list of tasks, in its order; otherwise PAMI_Geometry_create_taskrange.
 *
 * @param tasks       the tasks; to be kept as long as the geometry lives
 * @param task_count  their number
 */
pami_result_t PAMI_Geometry_create_tasklist(pami_client_t client, size_t context_offset,
                                            pami_configuration_t configuration[], size_t num_configs,
                                            pami_geometry_t *geometry, pami_geometry_t parent, unsigned id,
                                            pami_task_t *tasks, size_t task_count, pami_context_t context,
                                            pami_event_function fn, void *cookie);

/**
 * Creates a geometry of a list of endpoints, in its order, each at most once; otherwise PAMI_Geometry_create_taskrange
 * without a parent. Each task calls once, whatever its number of endpoints, and advances all of them until `fn` is
 * called. `context` need not be one of them.
 *
 * @param endpoints       the endpoints; to be kept as long as the geometry lives
 * @param endpoint_count  their number
 */
pami_result_t PAMI_Geometry_create_endpointlist(pami_client_t client, pami_configuration_t configuration[],
                                                size_t num_configs, pami_geometry_t *geometry, unsigned id,
                                                pami_endpoint_t *endpoints, size_t endpoint_count,
                                                pami_context_t context, pami_event_function fn, void *cookie);

/**
 * The geometry of all tasks of the client, with context 0 of each. Its number is 0. It lives as long as the client and
 * cannot be destroyed.
 *
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Geometry_world(pami_client_t client, pami_geometry_t *world_geometry);

/**
 * How many algorithms a geometry has for one kind of collective.
 *
 * @param lists_lengths  two numbers: algorithms that always work, and algorithms whose metadata must be looked at
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Geometry_algorithms_num(pami_geometry_t geometry, pami_xfer_type_t coll_type,
                                           size_t *lists_lengths);

/**
 * The algorithms that a geometry has for one kind of collective, and what they can do.
 *
 * @param algs0   filled with `num0` algorithms that always work
 * @param mdata0  filled with their metadata; may be null
 * @param algs1   filled with `num1` algorithms whose metadata must be looked at
 * @param mdata1  filled with their metadata; may be null
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Geometry_algorithms_query(pami_geometry_t geometry, pami_xfer_type_t colltype,
                                             pami_algorithm_t *algs0, pami_metadata_t *mdata0, size_t num0,
                                             pami_algorithm_t *algs1, pami_metadata_t *mdata1, size_t num1);

/**
 * Ends a geometry and makes the handle invalid. Its tasks may have to synchronize. After `fn` its number is free again;
 * with a null `fn` it stays taken as long as the client lives.
 *
 * @param context  whose advance calls `fn`
 * @return PAMI_SUCCESS: the end has begun. PAMI_INVAL: refused, for instance for the world.
 */
pami_result_t PAMI_Geometry_destroy(pami_client_t client, pami_geometry_t *geometry, pami_context_t context,
                                    pami_event_function fn, void *cookie);

/* ---- Collectives ------------------------------------------------------------------------------------------------ */

/*
 * Counts are repetitions of the type beside them. Displacements are in repetitions of that type too, from the start of
 * the buffer. Arrays have one entry for each endpoint of the geometry, in its order. Buffers of roots are not read in
 * others.
 */

/** Parameters of PAMI_XFER_ALLTOALLV. */
typedef struct {
  char *sndbuf;        /**< What is sent. */
  pami_type_t stype;   /**< Its type. */
  size_t *stypecounts; /**< How much goes to each. */
  size_t *sdispls;     /**< Where that begins. */
  char *rcvbuf;        /**< What is received. */
  pami_type_t rtype;   /**< Its type. */
  size_t *rtypecounts; /**< How much comes from each. */
  size_t *rdispls;     /**< Where that begins. */
} pami_alltoallv_t;

/** Parameters of PAMI_XFER_ALLTOALLV_INT. */
typedef struct {
  char *sndbuf;      /**< What is sent. */
  pami_type_t stype; /**< Its type. */
  int *stypecounts;  /**< How much goes to each. */
  int *sdispls;      /**< Where that begins. */
  char *rcvbuf;      /**< What is received. */
  pami_type_t rtype; /**< Its type. */
  int *rtypecounts;  /**< How much comes from each. */
  int *rdispls;      /**< Where that begins. */
} pami_alltoallv_int_t;

/** Parameters of PAMI_XFER_ALLTOALL. */
typedef struct {
  char *sndbuf;      /**< What is sent: a part for each, one behind the other. */
  pami_type_t stype; /**< Its type. */
  size_t stypecount; /**< How much goes to each. */
  char *rcvbuf;      /**< What is received: a part from each, one behind the other. */
  pami_type_t rtype; /**< Its type. */
  size_t rtypecount; /**< How much comes from each. */
} pami_alltoall_t;

/** Parameters of PAMI_XFER_REDUCE. */
typedef struct {
  pami_endpoint_t root;  /**< Who gets the result. */
  char *sndbuf;          /**< What is combined. */
  pami_type_t stype;     /**< Its type. */
  size_t stypecount;     /**< How much. */
  char *rcvbuf;          /**< The result, at the root. */
  pami_type_t rtype;     /**< Its type. */
  size_t rtypecount;     /**< How much. */
  pami_data_function op; /**< Combines two. */
  void *data_cookie;     /**< Passed to `op`. */
  int commutative;       /**< Not 0: `op` may be called in any order. */
} pami_reduce_t;

/** Parameters of PAMI_XFER_REDUCE_SCATTER. */
typedef struct {
  char *sndbuf;          /**< What is combined: a part for each, one behind the other. */
  pami_type_t stype;     /**< Its type. */
  size_t stypecount;     /**< How much, all parts together. */
  char *rcvbuf;          /**< This endpoint's part of the result. */
  pami_type_t rtype;     /**< Its type. */
  size_t *rcounts;       /**< How much each gets; the same at all endpoints. */
  pami_data_function op; /**< Combines two. */
  void *data_cookie;     /**< Passed to `op`. */
  int commutative;       /**< Not 0: `op` may be called in any order. */
} pami_reduce_scatter_t;

/** Parameters of PAMI_XFER_BROADCAST. */
typedef struct {
  pami_endpoint_t root; /**< Who sends. */
  char *buf;            /**< What is sent at the root, what is received elsewhere. */
  pami_type_t type;     /**< Its type; endpoints may differ. */
  size_t typecount;     /**< How much. */
} pami_broadcast_t;

/** Parameters of PAMI_XFER_ALLGATHER. */
typedef struct {
  char *sndbuf;      /**< What is sent. */
  pami_type_t stype; /**< Its type. */
  size_t stypecount; /**< How much. */
  char *rcvbuf;      /**< What is received: a part from each, one behind the other. */
  pami_type_t rtype; /**< Its type. */
  size_t rtypecount; /**< How much comes from each. */
} pami_allgather_t;

/** Parameters of PAMI_XFER_GATHER. */
typedef struct {
  pami_endpoint_t root; /**< Who receives. */
  char *sndbuf;         /**< What is sent. */
  pami_type_t stype;    /**< Its type. */
  size_t stypecount;    /**< How much. */
  char *rcvbuf;         /**< What is received, at the root: a part from each, one behind the other. */
  pami_type_t rtype;    /**< Its type. */
  size_t rtypecount;    /**< How much comes from each. */
} pami_gather_t;

/** Parameters of PAMI_XFER_GATHERV. */
typedef struct {
  pami_endpoint_t root; /**< Who receives. */
  char *sndbuf;         /**< What is sent. */
  pami_type_t stype;    /**< Its type. */
  size_t stypecount;    /**< How much. */
  char *rcvbuf;         /**< What is received, at the root. */
  pami_type_t rtype;    /**< Its type. */
  size_t *rtypecounts;  /**< How much comes from each. */
  size_t *rdispls;      /**< Where that begins. */
} pami_gatherv_t;

/** Parameters of PAMI_XFER_GATHERV_INT. */
typedef struct {
  pami_endpoint_t root; /**< Who receives. */
  char *sndbuf;         /**< What is sent. */
  pami_type_t stype;    /**< Its type. */
  int stypecount;       /**< How much. */
  char *rcvbuf;         /**< What is received, at the root. */
  pami_type_t rtype;    /**< Its type. */
  int *rtypecounts;     /**< How much comes from each. */
  int *rdispls;         /**< Where that begins. */
} pami_gatherv_int_t;

/** Parameters of PAMI_XFER_ALLGATHERV. */
typedef struct {
  char *sndbuf;        /**< What is sent. */
  pami_type_t stype;   /**< Its type. */
  size_t stypecount;   /**< How much. */
  char *rcvbuf;        /**< What is received. */
  pami_type_t rtype;   /**< Its type. */
  size_t *rtypecounts; /**< How much comes from each. */
  size_t *rdispls;     /**< Where that begins. */
} pami_allgatherv_t;

/** Parameters of PAMI_XFER_ALLGATHERV_INT. */
typedef struct {
  char *sndbuf;      /**< What is sent. */
  pami_type_t stype; /**< Its type. */
  int stypecount;    /**< How much. */
  char *rcvbuf;      /**< What is received. */
  pami_type_t rtype; /**< Its type. */
  int *rtypecounts;  /**< How much comes from each. */
  int *rdispls;      /**< Where that begins. */
} pami_allgatherv_int_t;

/** Parameters of PAMI_XFER_SCATTER. */
typedef struct {
  pami_endpoint_t root; /**< Who sends. */
  char *sndbuf;         /**< What is sent, at the root: a part for each, one behind the other. */
  pami_type_t stype;    /**< Its type. */
  size_t stypecount;    /**< How much goes to each. */
  char *rcvbuf;         /**< What is received. */
  pami_type_t rtype;    /**< Its type. */
  size_t rtypecount;    /**< How much. */
} pami_scatter_t;

/** Parameters of PAMI_XFER_SCATTERV. */
typedef struct {
  pami_endpoint_t root; /**< Who sends. */
  char *sndbuf;         /**< What is sent, at the root. */
  pami_type_t stype;    /**< Its type. */
  size_t *stypecounts;  /**< How much goes to each. */
  size_t *sdispls;      /**< Where that begins. */
  char *rcvbuf;         /**< What is received. */
  pami_type_t rtype;    /**< Its type. */
  size_t rtypecount;    /**< How much. */
} pami_scatterv_t;

/** Parameters of PAMI_XFER_SCATTERV_INT. */
typedef struct {
  pami_endpoint_t root; /**< Who sends. */
  char *sndbuf;         /**< What is sent, at the root. */
  pami_type_t stype;    /**< Its type. */
  int *stypecounts;     /**< How much goes to each. */
  int *sdispls;         /**< Where that begins. */
  char *rcvbuf;         /**< What is received. */
  pami_type_t rtype;    /**< Its type. */
  int rtypecount;       /**< How much. */
} pami_scatterv_int_t;

/** Parameters of PAMI_XFER_ALLREDUCE. */
typedef struct {
  char *sndbuf;          /**< What is combined. */
  pami_type_t stype;     /**< Its type. */
  size_t stypecount;     /**< How much. */
  char *rcvbuf;          /**< The result. */
  pami_type_t rtype;     /**< Its type. */
  size_t rtypecount;     /**< How much. */
  pami_data_function op; /**< Combines two. */
  void *data_cookie;     /**< Passed to `op`. */
  int commutative;       /**< Not 0: `op` may be called in any order. */
} pami_allreduce_t;

/** Parameters of PAMI_XFER_SCAN. */
typedef struct {
  char *sndbuf;          /**< What is combined. */
  pami_type_t stype;     /**< Its type. */
  size_t stypecount;     /**< How much. */
  char *rcvbuf;          /**< The result of the endpoints up to this one, in the geometry's order. */
  pami_type_t rtype;     /**< Its type. */
  size_t rtypecount;     /**< How much. */
  pami_data_function op; /**< Combines two. */
  void *data_cookie;     /**< Passed to `op`. */
  int exclusive;         /**< Not 0: without this endpoint's own; the first one's result is then not defined. */
} pami_scan_t;

/** Parameters of PAMI_XFER_BARRIER: none. */
__extension__ typedef struct {
} pami_barrier_t;

/*
 * Active-message collectives: only the root calls, when it likes, and several may be under way, from several roots too. The
 * others advance their contexts; the dispatch function of each says where its data goes or comes from. It may be called in
 * any order where collectives are under way at once.
 *
 * Of the endpoint's own part, `local_fn` tells the end: data is in place, or what was there may be changed again. The root's
 * own dispatch function is called too, by PAMI_Collective, but for a broadcast; the root's `local_fn` and `cb_done` are
 * called, in this order, when all endpoints have done their parts, so the result is there. If one of them could not, the
 * root's callbacks get its result code and PAMI_Error_text its words, and the result is left alone.
 */

/** Parameters of PAMI_XFER_AMBROADCAST. */
typedef struct {
  size_t dispatch;   /**< Number of the dispatch. */
  void *user_header; /**< Header that all get. */
  size_t headerlen;  /**< Its bytes; may be 0. */
  void *sndbuf;      /**< What is sent. */
  pami_type_t stype; /**< Its type. */
  size_t stypecount; /**< How much. */
} pami_ambroadcast_t;

/**
 * Receives an active-message broadcast: pami_dispatch_p2p_function with the geometry; `origin` is the root. `pipe_addr` is
 * null: all data goes to where `recv` says.
 */
typedef void (*pami_dispatch_ambroadcast_function)(pami_context_t context, void *cookie, const void *header_addr,
                                                   size_t header_size, const void *pipe_addr, size_t data_size,
                                                   pami_endpoint_t origin, pami_geometry_t geometry,
                                                   pami_recv_t *recv);

/** Parameters of PAMI_XFER_AMSCATTER. */
typedef struct {
  size_t dispatch;   /**< Number of the dispatch. */
  void *headers;     /**< A header for each endpoint, one behind the other. */
  size_t headerlen;  /**< Bytes of each. */
  void *sndbuf;      /**< What is sent: a part for each, one behind the other. */
  pami_type_t stype; /**< Its type. */
  size_t stypecount; /**< How much goes to each. */
} pami_amscatter_t;

/** Receives its part of an active-message scatter, as pami_dispatch_ambroadcast_function. */
typedef void (*pami_dispatch_amscatter_function)(pami_context_t context, void *cookie, const void *header_addr,
                                                 size_t header_size, const void *pipe_addr, size_t data_size,
                                                 pami_endpoint_t origin, pami_geometry_t geometry,
                                                 pami_recv_t *recv);

/** Parameters of PAMI_XFER_AMGATHER. */
typedef struct {
  size_t dispatch;   /**< Number of the dispatch. */
  void *headers;     /**< A header for each endpoint, one behind the other. */
  size_t headerlen;  /**< Bytes of each. */
  void *rcvbuf;      /**< What is received: a part from each, one behind the other. */
  pami_type_t rtype; /**< Its type. */
  size_t rtypecount; /**< How much comes from each. */
} pami_amgather_t;

/**
 * Is asked for its part of an active-message gather.
 *
 * @param data_size  bytes that the root expects
 * @param origin     the root
 * @param send       to be filled in: where the data is; `local_fn` is called when that may be changed again
 */
typedef void (*pami_dispatch_amgather_function)(pami_context_t context, void *cookie, const void *header_addr,
                                                size_t header_size, size_t data_size, pami_endpoint_t origin,
                                                pami_geometry_t geometry, pami_recv_t *send);

/** Parameters of PAMI_XFER_AMREDUCE. */
typedef struct {
  size_t dispatch;   /**< Number of the dispatch. */
  void *user_header; /**< Header that all get. */
  size_t headerlen;  /**< Its bytes; may be 0. */
  void *rcvbuf;      /**< The result. */
  pami_type_t rtype; /**< Its type. */
  size_t rtypecount; /**< How much. */
  void *data_cookie; /**< Passed to the operation. */
  int commutative;   /**< Not 0: the operation may be called in any order. */
} pami_amreduce_t;

/**
 * Is asked for its part of an active-message reduce.
 *
 * @param data_size  bytes that the root expects
 * @param origin     the root
 * @param op         to be filled in: combines two, on the type of `send`. All endpoints say the same. The program's own is
 *                   called at the root alone, with its `data_cookie`, in the order of the endpoints.
 * @param send       to be filled in: where the data is, which is left alone; `local_fn` is called when it may be changed
 */
typedef void (*pami_dispatch_amreduce_function)(pami_context_t context, void *cookie, const void *header_addr,
                                                size_t header_size, size_t data_size, pami_endpoint_t origin,
                                                pami_geometry_t geometry, pami_data_function *op,
                                                pami_recv_t *send);

/** Parameters of any collective. The algorithm says which member is read. */
typedef union {
  pami_allreduce_t xfer_allreduce;           /**< PAMI_XFER_ALLREDUCE */
  pami_broadcast_t xfer_broadcast;           /**< PAMI_XFER_BROADCAST */
  pami_reduce_t xfer_reduce;                 /**< PAMI_XFER_REDUCE */
  pami_allgather_t xfer_allgather;           /**< PAMI_XFER_ALLGATHER */
  pami_allgatherv_t xfer_allgatherv;         /**< PAMI_XFER_ALLGATHERV */
  pami_allgatherv_int_t xfer_allgatherv_int; /**< PAMI_XFER_ALLGATHERV_INT */
  pami_scatter_t xfer_scatter;               /**< PAMI_XFER_SCATTER */
  pami_scatterv_t xfer_scatterv;             /**< PAMI_XFER_SCATTERV */
  pami_scatterv_int_t xfer_scatterv_int;     /**< PAMI_XFER_SCATTERV_INT */
  pami_gather_t xfer_gather;                 /**< PAMI_XFER_GATHER */
  pami_gatherv_t xfer_gatherv;               /**< PAMI_XFER_GATHERV */
  pami_gatherv_int_t xfer_gatherv_int;       /**< PAMI_XFER_GATHERV_INT */
  pami_alltoall_t xfer_alltoall;             /**< PAMI_XFER_ALLTOALL */
  pami_alltoallv_t xfer_alltoallv;           /**< PAMI_XFER_ALLTOALLV */
  pami_alltoallv_int_t xfer_alltoallv_int;   /**< PAMI_XFER_ALLTOALLV_INT */
  pami_ambroadcast_t xfer_ambroadcast;       /**< PAMI_XFER_AMBROADCAST */
  pami_amscatter_t xfer_amscatter;           /**< PAMI_XFER_AMSCATTER */
  pami_amgather_t xfer_amgather;             /**< PAMI_XFER_AMGATHER */
  pami_amreduce_t xfer_amreduce;             /**< PAMI_XFER_AMREDUCE */
  pami_scan_t xfer_scan;                     /**< PAMI_XFER_SCAN */
  pami_barrier_t xfer_barrier;               /**< PAMI_XFER_BARRIER */
  pami_reduce_scatter_t xfer_reduce_scatter; /**< PAMI_XFER_REDUCE_SCATTER */
} pami_collective_t;

/** A collective. */
typedef struct pami_xfer_t {
  pami_event_function cb_done;    /**< This endpoint's part has ended; may be null. */
  void *cookie;                   /**< Passed to `cb_done`. */
  pami_algorithm_t algorithm;     /**< From PAMI_Geometry_algorithms_query, which fixes kind and geometry. */
  pami_collective_hint_t options; /**< Soft hints. */
  pami_collective_t cmd;          /**< Parameters of the kind. */
} pami_xfer_t;

/**
 * Starts an endpoint's part of a collective. Every endpoint of the geometry calls, with its own context; for the
 * active-message kinds the root alone.
 *
 * @return PAMI_SUCCESS: accepted. PAMI_INVAL: refused, for instance because the context's endpoint is not a member.
 */
pami_result_t PAMI_Collective(pami_context_t context, pami_xfer_t *cmd);

/* ---- Predefined types and operations ---------------------------------------------------------------------------- */

/* Integers: all operations but MAXLOC and MINLOC. */
extern pami_type_t PAMI_TYPE_BYTE;               /**< A byte. */
extern pami_type_t PAMI_TYPE_SIGNED_CHAR;        /**< signed char */
extern pami_type_t PAMI_TYPE_UNSIGNED_CHAR;      /**< unsigned char */
extern pami_type_t PAMI_TYPE_SIGNED_SHORT;       /**< short */
extern pami_type_t PAMI_TYPE_UNSIGNED_SHORT;     /**< unsigned short */
extern pami_type_t PAMI_TYPE_SIGNED_INT;         /**< int */
extern pami_type_t PAMI_TYPE_UNSIGNED_INT;       /**< unsigned int */
extern pami_type_t PAMI_TYPE_SIGNED_LONG;        /**< long */
extern pami_type_t PAMI_TYPE_UNSIGNED_LONG;      /**< unsigned long */
extern pami_type_t PAMI_TYPE_SIGNED_LONG_LONG;   /**< long long */
extern pami_type_t PAMI_TYPE_UNSIGNED_LONG_LONG; /**< unsigned long long */
/* Floating point: COPY, NOOP, MAX, MIN, SUM, PROD. */
extern pami_type_t PAMI_TYPE_FLOAT;       /**< float */
extern pami_type_t PAMI_TYPE_DOUBLE;      /**< double */
extern pami_type_t PAMI_TYPE_LONG_DOUBLE; /**< long double, 16 bytes */
/* Truth values: COPY, NOOP, LAND, LOR, LXOR. */
extern pami_type_t PAMI_TYPE_LOGICAL1; /**< Of 1 byte. */
extern pami_type_t PAMI_TYPE_LOGICAL2; /**< Of 2 bytes. */
extern pami_type_t PAMI_TYPE_LOGICAL4; /**< Of 4 bytes. */
extern pami_type_t PAMI_TYPE_LOGICAL8; /**< Of 8 bytes. */
/* Complex numbers: COPY, NOOP, SUM, PROD. */
extern pami_type_t PAMI_TYPE_SINGLE_COMPLEX; /**< Two floats. */
extern pami_type_t PAMI_TYPE_DOUBLE_COMPLEX; /**< Two doubles. */
/* Value and index, as in a C struct of the two: COPY, NOOP, MAXLOC, MINLOC. */
extern pami_type_t PAMI_TYPE_LOC_2INT;           /**< int, int */
extern pami_type_t PAMI_TYPE_LOC_2FLOAT;         /**< float, float */
extern pami_type_t PAMI_TYPE_LOC_2DOUBLE;        /**< double, double */
extern pami_type_t PAMI_TYPE_LOC_SHORT_INT;      /**< short, int */
extern pami_type_t PAMI_TYPE_LOC_FLOAT_INT;      /**< float, int */
extern pami_type_t PAMI_TYPE_LOC_DOUBLE_INT;     /**< double, int */
extern pami_type_t PAMI_TYPE_LOC_LONG_INT;       /**< long, int */
extern pami_type_t PAMI_TYPE_LOC_LONGDOUBLE_INT; /**< long double, int */

/*
 * Operations. These values are names for transfers and collectives; they cannot be called. Each sets an element of the
 * target from itself and that of the source. A type fits whose data is all of one predefined type that has the
 * operation; PAMI_Type_add_typed keeps that.
 */
extern pami_data_function PAMI_DATA_COPY;   /**< The source. */
extern pami_data_function PAMI_DATA_NOOP;   /**< The target stays as it is. */
extern pami_data_function PAMI_DATA_MAX;    /**< The greater one. */
extern pami_data_function PAMI_DATA_MIN;    /**< The smaller one. */
extern pami_data_function PAMI_DATA_SUM;    /**< The sum. */
extern pami_data_function PAMI_DATA_PROD;   /**< The product. */
extern pami_data_function PAMI_DATA_LAND;   /**< 1 if neither is 0, else 0. */
extern pami_data_function PAMI_DATA_LOR;    /**< 1 if one is not 0, else 0. */
extern pami_data_function PAMI_DATA_LXOR;   /**< 1 if exactly one is not 0, else 0. */
extern pami_data_function PAMI_DATA_BAND;   /**< And, bit by bit. */
extern pami_data_function PAMI_DATA_BOR;    /**< Or, bit by bit. */
extern pami_data_function PAMI_DATA_BXOR;   /**< Exclusive or, bit by bit. */
extern pami_data_function PAMI_DATA_MAXLOC; /**< The pair with the greater value, or equal values' smaller index. */
extern pami_data_function PAMI_DATA_MINLOC; /**< The pair with the smaller value, or equal values' smaller index. */

/* ---- Types ------------------------------------------------------------------------------------------------------ */

/*
 * A type is a list of blocks, each some bytes at a displacement. A cursor that starts at 0 says where the next block
 * goes; where it ends is the extent, from one repetition of the type in a buffer to the next. A displacement may be
 * negative: offsets and strides wrap, so (size_t)-8 goes back.
 */

/**
 * Begins a type without blocks.
 *
 * @return PAMI_SUCCESS, or PAMI_ENOMEM
 */
pami_result_t PAMI_Type_create(pami_type_t *type);

/**
 * Adds blocks of bytes: moves the cursor by `offset`, then `count` times puts a block there and moves it by `stride`.
 * With a count of 0 it only moves. Blocks that overlap receive data that is not defined.
 *
 * @param bytes  bytes of each block
 * @return PAMI_SUCCESS; PAMI_INVAL: the type is complete, or would have more data than there are addresses; PAMI_ENOMEM
 */
pami_result_t PAMI_Type_add_simple(pami_type_t type, size_t bytes, size_t offset, size_t count, size_t stride);

/**
 * Adds all blocks of another type: moves the cursor by `offset`, then `count` times puts them there and moves it by
 * `stride`. The other type's extent does not matter.
 *
 * @param subtype  a complete type
 * @return PAMI_SUCCESS; PAMI_INVAL: the type is complete, or `subtype` is not, or there would be more data than addresses
 *         or types nested more than 64 deep; PAMI_ENOMEM
 */
pami_result_t PAMI_Type_add_typed(pami_type_t type, pami_type_t subtype, size_t offset, size_t count, size_t stride);

/**
 * Completes a type, which from then on can be used and not changed.
 *
 * @param atom_size  bytes that data functions never see divided; the size of each block is a multiple of it
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Type_complete(pami_type_t type, size_t atom_size);

/**
 * Ends a type and makes the handle invalid. Transfers that use it go on.
 *
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Type_destroy(pami_type_t *type);

/**
 * The type as bytes, which may be sent to another task. They belong to the type.
 *
 * @param address  where they are
 * @param size     how many
 * @return PAMI_SUCCESS; PAMI_INVAL: the type is not complete; PAMI_ENOMEM
 */
pami_result_t PAMI_Type_serialize(pami_type_t type, void **address, size_t *size);

/**
 * Makes a type, already complete, from its bytes, which are not needed afterwards.
 *
 * @return PAMI_SUCCESS; PAMI_INVAL: these bytes are no type; PAMI_ENOMEM
 */
pami_result_t PAMI_Type_deserialize(pami_type_t *type, void *address, size_t size);

/**
 * Queries attributes of a complete type (PAMI_TYPE_DATA_SIZE and following).
 *
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Type_query(pami_type_t type, pami_configuration_t configuration[], size_t num_configs);

/**
 * Takes data from one buffer to another of this task, each with its type. It has ended when the call returns.
 *
 * @param src_offset  bytes of the source's data to skip
 * @param dst_offset  bytes of the destination's data to skip
 * @param size        bytes of data
 * @param data_fn     combines; PAMI_DATA_COPY for a plain copy
 * @param cookie      passed to `data_fn`
 * @return PAMI_SUCCESS; PAMI_INVAL: a type is not complete, or `data_fn` does not fit
 */
pami_result_t PAMI_Type_transform_data(void *src_addr, pami_type_t src_type, size_t src_offset, void *dst_addr,
                                       pami_type_t dst_type, size_t dst_offset, size_t size,
                                       pami_data_function data_fn, void *cookie);

/* ---- Dispatch --------------------------------------------------------------------------------------------------- */

/** The function that a dispatch calls, by what it is for. */
typedef union {
  pami_dispatch_p2p_function p2p;                 /**< Sends. */
  pami_dispatch_ambroadcast_function ambroadcast; /**< PAMI_XFER_AMBROADCAST */
  pami_dispatch_amscatter_function amscatter;     /**< PAMI_XFER_AMSCATTER */
  pami_dispatch_amgather_function amgather;       /**< PAMI_XFER_AMGATHER */
  pami_dispatch_amreduce_function amreduce;       /**< PAMI_XFER_AMREDUCE */
} pami_dispatch_callback_function;

/**
 * Says which function of this context receives the messages of a dispatch. Sender and receiver both set it before the
 * first one; no message tells others.
 *
 * @param dispatch  number, 0 to PAMI_CONTEXT_DISPATCH_ID_MAX
 * @param fn        member `p2p`
 * @param cookie    passed to it
 * @param options   hard hints
 * @return PAMI_SUCCESS. PAMI_INVAL: the number is too large, or hints contradict each other. PAMI_ERROR: a hint cannot
 *         be kept.
 */
pami_result_t PAMI_Dispatch_set(pami_context_t context, size_t dispatch, pami_dispatch_callback_function fn,
                                void *cookie, pami_dispatch_hint_t options);

/**
 * PAMI_Dispatch_set for an active-message collective: says which function of this context takes part in those of a geometry
 * and a kind. Every endpoint sets it, the root too, before the first one; the last function that was set holds. Numbers are
 * apart from those of PAMI_Dispatch_set, of other kinds and of other geometries.
 *
 * @param algorithm  of the geometry and the kind
 * @param dispatch   number, 0 to PAMI_CONTEXT_DISPATCH_ID_MAX
 * @param fn         the member of the kind
 * @param options    soft hints
 * @return PAMI_SUCCESS. PAMI_INVAL: the number is too large, the algorithm is none of these kinds, `fn` is null, or the
 *         context is no endpoint of the geometry.
 */
pami_result_t PAMI_AMCollective_dispatch_set(pami_context_t context, pami_algorithm_t algorithm, size_t dispatch,
                                             pami_dispatch_callback_function fn, void *cookie,
                                             pami_collective_hint_t options);

/**
 * Queries attributes of a dispatch (PAMI_DISPATCH_RECV_IMMEDIATE_MAX and following).
 *
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Dispatch_query(pami_context_t context, size_t dispatch, pami_configuration_t configuration[],
                                  size_t num_configs);

/**
 * Updates attributes of a dispatch.
 *
 * @return PAMI_SUCCESS; PAMI_INVAL: one cannot be updated
 */
pami_result_t PAMI_Dispatch_update(pami_context_t context, size_t dispatch, pami_configuration_t configuration[],
                                   size_t num_configs);

/* ---- Queries and updates ---------------------------------------------------------------------------------------- */

/**
 * Queries attributes of a client (PAMI_CLIENT_CLOCK_MHZ and following).
 *
 * @param configuration  `name` is read, `value` is written
 * @param num_configs    how many
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Client_query(pami_client_t client, pami_configuration_t configuration[], size_t num_configs);

/**
 * Updates attributes of a client.
 *
 * @return PAMI_SUCCESS; PAMI_INVAL: one cannot be updated
 */
pami_result_t PAMI_Client_update(pami_client_t client, pami_configuration_t configuration[], size_t num_configs);

/**
 * Queries attributes of a context (PAMI_CONTEXT_DISPATCH_ID_MAX).
 *
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Context_query(pami_context_t context, pami_configuration_t configuration[], size_t num_configs);

/**
 * Updates attributes of a context.
 *
 * @return PAMI_SUCCESS; PAMI_INVAL: one cannot be updated
 */
pami_result_t PAMI_Context_update(pami_context_t context, pami_configuration_t configuration[], size_t num_configs);

/**
 * Queries attributes of a geometry (PAMI_GEOMETRY_OPTIMIZE).
 *
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Geometry_query(pami_geometry_t geometry, pami_configuration_t configuration[], size_t num_configs);

/**
 * Updates attributes of a geometry. All its tasks call with the same values. Algorithms that were queried before are
 * not valid after it.
 *
 * @param context  whose advance calls `fn`
 * @param fn       called when it is done; may be null
 * @param cookie   passed to `fn`
 * @return PAMI_SUCCESS: the update has begun. PAMI_INVAL: one cannot be updated.
 */
pami_result_t PAMI_Geometry_update(pami_geometry_t geometry, pami_configuration_t configuration[], size_t num_configs,
                                   pami_context_t context, pami_event_function fn, void *cookie);

/**
 * Writes a sentence about the last result that this thread got.
 *
 * @param string  where to
 * @param length  bytes that there is room for
 * @return characters that were written
 */
size_t PAMI_Error_text(char *string, size_t length);

/* ---- Time ------------------------------------------------------------------------------------------------------- */

/** Seconds since a moment in the past. PAMI_CLIENT_WTICK has the resolution. */
double PAMI_Wtime(pami_client_t client);

/** Steps of a counter since a moment in the past. PAMI_CLIENT_WTIMEBASE_MHZ has its speed. */
unsigned long long PAMI_Wtimebase(pami_client_t client);

/* ---- Clients ---------------------------------------------------------------------------------------------------- */

/**
 * Creates a client. All tasks create the same clients in the same order, with the same settings, and may wait for each
 * other in it.
 *
 * @param name           name of the client
 * @param configuration  settings
 * @param num_configs    their number; may be 0
 * @return PAMI_SUCCESS; PAMI_INVAL: the job has no client of this name, or a setting is wrong
 */
pami_result_t PAMI_Client_create(const char *name, pami_client_t *client, pami_configuration_t configuration[],
                                 size_t num_configs);

/**
 * Ends a client and makes the handle invalid. Its contexts have been destroyed before. One thread calls.
 *
 * @return PAMI_SUCCESS; PAMI_INVAL: there is no such client, any more
 */
pami_result_t PAMI_Client_destroy(pami_client_t *client);

/* ---- Endpoints -------------------------------------------------------------------------------------------------- */

/**
 * The endpoint of a context of a task.
 *
 * @param offset  number of the context in its client
 * @return PAMI_SUCCESS; PAMI_INVAL: there is no such task, or no such context can be
 */
pami_result_t PAMI_Endpoint_create(pami_client_t client, pami_task_t task, size_t offset, pami_endpoint_t *endpoint);

/**
 * Task and offset of an endpoint.
 *
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Endpoint_query(pami_endpoint_t endpoint, pami_task_t *task, size_t *offset);

/* ---- Contexts --------------------------------------------------------------------------------------------------- */

/**
 * Creates contexts, whose offsets are their places in the array. One thread calls, once for a client. No other task is
 * waited for.
 *
 * @param configuration  settings; PAMI_CLIENT_CONST_CONTEXTS is the only one, and changes nothing
 * @param num_configs    their number
 * @param context        filled with the contexts
 * @param ncontexts      how many, at most PAMI_CLIENT_NUM_CONTEXTS
 * @return PAMI_SUCCESS; PAMI_INVAL: there are not so many, or a setting is wrong
 */
pami_result_t PAMI_Context_createv(pami_client_t client, pami_configuration_t configuration[], size_t num_configs,
                                   pami_context_t context[], size_t ncontexts);

/**
 * Ends contexts and makes their handles invalid. One thread calls, and holds none of their locks. A handle in the place
 * of an array is taken for an array of one.
 *
 * @return PAMI_SUCCESS; PAMI_INVAL: one is none, any more
 */
pami_result_t PAMI_Context_destroyv(pami_context_t *contexts, size_t ncontexts);

/**
 * Posts work to a context: its advance will call `fn`, again and again while it returns PAMI_EAGAIN. Any thread may
 * call, without the lock.
 *
 * @param work    room for it, until it has ended
 * @param fn      the work
 * @param cookie  passed to it
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Context_post(pami_context_t context, pami_work_t *work, pami_work_function fn, void *cookie);

/**
 * Makes progress: receives, completes, does posted work, calls callbacks. Returns after the first poll that found
 * something, or after `maximum` polls.
 *
 * @return PAMI_SUCCESS: something was found. PAMI_EAGAIN: nothing was.
 */
pami_result_t PAMI_Context_advance(pami_context_t context, size_t maximum);

/**
 * PAMI_Context_advance for several contexts: returns after the first round that found something in one of them, or
 * after `maximum` rounds.
 */
pami_result_t PAMI_Context_advancev(pami_context_t context[], size_t count, size_t maximum);

/**
 * PAMI_Context_advancev which holds the lock of each context while it polls it, and passes by those that others hold.
 */
pami_result_t PAMI_Context_trylock_advancev(pami_context_t context[], size_t count, size_t maximum);

/**
 * Waits for the lock of a context and takes it. A thread that has it must not take it again.
 *
 * @return PAMI_SUCCESS; PAMI_INVAL: no context, or the thread has the lock
 */
pami_result_t PAMI_Context_lock(pami_context_t context);

/**
 * Takes the lock of a context if it is free.
 *
 * @return PAMI_SUCCESS; PAMI_EAGAIN: it is not free; PAMI_INVAL
 */
pami_result_t PAMI_Context_trylock(pami_context_t context);

/**
 * Gives the lock of a context back.
 *
 * @return PAMI_SUCCESS; PAMI_INVAL: no context, or the thread does not have the lock
 */
pami_result_t PAMI_Context_unlock(pami_context_t context);

/* ---- Extensions ------------------------------------------------------------------------------------------------- */

/** An extension that is open. */
typedef void *pami_extension_t;

/**
 * Opens an extension. pami_ext_torus.h and pami_ext_async_progress.h have the names and what is in them.
 *
 * @return PAMI_SUCCESS; PAMI_UNIMPL: there is none of this name; PAMI_ERROR: it cannot be opened
 */
pami_result_t PAMI_Extension_open(pami_client_t client, const char *name, pami_extension_t *extension);

/**
 * Closes an extension. What came from PAMI_Extension_symbol must not be used any more.
 *
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Extension_close(pami_extension_t extension);

/** Address of a function or variable of an extension; null if it has none of this name. */
void *PAMI_Extension_symbol(pami_extension_t extension, const char *name);

#ifdef __cplusplus
}
#endif

#endif
