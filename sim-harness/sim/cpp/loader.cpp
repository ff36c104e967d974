// SPDX-License-Identifier: MIT OR Apache-2.0
#include "gyre-sim/cpp/loader.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace gyre {

namespace {

// Result of the library's function `symbol`.
template <class Entry>
std::unique_ptr<Entry> load(rust::Str library, const char* symbol) {
    const std::string path(library);
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) throw std::runtime_error(dlerror());
    auto* entry = reinterpret_cast<const Entry* (*)()>(dlsym(handle, symbol));
    if (!entry) throw std::runtime_error(dlerror());
    return std::make_unique<Entry>(*entry());
}

}  // namespace

std::unique_ptr<SimModel> load_model(rust::Str library) { return load<SimModel>(library, "gyre_model"); }

std::unique_ptr<Routing> load_routing(rust::Str library) { return load<Routing>(library, "gyre_routing"); }

std::shared_ptr<SimContext> new_context(const SimModel& model, bool noise, uint32_t seed) {
    return model.new_context(noise, seed);
}

void open_trace(const std::shared_ptr<SimContext>& context, rust::Str file, rust::Slice<const rust::String> scopes) {
    std::vector<std::string> names;
    for (const rust::String& scope : scopes) names.emplace_back(scope);
    std::vector<const char*> texts;
    for (const std::string& name : names) texts.push_back(name.c_str());
    context->open_trace(std::string(file).c_str(), texts.data(), texts.size());
}

void dump_trace(const std::shared_ptr<SimContext>& context, uint64_t cycle, uint64_t ps) { context->dump_trace(cycle, ps); }

void close_trace(const std::shared_ptr<SimContext>& context) { context->close_trace(); }

std::unique_ptr<SimNode> new_node(const SimModel& model, const std::shared_ptr<SimContext>& context, rust::Str name,
                                  uint64_t stall_seed, uint32_t stall_percent) {
    const std::string text(name);
    return model.new_node(context, {text.c_str(), stall_seed, stall_percent, nullptr});
}

std::unique_ptr<SimNode> new_router(const SimModel& model, const std::shared_ptr<SimContext>& context, rust::Str name,
                                    rust::Slice<const uint64_t> cfg) {
    const std::string text(name);
    return model.new_node(context, {text.c_str(), 0, 0, cfg.data()});
}

rust::Slice<const uint64_t> run_node(SimNode& node, uint64_t start, uint32_t cycles, bool skip,
                                     rust::Slice<const uint64_t> input) {
    const Words words = node.run(start, cycles, skip, {input.data(), input.size()});
    return {words.data, words.size};
}

rust::Slice<const uint32_t> node_coverage(const SimNode& node) {
    const Counts counts = node.coverage();
    return {counts.data, counts.size};
}

rust::Vec<uint32_t> decide(const Routing& routing, rust::Slice<const uint64_t> cfg, uint64_t head, uint32_t in_port,
                           uint32_t in_vc) {
    RoutingDecision decision;
    routing.decide({cfg[0], cfg[1], cfg[2], cfg[3], head, in_port, in_vc}, decision);
    return {decision.port, decision.dateline, decision.minimal};
}

}  // namespace gyre
