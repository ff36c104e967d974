// The entry of a library with a node or a router. How it is made stands in made_of.h, which models.rs writes.
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
using Wires = RouterWires<Vmodel, kTorusPorts, kFlitWords>;
auto surroundings(const NodeOptions& options) { return options.cfg; }
#else
using Wires = NodeWires<Vmodel, kTorusPorts, GYRE_DIMS <= 1 ? 1 : GYRE_DIMS <= 3 ? 2 : 4, kFlitWords>;
auto surroundings(const NodeOptions& options) { return Stalls{options.stall_seed, options.stall_percent}; }
#endif

std::shared_ptr<SimContext> new_context(bool noise, uint32_t seed) {
    return std::make_shared<ModelContext>(GYRE_TRACED, noise, seed);
}

std::unique_ptr<SimNode> new_node(const std::shared_ptr<SimContext>& context, const NodeOptions& options) {
    auto own = std::static_pointer_cast<ModelContext>(context);
    return std::make_unique<ModelRunner<Vmodel, Wires>>(std::move(own), options.name, surroundings(options));
}

}  // namespace

}  // namespace gyre

extern "C" __attribute__((visibility("default"))) const gyre::ModelEntry* gyre_model() {
    static const gyre::ModelEntry entry{gyre::new_context, gyre::new_node};
    return &entry;
}
