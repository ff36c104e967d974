// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// link_unit: two ends of one link, enabled and disabled at any time, with buffers that take any time to drain and wires that
// damage nothing: no flit ever fails its check, and every flit passed on was sent since the last handshake. Flits
// carry one bit.
module link_unit_formal
  import gyre_pkg::*;
#(
    parameter int unsigned InitCycles = 8,
    localparam int unsigned FlitBytes = 8,
    localparam int unsigned FlitW = 8 * FlitBytes
) (
    input logic       clk_i,
    input logic [1:0] enable_i,
    input logic [1:0] drained_i,
    input logic [1:0] send_i,
    input logic [1:0] bit_i,
    input logic [1:0] pop_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  link_word_t       word [2];
  logic [FlitW-1:0] data [2], rx_data [2];
  logic [31:0]      dbg [2];
  link_ctl_e        state [2];
  flit_ctl_t        rx_ctl [2];
  logic [VcW-1:0]   rx_vc [2], credit_vc [2];
  error_t           err [2];
  logic [1:0]       up, down, start, side, rx_valid, credit, busy;

  for (genvar n = 0; n < 2; n++) begin : gen_end
    // The other end's output register is what this end's input register takes.
    link_unit #(.FlitBytes(FlitBytes), .PortId(n), .InitCycles(InitCycles)) dut (
        .clk_i, .rst_ni(rst_n), .enable_i(enable_i[n]), .link_ctl_i(word[1-n]), .link_data_i(data[1-n]),
        .link_dbg_i(dbg[1-n]), .beside_i(1'b0), .beside_tx_i(1'b0), .link_ctl_o(word[n]), .link_data_o(data[n]), .link_dbg_o(dbg[n]), .state_o(state[n]),
        .up_o(up[n]), .down_o(down[n]), .start_o(start[n]), .drained_i(drained_i[n]), .fault_i(1'b0), .side_fault_o(side[n]),
        .send_i(send_i[n] && up[n]), .send_vc_i('0), .send_ctl_i('{err: 1'b0, tail: 1'b1, head: 1'b1, dbg: '0}),
        .send_data_i(FlitW'(bit_i[n])), .pop_i(pop_i[n]), .pop_vc_i('0), .rx_valid_o(rx_valid[n]), .rx_vc_o(rx_vc[n]),
        .rx_ctl_o(rx_ctl[n]), .rx_data_o(rx_data[n]), .credit_o(credit[n]), .credit_vc_o(credit_vc[n]),
        .err_o(err[n]), .err_take_i(1'b1), .busy_o(busy[n])
    );

    // Flits sent and received since this end entered Ack.
    logic [2:0] sent_q, got_q;
    always_ff @(posedge clk_i) begin
      if (!rst_n || start[n]) {sent_q, got_q} <= '0;
      else begin
        sent_q <= sent_q + 3'(send_i[n] && up[n]);
        got_q  <= got_q + 3'(rx_valid[n]);
      end
    end
    always_ff @(posedge clk_i) if (rst_n) begin
      // As long as one end is up, no more than a few flits pass in a session that is looked at.
      AssumeFew : assume (!(send_i[n] && up[n]) || sent_q < 3'd3);
      NoFault : assert (!side[n] && (!err[n].valid || err[n].reason == ErrLinkDown));
      OfThisSession : assert (!rx_valid[n] || got_q < gen_end[1-n].sent_q);
      CoverTraffic : cover (rx_valid[n] && got_q == 3'd2 && credit[n]);
    end
  end
endmodule
