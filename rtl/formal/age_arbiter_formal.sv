// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// age_arbiter: one grant, to a requester, and none that asks is older; equals are served in turn.
module age_arbiter_formal #(
    parameter int unsigned N = 3,
    parameter int unsigned StampW = 3
) (
    input logic                     clk_i,
    input logic [N-1:0]             req_i,
    input logic [N-1:0][StampW-1:0] birth_i,
    input logic [StampW-1:0]        now_i,
    input logic                     advance_i,
    input logic [$clog2(N)-1:0]     who_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [N-1:0]      gnt;
  logic [StampW-1:0] birth [N];
  for (genvar n = 0; n < int'(N); n++) begin : gen_birth
    assign birth[n] = (n == 1) ? ~birth_i[n] : birth_i[n];  // apart: not looked at
  end
  age_arbiter #(.N(N), .StampW(StampW), .Apart(1)) dut (
      .clk_i, .rst_ni(rst_n), .req_i, .birth_i(birth), .apart_birth_i(birth_i[1]), .now_i, .advance_i, .gnt_o(gnt)
  );

  logic [N-1:0] beaten;        // asks, and the one granted is younger
  always_comb begin
    beaten = '0;
    for (int unsigned n = 0; n < N; n++) begin
      for (int unsigned g = 0; g < N; g++) begin
        if (gnt[g] && req_i[n] && StampW'(now_i - birth_i[g]) < StampW'(now_i - birth_i[n])) beaten[n] = 1'b1;
      end
    end
  end

  // One requester, chosen freely, and those of its age that were served while it waits.
  logic [$clog2(N)-1:0] who_q;
  logic [N-1:0]         served_q, equal;
  logic                 waits_q;
  always_comb begin
    for (int unsigned n = 0; n < N; n++) equal[n] = birth_i[n] == birth_i[who_q];
  end
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      who_q    <= who_i;
      served_q <= '0;
      waits_q  <= 1'b0;
    end else begin
      waits_q <= req_i[who_q] && !(gnt[who_q] && advance_i);
      if (!req_i[who_q] || (gnt[who_q] && advance_i)) served_q <= '0;
      else if (advance_i) served_q <= served_q | gnt;
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeWho : assume (32'(who_q) < N);
    // Turns are among those that are always of one age.
    AssumeEqual : assume (!waits_q || (req_i[who_q] && (equal | ~req_i) == '1));
    OneGrant : assert ($onehot0(gnt) && (gnt & ~req_i) == '0 && (gnt != '0) == (req_i != '0));
    OldestFirst : assert (beaten == '0);
    EqualsInTurn : assert (!waits_q || (gnt & served_q) == '0);
    CoverWrap : cover (gnt == 3'b100 && req_i == '1 && now_i == 3'd1 && birth_i[2] == 3'd6 && birth_i[0] == 3'd0);
    CoverTurns : cover (waits_q && gnt[who_q] && $countones(served_q) == N - 1);
  end
endmodule
