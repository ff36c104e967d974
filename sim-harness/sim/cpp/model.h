/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// The boundary between the simulator and a shared library with a model: what the library's entry gives. Plain C++, since
// what cxx generates is the simulator's alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace gyre {

// Words that stay where they are until the next call.
struct Words {
    const uint64_t* data;
    size_t size;
};

// Counters that stay where they are until the next call.
struct Counts {
    const uint32_t* data;
    size_t size;
};

// State shared by a machine's models: initial values, and the common waveform.
class SimContext {
public:
    virtual ~SimContext() = default;
    // Begins the waveform of the models that there are, of `scopes` alone unless there are none.
    virtual void open_trace(const char* file, const char* const* scopes, size_t count) = 0;
    virtual void dump_trace(uint64_t cycle, uint64_t ps) = 0;
    virtual void close_trace() = 0;
};

class SimNode {
public:
    virtual ~SimNode() = default;
    // Runs `cycles` cycles from `start` with the records in `input`; see records.h. With `skip`, cycles
    // in which nothing can change are not evaluated. Without, the clock is left high; a waveform lets it `fall`.
    virtual Words run(uint64_t start, uint32_t cycles, bool skip, Words input) = 0;
    virtual void fall() = 0;
    // Resets the node: it is held in reset for some cycles from `cycle` on, and all that was under way
    // at its memory and register ports is dropped.
    virtual void reset(uint64_t cycle) = 0;
    // Cycle under way when `run` threw.
    virtual uint64_t cycle() const = 0;
    virtual uint32_t ports() const = 0;  // those with a link
    virtual uint32_t masters() const = 0;
    // How often each line and branch of the RTL was run, in the order of the model; nothing unless it counts that.
    virtual Counts coverage() const = 0;
};

// Options of a node or router.
struct NodeOptions {
    const char* name;        // its scope in waveforms
    uint64_t stall_seed;     // of a node: stalls of its memory channels
    uint32_t stall_percent;
    const uint64_t* cfg;     // of a router: node_cfg_t, low word first
};

// The entry `gyre_model` of a library with a node or a router.
struct ModelEntry {
    std::shared_ptr<SimContext> (*new_context)(bool noise, uint32_t seed);
    // Just out of reset.
    std::unique_ptr<SimNode> (*new_node)(const std::shared_ptr<SimContext>& context, const NodeOptions& options);
};

// A router's decision about a packet: inputs and outputs of route_probe.
struct RoutingQuery {
    uint64_t coord, size, ring, dim_order;  // of node_cfg_t
    uint64_t head;                          // first words of header_t
    uint32_t in_port, in_vc;
};
struct RoutingDecision {
    uint32_t port, dateline, minimal;
};

// The entry `gyre_routing` of a library with the routing functions.
struct RoutingEntry {
    void (*decide)(const RoutingQuery& query, RoutingDecision& decision);
};

}  // namespace gyre
