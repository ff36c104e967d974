/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * PAMI V1R2M0: active messages, one-sided transfers and collectives between the tasks of a job.
 *
 * Terms:
 * - A task is one process of the job, numbered from 0.
 * - A client is one user of the interface within a task (a library, a language runtime). Clients of the same name in
 *   all tasks belong together; different clients share nothing.
 * - A context is a part of a client's resources that makes progress by itself. Its number within the client is its
 *   offset.
 * - An endpoint is the address of a context: a task and an offset, packed.
 * - A geometry is a group of endpoints for collectives.
 *
 * Rules for all calls:
 * - No call waits for a transfer, except where the text says so. An accepted operation returns PAMI_SUCCESS and completes
 *   later, inside a call that advances its context; that call runs the callbacks.
 * - One thread at a time uses a context. Only PAMI_Context_post and the locks may be called by any thread at any time.
 * - Callbacks own their context while they run: they may start operations on it, and must not advance it. For another
 *   context they need its lock, or post work to it.
 * - All contexts of a client must be advanced while operations are pending, unless the hint `multicontext` is disabled.
 * - Structures of parameters may be reused as soon as the call returns. Buffers belong to the operation until the
 *   callback that says it is done.
 * - Sizes, lengths and offsets are in bytes unless the text says otherwise.
 * - A function with an invalid handle or argument returns PAMI_INVAL and has no effect.
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

/** Result of a function, or of a completed operation in its callback. */
typedef enum {
  PAMI_SUCCESS = 0,      /**< Done, or accepted. */
  PAMI_NERROR = -1,      /**< Failed without a specific code; negative. */
  PAMI_ERROR = 1,        /**< Failed without a specific code. */
  PAMI_INVAL = 2,        /**< Invalid argument. */
  PAMI_UNIMPL = 3,       /**< Not implemented. */
  PAMI_EAGAIN = 4,       /**< Nothing happened, or resources are in use; try again. */
  PAMI_ENOMEM = 5,       /**< Out of memory. */
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
 * Called by an advance of `context` at the stage of an operation that the callback is registered for.
 *
 * @param cookie  cookie of the operation
 * @param result  PAMI_SUCCESS, or the reason of the failure
 */
typedef void (*pami_event_function)(pami_context_t context, void *cookie, pami_result_t result);

/**
 * Combines `bytes` bytes of `source` into `target`, both contiguous. A transfer with such a function calls it instead of
 * copying, in pieces of any multiple of the type's atom size.
 */
typedef void (*pami_data_function)(void *target, void *source, size_t bytes, void *cookie);

/**
 * Posted work, called by the advance of its context.
 *
 * @return PAMI_EAGAIN to be called again by a later advance; any other value ends the work. Its pami_work_t may then be
 *         reused, also by the function itself.
 */
typedef pami_result_t (*pami_work_function)(pami_context_t context, void *cookie);

/** Memory for posted work. The caller provides it and must not touch it until the work has ended. */
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
  PAMI_CLIENT_MEMREGION_SIZE = 103,      /**< [intval] Bytes used of a pami_memregion_t. */
  PAMI_CLIENT_MEM_SIZE = 104,            /**< [intval] Main memory, in MiB. */
  PAMI_CLIENT_NUM_TASKS = 105,           /**< [intval] Tasks of the job. */
  PAMI_CLIENT_NUM_LOCAL_TASKS = 106,     /**< [intval] Tasks on this node, this one included. */
  PAMI_CLIENT_LOCAL_TASKS = 107,         /**< [intarray] Their numbers; the array belongs to the client. */
  PAMI_CLIENT_NUM_CONTEXTS = 108,        /**< [intval] Maximum of contexts of this client in this task. */
  PAMI_CLIENT_PROCESSOR_NAME = 109,      /**< [chararray] Name of the processor; it belongs to the client. */
  PAMI_CLIENT_TASK_ID = 110,             /**< [intval] Number of this task. */
  PAMI_CLIENT_WTIMEBASE_MHZ = 111,       /**< [intval] Steps of PAMI_Wtimebase in a microsecond. */
  PAMI_CLIENT_WTICK = 112,               /**< [doubleval] Resolution of PAMI_Wtime, in seconds. */
  /* Of a context. */
  PAMI_CONTEXT_DISPATCH_ID_MAX = 200, /**< [intval] Largest number of a dispatch. */
  /* Of a dispatch. */
  PAMI_DISPATCH_RECV_IMMEDIATE_MAX = 300, /**< [intval] Maximum of header and data bytes in one dispatch call. */
  PAMI_DISPATCH_SEND_IMMEDIATE_MAX = 301, /**< [intval] Maximum of header and data bytes of PAMI_Send_immediate. */
  PAMI_DISPATCH_ATOM_SIZE_MAX = 302,      /**< [intval] Largest atom size of a type in a PAMI_Send_typed. */
  /* Of a geometry. */
  PAMI_GEOMETRY_OPTIMIZE = 400, /**< [intval] 1: may use algorithms that hold hardware; 0: releases it. */
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
  const size_t *intarray; /**< Numbers; another attribute gives their count. */
} pami_attribute_value_t;

/** An attribute and its value: the unit of queries, of updates and of settings at creation. */
typedef struct {
  pami_attribute_name_t name;   /**< Which attribute. */
  pami_attribute_value_t value; /**< Its value. */
} pami_configuration_t;

/* ---- Metadata of algorithms ------------------------------------------------------------------------------------- */

/** Reasons why an algorithm cannot do a collective; 0: it can. */
typedef union metadata_result_t {
  unsigned bitmask; /**< All bits. */
  struct {
    unsigned unspecified : 1;       /**< Another reason. */
    unsigned range : 1;             /**< Too few or too many bytes. */
    unsigned align_send_buffer : 1; /**< The address of the send buffer is not aligned as needed. */
    unsigned align_recv_buffer : 1; /**< The address of the receive buffer is not aligned as needed. */
    unsigned datatype_op : 1;       /**< This pair of type and operation is unsupported. */
    unsigned contiguous_send : 1;   /**< The send type has holes. */
    unsigned contiguous_recv : 1;   /**< The receive type has holes. */
    unsigned continuous_send : 1;   /**< The parts of the send vector are not contiguous. */
    unsigned continuous_recv : 1;   /**< The parts of the receive vector are not contiguous. */
    unsigned nonlocal : 1;          /**< The answers of all endpoints must be reduced. */
  } check;                          /**< Bit by bit. */
} metadata_result_t;

