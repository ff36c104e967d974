// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Reception FIFOs of a group page (HW-1): registers, ring state, and one look-up a cycle for the resolver.
// FIFO f at f*0x40: BASE (4 KiB aligned), SIZE (bytes, power of two, 4 KiB..1 MiB), HEAD (software, free-running
// bytes), TAIL (committed bytes), CTRL {[0] enable, [7:4] owner}, STATUS {[0] not empty, [1] a packet waited
// (W1C), [2] halted by a failed write, [3] packets between allocation and commit}, THRESHOLD, HIGHWATER
// (a write clears). Writing CTRL.enable = 1 to a FIFO that is disabled or halted clears HEAD, TAIL, STATUS and
// HIGHWATER. Answers with an error: BASE or SIZE while enabled or not aligned, BASE above 48 bits, HEAD beyond TAIL, a
// write of TAIL, enabling without SIZE or while STATUS[3] or a ring that passes the end of the 48-bit address space, an
// absent FIFO, an address that is not a multiple of 8. Other bits are ignored.
// After a failed write the FIFO halts: later commits do not move TAIL and requests wait until it is enabled again.
module rec_fifo_table
  import gyre_pkg::*;
  import gyre_dma_pkg::*;
#(
    parameter int unsigned NRec = 16
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    // register access, one-cycle request, acknowledge in the next cycle
    input  logic                 reg_req_i,
    input  logic                 reg_we_i,
    input  logic [9:0]           reg_addr_i,
    input  logic [63:0]          reg_wdata_i,
    output logic                 reg_ack_o,
    output logic                 reg_err_o,
    output logic [63:0]          reg_rdata_o,
    // look-up, combinational; alloc_i takes the looked-up space, wait_i notes that it was not there
    input  logic [MaxFifoId-1:0] look_id_i,
    input  logic [9:0]           look_bytes_i,
    output logic                 look_ok_o,        // FIFO present and enabled
    output logic                 look_fits_o,      // not halted, and room
    output logic [AddrW-1:0]     look_addr_o,
    output logic [AddrW-13:0]    look_next_page_o, // 4 KiB page after it in the ring
    input  logic                 alloc_i,
    input  logic                 wait_i,
    input  rec_move_t            commit_i,
    output logic                 committed_o,      // this commit moves TAIL
    output logic                 threshold_o,      // it leaves more bytes than THRESHOLD
    output logic                 retry_o,          // one-cycle pulse: room or state may have changed
    output logic                 idle_o
);
  localparam int unsigned IdW    = (NRec > 1) ? $clog2(NRec) : 1;
  localparam int unsigned SizeW  = 21;
  localparam int unsigned CountW = $clog2(CommitDepth + 1);

  if (NRec < 1 || NRec > 16) begin : gen_bad_nrec
    $fatal(1, "rec_fifo_table: NRec must be 1..16");
  end

  logic [AddrW-13:0] page_q      [NRec];  // BASE[47:12]
  logic [SizeW-1:0]  size_q      [NRec];
  logic [31:0]       head_q      [NRec];
  logic [31:0]       tail_q      [NRec];
  logic [31:0]       alloc_q     [NRec];  // bytes given to packets, at or ahead of TAIL
  logic [3:0]        owner_q     [NRec];
  logic [31:0]       threshold_q [NRec];
  logic [SizeW-1:0]  high_q      [NRec];
  logic [CountW-1:0] flight_q    [NRec];  // packets between allocation and commit
  logic [NRec-1:0]   enable_q, halted_q, waited_q;

  // ---- look-up ------------------------------------------------------------------------------
  logic [IdW-1:0]    li;
  logic [31:0]       look_level;
  logic [7:0]        page_mask;   // pages of the ring - 1
  logic [31:12]      next_page;
  assign li = look_id_i[IdW-1:0];
  always_comb begin
    look_level       = alloc_q[li] - head_q[li] + {22'd0, look_bytes_i};
    page_mask        = 8'(size_q[li][SizeW-1:12] - 1'b1);
    next_page        = alloc_q[li][31:12] + 1'b1;
    look_ok_o        = look_id_i < MaxFifoId'(NRec) && enable_q[li];
    look_fits_o      = !halted_q[li] && look_level <= {11'd0, size_q[li]};
    look_addr_o      = {page_q[li] + {28'd0, alloc_q[li][19:12] & page_mask}, alloc_q[li][11:0]};
    look_next_page_o = page_q[li] + {28'd0, next_page[19:12] & page_mask};
  end
  logic unused_next_page;
  assign unused_next_page = ^next_page[31:20];

  // ---- commit ---------------------------------------------------------------------------------
  logic [IdW-1:0] ci;
  logic [31:0]    tail_d, level_d;
  assign ci          = commit_i.id[IdW-1:0];
  assign tail_d      = tail_q[ci] + {22'd0, commit_i.bytes};
  assign level_d     = tail_d - head_q[ci];
  assign committed_o = commit_i.valid && !commit_i.failed && !halted_q[ci];
  assign threshold_o = committed_o && threshold_q[ci] != '0 && level_d > threshold_q[ci];

  // ---- registers --------------------------------------------------------------------------------
  logic [IdW-1:0] ri;
  logic           exists, bad, err, write, restart;
  logic [63:0]    rdata;
  logic [31:0]    level;
  logic [AddrW-12:0] ring_end;   // page behind the ring
  assign ri     = reg_addr_i[6+:IdW];
  assign exists = {28'd0, reg_addr_i[9:6]} < NRec && reg_addr_i[2:0] == '0;
  assign level  = tail_q[ri] - head_q[ri];

  always_comb begin
    rdata = '0;
    bad   = 1'b0;   // this write is refused
    ring_end = '0;
    if (reg_req_i) begin
      unique case (reg_addr_i[5:3])
        3'd0: begin
          rdata = {16'd0, page_q[ri], 12'd0};
          bad   = enable_q[ri] || reg_wdata_i[11:0] != '0 || reg_wdata_i[63:AddrW] != '0;
        end
        3'd1: begin
          rdata = {43'd0, size_q[ri]};
          bad   = enable_q[ri] || reg_wdata_i[63:SizeW] != '0 || reg_wdata_i[11:0] != '0 ||
                  reg_wdata_i[SizeW-1:12] == '0 ||
                  (reg_wdata_i[SizeW-1:12] & (reg_wdata_i[SizeW-1:12] - 1'b1)) != '0;
        end
        3'd2: begin
          rdata = {32'd0, head_q[ri]};
          bad   = (reg_wdata_i[31:0] - head_q[ri]) > level;
        end
        3'd3: begin
          rdata = {32'd0, tail_q[ri]};
          bad   = 1'b1;
        end
        3'd4: begin
          rdata = {56'd0, owner_q[ri], 3'd0, enable_q[ri]};
          ring_end = {1'b0, page_q[ri]} + (AddrW - 11)'(size_q[ri][SizeW-1:12]);
          bad   = reg_wdata_i[0] && (size_q[ri] == '0 || ring_end > {1'b1, (AddrW - 12)'(0)} ||
                  ((!enable_q[ri] || halted_q[ri]) && flight_q[ri] != '0));
        end
        3'd5: rdata = {60'd0, flight_q[ri] != '0, halted_q[ri], waited_q[ri], level != '0};
        3'd6: rdata = {32'd0, threshold_q[ri]};
        default: rdata = {43'd0, high_q[ri]};
      endcase
    end
  end
  assign err     = !exists || (reg_we_i && bad);
  assign write   = reg_req_i && reg_we_i && !err;
  assign restart = write && reg_addr_i[5:3] == 3'd4 && reg_wdata_i[0] && (!enable_q[ri] || halted_q[ri]);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      enable_q <= '0;
      halted_q <= '0;
      waited_q <= '0;
      for (int unsigned f = 0; f < NRec; f++) begin
        page_q[f]      <= '0;
        size_q[f]      <= '0;
        head_q[f]      <= '0;
        tail_q[f]      <= '0;
        alloc_q[f]     <= '0;
        owner_q[f]     <= '0;
        threshold_q[f] <= '0;
        high_q[f]      <= '0;
        flight_q[f]    <= '0;
      end
    end else begin
      if (alloc_i) alloc_q[li] <= alloc_q[li] + {22'd0, look_bytes_i};
      if (wait_i) waited_q[li] <= 1'b1;
      if (alloc_i && !(commit_i.valid && ci == li)) flight_q[li] <= flight_q[li] + 1'b1;
      if (commit_i.valid && !(alloc_i && ci == li)) flight_q[ci] <= flight_q[ci] - 1'b1;
      if (commit_i.valid && commit_i.failed) halted_q[ci] <= 1'b1;
      if (committed_o) begin
        tail_q[ci] <= tail_d;
        if (level_d > {11'd0, high_q[ci]}) high_q[ci] <= level_d[SizeW-1:0];
      end
      if (write) begin
        unique case (reg_addr_i[5:3])
          3'd0: page_q[ri] <= reg_wdata_i[AddrW-1:12];
          3'd1: size_q[ri] <= reg_wdata_i[SizeW-1:0];
          3'd2: head_q[ri] <= reg_wdata_i[31:0];
          3'd4: begin
            enable_q[ri] <= reg_wdata_i[0];
            owner_q[ri]  <= reg_wdata_i[7:4];
          end
          3'd5: if (reg_wdata_i[1]) waited_q[ri] <= wait_i && li == ri;
          3'd6: threshold_q[ri] <= reg_wdata_i[31:0];
          3'd7: high_q[ri] <= '0;
          default: ;
        endcase
      end
      if (restart) begin
        head_q[ri]   <= '0;
        tail_q[ri]   <= '0;
        alloc_q[ri]  <= '0;
        high_q[ri]   <= '0;
        waited_q[ri] <= 1'b0;
        halted_q[ri] <= 1'b0;
      end
    end
  end

  logic        ack_q, err_q, retry_q;
  logic [63:0] rdata_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ack_q   <= 1'b0;
      err_q   <= 1'b0;
      retry_q <= 1'b0;
      rdata_q <= '0;
    end else begin
      ack_q   <= reg_req_i;
      retry_q <= write && (reg_addr_i[5:3] == 3'd2 || reg_addr_i[5:3] == 3'd4);
      if (reg_req_i) begin
        err_q   <= err;
        rdata_q <= err ? '0 : rdata;
      end
    end
  end
  assign reg_ack_o   = ack_q;
  assign reg_err_o   = err_q;
  assign reg_rdata_o = rdata_q;
  assign retry_o     = retry_q;
  assign idle_o      = !ack_q && !retry_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && alloc_i) begin
      AllocFits : assert (look_ok_o && look_fits_o)
      else $fatal(1, "%m: allocation without room");
    end
    if (rst_ni && commit_i.valid) begin
      CommitKnown : assert (flight_q[ci] != '0)
      else $fatal(1, "%m: commit of a packet that was not allocated");
    end
    if (rst_ni && committed_o) begin
      // SIZE of a disabled FIFO may change while packets are under way.
      RingBound : assert (!enable_q[ci] || level_d <= {11'd0, size_q[ci]})
      else $fatal(1, "%m: TAIL passes the ring's size");
    end
  end
`endif
endmodule
