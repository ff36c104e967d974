/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sleeps a millisecond, linked statically. */
#include <stdio.h>
#include <time.h>

int main(void)
{
    struct timespec millisecond = {.tv_nsec = 1000000};
    if (nanosleep(&millisecond, NULL) != 0)
        return 1;
    puts("slept");
    return 0;
}
