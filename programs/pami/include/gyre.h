/**
 * What a program may tell the machine that runs it. libpami.so and libgyre-fi.so have this, and `gyre exec` loads the
 * latter before every program; nothing else does, so a program that runs elsewhere, too, calls it where its address is not null.
 */
#ifndef GYRE_H
#define GYRE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The program has computed for so long: simulated time passes for its task, which otherwise computes in none. Does nothing
 * before the task has a client or MPI is initialized.
 *
 * @param nanoseconds simulated time
 */
void gyre_compute(uint64_t nanoseconds) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
