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
  if (Depth * FlitBytes < HeaderBytes + MaxPayloadBytes) begin : gen_bad_depth
    $fatal(1, "loopback: Depth of %0d flits does not hold a full packet", Depth);
  end

  logic [NetClasses-1:0] push, pop, valid, credit_q;

  for (genvar c = 0; c < NetClasses; c++) begin : gen_class
    logic      unused_first, unused_stamp, unused_second, unused_full, unused_busy;
    flit_ctl_t unused_ctl;

    assign push[c] = inj_valid_i && inj_class_i == 2'(c);
    assign pop[c]  = valid[c] && ej_ready_i[c];

    gyre_queues #(.NumQueues(1), .Depth(Depth), .Width(FW), .SideW($bits(flit_ctl_t))) u_flits (
        .clk_i, .rst_ni, .push_i(push[c]), .push_queue_i(1'b0), .stamp_i('0), .side_i(inj_ctl_i),
        .data_i(inj_data_i), .first_o(unused_first), .read_i(valid[c]), .queue_i(1'b0), .pop_i(pop[c]),
        .stamp_o(unused_stamp), .side_o(ej_ctl_o[c]), .data_o(ej_data_o[c]), .second_stamp_o(unused_second),
        .second_side_o(unused_ctl), .nonempty_o(valid[c]), .full_o(unused_full), .busy_o(unused_busy)
    );
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) credit_q <= '0;
    else credit_q <= pop;
  end

  assign ej_valid_o   = valid;
  assign inj_credit_o = credit_q;
  assign idle_o       = (valid | credit_q) == '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && inj_valid_i && inj_ctl_i.head) begin
      OwnClass : assert (inj_data_i[31:30] == inj_class_i)
      else $fatal(1, "%m: packet on the FIFO of another class");
    end
  end
`endif
endmodule
