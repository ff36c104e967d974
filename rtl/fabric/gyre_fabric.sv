// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// A whole machine as one design: N nodes and their links. Node n has coordinates with dimension 0 running
// fastest; its registers are configured from outside as with a single node. Port 2d of a node
// reaches port 2d+1 of its neighbour in + of dimension d. A dimension of size 1 has no links, a line
// has none between its ends; inputs without a link are zero. In the tree of the collective network node n
// has parent (n-1)/2 and children 2n+1 and 2n+2, with barrier wires beside each link.
module gyre_fabric
  import gyre_pkg::*;
#(
    parameter int unsigned NDim = 2,
    parameter logic [MaxDim-1:0][CoordW:0] Size = {7'd1, 7'd1, 7'd1, 7'd2, 7'd2}, // dimension 0 lowest
    parameter logic [MaxDim-1:0] Ring = '1,
    parameter int unsigned LinkLatency = 4,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned PortFlits = 8 * max_flits(FlitBytes),
    parameter int unsigned NInj = 32,
    parameter int unsigned NRec = 16,
    parameter int unsigned NSlot = 32,
    parameter int unsigned NAxi = (NDim <= 1) ? 1 : (NDim <= 3) ? 2 : 4,
    parameter int unsigned AxiBytes = 64,
    localparam int unsigned NSlave = 2,
    localparam int unsigned N = 32'(Size[0]) * 32'(Size[1]) * 32'(Size[2]) * 32'(Size[3]) * 32'(Size[4]),
    localparam int unsigned P = 2 * NDim,
    localparam int unsigned FW = FlitBytes * 8,
    localparam int unsigned AxiW = AxiBytes * 8
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic [63:0]       time_i,
    // outputs of each node, to compare with single nodes
    output link_word_t        link_ctl_o    [N][P],
    output logic [FW-1:0]     link_data_o   [N][P],
    output logic [31:0]       link_dbg_o    [N][P],
    output link_word_t        tree_ctl_o    [N][CollPorts],
    output logic [FW-1:0]     tree_data_o   [N][CollPorts],
    output logic [31:0]       tree_dbg_o    [N][CollPorts],
    output logic [CollRoutes-1:0] bar_o     [N][CollPorts],
    // the ports of gyre_node, one of each a node
    output logic [NAxi-1:0]   m_ar_valid_o  [N],
    input  logic [NAxi-1:0]   m_ar_ready_i  [N],
    output logic [63:0]       m_ar_addr_o   [N][NAxi],
    output logic [7:0]        m_ar_len_o    [N][NAxi],
    output logic [2:0]        m_ar_size_o   [N][NAxi],
    output logic [1:0]        m_ar_burst_o  [N][NAxi],
    output logic [4:0]        m_ar_id_o     [N][NAxi],
    input  logic [NAxi-1:0]   m_r_valid_i   [N],
    output logic [NAxi-1:0]   m_r_ready_o   [N],
    input  logic [AxiW-1:0]   m_r_data_i    [N][NAxi],
    input  logic [4:0]        m_r_id_i      [N][NAxi],
    input  logic [1:0]        m_r_resp_i    [N][NAxi],
    input  logic [NAxi-1:0]   m_r_last_i    [N],
    output logic [NAxi-1:0]   m_aw_valid_o  [N],
    input  logic [NAxi-1:0]   m_aw_ready_i  [N],
    output logic [63:0]       m_aw_addr_o   [N][NAxi],
    output logic [7:0]        m_aw_len_o    [N][NAxi],
    output logic [2:0]        m_aw_size_o   [N][NAxi],
    output logic [1:0]        m_aw_burst_o  [N][NAxi],
    output logic [4:0]        m_aw_id_o     [N][NAxi],
    output logic [NAxi-1:0]   m_w_valid_o   [N],
    input  logic [NAxi-1:0]   m_w_ready_i   [N],
    output logic [AxiW-1:0]   m_w_data_o    [N][NAxi],
    output logic [AxiBytes-1:0] m_w_strb_o  [N][NAxi],
    output logic [NAxi-1:0]   m_w_last_o    [N],
    output logic [31:0]       m_w_dbg_o     [N][NAxi],
    input  logic [NAxi-1:0]   m_b_valid_i   [N],
    output logic [NAxi-1:0]   m_b_ready_o   [N],
    input  logic [4:0]        m_b_id_i      [N][NAxi],
    input  logic [1:0]        m_b_resp_i    [N][NAxi],
    input  logic [NSlave-1:0] s_aw_valid_i [N],
    output logic [NSlave-1:0] s_aw_ready_o [N],
    input  logic [23:0]       s_aw_addr_i  [N][NSlave],
    input  logic [NSlave-1:0] s_w_valid_i  [N],
    output logic [NSlave-1:0] s_w_ready_o  [N],
    input  logic [63:0]       s_w_data_i   [N][NSlave],
    input  logic [7:0]        s_w_strb_i   [N][NSlave],
    output logic [NSlave-1:0] s_b_valid_o  [N],
    input  logic [NSlave-1:0] s_b_ready_i  [N],
    output logic [1:0]        s_b_resp_o   [N][NSlave],
    input  logic [NSlave-1:0] s_ar_valid_i [N],
    output logic [NSlave-1:0] s_ar_ready_o [N],
    input  logic [23:0]       s_ar_addr_i  [N][NSlave],
    output logic [NSlave-1:0] s_r_valid_o  [N],
    input  logic [NSlave-1:0] s_r_ready_i  [N],
    output logic [63:0]       s_r_data_o   [N][NSlave],
    output logic [1:0]        s_r_resp_o   [N][NSlave],
    output logic              irq_o         [N],
    output logic [15:0]       wake_o        [N],
    output logic              idle_o        [N]
);
  localparam int unsigned LinkW = $bits(link_word_t) + FW + 32;

  // No unit's clock is gated.
  logic [node_units(NDim)-1:0] unused_active [N];

  // Nodes between neighbours of dimension d.
  function automatic int unsigned stride(int unsigned d);
    int unsigned s;
    s = 1;
    for (int unsigned k = 0; k < d; k++) s *= 32'(Size[k]);
    return s;
  endfunction

  for (genvar n = 0; n < N; n++) begin : gen_node
    link_word_t            ctl  [P];
    logic [FW-1:0]         data [P];
    logic [31:0]           dbg  [P];
    link_word_t            tree_ctl  [CollPorts];
    logic [FW-1:0]         tree_data [CollPorts];
    logic [31:0]           tree_dbg  [CollPorts];
    logic [CollRoutes-1:0] bar       [CollPorts];

    for (genvar p = 0; p < P; p++) begin : gen_link
      localparam int unsigned D     = p / 2;
      localparam bit          Minus = p % 2 == 1;
      localparam int unsigned S     = 32'(Size[D]);
      localparam int unsigned C     = (n / stride(D)) % S;
      localparam bit          Wrap  = C == (Minus ? 0 : S - 1);
      localparam int unsigned Peer  = Minus ? (Wrap ? n + (S - 1) * stride(D) : n - stride(D))
                                            : (Wrap ? n - (S - 1) * stride(D) : n + stride(D));
      if (S > 1 && (Ring[D] || !Wrap)) begin : gen_wires
        link_pipe #(.Latency(LinkLatency), .W(LinkW)) u_pipe (
            .clk_i, .rst_ni,
            .data_i({link_ctl_o[Peer][p^1], link_data_o[Peer][p^1], link_dbg_o[Peer][p^1]}),
            .data_o({ctl[p], data[p], dbg[p]})
        );
      end else begin : gen_none
        assign ctl[p]  = '0;
        assign data[p] = '0;
        assign dbg[p]  = '0;
      end
    end

    for (genvar t = 0; t < CollPorts; t++) begin : gen_tree
      localparam bit          Exists = (t == 0) ? n > 0 : 2 * n + t < N;
      localparam int unsigned Peer   = (t == 0) ? (n - 1) / 2 : 2 * n + t;
      localparam int unsigned Back   = (t == 0) ? 2 - n % 2 : 0;   // its port to here
      if (Exists) begin : gen_wires
        link_pipe #(.Latency(LinkLatency), .W(LinkW + CollRoutes)) u_pipe (
            .clk_i, .rst_ni,
            .data_i({tree_ctl_o[Peer][Back], tree_data_o[Peer][Back], tree_dbg_o[Peer][Back],
                     bar_o[Peer][Back]}),
            .data_o({tree_ctl[t], tree_data[t], tree_dbg[t], bar[t]})
        );
      end else begin : gen_none
        assign tree_ctl[t]  = '0;
        assign tree_data[t] = '0;
        assign tree_dbg[t]  = '0;
        assign bar[t]       = '0;
      end
    end

    gyre_node #(
        .NDim(NDim), .FlitBytes(FlitBytes), .PortFlits(PortFlits), .NInj(NInj), .NRec(NRec), .NSlot(NSlot),
        .NAxi(NAxi), .AxiBytes(AxiBytes)
    ) u_node (
        .unit_clk_i({node_units(NDim){clk_i}}), .unit_active_o(unused_active[n]), .rst_ni, .time_i,
        .link_ctl_i(ctl), .link_data_i(data), .link_dbg_i(dbg),
        .link_ctl_o(link_ctl_o[n]), .link_data_o(link_data_o[n]), .link_dbg_o(link_dbg_o[n]),
        .tree_ctl_i(tree_ctl), .tree_data_i(tree_data), .tree_dbg_i(tree_dbg),
        .tree_ctl_o(tree_ctl_o[n]), .tree_data_o(tree_data_o[n]), .tree_dbg_o(tree_dbg_o[n]),
        .bar_i(bar), .bar_o(bar_o[n]),
        .m_ar_valid_o(m_ar_valid_o[n]), .m_ar_ready_i(m_ar_ready_i[n]), .m_ar_addr_o(m_ar_addr_o[n]),
        .m_ar_len_o(m_ar_len_o[n]), .m_ar_size_o(m_ar_size_o[n]), .m_ar_burst_o(m_ar_burst_o[n]),
        .m_ar_id_o(m_ar_id_o[n]), .m_r_valid_i(m_r_valid_i[n]), .m_r_ready_o(m_r_ready_o[n]),
        .m_r_data_i(m_r_data_i[n]), .m_r_id_i(m_r_id_i[n]), .m_r_resp_i(m_r_resp_i[n]),
        .m_r_last_i(m_r_last_i[n]), .m_aw_valid_o(m_aw_valid_o[n]), .m_aw_ready_i(m_aw_ready_i[n]),
        .m_aw_addr_o(m_aw_addr_o[n]), .m_aw_len_o(m_aw_len_o[n]), .m_aw_size_o(m_aw_size_o[n]),
        .m_aw_burst_o(m_aw_burst_o[n]), .m_aw_id_o(m_aw_id_o[n]), .m_w_valid_o(m_w_valid_o[n]),
        .m_w_ready_i(m_w_ready_i[n]), .m_w_data_o(m_w_data_o[n]), .m_w_strb_o(m_w_strb_o[n]),
        .m_w_last_o(m_w_last_o[n]), .m_w_dbg_o(m_w_dbg_o[n]), .m_b_valid_i(m_b_valid_i[n]), .m_b_ready_o(m_b_ready_o[n]),
        .m_b_id_i(m_b_id_i[n]), .m_b_resp_i(m_b_resp_i[n]),
        .s_aw_valid_i(s_aw_valid_i[n]), .s_aw_ready_o(s_aw_ready_o[n]), .s_aw_addr_i(s_aw_addr_i[n]),
        .s_w_valid_i(s_w_valid_i[n]), .s_w_ready_o(s_w_ready_o[n]), .s_w_data_i(s_w_data_i[n]),
        .s_w_strb_i(s_w_strb_i[n]), .s_b_valid_o(s_b_valid_o[n]), .s_b_ready_i(s_b_ready_i[n]),
        .s_b_resp_o(s_b_resp_o[n]), .s_ar_valid_i(s_ar_valid_i[n]), .s_ar_ready_o(s_ar_ready_o[n]),
        .s_ar_addr_i(s_ar_addr_i[n]), .s_r_valid_o(s_r_valid_o[n]), .s_r_ready_i(s_r_ready_i[n]),
        .s_r_data_o(s_r_data_o[n]), .s_r_resp_o(s_r_resp_o[n]), .irq_o(irq_o[n]), .wake_o(wake_o[n]),
        .idle_o(idle_o[n])
    );
  end

  for (genvar d = 0; d < MaxDim; d++) begin : gen_check
    if (Size[d] < 1 || Size[d] > 64 || (d >= NDim && Size[d] != 1)) begin : gen_bad_size
      $error("gyre_fabric: Size must be 1 to 64 nodes, and 1 in dimensions from NDim on");
    end
  end
endmodule
