// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Checks a received header by itself, before any look-up: the first failing rule gives the reason.
//   ErrPktDest      destination is another node, and the packet is no copy left on its way
//   ErrPktKind      kind not served on this path, or in the wrong class
//   ErrPktReserved  fields set that the kind does not have, a flow (HW-4) where there can be none, or more than 512
//                   payload bytes
//   ErrDescLength   remote get whose payload is not 1..8 whole descriptors
//   ErrPktRmw       read-modify-write whose payload is not half a descriptor, or answer of no operand's length
// Hint and dynamic bits concern the router only; a copy is that of a memory-FIFO packet of class request. Priority and
// system carry memory-FIFO packets alone. The collective network
// carries collectives and nothing else; it knows by itself where they go.
module rx_check
  import gyre_pkg::*;
#(
    parameter vclass_e Class = ClassRequest,
    parameter bit      Collective = 1'b0,  // path of the collective network
    parameter bit      Flows = 1'b0        // path of a link: packets may belong to flows
) (
    input  logic    valid_i,
    input  header_t hdr_i,
    input  coord_t  coord_i,
    output err_e    err_o
);
  logic kind_ok, reserved, bad_flow, bad_len, bad_rmw;
  always_comb begin
    kind_ok  = 1'b0;
    reserved = 1'b0;
    bad_flow = 1'b0;
    bad_len  = 1'b0;
    bad_rmw  = 1'b0;
    err_o    = ErrNone;
    if (valid_i) begin
      kind_ok  = hdr_i.vclass == Class && (Collective || !hdr_i.deposit || (Class == ClassRequest && hdr_i.kind == KindMemFifo)) &&
                 (Collective               ? hdr_i.kind == KindCollective
                : (Class == ClassResponse) ? hdr_i.kind == KindPut || hdr_i.kind == KindRmwResp || hdr_i.kind == KindControl
                : hdr_i.kind == KindMemFifo ||
                  (Class == ClassRequest && (hdr_i.kind == KindRemoteGet || hdr_i.kind == KindRmwReq)));
      bad_flow = hdr_i.flow_valid ? !Flows || !hdr_i.dynamic_route || hdr_i.deposit ||
                                    (Class == ClassResponse && hdr_i.kind != KindPut)
                                  : hdr_i.flow != '0 || hdr_i.flow_seq != '0;
      reserved = bad_flow || hdr_i.birth != '0 || hdr_i.len > 10'(MaxPayloadBytes) ||
                 (hdr_i.kind == KindControl && hdr_i.len != '0) ||
                 (delivers_put(hdr_i.kind, Class) && hdr_i.aux[31:9] != '0) ||
                 // An answer that writes nothing has a length for its counter only.
                 (hdr_i.kind == KindRmwResp && (hdr_i.aux[31:10] != '0 || (hdr_i.aux[9] && !hdr_i.aux[8] &&
                                                hdr_i.len != '0)));
      bad_len  = hdr_i.kind == KindRemoteGet && (hdr_i.len == '0 || hdr_i.len[5:0] != '0);
      bad_rmw  = (hdr_i.kind == KindRmwReq && hdr_i.len != 10'(DescBytes / 2)) ||
                 (hdr_i.kind == KindRmwResp && hdr_i.len != '0 && hdr_i.len != 10'd4 && hdr_i.len != 10'd8);
      if (!Collective && hdr_i.dst != coord_i && !hdr_i.deposit) err_o = ErrPktDest;
      else if (!kind_ok)        err_o = ErrPktKind;
      else if (reserved)        err_o = ErrPktReserved;
      else if (bad_len)         err_o = ErrDescLength;
      else if (bad_rmw)         err_o = ErrPktRmw;
    end
  end
  logic unused_hdr;
  assign unused_hdr = ^hdr_i;

`ifndef SYNTHESIS
  // Guarantees to the units behind.
  always_comb begin
    if (valid_i && err_o == ErrNone) begin
      FitsBuffer : assert (hdr_i.len <= 10'(MaxPayloadBytes))
      else $fatal(1, "%m: a packet longer than its buffer is accepted");
      ForThisNode : assert (Collective || hdr_i.dst == coord_i || hdr_i.deposit)
      else $fatal(1, "%m: a packet for another node is accepted");
      OneFlow : assert (!hdr_i.flow_valid || (Flows && !hdr_i.deposit))
      else $fatal(1, "%m: a packet is accepted of a flow that there cannot be");
    end
  end
`endif
endmodule
