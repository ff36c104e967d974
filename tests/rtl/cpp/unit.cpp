// SPDX-License-Identifier: MIT OR Apache-2.0
// Any Verilated unit behind one interface, whatever its ports are; src/unit.rs has the other side.
#include "Vunit.h"
#include "Vunit___024root.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <type_traits>
#include <vector>

namespace {

// A port: the elements of an unpacked array lie one behind the other, `stride` bytes each.
struct Port {
    const char* name;
    size_t bits;
    size_t elements;
    void* data;
    size_t stride;
};

struct Unit {
    // Registers and memories without reset hold noise of `seed`.
    explicit Unit(int32_t seed)
        : model(noisy(context, seed), "dut"),
          ports{
#define GYRE_PORT(name, bits, elements) {#name, bits, elements, &model.name, sizeof(model.name) / (elements)},
#include "gyre_ports.inc"
          } {
    }

    static VerilatedContext* noisy(VerilatedContext& context, int32_t seed) {
        context.randReset(2);
        context.randSeed(seed);
        return &context;
    }

    VerilatedContext context;
    Vunit model;
    std::vector<Port> ports;
    std::string failure;
};

void* make(int32_t seed) { return new Unit(seed); }

void drop(void* unit) { delete static_cast<Unit*>(unit); }

const Port* ports(void* unit, size_t* count) {
    const auto& ports = static_cast<Unit*>(unit)->ports;
    *count = ports.size();
    return ports.data();
}

// Null, or the text of a failed assertion, which stays until the next call.
const char* eval(void* pointer) {
    auto& unit = *static_cast<Unit*>(pointer);
    try {
        unit.context.timeInc(1);
        unit.model.eval();
        return nullptr;
    } catch (const std::exception& error) {
        unit.failure = error.what();
        return unit.failure.c_str();
    }
}

// Hash of all registers, memories and wires, inputs included.
uint64_t state(void* unit) {
    auto* const rootp = static_cast<Unit*>(unit)->model.rootp;
    const auto* const root = reinterpret_cast<const char*>(rootp);
    uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a over 8 bytes at a time
    for (size_t at = 0; at + sizeof(uint64_t) <= sizeof(*rootp); at += sizeof(uint64_t)) {
        uint64_t word;
        std::memcpy(&word, root + at, sizeof(word));
        hash = (hash ^ word) * 0x100000001b3u;
    }
    return hash;
}

struct Entry {
    void* (*make)(int32_t seed);
    void (*drop)(void* unit);
    const Port* (*ports)(void* unit, size_t* count);
    const char* (*eval)(void* unit);
    uint64_t (*state)(void* unit);
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const Entry* gyre_unit() {
    static const Entry entry{make, drop, ports, eval, state};
    return &entry;
}
