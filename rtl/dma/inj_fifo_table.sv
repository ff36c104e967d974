// Registers and state of the injection FIFOs of one group (HW-1), with the hooks of everything that moves
// their pointers: software (TAIL), descriptor fetch, completion, and remote gets from the receive side.
//
// FIFO f is at f*0x40, 64-bit registers:
//   +0x00 BASE       ring address, 48 bits, 4 KiB aligned; written while disabled only
//   +0x08 SIZE       ring bytes, power of two, 4 KiB..1 MiB; written while disabled only
//   +0x10 HEAD       RO, bytes completed, free-running modulo 2^32 (ring offset = HEAD & (SIZE-1))
//   +0x18 TAIL       bytes posted, free-running; a write starts the work. Whole descriptors, not before the
//                    old TAIL, not past HEAD+SIZE, and neither disabled nor remote-get FIFO
//   +0x20 CTRL       [0] enable, [1] remote-get FIFO, [7:4] owner, [8] completion event. [1] and [7:4]
//                    change while disabled only. Setting enable clears HEAD, TAIL, COUNT and STATUS; it
//                    needs a SIZE and nothing of the FIFO in flight
//   +0x28 STATUS     [0] halted by an error (write 1: skip the bad descriptor and resume, once what is in
//                    flight has left), [1] busy: work left or in flight, [2] empty, [15:8] err_e of the halt
//   +0x30 COUNT      RO, descriptors completed, modulo 2^32
//   +0x38 HIGHWATER  most bytes between HEAD and TAIL so far; a write clears it
// What breaks these rules, an absent FIFO, and an address that is not a multiple of 8 answer reg_err_o and
// change nothing. Other bits are ignored when written and read as zero.
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
  // Pointers count descriptors: byte counts without their low 6 bits.
  localparam int unsigned PtrW = 26;
  localparam int unsigned LvlW = 15;            // 0..1 MiB in descriptors

  typedef enum logic [2:0] {
    RegBase = 3'd0, RegSize = 3'd1, RegHead = 3'd2, RegTail = 3'd3,
    RegCtrl = 3'd4, RegStatus = 3'd5, RegCount = 3'd6, RegHighwater = 3'd7
  } reg_e;

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

  // ---- register access: the request is registered, then answered ------------------------------
  logic            rq_valid_q, rq_we_q, rq_bad_q;
  logic [FidW-1:0] rq_fifo_q;
  reg_e            rq_reg_q;
  logic [63:0]     rq_wdata_q;
  logic            ack_q, nack_q;
  logic [63:0]     rdata_q;

  logic            ok, wr, start;
  logic [63:0]     rdata;
  logic [PtrW-1:0] level, new_level;
  logic            no_fifo;

  if (NInj < 32) begin : gen_absent
    assign no_fifo = reg_addr_i[10:6] >= 5'(NInj);
  end else begin : gen_all
    assign no_fifo = 1'b0;
  end

  always_comb begin
    ok        = 1'b0;
    rdata     = '0;
    level     = '0;
    new_level = '0;
    if (rq_valid_q) begin
      level     = tail_q[rq_fifo_q] - head_q[rq_fifo_q];
      new_level = rq_wdata_q[31:6] - head_q[rq_fifo_q];
      unique case (rq_reg_q)
        RegBase: begin
          rdata = {16'b0, base_q[rq_fifo_q], 12'b0};
          ok    = !enable_q[rq_fifo_q] && rq_wdata_q[11:0] == '0 && rq_wdata_q[63:AddrW] == '0;
        end
        RegSize: begin
          rdata = 64'({size_q[rq_fifo_q], 6'b0});
          ok    = !enable_q[rq_fifo_q] && $onehot(rq_wdata_q[20:12]) && rq_wdata_q[11:0] == '0 &&
                  rq_wdata_q[63:21] == '0;
        end
        RegHead: rdata = {32'b0, head_q[rq_fifo_q], 6'b0};
        RegTail: begin
          rdata = {32'b0, tail_q[rq_fifo_q], 6'b0};
          ok    = enable_q[rq_fifo_q] && !remote_q[rq_fifo_q] && rq_wdata_q[5:0] == '0 &&
                  rq_wdata_q[63:32] == '0 && new_level >= level && new_level <= PtrW'(size_q[rq_fifo_q]);
        end
        RegCtrl: begin
          rdata = 64'({event_q[rq_fifo_q], owner_q[rq_fifo_q], 2'b0, remote_q[rq_fifo_q], enable_q[rq_fifo_q]});
          if (!rq_wdata_q[0]) ok = 1'b1;
          else if (enable_q[rq_fifo_q])
            ok = rq_wdata_q[1] == remote_q[rq_fifo_q] && rq_wdata_q[7:4] == owner_q[rq_fifo_q];
          else
            ok = size_q[rq_fifo_q] != '0 && !busy_i[rq_fifo_q] && alloc_q[rq_fifo_q] == landed_q[rq_fifo_q];
        end
        RegStatus: begin
          rdata = 64'({reason_q[rq_fifo_q], 5'b0, level == '0,
                       busy_i[rq_fifo_q] || (enable_q[rq_fifo_q] && level != '0), halted_q[rq_fifo_q]});
          ok    = !rq_wdata_q[0] || !broken_q[rq_fifo_q];
        end
        RegCount: rdata = 64'(count_q[rq_fifo_q]);
        RegHighwater: begin
          rdata = 64'({high_q[rq_fifo_q], 6'b0});
          ok    = 1'b1;
        end
        default: rdata = '0;
      endcase
    end
  end

  assign wr    = rq_valid_q && rq_we_q && !rq_bad_q && ok;
  assign start = wr && rq_reg_q == RegCtrl && rq_wdata_q[0] && !enable_q[rq_fifo_q];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rq_valid_q <= 1'b0;
      ack_q      <= 1'b0;
      nack_q     <= 1'b0;
    end else begin
      rq_valid_q <= reg_req_i;
      ack_q      <= rq_valid_q;
      nack_q     <= rq_valid_q && (rq_bad_q || (rq_we_q && !ok));
    end
  end

  always_ff @(posedge clk_i) begin
    if (reg_req_i) begin
      rq_we_q    <= reg_we_i;
      rq_bad_q   <= no_fifo || reg_addr_i[2:0] != '0;
      rq_fifo_q  <= no_fifo ? '0 : FidW'(reg_addr_i[10:6]);
      rq_reg_q   <= reg_e'(reg_addr_i[5:3]);
      rq_wdata_q <= reg_wdata_i;
    end
    if (rq_valid_q) rdata_q <= (rq_we_q || rq_bad_q) ? '0 : rdata;
  end

  assign reg_ack_o   = ack_q;
  assign reg_err_o   = nack_q;
  assign reg_rdata_o = rdata_q;

  // ---- who moves what in this cycle -----------------------------------------------------------
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
  assign resume       = resume_req != '0 && !rq_valid_q;

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
      if (wr && rq_reg_q == RegBase) base_q[rq_fifo_q] <= rq_wdata_q[AddrW-1:12];
      if (complete) begin
        head_q[ret_fifo]  <= head_q[ret_fifo] + 1'b1;
        count_q[ret_fifo] <= count_q[ret_fifo] + 1'b1;
      end
      if (fetch_take_i) fetch_q[fetch_fifo_i] <= fetch_q[fetch_fifo_i] + 1'b1;
      if (resume) begin
        head_q[res_fifo]  <= head_q[res_fifo] + 1'b1;
        fetch_q[res_fifo] <= head_q[res_fifo] + 1'b1;
      end
      if (wr && rq_reg_q == RegTail) tail_q[rq_fifo_q] <= rq_wdata_q[31:6];
      if (rget_alloc_i.valid) alloc_q[rga_fifo] <= alloc_q[rga_fifo] + PtrW'(rget_alloc_i.bytes[9:6]);
      if (rgc_good) tail_q[rgc_fifo] <= tail_q[rgc_fifo] + PtrW'(rget_commit_i.bytes[9:6]);
      if (rget_commit_i.valid) landed_q[rgc_fifo] <= landed_q[rgc_fifo] + PtrW'(rget_commit_i.bytes[9:6]);
      if (start) begin
        head_q[rq_fifo_q]   <= '0;
        tail_q[rq_fifo_q]   <= '0;
        fetch_q[rq_fifo_q]  <= '0;
        alloc_q[rq_fifo_q]  <= '0;
        landed_q[rq_fifo_q] <= '0;
        count_q[rq_fifo_q]  <= '0;
      end
    end
  end

  // ---- highest level ----------------------------------------------------------------------------
  logic [LvlW-1:0] rgc_level;
  always_comb begin
    rgc_level = '0;
    if (rgc_good) rgc_level = LvlW'(tail_q[rgc_fifo] - head_q[rgc_fifo]) + LvlW'(rget_commit_i.bytes[9:6]);
  end

  // ---- configuration and flags --------------------------------------------------------------------
  logic [NInj-1:0] set_halt, set_avail;
  logic            fetch_last;

  always_comb begin
    set_avail = '0;
    set_halt  = path_halt_i;
    if (act_err_valid_i) set_halt[act_err_fifo_i] = 1'b1;
    if (rget_commit_i.valid && rget_commit_i.failed) set_halt[rgc_fifo] = 1'b1;
    if (wr && rq_reg_q == RegTail && new_level != level) set_avail[rq_fifo_q] = 1'b1;
    if (rgc_good) set_avail[rgc_fifo] = 1'b1;
  end

  assign fetch_last = fetch_q[fetch_fifo_i] + 1'b1 == tail_q[fetch_fifo_i];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      enable_q <= '0;
      remote_q <= '0;
      event_q  <= '0;
      owner_q  <= '0;
      halted_q <= '0;
      broken_q <= '0;
      resume_q <= '0;
      avail_q  <= '0;
      for (int unsigned f = 0; f < NInj; f++) begin
        size_q[f]   <= '0;
        high_q[f]   <= '0;
        reason_q[f] <= ErrNone;
      end
    end else begin
      if (set_halt != '0) halted_q <= halted_q | set_halt;
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
        avail_q[res_fifo] <= head_q[res_fifo] + 1'b1 != tail_q[res_fifo];
      end
      if (wr) begin
        unique case (rq_reg_q)
          RegSize: size_q[rq_fifo_q] <= rq_wdata_q[20:6];
          RegTail: if (LvlW'(new_level) > high_q[rq_fifo_q]) high_q[rq_fifo_q] <= LvlW'(new_level);
          RegCtrl: begin
            enable_q[rq_fifo_q] <= rq_wdata_q[0];
            remote_q[rq_fifo_q] <= rq_wdata_q[1];
            owner_q[rq_fifo_q]  <= rq_wdata_q[7:4];
            event_q[rq_fifo_q]  <= rq_wdata_q[8];
            if (start) begin
              halted_q[rq_fifo_q] <= 1'b0;
              broken_q[rq_fifo_q] <= 1'b0;
              resume_q[rq_fifo_q] <= 1'b0;
              avail_q[rq_fifo_q]  <= 1'b0;
              reason_q[rq_fifo_q] <= ErrNone;
            end
          end
          RegStatus: if (rq_wdata_q[0] && halted_q[rq_fifo_q]) resume_q[rq_fifo_q] <= 1'b1;
          RegHighwater: high_q[rq_fifo_q] <= '0;
          default: ;
        endcase
      end
    end
  end

  // ---- events ------------------------------------------------------------------------------------
  logic [NInj-1:0] done_q;
  error_t          err_q;
  logic            ret_err;
  logic [FidW-1:0] bad_fifo;
  logic            moved, moved_q;

  assign ret_err  = retire_valid_i && retire_i.err;
  assign bad_fifo = ret_err ? ret_fifo : act_err_fifo_i;
  assign moved    = (complete && remote_q[ret_fifo]) || (resume && remote_q[res_fifo]) ||
                    (wr && rq_reg_q == RegCtrl) || (rget_commit_i.valid && rget_commit_i.failed);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      done_q  <= '0;
      err_q   <= '0;
      moved_q <= 1'b0;
    end else begin
      moved_q <= moved;
      if (complete || done_q != '0) done_q <= complete ? (NInj'(1) << ret_fifo) & event_q : '0;
      if (ret_err || act_err_valid_i) begin
        // Nothing older is in flight: HEAD is the descriptor at fault.
        err_q <= '{valid: 1'b1, reason: ret_err ? ErrPayloadRead : act_err_i, where: MaxFifoId'(bad_fifo),
                   info: 64'(desc_addr(base_q[bad_fifo], size_q[bad_fifo], LvlW'(head_q[bad_fifo])))};
      end else if (err_q.valid) err_q.valid <= 1'b0;
    end
  end

  assign desc_done_o = done_q;
  assign err_o       = err_q;
  assign rget_moved_o = moved_q;

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

  assign idle_o = !rq_valid_q && !ack_q && !nack_q && resume_req == '0 && done_q == '0 && !err_q.valid &&
                  !moved_q;

  logic unused_table;
  assign unused_table = ^{retire_i.kind, rget_alloc_i.failed, rget_alloc_i.bytes[5:0], rget_commit_i.bytes[5:0]};

