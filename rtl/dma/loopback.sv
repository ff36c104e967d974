// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Local path of a node (HW-1): a packet injected on it is ejected on it. One FIFO a class, with credits on the
// injection side and valid/ready on the ejection side, like a path through the network.
module loopback
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned Depth     = 136, // flits a class: the sender's credits
    localparam int unsigned FW = FlitBytes * 8
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    input  logic                  inj_valid_i,
    input  logic [1:0]            inj_class_i,   // vclass_e
    input  flit_ctl_t             inj_ctl_i,
    input  logic [FW-1:0]         inj_data_i,
    output logic [NetClasses-1:0] inj_credit_o,  // one flit of the class's FIFO is free again
    output logic [NetClasses-1:0] ej_valid_o,
    input  logic [NetClasses-1:0] ej_ready_i,
    output flit_ctl_t             ej_ctl_o  [NetClasses],
    output logic [FW-1:0]         ej_data_o [NetClasses],
    output logic                  idle_o         // nothing is inside
);
  localparam int unsigned CtlW = $bits(flit_ctl_t);

  if (Depth * FlitBytes < HeaderBytes + MaxPayloadBytes) begin : gen_bad_depth
    $fatal(1, "loopback: Depth of %0d flits does not hold a full packet", Depth);
  end

  logic [NetClasses-1:0] push, pop, empty, credit_q;

  for (genvar c = 0; c < NetClasses; c++) begin : gen_class
    logic [CtlW+FW-1:0] head;
    logic unused_full;
    logic [$clog2(Depth+1)-1:0] unused_level;

    assign push[c] = inj_valid_i && inj_class_i == 2'(c);
    assign pop[c]  = !empty[c] && ej_ready_i[c];

    gyre_fifo #(.Width(CtlW + FW), .Depth(Depth)) u_flits (
        .clk_i, .rst_ni, .clear_i(1'b0),
        .push_i(push[c]), .data_i({inj_ctl_i, inj_data_i}), .pop_i(pop[c]),
        .data_o(head), .empty_o(empty[c]), .full_o(unused_full), .level_o(unused_level)
    );
    assign {ej_ctl_o[c], ej_data_o[c]} = head;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) credit_q <= '0;
    else credit_q <= pop;
  end

  assign ej_valid_o   = ~empty;
  assign inj_credit_o = credit_q;
  assign idle_o       = (&empty) && credit_q == '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && inj_valid_i && inj_ctl_i.head) begin
      OwnClass : assert (inj_data_i[31:30] == inj_class_i)
      else $fatal(1, "%m: packet on the FIFO of another class");
    end
  end
`endif
endmodule