/** Pointer to the parameters of a collective. */
typedef struct pami_xfer_t *xfer_p;

/** Checks whether an algorithm can do the collective `xfer`, as far as this endpoint knows. */
typedef metadata_result_t (*pami_metadata_function)(struct pami_xfer_t *xfer);

/**
 * Capabilities of an algorithm, and the range where it is fast.
 *
 * `checkrequired` set: `check_fn` must be called before each collective; the other fields need no check. Clear: the other
 * bits name the limits. An answer of `check_fn`, where it is not null, holds until a parameter changes that a set bit
 * concerns.
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
      unsigned checkrequired : 1; /**< `check_fn` must be called each time. */
      unsigned nonlocal : 1;      /**< The answers of all endpoints must be reduced. */
      unsigned rangeminmax : 1;   /**< Bytes have limits. */
      unsigned sendminalign : 1;  /**< The send buffer must be aligned. */
      unsigned recvminalign : 1;  /**< The receive buffer must be aligned. */
      unsigned alldtop : 1;       /**< Supports every valid pair of predefined type and operation. */
      unsigned contigsflags : 1;  /**< The send type must not have holes. */
      unsigned contigrflags : 1;  /**< The receive type must not have holes. */
      unsigned continsflags : 1;  /**< The parts of the send vector must be contiguous. */
      unsigned continrflags : 1;  /**< The parts of the receive vector must be contiguous. */
      unsigned blocking : 1;      /**< The call may wait for others. */
      unsigned inplace : 1;       /**< Send and receive buffer may be the same. */
      unsigned asyncflowctl : 1;  /**< Endpoints may run ahead; barriers bound the buffered data. */
      unsigned oneatatime : 1;    /**< At most one such collective may be pending. */
      unsigned global_order : 4;  /**< Not 0: all endpoints must start them in one order, over all geometries. */
    } values;                     /**< Bit by bit. */
  } check_correct;                /**< Conditions. */
  union {
    unsigned bitmask_perf; /**< All bits. */
    struct {
      unsigned hw_accel : 1; /**< Uses collective hardware. */
    } values;                /**< Bit by bit. */
  } check_perf;              /**< Performance. */
  size_t range_lo_perf;      /**< Fewest bytes for which it is fast. */
  size_t range_hi_perf;      /**< Most bytes for which it is fast. */
  unsigned min_align_perf;   /**< Alignment of buffers, in bytes, for which it is fast. */
} pami_metadata_t;

/* ---- Hints ------------------------------------------------------------------------------------------------------ */

/** Values of the two-bit fields of hints. */
typedef enum {
  PAMI_HINT_DEFAULT = 0, /**< Chosen by the implementation, or as the field says. */
  PAMI_HINT_ENABLE = 1,  /**< Wanted. */
  PAMI_HINT_DISABLE = 2, /**< Not wanted. */
  PAMI_HINT_INVALID = 3  /**< Invalid. */
} pami_hint_t;

/**
 * Hints of a dispatch. These are hard: PAMI_Dispatch_set honours them or fails. All tasks must give the same hints for
 * one dispatch and offset; this is not checked.
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
   * may be sent. Disabled: no data does, so each call has a pami_recv_t. Default: either.
   */
  unsigned recv_immediate : 2;
  /**
   * Dispatch calls for messages between two endpoints come in the order of the sends; completions of the receives may
   * not. Default: disabled.
   */
  unsigned consistency : 2;
  /** All buffers lie in memory regions; contradicts `use_rdma` disabled. Default: disabled. */
  unsigned buffer_registered : 2;
  /** The receiver makes progress without advancing. Default: disabled. */
  unsigned remote_async_progress : 2;
  /** Data goes by remote memory access. Default: chosen by the implementation. */
  unsigned use_rdma : 2;
  /** Messages go through shared memory; one to another node is PAMI_INVAL. Default: chosen by the implementation. */
  unsigned use_shmem : 2;
  /** PAMI_Send_immediate queues a message without room; disabled: it returns PAMI_EAGAIN. Default: enabled. */
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

/** Parameters common to all sends. */
typedef struct {
  struct iovec header;    /**< Header, passed to the dispatch function unchanged. */
  struct iovec data;      /**< Data, stored where the receiver says. */
  size_t dispatch;        /**< Number of the dispatch, the same on both sides. */
  pami_send_hint_t hints; /**< Soft hints. */
  pami_endpoint_t dest;   /**< Destination; the sending context's own endpoint is valid. */
} pami_send_immediate_t;

/** Callbacks of a send; each may be null. */
typedef struct {
  void *cookie;                  /**< Passed to both. */
  pami_event_function local_fn;  /**< Header and data may be changed again. */
  pami_event_function remote_fn; /**< All data has arrived at the receiver. */
} pami_send_event_t;

/** Parameters of PAMI_Send. */
typedef struct {
  pami_send_immediate_t send; /**< Message. */
  pami_send_event_t events;   /**< Callbacks. */
} pami_send_t;

