// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// loopback: each class has as many credits as its FIFO has slots, lost or doubled never, and its flits come out as its
// own; their order is that of gyre_queues. The depth is that of a full packet of the widest flits.
module loopback_formal
  import gyre_pkg::*;
#(
    parameter int unsigned Depth = 9,
    localparam int unsigned FlitBytes = 64,
    localparam int unsigned LevelW = $clog2(Depth + 1)
) (
    input logic                  clk_i,
    input logic [1:0]            who_i,
    input logic                  inj_valid_i,
    input logic [1:0]            inj_class_i,
    input logic [1:0]            inj_data_i,
    input logic [NetClasses-1:0] ej_ready_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [NetClasses-1:0]  credit, valid;
  flit_ctl_t              ctl [NetClasses];
  logic [8*FlitBytes-1:0] data [NetClasses];
  logic                   idle;
  loopback #(.FlitBytes(FlitBytes), .Depth(Depth)) dut (
      .clk_i, .rst_ni(rst_n), .inj_valid_i, .inj_class_i, .inj_ctl_i('{err: 1'b0, tail: 1'b0, head: 1'b0, dbg: '0}),
      .inj_data_i((8*FlitBytes)'(inj_data_i)), .inj_credit_o(credit), .ej_valid_o(valid), .ej_ready_i, .ej_ctl_o(ctl),
      .ej_data_o(data), .idle_o(idle)
  );

  // One class, chosen freely: credits of the sender, and flits inside.
  logic [1:0]        who_q;
  logic [LevelW-1:0] credits_q, level_q;
  logic              push, pop;
  assign push = inj_valid_i && inj_class_i == who_q;
  assign pop  = valid[who_q] && ej_ready_i[who_q];
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      who_q     <= who_i;
      credits_q <= LevelW'(Depth);
      level_q   <= '0;
    end else begin
      credits_q <= credits_q - LevelW'(push) + LevelW'(credit[who_q]);
      level_q   <= level_q + LevelW'(push) - LevelW'(pop);
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    AssumeCredit : assume (!inj_valid_i || inj_class_i == who_q);   // the other classes have FIFOs of their own
    AssumeHasCredit : assume (!push || credits_q != '0);
    Conserved : assert (32'(credits_q) + 32'(level_q) + 32'(credit[who_q]) == Depth);
    OfItsClass : assert (valid[who_q] == (level_q != '0) && (valid & ~(4'd1 << who_q)) == '0);
    IdleIsEmpty : assert (!idle || (level_q == '0 && credits_q == LevelW'(Depth)));
    CoverFull : cover (credits_q == '0 && pop && data[who_q][1:0] == 2'd3);
  end
endmodule
