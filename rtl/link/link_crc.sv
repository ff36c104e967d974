// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// One step of the running CRC-32 of a link (IEEE 802.3 polynomial, reflected, seed all ones, no final
// inversion) over a flit: its data, bit 0 first, then the byte {0, vc[3], err, tail, head, vc[2:0]}.
// `check_o` is the check of the link word: the four bytes of the new CRC folded into one by exclusive
// or. The fold shows every error of one bit, and of two adjacent bits, in the flit itself, at all
// supported widths; since the CRC runs on, damage that one byte misses shows with later flits.
module link_crc #(
    parameter int unsigned FlitBytes = 16,
    localparam int unsigned FlitW = FlitBytes * 8
) (
    input  logic             valid_i, // nothing is computed without a flit
    input  logic [31:0]      crc_i,
    input  logic [FlitW-1:0] data_i,
    input  logic [7:0]       ctl_i,   // {0, vc[3], err, tail, head, vc[2:0]}
    output logic [31:0]      crc_o,
    output logic [7:0]       check_o
);
  localparam int unsigned MsgW = FlitW + 8;
  localparam logic [31:0] Polynomial = 32'hEDB8_8320;

  localparam int unsigned Nibbles = MsgW / 4;

  typedef logic [2**$clog2(Nibbles)-1:0][15:0][31:0] table_t;

  // The step is linear: the next CRC is the exclusive or of the contributions of each four bits of {ctl, data ^ crc}.
  function automatic table_t effects();
    table_t t;
    logic [31:0] column;
    for (int i = 0; i < 2 ** $clog2(int'(Nibbles)); i++) t[i] = '0;
    column = Polynomial; // effect of the last message bit, then of the one before it...
    for (int k = int'(MsgW) - 1; k >= 0; k--) begin
      for (int v = 0; v < 16; v++) if (v[k%4]) t[k/4][v] = t[k/4][v] ^ column;
      column = {1'b0, column[31:1]} ^ (column[0] ? Polynomial : 32'b0);
    end
    return t;
  endfunction

  localparam table_t Effects = effects();

  logic [MsgW-1:0] msg;

  always_comb begin
    msg     = '0;
    crc_o   = crc_i;
    check_o = '0;
    if (valid_i) begin
      msg       = {ctl_i, data_i};
      msg[31:0] = data_i[31:0] ^ crc_i;
      crc_o     = '0;
      for (int unsigned n = 0; n < Nibbles; n++) crc_o = crc_o ^ Effects[n][msg[4*n+:4]];
      check_o = crc_o[31:24] ^ crc_o[23:16] ^ crc_o[15:8] ^ crc_o[7:0];
    end
  end
endmodule
