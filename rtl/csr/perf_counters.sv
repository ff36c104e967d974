// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Performance counters: flits of each link by kind of virtual channel (deterministic request and response by dateline,
// priority, system, dynamic request and response), stalls of each link, flits of each tree link,
// packets sent and received by kind. Ports that the node lacks have no address.
module perf_counters
  import gyre_pkg::*;
#(
    parameter int unsigned NDim = 3,
    localparam int unsigned P = 2 * NDim
) (
    // Clocks of the counted signals: needed in a cycle with an event to count.
    input  logic                  net_clk_i,
    input  logic                  coll_clk_i,
    input  logic                  dma_clk_i,
    input  logic                  rst_ni,
    input  logic [P-1:0]          flit_i,    // link p sent a flit ...
    input  logic [P-1:0][VcW-1:0] vc_i,      // ... on this virtual channel
    input  logic [P-1:0]          stall_i,   // a flit for link p waited for a credit
    input  logic [CollPorts-1:0]  coll_i,    // tree port p sent a flit
    input  logic [7:0]            sent_i,    // the DMA engine sent a packet of kind k
    input  logic [7:0]            received_i,
    // register access, read only
    input  logic                  req_i,
    input  logic [11:0]           addr_i,    // byte offset from the first counter
    output logic [63:0]           rdata_o,
    output logic                  mapped_o   // there is a counter at the address
);
  // Byte offsets as in gyre.rdl: flits at 0, stalls at 0x400, tree flits at 0x480, packets sent at 0x500,
  // received at 0x580.
  localparam logic [3:0] Port = 4'(P);
  localparam int unsigned Groups = 8;   // of virtual channels
  localparam int unsigned PortIdxW = $clog2(P);

  logic [63:0] flits_q    [P][Groups];
  logic [63:0] stalls_q   [P];
  logic [63:0] coll_q     [CollPorts];
  logic [63:0] sent_q     [8];
  logic [63:0] received_q [8];

  function automatic logic [2:0] group(logic [VcW-1:0] vc);
    return vc_dynamic(vc) ? {2'b11, vc[2]} : vc[2] ? {2'b10, vc[1]} : {1'b0, vc[1:0]};
  endfunction

  // Address fields: word number, and by table the link or the kind.
  logic [8:0] word;
  assign word      = addr_i[11:3];

  always_comb begin
    rdata_o  = '0;
    mapped_o = 1'b0;
    if (req_i) begin
      if (word[8:7] == 2'b00) begin
        mapped_o = word[6:3] < Port;
        if (mapped_o) rdata_o = flits_q[word[3+:PortIdxW]][word[2:0]];
      end else if (word[8:4] == 5'b01000) begin
        mapped_o = word[3:0] < Port;
        if (mapped_o) rdata_o = stalls_q[word[PortIdxW-1:0]];
      end else if (word[8:2] == 7'b0100100) begin
        mapped_o = word[1:0] < 2'(CollPorts);
        if (mapped_o) rdata_o = coll_q[word[1:0]];
      end else if (word[8:3] == 6'b010100) begin
        mapped_o = 1'b1;
        rdata_o  = sent_q[word[2:0]];
      end else if (word[8:3] == 6'b010110) begin
        mapped_o = 1'b1;
        rdata_o  = received_q[word[2:0]];
      end
    end
  end

  always_ff @(posedge net_clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned p = 0; p < P; p++) begin
        stalls_q[p] <= '0;
        for (int unsigned v = 0; v < Groups; v++) flits_q[p][v] <= '0;
      end
    end else if ((flit_i | stall_i) != '0) begin
      for (int unsigned p = 0; p < P; p++) begin
        if (flit_i[p]) flits_q[p][group(vc_i[p])] <= flits_q[p][group(vc_i[p])] + 64'd1;
        if (stall_i[p]) stalls_q[p] <= stalls_q[p] + 64'd1;
      end
    end
  end

  always_ff @(posedge dma_clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned k = 0; k < 8; k++) begin
        sent_q[k]     <= '0;
        received_q[k] <= '0;
      end
    end else if ((sent_i | received_i) != '0) begin
      for (int unsigned k = 0; k < 8; k++) begin
        if (sent_i[k]) sent_q[k] <= sent_q[k] + 64'd1;
        if (received_i[k]) received_q[k] <= received_q[k] + 64'd1;
      end
    end
  end

  always_ff @(posedge coll_clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned p = 0; p < CollPorts; p++) coll_q[p] <= '0;
    end else if (coll_i != '0) begin
      for (int unsigned p = 0; p < CollPorts; p++) if (coll_i[p]) coll_q[p] <= coll_q[p] + 64'd1;
    end
  end

  logic unused_addr;
  assign unused_addr = ^addr_i[2:0];

`ifndef SYNTHESIS
  always_comb begin
    Mapped : assert (mapped_o || rdata_o == '0)
    else $fatal(1, "%m: a counter is read where there is none");
  end
`endif
endmodule
