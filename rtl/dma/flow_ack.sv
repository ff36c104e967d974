// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Control packets of ordered-dynamic flows (HW-4): report to sources the progress of their flows, one flow at a time in
// turn, as header-only packets of the response class on the fixed route. The content of a packet is fixed when it leaves,
// so it covers packets released while it waits.
module flow_ack
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned NFlow = 4
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  coord_t           coord_i,
    input  logic [NFlow-1:0] ack_due_i,
    input  flow_seq_t        seq_i  [NFlow],   // next to be released
    input  flow_end_t        end_i  [NFlow],
    input  logic [3:0]       path_i [NFlow],
    output logic [NFlow-1:0] acked_o,
    output logic [NFlow-1:0] acking_o,         // a packet waits to leave
    // packets
    output logic             answer_valid_o,
    output logic [3:0]       answer_path_o,
    output tx_cmd_t          answer_o,
    input  logic             answer_ready_i,
    output logic             idle_o
);
  localparam int unsigned IdW = (NFlow > 1) ? $clog2(NFlow) : 1;

  logic             work_q, next;
  logic [IdW-1:0]   flow, flow_q;
  logic [NFlow-1:0] candidates, gnt;
  assign candidates = work_q ? '0 : ack_due_i;
  assign next       = candidates != '0;
  rr_arbiter #(.N(NFlow)) u_turn (.clk_i, .rst_ni, .req_i(candidates), .advance_i(next), .gnt_o(gnt));
  always_comb begin
    flow = '0;
    if (next) begin
      for (int unsigned f = 0; f < NFlow; f++) if (gnt[f]) flow = IdW'(f);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      work_q <= 1'b0;
      flow_q <= '0;
    end else if (next) begin
      work_q <= 1'b1;
      flow_q <= flow;
    end else if (work_q && answer_ready_i) begin
      work_q <= 1'b0;
    end
  end

  assign answer_valid_o = work_q;
  assign answer_path_o  = work_q ? path_i[flow_q] : '0;
  always_comb begin
    answer_o = '0;
    acked_o  = '0;
    acking_o = '0;
    if (work_q) begin
      acking_o[flow_q]       = 1'b1;
      answer_o.answer        = 1'b1;
      answer_o.header.dst    = end_i[flow_q].peer;
      answer_o.header.vclass = ClassResponse;
      answer_o.header.src    = coord_i;
      answer_o.header.kind   = KindControl;
      answer_o.header.first  = 1'b1;
      answer_o.header.last   = 1'b1;
      answer_o.header.target = {end_i[flow_q].epoch, end_i[flow_q].peer_flow};
      answer_o.header.seq    = 10'(seq_i[flow_q]);
      acked_o[flow_q]        = answer_ready_i;
    end
  end
  assign idle_o = !work_q && !next;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && work_q) begin
      AckDue : assert (ack_due_i[flow_q] || end_i[flow_q].open)
      else $fatal(1, "%m: acknowledgement of a flow that is closed");
    end
  end
`endif
endmodule
