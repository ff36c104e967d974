// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Responses of one path up to their place in memory: takes the header, asks the resolver, and offers the
// packet to the collector. A bad header goes on with its reason, so that its flits are drained; a put of a flow (HW-4)
// requests its place there all the same.
module rx_response
  import gyre_pkg::*;
  import gyre_dma_pkg::*;
(
    input  logic     clk_i,
    input  logic     rst_ni,
    // header
    input  logic     hdr_valid_i,
    input  header_t  hdr_i,
    input  logic     hdr_only_i,
    input  rx_head_t head_i,
    input  err_e     err_i,        // reason of a bad header
    input  logic     flow_i,       // it names a flow
    output logic     hdr_take_o,
    // resolver
    output logic     req_o,
    output rx_req_t  req_data_o,
    input  logic     gnt_i,
    input  logic     res_valid_i,
    input  rx_res_t  res_i,
    // packet for the collector
    output logic     valid_o,
    output logic     only_o,       // no payload flit follows
    output rx_head_t head_o,
    output rx_res_t  res_o,        // not ok: drain and report
    input  logic     take_i,
    output logic     holds_o,      // a packet is here
    output logic     idle_o
);
  typedef enum logic [1:0] {StIdle, StWait, StReady} state_e;
  state_e   st_q;
  logic     free, good, only_q;
  rx_head_t head_q;
  rx_res_t  res_q;

  assign free       = st_q == StIdle || (st_q == StReady && take_i);
  assign good       = err_i == ErrNone || flow_i;
  assign req_o      = hdr_valid_i && free && good;
  assign req_data_o = '{mem_fifo: 1'b0, rmw: hdr_i.kind == KindRmwResp,
                        silent: (hdr_i.kind == KindRmwResp && hdr_i.aux[9]) || hdr_i.kind == KindControl,
                        err: err_i, control: hdr_i.kind == KindControl,
                        flow: '{valid: flow_i, id: hdr_i.flow,
                                seq: hdr_i.kind == KindControl ? hdr_i.seq[$clog2(FlowSeqs)-1:0] : hdr_i.flow_seq},
                        epoch: hdr_i.kind == KindControl ? {3'd0, hdr_i.target[9:3]} : hdr_i.seq,
                        src: hdr_i.src, target: hdr_i.target, len: hdr_i.len,
                        offset: {hdr_i.aux[7:0], hdr_i.offset}, ctr_valid: hdr_i.aux[8] && hdr_i.kind != KindControl,
                        ctr_slot: hdr_i.sw0[9:0], ctr_offset: hdr_i.sw0[31:10]};
  assign hdr_take_o = hdr_valid_i && free && (!good || gnt_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) st_q <= StIdle;
    else if (hdr_take_o) st_q <= good ? StWait : StReady;
    else if (res_valid_i) st_q <= StReady;
    else if (take_i) st_q <= StIdle;
  end
  always_ff @(posedge clk_i) begin
    if (hdr_take_o) begin
      only_q    <= hdr_only_i;
      head_q    <= head_i;
      res_q.ok   <= 1'b0;
      res_q.err  <= err_i;
      res_q.flow <= '0;
    end
    if (res_valid_i) res_q <= res_i;
  end

  assign valid_o = st_q == StReady;
  assign only_o  = only_q;
  assign head_o  = head_q;
  assign res_o   = res_q;
  assign holds_o = st_q != StIdle;
  // A ready packet counts with the collector, which decides when it goes on.
  assign idle_o  = !(hdr_valid_i && free) && st_q != StWait;

  logic unused_hdr;
  assign unused_hdr = ^hdr_i;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && res_valid_i) begin
      AnswerExpected : assert (st_q == StWait)
      else $fatal(1, "%m: answer without a question");
    end
  end
`endif
endmodule
