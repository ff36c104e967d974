// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Packet, descriptor and link types of a Gyre node, and the routing functions that the router and
// the DMA engine share (HW-1, HW-3). Every multi-byte field is little-endian: bit 0 of a struct is
// bit 0 of byte 0. `gyre-layout` holds the same layout for software; a test compares every field.
package gyre_pkg;

  // ---- sizes ------------------------------------------------------------------------------
  parameter int unsigned MaxDim = 5;        // coordinates in every header
  parameter int unsigned CoordW = 6;        // bits a coordinate
  parameter int unsigned HeaderBytes = 32;
  parameter int unsigned ChunkBytes = 32;   // payload granule on the wire
  parameter int unsigned MaxPayloadBytes = 512;
  parameter int unsigned MaxPacketBytes = 544;
  parameter int unsigned DepositBit = 62;           // of a header: header_t.deposit
  parameter int unsigned DynamicBit = 63;           // of a header: header_t.dynamic_route
  parameter int unsigned HeadHint = 78;              // of a header: lowest of header_t.hint
  parameter int unsigned OrderBit = 90;             // of a header: lowest of header_t.order
  parameter int unsigned BirthBit = 106;            // of a header: lowest of header_t.birth
  parameter int unsigned BirthW = 6;
  parameter int unsigned BirthUnit = 8;             // a unit of header_t.birth is 2 to this many cycles
  parameter int unsigned DescBytes = 64;
  parameter int unsigned AddrW = 48;        // node memory address
  parameter int unsigned OffsetW = 40;      // offset inside a slot
  parameter int unsigned NetClasses = 4;    // virtual-channel classes of the torus: all of vclass_e
  parameter int unsigned NumClasses = 2;    // classes of a reception path: requests (or messages of a higher class), responses
  parameter int unsigned VcPerClass = 2;    // dateline virtual channels of a class
  parameter int unsigned DetVcs = NetClasses * VcPerClass; // deterministic channels, from 0: {class, dateline}
  parameter int unsigned DynClasses = 2;    // classes with dynamic channels: request, response
  parameter int unsigned DynLanes = 4;      // dynamic channels of a class: {1, class, lane}
  parameter int unsigned NumVc = DetVcs + DynClasses * DynLanes;
  parameter int unsigned VcW = 4;           // virtual channel on a link; the tree has 16 as well
  // Flits of a link input's buffer that a deterministic channel has for itself: of request and response, which take of
  // the shared part as well; of priority and system, which do not.
  parameter int unsigned DetReserve = 4;
  parameter int unsigned HighReserve = 8;
  parameter int unsigned MaxFifoId = 10;    // bits of a FIFO or slot number

  parameter int unsigned MaxFlows = 8;      // ordered-dynamic flows of a node, of each side
  parameter int unsigned FlowSeqs = 32;     // sequence numbers of a flow, more than two windows
  parameter int unsigned MaxFlowWindow = FlowSeqs / 2; // packets of a flow between issue and release

  // ---- units: parts with a clock of their own, in which nothing changes without it -----------
  // Of gyre_network: inputs, outputs and injection paths by port, the time, the rest.
  function automatic int unsigned network_units(int unsigned ndim);
    return 6 * ndim + 2;
  endfunction
  // Of gyre_dma: common parts of both sides and of each, transmit and reception path of each link, all others of each side.
  function automatic int unsigned dma_units(int unsigned ndim);
    return 4 * ndim + 5;
  endfunction
  // Of gyre_node: accesses to registers, registers and reset, collective network, DMA engine, torus network.
  function automatic int unsigned node_units(int unsigned ndim);
    return 3 + dma_units(ndim) + network_units(ndim);
  endfunction

  typedef logic [MaxDim-1:0][CoordW-1:0] coord_t;
  typedef logic [$clog2(MaxFlows)-1:0] flow_id_t;
  typedef logic [$clog2(FlowSeqs)-1:0] flow_seq_t;
  // Epoch of a flow number: separates a force-closed flow from its successor.
  typedef logic [6:0] flow_epoch_t;

  // Virtual-channel class (header bits 31:30). Those above response carry memory-FIFO packets alone, which go before all
  // others on every link, system before priority, by fixed routes, and share no buffer with other classes.
  typedef enum logic [1:0] {
    ClassRequest  = 2'd0,
    ClassResponse = 2'd1,
    ClassPriority = 2'd2,
    ClassSystem   = 2'd3
  } vclass_e;

  typedef enum logic [3:0] {
    KindInvalid    = 4'd0,
    KindMemFifo    = 4'd1,
    KindPut        = 4'd2,
    KindRemoteGet  = 4'd3,
    KindRmwReq     = 4'd4,
    KindRmwResp    = 4'd5,
    KindCollective = 4'd6,
    KindControl    = 4'd7          // window of a flow, from its target to its source
  } kind_e;

  // Operation of a read-modify-write. With rmw_compare it is applied only where memory equals the test
  // operand; with rmw_fetch the answer carries the old value, in either case.
  typedef enum logic [2:0] {
    RmwSet = 3'd0,             // memory = value
    RmwAdd = 3'd1,             // memory + value, modulo the operand's size
    RmwOr  = 3'd2,
    RmwAnd = 3'd3,
    RmwXor = 3'd4
  } rmw_op_e;

  // ---- packet header: 32 B, w0 (bits 31:0) first on the wire ------------------------------
  typedef struct packed {
    logic [31:0] sw1;          // w7: memory FIFO, put, remote get: software word 1; rmw request: result_offset[31:0]
    logic [31:0] sw0;          // w6: memory FIFO: software word 0; put, rmw: {counter_offset[21:0], counter_slot[9:0]}
    logic [31:0] aux;          // w5: memory FIFO: bytes of the whole message; rmw request: rmw_aux_t;
                               // put, rmw response: {.., silent[9] (rmw), counter_valid[8], offset[39:32]}
    logic [31:0] offset;       // w4: memory FIFO: byte offset in the message; put, rmw: offset[31:0] in the slot
    flow_seq_t   flow_seq;     // w3[31:27]: number of the packet in its flow, modulo FlowSeqs
    logic        flow_valid;   // w3[26]: packet of an ordered-dynamic flow (HW-4), with dynamic_route
    logic [9:0]  target;       // w3[25:16]: reception FIFO, base slot, injection FIFO (remote get), or epoch and flow (control)
    logic [BirthW-1:0] birth;  // w3[15:10]: cycle of entering the network, in units, modulo 64; zero outside the network
    logic [9:0]  seq;          // w3[9:0]: packet number in its message, modulo 2^10, and of a flow its epoch; control: next to be released
    flow_id_t    flow;         // w2[31:29]: the flow, by its number at the target
    logic [2:0]  order;        // w2[28:26]: dynamic_route: dimension to start with, from 1; 0 = no wish
    logic        last;         // w2[25]: last packet of the message
    logic        first;        // w2[24]: first packet of the message
    logic [9:0]  hint;         // w2[23:14]: dynamic_route: directions where both are minimal, bit = port, 0 = any
    logic [9:0]  len;          // w2[13:4]: payload bytes 0..512; on the wire rounded up to 32
    kind_e       kind;         // w2[3:0]
    logic        dynamic_route;// w1[31]: may take any minimal route, without order
    logic        deposit;      // w1[30]: memory FIFO: leave a copy at every node on the way
    coord_t      src;          // w1[29:0]
    vclass_e     vclass;       // w0[31:30]
    coord_t      dst;          // w0[29:0]
  } header_t;                  // 256 bits

  // Word `aux` of an rmw request. Counter and result belong to the requester; the payload is the upper half
  // of the descriptor, d8..d15. The response is a put of the operand's size to the place of the result, or,
  // with `silent`, of nothing: then only the counter moves. That of a refused request is silent and moves, by as
  // much, the other counter of the pair: the one whose offset differs from the counter's in bit 0.
  typedef struct packed {
    logic        wide;         // bit 31: 8 B operand, else 4 B
    logic [3:0]  owner;        // of the injection FIFO
    logic [7:0]  result_off_hi;
    logic [9:0]  result_slot;
    logic        ctr_valid;
    logic [7:0]  offset_hi;
  } rmw_aux_t;                 // 32 bits

  // ---- injection descriptor: 64 B, d0 first in memory -------------------------------------
  typedef struct packed {
    logic [63:0] rmw_test;     // d15, d14: rmw with compare: test operand, low bytes first
    logic [31:0] rsvd3;        // d13: zero
    logic [31:0] requester;    // d12: {2'b0, coordinates}: written by the DMA engine for remote gets, else zero
    logic [26:0] rsvd2;        // d11[31:5]: zero
    logic        rmw_fetch;    // d11[4]: rmw: the old value is wanted
    logic        rmw_compare;  // d11[3]: rmw: only where memory equals rmw_test
    logic [2:0]  rmw_op;       // d11[2:0]: rmw: rmw_op_e
    logic [31:0] msg_id;       // d10: message id for waves and timelines, no function
    logic [31:0] sw1;          // d9: software word 1; rmw: value operand, upper 4 bytes
    logic [31:0] sw0;          // d8: memory FIFO: software word 0; rmw: value operand, lower 4 bytes
    logic        ctr_valid;    // d7[31]: put: lower a byte counter at the target, by one if there is no payload;
                               // rmw: at this node, when the answer is here
    logic [22:0] rsvd1;        // d7[30:8]: zero
    logic [7:0]  dst_off_hi;   // d7[7:0]
    logic [31:0] dst_off_lo;   // d6: put, rmw: offset in the target's slot
    logic [21:0] ctr_offset;   // d5[31:10]: put, rmw: counter offset in its slot, in 8 B units
    logic [9:0]  ctr_slot;     // d5[9:0]: put, rmw: base slot of the counter
    logic [31:0] src_off_lo;   // d4
    logic [1:0]  rsvd0;        // d3[31:30]: zero
    logic [9:0]  target;       // d3[29:20]: reception FIFO, base slot, or remote-get injection FIFO at the target
    logic [9:0]  src_slot;     // d3[19:10]: base slot of the payload; rmw with fetch: where the old value goes
    logic [1:0]  rsvd4;        // d3[9:8]: zero
    logic [7:0]  src_off_hi;   // d3[7:0]
    logic [31:0] length;       // d2: payload bytes; rmw: bytes of the operand, 4 or 8
    logic [1:0]  vclass;       // d1[31:30]
    coord_t      dst;          // d1[29:0]
    logic        remote;       // d0[31]: arrived by remote get; written by the DMA engine, else zero
    logic [7:0]  rsvd5;        // d0[30:23]: zero
    flow_id_t    flow;         // d0[22:20]: flow, by its number here
    logic        flow_valid;   // d0[19]: packets go by an ordered-dynamic flow (HW-4), with dynamic_route
    logic [2:0]  order;        // d0[18:16]: as in the header
    logic [9:0]  hint;         // d0[15:6]
    logic        dynamic_route;// d0[5]
    logic        deposit;      // d0[4]
    kind_e       kind;         // d0[3:0]
  } desc_t;                    // 512 bits

  // ---- collective network -------------------------------------------------------------------
  // Operation of a node on the packets of a route on their way up the tree. All but broadcast combine those of
  // the route's inputs.
  typedef enum logic [2:0] {
    CollBroadcast = 3'd0,        // one contributor, no combination
    CollAnd       = 3'd1,
    CollOr        = 3'd2,
    CollXor       = 3'd3,
    CollAdd       = 3'd4,        // integers modulo their size
    CollMin       = 3'd5,
    CollMax       = 3'd6
  } coll_op_e;

  // Elements of a collective's payload. Bitwise operations do not take CollF64.
  typedef enum logic [2:0] {
    CollU32 = 3'd0,
    CollI32 = 3'd1,
    CollU64 = 3'd2,
    CollI64 = 3'd3,
    CollF64 = 3'd4               // IEEE 754 binary64
  } coll_dtype_e;

  // header_t.hint and desc_t.hint of a collective.
  typedef struct packed {
    coll_op_e    op;             // bits 9:7
    coll_dtype_e dtype;          // bits 6:4
    logic [3:0]  route;          // bits 3:0: class route
  } coll_t;                      // 10 bits

  parameter int unsigned CollPorts  = 3;  // of a node in the tree: 0 parent, 1 and 2 children
  parameter int unsigned CollPortId = MaxDim * 2; // `where` of link errors at port 0 of the tree, then of 1 and 2
  parameter int unsigned CollRoutes = 16; // class routes, and as many barrier routes

  // A node's part in a class route or barrier route; a barrier route has no owner.
  typedef struct packed {
    logic [3:0] owner;           // of the injection FIFOs that may use it
    logic       member;          // this node contributes and receives (`local` in the registers)
    logic       child1;          // the child takes part
    logic       child0;
    logic       parent;          // continues to the parent, else this node is the root of the route
    logic       valid;
  } coll_route_t;

  // Configuration of the collective network of a node, from its registers.
  typedef struct packed {
    logic [CollPorts-1:0]         link_enable;
    coll_route_t [CollRoutes-1:0] route;
    coll_route_t [CollRoutes-1:0] barrier;
  } coll_cfg_t;

  // Inside the collective network: packets at the front of an input's queues, bit r = class route r.
  typedef struct packed {
    logic [CollRoutes-1:0] pending;      // there is one; the rest has meaning with it
    logic [CollRoutes-1:0] bcast;        // not combined with others
    logic [CollRoutes-1:0] bad;          // malformed
    logic [CollRoutes-1:0] mine;         // delivered here if this node is a member
    logic [CollRoutes-1:0] cls;          // 0 request, 1 response
  } coll_front_t;

  // Flits of the collective network's buffers of a class route, for flits of `flit_bytes` bytes: those of a full packet
  // at least.
  function automatic int unsigned coll_depth(int unsigned flit_bytes);
    return flit_bytes < 16 ? 128 : 64;
  endfunction

  // Whether packets of a kind are delivered as puts.
  function automatic logic delivers_put(kind_e kind, vclass_e vclass);
    return kind == KindPut || (kind == KindCollective && vclass == ClassResponse);
  endfunction

  parameter logic [63:0] CanonicalNan = 64'h7ff8_0000_0000_0000; // of every F64 operation
  parameter int unsigned CollLaneLatency = 3;                   // cycles of fp64_add, hence of coll_alu_lane
  parameter int unsigned CollAluLatency = 2 * CollLaneLatency;  // cycles of coll_alu: two lanes in series

  // ---- link -------------------------------------------------------------------------------
  // Link states sent on every link (2 bits), see link_unit.
  typedef enum logic [1:0] {
    LinkReset = 2'd0,
    LinkInit  = 2'd1,
    LinkAck   = 2'd2,
    LinkUp    = 2'd3
  } link_ctl_e;

  // Control word of one direction of a link, one a cycle. All zero = quiet and down.
  typedef struct packed {
    logic           parity;      // even, over itself, credit_vc, credit, valid, ctl and the barrier wires beside the word
    logic           vc_high;     // bit 3 of the flit's virtual channel
    logic [VcW-1:0] credit_vc;   // virtual channel of the returned credit
    logic           credit;      // one flit of buffer space is free again
    logic [15:0]    check;       // {sequence number[7:0], running CRC-32 byte[7:0]}; see link_crc
    logic           err;         // with tail: the packet was cut short or is damaged
    logic           tail;
    logic           head;
    logic [VcW-2:0] vc;          // bits 2:0 of the flit's virtual channel
    logic           valid;       // a flit is on the data wires
    link_ctl_e      ctl;         // bits 1:0
  } link_word_t;                 // 32 bits

  // Control bits of a flit inside the node; the data travels beside it.
  typedef struct packed {
    logic        err;
    logic        tail;
    logic        head;
    logic [31:0] dbg;            // packet id for waves, no function (not part of the state hash)
  } flit_ctl_t;

  // ---- configuration of a node, from its registers ----------------------------------------
  typedef struct packed {
    logic [MaxDim-1:0][2:0]         dim_order;   // dimensions as fixed routes take them, a permutation, first lowest
    coord_t                         coord;       // my coordinates
    logic [MaxDim-1:0][CoordW:0]    size;        // nodes in each dimension, 1..64
    logic [MaxDim-1:0]              ring;        // dimension has its wrap link
    logic [2*MaxDim-1:0]            link_enable; // bit 2*d: + of dimension d, bit 2*d+1: -
    logic                           dma_enable;
    logic                           drain;       // no new descriptor starts
  } node_cfg_t;

  // ---- errors: reason codes of the error register ------------------------------------------
  typedef enum logic [7:0] {
    ErrNone              = 8'h00,
    ErrDescKind          = 8'h01, // unknown or unsupported descriptor kind
    ErrDescReserved      = 8'h02, // reserved field not zero, or remote mark where it may not be
    ErrDescClass         = 8'h03, // class wrong for the kind
    ErrDescRouting       = 8'h04, // hint or order without dynamic route or against it, or deposit where it may not be
    ErrDescDest          = 8'h05, // destination outside the machine
    ErrDescSlot          = 8'h06, // source slot invalid or without right
    ErrDescOwner         = 8'h07, // source slot of another owner
    ErrDescBounds        = 8'h08, // source range leaves its slot
    ErrDescRemote        = 8'h09, // remote-get descriptor that does not send to its requester, or is no put
    ErrDescLength        = 8'h0a, // remote get whose payload is not 1..8 whole descriptors
    ErrDescRead          = 8'h0b, // descriptor fetch answered with an error
    ErrPayloadRead       = 8'h0c, // payload read answered with an error
    ErrDescRmw           = 8'h0d, // rmw of unknown operation, or with an operand of other than 4 or 8 bytes
    ErrDescRoute         = 8'h0e, // collective on a class route that is not valid here, without this node, or of another owner
    ErrDescColl          = 8'h0f, // collective of unknown operation or element type, or that cuts an element in two
    ErrDescFlow          = 8'h10, // flow not open here for this destination, class and owner, or flow of a packet that has none
    ErrPktKind           = 8'h20, // packet kind this node does not serve
    ErrPktTruncated      = 8'h21, // packet cut short by a link going down, or length and flits disagree
    ErrPktDest           = 8'h22, // packet for another node ejected here
    ErrPktRecFifo        = 8'h23, // reception FIFO absent or disabled
    ErrPktInjFifo        = 8'h24, // remote get to an injection FIFO absent, disabled or not open to remote gets
    ErrPktSlot           = 8'h25, // slot invalid or without the right: write, or atomic for rmw
    ErrPktBounds         = 8'h26, // range leaves its slot
    ErrPktCounter        = 8'h27, // counter slot invalid, without atomic right, or out of bounds
    ErrPktReserved       = 8'h28, // reserved header field not zero
    ErrWrite             = 8'h29, // memory write answered with an error
    ErrCounterUnderflow  = 8'h2a, // byte counter went below zero
    ErrCounterAccess     = 8'h2b, // counter read or write answered with an error
    ErrPktOwner          = 8'h2c, // rmw: slot of another owner than the injection FIFO
    ErrPktRmw            = 8'h2d, // rmw of unknown operation, wrong length, or not aligned to its operand
    ErrRmwAccess         = 8'h2e, // rmw read or write answered with an error
    ErrPktFlow           = 8'h2f, // flow that is not open for this source and class, or sequence number outside its window or twice
    ErrLinkCrc           = 8'h40, // running CRC or sequence number differs
    ErrLinkDown          = 8'h41, // packet dropped: its link is down
    ErrLinkProtocol      = 8'h42, // flit without credit space, credit without flit, flits that make no packet
    ErrRouteUnreachable  = 8'h43, // no route: dimension absent or line too short
    ErrLinkSideBand      = 8'h44, // parity of valid, credit, state and barrier wires
    ErrCollRoute         = 8'h50, // collective malformed, or on a class route that is not valid here or lacks the input
    ErrCollMismatch      = 8'h51, // contributors to a collective disagree about it
    ErrCollBarrier       = 8'h52, // barrier arrival on a route without this input, or twice, or link down
    ErrResetMemory       = 8'h60  // memory has not ended its transactions 2048 cycles after a soft reset was requested
  } err_e;

  typedef struct packed {
    logic        valid;
    err_e        reason;
    logic [9:0]  where;     // FIFO, slot, or port number, by reason
    logic [63:0] info;      // of a descriptor its address, of a packet packet_info_t, of a failed read its address
  } error_t;

  // Error information of a refused packet.
  typedef struct packed {
    logic [29:0] sw;        // bits 63:34: software word of the packet without its two upper bits: of a memory FIFO or rmw sw0, else sw1
    kind_e       kind;      // bits 33:30
    coord_t      src;       // bits 29:0
  } packet_info_t;

  function automatic packet_info_t packet_info(kind_e kind, coord_t src, logic [29:0] sw0, logic [29:0] sw1);
    return '{sw: (kind == KindMemFifo || kind == KindRmwReq) ? sw0 : sw1, kind: kind, src: src};
  endfunction

  // ---- routing ----------------------------------------------------------------------------
  // Ports: 2*d = + of dimension d, 2*d+1 = - of dimension d. LocalPort = eject here.
  parameter int unsigned MaxPorts = 2 * MaxDim;
  parameter logic [3:0] LocalPort = 4'd15;
  parameter logic [3:0] NoPort    = 4'd14;    // unreachable

  // Directions (bit 0 +, bit 1 -) in dimension `d` on the shortest ways from here to `dst`: none when there, both
  // half way round a ring. `dst` must lie inside the machine.
  function automatic logic [1:0] minimal_directions(node_cfg_t cfg, coord_t dst, logic [2:0] d);
    logic [CoordW-1:0] c, t;
    logic [CoordW:0]   size, up;
    c    = cfg.coord[d];
    t    = dst[d];
    size = cfg.size[d];
    up   = {1'b0, t} - {1'b0, c};
    if (t < c) up = up + size;
    if (t == c)                             return 2'b00;
    else if (!cfg.ring[d])                  return (t > c) ? 2'b01 : 2'b10;
    else if ({up, 1'b0} < {1'b0, size})     return 2'b01;
    else if ({up, 1'b0} > {1'b0, size})     return 2'b10;
    else                                    return 2'b11;
  endfunction

  // Whether a packet from `src` to `dst` goes - where both directions of dimension `d` are equally short, a fixed function
  // of the pair: + from even and - from odd coordinates. These two are one cable where a ring has two nodes, so there
  // pairs with an odd distance in the other dimensions take the other one.
  function automatic logic tie_minus(node_cfg_t cfg, coord_t src, coord_t dst, logic [2:0] d);
    logic others;
    others = 1'b0;
    for (int unsigned k = 0; k < MaxDim; k++) if (3'(k) != d) others ^= src[k][0] ^ dst[k][0];
    return cfg.coord[d][0] ^ (cfg.size[d] == (CoordW + 1)'(2) && others);
  endfunction

  // Output port of the fixed route at `cfg.coord` for a packet from `src` to `dst` that entered by port `in_port`
  // (LocalPort when injected here): dimensions in the programmed order; inside a dimension the direction once taken
  // is kept; ties of half a ring go as `tie_minus` says.
  function automatic logic [3:0] route_port(node_cfg_t cfg, coord_t src, coord_t dst, logic [3:0] in_port);
    logic [3:0] port;
    logic       found;
    logic [2:0] d;
    logic [1:0] dirs;
    port  = (dst == cfg.coord) ? LocalPort : NoPort;
    found = port == LocalPort;
    for (int unsigned k = 0; k < MaxDim; k++) begin
      d = cfg.dim_order[k];
      if (!found && d < 3'(MaxDim) && dst[d] != cfg.coord[d]) begin
        found = 1'b1;
        dirs  = minimal_directions(cfg, dst, d);
        if ({1'b0, dst[d]} >= cfg.size[d])   port = NoPort;
        else if (in_port == {d, 1'b0})       port = {d, 1'b1}; // arrived by + port: moving -
        else if (in_port == {d, 1'b1})       port = {d, 1'b0};
        else if (dirs == 2'b11)              port = {d, tie_minus(cfg, src, dst, d)};
        else                                 port = {d, dirs[1]};
      end
    end
    return port;
  endfunction

  // Ports on shortest ways to `dst` that a dynamic packet may leave by: where both directions of a dimension are
  // minimal only those of `hint` (if it allows one of them), and with `order` only the first dimension it names
  // that is not finished: order - 1, then cyclically.
  function automatic logic [MaxPorts-1:0] minimal_ports(node_cfg_t cfg, coord_t dst, logic [9:0] hint,
                                                        logic [2:0] order);
    logic [MaxPorts-1:0] all, low;
    logic [1:0]          dirs;
    all = '0;
    low = '0;
    for (int unsigned d = 0; d < MaxDim; d++) begin
      dirs = minimal_directions(cfg, dst, 3'(d));
      if (dirs == 2'b11 && hint[2*d+:2] != 2'b00) dirs = hint[2*d+:2];
      all[2*d+:2] = dirs;
    end
    if (order != 3'd0) begin
      // Dimensions from order - 1 on, or else those before.
      low = MaxPorts'((32'd1 << {order - 3'd1, 1'b0}) - 32'd1);
      if ((all & ~low) != '0) all = all & ~low;
      for (int unsigned d = MaxDim - 1; d > 0; d--) begin
        if ((all & MaxPorts'((32'd1 << (2 * d)) - 32'd1)) != '0) all = all & MaxPorts'((32'd1 << (2 * d)) - 32'd1);
      end
    end
    return all;
  endfunction

  // Dateline virtual channel (0 or 1) on output `port`. A packet that will crosses the wrap link of the
  // ring uses 0 before and 1 on and after the wrap link; one that will not uses a fixed function of the
  // pair for balance. `in_dl` counts only when the packet continues in its dimension.
  function automatic logic route_dateline(node_cfg_t cfg, coord_t dst, logic [3:0] in_port,
                                          logic in_dl, logic [3:0] port);
    logic [CoordW-1:0] c, t;
    logic minus, wrap, crosses, cont;
    logic [2:0] d;
    d     = port[3:1];
    minus = port[0];
    c     = cfg.coord[0];
    t     = dst[0];
    for (int unsigned k = 1; k < MaxDim; k++) begin
      if (d == 3'(k)) begin
        c = cfg.coord[k];
        t = dst[k];
      end
    end
    cont  = (in_port[3:1] == d) && (in_port < 4'(MaxPorts));
    crosses = minus ? (t > c) : (t < c);
    wrap  = crosses && (minus ? (c == '0) : ({1'b0, c} + 1'b1 == cfg.size[d]));
    if (wrap)       return 1'b1;
    else if (cont)  return in_dl;
    else if (crosses) return 1'b0;
    else            return ^{c, t};
  endfunction

  // Virtual channels: number, class and kind.
  function automatic logic [VcW-1:0] det_vc(logic [1:0] vclass, logic dateline);
    return {1'b0, vclass, dateline};
  endfunction

  function automatic logic [VcW-1:0] dyn_vc(logic vclass, logic [1:0] lane);
    return {1'b1, vclass, lane};
  endfunction

  function automatic logic vc_dynamic(logic [VcW-1:0] vc);
    return vc[VcW-1];
  endfunction

  function automatic logic [1:0] vc_class(logic [VcW-1:0] vc);
    return vc[VcW-1] ? {1'b0, vc[2]} : vc[2:1];
  endfunction

  // Where a packet may go from a router.
  typedef struct packed {
    logic [BirthW-1:0]   birth;     // of the packet, for arbitration by age
    logic [MaxPorts-1:0] minimal;   // dynamic channels of its class at these outputs; none: fixed route
    logic                deposit;   // continues, and leaves a copy here
    logic                dateline;  // of its deterministic channel on `port`
    logic [3:0]          port;      // output of its fixed route, LocalPort: eject, NoPort: discard
  } route_t;

  // Dynamic channel that the packet at the front of a router's input goes by.
  typedef struct packed {
    logic [3:0] port;      // output
    logic [1:0] lane;
  } lane_t;

  // Flit that moved last from a router's input.
  typedef struct packed {
    logic           body;    // its packet goes on; the rest has meaning with it
    logic [VcW-1:0] vc;      // its channel at this input
    logic [3:0]     port;    // its output, LocalPort or NoPort
    logic [VcW-1:0] out_vc;  // its channel at the next
    logic           copy;    // it was ejected as well
  } last_t;

  // Route of a packet that came by link `in_port` on channel `in_vc`, by its header's first words (w0 lowest). The
  // deterministic channel of a dynamic packet is its escape, by the fixed route from here; coming from a dynamic
  // channel it enters the ring again.
  function automatic route_t route_transit(node_cfg_t cfg, logic [3:0] in_port, logic [VcW-1:0] in_vc, logic [63:0] head,
                                           logic [9:0] hint, logic [2:0] order);
    route_t     r;
    logic [3:0] from;
    r      = '0;
    from   = vc_dynamic(in_vc) ? LocalPort : in_port;
    r.port = route_port(cfg, head[61:32], head[29:0], from);
    if (r.port < NoPort) begin
      r.dateline = route_dateline(cfg, head[29:0], from, in_vc[0], r.port);
      r.deposit  = head[DepositBit] && head[31:30] == ClassRequest;
      if (head[DynamicBit] && !head[31] && !r.deposit) r.minimal = minimal_ports(cfg, head[29:0], hint, order);
    end
    return r;
  endfunction

  // Route of a packet injected on path `path`, which leads to output `path` only. A dynamic packet needs no escape
  // here (NoPort): it holds no channel while it waits for a dynamic one.
  function automatic route_t route_inject(node_cfg_t cfg, logic [3:0] path, logic [63:0] head);
    route_t r;
    r      = '0;
    r.port = path;
    if (head[DynamicBit] && !head[31] && !(head[DepositBit] && !head[30])) begin
      r.minimal = MaxPorts'(32'd1 << path);
      r.port    = NoPort;
    end else begin
      r.dateline = route_dateline(cfg, head[29:0], LocalPort, 1'b0, path);
    end
    return r;
  endfunction

  // ---- buffer of a link input: `port_flits` flits of `flit_bytes` bytes for all virtual channels ----
  // Flits of the longest packet.
  function automatic int unsigned max_flits(int unsigned flit_bytes);
    return MaxPacketBytes / flit_bytes;
  endfunction

  // Whether the network leaves copies of packets on their way: the deterministic channels of requests then have
  // room for a whole packet of their own.
  function automatic bit deposit_fits(int unsigned flit_bytes, int unsigned port_flits);
    return port_flits >= 7 * max_flits(flit_bytes);
  endfunction

  // Flits that channel `vc` has for itself.
  function automatic int unsigned vc_reserve(int unsigned flit_bytes, int unsigned port_flits, int unsigned vc);
    if (vc >= DetVcs) return 0;
    if (vc >= DynClasses * VcPerClass) return HighReserve;
    if (vc < VcPerClass && deposit_fits(flit_bytes, port_flits)) return max_flits(flit_bytes);
    return DetReserve;
  endfunction

  // Flits that all channels share: all without a reserve.
  function automatic int unsigned shared_flits(int unsigned flit_bytes, int unsigned port_flits);
    int unsigned rest;
    rest = port_flits;
    for (int unsigned v = 0; v < DetVcs; v++) rest = rest - vc_reserve(flit_bytes, port_flits, v);
    return rest;
  endfunction

  // Flits of a packet with `len` payload bytes for flits of `flit_bytes` bytes.
  function automatic logic [6:0] packet_flits(logic [9:0] len, int unsigned flit_bytes);
    logic [9:0] chunks;
    chunks = ((len + 10'd31) >> 5) + 10'd1;
    return 7'((32'(chunks) * 32'd32) / flit_bytes);
  endfunction

endpackage
