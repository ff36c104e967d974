// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Least-recently-served arbiter over a request bit vector: grants the requester whose last grant is
// the longest ago. Unlike a round-robin pointer it stays fair when different groups of requesters take turns
// (a pointer moved by one group can pass over the same member of another every time). The grant is one-hot
// and combinational; the order changes only when `advance_i` takes the grant.
module lrs_arbiter #(
    parameter int unsigned N = 4
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic [N-1:0] req_i,
    input  logic         advance_i, // the grant of this cycle is used
    output logic [N-1:0] gnt_o      // one-hot, zero when there is no request
);
  logic [N-1:0] older_q [N];        // row n: requesters served longer ago than n

  always_comb begin
    gnt_o = '0;
    if (req_i != '0) begin
      for (int unsigned n = 0; n < N; n++) gnt_o[n] = req_i[n] && (req_i & older_q[n]) == '0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned n = 0; n < N; n++) older_q[n] <= (N'(1) << n) - 1'b1;
    end else if (advance_i && req_i != '0) begin
      for (int unsigned n = 0; n < N; n++) older_q[n] <= gnt_o[n] ? ~gnt_o : older_q[n] & ~gnt_o;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && req_i != '0) begin
      GrantOne : assert ($onehot(gnt_o))
      else $fatal(1, "%m: grant not one-hot");
    end
    if (rst_ni && gnt_o != '0) begin
      GrantOfRequest : assert ((gnt_o & ~req_i) == '0)
      else $fatal(1, "%m: grant without request");
    end
  end
`endif
endmodule
