/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Copies between Verilator's port types and 64-bit words, low word first.
#pragma once

#include "verilated.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace gyre {

template <class T>
void put(T& port, const uint64_t* words) {
    if constexpr (std::is_integral_v<T>) {
        port = static_cast<T>(words[0]);
    } else {
        std::memcpy(&port, words, sizeof(T));
    }
}

template <class T>
void get(const T& port, uint64_t* words) {
    if constexpr (std::is_integral_v<T>) {
        words[0] = port;
    } else {
        std::memcpy(words, &port, sizeof(T));
    }
}

}  // namespace gyre
