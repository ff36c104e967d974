// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Read-modify-writes of other nodes on this node's memory (HW-1), without software here: takes request packets
// from the receive paths, checks them, has the counter unit carry them out, and answers each by a packet of
// the response class that brings the old value and moves the requester's byte counter.
//   ErrPktRmw            unknown operation, or address not aligned to the operand
//   ErrPktSlot           slot invalid or without atomic right
//   ErrPktOwner          slot of another owner than that of the requesting injection FIFO
//   ErrPktBounds         operand leaves the slot, or the 48-bit address space
//   ErrRouteUnreachable  no route back to the requester
// A request that is refused, or whose memory access fails, is answered without a value: the other counter of
// the requester's pair moves (rmw_aux_t). Only one without a route back is not answered.
//
// A request is taken only with a slot for its answer at hand, so the counter unit never waits for one to be
// sent, and responses, whose counters go through that unit, never wait for requests.
module rmw_unit
  import gyre_pkg::*;
  import gyre_dma_pkg::*;
#(
    parameter int unsigned NDim = 3,
    parameter int unsigned Depth = 4,          // requests between acceptance and answer
    localparam int unsigned NPath = 2 * NDim + 1
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  node_cfg_t            cfg_i,
    // request packets, one row of a packet buffer: header, then payload; in the cycle of the grant
    input  logic [NPath-1:0]     req_i,
    output logic [NPath-1:0]     gnt_o,
    input  logic [AxiW-1:0]      row_i [NPath],  // zero without grant
    input  logic [31:0]          dbg_i [NPath],  // packet id for waves
    // slot of the operand
    output logic [MaxFifoId-1:0] slot_id_o,
    input  slot_t                slot_i,
    // counter unit
    output logic                 rmw_req_o,
    output rmw_exec_t            rmw_o,
    input  logic                 rmw_ack_i,
    input  logic                 rmw_done_i,
    input  logic                 rmw_failed_i,
    input  logic [63:0]          rmw_old_i,
    // answers
    output logic                 answer_valid_o,
    output logic [3:0]           answer_path_o,
    output tx_cmd_t              answer_o,
    input  logic                 answer_ready_i,
    output logic                 accepted_o,     // one-cycle pulse
    // errors, held until taken
    output error_t               err_o,
    input  logic                 err_ack_i,
    output logic                 busy_o,         // a request is not answered yet
    output logic                 idle_o
);
  localparam logic [3:0] PathLocal = 4'(NPath - 1);

  // ---- one request ------------------------------------------------------------------------------
  logic            valid_q, load, refused;
  logic [AxiW-1:0] row, row_q;
  logic [31:0]     dbg, dbg_q;

  assign load = req_i != '0 && !valid_q;
  logic [NPath-1:0] gnt;
  rr_arbiter #(.N(NPath)) u_arb (.clk_i, .rst_ni, .req_i, .advance_i(load), .gnt_o(gnt));
  assign gnt_o = load ? gnt : '0;

  always_comb begin
    row = '0;
    dbg = '0;
    if (load) begin
      for (int unsigned p = 0; p < NPath; p++) begin
        row = row | row_i[p];
        if (gnt[p]) dbg = dbg | dbg_i[p];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (load) valid_q <= 1'b1;
    else if (rmw_ack_i || refused) valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (load) begin
      row_q <= row;
      dbg_q <= dbg;
    end
  end

  // ---- check ------------------------------------------------------------------------------------
  header_t            hdr;
  rmw_aux_t           aux;
  desc_t              desc;      // its upper half is the payload
  logic [OffsetW-1:0] offset;
  logic [OffsetW:0]   end_off;
  logic [AddrW-1:0]   addr;
  logic [AddrW:0]     addr_end;
  logic [3:0]         port;
  err_e               err;
  logic               route_back, origin_full;

  assign hdr       = header_t'(row_q[255:0]);
  assign aux       = rmw_aux_t'(hdr.aux);
  assign desc      = desc_t'(row_q);
  assign slot_id_o = hdr.target;

  always_comb begin
    offset   = '0;
    end_off  = '0;
    addr     = '0;
    addr_end = '0;
    port     = '0;
    err      = ErrNone;
    route_back = 1'b0;
    if (valid_q) begin
      offset   = {aux.offset_hi, hdr.offset};
      end_off  = {1'b0, offset} + (aux.wide ? (OffsetW + 1)'(8) : (OffsetW + 1)'(4));
      addr     = slot_i.base + AddrW'(offset);
      addr_end = {1'b0, slot_i.base} + (AddrW + 1)'(end_off);
      port     = route_port(cfg_i, cfg_i.coord, hdr.src, LocalPort);
      route_back = port == LocalPort || port < PathLocal;
      if (desc.rmw_op > RmwXor || desc.rsvd2 != '0)         err = ErrPktRmw;
      else if (!slot_i.valid || !slot_i.atomic)             err = ErrPktSlot;
      else if (slot_i.owner != aux.owner)                   err = ErrPktOwner;
      else if (end_off > {1'b0, slot_i.limit} || addr_end > {1'b1, AddrW'(0)})
                                                            err = ErrPktBounds;
      else if (addr[1:0] != '0 || (aux.wide && addr[2]))    err = ErrPktRmw;
      else if (!route_back)                                   err = ErrRouteUnreachable;
    end
  end

  always_comb begin
    err_o        = '0;
    err_o.reason = ErrNone;
    if (err != ErrNone && (!origin_full || !route_back))
      err_o = '{valid: 1'b1, reason: err, where: hdr.target,
                info: packet_info(hdr.kind, hdr.src, hdr.sw0[29:0], hdr.sw1[29:0])};
  end
  assign refused = err_o.valid && err_ack_i;

  // ---- slots for answers: data that returns with the value ------------------------------------------
  typedef struct packed {
    logic        refused;      // no value comes
    coord_t      dst;
    logic [3:0]  path;
    logic        wide;
    logic        fetch;
    logic        ctr_valid;
    logic [31:0] ctr;          // {counter_offset, counter_slot}
    logic [9:0]  slot;
    logic [39:0] offset;
    logic [31:0] dbg;
  } origin_t;

  origin_t     origin_new, origin;
  logic        origin_empty, old_empty, old_full, failed, unserved, ready, pop;
  logic [63:0] old;
  logic [$clog2(Depth+1)-1:0] unused_origin_level, unused_old_level;

  assign rmw_req_o  = valid_q && err == ErrNone && !origin_full;
  assign rmw_o      = '{addr: addr, op: desc.rmw_op, compare: desc.rmw_compare, wide: aux.wide,
                        value: {desc.sw1, desc.sw0}, test: desc.rmw_test};
  assign accepted_o = rmw_ack_i;
  assign origin_new = '{refused: err != ErrNone, dst: hdr.src, path: port == LocalPort ? PathLocal : port,
                        wide: aux.wide, fetch: desc.rmw_fetch, ctr_valid: aux.ctr_valid, ctr: hdr.sw0, slot: aux.result_slot,
                        offset: {aux.result_off_hi, hdr.sw1}, dbg: dbg_q};

  gyre_fifo #(.Width($bits(origin_t)), .Depth(Depth)) u_origins (
      .clk_i, .rst_ni, .clear_i(1'b0), .push_i(rmw_ack_i || (refused && route_back)), .data_i(origin_new),
      .pop_i(pop), .data_o(origin), .empty_o(origin_empty), .full_o(origin_full), .level_o(unused_origin_level)
  );
  gyre_fifo #(.Width(65), .Depth(Depth)) u_old (
      .clk_i, .rst_ni, .clear_i(1'b0), .push_i(rmw_done_i), .data_i({rmw_failed_i, rmw_old_i}),
      .pop_i(pop && !origin.refused), .data_o({failed, old}), .empty_o(old_empty), .full_o(old_full), .level_o(unused_old_level)
  );

  // ---- answer -------------------------------------------------------------------------------------
  assign ready          = !origin_empty && (origin.refused || !old_empty);
  assign unserved       = origin.refused || failed;
  assign answer_valid_o = ready;
  assign answer_path_o  = origin.path;
  assign pop            = ready && answer_ready_i;

  always_comb begin
    answer_o = '0;
    if (answer_valid_o) begin
      answer_o.answer        = 1'b1;
      answer_o.data          = unserved ? '0 : old;
      answer_o.dbg           = origin.dbg;
      answer_o.header.dst    = origin.dst;
      answer_o.header.vclass = ClassResponse;
      answer_o.header.src    = cfg_i.coord;
      answer_o.header.kind   = KindRmwResp;
      answer_o.header.len    = !((origin.fetch && !unserved) || origin.ctr_valid) ? '0
                             : origin.wide ? 10'd8 : 10'd4;
      answer_o.header.first  = 1'b1;
      answer_o.header.last   = 1'b1;
      answer_o.header.target = origin.slot;
      answer_o.header.offset = origin.offset[31:0];
      answer_o.header.aux    = {22'd0, !origin.fetch || unserved, origin.ctr_valid, origin.offset[39:32]};
      // Bit 0 of the counter's offset.
      answer_o.header.sw0    = origin.ctr ^ (32'(unserved) << 10);
    end
  end

  assign busy_o = valid_q || !origin_empty;
  assign idle_o = req_i == '0 && !valid_q && !ready;

  logic unused_bits;
  assign unused_bits = ^{hdr, desc, old_full, slot_i.read, slot_i.write, slot_i.remote_read};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && valid_q) begin
      KindRmw : assert (hdr.kind == KindRmwReq)
      else $fatal(1, "%m: packet of another kind");
    end
    if (rst_ni && rmw_ack_i) begin
      AckAsked : assert (rmw_req_o)
      else $fatal(1, "%m: taken without request");
    end
    if (rst_ni && rmw_done_i) begin
      DoneTaken : assert (!origin_empty)
      else $fatal(1, "%m: completed without request");
    end
  end
`endif
endmodule
