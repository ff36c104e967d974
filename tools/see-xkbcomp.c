/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Loaded into an X server that is not installed: what it runs by the shell out of /usr/bin, it runs out of XKB_BIN.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int execl(const char *path, const char *first, ...) {
    static const char installed[] = "\"/usr/bin/";
    static char command[8192];
    const char *arguments[16] = {first};
    int count = 0;
    va_list rest;
    va_start(rest, first);
    while (arguments[count] && count < 14) arguments[++count] = va_arg(rest, const char *);
    va_end(rest);
    const char *folder = getenv("XKB_BIN");
    const char *last = count > 0 ? arguments[count - 1] : "";
    if (folder && strncmp(last, installed, sizeof installed - 1) == 0) {
        int length = snprintf(command, sizeof command, "\"%s/%s", folder, last + sizeof installed - 1);
        if (length > 0 && (size_t)length < sizeof command) arguments[count - 1] = command;
    }
    return execv(path, (char *const *)arguments);
}
