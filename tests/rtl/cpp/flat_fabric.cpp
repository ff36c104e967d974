// SPDX-License-Identifier: MIT OR Apache-2.0
// A Verilated fabric of nodes with the memory and register side of each, as records.h of gyre-sim describes it;
// src/flat_fabric.rs has the other side.

#include "Vfabric.h"
#include "node_wires.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Ports of gyre_fabric that are those of gyre_node, one of each a node.
#define GYRE_NODE_PORTS(PORT) \
    PORT(link_ctl_o) PORT(link_data_o) PORT(link_dbg_o) \
    PORT(tree_ctl_o) PORT(tree_data_o) PORT(tree_dbg_o) PORT(bar_o) \
    PORT(m_ar_valid_o) PORT(m_ar_ready_i) PORT(m_ar_addr_o) PORT(m_ar_len_o) PORT(m_ar_size_o) \
    PORT(m_ar_burst_o) PORT(m_ar_id_o) PORT(m_r_valid_i) PORT(m_r_ready_o) PORT(m_r_data_i) \
    PORT(m_r_id_i) PORT(m_r_resp_i) PORT(m_r_last_i) PORT(m_aw_valid_o) PORT(m_aw_ready_i) \
    PORT(m_aw_addr_o) PORT(m_aw_len_o) PORT(m_aw_size_o) PORT(m_aw_burst_o) PORT(m_aw_id_o) \
    PORT(m_w_valid_o) PORT(m_w_ready_i) PORT(m_w_data_o) PORT(m_w_strb_o) PORT(m_w_last_o) PORT(m_w_dbg_o) \
    PORT(m_b_valid_i) PORT(m_b_ready_o) PORT(m_b_id_i) PORT(m_b_resp_i) \
    PORT(s_aw_valid_i) PORT(s_aw_ready_o) PORT(s_aw_addr_i) PORT(s_w_valid_i) PORT(s_w_ready_o) \
    PORT(s_w_data_i) PORT(s_w_strb_i) PORT(s_b_valid_o) PORT(s_b_ready_i) PORT(s_b_resp_o) \
    PORT(s_ar_valid_i) PORT(s_ar_ready_o) PORT(s_ar_addr_i) PORT(s_r_valid_o) PORT(s_r_ready_i) \
    PORT(s_r_data_o) PORT(s_r_resp_o) \
    PORT(irq_o) PORT(wake_o)

namespace gyre {

namespace {

constexpr int kNodes = 4;
constexpr int kTorusPorts = 6;
constexpr int kTreePorts = 3;
constexpr int kMasters = 2;
constexpr int kFlitWords = 2;

// The ports of one node of the fabric under the names that they have at a single node.
struct NodeView {
    NodeView(Vfabric& fabric, int node)
        : time_i(fabric.time_i)
#define GYRE_BIND(name) , name(fabric.name[node])
              GYRE_NODE_PORTS(GYRE_BIND) {
    }

    decltype((std::declval<Vfabric&>().time_i)) time_i;
#define GYRE_DECLARE(name) decltype(std::declval<Vfabric&>().name[0]) name;
    GYRE_NODE_PORTS(GYRE_DECLARE)
    // Link and barrier inputs are wired inside the fabric; these lead nowhere.
    uint32_t link_ctl_i[kTorusPorts];
    uint32_t link_dbg_i[kTorusPorts];
    VlWide<2 * kFlitWords> link_data_i[kTorusPorts];
    uint32_t tree_ctl_i[kTreePorts];
    uint32_t tree_dbg_i[kTreePorts];
    VlWide<2 * kFlitWords> tree_data_i[kTreePorts];
    uint16_t bar_i[kTreePorts];
};

using Wires = NodeWires<NodeView, kTorusPorts, kMasters, kFlitWords>;

struct Node {
    Node(Vfabric& fabric, int number, Stalls stalls) : view(fabric, number), wires(view, stalls) {}

