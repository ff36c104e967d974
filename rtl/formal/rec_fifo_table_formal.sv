// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// rec_fifo_table: whatever software writes, a ring never holds more than its size between HEAD and the allocated end, HEAD
// does not pass TAIL, TAIL moves as packets are committed in order, and a FIFO restarts only with nothing under way.
module rec_fifo_table_formal
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter bit AnySize = 1'b0,        // software may change SIZE while packets, long ones, are under way
    localparam int unsigned NRec = 2
) (
    input logic                 clk_i,
    input logic                 reg_req_i,
    input logic                 reg_we_i,
    input logic [9:0]           reg_addr_i,
    input logic [63:0]          reg_wdata_i,
    input logic [0:0]           look_id_i,
    input logic [9:0]           look_bytes_i,
    input logic                 alloc_i,
    input logic                 wait_i,
    input logic                 commit_i,
    input logic                 failed_i,
    input logic [0:0]           commit_id_i,
    input logic [9:0]           commit_bytes_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic              ack, err, ok, fits, committed, threshold, retry, idle;
  logic [63:0]       rdata;
  logic [AddrW-1:0]  addr;
  logic [AddrW-13:0] next_page;
  rec_fifo_table #(.NRec(NRec)) dut (
      .clk_i, .rst_ni(rst_n), .reg_req_i, .reg_we_i, .reg_addr_i, .reg_wdata_i, .reg_ack_o(ack), .reg_err_o(err),
      .reg_rdata_o(rdata), .look_id_i(MaxFifoId'(look_id_i)), .look_bytes_i, .look_ok_o(ok), .look_fits_o(fits),
      .look_addr_o(addr), .look_next_page_o(next_page), .alloc_i, .wait_i,
      .commit_i('{valid: commit_i, failed: failed_i, id: MaxFifoId'(commit_id_i), bytes: commit_bytes_i}),
      .committed_o(committed), .threshold_o(threshold), .retry_o(retry), .idle_o(idle)
  );

  logic asked_q;
  always_ff @(posedge clk_i) asked_q <= rst_n && reg_req_i;

  for (genvar f = 0; f < int'(NRec); f++) begin : gen_fifo
    // Packets allocated and not committed, and their bytes.
    logic [2:0]  flight_q;
    logic [31:0] bytes_q, level, ahead;
    logic        allocs, commits;
    assign allocs  = alloc_i && look_id_i == 1'(f);
    assign commits = commit_i && commit_id_i == 1'(f);
    assign level   = dut.tail_q[f] - dut.head_q[f];
    assign ahead   = dut.alloc_q[f] - dut.tail_q[f];
    always_ff @(posedge clk_i) begin
      if (!rst_n) begin
        flight_q <= '0;
        bytes_q  <= '0;
      end else begin
        flight_q <= flight_q + 3'(allocs) - 3'(commits);
        bytes_q  <= bytes_q + (allocs ? 32'(look_bytes_i) : 32'd0) - (commits ? 32'(commit_bytes_i) : 32'd0);
      end
    end
    always_ff @(posedge clk_i) if (rst_n) begin
      AssumeFits : assume (!allocs || (ok && fits && flight_q != '1 && look_bytes_i != '0));
      // Packets have bytes each, and the last under way all that are left.
      AssumeCommit : assume (!commits || (flight_q != '0 && commit_bytes_i != '0 && 32'(commit_bytes_i) <= bytes_q &&
                                          (flight_q != 3'd1 || 32'(commit_bytes_i) == bytes_q) &&
                                          (flight_q == 3'd1 || bytes_q - 32'(commit_bytes_i) >= 32'(flight_q) - 32'd1)));
      if (AnySize) AssumeLongOfFirst : assume (!allocs || (f == 0 && look_bytes_i == 10'd992));
      else AssumeSizeAtRest : assume (!(reg_req_i && reg_we_i && reg_addr_i[9:3] == 7'(8 * f + 1)) || flight_q == '0);
      Counted : assert (32'(dut.flight_q[f]) == 32'(flight_q));
      AllAllocated : assert (dut.halted_q[f] || ahead == bytes_q);
      if (dut.enable_q[f]) begin
        InRing : assert (dut.alloc_q[f] - dut.head_q[f] <= 32'(dut.size_q[f]));
        HeadNotPastTail : assert (level <= 32'(dut.size_q[f]));
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeOneAccess : assume (!reg_req_i || !asked_q);
    AnsweredNext : assert (ack == asked_q);
    CoverCommitted : cover (committed && threshold && dut.flight_q[0] != '0);
    CoverHalted : cover (dut.halted_q[0] && dut.flight_q[0] == '0 && dut.enable_q[0]);
  end
endmodule
