// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Arbiter by age over a request bit vector: grants the oldest requester, whose birth lies longest before `now_i`, modulo
// the range of the stamps; round robin among equals. A network that serves the oldest first treats all sources
// alike, however far away they are. Without `ByAge` all are equals. The grant is one-hot and combinational; nothing changes while nothing is granted.
module age_arbiter #(
    parameter int unsigned N = 4,
    parameter int unsigned StampW = 6,
    parameter bit          ByAge = 1'b1
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic [N-1:0]      req_i,
    input  logic [StampW-1:0] birth_i [N],
    input  logic [StampW-1:0] now_i,
    input  logic              advance_i, // the grant of this cycle is used
    output logic [N-1:0]      gnt_o      // one-hot, zero when there is no request
);
  logic [N-1:0]      oldest;
  logic [StampW-1:0] age, most;

  always_comb begin
    oldest = req_i;
    age    = '0;
    most   = '0;
    if (ByAge && (req_i & (req_i - 1'b1)) != '0) begin
      oldest = '0;
      // Not unrolled in simulation, since few requests are set most of the time.
      /* verilator unroll_disable */
      for (int unsigned n = 0; n < N; n++) begin
        if (req_i[n]) begin
          age = now_i - birth_i[n];
          if (oldest == '0 || age > most) begin
            most   = age;
            oldest = '0;
          end
          if (age == most) oldest[n] = 1'b1;
        end
      end
    end
  end

  rr_arbiter #(
      .N(N)
  ) u_equals (
      .clk_i,
      .rst_ni,
      .req_i(oldest),
      .advance_i,
      .gnt_o
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && req_i != '0) begin
      GrantOfOldest : assert ((gnt_o & oldest & req_i) != '0)
      else $fatal(1, "%m: grant to one that is not the oldest");
    end
  end
`endif
endmodule
