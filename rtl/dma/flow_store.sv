// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Request packets of ordered-dynamic flows (HW-4): takes them from the reception paths of links, each into its slot, and
// forwards those whose turn has come as whole packets, one flit a cycle each way for all paths and flows together.
// Taking a packet waits for nothing but other packets' flits. Released packets no longer name their flow, nor
// its epoch: the number in their message follows from their offset in it.
// Refused: ErrPktFlow, or the reason for which the path refused the header; damaged: ErrPktTruncated.
//
// Two stages: choose a path with a header or a flit; look up, claim and store.
module flow_store
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned NIn       = 6,   // paths
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned NFlow     = 4,
    parameter int unsigned Window    = 8,
    localparam int unsigned FW = FlitBytes * 8
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    // headers of packets of flows
    input  logic [NIn-1:0]   req_i,
    input  header_t          hdr_i  [NIn],
    input  logic [NIn-1:0]   only_i,            // the packet ended with its header
    input  err_e             err_i  [NIn],      // reason of its refusal
    input  logic [31:0]      dbg_i  [NIn],
    output logic [NIn-1:0]   take_o,
    // payload flits of packets whose header was taken
    input  logic [NIn-1:0]   valid_i,
    input  logic [FW-1:0]    data_i [NIn],
    input  logic [NIn-1:0]   tail_i,
    input  logic [NIn-1:0]   bad_i,             // with tail: damaged
    output logic [NIn-1:0]   pop_o,
    // slots
    output flow_ref_t        look_o,
    output coord_t           look_src_o,
    output logic [9:0]       look_epoch_o,
    input  logic             look_ok_i,
    output logic             claim_o,
    output flow_ref_t        fill_o,
    output logic             void_o,
    input  logic [NFlow-1:0] head_i,
    input  flow_seq_t        seq_i  [NFlow],
    output logic [NFlow-1:0] release_o,
    output logic [NFlow-1:0] going_o,           // the flow's next is on its way out
    // packets in their order
    output logic             out_valid_o,
    input  logic             out_ready_i,
    output flit_ctl_t        out_ctl_o,
    output logic [FW-1:0]    out_data_o,
    // errors, held until taken
    output error_t           err_o,
    input  logic             err_ack_i,
    output logic             holds_o,           // part of a packet is here, besides packets in slots
    output logic             idle_o
);
  localparam int unsigned IdW         = (NFlow > 1) ? $clog2(NFlow) : 1;
  localparam int unsigned PathW       = (NIn > 1) ? $clog2(NIn) : 1;
  localparam int unsigned HeaderFlits = HeaderBytes / FlitBytes;
  localparam int unsigned BodyFlits   = MaxPayloadBytes / FlitBytes;
  localparam int unsigned NPlace      = NFlow * Window;
  localparam int unsigned NumW        = (NPlace > 1) ? $clog2(NPlace) : 1;
  localparam int unsigned BodyW       = $clog2(NPlace * BodyFlits);
  localparam int unsigned CountW      = $clog2(BodyFlits + 1);

  function automatic logic [NumW-1:0] slot_number(logic [IdW-1:0] id, flow_seq_t seq);
    return NumW'(32'(id) * Window + 32'(seq & flow_seq_t'(Window - 1)));
  endfunction

  // ---- stage 1: choose ------------------------------------------------------------------------------
  logic [NIn-1:0]  want, gnt;
  logic            ready, pick, failed;
  logic            valid_q, head_q, only_q, tail_q, bad_q;
  logic [PathW-1:0] path, path_q;
  header_t         hdr, hdr_q;
  err_e            hdr_err, hdr_err_q;
  logic [31:0]     dbg, dbg_q;
  logic [FW-1:0]   data, data_q;
  error_t          err_q;

  assign ready = !err_q.valid && !failed;
  assign want  = ready ? req_i | valid_i : '0;
  assign pick  = want != '0;
  rr_arbiter #(.N(NIn)) u_arbiter (.clk_i, .rst_ni, .req_i(want), .advance_i(pick), .gnt_o(gnt));
  assign take_o = pick ? gnt & req_i : '0;
  assign pop_o  = pick ? gnt & valid_i : '0;

  always_comb begin
    path    = '0;
    hdr     = '0;
    hdr_err = ErrNone;
    dbg     = '0;
    data    = '0;
    if (pick) begin
      for (int unsigned p = 0; p < NIn; p++) begin
        if (gnt[p]) path = PathW'(p);
        if (take_o[p]) begin
          hdr     = hdr_i[p];
          hdr_err = err_i[p];
          dbg     = dbg_i[p];
        end
        if (pop_o[p]) data = data_i[p];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (pick || valid_q) valid_q <= pick;
  end
  always_ff @(posedge clk_i) begin
    if (pick) begin
      path_q <= path;
      head_q <= take_o != '0;
      only_q <= (gnt & only_i) != '0;
      tail_q <= (gnt & tail_i) != '0;
      bad_q  <= (gnt & bad_i) != '0;
      data_q <= data;
      if (take_o != '0) begin
        hdr_q     <= hdr;
        hdr_err_q <= hdr_err;
        dbg_q     <= dbg;
      end
    end
  end

  // ---- stage 2: look up, claim, store -----------------------------------------------------------------
  // Packet of each path with payload arriving.
  flow_ref_t        ref_q  [NIn];       // its slot; without one the packet is drained
  logic [NIn-1:0]   open_q, drop_q;     // its payload is not over; nothing of it is stored
  logic [CountW-1:0] left_q [NIn];      // flits to come
  packet_info_t     info_q [NIn];       // for the error register
  logic [9:0]       where_q [NIn];

  logic [CountW-1:0] flits, left;
  logic              first, store, over, broken, drop;
  err_e              reason;
  assign first = valid_q && head_q;
  assign flits = CountW'({hdr_q.len[9:5] + 5'(hdr_q.len[4:0] != '0), 5'd0} / 10'(FlitBytes));

  always_comb begin
    look_o     = '0;
    look_src_o = '0;
    look_epoch_o = '0;
    claim_o    = 1'b0;
    fill_o     = '0;
    void_o     = 1'b0;
    store      = 1'b0;
    over       = 1'b0;
    broken     = 1'b0;
    drop       = 1'b0;
    left       = '0;
    reason     = ErrNone;
    if (first) begin
      look_o     = '{valid: 1'b1, id: hdr_q.flow, seq: hdr_q.flow_seq};
      look_src_o = hdr_q.src;
      look_epoch_o = hdr_q.seq;
      claim_o    = look_ok_i;
      over       = only_q;
      reason     = hdr_err_q != ErrNone ? hdr_err_q : !look_ok_i ? ErrPktFlow
                 : only_q && flits != '0 ? ErrPktTruncated : ErrNone;
      drop       = reason != ErrNone;
      fill_o     = '{valid: look_ok_i && over, id: hdr_q.flow, seq: hdr_q.flow_seq};
      void_o     = drop;
    end else if (valid_q) begin
      left   = left_q[path_q];
      drop   = drop_q[path_q];
      store  = !drop && left != '0;
      over   = tail_q;
      // Too short, too long, or marked bad; a refused packet keeps its first reason.
      broken = !drop && (tail_q ? bad_q || left != CountW'(1) : left == '0);
      reason = broken ? ErrPktTruncated : ErrNone;
      fill_o = ref_q[path_q];
      fill_o.valid = ref_q[path_q].valid && over;
      void_o = drop || broken;
    end
  end
  assign failed = reason != ErrNone;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q <= '0;
      drop_q <= '0;
      err_q  <= '0;
    end else begin
      if (valid_q) begin
        open_q[path_q] <= !over;
        drop_q[path_q] <= drop || failed;
      end
      if (failed) begin
        err_q <= '{valid: 1'b1, reason: reason, where: first ? hdr_q.target : where_q[path_q],
                   info: first ? packet_info(hdr_q.kind, hdr_q.src, hdr_q.sw0[29:0], hdr_q.sw1[29:0]) : info_q[path_q]};
      end else if (err_ack_i) begin
        err_q.valid <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (first) begin
      ref_q[path_q]   <= '{valid: look_ok_i, id: hdr_q.flow, seq: hdr_q.flow_seq};
      left_q[path_q]  <= flits;
      info_q[path_q]  <= packet_info(hdr_q.kind, hdr_q.src, hdr_q.sw0[29:0], hdr_q.sw1[29:0]);
      where_q[path_q] <= hdr_q.target;
    end else if (store) begin
      left_q[path_q] <= left - 1'b1;
    end
  end
  assign err_o = err_q;

  // ---- slots' memories --------------------------------------------------------------------------------
  logic [NumW-1:0]  store_slot, next_slot;
  logic [BodyW-1:0] store_place, body_place;
  logic             next, body;               // a packet starts; its next flit is of its payload
  header_t          stored;
  logic [31:0]      out_dbg;
  logic [FW-1:0]    out_body;

  // Flits of a payload end at the end of their slot.
  function automatic logic [BodyW-1:0] place(logic [NumW-1:0] slot, logic [CountW-1:0] count);
    return BodyW'(32'(slot) * BodyFlits + BodyFlits - 32'(count));
  endfunction

  always_comb begin
    store_slot  = '0;
    store_place = '0;
    if (first) store_slot = slot_number(hdr_q.flow[IdW-1:0], hdr_q.flow_seq);
    else if (store) store_place = place(slot_number(ref_q[path_q].id[IdW-1:0], ref_q[path_q].seq), left);
  end

  gyre_ram #(
      .Width($bits(header_t) + 32),
      .Depth(NPlace)
  ) u_headers (
      .clk_i,
      .rst_ni,
      .write_i(claim_o && !drop),
      .waddr_i(store_slot),
      .wdata_i({hdr_q, dbg_q}),
      .read_i (next),
      .raddr_i(next_slot),
      .rdata_o({stored, out_dbg})
  );

  gyre_ram #(
      .Width(FW),
      .Depth(NPlace * BodyFlits)
  ) u_bodies (
      .clk_i,
      .rst_ni,
      .write_i(store),
      .waddr_i(store_place),
      .wdata_i(data_q),
      .read_i (body),
      .raddr_i(body_place),
      .rdata_o(out_body)
  );

  // ---- packets in their order ---------------------------------------------------------------------------
  logic             out_q, out_tail;
  logic [IdW-1:0]   next_flow, out_flow_q;
  logic [NumW-1:0]  out_slot_q;
  logic [6:0]       cnt_q, out_flits;
  header_t          out_hdr;
  logic [NFlow-1:0] candidates, out_gnt;

  assign candidates = out_q ? '0 : head_i;
  assign next       = candidates != '0;
  rr_arbiter #(.N(NFlow)) u_turn (.clk_i, .rst_ni, .req_i(candidates), .advance_i(next), .gnt_o(out_gnt));

  always_comb begin
    next_flow = '0;
    next_slot = '0;
    if (next) begin
      for (int unsigned f = 0; f < NFlow; f++) if (out_gnt[f]) next_flow = IdW'(f);
      next_slot = slot_number(next_flow, seq_i[next_flow]);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      out_q <= 1'b0;
      cnt_q <= '0;
    end else if (next) begin
      out_q <= 1'b1;
      cnt_q <= '0;
    end else if (out_q && out_ready_i) begin
      cnt_q <= cnt_q + 1'b1;
      out_q <= !out_tail;
    end
  end
  always_ff @(posedge clk_i) begin
    if (next) begin
      out_flow_q <= next_flow;
      out_slot_q <= next_slot;
    end
  end

  logic [HeaderFlits-1:0][FW-1:0] header_flits;
  assign header_flits = out_hdr;
  always_comb begin
    out_hdr    = '0;
    out_flits  = '0;
    out_tail   = 1'b0;
    out_data_o = '0;
    out_ctl_o  = '0;
    release_o  = '0;
    going_o    = '0;
    body       = 1'b0;
    body_place = '0;
    if (out_q) begin
      out_hdr            = stored;
      out_hdr.flow       = '0;
      out_hdr.flow_seq   = '0;
      out_hdr.flow_valid = 1'b0;
      out_hdr.seq        = stored.kind == KindMemFifo ? stored.offset[18:9] : '0;
      out_flits          = packet_flits(stored.len, FlitBytes);
      out_tail           = cnt_q + 1'b1 == out_flits;
      going_o[out_flow_q] = 1'b1;
      out_ctl_o  = '{err: 1'b0, tail: out_tail, head: cnt_q == '0, dbg: out_dbg};
      out_data_o = out_body;
      for (int unsigned h = 0; h < HeaderFlits; h++) if (cnt_q == 7'(h)) out_data_o = header_flits[h];
      release_o[out_flow_q] = out_ready_i && out_tail;
      body       = out_ready_i && !out_tail && cnt_q + 1'b1 >= 7'(HeaderFlits);
      body_place = place(out_slot_q, CountW'(out_flits - cnt_q - 1'b1));
    end
  end
  assign out_valid_o = out_q;

  assign holds_o = valid_q || open_q != '0;
  assign idle_o  = !pick && !valid_q && !err_q.valid && !next && !(out_q && out_ready_i);

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && valid_q) begin
      OnePacket : assert (head_q != open_q[path_q])
      else $fatal(1, "%m: flit without a packet, or a packet inside another");
    end
    if (rst_ni && pick) begin
      OneThing : assert ((take_o & valid_i) == '0)
      else $fatal(1, "%m: header and payload of one path at once");
    end
  end
`endif
endmodule
