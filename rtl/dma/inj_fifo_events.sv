// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Events of the injection FIFOs for the rest of the node (HW-1), registered: descriptors completed, errors with
// the FIFO and the address of the descriptor at fault, and moves of remote-get rings.
module inj_fifo_events
  import gyre_pkg::*;
#(
    parameter int unsigned NInj = 32
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic [NInj-1:0]      done_i,      // a descriptor of this FIFO completed, and it wants the event
    input  logic                 err_valid_i, // a FIFO halts
    input  err_e                 err_i,
    input  logic [MaxFifoId-1:0] err_fifo_i,
    input  logic [AddrW-1:0]     err_addr_i,  // of the descriptor
    input  logic                 moved_i,     // a remote-get ring may have room, or its state changed
    // one-cycle pulses
    output logic [NInj-1:0]      done_o,
    output error_t               err_o,
    output logic                 moved_o,
    output logic                 idle_o
);
  logic [NInj-1:0] done_q;
  error_t          err_q;
  logic            moved_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      done_q  <= '0;
      err_q   <= '0;
      moved_q <= 1'b0;
    end else begin
      moved_q <= moved_i;
      if ((done_i | done_q) != '0) done_q <= done_i;
      if (err_valid_i) err_q <= '{valid: 1'b1, reason: err_i, where: err_fifo_i, info: 64'(err_addr_i)};
      else if (err_q.valid) err_q.valid <= 1'b0;
    end
  end

  assign done_o  = done_q;
  assign err_o   = err_q;
  assign moved_o = moved_q;
  assign idle_o  = done_q == '0 && !err_q.valid && !moved_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && done_i != '0) begin
      OneDone : assert ($onehot0(done_i))
      else $fatal(1, "%m: two FIFOs completed a descriptor in one cycle");
    end
    if (rst_ni && err_valid_i) begin
      HasReason : assert (err_i != ErrNone && 32'(err_fifo_i) < NInj)
      else $fatal(1, "%m: error without a reason, or of no FIFO");
    end
  end
`endif
endmodule
