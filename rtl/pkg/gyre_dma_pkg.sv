// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Types that the parts of the DMA engine share (HW-1): base slots, AXI channels, and the words exchanged
// between the receive side, which takes remote-get packets, and the transmit side, which owns the rings.
package gyre_dma_pkg;
  import gyre_pkg::*;

  // ---- AXI4 memory masters ------------------------------------------------------------------
  // Every burst is INCR with beats of 64 B (size 6) from a 64 B aligned address, and stays inside 4 KiB.
  // Data travels beside these structs: it is wide, and structs of it simulate slowly.
  parameter int unsigned AxiBytes = 64;
  parameter int unsigned AxiW     = AxiBytes * 8;
  parameter int unsigned AxiIdW   = 5;
  parameter logic [2:0]  AxiSize  = 3'd6;
  parameter logic [1:0]  AxiIncr  = 2'd1;
  parameter logic [1:0]  AxiOkay  = 2'd0;

  // Address channel, read or write.
  typedef struct packed {
    logic [AddrW-1:0]  addr;  // byte address, 64 B aligned
    logic [7:0]        len;   // beats - 1
    logic [AxiIdW-1:0] id;    // reads: transmit path, then descriptor fetch, counter unit;
                              // writes: reception path, then counter unit
  } axi_addr_t;

  // Read data channel without its data.
  typedef struct packed {
    logic [AxiIdW-1:0] id;
    logic [1:0]        resp;
    logic              last;
  } axi_r_t;

  // Write response channel.
  typedef struct packed {
    logic [AxiIdW-1:0] id;
    logic [1:0]        resp;
  } axi_b_t;

  // ---- base slots -----------------------------------------------------------------------------
  typedef struct packed {
    logic               valid;
    logic               read;         // payload of local descriptors may be read
    logic               write;        // puts may write
    logic               atomic;       // byte counters may live here, and read-modify-writes are done
    logic               remote_read;  // descriptors that arrived by remote get may read
    logic [3:0]         owner;
    logic [AddrW-1:0]   base;         // byte address
    logic [OffsetW-1:0] limit;        // bytes
  } slot_t;

  // ---- remote gets: receive side -> ring of a remote-get injection FIFO ------------------------
  // One-cycle pulse: allocate ring space, or commit it in order (TAIL advances).
  typedef struct packed {
    logic                 valid;
    logic                 failed; // commit only: the descriptors did not reach memory; TAIL stays, the FIFO halts with ErrWrite
    logic [MaxFifoId-1:0] id;
    logic [9:0]           bytes;  // whole descriptors, 64..512
  } rget_move_t;

  // The counter unit of the receive side reads memory through the transmit side's read multiplexer, with
  // single 64 B beats, its own id (above) and valid/ready on the address; its read data is always taken.

  // ---- receive side ------------------------------------------------------------------------------
  parameter int unsigned RxBuffers  = 3;   // packet buffers of a path
  parameter int unsigned RxRows     = 9;   // 64 B rows of a buffer: 544 B at any alignment
  parameter int unsigned CommitDepth = 32; // packets between ring allocation and TAIL
  parameter int unsigned CommitW    = $clog2(CommitDepth);

  // ---- ordered-dynamic flows (HW-4) ---------------------------------------------------------------
  // Place of a packet in its flow, by the flow's number at the target.
  typedef struct packed {
    logic      valid;
    flow_id_t  id;
    flow_seq_t seq;
  } flow_ref_t;

  // Completion of a put, to be done in its turn.
  typedef struct packed {
    logic             ctr_valid;
    logic [AddrW-1:0] ctr_addr;
    logic [9:0]       ctr_bytes;
  } flow_counter_t;

  // Content of a control packet about a flow, by its number at the source.
  typedef struct packed {
    logic                 valid;
    flow_id_t             id;
    flow_epoch_t          epoch;
    coord_t               src;  // node of the target
    flow_seq_t            seq;  // the next to be released
  } flow_window_t;

  // The end of a flow as its control register has it.
  typedef struct packed {
    logic       open;
    flow_epoch_t epoch;
    logic [3:0] owner;     // source: of the injection FIFOs that may use it
    logic       vclass;    // 0 request, 1 response
    flow_id_t   peer_flow; // number of the flow there
    coord_t     peer;      // node at the other end
  } flow_end_t;

  function automatic logic [63:0] flow_end_bits(flow_end_t e);
    return {e.open, 8'd0, e.epoch, 4'd0, e.owner, 3'd0, e.vclass, 1'b0, e.peer_flow, 2'd0, e.peer};
  endfunction

  function automatic flow_end_t flow_end_of(logic [63:0] bits);
    return '{open: bits[63], epoch: bits[54:48], owner: bits[43:40], vclass: bits[36], peer_flow: bits[34:32], peer: bits[29:0]};
  endfunction

  // A write of a flow's control register that closes it although it is in use.
  function automatic logic flow_forced(logic [63:0] bits);
    return bits[63:62] == 2'b01;
  endfunction

  // A flow may lead to `peer`: another node of the machine, on a link of `ndim` dimensions.
  function automatic logic flow_peer_ok(node_cfg_t cfg, coord_t peer, int unsigned ndim);
    logic inside_machine;
    inside_machine = 1'b1;
    for (int unsigned d = 0; d < MaxDim; d++) if ({1'b0, peer[d]} >= cfg.size[d]) inside_machine = 1'b0;
    return inside_machine && route_port(cfg, cfg.coord, peer, LocalPort) < 4'(2 * ndim);
  endfunction

  // Request of a path to the resolver for one packet, taken from its header.
  typedef struct packed {
    logic                 mem_fifo;   // else, by the class: put (response) or remote get (request)
    logic                 rmw;        // response: of an rmw
    logic                 silent;     // response: writes nothing
    err_e                 err;        // response: refused already, requests its place in the flow
    logic                 control;    // response: window of a flow, from `src`; its number in `target`, `flow.seq`
    flow_ref_t            flow;       // response: put of a flow
    logic [9:0]           epoch;      // response: put of a flow, or control
    coord_t               src;
    logic [MaxFifoId-1:0] target;     // reception FIFO, slot, injection FIFO
    logic [9:0]           len;        // payload bytes
    logic [OffsetW-1:0]   offset;     // put: bytes in the slot
    logic                 ctr_valid;  // put: has a byte counter
    logic [MaxFifoId-1:0] ctr_slot;
    logic [21:0]          ctr_offset; // 8 B units
  } rx_req_t;

  // The resolver's answer, sent to all paths beside a one-hot valid.
  typedef struct packed {
    logic                 ok;         // write the packet
    logic                 blocked;    // ring full or halted: retry when rings have moved
    err_e                 err;        // reason when neither
    logic [AddrW-1:0]     addr;       // first byte
    logic [AddrW-13:0]    next_page;  // address bits 47:12 of the part beyond the first 4 KiB boundary
    logic [CommitW-1:0]   commit;     // request: place in the commit queue
    logic                 silent;     // response: nothing is written
    flow_ref_t            flow;       // response: has this place in a flow, whether it is written or not
    logic                 ctr_valid;  // response: decrement the counter at ctr_addr
    logic [AddrW-1:0]     ctr_addr;
  } rx_res_t;

  // Properties of a packet, kept from its header on.
  typedef struct packed {
    logic                 mem_fifo;   // as in rx_req_t
    logic                 rmw;        // rmw request
    logic [MaxFifoId-1:0] target;
    logic [9:0]           len;        // payload bytes
    coord_t               src;
    logic [31:0]          dbg;        // packet id for waves
    packet_info_t         info;       // for the error register
  } rx_head_t;

  // A collected packet whose place in memory is known.
  typedef struct packed {
    logic [1:0]           buffer;
    logic                 response;
    logic                 silent;     // nothing is written
    logic                 mem_fifo;
    logic [MaxFifoId-1:0] target;
    logic [9:0]           len;
    packet_info_t         info;
    logic [31:0]          dbg;
    logic [AddrW-1:0]     addr;
    logic [AddrW-13:0]    next_page;
    logic [CommitW-1:0]   commit;
    flow_ref_t            flow;       // its counter is lowered in the order of the flow
    logic                 ctr_valid;
    logic [AddrW-1:0]     ctr_addr;
  } rx_write_t;

  // A checked read-modify-write on its way to memory.
  typedef struct packed {
    logic [AddrW-1:0]     addr;       // aligned to the operand
    logic [2:0]           op;         // rmw_op_e
    logic                 compare;
    logic                 wide;       // 8 B operand, else 4 B
    logic [63:0]          value;
    logic [63:0]          test;
  } rmw_exec_t;

  // Ring move of a reception FIFO.
  typedef struct packed {
    logic                 valid;
    logic                 failed; // the packet did not reach memory: halt the FIFO
    logic [MaxFifoId-1:0] id;
    logic [9:0]           bytes;
  } rec_move_t;

  // Bytes that a packet takes in a ring: a memory FIFO also holds the header and pads to chunks.
  function automatic logic [9:0] rx_ring_bytes(logic mem_fifo, logic [9:0] len);
    return mem_fifo ? {len[9:5] + 5'(len[4:0] != '0) + 5'd1, 5'd0} : len;
  endfunction

  // ---- transmit side -----------------------------------------------------------------------------
  // Pointers of injection FIFOs count descriptors: byte counts without their low 6 bits.
  parameter int unsigned InjPtrW   = 26;
  parameter int unsigned InjLevelW = 15;  // 0..1 MiB in descriptors

  // Registers of an injection FIFO: address bits 5:3.
  typedef enum logic [2:0] {
    InjRegBase = 3'd0, InjRegSize = 3'd1, InjRegHead = 3'd2, InjRegTail = 3'd3,
    InjRegCtrl = 3'd4, InjRegStatus = 3'd5, InjRegCount = 3'd6, InjRegHighwater = 3'd7
  } inj_reg_e;

  // State of one injection FIFO, as register accesses see it.
  typedef struct packed {
    logic                 enable;
    logic                 remote;     // remote-get FIFO
    logic                 event_on;   // completion event
    logic [3:0]           owner;
    logic                 halted;
    logic                 broken;     // a remote get is missing from the ring
    logic                 busy;       // something of the FIFO is in flight
    logic                 landed;     // no remote get is on its way into the ring
    logic [AddrW-13:0]    base;       // 4 KiB units
    logic [InjLevelW-1:0] size;
    logic [InjPtrW-1:0]   head;
    logic [InjPtrW-1:0]   tail;
    logic [31:0]          count;
    logic [InjLevelW-1:0] high;
    err_e                 reason;
  } inj_fifo_t;

  // One packet, from the packetizer to its path. The payload is header.len bytes at addr, or, of the answer to
  // an rmw, `data`.
  typedef struct packed {
    header_t              header;
    logic                 answer;     // of the receive side: belongs to no injection FIFO
    logic [63:0]          data;
    logic [AddrW-1:0]     addr;
    logic [MaxFifoId-1:0] fifo;       // injection FIFO
    logic [31:0]          dbg;        // packet id for waves
  } tx_cmd_t;

  // Beats that hold `len` bytes from `addr`.
  function automatic logic [3:0] tx_beats(logic [5:0] addr, logic [9:0] len);
    return 4'((11'(addr) + 11'(len) + 11'(AxiBytes - 1)) >> 6);
  endfunction

  // A packet left its path: sent, or dropped (then nothing of it was sent).
  typedef struct packed {
    logic [MaxFifoId-1:0] fifo;
    kind_e                kind;
    logic                 answer;     // as in tx_cmd_t
    logic                 last;       // last packet of its descriptor
    logic                 drop;       // dropped: its FIFO is halted
    logic                 err;        // dropped because its payload could not be read: the reason of the halt
  } tx_retire_t;

endpackage
