// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Receiving half of a link: input register, then in the next cycle sequence number and CRC check. A flit
// counts only when the other end says Up and this end is in Ack or Up; a flit that fails the check, or
// that arrives while the link is down here, is not passed on. A word with wrong parity is ignored:
// no flit, no credit, and state and barrier pulses have no meaning (`side_fault_o`).
module link_rx
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    localparam int unsigned FlitW = FlitBytes * 8
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  link_word_t       link_ctl_i,
    input  logic [FlitW-1:0] link_data_i,
    input  logic [31:0]      link_dbg_i,
    input  logic             beside_i,    // parity of the wires beside the word
    input  link_ctl_e        state_i,     // state of this end
    input  logic             start_i,     // link enters Ack: sequence number and CRC restart
    output link_ctl_e        peer_o,      // state of the other end, unless side_fault_o
    output logic             valid_o,     // good flit
    output logic [VcW-1:0]   vc_o,
    output flit_ctl_t        ctl_o,
    output logic [FlitW-1:0] data_o,
    output logic             crc_fault_o, // sequence number or CRC differs
    output logic             side_fault_o, // parity of this word differs
    output logic             discard_o,   // flit came while the link was down
    output logic             credit_o,
    output logic [VcW-1:0]   credit_vc_o,
    output logic             busy_o       // a flit or credit is in the input register
);
  link_word_t       word_q;
  flit_ctl_t        ctl_q;
  logic [FlitW-1:0] data_q;
  logic [7:0]       seq_q;
  logic [31:0]      crc_q, crc_next;
  logic [7:0]       check;
  logic             arrived;

  assign peer_o      = word_q.ctl;
  assign vc_o        = {word_q.vc_high, word_q.vc};
  assign ctl_o       = ctl_q;
  assign data_o      = data_q;
  assign credit_vc_o = word_q.credit_vc;
  assign busy_o      = word_q.valid || word_q.credit;

  assign side_fault_o = ^{word_q.parity, word_q.credit_vc, word_q.credit, word_q.valid, word_q.ctl};

  always_comb begin
    arrived   = 1'b0;
    discard_o = 1'b0;
    if (word_q.valid && !side_fault_o) begin
      arrived   = word_q.ctl == LinkUp && (state_i == LinkAck || state_i == LinkUp);
      discard_o = !arrived;
    end
  end

  always_comb begin
    valid_o     = 1'b0;
    crc_fault_o = 1'b0;
    if (arrived) begin
      valid_o     = word_q.check == {seq_q, check};
      crc_fault_o = !valid_o;
    end
  end

  // Credits return only for flits sent since both ends are up.
  assign credit_o = word_q.credit && word_q.ctl == LinkUp && state_i == LinkUp && !side_fault_o;

  link_crc #(
      .FlitBytes(FlitBytes)
  ) u_crc (
      .valid_i(arrived),
      .crc_i  (crc_q),
      .data_i (data_q),
      .ctl_i  ({1'b0, word_q.vc_high, word_q.err, word_q.tail, word_q.head, word_q.vc}),
      .crc_o  (crc_next),
      .check_o(check)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      word_q <= '0;
      seq_q  <= '0;
      crc_q  <= '1;
    end else begin
      word_q        <= link_ctl_i;
      word_q.parity <= link_ctl_i.parity ^ beside_i;
      if (start_i) begin
        seq_q <= '0;
        crc_q <= '1;
      end else if (arrived) begin
        seq_q <= seq_q + 1'b1;
        crc_q <= crc_next;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (link_ctl_i.valid) begin
      data_q <= link_data_i;
      ctl_q  <= '{err: link_ctl_i.err, tail: link_ctl_i.tail, head: link_ctl_i.head, dbg: link_dbg_i};
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && start_i) begin
      StartsApart : assert (!arrived)
      else $fatal(1, "%m: flit checked while sequence number and CRC start anew");
    end
  end
`endif
endmodule
