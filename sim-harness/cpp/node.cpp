#include "gyre-sim/cpp/node.h"

#include "model_runner.h"
#include "node_wires.h"
#include "router_wires.h"

#include "Vnode3.h"
#include "Vnode3___024root.h"
#include "Vnode3Traced.h"
#include "Vnode3Traced___024root.h"
#include "Vnode5.h"
#include "Vnode5___024root.h"
#include "Vnode5Traced.h"
#include "Vnode5Traced___024root.h"
#include "Vnetwork3.h"
#include "Vnetwork3___024root.h"
#include "Vnetwork5.h"
#include "Vnetwork5___024root.h"

#include <stdexcept>

// Functions of the models that are not in their headers.
#define GYRE_PARTS(model, reset_value) \
    bool model##___024root___eval_phase__ico(model##___024root*); \
    void model##___024root___eval_triggers_vec__act(model##___024root*); \
    bool model##___024root___eval_phase__act(model##___024root*); \
    bool model##___024root___eval_phase__nba(model##___024root*); \
    template <> \
    struct gyre::Parts<model> { \
        static void inputs(model##___024root* root) { \
            root->__VicoFirstIteration = 1; \
            model##___024root___eval_phase__ico(root); \
            root->__VicoFirstIteration = 0; \
        } \
        static void look(model##___024root* root) { model##___024root___eval_phase__act(root); } \
        static void edges(model##___024root* root) { model##___024root___eval_phase__nba(root); } \
        static uint64_t& triggered(model##___024root* root) { \
            static_assert(sizeof root->__VnbaTriggered == sizeof(uint64_t)); \
            return root->__VnbaTriggered[0]; \
        } \
        static bool reset([[maybe_unused]] const model##___024root* root) { return reset_value; } \
    };
#define GYRE_NODE(model) GYRE_PARTS(model, root->gyre_node__DOT__u_soft_reset__DOT__core_rst_nq)
GYRE_NODE(Vnode3)
GYRE_NODE(Vnode3Traced)
GYRE_NODE(Vnode5)
GYRE_NODE(Vnode5Traced)
GYRE_PARTS(Vnetwork3, false)
GYRE_PARTS(Vnetwork5, false)
#undef GYRE_NODE
#undef GYRE_PARTS

namespace gyre {

namespace {

constexpr int kFlitWords = 2;  // 16 B flits

template <class Model, int Dims>
std::unique_ptr<SimNode> make_node(const std::shared_ptr<SimContext>& context,
                                   const std::string& name, Stalls stalls) {
    using Wires = NodeWires<Model, 2 * Dims, Dims <= 1 ? 1 : Dims <= 3 ? 2 : 4, kFlitWords>;
    return std::make_unique<ModelRunner<Model, Wires>>(context, name, stalls);
}

template <class Model, int Dims>
std::unique_ptr<SimNode> make_router(const std::shared_ptr<SimContext>& context,
                                     const std::string& name, const uint64_t* cfg) {
    using Wires = RouterWires<Model, 2 * Dims, kFlitWords>;
    return std::make_unique<ModelRunner<Model, Wires>>(context, name, cfg);
}

}  // namespace

std::shared_ptr<SimContext> new_context(bool traced, bool noise, uint32_t seed) {
    return std::make_shared<SimContext>(traced, noise, seed);
}

void open_trace(const SimContext& context, rust::Str file,
                rust::Slice<const rust::String> scopes) {
    context.trace = std::make_unique<VerilatedVcdC>();
    context.verilated.trace(context.trace.get(), 99);
    context.cycle.add_to(*context.trace->spTrace());
    for (const rust::String& scope : scopes) context.trace->dumpvars(99, std::string(scope));
    if (!scopes.empty()) context.trace->dumpvars(99, CycleSignal::kScope);
    context.trace->open(std::string(file).c_str());
    if (!context.trace->isOpen()) {
        context.trace.reset();
        throw std::runtime_error("cannot be written");
    }
}

void dump_trace(const SimContext& context, uint64_t cycle, uint64_t ps) {
    context.cycle.cycle = cycle;
    if (context.trace) context.trace->dump(ps);
}

void close_trace(const SimContext& context) {
    if (context.trace) context.trace->close();
    context.trace.reset();
}

std::unique_ptr<SimNode> new_node(const std::shared_ptr<SimContext>& context, uint32_t dims,
                                  bool traced, rust::Str name, uint64_t stall_seed,
                                  uint32_t stall_percent) {
    const std::string text(name);
    const Stalls stalls{stall_seed, stall_percent};
    switch (dims) {
        case 3:
            return traced ? make_node<Vnode3Traced, 3>(context, text, stalls)
                          : make_node<Vnode3, 3>(context, text, stalls);
        case 5:
            return traced ? make_node<Vnode5Traced, 5>(context, text, stalls)
                          : make_node<Vnode5, 5>(context, text, stalls);
        default:
            throw std::invalid_argument("no node model of this many dimensions");
    }
}

std::unique_ptr<SimNode> new_router(const std::shared_ptr<SimContext>& context, uint32_t dims,
                                    rust::Str name, rust::Slice<const uint64_t> cfg) {
    const std::string text(name);
    switch (dims) {
        case 3:
            return make_router<Vnetwork3, 3>(context, text, cfg.data());
        case 5:
            return make_router<Vnetwork5, 5>(context, text, cfg.data());
        default:
            throw std::invalid_argument("no network model of this many dimensions");
    }
}

}  // namespace gyre
