// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// A Gyre node: DMA engine, network (router and links), collective network and registers. The unit that is
// Verilated and that a fabric consists of. Every output is a function of registers.
module gyre_node
  import gyre_pkg::*;
#(
    parameter int unsigned NDim = 3,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned PortFlits = 8 * max_flits(FlitBytes),               // flits of a link input's buffer
    parameter int unsigned InjDepth = 136,    // flits of an injection buffer: (path, class)
    parameter int unsigned Lanes = DynLanes,  // dynamic virtual channels of a class that the router uses
    parameter bit          ByAge = 1'b1,      // the router serves the oldest packet first, else each in turn
    parameter int unsigned NInj = 32,
    parameter int unsigned NRec = 16,
    parameter int unsigned NSlot = 32,
    parameter int unsigned NAxi = (NDim <= 1) ? 1 : (NDim <= 3) ? 2 : 4,
    parameter int unsigned AxiBytes = 64,
    parameter int unsigned NFlow = 4,         // ordered-dynamic flows (HW-4) that start here, and that end here
    parameter int unsigned FlowWindow = 8,    // packets of a flow between issue and release
    localparam int unsigned P = 2 * NDim,
    localparam int unsigned NSlave = 2,
    localparam int unsigned NUnit = node_units(NDim),
    localparam int unsigned FW = FlitBytes * 8,
    localparam int unsigned AxiW = AxiBytes * 8
) (
    // Clocks of units: the node's clock, or gated ones of it. A unit's is needed in a cycle in which its bit of unit_active_o
    // is set, and in those in which it has input from outside, named in brackets. 0: accesses to registers (a request),
    // 1: registers and reset, 2: collective network (change of a tree link, flits, credits, barrier pulses), 3: DMA engine's
    // registers and events, 4: its transmit side (read data), 5: its receive side (write responses), then the transmit paths
    // of links, all others of them (read data with the path's number as id), the reception paths of links, all others of them
    // (write responses with it), and those of the torus network (see gyre_network).
    input  logic [NUnit-1:0]  unit_clk_i,
    output logic [NUnit-1:0]  unit_active_o,
    input  logic              rst_ni,
    input  logic [63:0]       time_i,                 // cycle number, for the error register and the age of packets
    // links
    input  link_word_t        link_ctl_i    [P],
    input  logic [FW-1:0]     link_data_i   [P],
    input  logic [31:0]       link_dbg_i    [P],
    output link_word_t        link_ctl_o    [P],
    output logic [FW-1:0]     link_data_o   [P],
    output logic [31:0]       link_dbg_o    [P],
    // links of the tree of the collective network: parent, child 0, child 1
    input  link_word_t        tree_ctl_i    [CollPorts],
    input  logic [FW-1:0]     tree_data_i   [CollPorts],
    input  logic [31:0]       tree_dbg_i    [CollPorts],
    output link_word_t        tree_ctl_o    [CollPorts],
    output logic [FW-1:0]     tree_data_o   [CollPorts],
    output logic [31:0]       tree_dbg_o    [CollPorts],
    // barrier wires of the tree: pulses, bit r = barrier route r
    input  logic [CollRoutes-1:0] bar_i [CollPorts],
    output logic [CollRoutes-1:0] bar_o [CollPorts],
    // AXI4 memory masters
    output logic [NAxi-1:0]   m_ar_valid_o,
    input  logic [NAxi-1:0]   m_ar_ready_i,
    output logic [63:0]       m_ar_addr_o   [NAxi],
    output logic [7:0]        m_ar_len_o    [NAxi],
    output logic [2:0]        m_ar_size_o   [NAxi],
    output logic [1:0]        m_ar_burst_o  [NAxi],
    output logic [4:0]        m_ar_id_o     [NAxi],
    input  logic [NAxi-1:0]   m_r_valid_i,
    output logic [NAxi-1:0]   m_r_ready_o,
    input  logic [AxiW-1:0]   m_r_data_i    [NAxi],
    input  logic [4:0]        m_r_id_i      [NAxi],
    input  logic [1:0]        m_r_resp_i    [NAxi],
    input  logic [NAxi-1:0]   m_r_last_i,
    output logic [NAxi-1:0]   m_aw_valid_o,
    input  logic [NAxi-1:0]   m_aw_ready_i,
    output logic [63:0]       m_aw_addr_o   [NAxi],
    output logic [7:0]        m_aw_len_o    [NAxi],
    output logic [2:0]        m_aw_size_o   [NAxi],
    output logic [1:0]        m_aw_burst_o  [NAxi],
    output logic [4:0]        m_aw_id_o     [NAxi],
    output logic [NAxi-1:0]   m_w_valid_o,
    input  logic [NAxi-1:0]   m_w_ready_i,
    output logic [AxiW-1:0]   m_w_data_o    [NAxi],
    output logic [AxiBytes-1:0] m_w_strb_o  [NAxi],
    output logic [NAxi-1:0]   m_w_last_o,
    output logic [31:0]       m_w_dbg_o     [NAxi],
    input  logic [NAxi-1:0]   m_b_valid_i,
    output logic [NAxi-1:0]   m_b_ready_o,
    input  logic [4:0]        m_b_id_i      [NAxi],
    input  logic [1:0]        m_b_resp_i    [NAxi],
    // AXI4-Lite slaves: 0 of the host, 1 of JTAG or an embedded controller
    input  logic [NSlave-1:0] s_aw_valid_i,
    output logic [NSlave-1:0] s_aw_ready_o,
    input  logic [23:0]       s_aw_addr_i  [NSlave],
    input  logic [NSlave-1:0] s_w_valid_i,
    output logic [NSlave-1:0] s_w_ready_o,
    input  logic [63:0]       s_w_data_i   [NSlave],
    input  logic [7:0]        s_w_strb_i   [NSlave],
    output logic [NSlave-1:0] s_b_valid_o,
    input  logic [NSlave-1:0] s_b_ready_i,
    output logic [1:0]        s_b_resp_o   [NSlave],
    input  logic [NSlave-1:0] s_ar_valid_i,
    output logic [NSlave-1:0] s_ar_ready_o,
    input  logic [23:0]       s_ar_addr_i  [NSlave],
    output logic [NSlave-1:0] s_r_valid_o,
    input  logic [NSlave-1:0] s_r_ready_i,
    output logic [63:0]       s_r_data_o   [NSlave],
    output logic [1:0]        s_r_resp_o   [NSlave],
    output logic              irq_o,
    output logic [15:0]       wake_o,                 // one a wake-up group
    output logic              idle_o                  // with quiet inputs no register will change
);
  localparam int unsigned CollDepth = coll_depth(FlitBytes); // flits of a buffer of a class route

  localparam int unsigned AccessUnit = 0, CsrUnit = 1, CollUnit = 2, DmaUnit = 3, TxUnit = 4, RxUnit = 5, 
                          NetUnit = NUnit - network_units(NDim), NetRest = NUnit - 1;

  node_cfg_t cfg;
  logic core_rst_n; // of DMA engine and network
  logic soft_reset, soft_reset_done, reset_idle;
  logic net_idle, dma_idle, dma_busy, dma_empty, csr_active, csr_idle, axil_active, axil_idle, inj_empty;

  // ---- network ----------------------------------------------------------------------------------
  logic [P-1:0]                 inj_valid;
  logic [P-1:0][1:0]            inj_class;
  flit_ctl_t                    inj_ctl [P];
  logic [FW-1:0]                inj_data [P];
  logic [P-1:0][NetClasses-1:0] inj_credit, ej_valid, ej_ready;
  flit_ctl_t                    ej_ctl [P][NetClasses];
  logic [FW-1:0]                ej_data [P][NetClasses];
  link_ctl_e                    link_state [P];
  logic [P-1:0]                 perf_flit, perf_stall;
  logic [P-1:0][VcW-1:0]        perf_vc;
  error_t                       net_err, dma_err;

  gyre_network #(
      .NDim(NDim), .FlitBytes(FlitBytes), .PortFlits(PortFlits), .InjDepth(InjDepth), .Lanes(Lanes), .ByAge(ByAge)
  ) u_network (
      .unit_clk_i(unit_clk_i[NUnit-1:NetUnit]), .unit_active_o(unit_active_o[NUnit-1:NetUnit]),
      .rst_ni(core_rst_n), .cfg_i(cfg), .time_i,
      .link_ctl_i, .link_data_i, .link_dbg_i,
      .link_ctl_o, .link_data_o, .link_dbg_o,
      .inj_valid_i(inj_valid), .inj_class_i(inj_class), .inj_ctl_i(inj_ctl), .inj_data_i(inj_data),
      .inj_credit_o(inj_credit),
      .ej_valid_o(ej_valid), .ej_ready_i(ej_ready), .ej_ctl_o(ej_ctl), .ej_data_o(ej_data),
      .link_state_o(link_state), .perf_flit_o(perf_flit), .perf_vc_o(perf_vc), .perf_stall_o(perf_stall),
      .err_o(net_err), .idle_o(net_idle)
  );

  inj_occupancy #(.P(P), .NBuffer(P * NetClasses), .Depth(InjDepth)) u_inj_occupancy (
      .clk_i(unit_clk_i[NetRest]), .rst_ni(core_rst_n), .inj_valid_i(inj_valid), .inj_credit_i(inj_credit), .empty_o(inj_empty)
  );

  // ---- collective network -------------------------------------------------------------------------
  coll_cfg_t             coll_cfg;
  logic                  coll_inj_valid, coll_idle, coll_inj_empty;
  logic [3:0]            coll_inj_route;
  flit_ctl_t             coll_inj_ctl;
  logic [FW-1:0]         coll_inj_data;
  logic [CollRoutes-1:0] coll_inj_credit, bar_enter, bar_done;
  logic [NumClasses-1:0] coll_ej_valid, coll_ej_ready;
  flit_ctl_t             coll_ej_ctl [NumClasses];
  logic [FW-1:0]         coll_ej_data [NumClasses];
  link_ctl_e             coll_link_state [CollPorts];
  logic [CollPorts-1:0]  perf_coll;
  error_t                coll_err;

  gyre_collective #(.FlitBytes(FlitBytes), .Depth(CollDepth)) u_collective (
      .clk_i(unit_clk_i[CollUnit]), .rst_ni(core_rst_n), .cfg_i(coll_cfg), .coord_i(cfg.coord),
      .link_ctl_i(tree_ctl_i), .link_data_i(tree_data_i), .link_dbg_i(tree_dbg_i), .bar_i,
      .link_ctl_o(tree_ctl_o), .link_data_o(tree_data_o), .link_dbg_o(tree_dbg_o), .bar_o,
      .inj_valid_i(coll_inj_valid), .inj_route_i(coll_inj_route), .inj_ctl_i(coll_inj_ctl),
      .inj_data_i(coll_inj_data), .inj_credit_o(coll_inj_credit),
      .ej_valid_o(coll_ej_valid), .ej_ready_i(coll_ej_ready), .ej_ctl_o(coll_ej_ctl), .ej_data_o(coll_ej_data),
      .bar_enter_i(bar_enter), .bar_done_o(bar_done), .link_state_o(coll_link_state), .perf_flit_o(perf_coll),
      .err_o(coll_err), .active_o(unit_active_o[CollUnit]), .idle_o(coll_idle)
  );

  inj_occupancy #(.P(1), .NBuffer(CollRoutes), .Depth(CollDepth)) u_coll_occupancy (
      .clk_i(unit_clk_i[CollUnit]), .rst_ni(core_rst_n), .inj_valid_i(coll_inj_valid), .inj_credit_i(coll_inj_credit), .empty_o(coll_inj_empty)
  );

  // ---- DMA engine ---------------------------------------------------------------------------------
  logic              page_req, page_we, page_ack, page_err;
  logic [19:0]       page_addr;
  logic [63:0]       page_wdata, page_rdata;
  logic [63:0]       events;
  logic              irq_threshold, irq_descriptor;
  logic [7:0]        pkt_tx, pkt_rx;
  logic [NAxi-1:0]   ar_valid, ar_ready, aw_valid, aw_ready, w_valid, w_ready;
  logic [NAxi-1:0]   axi_late;   // answers are to transactions from before a reset by software

  gyre_dma #(
      .NDim(NDim), .FlitBytes(FlitBytes), .NInj(NInj), .NRec(NRec), .NSlot(NSlot),
      .NAxi(NAxi), .AxiBytes(AxiBytes), .NFlow(NFlow), .FlowWindow(FlowWindow), .InjDepth(InjDepth), .CollDepth(CollDepth),
      .Deposit(deposit_fits(FlitBytes, PortFlits))
  ) u_dma (
      .unit_clk_i(unit_clk_i[NetUnit-1:DmaUnit]), .unit_active_o(unit_active_o[NetUnit-1:DmaUnit]), .rst_ni(core_rst_n), .cfg_i(cfg),
      .inj_valid_o(inj_valid), .inj_class_o(inj_class), .inj_ctl_o(inj_ctl), .inj_data_o(inj_data),
      .inj_credit_i(inj_credit),
      .ej_valid_i(ej_valid), .ej_ready_o(ej_ready), .ej_ctl_i(ej_ctl), .ej_data_i(ej_data),
      .coll_route_i(coll_cfg.route), .coll_inj_valid_o(coll_inj_valid), .coll_inj_route_o(coll_inj_route),
      .coll_inj_ctl_o(coll_inj_ctl), .coll_inj_data_o(coll_inj_data), .coll_inj_credit_i(coll_inj_credit),
      .coll_ej_valid_i(coll_ej_valid), .coll_ej_ready_o(coll_ej_ready), .coll_ej_ctl_i(coll_ej_ctl),
      .coll_ej_data_i(coll_ej_data),
      .ar_valid_o(ar_valid), .ar_ready_i(ar_ready), .ar_addr_o(m_ar_addr_o), .ar_len_o(m_ar_len_o),
      .ar_size_o(m_ar_size_o), .ar_burst_o(m_ar_burst_o), .ar_id_o(m_ar_id_o),
      .r_valid_i(m_r_valid_i & ~axi_late), .r_ready_o(m_r_ready_o), .r_data_i(m_r_data_i), .r_id_i(m_r_id_i),
      .r_resp_i(m_r_resp_i), .r_last_i(m_r_last_i),
      .aw_valid_o(aw_valid), .aw_ready_i(aw_ready), .aw_addr_o(m_aw_addr_o), .aw_len_o(m_aw_len_o),
      .aw_size_o(m_aw_size_o), .aw_burst_o(m_aw_burst_o), .aw_id_o(m_aw_id_o),
      .w_valid_o(w_valid), .w_ready_i(w_ready), .w_data_o(m_w_data_o), .w_strb_o(m_w_strb_o),
      .w_last_o(m_w_last_o), .w_dbg_o(m_w_dbg_o),
      .b_valid_i(m_b_valid_i & ~axi_late), .b_ready_o(m_b_ready_o), .b_id_i(m_b_id_i), .b_resp_i(m_b_resp_i),
      .reg_req_i(page_req), .reg_we_i(page_we), .reg_addr_i(page_addr), .reg_wdata_i(page_wdata),
      .reg_ack_o(page_ack), .reg_err_o(page_err), .reg_rdata_o(page_rdata),
      .event_o(events), .irq_threshold_o(irq_threshold), .irq_descriptor_o(irq_descriptor),
      .err_o(dma_err), .pkt_tx_o(pkt_tx), .pkt_rx_o(pkt_rx), .busy_o(dma_busy),
      .empty_o(dma_empty), .idle_o(dma_idle)
  );

  // ---- reset by software --------------------------------------------------------------------------
  logic [NAxi-1:0] axi_quiet, axi_settled, axi_stop;
  logic            reset_stuck, reset_gave_up;

  for (genvar m = 0; m < NAxi; m++) begin : gen_master
    axi_quiesce u_quiesce (
        .read_clk_i(unit_clk_i[TxUnit]), .write_clk_i(unit_clk_i[RxUnit]), .rst_ni, .stop_i(axi_stop[m]),
        .quiet_o(axi_quiet[m]), .settled_o(axi_settled[m]),
        .ar_valid_i(ar_valid[m]), .ar_ready_o(ar_ready[m]),
        .aw_valid_i(aw_valid[m]), .aw_ready_o(aw_ready[m]),
        .w_valid_i(w_valid[m]), .w_last_i(m_w_last_o[m]), .w_ready_o(w_ready[m]),
        .ar_valid_o(m_ar_valid_o[m]), .ar_ready_i(m_ar_ready_i[m]),
        .aw_valid_o(m_aw_valid_o[m]), .aw_ready_i(m_aw_ready_i[m]),
        .w_valid_o(m_w_valid_o[m]), .w_ready_i(m_w_ready_i[m]),
        .r_done_i(m_r_valid_i[m] && m_r_ready_o[m] && m_r_last_i[m]),
        .b_done_i(m_b_valid_i[m] && m_b_ready_o[m])
    );
  end

  soft_reset #(.NMaster(NAxi)) u_soft_reset (
      .clk_i(unit_clk_i[CsrUnit]), .rst_ni,
      .request_i(soft_reset), .quiet_i(axi_quiet), .settled_i(axi_settled), .stop_o(axi_stop),
      .late_o(axi_late), .gave_up_o(reset_gave_up), .stuck_o(reset_stuck), .done_o(soft_reset_done),
      .core_rst_no(core_rst_n), .idle_o(reset_idle)
  );

  // ---- registers ----------------------------------------------------------------------------------
  logic        reg_req, reg_we, reg_ack, reg_err, csr_answer;
  logic [23:0] reg_addr;
  logic [63:0] reg_wdata, reg_rdata;

  // The arbiter's registers alone look at the slaves' inputs: a simulator need not evaluate anything else for them.
  axil_arbiter u_axil_arbiter (
      .clk_i(unit_clk_i[AccessUnit]), .rst_ni,
      .aw_valid_i(s_aw_valid_i), .aw_ready_o(s_aw_ready_o), .aw_addr_i(s_aw_addr_i),
      .w_valid_i(s_w_valid_i), .w_ready_o(s_w_ready_o), .w_data_i(s_w_data_i), .w_strb_i(s_w_strb_i),
      .b_valid_o(s_b_valid_o), .b_ready_i(s_b_ready_i), .b_resp_o(s_b_resp_o),
      .ar_valid_i(s_ar_valid_i), .ar_ready_o(s_ar_ready_o), .ar_addr_i(s_ar_addr_i),
      .r_valid_o(s_r_valid_o), .r_ready_i(s_r_ready_i), .r_data_o(s_r_data_o), .r_resp_o(s_r_resp_o),
      .reg_req_o(reg_req), .reg_we_o(reg_we), .reg_addr_o(reg_addr), .reg_wdata_o(reg_wdata),
      .reg_ack_i(reg_ack), .reg_err_i(reg_err), .reg_rdata_i(reg_rdata),
      .active_o(axil_active), .idle_o(axil_idle)
  );

  node_csr #(
      .NDim(NDim), .FlitBytes(FlitBytes), .NInj(NInj), .NRec(NRec), .NSlot(NSlot),
      .NAxi(NAxi), .AxiBytes(AxiBytes)
  ) u_csr (
      .clk_i(unit_clk_i[CsrUnit]), .access_clk_i(unit_clk_i[AccessUnit]), .net_clk_i(unit_clk_i[NetRest]),
      .coll_clk_i(unit_clk_i[CollUnit]), .dma_clk_i(unit_clk_i[DmaUnit]), .rst_ni, .time_i,
      .reg_req_i(reg_req), .reg_we_i(reg_we), .reg_addr_i(reg_addr), .reg_wdata_i(reg_wdata),
      .reg_ack_o(reg_ack), .reg_err_o(reg_err), .reg_rdata_o(reg_rdata),
      .page_req_o(page_req), .page_we_o(page_we), .page_addr_o(page_addr), .page_wdata_o(page_wdata),
      .page_ack_i(page_ack), .page_err_i(page_err), .page_rdata_i(page_rdata),
      .cfg_o(cfg), .coll_cfg_o(coll_cfg), .soft_reset_o(soft_reset), .soft_reset_done_i(soft_reset_done),
      .memory_owes_i(axi_late != '0), .reset_stuck_i(reset_stuck), .reset_gave_up_i(reset_gave_up),
      .idle_i(net_idle && coll_idle && coll_inj_empty && dma_empty && !soft_reset && axi_late == '0),
      .dma_idle_i(!dma_busy && !soft_reset && axi_late == '0),
      .drained_i(cfg.drain && !dma_busy && inj_empty && coll_inj_empty && !soft_reset),
      .link_state_i(link_state), .coll_link_state_i(coll_link_state),
      .dma_err_i(dma_err), .net_err_i(net_err), .coll_err_i(coll_err), .event_i(events),
      .irq_threshold_i(irq_threshold), .irq_descriptor_i(irq_descriptor),
      .perf_flit_i(perf_flit), .perf_vc_i(perf_vc), .perf_stall_i(perf_stall),
      .perf_coll_i(perf_coll), .pkt_tx_i(pkt_tx), .pkt_rx_i(pkt_rx),
      .bar_enter_o(bar_enter), .bar_done_i(bar_done), .irq_o, .wake_o, .active_o(csr_active),
      .answer_o(csr_answer), .idle_o(csr_idle)
  );
  assign unit_active_o[AccessUnit] = axil_active || csr_answer;
  assign unit_active_o[CsrUnit]    = csr_active || !reset_idle;

  assign idle_o = net_idle && coll_idle && dma_idle && csr_idle && axil_idle && reset_idle;

  if (NDim < 1 || NDim > MaxDim || (FlitBytes != 8 && FlitBytes != 16 && FlitBytes != 32)) begin : gen_bad_size
    $error("gyre_node: NDim must be 1 to 5 and FlitBytes 8, 16 or 32");
  end
  // Each link moves FlitBytes a cycle each way; a master reads and writes AxiBytes a cycle.
  if (P * FlitBytes > NAxi * AxiBytes) begin : gen_bad_bandwidth
    $error("gyre_node: NAxi masters of AxiBytes cannot feed all links");
  end
endmodule