/** Parameters of PAMI_Send_typed. */
typedef struct {
  pami_send_immediate_t send; /**< Message; `data.iov_len` counts bytes of data, without holes. */
  pami_send_event_t events;   /**< Callbacks. */
  struct {
    pami_type_t type;           /**< Layout of the data at `data.iov_base`. */
    size_t offset;              /**< Bytes of the type's data to skip at the start. */
    pami_data_function data_fn; /**< Produces the sent data; PAMI_DATA_COPY for a plain copy. */
    void *data_cookie;          /**< Passed to `data_fn`. */
  } typed;                      /**< Layout of the data. */
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
 * Sends a header and data with the layout of a type. On the wire the data is contiguous bytes, so the receiver may use
 * another type.
 *
 * @return PAMI_SUCCESS: accepted. PAMI_INVAL: refused, for instance because the type is not complete.
 */
pami_result_t PAMI_Send_typed(pami_context_t context, pami_send_typed_t *parameters);

/** Destination of the data of a message. The dispatch function fills it in. */
typedef struct {
  void *cookie;                 /**< Passed to `local_fn`. */
  pami_event_function local_fn; /**< All data is in place; may be null. */
  void *addr;                   /**< Address of the data. */
  pami_type_t type;             /**< Layout there; PAMI_TYPE_BYTE if contiguous. */
  size_t offset;                /**< Bytes of the type's data to skip at the start. */
  pami_data_function data_fn;   /**< Consumes the data; PAMI_DATA_COPY for a plain copy. */
  void *data_cookie;            /**< Passed to `data_fn`. */
} pami_recv_t;

/**
 * Receives a message. The header is valid until the function returns.
 *
 * @param cookie     cookie of PAMI_Dispatch_set
 * @param pipe_addr  the data, all of it, valid until the function returns; null if it is still to come
 * @param data_size  bytes of data, in both cases
 * @param origin     endpoint of the sender
 * @param recv       to be filled in if the data is still to come, else null
 */
typedef void (*pami_dispatch_p2p_function)(pami_context_t context, void *cookie, const void *header_addr,
                                           size_t header_size, const void *pipe_addr, size_t data_size,
                                           pami_endpoint_t origin, pami_recv_t *recv);

/* ---- Put and get ------------------------------------------------------------------------------------------------ */

/** Parameters common to all one-sided transfers. */
typedef struct {
  pami_endpoint_t dest;        /**< Other side; the context's own endpoint is valid. */
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

/** Further parameters of puts. */
typedef struct {
  pami_event_function rdone_fn; /**< All data is in place at the other task; called here; may be null. */
} pami_rma_put_t;

/** Parameters of PAMI_Put. */
typedef struct {
  pami_rma_t rma;       /**< Other side, length, callbacks. */
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
  pami_rma_t rma;        /**< Other side, length, callbacks. */
  pami_rma_addr_t addr;  /**< From `local` to `remote`. */
  pami_rma_typed_t type; /**< Layout of the data. */
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
  pami_rma_t rma;       /**< Other side, length, callbacks. */
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
  pami_rma_t rma;        /**< Other side, length, callbacks. */
  pami_rma_addr_t addr;  /**< From `remote` to `local`. */
  pami_rma_typed_t type; /**< Layout of the data. */
} pami_get_typed_t;

/**
 * Reads memory of another task, with a layout on each side.
 *
 * @return PAMI_SUCCESS: accepted. PAMI_INVAL: refused.
 */
pami_result_t PAMI_Get_typed(pami_context_t context, pami_get_typed_t *parameters);

/* ---- Read-modify-write ------------------------------------------------------------------------------------------ */

/**
 * Atomic operations: a modification alone, or with FETCH, COMPARE or both; or FETCH alone. FETCH stores the
 * old remote value at `local`. COMPARE modifies only if the remote value equals `test`.
 */
typedef enum {
  PAMI_ATOMIC_FETCH = 0x01,             /**< Reads. */
  PAMI_ATOMIC_COMPARE = 0x02,           /**< Bit of the conditional operations; not valid alone. */
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
  pami_endpoint_t dest;        /**< Other side; the context's own endpoint is valid. */
  pami_send_hint_t hints;      /**< Soft hints. */
  void *cookie;                /**< Passed to `done_fn`. */
  pami_event_function done_fn; /**< The operation is done and the old value is in place; may be null. */
  void *local;                 /**< Where the old value goes, for FETCH. */
  void *remote;                /**< The variable, in the other task's address space. */
  void *value;                 /**< Where the operand is, in this task. */
  void *test;                  /**< Where the value to compare with is, in this task, for COMPARE. */
  pami_atomic_t operation;     /**< Operation. */
  pami_type_t type;            /**< PAMI_TYPE_SIGNED_ or PAMI_TYPE_UNSIGNED_ INT, LONG or LONG_LONG. */
} pami_rmw_t;

/**
 * Changes a variable of another task atomically. It is not ordered with other transfers, including other
 * read-modify-writes.
 *
 * @return PAMI_SUCCESS: accepted. PAMI_INVAL: refused, for instance for another type.
 */
pami_result_t PAMI_Rmw(pami_context_t context, pami_rmw_t *parameters);

/* ---- Memory regions --------------------------------------------------------------------------------------------- */

/** A memory region. Its bytes may be sent to other tasks, which then use it in their transfers. */
typedef uintptr_t pami_memregion_t[PAMI_CLIENT_MEMREGION_SIZE_STATIC / sizeof(uintptr_t)];

/**
 * Registers memory for transfers by region. Regions may overlap and are independent.
 *
 * @param address    first byte
 * @param bytes_in   bytes that are wanted
 * @param bytes_out  bytes, from the first, that the region has; may be fewer
 * @return PAMI_SUCCESS: the region exists until PAMI_Memregion_destroy. PAMI_EAGAIN: resources are in use.
 *         PAMI_INVAL: an argument is wrong. PAMI_ERROR: the memory cannot be registered.
 */
pami_result_t PAMI_Memregion_create(pami_context_t context, void *address, size_t bytes_in, size_t *bytes_out,
                                    pami_memregion_t *memregion);

/**
 * Deregisters a region of this task and makes the object invalid. Transfers that use the region must have completed.
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
  pami_rma_t rma;     /**< Other side, length, callbacks. */
  pami_rdma_t rdma;   /**< From `local` to `remote`. */
  pami_rma_put_t put; /**< Completion at the other task. */
} pami_rput_simple_t;

/** Parameters of PAMI_Rput_typed. */
typedef struct {
  pami_rma_t rma;        /**< Other side, length, callbacks. */
  pami_rdma_t rdma;      /**< From `local` to `remote`. */
  pami_rma_typed_t type; /**< Layout of the data. */
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
  pami_rma_t rma;   /**< Other side, length, callbacks. */
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
  pami_rma_t rma;        /**< Other side, length, callbacks. */
  pami_rdma_t rdma;      /**< From `remote` to `local`. */
  pami_rma_typed_t type; /**< Layout of the data. */
} pami_rget_typed_t;

/**
 * Reads memory of another task, from region to region, with a layout on each side.
 *
 * @return PAMI_SUCCESS: accepted. PAMI_INVAL: refused.
 */
pami_result_t PAMI_Rget_typed(pami_context_t context, pami_rget_typed_t *parameters);

/* ---- Purge and resume ------------------------------------------------------------------------------------------- */

/**
 * Releases the resources of this context for endpoints that are about to end. Traffic with them must have stopped, by a
 * fence and a synchronization. The context's own endpoint is not valid.
 *
 * @param dest   the endpoints
 * @param count  how many
 * @return PAMI_SUCCESS; PAMI_INVAL; PAMI_UNIMPL where the set of tasks is fixed
 */
pami_result_t PAMI_Purge(pami_context_t context, pami_endpoint_t *dest, size_t count);

/**
 * Makes endpoints that were purged, or that are new, reachable. The context's own endpoint is not valid.
 *
 * @param dest   the endpoints
 * @param count  how many
 * @return PAMI_SUCCESS; PAMI_INVAL; PAMI_UNIMPL where the set of tasks is fixed
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
  PAMI_XFER_ALLGATHERV = 4,     /**< The same with a length for each. */
  PAMI_XFER_ALLGATHERV_INT = 5, /**< The same with lengths of type int. */
  PAMI_XFER_SCATTER = 6,        /**< Each gets its part of the root's data. */
  PAMI_XFER_SCATTERV = 7,       /**< The same with a length for each. */
  PAMI_XFER_SCATTERV_INT = 8,   /**< The same with lengths of type int. */
  PAMI_XFER_GATHER = 9,         /**< The root gets the data of all. */
  PAMI_XFER_GATHERV = 10,       /**< The same with a length for each. */
  PAMI_XFER_GATHERV_INT = 11,   /**< The same with lengths of type int. */
  PAMI_XFER_BARRIER = 12,       /**< No endpoint continues before all have arrived. */
  PAMI_XFER_ALLTOALL = 13,      /**< Each has a part for each. */
  PAMI_XFER_ALLTOALLV = 14,     /**< The same with a length for each. */
  PAMI_XFER_ALLTOALLV_INT = 15, /**< The same with lengths of type int. */
  PAMI_XFER_SCAN = 16,          /**< Each gets the combination of the data up to its own. */
  PAMI_XFER_REDUCE_SCATTER = 17, /**< Data of all is combined; each gets its part of the result. */
  PAMI_XFER_AMBROADCAST = 18,   /**< Broadcast that only the root calls. */
  PAMI_XFER_AMSCATTER = 19,     /**< Scatter that only the root calls. */
  PAMI_XFER_AMGATHER = 20,      /**< Gather that only the root calls. */
  PAMI_XFER_AMREDUCE = 21,      /**< Reduce that only the root calls. */
  PAMI_XFER_COUNT = 22,         /**< Number of kinds. */
  PAMI_XFER_TYPE_EXT = 1000     /**< First kind of extensions. */
} pami_xfer_type_t;

