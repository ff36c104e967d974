// The routing functions of the package behind ports: one decision a set of inputs.
module route_probe
  import gyre_pkg::*;
(
    input  logic [MaxDim*CoordW-1:0]     coord_i,
    input  logic [MaxDim*(CoordW+1)-1:0] size_i,
    input  logic [MaxDim-1:0]            ring_i,
    input  logic [MaxDim*CoordW-1:0]     dst_i,
    input  logic [3:0]                   in_port_i,
    input  logic                         in_dateline_i,
    input  logic [9:0]                   len_i,
    output logic [3:0]                   port_o,
    output logic                         dateline_o,
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
  end

  assign port_o     = route_port(cfg, dst_i, in_port_i);
  assign dateline_o = route_dateline(cfg, dst_i, in_port_i, in_dateline_i, port_o);
  assign flits8_o   = packet_flits(len_i, 8);
  assign flits16_o  = packet_flits(len_i, 16);
  assign flits32_o  = packet_flits(len_i, 32);
endmodule
