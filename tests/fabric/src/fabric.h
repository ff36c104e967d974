// A Verilated fabric of nodes with the memory and register side of each, as cpp/records.h of gyre-sim
// describes it.
#pragma once

#include "rust/cxx.h"

#include <cstdint>
#include <memory>

namespace gyre {

class Fabric {
public:
    virtual ~Fabric() = default;
    // What a node's memory and register ports take from the present cycle on: input records without links.
    virtual void load(uint32_t node, rust::Slice<const uint64_t> words) = 0;
    // Runs every cycle before `end`.
    virtual void run(uint64_t end) = 0;
    // Output records of a node since reset; their cycles count from 0.
    virtual rust::Slice<const uint64_t> outputs(uint32_t node) const = 0;
};

// A fabric, reset. Stalls are those of the memory channels: node n uses seed + n.
std::unique_ptr<Fabric> new_fabric(uint64_t stall_seed, uint32_t stall_percent);

}  // namespace gyre