/** Consecutive tasks. */
typedef struct {
  pami_task_t lo; /**< The first. */
  pami_task_t hi; /**< The last, included. */
} pami_geometry_range_t;

/**
 * Creates a geometry of ranges of tasks, with one context of each. All tasks of the parent call, or, without a parent,
 * those of the new geometry; `fn` is called when it can be used.
 *
 * @param context_offset  context of each task that takes part, the same everywhere; PAMI_ALL_CONTEXTS: all of them,
 *                        which allows a parent only if each task has one context
 * @param configuration   settings, PAMI_GEOMETRY_OPTIMIZE among them
 * @param num_configs     their number
 * @param geometry        the new geometry; null in tasks of the parent that do not belong to it
 * @param parent          a geometry that has all of its tasks, or PAMI_GEOMETRY_NULL
 * @param id              number of the geometry, the same in all its tasks; more than 0, and different from that of any
 *                        geometry that lives in one of them
 * @param task_slices     the ranges; must stay valid as long as the geometry lives
 * @param slice_count     their number
 * @param context         context whose advance calls `fn`
 * @param fn              called when the geometry exists; may be null
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
 * @param tasks       the tasks; must stay valid as long as the geometry lives
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
 * @param endpoints       the endpoints; must stay valid as long as the geometry lives
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
 * Number of algorithms of a geometry for one kind of collective.
 *
 * @param lists_lengths  two numbers: algorithms that always work, and algorithms whose metadata must be checked
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Geometry_algorithms_num(pami_geometry_t geometry, pami_xfer_type_t coll_type,
                                           size_t *lists_lengths);

/**
 * Algorithms of a geometry for one kind of collective, with their metadata.
 *
 * @param algs0   filled with `num0` algorithms that always work
 * @param mdata0  filled with their metadata; may be null
 * @param algs1   filled with `num1` algorithms whose metadata must be checked
 * @param mdata1  filled with their metadata; may be null
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Geometry_algorithms_query(pami_geometry_t geometry, pami_xfer_type_t colltype,
                                             pami_algorithm_t *algs0, pami_metadata_t *mdata0, size_t num0,
                                             pami_algorithm_t *algs1, pami_metadata_t *mdata1, size_t num1);

/**
 * Destroys a geometry and makes the handle invalid. Its tasks may have to synchronize. Its number is free after `fn`;
 * with a null `fn` it stays in use as long as the client lives.
 *
 * @param context  context whose advance calls `fn`
 * @return PAMI_SUCCESS: destruction has begun. PAMI_INVAL: refused, for instance for the world.
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
  char *sndbuf;        /**< Data to send. */
  pami_type_t stype;   /**< Its type. */
  size_t *stypecounts; /**< Count for each. */
  size_t *sdispls;     /**< Displacements. */
  char *rcvbuf;        /**< Received data. */
  pami_type_t rtype;   /**< Its type. */
  size_t *rtypecounts; /**< Count from each. */
  size_t *rdispls;     /**< Displacements. */
} pami_alltoallv_t;

/** Parameters of PAMI_XFER_ALLTOALLV_INT. */
typedef struct {
  char *sndbuf;      /**< Data to send. */
  pami_type_t stype; /**< Its type. */
  int *stypecounts;  /**< Count for each. */
  int *sdispls;      /**< Displacements. */
  char *rcvbuf;      /**< Received data. */
  pami_type_t rtype; /**< Its type. */
  int *rtypecounts;  /**< Count from each. */
  int *rdispls;      /**< Displacements. */
} pami_alltoallv_int_t;

