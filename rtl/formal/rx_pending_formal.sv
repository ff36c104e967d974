// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// rx_pending: requests of a path are answered in order, each once: written, refused and reported, or taken as a
// read-modify-write; one that is blocked asks again after every move of a ring. An answer comes one cycle after its grant.
module rx_pending_formal
  import gyre_pkg::*, gyre_dma_pkg::*;
(
    input logic clk_i,
    input logic push_i,
    input logic push_rmw_i,
    input logic retry_i,
    input logic gnt_i,
    input logic ok_i,
    input logic blocked_i,
    input logic rmw_take_i,
    input logic err_ack_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic                 room, req, rmw, write, holds, idle, push, gnt, take, ack;
  rx_req_t              req_data;
  rx_head_t             head, push_head;
  rx_res_t              res;
  logic [1:0]           buffer, in_q, out_q, level_q;     // packets numbered modulo 4
  logic [RxBuffers-1:0] drop;
  error_t               err;
  logic                 asked_q, blocked_q, room_q;
  assign push = push_i && room_q;            // room is asked for ahead
  assign gnt  = gnt_i && req;
  assign take = rmw_take_i && rmw && !asked_q;
  assign ack  = err_ack_i && err.valid;
  always_comb begin
    push_head        = '0;
    push_head.rmw    = push_rmw_i;
    push_head.target = MaxFifoId'(in_q);
    res              = '0;
    res.ok           = ok_i;
    res.blocked      = !ok_i && blocked_i;
    res.err          = ErrPktSlot;
  end

  rx_pending dut (
      .clk_i, .rst_ni(rst_n), .push_i(push), .push_head_i(push_head), .push_buf_i(2'(in_q[0])), .room_o(room), .retry_i,
      .req_o(req), .req_data_o(req_data), .gnt_i(gnt), .res_valid_i(asked_q), .res_i(res), .rmw_o(rmw),
      .rmw_take_i(take), .write_o(write), .head_o(head), .buf_o(buffer), .drop_buf_o(drop), .err_o(err),
      .err_ack_i(ack), .holds_o(holds), .idle_o(idle)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {in_q, out_q, level_q} <= '0;
      asked_q   <= 1'b0;
      room_q    <= 1'b0;
      blocked_q <= 1'b0;
    end else begin
      in_q      <= in_q + 2'(push);
      out_q     <= out_q + 2'(write || take || ack);
      level_q   <= level_q + 2'(push) - 2'(write || take || ack);
      asked_q   <= gnt;
      room_q    <= room;
      // Refused for lack of room, and no ring has moved since.
      blocked_q <= ((asked_q && res.blocked) || blocked_q) && !retry_i;
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    InOrder : assert (!(write || take) || head.target == MaxFifoId'(out_q));
    OneWay : assert ($onehot0({write, take, ack}));
    ErrorOfFront : assert (!err.valid || (err.where == MaxFifoId'(out_q) && err.reason == ErrPktSlot));
    HoldsThem : assert (holds == (level_q != '0) && 32'(level_q) < RxBuffers);
    // Whatever is in front asks, is asked for, is reported, waits for a ring, or is a read-modify-write.
    NeverStuck : assert (level_q == '0 || req || asked_q || err.valid || blocked_q || rmw);
    AsksAgain : assert (!blocked_q || !req);
    BufferGoes : assert ((drop != '0) == (take || ack) && (drop == '0 || drop == RxBuffers'(1) << out_q[0]));
    CoverRetried : cover (write && out_q == 2'd2 && level_q == 2'd2);
    CoverRefused : cover (ack && level_q == 2'd2);
  end
endmodule
