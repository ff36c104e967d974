// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Joins the read clients of the DMA engine onto the AXI masters (HW-1): path p on master p % NAxi with id p,
// descriptor fetch with id NPath and the counter unit with id NPath+1 on master 0. Round robin a master; the
// address channel is registered. Clients have space for the data that they request, so read data is always taken and
// goes to them by id, the counter's through a register that selects its 8 bytes.
module axi_read_mux
  import gyre_pkg::*, gyre_dma_pkg::*;
#(
    parameter int unsigned NPath = 7,
    parameter int unsigned NAxi  = 4
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    // Paths
    input  logic [NPath-1:0] path_ar_valid_i,
    output logic [NPath-1:0] path_ar_ready_o,
    input  logic [AddrW-1:0] path_ar_addr_i [NPath],
    input  logic [7:0]       path_ar_len_i  [NPath],
    output logic [NPath-1:0] path_r_valid_o,     // data is that of master p % NAxi
    output logic [NPath-1:0] path_r_err_o,
    // Descriptor fetch; data is that of master 0
    input  logic             fetch_ar_valid_i,
    output logic             fetch_ar_ready_o,
    input  logic [AddrW-1:0] fetch_ar_addr_i,
    output logic             fetch_r_valid_o,
    output logic             fetch_r_err_o,
    // Counter unit: 8 B aligned address, one read at a time
    input  logic             ctr_ar_valid_i,
    output logic             ctr_ar_ready_o,
    input  logic [AddrW-1:0] ctr_ar_addr_i,
    output logic             ctr_r_valid_o,
    output logic [63:0]      ctr_r_data_o,
    output logic             ctr_r_err_o,
    // Masters
    output logic [NAxi-1:0]  m_ar_valid_o,
    input  logic [NAxi-1:0]  m_ar_ready_i,
    output axi_addr_t        m_ar_o     [NAxi],
    input  logic [NAxi-1:0]  m_r_valid_i,
    input  axi_r_t           m_r_i      [NAxi],
    input  logic [AxiW-1:0]  m_r_data_i [NAxi],
    output logic             outstanding_o, // reads are under way
    output logic             idle_o
);
  localparam int unsigned NClient = NPath + 2;
  localparam int unsigned Fetch   = NPath;
  localparam int unsigned Counter = NPath + 1;
  localparam int unsigned OutW    = 12;

  function automatic logic [NClient-1:0] clients_of(int unsigned m);
    logic [NClient-1:0] set;
    set = '0;
    for (int unsigned p = 0; p < NPath; p++) if (p % NAxi == m) set[p] = 1'b1;
    if (m == 0) begin
      set[Fetch]   = 1'b1;
      set[Counter] = 1'b1;
    end
    return set;
  endfunction

  logic               ctr_busy_q;
  logic [NClient-1:0] valid, ready;
  logic [NClient-1:0] taken [NAxi];
  logic [AddrW-1:0]   addr  [NClient];
  logic [7:0]         len   [NClient];
  logic [NAxi-1:0]    ar_valid_q;
  axi_addr_t          ar_q  [NAxi];

  assign valid = {ctr_ar_valid_i && !ctr_busy_q, fetch_ar_valid_i, path_ar_valid_i};
  for (genvar p = 0; p < NPath; p++) begin : gen_client
    assign addr[p] = path_ar_addr_i[p];
    assign len[p]  = path_ar_len_i[p];
  end
  assign addr[Fetch]   = fetch_ar_addr_i;
  assign len[Fetch]    = '0;
  assign addr[Counter] = {ctr_ar_addr_i[AddrW-1:6], 6'b0};
  assign len[Counter]  = '0;

  for (genvar m = 0; m < NAxi; m++) begin : gen_master
    localparam logic [NClient-1:0] Clients = clients_of(m);

    logic [NClient-1:0] req, gnt;
    logic               take;
    axi_addr_t          ar;

    assign req      = valid & Clients;
    assign take     = req != '0 && (!ar_valid_q[m] || m_ar_ready_i[m]);
    assign taken[m] = take ? gnt : '0;

    rr_arbiter #(.N(NClient)) u_arbiter (
        .clk_i, .rst_ni, .req_i(req), .advance_i(take), .gnt_o(gnt)
    );

    always_comb begin
      ar = '0;
      if (take) begin
        for (int unsigned c = 0; c < NClient; c++) begin
          if (gnt[c]) ar = '{addr: addr[c], len: len[c], id: AxiIdW'(c)};
        end
      end
    end

    always_ff @(posedge clk_i) begin
      if (take) ar_q[m] <= ar;
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) ar_valid_q[m] <= 1'b0;
      else if (take) ar_valid_q[m] <= 1'b1;
      else if (m_ar_ready_i[m]) ar_valid_q[m] <= 1'b0;
    end