/** Parameters of PAMI_XFER_ALLTOALL. */
typedef struct {
  char *sndbuf;      /**< Data to send: a part for each, contiguous. */
  pami_type_t stype; /**< Its type. */
  size_t stypecount; /**< Count for each. */
  char *rcvbuf;      /**< Received data: a part from each, contiguous. */
  pami_type_t rtype; /**< Its type. */
  size_t rtypecount; /**< Count from each. */
} pami_alltoall_t;

/** Parameters of PAMI_XFER_REDUCE. */
typedef struct {
  pami_endpoint_t root;  /**< Endpoint that gets the result. */
  char *sndbuf;          /**< Operands. */
  pami_type_t stype;     /**< Its type. */
  size_t stypecount;     /**< Count. */
  char *rcvbuf;          /**< The result, at the root. */
  pami_type_t rtype;     /**< Its type. */
  size_t rtypecount;     /**< Count. */
  pami_data_function op; /**< Operation. */
  void *data_cookie;     /**< Passed to `op`. */
  int commutative;       /**< Not 0: `op` may be called in any order. */
} pami_reduce_t;

/** Parameters of PAMI_XFER_REDUCE_SCATTER. */
typedef struct {
  char *sndbuf;          /**< Operands: a part for each, contiguous. */
  pami_type_t stype;     /**< Its type. */
  size_t stypecount;     /**< Count of all parts together. */
  char *rcvbuf;          /**< This endpoint's part of the result. */
  pami_type_t rtype;     /**< Its type. */
  size_t *rcounts;       /**< Count for each; the same at all endpoints. */
  pami_data_function op; /**< Operation. */
  void *data_cookie;     /**< Passed to `op`. */
  int commutative;       /**< Not 0: `op` may be called in any order. */
} pami_reduce_scatter_t;

/** Parameters of PAMI_XFER_BROADCAST. */
typedef struct {
  pami_endpoint_t root; /**< Sending endpoint. */
  char *buf;            /**< Data to send at the root, received data elsewhere. */
  pami_type_t type;     /**< Its type; endpoints may differ. */
  size_t typecount;     /**< Count. */
} pami_broadcast_t;

/** Parameters of PAMI_XFER_ALLGATHER. */
typedef struct {
  char *sndbuf;      /**< Data to send. */
  pami_type_t stype; /**< Its type. */
  size_t stypecount; /**< Count. */
  char *rcvbuf;      /**< Received data: a part from each, contiguous. */
  pami_type_t rtype; /**< Its type. */
  size_t rtypecount; /**< Count from each. */
} pami_allgather_t;

/** Parameters of PAMI_XFER_GATHER. */
typedef struct {
  pami_endpoint_t root; /**< Receiving endpoint. */
  char *sndbuf;         /**< Data to send. */
  pami_type_t stype;    /**< Its type. */
  size_t stypecount;    /**< Count. */
  char *rcvbuf;         /**< Received data, at the root: a part from each, contiguous. */
  pami_type_t rtype;    /**< Its type. */
  size_t rtypecount;    /**< Count from each. */
} pami_gather_t;

/** Parameters of PAMI_XFER_GATHERV. */
typedef struct {
  pami_endpoint_t root; /**< Receiving endpoint. */
  char *sndbuf;         /**< Data to send. */
  pami_type_t stype;    /**< Its type. */
  size_t stypecount;    /**< Count. */
  char *rcvbuf;         /**< Received data, at the root. */
  pami_type_t rtype;    /**< Its type. */
  size_t *rtypecounts;  /**< Count from each. */
  size_t *rdispls;      /**< Displacements. */
} pami_gatherv_t;

/** Parameters of PAMI_XFER_GATHERV_INT. */
typedef struct {
  pami_endpoint_t root; /**< Receiving endpoint. */
  char *sndbuf;         /**< Data to send. */
  pami_type_t stype;    /**< Its type. */
  int stypecount;       /**< Count. */
  char *rcvbuf;         /**< Received data, at the root. */
  pami_type_t rtype;    /**< Its type. */
  int *rtypecounts;     /**< Count from each. */
  int *rdispls;         /**< Displacements. */
} pami_gatherv_int_t;

/** Parameters of PAMI_XFER_ALLGATHERV. */
typedef struct {
  char *sndbuf;        /**< Data to send. */
  pami_type_t stype;   /**< Its type. */
  size_t stypecount;   /**< Count. */
  char *rcvbuf;        /**< Received data. */
  pami_type_t rtype;   /**< Its type. */
  size_t *rtypecounts; /**< Count from each. */
  size_t *rdispls;     /**< Displacements. */
} pami_allgatherv_t;

/** Parameters of PAMI_XFER_ALLGATHERV_INT. */
typedef struct {
  char *sndbuf;      /**< Data to send. */
  pami_type_t stype; /**< Its type. */
  int stypecount;    /**< Count. */
  char *rcvbuf;      /**< Received data. */
  pami_type_t rtype; /**< Its type. */
  int *rtypecounts;  /**< Count from each. */
  int *rdispls;      /**< Displacements. */
} pami_allgatherv_int_t;

/** Parameters of PAMI_XFER_SCATTER. */
typedef struct {
  pami_endpoint_t root; /**< Sending endpoint. */
  char *sndbuf;         /**< Data to send, at the root: a part for each, contiguous. */
  pami_type_t stype;    /**< Its type. */
  size_t stypecount;    /**< Count for each. */
  char *rcvbuf;         /**< Received data. */
  pami_type_t rtype;    /**< Its type. */
  size_t rtypecount;    /**< Count. */
} pami_scatter_t;

/** Parameters of PAMI_XFER_SCATTERV. */
typedef struct {
  pami_endpoint_t root; /**< Sending endpoint. */
  char *sndbuf;         /**< Data to send, at the root. */
  pami_type_t stype;    /**< Its type. */
  size_t *stypecounts;  /**< Count for each. */
  size_t *sdispls;      /**< Displacements. */
  char *rcvbuf;         /**< Received data. */
  pami_type_t rtype;    /**< Its type. */
  size_t rtypecount;    /**< Count. */
} pami_scatterv_t;

