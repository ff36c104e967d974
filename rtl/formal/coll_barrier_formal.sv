// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// coll_barrier: on one route whose links stay up, a barrier is passed on or released only when every input has arrived,
// once for each round, and never while this node or a child is missing; pulses of words that failed their parity count for
// nothing, whatever wire was turned over.
module coll_barrier_formal
  import gyre_pkg::*;
#(
    parameter int unsigned Route = 3
) (
    input logic       clk_i,
    input logic       parent_i,
    input logic       member_i,
    input logic [1:0] child_i,
    input logic [2:0] bar_i,
    input logic [2:0] flip_i,   // a wire is turned over: the link says so in the next cycle
    input logic       enter_i,
    input logic       err_take_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // The node's part in the route, chosen freely.
  logic       parent_q, member_q;
  logic [1:0] child_q;
  coll_route_t [CollRoutes-1:0] route;
  logic [CollRoutes-1:0] bar_in [CollPorts], bar_out [CollPorts];
  logic [CollRoutes-1:0] done;
  error_t err;
  logic   busy;
  logic [CollPorts-1:0] pulse, bad_q;
  assign pulse = bar_i & ~flip_i;
  always_ff @(posedge clk_i) bad_q <= rst_n ? flip_i : '0;
  always_comb begin
    route        = '0;
    route[Route] = '{owner: '0, member: member_q, child1: child_q[1], child0: child_q[0], parent: parent_q, valid: 1'b1};
    for (int unsigned p = 0; p < CollPorts; p++) bar_in[p] = CollRoutes'(bar_i[p] ^ flip_i[p]) << Route;
  end
  coll_barrier dut (
      .clk_i, .rst_ni(rst_n), .route_i(route), .up_i('1), .down_i('0), .bad_i(bad_q), .bar_i(bar_in), .bar_o(bar_out),
      .enter_i(CollRoutes'(enter_i) << Route), .done_o(done), .err_o(err), .err_take_i, .busy_o(busy)
  );

  // Inputs that arrived in this round, and whether the parent was notified.
  logic [2:0] here_q, part;
  logic       acked_q, up, down, let_go;
  assign part   = {child_q, member_q};
  assign up     = bar_out[0][Route];
  assign down   = bar_out[1][Route] || bar_out[2][Route] || done[Route];
  assign let_go = pulse[0];
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {parent_q, member_q, child_q} <= {parent_i, member_i, child_i};
      here_q <= '0;
      acked_q <= 1'b0;
    end else begin
      here_q <= (down ? '0 : here_q) | {pulse[2:1], enter_i};
      acked_q <= (acked_q || up) && !down;
    end
  end

  // The parent releases once a round, after it was notified.
  logic freed_q;
  always_ff @(posedge clk_i) freed_q <= rst_n && (freed_q || let_go) && !down;

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumePart : assume (part != '0);
    AssumeOnce : assume (({pulse[2:1], enter_i} & (~part | here_q)) == '0);
    AssumeFreed : assume (!let_go || (parent_q && acked_q && !freed_q));
    NoneMissing : assert (!(up || down) || here_q == part);
    ToldOnce : assert (!up || (parent_q && !acked_q));
    ReleasedByParent : assert (!down || !parent_q || (acked_q && freed_q));
    ToAll : assert (!down || {bar_out[2][Route], bar_out[1][Route], done[Route]} == part);
    NoError : assert (!err.valid);
    NoOther : assert (((bar_out[0] | bar_out[1] | bar_out[2] | done) & ~(16'd1 << Route)) == '0);
    CoverInner : cover (down && parent_q && part == '1);
    CoverRoot : cover (down && !parent_q && part == '1);
  end

  // Two cycles beyond the arrival of the last input.
  logic whole_q, whole_qq;
  always_ff @(posedge clk_i) begin
    whole_q  <= rst_n && here_q == part && !down && !acked_q && !up;
    whole_qq <= whole_q;
    if (rst_n) Prompt : assert (!(whole_q && here_q == part && whole_qq) || up || down || acked_q);
  end
endmodule
