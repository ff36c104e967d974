// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Completion of puts of ordered-dynamic flows (HW-4): their payload went to memory by the path on which they arrived; the
// remaining step, to lower a byte counter, is kept in their slot and done in turn, another counter once the one before is
// in memory.
module flow_complete
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned NFlow  = 4,
    parameter int unsigned Window = 8
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    // a put claims its slot
    input  logic             claim_i,
    input  flow_ref_t        claim_ref_i,
    input  flow_counter_t    claim_counter_i,
    // puts whose turn has come
    input  logic [NFlow-1:0] head_i,
    input  flow_seq_t        seq_i [NFlow],
    output logic [NFlow-1:0] release_o,
    output logic [NFlow-1:0] going_o,           // the flow's next is being completed
    // counter unit
    output logic             ctr_valid_o,
    output logic [AddrW-1:0] ctr_addr_o,
    output logic [9:0]       ctr_bytes_o,
    input  logic             ctr_ack_i,
    input  logic             ctr_busy_i,        // the counter lowered last is not in memory yet
    output logic             busy_o,
    output logic             idle_o
);
  localparam int unsigned IdW    = (NFlow > 1) ? $clog2(NFlow) : 1;
  localparam int unsigned NPlace = NFlow * Window;
  localparam int unsigned NumW   = (NPlace > 1) ? $clog2(NPlace) : 1;

  function automatic logic [NumW-1:0] slot_number(logic [IdW-1:0] id, flow_seq_t seq);
    return NumW'(32'(id) * Window + 32'(seq & flow_seq_t'(Window - 1)));
  endfunction

  flow_counter_t counter_mem [NPlace];
  always_ff @(posedge clk_i) begin
    if (claim_i) counter_mem[slot_number(claim_ref_i.id[IdW-1:0], claim_ref_i.seq)] <= claim_counter_i;
  end

  logic             work_q, next, done, may;
  logic [AddrW-1:0] last_addr_q;               // counter lowered last
  logic [IdW-1:0]   flow, flow_q;
  flow_counter_t    counter_q;
  logic [NFlow-1:0] candidates, gnt;
  assign candidates = work_q ? '0 : head_i;
  assign next       = candidates != '0;
  rr_arbiter #(.N(NFlow)) u_turn (.clk_i, .rst_ni, .req_i(candidates), .advance_i(next), .gnt_o(gnt));
  always_comb begin
    flow = '0;
    if (next) begin
      for (int unsigned f = 0; f < NFlow; f++) if (gnt[f]) flow = IdW'(f);
    end
  end

  assign may  = !ctr_busy_i || counter_q.ctr_addr == last_addr_q;
  assign done = work_q && (!counter_q.ctr_valid || ctr_ack_i);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) work_q <= 1'b0;
    else if (next || done) work_q <= next;
  end
  always_ff @(posedge clk_i) begin
    if (next) begin
      flow_q    <= flow;
      counter_q <= counter_mem[slot_number(flow, seq_i[flow])];
    end
    if (ctr_ack_i) last_addr_q <= counter_q.ctr_addr;
  end

  always_comb begin
    release_o = '0;
    going_o   = '0;
    release_o[flow_q] = done;
    going_o[flow_q]   = work_q;
  end
  assign ctr_valid_o = work_q && counter_q.ctr_valid && may;
  assign ctr_addr_o  = counter_q.ctr_addr;
  assign ctr_bytes_o = counter_q.ctr_bytes;
  assign busy_o      = work_q || head_i != '0;
  assign idle_o      = !work_q && !next;

  logic unused;
  assign unused = claim_ref_i.valid;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && ctr_ack_i) begin
      AckAsked : assert (ctr_valid_o)
      else $fatal(1, "%m: a counter was lowered without a request");
    end
  end
`endif
endmodule
