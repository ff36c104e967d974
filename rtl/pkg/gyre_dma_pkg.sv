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
    logic [AxiIdW-1:0] id;    // reads: path 0..NPath-1, NPath descriptor fetch, NPath+1 counter unit;
                              // writes: path 0..NPath-1, NPath counter unit
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
    logic               atomic;       // byte counters may live here
    logic               remote_read;  // descriptors that arrived by remote get may read
    logic [3:0]         owner;
    logic [AddrW-1:0]   base;         // byte address
    logic [OffsetW-1:0] limit;        // bytes
  } slot_t;

  // ---- remote gets: receive side -> ring of a remote-get injection FIFO ------------------------
  // One-cycle pulse: allocate ring space, or commit it in order (TAIL advances).
  typedef struct packed {
    logic                valid;
    logic [MaxFifoId-1:0] id;
    logic [9:0]          bytes;  // whole descriptors, 64..512
  } rget_move_t;

endpackage
