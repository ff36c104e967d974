// Joins two sources of whole packets on one way, flit by flit without gaps between the flits of a packet; where both have
// one they take turns.
module rx_merge
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    localparam int unsigned FW = FlitBytes * 8
) (
    input  logic          clk_i,
    input  logic          rst_ni,
    input  logic [1:0]    valid_i,
    output logic [1:0]    ready_o,
    input  flit_ctl_t     ctl_i  [2],
    input  logic [FW-1:0] data_i [2],
    output logic          valid_o,
    input  logic          ready_i,
    output flit_ctl_t     ctl_o,
    output logic [FW-1:0] data_o,
    output logic          idle_o
);
  logic open_q;    // inside a packet
  logic from_q;    // source of this packet, or of the last
  logic from, moves;

  assign from    = open_q ? from_q : (valid_i[0] && valid_i[1]) ? !from_q : valid_i[1];
  assign valid_o = from ? valid_i[1] : valid_i[0];
  assign ctl_o   = from ? ctl_i[1] : ctl_i[0];
  assign data_o  = from ? data_i[1] : data_i[0];
  assign ready_o = from ? {ready_i, 1'b0} : {1'b0, ready_i};
  assign moves   = valid_o && ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q <= 1'b0;
      from_q <= 1'b0;
    end else if (moves) begin
      open_q <= !ctl_o.tail;
      from_q <= from;
    end
  end
  assign idle_o = !moves;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && moves) begin
      Whole : assert (ctl_o.head == !open_q)
      else $fatal(1, "%m: packets are mixed");
    end
  end
`endif
endmodule
