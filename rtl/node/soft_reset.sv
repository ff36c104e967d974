// Reset of DMA engine and network by software, without leaving half a memory transaction behind: first
// no new transaction starts, then those under way end, then the reset is held for HoldCycles.
module soft_reset #(
    parameter int unsigned HoldCycles = 8
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic request_i,   // reset wanted; stays until done_o
    input  logic quiet_i,     // no memory transaction is under way
    output logic stop_o,      // start no memory transaction
    output logic done_o,      // one-cycle pulse: the reset is over
    output logic core_rst_no, // reset of DMA engine and network
    output logic idle_o
);
  localparam int unsigned CountW = $clog2(HoldCycles);

  typedef enum logic [1:0] {
    Run,
    Quiesce,
    Hold,
    Release
  } state_e;

  state_e            state_q;
  logic [CountW-1:0] count_q;
  logic              core_rst_nq; // used as a reset only
  logic              started_q;   // the reset of the node has reached DMA engine and network

  assign core_rst_no = core_rst_nq;
  assign stop_o      = state_q != Run;
  assign done_o      = state_q == Release;
  assign idle_o      = state_q == Run && started_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q     <= Run;
      count_q     <= '0;
      core_rst_nq <= 1'b0;
      started_q   <= 1'b0;
    end else begin
      unique case (state_q)
        Run: begin
          core_rst_nq <= 1'b1;
          started_q   <= 1'b1;
          if (request_i) state_q <= Quiesce;
        end
        Quiesce: if (quiet_i) begin
          state_q     <= Hold;
          count_q     <= CountW'(HoldCycles - 1);
          core_rst_nq <= 1'b0;
        end
        Hold: begin
          if (count_q != '0) count_q <= count_q - 1'b1;
          else begin
            state_q     <= Release;
            core_rst_nq <= 1'b1;
          end
        end
        Release: state_q <= Run;
        default: state_q <= Run;
      endcase
    end
  end

  if (HoldCycles < 4) begin : gen_bad_hold
    $error("soft_reset: HoldCycles must be 4 or more");
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && state_q != Run) begin
      RequestStays : assert (request_i)
      else $fatal(1, "%m: request gone before the reset is over");
      ResetWhileHeld : assert (core_rst_nq == (state_q != Hold))
      else $fatal(1, "%m: reset outside its time, or cut short");
    end
  end
`endif
endmodule
