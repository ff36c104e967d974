/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * Calls of a program to the machine that runs it. libpami.so and libgyre-fi.so define them, and `gyre exec` loads the latter
 * before every program. A program that also runs elsewhere calls a function only if its address is not null.
 */
#ifndef GYRE_H
#define GYRE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Lets simulated time pass for the task, as computation of the program, which otherwise takes none. Has no effect before
 * the task has a client or MPI is initialized.
 *
 * @param nanoseconds  simulated time
 */
void gyre_compute(uint64_t nanoseconds) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
