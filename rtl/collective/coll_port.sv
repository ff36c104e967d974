// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// One port of the collective network: link unit, buffers of incoming flits, room for outgoing flits and their
// fate.
module coll_port
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned Depth = 64,            // flits a route, here and at the other end
    parameter int unsigned PortId = 0,            // tree port
    localparam int unsigned FlitW = FlitBytes * 8
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic                  enable_i,
    input  coord_t                coord_i,
    // Wires.
    input  link_word_t            link_ctl_i,
    input  logic [FlitW-1:0]      link_data_i,
    input  logic [31:0]           link_dbg_i,
    input  logic                  beside_i,      // parity of the barrier wires that come, and
    input  logic                  beside_tx_i,   // of outgoing words
    output link_word_t            link_ctl_o,
    output logic [FlitW-1:0]      link_data_o,
    output logic [31:0]           link_dbg_o,
    // State.
    output link_ctl_e             state_o,
    output logic                  up_o,
    output logic                  down_o,
    output logic                  side_fault_o,  // barrier pulses that came with this cycle's word have no meaning
    // Input, see coll_input.
    output coll_front_t           front_o,
    input  logic                  started_i,
    input  logic [3:0]            started_route_i,
    input  logic [3:0]            read_route_i,
    input  logic                  read_i,
    output logic                  avail_o,
    output flit_ctl_t             ctl_o,
    output logic [FlitW-1:0]      data_o,
    input  logic                  pop_i,
    // Output, see coll_output.
    output logic [CollRoutes-1:0] ok_o,
    input  logic                  start_i,
    input  logic [3:0]            start_route_i,
    input  logic                  take_i,
    input  logic [3:0]            take_route_i,
    input  logic                  take_tail_i,
    input  logic                  valid_i,
    input  logic [3:0]            route_i,
    input  flit_ctl_t             ctl_i,
    input  logic [FlitW-1:0]      data_i,
    // Errors of the link and of the output, held until taken.
    output error_t                err_o [2],
    input  logic [1:0]            err_take_i,
    output logic                  busy_o
);
  logic             open, drained, fault, credit_fault, rx_valid, credit, send, link_busy, rx_busy, in_busy, out_busy;
  logic [VcW-1:0]   rx_vc, credit_vc;
  flit_ctl_t        rx_ctl;
  logic [FlitW-1:0] rx_data;

  assign busy_o = link_busy || rx_busy || in_busy || out_busy;

  link_unit #(
      .FlitBytes (FlitBytes),
      .PortId    (CollPortId + PortId),
      .InitCycles(2 * Depth)
  ) u_link (
      .clk_i,
      .rx_clk_i   (clk_i),
      .rst_ni,
      .enable_i,
      .link_ctl_i,
      .link_data_i,
      .link_dbg_i,
      .beside_i,
      .beside_tx_i,
      .link_ctl_o,
      .link_data_o,
      .link_dbg_o,
      .state_o,
      .up_o,
      .down_o,
      .start_o    (open),
      .drained_i  (drained),
      .fault_i    (fault || credit_fault),
      .side_fault_o,
      .send_i     (send),
      .send_vc_i  (route_i),
      .send_ctl_i (ctl_i),
      .send_data_i(data_i),
      .pop_i,
      .pop_vc_i   (read_route_i),
      .rx_valid_o (rx_valid),
      .rx_vc_o    (rx_vc),
      .rx_ctl_o   (rx_ctl),
      .rx_data_o  (rx_data),
      .credit_o   (credit),
      .credit_vc_o(credit_vc),
      .err_o      (err_o[0]),
      .err_take_i (err_take_i[0]),
      .busy_o     (link_busy),
      .rx_busy_o  (rx_busy)
  );

  coll_input #(
      .FlitBytes(FlitBytes),
      .Depth    (Depth)
  ) u_input (
      .clk_i,
      .rst_ni,
      .coord_i,
      .rx_valid_i   (rx_valid),
      .rx_route_i   (rx_vc),
      .rx_ctl_i     (rx_ctl),
      .rx_data_i    (rx_data),
      .link_down_i  (down_o),
      .fault_o      (fault),
      .drained_o    (drained),
      .front_o,
      .start_i      (started_i),
      .start_route_i(started_route_i),
      .route_i      (read_route_i),
      .read_i,
      .avail_o,
      .ctl_o,
      .data_o,
      .pop_i,
      .busy_o       (in_busy)
  );

  coll_output #(
      .FlitBytes(FlitBytes),
      .Depth    (Depth),
      .PortId   (PortId)
  ) u_output (
      .clk_i,
      .rst_ni,
      .up_i          (up_o),
      .open_i        (open),
      .credit_i      (credit),
      .credit_route_i(credit_vc),
      .fault_o       (credit_fault),
      .ok_o,
      .start_i,
      .start_route_i,
      .take_i,
      .take_route_i,
      .take_tail_i,
      .valid_i,
      .route_i,
      .head_i        (ctl_i.head),
      .tail_i        (ctl_i.tail),
      .send_o        (send),
      .err_o         (err_o[1]),
      .err_take_i    (err_take_i[1]),
      .busy_o        (out_busy)
  );
endmodule
