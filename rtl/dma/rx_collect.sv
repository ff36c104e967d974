// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Stores packets of one path, one at a time, in packet buffers: responses first, placed for their address, then
// requests from the start of a row. A damaged or refused packet is drained to its tail, reported and dropped.
//
// Bounded: after MaxPassed responses have started while a request waited, the next packet to start is that request, if it
// has a buffer and a place among those that wait for the resolver. While it has none (rings are full) responses go on: they
// never wait for requests, but for the payload of one that has started.
module rx_collect
  import gyre_pkg::*;
  import gyre_dma_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned MaxPassed = 8,
    localparam int unsigned FW = FlitBytes * 8,
    localparam int unsigned NBank = AxiBytes / FlitBytes,
    localparam int unsigned RowW = $clog2(RxBuffers * RxRows)
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // next request: its header
    input  logic                 req_valid_i,
    input  header_t              req_hdr_i,
    input  logic                 req_only_i,
    input  rx_head_t             req_head_i,
    input  err_e                 req_err_i,
    input  logic                 req_room_i,     // it may wait for the resolver
    output logic                 req_take_o,
    // next response
    input  logic                 resp_valid_i,
    input  logic                 resp_only_i,
    input  rx_head_t             resp_head_i,
    input  rx_res_t              resp_res_i,
    output logic                 resp_take_o,
    // payload flits of both classes
    input  logic [NumClasses-1:0] valid_i,
    input  logic [FW-1:0]        data_i [NumClasses],
    input  logic [NumClasses-1:0] tail_i,
    input  logic [NumClasses-1:0] err_i,
    output logic [NumClasses-1:0] pop_o,
    // buffers
    input  logic [RxBuffers-1:0] free_i,
    output logic [RxBuffers-1:0] take_buf_o,
    output logic [RxBuffers-1:0] drop_buf_o,
    output logic [NBank-1:0]     buf_we_o,
    output logic [RowW-1:0]      buf_row_o,
    output logic [FW-1:0]        buf_data_o,
    output logic                 buf_hdr_o,
    // collected packets
    output logic                 done_req_o,
    output logic                 done_resp_o,
    input  logic                 done_resp_ready_i,
    output logic                 request_o,      // the payload of a request is not over
    output rx_head_t             done_head_o,
    output logic [1:0]           done_buf_o,
    output rx_res_t              done_res_o,     // of a response
    output flow_ref_t            flow_o,         // response that ends here: its place in a flow
    // errors, held until taken
    output error_t               err_o,
    input  logic                 err_ack_i,
    output logic                 holds_o,        // a packet is here
    output logic                 idle_o
);
  localparam int unsigned ShiftW = $clog2(FlitBytes);
  localparam int unsigned PosW   = $clog2(RxRows * NBank);
  localparam int unsigned BankW  = $clog2(NBank);
  localparam int unsigned CountW = $clog2(MaxPayloadBytes / FlitBytes + 1);
  localparam int unsigned PassedW = $clog2(MaxPassed + 1);

  typedef enum logic [1:0] {StIdle, StRun, StDone} state_e;
  state_e            st_q;
  logic              resp_q, drop_q;   // class; nothing is stored
  logic [1:0]        buf_q;
  rx_head_t          head_q;
  rx_res_t           res_q;
  err_e              reason_q;         // ErrNone: good so far
  logic [CountW-1:0] left_q;           // payload flits to come
  logic [PosW-1:0]   pos_q;            // next bank, counted from the start of the buffer
  logic [ShiftW-1:0] shift_q;
  logic              flush_q;          // bytes are left over after the last flit

  // ---- start of a packet ------------------------------------------------------------------------
  logic     complete, flushing, can_start, may_req, turn, start_req, start_resp, start, s_drop, s_only, s_kept;
  logic [PassedW-1:0] passed_q;        // responses that started while the request waited
  rx_head_t s_head;
  err_e     s_err;
  logic [CountW-1:0]    s_flits;
  logic [RxBuffers-1:0] first_free;
  logic [1:0]           s_buf;

  assign first_free = free_i & (~free_i + 1'b1);
  assign s_buf      = first_free[0] ? 2'd0 : first_free[1] ? 2'd1 : 2'd2;
  assign can_start  = st_q == StIdle || complete;
  assign may_req    = req_valid_i && (req_err_i != ErrNone || (free_i != '0 && req_room_i));
  assign turn       = may_req && passed_q == PassedW'(MaxPassed);
  assign start_resp = can_start && resp_valid_i && !turn && (!resp_res_i.ok || free_i != '0);
  assign start_req  = can_start && (!resp_valid_i || turn) && !flushing && may_req;
  assign start      = start_resp || start_req;
  assign s_head     = start_resp ? resp_head_i : req_head_i;
  assign s_err      = start_resp ? (resp_res_i.ok ? ErrNone : resp_res_i.err) : req_err_i;
  assign s_only     = start_resp ? resp_only_i : req_only_i;
  assign s_kept     = s_head.mem_fifo || s_head.rmw;   // its header is stored before its payload
  assign s_drop     = s_err != ErrNone;
  assign s_flits    = CountW'({s_head.len[9:5] + 5'(s_head.len[4:0] != '0), 5'd0} / 10'(FlitBytes));
  assign resp_take_o = start_resp;
  assign req_take_o  = start_req;
  assign take_buf_o  = (start && !s_drop) ? first_free : '0;

  // ---- payload ----------------------------------------------------------------------------------
  logic          move, store, tail, bad;
  logic [FW-1:0] data, aligned;
  assign move  = st_q == StRun && (resp_q ? valid_i[1] : valid_i[0]);
  assign tail  = resp_q ? tail_i[1] : tail_i[0];
  assign bad   = resp_q ? err_i[1] : err_i[0];
  assign data  = resp_q ? data_i[1] : data_i[0];
  assign pop_o = {move && resp_q, move && !resp_q};
  assign store = move && !drop_q && left_q != '0;
  assign flushing = st_q == StDone && flush_q;

  rx_align #(.FlitBytes(FlitBytes)) u_align (
      .clk_i, .rst_ni, .start_i(start), .valid_i(store || flushing), .flush_i(flushing),
      .shift_i(shift_q), .data_i(data), .data_o(aligned)
  );

  assign buf_hdr_o  = start_req && !s_drop && s_kept;
  assign buf_data_o = aligned;
  assign buf_we_o   = (store || flushing) ? NBank'(1) << pos_q[BankW-1:0] : '0;
  assign buf_row_o  = buf_hdr_o ? RowW'(s_buf) * RowW'(RxRows)
                    : RowW'(buf_q) * RowW'(RxRows) + RowW'(pos_q[PosW-1:BankW]);

  // ---- end of a packet -----------------------------------------------------------------------------
  logic good, nothing;
  assign good        = st_q == StDone && reason_q == ErrNone;
  assign nothing     = resp_q && head_q.len == '0 && !res_q.ctr_valid;
  assign done_req_o  = good && !resp_q;
  assign done_resp_o = good && resp_q && !nothing;
  assign complete    = st_q == StDone &&
                       (good ? !done_resp_o || done_resp_ready_i : err_ack_i);
  assign done_head_o = head_q;
  assign done_buf_o  = buf_q;
  assign done_res_o  = res_q;
  // A put without payload and counter is done here.
  assign drop_buf_o  = (complete && !drop_q && !(good && !nothing))
                     ? RxBuffers'(1) << buf_q : '0;

  always_comb begin
    flow_o       = res_q.flow;
    flow_o.valid = res_q.flow.valid && resp_q && complete && !done_resp_o;
  end

  always_comb begin
    err_o        = '0;
    err_o.reason = ErrNone;
    if (st_q == StDone && !good)
      err_o = '{valid: 1'b1, reason: reason_q, where: head_q.target, info: head_q.info};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      st_q    <= StIdle;
      flush_q <= 1'b0;
    end else begin
      if (flushing) flush_q <= 1'b0;
      if (start) begin
        st_q    <= s_only ? StDone : StRun;
        flush_q <= 1'b0;
      end else if (complete) begin
        st_q <= StIdle;
      end else if (move && tail) begin
        st_q    <= StDone;
        flush_q <= !drop_q && shift_q != '0;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) passed_q <= '0;
    else if (start_req) passed_q <= '0;
    else if (start_resp && req_valid_i && passed_q != PassedW'(MaxPassed)) passed_q <= passed_q + 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (start) begin
      resp_q   <= start_resp;
      drop_q   <= s_drop;
      buf_q    <= s_buf;
      head_q   <= s_head;
      res_q    <= resp_res_i;
      left_q   <= s_flits;
      shift_q  <= start_resp ? resp_res_i.addr[ShiftW-1:0] : '0;
      pos_q    <= start_resp ? PosW'(resp_res_i.addr[5:ShiftW])
                             : s_kept ? PosW'(NBank / 2) : '0;
      reason_q <= s_drop ? s_err : (s_only && s_flits != '0) ? ErrPktTruncated : ErrNone;
    end else if (move) begin
      if (left_q != '0) left_q <= left_q - 1'b1;
      if (store) pos_q <= pos_q + 1'b1;
      // Too short, too long, or marked bad; a refused packet keeps its first reason.
      if (!drop_q && ((tail && (bad || left_q != CountW'(1))) || left_q == '0)) reason_q <= ErrPktTruncated;
    end
  end
  logic unused_hdr;
  assign unused_hdr = ^req_hdr_i;

  assign request_o = st_q == StRun && !resp_q;
  assign holds_o = st_q != StIdle;
  assign idle_o  = !start && !move && st_q != StDone;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && (store || flushing)) begin
      InBuffer : assert (pos_q < PosW'(RxRows * NBank))
      else $fatal(1, "%m: beyond the packet buffer");
    end
  end
`endif
endmodule
