# SPDX-License-Identifier: MIT OR Apache-2.0
"""The cells that tools/formal.py proves, and the faults that it plants to see each proof refuted."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A text of rtl/`file` that occurs there once, and what it is replaced by."""

    file: str
    before: str
    after: str


@dataclass(frozen=True)
class Cell:
    """A cell with its wrapper rtl/formal/`name`_formal.sv."""

    name: str
    bound: int  # steps in which no assertion fails, and each planted fault is refuted
    cover: int  # steps in which all covers are reached
    faults: tuple = ()
    parameters: tuple = ()  # NAME=VALUE, of the wrapper
    induction: int = 0  # length of the proof by k-induction; 0: by PDR
    unbounded: bool = True  # else nothing is proven beyond the bound
    only: str = ""  # name of the only property looked at, where it stands alone; "" is all
    known_fault: str = ""  # number of the RTL's known fault that the property shows

    @property
    def top(self):
        """The wrapper's module."""
        return f"{self.name}_formal"


CELLS = [
    Cell(
        "gyre_fifo",
        bound=12,
        cover=12,
        induction=3,
        faults=(
            Fault("common/gyre_fifo.sv", "(head_q == LastPtr) ? '0 : head_q + 1'b1", "head_q + 1'b1"),
            Fault("common/gyre_fifo.sv", "if (push_i != pop_i) level_q", "if (push_i || pop_i) level_q"),
        ),
    ),
    Cell(
        "gyre_queues",
        bound=12,
        cover=16,
        faults=(
            Fault("common/gyre_queues.sv", "(pair_q[push_queue_i] && !same));", "pair_q[push_queue_i]);"),
            Fault("common/gyre_queues.sv", "if (fetch_q && fetch_place_q == second) second_aux", "if (fetch_q) second_aux"),
            Fault("common/gyre_queues.sv", "fetch   = pop_i && deep_q[queue_i];", "fetch   = pop_i;"),
        ),
    ),
    Cell(
        "gyre_queues",
        parameters=("Shared=1", "Depth=6"),
        bound=12,
        cover=16,
        unbounded=False,
        faults=(
            Fault("common/queue_lists.sv", "(link_q && link_queue_q == queue_i) ? link", "link_q ? link"),
            Fault("common/queue_lists.sv", "if (!join_i || (fetch_i && last_o && queue_i == push_queue_i)) head_q", "if (!join_i) head_q"),
            Fault("common/queue_lists.sv", "next_q  <= free_mem[AddrW'(freed_q - 1'b1)];", "next_q  <= free_mem[AddrW'(freed_q)];"),
        ),
    ),
    Cell(
        "inj_fifo_table",
        bound=12,
        cover=20,
        unbounded=False,
        faults=(
            Fault("dma/inj_fifo_access.sv", "new_level <= InjPtrW'(state_i.size)", "new_level <= InjPtrW'(state_i.size + 1'b1)"),
            Fault("dma/inj_fifo_table.sv", "if (rgc_good) set_avail[rgc_fifo] = 1'b1;", "set_avail[rgc_fifo] = rget_commit_i.valid;"),
        ),
    ),
    Cell(
        "inj_fifo_table",
        parameters=("WakeUp=1",),
        only="NoLostWakeUp",
        bound=16,
        cover=20,
        induction=2,
        faults=(Fault("dma/inj_fifo_table.sv", "<= set_avail[res_fifo] || head_q", "<= head_q"),),
    ),
    Cell(
        "rr_arbiter",
        bound=10,
        cover=10,
        faults=(Fault("common/rr_arbiter.sv", "mask_q <= ~((gnt_o - 1'b1) | gnt_o)", "mask_q <= ~(gnt_o - 1'b1)"),),
    ),
    Cell(
        "lrs_arbiter",
        bound=10,
        cover=10,
        faults=(Fault("common/lrs_arbiter.sv", "older_q[n] & ~gnt_o;", "older_q[n];"),),
    ),
    Cell(
        "age_arbiter",
        bound=8,
        cover=8,
        faults=(
            Fault("common/age_arbiter.sv", "birth + past", "birth"),
            Fault("common/age_arbiter.sv", "below: !behind}", "below: 1'b0}"),
        ),
    ),
    Cell(
        "credit_counter",
        bound=10,
        cover=10,
        induction=2,
        faults=(
            Fault("common/credit_counter.sv", "W'(give_i) + W'(refund_i);", "W'(give_i || refund_i);"),
        ),
    ),
    Cell(
        "err_select",
        bound=10,
        cover=10,
        faults=(Fault("common/err_select.sv", "err_i[s].valid && !taken_q[s]", "err_i[s].valid"),),
    ),
    Cell(
        "router_errors",
        bound=10,
        cover=10,
        faults=(Fault("router/router_errors.sv", "err_d = err_d | err_i[n]", "err_d = err_i[0]"),),
    ),
    Cell(
        "soft_reset",
        bound=20,
        cover=20,
        faults=(
            Fault("node/soft_reset.sv", "(over && (&settled_i))", "over"),
            Fault("node/soft_reset.sv", "late_q      <= ~quiet_i;", "late_q      <= '0;"),
            Fault("node/soft_reset.sv", "CountW'(HoldCycles - 1)", "CountW'(HoldCycles - 2)"),
        ),
    ),
    Cell(
        "inj_occupancy",
        bound=12,
        cover=12,
        induction=2,
        faults=(Fault("node/inj_occupancy.sv", "CountW'($countones(inj_credit_i))", "CountW'(inj_credit_i != '0)"),),
    ),
    Cell(
        "slot_table",
        bound=5,
        cover=10,
        faults=(
            Fault("dma/slot_table.sv", "reg_addr_i[2:0] != '0 || word == 2'd3 ||", "reg_addr_i[2:0] != '0 ||"),
            Fault("dma/slot_table.sv", "(reg_we_i && ((word == 2'd0 && reg_wdata_i[63:AddrW] != '0) ||", "(reg_we_i && ("),
            Fault("dma/slot_table.sv", "make_slot(rx_id_i < MaxFifoId'(NSlot), base_q[rx_id_i[IdW-1:0]]", "make_slot(rx_id_i < MaxFifoId'(NSlot), base_q[tx_id_i[IdW-1:0]]"),
        ),
    ),
    Cell(
        "slot_table",
        parameters=("Who=5",),
        bound=5,
        cover=6,
        induction=2,
        faults=(Fault("dma/slot_table.sv", "make_slot(rmw_id_i < MaxFifoId'(NSlot)", "make_slot(1'b1"),),
    ),
    Cell(
        "wakeup_unit",
        bound=6,
        cover=8,
        induction=2,
        faults=(
            Fault("csr/wakeup_unit.sv", "cause |= event_i & mask_q[g];", "if (!write) cause |= event_i & mask_q[g];"),
        ),
    ),
    Cell(
        "error_log",
        bound=6,
        cover=8,
        induction=2,
        faults=(
            Fault("csr/error_log.sv", "if (!valid_i || rearm_i) begin", "if (!valid_i) begin"),
            Fault("csr/error_log.sv", "for (int s = NSource - 1; s >= 0; s--) begin", "for (int s = 0; s < NSource; s++) begin"),
        ),
    ),
    Cell(
        "axil_arbiter",
        bound=12,
        cover=12,
        faults=(
            Fault("csr/axil_arbiter.sv", "turn_q  <= ~sel;", "turn_q  <= sel;"),
            Fault("csr/axil_arbiter.sv", "assign want_r = ar_held_q & ~r_valid_q;", "assign want_r = ar_held_q;"),
        ),
    ),
    Cell(
        "axi_quiesce",
        bound=12,
        cover=16,
        faults=(
            Fault("node/axi_quiesce.sv", "!stop_i || w_open_q || aw_offered_q || owed_q > 0", "!stop_i || w_open_q || owed_q > 0"),
            Fault("node/axi_quiesce.sv", "assign ar_open = !stop_i || ar_offered_q;", "assign ar_open = !stop_i;"),
        ),
    ),
    Cell(
        "rx_order",
        bound=10,
        cover=12,
        faults=(Fault("dma/rx_order.sv", "older_q <= level_q - W'(retire_i)", "older_q <= level_q"),),
    ),
    Cell(
        "rx_merge",
        bound=10,
        cover=12,
        faults=(
            Fault("dma/rx_merge.sv", "open_q <= !tail_i;", "open_q <= !tail_i && !open_q;"),
            Fault("dma/rx_merge.sv", ".advance_i(moves && !open_q)", ".advance_i(1'b0)"),
        ),
    ),
    Cell(
        "reg_answer",
        bound=6,
        cover=6,
        induction=2,
        faults=(Fault("common/reg_answer.sv", "ack_q <= req_i;", "ack_q <= req_i || (ack_q && err_q);"),),
    ),
    Cell(
        "router_buffer",
        bound=9,
        cover=12,
        unbounded=False,
        faults=(
            Fault("router/router_buffer.sv", "{second_birth, second.route};", "{second_birth, read.route};"),
            Fault("common/queue_lists.sv", "if (store_i && fetch_i) next_q <= raddr_o;", "if (store_i && fetch_i) next_q <= link;"),
            Fault("common/gyre_queues.sv", "|| (same && !pair_q[push_queue_i]));", "|| same);"),
        ),
    ),
    Cell(
        "inject_buffer",
        bound=10,
        cover=14,
        faults=(
            Fault("router/inject_buffer.sv", "{Word3 ? second_birth : '0, second.route};", "{Word3 ? second_birth : '0, read.route};"),
            Fault("common/gyre_queues.sv", "|| (same && !pair_q[push_queue_i]));", "|| same);"),
        ),
    ),
    Cell(
        "loopback",
        bound=8,
        cover=14,
        faults=(Fault("dma/loopback.sv", "else credit_q <= pop;", "else credit_q <= pop & ~credit_q;"),),
    ),
    Cell(
        "rec_fifo_table",
        bound=9,
        cover=14,
        unbounded=False,
        faults=(
            Fault("dma/rec_fifo_table.sv", "if (commit_i.valid && !(alloc_i && ci == li)) flight_q", "if (commit_i.valid) flight_q"),
            Fault("dma/rec_fifo_table.sv", "bad   = (reg_wdata_i[31:0] - head_q[ri]) > level;", "bad   = 1'b0;"),
        ),
    ),
    Cell(
        "link",
        bound=5,
        cover=10,
        unbounded=False,
        faults=(
            Fault("link/link_rx.sv", "valid_o     = word_q.check == {seq_q, check};", "valid_o     = word_q.check[15:8] == seq_q;"),
            Fault("link/link_tx.sv", "word_q.credit <= credit_i;", "word_q.credit <= credit_i && !send_i;"),
            Fault("link/link_rx.sv", "&& state_i == LinkUp && !side_fault_o;", "&& state_i == LinkUp;"),
        ),
    ),
    Cell(
        "coll_barrier",
        bound=14,
        cover=14,
        faults=(
            Fault("collective/coll_barrier.sv", "complete & (~part[i] | arrived_q[i])", "complete & (~part[i] | arrived_q[i] | arrived_q[0])"),
            Fault("collective/coll_barrier.sv", "& ~complete & valid;", "& valid;"),
            Fault("collective/coll_barrier.sv", "bad_i[p] ? '0 : in_q[p]", "in_q[p]"),
        ),
    ),
    Cell(
        "counter_unit",
        bound=12,
        cover=22,
        unbounded=False,
        faults=(
            Fault("dma/counter_unit.sv", "sum_q[e]  <= adds ? SumW'(in_bytes_q) : '0;", "sum_q[e]  <= '0;"),
            Fault("dma/counter_unit.sv", "st_q[e]  <= sum_d != '0 ? StRead : StFree;", "st_q[e]  <= sum_q[e] != '0 ? StRead : StFree;"),
        ),
    ),
    Cell(
        "axi_write_mux",
        bound=10,
        cover=12,
        faults=(
            Fault("dma/axi_write_mux.sv", ".pop_i(pop && last), .data_o(order)", ".pop_i(pop), .data_o(order)"),
            Fault("dma/axi_write_mux.sv", "(!aw_valid_q || m_aw_ready_i) && !full;", "!full;"),
        ),
    ),
    Cell(
        "router_credits",
        bound=7,
        cover=12,
        unbounded=False,
        faults=(
            Fault("router/router_credits.sv", "none_q     <= {free_d == '0, free_d <= MaxFlits};", "none_q     <= {free_d == '0, free_d < MaxFlits};"),
            Fault("router/router_credits.sv", "(head_i ? '0 : sent_q[vc_i[VcW-2:0]]) - 1'b1", "(head_i ? '0 : sent_q[vc_i[VcW-2:0]])"),
        ),
    ),
    Cell(
        "tx_realign",
        bound=12,
        cover=14,
        unbounded=False,
        faults=(
            Fault("dma/tx_realign.sv", "rptr_q != wptr_q && pop_o == front_q;", "rptr_q != wptr_q && !front_q;"),
            Fault("dma/tx_realign.sv", "if (fetch || pop_o) front_q <= fetch;", "if (fetch) front_q <= 1'b1;"),
        ),
    ),
    Cell(
        "tx_realign",
        parameters=("FlitBytes=32",),
        bound=12,
        cover=14,
        unbounded=False,
        faults=(
            Fault("dma/tx_realign.sv", "front_q ? front : last_q", "front"),
            Fault("dma/tx_realign.sv", "if (fetch || (pop_o && !front_q)) rptr_q", "if (fetch) rptr_q"),
        ),
    ),
    Cell(
        "link_unit",
        bound=26,
        cover=24,
        unbounded=False,
        faults=(
            Fault("link/link_tx.sv", "seq_q <= seq_q + 1'b1;", "seq_q <= seq_q + {7'd0, send_ctl_i.head && send_data_i[0]};"),
            Fault("link/link_unit.sv", "assign start_o = state_q == LinkInit && state_d == LinkAck;", "assign start_o = state_q == LinkAck && state_d == LinkUp;"),
        ),
    ),
    Cell(
        "rx_pending",
        bound=12,
        cover=14,
        faults=(
            Fault("dma/rx_pending.sv", "st_q <= retry_i ? StAsk : StBlocked;", "st_q <= StBlocked;"),
            Fault("dma/rx_pending.sv", "assign pop        = write_o || dropped || rmw_take_i;", "assign pop        = write_o || rmw_take_i;"),
        ),
    ),
    Cell("rec_fifo_table", parameters=("AnySize=1",), only="RingBound", bound=13, cover=14, unbounded=False,
         faults=(Fault("dma/rec_fifo_table.sv", "assert (!enable_q[ci] || level_d", "assert (level_d"),)),
    Cell(
        "refusal_log",
        bound=6,
        cover=8,
        unbounded=False,
        faults=(
            Fault("csr/refusal_log.sv", "same[e] = kept[e] &&", "same[e] = valid_q[e] &&"),
            Fault("csr/refusal_log.sv", "if (write && !err_o && wdata_i[61:32] == entry[index].last)", "if (write && !err_o)"),
        ),
    ),
]