/** Parameters of PAMI_XFER_SCATTERV_INT. */
typedef struct {
  pami_endpoint_t root; /**< Sending endpoint. */
  char *sndbuf;         /**< Data to send, at the root. */
  pami_type_t stype;    /**< Its type. */
  int *stypecounts;     /**< Count for each. */
  int *sdispls;         /**< Displacements. */
  char *rcvbuf;         /**< Received data. */
  pami_type_t rtype;    /**< Its type. */
  int rtypecount;       /**< Count. */
} pami_scatterv_int_t;

/** Parameters of PAMI_XFER_ALLREDUCE. */
typedef struct {
  char *sndbuf;          /**< Operands. */
  pami_type_t stype;     /**< Its type. */
  size_t stypecount;     /**< Count. */
  char *rcvbuf;          /**< The result. */
  pami_type_t rtype;     /**< Its type. */
  size_t rtypecount;     /**< Count. */
  pami_data_function op; /**< Operation. */
  void *data_cookie;     /**< Passed to `op`. */
  int commutative;       /**< Not 0: `op` may be called in any order. */
} pami_allreduce_t;

/** Parameters of PAMI_XFER_SCAN. */
typedef struct {
  char *sndbuf;          /**< Operands. */
  pami_type_t stype;     /**< Its type. */
  size_t stypecount;     /**< Count. */
  char *rcvbuf;          /**< The result of the endpoints up to this one, in the geometry's order. */
  pami_type_t rtype;     /**< Its type. */
  size_t rtypecount;     /**< Count. */
  pami_data_function op; /**< Operation. */
  void *data_cookie;     /**< Passed to `op`. */
  int exclusive;         /**< Not 0: excludes this endpoint's operand; the first result is undefined. */
} pami_scan_t;

/** Parameters of PAMI_XFER_BARRIER: none. */
__extension__ typedef struct {
} pami_barrier_t;

/*
 * Active-message collectives: only the root calls, at any time, and several may be pending, also from several roots. The
 * others advance their contexts; the dispatch function of each gives the place of its data. Dispatch functions of pending
 * collectives may be called in any order.
 *
 * `local_fn` reports the end of the endpoint's own part: received data is in place, or sent data may be changed. The root's
 * own dispatch function is called too, by PAMI_Collective, except for a broadcast. The root's `local_fn` and `cb_done` are
 * called, in this order, when all endpoints have done their parts and the result is in place. If an endpoint has failed,
 * the root's callbacks get its result code and PAMI_Error_text its text, and the result is not written.
 */

/** Parameters of PAMI_XFER_AMBROADCAST. */
typedef struct {
  size_t dispatch;   /**< Number of the dispatch. */
  void *user_header; /**< Header for all endpoints. */
  size_t headerlen;  /**< Its bytes; may be 0. */
  void *sndbuf;      /**< Data to send. */
  pami_type_t stype; /**< Its type. */
  size_t stypecount; /**< Count. */
} pami_ambroadcast_t;

/**
 * Receives an active-message broadcast: pami_dispatch_p2p_function with the geometry; `origin` is the root. `pipe_addr` is
 * null: all data goes to the place in `recv`.
 */
typedef void (*pami_dispatch_ambroadcast_function)(pami_context_t context, void *cookie, const void *header_addr,
                                                   size_t header_size, const void *pipe_addr, size_t data_size,
                                                   pami_endpoint_t origin, pami_geometry_t geometry,
                                                   pami_recv_t *recv);

/** Parameters of PAMI_XFER_AMSCATTER. */
typedef struct {
  size_t dispatch;   /**< Number of the dispatch. */
  void *headers;     /**< A header for each endpoint, contiguous. */
  size_t headerlen;  /**< Bytes of each. */
  void *sndbuf;      /**< Data to send: a part for each, contiguous. */
  pami_type_t stype; /**< Its type. */
  size_t stypecount; /**< Count for each. */
} pami_amscatter_t;

/** Receives its part of an active-message scatter, as pami_dispatch_ambroadcast_function. */
typedef void (*pami_dispatch_amscatter_function)(pami_context_t context, void *cookie, const void *header_addr,
                                                 size_t header_size, const void *pipe_addr, size_t data_size,
                                                 pami_endpoint_t origin, pami_geometry_t geometry,
                                                 pami_recv_t *recv);

/** Parameters of PAMI_XFER_AMGATHER. */
typedef struct {
  size_t dispatch;   /**< Number of the dispatch. */
  void *headers;     /**< A header for each endpoint, contiguous. */
  size_t headerlen;  /**< Bytes of each. */
  void *rcvbuf;      /**< Received data: a part from each, contiguous. */
  pami_type_t rtype; /**< Its type. */
  size_t rtypecount; /**< Count from each. */
} pami_amgather_t;

/**
 * Gives its part of an active-message gather.
 *
 * @param data_size  bytes that the root expects
 * @param origin     the root
 * @param send       to be filled in: place of the data; `local_fn` is called when it may be changed again
 */
typedef void (*pami_dispatch_amgather_function)(pami_context_t context, void *cookie, const void *header_addr,
                                                size_t header_size, size_t data_size, pami_endpoint_t origin,
                                                pami_geometry_t geometry, pami_recv_t *send);

/** Parameters of PAMI_XFER_AMREDUCE. */
typedef struct {
  size_t dispatch;   /**< Number of the dispatch. */
  void *user_header; /**< Header for all endpoints. */
  size_t headerlen;  /**< Its bytes; may be 0. */
  void *rcvbuf;      /**< The result. */
  pami_type_t rtype; /**< Its type. */
  size_t rtypecount; /**< Count. */
  void *data_cookie; /**< Passed to the operation. */
  int commutative;   /**< Not 0: the operation may be called in any order. */
} pami_amreduce_t;

/**
 * Gives its part of an active-message reduce.
 *
 * @param data_size  bytes that the root expects
 * @param origin     the root
 * @param op         to be filled in: operation, on the type of `send`, the same at all endpoints. A function of the program is
 *                   called only at the root, with its `data_cookie`, in the order of the endpoints.
 * @param send       to be filled in: place of the data, which is only read; `local_fn` is called when it may be changed
 */
typedef void (*pami_dispatch_amreduce_function)(pami_context_t context, void *cookie, const void *header_addr,
                                                size_t header_size, size_t data_size, pami_endpoint_t origin,
                                                pami_geometry_t geometry, pami_data_function *op,
                                                pami_recv_t *send);

