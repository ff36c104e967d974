// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Gate on the handshakes of one AXI4 master. With stop_i no new burst starts; bursts that have started
// or were offered complete. quiet_o: nothing is under way. settled_o: only answers are missing, since memory has taken
// every offer; the master may then be reset if later answers are kept from it.
module axi_quiesce #(
    parameter int unsigned MaxBursts = 255 // outstanding bursts of one direction
) (
    input  logic read_clk_i,  // needed in a cycle with a read address or read data
    input  logic write_clk_i, // with a write address, write data or a write response
    input  logic rst_ni,
    input  logic stop_i,
    output logic quiet_o,
    output logic settled_o,
    // from the master
    input  logic ar_valid_i,
    output logic ar_ready_o,
    input  logic aw_valid_i,
    output logic aw_ready_o,
    input  logic w_valid_i,
    input  logic w_last_i,
    output logic w_ready_o,
    // to the memory
    output logic ar_valid_o,
    input  logic ar_ready_i,
    output logic aw_valid_o,
    input  logic aw_ready_i,
    output logic w_valid_o,
    input  logic w_ready_i,
    // responses seen, for counting
    input  logic r_done_i,   // last beat of a read burst taken
    input  logic b_done_i    // write response taken
);
  localparam int unsigned CountW = $clog2(MaxBursts + 1);

  logic [CountW-1:0] reads_q, writes_q;   // bursts accepted, response not complete
  logic signed [CountW:0] owed_q;         // address accepted minus last data accepted
  logic ar_offered_q, aw_offered_q, w_open_q;

  logic ar_open, aw_open, w_open, ar_go, aw_go, w_go;
  assign ar_open = !stop_i || ar_offered_q;
  assign aw_open = !stop_i || aw_offered_q || owed_q < 0;
  assign w_open  = !stop_i || w_open_q || aw_offered_q || owed_q > 0;

  assign ar_valid_o = ar_valid_i && ar_open;
  assign aw_valid_o = aw_valid_i && aw_open;
  assign w_valid_o  = w_valid_i && w_open;
  assign ar_ready_o = ar_ready_i && ar_open;
  assign aw_ready_o = aw_ready_i && aw_open;
  assign w_ready_o  = w_ready_i && w_open;
  assign ar_go = ar_valid_o && ar_ready_i;
  assign aw_go = aw_valid_o && aw_ready_i;
  assign w_go  = w_valid_o && w_ready_i;

  assign settled_o = owed_q == '0 && !ar_offered_q && !aw_offered_q && !w_open_q;
  assign quiet_o   = reads_q == '0 && writes_q == '0 && settled_o;

  always_ff @(posedge read_clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      reads_q      <= '0;
      ar_offered_q <= 1'b0;
    end else begin
      if (ar_valid_o || ar_offered_q) ar_offered_q <= ar_valid_o && !ar_ready_i;
      if (ar_go != r_done_i) reads_q <= ar_go ? reads_q + 1'b1 : reads_q - 1'b1;
    end
  end

  always_ff @(posedge write_clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      writes_q     <= '0;
      owed_q       <= '0;
      aw_offered_q <= 1'b0;
      w_open_q     <= 1'b0;
    end else begin
      if (aw_valid_o || aw_offered_q) aw_offered_q <= aw_valid_o && !aw_ready_i;
      if (w_valid_o) w_open_q <= !(w_ready_i && w_last_i);
      if (aw_go != b_done_i) writes_q <= aw_go ? writes_q + 1'b1 : writes_q - 1'b1;
      if (aw_go != (w_go && w_last_i)) owed_q <= aw_go ? owed_q + 1'b1 : owed_q - 1'b1;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge read_clk_i) begin
    if (rst_ni && ar_go && !r_done_i) begin
      ReadsFit : assert (reads_q != CountW'(MaxBursts))
      else $fatal(1, "%m: more than MaxBursts reads outstanding");
    end
    if (rst_ni && r_done_i) begin
      ReadOwed : assert (reads_q != '0)
      else $fatal(1, "%m: read data without a read");
    end
  end
  always_ff @(posedge write_clk_i) begin
    if (rst_ni && aw_go && !b_done_i) begin
      WritesFit : assert (writes_q != CountW'(MaxBursts))
      else $fatal(1, "%m: more than MaxBursts writes outstanding");
    end
    if (rst_ni && b_done_i) begin
      WriteOwed : assert (writes_q != '0)
      else $fatal(1, "%m: write response without a write");
    end
  end
`endif
endmodule
