// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Target side of ordered-dynamic flows (HW-4): packets of a flow arrive by any link in any order and proceed in the order of
// their sequence numbers. Requests are kept whole in their reserved slots (flow_store) and go on to the reception
// FIFOs as if they had come by one path; of puts only the completion is kept (flow_complete). The source is told of
// releases (flow_ack) and so never has more under way than there are slots: storage cannot run out,
// and taking a packet never waits for another. A flow that is closed by force discards the packets in its slots and refuses
// later ones.
module flow_reorder
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned NDim      = 3,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned NFlow     = 4,
    parameter int unsigned Window    = 8,
    localparam int unsigned NIn = 2 * NDim,
    localparam int unsigned FW  = FlitBytes * 8
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  node_cfg_t        cfg_i,
    // registers: see flow_table
    input  logic             reg_req_i,
    input  logic             reg_we_i,
    input  logic [10:0]      reg_addr_i,
    input  logic [63:0]      reg_wdata_i,
    output logic             reg_ack_o,
    output logic             reg_err_o,
    output logic [63:0]      reg_rdata_o,
    // request packets of flows, from the paths of links: see flow_store
    input  logic [NIn-1:0]   req_i,
    input  header_t          hdr_i  [NIn],
    input  logic [NIn-1:0]   only_i,
    input  err_e             err_i  [NIn],
    input  logic [31:0]      dbg_i  [NIn],
    output logic [NIn-1:0]   take_o,
    input  logic [NIn-1:0]   valid_i,
    input  logic [FW-1:0]    data_i [NIn],
    input  logic [NIn-1:0]   tail_i,
    input  logic [NIn-1:0]   bad_i,
    output logic [NIn-1:0]   pop_o,
    // puts of flows: look-up and claim by the resolver, end of their way to memory by path
    input  flow_ref_t        put_i,
    input  coord_t           put_src_i,
    input  logic [9:0]       put_epoch_i,
    output logic             put_ok_o,
    input  logic             put_claim_i,
    input  flow_counter_t    put_counter_i,
    input  flow_ref_t        put_done_i   [2*NIn],
    input  logic [2*NIn-1:0] put_failed_i,          // its counter is not lowered
    // requests in their order
    output logic             out_valid_o,
    input  logic             out_ready_i,
    output flit_ctl_t        out_ctl_o,
    output logic [FW-1:0]    out_data_o,
    // counter unit
    output logic             ctr_valid_o,
    output logic [AddrW-1:0] ctr_addr_o,
    output logic [9:0]       ctr_bytes_o,
    input  logic             ctr_ack_i,
    input  logic             ctr_busy_i,            // the counter lowered last is not in memory yet
    // packets to sources
    output logic             answer_valid_o,
    output logic [3:0]       answer_path_o,
    output tx_cmd_t          answer_o,
    input  logic             answer_ready_i,
    // errors, held until taken
    output error_t           err_o,
    input  logic             err_ack_i,
    output logic             busy_o,                // a put's completion or an acknowledgement to a source is under way
    output logic             holds_o,               // a slot is in use, or about to be
    output logic             idle_o
);
  localparam int unsigned NFill = 2 * NIn + 1;

  flow_ref_t        look     [NumClasses];
  coord_t           look_src [NumClasses];
  logic [9:0]       look_epoch [NumClasses];
  logic             look_ok  [NumClasses];
  logic             claim    [NumClasses];
  flow_ref_t        fill     [NFill];
  logic [NFill-1:0] fill_void;
  logic [NFlow-1:0] head     [NumClasses];
  logic [NFlow-1:0] released [NumClasses];
  logic [NFlow-1:0] going    [NumClasses];
  logic [NFlow-1:0] ack_due, acked, acking;
  flow_seq_t        seq      [NFlow];
  flow_end_t        flow_end [NFlow];
  logic [3:0]       path     [NFlow];
  logic             table_idle, store_idle, complete_idle, ack_idle, table_holds, store_holds, complete_busy;

  assign look[1]     = put_i;
  assign look_src[1] = put_src_i;
  assign look_epoch[1] = put_epoch_i;
  assign put_ok_o    = look_ok[1];
  assign claim[1]    = put_claim_i;
  for (genvar i = 0; i < 2 * NIn; i++) begin : gen_put
    assign fill[i]      = put_done_i[i];
    assign fill_void[i] = put_failed_i[i];
  end

  flow_table #(.NDim(NDim), .NFlow(NFlow), .Window(Window), .NFill(NFill)) u_table (
      .clk_i, .rst_ni, .cfg_i, .reg_req_i, .reg_we_i, .reg_addr_i, .reg_wdata_i, .reg_ack_o, .reg_err_o, .reg_rdata_o,
      .look_i(look), .look_src_i(look_src), .look_epoch_i(look_epoch), .look_ok_o(look_ok), .claim_i(claim), .fill_i(fill), .void_i(fill_void),
      .head_o(head), .seq_o(seq), .release_i(released), .going_i(going), .acking_i(acking), .ack_due_o(ack_due), .acked_i(acked), .end_o(flow_end),
      .path_o(path), .holds_o(table_holds), .idle_o(table_idle)
  );

  flow_store #(.NIn(NIn), .FlitBytes(FlitBytes), .NFlow(NFlow), .Window(Window)) u_store (
      .clk_i, .rst_ni, .req_i, .hdr_i, .only_i, .err_i, .dbg_i, .take_o, .valid_i, .data_i, .tail_i, .bad_i, .pop_o,
      .look_o(look[0]), .look_src_o(look_src[0]), .look_epoch_o(look_epoch[0]), .look_ok_i(look_ok[0]), .claim_o(claim[0]),
      .fill_o(fill[NFill-1]), .void_o(fill_void[NFill-1]), .head_i(head[0]), .seq_i(seq), .release_o(released[0]), .going_o(going[0]),
      .out_valid_o, .out_ready_i, .out_ctl_o, .out_data_o, .err_o, .err_ack_i, .holds_o(store_holds),
      .idle_o(store_idle)
  );

  flow_complete #(.NFlow(NFlow), .Window(Window)) u_complete (
      .clk_i, .rst_ni, .claim_i(put_claim_i), .claim_ref_i(put_i), .claim_counter_i(put_counter_i),
      .head_i(head[1]), .seq_i(seq), .release_o(released[1]), .going_o(going[1]), .ctr_valid_o, .ctr_addr_o, .ctr_bytes_o, .ctr_ack_i, .ctr_busy_i,
      .busy_o(complete_busy), .idle_o(complete_idle)
  );

  flow_ack #(.NFlow(NFlow)) u_ack (
      .clk_i, .rst_ni, .coord_i(cfg_i.coord), .ack_due_i(ack_due), .seq_i(seq), .end_i(flow_end), .path_i(path),
      .acked_o(acked), .acking_o(acking), .answer_valid_o, .answer_path_o, .answer_o, .answer_ready_i, .idle_o(ack_idle)
  );

  logic put_quiet;
  always_comb begin
    put_quiet = !put_claim_i;
    for (int unsigned i = 0; i < 2 * NIn; i++) if (put_done_i[i].valid) put_quiet = 1'b0;
  end
  // A released packet's slot is free with its last flit: a forwarded packet is no longer held here.
  assign busy_o  = complete_busy || !ack_idle;
  assign holds_o = table_holds || store_holds;
  assign idle_o  = table_idle && store_idle && complete_idle && ack_idle && put_quiet;
endmodule
