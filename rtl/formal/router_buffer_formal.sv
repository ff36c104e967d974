// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// router_buffer: flits of a virtual channel come out unchanged and in order, with the route of its packet, however
// the slots of the shared memory are used; slots are neither lost nor used twice. Two channels are in use, and one flit,
// chosen freely, is followed.
module router_buffer_formal
  import gyre_pkg::*;
#(
    parameter int unsigned Flits = 6,
    parameter logic [VcW-1:0] First = 4'd1,     // deterministic channel
    parameter logic [VcW-1:0] Second = 4'd10,   // dynamic one
    localparam int unsigned FlitBytes = 8,
    localparam int unsigned LevelW = $clog2(Flits + 1)
) (
    input logic           clk_i,
    input logic           push_i,
    input logic           push_second_i,
    input logic           push_head_i,
    input logic           push_tail_i,
    input logic [1:0]     push_data_i,
    input logic           read_i,
    input logic           read_second_i,
    input logic           pop_i,
    input logic           track_i       // follow the flit pushed in this cycle
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

  logic [VcW-1:0]         push_vc, read_vc;
  logic                   pop, full;
  flit_ctl_t              ctl;
  logic [8*FlitBytes-1:0] data;
  logic [NumVc-1:0]       nonempty, body;
  route_t                 route [NumVc];
  logic [BirthW-1:0]      birth [NumVc];
  assign push_vc = push_second_i ? Second : First;
  assign read_vc = read_second_i ? Second : First;
  assign pop     = read_i && pop_i;
  router_buffer #(.Flits(Flits), .FlitBytes(FlitBytes), .NDim(1), .PortId(1)) dut (
      .clk_i, .rst_ni(rst_n), .cfg_i(cfg), .push_i, .push_vc_i(push_vc),
      .push_ctl_i('{err: 1'b0, tail: push_tail_i, head: push_head_i, dbg: '0}), .push_data_i(64'(push_data_i)),
      .read_i, .read_vc_i(read_vc), .pop_i(pop), .ctl_o(ctl), .data_o(data), .nonempty_o(nonempty), .full_o(full),
      .body_o(body), .route_o(route), .birth_o(birth)
  );

  // Levels of both channels, and whether the packet pushed is open.
  logic [1:0][LevelW-1:0] level_q;
  logic [1:0]             open_q;
  logic                   here_q, which_q, head_q, tail_q;
  logic [1:0]             data_q;
  logic [LevelW-1:0]      ahead_q;
  logic                   mine, leaves;
  route_t                 expected;
  assign mine     = here_q && read_i && read_second_i == which_q && ahead_q == '0;
  assign leaves   = here_q && pop && read_second_i == which_q;
  always_comb begin
    expected = route_transit(cfg, 4'd1, which_q ? Second : First, 64'(data_q), '0, '0);
    if (expected.port == 4'd1 || expected.minimal[1]) begin   // back where it came from: discarded
      expected.port    = NoPort;
      expected.minimal = '0;
      expected.deposit = 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      level_q  <= '0;
      open_q   <= '0;
      here_q   <= 1'b0;
    end else begin
      for (int unsigned c = 0; c < 2; c++) begin
        level_q[c] <= level_q[c] + LevelW'(push_i && push_second_i == 1'(c)) - LevelW'(pop && read_second_i == 1'(c));
      end
      if (push_i) open_q[push_second_i] <= !push_tail_i;
      if (leaves) begin
        here_q  <= ahead_q != '0;
        ahead_q <= ahead_q - 1'b1;
      end
      if (!here_q && push_i && track_i) begin
        here_q  <= 1'b1;
        which_q <= push_second_i;
        ahead_q <= level_q[push_second_i] - LevelW'(pop && read_second_i == push_second_i);
        {head_q, tail_q, data_q} <= {push_head_i, push_tail_i, push_data_i};
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeRoom : assume (!push_i || !full || pop);
    AssumePopThere : assume (!pop || level_q[read_second_i] != '0);
    AssumePackets : assume (!push_i || push_head_i == !open_q[push_second_i]);
    InOrder : assert (!mine || (data == 64'(data_q) && ctl.head == head_q && ctl.tail == tail_q));
    FullIsFull : assert (full == (32'(level_q[0]) + 32'(level_q[1]) == Flits));
    Nonempty : assert (nonempty[First] == (level_q[0] != '0) && nonempty[Second] == (level_q[1] != '0));
    // The route is that of the packet in front, from the cycle in which its head is there.
    Route : assert (!(here_q && head_q && ahead_q == '0) || (route[which_q ? Second : First] == expected &&
                                                             !body[which_q ? Second : First]));
    Birth : assert (!(here_q && head_q && ahead_q == '0) || birth[which_q ? Second : First] == route[which_q ? Second : First].birth);
    CoverFullOfBoth : cover (full && level_q[0] == LevelW'(2) && mine && ahead_q == '0 && pop && push_i);
    CoverReused : cover (mine && which_q && 32'(dut.u_queues.gen_lists.u_places.freed_q) == 2 && head_q && expected.port == LocalPort);
  end
endmodule
