// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// DMA engine of a node (HW-1): transmit side, receive side, base slots and the path from the node to itself.
// Path p < 2*NDim belongs to link p, the next to the node itself, the last to the collective network (HW-5); packets of
// class priority and of class system are received by one path each, from all links.
// Register pages: one a group at g*0x1000, of which group 0 exists: injection FIFOs at 0x000, reception FIFOs
// at 0x800, base slots at 0xC00. Page 17: flows that start here at 0x000, that end here at 0x800. Other pages answer with
// an error.
// Memory: path p reads and writes through master p % NAxi, descriptors and counters through master 0.
module gyre_dma
  import gyre_pkg::*;
#(
    parameter int unsigned NDim = 3,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned NInj = 32,
    parameter int unsigned NRec = 16,
    parameter int unsigned NSlot = 32,
    parameter int unsigned NAxi = (NDim <= 1) ? 1 : (NDim <= 3) ? 2 : 4,
    parameter int unsigned AxiBytes = 64,
    parameter int unsigned NFlow = 4,        // ordered-dynamic flows (HW-4) that start here, and that end here
    parameter int unsigned FlowWindow = 8,   // packets of a flow between issue and release
    parameter int unsigned InjDepth = 136,   // flits of an injection buffer, per path and class
    parameter int unsigned CollDepth = coll_depth(FlitBytes), // flits of the collective network's buffer of a class route
    parameter bit          Deposit = 1'b1,   // the network copies packets on their way
    localparam int unsigned P = 2 * NDim,
    localparam int unsigned NUnit = dma_units(NDim),
    localparam int unsigned FW = FlitBytes * 8,
    localparam int unsigned AxiW = AxiBytes * 8
) (
    // Clocks, each needed in a cycle in which its bit of unit_active_o is set or an answer comes from memory; one that
    // goes on all the time changes nothing. 0: registers and events, 1: transmit side, 2: receive side with the
    // places of flows, then the transmit paths of links, the other ones, the reception paths of links, the other ones.
    input  logic [NUnit-1:0]             unit_clk_i,
    output logic [NUnit-1:0]             unit_active_o,
    input  logic                         rst_ni,
    input  node_cfg_t                    cfg_i,
    // injection and ejection paths of the network
    output logic [P-1:0]                 inj_valid_o,
    output logic [P-1:0][1:0]            inj_class_o,   // vclass_e
    output flit_ctl_t                    inj_ctl_o  [P],
    output logic [FW-1:0]                inj_data_o [P],
    input  logic [P-1:0][NetClasses-1:0] inj_credit_i,
    input  logic [P-1:0][NetClasses-1:0] ej_valid_i,
    output logic [P-1:0][NetClasses-1:0] ej_ready_o,
    input  flit_ctl_t                    ej_ctl_i  [P][NetClasses],
    input  logic [FW-1:0]                ej_data_i [P][NetClasses],
    // those of the collective network, and its class routes
    input  coll_route_t [CollRoutes-1:0] coll_route_i,
    output logic                         coll_inj_valid_o,
    output logic [3:0]                   coll_inj_route_o,
    output flit_ctl_t                    coll_inj_ctl_o,
    output logic [FW-1:0]                coll_inj_data_o,
    input  logic [CollRoutes-1:0]        coll_inj_credit_i,
    input  logic [NumClasses-1:0]        coll_ej_valid_i,
    output logic [NumClasses-1:0]        coll_ej_ready_o,
    input  flit_ctl_t                    coll_ej_ctl_i  [NumClasses],
    input  logic [FW-1:0]                coll_ej_data_i [NumClasses],
    // AXI4 memory masters; responses are always taken
    output logic [NAxi-1:0]              ar_valid_o,
    input  logic [NAxi-1:0]              ar_ready_i,
    output logic [63:0]                  ar_addr_o  [NAxi],
    output logic [7:0]                   ar_len_o   [NAxi],
    output logic [2:0]                   ar_size_o  [NAxi],
    output logic [1:0]                   ar_burst_o [NAxi],
    output logic [4:0]                   ar_id_o    [NAxi],
    input  logic [NAxi-1:0]              r_valid_i,
    output logic [NAxi-1:0]              r_ready_o,
    input  logic [AxiW-1:0]              r_data_i   [NAxi],
    input  logic [4:0]                   r_id_i     [NAxi],
    input  logic [1:0]                   r_resp_i   [NAxi],
    input  logic [NAxi-1:0]              r_last_i,
    output logic [NAxi-1:0]              aw_valid_o,
    input  logic [NAxi-1:0]              aw_ready_i,
    output logic [63:0]                  aw_addr_o  [NAxi],
    output logic [7:0]                   aw_len_o   [NAxi],
    output logic [2:0]                   aw_size_o  [NAxi],
    output logic [1:0]                   aw_burst_o [NAxi],
    output logic [4:0]                   aw_id_o    [NAxi],
    output logic [NAxi-1:0]              w_valid_o,
    input  logic [NAxi-1:0]              w_ready_i,
    output logic [AxiW-1:0]              w_data_o   [NAxi],  // bytes without strobe are undefined
    output logic [AxiBytes-1:0]          w_strb_o   [NAxi],
    output logic [NAxi-1:0]              w_last_o,
    output logic [31:0]                  w_dbg_o    [NAxi],  // packet id, for waves and timelines
    input  logic [NAxi-1:0]              b_valid_i,
    output logic [NAxi-1:0]              b_ready_o,
    input  logic [4:0]                   b_id_i     [NAxi],
    input  logic [1:0]                   b_resp_i   [NAxi],
    // register pages: one-cycle request, acknowledge one to three cycles later
    input  logic                         reg_req_i,
    input  logic                         reg_we_i,
    input  logic [19:0]                  reg_addr_i,
    input  logic [63:0]                  reg_wdata_i,
    output logic                         reg_ack_o,
    output logic                         reg_err_o,
    output logic [63:0]                  reg_rdata_o,
    // one-cycle pulses: [15:0] reception FIFO committed a packet, [47:16] injection FIFO (with CTRL[8])
    // completed a descriptor, [48] a counter reached 0, [63] error
    output logic [63:0]                  event_o,
    output logic                         irq_threshold_o,   // a reception FIFO holds more than its threshold
    output logic                         irq_descriptor_o,  // a descriptor of an injection FIFO with CTRL[8] completed
    output error_t                       err_o,             // one-cycle pulse, one error each
    output logic [7:0]                   pkt_tx_o,          // a packet of kind k was sent
    output logic [7:0]                   pkt_rx_o,          // or accepted
    output logic                         busy_o,            // descriptors, packets or writes under way
    output logic                         empty_o,           // nor does a packet wait for room in a FIFO
    output logic                         idle_o             // with quiet inputs no register changes
);
  import gyre_dma_pkg::slot_t, gyre_dma_pkg::axi_addr_t, gyre_dma_pkg::axi_r_t, gyre_dma_pkg::axi_b_t,
         gyre_dma_pkg::rget_move_t, gyre_dma_pkg::flow_window_t,
         gyre_dma_pkg::tx_cmd_t, gyre_dma_pkg::AxiSize, gyre_dma_pkg::AxiIncr;
  localparam int unsigned NPath = P + 2;
  localparam int unsigned Coll  = P + 1;
  localparam int unsigned TxUnit = 1, RxUnit = 2, TxPathUnit = 3, TxOther = TxPathUnit + P, RxPathUnit = TxOther + 1,
                          RxOther = RxPathUnit + P, NRx = NPath + NetClasses - NumClasses;

  logic             clk;
  logic [NPath-1:0] tx_path_active;
  logic [NRx-1:0]   rx_path_active;
  assign clk = unit_clk_i[0];
  assign unit_active_o[TxPathUnit+:P] = tx_path_active[P-1:0];
  assign unit_active_o[TxOther]       = tx_path_active[NPath-1:P] != '0;
  assign unit_active_o[RxPathUnit+:P] = rx_path_active[P-1:0];
  assign unit_active_o[RxOther]       = rx_path_active[NRx-1:P] != '0;

  if (AxiBytes != gyre_dma_pkg::AxiBytes) begin : gen_bad_axi
    $error("gyre_dma: AxiBytes is %0d; only %0d is implemented", AxiBytes, gyre_dma_pkg::AxiBytes);
  end
  if (NAxi < 1 || NAxi > NPath) begin : gen_bad_naxi
    $error("gyre_dma: NAxi is %0d; expected 1..%0d", NAxi, NPath);
  end

  // ---- paths to the node itself and to the collective network ----------------------------------------
  logic [NPath-1:0]                 inj_valid;
  logic [Coll-1:0][1:0]             inj_class;
  flit_ctl_t                        inj_ctl  [NPath];
  logic [FW-1:0]                    inj_data [NPath];
  logic [Coll-1:0][NetClasses-1:0]  inj_credit;
  logic [NPath-1:0][NetClasses-1:0] ej_valid, ej_ready;
  logic [NetClasses-1:0]            loop_credit, loop_valid;
  flit_ctl_t                        loop_ctl  [NetClasses];
  logic [FW-1:0]                    loop_data [NetClasses];
  logic                             loop_idle;

  assign inj_valid_o = inj_valid[P-1:0];
  assign inj_class_o = inj_class[P-1:0];
  assign ej_ready_o  = ej_ready[P-1:0];
  assign inj_credit  = {loop_credit, inj_credit_i};
  assign ej_valid    = {NetClasses'(coll_ej_valid_i), loop_valid, ej_valid_i};
  assign coll_inj_valid_o = inj_valid[Coll];
  assign coll_inj_ctl_o   = inj_ctl[Coll];
  assign coll_inj_data_o  = inj_data[Coll];
  assign coll_ej_ready_o  = ej_ready[Coll][NumClasses-1:0];
  logic unused_ready;
  assign unused_ready = ^ej_ready[Coll][NetClasses-1:NumClasses];
  for (genvar p = 0; p < P; p++) begin : gen_link
    assign inj_ctl_o[p]  = inj_ctl[p];
    assign inj_data_o[p] = inj_data[p];
  end

  loopback #(.FlitBytes(FlitBytes), .Depth(InjDepth)) u_loopback (
      .clk_i(clk), .rst_ni, .inj_valid_i(inj_valid[P]), .inj_class_i(inj_class[P]), .inj_ctl_i(inj_ctl[P]),
      .inj_data_i(inj_data[P]), .inj_credit_o(loop_credit), .ej_valid_o(loop_valid), .ej_ready_i(ej_ready[P]),
      .ej_ctl_o(loop_ctl), .ej_data_o(loop_data), .idle_o(loop_idle)
  );

  // ---- memory masters -----------------------------------------------------------------------------
  axi_addr_t ar [NAxi];
  axi_addr_t aw [NAxi];
  axi_r_t    r  [NAxi];
  axi_b_t    b  [NAxi];
  for (genvar m = 0; m < NAxi; m++) begin : gen_master
    assign ar_addr_o[m]  = 64'(ar[m].addr);
    assign ar_len_o[m]   = ar[m].len;
    assign ar_id_o[m]    = ar[m].id;
    assign ar_size_o[m]  = AxiSize;
    assign ar_burst_o[m] = AxiIncr;
    assign aw_addr_o[m]  = 64'(aw[m].addr);
    assign aw_len_o[m]   = aw[m].len;
    assign aw_id_o[m]    = aw[m].id;
    assign aw_size_o[m]  = AxiSize;
    assign aw_burst_o[m] = AxiIncr;
    assign r[m]          = '{id: r_id_i[m], resp: r_resp_i[m], last: r_last_i[m]};
    assign b[m]          = '{id: b_id_i[m], resp: b_resp_i[m]};
  end
  assign r_ready_o = '1;
  assign b_ready_o = '1;

  // ---- registers ------------------------------------------------------------------------------------
  logic        tx_req, rec_req, slot_req, source_req, target_req, none_req, none_q;
  logic        tx_ack, tx_nack, rec_ack, rec_nack, slot_ack, slot_nack, slot_idle;
  logic        source_ack, source_nack, target_ack, target_nack;
  logic [63:0] tx_rdata, rec_rdata, slot_rdata, source_rdata, target_rdata;
  localparam logic [7:0] FlowPage = 8'd17;
  assign none_req = reg_req_i && reg_addr_i[19:12] != '0 && reg_addr_i[19:12] != FlowPage;
  assign source_req = reg_req_i && reg_addr_i[19:12] == FlowPage && !reg_addr_i[11];
  assign target_req = reg_req_i && reg_addr_i[19:12] == FlowPage && reg_addr_i[11];
  assign tx_req   = reg_req_i && reg_addr_i[19:11] == '0;
  assign rec_req  = reg_req_i && reg_addr_i[19:10] == 10'b10;
  assign slot_req = reg_req_i && reg_addr_i[19:10] == 10'b11;
  always_ff @(posedge clk or negedge rst_ni) begin
    if (!rst_ni) none_q <= 1'b0;
    else none_q <= none_req;
  end
  assign reg_ack_o   = tx_ack || rec_ack || slot_ack || source_ack || target_ack || none_q;
  assign reg_err_o   = (tx_ack && tx_nack) || (rec_ack && rec_nack) || (slot_ack && slot_nack) ||
                       (source_ack && source_nack) || (target_ack && target_nack) || none_q;
  assign reg_rdata_o = tx_ack ? tx_rdata : rec_ack ? rec_rdata : slot_ack ? slot_rdata
                     : source_ack ? source_rdata : target_ack ? target_rdata : '0;

  logic [MaxFifoId-1:0] tx_slot_id, rx_slot_id, ctr_slot_id, rmw_slot_id;
  slot_t                tx_slot, rx_slot, ctr_slot, rmw_slot;
  slot_table #(.NSlot(NSlot)) u_slots (
      .clk_i(clk), .rst_ni, .reg_req_i(slot_req), .reg_we_i, .reg_addr_i(reg_addr_i[9:0]), .reg_wdata_i,
      .reg_ack_o(slot_ack), .reg_err_o(slot_nack), .reg_rdata_o(slot_rdata),
      .tx_id_i(tx_slot_id), .tx_slot_o(tx_slot), .rx_id_i(rx_slot_id), .rx_slot_o(rx_slot),
      .ctr_id_i(ctr_slot_id), .ctr_slot_o(ctr_slot), .rmw_id_i(rmw_slot_id), .rmw_slot_o(rmw_slot),
      .idle_o(slot_idle)
  );

  // ---- transmit and receive -------------------------------------------------------------------------
  logic [MaxFifoId-1:0] rget_id;
  logic                 rget_ok, rget_moved, ctr_ar_valid, ctr_ar_ready, ctr_r_valid, ctr_r_err;
  logic [AddrW-1:0]     rget_base, ctr_ar_addr;
  logic [20:0]          rget_size, rget_free;
  logic [31:0]          rget_alloc_ptr;
  rget_move_t           rget_alloc, rget_commit;
  logic [63:0]          ctr_r_data;
  logic [NInj-1:0]      desc_done;
  logic [15:0]          committed;
  logic                 threshold, zero, tx_busy, rx_busy, rx_holds, tx_idle, rx_idle;
  error_t               tx_err, rx_err;
  logic [7:0]           pkt_rx;
  logic                 answer_valid, answer_ready;
  logic [3:0]           answer_path;
  tx_cmd_t              answer;
  flow_window_t         window;
  logic                 window_ok;

  dma_tx #(
      .NDim(NDim), .FlitBytes(FlitBytes), .NInj(NInj), .NAxi(NAxi), .InjDepth(InjDepth), .CollDepth(CollDepth),
      .Deposit(Deposit), .NFlow(NFlow), .FlowWindow(FlowWindow)
  ) u_tx (
      .clk_i(unit_clk_i[TxUnit]), .path_clk_i({{NPath-P{unit_clk_i[TxOther]}}, unit_clk_i[TxPathUnit+:P]}),
      .active_o(unit_active_o[TxUnit]), .path_active_o(tx_path_active), .rst_ni, .cfg_i, .reg_req_i(tx_req), .reg_we_i, .reg_addr_i(reg_addr_i[10:0]), .reg_wdata_i,
      .reg_ack_o(tx_ack), .reg_err_o(tx_nack), .reg_rdata_o(tx_rdata),
      .flow_req_i(source_req), .flow_addr_i(reg_addr_i[10:0]), .flow_ack_o(source_ack), .flow_err_o(source_nack),
      .flow_rdata_o(source_rdata), .window_i(window), .window_ok_o(window_ok),
      .slot_id_o(tx_slot_id), .slot_i(tx_slot), .route_i(coll_route_i),
      .rget_id_i(rget_id), .rget_ok_o(rget_ok), .rget_base_o(rget_base), .rget_size_o(rget_size),
      .rget_alloc_o(rget_alloc_ptr), .rget_free_o(rget_free), .rget_alloc_i(rget_alloc),
      .rget_commit_i(rget_commit), .rget_moved_o(rget_moved),
      .inj_valid_o(inj_valid), .inj_class_o(inj_class), .inj_route_o(coll_inj_route_o),
      .inj_ctl_o(inj_ctl), .inj_data_o(inj_data), .inj_credit_i(inj_credit), .coll_credit_i(coll_inj_credit_i),
      .answer_valid_i(answer_valid), .answer_path_i(answer_path), .answer_i(answer), .answer_ready_o(answer_ready),
      .m_ar_valid_o(ar_valid_o), .m_ar_ready_i(ar_ready_i), .m_ar_o(ar),
      .m_r_valid_i(r_valid_i), .m_r_i(r), .m_r_data_i(r_data_i),
      .ctr_ar_valid_i(ctr_ar_valid), .ctr_ar_ready_o(ctr_ar_ready), .ctr_ar_addr_i(ctr_ar_addr),
      .ctr_r_valid_o(ctr_r_valid), .ctr_r_data_o(ctr_r_data), .ctr_r_err_o(ctr_r_err),
      .desc_done_o(desc_done), .err_o(tx_err), .pkt_tx_o, .busy_o(tx_busy), .idle_o(tx_idle)
  );

  dma_rx #(
      .NDim(NDim), .FlitBytes(FlitBytes), .NRec(NRec), .NAxi(NAxi), .NFlow(NFlow), .FlowWindow(FlowWindow)
  ) u_rx (
      .clk_i(unit_clk_i[RxUnit]), .path_clk_i({{NRx-P{unit_clk_i[RxOther]}}, unit_clk_i[RxPathUnit+:P]}),
      .active_o(unit_active_o[RxUnit]), .path_active_o(rx_path_active), .rst_ni, .cfg_i,
      .ej_valid_i(ej_valid), .ej_ready_o(ej_ready), .ej_ctl_i, .ej_data_i,
      .loop_ctl_i(loop_ctl), .loop_data_i(loop_data), .coll_ctl_i(coll_ej_ctl_i), .coll_data_i(coll_ej_data_i),
      .reg_req_i(rec_req), .reg_we_i, .reg_addr_i(reg_addr_i[9:0]), .reg_wdata_i,
      .reg_ack_o(rec_ack), .reg_err_o(rec_nack), .reg_rdata_o(rec_rdata),
      .flow_req_i(target_req), .flow_addr_i(reg_addr_i[10:0]), .flow_ack_o(target_ack), .flow_err_o(target_nack),
      .flow_rdata_o(target_rdata), .window_o(window), .window_ok_i(window_ok),
      .slot_id_o(rx_slot_id), .slot_i(rx_slot), .ctr_id_o(ctr_slot_id), .ctr_slot_i(ctr_slot),
      .rmw_id_o(rmw_slot_id), .rmw_slot_i(rmw_slot),
      .answer_valid_o(answer_valid), .answer_path_o(answer_path), .answer_o(answer), .answer_ready_i(answer_ready),
      .rget_id_o(rget_id), .rget_ok_i(rget_ok), .rget_base_i(rget_base), .rget_size_i(rget_size),
      .rget_alloc_i(rget_alloc_ptr), .rget_free_i(rget_free), .rget_alloc_o(rget_alloc),
      .rget_commit_o(rget_commit), .rget_moved_i(rget_moved),
      .ctr_ar_valid_o(ctr_ar_valid), .ctr_ar_ready_i(ctr_ar_ready), .ctr_ar_addr_o(ctr_ar_addr),
      .ctr_r_valid_i(ctr_r_valid), .ctr_r_data_i(ctr_r_data), .ctr_r_err_i(ctr_r_err),
      .aw_valid_o, .aw_ready_i, .aw_o(aw), .w_valid_o, .w_ready_i, .w_data_o, .w_strb_o, .w_last_o, .w_dbg_o,
      .b_valid_i, .b_i(b),
      .committed_o(committed), .threshold_o(threshold), .zero_o(zero), .pkt_o(pkt_rx),
      .err_o(rx_err), .err_ack_i(!tx_err.valid), .busy_o(rx_busy), .holds_o(rx_holds),
      .idle_o(rx_idle)
  );

  // ---- events and errors: registered; an error of the receive side waits for one of the transmit side ----
  logic [63:0] event_q, event_d;
  logic        threshold_q, descriptor_q;
  error_t      err_q;
  logic [7:0]  pkt_rx_q;
  always_comb begin
    event_d             = '0;
    event_d[15:0]       = committed;
    event_d[16+:NInj]   = desc_done;
    event_d[48]         = zero;
    event_d[63]         = tx_err.valid || rx_err.valid;
  end
  always_ff @(posedge clk or negedge rst_ni) begin
    if (!rst_ni) begin
      event_q      <= '0;
      threshold_q  <= 1'b0;
      descriptor_q <= 1'b0;
      err_q        <= '0;
      pkt_rx_q     <= '0;
    end else begin
      if (event_d != '0 || event_q != '0) begin
        event_q      <= event_d;
        threshold_q  <= threshold;
        descriptor_q <= desc_done != '0;
      end
      if (event_d[63]) err_q <= tx_err.valid ? tx_err : rx_err;
      else if (err_q.valid) err_q.valid <= 1'b0;
      if (pkt_rx != '0 || pkt_rx_q != '0) pkt_rx_q <= pkt_rx;
    end
  end
  assign event_o          = event_q;
  assign irq_threshold_o  = threshold_q;
  assign irq_descriptor_o = descriptor_q;
  assign err_o            = err_q;
  assign pkt_rx_o         = pkt_rx_q;

  assign unit_active_o[0] = !loop_idle || inj_valid[P] || reg_req_i || none_q || !slot_idle ||
                            event_d != '0 || event_q != '0 || err_q.valid || (pkt_rx | pkt_rx_q | pkt_tx_o) != '0;
  // Flits in the loop-back wait for the receive side, which is idle only when it takes none.
  assign busy_o  = tx_busy || rx_busy || loop_valid != '0 || !tx_idle || !rx_idle;
  assign empty_o = !busy_o && !rx_holds;
  assign idle_o  = tx_idle && rx_idle && slot_idle && !none_q && event_q == '0 && pkt_rx_q == '0 &&
                   loop_credit == '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    OneAck : assert (!rst_ni || $onehot0({tx_ack, rec_ack, slot_ack, source_ack, target_ack, none_q}))
    else $fatal(1, "%m: two answers to one register access");
  end
`endif
endmodule
