/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Included ahead of every Verilator source: sends the model's messages to gyre_rtl.cpp
// instead of standard output, which carries results.
#pragma once

int gyre_rtl_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));

// From `gyre_rtl_hold` on, on this thread, what fails lets the evaluation go on to its end, so that the model is whole
// afterwards; `gyre_rtl_release` throws it.
void gyre_rtl_hold();
void gyre_rtl_release();

#define VL_PRINTF gyre_rtl_printf
#define VL_USER_STOP
#define VL_USER_FATAL
