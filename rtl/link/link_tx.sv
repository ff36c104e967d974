// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Sending half of a link: adds sequence number and CRC to the flit chosen by the router and holds the
// link's output register. A quiet link sends its state, its parity and zeros; the data wires hold.
module link_tx
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    localparam int unsigned FlitW = FlitBytes * 8
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  link_ctl_e        state_i,     // state of this end, a register
    input  logic             start_i,     // link enters Ack: sequence number and CRC restart
    // Flit to send, only while the link is up.
    input  logic             send_i,
    input  logic [VcW-1:0]   send_vc_i,
    input  flit_ctl_t        send_ctl_i,
    input  logic [FlitW-1:0] send_data_i,
    // Credit to return: one flit of virtual channel `credit_vc_i` left the input buffer.
    input  logic             credit_i,
    input  logic [VcW-1:0]   credit_vc_i,
    input  logic             beside_i,    // parity of the wires beside the word, of registers
    output link_word_t       link_ctl_o,
    output logic [FlitW-1:0] link_data_o,
    output logic [31:0]      link_dbg_o,
    output logic             busy_o       // the output register will change
);
  link_word_t       word_q;
  logic [FlitW-1:0] data_q;
  logic [31:0]      dbg_q;
  logic [7:0]       seq_q;
  logic [31:0]      crc_q, crc_next;
  logic [7:0]       check;

  link_crc #(
      .FlitBytes(FlitBytes)
  ) u_crc (
      .valid_i(send_i),
      .crc_i  (crc_q),
      .data_i (send_data_i),
      .ctl_i  ({1'b0, send_vc_i[VcW-1], send_ctl_i.err, send_ctl_i.tail, send_ctl_i.head,
                send_vc_i[VcW-2:0]}),
      .crc_o  (crc_next),
      .check_o(check)
  );

  always_comb begin
    link_ctl_o        = word_q;
    link_ctl_o.ctl    = state_i;
    link_ctl_o.parity = word_q.parity ^ (^state_i) ^ beside_i;
  end
  assign link_data_o = data_q;
  assign link_dbg_o  = dbg_q;
  assign busy_o      = word_q.valid || word_q.credit;

  // `word_q.ctl` stays zero: the state register itself is sent, and its parity added.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      word_q <= '0;
      seq_q  <= '0;
      crc_q  <= '1;
    end else begin
      if (send_i || credit_i) begin
        word_q        <= '0;
        word_q.credit <= credit_i;
        word_q.parity <= send_i ^ (credit_i && !(^credit_vc_i));
        if (credit_i) word_q.credit_vc <= credit_vc_i;
        if (send_i) begin
          word_q.valid <= 1'b1;
          {word_q.vc_high, word_q.vc} <= send_vc_i;
          word_q.head  <= send_ctl_i.head;
          word_q.tail  <= send_ctl_i.tail;
          word_q.err   <= send_ctl_i.err;
          word_q.check <= {seq_q, check};
        end
      end else if (busy_o) begin
        word_q <= '0;
      end
      if (start_i) begin
        seq_q <= '0;
        crc_q <= '1;
      end else if (send_i) begin
        seq_q <= seq_q + 1'b1;
        crc_q <= crc_next;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (send_i) begin
      data_q <= send_data_i;
      dbg_q  <= send_ctl_i.dbg;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && (send_i || credit_i)) begin
      SendUp : assert (state_i == LinkUp)
      else $fatal(1, "%m: flit or credit sent on a link that is not up");
    end
  end
`endif
endmodule
