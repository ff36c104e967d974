// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Collective network of one node (HW-5): three links of a binary tree, combination on the way up, distribution
// on the way down, and barriers beside them. Tree port 0 leads to the parent, 1 and 2 to the children. Each of
// the 16 class routes is a virtual channel of every link, so that no route waits for another; `cfg_i` says which
// inputs of a route contribute here, and whether this node is its root, where packets turn around.
//
// Virtual cut-through: a packet starts when all its outputs have room for the longest packet, and after that
// waits only for flits of its sources. Two packets are under way at once, one up and one down.
//
//   posedge t    link input register
//   posedge t+1  CRC checked, flit in its buffer, packet information in registers
//   posedge t+2  packet chosen, once its contributors are here
//   posedge t+3  down: output register of the links to the children, or ejection FIFO
//   posedge t+3+CollAluLatency  up: output register of the link to the parent, or, at the root, down
//
// All outputs come from registers. With no input, none changes while `idle_o`: packets may then still wait for
// other contributors.
module gyre_collective
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned Depth = 64,            // flits of each buffer: link and route, injection route, class
    localparam int unsigned FlitW = FlitBytes * 8
) (
    input  logic                   clk_i,
    input  logic                   rst_ni,
    input  coll_cfg_t              cfg_i,
    input  coord_t                 coord_i,
    // Links of the tree.
    input  link_word_t             link_ctl_i  [CollPorts],
    input  logic [FlitW-1:0]       link_data_i [CollPorts],
    input  logic [31:0]            link_dbg_i  [CollPorts],
    output link_word_t             link_ctl_o  [CollPorts],
    output logic [FlitW-1:0]       link_data_o [CollPorts],
    output logic [31:0]            link_dbg_o  [CollPorts],
    // Barrier wires, bit r = barrier route r.
    input  logic [CollRoutes-1:0]  bar_i       [CollPorts],
    output logic [CollRoutes-1:0]  bar_o       [CollPorts],
    // Injection: the sender keeps the credits, Depth flits a route; no packet is longer than the longest.
    input  logic                   inj_valid_i,
    input  logic [3:0]             inj_route_i,
    input  flit_ctl_t              inj_ctl_i,
    input  logic [FlitW-1:0]       inj_data_i,
    output logic [CollRoutes-1:0]  inj_credit_o,
    // Ejection.
    output logic [NumClasses-1:0]  ej_valid_o,
    input  logic [NumClasses-1:0]  ej_ready_i,
    output flit_ctl_t              ej_ctl_o  [NumClasses],
    output logic [FlitW-1:0]       ej_data_o [NumClasses],
    // Barriers: pulses.
    input  logic [CollRoutes-1:0]  bar_enter_i,
    output logic [CollRoutes-1:0]  bar_done_o,
    // Status.
    output link_ctl_e              link_state_o [CollPorts],
    output logic [CollPorts-1:0]   perf_flit_o,                // a flit is on link p
    output error_t                 err_o,
    output logic                   active_o,                   // clk_i is needed, links and barrier wires aside
    output logic                   idle_o                      // no register will change
);
  if (FlitBytes != 8 && FlitBytes != 16 && FlitBytes != 32) begin : gen_flit
    $fatal(1, "gyre_collective: FlitBytes %0d: expected 8, 16 or 32", FlitBytes);
  end

  localparam int unsigned Ins = CollPorts + 1;      // tree ports, then injection
  localparam int unsigned NumErrors = 2 * CollPorts + 3;

  // Inputs: packets at the front, and flits.
  coll_front_t           front   [Ins];
  logic [Ins-1:0]        started, read, avail, pop;
  flit_ctl_t             in_ctl  [Ins];
  logic [FlitW-1:0]      in_data [Ins];
  // Links.
  logic [CollPorts-1:0]  up, down, bar_bad;
  logic [CollRoutes-1:0] out_ok [CollPorts];
  // Engines; outputs are the tree links, then ejection. The way down lacks the parent.
  logic [3:0]            up_start_route, up_route, up_out_route, down_start_route, down_route;
  logic [CollPorts-1:0]  up_start, down_start;
  logic [CollPorts:0]    up_take, up_outs, down_take, down_outs;
  logic                  up_tail, up_class, up_out_class, down_class;
  logic                  turn_want, turn_gnt, turn_done;
  flit_ctl_t             up_ctl;
  logic [FlitW-1:0]      up_data;
  // Status.
  logic [NumClasses-1:0] ej_ok;
  error_t                err [NumErrors];
  logic [NumErrors-1:0]  err_take;
  logic [CollPorts-1:0]  port_busy;
  logic                  inj_fault, inj_drained, inj_busy, up_busy, down_busy, ej_busy, bar_busy, err_idle;
  logic [CollRoutes-1:0] credit_q;
  logic                  awake_q;                   // not the first cycle after reset

  // ---- links --------------------------------------------------------------------------------
  for (genvar p = 0; p < int'(CollPorts); p++) begin : gen_port
    coll_port #(
        .FlitBytes(FlitBytes),
        .Depth    (Depth),
        .PortId   (p)
    ) u_port (
        .clk_i,
        .rst_ni,
        .enable_i      (cfg_i.link_enable[p]),
        .coord_i,
        .link_ctl_i    (link_ctl_i[p]),
        .link_data_i   (link_data_i[p]),
        .link_dbg_i    (link_dbg_i[p]),
        .beside_i      (^bar_i[p]),
        .beside_tx_i   (^bar_o[p]),
        .link_ctl_o    (link_ctl_o[p]),
        .link_data_o   (link_data_o[p]),
        .link_dbg_o    (link_dbg_o[p]),
        .state_o       (link_state_o[p]),
        .up_o          (up[p]),
        .down_o        (down[p]),
        .side_fault_o  (bar_bad[p]),
        .front_o       (front[p]),
        .started_i     (started[p]),
        .started_route_i((p == 0) ? down_start_route : up_start_route),
        .read_route_i  ((p == 0) ? down_route : up_route),
        .read_i        (read[p]),
        .avail_o       (avail[p]),
        .ctl_o         (in_ctl[p]),
        .data_o        (in_data[p]),
        .pop_i         (pop[p]),
        .ok_o          (out_ok[p]),
        .start_i       (up_start[p] || down_start[p]),
        .start_route_i (down_start[p] ? down_start_route : up_start_route),
        .take_i        (up_take[p] || down_take[p]),
        .take_route_i  (down_take[p] ? down_route : up_route),
        .take_tail_i   (down_take[p] ? in_ctl[0].tail : up_tail),
        .valid_i       (up_outs[p] || down_outs[p]),
        .route_i       (down_outs[p] ? down_route : up_out_route),
        .ctl_i         (down_outs[p] ? in_ctl[0] : up_ctl),
        .data_i        (down_outs[p] ? in_data[0] : up_data),
        .err_o         (err[2*p+:2]),
        .err_take_i    (err_take[2*p+:2]),
        .busy_o        (port_busy[p])
    );
    assign perf_flit_o[p] = link_ctl_o[p].valid;
  end

  // ---- injection ----------------------------------------------------------------------------
  coll_input #(
      .FlitBytes(FlitBytes),
      .Depth    (Depth)
  ) u_inject (
      .clk_i,
      .rst_ni,
      .coord_i,
      .rx_valid_i   (inj_valid_i),
      .rx_route_i   (inj_route_i),
      .rx_ctl_i     (inj_ctl_i),
      .rx_data_i    (inj_data_i),
      .link_down_i  (1'b0),
      .fault_o      (inj_fault),
      .drained_o    (inj_drained),
      .front_o      (front[CollPorts]),
      .start_i      (started[CollPorts]),
      .start_route_i(up_start_route),
      .route_i      (up_route),
      .read_i       (read[CollPorts]),
      .avail_o      (avail[CollPorts]),
      .ctl_o        (in_ctl[CollPorts]),
      .data_o       (in_data[CollPorts]),
      .pop_i        (pop[CollPorts]),
      .busy_o       (inj_busy)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      credit_q <= '0;
      awake_q  <= 1'b0;
    end else begin
      awake_q <= 1'b1;
      if (pop[CollPorts] || credit_q != '0) credit_q <= CollRoutes'(pop[CollPorts]) << up_route;
    end
  end
  assign inj_credit_o = credit_q;

  // ---- engines ------------------------------------------------------------------------------
  coll_up #(
      .FlitBytes(FlitBytes)
  ) u_up (
      .clk_i,
      .rst_ni,
      .route_i      (cfg_i.route),
      .front_i      ('{front[CollPorts], front[1], front[2]}),
      .link_down_i  ({down[2:1], 1'b0}),
      .started_o    ({started[2:1], started[CollPorts]}),
      .start_route_o(up_start_route),
      .route_o      (up_route),
      .read_o       ({read[2:1], read[CollPorts]}),
      .avail_i      ({avail[2:1], avail[CollPorts]}),
      .ctl_i        ('{in_ctl[CollPorts], in_ctl[1], in_ctl[2]}),
      .data_i       ('{in_data[CollPorts], in_data[1], in_data[2]}),
      .pop_o        ({pop[2:1], pop[CollPorts]}),
      .up_i         (up),
      .out_ok_i     (out_ok),
      .ej_ok_i      (ej_ok),
      .start_o      (up_start),
      .take_o       (up_take),
      .take_tail_o  (up_tail),
      .take_class_o (up_class),
      .turn_want_o  (turn_want),
      .turn_gnt_i   (turn_gnt),
      .turn_done_o  (turn_done),
      .outs_o       (up_outs),
      .out_route_o  (up_out_route),
      .out_class_o  (up_out_class),
      .ctl_o        (up_ctl),
      .data_o       (up_data),
      .err_o        (err[2*CollPorts]),
      .err_take_i   (err_take[2*CollPorts]),
      .busy_o       (up_busy)
  );

  coll_down u_down (
      .clk_i,
      .rst_ni,
      .route_i      (cfg_i.route),
      .front_i      (front[0]),
      .start_o      (started[0]),
      .start_route_o(down_start_route),
      .route_o      (down_route),
      .read_o       (read[0]),
      .avail_i      (avail[0]),
      .head_i       (in_ctl[0].head),
      .tail_i       (in_ctl[0].tail),
      .words_i      (in_data[0][63:0]),
      .pop_o        (pop[0]),
      .turn_want_i  (turn_want),
      .turn_gnt_o   (turn_gnt),
      .turn_done_i  (turn_done),
      .up_i         (up[2:1]),
      .out_ok_i     (out_ok[1:2]),
      .ej_ok_i      (ej_ok),
      .start_outs_o (down_start[CollPorts-1:1]),
      .take_o       (down_take[CollPorts:1]),
      .outs_o       (down_outs[CollPorts:1]),
      .class_o      (down_class),
      .err_o        (err[2*CollPorts+1]),
      .err_take_i   (err_take[2*CollPorts+1]),
      .busy_o       (down_busy)
  );
  assign {down_start[0], down_take[0], down_outs[0]} = '0;

  coll_eject #(
      .FlitBytes(FlitBytes),
      .Depth    (Depth)
  ) u_eject (
      .clk_i,
      .rst_ni,
      .ok_o        (ej_ok),
      .take_i      (up_take[CollPorts] || down_take[CollPorts]),
      .take_class_i(down_take[CollPorts] ? down_class : up_class),
      .push_i      (up_outs[CollPorts] || down_outs[CollPorts]),
      .push_class_i(down_outs[CollPorts] ? down_class : up_out_class),
      .push_ctl_i  (down_outs[CollPorts] ? in_ctl[0] : up_ctl),
      .push_data_i (down_outs[CollPorts] ? in_data[0] : up_data),
      .ej_valid_o,
      .ej_ready_i,
      .ej_ctl_o,
      .ej_data_o,
      .busy_o      (ej_busy)
  );

  coll_barrier u_barrier (
      .clk_i,
      .rst_ni,
      .route_i   (cfg_i.barrier),
      .up_i      (up),
      .down_i    (down),
      .bad_i     (bar_bad),
      .bar_i,
      .bar_o,
      .enter_i   (bar_enter_i),
      .done_o    (bar_done_o),
      .err_o     (err[2*CollPorts+2]),
      .err_take_i(err_take[2*CollPorts+2]),
      .busy_o    (bar_busy)
  );

  router_errors #(
      .N(NumErrors)
  ) u_errors (
      .clk_i,
      .rst_ni,
      .err_i (err),
      .take_o(err_take),
      .err_o,
      .idle_o(err_idle)
  );

  assign idle_o = !(port_busy != '0 || inj_busy || up_busy || down_busy || ej_busy || bar_busy ||
                    credit_q != '0) && err_idle && awake_q;
  assign active_o = !idle_o || inj_valid_i || bar_enter_i != '0;
  logic unused_inject;
  assign unused_inject = ^{inj_fault, inj_drained};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && inj_valid_i) begin
      Injected : assert (!inj_fault)
      else $fatal(1, "%m: flit injected without room, or outside of a packet");
    end
  end
`endif
endmodule
