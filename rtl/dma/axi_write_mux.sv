// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// One AXI write master for several writers. A writer that is granted its address promises a whole burst that
// it can send at once; data follows in the order of the addresses, without gaps, at one beat a cycle.
module axi_write_mux
  import gyre_pkg::*;
  import gyre_dma_pkg::*;
#(
    parameter int unsigned N = 4,
    parameter int unsigned Depth = 4    // bursts whose address is ahead of the data
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    // writers
    input  logic [N-1:0]        aw_req_i,
    input  axi_addr_t           aw_i     [N],
    output logic [N-1:0]        aw_gnt_o,
    output logic [N-1:0]        w_sel_o,   // writer whose row is read
    output logic [N-1:0]        w_pop_o,   // and taken
    input  logic [AxiW-1:0]     w_data_i [N],  // zero when not selected
    input  logic [AxiBytes-1:0] w_strb_i [N],
    input  logic [N-1:0]        w_last_i,
    input  logic [31:0]         w_dbg_i  [N],
    // master
    output logic                m_aw_valid_o,
    input  logic                m_aw_ready_i,
    output axi_addr_t           m_aw_o,
    output logic                m_w_valid_o,
    input  logic                m_w_ready_i,
    output logic [AxiW-1:0]     m_w_data_o,
    output logic [AxiBytes-1:0] m_w_strb_o,
    output logic                m_w_last_o,
    output logic [31:0]         m_w_dbg_o,   // packet id, for waves and timelines
    output logic                idle_o
);
  // ---- addresses ------------------------------------------------------------------------------
  logic         aw_valid_q, aw_free, full, empty, take;
  axi_addr_t    aw_q;
  logic [N-1:0] gnt, sel, order;

  assign aw_free  = (!aw_valid_q || m_aw_ready_i) && !full;
  assign take     = aw_free && aw_req_i != '0;
  rr_arbiter #(.N(N)) u_arb (.clk_i, .rst_ni, .req_i(aw_req_i), .advance_i(take), .gnt_o(gnt));
  assign aw_gnt_o = aw_free ? gnt : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) aw_valid_q <= 1'b0;
    else if (take || m_aw_ready_i) aw_valid_q <= take;
  end
  always_ff @(posedge clk_i) begin
    if (take) begin
      for (int unsigned n = 0; n < N; n++) if (gnt[n]) aw_q <= aw_i[n];
    end
  end
  assign m_aw_valid_o = aw_valid_q;
  assign m_aw_o       = aw_q;

  // ---- data -------------------------------------------------------------------------------------
  logic                w_valid_q, w_last_q, w_free, pop, last;
  logic [AxiW-1:0]     w_data_q;
  logic [AxiBytes-1:0] w_strb_q;
  logic [31:0]         w_dbg_q;
  logic [$clog2(Depth+1)-1:0] level;
  gyre_fifo #(.Width(N), .Depth(Depth)) u_order (
      .clk_i, .rst_ni, .clear_i(1'b0), .push_i(take), .data_i(gnt),
      .pop_i(pop && last), .data_o(order), .empty_o(empty), .full_o(full), .level_o(level)
  );
  assign sel     = empty ? '0 : order;
  assign w_free  = !w_valid_q || m_w_ready_i;
  assign pop     = w_free && !empty;
  assign last    = (sel & w_last_i) != '0;
  assign w_sel_o = sel;
  assign w_pop_o = w_free ? sel : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      w_valid_q <= 1'b0;
      w_last_q  <= 1'b0;
    end else if (pop || m_w_ready_i) begin
      w_valid_q <= pop;
      w_last_q  <= pop && last;
    end
  end
  always_ff @(posedge clk_i) begin
    if (pop) begin
      for (int unsigned n = 0; n < N; n++) begin
        if (sel[n]) begin
          w_data_q <= w_data_i[n];
          w_strb_q <= w_strb_i[n];
          w_dbg_q  <= w_dbg_i[n];
        end
      end
    end
  end
  assign m_w_valid_o = w_valid_q;
  assign m_w_data_o  = w_data_q;
  assign m_w_strb_o  = w_strb_q;
  assign m_w_last_o  = w_last_q;
  assign m_w_dbg_o   = w_dbg_q;
  assign idle_o      = !aw_valid_q && !w_valid_q && empty && aw_req_i == '0;

  logic unused_bits;
  assign unused_bits = ^level;

`ifndef SYNTHESIS
  // Waiting requests of the last cycle. Kept only while there are some, which costs no simulation time otherwise.
  logic                        aw_waited_q, w_waited_q;
  axi_addr_t                   aw_held_q;
  logic [AxiW + AxiBytes : 0]  w_held_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      aw_waited_q <= 1'b0;
      w_waited_q  <= 1'b0;
    end else begin
      aw_waited_q <= m_aw_valid_o && !m_aw_ready_i;
      w_waited_q  <= m_w_valid_o && !m_w_ready_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (m_aw_valid_o && !m_aw_ready_i) aw_held_q <= m_aw_o;
    if (m_w_valid_o && !m_w_ready_i) w_held_q <= {m_w_data_o, m_w_strb_o, m_w_last_o};
    if (rst_ni && aw_waited_q) begin
      AwStable : assert (m_aw_valid_o && m_aw_o == aw_held_q)
      else $fatal(1, "%m: address changed while waiting");
    end
    if (rst_ni && w_waited_q) begin
      WStable : assert (m_w_valid_o && {m_w_data_o, m_w_strb_o, m_w_last_o} == w_held_q)
      else $fatal(1, "%m: data changed while waiting");
    end
    if (rst_ni && m_aw_valid_o) begin
      Inside4K : assert ({1'b0, m_aw_o.addr[11:6]} + m_aw_o.len[6:0] <= 7'd63)
      else $fatal(1, "%m: burst crosses 4 KiB");
    end
  end
`endif
endmodule
