// Ports of the Verilated tops by name, so that the wire-side code is written once for all models.
#pragma once

#define GYRE_PIN(name) \
    auto& name() { return model.name; }
#define GYRE_PINS(name) \
    auto& name(int i) { return model.name[i]; }
#define GYRE_LINK_PINS(name) \
    auto& link_##name(int i) { return i < TorusPorts ? model.link_##name[i] : model.tree_##name[i - TorusPorts]; }

namespace gyre {

// Links of a node: those of the torus, then those of the tree.
template <class Model, int TorusPorts>
struct NodeLinkPins {
    Model& model;
    GYRE_LINK_PINS(ctl_i) GYRE_LINK_PINS(data_i) GYRE_LINK_PINS(dbg_i)
    GYRE_LINK_PINS(ctl_o) GYRE_LINK_PINS(data_o) GYRE_LINK_PINS(dbg_o)
};

// Links of a router.
template <class Model>
struct LinkPins {
    Model& model;
    GYRE_PINS(link_ctl_i) GYRE_PINS(link_data_i) GYRE_PINS(link_dbg_i)
    GYRE_PINS(link_ctl_o) GYRE_PINS(link_data_o) GYRE_PINS(link_dbg_o)
};

template <class Model>
struct BarrierPins {
    Model& model;
    GYRE_PINS(bar_i) GYRE_PINS(bar_o)
};

template <class Model>
struct AxiPins {
    Model& model;
    GYRE_PIN(m_ar_valid_o) GYRE_PIN(m_ar_ready_i) GYRE_PINS(m_ar_addr_o) GYRE_PINS(m_ar_len_o)
    GYRE_PINS(m_ar_size_o) GYRE_PINS(m_ar_burst_o) GYRE_PINS(m_ar_id_o)
    GYRE_PIN(m_r_valid_i) GYRE_PIN(m_r_ready_o) GYRE_PINS(m_r_data_i) GYRE_PINS(m_r_id_i)
    GYRE_PINS(m_r_resp_i) GYRE_PIN(m_r_last_i)
    GYRE_PIN(m_aw_valid_o) GYRE_PIN(m_aw_ready_i) GYRE_PINS(m_aw_addr_o) GYRE_PINS(m_aw_len_o)
    GYRE_PINS(m_aw_size_o) GYRE_PINS(m_aw_burst_o) GYRE_PINS(m_aw_id_o)
    GYRE_PIN(m_w_valid_o) GYRE_PIN(m_w_ready_i) GYRE_PINS(m_w_data_o) GYRE_PINS(m_w_strb_o)
    GYRE_PIN(m_w_last_o)
    GYRE_PIN(m_b_valid_i) GYRE_PIN(m_b_ready_o) GYRE_PINS(m_b_id_i) GYRE_PINS(m_b_resp_i)
};

#define GYRE_REGISTER_PINS(prefix) \
    auto& aw_valid_i() { return model.prefix##_aw_valid_i; } \
    auto& aw_ready_o() { return model.prefix##_aw_ready_o; } \
    auto& aw_addr_i() { return model.prefix##_aw_addr_i; } \
    auto& w_valid_i() { return model.prefix##_w_valid_i; } \
    auto& w_ready_o() { return model.prefix##_w_ready_o; } \
    auto& w_data_i() { return model.prefix##_w_data_i; } \
    auto& w_strb_i() { return model.prefix##_w_strb_i; } \
    auto& b_valid_o() { return model.prefix##_b_valid_o; } \
    auto& b_ready_i() { return model.prefix##_b_ready_i; } \
    auto& b_resp_o() { return model.prefix##_b_resp_o; } \
    auto& ar_valid_i() { return model.prefix##_ar_valid_i; } \
    auto& ar_addr_i() { return model.prefix##_ar_addr_i; } \
    auto& ar_ready_o() { return model.prefix##_ar_ready_o; } \
    auto& r_valid_o() { return model.prefix##_r_valid_o; } \
    auto& r_ready_i() { return model.prefix##_r_ready_i; } \
    auto& r_resp_o() { return model.prefix##_r_resp_o; } \
    auto& r_data_o() { return model.prefix##_r_data_o; }

template <class Model>
struct HostPins {
    Model& model;
    GYRE_REGISTER_PINS(s0)
};

template <class Model>
struct DebugPins {
    Model& model;
    GYRE_REGISTER_PINS(s1)
};

}  // namespace gyre
