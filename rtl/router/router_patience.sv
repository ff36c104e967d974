// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Watch over the heads of a link input. A head that has waited for `Patience` cycles may find its channel free only now
// and then, when the input goes on with another packet: two streams in step would hold it up forever. It is watched, one at a
// time and in turn, and goes first whenever it can once it is overdue.
module router_patience
  import gyre_pkg::*;
#(
    parameter int unsigned Patience = 2048, // cycles, a power of two
    localparam int unsigned WaitW = $clog2(Patience) + 1
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [NumVc-1:0] heads_i,       // channels with a head in front
    input  logic             start_i,       // the input goes on with a packet, before all others
    input  logic             pop_i,         // the flit in front of `vc_i` moves
    input  logic [VcW-1:0]   vc_i,
    output logic             waiting_o,     // a head is watched
    output logic             overdue_o,     // for so long that it goes first
    output logic [VcW-1:0]   vc_o           // its channel
);
  logic [WaitW-1:0] wait_q;                 // cycles of its wait, 0 without a watched head
  logic [VcW-1:0]   watched_q;

  assign waiting_o = wait_q != '0;
  assign overdue_o = wait_q[WaitW-1];
  assign vc_o      = watched_q;

  // The next below the last one watched, or else the highest.
  logic [VcW-1:0]   turn;
  always_comb begin
    turn = watched_q;
    if (start_i && heads_i != '0 && !waiting_o) begin
      for (int unsigned v = 0; v < NumVc; v++) if (heads_i[v]) turn = VcW'(v);
      for (int unsigned v = 0; v < NumVc; v++) if (heads_i[v] && VcW'(v) < watched_q) turn = VcW'(v);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wait_q    <= '0;
      watched_q <= '0;
    end else if (waiting_o) begin
      if (!heads_i[watched_q] || (pop_i && vc_i == watched_q)) wait_q <= '0;
      else if (!overdue_o) wait_q <= wait_q + 1'b1;
    end else if (start_i && heads_i != '0) begin
      wait_q    <= WaitW'(1);
      watched_q <= turn;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && start_i && heads_i != '0 && !waiting_o) begin
      WatchesHead : assert (heads_i[turn])
      else $fatal(1, "%m: a channel without a head is watched");
    end
  end
`endif
endmodule
