// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// One tree link as an output: room at the other end for each class route, and discarding of packets while the
// link is down. A packet is started only when there is room for the longest one, so that it never waits on its
// way; room is taken when a flit leaves its input (`take_i`), cycles before it reaches the link (`valid_i`).
//
// A packet that finds the link down is not sent; the rest of a packet that is cut is discarded. Each is
// reported once (ErrLinkDown, `info` = route). A credit for a route whose buffer is empty is ignored (`fault_o`).
module coll_output
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned Depth = 64,            // flits a route at the other end
    parameter int unsigned PortId = 0             // tree port
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    // Link.
    input  logic                  up_i,
    input  logic                  open_i,         // all credits are back
    input  logic                  credit_i,
    input  logic [3:0]            credit_route_i,
    output logic                  fault_o,        // more credits than buffer
    // Selection.
    output logic [CollRoutes-1:0] ok_o,           // a packet may be started
    input  logic                  start_i,        // one is started for this output
    input  logic [3:0]            start_route_i,
    // A flit of it leaves its input; the tail may be discarded here as well.
    input  logic                  take_i,
    input  logic [3:0]            take_route_i,
    input  logic                  take_tail_i,
    // A flit of it is here.
    input  logic                  valid_i,
    input  logic [3:0]            route_i,
    input  logic                  head_i,
    input  logic                  tail_i,
    output logic                  send_o,
    // Error, held until taken.
    output error_t                err_o,
    input  logic                  err_take_i,
    output logic                  busy_o       // a register will change, reports aside
);
  localparam int unsigned CreditW = $clog2(Depth + 1);
  localparam logic [CreditW-1:0] Longest = CreditW'(MaxPacketBytes / FlitBytes);

  logic [CollRoutes-1:0][CreditW-1:0] credits_q;
  logic [CollRoutes-1:0]              whole_q;    // credits for the longest packet
  logic                               live_q;     // a started packet has flits at its inputs, and the link was up
  logic                               sending_q;  // a packet is open on the link
  logic                               cut_q;      // the rest of the packet on its way to the link is discarded
  logic [3:0]                         route_q;    // of the packet on its way to the link
  error_t                             err_q;
  logic                               take, cut;
  logic                               credit;     // one for a flit that is there

  assign take   = take_i && live_q && up_i;
  assign credit  = credit_i && credits_q[credit_route_i] != CreditW'(Depth);
  assign fault_o = credit_i && !credit;
  assign cut    = !head_i && cut_q;
  assign send_o = valid_i && up_i && !cut;
  assign err_o  = err_q;
  assign busy_o = !up_i && (live_q || sending_q || whole_q != '1);

  // The next packet may be started while the last flit of the one before leaves.
  always_comb begin
    ok_o = up_i ? whole_q : {CollRoutes{!err_q.valid}};
    if (take && credits_q[take_route_i] == Longest) ok_o[take_route_i] = 1'b0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      credits_q <= {CollRoutes{CreditW'(Depth)}};
      whole_q   <= '1;
    end else if (!up_i) begin
      if (open_i) credits_q <= {CollRoutes{CreditW'(Depth)}};
      if (whole_q != '1) whole_q <= '1;
    end else if (!(take && credit && take_route_i == credit_route_i)) begin
      if (take) begin
        credits_q[take_route_i] <= credits_q[take_route_i] - 1'b1;
        whole_q[take_route_i]   <= credits_q[take_route_i] > Longest;
      end
      if (credit) begin
        credits_q[credit_route_i] <= credits_q[credit_route_i] + 1'b1;
        whole_q[credit_route_i]   <= credits_q[credit_route_i] + 1'b1 >= Longest;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q    <= 1'b0;
      sending_q <= 1'b0;
      cut_q     <= 1'b0;
      err_q     <= '0;
    end else begin
      // At the inputs. A tail and the start of the next packet may come at once.
      if (start_i) live_q <= up_i;
      else if (!up_i || (take_i && take_tail_i)) live_q <= 1'b0;
      if (err_take_i) err_q <= '0;
      if (!up_i && (start_i || sending_q || (valid_i && head_i))) begin
        err_q <= '{
            valid: 1'b1,
            reason: ErrLinkDown,
            where: 10'(CollPortId + PortId),
            info: {60'b0, start_i ? start_route_i : sending_q ? route_q : route_i}
        };
      end
      // At the link.
      if (valid_i) begin
        sending_q <= up_i && !cut && !tail_i;
        cut_q     <= (!up_i || cut) && !tail_i;
      end else if (!up_i && sending_q) begin
        sending_q <= 1'b0;
        cut_q     <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i && head_i) route_q <= route_i;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && start_i) begin
      Room : assert (ok_o[start_route_i])
      else $fatal(1, "%m: packet started without room");
    end
    if (rst_ni && take) begin
      HasCredit : assert (credits_q[take_route_i] != '0)
      else $fatal(1, "%m: flit without credit");
    end
    if (rst_ni && send_o) begin
      Framed : assert (head_i == !sending_q)
      else $fatal(1, "%m: packets mixed on the link");
    end
  end
`endif
endmodule
