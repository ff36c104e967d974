//! Ports of a collective network.

use crate::{Port, Unit};

/// Ports of a `gyre_collective`.
pub(super) struct Ports {
    pub(super) cfg: Port,
    pub(super) coord: Port,
    pub(super) reset: Port,
    pub(super) link_ctl_i: Port,
    pub(super) link_data_i: Port,
    pub(super) link_dbg_i: Port,
    pub(super) link_ctl_o: Port,
    pub(super) link_data_o: Port,
    pub(super) link_dbg_o: Port,
    pub(super) bar_i: Port,
    pub(super) bar_o: Port,
    pub(super) inj_valid: Port,
    pub(super) inj_route: Port,
    pub(super) inj_ctl: Port,
    pub(super) inj_data: Port,
    pub(super) inj_credit: Port,
    pub(super) ej_valid: Port,
    pub(super) ej_ready: Port,
    pub(super) ej_ctl: Port,
    pub(super) ej_data: Port,
    pub(super) bar_enter: Port,
    pub(super) bar_done: Port,
    pub(super) state: Port,
    pub(super) perf_flit: Port,
    pub(super) err: Port,
    pub(super) idle: Port,
}

impl Ports {
    pub(super) fn of(unit: &Unit) -> Self {
        let port = |name| unit.port(name);
        Self {
            cfg: port("cfg_i"),
            coord: port("coord_i"),
            reset: port("rst_ni"),
            link_ctl_i: port("link_ctl_i"),
            link_data_i: port("link_data_i"),
            link_dbg_i: port("link_dbg_i"),
            link_ctl_o: port("link_ctl_o"),
            link_data_o: port("link_data_o"),
            link_dbg_o: port("link_dbg_o"),
            bar_i: port("bar_i"),
            bar_o: port("bar_o"),
            inj_valid: port("inj_valid_i"),
            inj_route: port("inj_route_i"),
            inj_ctl: port("inj_ctl_i"),
            inj_data: port("inj_data_i"),
            inj_credit: port("inj_credit_o"),
            ej_valid: port("ej_valid_o"),
            ej_ready: port("ej_ready_i"),
            ej_ctl: port("ej_ctl_o"),
            ej_data: port("ej_data_o"),
            bar_enter: port("bar_enter_i"),
            bar_done: port("bar_done_o"),
            state: port("link_state_o"),
            perf_flit: port("perf_flit_o"),
            err: port("err_o"),
            idle: port("idle_o"),
        }
    }
}
