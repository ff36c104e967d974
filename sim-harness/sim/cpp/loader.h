/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Loads models from shared libraries; the simulator's side of model.h.
#pragma once

#include "gyre-sim/cpp/model.h"

#include "rust/cxx.h"

namespace gyre {

// A loaded library; it stays loaded as long as the process lives.
using SimModel = ModelEntry;
using Routing = RoutingEntry;

// The library at an absolute path. Its symbols are its own.
std::unique_ptr<SimModel> load_model(rust::Str library);
std::unique_ptr<Routing> load_routing(rust::Str library);

std::shared_ptr<SimContext> new_context(const SimModel& model, bool noise, uint32_t seed);
void open_trace(const std::shared_ptr<SimContext>& context, rust::Str file, rust::Slice<const rust::String> scopes);
void dump_trace(const std::shared_ptr<SimContext>& context, uint64_t cycle, uint64_t ps);
void close_trace(const std::shared_ptr<SimContext>& context);

// A node, reset. Stalls are those of the memory channels.
std::unique_ptr<SimNode> new_node(const SimModel& model, const std::shared_ptr<SimContext>& context, rust::Str name,
                                  uint64_t stall_seed, uint32_t stall_percent);
// A router with its links, reset; `cfg` is node_cfg_t, low word first.
std::unique_ptr<SimNode> new_router(const SimModel& model, const std::shared_ptr<SimContext>& context, rust::Str name,
                                    rust::Slice<const uint64_t> cfg);

rust::Slice<const uint64_t> run_node(SimNode& node, uint64_t start, uint32_t cycles, bool skip,
                                     rust::Slice<const uint64_t> input);

// See SimNode::coverage.
rust::Slice<const uint32_t> node_coverage(const SimNode& node);

// The decision of the packet's router, as {port, dateline, minimal ports}; see route_probe.
rust::Vec<uint32_t> decide(const Routing& routing, rust::Slice<const uint64_t> cfg, uint64_t head, uint32_t in_port,
                           uint32_t in_vc);

}  // namespace gyre
