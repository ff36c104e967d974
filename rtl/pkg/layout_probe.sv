// Answers for a test what the packed structs of gyre_pkg hold at each field, so that the tables of the
// crate gyre-layout can be compared with them. Not part of the node.
module layout_probe
  import gyre_pkg::*;
(
    input  logic [1:0]   struct_i, // 0 header_t, 1 desc_t, 2 link_word_t, 3 codes
    input  logic [5:0]   field_i,  // number of the field, lowest bits first; of the code for struct 3
    input  logic [511:0] bits_i,   // the struct, from bit 0
    output logic [95:0]  value_o,  // the field's value, zero-extended
    output logic         known_o   // there is such a field
);
  header_t    h;
  desc_t      d;
  link_word_t l;
  assign h = header_t'(bits_i[255:0]);
  assign d = desc_t'(bits_i);
  assign l = link_word_t'(bits_i[31:0]);

  always_comb begin
    known_o = 1'b1;
    unique case ({struct_i, field_i})
      {2'd0, 6'd0}: value_o = 96'(h.dst);
      {2'd0, 6'd1}: value_o = 96'(h.vclass);
      {2'd0, 6'd2}: value_o = 96'(h.src);
      {2'd0, 6'd3}: value_o = 96'(h.deposit);
      {2'd0, 6'd4}: value_o = 96'(h.dynamic_route);
      {2'd0, 6'd5}: value_o = 96'(h.kind);
      {2'd0, 6'd6}: value_o = 96'(h.len);
      {2'd0, 6'd7}: value_o = 96'(h.hint);
      {2'd0, 6'd8}: value_o = 96'(h.first);
      {2'd0, 6'd9}: value_o = 96'(h.last);
      {2'd0, 6'd10}: value_o = 96'(h.rsvd0);
      {2'd0, 6'd11}: value_o = 96'(h.seq);
      {2'd0, 6'd12}: value_o = 96'(h.target);
      {2'd0, 6'd13}: value_o = 96'(h.rsvd1);
      {2'd0, 6'd14}: value_o = 96'(h.offset);
      {2'd0, 6'd15}: value_o = 96'(h.aux);
      {2'd0, 6'd16}: value_o = 96'(h.sw0);
      {2'd0, 6'd17}: value_o = 96'(h.sw1);
      {2'd1, 6'd0}: value_o = 96'(d.kind);
      {2'd1, 6'd1}: value_o = 96'(d.deposit);
      {2'd1, 6'd2}: value_o = 96'(d.dynamic_route);
      {2'd1, 6'd3}: value_o = 96'(d.hint);
      {2'd1, 6'd4}: value_o = 96'(d.rsvd5);
      {2'd1, 6'd5}: value_o = 96'(d.remote);
      {2'd1, 6'd6}: value_o = 96'(d.dst);
      {2'd1, 6'd7}: value_o = 96'(d.vclass);
      {2'd1, 6'd8}: value_o = 96'(d.length);
      {2'd1, 6'd9}: value_o = 96'(d.src_off_hi);
      {2'd1, 6'd10}: value_o = 96'(d.rsvd4);
      {2'd1, 6'd11}: value_o = 96'(d.src_slot);
      {2'd1, 6'd12}: value_o = 96'(d.target);
      {2'd1, 6'd13}: value_o = 96'(d.rsvd0);
      {2'd1, 6'd14}: value_o = 96'(d.src_off_lo);
      {2'd1, 6'd15}: value_o = 96'(d.ctr_slot);
      {2'd1, 6'd16}: value_o = 96'(d.ctr_offset);
      {2'd1, 6'd17}: value_o = 96'(d.dst_off_lo);
      {2'd1, 6'd18}: value_o = 96'(d.dst_off_hi);
      {2'd1, 6'd19}: value_o = 96'(d.rsvd1);
      {2'd1, 6'd20}: value_o = 96'(d.ctr_valid);
      {2'd1, 6'd21}: value_o = 96'(d.sw0);
      {2'd1, 6'd22}: value_o = 96'(d.sw1);
      {2'd1, 6'd23}: value_o = 96'(d.msg_id);
      {2'd1, 6'd24}: value_o = 96'(d.rsvd2);
      {2'd1, 6'd25}: value_o = 96'(d.requester);
      {2'd1, 6'd26}: value_o = 96'(d.rsvd3);
      {2'd2, 6'd0}: value_o = 96'(l.ctl);
      {2'd2, 6'd1}: value_o = 96'(l.valid);
      {2'd2, 6'd2}: value_o = 96'(l.vc);
      {2'd2, 6'd3}: value_o = 96'(l.head);
      {2'd2, 6'd4}: value_o = 96'(l.tail);
      {2'd2, 6'd5}: value_o = 96'(l.err);
      {2'd2, 6'd6}: value_o = 96'(l.check);
      {2'd2, 6'd7}: value_o = 96'(l.credit);
      {2'd2, 6'd8}: value_o = 96'(l.credit_vc);
      {2'd2, 6'd9}: value_o = 96'(l.rsvd);
      {2'd3, 6'd0}: value_o = 96'(KindInvalid);
      {2'd3, 6'd1}: value_o = 96'(KindMemFifo);
      {2'd3, 6'd2}: value_o = 96'(KindPut);
      {2'd3, 6'd3}: value_o = 96'(KindRemoteGet);
      {2'd3, 6'd4}: value_o = 96'(KindRmwReq);
      {2'd3, 6'd5}: value_o = 96'(KindRmwResp);
      {2'd3, 6'd6}: value_o = 96'(KindCollective);
      {2'd3, 6'd7}: value_o = 96'(KindControl);
      {2'd3, 6'd8}: value_o = 96'(ClassRequest);
      {2'd3, 6'd9}: value_o = 96'(ClassResponse);
      {2'd3, 6'd10}: value_o = 96'(ClassPriority);
      {2'd3, 6'd11}: value_o = 96'(ClassSystem);
      {2'd3, 6'd12}: value_o = 96'(ErrNone);
      {2'd3, 6'd13}: value_o = 96'(ErrDescKind);
      {2'd3, 6'd14}: value_o = 96'(ErrDescReserved);
      {2'd3, 6'd15}: value_o = 96'(ErrDescClass);
      {2'd3, 6'd16}: value_o = 96'(ErrDescRouting);
      {2'd3, 6'd17}: value_o = 96'(ErrDescDest);
      {2'd3, 6'd18}: value_o = 96'(ErrDescSlot);
      {2'd3, 6'd19}: value_o = 96'(ErrDescOwner);
      {2'd3, 6'd20}: value_o = 96'(ErrDescBounds);
      {2'd3, 6'd21}: value_o = 96'(ErrDescRemote);
      {2'd3, 6'd22}: value_o = 96'(ErrDescLength);
      {2'd3, 6'd23}: value_o = 96'(ErrDescRead);
      {2'd3, 6'd24}: value_o = 96'(ErrPayloadRead);
      {2'd3, 6'd25}: value_o = 96'(ErrPktKind);
      {2'd3, 6'd26}: value_o = 96'(ErrPktTruncated);
      {2'd3, 6'd27}: value_o = 96'(ErrPktDest);
      {2'd3, 6'd28}: value_o = 96'(ErrPktRecFifo);
      {2'd3, 6'd29}: value_o = 96'(ErrPktInjFifo);
      {2'd3, 6'd30}: value_o = 96'(ErrPktSlot);
      {2'd3, 6'd31}: value_o = 96'(ErrPktBounds);
      {2'd3, 6'd32}: value_o = 96'(ErrPktCounter);
      {2'd3, 6'd33}: value_o = 96'(ErrPktReserved);
      {2'd3, 6'd34}: value_o = 96'(ErrWrite);
      {2'd3, 6'd35}: value_o = 96'(ErrCounterUnderflow);
      {2'd3, 6'd36}: value_o = 96'(ErrCounterAccess);
      {2'd3, 6'd37}: value_o = 96'(ErrLinkCrc);
      {2'd3, 6'd38}: value_o = 96'(ErrLinkDown);
      {2'd3, 6'd39}: value_o = 96'(ErrLinkProtocol);
      {2'd3, 6'd40}: value_o = 96'(ErrRouteUnreachable);
      {2'd3, 6'd41}: value_o = 96'(LinkReset);
      {2'd3, 6'd42}: value_o = 96'(LinkInit);
      {2'd3, 6'd43}: value_o = 96'(LinkAck);
      {2'd3, 6'd44}: value_o = 96'(LinkUp);
      default: begin
        known_o = 1'b0;
        value_o = '0;
      end
    endcase
  end
endmodule
