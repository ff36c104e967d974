// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Registers and state of the injection FIFOs of one group (HW-1), with the hooks of everything that moves
// their pointers: software (TAIL), descriptor fetch, completion, and remote gets from the receive side.
//
//   inj_fifo_access   registers: decode, check, answer (the register map is described there)
//   inj_fifo_events   events for the rest of the node
//
// A remote get that did not reach memory halts its FIFO with ErrWrite; only disabling and enabling ends
// that, since descriptors are missing from the ring.
module inj_fifo_table
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned NInj = 32,
    localparam int unsigned FidW = (NInj > 1) ? $clog2(NInj) : 1
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // Register access: a pulse; the answer comes two cycles later.
    input  logic                 reg_req_i,
    input  logic                 reg_we_i,
    input  logic [10:0]          reg_addr_i,
    input  logic [63:0]          reg_wdata_i,
    output logic                 reg_ack_o,
    output logic                 reg_err_o,
    output logic [63:0]          reg_rdata_o,
    // Configuration and state by FIFO
    output logic [NInj-1:0]      enable_o,
    output logic [NInj-1:0]      remote_o,
    output logic [NInj-1:0]      halted_o,
    output logic [NInj-1:0]      avail_o,       // a descriptor that was not fetched yet
    output logic [NInj-1:0][3:0] owner_o,
    input  logic [NInj-1:0]      busy_i,        // something of the FIFO is in flight
    // Descriptor fetch: address of the next descriptor; the pointer moves with fetch_take_i.
    input  logic                 fetch_take_i,
    input  logic [FidW-1:0]      fetch_fifo_i,
    output logic [AddrW-1:0]     fetch_addr_o,
    // Halt: at once and without reason by a path (the reason follows with retire_i), or by activation.
    input  logic [NInj-1:0]      path_halt_i,
    input  logic [NInj-1:0]      flow_halt_i,   // with ErrDescFlow: software closed the flow of the descriptor at HEAD
    input  logic                 act_err_valid_i, // not in a cycle of retire_valid_i with retire_i.err
    input  logic [FidW-1:0]      act_err_fifo_i,
    input  err_e                 act_err_i,
    // Packets that left their paths
    input  logic                 retire_valid_i,
    input  tx_retire_t           retire_i,
    // Remote gets
    input  logic [MaxFifoId-1:0] rget_id_i,
    output logic                 rget_ok_o,     // open to remote gets
    output logic [AddrW-1:0]     rget_base_o,
    output logic [20:0]          rget_size_o,
    output logic [31:0]          rget_alloc_o,  // free-running: where the next allocation starts
    output logic [20:0]          rget_free_o,   // bytes
    input  rget_move_t           rget_alloc_i,
    input  rget_move_t           rget_commit_i,
    output logic                 rget_moved_o,  // a remote-get ring may have room, or its state changed
    // Events
    output logic [NInj-1:0]      desc_done_o,   // a descriptor completed (FIFOs with CTRL[8])
    output error_t               err_o,
    output logic                 idle_o
);
  if (NInj == 0 || NInj > 32) begin : gen_bad_ninj
    $fatal(1, "inj_fifo_table: NInj is %0d; a group page holds 1..32 injection FIFOs", NInj);
  end

  localparam int unsigned PtrW = InjPtrW;
  localparam int unsigned LvlW = InjLevelW;

  logic [NInj-1:0]   enable_q, remote_q, event_q, halted_q, broken_q, resume_q, avail_q;
  logic [NInj-1:0][3:0] owner_q;
  logic [35:0]       base_q   [NInj];           // 4 KiB units
  logic [LvlW-1:0]   size_q   [NInj];
  logic [PtrW-1:0]   head_q   [NInj];
  logic [PtrW-1:0]   tail_q   [NInj];
  logic [PtrW-1:0]   fetch_q  [NInj];
  logic [PtrW-1:0]   alloc_q  [NInj];           // remote gets: allocated up to here
  logic [PtrW-1:0]   landed_q [NInj];           // remote gets: answered up to here, TAIL but for failures
  logic [31:0]       count_q  [NInj];
  logic [LvlW-1:0]   high_q   [NInj];
  err_e              reason_q [NInj];

  function automatic logic [AddrW-1:0] desc_addr(logic [35:0] base, logic [LvlW-1:0] size,
                                                 logic [LvlW-1:0] ptr);
    return {base, 12'b0} + AddrW'({ptr & (size - 1'b1), 6'b0});
  endfunction

  // ---- register access ------------------------------------------------------------------------
  logic            rq_valid, wr, start;
  logic [FidW-1:0] rq_fifo;
  inj_reg_e        rq_reg;
  logic [63:0]     rq_wdata;
  logic [PtrW-1:0] level, new_level;
  inj_fifo_t       rq_state;

  always_comb begin
    rq_state = '0;
    if (rq_valid) begin
      rq_state = '{enable: enable_q[rq_fifo], remote: remote_q[rq_fifo], event_on: event_q[rq_fifo],
                   owner: owner_q[rq_fifo], halted: halted_q[rq_fifo], broken: broken_q[rq_fifo],
                   busy: busy_i[rq_fifo], landed: alloc_q[rq_fifo] == landed_q[rq_fifo],
                   base: base_q[rq_fifo], size: size_q[rq_fifo], head: head_q[rq_fifo],
                   tail: tail_q[rq_fifo], count: count_q[rq_fifo], high: high_q[rq_fifo],
                   reason: reason_q[rq_fifo]};
    end
  end

  inj_fifo_access #(.NInj(NInj)) u_access (
      .clk_i, .rst_ni, .reg_req_i, .reg_we_i, .reg_addr_i, .reg_wdata_i, .reg_ack_o, .reg_err_o, .reg_rdata_o,
      .valid_o(rq_valid), .fifo_o(rq_fifo), .state_i(rq_state), .write_o(wr), .start_o(start),
      .reg_o(rq_reg), .wdata_o(rq_wdata), .level_o(level), .new_level_o(new_level)
  );

  // ---- movements of this cycle ----------------------------------------------------------------
  logic [FidW-1:0] ret_fifo, rga_fifo, rgc_fifo, rgl_fifo, res_fifo;
  logic            complete, resume, rgc_good;
  logic [NInj-1:0] resume_req, resume_first;

  assign ret_fifo = FidW'(retire_i.fifo);
  assign rga_fifo = FidW'(rget_alloc_i.id);
  assign rgc_fifo = FidW'(rget_commit_i.id);
  assign complete = retire_valid_i && retire_i.last && !retire_i.drop;
  assign rgc_good = rget_commit_i.valid && !rget_commit_i.failed && !broken_q[rgc_fifo];

  // A resume waits until nothing of the FIFO is in flight; not in a register access, which may disable it.
  assign resume_req   = resume_q & ~busy_i;
  assign resume_first = resume_req & (~resume_req + 1'b1);
  assign resume       = resume_req != '0 && !rq_valid;

  always_comb begin
    res_fifo = '0;
    if (resume) begin
      for (int unsigned f = 0; f < NInj; f++) if (resume_first[f]) res_fifo = res_fifo | FidW'(f);
    end
  end

  // ---- pointers ---------------------------------------------------------------------------------
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned f = 0; f < NInj; f++) begin
        base_q[f]   <= '0;
        head_q[f]   <= '0;
        tail_q[f]   <= '0;
        fetch_q[f]  <= '0;
        alloc_q[f]  <= '0;
        landed_q[f] <= '0;
        count_q[f]  <= '0;
      end
    end else begin
      if (wr && rq_reg == InjRegBase) base_q[rq_fifo] <= rq_wdata[AddrW-1:12];
      if (complete) begin
        head_q[ret_fifo]  <= head_q[ret_fifo] + 1'b1;
        count_q[ret_fifo] <= count_q[ret_fifo] + 1'b1;
      end
      if (fetch_take_i) fetch_q[fetch_fifo_i] <= fetch_q[fetch_fifo_i] + 1'b1;
      if (resume) begin
        head_q[res_fifo]  <= head_q[res_fifo] + 1'b1;
        fetch_q[res_fifo] <= head_q[res_fifo] + 1'b1;
      end
      if (wr && rq_reg == InjRegTail) tail_q[rq_fifo] <= rq_wdata[31:6];
      if (rget_alloc_i.valid) alloc_q[rga_fifo] <= alloc_q[rga_fifo] + PtrW'(rget_alloc_i.bytes[9:6]);
      if (rgc_good) tail_q[rgc_fifo] <= tail_q[rgc_fifo] + PtrW'(rget_commit_i.bytes[9:6]);
      if (rget_commit_i.valid) landed_q[rgc_fifo] <= landed_q[rgc_fifo] + PtrW'(rget_commit_i.bytes[9:6]);
      if (start) begin
        {head_q[rq_fifo], tail_q[rq_fifo], fetch_q[rq_fifo]}    <= '0;
        {alloc_q[rq_fifo], landed_q[rq_fifo], count_q[rq_fifo]} <= '0;
      end
    end
  end

  logic [LvlW-1:0] rgc_level;   // after a commit
  always_comb begin
    rgc_level = '0;
    if (rgc_good) rgc_level = LvlW'(tail_q[rgc_fifo] - head_q[rgc_fifo]) + LvlW'(rget_commit_i.bytes[9:6]);
  end

  // ---- configuration and flags --------------------------------------------------------------------
  logic [NInj-1:0] set_halt, set_avail;
  logic            fetch_last;

  always_comb begin
    set_avail = '0;
    set_halt  = path_halt_i | flow_halt_i;
    if (act_err_valid_i) set_halt[act_err_fifo_i] = 1'b1;
    if (rget_commit_i.valid && rget_commit_i.failed) set_halt[rgc_fifo] = 1'b1;
    if (wr && rq_reg == InjRegTail && new_level != level) set_avail[rq_fifo] = 1'b1;
    if (rgc_good) set_avail[rgc_fifo] = 1'b1;
  end

  assign fetch_last = fetch_q[fetch_fifo_i] + 1'b1 == tail_q[fetch_fifo_i];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {enable_q, remote_q, event_q, halted_q, broken_q, resume_q, avail_q} <= '0;
      owner_q <= '0;
      for (int unsigned f = 0; f < NInj; f++) begin
        size_q[f]   <= '0;
        high_q[f]   <= '0;
        reason_q[f] <= ErrNone;
      end
    end else begin
      if (set_halt != '0) halted_q <= halted_q | set_halt;
      if (flow_halt_i != '0) begin
        for (int unsigned f = 0; f < NInj; f++) if (flow_halt_i[f] && !broken_q[f]) reason_q[f] <= ErrDescFlow;
      end
      if (fetch_take_i && fetch_last) avail_q[fetch_fifo_i] <= 1'b0;
      if (set_avail != '0) avail_q <= (avail_q & ~(fetch_take_i && fetch_last ?
                                       NInj'(1) << fetch_fifo_i : '0)) | set_avail;
      if (act_err_valid_i) reason_q[act_err_fifo_i] <= act_err_i;
      if (retire_valid_i && retire_i.err && !broken_q[ret_fifo]) reason_q[ret_fifo] <= ErrPayloadRead;
      if (rgc_good && rgc_level > high_q[rgc_fifo]) high_q[rgc_fifo] <= rgc_level;
      if (rget_commit_i.valid && rget_commit_i.failed) begin
        broken_q[rgc_fifo] <= 1'b1;
        reason_q[rgc_fifo] <= ErrWrite;
      end
      if (resume) begin
        resume_q[res_fifo] <= 1'b0;
        if (!broken_q[res_fifo] && !set_halt[res_fifo]) begin
          halted_q[res_fifo] <= 1'b0;
          reason_q[res_fifo] <= ErrNone;
        end
        // A remote get that is committed in this cycle is not in tail_q yet.
        avail_q[res_fifo] <= set_avail[res_fifo] || head_q[res_fifo] + 1'b1 != tail_q[res_fifo];
      end
      if (wr) begin
        unique case (rq_reg)
          InjRegSize: size_q[rq_fifo] <= rq_wdata[20:6];
          InjRegTail: if (LvlW'(new_level) > high_q[rq_fifo]) high_q[rq_fifo] <= LvlW'(new_level);
          InjRegCtrl: begin
            enable_q[rq_fifo] <= rq_wdata[0];
            remote_q[rq_fifo] <= rq_wdata[1];
            owner_q[rq_fifo]  <= rq_wdata[7:4];
            event_q[rq_fifo]  <= rq_wdata[8];
            if (start) begin
              {halted_q[rq_fifo], broken_q[rq_fifo], resume_q[rq_fifo], avail_q[rq_fifo]} <= '0;
              reason_q[rq_fifo] <= ErrNone;
            end
          end
          InjRegStatus: if (rq_wdata[0] && halted_q[rq_fifo]) resume_q[rq_fifo] <= 1'b1;
          InjRegHighwater: high_q[rq_fifo] <= '0;
          default: ;
        endcase
      end
    end
  end

  // ---- events ------------------------------------------------------------------------------------
  logic             ret_err, moved, events_idle;
  logic [FidW-1:0]  bad_fifo;
  logic [AddrW-1:0] bad_addr;

  assign ret_err  = retire_valid_i && retire_i.err;
  assign bad_fifo = ret_err ? ret_fifo : act_err_fifo_i;
  always_comb begin
    bad_addr = '0;
    // Nothing older is in flight: HEAD is the descriptor at fault.
    if (ret_err || act_err_valid_i)
      bad_addr = desc_addr(base_q[bad_fifo], size_q[bad_fifo], LvlW'(head_q[bad_fifo]));
  end
  assign moved    = (complete && remote_q[ret_fifo]) || (resume && remote_q[res_fifo]) ||
                    (wr && rq_reg == InjRegCtrl) || (rget_commit_i.valid && rget_commit_i.failed);

  inj_fifo_events #(.NInj(NInj)) u_events (
      .clk_i, .rst_ni,
      .done_i(complete ? (NInj'(1) << ret_fifo) & event_q : '0),
      .err_valid_i(ret_err || act_err_valid_i), .err_i(ret_err ? ErrPayloadRead : act_err_i),
      .err_fifo_i(MaxFifoId'(bad_fifo)), .err_addr_i(bad_addr), .moved_i(moved),
      .done_o(desc_done_o), .err_o, .moved_o(rget_moved_o), .idle_o(events_idle)
  );

  // ---- look-ups ----------------------------------------------------------------------------------
  assign enable_o     = enable_q;
  assign remote_o     = remote_q;
  assign halted_o     = halted_q;
  assign avail_o      = avail_q;
  assign owner_o      = owner_q;
  assign fetch_addr_o = desc_addr(base_q[fetch_fifo_i], size_q[fetch_fifo_i], LvlW'(fetch_q[fetch_fifo_i]));

  assign rgl_fifo     = FidW'(rget_id_i);
  assign rget_ok_o    = 32'(rget_id_i) < NInj && enable_q[rgl_fifo] && remote_q[rgl_fifo] && !broken_q[rgl_fifo];
  assign rget_base_o  = {base_q[rgl_fifo], 12'b0};
  assign rget_size_o  = {size_q[rgl_fifo], 6'b0};
  assign rget_alloc_o = {alloc_q[rgl_fifo], 6'b0};
  assign rget_free_o  = {size_q[rgl_fifo] - LvlW'(alloc_q[rgl_fifo] - head_q[rgl_fifo]), 6'b0};

  assign idle_o = !rq_valid && !reg_ack_o && resume_req == '0 && events_idle;

  logic unused_table;
  assign unused_table = ^{retire_i.kind, retire_i.answer, rget_alloc_i.failed, rget_alloc_i.bytes[5:0], rget_commit_i.bytes[5:0],
                          rq_wdata};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) if (rst_ni) begin
    if (complete) HeadNotPastTail : assert (!enable_q[ret_fifo] || head_q[ret_fifo] != tail_q[ret_fifo])
    else $fatal(1, "%m: FIFO %0d completes a descriptor that it does not hold", ret_fifo);
    if (resume) ResumeNotPastTail : assert (!enable_q[res_fifo] || head_q[res_fifo] != tail_q[res_fifo])
    else $fatal(1, "%m: FIFO %0d drops a descriptor that it does not hold", res_fifo);
    if (wr && rq_reg == InjRegTail) TailInRing : assert (!enable_q[rq_fifo] || new_level <= PtrW'(size_q[rq_fifo]))
    else $fatal(1, "%m: FIFO %0d holds more than its ring", rq_fifo);
    if (rgc_good) CommitInRing : assert (!enable_q[rgc_fifo] || rgc_level <= size_q[rgc_fifo])
    else $fatal(1, "%m: FIFO %0d holds more than its ring", rgc_fifo);
    if (ret_err) OneReason : assert (!act_err_valid_i) else $fatal(1, "%m: two errors in one cycle");
    if (rget_alloc_i.valid) AllocFits : assert (PtrW'(size_q[rga_fifo]) - (alloc_q[rga_fifo] - head_q[rga_fifo]) >=
                                                PtrW'(rget_alloc_i.bytes[9:6]))
    else $fatal(1, "%m: remote get allocated beyond the ring");
    if (rget_commit_i.valid) CommitAllocated : assert (alloc_q[rgc_fifo] != landed_q[rgc_fifo])
    else $fatal(1, "%m: remote get committed without allocation");
  end
`endif
endmodule
