// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Joins sources of whole packets into one stream, without gaps between the flits of a packet; sources with a packet
// take turns. Names the source of the flit; the user forwards it.
module rx_merge #(
    parameter int unsigned N = 2
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic [N-1:0] valid_i,
    output logic [N-1:0] ready_o,
    output logic [N-1:0] from_o,    // one-hot while valid_o: source of the flit
    input  logic         head_i,    // of that flit
    input  logic         tail_i,
    output logic         valid_o,
    input  logic         ready_i,
    output logic         idle_o
);
  logic         open_q;         // inside a packet
  logic [N-1:0] from_q, gnt;    // source of this packet
  logic         moves;

  rr_arbiter #(.N(N)) u_turns (
      .clk_i, .rst_ni, .req_i(open_q ? '0 : valid_i), .advance_i(moves && !open_q), .gnt_o(gnt)
  );

  assign from_o  = open_q ? from_q : gnt;
  assign valid_o = (from_o & valid_i) != '0;
  assign ready_o = ready_i ? from_o : '0;
  assign moves   = valid_o && ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q <= 1'b0;
      from_q <= '0;
    end else if (moves) begin
      open_q <= !tail_i;
      from_q <= from_o;
    end
  end
  assign idle_o = !moves;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && moves) begin
      Whole : assert (head_i == !open_q)
      else $fatal(1, "%m: packets are mixed");
      OneSource : assert ($onehot(from_o))
      else $fatal(1, "%m: flits of two sources at once");
    end
  end
`endif
endmodule
