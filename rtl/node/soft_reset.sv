// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Reset of DMA engine and network by software, without leaving half a memory transaction behind: first
// no new transaction starts, then transactions under way end, then the reset is held for HoldCycles.
// Bounded: after Limit cycles the answers that memory still owes are given up and the reset proceeds. `late_o` marks
// masters whose late answers are to be dropped; they start nothing until these have come, so no answer is taken for that of
// a later transaction. The reset keeps waiting (`stuck_o`) only while memory has not taken an offer, which may not be
// withdrawn.
module soft_reset #(
    parameter int unsigned NMaster = 1,
    parameter int unsigned HoldCycles = 8,
    parameter int unsigned Limit = 2048
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               request_i,   // reset wanted; stays until done_o
    input  logic [NMaster-1:0] quiet_i,     // no memory transaction is under way
    input  logic [NMaster-1:0] settled_i,   // only answers are missing
    output logic [NMaster-1:0] stop_o,      // start no memory transaction
    output logic [NMaster-1:0] late_o,      // answers belong to transactions from before the reset
    output logic               gave_up_o,   // one-cycle pulse: Limit is reached
    output logic               stuck_o,     // waits beyond Limit
    output logic               done_o,      // one-cycle pulse: the reset is over
    output logic               core_rst_no, // reset of DMA engine and network
    output logic               idle_o
);
  localparam int unsigned CountW = $clog2(Limit + 1);

  typedef enum logic [1:0] {
    Run,
    Quiesce,
    Hold,
    Release
  } state_e;

  state_e             state_q;
  logic [CountW-1:0]  count_q;
  logic [NMaster-1:0] late_q;
  logic               core_rst_nq; // used as a reset only
  logic               started_q;   // the reset of the node has reached DMA engine and network
  logic               over, go;

  assign over        = state_q == Quiesce && count_q == CountW'(Limit);
  assign go          = (&quiet_i) || (over && (&settled_i));
  assign core_rst_no = core_rst_nq;
  assign stop_o      = (state_q != Run) ? '1 : late_q;
  assign late_o      = late_q;
  assign gave_up_o   = state_q == Quiesce && count_q == CountW'(Limit - 1) && !(&quiet_i);
  assign stuck_o     = over && !go;
  assign done_o      = state_q == Release;
  assign idle_o      = state_q == Run && started_q && (late_q & quiet_i) == '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q     <= Run;
      count_q     <= '0;
      late_q      <= '0;
      core_rst_nq <= 1'b0;
      started_q   <= 1'b0;
    end else begin
      late_q <= late_q & ~quiet_i;
      unique case (state_q)
        Run: begin
          core_rst_nq <= 1'b1;
          started_q   <= 1'b1;
          count_q     <= '0;
          if (request_i) state_q <= Quiesce;
        end
        Quiesce: begin
          if (!over) count_q <= count_q + 1'b1;
          if (go) begin
            state_q     <= Hold;
            count_q     <= CountW'(HoldCycles - 1);
            late_q      <= ~quiet_i;
            core_rst_nq <= 1'b0;
          end
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

  if (HoldCycles < 4 || Limit <= HoldCycles) begin : gen_bad_hold
    $error("soft_reset: HoldCycles must be 4 or more, and less than Limit");
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && state_q != Run) begin
      RequestStays : assert (request_i)
      else $fatal(1, "%m: request gone before the reset is over");
      ResetWhileHeld : assert (core_rst_nq == (state_q != Hold))
      else $fatal(1, "%m: reset outside its time, or cut short");
    end
    if (rst_ni && started_q && !core_rst_nq) begin
      OnlyAnswersMissing : assert ((~quiet_i & ~late_q) == '0 && (&settled_i))
      else $fatal(1, "%m: reset in the middle of a memory transaction");
    end
  end
`endif
endmodule
