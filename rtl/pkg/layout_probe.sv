// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Gives a test the position of each field of the packed structs of gyre_pkg, so that the tables of the
// crate gyre-layout can be compared with them. Not part of the node.
module layout_probe
  import gyre_pkg::*;
(
    input  logic [2:0]   struct_i, // 0 header_t, 1 desc_t, 2 link_word_t, 3 codes, 4 rmw_aux_t, 5 coll_t,
                                   // 6 codes of collectives
    input  logic [5:0]   field_i,  // number of the field, lowest bits first; of the code for structs 3, 6
    input  logic [511:0] bits_i,   // the struct, from bit 0
    output logic [95:0]  value_o,  // the field's value, zero-extended
    output logic         known_o   // there is such a field
);
  header_t    h;
  desc_t      d;
  link_word_t l;
  rmw_aux_t   r;
  coll_t      c;
  assign h = header_t'(bits_i[255:0]);
  assign d = desc_t'(bits_i);
  assign l = link_word_t'(bits_i[31:0]);
  assign r = rmw_aux_t'(bits_i[31:0]);
  assign c = coll_t'(bits_i[9:0]);

  always_comb begin
    known_o = 1'b1;
    unique case ({struct_i, field_i})
      {3'd0, 6'd0}: value_o = 96'(h.dst);
      {3'd0, 6'd1}: value_o = 96'(h.vclass);
      {3'd0, 6'd2}: value_o = 96'(h.src);
      {3'd0, 6'd3}: value_o = 96'(h.deposit);
      {3'd0, 6'd4}: value_o = 96'(h.dynamic_route);
      {3'd0, 6'd5}: value_o = 96'(h.kind);
      {3'd0, 6'd6}: value_o = 96'(h.len);
      {3'd0, 6'd7}: value_o = 96'(h.hint);
      {3'd0, 6'd8}: value_o = 96'(h.first);
      {3'd0, 6'd9}: value_o = 96'(h.last);
      {3'd0, 6'd10}: value_o = 96'(h.order);
      {3'd0, 6'd11}: value_o = 96'(h.flow);
      {3'd0, 6'd12}: value_o = 96'(h.seq);
      {3'd0, 6'd13}: value_o = 96'(h.birth);
      {3'd0, 6'd14}: value_o = 96'(h.target);
      {3'd0, 6'd15}: value_o = 96'(h.flow_valid);
      {3'd0, 6'd16}: value_o = 96'(h.flow_seq);
      {3'd0, 6'd17}: value_o = 96'(h.offset);
      {3'd0, 6'd18}: value_o = 96'(h.aux);
      {3'd0, 6'd19}: value_o = 96'(h.sw0);
      {3'd0, 6'd20}: value_o = 96'(h.sw1);
      {3'd1, 6'd0}: value_o = 96'(d.kind);
      {3'd1, 6'd1}: value_o = 96'(d.deposit);
      {3'd1, 6'd2}: value_o = 96'(d.dynamic_route);
      {3'd1, 6'd3}: value_o = 96'(d.hint);
      {3'd1, 6'd4}: value_o = 96'(d.order);
      {3'd1, 6'd5}: value_o = 96'(d.flow_valid);
      {3'd1, 6'd6}: value_o = 96'(d.flow);
      {3'd1, 6'd7}: value_o = 96'(d.rsvd5);
      {3'd1, 6'd8}: value_o = 96'(d.remote);
      {3'd1, 6'd9}: value_o = 96'(d.dst);
      {3'd1, 6'd10}: value_o = 96'(d.vclass);
      {3'd1, 6'd11}: value_o = 96'(d.length);
      {3'd1, 6'd12}: value_o = 96'(d.src_off_hi);
      {3'd1, 6'd13}: value_o = 96'(d.rsvd4);
      {3'd1, 6'd14}: value_o = 96'(d.src_slot);
      {3'd1, 6'd15}: value_o = 96'(d.target);
      {3'd1, 6'd16}: value_o = 96'(d.rsvd0);
      {3'd1, 6'd17}: value_o = 96'(d.src_off_lo);
      {3'd1, 6'd18}: value_o = 96'(d.ctr_slot);
      {3'd1, 6'd19}: value_o = 96'(d.ctr_offset);
      {3'd1, 6'd20}: value_o = 96'(d.dst_off_lo);
      {3'd1, 6'd21}: value_o = 96'(d.dst_off_hi);
      {3'd1, 6'd22}: value_o = 96'(d.rsvd1);
      {3'd1, 6'd23}: value_o = 96'(d.ctr_valid);
      {3'd1, 6'd24}: value_o = 96'(d.sw0);
      {3'd1, 6'd25}: value_o = 96'(d.sw1);
      {3'd1, 6'd26}: value_o = 96'(d.msg_id);
      {3'd1, 6'd27}: value_o = 96'(d.rmw_op);
      {3'd1, 6'd28}: value_o = 96'(d.rmw_compare);
      {3'd1, 6'd29}: value_o = 96'(d.rmw_fetch);
      {3'd1, 6'd30}: value_o = 96'(d.rsvd2);
      {3'd1, 6'd31}: value_o = 96'(d.requester);
      {3'd1, 6'd32}: value_o = 96'(d.rsvd3);
      {3'd1, 6'd33}: value_o = 96'(d.rmw_test);
      {3'd2, 6'd0}: value_o = 96'(l.ctl);
      {3'd2, 6'd1}: value_o = 96'(l.valid);
      {3'd2, 6'd2}: value_o = 96'(l.vc);
      {3'd2, 6'd3}: value_o = 96'(l.head);
      {3'd2, 6'd4}: value_o = 96'(l.tail);
      {3'd2, 6'd5}: value_o = 96'(l.err);
      {3'd2, 6'd6}: value_o = 96'(l.check);
      {3'd2, 6'd7}: value_o = 96'(l.credit);
      {3'd2, 6'd8}: value_o = 96'(l.credit_vc);
      {3'd2, 6'd9}: value_o = 96'(l.vc_high);
      {3'd2, 6'd10}: value_o = 96'(l.parity);
      {3'd3, 6'd0}: value_o = 96'(KindInvalid);
      {3'd3, 6'd1}: value_o = 96'(KindMemFifo);
      {3'd3, 6'd2}: value_o = 96'(KindPut);
      {3'd3, 6'd3}: value_o = 96'(KindRemoteGet);
      {3'd3, 6'd4}: value_o = 96'(KindRmwReq);
      {3'd3, 6'd5}: value_o = 96'(KindRmwResp);
      {3'd3, 6'd6}: value_o = 96'(KindCollective);
      {3'd3, 6'd7}: value_o = 96'(KindControl);
      {3'd3, 6'd8}: value_o = 96'(ClassRequest);
      {3'd3, 6'd9}: value_o = 96'(ClassResponse);
      {3'd3, 6'd10}: value_o = 96'(ClassPriority);
      {3'd3, 6'd11}: value_o = 96'(ClassSystem);
      {3'd3, 6'd12}: value_o = 96'(ErrNone);
      {3'd3, 6'd13}: value_o = 96'(ErrDescKind);
      {3'd3, 6'd14}: value_o = 96'(ErrDescReserved);
      {3'd3, 6'd15}: value_o = 96'(ErrDescClass);
      {3'd3, 6'd16}: value_o = 96'(ErrDescRouting);
      {3'd3, 6'd17}: value_o = 96'(ErrDescDest);
      {3'd3, 6'd18}: value_o = 96'(ErrDescSlot);
      {3'd3, 6'd19}: value_o = 96'(ErrDescOwner);
      {3'd3, 6'd20}: value_o = 96'(ErrDescBounds);
      {3'd3, 6'd21}: value_o = 96'(ErrDescRemote);
      {3'd3, 6'd22}: value_o = 96'(ErrDescLength);
      {3'd3, 6'd23}: value_o = 96'(ErrDescRead);
      {3'd3, 6'd24}: value_o = 96'(ErrPayloadRead);
      {3'd3, 6'd25}: value_o = 96'(ErrDescRmw);
      {3'd3, 6'd26}: value_o = 96'(ErrDescRoute);
      {3'd3, 6'd27}: value_o = 96'(ErrDescColl);
      {3'd3, 6'd28}: value_o = 96'(ErrDescFlow);
      {3'd3, 6'd29}: value_o = 96'(ErrPktKind);
      {3'd3, 6'd30}: value_o = 96'(ErrPktTruncated);
      {3'd3, 6'd31}: value_o = 96'(ErrPktDest);
      {3'd3, 6'd32}: value_o = 96'(ErrPktRecFifo);
      {3'd3, 6'd33}: value_o = 96'(ErrPktInjFifo);
      {3'd3, 6'd34}: value_o = 96'(ErrPktSlot);
      {3'd3, 6'd35}: value_o = 96'(ErrPktBounds);
      {3'd3, 6'd36}: value_o = 96'(ErrPktCounter);
      {3'd3, 6'd37}: value_o = 96'(ErrPktReserved);
      {3'd3, 6'd38}: value_o = 96'(ErrWrite);
      {3'd3, 6'd39}: value_o = 96'(ErrCounterUnderflow);
      {3'd3, 6'd40}: value_o = 96'(ErrCounterAccess);
      {3'd3, 6'd41}: value_o = 96'(ErrPktOwner);
      {3'd3, 6'd42}: value_o = 96'(ErrPktRmw);
      {3'd3, 6'd43}: value_o = 96'(ErrRmwAccess);
      {3'd3, 6'd44}: value_o = 96'(ErrPktFlow);
      {3'd3, 6'd45}: value_o = 96'(ErrLinkCrc);
      {3'd3, 6'd46}: value_o = 96'(ErrLinkDown);
      {3'd3, 6'd47}: value_o = 96'(ErrLinkProtocol);
      {3'd3, 6'd48}: value_o = 96'(ErrRouteUnreachable);
      {3'd3, 6'd49}: value_o = 96'(ErrLinkSideBand);
      {3'd3, 6'd50}: value_o = 96'(ErrCollRoute);
      {3'd3, 6'd51}: value_o = 96'(ErrCollMismatch);
      {3'd3, 6'd52}: value_o = 96'(ErrCollBarrier);
      {3'd3, 6'd53}: value_o = 96'(ErrResetMemory);
      {3'd3, 6'd54}: value_o = 96'(LinkReset);
      {3'd3, 6'd55}: value_o = 96'(LinkInit);
      {3'd3, 6'd56}: value_o = 96'(LinkAck);
      {3'd3, 6'd57}: value_o = 96'(LinkUp);
      {3'd3, 6'd58}: value_o = 96'(RmwSet);
      {3'd3, 6'd59}: value_o = 96'(RmwAdd);
      {3'd3, 6'd60}: value_o = 96'(RmwOr);
      {3'd3, 6'd61}: value_o = 96'(RmwAnd);
      {3'd3, 6'd62}: value_o = 96'(RmwXor);
      {3'd4, 6'd0}: value_o = 96'(r.offset_hi);
      {3'd4, 6'd1}: value_o = 96'(r.ctr_valid);
      {3'd4, 6'd2}: value_o = 96'(r.result_slot);
      {3'd4, 6'd3}: value_o = 96'(r.result_off_hi);
      {3'd4, 6'd4}: value_o = 96'(r.owner);
      {3'd4, 6'd5}: value_o = 96'(r.wide);
      {3'd5, 6'd0}: value_o = 96'(c.route);
      {3'd5, 6'd1}: value_o = 96'(c.dtype);
      {3'd5, 6'd2}: value_o = 96'(c.op);
      {3'd6, 6'd0}: value_o = 96'(CollBroadcast);
      {3'd6, 6'd1}: value_o = 96'(CollAnd);
      {3'd6, 6'd2}: value_o = 96'(CollOr);
      {3'd6, 6'd3}: value_o = 96'(CollXor);
      {3'd6, 6'd4}: value_o = 96'(CollAdd);
      {3'd6, 6'd5}: value_o = 96'(CollMin);
      {3'd6, 6'd6}: value_o = 96'(CollMax);
      {3'd6, 6'd7}: value_o = 96'(CollU32);
      {3'd6, 6'd8}: value_o = 96'(CollI32);
      {3'd6, 6'd9}: value_o = 96'(CollU64);
      {3'd6, 6'd10}: value_o = 96'(CollI64);
      {3'd6, 6'd11}: value_o = 96'(CollF64);
      default: begin
        known_o = 1'b0;
        value_o = '0;
      end
    endcase
  end
endmodule
