// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Reception path: packets from one ejection path of a network (or the loop-back) to memory (HW-1).
//   rx_header x2 -> rx_response (puts: place first) -> rx_collect -> rx_buffer -> rx_write -> rx_retire
//                                          requests: -> rx_pending (place after collection)
//                    read-modify-writes, once all earlier data is in memory: -> rmw_unit
// Responses go first and never wait for requests: requests without a place hold at most all buffers but one.
// On paths of links, requests of ordered-dynamic flows (HW-4) leave by flow_store, and their puts are reported when they
// are in memory.
module rx_path
  import gyre_pkg::*;
  import gyre_dma_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    parameter logic [AxiIdW-1:0] Id = '0,
    parameter bit Collective = 1'b0,             // path of the collective network
    parameter bit Flows = 1'b0,                  // path of a link
    parameter vclass_e Requests = ClassRequest,  // class of its requests; classes above have no responses here
    localparam int unsigned FW = FlitBytes * 8
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  coord_t                coord_i,
    // flits
    input  logic [NumClasses-1:0] ej_valid_i,
    output logic [NumClasses-1:0] ej_ready_o,
    input  flit_ctl_t             ej_ctl_i  [NumClasses],
    input  logic [FW-1:0]         ej_data_i [NumClasses],
    // resolver, [0] requests, [1] responses
    output logic [NumClasses-1:0] req_o,
    output rx_req_t               req_request_o,
    output rx_req_t               req_response_o,
    input  logic [NumClasses-1:0] gnt_i,
    input  logic                  res_valid_i,
    input  logic                  res_response_i,
    input  rx_res_t               res_i,
    input  logic                  retry_i,       // a ring has moved
    // read-modify-write unit
    output logic                  rmw_req_o,
    input  logic                  rmw_gnt_i,
    output logic [AxiW-1:0]       rmw_row_o,     // header and payload; zero without grant
    output logic [31:0]           rmw_dbg_o,
    // requests of flows
    output logic                  flow_req_o,
    output header_t               flow_hdr_o,
    output logic                  flow_only_o,
    output err_e                  flow_err_o,
    output logic [31:0]           flow_dbg_o,
    input  logic                  flow_take_i,
    output logic                  flow_valid_o,  // payload
    output logic [FW-1:0]         flow_data_o,
    output logic                  flow_tail_o,
    output logic                  flow_bad_o,
    input  logic                  flow_pop_i,
    // puts of flows: at the end of their way, [0] to memory, [1] not
    output flow_ref_t             put_done_o [2],
    output logic [1:0]            put_failed_o,
    // write multiplexer
    output logic                  aw_req_o,
    output axi_addr_t             aw_o,
    input  logic                  aw_gnt_i,
    input  logic                  w_sel_i,
    input  logic                  w_pop_i,
    output logic [AxiW-1:0]       w_data_o,
    output logic [AxiBytes-1:0]   w_strb_o,
    output logic                  w_last_o,
    output logic [31:0]           w_dbg_o,
    input  logic                  b_valid_i,
    input  logic                  b_bad_i,
    // commit queue and counter unit
    output logic                  done_o,
    output logic [CommitW-1:0]    done_index_o,
    output logic                  done_failed_o,
    output logic                  ctr_valid_o,
    output logic [AddrW-1:0]      ctr_addr_o,
    output logic [9:0]            ctr_bytes_o,
    input  logic                  ctr_ack_i,
    // errors, held until taken
    output error_t                err_o,
    input  logic                  err_ack_i,
    output logic                  busy_o,        // writes not answered yet
    output logic                  holds_o,       // something of a packet that is not on its way to memory
    output logic                  idle_o         // no register changes without a flit or an answer from outside
);
  localparam int unsigned NBank = AxiBytes / FlitBytes;
  localparam int unsigned RowW  = $clog2(RxBuffers * RxRows);

  // ---- headers ------------------------------------------------------------------------------------
  logic [NumClasses-1:0] hv, honly, hdamaged, hwhole, hflow, htake, pv, ptail, perr, ppop, hdr_holds;
  header_t               hdr  [NumClasses];
  logic [31:0]           hdbg [NumClasses];
  logic [FW-1:0]         pdata [NumClasses];
  err_e                  check_err [NumClasses];
  err_e                  herr [NumClasses];
  rx_head_t              head [NumClasses];

  for (genvar c = 0; c < NumClasses; c++) begin : gen_class
    rx_header #(.FlitBytes(FlitBytes)) u_header (
        .clk_i, .rst_ni, .valid_i(ej_valid_i[c]), .ready_o(ej_ready_o[c]), .ctl_i(ej_ctl_i[c]),
        .data_i(ej_data_i[c]), .hdr_valid_o(hv[c]), .hdr_o(hdr[c]), .hdr_dbg_o(hdbg[c]),
        .hdr_only_o(honly[c]), .hdr_damaged_o(hdamaged[c]), .hdr_whole_o(hwhole[c]), .hdr_take_i(htake[c]),
        .valid_o(pv[c]), .data_o(pdata[c]), .tail_o(ptail[c]), .err_o(perr[c]), .pop_i(ppop[c]),
        .holds_o(hdr_holds[c])
    );
    rx_check #(.Class(c == 0 ? Requests : ClassResponse), .Collective(Collective), .Flows(Flows)) u_check (
        .valid_i(hv[c]), .hdr_i(hdr[c]), .coord_i, .err_o(check_err[c])
    );
    assign hflow[c] = Flows && hv[c] && hwhole[c] && hdr[c].flow_valid;
    assign herr[c] = hdamaged[c] ? ErrPktTruncated : check_err[c];
    assign head[c] = '{mem_fifo: hdr[c].kind == KindMemFifo || (Collective && c == 0), rmw: hdr[c].kind == KindRmwReq,
                       target: hdr[c].target, len: hdr[c].len, src: hdr[c].src, dbg: hdbg[c],
                       info: packet_info(hdr[c].kind, hdr[c].src, hdr[c].sw0[29:0], hdr[c].sw1[29:0])};
  end

  // ---- requests of flows: a path has one packet's payload at a time ---------------------------------
  logic streams_q, col_request, col_take, col_pop;
  assign flow_req_o   = hflow[0] && !streams_q && !col_request;
  assign flow_hdr_o   = hdr[0];
  assign flow_only_o  = honly[0];
  assign flow_err_o   = herr[0];
  assign flow_dbg_o   = hdbg[0];
  assign flow_valid_o = streams_q && pv[0];
  assign flow_data_o  = pdata[0];
  assign flow_tail_o  = ptail[0];
  assign flow_bad_o   = perr[0];
  if (Flows) begin : gen_flows
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) streams_q <= 1'b0;
      else if (flow_take_i) streams_q <= !honly[0];
      else if (flow_pop_i && ptail[0]) streams_q <= 1'b0;
    end
  end else begin : gen_no_flows
    assign streams_q = 1'b0;
  end
  assign htake[0] = col_take || flow_take_i;
  assign ppop[0]  = col_pop || flow_pop_i;

  // ---- responses: place first -------------------------------------------------------------------
  logic     rv, ronly, rtake, resp_holds, resp_idle;
  rx_head_t rhead;
  rx_res_t  rres;
  rx_response u_response (
      .clk_i, .rst_ni, .hdr_valid_i(hv[1]), .hdr_i(hdr[1]), .hdr_only_i(honly[1]), .head_i(head[1]),
      .err_i(herr[1]), .flow_i(hflow[1]), .hdr_take_o(htake[1]), .req_o(req_o[1]), .req_data_o(req_response_o),
      .gnt_i(gnt_i[1]), .res_valid_i(res_valid_i && res_response_i), .res_i,
      .valid_o(rv), .only_o(ronly), .head_o(rhead), .res_o(rres), .take_i(rtake), .holds_o(resp_holds),
      .idle_o(resp_idle)
  );

  // ---- collection ----------------------------------------------------------------------------------
  logic [RxBuffers-1:0] free_q, take_buf, drop_col, drop_pend, drained;
  logic [NBank-1:0]     buf_we;
  logic [RowW-1:0]      buf_wrow, buf_rrow;
  logic [FW-1:0]        buf_wdata;
  logic [AxiW-1:0]      buf_rdata;
  logic                 buf_whdr, buf_swap;
  logic                 done_req, done_resp, pend_room, pend_write, pend_rmw, col_holds, pend_holds;
  logic                 col_idle, pend_idle, write_idle, retire_idle;
  logic [1:0]           done_buf, pend_buf;
  rx_head_t             done_head, pend_head;
  rx_res_t              done_res;
  error_t               err [3];   // of the oldest packet first
  logic [2:0]           err_taken;
  logic                 err_idle;

  rx_collect #(.FlitBytes(FlitBytes)) u_collect (
      .clk_i, .rst_ni,
      .req_valid_i(hv[0] && !hflow[0] && !streams_q), .req_hdr_i(hdr[0]), .req_only_i(honly[0]), .req_head_i(head[0]),
      .req_err_i(herr[0]), .req_room_i(pend_room), .req_take_o(col_take),
      .resp_valid_i(rv), .resp_only_i(ronly), .resp_head_i(rhead), .resp_res_i(rres), .resp_take_o(rtake),
      .valid_i(pv), .data_i(pdata), .tail_i(ptail), .err_i(perr), .pop_o({ppop[1], col_pop}),
      .free_i(free_q), .take_buf_o(take_buf), .drop_buf_o(drop_col),
      .buf_we_o(buf_we), .buf_row_o(buf_wrow), .buf_data_o(buf_wdata), .buf_hdr_o(buf_whdr),
      .done_req_o(done_req), .done_resp_o(done_resp), .done_resp_ready_i(!pend_write), .request_o(col_request),
      .done_head_o(done_head), .done_buf_o(done_buf), .done_res_o(done_res), .flow_o(put_done_o[1]),
      .err_o(err[2]), .err_ack_i(err_taken[2]), .holds_o(col_holds),
      .idle_o(col_idle)
  );

  rx_buffer #(.FlitBytes(FlitBytes)) u_buffer (
      .clk_i, .we_i(buf_we), .wrow_i(buf_wrow), .wdata_i(buf_wdata), .whdr_i(buf_whdr),
      .whdr_data_i(hdr[0]), .re_i(w_pop_i || rmw_gnt_i), .swap_i(w_pop_i && buf_swap),
      .rrow_i(w_pop_i ? buf_rrow : RowW'(pend_buf) * RowW'(RxRows)), .rdata_o(buf_rdata)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) free_q <= '1;
    else if ((take_buf | drop_col | drop_pend | drained) != '0)
      free_q <= (free_q & ~take_buf) | drop_col | drop_pend | drained;
  end

  // ---- requests: place after collection ---------------------------------------------------------
  rx_pending u_pending (
      .clk_i, .rst_ni, .push_i(done_req), .push_head_i(done_head), .push_buf_i(done_buf), .room_o(pend_room),
      .retry_i, .req_o(req_o[0]), .req_data_o(req_request_o), .gnt_i(gnt_i[0]),
      .res_valid_i(res_valid_i && !res_response_i), .res_i, .rmw_o(pend_rmw), .rmw_take_i(rmw_gnt_i),
      .write_o(pend_write), .head_o(pend_head), .buf_o(pend_buf),
      .drop_buf_o(drop_pend), .err_o(err[1]), .err_ack_i(err_taken[1]),
      .holds_o(pend_holds), .idle_o(pend_idle)
  );

  // ---- read-modify-writes: the buffers are read in a cycle in which no row leaves for memory --------------------------
  logic rmw_clear, retired, order_idle;
  rx_order u_order (
      .clk_i, .rst_ni, .push_i(pend_write || done_resp), .retire_i(retired), .ask_i(pend_rmw),
      .take_i(rmw_gnt_i), .clear_o(rmw_clear), .idle_o(order_idle)
  );
  assign rmw_req_o = pend_rmw && rmw_clear && !w_pop_i;
  assign rmw_row_o = rmw_gnt_i ? buf_rdata : '0;
  assign rmw_dbg_o = pend_head.dbg;

  // ---- memory ------------------------------------------------------------------------------------
  rx_write_t write, issue;
  rx_res_t   wres;
  rx_head_t  whead;
  logic      unused_write;
  assign unused_write = ^{wres, whead};
  logic      retire_busy, issue_valid, issue_two, issue_room;
  assign wres  = pend_write ? res_i : done_res;
  assign whead = pend_write ? pend_head : done_head;
  assign write = '{buffer: pend_write ? pend_buf : done_buf, response: !pend_write,
                   silent: !pend_write && wres.silent, mem_fifo: whead.mem_fifo, target: whead.target, len: whead.len, info: whead.info,
                   dbg: whead.dbg, addr: wres.addr, next_page: wres.next_page, commit: wres.commit,
                   flow: pend_write ? '0 : wres.flow, ctr_valid: wres.ctr_valid, ctr_addr: wres.ctr_addr};
  rx_write #(.Id(Id)) u_write (
      .clk_i, .rst_ni, .push_i(pend_write || done_resp), .push_data_i(write), .free_o(drained),
      .issue_o(issue_valid), .issue_data_o(issue), .issue_two_o(issue_two), .issue_room_i(issue_room),
      .buf_swap_o(buf_swap), .buf_row_o(buf_rrow), .buf_data_i(buf_rdata),
      .aw_req_o, .aw_o, .aw_gnt_i, .w_sel_i, .w_pop_i, .w_data_o, .w_strb_o, .w_last_o, .w_dbg_o,
      .idle_o(write_idle)
  );
  rx_retire u_retire (
      .clk_i, .rst_ni, .push_i(issue_valid), .push_data_i(issue), .push_two_i(issue_two), .room_o(issue_room),
      .b_valid_i, .b_bad_i, .done_o, .done_index_o, .done_failed_o, .retire_o(retired),
      .ctr_valid_o, .ctr_addr_o, .ctr_bytes_o, .ctr_ack_i, .flow_o(put_done_o[0]), .flow_failed_o(put_failed_o[0]),
      .err_o(err[0]), .err_ack_i(err_taken[0]), .busy_o(retire_busy), .idle_o(retire_idle)
  );

  assign put_failed_o[1] = 1'b1;

  err_select #(.N(3)) u_errors (
      .clk_i, .rst_ni, .err_i(err), .taken_o(err_taken), .err_o, .err_ack_i, .idle_o(err_idle)
  );
  assign busy_o  = retire_busy || !write_idle;
  assign holds_o = hdr_holds != '0 || resp_holds || col_holds || pend_holds;
  assign idle_o  = resp_idle && col_idle && pend_idle && write_idle && retire_idle &&
                   order_idle && err_idle && !res_valid_i && !flow_req_o && !flow_valid_o;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && (drop_col | drop_pend | drained) != '0) begin
      BufferOnce : assert ((free_q & (drop_col | drop_pend | drained)) == '0)
      else $fatal(1, "%m: buffer freed twice");
    end
  end
`endif
endmodule