`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (rst_ni && m_r_valid_i[m]) begin
        KnownId : assert (32'(m_r_i[m].id) < NClient && Clients[$clog2(NClient)'(m_r_i[m].id)])
        else $fatal(1, "%m: read data with id %0d, which has no client on this master", m_r_i[m].id);
      end
    end
`endif
  end

  always_comb begin
    ready = '0;
    for (int unsigned m = 0; m < NAxi; m++) ready = ready | taken[m];
  end
  assign {ctr_ar_ready_o, fetch_ar_ready_o, path_ar_ready_o} = ready;
  assign m_ar_valid_o = ar_valid_q;
  assign m_ar_o       = ar_q;

  // ---- read data --------------------------------------------------------------------------------
  for (genvar p = 0; p < NPath; p++) begin : gen_return
    assign path_r_valid_o[p] = m_r_valid_i[p % NAxi] && m_r_i[p % NAxi].id == AxiIdW'(p);
    assign path_r_err_o[p]   = m_r_i[p % NAxi].resp != AxiOkay;
  end
  assign fetch_r_valid_o = m_r_valid_i[0] && m_r_i[0].id == AxiIdW'(Fetch);
  assign fetch_r_err_o   = m_r_i[0].resp != AxiOkay;

  logic        ctr_r, ctr_valid_q, ctr_err_q;
  logic [2:0]  ctr_word_q;
  logic [63:0] ctr_data_q;
  assign ctr_r = m_r_valid_i[0] && m_r_i[0].id == AxiIdW'(Counter);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ctr_busy_q  <= 1'b0;
      ctr_valid_q <= 1'b0;
    end else begin
      if (ready[Counter]) ctr_busy_q <= 1'b1;
      else if (ctr_r) ctr_busy_q <= 1'b0;
      ctr_valid_q <= ctr_r;
    end
  end

  always_ff @(posedge clk_i) begin
    if (ready[Counter]) ctr_word_q <= ctr_ar_addr_i[5:3];
    if (ctr_r) begin
      ctr_data_q <= m_r_data_i[0][ctr_word_q*64+:64];
      ctr_err_q  <= m_r_i[0].resp != AxiOkay;
    end
  end

  assign ctr_r_valid_o = ctr_valid_q;
  assign ctr_r_data_o  = ctr_data_q;
  assign ctr_r_err_o   = ctr_err_q;

  // ---- reads under way ------------------------------------------------------------------------------
  logic [OutW-1:0] out_q, out_d;
  always_comb begin
    out_d = out_q;
    for (int unsigned m = 0; m < NAxi; m++) begin
      out_d = out_d + OutW'(taken[m] != '0) - OutW'(m_r_valid_i[m] && m_r_i[m].last);
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) out_q <= '0;
    else out_q <= out_d;
  end

  assign outstanding_o = out_q != '0;
  assign idle_o        = ar_valid_q == '0 && valid == '0 && !ctr_valid_q;

  logic unused_ctr_addr;
  assign unused_ctr_addr = ^ctr_ar_addr_i[2:0];
endmodule
