// SPDX-License-Identifier: MIT OR Apache-2.0
// The entry of a library with a node or a router. How it is made stands in made_of.h, which models.rs writes.
#include "huge_pages.h"
#include "made_of.h"
#include "model_parts.h"
#include "model_runner.h"
#include "node_wires.h"
#include "router_wires.h"

namespace gyre {

namespace {

constexpr int kFlitWords = 2;  // 16 B flits
constexpr int kTorusPorts = 2 * GYRE_DIMS;

#if GYRE_ROUTER
using Wires = RouterWires<Vmodel, kTorusPorts, kFlitWords, GYRE_INJECT_FLITS>;
auto surroundings(const NodeOptions& options) { return options.cfg; }
#else
using Wires = NodeWires<Vmodel, kTorusPorts, GYRE_MASTERS, kFlitWords>;
auto surroundings(const NodeOptions& options) { return Stalls{options.stall_seed, options.stall_percent}; }
#endif

HugePages& huge_pages() {
    // Never destroyed: models may live as long as the process.
    static HugePages& pages = *new HugePages;
    return pages;
}

std::shared_ptr<SimContext> new_context(bool noise, uint32_t seed) {
    return std::make_shared<ModelContext>(GYRE_TRACED, noise, seed);
}

std::unique_ptr<SimNode> new_node(const std::shared_ptr<SimContext>& context, const NodeOptions& options) {
    auto own = std::static_pointer_cast<ModelContext>(context);
    return std::make_unique<ModelRunner<Vmodel, Wires>>(std::move(own), options.name, surroundings(options));
}

}  // namespace

}  // namespace gyre

// Verilator's classes alone are aligned to more than the system's allocator does by itself; this library takes memory for
// no others of that kind.
void* operator new(std::size_t size, std::align_val_t align) { return gyre::huge_pages().take(size, std::size_t(align)); }
void operator delete(void* memory, std::align_val_t) noexcept { if (memory) gyre::huge_pages().give(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { if (memory) gyre::huge_pages().give(memory); }

extern "C" __attribute__((visibility("default"))) const gyre::ModelEntry* gyre_model() {
    static const gyre::ModelEntry entry{gyre::new_context, gyre::new_node};
    return &entry;
}
