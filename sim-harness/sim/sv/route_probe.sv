// SPDX-License-Identifier: MIT OR Apache-2.0
// The routing functions of the package behind ports: one decision a set of inputs.
module route_probe
  import gyre_pkg::*;
(
    input  logic [MaxDim*CoordW-1:0]     coord_i,
    input  logic [MaxDim*(CoordW+1)-1:0] size_i,
    input  logic [MaxDim-1:0]            ring_i,
    input  logic [MaxDim*3-1:0]          dim_order_i,
    input  logic [63:0]                  head_i,         // first words of the header
    input  logic [9:0]                   hint_i,
    input  logic [2:0]                   order_i,
    input  logic [3:0]                   in_port_i,      // LocalPort: at the source
    input  logic [VcW-1:0]               in_vc_i,
    input  logic [3:0]                   path_i,         // injection path of inject_o
    input  logic [9:0]                   len_i,
    output logic [3:0]                   port_o,
    output logic                         dateline_o,
    output logic                         deposit_o,
    output logic [MaxPorts-1:0]          minimal_o,
    output logic [$bits(route_t)-1:0]    inject_o,       // route_inject
    output logic [6:0]                   flits8_o,
    output logic [6:0]                   flits16_o,
    output logic [6:0]                   flits32_o
);
  node_cfg_t cfg;

  always_comb begin
    cfg       = '0;
    cfg.coord = coord_i;
    cfg.size  = size_i;
    cfg.ring  = ring_i;
    cfg.dim_order = dim_order_i;
  end

  assign {minimal_o, deposit_o, dateline_o, port_o} = route_transit(cfg, in_port_i, in_vc_i, head_i, hint_i, order_i);
  assign inject_o   = route_inject(cfg, path_i, head_i);
  assign flits8_o   = packet_flits(len_i, 8);
  assign flits16_o  = packet_flits(len_i, 16);
  assign flits32_o  = packet_flits(len_i, 32);
endmodule
