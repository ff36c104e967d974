// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// link_tx and link_rx with wires between them: flits and credits arrive as they were sent, in order; a flit of which one
// wire was turned over is never passed on as good, and of a word of which one wire of the side band was, nothing is taken.
// Sequence number and CRC restart at both ends at once. Data is four
// free bits: the CRC is linear, so detection of damage does not depend on the data.
module link_formal
  import gyre_pkg::*;
#(
    localparam int unsigned FlitBytes = 8,
    localparam int unsigned FlitW = 8 * FlitBytes
) (
    input logic             clk_i,
    input logic             start_i,
    input logic             send_i,
    input logic [VcW-1:0]   send_vc_i,
    input logic             send_head_i,
    input logic             send_tail_i,
    input logic             send_err_i,
    input logic [3:0]       send_bits_i,
    input logic             credit_i,
    input logic [VcW-1:0]   credit_vc_i,
    input logic             beside_i,
    input logic             damage_i,
    input logic [6:0]       wire_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  link_word_t       word, wire_word;
  logic [FlitW-1:0] data, wire_data, rx_data;
  logic [31:0]      dbg;
  flit_ctl_t        ctl, rx_ctl;
  link_ctl_e        peer;
  logic             tx_busy, rx_busy, valid, fault, side, discard, credit;
  logic [VcW-1:0]   vc, credit_vc;
  logic [FlitW-1:0] send_data;
  assign send_data = {send_bits_i[3], 23'd0, send_bits_i[2], 31'd0, send_bits_i[1], 6'd0, send_bits_i[0]};
  assign ctl = '{err: send_err_i, tail: send_tail_i, head: send_head_i, dbg: '0};

  link_tx #(.FlitBytes(FlitBytes)) u_tx (
      .clk_i, .rst_ni(rst_n), .state_i(LinkUp), .start_i, .send_i, .send_vc_i, .send_ctl_i(ctl), .send_data_i(send_data),
      .credit_i, .credit_vc_i, .beside_i, .link_ctl_o(word), .link_data_o(data), .link_dbg_o(dbg), .busy_o(tx_busy)
  );

  // Wires, turned over one at a time: data, control word, and what stands for the wires beside the word. Those of the side
  // band are covered by the parity.
  logic [31:0] bits;
  logic        beside, side_wire;
  always_comb begin
    bits      = word;
    wire_data = data;
    beside    = beside_i;
    if (damage_i) begin
      if (32'(wire_i) < FlitW) wire_data[wire_i[$clog2(FlitW)-1:0]] = !data[wire_i[$clog2(FlitW)-1:0]];
      else if (32'(wire_i) < FlitW + 32) bits[wire_i[4:0]] = !bits[wire_i[4:0]];
      else beside = !beside_i;
    end
    wire_word = link_word_t'(bits);
    side_wire = 32'(wire_i) >= FlitW + 32 || (32'(wire_i) >= FlitW && (wire_i[4:0] <= 5'd2 || wire_i[4:0] == 5'd31 ||
                (wire_i[4:0] >= 5'd25 && wire_i[4:0] <= 5'd29)));
  end

  logic start_q, start_qq;
  link_rx #(.FlitBytes(FlitBytes)) u_rx (
      .clk_i, .rst_ni(rst_n), .link_ctl_i(wire_word), .link_data_i(wire_data), .link_dbg_i(dbg), .beside_i(beside), .state_i(LinkUp),
      .start_i(start_qq), .peer_o(peer), .valid_o(valid), .vc_o(vc), .ctl_o(rx_ctl), .data_o(rx_data),
      .crc_fault_o(fault), .side_fault_o(side), .discard_o(discard), .credit_o(credit), .credit_vc_o(credit_vc), .busy_o(rx_busy)
  );

  // Word sent two cycles ago; `spoilt` from the first damage to the next start.
  logic             sent_q, sent_qq, credit_q, credit_qq, damaged_q, side_q, spoilt_q;
  logic [VcW-1:0]   vc_q, vc_qq, credit_vc_q, credit_vc_qq;
  flit_ctl_t        ctl_q, ctl_qq;
  logic [FlitW-1:0] data_q, data_qq;
  always_ff @(posedge clk_i) begin
    {sent_q, sent_qq}     <= rst_n ? {send_i, sent_q} : '0;
    {credit_q, credit_qq} <= rst_n ? {credit_i, credit_q} : '0;
    {start_q, start_qq}   <= rst_n ? {start_i, start_q} : '0;
    damaged_q             <= rst_n && damage_i && !side_wire && word.valid;
    side_q                <= rst_n && damage_i && side_wire;
    spoilt_q              <= rst_n && !start_qq && (spoilt_q || damaged_q || side_q);
    {vc_q, vc_qq}         <= {send_vc_i, vc_q};
    {ctl_q, ctl_qq}       <= {ctl, ctl_q};
    {data_q, data_qq}     <= {send_data, data_q};
    {credit_vc_q, credit_vc_qq} <= {credit_vc_i, credit_vc_q};
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeStartQuiet : assume (!(start_i || start_q || start_qq) || !send_i);
    AssumeStartAtRest : assume (!start_i || (!sent_q && !sent_qq));
    SideSeen : assert (side == side_q);
    Credits : assert (credit == (credit_qq && !side_q) && (!credit || credit_vc == credit_vc_qq));
    Arrives : assert ((sent_qq && !side_q) == (valid || fault) && !discard);
    if (!spoilt_q && !damaged_q && !side_q) begin
      Whole : assert (!sent_qq || (valid && vc == vc_qq && rx_data == data_qq && rx_ctl == ctl_qq));
    end
    DamageSeen : assert (spoilt_q || !damaged_q || fault);
    CoverDamage : cover (fault && rx_data != data_qq);
    CoverSide : cover (side && sent_qq && credit_qq);
    CoverAnew : cover (valid && damage_i && u_rx.seq_q == 8'd2);
  end
endmodule
