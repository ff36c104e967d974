// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Collected requests of one path that wait for ring space, in order. The oldest asks the resolver; refused for
// lack of space it waits, without any activity, until a ring has moved. Responses pass by meanwhile.
// A read-modify-write asks its own unit, which takes it out of its buffer at once.
module rx_pending
  import gyre_pkg::*;
  import gyre_dma_pkg::*;
(
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 push_i,
    input  rx_head_t             push_head_i,
    input  logic [1:0]           push_buf_i,
    output logic                 room_o,       // one more may start, counting one pushed in this cycle
    input  logic                 retry_i,
    // resolver
    output logic                 req_o,
    output rx_req_t              req_data_o,
    input  logic                 gnt_i,
    input  logic                 res_valid_i,
    input  rx_res_t              res_i,
    // read-modify-write at the front
    output logic                 rmw_o,
    input  logic                 rmw_take_i,
    // packets for the write unit, in the cycle of the answer
    output logic                 write_o,
    output rx_head_t             head_o,
    output logic [1:0]           buf_o,
    // refused packets
    output logic [RxBuffers-1:0] drop_buf_o,
    output error_t               err_o,
    input  logic                 err_ack_i,
    output logic                 holds_o,      // a packet is here
    output logic                 idle_o
);
  typedef enum logic [1:0] {StAsk, StWait, StBlocked, StRefused} state_e;
  localparam int unsigned Depth = RxBuffers - 1;   // one buffer is always left for responses

  state_e     st_q;
  rx_head_t   head;
  logic [1:0] buffer, level;
  logic       empty, full, pop, dropped;
  err_e       reason_q;

  gyre_fifo #(.Width($bits(rx_head_t) + 2), .Depth(Depth)) u_fifo (
      .clk_i, .rst_ni, .clear_i(1'b0), .push_i, .data_i({push_buf_i, push_head_i}),
      .pop_i(pop), .data_o({buffer, head}), .empty_o(empty), .full_o(full), .level_o(level)
  );

  assign room_o     = {1'b0, level} + 3'(push_i) < 3'(Depth);
  assign req_o      = !empty && !head.rmw && st_q == StAsk;
  assign rmw_o      = !empty && head.rmw;
  assign req_data_o = '{mem_fifo: head.mem_fifo, rmw: 1'b0, silent: 1'b0, err: ErrNone, control: 1'b0, flow: '0, epoch: '0, src: '0, target: head.target, len: head.len,
                        offset: '0,
                        ctr_valid: 1'b0, ctr_slot: '0, ctr_offset: '0};
  assign write_o    = res_valid_i && res_i.ok;
  assign dropped    = st_q == StRefused && err_ack_i;
  assign pop        = write_o || dropped || rmw_take_i;
  assign head_o     = head;
  assign buf_o      = buffer;
  assign drop_buf_o = dropped || rmw_take_i ? RxBuffers'(1) << buffer : '0;
  always_comb begin
    err_o        = '0;
    err_o.reason = ErrNone;
    if (st_q == StRefused) err_o = '{valid: 1'b1, reason: reason_q, where: head.target, info: head.info};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      st_q     <= StAsk;
      reason_q <= ErrNone;
    end else begin
      unique case (st_q)
        StAsk:     if (gnt_i) st_q <= StWait;
        StWait: begin
          if (res_valid_i) begin
            if (res_i.ok)           st_q <= StAsk;
            else if (res_i.blocked) st_q <= retry_i ? StAsk : StBlocked;
            else                    st_q <= StRefused;
            reason_q <= res_i.err;
          end
        end
        StBlocked: if (retry_i) st_q <= StAsk;
        default:   if (err_ack_i) st_q <= StAsk;
      endcase
    end
  end
  // Not idle while a look-up can be requested or is on its way; blocked is idle.
  assign holds_o = !empty;
  assign idle_o  = empty || st_q == StBlocked;

  logic unused_bits;
  assign unused_bits = ^{res_i, full};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && res_valid_i) begin
      AnswerExpected : assert (st_q == StWait)
      else $fatal(1, "%m: answer without a question");
    end
    if (rst_ni && rmw_take_i) begin
      RmwTaken : assert (rmw_o && st_q == StAsk)
      else $fatal(1, "%m: a read-modify-write was taken that is not there");
    end
  end
`endif
endmodule
