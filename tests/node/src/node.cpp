#include "gyre-node-tests/src/node.h"

#include "Vnode1.h"
#include "gyre-node-tests/src/lib.rs.h"

namespace {
// Clocks of all units of a node of one dimension: none is gated.
constexpr unsigned kUnits = (1u << (10 * 1 + 10)) - 1;
}  // namespace

Node::Node(bool randomize, int32_t seed)
    : context_{std::make_unique<VerilatedContext>()} {
    context_->randReset(randomize ? 2 : 0);
    context_->randSeed(seed);
    model_ = std::make_unique<Vnode1>(context_.get());
    model_->unit_clk_i = 0;
    model_->rst_ni = 1;
    model_->eval();
    model_->rst_ni = 0;
    Inputs quiet{};
    for (int i = 0; i < 4; i++) cycle(quiet);
    model_->rst_ni = 1;
    time_ = 0;
}

Node::~Node() = default;

Outputs Node::cycle(const Inputs& in) {
    Vnode1& m = *model_;
    m.time_i = time_++;
    m.s_aw_valid_i = m.s_w_valid_i = m.s_b_ready_i = m.s_ar_valid_i = m.s_r_ready_i = 0;
    for (int slave = 0; slave < 2; slave++) {
        const auto& lite = in.lite[slave];
        m.s_aw_valid_i |= lite.aw_valid << slave;
        m.s_aw_addr_i[slave] = lite.aw_addr;
        m.s_w_valid_i |= lite.w_valid << slave;
        m.s_w_data_i[slave] = lite.w_data;
        m.s_w_strb_i[slave] = lite.w_strb;
        m.s_b_ready_i |= lite.b_ready << slave;
        m.s_ar_valid_i |= lite.ar_valid << slave;
        m.s_ar_addr_i[slave] = lite.ar_addr;
        m.s_r_ready_i |= lite.r_ready << slave;
    }
    m.m_ar_ready_i = in.memory.ar_ready;
    m.m_r_valid_i = in.memory.r_valid;
    for (size_t word = 0; word < 16; word++) m.m_r_data_i[0][word] = in.memory.r_data[word];
    m.m_r_id_i[0] = in.memory.r_id;
    m.m_r_resp_i[0] = in.memory.r_resp;
    m.m_r_last_i = in.memory.r_last;
    m.m_aw_ready_i = in.memory.aw_ready;
    m.m_w_ready_i = in.memory.w_ready;
    m.m_b_valid_i = in.memory.b_valid;
    m.m_b_id_i[0] = in.memory.b_id;
    m.m_b_resp_i[0] = in.memory.b_resp;
    // The ends of the torus link, parent and child 0 of the tree; child 1 leads nowhere.
    for (size_t port = 0; port < 2; port++) {
        m.link_ctl_i[port] = m.link_ctl_o[1 - port];
        m.link_data_i[port] = m.link_data_o[1 - port];
        m.link_dbg_i[port] = m.link_dbg_o[1 - port];
        m.tree_ctl_i[port] = m.tree_ctl_o[1 - port];
        m.tree_data_i[port] = m.tree_data_o[1 - port];
        m.tree_dbg_i[port] = m.tree_dbg_o[1 - port];
    }
    m.tree_ctl_i[2] = 0;
    m.bar_i[0] = m.bar_o[1];
    m.bar_i[1] = m.bar_o[0];
    m.bar_i[2] = 0;
    // Inputs settle while the clock is low: assertions sample what the last evaluation left.
    for (int clk = 0; clk <= 1; clk++) {
        context_->timeInc(1);
        m.unit_clk_i = clk ? kUnits : 0;
        m.eval();
    }
    Outputs out{};
    sample(out);
    return out;
}

void Node::sample(Outputs& out) const {
    const Vnode1& m = *model_;
    for (int slave = 0; slave < 2; slave++) {
        auto& lite = out.lite[slave];
        lite.aw_ready = m.s_aw_ready_o >> slave & 1;
        lite.w_ready = m.s_w_ready_o >> slave & 1;
        lite.b_valid = m.s_b_valid_o >> slave & 1;
        lite.b_resp = m.s_b_resp_o[slave];
        lite.ar_ready = m.s_ar_ready_o >> slave & 1;
        lite.r_valid = m.s_r_valid_o >> slave & 1;
        lite.r_data = m.s_r_data_o[slave];
        lite.r_resp = m.s_r_resp_o[slave];
    }
    out.memory.ar_valid = m.m_ar_valid_o;
    out.memory.ar_addr = m.m_ar_addr_o[0];
    out.memory.ar_len = m.m_ar_len_o[0];
    out.memory.ar_id = m.m_ar_id_o[0];
    out.memory.r_ready = m.m_r_ready_o;
    out.memory.aw_valid = m.m_aw_valid_o;
    out.memory.aw_addr = m.m_aw_addr_o[0];
    out.memory.aw_len = m.m_aw_len_o[0];
    out.memory.aw_id = m.m_aw_id_o[0];
    out.memory.w_valid = m.m_w_valid_o;
    for (size_t word = 0; word < 16; word++) out.memory.w_data[word] = m.m_w_data_o[0][word];
    out.memory.w_strb = m.m_w_strb_o[0];
    out.memory.w_last = m.m_w_last_o;
    out.memory.b_ready = m.m_b_ready_o;
    out.irq = m.irq_o;
    out.wake = m.wake_o;
    out.idle = m.idle_o;
}

std::unique_ptr<Node> new_node(int32_t seed) { return std::make_unique<Node>(seed != 0, seed); }
