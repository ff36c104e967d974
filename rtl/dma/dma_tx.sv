// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Transmit side of the DMA engine (HW-1): injection FIFOs, descriptor fetch and activation, packets, and one
// transmit path a link, one for the node itself (path 2*NDim) and one for the collective network (path 2*NDim+1).
//
//   inj_fifo_table -> desc_fetch -> desc_activate -> packetizer -> tx_path [NPath] -> injection
//                          \______________ axi_read_mux ______________/
//
// cfg_i.dma_enable = 0 stops fetch and activation, cfg_i.drain stops activation; active descriptors complete.
module dma_tx
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned NDim      = 3,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned NInj      = 32,
    parameter int unsigned NAxi      = 4,
    parameter int unsigned InjDepth  = 136,    // flits of each injection buffer, per path and class
    parameter int unsigned CollDepth = 64,     // flits of the collective network's buffer of a class route
    parameter bit          Deposit   = 1'b1,   // the network copies packets on their way
    parameter int unsigned NFlow     = 4,      // flows, and packets that a flow may have under way
    parameter int unsigned FlowWindow = 8,
    localparam int unsigned NPath = 2 * NDim + 2,
    localparam int unsigned Coll  = NPath - 1,
    localparam int unsigned FW = FlitBytes * 8
) (
    input  logic                             clk_i,
    input  logic [NPath-1:0]                 path_clk_i,   // clocks of the paths
    input  logic                             rst_ni,
    input  node_cfg_t                        cfg_i,
    // Registers of the injection FIFOs: see inj_fifo_table
    input  logic                             reg_req_i,
    input  logic                             reg_we_i,
    input  logic [10:0]                      reg_addr_i,
    input  logic [63:0]                      reg_wdata_i,
    output logic                             reg_ack_o,
    output logic                             reg_err_o,
    output logic [63:0]                      reg_rdata_o,
    // Registers of flows: see flow_source; windows from their targets
    input  logic                             flow_req_i,
    input  logic [10:0]                      flow_addr_i,
    output logic                             flow_ack_o,
    output logic                             flow_err_o,
    output logic [63:0]                      flow_rdata_o,
    input  flow_window_t                     window_i,
    output logic                             window_ok_o,
    // Slot look-up, combinational; a slot that does not exist answers valid = 0
    output logic [MaxFifoId-1:0]             slot_id_o,
    input  slot_t                            slot_i,
    input  coll_route_t [CollRoutes-1:0]     route_i,   // class routes of the collective network
    // Remote gets from the receive side: see inj_fifo_table
    input  logic [MaxFifoId-1:0]             rget_id_i,
    output logic                             rget_ok_o,
    output logic [AddrW-1:0]                 rget_base_o,
    output logic [20:0]                      rget_size_o,
    output logic [31:0]                      rget_alloc_o,
    output logic [20:0]                      rget_free_o,
    input  rget_move_t                       rget_alloc_i,
    input  rget_move_t                       rget_commit_i,
    output logic                             rget_moved_o,
    // Injection; credits: InjDepth flits a path and class, CollDepth a class route
    output logic [NPath-1:0]                 inj_valid_o,
    output logic [Coll-1:0][1:0]             inj_class_o,  // vclass_e
    output logic [3:0]                       inj_route_o,
    output flit_ctl_t                        inj_ctl_o  [NPath],
    output logic [FW-1:0]                    inj_data_o [NPath],
    input  logic [Coll-1:0][NetClasses-1:0]  inj_credit_i,
    input  logic [CollRoutes-1:0]            coll_credit_i,
    // Answers to read-modify-writes, and acknowledgements for sources of flows, from the receive side
    input  logic                             answer_valid_i,
    input  logic [3:0]                       answer_path_i,
    input  tx_cmd_t                          answer_i,
    output logic                             answer_ready_o,
    // AXI read masters; read data is always taken
    output logic [NAxi-1:0]                  m_ar_valid_o,
    input  logic [NAxi-1:0]                  m_ar_ready_i,
    output axi_addr_t                        m_ar_o     [NAxi],
    input  logic [NAxi-1:0]                  m_r_valid_i,
    input  axi_r_t                           m_r_i      [NAxi],
    input  logic [AxiW-1:0]                  m_r_data_i [NAxi],
    // Read client of the counter unit: see axi_read_mux
    input  logic                             ctr_ar_valid_i,
    output logic                             ctr_ar_ready_o,
    input  logic [AddrW-1:0]                 ctr_ar_addr_i,
    output logic                             ctr_r_valid_o,
    output logic [63:0]                      ctr_r_data_o,
    output logic                             ctr_r_err_o,
    // Events
    output logic [NInj-1:0]                  desc_done_o, // descriptor of the FIFO completed (CTRL[8])
    output error_t                           err_o,
    output logic [7:0]                       pkt_tx_o,    // a packet of kind k was sent
    output logic                             busy_o,      // descriptors or reads started and not finished
    output logic                             active_o,     // clk_i is needed, path_clk_i is: see gyre_dma
    output logic [NPath-1:0]                 path_active_o,
    output logic                             idle_o       // with quiet inputs no register changes
);
  localparam int unsigned FidW = (NInj > 1) ? $clog2(NInj) : 1;
  localparam int unsigned LinkPaths = 2 * NDim;

  // A packet of 544 B on the link needs 512 B from memory.
  if ((((LinkPaths + NAxi - 1) / NAxi) * FlitBytes * 512) > AxiBytes * 544) begin : gen_starved
    $error("dma_tx: %0d links of %0d B/cycle need more than %0d memory ports of %0d B/cycle",
           LinkPaths, FlitBytes, NAxi, AxiBytes);
  end
  if (NDim < 1 || NDim > MaxDim) begin : gen_bad_ndim
    $error("dma_tx: NDim is %0d; expected 1..%0d", NDim, MaxDim);
  end

  // ---- table ------------------------------------------------------------------------------------
  logic [NInj-1:0]      enable, remote, halted, avail, fifo_busy, path_halt, flow_halt, kill;
  logic [NInj-1:0]      fetching, staged, active, inflight, raw_valid, raw_err;
  logic [NInj-1:0][3:0] owner, last_path;
  logic                 take, act_err_valid, retire_valid, fifo_retire, table_idle;
  logic [FidW-1:0]      take_fifo, act_err_fifo;
  logic [AddrW-1:0]     take_addr;
  err_e                 act_err;
  tx_retire_t           retire;

  assign kill      = ~enable | halted;
  assign fifo_busy = fetching | staged | active | inflight;

  inj_fifo_table #(.NInj(NInj)) u_table (
      .clk_i, .rst_ni, .reg_req_i, .reg_we_i, .reg_addr_i, .reg_wdata_i, .reg_ack_o, .reg_err_o, .reg_rdata_o,
      .enable_o(enable), .remote_o(remote), .halted_o(halted), .avail_o(avail), .owner_o(owner),
      .busy_i(fifo_busy), .fetch_take_i(take), .fetch_fifo_i(take_fifo), .fetch_addr_o(take_addr),
      .path_halt_i(path_halt), .flow_halt_i(flow_halt), .act_err_valid_i(act_err_valid), .act_err_fifo_i(act_err_fifo),
      .act_err_i(act_err), .retire_valid_i(fifo_retire), .retire_i(retire),
      .rget_id_i, .rget_ok_o, .rget_base_o, .rget_size_o, .rget_alloc_o, .rget_free_o, .rget_alloc_i,
      .rget_commit_i, .rget_moved_o, .desc_done_o, .err_o, .idle_o(table_idle)
  );

  // ---- fetch and activation -----------------------------------------------------------------------
  logic             fetch_ar_valid, fetch_ar_ready, fetch_r_valid, fetch_r_err, fetch_idle;
  logic [AddrW-1:0] fetch_ar_addr;
  logic             read_valid, free_valid, load, act_idle;
  logic [FidW-1:0]  read_fifo, free_fifo, load_fifo;
  desc_t            read_desc;
  header_t          load_header;
  logic [31:0]      load_length, load_dbg;
  logic [AddrW-1:0] load_src, read_addr;
  logic [3:0]       load_path;

  desc_fetch #(.NInj(NInj)) u_fetch (
      .clk_i, .rst_ni, .want_i(cfg_i.dma_enable ? avail & ~kill : '0), .kill_i(kill),
      .take_o(take), .take_fifo_o(take_fifo), .take_addr_i(take_addr), .fetching_o(fetching),
      .ar_valid_o(fetch_ar_valid), .ar_ready_i(fetch_ar_ready), .ar_addr_o(fetch_ar_addr),
      .r_valid_i(fetch_r_valid), .r_data_i(m_r_data_i[0]), .r_err_i(fetch_r_err),
      .raw_valid_o(raw_valid), .raw_err_o(raw_err), .read_valid_i(read_valid), .read_fifo_i(read_fifo),
      .read_desc_o(read_desc), .read_addr_o(read_addr), .free_valid_i(free_valid), .free_fifo_i(free_fifo), .idle_o(fetch_idle)
  );

  // ---- flows --------------------------------------------------------------------------------------
  flow_id_t         check_flow_id, issue_flow_id, issue_flow;
  flow_end_t        check_flow;
  flow_seq_t        issue_seq;
  logic             flow_issue, flow_idle;
  flow_epoch_t      issue_epoch;
  logic [NFlow-1:0] flow_full, flow_closing, flow_started, flow_active;

  flow_source #(.NDim(NDim), .NFlow(NFlow), .Window(FlowWindow)) u_flows (
      .clk_i, .rst_ni, .cfg_i, .reg_req_i(flow_req_i), .reg_we_i, .reg_addr_i(flow_addr_i), .reg_wdata_i,
      .reg_ack_o(flow_ack_o), .reg_err_o(flow_err_o), .reg_rdata_o(flow_rdata_o),
      .look_id_i(check_flow_id), .look_o(check_flow), .issue_i(flow_issue), .issue_id_i(issue_flow_id),
      .issue_flow_o(issue_flow), .issue_seq_o(issue_seq), .issue_epoch_o(issue_epoch), .full_o(flow_full), .closing_o(flow_closing), .used_i(flow_started | flow_active),
      .window_i, .window_ok_o, .idle_o(flow_idle)
  );

  desc_activate #(.NDim(NDim), .NInj(NInj), .Deposit(Deposit), .NFlow(NFlow)) u_activate (
      .clk_i, .rst_ni, .cfg_i, .kill_i(kill), .remote_i(remote), .owner_i(owner),
      .err_valid_o(act_err_valid), .err_fifo_o(act_err_fifo), .err_o(act_err),
      .err_ready_i(!(fifo_retire && retire.err)),
      .raw_valid_i(raw_valid), .raw_err_i(raw_err), .read_valid_o(read_valid), .read_fifo_o(read_fifo),
      .read_desc_i(read_desc), .read_addr_i(read_addr), .free_valid_o(free_valid), .free_fifo_o(free_fifo), .slot_id_o, .slot_i, .route_i,
      .flow_id_o(check_flow_id), .flow_i(check_flow), .flow_started_o(flow_started),
      .active_i(active), .inflight_i(inflight), .path_i(last_path), .load_o(load), .load_fifo_o(load_fifo),
      .load_header_o(load_header), .load_length_o(load_length), .load_src_o(load_src), .load_path_o(load_path),
      .load_dbg_o(load_dbg), .staged_o(staged), .idle_o(act_idle)
  );

  // ---- packets --------------------------------------------------------------------------------------
  logic [NPath-1:0]                 cmd_valid;
  logic [Coll-1:0][NetClasses-1:0]  room;
  logic [CollRoutes-1:0]            coll_room;
  tx_cmd_t                          cmd;
  logic                             packet_idle;

  packetizer #(.NPath(NPath), .NInj(NInj), .NFlow(NFlow)) u_packetizer (
      .clk_i, .rst_ni, .halted_i(halted), .load_i(load), .load_fifo_i(load_fifo), .load_header_i(load_header),
      .load_length_i(load_length), .load_src_i(load_src), .load_path_i(load_path), .load_dbg_i(load_dbg),
      .active_o(active), .inflight_o(inflight), .path_o(last_path), .cmd_valid_o(cmd_valid), .cmd_o(cmd),
      .room_i(room), .coll_room_i(coll_room), .flow_full_i(flow_full), .flow_closing_i(flow_closing),
      .flow_halt_o(flow_halt), .flow_active_o(flow_active),
      .flow_issue_o(flow_issue), .flow_id_o(issue_flow_id), .flow_i(issue_flow), .flow_seq_i(issue_seq), .flow_epoch_i(issue_epoch), .answer_valid_i, .answer_path_i, .answer_i, .answer_ready_o,
      .retire_valid_i(fifo_retire), .retire_fifo_i(FidW'(retire.fifo)), .idle_o(packet_idle)
  );

  // ---- paths ------------------------------------------------------------------------------------------
  logic [NPath-1:0] ar_valid, ar_ready, r_valid, r_err, halt, ret_valid, ret_gnt, path_idle;
  logic [AddrW-1:0] ar_addr   [NPath];
  logic [7:0]       ar_len    [NPath];
  logic [FidW-1:0]  halt_fifo [NPath];
  tx_retire_t       ret       [NPath];

  for (genvar p = 0; p < Coll; p++) begin : gen_path
    tx_path #(.FlitBytes(FlitBytes), .NInj(NInj), .InjDepth(InjDepth)) u_path (
        .clk_i(path_clk_i[p]), .rst_ni, .cmd_valid_i(cmd_valid[p]), .cmd_i(cmd), .room_o(room[p]),
        .halted_i(halted), .halt_o(halt[p]), .halt_fifo_o(halt_fifo[p]),
        .ar_valid_o(ar_valid[p]), .ar_ready_i(ar_ready[p]), .ar_addr_o(ar_addr[p]), .ar_len_o(ar_len[p]),
        .r_valid_i(r_valid[p]), .r_data_i(m_r_data_i[p % NAxi]), .r_err_i(r_err[p]),
        .inj_valid_o(inj_valid_o[p]), .inj_pool_o(inj_class_o[p]), .inj_ctl_o(inj_ctl_o[p]),
        .inj_data_o(inj_data_o[p]), .inj_credit_i(inj_credit_i[p]),
        .retire_valid_o(ret_valid[p]), .retire_o(ret[p]), .retire_ready_i(ret_gnt[p]), .idle_o(path_idle[p])
    );
  end

  tx_path #(.FlitBytes(FlitBytes), .NInj(NInj), .InjDepth(CollDepth), .Collective(1'b1)) u_coll_path (
      .clk_i(path_clk_i[Coll]), .rst_ni, .cmd_valid_i(cmd_valid[Coll]), .cmd_i(cmd), .room_o(coll_room),
      .halted_i(halted), .halt_o(halt[Coll]), .halt_fifo_o(halt_fifo[Coll]),
      .ar_valid_o(ar_valid[Coll]), .ar_ready_i(ar_ready[Coll]), .ar_addr_o(ar_addr[Coll]), .ar_len_o(ar_len[Coll]),
      .r_valid_i(r_valid[Coll]), .r_data_i(m_r_data_i[Coll % NAxi]), .r_err_i(r_err[Coll]),
      .inj_valid_o(inj_valid_o[Coll]), .inj_pool_o(inj_route_o), .inj_ctl_o(inj_ctl_o[Coll]),
      .inj_data_o(inj_data_o[Coll]), .inj_credit_i(coll_credit_i),
      .retire_valid_o(ret_valid[Coll]), .retire_o(ret[Coll]), .retire_ready_i(ret_gnt[Coll]),
      .idle_o(path_idle[Coll])
  );

  always_comb begin
    path_halt = '0;
    for (int unsigned p = 0; p < NPath; p++) if (halt[p]) path_halt[halt_fifo[p]] = 1'b1;
  end

  // Packets that left retire one a cycle.
  rr_arbiter #(.N(NPath)) u_retire_arbiter (
      .clk_i, .rst_ni, .req_i(ret_valid), .advance_i(retire_valid), .gnt_o(ret_gnt)
  );
  assign retire_valid = ret_valid != '0;
  assign fifo_retire  = retire_valid && !retire.answer;
  always_comb begin
    retire = '0;
    for (int unsigned p = 0; p < NPath; p++) if (ret_gnt[p]) retire = ret[p];
  end

  logic [7:0] pkt_tx_q, pkt_tx_d;
  assign pkt_tx_d = (retire_valid && !retire.drop) ? 8'd1 << retire.kind[2:0] : '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pkt_tx_q <= '0;
    else pkt_tx_q <= pkt_tx_d;
  end
  assign pkt_tx_o = pkt_tx_q;

  // ---- memory -----------------------------------------------------------------------------------------
  logic mux_idle, outstanding;

  axi_read_mux #(.NPath(NPath), .NAxi(NAxi)) u_read_mux (
      .clk_i, .rst_ni, .path_ar_valid_i(ar_valid), .path_ar_ready_o(ar_ready), .path_ar_addr_i(ar_addr),
      .path_ar_len_i(ar_len), .path_r_valid_o(r_valid), .path_r_err_o(r_err),
      .fetch_ar_valid_i(fetch_ar_valid), .fetch_ar_ready_o(fetch_ar_ready), .fetch_ar_addr_i(fetch_ar_addr),
      .fetch_r_valid_o(fetch_r_valid), .fetch_r_err_o(fetch_r_err),
      .ctr_ar_valid_i, .ctr_ar_ready_o, .ctr_ar_addr_i, .ctr_r_valid_o, .ctr_r_data_o, .ctr_r_err_o,
      .m_ar_valid_o, .m_ar_ready_i, .m_ar_o, .m_r_valid_i, .m_r_i, .m_r_data_i,
      .outstanding_o(outstanding), .idle_o(mux_idle)
  );

  assign busy_o = (staged | active | inflight) != '0 || outstanding;

  // ---- activity -----------------------------------------------------------------------------------------
  logic             shared_idle;
  logic [NPath-1:0] credit;
  assign shared_idle = table_idle && fetch_idle && act_idle && packet_idle && flow_idle && mux_idle && pkt_tx_q == '0;
  always_comb begin
    for (int unsigned p = 0; p < Coll; p++) credit[p] = inj_credit_i[p] != '0;
    credit[Coll] = coll_credit_i != '0;
  end
  assign path_active_o = ~path_idle | cmd_valid | credit;
  assign active_o      = !shared_idle || reg_req_i || flow_req_i || window_i.valid || (ret_valid | halt) != '0 || rget_alloc_i.valid ||
                         rget_commit_i.valid;
  assign idle_o        = shared_idle && (&path_idle);
endmodule
