// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// axi_write_mux: data follows in the order of the addresses, each burst whole and of the writer of its address, and
// a waiting request does not change.
module axi_write_mux_formal
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned N = 2,
    parameter int unsigned Depth = 2
) (
    input logic         clk_i,
    input logic [N-1:0] aw_req_i,
    input logic [N-1:0] w_last_i,
    input logic [3:0]   w_data_i,
    input logic         aw_ready_i,
    input logic         w_ready_i,
    input logic         track_i      // follow the burst granted in this cycle
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [N-1:0]        gnt, sel, pop;
  axi_addr_t           aw [N], m_aw;
  logic [AxiW-1:0]     w_data [N], m_w_data;
  logic [AxiBytes-1:0] w_strb [N], m_w_strb;
  logic [31:0]         w_dbg [N], m_w_dbg;
  logic                aw_valid, w_valid, w_last, idle;
  for (genvar n = 0; n < int'(N); n++) begin : gen_writer
    assign aw[n]     = '{addr: '0, len: '0, id: AxiIdW'(n)};
    assign w_data[n] = sel[n] ? AxiW'({w_data_i, 1'(n)}) : '0;
    assign w_strb[n] = sel[n] ? '1 : '0;
    assign w_dbg[n]  = 32'(n);
  end
  axi_write_mux #(.N(N), .Depth(Depth)) dut (
      .clk_i, .rst_ni(rst_n), .aw_req_i, .aw_i(aw), .aw_gnt_o(gnt), .w_sel_o(sel), .w_pop_o(pop), .w_data_i(w_data),
      .w_strb_i(w_strb), .w_last_i(sel & w_last_i), .w_dbg_i(w_dbg), .m_aw_valid_o(aw_valid), .m_aw_ready_i(aw_ready_i),
      .m_aw_o(m_aw), .m_w_valid_o(w_valid), .m_w_ready_i(w_ready_i), .m_w_data_o(m_w_data), .m_w_strb_o(m_w_strb),
      .m_w_last_o(w_last), .m_w_dbg_o(m_w_dbg), .idle_o(idle)
  );

  // Bursts offered, of addresses and of data, and the writer of one of them.
  logic [2:0] ahead_q, granted_q;    // bursts before the one followed; bursts granted whose data has not left the writer
  logic       here_q, who_q, aw_here_q;
  logic       ends, aw_go;
  assign ends  = w_valid && w_ready_i && w_last;
  assign aw_go = aw_valid && aw_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      here_q    <= 1'b0;
      aw_here_q <= 1'b0;
      granted_q <= '0;
    end else begin
      granted_q <= granted_q + 3'(gnt != '0) - 3'(ends);
      if (here_q && ends) begin
        here_q  <= ahead_q != '0;
        ahead_q <= ahead_q - 1'b1;
      end
      if (aw_here_q && aw_go) aw_here_q <= 1'b0;
      if (!here_q && track_i && gnt != '0) begin
        here_q    <= 1'b1;
        aw_here_q <= 1'b1;
        who_q     <= gnt[1];
        ahead_q   <= granted_q - 3'(ends);
      end
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    GrantOfRequest : assert ($onehot0(gnt) && (gnt & ~aw_req_i) == '0);
    DataInOrder : assert (!(here_q && ahead_q == '0 && w_valid) || m_w_data[0] == who_q);
    DebugOfWriter : assert (!(here_q && ahead_q == '0 && w_valid) || m_w_dbg == 32'(who_q));
    AddressOfWriter : assert (!aw_here_q || (aw_valid && m_aw.id == AxiIdW'(who_q)));
    PopOfSelected : assert ((pop & ~sel) == '0 && $onehot0(sel));
    IdleIsEmpty : assert (!idle || (granted_q == '0 && !aw_valid && !w_valid));
    CoverAhead : cover (here_q && ahead_q == 3'd1 && who_q && w_valid && !w_last);
  end
endmodule
