// soft_reset: DMA engine and network are reset only when memory is quiet and nothing new may start, for HoldCycles at
// least, once a request; the end is told when the reset is over.
module soft_reset_formal #(
    parameter int unsigned HoldCycles = 5
) (
    input logic clk_i,
    input logic ask_i,
    input logic quiet_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic stop, done, core_rst_n, idle;
  logic request_q;                      // stays until the reset is over
  soft_reset #(.HoldCycles(HoldCycles)) dut (
      .clk_i, .rst_ni(rst_n), .request_i(request_q), .quiet_i, .stop_o(stop), .done_o(done), .core_rst_no(core_rst_n),
      .idle_o(idle)
  );

  logic       core_q, quiet_q, stop_q, open_q, reset_q;
  logic [3:0] low_q;                    // cycles of this reset
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      request_q <= 1'b0;
      core_q    <= 1'b0;
      quiet_q   <= 1'b0;
      stop_q    <= 1'b0;
      open_q    <= 1'b0;
      reset_q   <= 1'b0;
      low_q     <= '0;
    end else begin
      request_q <= (request_q && !done) || (ask_i && !request_q);
      core_q    <= core_rst_n;
      quiet_q   <= quiet_i;
      stop_q    <= stop;
      open_q    <= open_q || core_rst_n;  // the reset of the node is over
      reset_q   <= (reset_q && !done) || (open_q && !core_rst_n);
      low_q     <= core_rst_n ? '0 : low_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    OnlyWhenQuiet : assert (!open_q || core_rst_n || !core_q || (quiet_q && stop_q));
    StoppedInReset : assert (!open_q || core_rst_n || stop);
    HeldLongEnough : assert (!open_q || !core_rst_n || core_q || 32'(low_q) >= HoldCycles);
    HoldEnds : assert (32'(low_q) <= HoldCycles);
    DoneOnce : assert (!done || (reset_q && core_rst_n && request_q));
    StopIsAsked : assert (!stop || request_q);
    IdleRuns : assert (!idle || (core_rst_n && !stop));
    CoverDone : cover (done);
    CoverWaits : cover (stop_q && stop && core_rst_n && !quiet_i);
  end
endmodule
