// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Registers of the collective network (HW-5): class routes, barrier routes, arrival at barriers, tree links.
// Reads of BARRIER_ENTER and writes of LINK_STATUS are refused.
module coll_csr
  import gyre_pkg::*;
(
    input  logic                  clk_i,
    input  logic                  rst_ni,
    // register access; the answer is combinational
    input  logic                  req_i,
    input  logic                  we_i,
    input  logic [8:0]            addr_i,    // byte offset from the first register
    input  logic [63:0]           wdata_i,
    output logic [63:0]           rdata_o,
    output logic                  err_o,     // no such register, or not for this access
    // configuration and state
    output coll_cfg_t             cfg_o,
    input  link_ctl_e             link_state_i [CollPorts],
    // barriers: one-cycle pulses, bit r = barrier route r
    output logic [CollRoutes-1:0] bar_enter_o,
    input  logic [CollRoutes-1:0] bar_done_i,
    output logic                  idle_o
);
  // Word numbers as in gyre.rdl.
  localparam logic [5:0] WordEnter  = 6'h20;
  localparam logic [5:0] WordDone   = 6'h21;
  localparam logic [5:0] WordEnable = 6'h22;
  localparam logic [5:0] WordStatus = 6'h23;

  coll_route_t [CollRoutes-1:0] route_q, barrier_q;
  logic [CollPorts-1:0]         enable_q;
  logic [CollRoutes-1:0]        enter_q, done_q;

  logic [5:0] word;
  logic [3:0] index;
  logic       write;
  assign word  = addr_i[8:3];
  assign index = word[3:0];
  assign write = req_i && we_i;

  function automatic logic [63:0] route_bits(coll_route_t route);
    return {52'd0, route.owner, 3'd0, route.member, route.child1, route.child0, route.parent, route.valid};
  endfunction

  always_comb begin
    rdata_o = '0;
    err_o   = 1'b0;
    if (req_i) begin
      if (word[5:4] == 2'd0) rdata_o = route_bits(route_q[index]);
      else if (word[5:4] == 2'd1) rdata_o = route_bits(barrier_q[index]);
      else if (word == WordEnter) err_o = !we_i;
      else if (word == WordDone) rdata_o = 64'(done_q);
      else if (word == WordEnable) rdata_o = 64'(enable_q);
      else if (word == WordStatus) begin
        err_o   = we_i;
        rdata_o = 64'({link_state_i[2], link_state_i[1], link_state_i[0]});
      end else err_o = 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      route_q   <= '0;
      barrier_q <= '0;
      enable_q  <= '0;
    end else if (write) begin
      if (word[5:4] == 2'd0) route_q[index] <= {wdata_i[11:8], wdata_i[4:0]};
      if (word[5:4] == 2'd1) barrier_q[index] <= {4'd0, wdata_i[4:0]};
      if (word == WordEnable) enable_q <= wdata_i[CollPorts-1:0];
    end
  end

  // A barrier that completes while its bit is cleared stays.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      enter_q <= '0;
      done_q  <= '0;
    end else if (write || enter_q != '0 || bar_done_i != '0) begin
      enter_q <= (write && word == WordEnter) ? wdata_i[CollRoutes-1:0] : '0;
      done_q  <= (done_q & ~((write && word == WordDone) ? wdata_i[CollRoutes-1:0] : '0)) | bar_done_i;
    end
  end

  assign cfg_o       = '{link_enable: enable_q, route: route_q, barrier: barrier_q};
  assign bar_enter_o = enter_q;
  assign idle_o      = enter_q == '0 && bar_done_i == '0;

  logic unused;
  assign unused = ^{addr_i[2:0], wdata_i[63:16]};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && req_i) begin
      NoOwner : assert (barrier_q[index].owner == '0)
      else $fatal(1, "%m: a barrier route has an owner");
    end
  end
`endif
endmodule
