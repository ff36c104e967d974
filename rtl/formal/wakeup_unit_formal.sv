// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// wakeup_unit: an event that the mask of a group lets through wakes that group until software clears its cause; none is
// lost, also in the cycle of the clearing, and a group wakes for nothing else.
module wakeup_unit_formal (
    input logic        clk_i,
    input logic [3:0]  who_i,
    input logic [5:0]  which_i,
    input logic [63:0] event_i,
    input logic        req_i,
    input logic        we_i,
    input logic [7:0]  addr_i,
    input logic [63:0] wdata_i
);
  localparam int unsigned NGroup = 16;
  localparam logic [63:0] Events = {1'b1, 13'd0, 2'b11, 48'hffff_ffff_ffff};

  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [63:0]       rdata;
  logic [NGroup-1:0] wake;
  wakeup_unit #(.NGroup(NGroup)) dut (
      .clk_i, .rst_ni(rst_n), .event_i, .req_i, .we_i, .addr_i, .wdata_i, .rdata_o(rdata), .wake_o(wake)
  );

  // One event of one group, chosen freely: its mask, and whether it came and was not cleared.
  logic [3:0]  who_q;
  logic [5:0]  which_q;
  logic        mask_q, owed_q, write;
  assign write = req_i && we_i && addr_i[7:4] == who_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      who_q   <= who_i;
      which_q <= which_i;
      mask_q  <= 1'b0;
      owed_q  <= 1'b0;
    end else begin
      if (write && !addr_i[3]) mask_q <= wdata_i[which_q] && Events[which_q];
      owed_q <= (owed_q && !(write && addr_i[3] && wdata_i[which_q])) || (event_i[which_q] && mask_q);
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeEventsExist : assume ((event_i & ~Events) == '0);
    NotLost : assert (dut.cause_q[who_q][which_q] == owed_q && (!owed_q || wake[who_q]));
    MaskKept : assert (dut.mask_q[who_q][which_q] == mask_q);
    WakesForCause : assert (wake[who_q] == (dut.cause_q[who_q] != '0));
    ReadsCause : assert (addr_i[7:4] != who_q || !addr_i[3] || rdata[which_q] == owed_q);
    CoverClearAndCome : cover (owed_q && event_i[which_q] && write && addr_i[3] && wdata_i[which_q]);
    CoverOthers : cover (owed_q && wake == 16'h0003);
  end
endmodule
