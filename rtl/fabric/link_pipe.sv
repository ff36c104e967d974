// Wires of one direction of a link: what the sender's output register holds reaches the receiver's input
// register Latency cycles later, so Latency - 1 registers lie between.
module link_pipe
  import gyre_pkg::*;
#(
    parameter int unsigned Latency = 1,
    parameter int unsigned FW = 128
) (
    input  logic          clk_i,
    input  logic          rst_ni,
    input  link_word_t    ctl_i,
    input  logic [FW-1:0] data_i,
    input  logic [31:0]   dbg_i,
    output link_word_t    ctl_o,
    output logic [FW-1:0] data_o,
    output logic [31:0]   dbg_o
);
  localparam int unsigned Stages = Latency - 1;

  if (Stages == 0) begin : gen_wire
    assign {ctl_o, data_o, dbg_o} = {ctl_i, data_i, dbg_i};
    logic unused;
    assign unused = clk_i ^ rst_ni;
  end else begin : gen_stages
    logic [$bits(link_word_t)+FW+32-1:0] stage_q [Stages];
    assign {ctl_o, data_o, dbg_o} = stage_q[Stages-1];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        for (int unsigned s = 0; s < Stages; s++) stage_q[s] <= '0;
      end else begin
        stage_q[0] <= {ctl_i, data_i, dbg_i};
        for (int unsigned s = 1; s < Stages; s++) stage_q[s] <= stage_q[s-1];
      end
    end
  end

  if (Latency < 1) begin : gen_bad_latency
    $error("link_pipe: Latency must be 1 or more");
  end
endmodule
