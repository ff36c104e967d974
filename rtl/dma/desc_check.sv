// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Checks of one descriptor (HW-1): a pure function of the descriptor, its FIFO and its source slot. Gives
// the first reason to refuse it, or the path it takes and the byte address of its payload.
//
// A descriptor of length 0 reads nothing: its source slot is not checked. The source slot of a read-modify-write
// takes the old value and is checked only with rmw_fetch; its payload is the upper half of the descriptor.
// A dynamic packet (HW-4) starts on one of its productive paths: the lowest, or from a descriptor at an odd place the
// highest, so that the descriptors of a FIFO take turns.
// Packets of a flow (HW-4) are dynamic, and go where the flow leads, in its class and for its owner.
// Packets of classes priority and system take fixed routes and leave no copies.
// A collective (HW-5) goes to every member of its class route (deposit, no destination) or to one.
module desc_check
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned NDim = 3,
    parameter bit          Deposit = 1'b1   // the network copies packets on their way
) (
    input  logic             valid_i,    // 0: nothing is computed
    input  node_cfg_t        cfg_i,
    input  desc_t            desc_i,
    input  logic [AddrW-1:0] addr_i,     // of the descriptor
    input  logic             remote_i,   // the FIFO is filled by remote gets
    input  logic [3:0]       owner_i,    // of the FIFO
    input  slot_t            slot_i,     // slot desc_i.src_slot
    input  coll_route_t      route_i,    // class route desc_i.hint[3:0]
    input  flow_end_t        flow_i,     // flow desc_i.flow
    output err_e             err_o,      // ErrNone: accepted
    output logic [3:0]       path_o,     // link port 0..2*NDim-1, 2*NDim = local, 2*NDim+1 = collective
    output logic [AddrW-1:0] src_o       // first payload byte
);
  localparam logic [3:0] PathLocal = 4'(2 * NDim);
  localparam logic [3:0] PathColl  = 4'(2 * NDim + 1);

  logic               reserved, bad_dst, is_put, is_rget, is_rmw, is_coll, known, bad_class, bad_rmw, bad_coll, bad_route, bad_flow;
  coll_op_e           op;
  coll_dtype_e        dtype;
  logic [3:0]         port;
  logic [MaxPorts-1:0] productive;
  logic [OffsetW:0]   src_end, dst_end;
  logic [AddrW:0]     addr_end;
  logic [OffsetW-1:0] src_off;

  always_comb begin
    err_o    = ErrNone;
    path_o   = '0;
    src_o    = '0;
    reserved = 1'b0;
    bad_dst  = 1'b0;
    is_put   = 1'b0;
    is_rget  = 1'b0;
    is_rmw   = 1'b0;
    is_coll  = 1'b0;
    bad_rmw  = 1'b0;
    bad_coll = 1'b0;
    bad_route = 1'b0;
    bad_flow  = 1'b0;
    productive = '0;
    bad_class = 1'b0;
    known    = 1'b0;
    op       = coll_op_e'(desc_i.hint[9:7]);      // coll_t
    dtype    = coll_dtype_e'(desc_i.hint[6:4]);
    port     = '0;
    src_end  = '0;
    dst_end  = '0;
    addr_end = '0;
    src_off  = '0;
    if (valid_i) begin
      is_put   = delivers_put(desc_i.kind, vclass_e'(desc_i.vclass));
      is_rget  = desc_i.kind == KindRemoteGet;
      is_rmw   = desc_i.kind == KindRmwReq;
      is_coll  = desc_i.kind == KindCollective;
      known    = is_put || is_rget || is_rmw || is_coll || desc_i.kind == KindMemFifo || desc_i.kind == KindPut;
      // A collective takes either class: the one says put, the other memory FIFO.
      // Priority and system carry messages alone.
      bad_class = is_coll                       ? desc_i.vclass > 2'(ClassResponse)
                : (desc_i.kind == KindMemFifo) ? desc_i.vclass == ClassResponse
                : desc_i.vclass != (desc_i.kind == KindPut ? ClassResponse : ClassRequest);
      reserved = {desc_i.rsvd0, desc_i.rsvd1, desc_i.rsvd2, desc_i.rsvd3, desc_i.rsvd4, desc_i.rsvd5} != '0 ||
                 (!desc_i.flow_valid && desc_i.flow != '0) ||
                 (!is_rmw && {desc_i.rmw_op, desc_i.rmw_compare, desc_i.rmw_fetch, desc_i.rmw_test} != '0);
      bad_rmw  = is_rmw && (desc_i.rmw_op > RmwXor || (desc_i.length != 32'd4 && desc_i.length != 32'd8));

      port = route_port(cfg_i, cfg_i.coord, desc_i.dst, LocalPort);
      for (int unsigned d = 0; d < MaxDim; d++) begin
        if ({1'b0, desc_i.dst[d]} >= cfg_i.size[d]) bad_dst = 1'b1;
      end
      if (port != LocalPort && port >= PathLocal) bad_dst = 1'b1;
      bad_route = is_coll ? desc_i.dynamic_route || desc_i.order != '0
                          : desc_i.deposit && (!Deposit || desc_i.kind != KindMemFifo || desc_i.dynamic_route || desc_i.vclass[1]);
      bad_flow = desc_i.flow_valid &&
                 (is_coll || !desc_i.dynamic_route || port == LocalPort || !flow_i.open || flow_i.peer != desc_i.dst ||
                  {1'b0, flow_i.vclass} != desc_i.vclass || flow_i.owner != owner_i);
      if (!is_coll && desc_i.dynamic_route) begin
        if (desc_i.order > 3'(NDim) || desc_i.vclass[1]) bad_route = 1'b1;
        for (int unsigned d = 0; d < MaxDim; d++) begin
          if (desc_i.hint != '0 && !bad_dst && desc_i.dst[d] != cfg_i.coord[d] &&
              (minimal_directions(cfg_i, desc_i.dst, 3'(d)) & desc_i.hint[2*d+:2]) == '0) bad_route = 1'b1;
        end
        if (!bad_dst && port != LocalPort) begin
          productive = minimal_ports(cfg_i, desc_i.dst, desc_i.hint, desc_i.order);
          for (int unsigned p = 0; p < MaxPorts; p++) begin
            if (addr_i[$clog2(DescBytes)] ? productive[p] : productive[MaxPorts-1-p])
              port = addr_i[$clog2(DescBytes)] ? 4'(p) : 4'(MaxPorts - 1 - p);
          end
        end
      end else if (!is_coll && {desc_i.hint, desc_i.order} != '0) begin
        bad_route = 1'b1;
      end
      if (is_coll && desc_i.deposit) bad_dst = desc_i.dst != '0;
      path_o = is_coll ? PathColl : (port == LocalPort) ? PathLocal : port;

      // Elements are not cut in two; a broadcast carries bytes.
      bad_coll = op > CollMax || dtype > CollF64 || (op == CollBroadcast && dtype != CollU32) ||
                 ((op == CollAnd || op == CollOr || op == CollXor) && dtype == CollF64) ||
                 (op != CollBroadcast && (desc_i.length[1:0] != '0 || (desc_i.length[2] && dtype > CollI32)));

      src_off  = {desc_i.src_off_hi, desc_i.src_off_lo};
      src_end  = {1'b0, src_off} + (OffsetW + 1)'(desc_i.length);
      dst_end  = {1'b0, desc_i.dst_off_hi, desc_i.dst_off_lo} + (OffsetW + 1)'(desc_i.length);
      addr_end = {1'b0, slot_i.base} + (AddrW + 1)'(src_end);
      src_o    = is_rmw ? addr_i + AddrW'(DescBytes / 2) : slot_i.base + AddrW'(src_off);

      if (!known) err_o = ErrDescKind;
      else if (bad_class) err_o = ErrDescClass;
      else if (reserved) err_o = ErrDescReserved;
      else if (!remote_i && (desc_i.remote || desc_i.requester != '0)) err_o = ErrDescReserved;
      else if (bad_route) err_o = ErrDescRouting;
      else if (bad_dst) err_o = ErrDescDest;
      else if (bad_flow) err_o = ErrDescFlow;
      else if (remote_i && (!desc_i.remote || desc_i.kind != KindPut || desc_i.requester != {2'b00, desc_i.dst}))
        err_o = ErrDescRemote;
      else if (is_rget && (desc_i.length[5:0] != '0 || desc_i.length == '0 ||
                           desc_i.length > 32'(MaxPayloadBytes)))
        err_o = ErrDescLength;
      else if (bad_rmw) err_o = ErrDescRmw;
      else if (is_coll && !(route_i.valid && route_i.member && route_i.owner == owner_i)) err_o = ErrDescRoute;
      else if (is_coll && bad_coll) err_o = ErrDescColl;
      else if ((is_put || is_rmw) && dst_end > {1'b1, OffsetW'(0)}) err_o = ErrDescBounds;
      else if (is_rmw ? desc_i.rmw_fetch : desc_i.length != '0) begin
        if (!slot_i.valid || !(is_rmw ? slot_i.write : slot_i.read) || (remote_i && !slot_i.remote_read))
          err_o = ErrDescSlot;
        else if (slot_i.owner != owner_i) err_o = ErrDescOwner;
        else if (src_end > {1'b0, slot_i.limit} || addr_end > {1'b1, AddrW'(0)}) err_o = ErrDescBounds;
      end
    end
  end

  logic unused_check;
  assign unused_check = ^{cfg_i.link_enable, cfg_i.dma_enable, cfg_i.drain, slot_i.atomic,
                          desc_i.target, desc_i.msg_id, desc_i.sw0, desc_i.sw1, desc_i.ctr_valid,
                          desc_i.ctr_offset, desc_i.ctr_slot, desc_i.src_slot, route_i, flow_i.peer_flow, flow_i.epoch};

`ifndef SYNTHESIS
  always_comb begin
    if (valid_i && err_o == ErrNone)
      PathExists : assert (path_o <= PathColl) else $fatal(1, "%m: accepted a descriptor without a path");
  end
`endif
endmodule
