// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Network of one node: a link unit a port and the torus router between links, injection and ejection paths
// (HW-3). Virtual-channel router with credits: deterministic channels {class, dateline}, where packets go by their
// fixed routes as wormholes, and dynamic channels {1, class, lane}, where dynamic packets go by any shortest way
// and are stored whole (virtual cut-through), with the deterministic channels as their escape. Injection path p feeds
// output p; a packet that came in by link p for this node leaves by ejection path p. A hop takes two cycles beyond
// the link latency:
//
//   posedge t    link input register
//   posedge t+1  CRC checked, flit in its buffer, route of a head known
//   posedge t+2  granted: output register of the next link, or ejection FIFO
//
// The buffer of a link input, `PortFlits` flits for all virtual channels, covers a credit round trip of 2 L + 4 cycles at
// link latency L; the handshake is sound up to L = (InitCycles - 4) / 2 - 1.
// All outputs come from registers, and with no input none changes (`idle_o`). Parts of a port have clocks of their own: most
// links carry a flit in few cycles.
module gyre_network
  import gyre_pkg::*;
#(
    parameter int unsigned NDim = 3,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned PortFlits = 8 * max_flits(FlitBytes), // flits of a link input's buffer
    parameter int unsigned InjDepth = 136,                       // flits of an injection buffer
    parameter int unsigned Lanes = DynLanes,                     // dynamic channels of a class that are used
    parameter bit          ByAge = 1'b1,                         // the oldest packet first, else in turn
    parameter int unsigned InitCycles = 128,                     // of a link's handshake, at least
    localparam int unsigned P = 2 * NDim,
    localparam int unsigned NUnit = network_units(NDim),
    localparam int unsigned ClassW = $clog2(NetClasses),
    localparam int unsigned FlitW = FlitBytes * 8
) (
    // Clocks of units: one clock, or gated ones of it. A unit's is needed in a cycle in which its bit of unit_active_o is set,
    // and in those in which it has input from outside, named in brackets. By port: input and ejection (change of the link, flits,
    // credits); then by port: output with state of the link; by port: injection path; then the time (change of its unit,
    // 2 to BirthUnit cycles); the rest.
    input  logic [NUnit-1:0]             unit_clk_i,
    output logic [NUnit-1:0]             unit_active_o,
    input  logic                         rst_ni,
    input  node_cfg_t                    cfg_i,
    input  logic [63:0]                  time_i,            // cycle number, the same at all nodes
    // Links.
    input  link_word_t                   link_ctl_i   [P],
    input  logic [FlitW-1:0]             link_data_i  [P],
    input  logic [31:0]                  link_dbg_i   [P],
    output link_word_t                   link_ctl_o   [P],
    output logic [FlitW-1:0]             link_data_o  [P],  // holds while no flit is sent
    output logic [31:0]                  link_dbg_o   [P],
    // Injection: the sender keeps the credits, InjDepth flits a path and class.
    input  logic [P-1:0]                 inj_valid_i,
    input  logic [P-1:0][ClassW-1:0]     inj_class_i,       // vclass_e
    input  flit_ctl_t                    inj_ctl_i    [P],
    input  logic [FlitW-1:0]             inj_data_i   [P],
    output logic [P-1:0][NetClasses-1:0] inj_credit_o,
    // Ejection.
    output logic [P-1:0][NetClasses-1:0] ej_valid_o,
    input  logic [P-1:0][NetClasses-1:0] ej_ready_i,
    output flit_ctl_t                    ej_ctl_o     [P][NetClasses],
    output logic [FlitW-1:0]             ej_data_o    [P][NetClasses],
    // Status.
    output link_ctl_e                    link_state_o [P],
    output logic [P-1:0]                 perf_flit_o,       // a flit is on link p
    output logic [P-1:0][VcW-1:0]        perf_vc_o,         // its virtual channel
    output logic [P-1:0]                 perf_stall_o,      // a flit waited for credit of output p
    output error_t                       err_o,
    output logic                         idle_o             // holds no flit, and no register will change
);
  if (NDim < 1 || NDim > MaxDim) begin : gen_ndim
    $fatal(1, "gyre_network: NDim %0d: expected 1 to %0d", NDim, MaxDim);
  end
  if (FlitBytes != 8 && FlitBytes != 16 && FlitBytes != 32) begin : gen_flit
    $fatal(1, "gyre_network: FlitBytes %0d: expected 8, 16 or 32", FlitBytes);
  end

  localparam int unsigned InUnit = 0, OutUnit = P, InjUnit = 2 * P, TimeUnit = 3 * P, RestUnit = 3 * P + 1;

  // Outputs: flits that can move, by virtual channel.
  localparam int unsigned RoomW = $clog2(PortFlits + 1);
  logic [DetVcs-1:0]       head_ok[P], no_credit[P];
  logic [VcPerClass-1:0]   whole_ok[P];
  logic [NumVc-1:0]        body_ok[P];
  logic [DynClasses-1:0]   dyn_ok[P], dyn_head_ok[P], plenty[P], inj_urgent[P];
  logic [P-1:0]            dyn_ok_class[DynClasses];
  logic [VcW-1:0]          lane_vc[P][DynClasses];
  logic [RoomW-1:0]        room[P];
  // Flits offered by each input, and grants.
  logic [P-1:0]            in_body, in_high, inj_body, inj_high;
  logic [P-1:0]            inj_hold;
  logic [P-1:0]            req, copy, pop, eject, inj_req, inj_pop;
  logic [3:0]              in_port[P];
  logic [VcW-1:0]          out_vc [P];
  flit_ctl_t               in_ctl [P];
  logic [FlitW-1:0]        in_data[P];
  logic [P-1:0]            gnt    [P];
  logic [BirthW-1:0]       in_birth[P], inj_birth[P], now_q;
  // Status.
  logic [P-1:0]            in_stall[P];
  logic [P-1:0]            inj_stall, stall_d, stall_q;
  logic [P-1:0]            busy;
  logic                    awake_q;            // not the first cycle after reset
  // Error reports: link, input and output of each port.
  error_t                  err     [3*P];
  logic [3*P-1:0]          err_take;
  logic                    err_idle;

  // The time is seen by registers alone: nothing between registers depends on an input that changes always.
  always_ff @(posedge unit_clk_i[TimeUnit] or negedge rst_ni) begin
    if (!rst_ni) now_q <= '0;
    else         now_q <= time_i[BirthUnit+:BirthW];
  end

  always_comb begin
    for (int unsigned c = 0; c < DynClasses; c++) begin
      for (int unsigned p = 0; p < P; p++) dyn_ok_class[c][p] = dyn_ok[p][c] && !inj_urgent[p][c] && !inj_hold[p];
    end
  end

  router_alloc #(
      .NDim(NDim), .ByAge(ByAge)
  ) u_alloc (
      .clk_i(unit_clk_i[OutUnit+:P]), .rst_ni, .body_i(in_body), .high_i(in_high), .birth_i(in_birth), .inj_body_i(inj_body),
      .inj_high_i(inj_high), .inj_birth_i(inj_birth), .now_i(now_q),
      .req_i(req), .port_i(in_port), .inj_req_i(inj_req), .pop_o(pop), .eject_o(eject), .inj_pop_o(inj_pop),
      .gnt_o(gnt)
  );

  for (genvar p = 0; p < int'(P); p++) begin : gen_port
    logic             up, down, start, drained, fault;
    logic             rx_valid;
    logic [VcW-1:0]   rx_vc;
    flit_ctl_t        rx_ctl;
    logic [FlitW-1:0] rx_data;
    logic             credit, credit_fault, unused_side;
    logic [VcW-1:0]   credit_vc;
    logic             send;
    logic [VcW-1:0]   send_vc;
    flit_ctl_t        send_ctl;
    logic [FlitW-1:0] send_data;
    logic [VcW-1:0]   in_vc;
    logic [VcW-1:0]   inj_vc;
    flit_ctl_t        inj_ctl;
    logic [FlitW-1:0] inj_data;
    logic [NetClasses-1:0] ej_head_ok, ej_body_ok;
    logic             link_busy, rx_busy, in_busy, inj_busy, out_busy, ej_busy;

    link_unit #(
        .FlitBytes(FlitBytes), .PortId(p), .InitCycles(InitCycles)
    ) u_link (
        .clk_i(unit_clk_i[OutUnit+p]), .rx_clk_i(unit_clk_i[InUnit+p]), .rst_ni, .enable_i(cfg_i.link_enable[p]), .link_ctl_i(link_ctl_i[p]),
        .link_data_i(link_data_i[p]), .link_dbg_i(link_dbg_i[p]), .beside_i(1'b0), .beside_tx_i(1'b0), .link_ctl_o(link_ctl_o[p]),
        .link_data_o(link_data_o[p]), .link_dbg_o(link_dbg_o[p]), .state_o(link_state_o[p]), .up_o(up),
        .down_o(down), .start_o(start), .drained_i(drained), .fault_i(fault || credit_fault), .side_fault_o(unused_side), .send_i(send),
        .send_vc_i(send_vc), .send_ctl_i(send_ctl), .send_data_i(send_data), .pop_i(pop[p]),
        .pop_vc_i(in_vc), .rx_valid_o(rx_valid), .rx_vc_o(rx_vc), .rx_ctl_o(rx_ctl), .rx_data_o(rx_data),
        .credit_o(credit), .credit_vc_o(credit_vc), .err_o(err[3*p]), .err_take_i(err_take[3*p]),
        .busy_o(link_busy), .rx_busy_o(rx_busy)
    );

    router_input #(
        .NDim(NDim), .PortId(p), .FlitBytes(FlitBytes), .PortFlits(PortFlits), .ByAge(ByAge)
    ) u_input (
        .clk_i(unit_clk_i[InUnit+p]), .rst_ni, .cfg_i, .now_i(now_q), .rx_valid_i(rx_valid), .rx_vc_i(rx_vc), .rx_ctl_i(rx_ctl),
        .rx_data_i(rx_data), .link_down_i(down), .fault_o(fault), .drained_o(drained), .head_ok_i(head_ok),
        .whole_ok_i(whole_ok), .body_ok_i(body_ok), .no_credit_i(no_credit), .dyn_ok_i(dyn_ok_class),
        .dyn_vc_i(lane_vc), .room_i(room), .ej_head_ok_i(ej_head_ok), .ej_body_ok_i(ej_body_ok),
        .req_o(req[p]), .port_o(in_port[p]), .copy_o(copy[p]), .body_o(in_body[p]), .high_o(in_high[p]),
        .birth_o(in_birth[p]), .pop_i(pop[p]), .in_vc_o(in_vc), .out_vc_o(out_vc[p]), .ctl_o(in_ctl[p]), .data_o(in_data[p]),
        .stall_o(in_stall[p]), .err_o(err[3*p+1]), .err_take_i(err_take[3*p+1]), .busy_o(in_busy)
    );

    router_inject #(
        .PortId(p), .FlitBytes(FlitBytes), .InjDepth(InjDepth)
    ) u_inject (
        .clk_i(unit_clk_i[InjUnit+p]), .rst_ni, .cfg_i, .now_i(time_i[BirthUnit+:BirthW]), .inj_valid_i(inj_valid_i[p]), .inj_class_i(inj_class_i[p]),
        .inj_ctl_i(inj_ctl_i[p]), .inj_data_i(inj_data_i[p]), .inj_credit_o(inj_credit_o[p]),
        .head_ok_i(head_ok[p]), .body_ok_i(body_ok[p]), .no_credit_i(no_credit[p]),
        .dyn_head_ok_i(dyn_head_ok[p]), .plenty_i(plenty[p]), .dyn_vc_i(lane_vc[p]), .req_o(inj_req[p]),
        .pop_i(inj_pop[p]), .out_vc_o(inj_vc), .ctl_o(inj_ctl), .data_o(inj_data), .body_o(inj_body[p]),
        .high_o(inj_high[p]), .birth_o(inj_birth[p]), .urgent_o(inj_urgent[p]), .hold_o(inj_hold[p]), .stall_o(inj_stall[p]), .busy_o(inj_busy)
    );

    router_output #(
        .NDim(NDim), .PortId(p), .FlitBytes(FlitBytes), .PortFlits(PortFlits), .Lanes(Lanes)
    ) u_output (
        .clk_i(unit_clk_i[OutUnit+p]), .rst_ni, .up_i(up), .start_i(start), .credit_i(credit), .credit_vc_i(credit_vc), .credit_fault_o(credit_fault),
        .head_ok_o(head_ok[p]), .whole_ok_o(whole_ok[p]), .body_ok_o(body_ok[p]),
        .no_credit_o(no_credit[p]), .dyn_ok_o(dyn_ok[p]), .dyn_head_ok_o(dyn_head_ok[p]),
        .plenty_o(plenty[p]), .dyn_vc_o(lane_vc[p]), .room_o(room[p]), .gnt_i(gnt[p]), .in_vc_i(out_vc),
        .in_ctl_i(in_ctl), .in_data_i(in_data), .inj_vc_i(inj_vc), .inj_hold_i(inj_hold[p]), .inj_ctl_i(inj_ctl),
        .inj_data_i(inj_data), .send_o(send), .vc_o(send_vc), .ctl_o(send_ctl), .data_o(send_data),
        .err_o(err[3*p+2]), .err_take_i(err_take[3*p+2]), .busy_o(out_busy)
    );

    router_eject #(
        .FlitBytes(FlitBytes)
    ) u_eject (
        .clk_i(unit_clk_i[InUnit+p]), .rst_ni, .head_ok_o(ej_head_ok), .body_ok_o(ej_body_ok),
        .push_i(eject[p] || (pop[p] && copy[p])), .push_class_i(ClassW'(vc_class(in_vc))),
        .push_ctl_i(in_ctl[p]), .push_data_i(in_data[p]), .ej_valid_o(ej_valid_o[p]),
        .ej_ready_i(ej_ready_i[p]), .ej_ctl_o(ej_ctl_o[p]), .ej_data_o(ej_data_o[p]), .busy_o(ej_busy)
    );

    assign perf_flit_o[p] = link_ctl_o[p].valid;
    assign perf_vc_o[p]   = {link_ctl_o[p].vc_high, link_ctl_o[p].vc};

    // Reports are taken one after the other.
    assign unit_active_o[InUnit+p]  = rx_busy || in_busy || ej_busy || err[3*p+1].valid;
    assign unit_active_o[OutUnit+p] = link_busy || out_busy || gnt[p] != '0 || credit || start || err[3*p].valid || err[3*p+2].valid;
    assign unit_active_o[InjUnit+p] = inj_busy || inj_valid_i[p];
    assign busy[p]                  = unit_active_o[InUnit+p] || unit_active_o[OutUnit+p] || inj_busy;
  end

  // ---- status -------------------------------------------------------------------------------
  router_errors #(
      .N(3 * P)
  ) u_errors (
      .clk_i(unit_clk_i[RestUnit]), .rst_ni, .err_i(err), .take_o(err_take), .err_o, .idle_o(err_idle)
  );

  always_comb begin
    stall_d = inj_stall;
    for (int unsigned i = 0; i < P; i++) stall_d = stall_d | in_stall[i];
  end
  always_ff @(posedge unit_clk_i[RestUnit] or negedge rst_ni) begin
    if (!rst_ni) begin
      stall_q <= '0;
      awake_q <= 1'b0;
    end else begin
      awake_q <= 1'b1;
      stall_q <= stall_d;
    end
  end

  assign perf_stall_o = stall_q;
  assign idle_o       = (busy | stall_q) == '0 && err_idle && awake_q;
  assign unit_active_o[TimeUnit] = !awake_q;
  assign unit_active_o[RestUnit] = !idle_o || inj_valid_i != '0;

  // Routing reads coordinates, sizes and rings; the DMA engine reads the rest.
  logic unused;
  assign unused = ^{cfg_i.dma_enable, cfg_i.drain, cfg_i.link_enable, time_i[63:BirthUnit+BirthW], time_i[BirthUnit-1:0]};
endmodule
