// Checks a received header by itself, before any look-up: the first failing rule gives the reason.
//   ErrPktDest      destination is another node, and the packet is no copy left on its way
//   ErrPktKind      kind not served, or in the wrong class
//   ErrPktReserved  reserved bits set, or more than 512 payload bytes
//   ErrDescLength   remote get whose payload is no whole number of descriptors, 1..8
// Hint and dynamic bits concern the router only; a copy is that of a memory-FIFO packet.
module rx_check
  import gyre_pkg::*;
#(
    parameter vclass_e Class = ClassRequest
) (
    input  logic    valid_i,
    input  header_t hdr_i,
    input  coord_t  coord_i,
    output err_e    err_o
);
  logic kind_ok, reserved, bad_len;
  always_comb begin
    kind_ok  = 1'b0;
    reserved = 1'b0;
    bad_len  = 1'b0;
    err_o    = ErrNone;
    if (valid_i) begin
      kind_ok  = hdr_i.vclass == Class && ((Class == ClassResponse) ? hdr_i.kind == KindPut && !hdr_i.deposit
               : hdr_i.kind == KindMemFifo || (hdr_i.kind == KindRemoteGet && !hdr_i.deposit));
      reserved = hdr_i.rsvd0 != '0 || hdr_i.rsvd1 != '0 || hdr_i.len > 10'(MaxPayloadBytes) ||
                 (hdr_i.kind == KindPut && hdr_i.aux[31:9] != '0);
      bad_len  = hdr_i.kind == KindRemoteGet && (hdr_i.len == '0 || hdr_i.len[5:0] != '0);
      if (hdr_i.dst != coord_i && !hdr_i.deposit) err_o = ErrPktDest;
      else if (!kind_ok)        err_o = ErrPktKind;
      else if (reserved)        err_o = ErrPktReserved;
      else if (bad_len)         err_o = ErrDescLength;
    end
  end
  logic unused_hdr;
  assign unused_hdr = ^hdr_i;
endmodule
