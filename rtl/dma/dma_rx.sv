// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Receive side of the DMA engine (HW-1): one reception path per ejection path of the network, one for the
// loop-back and one for the collective network, one for class priority and one for class system,
// a shared resolver, the reception FIFOs, the commit queue, the counter unit,
// the unit for read-modify-writes, and the unit for ordered-dynamic flows (HW-4), whose requests continue on the path of
// the loop-back.
// The paths work whenever packets come: slots and FIFOs that software has not enabled refuse them.
module dma_rx
  import gyre_pkg::*;
  import gyre_dma_pkg::*;
#(
    parameter int unsigned NDim = 3,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned NRec = 16,
    parameter int unsigned NAxi = 2,
    parameter int unsigned NFlow = 4,           // flows, and packets that a flow may have under way
    parameter int unsigned FlowWindow = 8,
    localparam int unsigned NLink = 2 * NDim,
    localparam int unsigned NPath = NLink + 2,
    localparam int unsigned NHigh = NetClasses - NumClasses,
    localparam int unsigned NRx = NPath + NHigh,
    localparam int unsigned FW = FlitBytes * 8
) (
    input  logic                             clk_i,
    input  logic [NRx-1:0]                   path_clk_i,   // clocks of the paths
    input  logic                             rst_ni,
    input  node_cfg_t                        cfg_i,
    // ejection: path NPath-2 is the loop-back, path NPath-1 the collective network, which has requests and responses only
    input  logic [NPath-1:0][NetClasses-1:0] ej_valid_i,
    output logic [NPath-1:0][NetClasses-1:0] ej_ready_o,
    input  flit_ctl_t                        ej_ctl_i    [NLink][NetClasses],   // of links
    input  logic [FW-1:0]                    ej_data_i   [NLink][NetClasses],
    input  flit_ctl_t                        loop_ctl_i  [NetClasses],
    input  logic [FW-1:0]                    loop_data_i [NetClasses],
    input  flit_ctl_t                        coll_ctl_i  [NumClasses],
    input  logic [FW-1:0]                    coll_data_i [NumClasses],
    // registers of the reception FIFOs (offsets from 0x800)
    input  logic                             reg_req_i,
    input  logic                             reg_we_i,
    input  logic [9:0]                       reg_addr_i,
    input  logic [63:0]                      reg_wdata_i,
    output logic                             reg_ack_o,
    output logic                             reg_err_o,
    output logic [63:0]                      reg_rdata_o,
    // registers of flows: see flow_table
    input  logic                             flow_req_i,
    input  logic [10:0]                      flow_addr_i,
    output logic                             flow_ack_o,
    output logic                             flow_err_o,
    output logic [63:0]                      flow_rdata_o,
    // windows of flows, from their targets
    output flow_window_t                     window_o,
    input  logic                             window_ok_i,
    // slots: target and counter
    output logic [MaxFifoId-1:0]             slot_id_o,
    input  slot_t                            slot_i,
    output logic [MaxFifoId-1:0]             ctr_id_o,
    input  slot_t                            ctr_slot_i,
    output logic [MaxFifoId-1:0]             rmw_id_o,
    input  slot_t                            rmw_slot_i,
    // remote-get injection FIFOs; rget_moved_i pulses after a ring may have gained room or changed state
    output logic [MaxFifoId-1:0]             rget_id_o,
    input  logic                             rget_ok_i,
    input  logic [AddrW-1:0]                 rget_base_i,
    input  logic [20:0]                      rget_size_i,
    input  logic [31:0]                      rget_alloc_i,
    input  logic [20:0]                      rget_free_i,
    output rget_move_t                       rget_alloc_o,
    output rget_move_t                       rget_commit_o,
    input  logic                             rget_moved_i,
    // counter reads
    output logic                             ctr_ar_valid_o,
    input  logic                             ctr_ar_ready_i,
    output logic [AddrW-1:0]                 ctr_ar_addr_o,
    input  logic                             ctr_r_valid_i,
    input  logic [63:0]                      ctr_r_data_i,
    input  logic                             ctr_r_err_i,
    // answers to read-modify-writes, and acknowledgements for sources of flows
    output logic                             answer_valid_o,
    output logic [3:0]                       answer_path_o,
    output tx_cmd_t                          answer_o,
    input  logic                             answer_ready_i,
    // memory writes: path p on master p % NAxi, counters on master 0
    output logic [NAxi-1:0]                  aw_valid_o,
    input  logic [NAxi-1:0]                  aw_ready_i,
    output axi_addr_t                        aw_o     [NAxi],
    output logic [NAxi-1:0]                  w_valid_o,
    input  logic [NAxi-1:0]                  w_ready_i,
    output logic [AxiW-1:0]                  w_data_o [NAxi],
    output logic [AxiBytes-1:0]              w_strb_o [NAxi],
    output logic [NAxi-1:0]                  w_last_o,
    output logic [31:0]                      w_dbg_o  [NAxi],
    input  logic [NAxi-1:0]                  b_valid_i,
    input  axi_b_t                           b_i      [NAxi],
    // events: one-cycle pulses
    output logic [15:0]                      committed_o,  // reception FIFO
    output logic                             threshold_o,
    output logic                             zero_o,       // a counter
    output logic [7:0]                       pkt_o,        // accepted packets by kind
    // errors, held until taken
    output error_t                           err_o,
    input  logic                             err_ack_i,
    output logic                             busy_o,       // something with a place in memory is not there yet
    output logic                             holds_o,      // something of a packet without a place is here
    output logic                             active_o,     // clk_i is needed, path_clk_i is: see gyre_dma
    output logic [NRx-1:0]                   path_active_o,
    output logic                             idle_o
);
  // ---- paths --------------------------------------------------------------------------------------
  logic [NRx-1:0]   req [NumClasses];
  logic [NRx-1:0]   gnt [NumClasses];
  rx_req_t          req_request  [NRx];
  rx_req_t          req_response [NRx];
  logic [NRx-1:0]   res_valid;
  logic             res_response, retry;
  rx_res_t          res;

  logic [NRx-1:0]      aw_req, aw_gnt, w_sel, w_pop, w_last, b_valid, b_bad;
  axi_addr_t           aw     [NRx];
  logic [AxiW-1:0]     w_data [NRx];
  logic [AxiBytes-1:0] w_strb [NRx];
  logic [31:0]         w_dbg  [NRx];

  logic [NRx-1:0]     done, done_failed, ctr_valid, ctr_ack, path_idle, path_busy, path_holds;
  logic [CommitW-1:0] done_index [NRx];
  logic [AddrW-1:0]   ctr_addr   [NRx];
  logic [9:0]         ctr_bytes  [NRx];

  localparam int unsigned NRmw = NPath - 1;   // read-modify-writes come by links and the loop-back, in class request
  logic [NRx-1:0]     rmw_req, rmw_gnt;
  logic               unused_rmw;
  assign rmw_gnt[NRx-1:NRmw] = '0;
  assign unused_rmw    = ^rmw_req[NRx-1:NRmw];
  logic [AxiW-1:0]    rmw_row [NRx];
  logic [31:0]        rmw_dbg [NRx];

  localparam int unsigned NErr = NRx + 3;   // and the counter unit, read-modify-writes, flows
  error_t          err [NErr];
  logic [NErr-1:0] err_valid, err_gnt;

  localparam int unsigned Loop  = NPath - 2;
  logic [NRx-1:0]     flow_req, flow_only, flow_take, flow_valid, flow_tail, flow_bad, flow_pop;
  header_t            flow_hdr  [NRx];
  err_e               flow_err  [NRx];
  logic [31:0]        flow_dbg  [NRx];
  logic [FW-1:0]      flow_data [NRx];
  flow_ref_t          put_done  [2*NRx];
  logic [2*NRx-1:0]   put_failed;
  assign flow_take[NRx-1:NLink] = '0;
  assign flow_pop[NRx-1:NLink]  = '0;
  logic unused_flow;
  assign unused_flow = ^{flow_req[NRx-1:NLink], flow_only[NRx-1:NLink], flow_valid[NRx-1:NLink],
                         flow_tail[NRx-1:NLink], flow_bad[NRx-1:NLink], put_failed[2*NRx-1:2*NLink]};

  // Packets of the loop-back, and packets that flows release.
  logic          loop_valid, loop_ready, merge_idle;
  logic [1:0]    merge_ready, merge_from;
  flit_ctl_t     merge_ctl, released_ctl;
  logic [FW-1:0] merge_data, released_data;
  logic          released_valid;
  rx_merge #(.N(2)) u_merge (
      .clk_i, .rst_ni, .valid_i({released_valid, ej_valid_i[Loop][0]}), .ready_o(merge_ready), .from_o(merge_from),
      .head_i(merge_ctl.head), .tail_i(merge_ctl.tail), .valid_o(loop_valid), .ready_i(loop_ready), .idle_o(merge_idle)
  );
  always_comb begin
    merge_ctl  = '0;
    merge_data = '0;
    if (loop_valid) begin
      merge_ctl  = merge_from[0] ? loop_ctl_i[0] : released_ctl;
      merge_data = merge_from[0] ? loop_data_i[0] : released_data;
    end
  end
  logic unused_from;
  assign unused_from = merge_from[1];

  // Priority and system: each comes by a path of its own, from all links and the loop-back.
  logic [NHigh-1:0][Loop:0] high_ready;
  for (genvar p = 0; p <= int'(Loop); p++) begin : gen_high_ready
    for (genvar h = 0; h < int'(NHigh); h++) begin : gen_class
      assign ej_ready_o[p][NumClasses+h] = high_ready[h][p];
    end
  end
  assign ej_ready_o[NPath-1][NetClasses-1:NumClasses] = '0;
  logic unused_high;
  assign unused_high = ^ej_valid_i[NPath-1][NetClasses-1:NumClasses];

  logic [NRx-1:0][NumClasses-1:0] path_valid;
  for (genvar p = 0; p < NRx; p++) begin : gen_path
    // Flits of this path.
    logic [NumClasses-1:0] p_ready;
    flit_ctl_t             p_ctl  [NumClasses];
    logic [FW-1:0]         p_data [NumClasses];
    if (p >= NPath) begin : gen_high
      localparam int unsigned Class = NumClasses + p - NPath;
      logic [Loop:0] valid, from;
      logic          offered;
      flit_ctl_t     ctl;
      logic [FW-1:0] data;
      logic          unused_idle;   // the path is active while a flit is offered
      for (genvar s = 0; s <= int'(Loop); s++) begin : gen_source
        assign valid[s] = ej_valid_i[s][Class];
      end
      rx_merge #(.N(Loop + 1)) u_merge (
          .clk_i(path_clk_i[p]), .rst_ni, .valid_i(valid), .ready_o(high_ready[p-NPath]), .from_o(from),
          .head_i(ctl.head), .tail_i(ctl.tail), .valid_o(offered), .ready_i(p_ready[0]), .idle_o(unused_idle)
      );
      always_comb begin
        ctl  = '0;
        data = '0;
        if (offered) begin
          ctl  = loop_ctl_i[Class];
          data = loop_data_i[Class];
          for (int unsigned s = 0; s < NLink; s++) begin
            if (from[s]) begin
              ctl  = ej_ctl_i[s][Class];
              data = ej_data_i[s][Class];
            end
          end
        end
      end
      assign path_valid[p][0] = offered;
      assign p_ctl[0]         = ctl;
      assign p_data[0]        = data;
      assign path_valid[p][1] = 1'b0;
      assign p_ctl[1]         = '0;
      assign p_data[1]        = '0;
      logic unused_ready;
      assign unused_ready = p_ready[1];
    end else begin : gen_low
      assign path_valid[p][1] = ej_valid_i[p][1];
      assign ej_ready_o[p][1] = p_ready[1];
      if (p == Loop) begin : gen_merged
        assign path_valid[p][0] = loop_valid;
        assign p_ctl            = '{merge_ctl, loop_ctl_i[1]};
        assign p_data           = '{merge_data, loop_data_i[1]};
        assign loop_ready       = p_ready[0];
        assign ej_ready_o[p][0] = merge_ready[0];
      end else begin : gen_alone
        assign path_valid[p][0] = ej_valid_i[p][0];
        assign ej_ready_o[p][0] = p_ready[0];
        if (p < NLink) begin : gen_link
          assign p_ctl  = ej_ctl_i[p][0:1];
          assign p_data = ej_data_i[p][0:1];
        end else begin : gen_coll
          assign p_ctl  = coll_ctl_i;
          assign p_data = coll_data_i;
        end
      end
    end
    localparam int unsigned Master = p % NAxi;
    logic [NumClasses-1:0] p_req, p_gnt;
    assign req[0][p] = p_req[0];
    assign req[1][p] = p_req[1];
    assign p_gnt     = {gnt[1][p], gnt[0][p]};
    assign b_valid[p] = b_valid_i[Master] && b_i[Master].id == AxiIdW'(p);
    assign b_bad[p]   = b_i[Master].resp != AxiOkay;
    rx_path #(.FlitBytes(FlitBytes), .Id(AxiIdW'(p)), .Collective(p == NPath - 1), .Flows(p < NLink),
              .Requests(p < NPath ? ClassRequest : vclass_e'(NumClasses + p - NPath))) u_path (
        .clk_i(path_clk_i[p]), .rst_ni, .coord_i(cfg_i.coord), .ej_valid_i(path_valid[p]), .ej_ready_o(p_ready),
        .ej_ctl_i(p_ctl), .ej_data_i(p_data),
        .flow_req_o(flow_req[p]), .flow_hdr_o(flow_hdr[p]), .flow_only_o(flow_only[p]), .flow_err_o(flow_err[p]),
        .flow_dbg_o(flow_dbg[p]), .flow_take_i(flow_take[p]), .flow_valid_o(flow_valid[p]), .flow_data_o(flow_data[p]),
        .flow_tail_o(flow_tail[p]), .flow_bad_o(flow_bad[p]), .flow_pop_i(flow_pop[p]),
        .put_done_o(put_done[2*p:2*p+1]), .put_failed_o(put_failed[2*p+:2]),
        .req_o(p_req), .req_request_o(req_request[p]), .req_response_o(req_response[p]), .gnt_i(p_gnt),
        .res_valid_i(res_valid[p]), .res_response_i(res_response), .res_i(res), .retry_i(retry),
        .rmw_req_o(rmw_req[p]), .rmw_gnt_i(rmw_gnt[p]), .rmw_row_o(rmw_row[p]), .rmw_dbg_o(rmw_dbg[p]),
        .aw_req_o(aw_req[p]), .aw_o(aw[p]), .aw_gnt_i(aw_gnt[p]), .w_sel_i(w_sel[p]), .w_pop_i(w_pop[p]),
        .w_data_o(w_data[p]), .w_strb_o(w_strb[p]), .w_last_o(w_last[p]), .w_dbg_o(w_dbg[p]),
        .b_valid_i(b_valid[p]), .b_bad_i(b_bad[p]),
        .done_o(done[p]), .done_index_o(done_index[p]), .done_failed_o(done_failed[p]),
        .ctr_valid_o(ctr_valid[p]), .ctr_addr_o(ctr_addr[p]), .ctr_bytes_o(ctr_bytes[p]),
        .ctr_ack_i(ctr_ack[p]), .err_o(err[p]), .err_ack_i(err_ack_i && err_gnt[p]), .busy_o(path_busy[p]),
        .holds_o(path_holds[p]), .idle_o(path_idle[p])
    );
  end

  // ---- places in memory --------------------------------------------------------------------------
  logic                 rec_ok, rec_fits, rec_alloc, rec_wait, rec_retry, commit_room, commit_push, commit_rget;
  logic [MaxFifoId-1:0] rec_id;
  logic [9:0]           rec_bytes;
  logic [AddrW-1:0]     rec_addr;
  logic [AddrW-13:0]    rec_next_page;
  logic [CommitW-1:0]   commit_index;
  rec_move_t            rec_commit;
  logic                 committed, resolve_idle, rec_idle, commit_idle, commit_busy, rmw_accepted;
  logic [7:0]           pkt_resolved;

  flow_ref_t            put_ref;
  coord_t               put_src;
  logic [9:0]           put_epoch;
  logic                 put_ok, put_claim;
  flow_counter_t        put_counter;

  rx_resolve #(.NPath(NRx), .Coll(NPath - 1)) u_resolve (
      .clk_i, .rst_ni, .req_i(req), .req_request_i(req_request), .req_response_i(req_response), .gnt_o(gnt),
      .res_valid_o(res_valid), .res_response_o(res_response), .res_o(res),
      .slot_id_o, .slot_i, .ctr_id_o, .ctr_slot_i,
      .rec_id_o(rec_id), .rec_bytes_o(rec_bytes), .rec_ok_i(rec_ok), .rec_fits_i(rec_fits),
      .rec_addr_i(rec_addr), .rec_next_page_i(rec_next_page), .rec_alloc_o(rec_alloc), .rec_wait_o(rec_wait),
      .rget_id_o, .rget_ok_i, .rget_base_i, .rget_size_i, .rget_alloc_i, .rget_free_i, .rget_alloc_o,
      .commit_room_i(commit_room), .commit_index_i(commit_index), .commit_push_o(commit_push),
      .commit_rget_o(commit_rget), .flow_o(put_ref), .flow_src_o(put_src), .flow_epoch_o(put_epoch), .flow_ok_i(put_ok),
      .flow_claim_o(put_claim), .flow_counter_o(put_counter), .window_o, .window_ok_i, .pkt_o(pkt_resolved), .idle_o(resolve_idle)
  );
  rec_fifo_table #(.NRec(NRec)) u_rec (
      .clk_i, .rst_ni, .reg_req_i, .reg_we_i, .reg_addr_i, .reg_wdata_i, .reg_ack_o, .reg_err_o, .reg_rdata_o,
      .look_id_i(rec_id), .look_bytes_i(rec_bytes), .look_ok_o(rec_ok), .look_fits_o(rec_fits),
      .look_addr_o(rec_addr), .look_next_page_o(rec_next_page), .alloc_i(rec_alloc), .wait_i(rec_wait),
      .commit_i(rec_commit), .committed_o(committed), .threshold_o, .retry_o(rec_retry), .idle_o(rec_idle)
  );
  rx_commit #(.NPath(NRx)) u_commit (
      .clk_i, .rst_ni, .push_i(commit_push), .push_rget_i(commit_rget), .push_id_i(rec_id),
      .push_bytes_i(commit_rget ? rget_alloc_o.bytes : rec_bytes), .push_index_o(commit_index),
      .room_o(commit_room), .done_i(done), .done_index_i(done_index), .done_failed_i(done_failed),
      .rec_commit_o(rec_commit), .rget_commit_o, .busy_o(commit_busy), .idle_o(commit_idle)
  );
  assign committed_o = committed ? 16'(1 << rec_commit.id[3:0]) : '0;
  assign retry       = rec_retry || rget_moved_i;

  assign pkt_o       = pkt_resolved | (rmw_accepted ? 8'(1 << KindRmwReq) : '0);

  // ---- counters and read-modify-writes --------------------------------------------------------------
  localparam logic [AxiIdW-1:0] CtrWriteId = AxiIdW'(NRx);
  logic                c_aw_req, c_aw_gnt, c_w_sel, c_w_pop, ctr_idle, ctr_busy;
  axi_addr_t           c_aw;
  logic [AxiW-1:0]     c_w_data;
  logic [AxiBytes-1:0] c_w_strb;
  logic                exec_req, exec_ack, exec_done, exec_failed, rmw_idle, rmw_busy;
  rmw_exec_t           exec;
  logic [63:0]         exec_old;
  // Counters are lowered by paths that have puts and by flows.
  localparam int unsigned NCtr = NPath + 1;
  logic [NCtr-1:0]     lower, lower_ack;
  logic                lower_busy;     // that of flows
  logic [AddrW-1:0]    lower_addr  [NCtr];
  logic [9:0]          lower_bytes [NCtr];
  for (genvar p = 0; p < NPath; p++) begin : gen_lower
    assign lower[p]       = ctr_valid[p];
    assign lower_addr[p]  = ctr_addr[p];
    assign lower_bytes[p] = ctr_bytes[p];
    assign ctr_ack[p]     = lower_ack[p];
  end
  assign ctr_ack[NRx-1:NPath] = '0;
  logic unused_ctr;
  assign unused_ctr = ^ctr_valid[NRx-1:NPath];
  counter_unit #(.NPath(NCtr), .WriteId(CtrWriteId)) u_counter (
      .clk_i, .rst_ni, .req_i(lower), .req_addr_i(lower_addr), .req_bytes_i(lower_bytes), .req_ack_o(lower_ack), .last_busy_o(lower_busy),
      .rmw_req_i(exec_req), .rmw_i(exec), .rmw_ack_o(exec_ack), .rmw_done_o(exec_done),
      .rmw_failed_o(exec_failed), .rmw_old_o(exec_old),
      .ar_valid_o(ctr_ar_valid_o), .ar_ready_i(ctr_ar_ready_i), .ar_addr_o(ctr_ar_addr_o),
      .r_valid_i(ctr_r_valid_i), .r_data_i(ctr_r_data_i), .r_err_i(ctr_r_err_i),
      .aw_req_o(c_aw_req), .aw_o(c_aw), .aw_gnt_i(c_aw_gnt), .w_sel_i(c_w_sel), .w_pop_i(c_w_pop),
      .w_data_o(c_w_data), .w_strb_o(c_w_strb),
      .b_valid_i(b_valid_i[0] && b_i[0].id == CtrWriteId), .b_bad_i(b_i[0].resp != AxiOkay),
      .zero_o, .err_o(err[NRx]), .err_ack_i(err_ack_i && err_gnt[NRx]), .busy_o(ctr_busy),
      .idle_o(ctr_idle)
  );

  logic       rmw_answer_valid, rmw_answer_ready, flow_ack_valid, flow_ack_ready;
  logic [3:0] rmw_answer_path, flow_ack_path;
  tx_cmd_t    rmw_answer, flow_ack;

  rmw_unit #(.NDim(NDim)) u_rmw (
      .clk_i, .rst_ni, .cfg_i, .req_i(rmw_req[NRmw-1:0]), .gnt_o(rmw_gnt[NRmw-1:0]), .row_i(rmw_row[0:NRmw-1]),
      .dbg_i(rmw_dbg[0:NRmw-1]),
      .slot_id_o(rmw_id_o), .slot_i(rmw_slot_i), .rmw_req_o(exec_req), .rmw_o(exec), .rmw_ack_i(exec_ack),
      .rmw_done_i(exec_done), .rmw_failed_i(exec_failed), .rmw_old_i(exec_old),
      .answer_valid_o(rmw_answer_valid), .answer_path_o(rmw_answer_path), .answer_o(rmw_answer),
      .answer_ready_i(rmw_answer_ready), .accepted_o(rmw_accepted),
      .err_o(err[NRx+1]), .err_ack_i(err_ack_i && err_gnt[NRx+1]), .busy_o(rmw_busy), .idle_o(rmw_idle)
  );

  // ---- ordered-dynamic flows --------------------------------------------------------------------------
  logic flow_idle, flow_busy, flow_holds;
  flow_reorder #(.NDim(NDim), .FlitBytes(FlitBytes), .NFlow(NFlow), .Window(FlowWindow)) u_flows (
      .clk_i, .rst_ni, .cfg_i, .reg_req_i(flow_req_i), .reg_we_i, .reg_addr_i(flow_addr_i), .reg_wdata_i,
      .reg_ack_o(flow_ack_o), .reg_err_o(flow_err_o), .reg_rdata_o(flow_rdata_o),
      .req_i(flow_req[NLink-1:0]), .hdr_i(flow_hdr[0:NLink-1]), .only_i(flow_only[NLink-1:0]),
      .err_i(flow_err[0:NLink-1]), .dbg_i(flow_dbg[0:NLink-1]), .take_o(flow_take[NLink-1:0]),
      .valid_i(flow_valid[NLink-1:0]), .data_i(flow_data[0:NLink-1]), .tail_i(flow_tail[NLink-1:0]),
      .bad_i(flow_bad[NLink-1:0]), .pop_o(flow_pop[NLink-1:0]),
      .put_i(put_ref), .put_src_i(put_src), .put_epoch_i(put_epoch), .put_ok_o(put_ok), .put_claim_i(put_claim), .put_counter_i(put_counter),
      .put_done_i(put_done[0:2*NLink-1]), .put_failed_i(put_failed[2*NLink-1:0]),
      .out_valid_o(released_valid), .out_ready_i(merge_ready[1]), .out_ctl_o(released_ctl),
      .out_data_o(released_data), .ctr_valid_o(lower[NPath]), .ctr_addr_o(lower_addr[NPath]),
      .ctr_bytes_o(lower_bytes[NPath]), .ctr_ack_i(lower_ack[NPath]), .ctr_busy_i(lower_busy),
      .answer_valid_o(flow_ack_valid), .answer_path_o(flow_ack_path), .answer_o(flow_ack), .answer_ready_i(flow_ack_ready),
      .err_o(err[NRx+2]), .err_ack_i(err_ack_i && err_gnt[NRx+2]), .busy_o(flow_busy), .holds_o(flow_holds),
      .idle_o(flow_idle)
  );

  // Both kinds of answers take turns.
  logic [1:0] answer_gnt;
  rr_arbiter #(.N(2)) u_answer (
      .clk_i, .rst_ni, .req_i({flow_ack_valid, rmw_answer_valid}), .advance_i(answer_valid_o && answer_ready_i),
      .gnt_o(answer_gnt)
  );
  assign answer_valid_o   = rmw_answer_valid || flow_ack_valid;
  assign answer_path_o    = answer_gnt[1] ? flow_ack_path : rmw_answer_path;
  assign answer_o         = answer_gnt[1] ? flow_ack : rmw_answer;
  assign rmw_answer_ready = answer_gnt[0] && answer_ready_i;
  assign flow_ack_ready   = answer_gnt[1] && answer_ready_i;

  // ---- write masters ------------------------------------------------------------------------------
  logic [NAxi-1:0] mux_idle;
  for (genvar m = 0; m < NAxi; m++) begin : gen_master
    localparam int unsigned NWay = (NRx - m + NAxi - 1) / NAxi;  // paths
    localparam int unsigned N    = NWay + (m == 0 ? 1 : 0);
    logic [N-1:0]        x_req, x_gnt, x_sel, x_pop, x_last;
    axi_addr_t           x_aw   [N];
    logic [AxiW-1:0]     x_data [N];
    logic [AxiBytes-1:0] x_strb [N];
    logic [31:0]         x_dbg  [N];
    for (genvar w = 0; w < NWay; w++) begin : gen_way
      localparam int unsigned Path = m + w * NAxi;
      assign x_req[w]     = aw_req[Path];
      assign x_aw[w]      = aw[Path];
      assign x_data[w]    = w_data[Path];
      assign x_strb[w]    = w_strb[Path];
      assign x_last[w]    = w_last[Path];
      assign x_dbg[w]     = w_dbg[Path];
      assign aw_gnt[Path] = x_gnt[w];
      assign w_sel[Path]  = x_sel[w];
      assign w_pop[Path]  = x_pop[w];
    end
    if (m == 0) begin : gen_counter
      assign x_req[NWay]  = c_aw_req;
      assign x_aw[NWay]   = c_aw;
      assign x_data[NWay] = c_w_data;
      assign x_strb[NWay] = c_w_strb;
      assign x_last[NWay] = 1'b1;
      assign x_dbg[NWay]  = '0;
      assign c_aw_gnt     = x_gnt[NWay];
      assign c_w_sel      = x_sel[NWay];
      assign c_w_pop      = x_pop[NWay];
    end
    axi_write_mux #(.N(N)) u_mux (
        .clk_i, .rst_ni, .aw_req_i(x_req), .aw_i(x_aw), .aw_gnt_o(x_gnt), .w_sel_o(x_sel), .w_pop_o(x_pop),
        .w_data_i(x_data), .w_strb_i(x_strb), .w_last_i(x_last), .w_dbg_i(x_dbg),
        .m_aw_valid_o(aw_valid_o[m]), .m_aw_ready_i(aw_ready_i[m]), .m_aw_o(aw_o[m]),
        .m_w_valid_o(w_valid_o[m]), .m_w_ready_i(w_ready_i[m]), .m_w_data_o(w_data_o[m]),
        .m_w_strb_o(w_strb_o[m]), .m_w_last_o(w_last_o[m]), .m_w_dbg_o(w_dbg_o[m]), .idle_o(mux_idle[m])
    );
  end

  // ---- errors ---------------------------------------------------------------------------------------
  for (genvar s = 0; s < NErr; s++) begin : gen_err
    assign err_valid[s] = err[s].valid;
  end
  rr_arbiter #(.N(NErr)) u_err (
      .clk_i, .rst_ni, .req_i(err_valid), .advance_i(err_ack_i && err_valid != '0), .gnt_o(err_gnt)
  );
  always_comb begin
    err_o        = '0;
    err_o.reason = ErrNone;
    if (err_valid != '0) begin
      for (int unsigned s = 0; s < NErr; s++) if (err_gnt[s]) err_o = err[s];
    end
  end

  assign busy_o  = path_busy != '0 || commit_busy || ctr_busy || rmw_busy || flow_busy;
  assign holds_o = path_holds != '0 || flow_holds;

  // ---- activity -------------------------------------------------------------------------------------
  logic shared_idle;
  assign shared_idle = resolve_idle && rec_idle && commit_idle && ctr_idle && rmw_idle && merge_idle && (&mux_idle) &&
                       err_valid == '0 && !retry;
  for (genvar p = 0; p < NRx; p++) begin : gen_active
    assign path_active_o[p] = !path_idle[p] || path_valid[p] != '0 || retry;
  end
  assign active_o = !shared_idle || !flow_idle || flow_req_i || reg_req_i || done != '0 || answer_valid_o || ctr_r_valid_i;
  assign idle_o   = shared_idle && flow_idle && (&path_idle);
endmodule
