// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ports of a collective network.

ports! {
    /// Ports of a `gyre_collective`.
    pub(super) struct Ports {
        cfg: "cfg_i", coord: "coord_i", reset: "rst_ni", link_ctl_i, link_data_i, link_dbg_i, link_ctl_o,
        link_data_o, link_dbg_o, bar_i, bar_o, inj_valid: "inj_valid_i", inj_route: "inj_route_i",
        inj_ctl: "inj_ctl_i", inj_data: "inj_data_i", inj_credit: "inj_credit_o", ej_valid: "ej_valid_o",
        ej_ready: "ej_ready_i", ej_ctl: "ej_ctl_o", ej_data: "ej_data_o", bar_enter: "bar_enter_i",
        bar_done: "bar_done_o", state: "link_state_o", perf_flit: "perf_flit_o", err: "err_o", idle: "idle_o",
    }
}
