// SPDX-License-Identifier: MIT OR Apache-2.0
//! Leaf cells, each once as it is and once, as `fault_` and its name, with a fault that its bench must find.

use super::spec::{Fault, Spec};

/// Name, top module with its parameters, folder of `rtl/` beside `common`; then the fault: file, text, and
/// replacement.
macro_rules! cells {
    ($($name:literal: $top:literal $parameters:expr, $folder:literal, $file:literal $text:literal => $instead:literal;)*) => {
        /// Every leaf cell.
        pub(super) const CELLS: &[Spec] = &[$(
            Spec {
                name: $name,
                top: $top,
                parameters: &$parameters,
                folders: &["common", $folder],
                faults: &[],
            },
            Spec {
                name: concat!("fault_", $name),
                top: $top,
                parameters: &$parameters,
                folders: &["common", $folder],
                faults: &[Fault {
                    file: $file,
                    text: $text,
                    instead: $instead,
                }],
            },
        )*];
    };
}

cells! {
    "tree_choice": "coll_select" [], "collective", "collective/coll_select.sv"
        "combine  = combine & (~part[i] | waits[i]);"
        => "if (i != 2) combine = combine & (~part[i] | waits[i]);";
    "tree_down": "coll_down" [], "collective", "collective/coll_down.sv"
        "(front_i.pending & (~child[0] | out_ok_i[0]) & (~child[1] | out_ok_i[1]) & ej_room)"
        => "(front_i.pending & (~child[0] | out_ok_i[0]) & ej_room)";
    "axil_arbiter": "axil_arbiter" [("AddrW", 12)], "csr", "csr/axil_arbiter.sv"
        "r_data_q[s]  <= done_err ? '0 : reg_rdata_i;"
        => "r_data_q[s]  <= reg_rdata_i;";
    "slots": "slot_table" [("NSlot", 4)], "dma", "dma/slot_table.sv"
        "2'd2:    ctrl_q[sel]  <= {reg_wdata_i[11:8], reg_wdata_i[4:0]};"
        => "2'd2:    ctrl_q[sel]  <= {reg_wdata_i[10:7], reg_wdata_i[4:0]};";
    "soft_reset": "soft_reset" [("HoldCycles", 8), ("Limit", 40)], "node", "node/soft_reset.sv"
        "count_q     <= CountW'(HoldCycles - 1);"
        => "count_q     <= CountW'(HoldCycles - 2);";
    "quiesce": "axi_quiesce" [("MaxBursts", 7)], "node", "node/axi_quiesce.sv"
        "assign aw_open = !stop_i || aw_offered_q || owed_q < 0;"
        => "assign aw_open = !stop_i || owed_q < 0;";
    "reception_order": "rx_order" [("Max", 5)], "dma", "dma/rx_order.sv"
        "older_q <= level_q - W'(retire_i)"
        => "older_q <= level_q - W'(retire_i) - W'(level_q > 1)";
    "reception_merge": "rx_merge" [("N", 3)], "dma", "dma/rx_merge.sv"
        "open_q <= !tail_i;"
        => "open_q <= !tail_i && !open_q;";
    "router_credits": "router_credits" [("FlitBytes", 16), ("PortFlits", 272)], "router", "router/router_credits.sv"
        "if (send_i && vc_dynamic(vc_i)) sent_q[vc_i[VcW-2:0]] <= head_i"
        => "if (send_i && vc_dynamic(vc_i)) sent_q[vc_i[VcW-2:0]] <= head_i && !credit_i";
    "router_buffer": "router_buffer" [("Flits", 20), ("FlitBytes", 16), ("NDim", 2)], "router", "common/queue_lists.sv"
        "if (store_i && fetch_i) next_q <= raddr_o;"
        => "if (store_i && fetch_i) next_q <= tail_q[queue_i];";
    "counters": "counter_unit" [("NPath", 3), ("NEntry", 4)], "dma", "dma/counter_unit.sv"
        "sum_q[e]  <= adds ? SumW'(in_bytes_q) : '0;"
        => "sum_q[e]  <= '0;";
    "injection_fifos": "inj_fifo_table" [("NInj", 4)], "dma", "dma/inj_fifo_table.sv"
        "avail_q[res_fifo] <= set_avail[res_fifo] || head_q"
        => "avail_q[res_fifo] <= head_q";
    "reception_fifos": "rec_fifo_table" [("NRec", 3)], "dma", "dma/rec_fifo_table.sv"
        "if (commit_i.valid && !(alloc_i && ci == li)) flight_q[ci]"
        => "if (commit_i.valid && !alloc_i) flight_q[ci]";
    "reception_align": "rx_align" [("FlitBytes", 16)], "dma", "dma/rx_align.sv"
        "if (start_i) carry_q <= '0;\n    else if (valid_i)"
        => "if (valid_i)";
    "reception_buffer": "rx_buffer" [("FlitBytes", 16)], "dma", "dma/rx_buffer.sv"
        "? mem[high_row] :"
        => "? mem[rrow_i] :";
    "reception_check": "rx_check" [("Class", 0), ("Flows", 1)], "dma", "dma/rx_check.sv"
        "hdr_i.len[5:0] != '0"
        => "hdr_i.len[4:0] != '0";
    "reception_check_response": "rx_check" [("Class", 1), ("Flows", 1)], "dma", "dma/rx_check.sv"
        "(hdr_i.aux[9] && !hdr_i.aux[8] &&"
        => "(hdr_i.aux[9] &&";
    "reception_check_collective": "rx_check" [("Class", 1), ("Collective", 1)], "dma", "dma/rx_check.sv"
        "delivers_put(hdr_i.kind, Class) &&"
        => "hdr_i.kind == KindPut &&";
    "reception_collect": "rx_collect" [("FlitBytes", 16)], "dma", "dma/rx_collect.sv"
        "(bad || left_q != CountW'(1))"
        => "bad";
    "reception_commit": "rx_commit" [("NPath", 3)], "dma", "dma/rx_commit.sv"
        "pop && oldest.rget, failed: failed_q[head_q],"
        => "pop && oldest.rget, failed: 1'b0,";
    "reception_header": "rx_header" [("FlitBytes", 16)], "dma", "dma/rx_header.sv"
        "ctl_i.tail && (ctl_i.err || !last_hdr)"
        => "ctl_i.tail && ctl_i.err";
    "reception_pending": "rx_pending" [], "dma", "dma/rx_pending.sv"
        "retry_i ? StAsk : StBlocked"
        => "StBlocked";
    "reception_resolve": "rx_resolve" [("NPath", 5), ("MaxPassed", 4), ("Coll", 3)], "dma", "dma/rx_resolve.sv"
        "|| ctr_addr[2:0] != '0"
        => "";
    "reception_response": "rx_response" [], "dma", "dma/rx_response.sv"
        "err_i == ErrNone || flow_i"
        => "err_i == ErrNone";
    "reception_retire": "rx_retire" [("Depth", 4)], "dma", "dma/rx_retire.sv"
        "if (b_bad_i) failed_q"
        => "if (b_bad_i && complete) failed_q";
    "reception_write": "rx_write" [("Id", 3)], "dma", "dma/rx_write.sv"
        "end_off > 13'd4096"
        => "end_off >= 13'd4096";
}