`ifndef SYNTHESIS
  for (genvar f = 0; f < NInj; f++) begin : gen_check
    HeadNotPastTail : assert property (@(posedge clk_i) disable iff (!rst_ni || !enable_q[f])
        tail_q[f] - head_q[f] <= PtrW'(size_q[f]))
    else $fatal(1, "%m: FIFO %0d holds more than its ring", f);
  end
  OneReason : assert property (@(posedge clk_i) disable iff (!rst_ni) !(ret_err && act_err_valid_i))
  else $fatal(1, "%m: two errors in one cycle");
  AllocFits : assert property (@(posedge clk_i) disable iff (!rst_ni)
      rget_alloc_i.valid |-> PtrW'(size_q[rga_fifo]) - (alloc_q[rga_fifo] - head_q[rga_fifo]) >=
                             PtrW'(rget_alloc_i.bytes[9:6]))
  else $fatal(1, "%m: remote get allocated beyond the ring");
  CommitAllocated : assert property (@(posedge clk_i) disable iff (!rst_ni)
      rget_commit_i.valid |-> alloc_q[rgc_fifo] != landed_q[rgc_fifo])
  else $fatal(1, "%m: remote get committed without allocation");
  initial begin
    if (NInj == 0 || NInj > 32) $fatal(1, "%m: NInj is %0d; a group page holds 1..32 injection FIFOs", NInj);
  end
`endif
endmodule
