// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// axi_quiesce: the gate breaks no AXI rule, whenever it closes: an offer stays, a write burst of which one
// channel started gets the other, nothing starts while it is closed, and quiet is said exactly when nothing is under way.
// The master offers no write data ahead of its address. Both clocks run.
module axi_quiesce_formal #(
    parameter int unsigned MaxBursts = 3
) (
    input logic clk_i,
    input logic stop_i,
    input logic ar_valid_i,
    input logic aw_valid_i,
    input logic w_valid_i,
    input logic w_last_i,
    input logic ar_ready_i,
    input logic aw_ready_i,
    input logic w_ready_i,
    input logic r_done_i,
    input logic b_done_i
);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic quiet, settled, ar_ready, aw_ready, w_ready, ar_valid, aw_valid, w_valid;
  axi_quiesce #(.MaxBursts(MaxBursts)) dut (
      .read_clk_i(clk_i), .write_clk_i(clk_i), .rst_ni(rst_n), .stop_i, .quiet_o(quiet), .settled_o(settled), .ar_valid_i,
      .ar_ready_o(ar_ready), .aw_valid_i, .aw_ready_o(aw_ready), .w_valid_i, .w_last_i, .w_ready_o(w_ready),
      .ar_valid_o(ar_valid), .ar_ready_i, .aw_valid_o(aw_valid), .aw_ready_i, .w_valid_o(w_valid), .w_ready_i, .r_done_i,
      .b_done_i
  );

  // Bursts that memory accepted, and their data and responses. `in` counts those of the master.
  logic [2:0] reads_q, aws_q, ws_q, bs_q;       // modulo 8
  logic       ar_waits_q, aw_waits_q, w_waits_q, w_open_q, in_ar_q, in_aw_q, in_w_q, w_last_q;
  logic [2:0] aw_ahead, w_ahead;
  logic       ar_go, aw_go, w_go;
  assign ar_go    = ar_valid && ar_ready_i;
  assign aw_go    = aw_valid && aw_ready_i;
  assign w_go     = w_valid && w_ready_i;
  assign aw_ahead = aws_q - ws_q;               // addresses accepted whose data is not complete
  assign w_ahead  = ws_q - bs_q;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      {reads_q, aws_q, ws_q, bs_q} <= '0;
      {ar_waits_q, aw_waits_q, w_waits_q, w_open_q, in_ar_q, in_aw_q, in_w_q} <= '0;
    end else begin
      reads_q    <= reads_q + 3'(ar_go) - 3'(r_done_i);
      aws_q      <= aws_q + 3'(aw_go);
      ws_q       <= ws_q + 3'(w_go && w_last_i);
      bs_q       <= bs_q + 3'(b_done_i);
      ar_waits_q <= ar_valid && !ar_ready_i;
      aw_waits_q <= aw_valid && !aw_ready_i;
      w_waits_q  <= w_valid && !w_ready_i;
      if (w_valid) w_open_q <= !(w_go && w_last_i);
      in_ar_q    <= ar_valid_i && !ar_ready;
      in_aw_q    <= aw_valid_i && !aw_ready;
      in_w_q     <= w_valid_i && !w_ready;
      w_last_q   <= w_last_i;
    end
  end

  always_ff @(posedge clk_i) if (rst_n) begin
    // The master keeps AXI's rules, and has room for MaxBursts.
    AssumeArHolds : assume (!in_ar_q || ar_valid_i);
    AssumeAwHolds : assume (!in_aw_q || aw_valid_i);
    AssumeWHolds : assume (!in_w_q || (w_valid_i && w_last_i == w_last_q));
    AssumeWithAddress : assume (!w_valid_i || aw_valid_i || (aw_ahead != '0 && aw_ahead < 3'd4));
    AssumeReads : assume (!ar_valid_i || 32'(reads_q) < MaxBursts);
    AssumeWrites : assume (!aw_valid_i || 32'(3'(aws_q - bs_q)) < MaxBursts);
    // Memory answers its requests.
    AssumeRead : assume (!r_done_i || reads_q != '0);
    AssumeWritten : assume (!b_done_i || (aws_q != bs_q && ws_q != bs_q));
    ArHolds : assert (!ar_waits_q || ar_valid);
    AwHolds : assert (!aw_waits_q || aw_valid);
    WHolds : assert (!w_waits_q || w_valid);
    // A burst of which something was offered goes on on both channels.
    DataOfAddress : assert (!(aw_waits_q || (aw_ahead != '0 && aw_ahead < 3'd4) || w_open_q) ||
                            (w_valid == w_valid_i && w_ready == w_ready_i));
    AddressOfData : assert (aw_ahead < 3'd4 || (aw_valid == aw_valid_i && aw_ready == aw_ready_i));
    NothingStarts : assert (!stop_i || ((!ar_valid || ar_waits_q) &&
                                        (!aw_valid || aw_waits_q || aw_ahead >= 3'd4)));
    QuietIsQuiet : assert (quiet == (reads_q == '0 && aws_q == ws_q && aws_q == bs_q && !ar_waits_q && !aw_waits_q &&
                                     !w_open_q));
    SettledIsTaken : assert (settled == (aws_q == ws_q && !ar_waits_q && !aw_waits_q && !w_open_q));
    CoverSettled : cover (stop_i && settled && !quiet && reads_q != '0 && aws_q != bs_q);
    CoverCloseMid : cover (stop_i && w_open_q && aw_waits_q && w_valid);
    CoverQuiet : cover (stop_i && quiet && aws_q == 3'd2 && bs_q == 3'd2);
    CoverDataFirst : cover (aw_ahead >= 3'd4 && stop_i);
  end
endmodule