    NodeView view;
    Wires wires;
    OutBuffer out;
    std::vector<uint64_t> input;  // stays while the wires look at it
};

class FlatFabric {
public:
    FlatFabric(uint64_t stall_seed, uint32_t stall_percent) : model_(zeroed(context_)) {
        for (int n = 0; n < kNodes; n++) {
            const Stalls stalls{stall_seed + n, stall_percent};
            nodes_.push_back(std::make_unique<Node>(model_, n, stalls));
        }
        // As ModelRunner of gyre-sim resets a single node.
        model_.clk_i = 0;
        model_.rst_ni = 1;
        model_.eval();
        model_.rst_ni = 0;
        model_.eval();
        for (auto& node : nodes_) node->wires.drive(node->view, 0, node->out);
        for (int i = 0; i < 4; i++) {
            model_.clk_i = 1;
            model_.eval();
            model_.clk_i = 0;
            model_.eval();
        }
        model_.rst_ni = 1;
        model_.eval();
        for (auto& node : nodes_) node->out.clear(0);
    }

    ~FlatFabric() { model_.final(); }

    // What a node's memory and register ports take from the present cycle on: input records without links.
    void load(uint32_t node, const uint64_t* words, size_t count) {
        Node& to = *nodes_.at(node);
        to.input.assign(1, 0);  // no link records
        to.input.insert(to.input.end(), words, words + count);
        to.wires.load(cycle_, to.input.data(), to.input.data() + to.input.size());
    }

    // Runs every cycle before `end`.
    void run(uint64_t end) {
        for (; cycle_ < end; cycle_++) {
            for (auto& node : nodes_) node->wires.drive(node->view, cycle_, node->out);
            model_.clk_i = 0;
            model_.eval();
            model_.clk_i = 1;
            model_.eval();
            for (auto& node : nodes_) node->wires.record(node->view, cycle_, node->out);
        }
    }

    // Output records of a node since reset; their cycles count from 0.
    const OutBuffer& outputs(uint32_t node) const { return nodes_.at(node)->out; }

    // Null, or the text of what `action` throws, which stays until the next call.
    template <class Action>
    const char* guard(Action action) {
        try {
            action();
            return nullptr;
        } catch (const std::exception& error) {
            failure_ = error.what();
            return failure_.c_str();
        }
    }

private:
    // Registers and memories without a reset start as zeros, as in a machine without noise.
    static VerilatedContext* zeroed(VerilatedContext& context) {
        context.randReset(0);
        return &context;
    }

    VerilatedContext context_;
    Vfabric model_;
    std::vector<std::unique_ptr<Node>> nodes_;
    uint64_t cycle_ = 0;
    std::string failure_;
};

void* make(uint64_t stall_seed, uint32_t stall_percent) { return new FlatFabric(stall_seed, stall_percent); }

void drop(void* fabric) { delete static_cast<FlatFabric*>(fabric); }

const char* load(void* pointer, uint32_t node, const uint64_t* words, size_t count) {
    auto& fabric = *static_cast<FlatFabric*>(pointer);
    return fabric.guard([&] { fabric.load(node, words, count); });
}

const char* run(void* pointer, uint64_t end) {
    auto& fabric = *static_cast<FlatFabric*>(pointer);
    return fabric.guard([&] { fabric.run(end); });
}

const uint64_t* outputs(void* fabric, uint32_t node, size_t* count) {
    const OutBuffer& out = static_cast<FlatFabric*>(fabric)->outputs(node);
    *count = out.size();
    return out.data();
}

struct Entry {
    void* (*make)(uint64_t stall_seed, uint32_t stall_percent);
    void (*drop)(void* fabric);
    const char* (*load)(void* fabric, uint32_t node, const uint64_t* words, size_t count);
    const char* (*run)(void* fabric, uint64_t end);
    const uint64_t* (*outputs)(void* fabric, uint32_t node, size_t* count);
};

}  // namespace

}  // namespace gyre

extern "C" __attribute__((visibility("default"))) const gyre::Entry* gyre_fabric() {
    static const gyre::Entry entry{gyre::make, gyre::drop, gyre::load, gyre::run, gyre::outputs};
    return &entry;
}
