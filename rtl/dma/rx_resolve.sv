// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Finds the place in memory of every received packet: slot look-up with rights and bounds for puts, ring
// allocation for memory FIFOs and remote gets. One unit for all paths, one packet a cycle, two cycles from
// grant to answer; messages of the classes above response first, then responses, so they never wait for requests; the
// former have two paths, which ask once in several cycles. Bounded: after MaxPassed responses while a request waited
// the next look-up but for those classes above is a request's, so one waits for at most NPath times as many. A request
// without a place is refused and retries when rings have moved: it delays responses by that one look-up.
//   put of a flow (HW-4), window of a flow: ErrPktFlow; else the put has its place in the flow, refused or not
//   put (or collective with counter), answer to a read-modify-write: ErrPktSlot, ErrPktBounds, ErrPktCounter (in this order);
//     an access beyond the end of the 48-bit address space is out of bounds, whatever the limit of the slot
//   memory FIFO: ErrPktRecFifo, or blocked while the ring is full or halted
//   remote get: ErrPktInjFifo, or blocked while the ring is full
module rx_resolve
  import gyre_pkg::*;
  import gyre_dma_pkg::*;
#(
    parameter int unsigned NPath = 8,
    parameter int unsigned MaxPassed = 8,
    parameter int unsigned Coll = NPath - 1   // path of the collective network; paths after it are of higher classes
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // requests; [0] requests (after collection), [1] responses (before collection)
    input  logic [NPath-1:0]     req_i   [NumClasses],
    input  rx_req_t              req_request_i  [NPath],
    input  rx_req_t              req_response_i [NPath],
    output logic [NPath-1:0]     gnt_o   [NumClasses],
    // answers
    output logic [NPath-1:0]     res_valid_o,   // one-hot
    output logic                 res_response_o,
    output rx_res_t              res_o,
    // slots
    output logic [MaxFifoId-1:0] slot_id_o,
    input  slot_t                slot_i,
    output logic [MaxFifoId-1:0] ctr_id_o,
    input  slot_t                ctr_slot_i,
    // reception FIFOs
    output logic [MaxFifoId-1:0] rec_id_o,
    output logic [9:0]           rec_bytes_o,
    input  logic                 rec_ok_i,
    input  logic                 rec_fits_i,
    input  logic [AddrW-1:0]     rec_addr_i,
    input  logic [AddrW-13:0]    rec_next_page_i,
    output logic                 rec_alloc_o,
    output logic                 rec_wait_o,
    // remote-get injection FIFOs
    output logic [MaxFifoId-1:0] rget_id_o,
    input  logic                 rget_ok_i,
    input  logic [AddrW-1:0]     rget_base_i,
    input  logic [20:0]          rget_size_i,
    input  logic [31:0]          rget_alloc_i,
    input  logic [20:0]          rget_free_i,
    output rget_move_t           rget_alloc_o,
    // commit queue
    input  logic                 commit_room_i,
    input  logic [CommitW-1:0]   commit_index_i,
    output logic                 commit_push_o,
    output logic                 commit_rget_o,
    // flows: place of a put, window of a flow from its target
    output flow_ref_t            flow_o,
    output coord_t               flow_src_o,
    output logic [9:0]           flow_epoch_o,
    input  logic                 flow_ok_i,
    output logic                 flow_claim_o,
    output flow_counter_t        flow_counter_o,
    output flow_window_t         window_o,
    input  logic                 window_ok_i,
    // accepted packets by kind, one-cycle pulses
    output logic [7:0]           pkt_o,
    output logic                 idle_o
);
  // ---- stage 1: choose ------------------------------------------------------------------------
  // One arbiter a class: a pointer shared by two could pass over the same path for ever.
  localparam logic [NPath-1:0] HighPaths = ~((NPath'(2) << Coll) - NPath'(1));
  logic [NPath-1:0] want_high, want_request, gnt_high, gnt_request, gnt_response, gnt;
  logic             response, waits, turn;
  localparam int unsigned PassedW = $clog2(MaxPassed + 1);
  logic [PassedW-1:0] passed_q;   // responses granted while a request waited
  assign want_high    = commit_room_i ? req_i[0] & HighPaths : '0;
  assign waits        = commit_room_i && (req_i[0] & ~HighPaths) != '0;
  assign turn         = waits && passed_q == PassedW'(MaxPassed);
  assign response     = req_i[1] != '0 && want_high == '0 && !turn;
  assign want_request = (want_high == '0 && !response && commit_room_i) ? req_i[0] : '0;

  rr_arbiter #(.N(NPath)) u_high (
      .clk_i, .rst_ni, .req_i(want_high), .advance_i(want_high != '0), .gnt_o(gnt_high)
  );
  rr_arbiter #(.N(NPath)) u_request (
      .clk_i, .rst_ni, .req_i(want_request), .advance_i(want_request != '0), .gnt_o(gnt_request)
  );
  rr_arbiter #(.N(NPath)) u_response (
      .clk_i, .rst_ni, .req_i(response ? req_i[1] : '0), .advance_i(response), .gnt_o(gnt_response)
  );
  assign gnt_o[0] = gnt_high | gnt_request;
  assign gnt_o[1] = gnt_response;
  assign gnt      = gnt_high | gnt_request | gnt_response;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) passed_q <= '0;
    else if (gnt_request != '0) passed_q <= '0;
    else if (response && waits && passed_q != PassedW'(MaxPassed)) passed_q <= passed_q + 1'b1;
  end

  logic [NPath-1:0] path_q;    // zero: nothing in this stage
  logic             response_q;
  rx_req_t          r_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      path_q     <= '0;
      response_q <= 1'b0;
    end else if (gnt != '0 || path_q != '0) begin
      path_q     <= gnt;
      response_q <= response;
    end
  end
  always_ff @(posedge clk_i) begin
    if (gnt != '0) begin
      for (int unsigned p = 0; p < NPath; p++) begin
        if (gnt[p]) r_q <= response ? req_response_i[p] : req_request_i[p];
      end
    end
  end

  // ---- stage 2: look up, check, allocate --------------------------------------------------------
  rx_res_t res_d;
  logic    active, fits;
  logic [OffsetW:0]  end_off, ctr_end;
  logic [AddrW:0]    addr_end, ctr_addr_end;
  logic [AddrW-1:0]  put_addr, ctr_addr;
  logic [AddrW-13:0] rget_page;
  logic [20:12]      rget_mask;
  assign active      = path_q != '0;
  assign slot_id_o   = r_q.target;
  assign ctr_id_o    = r_q.ctr_slot;
  assign rec_id_o    = r_q.target;
  assign rec_bytes_o = rx_ring_bytes(1'b1, r_q.len);
  assign rget_id_o   = r_q.target;

  always_comb begin
    res_d     = '0;
    fits      = 1'b0;
    end_off   = '0;
    ctr_end   = '0;
    addr_end  = '0;
    ctr_addr_end = '0;
    put_addr  = '0;
    ctr_addr  = '0;
    rget_page = rget_base_i[AddrW-1:12];
    rget_mask = '0;
    res_d.err = ErrNone;
    if (active) begin
      res_d.commit = commit_index_i;
      if (response_q) begin
        end_off         = {1'b0, r_q.offset} + {31'd0, r_q.len};
        ctr_end         = {16'd0, r_q.ctr_offset, 3'd0} + (OffsetW + 1)'(8);
        put_addr        = slot_i.base + {8'd0, r_q.offset};
        ctr_addr        = ctr_slot_i.base + {23'd0, r_q.ctr_offset, 3'd0};
        addr_end        = {1'b0, slot_i.base} + (AddrW + 1)'(end_off);
        ctr_addr_end    = {1'b0, ctr_slot_i.base} + (AddrW + 1)'(ctr_end);
        res_d.silent    = r_q.silent;
        // The write that keeps a put without payload in order touches no byte, beside its counter.
        res_d.addr      = (r_q.silent || r_q.len == '0) ? ctr_addr : put_addr;
        res_d.next_page = put_addr[AddrW-1:12] + 1'b1;
        res_d.ctr_valid = r_q.ctr_valid;
        res_d.ctr_addr  = ctr_addr;
        res_d.flow = r_q.flow;
        if (!flow_ok_i) res_d.flow = '0;
        if (r_q.err != ErrNone) res_d.err = r_q.err;
        else if ((r_q.flow.valid && !flow_ok_i) || (r_q.control && !window_ok_i)) res_d.err = ErrPktFlow;
        else if (!r_q.silent && (!slot_i.valid || !slot_i.write)) res_d.err = ErrPktSlot;
        else if (!r_q.silent && (end_off > {1'b0, slot_i.limit} || addr_end > {1'b1, AddrW'(0)})) res_d.err = ErrPktBounds;
        else if (r_q.ctr_valid && (!ctr_slot_i.valid || !ctr_slot_i.atomic ||
                 ctr_end > {1'b0, ctr_slot_i.limit} || ctr_addr_end > {1'b1, AddrW'(0)} || ctr_addr[2:0] != '0))
                                                           res_d.err = ErrPktCounter;
        fits = 1'b1;
      end else if (r_q.mem_fifo) begin
        res_d.addr      = rec_addr_i;
        res_d.next_page = rec_next_page_i;
        if (!rec_ok_i) res_d.err = ErrPktRecFifo;
        fits = rec_fits_i;
      end else begin
        rget_mask       = rget_size_i[20:12] - 1'b1;
        res_d.addr      = {rget_page + {28'd0, rget_alloc_i[19:12] & rget_mask[19:12]}, rget_alloc_i[11:0]};
        res_d.next_page = rget_page + {28'd0, (rget_alloc_i[19:12] + 1'b1) & rget_mask[19:12]};
        if (!rget_ok_i) res_d.err = ErrPktInjFifo;
        fits = {11'd0, r_q.len} <= rget_free_i;
      end
      res_d.ok      = res_d.err == ErrNone && fits;
      res_d.blocked = res_d.err == ErrNone && !fits;
    end
  end
  logic unused_bits;
  assign unused_bits = ^{rget_base_i[11:0], rget_size_i[11:0], rget_alloc_i[31:20], rget_mask[20],
                         slot_i.read, slot_i.atomic, slot_i.remote_read, slot_i.owner,
                         ctr_slot_i.read, ctr_slot_i.write, ctr_slot_i.remote_read, ctr_slot_i.owner};

  // Neither look-up depends on the answers above.
  assign flow_o         = '{valid: active && response_q && r_q.flow.valid, id: r_q.flow.id, seq: r_q.flow.seq};
  assign flow_src_o     = r_q.src;
  assign flow_epoch_o   = r_q.epoch;
  assign flow_claim_o   = res_d.flow.valid;
  assign flow_counter_o = '{ctr_valid: res_d.err == ErrNone && r_q.ctr_valid, ctr_addr: res_d.ctr_addr,
                            ctr_bytes: r_q.len == '0 ? 10'd1 : r_q.len};
  assign window_o       = '{valid: active && response_q && r_q.control && r_q.err == ErrNone, id: flow_id_t'(r_q.target), epoch: flow_epoch_t'(r_q.epoch),
                            src: r_q.src, seq: r_q.flow.seq};

  assign commit_push_o = res_d.ok && !response_q;
  assign commit_rget_o = !r_q.mem_fifo;
  assign rec_alloc_o   = commit_push_o && r_q.mem_fifo;
  assign rec_wait_o    = res_d.blocked && r_q.mem_fifo;
  assign rget_alloc_o  = '{valid: commit_push_o && !r_q.mem_fifo, failed: 1'b0,
                           id: r_q.target, bytes: r_q.len};
  assign pkt_o         = !res_d.ok ? '0 : path_q[Coll] ? 8'(1 << KindCollective) : response_q ? (r_q.rmw ? 8'(1 << KindRmwResp) : r_q.control ? 8'(1 << KindControl) : 8'(1 << KindPut))
                       : r_q.mem_fifo ? 8'(1 << KindMemFifo) : 8'(1 << KindRemoteGet);

  // ---- answer --------------------------------------------------------------------------------------
  logic [NPath-1:0] res_valid_q;
  logic             res_response_q;
  rx_res_t          res_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) res_valid_q <= '0;
    else if (active || res_valid_q != '0) res_valid_q <= path_q;
  end
  always_ff @(posedge clk_i) begin
    if (active) begin
      res_q          <= res_d;
      res_response_q <= response_q;
    end
  end
  assign res_valid_o    = res_valid_q;
  assign res_response_o = res_response_q;
  assign res_o          = res_q;
  assign idle_o         = gnt == '0 && !active && res_valid_q == '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && active && response_q) begin
      ResponseNeverBlocked : assert (!res_d.blocked)
      else $fatal(1, "%m: a response was blocked");
    end
  end
`endif
endmodule
