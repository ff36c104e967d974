// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Registers of a node: decodes the register bus into the generated block (gyre_csr), wake-up unit, collective
// network, refused packets, performance counters and the group pages of the DMA engine; error log and interrupts.
// An access to a group page waits while the DMA engine is being reset, and is refused where that reset is stuck.
module node_csr
  import gyre_pkg::*;
#(
    parameter int unsigned NDim = 3,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned NInj = 32,
    parameter int unsigned NRec = 16,
    parameter int unsigned NSlot = 32,
    parameter int unsigned NAxi = 2,
    parameter int unsigned AxiBytes = 64,
    localparam int unsigned NGroup = 1,   // group pages present
    localparam int unsigned P = 2 * NDim
) (
    input  logic                  clk_i,             // of registers and interrupts, needed while active_o
    input  logic                  access_clk_i,      // of answers, needed in requests, the cycle before, while answer_o
    input  logic                  net_clk_i,         // clocks of the counted signals: see perf_counters
    input  logic                  coll_clk_i,
    input  logic                  dma_clk_i,
    input  logic                  rst_ni,
    input  logic [63:0]           time_i,
    // register bus, from axil_arbiter
    input  logic                  reg_req_i,
    input  logic                  reg_we_i,
    input  logic [23:0]           reg_addr_i,
    input  logic [63:0]           reg_wdata_i,
    output logic                  reg_ack_o,
    output logic                  reg_err_o,
    output logic [63:0]           reg_rdata_o,
    // group pages, to the DMA engine
    output logic                  page_req_o,
    output logic                  page_we_o,
    output logic [19:0]           page_addr_o,
    output logic [63:0]           page_wdata_o,
    input  logic                  page_ack_i,
    input  logic                  page_err_i,
    input  logic [63:0]           page_rdata_i,
    // configuration and state
    output node_cfg_t             cfg_o,
    output coll_cfg_t             coll_cfg_o,
    output logic                  soft_reset_o,      // reset of DMA engine and network wanted, until ...
    input  logic                  soft_reset_done_i, // ... this pulse
    input  logic                  memory_owes_i,
    input  logic                  reset_stuck_i,
    input  logic                  reset_gave_up_i,   // one-cycle pulse
    input  logic                  idle_i,            // DMA engine and network are idle
    input  logic                  dma_idle_i,
    input  logic                  drained_i,
    input  link_ctl_e             link_state_i [P],
    input  link_ctl_e             coll_link_state_i [CollPorts],
    // events, one-cycle pulses
    input  error_t                dma_err_i,
    input  error_t                net_err_i,
    input  error_t                coll_err_i,
    input  logic [63:0]           event_i,
    input  logic                  irq_threshold_i,
    input  logic                  irq_descriptor_i,
    input  logic [P-1:0]          perf_flit_i,
    input  logic [P-1:0][VcW-1:0] perf_vc_i,
    input  logic [P-1:0]          perf_stall_i,
    input  logic [CollPorts-1:0]  perf_coll_i,
    input  logic [7:0]            pkt_tx_i,
    input  logic [7:0]            pkt_rx_i,
    // barriers, one-cycle pulses
    output logic [CollRoutes-1:0] bar_enter_o,
    input  logic [CollRoutes-1:0] bar_done_i,
    output logic                  irq_o,
    output logic [15:0]           wake_o,
    output logic                  active_o,
    output logic                  answer_o,          // an answer is made or given
    output logic                  idle_o             // no event and no access is on its way into a register
);
  localparam int unsigned EventCounter = 48;
  localparam int unsigned EventBarrier = 49;
  localparam int unsigned EventError   = 63;

  // ---- decode -------------------------------------------------------------------------------
  logic sel_page, sel_regs, sel_wake, sel_coll, sel_refused, sel_perf;
  assign sel_page = reg_addr_i[23:20] == 4'h1;
  assign sel_regs = reg_addr_i[23:8] == '0;
  assign sel_wake = reg_addr_i[23:8] == 16'h0001;
  assign sel_coll = reg_addr_i[23:9] == 15'h0001;
  assign sel_refused = reg_addr_i[23:9] == 15'h0002;
  assign sel_perf = reg_addr_i[23:12] == 12'h001;

  // Word numbers as in gyre.rdl.
  localparam logic [4:0] WordErrStatus = 5'h0c;
  localparam logic [4:0] WordErrSet    = 5'h0f;

  logic local_req, csr_req, wake_req, rearm, err_set;
  assign local_req = reg_req_i && !sel_page;
  assign csr_req   = reg_req_i && sel_regs;
  assign wake_req  = reg_req_i && sel_wake;
  assign rearm     = csr_req && reg_we_i && reg_addr_i[7:3] == WordErrStatus && reg_wdata_i[31];
  assign err_set   = csr_req && reg_we_i && reg_addr_i[7:3] == WordErrSet;

  // ---- generated block ------------------------------------------------------------------------
  // Its outputs are registers: logic on them does not wait for accesses.
  gyre_csr_pkg::node_regs__in_t  hw_in;
  gyre_csr_pkg::node_regs__out_t hw_out;
  logic        csr_rd_err, csr_wr_err, csr_err;
  logic [63:0] csr_rdata;
  logic        unused_rd_ack, unused_wr_ack, unused_stall_rd, unused_stall_wr;

  gyre_csr u_regs (
      .clk(clk_i), .arst_n(rst_ni),
      .s_cpuif_req(csr_req), .s_cpuif_req_is_wr(reg_we_i), .s_cpuif_addr(reg_addr_i[7:0]),
      .s_cpuif_wr_data(reg_wdata_i), .s_cpuif_wr_biten('1),
      .s_cpuif_req_stall_wr(unused_stall_wr), .s_cpuif_req_stall_rd(unused_stall_rd),
      .s_cpuif_rd_ack(unused_rd_ack), .s_cpuif_rd_err(csr_rd_err), .s_cpuif_rd_data(csr_rdata),
      .s_cpuif_wr_ack(unused_wr_ack), .s_cpuif_wr_err(csr_wr_err),
      .hwif_in(hw_in), .hwif_out(hw_out)
  );
  assign csr_err = reg_we_i ? csr_wr_err : csr_rd_err;

  assign hw_in.params.ndim.next       = 4'(NDim);
  assign hw_in.params.flit_bytes.next = 8'(FlitBytes);
  assign hw_in.params.ninj.next       = 10'(NInj);
  assign hw_in.params.nrec.next       = 10'(NRec);
  assign hw_in.params.nslot.next      = 10'(NSlot);
  assign hw_in.params.naxi.next       = 4'(NAxi);
  assign hw_in.params.groups.next     = 5'(NGroup);
  assign hw_in.params.axi_bytes.next  = 8'(AxiBytes);
  assign hw_in.ctrl.soft_reset.hwclr  = soft_reset_done_i;
  // In registers, since they depend on all of the node and are read seldom: the first cycle of an access takes them.
  logic [4:0] status_q;
  always_ff @(posedge access_clk_i or negedge rst_ni) begin
    if (!rst_ni) status_q <= '0;
    else status_q <= {idle_i, dma_idle_i, drained_i, memory_owes_i, reset_stuck_i};
  end
  assign {hw_in.status.idle.next, hw_in.status.dma_idle.next, hw_in.status.drained.next,
          hw_in.status.memory_owes.next, hw_in.status.reset_stuck.next} = status_q;

  assign soft_reset_o      = hw_out.ctrl.soft_reset.value;
  assign cfg_o.dma_enable  = hw_out.ctrl.dma_enable.value;
  assign cfg_o.drain       = hw_out.ctrl.drain.value;
  assign cfg_o.ring        = hw_out.ring.ring.value;
  assign cfg_o.link_enable = hw_out.link_enable.enable.value;
  assign cfg_o.dim_order = {hw_out.dim_order.d4.value, hw_out.dim_order.d3.value, hw_out.dim_order.d2.value,
                            hw_out.dim_order.d1.value, hw_out.dim_order.d0.value};
  // A dimension that the node lacks has one coordinate, whatever the registers hold: no route leads there.
  localparam int unsigned SizeW = CoordW + 1;
  localparam logic [MaxDim*CoordW-1:0] CoordPresent = (MaxDim * CoordW)'((64'd1 << (NDim * CoordW)) - 64'd1);
  localparam logic [MaxDim*SizeW-1:0]  SizePresent  = (MaxDim * SizeW)'((64'd1 << (NDim * SizeW)) - 64'd1);
  localparam logic [MaxDim*SizeW-1:0]  SizeAbsent   = {MaxDim{SizeW'(1)}} & ~SizePresent;
  assign cfg_o.coord = {hw_out.coord.c4.value, hw_out.coord.c3.value, hw_out.coord.c2.value,
                        hw_out.coord.c1.value, hw_out.coord.c0.value} & CoordPresent;
  assign cfg_o.size  = ({hw_out.size.s4.value, hw_out.size.s3.value, hw_out.size.s2.value,
                         hw_out.size.s1.value, hw_out.size.s0.value} & SizePresent) | SizeAbsent;

  // ---- collective network -----------------------------------------------------------------------
  logic [63:0] coll_rdata;
  logic        coll_reg_err, coll_idle;
  coll_csr u_coll (
      .clk_i, .rst_ni,
      .req_i(reg_req_i && sel_coll), .we_i(reg_we_i), .addr_i(reg_addr_i[8:0]), .wdata_i(reg_wdata_i),
      .rdata_o(coll_rdata), .err_o(coll_reg_err),
      .cfg_o(coll_cfg_o), .link_state_i(coll_link_state_i), .bar_enter_o, .bar_done_i, .idle_o(coll_idle)
  );

  // ---- links ------------------------------------------------------------------------------------
  localparam int unsigned StateW = 20 + 2 * CollPorts;   // torus, tree
  logic [StateW-1:0] link_state, link_state_q;
  logic              link_change;
  for (genvar p = 0; p < MaxPorts; p++) begin : gen_link
    assign link_state[2*p+:2] = (p < P) ? link_state_i[p%P] : 2'd0;
  end
  for (genvar p = 0; p < CollPorts; p++) begin : gen_tree_link
    assign link_state[20+2*p+:2] = coll_link_state_i[p];
  end
  assign link_change = link_state != link_state_q;
  assign hw_in.link_status.state.next = link_state_q[19:0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) link_state_q <= '0;
    else if (link_change) link_state_q <= link_state;
  end

  // ---- errors -----------------------------------------------------------------------------------
  error_t errors [5];
  logic   err_set_q, err_raised;

  // Inputs of the generated block, a cycle later, so that its logic waits for no other unit.
  typedef struct packed {
    logic raised;
    logic threshold;
    logic descriptor;
    logic counter;
    logic link;
  } pulse_t;
  pulse_t pulse_d, pulse_q;
  assign pulse_d = '{
      raised: err_raised, threshold: irq_threshold_i, descriptor: irq_descriptor_i, counter: event_i[EventCounter],
      link: link_change};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pulse_q <= '0;
    else if (pulse_d != '0 || pulse_q != '0) pulse_q <= pulse_d;
  end

  // ERR_SET holds the written value from the cycle after the write.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) err_set_q <= 1'b0;
    else if (err_set || err_set_q) err_set_q <= err_set;
  end
  assign errors[0] = dma_err_i;
  assign errors[1] = net_err_i;
  assign errors[2] = coll_err_i;
  assign errors[3] = '{
      valid: err_set_q, reason: err_e'(hw_out.err_set.reason.value),
      where: hw_out.err_set.where.value, info: '0};

  assign errors[4] = '{valid: reset_gave_up_i, reason: ErrResetMemory, where: '0, info: '0};

  error_log #(.NSource(5)) u_error_log (
      .clk_i, .rst_ni,
      .err_i(errors), .time_i,
      .valid_i(hw_out.err_status.valid.value || pulse_q.raised), .rearm_i(rearm),
      .raised_o(err_raised),
      .reason_o(hw_in.err_status.reason.next), .where_o(hw_in.err_status.where.next),
      .info_o(hw_in.err_info.info.next), .cycle_o(hw_in.err_time.cycle.next),
      .count_o(hw_in.err_status.count.next)
  );
  assign hw_in.err_status.valid.hwset = pulse_q.raised;

