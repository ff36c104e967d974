//! The units under test.

/// A top module with its parameters.
pub struct Spec {
    /// Name that a test asks for.
    pub name: &'static str,
    /// Top module.
    pub top: &'static str,
    /// Parameters of the top module.
    pub parameters: &'static [(&'static str, u32)],
    /// Folders of `rtl/` that it is made of; a change elsewhere does not rebuild it.
    pub folders: &'static [&'static str],
}

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
    }
}

const fn network(name: &'static str, parameters: &'static [(&'static str, u32)]) -> Spec {
    Spec {
        name,
        top: "gyre_network",
        parameters,
        folders: &["common", "link", "router"],
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
    }
}

const fn dma(name: &'static str, parameters: &'static [(&'static str, u32)]) -> Spec {
    Spec {
        name,
        top: "gyre_dma",
        parameters,
        folders: &["common", "dma"],
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
    }
}

const fn collective(name: &'static str, parameters: &'static [(&'static str, u32)]) -> Spec {
    Spec {
        name,
        top: "gyre_collective",
        parameters,
        folders: &["common", "link", "router", "collective"],
    }
}

/// Every unit under test.
pub const MODELS: &[Spec] = &[
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
    leaf("route_probe", "route_probe", &[]),
    Spec {
        name: "refusals",
        top: "refusal_log",
        parameters: &[("NEntry", 8)],
        folders: &["csr"],
    },
];
