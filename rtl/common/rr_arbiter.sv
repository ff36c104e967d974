// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Round-robin arbiter over a request bit vector. The grant is one-hot and combinational; priority moves
// past the winner only when `advance_i` takes the grant, so nothing changes while nothing is granted.
module rr_arbiter #(
    parameter int unsigned N = 4
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic [N-1:0] req_i,
    input  logic         advance_i, // the grant of this cycle is used
    output logic [N-1:0] gnt_o      // one-hot, zero when there is no request
);
  if (N == 1) begin : gen_one
    assign gnt_o = req_i;
    logic unused_one;
    assign unused_one = clk_i ^ rst_ni ^ advance_i;
  end else begin : gen_many
    // Bits set at and above the position after the last winner.
    logic [N-1:0] mask_q, masked;

    always_comb begin
      masked = req_i & mask_q;
      gnt_o  = '0;
      if (req_i != '0) begin
        gnt_o = (masked != '0) ? masked & (~masked + 1'b1) : req_i & (~req_i + 1'b1);
      end
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) mask_q <= '1;
      else if (advance_i && req_i != '0) mask_q <= ~((gnt_o - 1'b1) | gnt_o);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && (req_i | gnt_o) != '0) begin
      GrantOneHot : assert ($onehot(gnt_o))
      else $fatal(1, "%m: grant not one-hot");
      GrantOfRequest : assert ((gnt_o & ~req_i) == '0)
      else $fatal(1, "%m: grant without request");
    end
  end
`endif
endmodule
