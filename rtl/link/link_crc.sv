// One step of the running CRC-32 of a link (IEEE 802.3 polynomial, reflected, seed all ones, no final
// inversion) over a flit: its data, bit 0 first, then the byte {0, 0, err, tail, head, vc}.
// `check_o` is what the link word carries: the four bytes of the new CRC folded into one by exclusive
// or. The fold shows every error of one bit, and of two adjacent bits, in the flit itself, at all
// supported widths; since the CRC runs on, what one byte misses shows with the flits behind it.
module link_crc #(
    parameter int unsigned FlitBytes = 16,
    localparam int unsigned FlitW = FlitBytes * 8
) (
    input  logic             valid_i, // nothing is computed without a flit
    input  logic [31:0]      crc_i,
    input  logic [FlitW-1:0] data_i,
    input  logic [7:0]       ctl_i,   // {0, 0, err, tail, head, vc}
    output logic [31:0]      crc_o,
    output logic [7:0]       check_o
);
  localparam int unsigned MsgW = FlitW + 8;
  localparam int unsigned Nibbles = MsgW / 4;
  localparam logic [31:0] Polynomial = 32'hEDB8_8320;

  typedef logic [31:0] table_t[Nibbles*16];

  // Contribution of each value of each nibble of {ctl, data ^ crc} to the next CRC: the step is linear.
  function automatic table_t nibble_table();
    table_t t;
    logic [31:0] column;
    logic [31:0] col[MsgW];
    column = Polynomial;
    for (int k = int'(MsgW) - 1; k >= 0; k--) begin
      col[k] = column;
      column = {1'b0, column[31:1]} ^ (column[0] ? Polynomial : 32'b0);
    end
    for (int n = 0; n < int'(Nibbles); n++) begin
      for (int v = 0; v < 16; v++) begin
        t[n*16+v] = 32'b0;
        for (int b = 0; b < 4; b++) begin
          if (((v >> b) & 1) != 0) t[n*16+v] = t[n*16+v] ^ col[n*4+b];
        end
      end
    end
    return t;
  endfunction

  localparam table_t Table = nibble_table();

  logic [MsgW-1:0] msg;

  always_comb begin
    msg     = '0;
    crc_o   = crc_i;
    check_o = '0;
    if (valid_i) begin
      msg        = {ctl_i, data_i};
      msg[31:0]  = data_i[31:0] ^ crc_i;
      crc_o      = 32'b0;
      for (int unsigned n = 0; n < Nibbles; n++) begin
        crc_o = crc_o ^ Table[n*16+32'(msg[n*4+:4])];
      end
      check_o = crc_o[31:24] ^ crc_o[23:16] ^ crc_o[15:8] ^ crc_o[7:0];
    end
  end
endmodule
