/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Extension "EXT_async_progress" of PAMI: contexts make progress while no thread of the program advances them. */
#ifndef PAMI_EXT_ASYNC_PROGRESS_H
#define PAMI_EXT_ASYNC_PROGRESS_H

#include "pami.h"

/** Attribute of a client: 0 if progress may still need an occasional advance. In [intval]; cannot be updated. */
#define PAMIX_CLIENT_ASYNC_GUARANTEE 1016

#ifdef __cplusplus
extern "C" {
#endif

/** Events that wake a context. */
typedef enum {
  PAMIX_ASYNC_ALL = 0,            /**< All of these. */
  PAMIX_ASYNC_RECV_INTERRUPT = 1, /**< The arrival of a message. */
  PAMIX_ASYNC_TIMER = 2,          /**< A timer. */
  PAMIX_ASYNC_EXT = 1000          /**< First value of further extensions. */
} pamix_async_t;

/** Called by the thread that makes progress, without the context's lock. */
typedef void (*pamix_async_function)(pami_context_t context, void *cookie);

/**
 * Symbol "register": names the functions of a context; each may be null.
 *
 * @param progress_fn  makes progress; null: the context is locked and advanced
 * @param suspend_fn   called before progress stops
 * @param resume_fn    called before progress continues
 * @param cookie       passed to all
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
typedef pami_result_t (*pamix_async_progress_register_fn)(pami_context_t context, pamix_async_function progress_fn,
                                                          pamix_async_function suspend_fn,
                                                          pamix_async_function resume_fn, void *cookie);

/**
 * Symbol "enable": starts asynchronous progress of a context.
 *
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
typedef pami_result_t (*pamix_async_progress_enable_fn)(pami_context_t context, pamix_async_t event_type);

/**
 * Symbol "disable": stops asynchronous progress of a context.
 *
 * @return PAMI_SUCCESS, or PAMI_INVAL
 */
typedef pami_result_t (*pamix_async_progress_disable_fn)(pami_context_t context, pamix_async_t event_type);

#ifdef __cplusplus
}
#endif

#endif
