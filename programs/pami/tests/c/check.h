/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Common to the C programs of the tests: checks that end the program with status 1 and name the line. */
#ifndef CHECK_H
#define CHECK_H

#include <pami.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Ends the program unless `condition` holds. */
#define CHECK(condition)                                                     \
  do {                                                                       \
    if (!(condition)) {                                                      \
      printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);         \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

/** Ends the program unless `call` returns `expected`. */
#define RETURNS(expected, call)                                              \
  do {                                                                       \
    pami_result_t result_ = (call);                                          \
    if (result_ != (expected)) {                                             \
      char text_[256];                                                       \
      PAMI_Error_text(text_, sizeof text_);                                  \
      printf("%s:%d: %s returns %d: %s\n", __FILE__, __LINE__, #call, result_, text_); \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

/** Ends the program unless `call` succeeds. */
#define SUCCEEDS(call) RETURNS(PAMI_SUCCESS, call)

/** The value of a number among the attributes of a client. */
static inline size_t client_number(pami_client_t client, pami_attribute_name_t name) {
  pami_configuration_t attribute;
  attribute.name = name;
  SUCCEEDS(PAMI_Client_query(client, &attribute, 1));
  return attribute.value.intval;
}

/** The endpoint of a context of a task. */
static inline pami_endpoint_t endpoint(pami_client_t client, size_t task, size_t offset) {
  pami_endpoint_t found;
  SUCCEEDS(PAMI_Endpoint_create(client, (pami_task_t)task, offset, &found));
  return found;
}

/** Sets the function for messages of a dispatch, without hints. */
static inline void receive_by(pami_context_t context, size_t dispatch, pami_dispatch_p2p_function function,
                              void *cookie) {
  pami_dispatch_callback_function by;
  pami_dispatch_hint_t none;
  by.p2p = function;
  memset(&none, 0, sizeof none);
  SUCCEEDS(PAMI_Dispatch_set(context, dispatch, by, cookie, none));
}

/** Byte `place` of message `number` of task `task`. */
static inline char byte_of(size_t task, size_t number, size_t place) {
  return (char)(task * 31 + number * 7 + place * 5 + (place >> 8));
}

#endif
