/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Ports of the Verilated tops by name, so that the wire-side code is written once for all models.
#pragma once

#include <type_traits>

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
    GYRE_PIN(m_w_last_o) GYRE_PINS(m_w_dbg_o)
    GYRE_PIN(m_b_valid_i) GYRE_PIN(m_b_ready_o) GYRE_PINS(m_b_id_i) GYRE_PINS(m_b_resp_i)
};

// One wire of a vector.
template <class Vector>
struct BitPin {
    std::remove_reference_t<Vector>& vector;
    int index;

    operator bool() const { return vector >> index & 1; }
    void operator=(bool value) { vector = (vector & ~(1u << index)) | unsigned(value) << index; }
};

// One AXI4-Lite slave: 0 of the host, 1 of the debugger.
template <class Model>
struct RegisterPins {
    Model& model;
    int slave;
    BitPin<decltype(Model::s_aw_valid_i)> aw_valid_i() { return {model.s_aw_valid_i, slave}; }
    BitPin<decltype(Model::s_aw_ready_o)> aw_ready_o() { return {model.s_aw_ready_o, slave}; }
    auto& aw_addr_i() { return model.s_aw_addr_i[slave]; }
    BitPin<decltype(Model::s_w_valid_i)> w_valid_i() { return {model.s_w_valid_i, slave}; }
    BitPin<decltype(Model::s_w_ready_o)> w_ready_o() { return {model.s_w_ready_o, slave}; }
    auto& w_data_i() { return model.s_w_data_i[slave]; }
    auto& w_strb_i() { return model.s_w_strb_i[slave]; }
    BitPin<decltype(Model::s_b_valid_o)> b_valid_o() { return {model.s_b_valid_o, slave}; }
    BitPin<decltype(Model::s_b_ready_i)> b_ready_i() { return {model.s_b_ready_i, slave}; }
    auto& b_resp_o() { return model.s_b_resp_o[slave]; }
    BitPin<decltype(Model::s_ar_valid_i)> ar_valid_i() { return {model.s_ar_valid_i, slave}; }
    BitPin<decltype(Model::s_ar_ready_o)> ar_ready_o() { return {model.s_ar_ready_o, slave}; }
    auto& ar_addr_i() { return model.s_ar_addr_i[slave]; }
    BitPin<decltype(Model::s_r_valid_o)> r_valid_o() { return {model.s_r_valid_o, slave}; }
    BitPin<decltype(Model::s_r_ready_i)> r_ready_i() { return {model.s_r_ready_i, slave}; }
    auto& r_data_o() { return model.s_r_data_o[slave]; }
    auto& r_resp_o() { return model.s_r_resp_o[slave]; }
};

}  // namespace gyre
