// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// inject_buffer: flits of a queue come out unchanged and in order, with the route of its packet in front.
module inject_buffer_formal
  import gyre_pkg::*;
#(
    parameter int unsigned NumQueues = 2,
    parameter int unsigned Depth = 3,
    localparam int unsigned FlitBytes = 8,
    localparam int unsigned LevelW = $clog2(Depth + 1)
) (
    input logic       clk_i,
    input logic       push_i,
    input logic [0:0] push_queue_i,
    input logic       push_head_i,
    input logic       push_tail_i,
    input logic [1:0] push_data_i,
    input logic [1:0] read_i,
    input logic       pop_i,
    input logic       track_i       // follow the flit pushed in this cycle
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  // A ring of four nodes in one dimension; the flit's data is the destination.
  node_cfg_t cfg;
  always_comb begin
    cfg           = '0;
    cfg.dim_order = {3'd4, 3'd3, 3'd2, 3'd1, 3'd0};
    cfg.size      = {7'd1, 7'd1, 7'd1, 7'd1, 7'd4};
    cfg.ring      = 5'b00001;
  end

  logic [0:0]             queue;
  flit_ctl_t              ctl;
  logic [8*FlitBytes-1:0] data;
  logic [NumQueues-1:0]   nonempty, full, body;
  route_t                 route [NumQueues];
  logic                   pop;
  assign pop = pop_i && read_i != '0;
  inject_buffer #(.NumQueues(NumQueues), .Depth(Depth), .FlitBytes(FlitBytes), .PortId(0)) dut (
      .clk_i, .rst_ni(rst_n), .cfg_i(cfg), .now_i('0), .push_i, .push_queue_i,
      .push_ctl_i('{err: 1'b0, tail: push_tail_i, head: push_head_i, dbg: '0}), .push_data_i(64'(push_data_i)),
      .read_i, .pop_i(pop), .queue_o(queue), .ctl_o(ctl), .data_o(data), .nonempty_o(nonempty), .full_o(full),
      .body_o(body), .route_o(route)
  );

  logic [NumQueues-1:0][LevelW-1:0] level_q;
  logic [NumQueues-1:0]             open_q;
  logic                             here_q, head_q, tail_q;
  logic [0:0]                       which_q;
  logic [1:0]                       data_q;
  logic [LevelW-1:0]                ahead_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      level_q <= '0;
      open_q  <= '0;
      here_q  <= 1'b0;
    end else begin
      for (int unsigned q = 0; q < NumQueues; q++) begin
        level_q[q] <= level_q[q] + LevelW'(push_i && push_queue_i == 1'(q)) - LevelW'(pop && read_i[q]);
      end
      if (push_i) open_q[push_queue_i] <= !push_tail_i;
      if (here_q && pop && read_i[which_q]) begin
        here_q  <= ahead_q != '0;
        ahead_q <= ahead_q - 1'b1;
      end
      if (!here_q && push_i && track_i) begin
        here_q  <= 1'b1;
        which_q <= push_queue_i;
        ahead_q <= level_q[push_queue_i] - LevelW'(pop && read_i[push_queue_i]);
        {head_q, tail_q, data_q} <= {push_head_i, push_tail_i, push_data_i};
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeOneRead : assume ($onehot0(read_i) && (read_i & ~nonempty) == '0);
    AssumeRoom : assume (!push_i || !full[push_queue_i]);
    AssumePackets : assume (!push_i || push_head_i == !open_q[push_queue_i]);
    Levels : assert (nonempty == {level_q[1] != '0, level_q[0] != '0} &&
                     full == {32'(level_q[1]) == Depth, 32'(level_q[0]) == Depth});
    InOrder : assert (!(here_q && ahead_q == '0 && read_i[which_q]) ||
                      (queue == which_q && data == 64'(data_q) && ctl.head == head_q && ctl.tail == tail_q));
    Route : assert (!(here_q && head_q && ahead_q == '0) ||
                    (route[which_q] == route_inject(cfg, 4'd0, 64'(data_q)) && !body[which_q]));
    CoverWrap : cover (full == '1 && here_q && which_q == 1'b1 && ahead_q == '0 && dut.u_queues.gen_rings.u_places.head_q[1] == 3'd5);
    CoverComesToFront : cover (here_q && head_q && ahead_q == '0 && pop && push_i && push_queue_i == which_q);
  end
endmodule
