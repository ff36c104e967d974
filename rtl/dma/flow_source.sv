// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Source side of ordered-dynamic flows (HW-4): registers, and the window of each flow. A flow leads to one other node
// for packets of one class; each gets the next sequence number when it is issued, and at most `Window` are between
// issue and release at the target, which reports its progress by control packets.
// Closing a flow in use by force: no descriptor may name it any more, FIFOs at a descriptor of it halt with ErrDescFlow when
// their issued packets have left, and then the flow is closed. Until then CTRL reads as open, with [62] set. Packets carry
// the epoch of the flow, and an acknowledgement of another epoch is refused.
// Flow f at f*0x10: CTRL {[63] open, [62] close by force, [54:48] epoch, [43:40] owner, [36] class, [34:32] number at the
// target, [29:0] target},
// STATUS {[16] in use, [12:8] first sequence number not released, [4:0] next to be issued}. Answers with an error: opening
// one that is open, or to a node without a way there; closing one with packets under way or named by a descriptor that
// has started, unless by force; writes to STATUS; an absent flow.
module flow_source
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned NDim   = 3,
    parameter int unsigned NFlow  = 4,
    parameter int unsigned Window = 8
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  node_cfg_t             cfg_i,
    // register access, one-cycle request, acknowledge in the next cycle
    input  logic                  reg_req_i,
    input  logic                  reg_we_i,
    input  logic [10:0]           reg_addr_i,
    input  logic [63:0]           reg_wdata_i,
    output logic                  reg_ack_o,
    output logic                  reg_err_o,
    output logic [63:0]           reg_rdata_o,
    // look-up for checks of descriptors; an absent flow is not open
    input  flow_id_t              look_id_i,
    output flow_end_t             look_o,
    // packets
    input  logic                  issue_i,        // one of flow issue_id_i is issued
    input  flow_id_t              issue_id_i,
    output flow_id_t              issue_flow_o,   // number at the target
    output flow_seq_t             issue_seq_o,
    output flow_epoch_t           issue_epoch_o,
    output logic [NFlow-1:0]      full_o,         // no packet may be issued
    output logic [NFlow-1:0]      closing_o,      // by force: contexts that name the flow end
    input  logic [NFlow-1:0]      used_i,         // a descriptor that has started names the flow
    // windows from targets; the answer is combinational
    input  flow_window_t          window_i,
    output logic                  window_ok_o,
    output logic                  idle_o
);
  localparam int unsigned IdW = (NFlow > 1) ? $clog2(NFlow) : 1;

  if (NFlow < 1 || NFlow > MaxFlows) begin : gen_bad_nflow
    $error("flow_source: NFlow is %0d; expected 1..%0d", NFlow, MaxFlows);
  end
  if (Window < 1 || Window > MaxFlowWindow || (Window & (Window - 1)) != 0) begin : gen_bad_window
    $error("flow_source: Window is %0d; expected a power of two, 1..%0d", Window, MaxFlowWindow);
  end

  flow_end_t        end_q   [NFlow];
  flow_seq_t        next_q  [NFlow];   // to be issued
  flow_seq_t        first_q [NFlow];   // not released
  logic [NFlow-1:0] full_q, closing_q;

  function automatic logic present(flow_id_t id);
    return 32'(id) < NFlow;
  endfunction

  assign look_o       = (present(look_id_i) && !closing_q[look_id_i[IdW-1:0]]) ? end_q[look_id_i[IdW-1:0]] : '0;
  assign issue_flow_o = end_q[issue_id_i[IdW-1:0]].peer_flow;
  assign issue_seq_o  = next_q[issue_id_i[IdW-1:0]];
  assign issue_epoch_o = end_q[issue_id_i[IdW-1:0]].epoch;
  assign full_o       = full_q | closing_q;
  assign closing_o    = closing_q;

  // ---- windows ------------------------------------------------------------------------------------
  logic [IdW-1:0] wi;
  flow_seq_t      released, under_way;
  assign wi = window_i.id[IdW-1:0];
  always_comb begin
    released    = '0;
    under_way   = '0;
    window_ok_o = 1'b0;
    if (window_i.valid) begin
      released    = window_i.seq - first_q[wi];
      under_way   = next_q[wi] - first_q[wi];
      window_ok_o = 32'(window_i.id) < NFlow && end_q[wi].open && end_q[wi].peer == window_i.src && end_q[wi].epoch == window_i.epoch &&
                    released != '0 && released <= under_way;
    end
  end

  // ---- registers ----------------------------------------------------------------------------------
  logic [IdW-1:0] ri;
  logic           bad, in_use, write, forced;
  flow_end_t      wanted;
  logic [63:0]    rdata;
  assign ri = reg_addr_i[4+:IdW];
  always_comb begin
    wanted = '0;
    bad    = 1'b0;
    in_use = 1'b0;
    rdata  = '0;
    if (reg_req_i) begin
      in_use = used_i[ri] || next_q[ri] != first_q[ri] || closing_q[ri];
      wanted = flow_end_of(reg_wdata_i);
      if (32'(reg_addr_i[10:4]) >= NFlow || reg_addr_i[2:0] != '0) bad = 1'b1;
      else if (reg_addr_i[3]) begin
        bad   = reg_we_i;
        rdata = {47'd0, in_use, 3'd0, first_q[ri], 3'd0, next_q[ri]};
      end else begin
        rdata = flow_end_bits(end_q[ri]) | 64'(closing_q[ri]) << 62;
        if (reg_we_i) begin
          if (wanted.open) bad = end_q[ri].open || !flow_peer_ok(cfg_i, wanted.peer, NDim);
          else bad = in_use && !flow_forced(reg_wdata_i);
        end
      end
    end
  end
  assign forced = reg_req_i && reg_we_i && !bad && in_use;
  assign write  = reg_req_i && reg_we_i && !bad && !in_use;

  logic answer_idle;
  reg_answer u_answer (
      .clk_i, .rst_ni, .req_i(reg_req_i), .err_i(bad), .rdata_i(rdata),
      .ack_o(reg_ack_o), .err_o(reg_err_o), .rdata_o(reg_rdata_o), .idle_o(answer_idle)
  );

  // ---- flows --------------------------------------------------------------------------------------
  for (genvar f = 0; f < NFlow; f++) begin : gen_flow
    logic      issued, moved, written, over;
    flow_seq_t next_d, first_d;
    assign issued  = issue_i && issue_id_i[IdW-1:0] == IdW'(f);
    assign moved   = window_ok_o && wi == IdW'(f);
    assign written = write && ri == IdW'(f);
    assign over    = closing_q[f] && !used_i[f];
    assign next_d  = next_q[f] + flow_seq_t'(issued);
    assign first_d = moved ? window_i.seq : first_q[f];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        end_q[f]   <= '0;
        next_q[f]  <= '0;
        first_q[f] <= '0;
        full_q[f]  <= 1'b0;
        closing_q[f] <= 1'b0;
      end else if (written || over) begin
        end_q[f]   <= (written && wanted.open) ? wanted : '0;
        closing_q[f] <= 1'b0;
        next_q[f]  <= '0;
        first_q[f] <= '0;
        full_q[f]  <= 1'b0;
      end else if (issued || moved || (forced && ri == IdW'(f))) begin
        if (forced && ri == IdW'(f)) closing_q[f] <= 1'b1;
        next_q[f]  <= next_d;
        first_q[f] <= first_d;
        full_q[f]  <= (next_d - first_d) == flow_seq_t'(Window);
      end
    end
`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (rst_ni && issued) begin
        InWindow : assert (end_q[f].open && (next_q[f] - first_q[f]) < flow_seq_t'(Window) && !written)
        else $fatal(1, "%m: packet issued beyond the window, or of a flow that is not open");
      end
    end
`endif
  end
  assign idle_o = answer_idle && closing_q == '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && issue_i) begin
      FlowPresent : assert (present(issue_id_i))
      else $fatal(1, "%m: packet of a flow that does not exist");
    end
  end
`endif
endmodule