/** Parameters of any collective. The algorithm selects the member. */
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
extern pami_type_t PAMI_TYPE_LOGICAL1; /**< 1 byte. */
extern pami_type_t PAMI_TYPE_LOGICAL2; /**< 2 bytes. */
extern pami_type_t PAMI_TYPE_LOGICAL4; /**< 4 bytes. */
extern pami_type_t PAMI_TYPE_LOGICAL8; /**< 8 bytes. */
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
 * Operations. These values name operations in transfers and collectives; they cannot be called. Each combines an element
 * of the source into one of the target. A type is valid for an operation if all its data is of one predefined type with
 * that operation; PAMI_Type_add_typed preserves that.
 */
extern pami_data_function PAMI_DATA_COPY;   /**< The source. */
extern pami_data_function PAMI_DATA_NOOP;   /**< The target is unchanged. */
extern pami_data_function PAMI_DATA_MAX;    /**< The greater value. */
extern pami_data_function PAMI_DATA_MIN;    /**< The smaller value. */
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
 * A type is a list of blocks, each some bytes at a displacement. A cursor that starts at 0 gives the place of the next
 * block; its final value is the extent, the distance between repetitions of the type in a buffer. A displacement may be
 * negative: offsets and strides wrap, so (size_t)-8 goes back.
 */

/**
 * Creates a type without blocks.
 *
 * @return PAMI_SUCCESS, or PAMI_ENOMEM
 */
pami_result_t PAMI_Type_create(pami_type_t *type);

/**
 * Adds blocks of bytes: moves the cursor by `offset`, then `count` times puts a block there and moves it by `stride`.
 * With a count of 0 it only moves the cursor. Data received into overlapping blocks is undefined.
 *
 * @param bytes  bytes of each block
 * @return PAMI_SUCCESS; PAMI_INVAL: the type is complete, or would have more data than there are addresses; PAMI_ENOMEM
 */
pami_result_t PAMI_Type_add_simple(pami_type_t type, size_t bytes, size_t offset, size_t count, size_t stride);

/**
 * Adds all blocks of another type: moves the cursor by `offset`, then `count` times puts them there and moves it by
 * `stride`. The other type's extent is ignored.
 *
 * @param subtype  a complete type
 * @return PAMI_SUCCESS; PAMI_INVAL: the type is complete, or `subtype` is not, or there would be more data than addresses
 *         or types nested more than 64 deep; PAMI_ENOMEM
 */
pami_result_t PAMI_Type_add_typed(pami_type_t type, pami_type_t subtype, size_t offset, size_t count, size_t stride);

/**
 * Completes a type: it can then be used, and no longer changed.
 *
 * @param atom_size  bytes that data functions never see divided; the size of each block is a multiple of it
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Type_complete(pami_type_t type, size_t atom_size);

/**
 * Destroys a type and makes the handle invalid. Pending transfers that use it continue.
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
 * Makes a complete type from its bytes, which are not needed afterwards.
 *
 * @return PAMI_SUCCESS; PAMI_INVAL: the bytes are not a type; PAMI_ENOMEM
 */
pami_result_t PAMI_Type_deserialize(pami_type_t *type, void *address, size_t size);

/**
 * Queries attributes of a complete type (PAMI_TYPE_DATA_SIZE and following).
 *
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Type_query(pami_type_t type, pami_configuration_t configuration[], size_t num_configs);

/**
 * Transfers data between two buffers of this task, each with its type, before it returns.
 *
 * @param src_offset  bytes of the source's data to skip
 * @param dst_offset  bytes of the destination's data to skip
 * @param size        bytes of data
 * @param data_fn     combines; PAMI_DATA_COPY for a plain copy
 * @param cookie      passed to `data_fn`
 * @return PAMI_SUCCESS; PAMI_INVAL: a type is not complete, or `data_fn` is not valid for it
 */
pami_result_t PAMI_Type_transform_data(void *src_addr, pami_type_t src_type, size_t src_offset, void *dst_addr,
                                       pami_type_t dst_type, size_t dst_offset, size_t size,
                                       pami_data_function data_fn, void *cookie);

/* ---- Dispatch --------------------------------------------------------------------------------------------------- */

/** The function that a dispatch calls, by kind. */
typedef union {
  pami_dispatch_p2p_function p2p;                 /**< Sends. */
  pami_dispatch_ambroadcast_function ambroadcast; /**< PAMI_XFER_AMBROADCAST */
  pami_dispatch_amscatter_function amscatter;     /**< PAMI_XFER_AMSCATTER */
  pami_dispatch_amgather_function amgather;       /**< PAMI_XFER_AMGATHER */
  pami_dispatch_amreduce_function amreduce;       /**< PAMI_XFER_AMREDUCE */
} pami_dispatch_callback_function;

/**
 * Sets the function of this context that receives the messages of a dispatch. Sender and receiver both set it before the
 * first message; other tasks are not informed.
 *
 * @param dispatch  number, 0 to PAMI_CONTEXT_DISPATCH_ID_MAX
 * @param fn        member `p2p`
 * @param cookie    passed to it
 * @param options   hard hints
 * @return PAMI_SUCCESS. PAMI_INVAL: the number is too large, or hints contradict each other. PAMI_ERROR: a hint cannot
 *         be honoured.
 */
pami_result_t PAMI_Dispatch_set(pami_context_t context, size_t dispatch, pami_dispatch_callback_function fn,
                                void *cookie, pami_dispatch_hint_t options);

/**
 * PAMI_Dispatch_set for active-message collectives of a geometry and a kind. Every endpoint, including the root, sets its
 * function before the first one; a later call replaces it. Numbers are independent of those of PAMI_Dispatch_set, of other
 * kinds and of other geometries.
 *
 * @param algorithm  of the geometry and the kind
 * @param dispatch   number, 0 to PAMI_CONTEXT_DISPATCH_ID_MAX
 * @param fn         the member of the kind
 * @param options    soft hints
 * @return PAMI_SUCCESS. PAMI_INVAL: the number is too large, the algorithm is not of these kinds, `fn` is null, or the
 *         context is not an endpoint of the geometry.
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
 * @return PAMI_SUCCESS; PAMI_INVAL: an attribute cannot be updated
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
 * @return PAMI_SUCCESS; PAMI_INVAL: an attribute cannot be updated
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
 * @return PAMI_SUCCESS; PAMI_INVAL: an attribute cannot be updated
 */
