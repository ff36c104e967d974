// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// One transmit path (HW-1): takes packet commands, reads their payload, and sends header and payload as
// flits, one a cycle, once the whole payload of a packet is here. Keeps the credits of the injection buffers
// of its pools (a class, or on the path of the collective network a class route): a command comes only when its
// packet fits, so packets that are sent always sink.
//
// A packet whose payload read failed halts its FIFO; it and later packets of that FIFO are dropped
// before their first flit, and their credits return. A dropped packet of a flow (HW-4) has its sequence number already:
// its header goes out alone, as that of a damaged packet, so that the target does not wait for it.
module tx_path
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned NInj      = 32,
    parameter int unsigned InjDepth  = 136,   // flits of the injection buffer of a pool
    parameter bit          Collective = 1'b0, // path of the collective network
    parameter int unsigned CmdDepth  = 8,     // packets under way
    parameter int unsigned BeatDepth = 64,    // beats of payload, reserved before they are read
    localparam int unsigned FW = FlitBytes * 8,
    localparam int unsigned FidW = (NInj > 1) ? $clog2(NInj) : 1,
    localparam int unsigned NPool = Collective ? CollRoutes : NetClasses,
    localparam int unsigned PoolW = $clog2(NPool)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    // Commands, not in two cycles in a row
    input  logic                  cmd_valid_i,
    input  tx_cmd_t               cmd_i,
    output logic [NPool-1:0]      room_o,     // a full-size packet of the pool may come
    // Halted FIFOs
    input  logic [NInj-1:0]       halted_i,
    output logic                  halt_o,     // halt FIFO halt_fifo_o
    output logic [FidW-1:0]       halt_fifo_o,
    // AXI read client
    output logic                  ar_valid_o,
    input  logic                  ar_ready_i,
    output logic [AddrW-1:0]      ar_addr_o,
    output logic [7:0]            ar_len_o,
    input  logic                  r_valid_i,
    input  logic [AxiW-1:0]       r_data_i,
    input  logic                  r_err_i,
    // Injection
    output logic                  inj_valid_o,
    output logic [PoolW-1:0]      inj_pool_o,
    output flit_ctl_t             inj_ctl_o,
    output logic [FW-1:0]         inj_data_o,
    input  logic [NPool-1:0]      inj_credit_i,
    // Packets that left
    output logic                  retire_valid_o,
    output tx_retire_t            retire_o,
    input  logic                  retire_ready_i,
    output logic                  idle_o
);
  localparam int unsigned HeaderFlits = HeaderBytes / FlitBytes;
  localparam int unsigned MaxFlits    = (HeaderBytes + MaxPayloadBytes) / FlitBytes;
  localparam int unsigned CreditW     = $clog2(InjDepth + 1);
  localparam int unsigned LevelW      = $clog2(CmdDepth + 1);

  if (InjDepth < MaxFlits) begin : gen_bad_inj
    $fatal(1, "tx_path: InjDepth of %0d flits does not hold a full packet", InjDepth);
  end

  // ---- credits ----------------------------------------------------------------------------------
  logic [NPool-1:0]      refund;
  logic                  cmd_full;
  logic [6:0]            cmd_flits;

  assign cmd_flits = cmd_valid_i ? packet_flits(cmd_i.header.len, FlitBytes) : '0;

  logic [PoolW-1:0] cmd_pool, pool;
  assign cmd_pool = Collective ? PoolW'(cmd_i.header.hint[3:0]) : PoolW'(cmd_i.header.vclass);

  for (genvar c = 0; c < NPool; c++) begin : gen_pool
    logic [CreditW-1:0] credits, take;
    assign take = (cmd_valid_i && cmd_pool == PoolW'(c)) ? CreditW'(cmd_flits) : '0;
    credit_counter #(.Max(InjDepth)) u_credits (
        .clk_i, .rst_ni, .init_i(1'b0), .take_i(take), .give_i(inj_credit_i[c]), .refund_i(refund[c]),
        .credits_o(credits)
    );
    assign room_o[c] = credits >= CreditW'(MaxFlits) && !cmd_full;
  end

  // ---- payload reads; an answer brings its payload along -----------------------------------------
  logic rdy_empty, rdy_err, rdy_pop, pop_beat, realign_idle;
  tx_read #(.CmdDepth(CmdDepth), .BeatDepth(BeatDepth)) u_read (
      .clk_i, .rst_ni, .push_i(cmd_valid_i && cmd_i.header.len != '0 && !cmd_i.answer),
      .addr_i(cmd_i.addr), .len_i(cmd_i.header.len), .ar_valid_o, .ar_ready_i, .ar_addr_o, .ar_len_o,
      .r_valid_i, .r_err_i, .pop_beat_i(pop_beat), .whole_empty_o(rdy_empty), .whole_err_o(rdy_err),
      .whole_pop_i(rdy_pop)
  );

  // ---- emission -----------------------------------------------------------------------------------
  tx_cmd_t         pkt;
  logic            pkt_empty, pkt_pop;
  logic [6:0]      flits, cnt_q;
  logic [3:0]      beats;
  logic            paid, start, at_start, step, tail, bad, drop, fail, drop_q, fail_q;
  logic            alone, send, send_tail;   // header of a dropped packet; a flit goes out, the last
  logic            send_header, send_payload, load, ret_empty, ret_full;
  logic [9:0]      left_q;
  logic [FidW-1:0] fifo;

  logic [LevelW-1:0] unused_pkt_level;
  gyre_fifo #(.Width($bits(tx_cmd_t)), .Depth(CmdDepth)) u_packets (
      .clk_i, .rst_ni, .clear_i(1'b0), .push_i(cmd_valid_i), .data_i(cmd_i), .pop_i(pkt_pop),
      .data_o(pkt), .empty_o(pkt_empty), .full_o(cmd_full), .level_o(unused_pkt_level)
  );

  assign fifo     = FidW'(pkt.fifo);
  assign pool     = Collective ? PoolW'(pkt.header.hint[3:0]) : PoolW'(pkt.header.vclass);
  assign at_start = cnt_q == '0;

  always_comb begin
    paid         = 1'b0;
    flits        = '0;
    beats        = '0;
    start        = 1'b0;
    bad          = 1'b0;
    drop         = 1'b0;
    fail         = 1'b0;
    step         = 1'b0;
    tail         = 1'b0;
    send_header  = 1'b0;
    send_payload = 1'b0;
    load         = 1'b0;
    alone        = 1'b0;
    send         = 1'b0;
    send_tail    = 1'b0;
    if (!pkt_empty) begin
      paid         = pkt.header.len != '0 && !pkt.answer;
      flits        = packet_flits(pkt.header.len, FlitBytes);
      beats        = tx_beats(pkt.addr[5:0], pkt.header.len);
      start        = (!paid || !rdy_empty) && !ret_full;
      bad          = paid && rdy_err && !halted_i[fifo];
      drop         = at_start ? ((halted_i[fifo] && !pkt.answer) || bad) : drop_q;
      fail         = at_start ? bad : fail_q;
      // A dropped packet runs through like one that is sent, giving a credit back in place of each flit.
      alone        = drop && pkt.header.flow_valid && cnt_q < 7'(HeaderFlits);
      step         = !at_start || start;
      send         = step && (!drop || alone);
      tail         = cnt_q + 1'b1 == flits;
      send_tail    = alone ? cnt_q == 7'(HeaderFlits - 1) : tail;
      send_header  = step && cnt_q < 7'(HeaderFlits);
      send_payload = step && cnt_q >= 7'(HeaderFlits);
      load         = step && paid && cnt_q == 7'(HeaderFlits - 1);
    end
  end

  assign pkt_pop     = step && tail;
  assign rdy_pop     = pkt_pop && paid;
  assign halt_o      = step && at_start && bad;
  assign halt_fifo_o = fifo;

  always_comb begin
    refund = '0;
    refund[pool] = step && !send;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cnt_q  <= '0;
      drop_q <= 1'b0;
      fail_q <= 1'b0;
    end else if (step) begin
      cnt_q  <= tail ? '0 : cnt_q + 1'b1;
      drop_q <= drop;
      fail_q <= fail;
    end
  end

  always_ff @(posedge clk_i) begin
    if (send_header) left_q <= pkt.header.len;
    else if (send_payload) left_q <= (left_q > 10'(FlitBytes)) ? left_q - 10'(FlitBytes) : '0;
  end

  // Flits that do not come from memory: the header, and the payload of an answer.
  logic          own;
  logic [63:0]   own_data;
  logic [FW-1:0] header_flit;
  assign own      = send_header || (send_payload && pkt.answer);
  assign own_data = (send_payload && pkt.answer && cnt_q == 7'(HeaderFlits)) ? pkt.data : '0;
  header_t       header;
  always_comb begin
    header = pkt.header;
    if (alone) header.len = '0;
  end
  if (HeaderFlits == 1) begin : gen_one_header_flit
    assign header_flit = send_header ? header : FW'(own_data);
  end else begin : gen_header_flits
    logic [HeaderFlits-1:0][FW-1:0] header_flits;
    assign header_flits = header;
    assign header_flit  = send_header ? header_flits[cnt_q[$clog2(HeaderFlits)-1:0]] : FW'(own_data);
  end

  tx_realign #(.FlitBytes(FlitBytes), .BeatDepth(BeatDepth)) u_realign (
      .clk_i, .rst_ni, .beat_valid_i(r_valid_i), .beat_data_i(r_data_i),
      .header_i(own), .header_data_i(header_flit), .load_i(load), .shift_i(send_payload && !own), .tail_i(tail),
      .offset_i(pkt.addr[5:0]), .beats_i(beats), .left_i(left_q),
      .pop_o(pop_beat), .data_o(inj_data_o), .idle_o(realign_idle)
  );

  logic             inj_valid_q;
  logic [PoolW-1:0] inj_pool_q;
  flit_ctl_t inj_ctl_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      inj_valid_q <= 1'b0;
      inj_pool_q  <= '0;
      inj_ctl_q   <= '0;
    end else begin
      inj_valid_q <= send;
      if (send) begin
        inj_pool_q  <= pool;
        inj_ctl_q   <= '{err: alone && send_tail, tail: send_tail, head: at_start, dbg: pkt.dbg};
      end
    end
  end
  assign inj_valid_o = inj_valid_q;
  assign inj_pool_o  = inj_pool_q;
  assign inj_ctl_o   = inj_ctl_q;

  // ---- packets that left ------------------------------------------------------------------------
  tx_retire_t ret_in;
  assign ret_in = '{fifo: pkt.fifo, kind: pkt.header.kind, answer: pkt.answer, last: pkt.header.last, drop: drop, err: fail};

  logic [2:0] unused_ret_level;
  gyre_fifo #(.Width($bits(tx_retire_t)), .Depth(4)) u_retired (
      .clk_i, .rst_ni, .clear_i(1'b0), .push_i(pkt_pop), .data_i(ret_in), .pop_i(retire_valid_o && retire_ready_i),
      .data_o(retire_o), .empty_o(ret_empty), .full_o(ret_full), .level_o(unused_ret_level)
  );
  assign retire_valid_o = !ret_empty;

  assign idle_o = !ar_valid_o && !start && at_start && !inj_valid_q && ret_empty && realign_idle;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && cmd_valid_i) begin
      CommandFits : assert (room_o[cmd_pool])
      else $fatal(1, "%m: command without room");
    end
  end
`endif
endmodule
