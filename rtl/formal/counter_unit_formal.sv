// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// counter_unit: every decrement lowers its counter in memory by its bytes once, however decrements of several ports meet
// in an entry, and a counter that reaches zero is reported. Memory is two counters; reads and writes take any time.
module counter_unit_formal
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    localparam int unsigned NPath = 2,
    localparam int unsigned NEntry = 2
) (
    input logic             clk_i,
    input logic [NPath-1:0] req_i,
    input logic [NPath-1:0] second_i,         // counter lowered
    input logic [1:0]       bytes_i,          // of both ports
    input logic [5:0]       start_i,          // value of the first counter
    input logic             ar_ready_i,
    input logic             read_i,
    input logic             aw_gnt_i,
    input logic             w_pop_i,
    input logic             b_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [NPath-1:0]    ack;
  logic [AddrW-1:0]    addr [NPath], ar_addr;
  logic [9:0]          bytes [NPath];
  logic                last_busy, rmw_ack, rmw_done, rmw_failed, ar_valid, aw_req, zero, busy, idle;
  logic [63:0]         rmw_old;
  axi_addr_t           aw;
  logic [AxiW-1:0]     w_data;
  logic [AxiBytes-1:0] w_strb;
  error_t              err;

  // Memory: reads accepted in order, a write granted, popped and answered one at a time or two in order.
  logic [63:0] memory_q [2];
  logic        read_mem_q [2];                 // counters of the reads under way
  logic [1:0]  reads_q, answers_q;
  logic        w_open_q, read_which, r_valid, w_pop, b_valid;
  assign r_valid = read_i && reads_q != '0;
  assign w_pop   = w_pop_i && w_open_q;
  assign b_valid = b_i && answers_q != '0;
  assign read_which = read_mem_q[0];
  for (genvar p = 0; p < int'(NPath); p++) begin : gen_port
    assign addr[p]  = second_i[p] ? AddrW'(8) : '0;
    assign bytes[p] = {8'd0, bytes_i};
  end

  counter_unit #(.NPath(NPath), .NEntry(NEntry)) dut (
      .clk_i, .rst_ni(rst_n), .req_i, .req_addr_i(addr), .req_bytes_i(bytes), .req_ack_o(ack), .last_busy_o(last_busy),
      .rmw_req_i(1'b0), .rmw_i('0), .rmw_ack_o(rmw_ack), .rmw_done_o(rmw_done), .rmw_failed_o(rmw_failed),
      .rmw_old_o(rmw_old), .ar_valid_o(ar_valid), .ar_ready_i, .ar_addr_o(ar_addr), .r_valid_i(r_valid),
      .r_data_i(memory_q[read_which]), .r_err_i(1'b0), .aw_req_o(aw_req), .aw_o(aw), .aw_gnt_i(aw_gnt_i && aw_req),
      .w_sel_i(w_open_q), .w_pop_i(w_pop), .w_data_o(w_data), .w_strb_o(w_strb), .b_valid_i(b_valid), .b_bad_i(1'b0),
      .zero_o(zero), .err_o(err), .err_ack_i(1'b0), .busy_o(busy), .idle_o(idle)
  );

  // Expected value of the first counter.
  logic [63:0] owed_q;
  logic        zero_due_q;
  logic [1:0]  ar_level;
  assign ar_level = reads_q - 2'(r_valid);
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      memory_q   <= '{64'(start_i), 64'd40};
      owed_q     <= 64'(start_i);
      reads_q    <= '0;
      answers_q  <= '0;
      w_open_q   <= 1'b0;
    end else begin
      if ((ack[0] && !second_i[0]) || (ack[1] && !second_i[1])) owed_q <= owed_q - 64'(bytes_i);
      if (r_valid) read_mem_q[0] <= read_mem_q[1];
      if (ar_valid && ar_ready_i) read_mem_q[ar_level[0]] <= ar_addr[3];
      reads_q <= ar_level + 2'(ar_valid && ar_ready_i);
      if (aw_gnt_i && aw_req) w_open_q <= 1'b1;
      else if (w_pop) w_open_q <= 1'b0;
      if (w_pop) begin
        if (w_strb[0]) memory_q[0] <= w_data[63:0];
        if (w_strb[8]) memory_q[1] <= w_data[127:64];
      end
      answers_q <= answers_q + 2'(w_pop) - 2'(b_valid);
    end
  end

  // The first counter came to zero in memory, and its write is not answered yet.
  always_ff @(posedge clk_i) begin
    if (!rst_n) zero_due_q <= 1'b0;
    else if (w_pop && w_strb[0] && w_data[63:0] == '0) zero_due_q <= 1'b1;
    else if (zero) zero_due_q <= 1'b0;
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeBytes : assume (bytes_i != '0);
    AssumeEnough : assume (owed_q >= 64'(bytes_i) || owed_q == '0 && (req_i & ~second_i) == '0);
    AssumeReads : assume (!(ar_valid && ar_ready_i) || ar_level < 2'd2);
    AssumeOthers : assume (dut.sum_q[0] < 32'd32 && dut.sum_q[1] < 32'd32);
    AckOfRequest : assert ((ack & ~req_i) == '0 && $onehot0(ack));
    Exact : assert (busy || memory_q[0] == owed_q);
    NoError : assert (!err.valid || err.info != '0);
    ZeroTold : assert (!zero_due_q || zero || busy || answers_q != '0);
    LastBusy : assert (last_busy || busy || memory_q[0] == owed_q);
    CoverMerged : cover (!busy && owed_q == 64'd1 && dut.sum_q[0] == '0 && memory_q[1] < 64'd40);
    CoverZero : cover (zero && zero_due_q);
  end
endmodule
