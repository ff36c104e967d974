// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Two AXI4-Lite slaves, the host's and that of JTAG or an embedded controller, onto one register bus.
// One access at a time; the slaves take turns, and a slave's write goes before its read. An access that is
// partial (strobes), unaligned, or refused by the register bus answers SLVERR; a refused read returns 0.
module axil_arbiter #(
    parameter int unsigned AddrW = 24,
    localparam int unsigned NSlave = 2
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    // AXI4-Lite slaves, 64-bit data
    input  logic [NSlave-1:0] aw_valid_i,
    output logic [NSlave-1:0] aw_ready_o,
    input  logic [AddrW-1:0]  aw_addr_i [NSlave],
    input  logic [NSlave-1:0] w_valid_i,
    output logic [NSlave-1:0] w_ready_o,
    input  logic [63:0]       w_data_i  [NSlave],
    input  logic [7:0]        w_strb_i  [NSlave],
    output logic [NSlave-1:0] b_valid_o,
    input  logic [NSlave-1:0] b_ready_i,
    output logic [1:0]        b_resp_o  [NSlave],
    input  logic [NSlave-1:0] ar_valid_i,
    output logic [NSlave-1:0] ar_ready_o,
    input  logic [AddrW-1:0]  ar_addr_i [NSlave],
    output logic [NSlave-1:0] r_valid_o,
    input  logic [NSlave-1:0] r_ready_i,
    output logic [63:0]       r_data_o  [NSlave],
    output logic [1:0]        r_resp_o  [NSlave],
    // register bus: a one-cycle request, address and data stay until the answer, which comes a cycle or
    // more later
    output logic              reg_req_o,
    output logic              reg_we_o,
    output logic [AddrW-1:0]  reg_addr_o,
    output logic [63:0]       reg_wdata_o,
    input  logic              reg_ack_i,
    input  logic              reg_err_i,
    input  logic [63:0]       reg_rdata_i,
    output logic              active_o,   // clk_i is needed, as it is for a request of a slave
    output logic              idle_o      // no access is held or waits for its answer
);
  localparam logic [1:0] RespOkay = 2'b00;
  localparam logic [1:0] RespSlverr = 2'b10;

  // Channel contents held until the access is done.
  logic [NSlave-1:0] aw_held_q, w_held_q, ar_held_q, b_valid_q, r_valid_q;
  logic [AddrW-1:0]  aw_addr_q [NSlave];
  logic [AddrW-1:0]  ar_addr_q [NSlave];
  logic [63:0]       w_data_q  [NSlave];
  logic [NSlave-1:0] w_whole_q;
  logic [NSlave-1:0] b_err_q, r_err_q;
  logic [63:0]       r_data_q  [NSlave];

  logic busy_q;   // a request is on the register bus
  logic turn_q;   // slave that goes first
  logic owner_q;  // slave of the request on the bus
  logic we_q;     // the request on the bus is a write

  logic [NSlave-1:0] want_w, want_r, want;
  logic sel, we, refused, start, done, done_err;

  assign want_w = aw_held_q & w_held_q & ~b_valid_q;
  assign want_r = ar_held_q & ~r_valid_q;
  assign want   = want_w | want_r;
  assign sel    = busy_q ? owner_q : (want[turn_q] ? turn_q : ~turn_q);
  assign we     = busy_q ? we_q : want_w[sel];

  assign reg_we_o    = we;
  assign reg_addr_o  = we ? aw_addr_q[sel] : ar_addr_q[sel];
  assign reg_wdata_o = w_data_q[sel];

  assign start     = !busy_q && want != '0;
  assign refused   = reg_addr_o[2:0] != '0 || (we && !w_whole_q[sel]);
  assign reg_req_o = start && !refused;
  assign done      = (start && refused) || (busy_q && reg_ack_i);
  assign done_err  = start || reg_err_i;

  assign aw_ready_o = ~aw_held_q;
  assign w_ready_o  = ~w_held_q;
  assign ar_ready_o = ~ar_held_q;
  assign b_valid_o  = b_valid_q;
  assign r_valid_o  = r_valid_q;
  assign r_data_o   = r_data_q;
  assign active_o   = start || done || b_valid_q != '0 || r_valid_q != '0;
  assign idle_o     = {aw_held_q, w_held_q, ar_held_q, b_valid_q, r_valid_q} == '0 && !busy_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q  <= 1'b0;
      turn_q  <= 1'b0;
      owner_q <= 1'b0;
      we_q    <= 1'b0;
    end else begin
      if (start) begin
        busy_q  <= !refused;
        owner_q <= sel;
        we_q    <= we;
        turn_q  <= ~sel;
      end else if (done) begin
        busy_q <= 1'b0;
      end
    end
  end

  for (genvar s = 0; s < NSlave; s++) begin : gen_slave
    logic done_w, done_r;
    assign done_w = done && sel == 1'(s) && we;
    assign done_r = done && sel == 1'(s) && !we;

    assign b_resp_o[s] = b_err_q[s] ? RespSlverr : RespOkay;
    assign r_resp_o[s] = r_err_q[s] ? RespSlverr : RespOkay;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        aw_held_q[s] <= 1'b0;
        aw_addr_q[s] <= '0;
        w_held_q[s]  <= 1'b0;
        w_data_q[s]  <= '0;
        w_whole_q[s] <= 1'b0;
        ar_held_q[s] <= 1'b0;
        ar_addr_q[s] <= '0;
        b_valid_q[s] <= 1'b0;
        b_err_q[s]   <= 1'b0;
        r_valid_q[s] <= 1'b0;
        r_err_q[s]   <= 1'b0;
        r_data_q[s]  <= '0;
      end else begin
        if (aw_valid_i[s] && !aw_held_q[s]) begin
          aw_held_q[s] <= 1'b1;
          aw_addr_q[s] <= aw_addr_i[s];
        end else if (done_w) aw_held_q[s] <= 1'b0;

        if (w_valid_i[s] && !w_held_q[s]) begin
          w_held_q[s]  <= 1'b1;
          w_data_q[s]  <= w_data_i[s];
          w_whole_q[s] <= w_strb_i[s] == '1;
        end else if (done_w) w_held_q[s] <= 1'b0;

        if (ar_valid_i[s] && !ar_held_q[s]) begin
          ar_held_q[s] <= 1'b1;
          ar_addr_q[s] <= ar_addr_i[s];
        end else if (done_r) ar_held_q[s] <= 1'b0;

        if (done_w) begin
          b_valid_q[s] <= 1'b1;
          b_err_q[s]   <= done_err;
        end else if (b_ready_i[s]) b_valid_q[s] <= 1'b0;

        if (done_r) begin
          r_valid_q[s] <= 1'b1;
          r_err_q[s]   <= done_err;
          r_data_q[s]  <= done_err ? '0 : reg_rdata_i;
        end else if (r_ready_i[s]) r_valid_q[s] <= 1'b0;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && reg_ack_i) begin
      AckWithoutRequest : assert (busy_q)
      else $fatal(1, "%m: answer without a request");
    end
  end
`endif
endmodule
