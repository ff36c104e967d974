// A Verilated node or router with its wire-side environment, run some cycles at a time.
#pragma once

#include "rust/cxx.h"

#include <cstdint>
#include <memory>

namespace gyre {

class SimContext;

class SimNode {
public:
    virtual ~SimNode() = default;
    // Runs `cycles` cycles from `start` with the records in `input`; see records.h. With `skip`, cycles
    // in which nothing can change are not evaluated. Without, the clock is left high; a waveform lets it `fall`.
    virtual rust::Slice<const uint64_t> run(uint64_t start, uint32_t cycles, bool skip,
                                            rust::Slice<const uint64_t> input)
        = 0;
    virtual void fall() = 0;
    // Resets the node: it is held in reset for some cycles from `cycle` on, and all that was under way
    // at its memory and register ports is dropped.
    virtual void reset(uint64_t cycle) = 0;
    // Cycle under way when `run` threw.
    virtual uint64_t cycle() const = 0;
    virtual uint32_t ports() const = 0;  // those with a link
    virtual uint32_t masters() const = 0;
};

// What the models of a machine share: initial values, and the waveform of all of them.
std::shared_ptr<SimContext> new_context(bool traced, bool noise, uint32_t seed);
void open_trace(const SimContext& context, rust::Str file, rust::Slice<const rust::String> scopes);
void dump_trace(const SimContext& context, uint64_t cycle, uint64_t ps);
void close_trace(const SimContext& context);

// A node of 3 or 5 dimensions, reset. Stalls are those of the memory channels.
std::unique_ptr<SimNode> new_node(const std::shared_ptr<SimContext>& context, uint32_t dims,
                                  bool traced, rust::Str name, uint64_t stall_seed,
                                  uint32_t stall_percent);

// A router with its links, reset; `cfg` is node_cfg_t, low word first.
std::unique_ptr<SimNode> new_router(const std::shared_ptr<SimContext>& context, uint32_t dims,
                                    rust::Str name, rust::Slice<const uint64_t> cfg);

}  // namespace gyre
