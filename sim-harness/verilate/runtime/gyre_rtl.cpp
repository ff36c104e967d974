// SPDX-License-Identifier: MIT OR Apache-2.0
// What the models do when the RTL speaks or fails. A failed assertion, $fatal or $stop becomes a
// C++ exception out of eval(), which a cxx bridge function returning Result turns into an Err;
// the text of other messages goes to standard error. A model out of whose eval() was thrown must not be used again.

#include "verilated.h"

#include <cstdarg>
#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>

namespace {

// Text of $error and $fatal since the last stop, held back to become the exception's message.
thread_local std::string pending_error;

thread_local bool holding = false;

// What failed while it was held back. In order of the texts: that in which a model looks depends on how it was compiled.
thread_local std::set<std::string> held;

std::string failure(const char* file, int line, const char* hier, const char* what) {
    std::string text;
    text.swap(pending_error);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.empty()) {
        text = std::string(what) + " at " + file + ":" + std::to_string(line);
        if (hier && *hier) text += std::string(" in ") + hier;
    }
    return text;
}

}  // namespace

void gyre_rtl_hold() { holding = true; }

void gyre_rtl_release() {
    holding = false;
    if (held.empty()) return;
    std::string all;
    for (const std::string& text : held) all += (all.empty() ? "" : "\n") + text;
    held.clear();
    throw std::runtime_error(all);
}

int gyre_rtl_printf(const char* format, ...) {
    std::va_list args;
    va_start(args, format);
    std::va_list measure;
    va_copy(measure, args);
    const int length = std::vsnprintf(nullptr, 0, format, measure);
    va_end(measure);
    if (length > 0) {
        std::string text(static_cast<size_t>(length) + 1, '\0');
        std::vsnprintf(text.data(), text.size(), format, args);
        text.pop_back();
        if (text.find("%Error") != std::string::npos || text.find("%Fatal") != std::string::npos) {
            pending_error += text;
        } else {
            std::fputs(text.c_str(), stderr);
        }
    }
    va_end(args);
    return length;
}

void vl_stop(const char* filename, int linenum, const char* hier) {
    const std::string text = failure(filename, linenum, hier, "$stop");
    if (!holding) throw std::runtime_error(text);
    held.insert(text);
}

void vl_fatal(const char* filename, int linenum, const char* hier, const char* msg) {
    // Verilator itself calls this too, where it cannot go on.
    holding = false;
    held.clear();
    throw std::runtime_error(failure(filename, linenum, hier, msg));
}
