// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Target side of ordered-dynamic flows (HW-4): registers, and the slots of each flow. A flow comes from one other node
// with packets of one class, and has `Window` slots, by sequence number, as many as the source's limit of packets under way, so
// a packet never waits for a slot. A slot is claimed by a packet's header and full when the packet may go on; it is released
// when its turn has come and it has gone on. Places of packets that were refused or damaged are void: they are
// released without more.
// Closing a flow in use by force: no packet is taken, packets in slots are discarded unless they are being forwarded, and
// the flow is closed when its last slot is free. Until then CTRL reads as open, with [62] set. Packets of another epoch are
// refused.
// Flow f at f*0x10: CTRL {[63] open, [62] close by force, [54:48] epoch, [36] class, [34:32] number at the source,
// [29:0] source}, STATUS {[16] in use,
// [12:8] first sequence number whose release was not reported, [4:0] next to be released}; at 0x7F8 PARAMS
// {[12:8] window, [3:0] flows}. Answers with an error: opening one that is open, or from a node without a way there;
// closing one with slots in use or an acknowledgement due to its source, unless by force; writes to STATUS and PARAMS; an absent flow.
module flow_table
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned NDim   = 3,
    parameter int unsigned NFlow  = 4,
    parameter int unsigned Window = 8,
    parameter int unsigned NFill  = 13
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  node_cfg_t        cfg_i,
    // register access, one-cycle request, acknowledge in the next cycle
    input  logic             reg_req_i,
    input  logic             reg_we_i,
    input  logic [10:0]      reg_addr_i,
    input  logic [63:0]      reg_wdata_i,
    output logic             reg_ack_o,
    output logic             reg_err_o,
    output logic [63:0]      reg_rdata_o,
    // look-ups, one a class; claim_i takes the slot that was found
    input  flow_ref_t        look_i     [NumClasses],
    input  coord_t           look_src_i [NumClasses],
    input  logic [9:0]       look_epoch_i [NumClasses],
    output logic             look_ok_o  [NumClasses],
    input  logic             claim_i    [NumClasses],
    // claimed slots get full
    input  flow_ref_t        fill_i     [NFill],
    input  logic [NFill-1:0] void_i,
    // packets whose turn has come, none of them void
    output logic [NFlow-1:0] head_o     [NumClasses],
    output flow_seq_t        seq_o      [NFlow],        // next to be released
    input  logic [NFlow-1:0] release_i  [NumClasses],
    input  logic [NFlow-1:0] going_i    [NumClasses],   // the next is going on, and will be released
    input  logic [NFlow-1:0] acking_i,                  // an acknowledgement is about to leave
    // acknowledgements for sources
    output logic [NFlow-1:0] ack_due_o,
    input  logic [NFlow-1:0] acked_i,                   // the source is sent seq_o
    output flow_end_t        end_o      [NFlow],
    output logic [3:0]       path_o     [NFlow],        // way to the source
    output logic             holds_o,                   // a slot is claimed
    output logic             idle_o
);
  localparam int unsigned IdW    = (NFlow > 1) ? $clog2(NFlow) : 1;
  localparam int unsigned SlotW  = (Window > 1) ? $clog2(Window) : 1;
  localparam int unsigned Half   = (Window > 1) ? Window / 2 : 1;

  if (NFlow < 1 || NFlow > MaxFlows) begin : gen_bad_nflow
    $error("flow_table: NFlow is %0d; expected 1..%0d", NFlow, MaxFlows);
  end
  if (Window < 1 || Window > MaxFlowWindow || (Window & (Window - 1)) != 0) begin : gen_bad_window
    $error("flow_table: Window is %0d; expected a power of two, 1..%0d", Window, MaxFlowWindow);
  end

  flow_end_t                    end_q     [NFlow];
  logic [3:0]                   path_q    [NFlow];
  flow_seq_t                    next_q    [NFlow];   // to be released
  flow_seq_t                    acked_q   [NFlow];   // released before, and acknowledged to the source
  logic [NFlow-1:0][Window-1:0] claimed_q, full_q, void_q;
  logic [NFlow-1:0]             closing_q;           // by force

  function automatic logic [SlotW-1:0] slot(flow_seq_t seq);
    return SlotW'(seq & flow_seq_t'(Window - 1));
  endfunction

  // ---- look-ups -------------------------------------------------------------------------------------
  for (genvar c = 0; c < NumClasses; c++) begin : gen_look
    logic [IdW-1:0] id;
    flow_seq_t      ahead;
    assign id = look_i[c].id[IdW-1:0];
    always_comb begin
      ahead        = '0;
      look_ok_o[c] = 1'b0;
      if (look_i[c].valid) begin
        ahead        = look_i[c].seq - next_q[id];
        look_ok_o[c] = 32'(look_i[c].id) < NFlow && end_q[id].open && end_q[id].vclass == 1'(c) &&
                       end_q[id].peer == look_src_i[c] && look_epoch_i[c] == 10'(end_q[id].epoch) &&
                       !closing_q[id] && 32'(ahead) < Window &&
                       !claimed_q[id][slot(look_i[c].seq)];
      end
    end
  end

  // ---- slots -----------------------------------------------------------------------------------------
  logic [NFlow-1:0][Window-1:0] claim, fill, fill_void, freed;
  logic [NFlow-1:0]             turn, skip, released;
  always_comb begin
    claim     = '0;
    fill      = '0;
    fill_void = '0;
    for (int unsigned c = 0; c < NumClasses; c++)
      if (claim_i[c]) claim[look_i[c].id[IdW-1:0]][slot(look_i[c].seq)] = 1'b1;
    for (int unsigned i = 0; i < NFill; i++) begin
      if (fill_i[i].valid) begin
        fill[fill_i[i].id[IdW-1:0]][slot(fill_i[i].seq)]      = 1'b1;
        fill_void[fill_i[i].id[IdW-1:0]][slot(fill_i[i].seq)] = void_i[i];
      end
    end
  end

  always_comb begin
    turn      = '0;
    skip      = '0;
    head_o[0] = '0;
    head_o[1] = '0;
    if (full_q != '0) begin
      for (int unsigned f = 0; f < NFlow; f++) begin
        turn[f]      = full_q[f][slot(next_q[f])];
        skip[f]      = turn[f] && void_q[f][slot(next_q[f])] && !closing_q[f];
        head_o[0][f] = turn[f] && !skip[f] && !closing_q[f] && !end_q[f].vclass;
        head_o[1][f] = turn[f] && !skip[f] && !closing_q[f] && end_q[f].vclass;
      end
    end
  end
  assign released = skip | release_i[0] | release_i[1];
  always_comb begin
    freed = '0;
    if ((released | closing_q) != '0) begin
      for (int unsigned f = 0; f < NFlow; f++) begin
        if (closing_q[f]) freed[f] = full_q[f];
        if (closing_q[f] && (going_i[0][f] || going_i[1][f])) freed[f][slot(next_q[f])] = 1'b0;
        if (released[f]) freed[f][slot(next_q[f])] = 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      claimed_q <= '0;
      full_q    <= '0;
      void_q    <= '0;
    end else if ((claim | fill | freed) != '0) begin
      claimed_q <= (claimed_q | claim) & ~freed;
      full_q    <= (full_q | fill) & ~freed;
      void_q    <= (void_q | fill_void) & ~freed;
    end
  end

  // ---- acknowledgement to the source: half a window, or nothing more is here -------------------------------------
  logic [NFlow-1:0] unknown;
  always_comb begin
    for (int unsigned f = 0; f < NFlow; f++) begin
      unknown[f] = next_q[f] != acked_q[f];
      ack_due_o[f]  = unknown[f] && !closing_q[f] && (claimed_q[f] == '0 || 32'(flow_seq_t'(next_q[f] - acked_q[f])) >= Half);
    end
  end

  // ---- registers ----------------------------------------------------------------------------------------
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
      in_use       = claimed_q[ri] != '0 || unknown[ri] || closing_q[ri];
      wanted       = flow_end_of(reg_wdata_i);
      wanted.owner = '0;
      if (reg_addr_i == 11'h7f8) begin
        bad   = reg_we_i;
        rdata = {51'd0, 5'(Window), 4'd0, 4'(NFlow)};
      end else if (32'(reg_addr_i[10:4]) >= NFlow || reg_addr_i[2:0] != '0) begin
        bad = 1'b1;
      end else if (reg_addr_i[3]) begin
        bad   = reg_we_i;
        rdata = {47'd0, in_use, 3'd0, acked_q[ri], 3'd0, next_q[ri]};
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

  for (genvar f = 0; f < NFlow; f++) begin : gen_flow
    logic written, over;
    assign written = write && ri == IdW'(f);
    assign over    = closing_q[f] && claimed_q[f] == '0 && !acking_i[f];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        end_q[f]  <= '0;
        path_q[f] <= '0;
        next_q[f] <= '0;
        acked_q[f] <= '0;
        closing_q[f] <= 1'b0;
      end else if (written || over) begin
        end_q[f]  <= (written && wanted.open) ? wanted : '0;
        path_q[f] <= (written && wanted.open) ? route_port(cfg_i, cfg_i.coord, wanted.peer, LocalPort) : '0;
        next_q[f] <= '0;
        acked_q[f] <= '0;
        closing_q[f] <= 1'b0;
      end else if (forced && ri == IdW'(f)) begin
        closing_q[f] <= 1'b1;
        if (released[f]) next_q[f] <= next_q[f] + 1'b1;
        if (acked_i[f]) acked_q[f] <= next_q[f];
      end else if (released[f] || acked_i[f]) begin
        if (released[f]) next_q[f] <= next_q[f] + 1'b1;
        if (acked_i[f]) acked_q[f] <= next_q[f];
      end
    end
    assign seq_o[f]  = next_q[f];
    assign end_o[f]  = end_q[f];
    assign path_o[f] = path_q[f];
`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (rst_ni && released[f]) begin
        InTurn : assert (turn[f] && end_q[f].open && !written)
        else $fatal(1, "%m: released before its turn");
      end
      if (rst_ni && fill[f] != '0) begin
        FillClaimed : assert ((fill[f] & (~claimed_q[f] & ~claim[f] | full_q[f])) == '0)
        else $fatal(1, "%m: a slot gets full that is not claimed, or twice");
      end
      if (rst_ni && claim[f] != '0) begin
        ClaimFree : assert (end_q[f].open && (claim[f] & claimed_q[f]) == '0 && !written)
        else $fatal(1, "%m: a slot is claimed twice, or of a flow that is not open");
      end
    end
`endif
  end

  assign holds_o = claimed_q != '0;
  assign idle_o  = answer_idle && skip == '0 && closing_q == '0;
endmodule