pami_result_t PAMI_Context_update(pami_context_t context, pami_configuration_t configuration[], size_t num_configs);

/**
 * Queries attributes of a geometry (PAMI_GEOMETRY_OPTIMIZE).
 *
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Geometry_query(pami_geometry_t geometry, pami_configuration_t configuration[], size_t num_configs);

/**
 * Updates attributes of a geometry. All its tasks call with the same values. Algorithms that were queried before become
 * invalid.
 *
 * @param context  context whose advance calls `fn`
 * @param fn       called when the update is done; may be null
 * @param cookie   passed to `fn`
 * @return PAMI_SUCCESS: the update has begun. PAMI_INVAL: an attribute cannot be updated.
 */
pami_result_t PAMI_Geometry_update(pami_geometry_t geometry, pami_configuration_t configuration[], size_t num_configs,
                                   pami_context_t context, pami_event_function fn, void *cookie);

/**
 * Writes a sentence about the last result of this thread.
 *
 * @param string  destination
 * @param length  its size in bytes
 * @return characters written
 */
size_t PAMI_Error_text(char *string, size_t length);

/* ---- Time ------------------------------------------------------------------------------------------------------- */

/** Seconds since a moment in the past. PAMI_CLIENT_WTICK has the resolution. */
double PAMI_Wtime(pami_client_t client);

/** Steps of a counter since a moment in the past. PAMI_CLIENT_WTIMEBASE_MHZ has its rate. */
unsigned long long PAMI_Wtimebase(pami_client_t client);

/* ---- Clients ---------------------------------------------------------------------------------------------------- */

/**
 * Creates a client. All tasks create the same clients in the same order, with the same settings, and may wait for each
 * other in it. Several clients have equal shares of the node, MPI's client among them. Where many tasks are on a node, the
 * environment variable PAMI_CLIENTS must name all clients, separated by commas.
 *
 * @param name           name of the client
 * @param configuration  settings
 * @param num_configs    their number; may be 0
 * @return PAMI_SUCCESS; PAMI_INVAL: the job has no client of this name, or a setting is wrong
 */
pami_result_t PAMI_Client_create(const char *name, pami_client_t *client, pami_configuration_t configuration[],
                                 size_t num_configs);

/**
 * Destroys a client and makes the handle invalid. Its contexts must have been destroyed. Only one thread may call.
 *
 * @return PAMI_SUCCESS; PAMI_INVAL: the client does not exist any more
 */
pami_result_t PAMI_Client_destroy(pami_client_t *client);

/* ---- Endpoints -------------------------------------------------------------------------------------------------- */

/**
 * The endpoint of a context of a task.
 *
 * @param offset  number of the context in its client
 * @return PAMI_SUCCESS; PAMI_INVAL: the task or context does not exist
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
 * Creates contexts, whose offsets are their indices in the array. Only one thread may call, once for a client. The call
 * does not wait for other tasks.
 *
 * @param configuration  settings; only PAMI_CLIENT_CONST_CONTEXTS, which has no effect
 * @param num_configs    their number
 * @param context        filled with the contexts
 * @param ncontexts      their number, at most PAMI_CLIENT_NUM_CONTEXTS
 * @return PAMI_SUCCESS; PAMI_INVAL: too many contexts, or a wrong setting
 */
pami_result_t PAMI_Context_createv(pami_client_t client, pami_configuration_t configuration[], size_t num_configs,
                                   pami_context_t context[], size_t ncontexts);

/**
 * Destroys contexts and makes their handles invalid. Only one thread may call, without any of their locks. A pointer to a
 * handle counts as an array of one.
 *
 * @return PAMI_SUCCESS; PAMI_INVAL: a context does not exist any more
 */
pami_result_t PAMI_Context_destroyv(pami_context_t *contexts, size_t ncontexts);

/**
 * Posts work to a context: its advance calls `fn`, repeatedly while it returns PAMI_EAGAIN. Any thread may call, without
 * the lock.
 *
 * @param work    memory for it, until it has ended
 * @param fn      the work
 * @param cookie  passed to it
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Context_post(pami_context_t context, pami_work_t *work, pami_work_function fn, void *cookie);

/**
 * Makes progress: receives, completes, runs posted work, calls callbacks. Returns after the first poll that found
 * an event, or after `maximum` polls.
 *
 * @return PAMI_SUCCESS: an event was found. PAMI_EAGAIN: none was.
 */
pami_result_t PAMI_Context_advance(pami_context_t context, size_t maximum);

/**
 * PAMI_Context_advance for several contexts: returns after the first round that found an event in one of them, or
 * after `maximum` rounds.
 */
pami_result_t PAMI_Context_advancev(pami_context_t context[], size_t count, size_t maximum);

/**
 * PAMI_Context_advancev that holds the lock of each context while it polls it, and skips contexts that others have locked.
 */
pami_result_t PAMI_Context_trylock_advancev(pami_context_t context[], size_t count, size_t maximum);

/**
 * Waits for the lock of a context and takes it. The lock is not recursive.
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
 * Releases the lock of a context.
 *
 * @return PAMI_SUCCESS; PAMI_INVAL: no context, or the thread does not have the lock
 */
pami_result_t PAMI_Context_unlock(pami_context_t context);

/* ---- Extensions ------------------------------------------------------------------------------------------------- */

/** An extension that is open. */
typedef void *pami_extension_t;

/**
 * Opens an extension: see pami_ext_torus.h and pami_ext_async_progress.h.
 *
 * @return PAMI_SUCCESS; PAMI_UNIMPL: no extension has this name; PAMI_ERROR: it cannot be opened
 */
pami_result_t PAMI_Extension_open(pami_client_t client, const char *name, pami_extension_t *extension);

/**
 * Closes an extension. Addresses from PAMI_Extension_symbol become invalid.
 *
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
pami_result_t PAMI_Extension_close(pami_extension_t extension);

/** Address of a function or variable of an extension; null if the name is unknown. */
void *PAMI_Extension_symbol(pami_extension_t extension, const char *name);

#ifdef __cplusplus
}
#endif

#endif
