// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Ejection buffers of one link input: packets for this node, one FIFO a class, valid/ready. A packet holds
// its FIFO from head to tail, since all virtual channels of a class end here.
module router_eject
  import gyre_pkg::*;
#(
    parameter int unsigned FlitBytes = 16,
    parameter int unsigned Depth = 4,      // flits a class, a power of two
    localparam int unsigned FlitW = FlitBytes * 8,
    localparam int unsigned ClassW = $clog2(NetClasses)
) (
    input  logic                  clk_i,
    input  logic                  rst_ni,
    // Flits that can move, by class.
    output logic [NetClasses-1:0] head_ok_o,
    output logic [NetClasses-1:0] body_ok_o,
    input  logic                  push_i,
    input  logic [ClassW-1:0]     push_class_i,
    input  flit_ctl_t             push_ctl_i,
    input  logic [FlitW-1:0]      push_data_i,
    output logic [NetClasses-1:0] ej_valid_o,
    input  logic [NetClasses-1:0] ej_ready_i,
    output flit_ctl_t             ej_ctl_o [NetClasses],
    output logic [FlitW-1:0]      ej_data_o[NetClasses],
    output logic                  busy_o
);
  localparam int unsigned PtrW = $clog2(Depth);

  if (Depth != 2 ** PtrW || Depth < 4) begin : gen_depth
    $fatal(1, "router_eject: Depth %0d: expected a power of two, at least 4", Depth);
  end

  logic [FlitW-1:0] data_mem[NetClasses*Depth];
  flit_ctl_t        ctl_mem [NetClasses*Depth];

  logic [NetClasses-1:0][PtrW-1:0] head_q, tail_q;
  logic [NetClasses-1:0]           valid_q, full_q, held_q;

  assign ej_valid_o = valid_q;
  assign busy_o     = valid_q != '0;
  assign head_ok_o  = ~(full_q | held_q);
  assign body_ok_o  = ~full_q;
  for (genvar c = 0; c < int'(NetClasses); c++) begin : gen_class
    assign ej_ctl_o[c]  = ctl_mem[{ClassW'(c), head_q[c]}];
    assign ej_data_o[c] = data_mem[{ClassW'(c), head_q[c]}];
  end

  // The time of entering the network stays inside.
  logic [FlitW-1:0] plain;
  always_comb begin
    plain = push_data_i;
    if (FlitBytes > 8 && push_i && push_ctl_i.head) plain[BirthBit%FlitW+:BirthW] = '0;
  end

  always_ff @(posedge clk_i) begin
    if (push_i) begin
      data_mem[{push_class_i, tail_q[push_class_i]}] <= plain;
      ctl_mem[{push_class_i, tail_q[push_class_i]}]  <= push_ctl_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q  <= '0;
      tail_q  <= '0;
      valid_q <= '0;
      full_q  <= '0;
      held_q  <= '0;
    end else if (push_i || valid_q != '0) begin
      if (push_i) begin
        tail_q[push_class_i] <= tail_q[push_class_i] + 1'b1;
        held_q[push_class_i] <= !push_ctl_i.tail;
      end
      for (int unsigned c = 0; c < NetClasses; c++) begin
        if (valid_q[c] && ej_ready_i[c]) begin
          head_q[c] <= head_q[c] + 1'b1;
          if (!(push_i && push_class_i == ClassW'(c))) begin
            valid_q[c] <= head_q[c] + 1'b1 != tail_q[c];
            full_q[c]  <= 1'b0;
          end
        end else if (push_i && push_class_i == ClassW'(c)) begin
          valid_q[c] <= 1'b1;
          full_q[c]  <= tail_q[c] + 1'b1 == head_q[c];
        end
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && push_i) begin
      Space : assert (!full_q[push_class_i])
      else $fatal(1, "%m: push into a full buffer");
      Whole : assert (push_ctl_i.head == !held_q[push_class_i])
      else $fatal(1, "%m: packets mixed in an ejection buffer");
    end
  end
`endif
endmodule
