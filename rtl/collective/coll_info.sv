// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Packet information that selection needs, for the queues of one input: decoded on arrival, kept in order
// for each class route, that of the packets at the front in registers. A packet leaves when it is started, long before its
// last flit, so that the next one can be chosen meanwhile.
module coll_info
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned Depth = 64              // flits a route
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  coord_t                coord_i,
    input  logic                  push_i,
    input  logic [3:0]            push_route_i,
    input  logic                  cut_i,           // the header is not whole
    input  logic [95:0]           words_i,         // w0, w1, w2 of the header
    // Packet at the front of each route.
    output coll_front_t           front_o,
    input  logic                  start_i,
    input  logic [3:0]            start_route_i
);
  // The shortest packet is a flit that holds a whole header, or two flits.
  localparam int unsigned Packets = (FlitBytes >= HeaderBytes) ? Depth : (Depth + 1) / 2;
  localparam int unsigned PtrW = $clog2(Packets);
  localparam int unsigned LevelW = $clog2(Packets + 1);
  localparam int unsigned EntryW = $clog2(CollRoutes * Packets);
  localparam logic [PtrW-1:0] LastPtr = PtrW'(Packets - 1);

  // Bits of a header: header_t.vclass, .kind, and coll_t in .hint.
  localparam int unsigned ClassBit = 30;
  localparam int unsigned KindBit = 64;
  localparam int unsigned RouteBit = 64 + 14;
  localparam int unsigned OpBit = RouteBit + 7;

  typedef struct packed {
    logic bcast;
    logic bad;
    logic mine;
    logic cls;
  } info_t;

  info_t mem [CollRoutes*Packets];

  logic [CollRoutes-1:0][PtrW-1:0]   head_q, tail_q;
  logic [CollRoutes-1:0][LevelW-1:0] level_q;
  logic [CollRoutes-1:0]             pending_q, bcast_q, bad_q, mine_q, class_q;

  assign front_o = '{pending: pending_q, bcast: bcast_q, bad: bad_q, mine: mine_q, cls: class_q};

  function automatic logic [EntryW-1:0] entry(logic [3:0] route, logic [PtrW-1:0] ptr);
    return EntryW'(32'(route) * Packets + 32'(ptr));
  endfunction

  function automatic logic [PtrW-1:0] next(logic [PtrW-1:0] ptr);
    return (ptr == LastPtr) ? '0 : ptr + 1'b1;
  endfunction

  function automatic info_t decode(logic [95:0] header, logic [3:0] route, coord_t coord, logic cut);
    info_t i;
    i.bcast = header[OpBit+:3] == CollBroadcast;
    i.bad   = cut || header[KindBit+:4] != KindCollective || header[RouteBit+:4] != route ||
              header[OpBit+:3] > CollMax || header[ClassBit+:2] > ClassResponse;
    i.mine  = header[DepositBit] || header[0+:$bits(coord_t)] == coord;
    i.cls   = header[ClassBit+:2] == ClassResponse;
    return i;
  endfunction

  // The packet that comes to the front: the one that comes in, or the next in the memory.
  logic  fresh, follow;
  info_t pushed;

  always_comb begin
    pushed = '0;
    fresh  = 1'b0;
    follow = 1'b0;
    if (push_i) begin
      pushed = decode(words_i, push_route_i, coord_i, cut_i);
      fresh  = !pending_q[push_route_i] || (start_i && start_route_i == push_route_i &&
                                            level_q[push_route_i] == LevelW'(1));
    end
    if (start_i) follow = level_q[start_route_i] != LevelW'(1);
  end

  always_ff @(posedge clk_i) begin
    if (push_i) mem[entry(push_route_i, tail_q[push_route_i])] <= pushed;
    if (start_i && follow) begin
      {bcast_q[start_route_i], bad_q[start_route_i], mine_q[start_route_i], class_q[start_route_i]} <=
          mem[entry(start_route_i, next(head_q[start_route_i]))];
    end
    if (fresh) begin
      {bcast_q[push_route_i], bad_q[push_route_i], mine_q[push_route_i], class_q[push_route_i]} <= pushed;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q    <= '0;
      tail_q    <= '0;
      level_q   <= '0;
      pending_q <= '0;
    end else begin
      if (push_i) tail_q[push_route_i] <= next(tail_q[push_route_i]);
      if (start_i) head_q[start_route_i] <= next(head_q[start_route_i]);
      if (!(push_i && start_i && push_route_i == start_route_i)) begin
        if (push_i) begin
          level_q[push_route_i]   <= level_q[push_route_i] + 1'b1;
          pending_q[push_route_i] <= 1'b1;
        end
        if (start_i) begin
          level_q[start_route_i]   <= level_q[start_route_i] - 1'b1;
          pending_q[start_route_i] <= follow;
        end
      end
    end
  end

  logic unused_words;
  assign unused_words = ^{words_i[95:88], words_i[84:82], words_i[77:68], words_i[63], words_i[61:32]};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && push_i) begin
      NoOverflow : assert (level_q[push_route_i] != LevelW'(Packets))
      else $fatal(1, "%m: more packets than there is room for");
    end
    if (rst_ni && start_i) begin
      NoUnderflow : assert (pending_q[start_route_i])
      else $fatal(1, "%m: packet started that is not there");
    end
  end
`endif
endmodule
