// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// axil_arbiter: whatever two AXI4-Lite masters and the register bus do, an answer holds until it is taken, an access on
// the register bus is one that a master asked for and holds until its answer, each is answered once, and a slave waits
// for one access of the other at most.
module axil_arbiter_formal #(
    parameter int unsigned AddrW = 5
) (
    input logic                  clk_i,
    input logic                  who_i,
    input logic [1:0]            aw_valid_i,
    input logic [1:0][AddrW-1:0] aw_addr_i,
    input logic [1:0]            w_valid_i,
    input logic [1:0][3:0]       w_data_i,
    input logic [1:0]            w_whole_i,
    input logic [1:0]            b_ready_i,
    input logic [1:0]            ar_valid_i,
    input logic [1:0][AddrW-1:0] ar_addr_i,
    input logic [1:0]            r_ready_i,
    input logic                  ack_i,
    input logic                  reg_err_i,
    input logic [3:0]            reg_rdata_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [1:0]       aw_ready, w_ready, ar_ready, b_valid, r_valid;
  logic [AddrW-1:0] aw_addr [2], ar_addr [2];
  logic [63:0]      w_data [2], r_data [2];
  logic [7:0]       w_strb [2];
  logic [1:0]       b_resp [2], r_resp [2];
  logic             req, we, active, idle, bus_q;
  logic [AddrW-1:0] addr;
  logic [63:0]      wdata;
  for (genvar s = 0; s < 2; s++) begin : gen_slave
    assign aw_addr[s] = aw_addr_i[s];
    assign ar_addr[s] = ar_addr_i[s];
    assign w_data[s]  = 64'(w_data_i[s]);
    assign w_strb[s]  = w_whole_i[s] ? 8'hff : 8'h0f;
  end

  axil_arbiter #(.AddrW(AddrW)) dut (
      .clk_i, .rst_ni(rst_n), .aw_valid_i, .aw_ready_o(aw_ready), .aw_addr_i(aw_addr), .w_valid_i, .w_ready_o(w_ready),
      .w_data_i(w_data), .w_strb_i(w_strb), .b_valid_o(b_valid), .b_ready_i, .b_resp_o(b_resp), .ar_valid_i,
      .ar_ready_o(ar_ready), .ar_addr_i(ar_addr), .r_valid_o(r_valid), .r_ready_i, .r_data_o(r_data),
      .r_resp_o(r_resp), .reg_req_o(req), .reg_we_o(we), .reg_addr_o(addr), .reg_wdata_o(wdata), .reg_ack_i(ack_i),
      .reg_err_i, .reg_rdata_i(64'(reg_rdata_i)), .active_o(active), .idle_o(idle)
  );

  // One slave, chosen freely: accesses that it took and has not answered.
  logic             who_q, aw_q, w_q, ar_q, whole_q, mine_q, we_q, b_waits_q, r_waits_q;
  logic [AddrW-1:0] aw_addr_q, ar_addr_q, addr_q;
  logic [3:0]       w_data_q, wdata_q;
  logic [1:0]       b_resp_q, r_resp_q, others_q;
  logic [63:0]      r_data_q;
  logic             takes_b, takes_r, served;
  assign takes_b = b_valid[who_q] && b_ready_i[who_q];
  assign takes_r = r_valid[who_q] && r_ready_i[who_q];
  assign served  = dut.start && dut.sel == who_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      who_q <= who_i;
      {aw_q, w_q, ar_q, bus_q, b_waits_q, r_waits_q} <= '0;
      others_q <= '0;
    end else begin
      if (aw_valid_i[who_q] && aw_ready[who_q]) {aw_q, aw_addr_q} <= {1'b1, aw_addr_i[who_q]};
      else if (served && we) aw_q <= 1'b0;
      if (w_valid_i[who_q] && w_ready[who_q]) {w_q, w_data_q, whole_q} <= {1'b1, w_data_i[who_q], w_whole_i[who_q]};
      else if (served && we) w_q <= 1'b0;
      if (ar_valid_i[who_q] && ar_ready[who_q]) {ar_q, ar_addr_q} <= {1'b1, ar_addr_i[who_q]};
      else if (served && !we) ar_q <= 1'b0;
      bus_q <= (bus_q && !ack_i) || req;
      if (req) {mine_q, we_q, addr_q, wdata_q} <= {dut.sel == who_q, we, addr, wdata[3:0]};
      b_waits_q <= b_valid[who_q] && !b_ready_i[who_q];
      r_waits_q <= r_valid[who_q] && !r_ready_i[who_q];
      {b_resp_q, r_resp_q, r_data_q} <= {b_resp[who_q], r_resp[who_q], r_data[who_q]};
      // Accesses of the other that start while this one could.
      if (!((aw_q && w_q && !b_valid[who_q]) || (ar_q && !r_valid[who_q])) || served) others_q <= '0;
      else if (dut.start) others_q <= others_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeAckOfRequest : assume (!ack_i || bus_q);
    OneAtATime : assert (!req || !bus_q);
    OfWrite : assert (!(req && we && dut.sel == who_q) ||
                      (aw_q && w_q && whole_q && addr == aw_addr_q && wdata == 64'(w_data_q)));
    OfRead : assert (!(req && !we && dut.sel == who_q) || (ar_q && addr == ar_addr_q));
    Aligned : assert (!req || addr[2:0] == '0);
    Holds : assert (!bus_q || (we == we_q && addr == addr_q && (!we || wdata[3:0] == wdata_q)));
    BHolds : assert (!b_waits_q || (b_valid[who_q] && b_resp[who_q] == b_resp_q));
    RHolds : assert (!r_waits_q || (r_valid[who_q] && r_resp[who_q] == r_resp_q && r_data[who_q] == r_data_q));
    RefusedReadsZero : assert (!r_valid[who_q] || r_resp[who_q] == 2'b00 || r_data[who_q] == '0);
    TakesTurns : assert (others_q <= 2'd1);
    IdleIsEmpty : assert (!idle || (!aw_q && !w_q && !ar_q && !bus_q && !b_valid[who_q] && !r_valid[who_q]));
    CoverBoth : cover (bus_q && mine_q && we_q && others_q == '0 && b_valid[!who_q]);
    CoverRead : cover (takes_r && r_data[who_q] == 64'd9);
    CoverRefused : cover (takes_b && b_resp[who_q] == 2'b10);
  end

  // Answers, counted: as many as accesses taken, one at most outstanding on each channel.
  logic [1:0] writes_q, reads_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n) {writes_q, reads_q} <= '0;
    else begin
      writes_q <= writes_q + 2'(aw_valid_i[who_q] && aw_ready[who_q]) - 2'(takes_b);
      reads_q  <= reads_q + 2'(ar_valid_i[who_q] && ar_ready[who_q]) - 2'(takes_r);
    end
    if (rst_n) begin
      EachWriteOnce : assert (writes_q <= 2'd2 && (!b_valid[who_q] || writes_q != '0));
      EachReadOnce : assert (reads_q <= 2'd2 && (!r_valid[who_q] || reads_q != '0));
      IdleAnswered : assert (!idle || (writes_q == '0 && reads_q == '0));
    end
  end
endmodule
