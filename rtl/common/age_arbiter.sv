// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Arbiter by age over a request bit vector: grants the oldest requester, whose birth lies longest before `now_i`, modulo
// the range of the stamps; round robin among equals. A network that serves the oldest first treats all sources
// alike, however far away they are. Without `ByAge` all are equals. The grant is one-hot and combinational; nothing changes
// while nothing is granted.
//
// Requesters meet in pairs, and the winners of these in pairs. The lower rank wins, of two alike the lower number: the rank
// of a requester is its age turned over and, below it, whether it comes behind the last one granted.
module age_arbiter #(
    parameter int unsigned N = 4,
    parameter int unsigned StampW = 6,
    parameter bit          ByAge = 1'b1,
    parameter int unsigned Apart = N     // requester whose birth comes by a port of its own; N: none
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic [N-1:0]      req_i,
    input  logic [StampW-1:0] birth_i [N],
    input  logic [StampW-1:0] apart_birth_i, // of requester Apart, in the place of its birth_i
    input  logic [StampW-1:0] now_i,
    input  logic              advance_i, // the grant of this cycle is used
    output logic [N-1:0]      gnt_o      // one-hot, zero when there is no request
);
  typedef struct packed {
    logic              idle;
    logic [StampW-1:0] youth;            // the range of the stamps, less one and the age
    logic              below;
  } rank_t;

  logic [N-1:0]      behind_q;           // numbers above the last one granted
  logic [StampW-1:0] past;

  assign past = ~now_i;

  localparam int unsigned Pairs = (N + 1) / 2;

  function automatic rank_t rank(logic req, logic [StampW-1:0] birth, logic behind);
    return '{idle: !req, youth: ByAge ? birth + past : '0, below: !behind};
  endfunction

  // Simulation passes over pairs and groups of pairs without a request.
  function automatic logic [N-1:0] winner();
    rank_t        best [Pairs];          // of a group of pairs, by its first pair
    rank_t        other;
    logic [N-1:0] lost;
    lost  = ~req_i;
    other = '1;
    for (int unsigned k = 0; k < Pairs; k++) begin
      best[k] = '1;
      if ((req_i & (N'(3) << (2 * k))) != '0) begin
        best[k] = rank(req_i[2*k], (2 * k == Apart) ? apart_birth_i : birth_i[2*k], behind_q[2*k]);
        other   = '1;
        if (2 * k + 1 < N) begin
          other = rank(req_i[(2*k+1)%N], (2 * k + 1 == Apart) ? apart_birth_i : birth_i[(2*k+1)%N], behind_q[(2*k+1)%N]);
        end
        if (other < best[k]) begin
          best[k] = other;
          lost    = lost | (N'(1) << (2 * k));
        end else begin
          lost    = lost | (N'(2) << (2 * k));
        end
      end
    end
    for (int unsigned s = 1; s < Pairs; s = 2 * s) begin
      for (int unsigned k = 0; k + s < Pairs; k = k + 2 * s) begin
        if (!best[k+s].idle) begin
          if (best[k+s] < best[k]) begin
            best[k] = best[k+s];
            lost    = lost | (N'((1 << (2 * s)) - 1) << (2 * k));
          end else begin
            lost    = lost | (N'((1 << (2 * s)) - 1) << (2 * (k + s)));
          end
        end
      end
    end
    return ~lost;
  endfunction

  always_comb begin
    gnt_o = req_i;
    if ((req_i & (req_i - 1'b1)) != '0) gnt_o = winner();
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) behind_q <= '1;
    else if (advance_i && req_i != '0) behind_q <= ~((gnt_o - 1'b1) | gnt_o);
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && req_i != '0) begin
      GrantOne : assert ($onehot(gnt_o) && (gnt_o & ~req_i) == '0)
      else $fatal(1, "%m: grant not to one that asks");
    end
  end
`endif
endmodule
