// Counters on one clock, in one Verilator context.
#pragma once

#include "rust/cxx.h"

#include <cstdint>
#include <memory>

class Bench {
public:
    virtual ~Bench() = default;
    virtual void open_trace(rust::Str file) = 0;
    virtual void close_trace() = 0;
    virtual void cycle(uint32_t enabled) = 0;
    virtual uint64_t count(size_t index) const = 0;
    virtual uint64_t noise(size_t index) const = 0;
};

std::unique_ptr<Bench> new_bench(rust::Slice<const rust::String> names, bool traced,
                                 bool randomize, int32_t seed);
