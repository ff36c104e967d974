// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Flit buffer of a link input: the queues of all virtual channels in one memory, as linked lists (a dynamically
// allocated multi-queue). One flit in and one out a cycle; a flit that comes while another leaves takes its slot,
// else one from the list of free slots. The route of a packet is computed when its head is written; that of the
// packet at the front of each queue is in registers, so that arbitration does not wait for the memory.
//
// The sender decides how much room each channel may use (router_output); here a flit must only find a slot.
module router_buffer
  import gyre_pkg::*;
#(
    parameter int unsigned Flits = 272,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned NDim = 3,
    parameter int unsigned PortId = 0,      // port of arrival
    localparam int unsigned FlitW = FlitBytes * 8
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  node_cfg_t        cfg_i,
    input  logic             push_i,
    input  logic [VcW-1:0]   push_vc_i,
    input  flit_ctl_t        push_ctl_i,
    input  logic [FlitW-1:0] push_data_i,
    input  logic             read_i,
    input  logic [VcW-1:0]   read_vc_i,
    input  logic             pop_i,         // the flit read leaves
    output flit_ctl_t        ctl_o,         // oldest flit of the virtual channel read
    output logic [FlitW-1:0] data_o,
    output logic [NumVc-1:0] nonempty_o,
    output logic             full_o,
    // Packet at the front of each virtual channel.
    output logic [NumVc-1:0] body_o,        // its head has left
    output route_t           route_o [NumVc],
    output logic [BirthW-1:0] birth_o [NumVc] // that of the route, by itself
);
  localparam int unsigned SlotW = $clog2(Flits);
  localparam int unsigned CountW = $clog2(Flits + 1);
  localparam bit          Word2 = FlitBytes > 8;   // the head flit carries w2 and w3: hint, order and birth
  localparam logic [3:0]  Ports = 4'(2 * NDim);

  logic [FlitW-1:0] data_mem [Flits];
  flit_ctl_t        ctl_mem  [Flits];
  route_t           route_mem[Flits];
  logic [SlotW-1:0] next_mem [Flits];       // slot of the flit behind, or the next free slot

  logic [SlotW-1:0]  head_q [NumVc], tail_q [NumVc];
  route_t            route_q[NumVc];
  logic [BirthW-1:0] birth_q[NumVc];
  logic [NumVc-1:0]  nonempty_q, body_q;
  logic [SlotW-1:0]  free_q;                // list of free slots
  logic [CountW-1:0] freed_q, used_q;       // slots on it; slots that were ever used

  logic [SlotW-1:0]  slot, head, after;
  logic              single;                // the flit read is the only one of its channel

  assign nonempty_o = nonempty_q;
  assign body_o     = body_q;
  assign route_o    = route_q;
  assign birth_o    = birth_q;
  assign full_o     = freed_q == '0 && used_q == CountW'(Flits);

  function automatic route_t route(node_cfg_t here, logic [VcW-1:0] vc, logic [63:0] w01, logic [9:0] hint,
                                   logic [2:0] order);
    route_t r;
    r = route_transit(here, 4'(PortId), vc, w01, hint, order);
    if (r.port != LocalPort && r.port >= Ports) r.port = NoPort;
    // No shortest way leads back, unless software has changed the place or shape of a node under traffic. Such a
    // packet is discarded, since outputs take a request for the port of arrival for an injected packet.
    if (r.port == 4'(PortId) || r.minimal[PortId]) begin
      r.port    = NoPort;
      r.minimal = '0;
      r.deposit = 1'b0;
    end
    return r;
  endfunction

  logic [9:0] hint;
  logic [2:0] order;
  assign hint  = Word2 ? push_data_i[HeadHint%FlitW+:10] : '0;
  assign order = Word2 ? push_data_i[OrderBit%FlitW+:3] : '0;

  always_comb begin
    head   = '0;
    after  = '0;
    ctl_o  = '0;
    data_o = '0;
    single = 1'b0;
    if (read_i) begin
      head   = head_q[read_vc_i];
      after  = next_mem[head];
      ctl_o  = ctl_mem[head];
      data_o = data_mem[head];
      single = head == tail_q[read_vc_i];
    end
  end

  logic front;                              // the flit pushed comes to the front of its channel at once
  always_comb begin
    slot  = '0;
    front = 1'b0;
    if (push_i) begin
      slot  = pop_i ? head : (freed_q != '0) ? free_q : SlotW'(used_q);
      front = !nonempty_q[push_vc_i] || (pop_i && single && read_vc_i == push_vc_i);
    end
  end

  // ---- memories, lists and the routes in front (no reset: used under nonempty_q and the counts only) ----
  always_ff @(posedge clk_i) begin
    if (pop_i) begin
      head_q[read_vc_i] <= after;
      if (!push_i) begin
        next_mem[head] <= free_q;
        free_q         <= head;
      end
      if (ctl_o.tail && !single) begin
        route_q[read_vc_i] <= route_mem[after];
        birth_q[read_vc_i] <= route_mem[after].birth;
      end
    end
    if (push_i) begin
      data_mem[slot] <= push_data_i;
      ctl_mem[slot]  <= push_ctl_i;
      tail_q[push_vc_i] <= slot;
      if (!pop_i && freed_q != '0) free_q <= next_mem[free_q];
      // It comes to the front at once, or goes behind the last.
      if (front) head_q[push_vc_i] <= slot;
      else next_mem[tail_q[push_vc_i]] <= slot;
      if (push_ctl_i.head) begin
        automatic route_t r = route(cfg_i, push_vc_i, push_data_i[63:0], hint, order);
        if (Word2) r.birth = push_data_i[BirthBit%FlitW+:BirthW];
        if (front) begin
          route_q[push_vc_i] <= r;
          birth_q[push_vc_i] <= r.birth;
        end else begin
          route_mem[slot] <= r;
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      nonempty_q <= '0;
      body_q     <= '0;
      freed_q    <= '0;
      used_q     <= '0;
    end else begin
      if (pop_i) begin
        body_q[read_vc_i] <= !ctl_o.tail;
        if (single) nonempty_q[read_vc_i] <= 1'b0;
        if (!push_i) freed_q <= freed_q + 1'b1;
      end
      if (push_i) begin
        nonempty_q[push_vc_i] <= 1'b1;
        if (!pop_i) begin
          if (freed_q != '0) freed_q <= freed_q - 1'b1;
          else used_q <= used_q + 1'b1;
        end
      end
    end
  end

`ifndef SYNTHESIS
  int unsigned total_q;                     // flits of all channels

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      total_q <= 0;
    end else if (push_i || pop_i) begin
      total_q <= total_q + 32'(push_i) - 32'(pop_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && push_i) begin
      NoOverflow : assert (!full_o || pop_i)
      else $fatal(1, "%m: push into a full buffer");
    end
    if (rst_ni && pop_i) begin
      NoUnderflow : assert (nonempty_q[read_vc_i])
      else $fatal(1, "%m: pop from an empty queue");
      HeadFirst : assert (ctl_o.head == !body_q[read_vc_i])
      else $fatal(1, "%m: packet does not start with its head");
    end
    if (rst_ni && (push_i || pop_i)) begin
      FreeCount : assert (total_q == 32'(used_q) - 32'(freed_q))
      else $fatal(1, "%m: slots lost or used twice");
    end
  end
`endif
endmodule