`ifndef SYNTHESIS
  // Software may set any error.
  always_ff @(posedge clk_i) begin
    if (rst_ni && (dma_err_i.valid || net_err_i.valid || coll_err_i.valid)) begin
      HasReason : assert ((!dma_err_i.valid || dma_err_i.reason != ErrNone) &&
                          (!net_err_i.valid || net_err_i.reason != ErrNone) &&
                          (!coll_err_i.valid || coll_err_i.reason != ErrNone))
      else $fatal(1, "%m: an error of the hardware without a reason");
    end
  end
`endif

  logic [63:0] refused_rdata;
  logic        refused_err;
  refusal_log u_refused (
      .clk_i, .rst_ni, .err_i(dma_err_i),
      .req_i(reg_req_i && sel_refused), .we_i(reg_we_i), .addr_i(reg_addr_i[8:0]), .wdata_i(reg_wdata_i),
      .rdata_o(refused_rdata), .err_o(refused_err)
  );

  // ---- interrupts and wake-up -------------------------------------------------------------------
  assign hw_in.int_cause.error.next      = pulse_q.raised;
  assign hw_in.int_cause.threshold.next  = pulse_q.threshold;
  assign hw_in.int_cause.descriptor.next = pulse_q.descriptor;
  assign hw_in.int_cause.counter.next    = pulse_q.counter;
  assign hw_in.int_cause.link.next       = pulse_q.link;
  assign irq_o = hw_out.int_cause.intr;

  logic [63:0] events, wake_rdata;
  always_comb begin
    events = event_i;
    events[EventBarrier] = bar_done_i != '0;
    events[EventError] = err_raised; // every error, the network's included
  end

  wakeup_unit u_wakeup (
      .clk_i, .rst_ni,
      .event_i(events),
      .req_i(wake_req), .we_i(reg_we_i), .addr_i(reg_addr_i[7:0]), .wdata_i(reg_wdata_i),
      .rdata_o(wake_rdata), .wake_o
  );

  // ---- performance counters ---------------------------------------------------------------------
  logic [63:0] perf_rdata;
  logic        perf_mapped;
  perf_counters #(.NDim(NDim)) u_perf (
      .net_clk_i, .coll_clk_i, .dma_clk_i, .rst_ni,
      .flit_i(perf_flit_i), .vc_i(perf_vc_i), .stall_i(perf_stall_i), .coll_i(perf_coll_i),
      .sent_i(pkt_tx_i), .received_i(pkt_rx_i),
      .req_i(reg_req_i && sel_perf), .addr_i(reg_addr_i[11:0]), .rdata_o(perf_rdata), .mapped_o(perf_mapped)
  );

  // ---- group pages ------------------------------------------------------------------------------
  logic page_waits_q, page_now, page_refused;
  assign page_now     = reg_req_i && sel_page;
  assign page_req_o   = (page_now || page_waits_q) && !soft_reset_o;
  assign page_refused = (page_now || page_waits_q) && soft_reset_o && reset_stuck_i;
  assign page_we_o    = reg_we_i;
  assign page_addr_o  = reg_addr_i[19:0];
  assign page_wdata_o = reg_wdata_i;

  always_ff @(posedge access_clk_i or negedge rst_ni) begin
    if (!rst_ni) page_waits_q <= 1'b0;
    else if (page_now || page_waits_q) page_waits_q <= soft_reset_o && !page_refused;
  end

  // ---- answer -----------------------------------------------------------------------------------
  logic        ack_q, err_q;
  logic [63:0] rdata_q;
  assign reg_ack_o   = ack_q;
  assign reg_err_o   = err_q;
  assign reg_rdata_o = rdata_q;

  always_ff @(posedge access_clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ack_q   <= 1'b0;
      err_q   <= 1'b0;
      rdata_q <= '0;
    end else begin
      if (local_req || page_ack_i || page_refused || ack_q) ack_q <= local_req || page_ack_i || page_refused;
      if (page_ack_i) begin
        err_q   <= page_err_i;
        rdata_q <= page_rdata_i;
      end else if (page_refused) begin
        err_q   <= 1'b1;
        rdata_q <= '0;
      end else if (local_req) begin
        unique case (1'b1)
          sel_regs: begin
            err_q   <= csr_err;
            rdata_q <= csr_rdata;
          end
          sel_wake: begin
            err_q   <= 1'b0;
            rdata_q <= wake_rdata;
          end
          sel_coll: begin
            err_q   <= coll_reg_err;
            rdata_q <= coll_rdata;
          end
          sel_refused: begin
            err_q   <= refused_err;
            rdata_q <= refused_rdata;
          end
          sel_perf: begin
            err_q   <= reg_we_i || !perf_mapped;
            rdata_q <= perf_rdata;
          end
          default: begin
            err_q   <= 1'b1;
            rdata_q <= '0;
          end
        endcase
      end
    end
  end

  assign active_o = pulse_d != '0 || pulse_q != '0 || err_set_q || local_req || events != '0 || !coll_idle ||
                    soft_reset_o;
  assign answer_o = page_waits_q || page_ack_i || ack_q;
  assign idle_o   = !active_o && !answer_o && (perf_flit_i | perf_stall_i) == '0 &&
                    (pkt_tx_i | pkt_rx_i) == '0 && perf_coll_i == '0;

  logic unused;
  assign unused = ^{unused_rd_ack, unused_wr_ack, unused_stall_rd, unused_stall_wr, event_i[EventError],
                    event_i[EventBarrier]};
endmodule
