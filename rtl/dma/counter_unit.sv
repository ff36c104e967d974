// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Byte counters in memory: 8 B little-endian, lowered by the payload bytes of puts (HW-1), by one for a put
// without payload. One entry for each counter in work merges the decrements that arrive meanwhile, so a
// counter is read, lowered and written back by one entry at a time; different counters overlap. `zero_o`
// pulses when a counter that was written has reached exactly 0 and the write is answered. Below zero the
// counter wraps: ErrCounterUnderflow. A refused read or write is ErrCounterAccess; the decrement is lost.
// Decrements on the last port are reported when they are in memory (or lost), so that those of a flow (HW-4) arrive
// there in order.
//
// Read-modify-writes go through the same entries, one at a time up to its write, and never share one: the order
// in which they and decrements come in is that in which each word of memory sees them. Every one is written,
// with no byte enabled where a comparison failed, so that they complete in order. A refused read or write is
// ErrRmwAccess.
module counter_unit
  import gyre_pkg::*;
  import gyre_dma_pkg::*;
#(
    parameter int unsigned NPath = 7,
    parameter logic [AxiIdW-1:0] WriteId = 5'd7,
    parameter int unsigned NEntry = 8
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    // decrements
    input  logic [NPath-1:0]    req_i,
    input  logic [AddrW-1:0]    req_addr_i  [NPath],   // multiple of 8
    input  logic [9:0]          req_bytes_i [NPath],
    output logic [NPath-1:0]    req_ack_o,
    output logic                last_busy_o,  // one of the last port is not in memory yet, from the cycle after req_ack_o
    // read-modify-writes
    input  logic                rmw_req_i,
    input  rmw_exec_t           rmw_i,
    output logic                rmw_ack_o,
    output logic                rmw_done_o,   // one-cycle pulse, in the order of rmw_ack_o: in memory
    output logic                rmw_failed_o, // or refused
    output logic [63:0]         rmw_old_o,    // the operand before
    // reads of 8 B, answered in order
    output logic                ar_valid_o,
    input  logic                ar_ready_i,
    output logic [AddrW-1:0]    ar_addr_o,
    input  logic                r_valid_i,
    input  logic [63:0]         r_data_i,
    input  logic                r_err_i,
    // write multiplexer
    output logic                aw_req_o,
    output axi_addr_t           aw_o,
    input  logic                aw_gnt_i,
    input  logic                w_sel_i,
    input  logic                w_pop_i,
    output logic [AxiW-1:0]     w_data_o,
    output logic [AxiBytes-1:0] w_strb_o,
    input  logic                b_valid_i,
    input  logic                b_bad_i,
    output logic                zero_o,
    output error_t              err_o,     // held until taken
    input  logic                err_ack_i,
    output logic                busy_o,    // a decrement is not in memory yet
    output logic                idle_o
);
  localparam int unsigned IdxW = $clog2(NEntry);
  localparam int unsigned SumW = 32;
  typedef enum logic [2:0] {StFree, StRead, StReadWait, StWrite, StWriteWait, StError} state_e;

  state_e [NEntry-1:0] st_q;
  logic [AddrW-1:0] addr_q [NEntry];
  logic [SumW-1:0]  sum_q  [NEntry];   // bytes not yet taken from the counter in memory
  logic [63:0]      new_q  [NEntry];
  err_e [NEntry-1:0] err_q;
  logic [NEntry-1:0] zero_q;
  logic [NEntry-1:0] rmw_q;            // read-modify-write
  logic [NEntry-1:0][7:0] strb_q;      // bytes to write
  logic [63:0]      old_q  [NEntry];   // read-modify-write: the operand before
  logic [NEntry-1:0] finished;         // the write of the taken value is answered, or its error known

  // ---- input ---------------------------------------------------------------------------------
  logic             in_valid_q, in_take, in_load, in_rmw_q, in_last_q;
  logic [AddrW-1:0] in_addr_q;
  logic [9:0]       in_bytes_q;
  logic             early_q;           // a read-modify-write is not written yet; exec_q is its own
  rmw_exec_t        exec_q;
  logic [NPath:0]   req, gnt;
  assign req     = {rmw_req_i && !early_q, req_i};
  assign in_load = (!in_valid_q || in_take) && req != '0;
  rr_arbiter #(.N(NPath + 1)) u_arb (.clk_i, .rst_ni, .req_i(req), .advance_i(in_load), .gnt_o(gnt));
  assign req_ack_o = in_load ? gnt[NPath-1:0] : '0;
  assign rmw_ack_o = in_load && gnt[NPath];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) in_valid_q <= 1'b0;
    else if (in_load || in_take) in_valid_q <= in_load;
  end
  always_ff @(posedge clk_i) begin
    if (in_load) begin
      for (int unsigned p = 0; p < NPath; p++) begin
        if (gnt[p]) begin
          in_addr_q  <= req_addr_i[p];
          in_bytes_q <= req_bytes_i[p];
        end
      end
      in_rmw_q  <= gnt[NPath];
      in_last_q <= gnt[NPath-1];
      if (gnt[NPath]) begin
        in_addr_q <= {rmw_i.addr[AddrW-1:3], 3'd0};
        exec_q    <= rmw_i;
      end
    end
  end

  logic [NEntry-1:0] used, match, want_read, want_write, read_gnt, write_gnt, has_error, first_free, add;
  for (genvar e = 0; e < NEntry; e++) begin : gen_flags
    assign used[e]       = st_q[e] != StFree;
    assign match[e]      = in_valid_q && used[e] && addr_q[e] == in_addr_q;
    assign want_read[e]  = st_q[e] == StRead;
    assign want_write[e] = st_q[e] == StWrite;
    assign has_error[e]  = st_q[e] == StError;
  end
  assign first_free = ~used & (used + 1'b1);
  assign in_take    = in_valid_q && (match != '0 ? !in_rmw_q && (match & rmw_q) == '0 : first_free != '0);
  assign add        = !in_take ? '0 : match != '0 ? match : first_free;

  function automatic logic [IdxW-1:0] index_of(logic [NEntry-1:0] one_hot);
    logic [IdxW-1:0] i;
    i = '0;
    for (int unsigned e = 0; e < NEntry; e++) if (one_hot[e]) i |= IdxW'(e);
    return i;
  endfunction

  // ---- read ------------------------------------------------------------------------------------
  logic            ar_valid_q, read_start, r_empty, r_full;
  logic [$clog2(NEntry+1)-1:0] r_level, b_level;
  logic [IdxW-1:0] read_idx, r_idx, w_idx_q, b_idx, write_idx, err_idx;
  logic [AddrW-1:0] ar_addr_q;
  assign read_start = want_read != '0 && (!ar_valid_q || ar_ready_i);
  // In turn: counters that are lowered all the time leave others theirs.
  rr_arbiter #(.N(NEntry)) u_read_arb (
      .clk_i, .rst_ni, .req_i(want_read), .advance_i(read_start), .gnt_o(read_gnt)
  );
  assign read_idx   = index_of(read_gnt);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ar_valid_q <= 1'b0;
    else if (read_start || ar_ready_i) ar_valid_q <= read_start;
  end
  always_ff @(posedge clk_i) begin
    if (read_start) ar_addr_q <= addr_q[read_idx];
  end
  assign ar_valid_o = ar_valid_q;
  assign ar_addr_o  = ar_addr_q;
  gyre_fifo #(.Width(IdxW), .Depth(NEntry)) u_reads (
      .clk_i, .rst_ni, .clear_i(1'b0), .push_i(read_start), .data_i(read_idx),
      .pop_i(r_valid_i), .data_o(r_idx), .empty_o(r_empty), .full_o(r_full), .level_o(r_level)
  );

  logic [63:0] lowered, applied, old;
  logic [7:0]  applied_strb;
  assign lowered = r_data_i - {32'd0, sum_q[r_idx]};
  rmw_alu u_alu (
      .valid_i(r_valid_i && rmw_q[r_idx]), .exec_i(exec_q), .data_i(r_data_i),
      .new_o(applied), .strb_o(applied_strb), .old_o(old)
  );

  // ---- write -----------------------------------------------------------------------------------
  logic w_busy_q, write_start, b_empty, b_full;
  rr_arbiter #(.N(NEntry)) u_write_arb (
      .clk_i, .rst_ni, .req_i(want_write), .advance_i(write_start), .gnt_o(write_gnt)
  );
  assign write_idx   = index_of(write_gnt);
  assign aw_req_o    = want_write != '0 && !w_busy_q;
  assign aw_o        = '{addr: {addr_q[write_idx][AddrW-1:6], 6'd0}, len: 8'd0, id: WriteId};
  assign write_start = aw_gnt_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      w_busy_q <= 1'b0;
      w_idx_q  <= '0;
    end else if (write_start) begin
      w_busy_q <= 1'b1;
      w_idx_q  <= write_idx;
    end else if (w_pop_i) begin
      w_busy_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) early_q <= 1'b0;
    else if (rmw_ack_o) early_q <= 1'b1;
    else if (write_start && rmw_q[write_idx]) early_q <= 1'b0;
  end
  always_comb begin
    w_data_o = '0;
    w_strb_o = '0;
    if (w_sel_i) begin
      w_data_o[{addr_q[w_idx_q][5:3], 6'd0}+:64] = new_q[w_idx_q];
      w_strb_o[{addr_q[w_idx_q][5:3], 3'd0}+:8]  = strb_q[w_idx_q];
    end
  end
  gyre_fifo #(.Width(IdxW), .Depth(NEntry)) u_writes (
      .clk_i, .rst_ni, .clear_i(1'b0), .push_i(write_start), .data_i(write_idx),
      .pop_i(b_valid_i), .data_o(b_idx), .empty_o(b_empty), .full_o(b_full), .level_o(b_level)
  );

  assign rmw_done_o   = b_valid_i && rmw_q[b_idx];
  assign rmw_failed_o = b_bad_i || err_q[b_idx] != ErrNone;
  assign rmw_old_o    = old_q[b_idx];

  // ---- errors and events --------------------------------------------------------------------------
  assign err_idx = index_of(has_error & (~has_error + 1'b1));
  always_comb begin
    err_o        = '0;
    err_o.reason = ErrNone;
    if (has_error != '0)
      err_o = '{valid: 1'b1, reason: err_q[err_idx], where: '0, info: {16'd0, addr_q[err_idx]}};
  end
  logic zero_q1;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) zero_q1 <= 1'b0;
    else if (b_valid_i || zero_q1) zero_q1 <= b_valid_i && !b_bad_i && zero_q[b_idx];
  end
  assign zero_o = zero_q1;

  // ---- entries -----------------------------------------------------------------------------------
  for (genvar e = 0; e < NEntry; e++) begin : gen_entry
    logic            adds, reads, writes, b_here, r_here, finish;
    logic [SumW-1:0] sum_d;   // with the decrement that arrives now
    assign adds   = add[e];
    assign reads  = read_start && read_idx == IdxW'(e);
    assign r_here = r_valid_i && r_idx == IdxW'(e);
    assign writes = write_start && write_idx == IdxW'(e);
    assign b_here = b_valid_i && b_idx == IdxW'(e);
    assign finish = (b_here && !b_bad_i && err_q[e] == ErrNone) ||
                    (st_q[e] == StError && err_ack_i && err_idx == IdxW'(e));
    assign finished[e] = finish;
    assign sum_d  = (used[e] ? sum_q[e] : '0) + (adds && !in_rmw_q ? SumW'(in_bytes_q) : '0);

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        st_q[e]   <= StFree;
        addr_q[e] <= '0;
        sum_q[e]  <= '0;
        new_q[e]  <= '0;
        err_q[e]  <= ErrNone;
        zero_q[e] <= 1'b0;
        rmw_q[e]  <= 1'b0;
        strb_q[e] <= '0;
        old_q[e]  <= '0;
      end else if (adds || reads || r_here || writes || b_here || finish) begin
        sum_q[e] <= sum_d;
        if (adds && !used[e]) begin
          addr_q[e] <= in_addr_q;
          st_q[e]   <= StRead;
          err_q[e]  <= ErrNone;
          rmw_q[e]  <= in_rmw_q;
        end
        if (reads) st_q[e] <= StReadWait;
        if (r_here && rmw_q[e]) begin
          new_q[e]  <= applied;
          strb_q[e] <= r_err_i ? '0 : applied_strb;
          old_q[e]  <= old;
          zero_q[e] <= 1'b0;
          err_q[e]  <= r_err_i ? ErrRmwAccess : ErrNone;
          st_q[e]   <= StWrite;
        end else if (r_here) begin
          sum_q[e]  <= adds ? SumW'(in_bytes_q) : '0;
          new_q[e]  <= lowered;
          strb_q[e] <= '1;
          zero_q[e] <= lowered == '0;
          err_q[e]  <= r_err_i ? ErrCounterAccess
                     : r_data_i < {32'd0, sum_q[e]} ? ErrCounterUnderflow : ErrNone;
          st_q[e]   <= r_err_i ? StError : StWrite;
        end
        if (writes) st_q[e] <= StWriteWait;
        if (b_here && !finish) begin
          st_q[e] <= StError;
          if (b_bad_i) err_q[e] <= rmw_q[e] ? ErrRmwAccess : ErrCounterAccess;
        end
        if (finish) begin
          st_q[e]  <= sum_d != '0 ? StRead : StFree;
          err_q[e] <= ErrNone;
        end
      end
    end
  end

  // ---- the last decrement of the last port: taken from memory's value, then written ------------------
  typedef enum logic [1:0] {LastNone, LastRead, LastWrite} last_e;
  last_e             last_q;
  logic [NEntry-1:0] last_entry_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      last_q       <= LastNone;
      last_entry_q <= '0;
    end else if (in_take && in_last_q) begin
      last_q       <= LastRead;
      last_entry_q <= add;
    end else if (last_q == LastRead && r_valid_i && last_entry_q[r_idx]) begin
      last_q <= LastWrite;
    end else if (last_q == LastWrite && (finished & last_entry_q) != '0) begin
      last_q <= LastNone;
    end
  end
  assign last_busy_o = (in_valid_q && in_last_q) || last_q != LastNone;

  assign busy_o = in_valid_q || used != '0;
  assign idle_o = req == '0 && !in_take && want_read == '0 && want_write == '0 && has_error == '0 &&
                  !ar_valid_q && !w_busy_q && !zero_q1;
  logic unused_flags;
  assign unused_flags = ^{r_empty, b_empty, r_full, b_full, r_level, b_level};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && in_valid_q) begin
      OneEntry : assert ($onehot0(match))
      else $fatal(1, "%m: one counter in two entries");
    end
    if (rst_ni && in_valid_q) begin
      Aligned : assert (in_addr_q[2:0] == '0)
      else $fatal(1, "%m: counter address not a multiple of 8");
    end
    if (rst_ni && in_valid_q && !in_rmw_q) begin
      NoZero : assert (in_bytes_q != '0)
      else $fatal(1, "%m: decrement by zero");
    end
    if (rst_ni && r_valid_i && rmw_q[r_idx]) begin
      RmwSound : assert (early_q && exec_q.op <= RmwXor && exec_q.addr[1:0] == '0 && !(exec_q.wide && exec_q.addr[2]))
      else $fatal(1, "%m: unknown operation, or operand not aligned");
    end
    if (rst_ni && in_take && match != '0) begin
      RmwAlone : assert (!in_rmw_q && (match & rmw_q) == '0)
      else $fatal(1, "%m: a read-modify-write shares its entry");
    end
  end
`endif
endmodule
