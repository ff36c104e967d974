// A Verilated unit behind one interface, whatever its ports are.
#pragma once

#include "rust/cxx.h"

#include <cstdint>
#include <memory>

class Unit {
public:
    virtual ~Unit() = default;
    virtual size_t ports() const = 0;
    virtual rust::String port_name(size_t port) const = 0;
    virtual size_t port_bits(size_t port) const = 0;
    virtual size_t port_elements(size_t port) const = 0;
    // Values are little-endian 32-bit words; `words` holds all bits of one element.
    virtual void write(size_t port, size_t element, rust::Slice<const uint32_t> words) = 0;
    virtual void read(size_t port, size_t element, rust::Slice<uint32_t> words) const = 0;
    virtual void eval() = 0;
    // Hash of all registers, memories and wires, inputs included.
    virtual uint64_t state() const = 0;
};

// A unit whose registers and memories without reset hold noise of `seed`.
std::unique_ptr<Unit> new_unit(rust::Str unit, int32_t seed);
