// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// soft_reset: DMA engine and network are reset only when nothing new may start, for HoldCycles at least, once a request, and
// with no master in the middle of a transaction: quiet, or after Limit cycles with answers missing alone. Then that master
// starts nothing, and late answers are kept from the engine, until it is quiet. A reset ends within a bound unless memory
// does not take an offer.
module soft_reset_formal #(
    parameter int unsigned HoldCycles = 4,
    parameter int unsigned Limit = 6
) (
    input logic       clk_i,
    input logic       ask_i,
    input logic [1:0] quiet_i,
    input logic [1:0] settled_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [1:0] stop, late;
  logic done, gave_up, stuck, core_rst_n, idle;
  logic request_q;                      // stays until the reset is over
  soft_reset #(.NMaster(2), .HoldCycles(HoldCycles), .Limit(Limit)) dut (
      .clk_i, .rst_ni(rst_n), .request_i(request_q), .quiet_i, .settled_i, .stop_o(stop), .late_o(late),
      .gave_up_o(gave_up), .stuck_o(stuck), .done_o(done), .core_rst_no(core_rst_n), .idle_o(idle)
  );

  logic       core_q, open_q, reset_q, gave_up_q;
  logic [1:0] quiet_q, settled_q, stop_q, late_q;
  logic [3:0] low_q;                    // cycles of this reset
  logic [4:0] wait_q;                   // cycles since the request in which memory had taken all
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      request_q <= 1'b0;
      core_q    <= 1'b0;
      quiet_q   <= '0;
      settled_q <= '0;
      stop_q    <= '0;
      late_q    <= '0;
      open_q    <= 1'b0;
      reset_q   <= 1'b0;
      gave_up_q <= 1'b0;
      low_q     <= '0;
      wait_q    <= '0;
    end else begin
      request_q <= (request_q && !done) || (ask_i && !request_q);
      core_q    <= core_rst_n;
      quiet_q   <= quiet_i;
      settled_q <= settled_i;
      stop_q    <= stop;
      late_q    <= late;
      open_q    <= open_q || core_rst_n;  // the reset of the node is over
      reset_q   <= (reset_q && !done) || (open_q && !core_rst_n);
      gave_up_q <= (gave_up_q && request_q) || gave_up;
      low_q     <= core_rst_n ? '0 : low_q + 1'b1;
      wait_q    <= (request_q && !done) ? ((&settled_i) && wait_q != '1 ? wait_q + 1'b1 : wait_q) : '0;
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeQuietIsSettled : assume ((quiet_i & ~settled_i) == '0);
    // With its gate closed a master does not start: it stays settled, and quiet.
    AssumeStaysSettled : assume ((stop_q & settled_q & ~settled_i) == '0);
    AssumeStaysQuiet : assume ((stop_q & quiet_q & ~quiet_i) == '0);
    NotInATransaction : assert (!open_q || core_rst_n || !core_q || ((&settled_q) && (&stop_q) && ((&quiet_q) || gave_up_q)));
    LateIsMissing : assert (!open_q || core_rst_n || !core_q || late == ~quiet_q);
    LateStarts : assert ((late & ~late_q) == '0 || (!core_rst_n && core_q));
    LateEnds : assert ((late_q & ~late & ~quiet_q) == '0);
    LateStops : assert ((late & ~stop) == '0);
    StoppedInReset : assert (!open_q || core_rst_n || (&stop));
    HeldLongEnough : assert (!open_q || !core_rst_n || core_q || 32'(low_q) >= HoldCycles);
    HoldEnds : assert (32'(low_q) <= HoldCycles);
    DoneOnce : assert (!done || (reset_q && core_rst_n && request_q));
    StopIsAsked : assert ((stop & ~late) == '0 || request_q);
    // While memory takes every offer.
    Bounded : assert (32'(wait_q) <= Limit + HoldCycles + 3 || stuck);
    StuckIsTold : assert (!stuck || (gave_up_q && settled_i != '1));
    IdleRuns : assert (!idle || (core_rst_n && stop == late));
    CoverDone : cover (done && late == '0);
    CoverLate : cover (done && late == 2'b01);
    CoverLateEnds : cover (idle && late_q == 2'b01 && late == '0);
    CoverStuck : cover (stuck);
    CoverWaits : cover ((&stop_q) && (&stop) && core_rst_n && quiet_i != '1);
  end
endmodule
