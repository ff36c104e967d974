// SPDX-License-Identifier: MIT OR Apache-2.0
//! Units under test but leaf cells with a fault of their own.

use super::spec::{Fault, Spec};

const fn leaf(
    name: &'static str,
    top: &'static str,
    parameters: &'static [(&'static str, u32)],
) -> Spec {
    Spec {
        name,
        top,
        parameters,
        folders: &["common"],
        faults: &[],
    }
}

const fn network(name: &'static str, parameters: &'static [(&'static str, u32)]) -> Spec {
    Spec {
        name,
        top: "gyre_network",
        parameters,
        folders: &["common", "link", "router"],
        faults: &[],
    }
}

/// A DMA engine with few FIFOs and slots. `inj_depth` is in flits, at least those of a full packet; of `flows` the number
/// and their window.
const fn dma_parameters(
    dims: u32,
    flit_bytes: u32,
    masters: u32,
    inj_depth: u32,
    flows: (u32, u32),
) -> [(&'static str, u32); 9] {
    [
        ("NDim", dims),
        ("FlitBytes", flit_bytes),
        ("NInj", 8),
        ("NRec", 4),
        ("NSlot", 8),
        ("NAxi", masters),
        ("InjDepth", inj_depth),
        ("NFlow", flows.0),
        ("FlowWindow", flows.1),
    ]
}

const fn flow_reorder(name: &'static str, parameters: &'static [(&'static str, u32)]) -> Spec {
    Spec {
        name,
        top: "flow_reorder",
        parameters,
        folders: &["common", "dma"],
        faults: &[],
    }
}

const fn dma(name: &'static str, parameters: &'static [(&'static str, u32)]) -> Spec {
    Spec {
        name,
        top: "gyre_dma",
        parameters,
        folders: &["common", "dma"],
        faults: &[],
    }
}

const fn collective_alu(
    name: &'static str,
    top: &'static str,
    parameters: &'static [(&'static str, u32)],
) -> Spec {
    Spec {
        name,
        top,
        parameters,
        folders: &["collective"],
        faults: &[],
    }
}

const fn collective(name: &'static str, parameters: &'static [(&'static str, u32)]) -> Spec {
    Spec {
        name,
        top: "gyre_collective",
        parameters,
        folders: &["common", "link", "router", "collective"],
        faults: &[],
    }
}

/// The unit `collective_flit8` with faults: that with the least to compile.
const fn faulty(name: &'static str, faults: &'static [Fault]) -> Spec {
    Spec {
        faults,
        ..collective(name, &[("FlitBytes", 8), ("Depth", 136)])
    }
}

/// Every unit under test but those of [`super::cells`].
pub(super) const MODELS: &[Spec] = &[
    leaf("fifo1", "gyre_fifo", &[("Depth", 1), ("Width", 8)]),
    leaf("fifo2", "gyre_fifo", &[("Depth", 2), ("Width", 32)]),
    leaf("fifo3", "gyre_fifo", &[("Depth", 3), ("Width", 33)]),
    leaf("fifo5", "gyre_fifo", &[("Depth", 5), ("Width", 64)]),
    leaf("fifo64", "gyre_fifo", &[("Depth", 64), ("Width", 128)]),
    leaf("arbiter1", "rr_arbiter", &[("N", 1)]),
    leaf("arbiter2", "rr_arbiter", &[("N", 2)]),
    leaf("arbiter3", "rr_arbiter", &[("N", 3)]),
    leaf("arbiter4", "rr_arbiter", &[("N", 4)]),
    leaf("arbiter5", "rr_arbiter", &[("N", 5)]),
    leaf("arbiter6", "rr_arbiter", &[("N", 6)]),
    leaf("arbiter7", "rr_arbiter", &[("N", 7)]),
    leaf("arbiter8", "rr_arbiter", &[("N", 8)]),
    leaf("lrs1", "lrs_arbiter", &[("N", 1)]),
    leaf("lrs2", "lrs_arbiter", &[("N", 2)]),
    leaf("lrs5", "lrs_arbiter", &[("N", 5)]),
    leaf("lrs8", "lrs_arbiter", &[("N", 8)]),
    leaf("age_arbiter", "age_arbiter", &[("N", 6)]),
    leaf("credits1", "credit_counter", &[("Max", 1)]),
    leaf("credits4", "credit_counter", &[("Max", 4)]),
    leaf("credits64", "credit_counter", &[("Max", 64)]),
    Spec {
        name: "link",
        top: "link_unit",
        parameters: &[("InitCycles", 32), ("PortId", 5)],
        folders: &["common", "link"],
        faults: &[],
    },
    // Buffers of the reference machine.
    network("network1", &[("NDim", 1), ("InitCycles", 32)]),
    network(
        "network2",
        &[
            ("NDim", 2),
            ("PortFlits", 116),
            ("InjDepth", 40),
            ("InitCycles", 32),
        ],
    ),
    network(
        "network3",
        &[
            ("NDim", 3),
            ("PortFlits", 116),
            ("InjDepth", 40),
            ("InitCycles", 32),
        ],
    ),
    // The smallest buffers that leave copies of packets.
    network(
        "network2_deposit",
        &[
            ("NDim", 2),
            ("PortFlits", 238),
            ("InjDepth", 40),
            ("InitCycles", 32),
        ],
    ),
    network(
        "network1_flit8",
        &[
            ("NDim", 1),
            ("FlitBytes", 8),
            ("PortFlits", 184),
            ("InitCycles", 32),
            ("InjDepth", 70),
        ],
    ),
    network(
        "network2_flit32",
        &[
            ("NDim", 2),
            ("FlitBytes", 32),
            ("PortFlits", 82),
            ("InitCycles", 32),
            ("InjDepth", 2),
        ],
    ),
    dma("dma1", &dma_parameters(1, 16, 2, 70, (4, 8))),
    dma("dma1_flit8", &dma_parameters(1, 8, 1, 68, (1, 1))),
    dma("dma2_flit32", &dma_parameters(2, 32, 2, 17, (8, 16))),
    dma("dma3", &dma_parameters(3, 16, 2, 40, (2, 4))),
    flow_reorder(
        "flow_reorder",
        &[("NDim", 2), ("FlitBytes", 16), ("NFlow", 4), ("Window", 4)],
    ),
    flow_reorder(
        "flow_reorder_window1",
        &[("NDim", 1), ("FlitBytes", 8), ("NFlow", 1), ("Window", 1)],
    ),
    flow_reorder(
        "flow_reorder_window16",
        &[("NDim", 3), ("FlitBytes", 32), ("NFlow", 8), ("Window", 16)],
    ),
    collective_alu("collective_alu8", "coll_alu", &[("FlitBytes", 8)]),
    collective_alu("collective_alu16", "coll_alu", &[("FlitBytes", 16)]),
    collective_alu("collective_alu32", "coll_alu", &[("FlitBytes", 32)]),
    collective_alu("collective_alu_hold", "coll_alu_hold", &[("FlitBytes", 16)]),
    collective("collective", &[("FlitBytes", 16), ("Depth", 64)]),
    // Buffers of two of the longest packets, and of one.
    collective("collective_flit8", &[("FlitBytes", 8), ("Depth", 136)]),
    collective("collective_flit32", &[("FlitBytes", 32), ("Depth", 17)]),
    // The children of a node change places in the arithmetic.
    faulty(
        "fault_child_order",
        &[Fault {
            file: "collective/coll_up.sv",
            text: ".present_i(need_q),\n      .data_i,",
            instead: ".present_i({need_q[1], need_q[2], need_q[0]}),\n      .data_i('{data_i[0], data_i[2], data_i[1]}),",
        }],
    ),
    // The instruction register misses the operation of a packet right behind another.
    faulty(
        "fault_instruction_latch",
        &[
            Fault {
                file: "collective/coll_up.sv",
                text: "  coll_t                instr_q;",
                instead: "  coll_t                instr_q;\n  logic                 late_q;",
            },
            Fault {
                file: "collective/coll_up.sv",
                text: "if (pos_q == PosW'(HintPos)) instr_q",
                instead: "if (pos_q == PosW'(HintPos) && !late_q) instr_q",
            },
            Fault {
                file: "collective/coll_up.sv",
                text: "      route_q    <= choice;",
                instead: "      route_q    <= choice;\n      late_q     <= active_q;",
            },
        ],
    ),
    // A barrier does not wait for the second child.
    faulty(
        "fault_early_barrier",
        &[Fault {
            file: "collective/coll_barrier.sv",
            text: "for (int unsigned i = 0; i < CollPorts; i++) complete =",
            instead: "for (int unsigned i = 0; i < CollPorts - 1; i++) complete =",
        }],
    ),
    // The credit of the last flit before a pause goes back twice.
    faulty(
        "fault_credit_twice",
        &[
            Fault {
                file: "collective/coll_port.sv",
                text: "      .pop_i,\n      .pop_vc_i   (read_route_i),",
                instead: "      .pop_i      (pop_i || again_q),\n      .pop_vc_i   (pop_i ? read_route_i : again_route_q),",
            },
            Fault {
                file: "collective/coll_port.sv",
                text: "  assign busy_o = link_busy || rx_busy || in_busy || out_busy;",
                instead: "  assign busy_o = link_busy || in_busy || out_busy || again_q;

  logic       again_q;
  logic [3:0] again_route_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) again_q <= 1'b0;
    else again_q <= pop_i;
  end
  always_ff @(posedge clk_i) if (pop_i) again_route_q <= read_route_i;",
            },
        ],
    ),
    // On its way down a packet passes by the second child of two.
    faulty(
        "fault_skipped_child",
        &[Fault {
            file: "collective/coll_down.sv",
            text: "child[1][choice], child[0][choice]};",
            instead: "child[1][choice] && !child[0][choice], child[0][choice]};",
        }],
    ),
    leaf("route_probe", "route_probe", &[]),
    leaf("layout_probe", "layout_probe", &[]),
    // The smallest node with every part.
    Spec {
        name: "node1",
        top: "gyre_node",
        parameters: &[("NDim", 1)],
        folders: &[
            "common",
            "csr",
            "csr/generated",
            "dma",
            "router",
            "link",
            "collective",
            "node",
        ],
        faults: &[],
    },
    Spec {
        name: "refusals",
        top: "refusal_log",
        parameters: &[("NEntry", 8)],
        folders: &["csr"],
        faults: &[],
    },
];
