// One output: who holds each virtual channel, credits of the next input, and the crossbar column. The flit
// goes to link_tx, whose register is the output register.
//
// A virtual channel is held from head to tail. While the link is down the output takes every flit and
// discards it, also the rest of packets that were cut; each is reported once (ErrLinkDown), when the
// register of its report is free.
module router_output
  import gyre_pkg::*;
#(
    parameter int unsigned NDim = 3,
    parameter int unsigned PortId = 0,
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned VcDepth = 64,
    localparam int unsigned P = 2 * NDim,
    localparam int unsigned FlitW = FlitBytes * 8
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    // Link.
    input  logic                  up_i,
    input  logic                  start_i,     // all credits are back
    input  logic                  credit_i,
    input  logic [VcW-1:0]        credit_vc_i,
    // What can move, by virtual channel.
    output logic [NumVc-1:0]      head_ok_o,
    output logic [NumVc-1:0]      whole_ok_o,  // head_ok_o, and room for the longest packet
    output logic [NumVc-1:0]      body_ok_o,
    output logic [NumVc-1:0]      no_credit_o,
    // Crossbar: one-hot grant, bit PortId = injection.
    input  logic [P-1:0]          gnt_i,
    input  logic [1:0]            in_vc_i  [P],
    input  flit_ctl_t             in_ctl_i [P],
    input  logic [FlitW-1:0]      in_data_i[P],
    input  logic [1:0]            inj_vc_i,
    input  flit_ctl_t             inj_ctl_i,
    input  logic [FlitW-1:0]      inj_data_i,
    // To the link.
    output logic                  send_o,
    output logic [1:0]            vc_o,
    output flit_ctl_t             ctl_o,
    output logic [FlitW-1:0]      data_o,
    // Error, held until taken.
    output error_t                err_o,
    input  logic                  err_take_i,
    output logic                  busy_o
);
  localparam int unsigned CreditW = $clog2(VcDepth + 1);
  localparam bit          Deposit = deposit_fits(FlitBytes, VcDepth);
  localparam logic [CreditW-1:0] Whole = Deposit ? CreditW'(MaxPacketBytes / FlitBytes) : '1;

  logic [NumVc-1:0][CreditW-1:0] credits_q;
  logic [NumVc-1:0]              no_credit_q;
  logic [NumVc-1:0]              whole_q;   // credits for the longest packet
  logic [NumVc-1:0]              held_q;
  logic [NumVc-1:0]              drop_q;    // rest of the packet in this virtual channel is discarded
  logic [NumVc-1:0]              report_q;  // and was not reported yet
  error_t                        err_q;
  logic                          drop;      // the flit granted is discarded
  logic [1:0]                    credit_vc;
  logic [VcW-3:0]                unused_credit_vc;  // the other end has NumVc virtual channels as well

  assign {unused_credit_vc, credit_vc} = credit_vc_i;
  assign err_o       = err_q;
  assign busy_o      = err_q.valid || (!up_i && ((held_q & ~drop_q) | no_credit_q) != '0);
  assign no_credit_o = no_credit_q;
  assign whole_ok_o  = up_i ? head_ok_o & whole_q : head_ok_o;

  always_comb begin
    if (up_i) begin
      head_ok_o = ~(held_q | no_credit_q);
      body_ok_o = ~no_credit_q;
      if (drop_q != '0) body_ok_o = err_q.valid ? body_ok_o & ~drop_q : body_ok_o | drop_q;
    end else begin
      head_ok_o = err_q.valid ? '0 : ~held_q;
      body_ok_o = err_q.valid ? '0 : '1;
    end
  end

  always_comb begin
    vc_o   = '0;
    ctl_o  = '0;
    data_o = '0;
    drop   = 1'b0;
    send_o = 1'b0;
    if (gnt_i != '0) begin
      for (int unsigned i = 0; i < P; i++) begin
        if (gnt_i[i]) begin
          vc_o   = vc_o | ((i == PortId) ? inj_vc_i : in_vc_i[i]);
          ctl_o  = ctl_o | ((i == PortId) ? inj_ctl_i : in_ctl_i[i]);
          data_o = data_o | ((i == PortId) ? inj_data_i : in_data_i[i]);
        end
      end
      drop   = !up_i || drop_q[vc_o];
      send_o = !drop;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      credits_q   <= {NumVc{CreditW'(VcDepth)}};
      no_credit_q <= '0;
      whole_q     <= '1;
      held_q      <= '0;
      drop_q      <= '0;
      report_q    <= '0;
      err_q       <= '0;
    end else begin
      if (!up_i) begin
        if (start_i) credits_q <= {NumVc{CreditW'(VcDepth)}};
        if (start_i) whole_q   <= '1;
        if (no_credit_q != '0) no_credit_q <= '0;
      end else if (!(send_o && credit_i && vc_o == credit_vc)) begin
        if (send_o) begin
          credits_q[vc_o]   <= credits_q[vc_o] - 1'b1;
          no_credit_q[vc_o] <= credits_q[vc_o] == CreditW'(1);
          whole_q[vc_o]     <= credits_q[vc_o] > Whole;
        end
        if (credit_i) begin
          credits_q[credit_vc]   <= credits_q[credit_vc] + 1'b1;
          no_credit_q[credit_vc] <= 1'b0;
          whole_q[credit_vc]     <= credits_q[credit_vc] + 1'b1 >= Whole;
        end
      end

      // Packets cut by the link going down are reported with their tail, for want of the head.
      if (!up_i && (held_q & ~drop_q) != '0) begin
        drop_q   <= drop_q | held_q;
        report_q <= report_q | (held_q & ~drop_q);
      end
      if (err_take_i) err_q <= '0;
      if (gnt_i != '0) begin
        held_q[vc_o] <= !ctl_o.tail;
        if (drop) begin
          drop_q[vc_o]   <= !ctl_o.tail;
          if (ctl_o.tail) report_q[vc_o] <= 1'b0;
          if (ctl_o.head || (ctl_o.tail && (report_q[vc_o] || !drop_q[vc_o]))) begin
            err_q <= '{valid: 1'b1, reason: ErrLinkDown, where: 10'(PortId),
                       info: ctl_o.head ? data_o[63:0] : '0};
          end
        end
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && gnt_i != '0) begin
      GrantOneHot : assert ($onehot(gnt_i))
      else $fatal(1, "%m: two inputs granted");
      HeadFree : assert (ctl_o.head == !held_q[vc_o])
      else $fatal(1, "%m: packets mixed in a virtual channel");
      HasCredit : assert (!send_o || !no_credit_q[vc_o])
      else $fatal(1, "%m: flit sent without credit");
    end
    if (rst_ni && credit_i) begin
      CreditBound : assert (credits_q[credit_vc] != CreditW'(VcDepth))
      else $fatal(1, "%m: more credits than buffer");
    end
  end
`endif
endmodule
